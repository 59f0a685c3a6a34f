/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cpu_keyframe: finds the thread on each CPU at the start of a block's slice.
 *
 * This is the thread to which the last switch before the slice went. Before the first switch, it is
 * the thread that the first switch leaves, or the thread that a snapshot saw. A thread has one CPU
 * at a time: if a switch of another CPU names the thread, a switch was lost, and the thread on the
 * former CPU is unknown until that CPU's next switch. At the slice's end a thread is therefore on
 * the CPU of its last switch. The thread on a CPU is also unknown after switches of this CPU were
 * lost because the ring was full.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "record/encode/block_state.h"

static bool is_switch_of(const struct trace_loss *l, unsigned int cpu)
{
	return (l->hook == WIRE_SWITCH || l->hook == WIRE_SWITCH_MORE) &&
	       (l->cpu == cpu || l->cpu == UINT16_MAX);
}

static bool lost_switches(const struct block_slice *s, unsigned int cpu)
{
	for (size_t i = 0; i < s->loss_cnt; i++)
		if (is_switch_of(&s->losses[i], cpu))
			return true;
	return false;
}

/*
 * Returns true if switch records were lost in the ring after ts_ns. If only a program did not run,
 * the next switch has stay_ns.
 */
static bool lost_records_since(const struct block_slice *s, unsigned int cpu, uint64_t ts_ns)
{
	for (size_t i = 0; i < s->loss_cnt; i++)
		if (is_switch_of(&s->losses[i], cpu) && s->losses[i].to_ns > ts_ns &&
		    (s->losses[i].full_cnt || s->losses[i].other_cnt))
			return true;
	return false;
}

static uint32_t runner_slot(struct block_writer *w, const struct block_runner *r)
{
	if (r->thread)
		return block_slot_of(w, r->thread);
	switch (r->pseudo) {
	case EVENT_ID_IDLE:
		return SLOT_IDLE;
	case EVENT_ID_FILTERED:
		return SLOT_FILTERED;
	default:
		return SLOT_UNKNOWN;
	}
}

/*
 * Finds the thread on a CPU without a known thread. The first switch shows the thread that had the
 * CPU until then. Without a switch, the CPU had one thread for the whole slice, and the snapshot's
 * row is right unless switches were lost.
 */
static uint32_t first_runner(struct block_writer *w, const struct block_slice *s, unsigned int cpu,
			     uint32_t row, uint32_t end, bool *ret_known)
{
	const struct kind_rows *k = &w->rows[EVENT_SWITCH];
	bool is_lost = w->runners[cpu].lost || lost_switches(s, cpu);
	struct task_thread *t;
	uint32_t slot;

	if (w->config.no_switches) {
		*ret_known = false;
		return SLOT_UNKNOWN;
	}
	*ret_known = true;
	if (row < end) {
		slot = k->utid[row];
		t = w->slots.thread[slot];
		/*
		 * With --only, a thread outside the workload may have had the CPU without a record.
		 */
		if (w->config.filtered &&
		    !(t && t->process && t->process->flags & TRACE_TASK_WORKLOAD))
			return SLOT_FILTERED;
		return slot;
	}
	t = is_lost ? NULL : task_table_snap_runner(w->task_table, cpu, w->start_ns);
	if (t)
		return block_slot_of(w, t);
	if (w->config.filtered && !w->runners[cpu].lost)
		return SLOT_FILTERED;
	/* The snapshot includes every thread, and none was on this CPU. */
	if (w->config.cpu_online && w->config.cpu_online[cpu] && !is_lost &&
	    task_table_has_snap_since(w->task_table, w->start_ns))
		return SLOT_IDLE;
	*ret_known = false;
	return SLOT_UNKNOWN;
}

static uint32_t after_switch(const struct kind_rows *k, uint32_t row)
{
	uint64_t flags = k->tuples.values[(size_t)k->tuple[row] * k->tuples.width];

	return flags & EVENT_F_NEXT_OUT ? SLOT_FILTERED : k->ref[row];
}

static void set_runner(struct block_runner *r, struct task_thread *t, uint32_t pseudo)
{
	if (t)
		t->life.pinned++;
	if (r->thread)
		r->thread->life.pinned--;
	r->thread = t;
	r->pseudo = pseudo;
}

/* Finds the thread on a CPU at from_ns. */
static int begin_cpu(struct block_writer *w, const struct block_slice *s, unsigned int cpu)
{
	const struct kind_rows *k = &w->rows[EVENT_SWITCH];
	struct block_runner *r = &w->runners[cpu];
	struct block_cpu *c = &w->cpus[cpu];

	*c = (struct block_cpu){ .row = k->cpu_start[cpu],
				 .end = k->cpu_start[cpu + 1],
				 .since_ns = w->from_ns };
	c->run = r->known ? runner_slot(w, r) : first_runner(w, s, cpu, c->row, c->end, &r->known);
	if (c->run == UINT32_MAX)
		return -ENOMEM;
	/* Late records show switches before the slice began. */
	for (; c->row < c->end && k->ts_ns[c->row] < w->from_ns; c->row++)
		if (k->ts_ns[c->row] >= r->last_ns)
			c->run = after_switch(k, c->row);
	return 0;
}

