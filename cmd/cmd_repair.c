/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_repair: `ebpfrec repair -o NEW` checks a trace, writes its valid parts to a new trace, and
 * checks the new trace.
 */
#include <inttypes.h>

#include "cmd/cmd.h"
#include "cmd/copy/new_trace.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "edit/trace_copy.h"

struct repair {
	struct input in;
	const char *output;
	struct repair_result made;
};

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE(struct repair, in),
	{ 'o', "output", "NEW", "the new trace, which must not exist yet", OPTS_TEXT,
	  offsetof(struct repair, output),
	  .needed = "-o NEW is needed: the damaged trace is not changed" },
	{ 0 },
};

static int write_repaired(void *ctx, const char *path, struct err *e)
{
	struct repair *r = ctx;

	return trace_repair(r->in.trace, path, &r->made, e);
}

static void say_result(const struct repair *r, const struct check_result *c)
{
	say_note("%s: %s, %s, of %s; left out: %" PRIu64 " damaged part%s (%s)", r->output,
		 say_counted(r->made.block_cnt, "block"), say_bytes_si(r->made.bytes),
		 input_path(&r->in), c->damaged_cnt, c->damaged_cnt == 1 ? "" : "s",
		 say_bytes_si(c->damaged_bytes));
	if (r->made.gaps.cnt)
		say_note("%s: %" PRIu64
			 " gap%s, %s in all; reports over %s are incomplete and say so",
			 r->output, r->made.gaps.cnt, r->made.gaps.cnt == 1 ? "" : "s",
			 say_duration(r->made.gaps.ns), r->made.gaps.cnt == 1 ? "it" : "them");
}

static int run(void *job)
{
	struct repair *r = job;
	struct check_result c = { 0 };
	struct err e = { "" };
	int x = input_open(&r->in, false);

	if (x)
		return x;
	x = trace_check(r->in.trace, NULL, NULL, &c, &e);
	if (x)
		return say_error("%s", err_text(&e, x));
	x = new_trace_make(r->in.trace, r->output, write_repaired, r, &r->made.block_cnt);
	if (!x)
		say_result(r, &c);
	return x;
}

const struct opts_command repair_opts = {
	.name = "repair",
	.about = "Write a new trace with the valid blocks of a damaged trace.",
	.synopsis = "[-i TRACE] -o NEW",
	.text = "The damaged trace is only read. Valid blocks are copied as they are. Where a "
		"block\n"
		"was lost, the new trace has a gap, and reports mark it. The new trace is "
		"checked.\n",
	.options = options,
	.examples = "  ebpfrec repair -i trace.ebpfrec -o repaired.ebpfrec\n",
	.bytes = sizeof(struct repair),
	.initial = &(const struct repair){ .in.anyway = true },
	.done = input_close,
	.operand_hint = "-i names the trace, -o the new one",
	.run = run,
};
