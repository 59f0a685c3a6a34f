/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * event_cursor: the events of a trace in order of time.
 *
 * A block holds runs: the events of one kind on one CPU, in order of time. The cursor merges the
 * runs of its block with a heap. With late records a block begins before the previous one ends;
 * then both are open.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/trace_state.h"

/* Late records cross one block boundary; a trace that claims more gets no more memory than this. */
#define CURSOR_BLOCKS_MAX 4
#define CURSOR_SMALL_BYTES (128u << 10)

/* NOLINTNEXTLINE(misc-redundant-expression): that they are equal is the point */
_Static_assert(EVENT_COL_UTID == COLUMN_ASK_UTID && EVENT_COL_FLAGS == COLUMN_ASK_FLAGS,
	       "two names of one bit");

struct open_block {
	size_t block;			/* the block's index, which orders equal events */
	uint32_t runs_left;
	bool used;
	struct kind_columns kinds[EVENT_KIND_CNT];
};

struct cursor_run {
	uint64_t ts_ns;			/* of row */
	uint32_t order;			/* CPU, then kind: the order of equal times */
	uint32_t row, end;
	struct open_block *block;
	struct kind_columns *k;
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
	struct cursor_run *heap;
	uint32_t heap_cnt;
	size_t heap_cap;
	struct event ev;
	unsigned int value_cnt;		/* values of ev.v that may differ from 0 */
};

static void close_block(struct open_block *o)
{
	unsigned int kind;

	for (kind = 0; kind < EVENT_KIND_CNT; kind++)
		kind_columns_done(&o->kinds[kind]);
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
	free(c->heap);
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

/* ---- the heap ---- */

static inline bool run_before(const struct cursor_run *a, const struct cursor_run *b)
{
	if (a->ts_ns != b->ts_ns)
		return a->ts_ns < b->ts_ns;
	if (a->order != b->order)
		return a->order < b->order;
	return a->block->block < b->block->block;
}

static void sift_down(struct event_cursor *c, uint32_t at)
{
	struct cursor_run x = c->heap[at];

	for (;;) {
		uint32_t child = at * 2 + 1;

		if (child >= c->heap_cnt)
			break;
		if (child + 1 < c->heap_cnt && run_before(&c->heap[child + 1], &c->heap[child]))
			child++;
		if (!run_before(&c->heap[child], &x))
			break;
		c->heap[at] = c->heap[child];
		at = child;
	}
	c->heap[at] = x;
}

static int heap_add(struct event_cursor *c, const struct cursor_run *run)
{
	uint32_t at;

	if (array_reserve(&c->heap, &c->heap_cap, c->heap_cnt + 1) < 0)
		return -ENOMEM;
	at = c->heap_cnt++;
	while (at && run_before(run, &c->heap[(at - 1) / 2])) {
		c->heap[at] = c->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	c->heap[at] = *run;
	return 0;
}

/* ---- blocks ---- */

static uint32_t first_at(const uint64_t *ts, uint32_t lo, uint32_t hi, uint64_t at_ns)
{
	return lo + (uint32_t)lower_bound_plain(ts + lo, hi - lo, at_ns);
}

static int add_runs(struct event_cursor *c, struct open_block *o, struct kind_columns *k)
{
	uint32_t i;

	for (i = 0; i < k->run_cnt; i++) {
		const struct column_run *r = &k->runs[i];
		uint32_t end = r->start + r->cnt;
		struct cursor_run run = { .block = o, .k = k, .order = r->cpu << 8 | k->kind };

		if (c->has_cpu && r->cpu != c->cpu)
			continue;
		run.row = first_at(k->ts_ns, r->start, end, c->from_ns);
		run.end = first_at(k->ts_ns, run.row, end, c->to_ns);
		if (run.row == run.end)
			continue;
		run.ts_ns = k->ts_ns[run.row];
		if (heap_add(c, &run) < 0)
			return -ENOMEM;
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
			r = column_read_kind(&o->kinds[kind], &src, kind, c->ask[kind], ret_why);
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

/* Opens blocks until the heap's top is the next event of the whole trace. */
static int load_blocks(struct event_cursor *c, struct err *e)
{
	const struct trace_block_more *more = c->t->more.v;
	struct open_block *o;
	int r;

	while (c->next_block < c->t->blocks.cnt) {
		uint64_t late = more[c->next_block].late_ns;

		if (late >= c->to_ns || (c->heap_cnt && c->heap[0].ts_ns < late))
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
	const struct kind_columns *k = run->k;
	struct event *ev = &c->ev;
	uint32_t row = run->row, tuple = k->tuple ? k->tuple[row] : 0;
	unsigned int i;

	ev->ts_ns = run->ts_ns;
	ev->utid = k->utid ? k->utid[row] : 0;
	ev->cpu = (uint16_t)(run->order >> 8);
	ev->kind = (uint8_t)k->kind;
	ev->flags = k->flags ? (uint8_t)k->flags[tuple] : 0;
	for (i = 0; i < k->value_cnt; i++) {
		if (k->value[i])
			ev->v[i] = k->value[i][row];
		else if (k->tuple_value[i])
			ev->v[i] = k->tuple_value[i][tuple];
		else
			ev->v[i] = k->ref[i] ? k->ref[i][row] : 0;
	}
	/* clears what the previous event left behind */
	for (; i < c->value_cnt; i++)
		ev->v[i] = 0;
	c->value_cnt = k->value_cnt;
}

int event_cursor_next(struct event_cursor *c, const struct event **ret, struct err *e)
{
	struct cursor_run *top;
	int r;

	r = load_blocks(c, e);
	if (r < 0)
		return r;
	if (!c->heap_cnt)
		return 0;
	top = &c->heap[0];
	make_event(c, top);
	if (++top->row < top->end) {
		top->ts_ns = top->k->ts_ns[top->row];
	} else {
		if (!--top->block->runs_left)
			close_block(top->block);
		*top = c->heap[--c->heap_cnt];
	}
	if (c->heap_cnt > 1)
		sift_down(c, 0);
	*ret = &c->ev;
	return 1;
}
