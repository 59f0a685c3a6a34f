/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_check: `ebpfrec check`: is a trace whole? One row per stretch of every file, valid or not,
 * and a line that says what it comes to.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cmd/render/check_rows.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE,
	INPUT_OPTION_FORMAT,
	{ 0 },
};

const struct opts_command check_opts = {
	.name = "check",
	.about = "Check that a trace is undamaged.",
	.synopsis = "[-i TRACE] [--format FORMAT]",
	.text = "Reads every byte and verifies checksums, all columns of all events, summaries\n"
		"against events, and indexes. Lists what is valid, what is damaged and skipped, "
		"and\n"
		"what time is missing. The exit status is 0 when nothing is damaged, else 1.\n",
	.options = options,
	.examples = "  ebpfrec check -i trace.ebpfrec\n"
		    "  ebpfrec repair -i trace.ebpfrec -o repaired.ebpfrec\n",
};

/* What it comes to, in one line. */
static void conclude(const struct input *in, const struct trace *t, const struct check_result *r)
{
	char blocks[UNITS_TEXT_MAX], events[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX],
		missing[UNITS_TEXT_MAX], bytes[UNITS_TEXT_MAX];
	const char *path = input_path(in);

	units_format_count(blocks, sizeof(blocks), r->block_cnt);
	units_format_count(events, sizeof(events), r->event_cnt);
	if (!r->damaged_cnt) {
		say_note("%s: whole: %s block%s, %s events%s", path, blocks,
			 r->block_cnt == 1 ? "" : "s", events,
			 trace_is_live(t) ? " so far; it is still being recorded"
			 : trace_is_finished(t)
				 ? ""
				 : "; not finished: its recorder was killed, or could not write");
		return;
	}
	say_note(
		"%s: damaged: valid without a gap up to %s s; %" PRIu64
		" part%s (%s) skipped, %s missing "
		"between valid blocks; %s block%s with %s events %s valid",
		path,
		units_format_instant(to, sizeof(to), (int64_t)(r->valid_to_ns - trace_start_ns(t))),
		r->damaged_cnt, r->damaged_cnt == 1 ? "" : "s",
		units_format_bytes_si(bytes, sizeof(bytes), r->damaged_bytes),
		units_format_duration(missing, sizeof(missing), r->missing_ns), blocks,
		r->block_cnt == 1 ? "" : "s", events, r->block_cnt == 1 ? "is" : "are");
	if (r->block_cnt)
		say_note("%s: reports leave out what is damaged; `ebpfrec repair -i %s -o NEW` "
			 "writes a trace of what is valid",
			 path, path);
}

static int check(const struct input *in, struct trace *t)
{
	struct render *render = input_render(in, 0, true);
	struct check_result r = { 0 };
	struct check_rows rows;
	struct err e = { "" };
	int c;

	if (!render)
		return EXIT_FAILED;
	c = check_rows_begin(&rows, render_sink(render), trace_start_ns(t));
	if (!c)
		c = trace_check(t, check_rows_add, &rows, &r, &e);
	if (!c)
		c = check_rows_end(&rows);
	render_free(render);
	if (c)
		return input_failed(c, &e);
	conclude(in, t, &r);
	return r.damaged_cnt ? EXIT_FAILED : 0;
}

int cmd_check(int argc, char **argv)
{
	struct input in = { .format = RENDER_TABLE, .anyway = true };
	struct trace *t = NULL;
	const char *value;
	struct opts o;
	int id, c;

	opts_init(&o, &check_opts, argc, argv);
	while ((id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_HELP)
			return 0;
		if (id == OPTS_BAD)
			return EXIT_USAGE;
		if (id == OPTS_OPERAND)
			return opts_usage_error(
				&check_opts, "unexpected argument '%s'; -i names the trace", value);
		c = input_take(&in, &check_opts, id, value);
		if (c)
			return c;
	}
	c = input_open(&in, false, &t);
	if (c)
		return c;
	c = check(&in, t);
	trace_close(t);
	return c;
}
