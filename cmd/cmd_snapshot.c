/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_snapshot: `ebpfrec snapshot` copies what a trace holds now to a new, finished trace. It
 * needs nothing from the recorder, and works on a trace whose recorder died, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "base/clock.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "store/store_snapshot.h"

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE,
	{ 'o', 'o', "output", "COPY", "directory to write, which must not exist" },
	{ 0 },
};

const struct opts_command snapshot_opts = {
	.name = "snapshot",
	.about = "Save what a trace holds now, while it is recorded.",
	.synopsis = "[-i TRACE] -o COPY",
	.text = "The copy is a finished trace. Chunk files are linked where the file system can,\n"
		"else copied, so they stay when the recorder removes its own. The recorder goes "
		"on\n"
		"undisturbed. On SIGUSR2, the recorder itself writes TRACE.snapshot-TIME.\n",
	.options = options,
	.examples = "  ebpfrec snapshot -i flight.ebpfrec -o what-happened.ebpfrec\n",
};

static int describe(const char *copy, const char *new)
{
	char len[UNITS_TEXT_MAX];
	struct err e = { "" };
	struct trace *t;
	size_t blocks;
	int r = trace_open(&t, new, &e);

	if (r) {
		say_error("%s", err_text(&e, r));
		return EXIT_FAILED;
	}
	trace_blocks(t, &blocks);
	say_note("%s: %zu block%s, %s", copy, blocks, blocks == 1 ? "" : "s",
		 units_format_duration(len, sizeof(len), trace_end_ns(t) - trace_start_ns(t)));
	trace_close(t);
	return 0;
}

static int take(int dir_fd, struct store_snapshot *s, const char *path, const char *copy)
{
	struct atomic_output out = { 0 };
	struct err e = { "" };
	int c, r;

	atomic_output_catch_signals();
	r = atomic_output_begin(&out, copy, true, &e);
	if (r)
		return input_failed(r, &e);
	s->path = out.path;
	r = store_snapshot_take(dir_fd, s, &e);
	if (r)
		say_error("%s: %s%s", path, err_text(&e, r), input_owner_hint(r));
	c = r ? EXIT_FAILED : describe(copy, out.path);
	if (!c) {
		r = atomic_output_commit(&out, copy, false, &e);
		c = r < 0 ? input_failed(r, &e) : 0;
	}
	atomic_output_drop(&out);
	return c;
}

static int snapshot(struct input *in, const char *copy)
{
	char mono[24], real[24];
	const struct store_snapshot_note notes[] = {
		{ "snapshot.mono_ns", mono },
		{ "snapshot.real_ns", real },
	};
	struct store_snapshot s = { .notes = notes, .note_cnt = 2 };
	const char *path = input_path(in);
	struct stat st;
	int dir_fd, c;

	c = input_open_dir(
		in,
		"it is whole and nobody writes to it; copy the file, or take a part with "
		"`ebpfrec cut`",
		&dir_fd);
	if (c)
		return c;
	if (fstat(dir_fd, &st) < 0) {
		say_error("%s: %s", path, strerror(errno));
		close(dir_fd);
		return EXIT_FAILED;
	}
	/* the trace's owner keeps it, also when root makes the copy */
	s.uid = geteuid() ? (uid_t)-1 : st.st_uid;
	s.gid = geteuid() ? (gid_t)-1 : st.st_gid;
	snprintf(mono, sizeof(mono), "%" PRIu64, clock_mono_ns());
	snprintf(real, sizeof(real), "%" PRIu64, clock_real_ns());
	c = take(dir_fd, &s, path, copy);
	close(dir_fd);
	return c;
}

int cmd_snapshot(int argc, char **argv)
{
	struct input in = { .format = RENDER_TABLE };
	const char *value, *copy = NULL;
	struct opts o;
	int id, c;

	opts_init(&o, &snapshot_opts, argc, argv);
	while ((id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_HELP)
			return 0;
		if (id == OPTS_BAD)
			return EXIT_USAGE;
		if (id == OPTS_OPERAND)
			return opts_usage_error(&snapshot_opts,
						"unexpected argument '%s'; -i names the trace, -o "
						"the copy",
						value);
		if (id == 'o') {
			copy = value;
			continue;
		}
		c = input_take(&in, &snapshot_opts, id, value);
		if (c)
			return c;
	}
	if (!copy || !*copy)
		return opts_usage_error(&snapshot_opts, "-o has to say where the copy goes");
	return snapshot(&in, copy);
}
