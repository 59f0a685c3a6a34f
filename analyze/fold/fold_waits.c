/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The run queue with a trace's ids; states as bytes have the trace's utids. */
#include "analyze/fold/fold_waits.h"

#include <errno.h>
#include <stdlib.h>

struct waits_machine {
	const struct dense_ids *ids;
	struct run_queue *queue;
	struct fold_sink sink;
	uint64_t interval_ns;
};

static void waits_close(void *machine)
{
	struct waits_machine *m = machine;

	run_queue_free(m->queue);
	free(m);
}

static int waits_open(void **ret, const struct fold_def *def, struct analysis *a,
		      const struct fold_sink *sink)
{
	struct waits_machine *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->ids = &a->ids;
	m->sink = *sink;
	if (run_queue_new(&m->queue, a->ids.thread_cnt) < 0) {
		free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

static int waits_event(void *machine, const struct event *ev)
{
	struct waits_machine *m = machine;
	struct run_queue_wait w;
	int ret;

	if (ev->kind == EVENT_WAKEUP)
		return run_queue_wake(m->queue,
				      dense_thread(m->ids, (uint32_t)ev->v[EV_WAKEUP_TARGET_UTID]),
				      ev->ts_ns);
	ret = run_queue_switch(m->queue, ev, dense_thread(m->ids, ev->utid),
			       dense_thread(m->ids, (uint32_t)ev->v[EV_SWITCH_NEXT_UTID]), &w);
	return ret > 0 ? m->sink.found(m->sink.ctx, &w) : ret;
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

static int waits_begin_interval(void *machine, uint64_t from_ns)
{
	struct waits_machine *m = machine;

	m->interval_ns = from_ns;
	run_queue_begin_notes(m->queue);
	return 0;
}

static int waits_put_interval(void *machine, struct buf *out)
{
	struct waits_machine *m = machine;
	size_t cnt, i;
	const struct run_queue_state *notes = run_queue_notes(m->queue, &cnt);

	for (i = 0; i < cnt; i++)
		put_state(m, &notes[i], m->interval_ns, out);
	return 0;
}

static int waits_save(void *machine, uint64_t at_ns, struct buf *out)
{
	struct waits_machine *m = machine;
	struct run_queue_state s;
	uint32_t i;

	for (i = EVENT_ID_FIRST; i < m->ids->thread_cnt; i++)
		if (run_queue_get(m->queue, i, &s))
			put_state(m, &s, at_ns, out);
	return 0;
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
	uint64_t end;
	void *sum;
	int ret;

	if (w->to_ns < t->from_ns || w->to_ns >= t->to_ns)
		return 0;
	ret = t->sum(t, w->to_ns, &key, &sum, &end);
	if (ret <= 0)
		return ret;
	x = sum;
	x->by_reason[w->reason]++;
	x->migrations += w->migrated;
	return w->reason ? quantile_add(&x->waits, w->to_ns - w->from_ns) : 0;
}

static void waits_reset(void *sum)
{
	struct wait_sum *x = sum;
	struct quantile waits = x->waits;

	quantile_reset(&waits);
	*x = (struct wait_sum){ .waits = waits };
}

static void waits_done(void *sum)
{
	quantile_done(&((struct wait_sum *)sum)->waits);
}

static void waits_put(const struct dense_ids *d, const struct fold_key *key, void *sum,
		      struct buf *out)
{
	struct wait_sum *x = sum;
	unsigned int i;

	packed_put(out, dense_utid(d, (uint32_t)key->a));
	for (i = 0; i < RUN_QUEUE_REASON_CNT; i++)
		packed_put(out, x->by_reason[i]);
	packed_put(out, x->migrations);
	quantile_put(&x->waits, out);
}

static int waits_get_key(const struct dense_ids *d, struct packed_in *in, struct fold_key *ret)
{
	if (in->p == in->end)
		return in->bad ? -EBADMSG : 0;
	*ret = (struct fold_key){ .a = dense_thread(d, (uint32_t)packed_get(in)) };
	return in->bad ? -EBADMSG : 1;
}

static int waits_merge(void *sum, struct packed_in *in)
{
	struct wait_sum *x = sum;
	unsigned int i;

	for (i = 0; i < RUN_QUEUE_REASON_CNT; i++)
		x->by_reason[i] += packed_get(in);
	x->migrations += packed_get(in);
	return quantile_merge(&x->waits, in);
}

static const struct fold_sums_def wait_sums = {
	.bytes = sizeof(struct wait_sum), .reset = waits_reset, .done = waits_done,
	.add = waits_add, .put = waits_put, .get_key = waits_get_key, .merge = waits_merge,
	.part = INDEX_WAITS, .is_exact_decoded = true,
};

static const uint32_t waits_columns[EVENT_KIND_CNT] = {
	[EVENT_SWITCH] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SWITCH_NEXT_UTID |
			 1u << EV_SWITCH_PREV_STATE,
	[EVENT_WAKEUP] = 1u << EV_WAKEUP_TARGET_UTID,
};

const struct fold_def fold_waits = {
	.kinds = 1u << EVENT_SWITCH | 1u << EVENT_WAKEUP, .columns = waits_columns,
	.state = &waits_state, .sums = &wait_sums, .open = waits_open, .close = waits_close,
	.event = waits_event,
};
