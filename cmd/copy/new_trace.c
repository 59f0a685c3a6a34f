/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* new_trace: makes the new trace at a temporary path, and renames it when it is complete. */
#include "cmd/copy/new_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "edit/trace_copy.h"

/* Checks that the new trace at path is undamaged and has block_cnt blocks. */
static int check(const char *output, const char *path, uint64_t block_cnt)
{
	struct check_result c = { 0 };
	struct err e = { "" };
	struct trace *t;
	int r = trace_open(&t, path, &e);

	if (!r) {
		r = trace_check(t, NULL, NULL, &c, &e);
		trace_close(t);
	}
	if (r)
		return say_error("%s: cannot be checked: %s", output, err_text(&e, r));
	if (c.damaged_cnt || c.block_cnt != block_cnt)
		return say_error("%s: is not whole after it was written; is the disk failing?",
				 output);
	return 0;
}

int new_trace_make(const struct trace *of, const char *output,
		   int (*write)(void *ctx, const char *path, struct err *e), void *ctx,
		   const uint64_t *checked_block_cnt)
{
	struct atomic_output out = { 0 };
	struct err e = { "" };
	int r = of ? trace_copy_refuse(of, output, &e) : 0;

	atomic_output_catch_signals();
	r = r ?: atomic_output_begin(&out, output, true, &e) ?: write(ctx, out.path, &e);
	if (!r && checked_block_cnt)
		r = check(output, out.path, *checked_block_cnt);
	r = r ?: atomic_output_commit(&out, output, false, &e);
	atomic_output_drop(&out);
	return input_status(r, &e);
}

/* redact_options: parses each option into a struct redact_options. */

#define SALT_MAX_BYTES (1u << 20)

int redact_options_salt(void *taken, const char *value, struct err *e)
{
	struct redact_options_taken *r = taken;
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
		if (n < 0)
			say_error("--salt: cannot read %s: %s", value + 1, strerror(errno));
		if (fd >= 0)
			close(fd);
		if (n < 0)
			return EXIT_FAILED;
		r->salt.len = (size_t)n;
	}
	if (!r->salt.len)
		return err_set(e, -EINVAL, "it is empty; leave --salt out for a random one");
	if (r->salt.len > SALT_MAX_BYTES)
		return err_set(e, -E2BIG, "%s has more than 1 MiB", value + 1);
	r->o.salt = r->salt.data;
	r->o.salt_bytes = r->salt.len;
	return 0;
}

int redact_options_keep(void *taken, const char *pattern, struct err *e)
{
	struct redact_options_taken *r = taken;
	int c = *pattern ? lists_add_string(&r->keep, pattern, e)
			 : err_set(e, -EINVAL, "the pattern is empty");

	r->o.keep = r->keep.v;
	r->o.keep_cnt = r->keep.cnt;
	return c;
}

bool redact_options_any(const struct redact_options_taken *r)
{
	return r->o.keep_cnt || r->o.keep_workload || r->o.salt;
}

void redact_options_done(struct redact_options_taken *r)
{
	free(r->keep.v);
	if (r->salt.data)
		explicit_bzero(r->salt.data, r->salt.len);
	buf_done(&r->salt);
}

static void say_counts(const char *path, const char *what, const uint64_t *counts,
		       const char *nothing)
{
	static const char *const names[REDACT_KIND_CNT] = {
		[REDACT_COMM] = "process name", [REDACT_CMDLINE] = "command line",
		[REDACT_PATH] = "path",		[REDACT_CGROUP] = "cgroup",
		[REDACT_HOST] = "host",		[REDACT_DEVICE] = "device",
		[REDACT_CACHE] = "slab cache",	[REDACT_SYMBOL] = "kernel symbol",
		[REDACT_MARK] = "mark",		[REDACT_NOTE] = "note",
		[REDACT_FUNCTION] = "function", [REDACT_BUILD_ID] = "build id",
		[REDACT_USER] = "user name",	[REDACT_SOCKET] = "socket",
		[REDACT_REQUEST] = "request",
	};
	char text[512];
	size_t at = 0;

	for (int k = 0; k < REDACT_KIND_CNT; k++) {
		if (counts[k] && at < sizeof(text))
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %s%s",
					       at ? ", " : "", say_count(counts[k]), names[k],
					       counts[k] == 1 ? "" : "s");
	}
	say_note("%s: %s: %s", path, what, at ? text : nothing);
}

void redact_options_say(const char *path, const struct redact_result *res)
{
	say_counts(path, "replaced", res->words.replaced, "nothing");
	say_counts(path, "still there", res->words.kept, "no name");
	if (res->entries_left_out)
		say_note("%s: left out: %" PRIu64 " manifest entr%s of unknown meaning", path,
			 res->entries_left_out, res->entries_left_out == 1 ? "y" : "ies");
}
