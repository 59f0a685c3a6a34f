/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_diff: `ebpfrec diff A B`: what has changed between two traces, per role and figure. See
 * analyze/diff/diff.h for what counts as a change.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"

#define TABLE_ROWS_DEFAULT 30
#define COLUMN_CNT	   11

enum { OPT_EVERY = 256, OPT_LIMIT, OPT_CHANGED, OPT_EXIT_CODE, OPT_WORKLOAD };

static const struct opts_option options[] = {
	INPUT_OPTIONS_WINDOW,
	{ OPT_EVERY, 0, "every", "DUR",
	  "length of the bins whose variation is the noise (default: a\n"
	  "fiftieth of the shorter window, at least 10ms)" },
	{ OPT_WORKLOAD, 0, "workload", NULL, "only the recorded workload's own processes" },
	{ OPT_CHANGED, 0, "changed", NULL, "only what has changed" },
	{ OPT_LIMIT, 0, "limit", "N",
	  "rows at most, 0 for all (default: 30 for tables, else all)" },
	{ OPT_EXIT_CODE, 0, "exit-code", NULL, "end with 1 when something has changed" },
	INPUT_OPTION_FORMAT,
	{ 0 },
};

const struct opts_command diff_opts = {
	.name = "diff",
	.about = "Compare two traces.",
	.synopsis = "[OPTIONS] A B",
	.text = "Processes are matched by what they run and who started them, never by PID. A "
		"figure\n"
		"has changed when the difference is larger than its variation from bin to bin\n"
		"explains, at least 5 %, and large enough to matter. --from and --to count from "
		"the\n"
		"start of each trace.\n",
	.options = options,
	.examples = "  ebpfrec diff before.ebpfrec after.ebpfrec\n"
		    "  ebpfrec diff --workload --exit-code before.ebpfrec after.ebpfrec\n"
		    "  ebpfrec diff --changed --format csv before.ebpfrec after.ebpfrec\n",
};

struct diff {
	struct input in[2];
	struct trace *trace[2];
	struct analysis *analysis[2];
	uint64_t every_ns;
	uint64_t limit;
	bool has_limit, only_changed, only_workload, exit_code;
	struct render *render;
	const struct row_sink *sink;
};

static const char *const columns[COLUMN_CNT] = { "role",   "parent",	 "metric",  "a",
						 "b",	   "change_pct", "verdict", "p_value",
						 "procs_a", "procs_b",	 "complete" };

static struct value text(const char *s)
{
	return (struct value){ .type = VALUE_TEXT, .text = s, .text_bytes = strlen(s) };
}

/* For people in the metric's unit, for machines as it is. */
static struct value amount(enum render_format format, enum diff_metric m, bool has, double v,
			   char *buf, size_t size)
{
	uint64_t n = (uint64_t)llround(v);

	if (!has)
		return (struct value){ .type = VALUE_NULL };
	if (format != RENDER_TABLE)
		return (struct value){ .type = VALUE_INT, .i = (int64_t)n };
	switch (m) {
	case DIFF_IOS:
		return text(units_format_count(buf, size, n));
	case DIFF_RSS_PEAK:
	case DIFF_IO_BYTES:
		return text(units_format_bytes(buf, size, n));
	default:
		return text(units_format_duration(buf, size, n));
	}
}

static struct value chance(enum render_format format, const struct diff_row *r, char *buf,
			   size_t size)
{
	if (r->verdict != DIFF_SAME && r->verdict != DIFF_CHANGED)
		return (struct value){ .type = VALUE_NULL };
	if (format != RENDER_TABLE)
		return (struct value){ .type = VALUE_REAL, .r = r->p };
	if (r->p < 0.001)
		return text("<0.001");
	snprintf(buf, size, "%.3f", r->p);
	return text(buf);
}

