/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * request_rows: which row of an answer a block request counts in: one per group (of the owner), device
 * and operation; where the owner is not known, per submitter and reason, too.
 *
 *     request --[request_rows]--> row number 0, 1, ... ; label cells of a row
 *
 * Threads: one.
 */
#ifndef REQUEST_ROWS_H
#define REQUEST_ROWS_H

#include "event/block_track.h"
#include "event/keymap.h"
#include "analyze/request_owner.h"
#include "analyze/table.h"

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
	struct keymap submitters, kinds, map;
	struct request_row *rows;
	size_t cnt, cap;		/* cnt: rows since the last clear */
};

/* by: as window_grouping() has it. -EINVAL, -ENOMEM. request_rows_done() in any case. */
int request_rows_init(struct request_rows *rr, struct analysis *a, const struct cell *by,
		      struct err *e);
void request_rows_done(struct request_rows *rr);
void request_rows_clear(struct request_rows *rr);

/*
 * 1: *ret is a new row, 0: one that was there, -ESRCH: out of scope, -ENOMEM. *ret_is_known (may be
 * NULL): whether the request's owner is.
 */
int request_rows_find(struct request_rows *rr, const struct block_request *r, uint32_t *ret,
		      bool *ret_is_known);
void request_rows_cells(const struct request_rows *rr, uint32_t row, struct cell *c);

#endif /* REQUEST_ROWS_H */
