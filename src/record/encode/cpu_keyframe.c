/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cpu_keyframe: who runs on each CPU when a block's slice begins.
 *
 * That is the thread that the last switch before the slice went to; before the first switch of all,
 * the thread that this switch leaves, or the one a snapshot saw. A thread has one CPU at a time:
 * when another CPU's switch names it, its way there was lost, and from then on nobody knows who has
 * the CPU, until its next switch. To see that, the switches of all CPUs are gone through in order
 * of time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/encode/block_state.h"

static bool lost_switches(const struct block_slice *s, unsigned int cpu)
{
	size_t i;

	for (i = 0; i < s->loss_cnt; i++)
		if ((s->losses[i].hook == WIRE_SWITCH || s->losses[i].hook == WIRE_SWITCH_MORE) &&
		    (s->losses[i].cpu == cpu || s->losses[i].cpu == UINT16_MAX))
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
 * Nothing is known from earlier. The first switch leaves whoever has been running since before;
 * without any, nobody changed, so the snapshot's word holds for all of the slice.
 */
static uint32_t first_runner(struct block_writer *w, const struct block_slice *s, unsigned int cpu,
			     uint32_t row, uint32_t end, bool *ret_known)
{
	const struct kind_rows *k = &w->rows[EVENT_SWITCH];
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
		/* Under --only a thread outside may have come onto the CPU unseen. */
		if (w->config.filtered &&
		    !(t && t->process && t->process->flags & TRACE_TASK_WORKLOAD))
			return SLOT_FILTERED;
		return slot;
	}
	t = lost_switches(s, cpu) ? NULL : task_table_snap_runner(w->task_table, cpu, w->start_ns);
	if (t)
		return block_slot_of(w, t);
	if (w->config.filtered)
		return SLOT_FILTERED;
	/* The snapshot saw every thread, and none was on this CPU. */
	if (w->config.cpu_online && w->config.cpu_online[cpu] && !lost_switches(s, cpu) &&
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

/* Finds who has the CPU at from_ns. */
static int begin_cpu(struct block_writer *w, const struct block_slice *s, unsigned int cpu)
{
	const struct kind_rows *k = &w->rows[EVENT_SWITCH];
	struct block_runner *r = &w->runners[cpu];
	struct block_cpu *c = &w->cpus[cpu];

	*c = (struct block_cpu){ .row = k->cpu_start[cpu],
				 .end = k->cpu_start[cpu + 1],
				 .since_ns = w->from_ns,
				 .doubt_ns = UINT64_MAX };
	c->run = r->known ? runner_slot(w, r) : first_runner(w, s, cpu, c->row, c->end, &r->known);
	if (c->run == UINT32_MAX)
		return -ENOMEM;
	/* Late records say who really ran when the slice began. */
	for (; c->row < c->end && k->ts_ns[c->row] < w->from_ns; c->row++)
		if (k->ts_ns[c->row] >= r->last_ns)
			c->run = after_switch(k, c->row);
	return 0;
}

/* The thread comes onto cpu; where it was thought to be, it has not been from now on. */
static void claim(struct block_writer *w, uint32_t slot, unsigned int cpu, uint64_t ts_ns)
{
	uint32_t had = w->claim[slot];

	if (had && had != cpu + 1 && w->cpus[had - 1].doubt_ns > ts_ns)
		w->cpus[had - 1].doubt_ns = ts_ns;
	w->claim[slot] = cpu + 1;
}

static int begin_cpus(struct block_writer *w, const struct block_slice *s)
{
	unsigned int cpu;
	int r;

	for (cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
		r = begin_cpu(w, s, cpu);
		if (r < 0)
			return r;
	}
	if (w->claim_cap < w->slots.cnt) {
		free(w->claim);
		w->claim_cap = w->slots.cnt * 2;
		w->claim = malloc((size_t)w->claim_cap * sizeof(*w->claim));
		if (!w->claim) {
			w->claim_cap = 0;
			return -ENOMEM;
		}
	}
	memset(w->claim, 0, w->slots.cnt * sizeof(*w->claim));
	for (cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
		struct block_cpu *c = &w->cpus[cpu];

		/* A keyframe never says that one thread runs twice. */
		if (c->run >= SLOT_FIRST && w->claim[c->run])
			c->run = SLOT_UNKNOWN;
		if (c->run >= SLOT_FIRST)
			w->claim[c->run] = cpu + 1;
		w->running[cpu] = c->run;
	}
	return 0;
}

static void account_switch(struct block_writer *w, unsigned int cpu)
{
	const struct kind_rows *k = &w->rows[EVENT_SWITCH];
	struct block_cpu *c = &w->cpus[cpu], *other;
	uint32_t prev = k->utid[c->row], next = after_switch(k, c->row), had;
	uint64_t ts_ns = k->ts_ns[c->row];

	if (w->claim[c->run] == cpu + 1)
		w->claim[c->run] = 0;
	had = w->claim[prev];
	if (had) {
		/* At one timestamp it may have left here and come there, in either order. */
		other = &w->cpus[had - 1];
		if (other->since_ns < ts_ns && other->doubt_ns > ts_ns)
			other->doubt_ns = ts_ns;
	}
	if (next >= SLOT_FIRST)
		claim(w, next, cpu, ts_ns);
	c->since_ns = ts_ns;
	c->doubt_ns = UINT64_MAX;
	c->run = next;
	c->row++;
}

/* The time of a CPU's next switch; UINT64_MAX: none is left in the slice. */
static uint64_t next_ns(const struct block_writer *w, unsigned int cpu)
{
	const struct block_cpu *c = &w->cpus[cpu];
	uint64_t ts_ns = c->row < c->end ? w->rows[EVENT_SWITCH].ts_ns[c->row] : UINT64_MAX;

	return ts_ns < w->to_ns ? ts_ns : UINT64_MAX;
}

static bool goes_first(const struct block_writer *w, unsigned int a, unsigned int b)
{
	uint64_t x = next_ns(w, a), y = next_ns(w, b);

	return x < y || (x == y && a < b);
}

static void sift_down(struct block_writer *w, uint32_t i, uint32_t cnt)
{
	uint32_t child, swap;

	for (; (child = 2 * i + 1) < cnt; i = child) {
		if (child + 1 < cnt && goes_first(w, w->cpu_heap[child + 1], w->cpu_heap[child]))
			child++;
		if (!goes_first(w, w->cpu_heap[child], w->cpu_heap[i]))
			return;
		swap = w->cpu_heap[i];
		w->cpu_heap[i] = w->cpu_heap[child];
		w->cpu_heap[child] = swap;
	}
}

static void account_switches(struct block_writer *w)
{
	uint32_t cnt = 0, i;
	unsigned int cpu;

	for (cpu = 0; cpu < w->config.cpu_cnt; cpu++)
		if (next_ns(w, cpu) != UINT64_MAX)
			w->cpu_heap[cnt++] = cpu;
	for (i = cnt / 2; i-- > 0;)
		sift_down(w, i, cnt);
	while (cnt) {
		cpu = w->cpu_heap[0];
		account_switch(w, cpu);
		if (next_ns(w, cpu) == UINT64_MAX)
			w->cpu_heap[0] = w->cpu_heap[--cnt];
		sift_down(w, 0, cnt);
	}
}

static void end_cpu(struct block_writer *w, unsigned int cpu)
{
	const struct kind_rows *k = &w->rows[EVENT_SWITCH];
	struct block_runner *r = &w->runners[cpu];
	struct block_cpu *c = &w->cpus[cpu];
	bool doubted = c->doubt_ns < w->to_ns;

	/* The next slice's first switch tells. */
	if (doubted) {
		c->run = SLOT_UNKNOWN;
		r->known = false;
	}
	for (; c->row < c->end; c->row++) {
		c->run = after_switch(k, c->row);
		r->known = true;
	}
	if (k->cpu_start[cpu] < c->end && k->ts_ns[c->end - 1] > r->last_ns)
		r->last_ns = k->ts_ns[c->end - 1];
	set_runner(r, w->slots.thread[c->run], w->slots.utid[c->run]);
}

int block_account_cpus(struct block_writer *w, const struct block_slice *s)
{
	unsigned int cpu;
	int r;

	r = begin_cpus(w, s);
	if (r < 0)
		return r;
	account_switches(w);
	for (cpu = 0; cpu < w->config.cpu_cnt; cpu++)
		end_cpu(w, cpu);
	return 0;
}

/* The thread's event at ts_ns may be older than what the snapshot read. */
static void check_start_state(struct block_writer *w, uint32_t slot, uint64_t ts_ns)
{
	struct task_thread *t = w->slots.thread[slot];

	if (t && ts_ns <= t->state_ns)
		t->start_state = 0;
}

void block_check_start_states(struct block_writer *w)
{
	static const unsigned int kinds[] = { EVENT_SWITCH, EVENT_WAKEUP };
	unsigned int i;
	uint32_t at;

	for (i = 0; i < 2; i++) {
		const struct kind_rows *k = &w->rows[kinds[i]];

		for (at = 0; at < k->cnt; at++) {
			check_start_state(w, k->ref[at], k->ts_ns[at]);
			if (kinds[i] == EVENT_SWITCH)
				check_start_state(w, k->utid[at], k->ts_ns[at]);
		}
	}
}

void block_end_start_states(struct block_writer *w)
{
	uint32_t slot;

	for (slot = SLOT_FIRST; slot < w->slots.cnt; slot++)
		w->slots.thread[slot]->start_state = 0;
}

void block_put_keyframe(struct block_writer *w)
{
	unsigned int cpu;

	for (cpu = 0; cpu < w->config.cpu_cnt; cpu++)
		row_put_cpu_state(&w->small[CHUNK_CPU_STATE], &(struct row_cpu_state){
			.cpu = cpu, .utid = w->slots.utid[w->running[cpu]] });
}
