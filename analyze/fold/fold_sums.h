/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_sums: a table of sums, one row per pair of numbers.
 *
 *     (a, b) --[fold_sums]--> row --> read and removed in order
 *
 * The index keys rows by fold_key. A view has the bin in the upper half of a, so that the rows of
 * finished bins can be removed while others still grow. Threads: one.
 */
#pragma once

#include "analyze/fold/fold.h"
#include "base/hash_map.h"

struct fold_row {
	uint64_t a, b;
	_Alignas(8) unsigned char sum[];
};

enum {
	FOLD_SUMS_RECENT = 1024,
	FOLD_SUMS_COUNTS = 16,	/* largest number of counts in a sum */
};

struct fold_sums {
	const struct fold_sums_def *def;
	struct hash_map map;
	char *rows;			/* of row_bytes each */
	size_t row_bytes, cap, used;	/* used: rows that have been in use, and may own memory */
	size_t last;			/* the last row looked up, if any */
	struct fold_row **order;	/* rows to return, in order */
	size_t ready, given;		/* number of rows in order, and of those returned */
	uint32_t recent[FOLD_SUMS_RECENT];	/* recently used rows, by a hash of the pair */
};

void fold_sums_init(struct fold_sums *s, const struct fold_sums_def *def);
void fold_sums_done(struct fold_sums *s);

static inline size_t fold_sums_cnt(const struct fold_sums *s)
{
	return s->map.cnt;
}

static inline struct fold_row *fold_sums_at(const struct fold_sums *s, size_t i)
{
	return (struct fold_row *)(s->rows + i * s->row_bytes);
}

/* The same for a pair that differs from the last one. */
void *fold_sums_find(struct fold_sums *s, uint64_t a, uint64_t b);

/* Returns the sum of a pair, valid until the next call; a new sum is empty. NULL: out of memory. */
static inline void *fold_sums_of(struct fold_sums *s, uint64_t a, uint64_t b)
{
	if (s->map.cnt) {
		struct fold_row *r = fold_sums_at(s, s->last);

		if (r->a == a && r->b == b)
			return r->sum;
	}
	return fold_sums_find(s, a, b);
}

void fold_sums_clear(struct fold_sums *s);

/*
 * For add(): fold_sum_at() finds the target's sum at a time. 1; 0: not wanted, or outside the
 * target's stretch; -errno. fold_sum_add_time() adds a stretch of time to the count at offset, in
 * all sums that it overlaps.
 */
int fold_sum_at(struct fold_target *t, uint64_t ts_ns, const struct fold_key *key, void **ret);
int fold_sum_add_time(struct fold_target *t, const struct fold_key *key, size_t offset,
		      uint64_t from_ns, uint64_t to_ns);

/* Access to the part of a key that counts renames. */
static inline uint64_t fold_renames_max(const struct fold_renames_def *r)
{
	return (1ull << r->bits) - 1;
}

static inline void fold_renames_set(const struct fold_renames_def *r, struct fold_key *key,
				    uint64_t cnt)
{
	uint64_t max = fold_renames_max(r), *word = r->is_in_b ? &key->b : &key->a;

	*word = (*word & ~(max << r->at)) | (cnt < max ? cnt : max) << r->at;
}

static inline uint64_t fold_renames_get(const struct fold_renames_def *r,
					const struct fold_key *key)
{
	return (r->is_in_b ? key->b : key->a) >> r->at & fold_renames_max(r);
}

void fold_sum_done(const struct fold_sums_def *def, void *sum);
/* Writes a sum's bytes for the index, without the key. Failures of memory stay in out. */
void fold_sum_put(const struct fold_sums_def *def, void *sum, struct buf *out);
/* Adds a sum from these bytes. 0, -ENOMEM or -EBADMSG. */
int fold_sum_merge(const struct fold_sums_def *def, void *sum, struct packed_in *in);

/*
 * Puts the rows with a below the limit into an order: ascending by (a, b), or order of first use.
 * fold_sums_next() returns them one by one, then NULL; no row may be looked up until then.
 * fold_sums_drop() removes the rows below a limit. 0 or -ENOMEM.
 */
int fold_sums_order(struct fold_sums *s, uint64_t below_a, bool by_number);
static inline struct fold_row *fold_sums_next(struct fold_sums *s)
{
	return s->given < s->ready ? s->order[s->given++] : NULL;
}
int fold_sums_drop(struct fold_sums *s, uint64_t below_a);

/* Calls give for all rows in such an order. 0, -ENOMEM, or give()'s result. */
typedef int (*fold_sums_give)(void *ctx, struct fold_row *r);
int fold_sums_each(struct fold_sums *s, bool by_number, fold_sums_give give, void *ctx);
