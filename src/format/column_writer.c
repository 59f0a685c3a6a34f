/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * column_writer: encodes the arrays of struct kind_rows. Every column is encoded in scratch buffers
 * and becomes one to four sections; column_reader.c has the matching decoder.
 */
#include "format/columns.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/hash_map.h"

/*
 * tuple_dict: linear probing in a table that is at most half full, so that failed lookups are
 * short, too.
 */

void tuple_dict_done(struct tuple_dict *d)
{
	unsigned int width = d->width;

	free(d->slots);
	free(d->values);
	free(d->hits);
	memset(d, 0, sizeof(*d));
	d->width = width;
}

void tuple_dict_reset(struct tuple_dict *d)
{
	if (d->slots)
		memset(d->slots, 0, sizeof(*d->slots) << d->bits);
	d->cnt = 0;
	d->last = 0;
}

static void tuple_place(uint32_t *slots, unsigned int bits, uint64_t hash, uint32_t index)
{
	uint32_t mask = (1u << bits) - 1, slot = (uint32_t)(hash >> (64 - bits));

	while (slots[slot])
		slot = (slot + 1) & mask;
	slots[slot] = index + 1;
}

static int tuple_grow(struct tuple_dict *d)
{
	unsigned int bits = d->slots ? d->bits + 1 : 8;
	uint32_t cap = 1u << (bits - 1), i;
	uint32_t *slots, *hits;
	uint64_t *values;

	slots = calloc((size_t)1 << bits, sizeof(*slots));
	if (!slots)
		return -1;
	values = realloc(d->values, (size_t)cap * d->width * sizeof(*values));
	if (values)
		d->values = values;
	hits = realloc(d->hits, cap * sizeof(*hits));
	if (hits)
		d->hits = hits;
	if (!values || !hits) {
		free(slots);
		return -1;
	}
	for (i = 0; i < d->cnt; i++)
		tuple_place(slots, bits, tuple_hash(values + (size_t)i * d->width, d->width), i);
	free(d->slots);
	d->slots = slots;
	d->bits = bits;
	d->cap = cap;
	return 0;
}

uint32_t tuple_dict_add_slow(struct tuple_dict *d, const uint64_t *tuple, uint64_t hash)
{
	if (d->cnt == d->cap && tuple_grow(d) < 0)
		return TUPLE_NONE;
	tuple_place(d->slots, d->bits, hash, d->cnt);
	memcpy(d->values + (size_t)d->cnt * d->width, tuple, d->width * sizeof(*tuple));
	d->hits[d->cnt] = 1;
	return d->cnt++;
}

#define SHRINK_ROWS 16384u	/* buffers of fewer rows are not shrunk */

/* ---- rows ---- */

int kind_rows_init(struct kind_rows *k, unsigned int kind, unsigned int cpu_cnt)
{
	k->tuples.width = 1 + column_tuple_cnt(kind);
	k->cpu_start = calloc((size_t)cpu_cnt + 1, sizeof(*k->cpu_start));
	return k->cpu_start ? 0 : -ENOMEM;
}

static void rows_free(struct kind_rows *k)
{
	free(k->ts_ns);
	free(k->utid);
	free(k->ref);
	free(k->tuple);
	k->ts_ns = NULL;
	k->utid = k->ref = k->tuple = NULL;
	for (unsigned int i = 0; i < EVENT_VALUES; i++) {
		free(k->val[i]);
		k->val[i] = NULL;
	}
	k->cap = 0;
}

void kind_rows_done(struct kind_rows *k)
{
	free(k->cpu_start);
	rows_free(k);
	tuple_dict_done(&k->tuples);
}

/* Returns whether a capacity is much larger than the recent need. */
static bool is_excessive(uint32_t room, uint64_t need)
{
	return room >= SHRINK_ROWS && room / 4 > need;
}

/* The arrays have the same capacity: resizes one of them to cap elements. */
#define GROW(array)                                                      \
	p = realloc(array, (size_t)cap * sizeof(*(array)));              \
	if (!p)                                                          \
		return -ENOMEM;                                          \
	array = p;

