/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cpu_usage(from_ns, to_ns, every_ns): per bin, CPU and thread, the time on the CPU and how often
 * it left it.
 *
 * For every CPU that exists in the trace the rows of a bin add up to the bin (its part inside the
 * trace's span), exactly. Works cell by cell: one that lies in a single bin is taken from the index,
 * the pieces of others are summed up per bin, and a bin is given out once no open piece can reach
 * into it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cpu_scan.h"
#include "analyze/index_sched.h"
#include "event/keymap.h"
#include "analyze/table.h"
#include "analyze/window.h"

static const struct table_column cpu_usage_cols[] = {
	WINDOW_COLUMNS,
	{ "cpu", COLUMN_INT },
	{ "utid", COLUMN_INT },
	{ "upid", COLUMN_INT },
	{ "oncpu_ns", COLUMN_INT },
	{ "switches", COLUMN_INT },
	{ "preempted", COLUMN_INT },
	WINDOW_ARGS,
};

enum { CPU_USAGE_COLS = WINDOW_COLS + 6 };

struct usage {
	uint64_t bin;
	uint64_t oncpu_ns, switches, preempted;
	uint32_t cpu, thread;
};

struct usage_scan {
	struct analysis *a;
	struct window w;
	const struct index *index;	/* NULL: none */
	struct cpu_scan *scan;		/* of [at_ns, scan_to_ns); NULL: none under way */
	uint64_t at_ns, scan_to_ns;
	uint64_t low_bin;		/* none of usages is in a lower one */
	struct buf mem;
	uint8_t *exists;
	struct keymap map;		/* (bin, cpu and thread) -> usages */
	struct usage *usages;
	size_t cap;
	uint64_t last_bin; /* the entry used last, which the next piece often uses again */
	uint64_t last_key;
	uint32_t last;
	bool has_last;
};

static struct usage *usage_of(struct usage_scan *s, uint64_t bin, uint32_t cpu, uint32_t thread)
{
	uint64_t key = (uint64_t)cpu << 32 | thread;
	uint32_t i;
	int ret;

	if (s->has_last && s->last_bin == bin && s->last_key == key)
		return &s->usages[s->last];
	ret = keymap_intern(&s->map, bin, key, &i);
	if (ret < 0)
		return NULL;
	if (i >= s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 256;
		struct usage *usages = realloc(s->usages, cap * sizeof(*usages));

		if (!usages)
			return NULL;
		s->usages = usages;
		s->cap = cap;
	}
	if (ret)
		s->usages[i] = (struct usage){ .bin = bin, .cpu = cpu, .thread = thread };
	if (bin < s->low_bin)
		s->low_bin = bin;
	s->last_bin = bin;
	s->last_key = key;
	s->last = i;
	s->has_last = true;
	return &s->usages[i];
}

static int add_time(struct usage_scan *s, const struct cpu_piece *p, uint32_t thread)
{
	uint64_t from = p->from_ns > s->at_ns ? p->from_ns : s->at_ns;
	uint64_t to = p->to_ns < s->scan_to_ns ? p->to_ns : s->scan_to_ns;

	while (from < to) {
		uint64_t bin = window_bin(&s->w, from), bin_from, bin_to;
		struct usage *u = usage_of(s, bin, p->cpu, thread);

		if (!u)
			return -ENOMEM;
		window_bin_span(&s->w, bin, &bin_from, &bin_to);
		if (bin_to > to)
			bin_to = to;
		u->oncpu_ns += bin_to - from;
		from = bin_to;
	}
	return 0;
}

static int on_piece(void *ctx, const struct cpu_piece *p)
{
	struct usage_scan *s = ctx;
	const struct event *ev = p->end;
	uint32_t thread = ident_thread(&s->a->ident, p->utid);
	struct usage *u;
	int ret = 0;

	if (!s->exists[p->cpu])
		return 0;
	if (scope_has_thread(&s->a->scope, thread))
		ret = add_time(s, p, thread);
	if (ret < 0 || !ev || ev->ts_ns < s->at_ns || ev->ts_ns >= s->scan_to_ns)
		return ret;
	thread = ident_thread(&s->a->ident, ev->utid);
	if (!scope_has_thread(&s->a->scope, thread))
		return 0;
	u = usage_of(s, window_bin(&s->w, ev->ts_ns), p->cpu, thread);
	if (!u)
		return -ENOMEM;
	u->switches++;
	u->preempted += !!(ev->flags & EVENT_F_PREEMPT);
	return 0;
}

static void usage_close(void *state)
{
	struct usage_scan *s = state;

	cpu_scan_close(s->scan);
	keymap_done(&s->map);
	buf_done(&s->mem);
	free(s->usages);
	free(s->exists);
	free(s);
}

static int usage_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		      void **ret_state, struct err *e)
{
	struct usage_scan *s = calloc(1, sizeof(*s));
	unsigned int i;
	int ret;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	s->exists = calloc(trace_cpu_cnt(a->trace) + 1, 1);
	if (!s->exists) {
		ret = err_set(e, -ENOMEM, "out of memory");
		goto fail;
	}
	for (i = 0; i < a->cpu_cnt; i++)
		s->exists[a->cpus[i]] = 1;
	ret = window_init(&s->w, a, q, e);
	if (ret < 0)
		goto fail;
	if (s->w.from_ns < s->w.to_ns)
		ret = analysis_index(a, &s->index, e);
	if (ret < 0)
		goto fail;
	s->at_ns = s->w.from_ns;
	s->low_bin = UINT64_MAX;
	*ret_state = s;
	return 0;
fail:
	usage_close(s);
	return ret;
}

