/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_states: the folds of switches: time on CPUs, and states of threads.
 *
 * fold_cpu: blocks cover consecutive slices of time. The time of a hole between two blocks (a
 * damaged block) is assigned to EVENT_ID_UNKNOWN. A record inside a hole arrived late, in another
 * block. A keyframe is used if its edge is clean, that is if no later block has a record from
 * before the edge. Otherwise the chain of switches continues across the edge.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "analyze/fold/fold_sums.h"
#include "analyze/fold/folds.h"
#include "model/call.h"
#include "trace/trace_read.h"

struct cpu_machine {
	struct fold_machine f;
	struct cpu_timeline *tl;
	const struct trace_block *blocks;
	size_t block_cnt;
	uint64_t begin_ns;		/* start of the timeline */
	uint64_t start_ns;		/* start of the trace */
};

struct keyframe {
	const struct trace *trace;
	size_t block;
};

static uint32_t runner_of_keyframe(void *ctx, unsigned int cpu)
{
	const struct keyframe *k = ctx;

	return trace_block_running(k->trace, k->block, cpu);
}

static uint32_t runner_unknown(void *ctx, unsigned int cpu)
{
	return EVENT_ID_UNKNOWN;
}

static int on_piece(void *ctx, const struct cpu_piece *p)
{
	const struct cpu_machine *m = ctx;
	struct cpu_piece in_trace;

	if (p->from_ns > m->start_ns)
		return fold_found(ctx, p);
	/*
	 * if the piece begins with the trace, steal time that exceeds the piece is from before the
	 * trace: drop it
	 */
	in_trace = *p;
	in_trace.steal_ns = cpu_piece_own_steal_ns(p);
	return fold_found(ctx, &in_trace);
}

static int cpu_open(void *machine)
{
	struct cpu_machine *m = machine;
	const struct trace *t = m->f.a->trace;

	m->blocks = trace_blocks(t, &m->block_cnt);
	m->start_ns = trace_start_ns(t);
	return cpu_timeline_new(&m->tl, trace_cpu_cnt(t), on_piece, m);
}

static void cpu_close(void *machine)
{
	cpu_timeline_free(((struct cpu_machine *)machine)->tl);
}

static int cpu_start(void *machine, uint64_t from_ns, size_t block, struct err *e)
{
	struct cpu_machine *m = machine;

	m->begin_ns = from_ns;
	/* the threads that run before the first block are unknown */
	return cpu_timeline_boundary(m->tl, from_ns, runner_unknown, NULL);
}

static int cpu_event(void *machine, const struct event *ev)
{
	struct cpu_machine *m = machine;

	return cpu_timeline_switch(m->tl, ev);
}

static bool is_hole_behind(const struct cpu_machine *m, size_t block)
{
	return block + 1 == m->block_cnt ||
	       m->blocks[block + 1].from_ns > m->blocks[block].to_ns ||
	       trace_block_is_damaged(m->f.a->trace, block);
}

/* The last block of a cut trace stores the thread that runs on each CPU at the trace's end. */
static int finalize(struct cpu_machine *m, size_t block)
{
	const struct row_cpu_end *last;
	int ret = 0;

	for (unsigned int cpu = 0; ret >= 0 && cpu < trace_cpu_cnt(m->f.a->trace); cpu++) {
		last = trace_block_end(m->f.a->trace, block, cpu);
		ret = last ? cpu_timeline_finalize(m->tl, last) : 0;
	}
	return ret;
}

static int cpu_edge(void *machine, size_t block, bool is_end)
{
	struct cpu_machine *m = machine;
	const struct trace_block *b = &m->blocks[block];
	struct keyframe k = { m->f.a->trace, block };
	bool is_told;
	int ret = 0;

	if (is_end) {
		if (trace_block_is_damaged(m->f.a->trace, block))
			cpu_timeline_forget(m->tl);
		else
			ret = finalize(m, block);
		if (ret < 0)
			return ret;
		return cpu_timeline_boundary(m->tl, b->to_ns,
					     is_hole_behind(m, block) ? runner_unknown : NULL,
					     NULL);
	}
	/* the first block's keyframe is the state at the trace's start */
	is_told = !block || b->from_ns == m->begin_ns || m->f.a->block_is_clean[block] ||
		  is_hole_behind(m, block - 1);
	return cpu_timeline_boundary(m->tl, b->from_ns, is_told ? runner_of_keyframe : NULL, &k);
}

