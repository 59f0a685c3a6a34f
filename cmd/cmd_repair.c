/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_repair: `ebpfrec repair -o NEW`: checks a trace, writes a new one of all that is valid in it,
 * and checks that one, too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_output.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "edit/trace_check.h"
#include "edit/trace_copy.h"
#include "edit/trace_repair.h"

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE,
	{ 'o', 'o', "output", "NEW", "the new trace, which must not exist yet" },
	{ 0 },
};

const struct opts_command repair_opts = {
	.name = "repair",
	.about = "Write a new trace of all that is valid in a damaged one.",
	.synopsis = "[-i TRACE] -o NEW",
	.text = "The damaged trace is only read. Valid blocks are copied as they are. Where a "
		"block\n"
		"was lost, the new trace has a gap, and reports mark it. The new trace is "
		"checked.\n",
	.options = options,
	.examples = "  ebpfrec repair -i trace.ebpfrec -o repaired.ebpfrec\n",
};

/* Whether what was written is what it should be. */
static int check_new(const char *path, const char *new, const struct repair_result *r)
{
	struct check_result c = { 0 };
	struct err e = { "" };
	struct trace *t;
	int x;

	x = trace_open(&t, new, &e);
	if (!x) {
		x = trace_check(t, NULL, NULL, &c, &e);
		trace_close(t);
	}
	if (x)
		say_error("%s: cannot be checked: %s", path, err_text(&e, x));
	else if (c.damaged_cnt || c.block_cnt != r->block_cnt)
		say_error("%s: is not whole after it was written; is the disk failing?", path);
	return x || c.damaged_cnt || c.block_cnt != r->block_cnt ? EXIT_FAILED : 0;
}

static int make(struct trace *t, const char *path, struct repair_result *ret)
{
	struct atomic_output out = { 0 };
	struct err e = { "" };
	int r = trace_copy_refuse(t, path, &e), c = 0;

	atomic_output_catch_signals();
	if (!r)
		r = atomic_output_begin(&out, path, true, &e);
	if (!r)
		r = trace_repair(t, out.path, ret, &e);
	if (!r)
		c = check_new(path, out.path, ret);
	if (!r && !c)
		r = atomic_output_commit(&out, path, false, &e);
	atomic_output_drop(&out);
	return r ? input_failed(r, &e) : c;
}

static int repair(const struct input *in, struct trace *t, const char *path)
{
	char n[UNITS_TEXT_MAX], bytes[UNITS_TEXT_MAX], missing[UNITS_TEXT_MAX],
		lost[UNITS_TEXT_MAX];
	struct repair_result r = { 0 };
	struct check_result c = { 0 };
	struct err e = { "" };
	int x;

	x = trace_check(t, NULL, NULL, &c, &e);
	if (x) {
		say_error("%s", err_text(&e, x));
		return EXIT_FAILED;
	}
	x = make(t, path, &r);
	if (x)
		return x;
	say_note("%s: %s block%s, %s, of %s; left out: %" PRIu64 " damaged part%s (%s)", path,
		 units_format_count(n, sizeof(n), r.block_cnt), r.block_cnt == 1 ? "" : "s",
		 units_format_bytes_si(bytes, sizeof(bytes), r.bytes), input_path(in),
		 c.damaged_cnt, c.damaged_cnt == 1 ? "" : "s",
		 units_format_bytes_si(lost, sizeof(lost), c.damaged_bytes));
	if (r.gap_cnt)
		say_note("%s: %" PRIu64
			 " gap%s, %s in all; reports over %s are incomplete and say so",
			 path, r.gap_cnt, r.gap_cnt == 1 ? "" : "s",
			 units_format_duration(missing, sizeof(missing), c.missing_ns),
			 r.gap_cnt == 1 ? "it" : "them");
	return 0;
}

int cmd_repair(int argc, char **argv)
{
	struct input in = { .anyway = true };
	const char *value, *output = NULL;
	struct trace *t = NULL;
	struct opts o;
	int id, c;

	opts_init(&o, &repair_opts, argc, argv);
	while ((id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_HELP)
			return 0;
		if (id == OPTS_BAD)
			return EXIT_USAGE;
		if (id == OPTS_OPERAND)
			return opts_usage_error(&repair_opts,
						"unexpected argument '%s'; -i names the trace, -o "
						"the new one",
						value);
		if (id == 'o') {
			output = value;
			continue;
		}
		c = input_take(&in, &repair_opts, id, value);
		if (c)
			return c;
	}
	if (!output || !*output)
		return opts_usage_error(&repair_opts, "-o NEW is needed: the damaged trace is not "
						      "changed");
	c = input_open(&in, false, &t);
	if (c)
		return c;
	c = repair(&in, t, output);
	trace_close(t);
	return c;
}
