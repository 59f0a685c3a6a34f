/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* cpu_timeline: per CPU, the running thread and since when it runs. The rule is in the header. */
#include "model/cpu_timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "format/rows.h"

struct cpu_state {
	uint64_t since_ns;
	/* the first time at which the thread was seen on another CPU; UINT64_MAX: never */
	uint64_t doubt_ns;
	bool is_restored;	/* for the piece that begins at since_ns */
	uint64_t steal_ns;	/* sum of the steal time since the last boundary */
};

struct cpu_timeline {
	cpu_timeline_sink sink;
	void *ctx;
	bool started;
	unsigned int cpu_cnt;
	/* by CPU: a utid or pseudo id; a separate array for fast searches */
	uint32_t *runs;
	struct cpu_state cpus[];
};

int cpu_timeline_new(struct cpu_timeline **ret, unsigned int cpu_cnt, cpu_timeline_sink sink,
		     void *ctx)
{
	struct cpu_timeline *tl = calloc(1, sizeof(*tl) + cpu_cnt * sizeof(tl->cpus[0]));

	if (!tl)
		return -ENOMEM;
	tl->runs = malloc((cpu_cnt + 1) * sizeof(*tl->runs));
	if (!tl->runs) {
		free(tl);
		return -ENOMEM;
	}
	tl->sink = sink;
	tl->ctx = ctx;
	tl->cpu_cnt = cpu_cnt;
	for (unsigned int i = 0; i < cpu_cnt; i++) {
		tl->runs[i] = EVENT_ID_UNKNOWN;
		tl->cpus[i].doubt_ns = UINT64_MAX;
	}
	*ret = tl;
	return 0;
}

void cpu_timeline_free(struct cpu_timeline *tl)
{
	if (!tl)
		return;
	free(tl->runs);
	free(tl);
}

static int end_piece(struct cpu_timeline *tl, unsigned int cpu, uint32_t owner, uint64_t ts_ns,
		     const struct event *end)
{
	struct cpu_state *s = &tl->cpus[cpu];
	struct cpu_piece p = { .cpu = cpu, .utid = owner, .from_ns = s->since_ns, .end = end,
			       .is_restored = s->is_restored,
			       .steal_ns = end ? end->v[EV_SWITCH_STEAL_NS] : s->steal_ns };

	p.to_ns = ts_ns > s->since_ns ? ts_ns : s->since_ns;
	if (s->doubt_ns < p.to_ns)
		p.utid = EVENT_ID_UNKNOWN;
	s->since_ns = p.to_ns;
	s->doubt_ns = UINT64_MAX;
	s->is_restored = false;
	s->steal_ns = 0;
	if (!end && p.from_ns == p.to_ns)
		return 0;
	return tl->sink(tl->ctx, &p);
}

static int cut_piece(struct cpu_timeline *tl, unsigned int cpu, uint64_t ts_ns)
{
	uint32_t owner = tl->runs[cpu];

	if (tl->cpus[cpu].doubt_ns < ts_ns)
		tl->runs[cpu] = EVENT_ID_UNKNOWN;
	return end_piece(tl, cpu, owner, ts_ns, NULL);
}

int cpu_timeline_boundary(struct cpu_timeline *tl, uint64_t ts_ns, cpu_timeline_runner runner,
			  void *runner_ctx)
{
	int ret;

	for (unsigned int i = 0; i < tl->cpu_cnt; i++) {
		if (tl->started) {
			ret = cut_piece(tl, i, ts_ns);
			if (ret < 0)
				return ret;
		} else {
			tl->cpus[i].since_ns = ts_ns;
		}
		if (runner)
			tl->runs[i] = runner(runner_ctx, i);
	}
	tl->started = true;
	return 0;
}

static uint32_t owner_of(uint32_t runs, const struct event *ev)
{
	return runs == EVENT_ID_FILTERED || runs == ev->utid ? runs : EVENT_ID_UNKNOWN;
}

/*
 * utid was seen on cpu at ts_ns: if another CPU has had utid since before from_ns, marks the piece
 * of that CPU as doubtful.
 */
static void doubt_others(struct cpu_timeline *tl, uint32_t utid, unsigned int cpu, uint64_t ts_ns,
			 uint64_t from_ns)
{
	if (utid < EVENT_ID_FIRST)
		return;
	for (unsigned int i = 0; i < tl->cpu_cnt; i++)
		if (tl->runs[i] == utid && i != cpu && tl->cpus[i].since_ns < from_ns &&
		    tl->cpus[i].doubt_ns > ts_ns)
			tl->cpus[i].doubt_ns = ts_ns;
}

/* Ends the CPU's piece at since_ns: it belongs to owner, and utid has had the CPU since then. */
static int restore(struct cpu_timeline *tl, unsigned int cpu, uint32_t owner, uint32_t utid,
		   uint64_t since_ns)
{
	int ret = end_piece(tl, cpu, owner, since_ns, NULL);

	tl->runs[cpu] = utid;
	tl->cpus[cpu].is_restored = true;
	return ret;
}

int cpu_timeline_switch(struct cpu_timeline *tl, const struct event *ev)
{
	uint32_t owner, next = (uint32_t)ev->v[EV_SWITCH_NEXT_UTID];
	uint64_t stay_ns = ev->v[EV_SWITCH_STAY_NS];
	int ret = 0;

	if (ev->cpu >= tl->cpu_cnt)
		return 0;
	if (ev->flags & EVENT_F_NEXT_OUT)
		next = EVENT_ID_FILTERED;
	if (stay_ns > ev->ts_ns)
		stay_ns = 0;
	owner = owner_of(tl->runs[ev->cpu], ev);
	if (stay_ns && owner == ev->utid && owner != EVENT_ID_FILTERED &&
	    tl->cpus[ev->cpu].since_ns < ev->ts_ns - stay_ns)
		owner = EVENT_ID_UNKNOWN;	/* the thread left and returned in between */
	if (stay_ns && owner != ev->utid) {
		ret = restore(tl, ev->cpu, owner, ev->utid, ev->ts_ns - stay_ns);
		owner = ev->utid;
	}
	if (ret < 0)
		return ret;
	tl->runs[ev->cpu] = next;
	/* At the same timestamp, a thread may leave one CPU and enter another, in either order. */
	doubt_others(tl, ev->utid, ev->cpu, ev->ts_ns, ev->ts_ns);
	doubt_others(tl, next, ev->cpu, ev->ts_ns, UINT64_MAX);
	return end_piece(tl, ev->cpu, owner, ev->ts_ns, ev);
}

int cpu_timeline_finalize(struct cpu_timeline *tl, const struct row_cpu_end *last)
{
	int ret = 0;

	if (last->since_ns)
		ret = restore(tl, last->cpu, EVENT_ID_UNKNOWN, last->utid, last->since_ns);
	tl->runs[last->cpu] = last->utid;
	tl->cpus[last->cpu].doubt_ns = UINT64_MAX;
	tl->cpus[last->cpu].steal_ns = last->steal_ns;
	return ret;
}

uint64_t cpu_piece_own_steal_ns(const struct cpu_piece *p)
{
	uint64_t stay_ns = p->to_ns - p->from_ns;

	return p->is_restored ? 0 : p->steal_ns < stay_ns ? p->steal_ns : stay_ns;
}

void cpu_timeline_forget(struct cpu_timeline *tl)
{
	for (unsigned int i = 0; i < tl->cpu_cnt; i++)
		tl->runs[i] = EVENT_ID_UNKNOWN;
}
