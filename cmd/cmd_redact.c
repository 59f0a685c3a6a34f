/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_redact: `ebpfrec redact -o OUT` checks a trace, writes a new trace with pseudonyms for names,
 * checks the new trace, and prints the numbers of replaced and kept names.
 */
#include <inttypes.h>

#include "cmd/cmd.h"
#include "cmd/copy/new_trace.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "edit/trace_copy.h"

struct redact {
	struct input in;
	struct redact_options_taken taken;
	const char *output;
	struct redact_result made;
};

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE(struct redact, in),
	{ 'o', "output", "OUT", "the new trace, which must not exist yet", OPTS_TEXT,
	  offsetof(struct redact, output),
	  .needed = "-o OUT is needed: the trace itself is not changed" },
	REDACT_OPTIONS(struct redact, taken),
	{ 0 },
};

static int check_old(const struct redact *r)
{
	struct check_result c = { 0 };
	struct err e = { "" };
	int x = trace_check(r->in.trace, NULL, NULL, &c, &e);

	if (x)
		return say_error("%s", err_text(&e, x));
	if (c.damaged_cnt)
		return say_error("%s: has %" PRIu64
				 " damaged part%s; `ebpfrec repair -i %s -o NEW` makes a trace "
				 "of what is valid, which can be redacted",
				 input_path(&r->in), c.damaged_cnt, c.damaged_cnt == 1 ? "" : "s",
				 input_path(&r->in));
	return 0;
}

static int write_redacted(void *ctx, const char *path, struct err *e)
{
	struct redact *r = ctx;

	return trace_redact(r->in.trace, path, &r->taken.o, &r->made, e);
}

static int run(void *job)
{
	struct redact *r = job;
	int c = input_open(&r->in, false);

	c = c ?: check_old(r);
	c = c ?: new_trace_make(r->in.trace, r->output, write_redacted, r, &r->made.block_cnt);
	if (c)
		return c;
	say_note("%s: %s, %s, of %s", r->output, say_counted(r->made.block_cnt, "block"),
		 say_bytes_si(r->made.bytes), input_path(&r->in));
	redact_options_say(r->output, &r->made);
	return 0;
}

static void done(void *job)
{
	struct redact *r = job;

	input_close(&r->in);
	redact_options_done(&r->taken);
}

const struct opts_command redact_opts = {
	.name = "redact",
	.about = "Write a new trace with pseudonyms for names.",
	.synopsis = "[-i TRACE] -o OUT [--keep PATTERN]... [--keep-workload]\n"
		    "  [--salt TEXT|@FILE]",
	.text = "Pseudonyms replace process names, command lines, paths, cgroups, marks, notes, "
		"the\n"
		"host's name and user ids; the same name gets the same pseudonym everywhere. "
		"Numbers,\n"
		"times and the kernel's own names stay. The old trace is only read.\n",
	.options = options,
	.examples = "  ebpfrec redact -i trace.ebpfrec -o public.ebpfrec\n"
		    "  ebpfrec redact -o public.ebpfrec --keep-workload --keep '/usr/*'\n"
		    "  ebpfrec redact -i b.ebpfrec -o public-b.ebpfrec --salt @our-salt\n",
	.bytes = sizeof(struct redact),
	.done = done,
	.operand_hint = "-i names the trace, -o the new one",
	.run = run,
};