static int begin_cpus(struct block_writer *w, const struct block_slice *s)
{
	int r;

	for (unsigned int cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
		r = begin_cpu(w, s, cpu);
		if (r < 0)
			return r;
	}
	if (array_reserve(&w->sights, &w->sight_cap, w->slots.cnt) < 0)
		return -ENOMEM;
	memset(w->sights, 0, w->slots.cnt * sizeof(*w->sights));
	for (unsigned int cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
		struct block_cpu *c = &w->cpus[cpu];

		/* A keyframe must not have a thread on two CPUs. */
		if (c->run >= SLOT_FIRST && w->sights[c->run].is_on)
			c->run = SLOT_UNKNOWN;
		w->sights[c->run].is_on = true;
		w->running[cpu] = c->run;
	}
	return 0;
}

static void account_switches(struct block_writer *w, unsigned int cpu)
{
	const struct kind_rows *k = &w->rows[EVENT_SWITCH];
	struct block_cpu *c = &w->cpus[cpu];
	struct block_sight *s;

	for (; c->row < c->end && k->ts_ns[c->row] < w->to_ns; c->row++) {
		c->since_ns = k->ts_ns[c->row];
		s = &w->sights[k->utid[c->row]];
		if (c->since_ns > s->left_ns)
			s->left_ns = c->since_ns;
		c->run = after_switch(k, c->row);
		s = &w->sights[c->run];
		if (c->since_ns >= s->came_ns) {
			s->came_ns = c->since_ns;
			s->came_to = cpu + 1;
		}
	}
}

/*
 * Returns true if this CPU's thread was seen on another CPU after its switch to this CPU, or at the
 * same instant: switches with equal timestamps have no order.
 */
static bool is_elsewhere(const struct block_writer *w, unsigned int cpu)
{
	const struct block_cpu *c = &w->cpus[cpu];
	const struct block_sight *s = &w->sights[c->run];

	return c->run >= SLOT_FIRST &&
	       (s->left_ns > c->since_ns ||
		(s->came_to && s->came_to != cpu + 1 && s->came_ns >= c->since_ns));
}

static void end_cpu(struct block_writer *w, const struct block_slice *s, unsigned int cpu)
{
	const struct kind_rows *k = &w->rows[EVENT_SWITCH];
	struct block_runner *r = &w->runners[cpu];
	struct block_cpu *c = &w->cpus[cpu];
	bool is_lost = lost_records_since(s, cpu, c->since_ns);

	/* The first switch of the next slice shows when this stay ended. */
	c->needs_end = is_lost && c->run != SLOT_UNKNOWN;
	if (is_lost || is_elsewhere(w, cpu)) {
		c->run = SLOT_UNKNOWN;
		r->known = false;
		r->lost = true;
	} else if (r->known) {
		r->lost = false;
	}
	c->last_run = c->run;
	for (; c->row < c->end; c->row++) {
		c->run = after_switch(k, c->row);
		r->known = true;
		r->lost = false;
	}
	if (k->cpu_start[cpu] < c->end && k->ts_ns[c->end - 1] > r->last_ns)
		r->last_ns = k->ts_ns[c->end - 1];
	set_runner(r, w->slots.thread[c->run], w->slots.utid[c->run]);
}

int block_account_cpus(struct block_writer *w, const struct block_slice *s)
{
	int r;

	r = begin_cpus(w, s);
	if (r < 0)
		return r;
	for (unsigned int cpu = 0; cpu < w->config.cpu_cnt; cpu++)
		account_switches(w, cpu);
	for (unsigned int cpu = 0; cpu < w->config.cpu_cnt; cpu++)
		end_cpu(w, s, cpu);
	return 0;
}

/* Discards a start state that the snapshot may have read after the thread's event at ts_ns. */
static void check_start_state(struct block_writer *w, uint32_t slot, uint64_t ts_ns)
{
	struct task_thread *t = w->slots.thread[slot];

	if (t && ts_ns <= t->state_ns)
		t->start_state = 0;
}

void block_check_start_states(struct block_writer *w)
{
	static const unsigned int kinds[] = { EVENT_SWITCH, EVENT_WAKEUP };

	for (unsigned int i = 0; i < 2; i++) {
		const struct kind_rows *k = &w->rows[kinds[i]];

		for (uint32_t at = 0; at < k->cnt; at++) {
			check_start_state(w, k->ref[at], k->ts_ns[at]);
			if (kinds[i] == EVENT_SWITCH)
				check_start_state(w, k->utid[at], k->ts_ns[at]);
		}
	}
}

void block_end_start_states(struct block_writer *w)
{
	for (uint32_t slot = SLOT_FIRST; slot < w->slots.cnt; slot++)
		w->slots.thread[slot]->start_state = w->slots.thread[slot]->start_call = 0;
}

void block_put_keyframe(struct block_writer *w)
{
	bool needs_end = false;

	for (unsigned int cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
		row_put_cpu_state(&w->small[CHUNK_CPU_STATE], &(struct row_cpu_state){
			.cpu = cpu, .utid = w->slots.utid[w->running[cpu]] });
		needs_end |= w->cpus[cpu].needs_end;
	}
	for (unsigned int cpu = 0; needs_end && cpu < w->config.cpu_cnt; cpu++)
		row_put_cpu_end(&w->small[CHUNK_CPU_END], &(struct row_cpu_end){
			.cpu = cpu, .utid = w->slots.utid[w->cpus[cpu].last_run] });
}