static int rows_room(struct kind_rows *k, unsigned int kind)
{
	uint32_t cap;
	void *p;

	if (is_excessive(k->cap, need_note(&k->need, k->cnt))) {
		rows_free(k);
		malloc_trim(0);
	}
	cap = k->cap ? k->cap : 256;
	if (k->cnt <= k->cap)
		return 0;
	while (cap < k->cnt)
		cap *= 2;
	GROW(k->ts_ns)
	GROW(k->utid)
	GROW(k->tuple)
	for (unsigned int i = 0; i < EVENT_VALUES; i++) {
		switch (column_codec(kind, i)) {
		case 0:
		case EVENT_CODEC_TUPLE:
			break;
		case EVENT_CODEC_UTID:
			GROW(k->ref)
			break;
		default:
			GROW(k->val[i])
			break;
		}
	}
	k->cap = cap;
	return 0;
}

int kind_rows_place(struct kind_rows *k, unsigned int kind, uint32_t *counts, unsigned int cpu_cnt)
{
	unsigned int cpu;

	k->cnt = 0;
	for (cpu = 0; cpu < cpu_cnt; cpu++, counts += EVENT_KIND_CNT) {
		uint32_t n = *counts;

		k->cpu_start[cpu] = *counts = k->cnt;
		k->cnt += n;
	}
	k->cpu_start[cpu] = k->cnt;
	tuple_dict_reset(&k->tuples);
	return rows_room(k, kind);
}

/* ---- scratch memory ---- */

void column_writer_done(struct column_writer *c)
{
	free(c->main);
	free(c->bits);
	free(c->fresh);
	free(c->fresh_bits);
	free(c->rank);
	free(c->recent);
	memset(c, 0, sizeof(*c));
}

static int scratch_room(struct column_writer *c, uint32_t rows)
{
	uint64_t need = need_note(&c->need, rows);

	if (rows <= c->room && !is_excessive(c->room, need))
		return 0;
	free(c->main);
	free(c->bits);
	free(c->fresh);
	free(c->fresh_bits);
	c->room = 0;
	/* bits also holds escaped indices and varint tables, of at most 10 bytes per row */
	c->main = malloc((size_t)rows * VARINT_MAX_BYTES + TOKEN_SLACK);
	c->bits = malloc((size_t)rows * VARINT_MAX_BYTES + TOKEN_SLACK);
	c->fresh = malloc((size_t)rows + TOKEN_SLACK);
	c->fresh_bits = malloc((size_t)rows * 8 + TOKEN_SLACK);
	if (!c->main || !c->bits || !c->fresh || !c->fresh_bits)
		return -ENOMEM;
	c->room = rows;
	return 0;
}

struct rank_key {
	uint32_t hits, number;
};

static int rank_cmp(const void *a, const void *b)
{
	const struct rank_key *x = a, *y = b;

	return compare_numbers(y->hits, x->hits) ?: compare_numbers(x->number, y->number);
}

int column_rank(const uint32_t *hits, uint32_t cnt, uint32_t *ret_rank, uint32_t *ret_order)
{
	struct rank_key *keys = malloc((cnt + 1) * sizeof(*keys));
	uint32_t i, n = 0;

	if (!keys)
		return -ENOMEM;
	for (i = 0; i < cnt; i++)
		if (hits[i])
			keys[n++] = (struct rank_key){ hits[i], i };
	qsort(keys, n, sizeof(*keys), rank_cmp);
	for (i = 0; i < n; i++) {
		ret_rank[keys[i].number] = i;
		ret_order[i] = keys[i].number;
	}
	free(keys);
	return (int)n;
}

int column_add_utids(struct block_out *o, const uint32_t *utids, const uint32_t *hits, uint32_t cnt,
		     uint32_t *ret_rank, uint32_t *order)
{
	struct disk_section what = { .type = CHUNK_UTIDS, .encoding = CHUNK_ENC_VARINT_DELTAS };
	int n = column_rank(hits, cnt, ret_rank, order), i;
	struct buf b = { 0 };
	uint64_t prev = 0;

	if (n < 0)
		return n;
	for (i = 0; i < n; i++) {
		buf_add_varint(&b, zigzag_encode(utids[order[i]] - prev));
		prev = utids[order[i]];
	}
	what.item_cnt = (uint32_t)n;
	n = b.failed ? -ENOMEM : 0;
	if (n == 0)
		block_out_add(o, &what, b.data, b.len);
	buf_done(&b);
	return n;
}