/* Reports all pieces before to_ns, which is an edge or the trace's end. */
static int cpu_until(void *machine, uint64_t to_ns)
{
	struct cpu_machine *m = machine;

	return cpu_timeline_boundary(m->tl, to_ns, NULL, NULL);
}

/* ---- sums ---- */

/*
 * Adds steal time. Steal time that exceeds the thread's time on the CPU was stolen earlier, from an
 * unknown thread.
 */
static int add_stolen(struct fold_target *t, const struct cpu_piece *p)
{
	struct fold_key key = { dense_thread(t->ids, p->utid), p->cpu };
	uint64_t own_ns = cpu_piece_own_steal_ns(p);
	void *sum;
	int ret = fold_sum_add_time(t, &key, offsetof(struct cpu_sum, steal_ns),
				    p->to_ns - own_ns, p->to_ns);

	if (ret < 0 || p->steal_ns == own_ns)
		return ret;
	key.a = dense_thread(t->ids, EVENT_ID_UNKNOWN);
	ret = fold_sum_at(t, p->from_ns, &key, &sum);
	if (ret > 0)
		((struct cpu_sum *)sum)->steal_ns += p->steal_ns - own_ns;
	return ret;
}

static int cpu_add(void *ctx, const void *found)
{
	struct fold_target *t = ctx;
	const struct cpu_piece *p = found;
	const struct event *ev = p->end;
	struct fold_key key = { dense_thread(t->ids, p->utid), p->cpu };
	struct cpu_sum *x;
	void *sum;
	int ret = fold_sum_add_time(t, &key, offsetof(struct cpu_sum, oncpu_ns), p->from_ns,
				    p->to_ns);

	if (ret >= 0 && p->steal_ns)
		ret = add_stolen(t, p);
	if (ret < 0 || !ev)
		return ret;
	key.a = dense_thread(t->ids, ev->utid);
	ret = fold_sum_at(t, ev->ts_ns, &key, &sum);
	if (ret <= 0)
		return ret;
	x = sum;
	x->switches++;
	x->preempted += !!(ev->flags & EVENT_F_PREEMPT);
	return 0;
}

static void cpu_put_key(const struct dense_ids *d, const struct fold_key *key, struct buf *out)
{
	packed_put(out, dense_utid(d, (uint32_t)key->a));
	packed_put(out, key->a >> FOLD_KEY_RENAMES);
	packed_put(out, key->b);
}

static void cpu_get_key(const struct dense_ids *d, struct packed_in *in, struct fold_key *ret)
{
	ret->a = dense_thread(d, (uint32_t)packed_get(in));
	ret->a |= packed_get(in) << FOLD_KEY_RENAMES;
	ret->b = (uint32_t)packed_get(in);
}

static const struct fold_sums_def cpu_sums = {
	.bytes = sizeof(struct cpu_sum), .count_cnt = 4, .add = cpu_add, .put_key = cpu_put_key,
	.get_key = cpu_get_key, .part = INDEX_CPU, .renames = &fold_thread_renames,
};

static const uint32_t cpu_columns[EVENT_KIND_CNT] = {
	[EVENT_SWITCH] = FOLD_CPU_COLUMNS | 1u << EV_SWITCH_STEAL_NS,
};

const struct fold_def fold_cpu = {
	.kinds = 1u << EVENT_SWITCH, .columns = cpu_columns, .begin = FOLD_FROM_EDGE,
	.sums = &cpu_sums, .bytes = sizeof(struct cpu_machine), .open = cpu_open,
	.close = cpu_close, .start = cpu_start, .event = cpu_event, .edge = cpu_edge,
	.until = cpu_until,
};

/* fold_irq: the machine consists of an irq_track and the times at which holes in events begin. */

struct irq_machine {
	struct fold_machine f;
	struct irq_track *track;
	struct irq_holes holes;
};

static int on_run(void *ctx, const struct irq_run *r)
{
	return fold_found(ctx, &(struct irq_found){ r, false });
}

static int on_broken(void *ctx, const struct irq_run *r)
{
	return fold_found(ctx, &(struct irq_found){ r, true });
}

static int machine_open(void *machine)
{
	struct irq_machine *m = machine;
	const struct irq_sink to = { .ctx = m, .run = on_run, .broken = on_broken };
	int ret = irq_track_new(&m->track, trace_cpu_cnt(m->f.a->trace), &to);

	return ret < 0 ? ret : irq_holes_find(&m->holes, m->f.a->trace);
}

