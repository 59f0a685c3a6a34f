/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_redact: `ebpfrec redact -o OUT`: checks a trace, writes a new one with pseudonyms for names,
 * checks that one, and says how many names went and how many stayed.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/atomic_output.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/input/redact_options.h"
#include "cmd/render/say.h"
#include "edit/trace_check.h"
#include "edit/trace_copy.h"

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE,
	{ 'o', 'o', "output", "OUT", "the new trace, which must not exist yet" },
	REDACT_OPTIONS,
	{ 0 },
};

const struct opts_command redact_opts = {
	.name = "redact",
	.about = "Write a new trace with pseudonyms for names.",
	.synopsis = "[-i TRACE] -o OUT [--keep PATTERN]... [--keep-workload] [--salt TEXT|@FILE]",
	.text = "Pseudonyms replace process names, command lines, paths, cgroups, marks, notes, "
		"the\n"
		"host's name and user ids; the same name gets the same pseudonym everywhere. "
		"Numbers,\n"
		"times and the kernel's own names stay. The old trace is only read.\n",
	.options = options,
	.examples = "  ebpfrec redact -i trace.ebpfrec -o public.ebpfrec\n"
		    "  ebpfrec redact -o public.ebpfrec --keep-workload --keep '/usr/*'\n"
		    "  ebpfrec redact -i b.ebpfrec -o public-b.ebpfrec --salt @our-salt\n",
};

struct redact {
	struct input in;
	struct redact_options_taken taken;
	const char *output;
	struct atomic_output out;
};

static int take_option(struct redact *r, int id, const char *value)
{
	int x;

	switch (id) {
	case OPTS_BAD:
		return EXIT_USAGE;
	case OPTS_OPERAND:
		return opts_usage_error(
			&redact_opts,
			"unexpected argument '%s'; -i names the trace, -o the new one", value);
	case 'o':
		r->output = value;
		return 0;
	default:
		x = redact_options_take(&r->taken, &redact_opts, id, value);
		return x < 0 ? input_take(&r->in, &redact_opts, id, value) : x;
	}
}

/* ---- work ---- */

static int check_old(const struct redact *r, struct trace *t)
{
	struct check_result c = { 0 };
	struct err e = { "" };
	int x = trace_check(t, NULL, NULL, &c, &e);

	if (x)
		say_error("%s", err_text(&e, x));
	else if (c.damaged_cnt)
		say_error("%s: has %" PRIu64
			  " damaged part%s; `ebpfrec repair -i %s -o NEW` makes a trace "
			  "of what is valid, which can be redacted",
			  input_path(&r->in), c.damaged_cnt, c.damaged_cnt == 1 ? "" : "s",
			  input_path(&r->in));
	return x || c.damaged_cnt ? EXIT_FAILED : 0;
}

static int check_new(const struct redact *r, const struct redact_result *res)
{
	struct check_result c = { 0 };
	struct err e = { "" };
	struct trace *t;
	int x;

	x = trace_open(&t, r->out.path, &e);
	if (!x) {
		x = trace_check(t, NULL, NULL, &c, &e);
		trace_close(t);
	}
	if (x)
		say_error("%s: cannot be checked: %s", r->output, err_text(&e, x));
	else if (c.damaged_cnt || c.block_cnt != res->block_cnt)
		say_error("%s: is not whole after it was written; is the disk failing?", r->output);
	return x || c.damaged_cnt || c.block_cnt != res->block_cnt ? EXIT_FAILED : 0;
}

static int redact(struct redact *r, struct trace *t)
{
	char n[UNITS_TEXT_MAX], bytes[UNITS_TEXT_MAX];
	struct redact_result res = { 0 };
	struct err e = { "" };
	int x, c;

	c = check_old(r, t);
	if (c)
		return c;
	x = trace_copy_refuse(t, r->output, &e);
	atomic_output_catch_signals();
	if (!x)
		x = atomic_output_begin(&r->out, r->output, true, &e);
	if (!x)
		x = trace_redact(t, r->out.path, &r->taken.o, &res, &e);
	if (!x)
		c = check_new(r, &res);
	if (!x && !c)
		x = atomic_output_commit(&r->out, r->output, false, &e);
	if (x || c)
		return x ? input_failed(x, &e) : c;
	say_note("%s: %s block%s, %s, of %s", r->output,
		 units_format_count(n, sizeof(n), res.block_cnt), res.block_cnt == 1 ? "" : "s",
		 units_format_bytes_si(bytes, sizeof(bytes), res.bytes), input_path(&r->in));
	redact_options_say(r->output, &res);
	return 0;
}

int cmd_redact(int argc, char **argv)
{
	struct redact r = { 0 };
	struct trace *t = NULL;
	const char *value;
	int id, status = 0;
	struct opts o;

	opts_init(&o, &redact_opts, argc, argv);
	while (!status && (id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_HELP)
			goto out;
		status = take_option(&r, id, value);
	}
	if (!status && (!r.output || !*r.output))
		status = opts_usage_error(&redact_opts,
					  "-o OUT is needed: the trace itself is not changed");
	if (!status)
		status = input_open(&r.in, false, &t);
	if (!status)
		status = redact(&r, t);
	atomic_output_drop(&r.out);
	trace_close(t);
out:
	redact_options_done(&r.taken);
	return status;
}
