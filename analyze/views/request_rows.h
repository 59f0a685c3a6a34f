/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * request_rows: which row of an answer a block request counts in: one per group (of the owner),
 * device and operation; where the owner is not known, per submitter and reason, too.
 *
 *     request --[request_rows]--> row number 0, 1, ... ; label cells of a row
 *
 * Threads: one.
 */
#ifndef REQUEST_ROWS_H
#define REQUEST_ROWS_H

#include "base/hash_map.h"
#include "analyze/views/request_owner.h"
#include "analyze/views/view.h"

/* The columns request_rows_cells() fills. */
#define REQUEST_ROW_COLUMNS                                                                        \
	{ "upid", COLUMN_INT }, { "utid", COLUMN_INT }, { "name", COLUMN_TEXT },                   \
	{ "dev", COLUMN_INT }, { "op", COLUMN_TEXT }, { "submitter", COLUMN_TEXT },                \
	{ "owner_how", COLUMN_TEXT }
enum { REQUEST_ROW_COLS = 7 };

struct request_row {
	uint32_t group, dev;
	const char *op;
	const char *submitter, *how;	/* of all its requests, or "several" */
};

struct request_rows {
	struct analysis *a;
	struct grouping groups;
	struct hash_map submitters, kinds, map;
	struct request_row *rows;
	size_t cnt, cap;		/* cnt: rows since the last clear */
};

/*
 * Where a key of fold_requests counts: ret->group is the row's number. 1; 0: out of scope; -ENOMEM.
 * *ret_is_known (may be NULL): whether the request's owner is.
 */
int request_rows_place(struct request_rows *rr, const struct fold_key *key, struct view_place *ret,
		       bool *ret_is_known);
void request_rows_cells(const struct request_rows *rr, uint32_t row, struct cell *c);

/* The beginning of a view whose rows these are, and functions for its struct view_def. */
struct request_view {
	struct view v;
	struct request_rows rows;	/* of this bin */
};

int request_view_open(struct view *v, const struct table_query *q, struct err *e);
void request_view_close(struct view *v);
void request_view_bin_is_over(struct view *v);

#endif /* REQUEST_ROWS_H */