/* ---- parts ---- */

struct column_out {
	struct column_writer *c;
	struct block_out *o;
	struct kind_rows *k;
	unsigned int cpu_cnt;
	uint8_t kind, column;
	size_t least;	/* minimum size of the stored part */
};

static void add_part(const struct column_out *x, unsigned int part, unsigned int encoding,
		     unsigned int shift, uint32_t items, const void *raw, size_t bytes)
{
	struct disk_section s = {
		.type = CHUNK_COLUMN, .kind = x->kind, .column = x->column, .part = (uint8_t)part,
		.encoding = (uint8_t)encoding, .shift = (uint8_t)shift, .item_cnt = items,
	};

	block_out_add_least(x->o, &s, raw, bytes, x->least);
}

/*
 * Takes the token writer by value: if its address were passed, the compiler would assume that each
 * written byte may change the writer, and would access memory for every token.
 */
static void add_tokens(struct column_out *x, unsigned int part, unsigned int shift,
		       struct token_writer w, const uint8_t *tokens, const uint8_t *bits)
{
	uint32_t n = (uint32_t)(w.token - tokens);
	size_t bits_bytes = (size_t)(token_finish(&w) - bits);

	x->least = x->least > bits_bytes ? x->least - bits_bytes : 0;
	add_part(x, part, CHUNK_ENC_TOKENS, shift, n, tokens, n);
	x->least = 0;
	if (bits_bytes)
		add_part(x, part + 1, CHUNK_ENC_BITS, 0, n, bits, bits_bytes);
}

static uint64_t all_bits(const uint64_t *v, uint32_t n)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < n; i++)
		all |= v[i];
	return all;
}

static unsigned int common_shift(const uint64_t *v, uint32_t n)
{
	uint64_t all = all_bits(v, n);

	return all ? (unsigned int)__builtin_ctzll(all) : 0;
}

static void write_cpus(struct column_out *x)
{
	uint8_t *p = x->c->main;
	uint32_t runs = 0;

	for (unsigned int cpu = 0; cpu < x->cpu_cnt; cpu++) {
		uint32_t n = x->k->cpu_start[cpu + 1] - x->k->cpu_start[cpu];

		if (!n)
			continue;
		p = varint_put(p, cpu);
		p = varint_put(p, n);
		runs++;
	}
	x->column = CHUNK_COL_CPU;
	add_part(x, CHUNK_PART_MAIN, CHUNK_ENC_VARINTS, 0, runs * 2, x->c->main,
		 (size_t)(p - x->c->main));
}

static void write_ts(struct column_out *x, uint64_t base_ns)
{
	struct token_writer w = { .token = x->c->main, .bits = x->c->bits };
	const struct kind_rows *k = x->k;
	const uint64_t *ts = k->ts_ns;

	for (unsigned int cpu = 0; cpu < x->cpu_cnt; cpu++) {
		uint32_t end = k->cpu_start[cpu + 1];
		uint64_t prev = base_ns;

		for (uint32_t i = k->cpu_start[cpu]; i < end; i++) {
			token_put(&w, ts[i] - prev);
			prev = ts[i];
		}
	}
	x->column = CHUNK_COL_TS;
	/* timestamps at constant distances could pack too well: keep within the reader's limit */
	x->least = (k->cnt + CHUNK_EVENTS_PER_BYTE - 1) / CHUNK_EVENTS_PER_BYTE;
	add_tokens(x, CHUNK_PART_MAIN, 0, w, x->c->main, x->c->bits);
}

/* Writes an index, mostly as one byte: frequent values have low ranks. */
static inline void put_index(uint8_t **main, uint8_t **escape, uint32_t v)
{
	if (v < 255) {
		*(*main)++ = (uint8_t)v;
	} else {
		*(*main)++ = 255;
		*escape = varint_put(*escape, v - 255);
	}
}

