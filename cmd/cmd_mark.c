/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_mark: `ebpfrec mark` names the present instant in a running recording. It reads the clock
 * before it opens the trace, so that the mark does not depend on the duration of sending the
 * request.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/rows.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "store/manifest.h"
#include "store/files.h"

struct mark {
	struct input in;
	const char *text;
};

static const struct opts_option options[] = {
	{ 'i', "input", "TRACE", "trace being recorded (default: " INPUT_TRACE_DEFAULT ")",
	  OPTS_CALL, offsetof(struct mark, in), input_take_path },
	{ 0 },
};

static int mark(struct input *in, uint64_t now_ns, const char *text)
{
	const char *path = input_path(in);
	bool is_trace;
	int dir_fd, r;

	r = input_open_dir(in, "its recording is over; a mark can only be made meanwhile", &dir_fd);
	if (r)
		return r;
	r = control_socket_send(dir_fd, now_ns, text);
	is_trace = r != -ENOENT || !faccessat(dir_fd, MANIFEST_NAME, F_OK, AT_SYMLINK_NOFOLLOW);
	close(dir_fd);
	if (!is_trace)
		return say_error("%s: not a trace: it has no file '" MANIFEST_NAME
				 "'; name the one that is being recorded with -i",
				 path);
	switch (r) {
	case 0:
		return 0;
	case -ENOENT:
	case -ECONNREFUSED:
		return say_error("%s: nobody is recording into it; only a running recording takes "
				 "marks",
				 path);
	case -EACCES:
	case -EPERM:
		return say_error("%s: only root and the trace's owner may mark it", path);
	default:
		return say_error("%s: the recorder does not take the mark: %s", path, strerror(-r));
	}
}

static int run(void *job)
{
	const uint64_t now_ns = clock_mono_ns();
	struct mark *m = job;

	if (!m->text || !*m->text)
		return opts_usage_error("no text: say what this instant is called");
	if (strlen(m->text) > TRACE_MARK_TEXT_MAX || strchr(m->text, '\n'))
		return opts_usage_error("the text must be one line of at most %d bytes",
					TRACE_MARK_TEXT_MAX);
	return mark(&m->in, now_ns, m->text);
}

const struct opts_command mark_opts = {
	.name = "mark",
	.about = "Name this instant in a running recording.",
	.synopsis = "[-i TRACE] TEXT",
	.text = "Reports take a mark as a time: --from mark:TEXT; mark:TEXT#2 is the second mark\n"
		"with the same text. `ebpfrec report --phases` has a row per interval between "
		"marks.\n",
	.options = options,
	.examples = "  ebpfrec mark build\n"
		    "  ebpfrec mark -i night.ebpfrec 'backup begins'\n"
		    "  ebpfrec report --from mark:build --until mark:test\n",
	.bytes = sizeof(struct mark),
	.done = input_close,
	.operand_field = offsetof(struct mark, text),
	.operand_hint = "put the text in quotes",
	.run = run,
};
