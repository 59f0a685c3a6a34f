/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * host_columns: a sink that puts two values before those it gets.
 */
#include "cmd/render/host_columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/render/render.h"

#define MORE 2

struct host_columns {
	const struct trace *trace;
	const struct row_sink *next;
	struct row_sink sink;
	struct value *row;
	bool *is_instant;
	unsigned int cnt;	/* with the two */
};

/*
 * Of the recorder's clock, from the trace's start; what people read as a duration in a table, too.
 */
static bool is_instant(const char *name)
{
	static const char *const more[] = { "queued_ns", "issue_ns", "complete_ns", "alloc_ns",
					    "free_ns" };

	for (unsigned int i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (!strcmp(name, more[i]))
			return true;
	return render_column_kind(name) == RENDER_INSTANT;
}

static int begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct host_columns *h = ctx;
	const char *host = trace_get(h->trace, "host"), **all;
	int r;

	free(h->row);
	free(h->is_instant);
	h->cnt = col_cnt + MORE;
	h->row = calloc(h->cnt, sizeof(*h->row));
	h->is_instant = calloc(h->cnt, sizeof(*h->is_instant));
	all = calloc(h->cnt, sizeof(*all));
	if (!h->row || !h->is_instant || !all) {
		free(all);
		return -ENOMEM;
	}
	all[0] = "host";
	all[1] = "unix_ns";
	for (unsigned int i = 0; i < col_cnt; i++) {
		all[i + MORE] = names[i];
		h->is_instant[i + MORE] = is_instant(names[i]);
	}
	if (host)
		h->row[0] = (struct value){ .type = VALUE_TEXT,
					    .text = host,
					    .text_bytes = strlen(host) };
	r = h->next->begin(h->next->ctx, h->cnt, all);
	free(all);
	return r;
}

static int row(void *ctx, const struct value *values)
{
	struct host_columns *h = ctx;

	memcpy(h->row + MORE, values, (h->cnt - MORE) * sizeof(*values));
	h->row[1] = (struct value){ .type = VALUE_NULL };
	for (unsigned int i = MORE; i < h->cnt; i++) {
		uint64_t mono = trace_start_ns(h->trace) + (uint64_t)h->row[i].i;

		if (!h->is_instant[i] || h->row[i].type != VALUE_INT)
			continue;
		h->row[1] = (struct value){ .type = VALUE_INT,
					    .i = (int64_t)trace_real_ns(h->trace, mono) };
		break;
	}
	return h->next->row(h->next->ctx, h->row);
}

static int end(void *ctx)
{
	const struct host_columns *h = ctx;

	return h->next->end(h->next->ctx);
}

int host_columns_new(struct host_columns **ret, const struct trace *t, const struct row_sink *next)
{
	struct host_columns *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->trace = t;
	h->next = next;
	h->sink = (struct row_sink){ .ctx = h, .begin = begin, .row = row, .end = end };
	*ret = h;
	return 0;
}

void host_columns_free(struct host_columns *h)
{
	if (!h)
		return;
	free(h->row);
	free(h->is_instant);
	free(h);
}

const struct row_sink *host_columns_sink(struct host_columns *h)
{
	return &h->sink;
}