static void add_index(struct column_out *x, const uint8_t *escape_end)
{
	size_t bytes = (size_t)(escape_end - x->c->bits);

	add_part(x, CHUNK_PART_MAIN, CHUNK_ENC_INDEX, 0, x->k->cnt, x->c->main, x->k->cnt);
	if (bytes)
		add_part(x, CHUNK_PART_BITS, CHUNK_ENC_VARINTS, 0, 0, x->c->bits, bytes);
}

static void write_index(struct column_out *x, unsigned int column, const uint32_t *v,
			const uint32_t *rank)
{
	uint8_t *main = x->c->main, *escape = x->c->bits;
	uint32_t i, cnt = x->k->cnt;

	for (i = 0; i < cnt; i++)
		put_index(&main, &escape, rank[v[i]]);
	x->column = (uint8_t)column;
	add_index(x, escape);
}

/*
 * Writes the leaving threads of SWITCH events. 0: the thread to which the CPU's last switch went,
 * which is the most frequent case.
 */
static void write_prev(struct column_out *x, const uint32_t *rank)
{
	uint8_t *main = x->c->main, *escape = x->c->bits;
	const struct kind_rows *k = x->k;

	for (unsigned int cpu = 0; cpu < x->cpu_cnt; cpu++) {
		uint32_t last = UINT32_MAX;

		for (uint32_t i = k->cpu_start[cpu]; i < k->cpu_start[cpu + 1]; i++) {
			put_index(&main, &escape, k->utid[i] == last ? 0 : rank[k->utid[i]] + 1);
			last = k->ref[i];
		}
	}
	x->column = CHUNK_COL_UTID;
	add_index(x, escape);
}

/* Writes a PLAIN, DELTA or TDELTA column. TDELTA: differences to the last row of the same tuple. */
static int write_numbers(struct column_out *x, unsigned int index, unsigned int codec)
{
	struct token_writer w = { .token = x->c->main, .bits = x->c->bits };
	const uint64_t *v = x->k->val[index];
	const uint32_t *tuple = x->k->tuple;
	uint32_t i, cnt = x->k->cnt;
	unsigned int shift = common_shift(v, cnt);
	bool by_tuple = codec == EVENT_CODEC_TDELTA;
	uint64_t prev = 0, *last;

	/* readers use 0 if a column that was added later is missing */
	if (event_column(x->kind, index)->is_later && !all_bits(v, cnt))
		return 0;
	last = by_tuple ? calloc(x->k->tuples.cnt, sizeof(*last)) : NULL;
	if (by_tuple && !last)
		return -ENOMEM;
	for (i = 0; !by_tuple && i < cnt; i++) {
		uint64_t now = v[i] >> shift;

		token_put(&w, codec == EVENT_CODEC_PLAIN ? now : zigzag_encode(now - prev));
		prev = now;
	}
	for (; i < cnt; i++) {
		uint64_t *l = &last[tuple[i]];

		token_put(&w, zigzag_encode((v[i] >> shift) - *l));
		*l = v[i] >> shift;
	}
	free(last);
	x->column = (uint8_t)index;
	add_tokens(x, CHUNK_PART_MAIN, shift, w, x->c->main, x->c->bits);
	return 0;
}

/* ---- repeated values: BACKREF and XREF ---- */

/* Passed by value, so that loops need not read the table's address again: see add_tokens(). */
struct recent {
	uint32_t *row;		/* by hash of a value: a row + 1 */
	unsigned int shift;
};

static int recent_reset(struct column_writer *c, uint32_t rows, struct recent *ret)
{
	unsigned int bits = 8;
	uint32_t *p;

	while (bits < 17 && 1u << bits < rows * 2)
		bits++;
	if (!c->recent) {
		p = malloc(sizeof(*p) << 17);
		if (!p)
			return -ENOMEM;
		c->recent = p;
	}
	memset(c->recent, 0, sizeof(*c->recent) << bits);
	*ret = (struct recent){ c->recent, 64 - bits };
	return 0;
}

static inline uint32_t *recent_slot(struct recent r, uint64_t v)
{
	return r.row + ((v * 0x9e3779b97f4a7c15ull) >> r.shift);
}

/* Writes a new value as the difference to the previous new value. */
static inline void put_new(struct token_writer *fresh, uint64_t *last, uint64_t v)
{
	token_put(fresh, zigzag_encode(v - *last));
	*last = v;
}