static void machine_close(void *machine)
{
	struct irq_machine *m = machine;

	irq_track_free(m->track);
	irq_holes_done(&m->holes);
}

/*
 * Handles the holes before to_ns; call before passing later events. An interrupt that is open at a
 * hole has an unknown end.
 */
static int until(void *machine, uint64_t to_ns)
{
	struct irq_machine *m = machine;

	return irq_holes_pass(&m->holes, to_ns) ? irq_track_hole(m->track) : 0;
}

static int on_event(void *machine, const struct event *ev)
{
	struct irq_machine *m = machine;
	int ret = until(m, ev->ts_ns + 1);

	return ret < 0 ? ret : irq_track_event(m->track, ev);
}

static int at_end(void *machine)
{
	struct irq_machine *m = machine;
	const struct trace *t = m->f.a->trace;
	int ret = until(m, UINT64_MAX);

	if (ret < 0)
		return ret;
	return trace_is_cut_short(t) ? irq_track_cut(m->track, trace_end_ns(t)) :
				       irq_track_hole(m->track);
}

static uint64_t undecided_ns(const void *machine)
{
	return irq_track_oldest_ns(((const struct irq_machine *)machine)->track);
}

/* ---- states ---- */

static void save(void *machine, uint64_t at_ns, struct buf *out)
{
	irq_track_save(((struct irq_machine *)machine)->track, at_ns, out);
}

static int load(void *machine, uint64_t at_ns, struct packed_in *in, bool is_tail)
{
	struct irq_machine *m = machine;

	(void)irq_holes_pass(&m->holes, at_ns);
	return irq_track_load(m->track, in, at_ns);
}

static const struct fold_state_def irq_state = {
	.part = INDEX_IRQ_STATE, .tail = INDEX_TAIL_IRQ, .save = save, .load = load,
};

static const uint32_t irq_columns[EVENT_KIND_CNT] = {
	[EVENT_IRQ] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_IRQ_ACTION | 1u << EV_IRQ_TYPE |
		      1u << EV_IRQ_VECTOR,
};

const struct fold_def fold_irq = {
	.kinds = 1u << EVENT_IRQ, .columns = irq_columns, .state = &irq_state,
	.bytes = sizeof(struct irq_machine), .open = machine_open, .close = machine_close,
	.event = on_event, .until = until, .end = at_end, .undecided_ns = undecided_ns,
};

/*
 * fold_states: the machine combines the CPU timeline of fold_cpu with the states of threads, whose
 * time on CPUs comes from the timeline. At every edge of a block, all earlier time of threads is
 * reported. So a piece of a thread's time depends only on its block and on the state at the block's
 * beginning, as does a piece of the timeline.
 */

struct states_machine {
	struct fold_machine f;
	const struct dense_ids *ids;
	struct fold_machine *cpu;	/* machine of fold_cpu */
	struct thread_states *states;
	struct request_track *requests;	/* finds threads that wait for a disk */
	bool workload_only;		/* --only excluded most events of other threads */
	const struct trace_block *blocks;
	size_t block_cnt;
	uint64_t begin_ns;
	/* by thread: end of its life plus one; 0: not looked up yet */
	uint64_t *end_ns;
};

static uint64_t end_of(void *ctx, uint32_t thread)
{
	struct states_machine *m = ctx;
	uint64_t *end_ns = &m->end_ns[thread];

	if (!*end_ns)
		*end_ns = dense_thread_row(m->ids, thread)->end_ns + 1;
	return *end_ns - 1;
}

/*
 * If a thread's last switch was lost, the thread ends at its exit: time off the CPUs that began
 * before the exit does not continue after it. (A thread may still sleep after its exit.)
 */
static int on_state(void *ctx, const struct thread_piece *p)
{
	struct states_machine *m = ctx;
	uint64_t end_ns = end_of(m, p->thread);
	struct thread_piece mine;
	int ret;

	if (!end_ns || end_ns >= p->to_ns || p->state == THREAD_RUNNING ||
	    (p->is_behind && p->state != THREAD_UNKNOWN))
		return fold_found(&m->f, &(struct states_found){ .piece = p });
	mine = *p;
	mine.to_ns = end_ns;
	ret = mine.from_ns >= mine.to_ns ?
		      0 : fold_found(&m->f, &(struct states_found){ .piece = &mine });
	return ret < 0 ? ret : !p->is_behind && p->state != THREAD_UNKNOWN;
}

static int on_sleep(void *ctx, const struct thread_sleep *x)
{
	struct states_machine *m = ctx;

	return fold_found(&m->f, &(struct states_found){ .sleep = x });
}

