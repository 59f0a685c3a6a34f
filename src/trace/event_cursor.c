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
 * comes first cannot be predicted, so a match is made without branches: an event is one number, its
 * time since base_ns and below that its run. An event too far from base_ns for that waits as LATER,
 * until no other is left and base_ns moves on.
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
	struct event ev;		/* the last one handed out; what is not asked for is 0 */
	/* the values that were asked for and are there: where they come from, by row or tuple */
	struct value_fill {
		const uint64_t *v;
		uint64_t *to;
	} rows[EVENT_VALUES], tuples[EVENT_VALUES];
	struct thread_fill {		/* by row, values that name a thread */
		const uint32_t *v;
		uint64_t *to;
	} threads[EVENT_VALUES];
	unsigned int row_cnt, tuple_cnt, thread_cnt;
};

struct open_block {
	size_t block;			/* the block's index, which orders equal events */
	uint32_t runs_left;
	bool used;
	struct open_kind kinds[EVENT_KIND_CNT];
};

struct cursor_run {
	uint32_t order;			/* CPU, then kind: the order of equal times */
	uint32_t row, end;
	struct open_kind *k;
};

#define LATER UINT64_MAX		/* also: the run is over */

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
	uint64_t *tree, top;		/* nodes 1 .. run_cnt - 1; as next_of() gives them */
	size_t tree_cap;
	uint64_t base_ns;
	unsigned int run_bits;
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
	c->top = LATER;
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

static uint64_t next_of(const struct event_cursor *c, size_t run)
{
	const struct cursor_run *r = &c->runs[run];
	uint64_t from_base_ns;

	if (r->row == r->end)
		return LATER;
	from_base_ns = r->k->c.ts_ns[r->row] - c->base_ns;
	return from_base_ns < LATER >> c->run_bits ? from_base_ns << c->run_bits | run : LATER;
}

/* The run has another next event: plays its matches again. */
static void play(struct event_cursor *c, size_t run)
{
	uint64_t x = next_of(c, run);
	size_t i;

	for (i = (c->run_cnt + run) / 2; i; i /= 2) {
		uint64_t other = c->tree[i], later = other > x ? other : x;

		x = other < x ? other : x;
		c->tree[i] = later;
	}
	c->top = x;
}

static uint64_t top_ns(const struct event_cursor *c)
{
	return c->top == LATER ? UINT64_MAX : c->base_ns + (c->top >> c->run_bits);
}

/* Runs have come, or base_ns is too long ago: makes the tree of all that are not over. */
static int begin_merge(struct event_cursor *c)
{
	size_t cnt = 0, i;

	c->base_ns = UINT64_MAX;
	for (i = 0; i < c->run_cnt; i++) {
		const struct cursor_run *r = &c->runs[i];

		if (r->row == r->end)
			continue;
		if (r->k->c.ts_ns[r->row] < c->base_ns)
			c->base_ns = r->k->c.ts_ns[r->row];
		c->runs[cnt++] = *r;
	}
	c->run_cnt = cnt;
	for (c->run_bits = 1; cnt >> c->run_bits; c->run_bits++)
		;
	c->top = LATER;
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

static void find_fills(struct open_kind *o)
{
	const struct kind_columns *k = &o->c;
	unsigned int i;

	o->ev.kind = (uint8_t)k->kind;
	for (i = 0; i < k->value_cnt; i++) {
		uint64_t *to = &o->ev.v[i];

		if (k->ref[i])
			o->threads[o->thread_cnt++] = (struct thread_fill){ k->ref[i], to };
		else if (k->value[i])
			o->rows[o->row_cnt++] = (struct value_fill){ k->value[i], to };
		else if (k->tuple_value[i])
			o->tuples[o->tuple_cnt++] = (struct value_fill){ k->tuple_value[i], to };
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

		if (late >= c->to_ns || top_ns(c) < late)
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

static const struct event *make_event(struct event_cursor *c, const struct cursor_run *run)
{
	struct open_kind *o = run->k;
	const struct kind_columns *k = &o->c;
	uint32_t row = run->row, tuple = k->tuple ? k->tuple[row] : 0;
	unsigned int i;

	o->ev.ts_ns = k->ts_ns[row];
	o->ev.utid = k->utid ? k->utid[row] : 0;
	o->ev.cpu = (uint16_t)(run->order >> 8);
	o->ev.flags = k->flags ? (uint8_t)k->flags[tuple] : 0;
	__builtin_prefetch(&k->ts_ns[row + FETCH_ROWS]);
	for (i = 0; i < o->row_cnt; i++) {
		const uint64_t *v = &o->rows[i].v[row];

		__builtin_prefetch(v + FETCH_ROWS);
		*o->rows[i].to = *v;
	}
	for (i = 0; i < o->thread_cnt; i++)
		*o->threads[i].to = o->threads[i].v[row];
	for (i = 0; i < o->tuple_cnt; i++)
		*o->tuples[i].to = o->tuples[i].v[tuple];
	c->ahead = k->value[0] ? k->value[0][row + AHEAD_ROWS < run->end ? row + AHEAD_ROWS : row] :
				 0;
	return &o->ev;
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
	if (c->top == LATER)
		return 0;
	run = &c->runs[c->top & (((uint64_t)1 << c->run_bits) - 1)];
	*ret = make_event(c, run);
	if (++run->row == run->end && !--run->k->block->runs_left)
		close_block(run->k->block);
	play(c, (size_t)(run - c->runs));
	if (c->top == LATER && begin_merge(c) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	return 1;
}