static void add_refs(struct column_out *x, unsigned int shift, struct token_writer w,
		     struct token_writer fresh)
{
	add_tokens(x, CHUNK_PART_MAIN, 0, w, x->c->main, x->c->bits);
	if (fresh.token != x->c->fresh)
		add_tokens(x, CHUNK_PART_NEW, shift, fresh, x->c->fresh, x->c->fresh_bits);
}

static int write_backref(struct column_out *x, unsigned int index)
{
	struct column_writer *c = x->c;
	struct token_writer w = { .token = c->main, .bits = c->bits };
	struct token_writer fresh = { .token = c->fresh, .bits = c->fresh_bits };
	const uint64_t *v = x->k->val[index];
	uint32_t i, cnt = x->k->cnt;
	unsigned int shift = common_shift(v, cnt);
	struct recent recent;
	uint64_t last = 0;

	if (recent_reset(c, cnt, &recent) < 0)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		uint32_t *slot = recent_slot(recent, v[i]);

		if (*slot && v[*slot - 1] == v[i]) {
			token_put(&w, i + 1 - *slot);
		} else {
			token_put(&w, 0);
			put_new(&fresh, &last, v[i] >> shift);
		}
		*slot = i + 1;
	}
	x->column = (uint8_t)index;
	add_refs(x, shift, w, fresh);
	return 0;
}

/*
 * Writes the row of the allocation of each free. Allocations are added to the table in order of
 * time, CPU by CPU: if an address is often reused, the most recent row is found. A decoder accepts
 * any row with the same value.
 */
static int write_xref(struct column_out *x, unsigned int index, const struct kind_rows *other)
{
	struct column_writer *c = x->c;
	struct token_writer w = { .token = c->main, .bits = c->bits };
	struct token_writer fresh = { .token = c->fresh, .bits = c->fresh_bits };
	const struct kind_rows *k = x->k;
	const uint64_t *v = k->val[index], *there = other->val[0];
	const uint64_t *ts = k->ts_ns, *there_ns = other->ts_ns;
	struct recent recent;
	unsigned int shift = common_shift(v, k->cnt), cpu;
	uint64_t last = 0;
	uint32_t i, j, ref = 0;

	if (recent_reset(c, other->cnt, &recent) < 0)
		return -ENOMEM;
	for (cpu = 0; cpu < x->cpu_cnt; cpu++) {
		uint32_t end = k->cpu_start[cpu + 1];
		uint32_t there_end = other->cnt ? other->cpu_start[cpu + 1] : 0;

		j = other->cnt ? other->cpu_start[cpu] : 0;
		for (i = k->cpu_start[cpu]; i < end; i++) {
			uint32_t *slot;

			for (; j < there_end && there_ns[j] <= ts[i]; j++)
				*recent_slot(recent, there[j]) = j + 1;
			slot = recent_slot(recent, v[i]);
			if (*slot && there[*slot - 1] == v[i]) {
				token_put(&w, 1 + zigzag_encode((uint64_t)*slot - 1 - ref));
				ref = *slot - 1;
			} else {
				token_put(&w, 0);
				put_new(&fresh, &last, v[i] >> shift);
			}
		}
		for (; j < there_end; j++)
			*recent_slot(recent, there[j]) = j + 1;
	}
	x->column = (uint8_t)index;
	add_refs(x, shift, w, fresh);
	return 0;
}

/* ---- tuples ---- */

static void write_tuple_values(struct column_out *x, unsigned int column, unsigned int at,
			       const uint32_t *order, uint32_t cnt)
{
	const struct tuple_dict *d = &x->k->tuples;
	struct disk_section s = {
		.type = CHUNK_TUPLES, .kind = x->kind, .column = (uint8_t)column,
		.encoding = CHUNK_ENC_VARINT_DELTAS, .item_cnt = cnt,
	};
	uint8_t *p = x->c->main;
	uint64_t prev = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t v = d->values[(size_t)order[i] * d->width + at];

		p = varint_put(p, zigzag_encode(v - prev));
		prev = v;
	}
	block_out_add(x->o, &s, x->c->main, (size_t)(p - x->c->main));
}