static int on_wait(void *ctx, const struct thread_wait *w)
{
	struct states_machine *m = ctx;

	return fold_found(&m->f, &(struct states_found){ .wait = w });
}

/*
 * Returns the thread, or EVENT_ID_FILTERED if --only excluded it: the only recorded events of such
 * a thread are wake-ups by the workload and switches to it, so the end of its states is unknown. A
 * thread of an unknown process counts as excluded unless it was seen on a CPU.
 */
static uint32_t followed(const struct states_machine *m, uint32_t utid)
{
	uint32_t thread = dense_thread(m->ids, utid);
	const struct trace_process *p;

	if (!m->workload_only || thread < EVENT_ID_FIRST)
		return thread;
	p = dense_process_row(m->ids, dense_process_of(m->ids, thread));
	if (p ? p->flags & (TRACE_TASK_WORKLOAD | TRACE_TASK_RECORDER) :
		thread_states_lives(m->states, thread))
		return thread;
	return EVENT_ID_FILTERED;
}

/*
 * Passes on the submitter without followed(): the result for threads that are not followed is
 * unused.
 */
static int on_flight(void *ctx, const struct request_flight *f)
{
	struct states_machine *m = ctx;

	thread_states_flight(m->states, dense_thread(m->ids, f->submitter), f->more, f->ts_ns);
	return 0;
}

/*
 * Reports a piece of a CPU's time. If the thread is unknown, the time counts as running, because
 * nothing else is known about the thread.
 */
static int on_cpu_piece(void *ctx, const void *found)
{
	struct states_machine *m = ctx;
	const struct cpu_piece *p = found;
	const struct thread_piece nobody = {
		.thread = EVENT_ID_UNKNOWN, .state = THREAD_RUNNING,
		.from_ns = p->from_ns, .to_ns = p->to_ns,
	};
	int ret = 0;

	if (p->utid != EVENT_ID_UNKNOWN)
		ret = thread_states_ran(m->states, followed(m, p->utid), p->cpu, p->from_ns,
					p->to_ns);
	else if (p->from_ns < p->to_ns && context_has_cpu(m->f.a, p->cpu))
		ret = fold_found(&m->f, &(struct states_found){ .piece = &nobody });

	return ret < 0 ? ret : fold_found(&m->f, &(struct states_found){ .ran = p });
}

static int states_open(void *machine)
{
	struct states_machine *m = machine;
	const struct thread_states_sink sink = { m, end_of, on_state, on_sleep, on_wait };
	int ret;

	m->ids = &m->f.a->ids;
	m->workload_only = context_workload_only(m->f.a);
	m->blocks = trace_blocks(m->f.a->trace, &m->block_cnt);
	m->end_ns = calloc(m->ids->thread_cnt, sizeof(*m->end_ns));
	m->cpu = calloc(1, fold_cpu.bytes);
	if (!m->end_ns || !m->cpu)
		return -ENOMEM;
	*m->cpu = (struct fold_machine){ m->f.a, &fold_cpu, { m, on_cpu_piece } };
	ret = fold_cpu.open(m->cpu);
	if (ret >= 0)
		ret = request_track_new(&m->requests, NULL, m);
	if (ret < 0)
		return ret;
	request_track_on_flight(m->requests, on_flight);
	return thread_states_new(&m->states, m->ids->thread_cnt, &sink);
}

static void states_close(void *machine)
{
	struct states_machine *m = machine;

	if (m->cpu)
		fold_cpu.close(m->cpu);
	free(m->cpu);
	free(m->end_ns);
	request_track_free(m->requests);
	thread_states_free(m->states);
}

/*
 * Threads older than the trace are alive at its start. The life of COMMAND begins when the recorder
 * releases it.
 */
static int states_start(void *machine, uint64_t from_ns, size_t block, struct err *e)
{
	struct states_machine *m = machine;
	uint64_t start_ns = m->f.a->start_ns;
	int ret = fold_cpu.start(m->cpu, block ? from_ns : start_ns, block, e);

	m->begin_ns = block ? from_ns : start_ns;
	thread_states_start(m->states, m->begin_ns);
	for (uint32_t i = EVENT_ID_FIRST; !block && i < m->ids->thread_cnt && !ret; i++) {
		const struct trace_thread *t = dense_thread_row(m->ids, i);

		if (t->start_ns && t->start_ns < start_ns && t->start_call != CALL_HELD &&
		    (!t->end_ns || t->end_ns > start_ns) &&
		    followed(m, dense_utid(m->ids, i)) == i)
			ret = thread_states_begin(m->states, i, start_ns, t->start_state,
						  t->start_call);
	}
	return ret;
}

