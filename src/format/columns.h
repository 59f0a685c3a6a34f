/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * columns: the event columns of a block: encoding, columns to write, columns that were read.
 *
 * token: encodes 64-bit numbers as one token byte each, plus extra bits in a bit stream.
 *
 * v < 16: token v, no extra bits. Otherwise, with e = floor(log2 v) (4..63): token 16 + (e - 4) * 4
 * + (the two bits below the highest), and the lower e - 2 bits of v as extra bits. The token has
 * the predictable part of v, and packs well; the extra bits are nearly random, and are not packed.
 *
 * The bit stream begins with the lowest bit of each byte, and with the lowest bit of each value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/block.h"
#include "format/event.h"

/* Readers may read this many bytes after the end of a bit stream. */
#define TOKEN_SLACK 16

struct token_writer {
	uint8_t *token;		/* next token; the caller provides 1 byte per value */
	uint8_t *bits;		/* next byte; the caller provides 8 bytes per value + TOKEN_SLACK */
	uint64_t acc;
	unsigned int used;	/* number of bits in acc; 0..7 between calls */
};

static inline unsigned int token_extra_bits(uint8_t token)
{
	/* without a branch, because the tokens of a column are unpredictable */
	return ((token >> 2) - 2u) & -(unsigned int)(token >= 16);
}

static inline void token_put_bits(struct token_writer *w, uint64_t v, unsigned int n)
{
	/* n <= 56: fits with up to 7 unwritten bits */
	w->acc |= v << w->used;
	w->used += n;
	memcpy(w->bits, &w->acc, 8);
	w->bits += w->used >> 3;
	w->acc >>= w->used & 56;
	w->used &= 7;
}

static inline void token_put(struct token_writer *w, uint64_t v)
{
	unsigned int e, n;
	uint64_t top;

	if (v < 16) {
		*w->token++ = (uint8_t)v;
		return;
	}
	e = 63 - (unsigned int)__builtin_clzll(v);
	n = e - 2;
	top = v >> n;	/* 4..7: the three highest bits */
	*w->token++ = (uint8_t)(e * 4 - 4 + top);
	v -= top << n;
	if (n > 56) {
		token_put_bits(w, v & 0xffffffff, 32);
		v >>= 32;
		n -= 32;
	}
	token_put_bits(w, v, n);
}

/* Pads the bit stream with zero bits to a whole byte. Returns a pointer after this byte. */
static inline uint8_t *token_finish(struct token_writer *w)
{
	if (w->used) {
		*w->bits++ = (uint8_t)w->acc;
		w->acc = 0;
		w->used = 0;
	}
	return w->bits;
}

struct token_reader {
	const uint8_t *token;
	const uint8_t *bits; /* start of the stream; TOKEN_SLACK bytes after its end are readable */
	uint64_t at;		/* index of the next bit */
};

/*
 * Returns the length in bytes of the bit stream that cnt tokens need, so that a reader can check
 * the length once instead of per token.
 */
static inline uint64_t token_bits_bytes(const uint8_t *tokens, size_t cnt)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t bits = 0;
	size_t i;

	/*
	 * eight tokens at once: each byte of x becomes a result of token_extra_bits(), at most 61
	 */
	for (i = 0; i + 8 <= cnt; i += 8) {
		uint64_t x, has_extra;

		memcpy(&x, tokens + i, 8);
		has_extra = ((x >> 4 & ones * 15) + ones * 15) >> 4 & ones;
		x = (x >> 2 & ones * 63 & has_extra * 255) - 2 * has_extra;
		x = (x & 0x00ff00ff00ff00ff) + (x >> 8 & 0x00ff00ff00ff00ff);
		bits += x * 0x0001000100010001 >> 48;
	}
	for (; i < cnt; i++)
		bits += token_extra_bits(tokens[i]);
	return (bits + 7) / 8;
}

static inline uint64_t token_get(struct token_reader *r)
{
	uint8_t t = *r->token++;
	unsigned int n, s;
	uint64_t v, next;

	if (t < 16)
		return t;
	n = token_extra_bits(t);
	s = (unsigned int)(r->at & 7);
	/* r->bits is not NULL if a token has extra bits */
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
	memcpy(&v, r->bits + (r->at >> 3), 8);
	v >>= s;
	if (n + s > 64) {
		memcpy(&next, r->bits + (r->at >> 3) + 8, 8);
		v |= next << (64 - s);
	}
	r->at += n;
	v &= ((uint64_t)1 << n) - 1;
	return v | (uint64_t)(4 | (t & 3)) << n;
}

