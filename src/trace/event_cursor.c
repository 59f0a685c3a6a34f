/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * event_cursor: returns the events of a trace in order of time.
 *
 * A block consists of runs: the events of one kind on one CPU, in order of time. The cursor merges
 * the runs of all open blocks. Usually one block is open; with late records, events of the next
 * block precede events of this block, and both are open.
 *
 * Events are made in chunks of some rows of every run. While a chunk is sorted, an event is one
 * number: its time since top_ns in the upper bits, its run in the lower bits. The numbers are
 * sorted by merging two runs at a time, without branches, which would be unpredictable. Then the
 * columns of one run after another are copied to the run's events.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/trace_state.h"

/* Late records normally cross only one block boundary. The limit bounds memory for other traces. */
#define CURSOR_BLOCKS_MAX 4
#define CURSOR_SMALL_BYTES (128u << 10)
#define CHUNK_ROWS 1024u	/* approximate rows of all runs together, which fit in the cache */
#define CHUNK_RUN_ROWS 32u	/* minimum number of rows per run, if the run has as many */

/* NOLINTNEXTLINE(misc-redundant-expression): the equality is asserted on purpose */
_Static_assert(EVENT_COL_UTID == COLUMN_ASK_UTID && EVENT_COL_FLAGS == COLUMN_ASK_FLAGS,
	       "two names of one bit");

struct open_kind {
	struct kind_columns c;
	struct open_block *block;
};

struct open_block {
	size_t block;			/* index; orders events of equal time, CPU and kind */
	uint32_t runs_left;
	bool used;
	struct open_kind kinds[EVENT_KIND_CNT];
};

struct cursor_run {
	uint32_t order;			/* CPU, then kind: orders events with equal times */
	uint32_t row, end;		/* rows that are not yet in a chunk */
	uint32_t start, cnt;		/* its rows in the chunk: first index, count */
	struct open_kind *k;
};

struct event_cursor {
	struct trace *t;
	struct trace_reader reader;
	uint32_t kind_mask;
	uint32_t ask[EVENT_KIND_CNT];
	uint64_t from_ns, to_ns;
	bool has_thread;		/* skip blocks that do not refer to this thread */
	uint32_t thread;
	bool has_cpu;			/* skip runs of other CPUs */
	uint32_t cpu;
	size_t next_block;
	struct open_block blocks[CURSOR_BLOCKS_MAX];
	struct cursor_run *runs;	/* by order, then block */
	size_t run_cnt, run_cap;
	/* time of the first event not yet in a chunk; or UINT64_MAX */
	uint64_t top_ns;
	struct event *events;		/* the chunk */
	uint32_t filled;		/* mask of columns that any kind has; all others stay 0 */
	size_t i, event_cnt, event_cap;	/* i: index of the next event to return */
	/* the chunk's events as numbers, and a second buffer for the merge */
	uint64_t *keys, *keys_too;
	size_t key_cap, key_too_cap;
	struct event **places;		/* events of the rows, in order of runs */
	size_t place_cap;
};

static void close_block(struct open_block *o)
{
	for (unsigned int kind = 0; kind < EVENT_KIND_CNT; kind++)
		kind_columns_done(&o->kinds[kind].c);
	o->used = false;
}

void event_cursor_close(struct event_cursor *c)
{
	if (!c)
		return;
	for (unsigned int i = 0; i < CURSOR_BLOCKS_MAX; i++)
		if (c->blocks[i].used)
			close_block(&c->blocks[i]);
	trace_reader_done(c->t, &c->reader);
	free(c->runs);
	free(c->events);
	free(c->keys);
	free(c->keys_too);
	free(c->places);
	free(c);
}

int event_cursor_open_columns(struct event_cursor **ret, struct trace *t, uint32_t kind_mask,
			      const uint32_t columns[EVENT_KIND_CNT], uint64_t from_ns,
			      uint64_t to_ns, struct err *e)
{
	struct event_cursor *c = calloc(1, sizeof(*c));

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
	c->top_ns = UINT64_MAX;
	for (unsigned int kind = 0; kind < EVENT_KIND_CNT; kind++)
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
	for (uint32_t i = 0; i < cnt; i++)
		if (utids[i] == utid)
			return true;
	return false;
}

