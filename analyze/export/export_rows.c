/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Opens a table as a SELECT on its window would, without SQL. */
#include "analyze/export/export_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/textsafe.h"

/* Columns of block_requests that say when. */
enum { REQUEST_QUEUED = 0, REQUEST_COMPLETE = 2, REQUEST_END = 3 };

struct export_rows {
	const struct table_def *def;
	const struct export_part *part;
	void *state;
	struct rowbuf rows;
	size_t at;
	bool more, is_requests;
};

int export_rows_open(struct export_rows **ret, struct analysis *a, const struct table_def *def,
		     const struct export_part *part, struct err *e)
{
	struct table_query q = { .from_ns = INT64_MIN,
				 .to_ns = INT64_MAX,
				 .cols_used = UINT32_MAX };
	struct export_rows *r = calloc(1, sizeof(*r));
	int c;

	if (!r)
		return err_set(e, -ENOMEM, "out of memory");
	r->def = def;
	r->part = part;
	r->rows.col_cnt = def->col_cnt + def->arg_cnt;
	r->more = true;
	r->is_requests = !strcmp(def->name, "block_requests");
	if (!part->whole && def->arg_cnt) { /* sched_slices(from, to): cut at the edges */
		cell_int(&q.args[0], part->from_ns);
		cell_int(&q.args[1], part->to_ns);
	} else if (!part->whole && !r->is_requests) {
		q.from_ns = part->from_ns;
		q.to_ns = part->to_ns;
	}
	c = def->open(a, def, &q, &r->state, e);
	if (c < 0) {
		free(r);
		return c;
	}
	*ret = r;
	return 0;
}

void export_rows_close(struct export_rows *r)
{
	if (!r)
		return;
	r->def->close(r->state);
	free(r->rows.cells);
	free(r);
}

/* A request belongs to every window it was in flight in: the condition of schema_list.c. */
static bool is_wanted(const struct export_rows *r, const struct cell *row)
{
	const struct cell *begin = &row[REQUEST_QUEUED], *end = &row[REQUEST_END];

	if (r->part->whole || !r->is_requests)
		return true;
	if (begin->type == VALUE_NULL)
		begin = &row[REQUEST_COMPLETE];
	return begin->type != VALUE_NULL && begin->i < r->part->to_ns &&
	       (end->type == VALUE_NULL || end->i >= r->part->from_ns);
}

int export_rows_next(struct export_rows *r, const struct cell **ret, struct err *e)
{
	int c;

	for (;;) {
		while (r->at < r->rows.row_cnt) {
			*ret = &r->rows.cells[r->at++ * r->rows.col_cnt];
			if (is_wanted(r, *ret))
				return 1;
		}
		if (!r->more)
			return 0;
		r->rows.row_cnt = r->at = 0;
		c = r->def->step(r->state, &r->rows, e);
		if (c < 0)
			return c;
		r->more = c > 0;
	}
}

const char *export_text_safe(struct export_text *room, const char *text, size_t *ret_bytes)
{
	size_t n = 0;

	while (text[n] >= 0x20 && text[n] < 0x7f)
		n++;
	*ret_bytes = n;
	if (!text[n])
		return text;
	n += strlen(text + n);
	if (array_reserve(&room->data, &room->cap, n * TEXTSAFE_GROWTH + 1) < 0)
		return NULL;
	*ret_bytes = textsafe_escape(room->data, room->cap, text, n, NULL);
	return room->data;
}
