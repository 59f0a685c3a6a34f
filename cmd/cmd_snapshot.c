/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_snapshot: `ebpfrec snapshot` copies the current content of a trace to a new, finished trace.
 * It does not need the recorder, so it also works on a trace whose recorder died.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/copy/new_trace.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "store/store_writer.h"

#define NOT_OF_BUNDLES                                                                             \
	"it is whole and nobody writes to it; copy the file, or take a part with `ebpfrec cut`"

struct snapshot {
	struct input in;
	const char *copy, *at;
	uint64_t at_real_ns;
};

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE(struct snapshot, in),
	{ 'o', "output", "COPY", "directory to write, which must not exist", OPTS_TEXT,
	  offsetof(struct snapshot, copy), .needed = "-o has to say where the copy goes" },
	{ 0, "at", "TIME",
	  "at this wall-clock time: T12:00:03, 2026-03-01T12:00:00.5Z, @SECONDS,\nor 5s from now; "
	  "the copy has everything up to then",
	  OPTS_TEXT, offsetof(struct snapshot, at) },
	{ 0 },
};

#define LOOK_NS 100000000L

/* Waits for the instant of --at, and until the recorder has written all events before it. */
static int wait_for_instant(struct snapshot *s)
{
	const struct timespec at = { .tv_sec = (time_t)(s->at_real_ns / UNITS_NS_PER_S),
				     .tv_nsec = (long)(s->at_real_ns % UNITS_NS_PER_S) };
	const struct timespec look = { .tv_nsec = LOOK_NS };
	uint64_t at_ns;
	int c;

	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
	at_ns = clock_mono_ns() - (clock_real_ns() - s->at_real_ns);
	c = input_open(&s->in, false);
	while (!c && trace_is_live(s->in.trace) && trace_end_ns(s->in.trace) < at_ns) {
		nanosleep(&look, NULL);
		c = input_refresh(&s->in);
	}
	if (!c && trace_end_ns(s->in.trace) < at_ns)
		say_note("%s: the recording ended before %s", input_path(&s->in), s->at);
	return c;
}

static int say_result(const char *copy)
{
	struct err e = { "" };
	const struct trace_block *b;
	uint64_t bytes = 0;
	struct trace *t;
	size_t blocks;
	int r = trace_open(&t, copy, &e);

	if (r)
		return say_error("%s", err_text(&e, r));
	b = trace_blocks(t, &blocks);
	for (size_t i = 0; i < blocks; i++)
		bytes += b[i].bytes;
	say_note("%s: %s, %s, %s", copy, say_duration(trace_end_ns(t) - trace_start_ns(t)),
		 say_counted(blocks, "block"), say_bytes_si(bytes));
	trace_close(t);
	return 0;
}

static int write_copy(void *ctx, const char *path, struct err *e)
{
	struct snapshot *s = ctx;
	char mono[24], real[24];
	const struct store_snapshot_note notes[] = {
		{ "snapshot.mono_ns", mono },
		{ "snapshot.real_ns", real },
	};
	struct stat st;
	int dir_fd, r = s->at ? wait_for_instant(s) : 0;

	r = r ?: input_open_dir(&s->in, NOT_OF_BUNDLES, &dir_fd);
	if (r)
		return r;
	snprintf(mono, sizeof(mono), "%" PRIu64, clock_mono_ns());
	snprintf(real, sizeof(real), "%" PRIu64, clock_real_ns());
	r = fstat(dir_fd, &st) < 0 ? -errno : 0;
	/* a copy made by root belongs to the trace's owner */
	if (!r)
		r = store_snapshot_take(
			dir_fd,
			&(struct store_snapshot){ .path = path, .notes = notes, .note_cnt = 2,
						  .uid = geteuid() ? (uid_t)-1 : st.st_uid,
						  .gid = geteuid() ? (gid_t)-1 : st.st_gid },
			e);
	close(dir_fd);
	return r ? say_error("%s: %s%s", input_path(&s->in), err_text(e, r), input_owner_hint(r)) :
		   0;
}

static int run(void *job)
{
	struct snapshot *s = job;
	struct err e = { "" };
	/* check the trace before creating the output and before waiting for --at */
	int dir_fd, c = input_open_dir(&s->in, NOT_OF_BUNDLES, &dir_fd);

	if (c)
		return c;
	close(dir_fd);
	if (s->at && timeexpr_resolve_future(s->at, clock_real_ns(), &s->at_real_ns, &e))
		return opts_usage_error("--at: %s", e.text);
	return new_trace_make(NULL, s->copy, write_copy, s, NULL) ?: say_result(s->copy);
}

const struct opts_command snapshot_opts = {
	.name = "snapshot",
	.about = "Save the current content of a trace while it is being recorded.",
	.synopsis = "[-i TRACE] [--at TIME] -o COPY",
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
