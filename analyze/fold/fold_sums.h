/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_sums: a table of sums, one row per pair of numbers.
 *
 *     (a, b) --[fold_sums]--> row --> taken out in order
 *
 * The index keys rows by fold_key. A view has the bin in the upper half of a, so that the rows of
 * bins that are over can be taken out while others still grow. Threads: one.
 */
#ifndef FOLD_SUMS_H
#define FOLD_SUMS_H

#include "analyze/fold/fold.h"
#include "base/hash_map.h"

struct fold_row {
	uint64_t a, b;
	_Alignas(8) unsigned char sum[];
};

struct fold_sums {
	const struct fold_sums_def *def;
	struct hash_map map;
	char *rows;			/* of row_bytes each */
	size_t row_bytes, cap, used;	/* used: rows that have been sums, and may own memory */
	size_t last;			/* the row that was asked for last, if there is any */
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

/* The same for a pair that was not the last one asked for. */
void *fold_sums_find(struct fold_sums *s, uint64_t a, uint64_t b);

/* The sum of a pair, valid until the next call; a new one is empty. NULL: out of memory. */
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
 * Hands out the rows with a below the limit, and removes them: in ascending order of (a, b), or in
 * the order in which they came. 0, -ENOMEM, or what give() returned.
 */
int fold_sums_take(struct fold_sums *s, uint64_t below_a, bool by_number,
		   int (*give)(void *ctx, struct fold_row *r), void *ctx);

#endif /* FOLD_SUMS_H */
