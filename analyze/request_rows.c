/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Three interned keys: names of submitters, kinds of requests, rows. */
#include "analyze/request_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/window.h"

int request_rows_init(struct request_rows *rr, struct analysis *a, const struct cell *by,
		      struct err *e)
{
	memset(rr, 0, sizeof(*rr));
	rr->a = a;
	return window_grouping(&rr->groups, a, by, e);
}

void request_rows_done(struct request_rows *rr)
{
	keymap_done(&rr->submitters);
	keymap_done(&rr->kinds);
	keymap_done(&rr->map);
	grouping_done(&rr->groups);
	free(rr->rows);
}

void request_rows_clear(struct request_rows *rr)
{
	keymap_clear(&rr->map);
	rr->cnt = 0;
}

/* What a request is within its group: its operation, and what is known without an owner. */
static int kind_of(struct request_rows *rr, const struct request_charge *to, const char *op,
		   uint32_t *ret)
{
	uint64_t name[2] = { 0, 0 };
	uint32_t submitter = 0, how = 0;

	if (!to->is_known && rr->groups.by != GROUPING_NONE) {
		memcpy(name, to->submitter, strnlen(to->submitter, sizeof(name)));
		how = 1 + to->how;
	}
	if (keymap_intern(&rr->submitters, name[0], name[1], &submitter) < 0)
		return -ENOMEM;
	/* operations are told apart by name: several numbers may share one */
	return keymap_intern(&rr->kinds, (uint64_t)(uintptr_t)op, (uint64_t)how << 32 | submitter,
			     ret);
}

static int add_row(struct request_rows *rr, const struct request_row *row)
{
	if (rr->cnt == rr->cap) {
		size_t cap = rr->cap ? rr->cap * 2 : 64;
		struct request_row *rows = realloc(rr->rows, cap * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		rr->rows = rows;
		rr->cap = cap;
	}
	rr->rows[rr->cnt++] = *row;
	return 1;
}

static void say_one(const char **name, const char *of)
{
	if (strcmp(*name, of))
		*name = "several";
}

int request_rows_find(struct request_rows *rr, const struct block_request *r, uint32_t *ret,
		      bool *ret_is_known)
{
	const char *op = block_op_name(r->cmd_flags), *how;
	struct request_charge to;
	uint32_t kind;
	int is_new;

	request_charge(rr->a, &rr->groups, r, &to);
	if (ret_is_known)
		*ret_is_known = to.is_known;
	if (!to.in_scope)
		return -ESRCH;
	if (to.group == GROUPING_FAILED || kind_of(rr, &to, op, &kind) < 0)
		return -ENOMEM;
	is_new = keymap_intern(&rr->map, (uint64_t)to.group << 32 | r->dev, kind, ret);
	if (is_new < 0)
		return is_new;
	how = request_owner_how_name(to.how);
	if (is_new)
		return add_row(rr, &(struct request_row){ to.group, r->dev, op, to.submitter,
							  how });
	say_one(&rr->rows[*ret].submitter, to.submitter);
	say_one(&rr->rows[*ret].how, how);
	return 0;
}

void request_rows_cells(const struct request_rows *rr, uint32_t row, struct cell *c)
{
	const struct request_row *x = &rr->rows[row];
	struct grouping_label label;

	grouping_label(&rr->groups, x->group, &label);
	if (label.upid >= 0)
		cell_int(&c[0], label.upid);
	if (label.utid >= 0)
		cell_int(&c[1], label.utid);
	cell_text(&c[2], label.name);
	cell_int(&c[3], x->dev);
	cell_text(&c[4], x->op);
	cell_text(&c[5], x->submitter);
	cell_text(&c[6], x->how);
}