/* ---- blocks ---- */

static uint32_t first_at(const uint64_t *ts, uint32_t lo, uint32_t hi, uint64_t at_ns)
{
	return lo + (uint32_t)lower_bound_plain(ts + lo, hi - lo, at_ns);
}

static int compare_runs(const void *pa, const void *pb)
{
	const struct cursor_run *a = pa, *b = pb;

	return compare_numbers(a->order, b->order) ?:
	       compare_numbers(a->k->block->block, b->k->block->block);
}

static int add_runs(struct event_cursor *c, struct open_block *o, struct open_kind *open)
{
	const struct kind_columns *k = &open->c;

	open->block = o;
	c->filled |= (k->utid ? EVENT_COL_UTID : 0) | (k->flags ? EVENT_COL_FLAGS : 0);
	for (uint32_t i = 0; i < k->value_cnt; i++)
		if (k->value[i] || k->ref[i] || k->tuple_value[i])
			c->filled |= 1u << i;
	for (uint32_t i = 0; i < k->run_cnt; i++) {
		const struct column_run *r = &k->runs[i];
		uint32_t end = r->start + r->cnt;
		struct cursor_run run = { .k = open, .order = r->cpu << 8 | k->kind };

		if (c->has_cpu && r->cpu != c->cpu)
			continue;
		run.row = first_at(k->ts_ns, r->start, end, c->from_ns);
		run.end = first_at(k->ts_ns, run.row, end, c->to_ns);
		if (run.row == run.end)
			continue;
		if (array_add(&c->runs, &c->run_cap, &c->run_cnt, run) < 0)
			return -ENOMEM;
		o->runs_left++;
	}
	return 0;
}

/* Reads a small block at once, which is faster than one call per section. */
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
	r = r ?: read_small_block(&block, &memory, &src.io);
	for (unsigned int kind = 1; r == 0 && kind < EVENT_KIND_CNT; kind++) {
		if (!(c->kind_mask & 1u << kind))
			continue;
		r = column_read_kind(&o->kinds[kind].c, &src, kind, c->ask[kind], ret_why);
		src.first_values[kind] = o->kinds[kind].c.value[0];
	}
out:
	block_meta_free(block.meta);
	free((void *)memory.bytes);
	free(utids);
	return r;
}

static bool block_has_any(const struct event_cursor *c, const struct trace_block *b)
{
	return b->last_ns >= c->from_ns && b->first_ns < c->to_ns &&
	       trace_block_events(b, c->kind_mask);
}

static void find_top(struct event_cursor *c)
{
	c->top_ns = UINT64_MAX;
	for (size_t i = 0; i < c->run_cnt; i++) {
		uint64_t ts_ns = c->runs[i].k->c.ts_ns[c->runs[i].row];

		c->top_ns = ts_ns < c->top_ns ? ts_ns : c->top_ns;
	}
}

/* Opens the next block. A damaged block is dropped and its events are skipped. */
static int load_block(struct event_cursor *c, struct open_block *o, struct err *e)
{
	struct trace *t = c->t;
	size_t block = c->next_block++;
	struct err ignored = { 0 };
	const char *why;
	int r;

	if (!block_has_any(c, trace_block_at(t, block)) ||
	    trace_block_is_damaged(t, block))
		return 0;
	memset(o, 0, sizeof(*o));
	o->block = block;
	o->used = true;
	r = decode_block(c, o, &why, &ignored);
	for (unsigned int kind = 1; r == 0 && kind < EVENT_KIND_CNT; kind++)
		r = add_runs(c, o, &o->kinds[kind]);
	if (r == 0 && o->runs_left)
		qsort(c->runs, c->run_cnt, sizeof(*c->runs), compare_runs);
	if (r < 0 || !o->runs_left)
		close_block(o);
	find_top(c);
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return err_set(e, r, "%s", err_text(&ignored, r));
	return r < 0 ? trace_block_drop(t, block, why) : 0;
}

