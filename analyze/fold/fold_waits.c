/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The machine is a run queue. Its state as bytes has the trace's utids. */
#include "analyze/fold/fold_sums.h"
#include "analyze/fold/folds.h"

#include <errno.h>

struct waits_machine {
	struct fold_machine f;
	const struct dense_ids *ids;
	struct run_queue *queue;
	uint64_t interval_ns;
};

static int waits_open(void *machine)
{
	struct waits_machine *m = machine;

	m->ids = &m->f.a->ids;
	return run_queue_new(&m->queue, m->ids->thread_cnt);
}

static void waits_close(void *machine)
{
	run_queue_free(((struct waits_machine *)machine)->queue);
}

static int waits_event(void *machine, const struct event *ev)
{
	struct waits_machine *m = machine;
	struct run_queue_wait w;
	uint32_t prev;
	int ret = 0;

	if (ev->kind == EVENT_WAKEUP)
		return run_queue_wake(m->queue,
				      dense_thread(m->ids, (uint32_t)ev->v[EV_WAKEUP_TARGET_UTID]),
				      ev->ts_ns);
	prev = dense_thread(m->ids, ev->utid);
	if (run_queue_missed(m->queue, ev, prev, &w))
		ret = fold_found(&m->f, &w);
	if (ret < 0)
		return ret;
	ret = run_queue_switch(m->queue, ev, prev,
			       dense_thread(m->ids, (uint32_t)ev->v[EV_SWITCH_NEXT_UTID]), &w);
	return ret > 0 ? fold_found(&m->f, &w) : ret;
}

/* ---- states ---- */

static void put_state(const struct waits_machine *m, const struct run_queue_state *s,
		      uint64_t at_ns, struct buf *out)
{
	packed_put(out, dense_utid(m->ids, s->thread));
	packed_put(out, s->state);
	packed_put(out, s->cpu);
	if (s->state)
		packed_put(out, at_ns - s->since_ns);
}

static void waits_begin_interval(void *machine, uint64_t from_ns)
{
	struct waits_machine *m = machine;

	m->interval_ns = from_ns;
	run_queue_begin_notes(m->queue);
}

static void waits_put_interval(void *machine, struct buf *out)
{
	struct waits_machine *m = machine;
	size_t cnt, i;
	const struct run_queue_state *notes = run_queue_notes(m->queue, &cnt);

	for (i = 0; i < cnt; i++)
		put_state(m, &notes[i], m->interval_ns, out);
}

static void waits_save(void *machine, uint64_t at_ns, struct buf *out)
{
	struct waits_machine *m = machine;
	struct run_queue_state s;
	uint32_t i;

	for (i = EVENT_ID_FIRST; i < m->ids->thread_cnt; i++)
		if (run_queue_get(m->queue, i, &s))
			put_state(m, &s, at_ns, out);
}

static int waits_load(void *machine, uint64_t at_ns, struct packed_in *in, bool is_tail)
{
	struct waits_machine *m = machine;

	while (in->p != in->end && !in->bad) {
		uint32_t thread = dense_thread(m->ids, (uint32_t)packed_get(in));
		uint64_t state = packed_get(in), cpu = packed_get(in);
		struct run_queue_state s = { .thread = thread, .state = (uint8_t)state,
					     .cpu = (uint16_t)cpu };

		if (state > UINT8_MAX || cpu > UINT16_MAX)
			return -EBADMSG;
		s.since_ns = state ? at_ns - packed_get(in) : 0;
		if (!run_queue_set(m->queue, &s))
			return -EBADMSG;
	}
	return in->bad ? -EBADMSG : 0;
}

static const struct fold_state_def waits_state = {
	.part = INDEX_WAIT_STATE, .tail = INDEX_TAIL_WAITS, .begin_interval = waits_begin_interval,
	.put_interval = waits_put_interval, .save = waits_save, .load = waits_load,
};

/* ---- sums ---- */

static int waits_add(void *ctx, const void *found)
{
	struct fold_target *t = ctx;
	const struct run_queue_wait *w = found;
	const struct fold_key key = { .a = w->thread };
	struct wait_sum *x;
	void *sum;
	int ret = fold_sum_at(t, w->to_ns, &key, &sum);

	if (ret <= 0)
		return ret;
	x = sum;
	x->by_reason[w->reason]++;
	x->migrations += w->migrated;
	return w->reason ? quantile_add(&x->waits, w->to_ns - w->from_ns) : 0;
}

static void waits_put_key(const struct dense_ids *d, const struct fold_key *key, struct buf *out)
{
	packed_put(out, dense_utid(d, (uint32_t)key->a));
}

static void waits_get_key(const struct dense_ids *d, struct packed_in *in, struct fold_key *ret)
{
	*ret = (struct fold_key){ .a = dense_thread(d, (uint32_t)packed_get(in)) };
}

static const struct fold_sums_def wait_sums = {
	.bytes = sizeof(struct wait_sum), .quantile_cnt = 1, .count_cnt = RUN_QUEUE_REASON_CNT + 1,
	.add = waits_add, .put_key = waits_put_key, .get_key = waits_get_key,
	.part = INDEX_WAITS, .is_exact_decoded = true,
};

static const uint32_t waits_columns[EVENT_KIND_CNT] = {
	[EVENT_SWITCH] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SWITCH_NEXT_UTID |
			 1u << EV_SWITCH_PREV_STATE,
	[EVENT_WAKEUP] = 1u << EV_WAKEUP_TARGET_UTID,
};

const struct fold_def fold_waits = {
	.kinds = 1u << EVENT_SWITCH | 1u << EVENT_WAKEUP, .columns = waits_columns,
	.state = &waits_state, .sums = &wait_sums, .bytes = sizeof(struct waits_machine),
	.open = waits_open, .close = waits_close, .event = waits_event,
};
