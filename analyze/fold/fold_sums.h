/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_sums: a table of sums, one row per pair of numbers.
 *
 *     (a, b) --[fold_sums]--> row --> read and removed in order
 *
 * The index uses a fold_key as pair. A view stores the bin in the upper half of a, so that the rows
 * of finished bins can be removed while other rows still grow. Threads: one.
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
	char *rows;			/* array of rows, row_bytes each */
	/* used: number of rows that may own memory, in use or removed */
	size_t row_bytes, cap, used;
	size_t last;			/* the row that was looked up last, if any */
	struct fold_row **order;	/* rows to return, sorted */
	/* number of rows in order, and number of rows returned so far */
	size_t ready, given;
	uint32_t recent[FOLD_SUMS_RECENT];	/* recently used rows, by a hash of their pair */
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

/* As fold_sums_of(), but does not try the row that was looked up last. */
void *fold_sums_find(struct fold_sums *s, uint64_t a, uint64_t b);

/* Returns the sum of a pair, valid until the next call; a new sum is zero. NULL: out of memory. */
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
 * For use in add(). fold_sum_at() finds the target's sum at a time. 1: found; 0: not wanted, or
 * outside the target's range; -errno. fold_sum_add_time() adds a span of time to the count at
 * offset, divided among the sums that are valid during the span.
 */
int fold_sum_at(struct fold_target *t, uint64_t ts_ns, const struct fold_key *key, void **ret);
int fold_sum_add_time(struct fold_target *t, const struct fold_key *key, size_t offset,
		      uint64_t from_ns, uint64_t to_ns);

/* Access the field of a key that counts renames. */
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
/* Writes a sum in the index's format, without its key. Memory errors are recorded in out. */
void fold_sum_put(const struct fold_sums_def *def, void *sum, struct buf *out);
/* Reads a sum in the index's format, and adds it to sum. 0, -ENOMEM or -EBADMSG. */
int fold_sum_merge(const struct fold_sums_def *def, void *sum, struct packed_in *in);

/*
 * Selects the rows with a < below_a, and sorts them by (a, b) if by_number, else by first use.
 * fold_sums_next() then returns them one by one, and NULL at the end; until then no row may be
 * looked up. fold_sums_drop() removes the rows with a < below_a. 0 or -ENOMEM.
 */
int fold_sums_order(struct fold_sums *s, uint64_t below_a, bool by_number);
static inline struct fold_row *fold_sums_next(struct fold_sums *s)
{
	return s->given < s->ready ? s->order[s->given++] : NULL;
}
int fold_sums_drop(struct fold_sums *s, uint64_t below_a);

/*
 * Calls give for all rows, in the order of fold_sums_order(). 0, -ENOMEM, or a negative result of
 * give().
 */
typedef int (*fold_sums_give)(void *ctx, struct fold_row *r);
int fold_sums_each(struct fold_sums *s, bool by_number, fold_sums_give give, void *ctx);