static int states_event(void *machine, const struct event *ev)
{
	struct states_machine *m = machine;
	uint32_t thread;
	int ret = 0;

	switch (ev->kind) {
	case EVENT_WAKEUP:
		thread = followed(m, (uint32_t)ev->v[EV_WAKEUP_TARGET_UTID]);
		return thread_states_wake(m->states, thread, ev->ts_ns,
					  dense_thread(m->ids, ev->utid),
					  ev->flags & EVENT_F_IRQ,
					  (uint16_t)ev->v[EV_WAKEUP_CALL]);
	case EVENT_REQUEST:
		return request_track_event(m->requests, ev);
	case EVENT_OFFCPU:
		return fold_found(&m->f, &(struct states_found){ .offcpu = ev });
	default:
		break;
	}
	if (ev->ts_ns >= m->begin_ns)
		ret = fold_cpu.event(m->cpu, ev);
	if (ret >= 0)
		ret = thread_states_leave(m->states, ev, followed(m, ev->utid));
	if (ret < 0 || ev->flags & EVENT_F_NEXT_OUT)
		return ret;
	thread = dense_thread(m->ids, (uint32_t)ev->v[EV_SWITCH_NEXT_UTID]);
	return thread_states_enter(m->states, thread, ev->cpu, ev->ts_ns);
}

static int states_edge(void *machine, size_t block, bool is_end)
{
	struct states_machine *m = machine;
	const struct trace *t = m->f.a->trace;
	const struct trace_block *b = &m->blocks[block];
	bool is_damaged = is_end && trace_block_is_damaged(t, block);
	int ret;

	if (is_damaged)
		thread_states_forget(m->states);
	ret = fold_cpu.edge(m->cpu, block, is_end);
	if (ret >= 0)
		ret = thread_states_until(m->states, is_end ? b->to_ns : b->from_ns);
	if (is_end && block + 1 < m->block_cnt && b[1].from_ns > b->to_ns)
		thread_states_forget(m->states);
	for (unsigned int cpu = 0; !is_end && cpu < trace_cpu_cnt(t); cpu++)
		thread_states_on_cpu(m->states,
				     dense_thread(m->ids, trace_block_running(t, block, cpu)));
	return ret;
}

static int states_until(void *machine, uint64_t to_ns)
{
	struct states_machine *m = machine;
	int ret = fold_cpu.until(m->cpu, to_ns);

	return ret < 0 ? ret : thread_states_until(m->states, to_ns);
}

/* ---- states ---- */

static uint32_t id_of(void *ctx, uint32_t thread)
{
	return dense_utid(ctx, thread);
}

static uint32_t thread_of(void *ctx, uint32_t id)
{
	return dense_thread(ctx, id);
}

static void states_save(void *machine, uint64_t at_ns, struct buf *out)
{
	const struct states_machine *m = machine;

	thread_states_save(m->states, at_ns, id_of, (void *)m->ids, out);
	request_track_save(m->requests, at_ns, out);
}

static int states_load(void *machine, uint64_t at_ns, struct packed_in *in, bool is_tail)
{
	const struct states_machine *m = machine;

	int ret = thread_states_load(m->states, thread_of, (void *)m->ids, in);

	return ret < 0 ? ret : request_track_load(m->requests, in, at_ns);
}

static const struct fold_state_def states_state = {
	.part = INDEX_STATE_STATE, .tail = INDEX_TAIL_STATES, .save = states_save,
	.load = states_load,
};

/* ---- sums ---- */

static int add_wait(struct fold_target *t, const struct thread_wait *w)
{
	bool is_throttled = w->reason == THREAD_WAIT_THROTTLED;
	const struct fold_key key = state_key(w->thread, is_throttled ? THREAD_THROTTLED : 0, 0);
	struct state_sum *sum;
	void *at;
	int ret = fold_sum_at(t, w->to_ns, &key, &at);

	if (ret <= 0)
		return ret;
	sum = at;
	sum->by_reason[w->reason]++;
	sum->migrations += w->is_migrated && !is_throttled;
	return w->reason ? quantile_add(&sum->waits, w->to_ns - w->from_ns) : 0;
}