static const char *metric_for_people(enum diff_metric m)
{
	static const char *const names[] = {
		[DIFF_ONCPU] = "CPU time", [DIFF_RSS_PEAK] = "peak memory", [DIFF_IOS] = "I/Os",
		[DIFF_IO_BYTES] = "I/O bytes", [DIFF_LAT_P50] = "I/O latency p50",
		[DIFF_LAT_P99] = "I/O latency p99",
	};

	return names[m];
}

static int put_row(void *ctx, const struct diff_row *r)
{
	struct diff *d = ctx;
	enum render_format format = d->in[0].format;
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX], pct[32], p[32];
	struct value row[COLUMN_CNT];

	if (d->only_changed && !diff_is_change(r->verdict))
		return 0;
	row[0] = text(r->role);
	row[1] = text(r->parent);
	row[2] = text(format == RENDER_TABLE ? metric_for_people(r->metric)
					     : diff_metric_name(r->metric));
	row[3] = amount(format, r->metric, r->has[0], r->value[0], a, sizeof(a));
	row[4] = amount(format, r->metric, r->has[1], r->value[1], b, sizeof(b));
	row[5] = (struct value){ .type = VALUE_NULL };
	if (r->has[0] && r->has[1] && r->value[0] > 0) {
		double change = 100 * (r->value[1] - r->value[0]) / r->value[0];

		snprintf(pct, sizeof(pct), "%+.1f", change);
		row[5] = format == RENDER_TABLE
				 ? text(pct)
				 : (struct value){ .type = VALUE_REAL,
						   .r = round(change * 1000) / 1000 };
	}
	row[6] = text(diff_verdict_name(r->verdict));
	row[7] = chance(format, r, p, sizeof(p));
	row[8] = (struct value){ .type = VALUE_INT, .i = (int64_t)r->processes[0] };
	row[9] = (struct value){ .type = VALUE_INT, .i = (int64_t)r->processes[1] };
	row[10] = (struct value){ .type = VALUE_INT, .i = r->complete };
	return d->sink->row(d->sink->ctx, row);
}

static void say_side(const struct diff *d, int side, uint64_t from_ns, uint64_t to_ns)
{
	char missing[256], length[UNITS_TEXT_MAX];
	bool complete = input_is_complete(d->trace[side], INPUT_NEEDS_SUMMARY, from_ns, to_ns,
					  missing, sizeof(missing));
	const char *part = input_part_note(d->trace[side]);

	units_format_duration(length, sizeof(length), to_ns - from_ns);
	if (d->in[0].format == RENDER_TABLE)
		printf("%c: %s, %s, %s%s\n", "AB"[side], input_path(&d->in[side]), length,
		       complete ? "complete" : "INCOMPLETE: ", complete ? "" : missing);
	else if (!complete)
		say_note("%s: the window is incomplete: %s", input_path(&d->in[side]), missing);
	if (part && d->in[0].format == RENDER_TABLE)
		printf("%c: %s\n", "AB"[side], part);
	else if (part)
		say_note("%s: %s", input_path(&d->in[side]), part);
}

static int clip_window(const struct diff *d, int side, struct diff_side *ret)
{
	uint64_t start, end;
	int c;

	c = input_window(&d->in[side], &diff_opts, d->trace[side], &ret->from_ns, &ret->to_ns);
	if (c)
		return c;
	start = trace_start_ns(d->trace[side]);
	end = trace_end_ns(d->trace[side]);
	ret->from_ns = ret->from_ns < start ? start : ret->from_ns;
	ret->to_ns = ret->to_ns > end ? end : ret->to_ns;
	ret->a = d->analysis[side];
	if (ret->from_ns < ret->to_ns)
		return 0;
	say_error("%s: nothing of the window lies in this trace", input_path(&d->in[side]));
	return EXIT_FAILED;
}

