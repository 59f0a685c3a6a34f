/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* fold_levels: a process takes no work until a keyframe, an event or a reset names it. */
#include "analyze/fold/folds.h"

#include <errno.h>
#include <stdlib.h>

struct level {
	struct mem_process mem;
	bool is_met;
};

struct levels_machine {
	struct fold_machine f;
	struct level *levels;	/* by dense_process() */
};

static int machine_open(void *machine)
{
	struct levels_machine *m = machine;

	m->levels = calloc(m->f.a->ids.process_cnt, sizeof(*m->levels));
	return m->levels ? 0 : -ENOMEM;
}

static void machine_close(void *machine)
{
	free(((struct levels_machine *)machine)->levels);
}

void fold_levels_fresh(const struct analysis *a, uint32_t process, struct mem_process *ret)
{
	const struct trace_process *p = dense_process_row(&a->ids, process);

	/* without its fork, a process has no start: its memory before its first event is unknown */
	mem_process_init(ret, p && !(p->flags & TRACE_TASK_AT_START) && p->start_ns >= a->start_ns);
}

/* NULL: unknown process. */
static struct mem_process *process_of(struct levels_machine *m, uint32_t process)
{
	struct level *l = &m->levels[process];

	if (process < EVENT_ID_FIRST)
		return NULL;
	if (!l->is_met)
		fold_levels_fresh(m->f.a, process, &l->mem);
	l->is_met = true;
	return &l->mem;
}

static int give(struct levels_machine *m, uint32_t process, uint64_t ts_ns, bool is_exec)
{
	return fold_found(&m->f, &(struct level_found){ ts_ns, process, is_exec,
							&m->levels[process].mem });
}

static int start(void *machine, uint64_t from_ns, size_t block, struct err *e)
{
	struct levels_machine *m = machine;
	const struct trace_rss *rows;
	size_t cnt = 0, i;
	int ret = 0;

	if (!block)
		rows = trace_rss_baselines(m->f.a->trace, &cnt);
	else
		ret = trace_block_rss(m->f.a->trace, block, &rows, &cnt, e);
	if (ret == -EBADMSG)	/* the memory in a damaged block is unknown */
		ret = 0;
	for (i = 0; !ret && i < cnt; i++) {
		uint32_t process = dense_process(&m->f.a->ids, rows[i].upid);
		struct mem_process *p = process_of(m, process);

		/*
		 * of several baselines the first one counts; a keyframe has only one row per
		 * process
		 */
		if (p && (block || !(p->known || p->born_inside)))
			mem_process_baseline(p, &rows[i]);
		if (p)
			ret = give(m, process, from_ns, false);
	}
	return ret;
}

static int on_event(void *machine, const struct event *ev)
{
	struct levels_machine *m = machine;
	/* both kinds have the process in the same column */
	uint32_t process = dense_process(&m->f.a->ids, (uint32_t)ev->v[EV_RSS_UPID]);
	struct mem_process *p = process_of(m, process);
	struct mem_step step;

	if (!p)
		return 0;
	mem_process_event(p, ev, &step);
	return give(m, process, ev->ts_ns, false);
}

static int on_reset(void *machine, const struct trace_mm_reset *t)
{
	struct levels_machine *m = machine;
	uint32_t process = dense_process(&m->f.a->ids, t->upid);
	struct mem_process *p = process_of(m, process);
	uint64_t own[MEM_LEVEL_CNT];
	struct mem_step rss, vm;

	if (!p)
		return 0;
	if (t->kind == TRACE_MM_RESET_EXIT)
		mem_process_exit(p, &rss, &vm);
	else
		mem_process_exec(p, &rss, own);
	return give(m, process, t->ts_ns, t->kind == TRACE_MM_RESET_EXEC);
}

static const uint32_t level_columns[EVENT_KIND_CNT] = {
	[EVENT_RSS] = 1u << EV_RSS_UPID | 1u << EV_RSS_MEMBER | 1u << EV_RSS_BYTES,
	[EVENT_VM] = 1u << EV_VM_UPID | 1u << EV_VM_TOTAL_VM_BYTES,
};

const struct fold_def fold_levels = {
	.kinds = 1u << EVENT_RSS | 1u << EVENT_VM, .columns = level_columns,
	.begin = FOLD_FROM_EDGE, .bytes = sizeof(struct levels_machine), .open = machine_open,
	.close = machine_close, .start = start, .event = on_event, .reset = on_reset,
};
