/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * event_cursor: the events of a trace in order of time.
 *
 * A block holds runs: the events of one kind on one CPU, in order of time. The cursor merges the
 * runs of its block. With late records a block begins before the previous one ends; then both are
 * open.
 *
 * The merge is a tree of losers: the next event of every run plays against those of others from its
 * leaf up; a node keeps the one that came later, and the first of all is at the top. Which of two
 * comes first cannot be predicted, so a match is made without branches.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/trace_state.h"

/* Late records cross one block boundary; a trace that claims more gets no more memory than this. */
#define CURSOR_BLOCKS_MAX 4
#define CURSOR_SMALL_BYTES (128u << 10)
#define AHEAD_ROWS 4
#define FETCH_ROWS 24

/* NOLINTNEXTLINE(misc-redundant-expression): that they are equal is the point */
_Static_assert(EVENT_COL_UTID == COLUMN_ASK_UTID && EVENT_COL_FLAGS == COLUMN_ASK_FLAGS,
	       "two names of one bit");

struct open_kind {
	struct kind_columns c;
	struct open_block *block;
	/* where the values that were asked for and are there come from */
	struct {
		const uint64_t *v;
		uint8_t number;
		bool by_tuple;		/* else by row */
	} fill[EVENT_VALUES];
	unsigned int fill_cnt, ref_cnt;	/* ref_cnt: 1 + the last value that names a thread */
};

struct open_block {
	size_t block;			/* the block's index, which orders equal events */
	uint32_t runs_left;
	bool used;
	struct open_kind kinds[EVENT_KIND_CNT];
};

struct cursor_run {
	uint64_t ts_ns;			/* of row */
	uint32_t order;			/* CPU, then kind: the order of equal times */
	uint32_t row, end;
	struct open_kind *k;
};

struct merge_node {
	uint64_t ts_ns;			/* UINT64_MAX: the run is over */
	uint64_t run;			/* number + 1: the order of equal times */
};

struct event_cursor {
	struct trace *t;
	struct trace_reader reader;
	uint32_t kind_mask;
	uint32_t ask[EVENT_KIND_CNT];
	uint64_t from_ns, to_ns;
	bool has_thread;		/* only blocks that know this thread are decoded */
	uint32_t thread;
	bool has_cpu;			/* only runs of this CPU */
	uint32_t cpu;
	size_t next_block;
	struct open_block blocks[CURSOR_BLOCKS_MAX];
	struct cursor_run *runs;	/* by order, then block */
	size_t run_cnt, run_cap;
	struct merge_node *tree, top;	/* nodes 1 .. run_cnt - 1 */
	size_t tree_cap;
	struct event ev;
	uint64_t ahead;			/* event_cursor_ahead() */
};

static void close_block(struct open_block *o)
{
	unsigned int kind;

	for (kind = 0; kind < EVENT_KIND_CNT; kind++)
		kind_columns_done(&o->kinds[kind].c);
	o->used = false;
}

void event_cursor_close(struct event_cursor *c)
{
	unsigned int i;

	if (!c)
		return;
	for (i = 0; i < CURSOR_BLOCKS_MAX; i++)
		if (c->blocks[i].used)
			close_block(&c->blocks[i]);
	trace_reader_done(c->t, &c->reader);
	free(c->runs);
	free(c->tree);
	free(c);
}

int event_cursor_open_columns(struct event_cursor **ret, struct trace *t, uint32_t kind_mask,
			      const uint32_t columns[EVENT_KIND_CNT], uint64_t from_ns,
			      uint64_t to_ns, struct err *e)
{
	struct event_cursor *c = calloc(1, sizeof(*c));
	unsigned int kind;

	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	if (trace_reader_init(&c->reader) < 0) {
		free(c);
		return err_set(e, -ENOMEM, "out of memory");
	}
	c->t = t;
	c->kind_mask = kind_mask;
	c->from_ns = from_ns;
	c->to_ns = to_ns;
	c->top.ts_ns = UINT64_MAX;
	for (kind = 0; kind < EVENT_KIND_CNT; kind++)
		c->ask[kind] = columns ? columns[kind] : COLUMN_ASK_ALL;
	*ret = c;
	return 0;
}

int event_cursor_open(struct event_cursor **ret, struct trace *t, uint32_t kind_mask,
		      uint64_t from_ns, uint64_t to_ns, struct err *e)
{
	return event_cursor_open_columns(ret, t, kind_mask, NULL, from_ns, to_ns, e);
}

void event_cursor_want_thread(struct event_cursor *c, uint32_t utid)
{
	c->has_thread = true;
	c->thread = utid;
}

void event_cursor_want_cpu(struct event_cursor *c, uint32_t cpu)
{
	c->has_cpu = true;
	c->cpu = cpu;
}

static bool has_utid(const uint32_t *utids, uint32_t cnt, uint32_t utid)
{
	uint32_t i;

	for (i = 0; i < cnt; i++)
		if (utids[i] == utid)
			return true;
	return false;
}

/* ---- the merge ---- */