static int write_tuples(struct column_out *x)
{
	const struct tuple_dict *d = &x->k->tuples;
	struct column_writer *c = x->c;
	uint32_t *order;
	unsigned int i, at = 0;
	int n;

	if (d->cnt > c->rank_room) {
		free(c->rank);
		c->rank_room = 0;
		c->rank = malloc((size_t)d->cap * 2 * sizeof(*c->rank));
		if (!c->rank)
			return -ENOMEM;
		c->rank_room = d->cap;
	}
	order = c->rank + c->rank_room;
	n = column_rank(d->hits, d->cnt, c->rank, order);
	if (n < 0)
		return n;
	/* a single tuple needs no index column */
	if (n > 1)
		write_index(x, CHUNK_COL_TUPLE, x->k->tuple, c->rank);
	write_tuple_values(x, CHUNK_COL_FLAGS, at++, order, (uint32_t)n);
	for (i = 0; i < EVENT_VALUES; i++)
		if (column_codec(x->kind, i) == EVENT_CODEC_TUPLE)
			write_tuple_values(x, i, at++, order, (uint32_t)n);
	return 0;
}

static int write_column(struct column_out *x, unsigned int index, const struct kind_rows *rows,
			const uint32_t *slot_rank)
{
	unsigned int codec = column_codec(x->kind, index);

	switch (codec) {
	case EVENT_CODEC_UTID:
		write_index(x, index, x->k->ref, slot_rank);
		return 0;
	case EVENT_CODEC_PLAIN:
	case EVENT_CODEC_DELTA:
	case EVENT_CODEC_TDELTA:
		return write_numbers(x, index, codec);
	case EVENT_CODEC_BACKREF:
		return write_backref(x, index);
	case EVENT_CODEC_XREF:
		return write_xref(x, index, &rows[column_xref_kind(x->kind)]);
	default:
		return 0;
	}
}

int column_write_all(struct column_writer *c, struct block_out *o, struct kind_rows *rows,
		     unsigned int cpu_cnt, uint64_t base_ns, const uint32_t *slot_rank)
{
	uint32_t most = 0;
	int r;

	for (unsigned int kind = 1; kind < EVENT_KIND_CNT; kind++)
		most = rows[kind].cnt > most ? rows[kind].cnt : most;
	if (scratch_room(c, most) < 0)
		return -ENOMEM;
	for (unsigned int kind = 1; kind < EVENT_KIND_CNT; kind++) {
		struct column_out x = {
			.c = c, .o = o, .k = &rows[kind], .cpu_cnt = cpu_cnt, .kind = (uint8_t)kind,
		};

		if (!x.k->cnt)
			continue;
		write_cpus(&x);
		write_ts(&x, base_ns);
		if (kind == EVENT_SWITCH)
			write_prev(&x, slot_rank);
		else
			write_index(&x, CHUNK_COL_UTID, x.k->utid, slot_rank);
		r = write_tuples(&x);
		if (r < 0)
			return r;
		for (unsigned int i = 0; i < EVENT_VALUES; i++) {
			r = write_column(&x, i, rows, slot_rank);
			if (r < 0)
				return r;
		}
	}
	return o->error;
}

/*
 * block_events: counts the events by kind and CPU, then copies them to the arrays of column_writer.
 * Events of the same kind and CPU keep their order.
 */

struct fill_events {
	struct kind_rows rows[EVENT_KIND_CNT];
	uint32_t *pos;			/* by CPU and kind: the next row */
	struct hash_map by_utid;	/* by utid: its index in utids and hits (slot) */
	uint32_t *utids, *hits, *rank, *order;
	size_t utid_cap, hit_cap;
	unsigned int cpu_cnt;
};

static void fill_done(struct fill_events *f)
{
	for (unsigned int k = 0; k < EVENT_KIND_CNT; k++)
		kind_rows_done(&f->rows[k]);
	free(f->pos);
	hash_map_done(&f->by_utid);
	free(f->utids);
	free(f->hits);
	free(f->rank);
	free(f->order);
}