static int add_sleep(struct fold_target *t, const struct thread_sleep *x)
{
	const struct fold_key key = state_key(x->thread, x->state, x->call);
	struct state_sum *sum;
	void *at;
	int ret = x->left_ns ? fold_sum_at(t, x->end_ns, &key, &at) : 0;

	if (ret <= 0)
		return ret;
	sum = at;
	if (x->is_seen && x->waker_call == CALL_TIMEOUT) {
		sum->timeouts++;
		sum->timeout_ns += x->end_ns - x->left_ns;
	}
	return quantile_add(&sum->waits, x->end_ns - x->left_ns);
}

static int states_add(void *ctx, const void *found)
{
	const struct states_found *x = found;
	const struct thread_piece *p = x->piece;

	if (p) {
		const struct fold_key key = state_key(p->thread, p->state, p->call);

		return fold_sum_add_time(ctx, &key, offsetof(struct state_sum, ns[p->state]),
					 p->from_ns, p->to_ns);
	}
	return x->wait ? add_wait(ctx, x->wait) : x->sleep ? add_sleep(ctx, x->sleep) : 0;
}

static void states_put_key(const struct dense_ids *d, const struct fold_key *key, struct buf *out)
{
	packed_put(out, dense_utid(d, (uint32_t)key->a));
	packed_put(out, key->a >> FOLD_KEY_RENAMES);
	packed_put(out, key->b);
}

static void states_get_key(const struct dense_ids *d, struct packed_in *in, struct fold_key *ret)
{
	ret->a = dense_thread(d, (uint32_t)packed_get(in));
	ret->a |= packed_get(in) << FOLD_KEY_RENAMES;
	ret->b = packed_get(in);
}

_Static_assert(THREAD_STATE_CNT + THREAD_WAIT_REASON_CNT + 3 <= FOLD_SUMS_COUNTS,
	       "room for all counts");

#define STATE_SUMS                                                                                 \
	.bytes = sizeof(struct state_sum), .quantile_cnt = 1,                                     \
	.count_cnt = THREAD_STATE_CNT + THREAD_WAIT_REASON_CNT + 3, .add = states_add,            \
	.put_key = states_put_key, .get_key = states_get_key, .part = INDEX_STATES,               \
	.renames = &fold_thread_renames

static const struct fold_sums_def state_sums = { STATE_SUMS };
static const struct fold_sums_def wait_sums = { STATE_SUMS, .is_exact_decoded = true };

static const uint32_t states_columns[EVENT_KIND_CNT] = {
	[EVENT_SWITCH] = FOLD_CPU_COLUMNS | 1u << EV_SWITCH_STEAL_NS | 1u << EV_SWITCH_PREV_STATE |
			 1u << EV_SWITCH_CALL | 1u << EV_SWITCH_OBJECT,
	[EVENT_WAKEUP] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_WAKEUP_TARGET_UTID |
			 1u << EV_WAKEUP_CALL,
	[EVENT_REQUEST] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_REQUEST_RQ |
			  1u << EV_REQUEST_DEV | 1u << EV_REQUEST_ACTION |
			  1u << EV_REQUEST_SECTOR | 1u << EV_REQUEST_BYTES |
			  1u << EV_REQUEST_DONE_BYTES | 1u << EV_REQUEST_CMD_FLAGS,
	[EVENT_OFFCPU] = EVENT_COL_FLAGS * 2 - 1,
};

#define STATES_FOLD                                                                                \
	.asks = ANALYSIS_STATES, .columns = states_columns, .begin = FOLD_FROM_EDGE,              \
	.state = &states_state, .bytes = sizeof(struct states_machine), .open = states_open,      \
	.close = states_close, .start = states_start, .event = states_event, .edge = states_edge, \
	.until = states_until

#define WAITS_KINDS (1u << EVENT_SWITCH | 1u << EVENT_WAKEUP)
#define STATES_KINDS (WAITS_KINDS | 1u << EVENT_REQUEST)

const struct fold_def fold_states = { STATES_FOLD, .kinds = STATES_KINDS, .sums = &state_sums };
const struct fold_def fold_waits = { STATES_FOLD, .kinds = WAITS_KINDS, .sums = &wait_sums };
const struct fold_def fold_sleeps = { STATES_FOLD, .kinds = WAITS_KINDS };
const struct fold_def fold_ends = { STATES_FOLD, .kinds = STATES_KINDS };
const struct fold_def fold_offcpu = { STATES_FOLD, .kinds = STATES_KINDS | 1u << EVENT_OFFCPU };