static int compare(struct diff *d)
{
	struct diff_side sides[2];
	struct diff_summary sum = { 0 };
	char bin[UNITS_TEXT_MAX];
	struct err e = { "" };
	int c, side;

	for (side = 0; side < 2; side++) {
		c = clip_window(d, side, &sides[side]);
		if (c)
			return c;
		input_verify(d->trace[side], d->analysis[side], sides[side].from_ns,
			     sides[side].to_ns);
		input_note_damage(&d->in[side], d->trace[side]);
	}
	for (side = 0; side < 2; side++)
		say_side(d, side, sides[side].from_ns, sides[side].to_ns);
	if (d->in[0].format == RENDER_TABLE)
		printf("\n");
	c = d->sink->begin(d->sink->ctx, COLUMN_CNT, columns);
	if (!c)
		c = diff_run(sides, d->every_ns, d->only_workload, put_row, d, &sum, &e);
	if (!c)
		c = d->sink->end(d->sink->ctx);
	if (c)
		return input_failed(c, &e);
	if (d->in[0].format == RENDER_TABLE) {
		units_format_duration(bin, sizeof(bin), sum.bin_ns);
		printf("\n%llu figure%s changed: by more than what varies between bins of %s "
		       "explains, in all at 1 %%.\n"
		       "What varies from run to run of the same thing, but not inside one, two "
		       "traces cannot tell.\n",
		       (unsigned long long)sum.changed, sum.changed == 1 ? " has" : "s have", bin);
	}
	return d->exit_code && sum.changed ? EXIT_FAILED : 0;
}

static int diff(struct diff *d)
{
	int c = 0, side;

	for (side = 0; side < 2 && !c; side++) {
		c = input_open(&d->in[side], true, &d->trace[side]);
		if (!c)
			c = input_analysis(&d->in[side], d->trace[side], &d->analysis[side]);
	}
	if (!c) {
		d->render =
			input_render(&d->in[0], d->has_limit ? d->limit : TABLE_ROWS_DEFAULT, true);
		d->sink = d->render ? render_sink(d->render) : NULL;
		c = d->render ? compare(d) : EXIT_FAILED;
		render_free(d->render);
	}
	for (side = 0; side < 2; side++) {
		analysis_close(d->analysis[side]);
		trace_close(d->trace[side]);
	}
	return c;
}

static int take_option(struct diff *d, int id, const char *value)
{
	struct err e = { "" };
	int c = 0;

	switch (id) {
	case OPT_EVERY:
		c = units_parse_duration(value, &d->every_ns, &e);
		if (c || !d->every_ns)
			return opts_usage_error(&diff_opts, "--every %s: %s", value,
						c ? e.text : "must be more than 0");
		return 0;
	case OPT_LIMIT:
		d->has_limit = true;
		c = units_parse_count(value, &d->limit, &e);
		return c ? opts_usage_error(&diff_opts, "--limit %s: %s", value, e.text) : 0;
	case OPT_WORKLOAD:
		d->only_workload = true;
		return 0;
	case OPT_CHANGED:
		d->only_changed = true;
		return 0;
	case OPT_EXIT_CODE:
		d->exit_code = true;
		return 0;
	default:
		c = input_take(&d->in[0], &diff_opts, id, value);
		if (!c)
			c = input_take(&d->in[1], &diff_opts, id, value);
		return c;
	}
}

int cmd_diff(int argc, char **argv)
{
	struct diff d = { .in = { { .format = RENDER_TABLE }, { .format = RENDER_TABLE } } };
	const char *value;
	struct opts o;
	int id, c, operands = 0;

	opts_init(&o, &diff_opts, argc, argv);
	while ((id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_HELP)
			return 0;
		if (id == OPTS_BAD)
			return EXIT_USAGE;
		if (id == OPTS_OPERAND && operands == 2)
			return opts_usage_error(&diff_opts,
						"'%s': two traces are compared, no more", value);
		if (id == OPTS_OPERAND) {
			d.in[operands++].path = value;
			continue;
		}
		c = take_option(&d, id, value);
		if (c)
			return c;
	}
	if (operands < 2)
		return opts_usage_error(&diff_opts, "two traces are needed: ebpfrec diff A B");
	return diff(&d);
}
