/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_redact: `ebpfrec redact -o OUT`: checks a trace, writes a new one with pseudonyms for names, checks that one,
 * and says how many names went and how many stayed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/say.h"
#include "event/trace_check.h"
#include "event/trace_redact.h"

#define SALT_MAX_BYTES (1u << 20)

enum { OPT_KEEP = 256, OPT_KEEP_WORKLOAD, OPT_SALT };

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE,
	{ 'o', 'o', "output", "OUT", "the new trace, which must not exist yet" },
	{ OPT_KEEP, 0, "keep", "PATTERN",
	  "names, words and path components that match stay: 'python*', '/usr/*';\n"
	  "may be given more than once" },
	{ OPT_KEEP_WORKLOAD, 0, "keep-workload", NULL,
	  "what the recorded command, -p or --cgroup ran keeps its names and\ncommand lines" },
	{ OPT_SALT, 0, "salt", "TEXT|@FILE",
	  "the same salt gives the same pseudonyms (default: a random one that is\nforgotten)" },
	{ 0 },
};

const struct opts_command redact_opts = {
	.name = "redact",
	.about = "Write a new trace with pseudonyms for names.",
	.synopsis = "[-i TRACE] -o OUT [--keep PATTERN]... [--keep-workload] [--salt TEXT|@FILE]",
	.text = "Process names, command lines, paths, cgroups, marks, notes, the host's name and user\n"
		"ids are replaced; the same name by the same pseudonym everywhere. Numbers and times\n"
		"stay, and so do names the kernel itself gives. The old trace is only read.\n",
	.options = options,
	.examples = "  ebpfrec redact -i trace.ebpfrec -o public.ebpfrec\n"
		    "  ebpfrec redact -o public.ebpfrec --keep-workload --keep '/usr/*'\n"
		    "  ebpfrec redact -i b.ebpfrec -o public-b.ebpfrec --salt @our-salt\n",
};

struct redact {
	struct input in;
	struct redact_options o;
	const char **keep;
	const char *output;
	struct buf salt;
};

/* ---- options ---- */

static int read_salt(struct redact *r, const char *value)
{
	uint8_t *p;
	ssize_t n;
	int fd;

	buf_reset(&r->salt);
	if (*value != '@') {
		buf_add(&r->salt, value, strlen(value));
	} else {
		fd = open(value + 1, O_RDONLY | O_CLOEXEC);
		p = fd < 0 ? NULL : buf_room(&r->salt, SALT_MAX_BYTES + 1);
		n = p ? read(fd, p, SALT_MAX_BYTES + 1) : -1;
		if (n < 0) {
			say_error("--salt: cannot read %s: %s", value + 1, strerror(errno));
			if (fd >= 0)
				close(fd);
			return EXIT_FAILED;
		}
		close(fd);
		r->salt.len = (size_t)n;
	}
	if (!r->salt.len)
		return opts_usage_error(&redact_opts, "--salt: it is empty; leave --salt out for a random one");
	if (r->salt.len > SALT_MAX_BYTES)
		return opts_usage_error(&redact_opts, "--salt: %s has more than 1 MiB", value + 1);
	r->o.salt = r->salt.data;
	r->o.salt_bytes = r->salt.len;
	return 0;
}

static int add_keep(struct redact *r, const char *pattern)
{
	const char **more;

	if (!*pattern)
		return opts_usage_error(&redact_opts, "--keep: the pattern is empty");
	more = realloc(r->keep, (r->o.keep_cnt + 1) * sizeof(*more));
	if (!more)
		return input_failed(-ENOMEM, NULL);
	more[r->o.keep_cnt++] = pattern;
	r->keep = more;
	r->o.keep = more;
	return 0;
}

static int take_option(struct redact *r, int id, const char *value)
{
	switch (id) {
	case OPTS_BAD:
		return EXIT_USAGE;
	case OPTS_OPERAND:
		return opts_usage_error(&redact_opts,
					"unexpected argument '%s'; -i names the trace, -o the new one", value);
	case 'o':
		r->output = value;
		return 0;
	case OPT_KEEP:
		return add_keep(r, value);
	case OPT_KEEP_WORKLOAD:
		r->o.keep_workload = true;
		return 0;
	case OPT_SALT:
		return read_salt(r, value);
	default:
		return input_take(&r->in, &redact_opts, id, value);
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
		say_error("%s: has %" PRIu64 " damaged part%s; `ebpfrec repair -i %s -o NEW` makes a trace "
			  "of what is valid, which can be redacted", input_path(&r->in), c.damaged_cnt,
			  c.damaged_cnt == 1 ? "" : "s", input_path(&r->in));
	return x || c.damaged_cnt ? EXIT_FAILED : 0;
}

static int check_new(const struct redact *r, const struct redact_result *res)
{
	struct check_result c = { 0 };
	struct err e = { "" };
	struct trace *t;
	int x;

	x = trace_open(&t, r->output, &e);
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

static void say_counts(const char *path, const char *what, const uint64_t *counts, const char *nothing)
{
	static const char *const names[REDACT_KIND_CNT] = {
		[REDACT_COMM] = "process name", [REDACT_CMDLINE] = "command line", [REDACT_PATH] = "path",
		[REDACT_CGROUP] = "cgroup", [REDACT_HOST] = "host", [REDACT_DEVICE] = "device",
		[REDACT_CACHE] = "slab cache", [REDACT_SYMBOL] = "kernel symbol", [REDACT_MARK] = "mark",
		[REDACT_NOTE] = "note", [REDACT_FUNCTION] = "function", [REDACT_BUILD_ID] = "build id",
	};
	char text[512], n[UNITS_TEXT_MAX];
	size_t at = 0;

	for (int k = 0; k < REDACT_KIND_CNT; k++) {
		if (counts[k] && at < sizeof(text))
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %s%s", at ? ", " : "",
					       units_format_count(n, sizeof(n), counts[k]), names[k],
					       counts[k] == 1 ? "" : "s");
	}
	say_note("%s: %s: %s", path, what, at ? text : nothing);
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
	x = trace_redact(t, r->output, &r->o, &res, &e);
	if (x) {
		say_error("%s", err_text(&e, x));
		return EXIT_FAILED;
	}
	say_note("%s: %s block%s, %s, of %s", r->output, units_format_count(n, sizeof(n), res.block_cnt),
		 res.block_cnt == 1 ? "" : "s", units_format_bytes_si(bytes, sizeof(bytes), res.bytes),
		 input_path(&r->in));
	say_counts(r->output, "replaced", res.replaced, "nothing");
	say_counts(r->output, "still there", res.kept, "no name");
	if (res.entries_left_out)
		say_note("%s: left out: %" PRIu64 " manifest entr%s of unknown meaning", r->output,
			 res.entries_left_out, res.entries_left_out == 1 ? "y" : "ies");
	return check_new(r, &res);
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
		status = opts_usage_error(&redact_opts, "-o OUT is needed: the trace itself is not changed");
	if (!status)
		status = input_open(&r.in, false, &t);
	if (!status)
		status = redact(&r, t);
	trace_close(t);
out:
	free(r.keep);
	if (r.salt.data)
		explicit_bzero(r.salt.data, r.salt.len);
	buf_done(&r.salt);
	return status;
}
