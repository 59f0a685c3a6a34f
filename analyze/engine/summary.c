/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Splits the file at its section lines and runs part by part. */
#include "analyze/engine/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/schema_list.h"

#define MARK "-- section: "

/* Turns parts into one long result. */
struct flat {
	const struct row_sink *out;
	char title[64];
	unsigned int col_cnt;
	char **names;
	int64_t row;
};

static void flat_forget(struct flat *f)
{
	unsigned int i;

	for (i = 0; i < f->col_cnt; i++)
		free(f->names[i]);
	free(f->names);
	f->names = NULL;
	f->col_cnt = 0;
}

static int flat_begin(void *ctx, unsigned int cnt, const char *const *names)
{
	struct flat *f = ctx;
	unsigned int i;

	flat_forget(f);
	f->row = 0;
	f->names = calloc(cnt + 1, sizeof(*f->names));
	if (!f->names)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		f->names[i] = strdup(names[i]);
		if (!f->names[i])
			return -ENOMEM;
		f->col_cnt = i + 1;
	}
	return 0;
}

static int flat_row(void *ctx, const struct value *values)
{
	struct flat *f = ctx;
	struct value row[4] = {
		{ .type = VALUE_TEXT, .text = f->title, .text_bytes = strlen(f->title) },
		{ .type = VALUE_INT, .i = ++f->row },
		{ .type = VALUE_TEXT },
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; i < f->col_cnt && ret >= 0; i++) {
		row[2].text = f->names[i];
		row[2].text_bytes = strlen(f->names[i]);
		row[3] = values[i];
		ret = f->out->row(f->out->ctx, row);
	}
	return ret;
}

static int run_part(struct analysis *a, const char *text, size_t len,
		    const struct statement_param *params, const struct row_sink *sink,
		    struct err *e)
{
	char *sql = strndup(text, len);
	int ret;

	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	ret = statement_run(a, sql, params, sink, e);
	free(sql);
	return ret;
}

int summary_run(struct analysis *a, const struct report_request *r,
		const struct statement_param *params, const struct row_sink *sink, struct err *e)
{
	static const char *const flat_names[] = { "section", "row", "name", "value" };
	const char *at = strstr(schema_text("report_summary"), MARK), *next;
	struct flat f = { .out = sink };
	struct row_sink flat_sink = { .ctx = &f, .begin = flat_begin, .row = flat_row };
	int ret = 0;

	if (!sink->section && sink->begin)
		ret = sink->begin(sink->ctx, 4, flat_names);
	for (; at && ret >= 0; at = next) {
		size_t len = strcspn(at + strlen(MARK), "\n");

		next = strstr(at + 1, MARK);
		if (len >= sizeof(f.title))
			len = sizeof(f.title) - 1;
		memcpy(f.title, at + strlen(MARK), len);
		f.title[len] = 0;
		if (sink->section)
			ret = sink->section(sink->ctx, f.title);
		if (ret >= 0)
			ret = run_part(a, at, next ? (size_t)(next - at) : strlen(at), params,
				       sink->section ? sink : &flat_sink, e);
	}
	flat_forget(&f);
	if (ret >= 0 && !sink->section && sink->end)
		ret = sink->end(sink->ctx);
	return ret < 0 ? ret : 0;
}