static struct open_block *free_block(struct event_cursor *c)
{
	for (unsigned int i = 0; i < CURSOR_BLOCKS_MAX; i++)
		if (!c->blocks[i].used)
			return &c->blocks[i];
	return NULL;
}

/*
 * Opens blocks until the earliest row of all runs is the trace's next event. All events before
 * *ret_until_ns are in open blocks.
 */
static int load_blocks(struct event_cursor *c, uint64_t *ret_until_ns, struct err *e)
{
	const struct trace_block_more *more = c->t->more.v;
	struct open_block *o;
	int r;

	*ret_until_ns = UINT64_MAX;
	while (c->next_block < c->t->blocks.cnt) {
		uint64_t late = more[c->next_block].late_ns;

		if (late >= c->to_ns)
			break;
		if (c->top_ns < late) {
			*ret_until_ns = late;
			break;
		}
		o = free_block(c);
		if (!o)
			break;
		r = load_block(c, o, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- chunks ---- */

/* Returns the maximum number of a run's rows in a chunk; rows with equal times may exceed it. */
static uint32_t chunk_rows(const struct event_cursor *c)
{
	uint32_t rows = CHUNK_ROWS / (uint32_t)c->run_cnt;

	return rows > CHUNK_RUN_ROWS ? rows : CHUNK_RUN_ROWS;
}

/*
 * Returns the end of a chunk that begins at top_ns, such that no run has too many rows in the
 * chunk.
 */
static uint64_t chunk_end(const struct event_cursor *c, unsigned int run_bits, uint64_t until_ns)
{
	uint32_t rows = chunk_rows(c);
	uint64_t end_ns = until_ns;

	if (end_ns - c->top_ns > UINT64_MAX >> run_bits)
		end_ns = c->top_ns + (UINT64_MAX >> run_bits);
	for (size_t i = 0; i < c->run_cnt; i++) {
		const struct cursor_run *r = &c->runs[i];

		if (r->end - r->row > rows && r->k->c.ts_ns[r->row + rows] < end_ns)
			end_ns = r->k->c.ts_ns[r->row + rows];
	}
	return end_ns > c->top_ns ? end_ns : c->top_ns + 1;
}

/* Returns the index of a run's first row in the unsorted chunk. */
static size_t start_of(const struct event_cursor *c, size_t run)
{
	return run < c->run_cnt ? c->runs[run].start : c->event_cnt;
}

/*
 * Merges two sorted ranges from both ends at once, which makes two independent chains of steps. No
 * two numbers are equal.
 */
static void merge_two(const uint64_t *a, const uint64_t *b, const uint64_t *b_end, uint64_t *to)
{
	const uint64_t *a_end = b;
	uint64_t *to_end = to + (b_end - a);
	size_t cnt, i;

	/* each step takes two numbers, so neither range ends within cnt steps */
	while ((cnt = (size_t)(a_end - a < b_end - b ? a_end - a : b_end - b) / 2)) {
		for (i = 0; i < cnt; i++) {
			uint64_t x = *a, y = *b, x_end = a_end[-1], y_end = b_end[-1];

			*to++ = x < y ? x : y;
			a += x < y;
			b += y < x;
			*--to_end = x_end < y_end ? y_end : x_end;
			a_end -= y_end < x_end;
			b_end -= x_end < y_end;
		}
	}
	while (a < a_end && b < b_end)
		*to++ = *a < *b ? *a++ : *b++;
	memcpy(to, a, (size_t)(a_end - a) * sizeof(*a));
	memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof(*b));
}

/* Makes room for cnt events in all arrays. */
static int make_room(struct event_cursor *c, size_t cnt)
{
	if (array_reserve(&c->keys, &c->key_cap, cnt) < 0 ||
	    array_reserve(&c->keys_too, &c->key_too_cap, cnt) < 0 ||
	    array_reserve(&c->places, &c->place_cap, cnt) < 0 ||
	    array_reserve(&c->events, &c->event_cap, cnt) < 0)
		return -ENOMEM;
	return 0;
}

/* Takes the rows before end_ns from their runs into the chunk. */
static int take_rows(struct event_cursor *c, unsigned int run_bits, uint64_t end_ns)
{
	uint32_t rows = chunk_rows(c), row;
	size_t cnt = 0, i;

	for (i = 0; i < c->run_cnt; i++) {
		struct cursor_run *r = &c->runs[i];
		const uint64_t *ts_ns = r->k->c.ts_ns + r->row, top_ns = c->top_ns;
		uint32_t left = r->end - r->row;
		uint64_t *keys;

		left = left > rows && ts_ns[rows] >= end_ns ? rows : left;
		r->cnt = first_at(ts_ns, 0, left, end_ns);
		if (make_room(c, cnt + r->cnt) < 0)
			return -ENOMEM;
		r->start = (uint32_t)cnt;
		if (r->cnt == 0)
			continue;
		keys = c->keys + cnt;
		for (row = 0; row < r->cnt; row++)
			keys[row] = (ts_ns[row] - top_ns) << run_bits | i;
		cnt += r->cnt;
	}
	c->event_cnt = cnt;
	return 0;
}

/* Sorts the numbers of the chunk. */
static void merge_rows(struct event_cursor *c)
{
	for (size_t step = 1; step < c->run_cnt; step *= 2) {
		uint64_t *merged = c->keys_too;
		size_t cap = c->key_too_cap;

		for (size_t i = 0; i < c->run_cnt; i += 2 * step) {
			size_t from = c->runs[i].start, second = start_of(c, i + step);

			merge_two(c->keys + from, c->keys + second,
				  c->keys + start_of(c, i + 2 * step), merged + from);
		}
		c->keys_too = c->keys;
		c->key_too_cap = c->key_cap;
		c->keys = merged;
		c->key_cap = cap;
	}
}

static void fill_utids(struct event *const *events, uint32_t cnt, const uint32_t *utid)
{
	uint32_t i;

	for (i = 0; i < cnt && utid; i++)
		events[i]->utid = utid[i];
	for (; i < cnt; i++)
		events[i]->utid = 0;
}

static void fill_flags(struct event *const *events, uint32_t cnt, const uint64_t *flags,
		       const uint32_t *tuple)
{
	uint32_t i;

	for (i = 0; i < cnt && flags && tuple; i++)
		events[i]->flags = (uint8_t)flags[tuple[i]];
	for (; i < cnt; i++)
		events[i]->flags = flags ? (uint8_t)flags[0] : 0;
}

/* Copies the columns of a run's rows to the chunk's events. */
static void fill_events(const struct event_cursor *c, const struct cursor_run *r)
{
	const struct kind_columns *k = &r->k->c;
	struct event *const *events = c->places + r->start;
	const uint32_t *tuple = k->tuple ? k->tuple + r->row : NULL;
	uint32_t cnt = r->cnt, v, i;

	for (i = 0; i < cnt; i++) {
		events[i]->cpu = (uint16_t)(r->order >> 8);
		events[i]->kind = (uint8_t)r->order;
	}
	if (c->filled & EVENT_COL_UTID)
		fill_utids(events, cnt, k->utid ? k->utid + r->row : NULL);
	if (c->filled & EVENT_COL_FLAGS)
		fill_flags(events, cnt, k->flags, tuple);
	for (v = 0; v < EVENT_VALUES && c->filled >> v; v++) {
		const uint64_t *value = k->value[v] ? k->value[v] + r->row : NULL;
		const uint64_t *of_tuple = k->tuple_value[v];
		const uint32_t *ref = k->ref[v] ? k->ref[v] + r->row : NULL;

		if (!(c->filled >> v & 1))
			continue;
		for (i = 0; i < cnt && value; i++)
			events[i]->v[v] = value[i];
		for (; i < cnt && ref; i++)
			events[i]->v[v] = ref[i];
		for (; i < cnt && of_tuple && tuple; i++)
			events[i]->v[v] = of_tuple[tuple[i]];
		for (; i < cnt; i++)
			events[i]->v[v] = of_tuple ? of_tuple[0] : 0;
	}
}

/*
 * If a run has more rows, moves it to c->runs[*left] and increments *left. Otherwise drops it, and
 * closes its block if that has no more runs.
 */
static void keep_run(struct event_cursor *c, const struct cursor_run *r, size_t *left)
{
	if (r->row < r->end)
		c->runs[(*left)++] = *r;
	else if (!--r->k->block->runs_left)
		close_block(r->k->block);
}

/* Fills the chunk's events. Drops finished runs and blocks. */
static void make_events(struct event_cursor *c, unsigned int run_bits)
{
	const uint64_t *keys = c->keys, top_ns = c->top_ns;
	struct cursor_run *runs = c->runs;
	struct event *events = c->events, **places = c->places;
	size_t cnt = c->event_cnt, mask = ((size_t)1 << run_bits) - 1, left = 0, i;

	for (i = 0; i < cnt; i++) {
		places[runs[keys[i] & mask].start++] = &events[i];
		events[i].ts_ns = top_ns + (keys[i] >> run_bits);
	}
	for (i = 0; i < c->run_cnt; i++) {
		struct cursor_run *r = &runs[i];

		r->start -= r->cnt;
		fill_events(c, r);
		r->row += r->cnt;
		keep_run(c, r, &left);
	}
	c->run_cnt = left;
}

/* Makes the next chunk. 1; 0: no more events. */
static int next_chunk(struct event_cursor *c, struct err *e)
{
	unsigned int run_bits = 1;
	uint64_t until_ns;
	int r = load_blocks(c, &until_ns, e);

	c->i = c->event_cnt = 0;
	if (r < 0 || !c->run_cnt)
		return r;
	while (c->run_cnt >> run_bits)
		run_bits++;
	if (take_rows(c, run_bits, chunk_end(c, run_bits, until_ns)) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	merge_rows(c);
	make_events(c, run_bits);
	find_top(c);
	return 1;
}

int event_cursor_next(struct event_cursor *c, const struct event **ret, struct err *e)
{
	int r = c->i < c->event_cnt ? 1 : next_chunk(c, e);

	if (r > 0)
		*ret = &c->events[c->i++];
	return r;
}

int event_cursor_next_all(struct event_cursor *c, const struct event **ret, size_t *ret_cnt,
			  struct err *e)
{
	int r = c->i < c->event_cnt ? 1 : next_chunk(c, e);

	if (r <= 0)
		return r;
	*ret = &c->events[c->i];
	*ret_cnt = c->event_cnt - c->i;
	c->i = c->event_cnt;
	return 1;
}

/* Passes on the rows before until_ns of all open blocks. */
static int take_ranges(struct event_cursor *c, uint64_t until_ns, event_cursor_range each,
		       void *ctx)
{
	size_t left = 0, i;
	int ret = 0;

	for (i = 0; i < c->run_cnt; i++) {
		struct cursor_run *r = &c->runs[i];
		uint32_t row = r->row;

		r->row = first_at(r->k->c.ts_ns, row, r->end, until_ns);
		if (ret >= 0 && row < r->row)
			ret = each(ctx, &r->k->c, row, r->row);
		keep_run(c, r, &left);
	}
	c->run_cnt = left;
	find_top(c);
	return ret;
}

int event_cursor_ranges(struct event_cursor *c, uint64_t to_ns, event_cursor_range each, void *ctx,
			struct err *e)
{
	uint64_t until_ns;
	int r = load_blocks(c, &until_ns, e);

	while (r >= 0 && c->run_cnt && c->top_ns < to_ns) {
		r = take_ranges(c, until_ns < to_ns ? until_ns : to_ns, each, ctx);
		if (r >= 0)
			r = load_blocks(c, &until_ns, e);
	}
	return r < 0 ? r : 0;
}