static int compare_runs(const void *pa, const void *pb)
{
	const struct cursor_run *a = pa, *b = pb;

	return compare_numbers(a->order, b->order) ?:
	       compare_numbers(a->k->block->block, b->k->block->block);
}

/* The run has another next event: plays its matches again. */
static void play(struct event_cursor *c, size_t run)
{
	struct merge_node x = { c->runs[run].ts_ns, run + 1 };
	size_t i;

	for (i = (c->run_cnt + run) / 2; i; i /= 2) {
		struct merge_node *n = &c->tree[i];
		uint64_t wins = -(uint64_t)((n->ts_ns < x.ts_ns) |
					    ((n->ts_ns == x.ts_ns) & (n->run < x.run)));
		uint64_t ts = (n->ts_ns ^ x.ts_ns) & wins, number = (n->run ^ x.run) & wins;

		n->ts_ns ^= ts;
		n->run ^= number;
		x.ts_ns ^= ts;
		x.run ^= number;
	}
	c->top = x;
}

/* Runs have come: makes the tree of all that are not over. */
static int begin_merge(struct event_cursor *c)
{
	size_t cnt = 0, i;

	for (i = 0; i < c->run_cnt; i++)
		if (c->runs[i].row < c->runs[i].end)
			c->runs[cnt++] = c->runs[i];
	c->run_cnt = cnt;
	if (array_reserve(&c->tree, &c->tree_cap, cnt + 1) < 0)
		return -ENOMEM;
	qsort(c->runs, cnt, sizeof(*c->runs), compare_runs);
	/* what comes before all events ends at the top when every leaf has played */
	memset(c->tree, 0, (cnt + 1) * sizeof(*c->tree));
	for (i = 0; i < cnt; i++)
		play(c, i);
	return 0;
}

/* ---- blocks ---- */

static uint32_t first_at(const uint64_t *ts, uint32_t lo, uint32_t hi, uint64_t at_ns)
{
	return lo + (uint32_t)lower_bound_plain(ts + lo, hi - lo, at_ns);
}

/* Threads that a value names are 32 bits wide, and not in here. */
static void find_fills(struct open_kind *o)
{
	const struct kind_columns *k = &o->c;
	unsigned int i;

	for (i = 0; i < k->value_cnt; i++) {
		bool by_tuple = !k->value[i];

		if (k->ref[i])
			o->ref_cnt = i + 1;
		if (!k->value[i] && !k->tuple_value[i])
			continue;
		o->fill[o->fill_cnt].v = by_tuple ? k->tuple_value[i] : k->value[i];
		o->fill[o->fill_cnt].by_tuple = by_tuple;
		o->fill[o->fill_cnt++].number = (uint8_t)i;
	}
}

static int add_runs(struct event_cursor *c, struct open_block *o, struct open_kind *open)
{
	const struct kind_columns *k = &open->c;
	uint32_t i;

	open->block = o;
	find_fills(open);
	for (i = 0; i < k->run_cnt; i++) {
		const struct column_run *r = &k->runs[i];
		uint32_t end = r->start + r->cnt;
		struct cursor_run run = { .k = open, .order = r->cpu << 8 | k->kind };

		if (c->has_cpu && r->cpu != c->cpu)
			continue;
		run.row = first_at(k->ts_ns, r->start, end, c->from_ns);
		run.end = first_at(k->ts_ns, run.row, end, c->to_ns);
		if (run.row == run.end)
			continue;
		run.ts_ns = k->ts_ns[run.row];
		if (array_reserve(&c->runs, &c->run_cap, c->run_cnt + 1) < 0)
			return -ENOMEM;
		c->runs[c->run_cnt++] = run;
		o->runs_left++;
	}
	return 0;
}

/* Reads a small block at once, since a call per section would cost more. */
static int read_small_block(struct trace_block_open *b, struct block_memory *m, struct block_io *io)
{
	uint64_t cnt = b->meta->head.block_bytes;
	uint8_t *bytes;

	if (cnt > CURSOR_SMALL_BYTES)
		return 0;
	bytes = malloc((size_t)cnt);
	if (!bytes)
		return -ENOMEM;
	*m = (struct block_memory){ bytes, (size_t)cnt };
	*io = (struct block_io){ block_memory_read, m };
	return chunk_io_read(&b->io, 0, bytes, (size_t)cnt);
}

static int decode_block(struct event_cursor *c, struct open_block *o, const char **ret_why,
			struct err *e)
{
	struct block_memory memory = { 0 };
	struct trace_block_open block;
	struct column_source src;
	uint32_t *utids = NULL;
	unsigned int kind;
	int r;

