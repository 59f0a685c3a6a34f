/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_analysis: a whole trace (scratch_trace.h) through SQL: every documented table, and every view
 * of `report`. Answers may be errors; they may not be crashes.
 */
#include <string.h>

#include "analyze/analysis.h"
#include "fuzz.h"
#include "scratch_trace.h"

#define ROWS_MAX 3000

static volatile size_t sink_bytes;

static int on_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	*(unsigned int *)ctx = col_cnt;
	return 0;
}

static unsigned int row_cnt;

static int on_row(void *ctx, const struct value *v)
{
	unsigned int i, cnt = *(unsigned int *)ctx;

	for (i = 0; i < cnt; i++)
		if (v[i].type == VALUE_TEXT && v[i].text_bytes)
			sink_bytes += v[i].text_bytes + (size_t)v[i].text[v[i].text_bytes - 1];
	return ++row_cnt > ROWS_MAX ? -1 : 0;
}

static int on_end(void *ctx)
{
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	unsigned int cols = 0, i, cnt;
	const struct row_sink sink = { .ctx = &cols, .begin = on_begin, .row = on_row,
				       .end = on_end };
	const struct schema_table *tables;
	const struct report_view *views;
	struct analysis *a;
	struct trace *t;

	if (trace_open(&t, scratch_trace(data, bytes), NULL) < 0)
		return 0;
	if (analysis_open(&a, t, NULL) == 0) {
		cnt = schema_tables(&tables);
		for (i = 0; i < cnt; i++) {
			row_cnt = 0;
			analysis_table(a, tables[i].name, 0, UINT64_MAX, &sink, NULL);
		}
		cnt = report_views(&views);
		for (i = 0; i < cnt; i++) {
			struct report_request r = { .view = views[i].name,
						    .from_ns = trace_start_ns(t),
						    .to_ns = trace_end_ns(t),
						    .with_recorder = true };

			row_cnt = 0;
			analysis_report(a, &r, &sink, NULL);
		}
		analysis_close(a);
	}
	trace_close(t);
	return 0;
}
