/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * check_rows: NULL where there is nothing to say, so that a script need not know which zeros mean
 * it.
 */
#include <string.h>

#include "cmd/render/check_rows.h"

static struct value text(const char *s)
{
	return (struct value){ .type = VALUE_TEXT, .text = s, .text_bytes = strlen(s) };
}

static struct value number(uint64_t v, bool known)
{
	return (struct value){ .type = known ? VALUE_INT : VALUE_NULL, .i = (int64_t)v };
}

int check_rows_begin(struct check_rows *r, const struct row_sink *sink, uint64_t start_ns)
{
	static const char *const names[] = { "file",  "status", "offset", "bytes", "from_ns",
					     "to_ns", "blocks", "events", "reason" };

	r->sink = sink;
	r->start_ns = start_ns;
	return sink->begin(sink->ctx, 9, names);
}

int check_rows_add(void *ctx, const struct check_part *p)
{
	static const char *const statuses[] = {
		[CHECK_VALID] = "valid", [CHECK_DAMAGED] = "damaged", [CHECK_NOTE] = "note"
	};
	const struct check_rows *r = ctx;
	bool slice = p->from_ns != p->to_ns, blocks = p->status == CHECK_VALID && p->block_cnt;
	const struct value v[] = {
		text(p->file),
		text(statuses[p->status]),
		number(p->offset, p->status != CHECK_NOTE || p->bytes),
		number(p->bytes, p->status != CHECK_NOTE || p->bytes),
		number(p->from_ns - r->start_ns, slice),
		number(p->to_ns - r->start_ns, slice),
		number(p->block_cnt, blocks),
		number(p->event_cnt, blocks),
		text(p->reason),
	};

	return r->sink->row(r->sink->ctx, v);
}

int check_rows_end(struct check_rows *r)
{
	return r->sink->end(r->sink->ctx);
}
