/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_state: what index_file.c (its parts) and index_build.c (making them) share. Nobody else
 * includes this.
 */
#ifndef INDEX_STATE_H
#define INDEX_STATE_H

#include "analyze/fold/index.h"

struct derived_file;

struct index {
	struct analysis *a;
	struct derived_file *d;
	size_t interval_cnt;	/* as many as the trace has blocks */
	size_t saved_cnt;	/* the first of these are in the file already */
	uint64_t *from_ns;	/* of the intervals */
	size_t damage_cnt;	/* of the trace, when all this was found true */
	bool damaged;
	struct index *before;	/* no longer true */
};

/* ---- index_file.c ---- */

/*
 * The intervals of the trace as it is, with the parts that its derived file has. save: a place is
 * wanted where parts can be added.
 */
int index_new(struct index **ret, struct analysis *a, bool save);
/* What was saved is of no use any more: all intervals are empty. */
void index_forget_saved(struct index *x);
/* Parts are going to be added: to a new derived file if save, else in memory. */
int index_begin(struct index *x, bool save);
/*
 * Puts the new file in place. Parts are of the first cnt intervals; tails stand behind the last
 * of these.
 */
int index_save(struct index *x, size_t cnt);

/* ---- index_build.c ---- */

/* Makes the intervals from "from" on; tails are those behind interval "last" - 1. */
int index_build(struct index *x, size_t from, size_t last, const struct analysis_index_use *use,
		struct err *e);

#endif /* INDEX_STATE_H */
