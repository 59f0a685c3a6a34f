/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * key_sort: sorts the keys of an index in bounded memory. Private to analyze/bulk.
 *
 *     keys in order of rowid --[key_sort]--> keys in order of value, then rowid
 *
 * Keys beyond KEY_SORT_ROWS go to sorted runs in a file without a name. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define KEY_SORT_ROWS (1u << 18) /* 12 MiB with the room for sorting */

/* The key of an index on one or two integer columns. Only the first column may be NULL. */
struct sort_key {
	int64_t value[2]; /* [1]: 0 when there is one column */
	uint64_t rowid; /* below 2^63 */
	bool is_null; /* value[0]; comes before any number */
};

struct key_sort;

/* dir: where runs go. 0 or -ENOMEM. */
int key_sort_new(struct key_sort **ret, const char *dir, unsigned int col_cnt);
void key_sort_free(struct key_sort *s);
/* rowids ascend. */
int key_sort_add(struct key_sort *s, const struct sort_key *key, struct err *e);
/* Call it after the last key_sort_add(). 1 and the next key, 0 at the end, or -errno. */
int key_sort_next(struct key_sort *s, struct sort_key *ret, struct err *e);