/*
 * column_writer: holds the events of one block as arrays per kind and column, and converts them to
 * sections. Rows are ordered by CPU, ts_ns and arrival. Codecs: schema/FORMAT.md, "Columns".
 */

/*
 * tuple_dict: assigns numbers to the combinations of values in the TUPLE columns (and flags) of a
 * kind in a block. Most kinds have few combinations: a call site determines cache and size of an
 * allocation. An empty dictionary is all zeros except width. Threads: one.
 */
#define TUPLE_WIDTH_MAX 10
#define TUPLE_NONE UINT32_MAX	/* out of memory */

struct tuple_dict {
	unsigned int width;	/* values in a tuple */
	uint32_t cnt;
	unsigned int bits;	/* 1 << bits slots */
	uint32_t *slots;	/* by hash: index + 1; 0: empty */
	uint64_t *values;	/* cnt * width */
	uint32_t *hits;		/* by tuple: number of uses */
	uint32_t cap;
	uint32_t last;		/* the last result of tuple_dict_add_again() */
};

void tuple_dict_done(struct tuple_dict *d);
void tuple_dict_reset(struct tuple_dict *d);	/* removes all tuples; keeps the memory */

uint32_t tuple_dict_add_slow(struct tuple_dict *d, const uint64_t *tuple, uint64_t hash);

/*
 * Rotates each value by a different number of bits, so that the order of values matters. The
 * multiplication moves all bits to the top, from which the hash is taken.
 */
static inline uint64_t tuple_hash(const uint64_t *tuple, unsigned int width)
{
	uint64_t hash = 0;

#pragma GCC unroll 10
	for (unsigned int k = 0; k < width; k++)
		hash += tuple[k] << (k * 13 & 63) | tuple[k] >> (-k * 13 & 63);
	return hash * 0x9e3779b97f4a7c15ull;
}

/* Returns whether the i-th tuple equals this one; if so, counts the use. */
static inline bool tuple_dict_hit(const struct tuple_dict *d, uint32_t i, const uint64_t *tuple,
				  unsigned int width)
{
	const uint64_t *v = d->values + (size_t)i * width;
	uint64_t diff = 0;

#pragma GCC unroll 10
	for (unsigned int k = 0; k < width; k++)
		diff |= v[k] ^ tuple[k];
	if (!diff)
		d->hits[i]++;
	return !diff;
}

/*
 * Returns the number of a tuple; adds it if it is new. width: a constant equal to d->width.
 * TUPLE_NONE: out of memory.
 */
static inline uint32_t tuple_dict_add(struct tuple_dict *d, const uint64_t *tuple,
				      unsigned int width)
{
	uint64_t hash = tuple_hash(tuple, width);

	if (d->slots) {
		const uint32_t *slots = d->slots;
		uint32_t mask = (1u << d->bits) - 1;

		for (uint32_t slot = (uint32_t)(hash >> (64 - d->bits)); slots[slot];
		     slot = (slot + 1) & mask)
			if (tuple_dict_hit(d, slots[slot] - 1, tuple, width))
				return slots[slot] - 1;
	}
	return tuple_dict_add_slow(d, tuple, hash);
}

/* Like tuple_dict_add(), for tuples that mostly equal the previous one. */
static inline uint32_t tuple_dict_add_again(struct tuple_dict *d, const uint64_t *tuple,
					    unsigned int width)
{
	uint32_t i;

	if (d->cnt && tuple_dict_hit(d, d->last, tuple, width))
		return d->last;
	i = tuple_dict_add(d, tuple, width);
	if (i != TUPLE_NONE)
		d->last = i;
	return i;
}

struct kind_rows {
	uint32_t cnt, cap;
	uint64_t need;		/* rows needed recently: see need_note() */
	uint32_t *cpu_start;	/* first row of each CPU; cpu_cnt + 1 elements */
	uint64_t *ts_ns;
	uint32_t *utid;		/* slots: indices into the caller's list of utids */
	uint32_t *ref;		/* indices for the kind's UTID column, if any */
	uint32_t *tuple;	/* index in tuples */
	uint64_t *val[EVENT_VALUES]; /* columns with other codecs than UTID and TUPLE; else NULL */
	struct tuple_dict tuples;	/* a tuple: flags, then the values of the TUPLE columns */
};

