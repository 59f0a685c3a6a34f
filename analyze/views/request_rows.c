/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Three interned keys: names of submitters, kinds of requests, rows. */
#include "analyze/views/request_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/fold_requests.h"
#include "base/array.h"

int request_view_open(struct view *v, const struct table_query *q, struct err *e)
{
	struct request_rows *rr = &((struct request_view *)v)->rows;

	rr->a = v->a;
	return window_grouping(&rr->groups, v->a, &q->args[3], e);
}

void request_view_close(struct view *v)
{
	struct request_rows *rr = &((struct request_view *)v)->rows;

	hash_map_done(&rr->submitters);
	hash_map_done(&rr->kinds);
	hash_map_done(&rr->map);
	grouping_done(&rr->groups);
	free(rr->rows);
}

void request_view_bin_is_over(struct view *v)
{
	struct request_rows *rr = &((struct request_view *)v)->rows;

	hash_map_clear(&rr->map);
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
	if (hash_map_intern(&rr->submitters, name[0], name[1], &submitter) < 0)
		return -ENOMEM;
	/* operations are told apart by name: several numbers may share one */
	return hash_map_intern(&rr->kinds, (uint64_t)(uintptr_t)op, (uint64_t)how << 32 | submitter,
			     ret);
}

static void name_one(const char **name, const char *of)
{
	if (strcmp(*name, of))
		*name = "several";
}

int request_rows_place(struct request_rows *rr, const struct fold_key *key, struct view_place *ret,
		       bool *ret_is_known)
{
	struct request_charge to;
	struct block_request r;
	const char *op, *how;
	uint32_t kind;
	int is_new;

	request_of_key(key, &r);
	op = block_op_name(r.cmd_flags);
	request_charge(rr->a, &rr->groups, &r, &to);
	if (ret_is_known)
		*ret_is_known = to.is_known;
	if (!to.in_scope)
		return 0;
	if (to.group == GROUPING_FAILED || kind_of(rr, &to, op, &kind) < 0)
		return -ENOMEM;
	is_new = hash_map_intern(&rr->map, (uint64_t)to.group << 32 | r.dev, kind, &ret->group);
	if (is_new < 0 || array_reserve(&rr->rows, &rr->cap, ret->group + 1) < 0)
		return -ENOMEM;
	how = request_owner_how_name(to.how);
	if (is_new) {
		rr->rows[rr->cnt++] =
			(struct request_row){ to.group, r.dev, op, to.submitter, how };
		return 1;
	}
	name_one(&rr->rows[ret->group].submitter, to.submitter);
	name_one(&rr->rows[ret->group].how, how);
	return 1;
}

void request_rows_cells(const struct request_rows *rr, uint32_t row, struct cell *c)
{
	const struct request_row *x = &rr->rows[row];

	view_label_cells(&rr->groups, x->group, c);
	cell_int(&c[3], x->dev);
	cell_text(&c[4], x->op);
	cell_text(&c[5], x->submitter);
	cell_text(&c[6], x->how);
}
