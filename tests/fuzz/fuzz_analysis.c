/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_analysis: a whole trace (scratch_trace.h) through SQL: every documented table, and every
 * view of `report`, for the whole trace and for a window inside. Answers may be errors, but not
 * crashes.
 *
 * All questions together take a tenth of a second. A fuzzer finds more by asking few questions
 * of many traces, so the bits of data[0] that scratch_trace() leaves pick one question in 32.
 * With FUZZ_ASK_ALL=1 in the environment (replay.sh) the target asks all.
 */
#include "analyze/engine/report_view.h"
#include "fuzz.h"
#include "scratch_trace.h"

#define ROWS_MAX 3000
#define SLOTS 32

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

static void ask_table(struct analysis *a, const char *name, unsigned int *cols)
{
	const struct row_sink sink = {
		.ctx = cols, .begin = on_begin, .row = on_row, .end = on_end
	};

	row_cnt = 0;
	analysis_table(a, name, 0, UINT64_MAX, &sink, NULL);
}

static void ask_view(struct analysis *a, const char *name, uint64_t from_ns, uint64_t to_ns,
		     unsigned int *cols)
{
	const struct row_sink sink = {
		.ctx = cols, .begin = on_begin, .row = on_row, .end = on_end
	};
	const struct report_request r = {
		.view = name, .from_ns = from_ns, .to_ns = to_ns, .with_recorder = true
	};

	row_cnt = 0;
	analysis_report(a, &r, &sink, NULL);
}

static void ask(struct analysis *a, const struct trace *t, unsigned int slot, bool all)
{
	const struct schema_table *tables;
	unsigned int table_cnt = schema_tables(&tables), cols, i;
	uint64_t from = trace_start_ns(t), to = trace_end_ns(t), part = (to - from) / 5;

	for (i = 0; i < table_cnt; i++)
		if (all || i % SLOTS == slot)
			ask_table(a, tables[i].name, &cols);
	for (i = 0; i < report_view_cnt; i++)
		if (all || (table_cnt + i) % SLOTS == slot) {
			ask_view(a, report_view_list[i].name, from, to, &cols);
			ask_view(a, report_view_list[i].name, from + part, to - part, &cols);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct analysis *a;
	struct trace *t;

	if (!bytes || trace_open(&t, scratch_trace(data, bytes), NULL) < 0)
		return 0;
	if (analysis_open(&a, t, NULL) == 0) {
		ask(a, t, data[0] >> 3, getenv("FUZZ_ASK_ALL") != NULL);
		analysis_close(a);
	}
	trace_close(t);
	return 0;
}