/* Before the first call, *k is all zeros. 0 or -ENOMEM. */
int kind_rows_init(struct kind_rows *k, unsigned int kind, unsigned int cpu_cnt);
void kind_rows_done(struct kind_rows *k);
/*
 * Assigns rows to each CPU, and makes room for all rows. counts[cpu * EVENT_KIND_CNT]: number of
 * rows of a CPU; replaced by the index of its first row. 0 or -ENOMEM.
 */
int kind_rows_place(struct kind_rows *k, unsigned int kind, uint32_t *counts, unsigned int cpu_cnt);

struct column_writer {
	uint8_t *main, *bits, *fresh, *fresh_bits;	/* scratch buffers, by enum chunk_part */
	/* capacity of the scratch buffers, in rows */
	uint32_t room;
	uint64_t need;
	uint32_t *rank;					/* scratch: by tuple: its rank */
	uint32_t rank_room;
	uint32_t *recent;	/* by hash of a value: a row + 1; collisions lose entries */
};

void column_writer_done(struct column_writer *c);

/*
 * Adds all sections of all kinds. rows: by kind; base_ns: the block's first_ns; slot_rank: by slot
 * (kind_rows.utid): index in the block's UTIDS.
 */
int column_write_all(struct column_writer *c, struct block_out *o, struct kind_rows *rows,
		     unsigned int cpu_cnt, uint64_t base_ns, const uint32_t *slot_rank);

/*
 * Ranks the numbers below cnt that have hits (hits[number] is not 0), by falling hits, then by
 * number: ret_rank[number] = rank, ret_order[rank] = number (cnt elements). Returns the number of
 * ranks, or -ENOMEM.
 */
int column_rank(const uint32_t *hits, uint32_t cnt, uint32_t *ret_rank, uint32_t *ret_order);

/*
 * Adds UTIDS: the utids of slots with hits, by rank. ret_rank and order: see column_rank(). 0 or
 * -ENOMEM.
 */
int column_add_utids(struct block_out *o, const uint32_t *utids, const uint32_t *hits, uint32_t cnt,
		     uint32_t *ret_rank, uint32_t *order);

/*
 * block_events: converts all events of a block into columns, for programs that write selected
 * events. Threads: one. Errors: -ENOMEM, -EINVAL, -E2BIG.
 */
/*
 * Adds UTIDS and the columns of events, which are in order of time, with CPUs below head->cpu_cnt.
 * Call this after adding the block's other small sections. Sets kind_cnt, first_ns and last_ns of
 * head.
 */
int block_events_add(struct block_out *o, const struct event *events, size_t cnt,
		     struct disk_block *head);

/*
 * column_reader: decodes the event columns of one kind in one block. Columns that are not requested
 * are neither read nor unpacked.
 *
 * Threads: one. Memory: 4 or 8 bytes per row and decoded column.
 */

#define COLUMN_ASK_UTID (1u << EVENT_VALUES)	/* bit of event.utid; lower bits: event.v */
#define COLUMN_ASK_FLAGS (1u << (EVENT_VALUES + 1))
#define COLUMN_ASK_ALL ((1u << (EVENT_VALUES + 2)) - 1)

/* Rows [start, start + cnt) belong to one CPU, in order of time. */
struct column_run {
	uint32_t cpu, start, cnt;
};

struct kind_columns {
	unsigned int kind;
	unsigned int value_cnt;		/* columns of the kind */
	uint32_t cnt;
	struct column_run *runs;
	uint32_t run_cnt;
	uint64_t *ts_ns;
	uint32_t *utid;			/* NULL: not requested */
	uint32_t *tuple; /* index of the tuple by row; NULL: 0 in every row, or not needed */
	uint32_t tuple_cnt;
	uint64_t *flags;		/* by tuple */
	uint64_t *tuple_value[EVENT_VALUES];	/* by tuple; requested TUPLE columns */
	uint32_t *ref[EVENT_VALUES];	/* UTID columns, converted to utids */
	uint64_t *value[EVENT_VALUES];	/* all columns with other codecs */
};

struct column_source {
	const struct block_meta *meta;
	struct block_io io;
	struct zunpack *zunpack;
	const uint32_t *utids;		/* block_meta_utids() */
	uint32_t utid_cnt;
	/* by kind: values of the kind's first column; NULL: not read yet */
	const uint64_t *first_values[EVENT_KIND_CNT];
};

/*
 * ask: COLUMN_ASK_* and 1 << column. -EBADMSG: the block is damaged, and must be ignored; *ret_why
 * has the reason.
 */
int column_read_kind(struct kind_columns *ret, const struct column_source *s, unsigned int kind,
		     uint32_t ask, const char **ret_why);
void kind_columns_done(struct kind_columns *k);
