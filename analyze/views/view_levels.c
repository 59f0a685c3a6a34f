/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * memory_levels(from_ns, to_ns, every_ns): what each process had resident and mapped at the end of
 * each bin, counter by counter, and the highest and lowest resident size inside it.
 *
 * A process has a row in a bin when it had anything at all.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/fold/fold_levels.h"
#include "analyze/views/view.h"

static const struct table_column level_cols[] = {
	WINDOW_COLUMNS,
	{ "upid", COLUMN_INT },
	{ "anon_bytes", COLUMN_INT },
	{ "file_bytes", COLUMN_INT },
	{ "shmem_bytes", COLUMN_INT },
	{ "swap_bytes", COLUMN_INT },
	{ "rss_bytes", COLUMN_INT },
	{ "vm_bytes", COLUMN_INT },
	{ "rss_peak_bytes", COLUMN_INT },
	{ "rss_peak_ns", COLUMN_INT },
	{ "rss_low_bytes", COLUMN_INT },
	WINDOW_ARGS,
};

enum { LEVEL_COLS = WINDOW_COLS + 10 };

struct level {
	struct mem_process mem;
	uint64_t rss;			/* of mem */
	uint64_t bin;			/* what follows is of this bin */
	uint64_t peak, low, peak_ns;
	bool is_met;
};

struct levels_view {
	struct view v;
	struct fold_run run;
	struct level *levels;		/* by process, of those met so far */
	uint32_t *met;			/* by number, as far as they are sorted */
	size_t met_cnt, sorted_cnt;
};

/* A level that is not met before the bin begins it with nothing. */
static void enter_bin(const struct view *v, struct level *l)
{
	if (l->bin == v->bin)
		return;
	l->bin = v->bin;
	l->peak = l->low = l->rss;
	l->peak_ns = v->bin_from_ns;
}

static int on_level(void *ctx, const void *found)
{
	struct levels_view *s = ctx;
	const struct level_found *f = found;
	struct level *l = &s->levels[f->process];

	if (!l->is_met) {
		s->met[s->met_cnt++] = f->process;
		l->is_met = true;
		l->bin = UINT64_MAX;
	}
	if (!s->run.before)
		enter_bin(&s->v, l);
	l->mem = *f->mem;
	l->rss = mem_process_rss(f->mem);
	if (s->run.before)
		return 0;
	if (l->rss > l->peak) {
		l->peak = l->rss;
		l->peak_ns = f->ts_ns > s->v.bin_from_ns ? f->ts_ns : s->v.bin_from_ns;
	}
	if (l->rss < l->low)
		l->low = l->rss;
	return 0;
}

static void close_view(struct view *v)
{
	struct levels_view *s = (struct levels_view *)v;

	fold_run_done(&s->run);
	free(s->levels);
	free(s->met);
}

static int begin(struct view *v, struct err *e)
{
	struct levels_view *s = (struct levels_view *)v;
	const struct fold_run_config c = { .def = &fold_levels, .window = &v->w,
					   .sink = { s, on_level } };

	s->levels = calloc(v->a->ids.process_cnt, sizeof(*s->levels));
	s->met = malloc(v->a->ids.process_cnt * sizeof(*s->met));
	if (!s->levels || !s->met)
		return err_set(e, -ENOMEM, "out of memory");
	return fold_run_begin(&s->run, v->a, &c, e);
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int give_row(struct view *v, uint32_t process, const struct level *l)
{
	struct cell *c = view_row(v);

	if (!c)
		return -ENOMEM;
	cell_int(&c[3], dense_upid(&v->a->ids, process));
	cell_int(&c[4], (int64_t)l->mem.bytes[MEM_ANON]);
	cell_int(&c[5], (int64_t)l->mem.bytes[MEM_FILE]);
	cell_int(&c[6], (int64_t)l->mem.bytes[MEM_SHMEM]);
	cell_int(&c[7], (int64_t)l->mem.bytes[MEM_SWAP]);
	cell_int(&c[8], (int64_t)mem_process_rss(&l->mem));
	cell_int(&c[9], (int64_t)l->mem.vm_bytes);
	cell_int(&c[10], (int64_t)l->peak);
	cell_int(&c[11], context_rel(v->a, l->peak_ns));
	cell_int(&c[12], (int64_t)l->low);
	return 0;
}

static int run_bin(struct view *v, struct err *e)
{
	struct levels_view *s = (struct levels_view *)v;
	uint64_t decided;
	size_t i;
	int ret = fold_run_to(&s->run, v->bin_to_ns, &decided, e);

	if (s->sorted_cnt < s->met_cnt)
		qsort(s->met, s->met_cnt, sizeof(*s->met), by_number);
	s->sorted_cnt = s->met_cnt;
	for (i = 0; !ret && i < s->met_cnt; i++) {
		uint32_t p = s->met[i];
		struct level *l = &s->levels[p];

		enter_bin(v, l);
		if (scope_has_process(&v->a->scope, p) && (l->peak || l->mem.vm_bytes) &&
		    give_row(v, p, l) < 0)
			ret = err_set(e, -ENOMEM, "out of memory");
	}
	return ret;
}

static const struct view_def levels_view = {
	.bytes = sizeof(struct levels_view), .close = close_view, .begin = begin,
	.run_bin = run_bin,
};

const struct table_def tables_of_levels[] = {
	VIEW_TABLE("memory_levels",
		   "resident and mapped memory of each process at the end of each bin", level_cols,
		   LEVEL_COLS, 3, levels_view),
	{ .name = NULL },
};