static int count(struct fill_events *f, const struct event *ev, size_t cnt)
{
	f->pos = calloc((size_t)EVENT_KIND_CNT * f->cpu_cnt + 1, sizeof(*f->pos));
	if (!f->pos)
		return -ENOMEM;
	for (size_t n = 0; n < cnt; n++) {
		if (!ev[n].kind || ev[n].kind >= EVENT_KIND_CNT || ev[n].cpu >= f->cpu_cnt)
			return -EINVAL;
		f->pos[ev[n].cpu * EVENT_KIND_CNT + ev[n].kind]++;
	}
	for (unsigned int k = 1; k < EVENT_KIND_CNT; k++)
		if (kind_rows_init(&f->rows[k], k, f->cpu_cnt) < 0 ||
		    kind_rows_place(&f->rows[k], k, &f->pos[k], f->cpu_cnt) < 0)
			return -ENOMEM;
	return 0;
}

/* Returns the slot of a utid; UINT32_MAX: out of memory. */
static uint32_t slot_of(struct fill_events *f, uint32_t utid)
{
	uint32_t slot;
	int r = hash_map_intern(&f->by_utid, utid, 0, &slot);

	if (r < 0 || array_reserve(&f->utids, &f->utid_cap, slot + 1) < 0 ||
	    array_reserve(&f->hits, &f->hit_cap, slot + 1) < 0)
		return UINT32_MAX;
	if (r)
		f->utids[slot] = utid;
	f->hits[slot]++;
	return slot;
}

static int fill(struct fill_events *f, const struct event *ev)
{
	struct kind_rows *r = &f->rows[ev->kind];
	uint32_t at = f->pos[ev->cpu * EVENT_KIND_CNT + ev->kind]++;
	uint64_t tuple[TUPLE_WIDTH_MAX] = { ev->flags };
	unsigned int width = 1, i;

	r->ts_ns[at] = ev->ts_ns;
	r->utid[at] = slot_of(f, ev->utid);
	if (r->utid[at] == UINT32_MAX)
		return -ENOMEM;
	for (i = 0; i < EVENT_VALUES; i++) {
		unsigned int codec = column_codec(ev->kind, i);

		if (codec == EVENT_CODEC_TUPLE) {
			tuple[width++] = ev->v[i];
		} else if (codec == EVENT_CODEC_UTID) {
			r->ref[at] = slot_of(f, (uint32_t)ev->v[i]);
			if (r->ref[at] == UINT32_MAX)
				return -ENOMEM;
		} else if (codec) {
			r->val[i][at] = ev->v[i];
		}
	}
	r->tuple[at] = tuple_dict_add(&r->tuples, tuple, r->tuples.width);
	return r->tuple[at] == TUPLE_NONE ? -ENOMEM : 0;
}

static int add_utids(struct fill_events *f, struct block_out *o)
{
	f->rank = calloc(f->by_utid.cnt + 1, sizeof(*f->rank));
	f->order = calloc(f->by_utid.cnt + 1, sizeof(*f->order));
	if (!f->rank || !f->order)
		return -ENOMEM;
	return column_add_utids(o, f->utids, f->hits, f->by_utid.cnt, f->rank, f->order);
}

int block_events_add(struct block_out *o, const struct event *events, size_t cnt,
		     struct disk_block *head)
{
	struct fill_events f = { .cpu_cnt = head->cpu_cnt };
	struct column_writer columns = { 0 };
	int r;

	if (cnt > CHUNK_EVENTS_MAX)
		return -E2BIG;
	r = count(&f, events, cnt);
	for (size_t i = 0; i < cnt && r == 0; i++)
		r = fill(&f, &events[i]);
	r = r ?: add_utids(&f, o);
	head->first_ns = cnt ? events[0].ts_ns : UINT64_MAX;
	head->last_ns = cnt ? events[cnt - 1].ts_ns : 0;
	for (unsigned int k = 0; k < EVENT_KIND_CNT; k++)
		head->kind_cnt[k] = f.rows[k].cnt;
	if (r == 0 && cnt)
		r = column_write_all(&columns, o, f.rows, f.cpu_cnt, head->first_ns, f.rank);
	column_writer_done(&columns);
	fill_done(&f);
	return r < 0 ? r : o->error;
}