	*ret_why = "block changed since the trace was opened";
	r = trace_block_open(c->t, &c->reader, o->block, &block, e);
	if (r < 0)
		return r;
	src = (struct column_source){
		.meta = block.meta,
		.io = { chunk_io_read, &block.io },
		.zunpack = c->reader.zunpack,
	};
	*ret_why = "list of threads";
	r = block_meta_utids(block.meta, c->reader.zunpack, &utids, &src.utid_cnt);
	src.utids = utids;
	if (r == 0 && c->has_thread && !has_utid(utids, src.utid_cnt, c->thread))
		goto out;
	atomic_fetch_add(&c->t->decoded_blocks, 1);
	if (r == 0)
		r = read_small_block(&block, &memory, &src.io);
	for (kind = 1; r == 0 && kind < EVENT_KIND_CNT; kind++)
		if (c->kind_mask & 1u << kind)
			r = column_read_kind(&o->kinds[kind].c, &src, kind, c->ask[kind], ret_why);
out:
	block_meta_free(block.meta);
	free((void *)memory.bytes);
	free(utids);
	return r;
}

static bool block_has_any(const struct event_cursor *c, const struct trace_block *b)
{
	unsigned int kind;

	if (b->last_ns < c->from_ns || b->first_ns >= c->to_ns)
		return false;
	for (kind = 1; kind < EVENT_KIND_CNT; kind++)
		if (c->kind_mask & 1u << kind && b->kind_cnt[kind])
			return true;
	return false;
}

/* Opens the next block. A damaged one is dropped: it never existed. */
static int load_block(struct event_cursor *c, struct open_block *o, struct err *e)
{
	struct trace *t = c->t;
	size_t block = c->next_block++;
	struct err ignored = { 0 };
	unsigned int kind;
	const char *why;
	int r;

	if (!block_has_any(c, trace_block_at(t, block)) ||
	    trace_block_is_damaged(t, block))
		return 0;
	memset(o, 0, sizeof(*o));
	o->block = block;
	o->used = true;
	r = decode_block(c, o, &why, &ignored);
	for (kind = 1; r == 0 && kind < EVENT_KIND_CNT; kind++)
		r = add_runs(c, o, &o->kinds[kind]);
	if (r == 0 && o->runs_left)
		r = begin_merge(c);
	if (r < 0 || !o->runs_left)
		close_block(o);
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return err_set(e, r, "%s", err_text(&ignored, r));
	return r < 0 ? trace_block_drop(t, block, why) : 0;
}

static struct open_block *free_block(struct event_cursor *c)
{
	unsigned int i;

	for (i = 0; i < CURSOR_BLOCKS_MAX; i++)
		if (!c->blocks[i].used)
			return &c->blocks[i];
	return NULL;
}

/* Opens blocks until the first of all runs is the next event of the whole trace. */
static int load_blocks(struct event_cursor *c, struct err *e)
{
	const struct trace_block_more *more = c->t->more.v;
	struct open_block *o;
	int r;

	while (c->next_block < c->t->blocks.cnt) {
		uint64_t late = more[c->next_block].late_ns;

		if (late >= c->to_ns || c->top.ts_ns < late)
			break;
		o = free_block(c);
		if (!o)
			break;
		r = load_block(c, o, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static void make_event(struct event_cursor *c, const struct cursor_run *run)
{
	const struct open_kind *o = run->k;
	const struct kind_columns *k = &o->c;
	struct event *ev = &c->ev;
	uint32_t row = run->row, tuple = k->tuple ? k->tuple[row] : 0;
	unsigned int i;

	ev->ts_ns = run->ts_ns;
	ev->utid = k->utid ? k->utid[row] : 0;
	ev->cpu = (uint16_t)(run->order >> 8);
	ev->kind = (uint8_t)k->kind;
	ev->flags = k->flags ? (uint8_t)k->flags[tuple] : 0;
	memset(ev->v, 0, sizeof(ev->v));
	__builtin_prefetch(&k->ts_ns[row + FETCH_ROWS]);
	for (i = 0; i < o->fill_cnt; i++) {
		const uint64_t *v = &o->fill[i].v[o->fill[i].by_tuple ? tuple : row];

		__builtin_prefetch(v + FETCH_ROWS);
		ev->v[o->fill[i].number] = *v;
	}
	for (i = 0; i < o->ref_cnt; i++)
		ev->v[i] = k->ref[i] ? k->ref[i][row] : ev->v[i];
	c->ahead = k->value[0] ? k->value[0][row + AHEAD_ROWS < run->end ? row + AHEAD_ROWS : row] :
				 0;
}

uint64_t event_cursor_ahead(const struct event_cursor *c)
{
	return c->ahead;
}

int event_cursor_next(struct event_cursor *c, const struct event **ret, struct err *e)
{
	struct cursor_run *run;
	int r;

	r = load_blocks(c, e);
	if (r < 0)
		return r;
	if (c->top.ts_ns == UINT64_MAX)
		return 0;
	run = &c->runs[c->top.run - 1];
	make_event(c, run);
	if (++run->row < run->end) {
		run->ts_ns = run->k->c.ts_ns[run->row];
	} else {
		run->ts_ns = UINT64_MAX;
		if (!--run->k->block->runs_left)
			close_block(run->k->block);
	}
	play(c, (size_t)(run - c->runs));
	*ret = &c->ev;
	return 1;
}
