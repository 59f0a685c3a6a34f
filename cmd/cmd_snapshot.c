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

#include "base/clock.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/new_trace.h"
#include "cmd/render/say.h"
#include "store/store_snapshot.h"

struct snapshot {
	struct input in;
	const char *copy;
	int dir_fd;
	struct store_snapshot store;
};

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE(struct snapshot, in),
	{ 'o', "output", "COPY", "directory to write, which must not exist", OPTS_TEXT,
	  offsetof(struct snapshot, copy), .needed = "-o has to say where the copy goes" },
	{ 0 },
};

static int describe(const char *copy, const char *new)
{
	struct err e = { "" };
	struct trace *t;
	size_t blocks;
	int r = trace_open(&t, new, &e);

	if (r)
		return say_error("%s", err_text(&e, r));
	trace_blocks(t, &blocks);
	say_note("%s: %zu block%s, %s", copy, blocks, blocks == 1 ? "" : "s",
		 say_duration(trace_end_ns(t) - trace_start_ns(t)));
	trace_close(t);
	return 0;
}

static int write_copy(void *ctx, const char *path, struct err *e)
{
	struct snapshot *s = ctx;
	int r;

	s->store.path = path;
	r = store_snapshot_take(s->dir_fd, &s->store, e);
	return r ? say_error("%s: %s%s", input_path(&s->in), err_text(e, r), input_owner_hint(r))
		 : describe(s->copy, path);
}

static int snapshot(struct snapshot *s)
{
	char mono[24], real[24];
	const struct store_snapshot_note notes[] = {
		{ "snapshot.mono_ns", mono },
		{ "snapshot.real_ns", real },
	};
	struct stat st;

	if (fstat(s->dir_fd, &st) < 0)
		return say_error("%s: %s", input_path(&s->in), strerror(errno));
	s->store.notes = notes;
	s->store.note_cnt = 2;
	/* the trace's owner keeps it, also when root makes the copy */
	s->store.uid = geteuid() ? (uid_t)-1 : st.st_uid;
	s->store.gid = geteuid() ? (gid_t)-1 : st.st_gid;
	snprintf(mono, sizeof(mono), "%" PRIu64, clock_mono_ns());
	snprintf(real, sizeof(real), "%" PRIu64, clock_real_ns());
	return new_trace_make(NULL, s->copy, write_copy, s, NULL);
}

static int run(void *job)
{
	struct snapshot *s = job;
	int c = input_open_dir(&s->in,
			       "it is whole and nobody writes to it; copy the file, or take a part "
			       "with `ebpfrec cut`",
			       &s->dir_fd);

	if (c)
		return c;
	c = snapshot(s);
	close(s->dir_fd);
	return c;
}

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
	.bytes = sizeof(struct snapshot),
	.done = input_close,
	.operand_hint = "-i names the trace, -o the copy",
	.run = run,
};