static int compare_usages(const void *pa, const void *pb)
{
	const struct usage *a = pa, *b = pb;

	if (a->bin != b->bin)
		return a->bin < b->bin ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

static int give_rows(struct usage_scan *s, const struct usage *u, size_t cnt, struct rowbuf *out)
{
	const struct ident *d = &s->a->ident;
	struct cell *c;

	for (; cnt; cnt--, u++) {
		c = rowbuf_add(out);
		if (!c)
			return -ENOMEM;
		window_cells(&s->w, u->bin, c);
		cell_int(&c[3], u->cpu);
		cell_int(&c[4], ident_utid(d, u->thread));
		cell_int(&c[5], ident_upid(d, ident_process_of(d, u->thread)));
		cell_int(&c[6], (int64_t)u->oncpu_ns);
		cell_int(&c[7], (int64_t)u->switches);
		cell_int(&c[8], (int64_t)u->preempted);
	}
	return 0;
}

/* Gives out the bins that end at or before decided_ns, keeps the others. */
static int flush(struct usage_scan *s, uint64_t decided_ns, bool all, struct rowbuf *out)
{
	size_t cnt = s->map.cnt, ready = cnt, i;
	uint64_t from, to;
	uint32_t k;
	int ret;

	if (!cnt)
		return 0;
	window_bin_span(&s->w, s->low_bin, &from, &to);
	if (!all && to > decided_ns)
		return 0;
	qsort(s->usages, cnt, sizeof(*s->usages), compare_usages);
	if (!all) {
		for (ready = 0; ready < cnt; ready++) {
			window_bin_span(&s->w, s->usages[ready].bin, &from, &to);
			if (to > decided_ns)
				break;
		}
	}
	ret = give_rows(s, s->usages, ready, out);
	if (ret < 0)
		return ret;
	memmove(s->usages, s->usages + ready, (cnt - ready) * sizeof(*s->usages));
	keymap_clear(&s->map);
	s->has_last = false;
	s->low_bin = cnt > ready ? s->usages[0].bin : UINT64_MAX;
	for (i = 0; i < cnt - ready; i++) {
		ret = keymap_intern(&s->map, s->usages[i].bin,
				    (uint64_t)s->usages[i].cpu << 32 | s->usages[i].thread, &k);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* The cell that begins at ts, if all of it lies in one bin; else SIZE_MAX. */
static size_t whole_cell(const struct usage_scan *s, uint64_t ts_ns)
{
	uint64_t from, to;
	size_t cell;

	if (!s->index || ts_ns >= s->w.to_ns)
		return SIZE_MAX;
	cell = index_cell_at(s->index, ts_ns);
	window_bin_span(&s->w, window_bin(&s->w, ts_ns), &from, &to);
	return index_cell_from(s->index, cell) == ts_ns && index_cell_to(s->index, cell) <= to
		       ? cell
		       : SIZE_MAX;
}

static int merge_cell(struct usage_scan *s, size_t cell)
{
	uint64_t bin = window_bin(&s->w, s->at_ns);
	struct index_cpu_row row;
	struct index_in in;
	int ret = index_read(s->index, cell, INDEX_CPU, &s->mem, &in);

	while (!ret && (ret = index_cpu_next(&in, &row)) > 0) {
		uint32_t thread = ident_thread(&s->a->ident, row.utid);
		struct usage *u;

		ret = 0;
		if (row.cpu >= trace_cpu_cnt(s->a->trace) || !s->exists[row.cpu] ||
		    !scope_has_thread(&s->a->scope, thread))
			continue;
		u = usage_of(s, bin, row.cpu, thread);
		if (!u)
			return -ENOMEM;
		u->oncpu_ns += row.oncpu_ns;
		u->switches += row.switches;
		u->preempted += row.preempted;
	}
	return ret;
}

/* Opens a scan of all up to the next cell that need not be decoded. */
static int begin_scan(struct usage_scan *s, struct err *e)
{
	struct cpu_scan_config c = { .from_ns = s->at_ns, .piece = on_piece, .ctx = s };

	c.to_ns = s->w.to_ns;
	if (s->index) {
		size_t cell = index_cell_at(s->index, s->at_ns);

		do {
			c.to_ns = index_cell_to(s->index, cell++);
		} while (c.to_ns < s->w.to_ns && whole_cell(s, c.to_ns) == SIZE_MAX);
		if (c.to_ns > s->w.to_ns)
			c.to_ns = s->w.to_ns;
	}
	s->scan_to_ns = c.to_ns;
	return cpu_scan_open(&s->scan, s->a, &c, e);
}

static int scan_more(struct usage_scan *s, uint64_t *ret_decided_ns, struct err *e)
{
	int more = s->scan ? 1 : begin_scan(s, e);

	if (more < 0)
		return more;
	more = cpu_scan_step(s->scan, ret_decided_ns, e);
	if (more)
		return more < 0 ? err_set(e, more, "out of memory") : 0;
	cpu_scan_close(s->scan);
	s->scan = NULL;
	*ret_decided_ns = s->at_ns = s->scan_to_ns;
	return 0;
}

static int usage_step(void *state, struct rowbuf *out, struct err *e)
{
	struct usage_scan *s = state;
	size_t cell = s->scan ? SIZE_MAX : whole_cell(s, s->at_ns);
	uint64_t decided;
	int ret;

	if (s->at_ns >= s->w.to_ns)
		return 0;
	if (cell != SIZE_MAX) {
		ret = merge_cell(s, cell);
		if (ret < 0)
			return index_fail(s->index, ret, e);
		decided = s->at_ns = index_cell_to(s->index, cell);
	} else {
		ret = scan_more(s, &decided, e);
		if (ret < 0)
			return ret;
	}
	ret = flush(s, decided, s->at_ns >= s->w.to_ns, out);
	return ret < 0 ? err_set(e, ret, "out of memory") : s->at_ns < s->w.to_ns;
}

const struct table_def tables_of_cpu[] = {
	{
		.name = "cpu_usage", .doc = "time on the CPU per bin, CPU and thread",
		.cols = cpu_usage_cols, .col_cnt = CPU_USAGE_COLS, .arg_cnt = 3,
		.time_col = -1, .cpu_col = -1, .utid_col = -1, .key_col = -1,
		.open = usage_open, .step = usage_step, .close = usage_close,
	},
	{ .name = NULL },
};
