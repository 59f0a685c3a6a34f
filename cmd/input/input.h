/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * input: what the commands that read a trace have in common: -i, --from, --to, --format, opening
 * the trace and saying what is wrong with it.
 *
 * Threads: one. Functions print what is wrong to stderr and return an exit status; 0 goes on.
 */
#ifndef INPUT_H
#define INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/engine/analysis.h"
#include "cmd/input/opts.h"
#include "cmd/render/progress.h"
#include "cmd/render/render.h"
#include "trace/trace.h"

#define INPUT_TRACE_DEFAULT "trace.ebpfrec"

struct input {
	const char *path;	/* NULL: the default */
	const char *from, *to;	/* as written, NULL: the trace's own */
	const char *during;	/* a process, as written; not with from and to */
	enum render_format format;
	size_t damage_noted;	/* damaged parts already reported */
	bool anyway;		/* open it without a manifest, too */
	bool quick;		/* may read and write its lists in derived.idx */
	bool folded_count;	/* with RENDER_FOLDED: see struct render_options */
	bool no_index;		/* decode all that an answer needs */
	struct progress progress;
};

/* Ids of the shared options, apart from a command's own, which use characters. */
enum { INPUT_OPT_TRACE = 1000, INPUT_OPT_FROM, INPUT_OPT_TO, INPUT_OPT_FORMAT,
       INPUT_OPT_NO_INDEX, INPUT_OPT_DURING };

#define INPUT_OPTION_TRACE                                     \
	{ INPUT_OPT_TRACE, 'i', "input", "TRACE",              \
	  "trace or bundle to read (default: " INPUT_TRACE_DEFAULT ")" }
#define INPUT_OPTIONS_WINDOW                                                                       \
	{ INPUT_OPT_FROM, 0, "from", "TIME",                                                       \
	  "window starts here: 1.5s after the trace's start, -2s before its\n"                     \
	  "end, 2026-03-01T12:00:00.5Z, T12:00:03, @SECONDS or mark:NAME" },                       \
		{ INPUT_OPT_TO, 0, "to", "TIME",                                                   \
		  "window ends before this instant (default: whole trace)" },                      \
	{                                                                                          \
		INPUT_OPT_DURING, 0, "during", "PROCESS",                                          \
			"the window is the life of this process: a PID, or a name only one\n"      \
			"process has"                                                              \
	}
#define INPUT_OPTION_FORMAT \
	{ INPUT_OPT_FORMAT, 0, "format", "FORMAT", "table (default), csv or json" }

#define INPUT_OPTION_NO_INDEX                                                                     \
	{ INPUT_OPT_NO_INDEX, 0, "no-index", NULL,                                                \
	  "decode the trace from its start, and neither use nor make derived.idx\n"                \
	  "(in the trace, or in the user's cache)" }

/*
 * Takes one of the shared options. 0: taken; -1: id is none of them; EXIT_USAGE: bad value, said
 * so.
 */
int input_take(struct input *in, const struct opts_command *command, int id, const char *value);

const char *input_path(const struct input *in);

/*
 * Opens the trace; notes damage and a recording under way on stderr when notes is set. EXIT_FAILED
 * if it cannot.
 */
int input_open(struct input *in, bool notes, struct trace **ret);

/*
 * The trace's directory, for what only one can be asked for. EXIT_FAILED: there is none, or it is a
 * bundle; of_bundle says why that will not do, and what will.
 */
int input_open_dir(struct input *in, const char *of_bundle, int *ret_fd);

/*
 * Damage in the events of a closed file shows only when they are read. This reads the blocks of a
 * window before a question is asked, so that its answer knows, and says so, what is left out.
 * Blocks that an index was made of were read then. a may be NULL.
 */
void input_verify(struct trace *t, struct analysis *a, uint64_t from_ns, uint64_t to_ns);

/*
 * An analysis of t that answers from the index unless --no-index was given. EXIT_FAILED if it
 * cannot.
 */
int input_analysis(struct input *in, struct trace *t, struct analysis **ret);

/* Notes on stderr what damage has come to light since the last note. */
void input_note_damage(struct input *in, const struct trace *t);

/* The window of --from and --to as CLOCK_MONOTONIC ns. EXIT_USAGE when it is none. */
int input_window(const struct input *in, const struct opts_command *command, const struct trace *t,
		 uint64_t *ret_from_ns, uint64_t *ret_to_ns);

/* Classes of events for input_is_complete(), by bit; as enum event_class numbers them. */
enum {
	INPUT_TASK = 1,
	INPUT_SCHED = 2,
	INPUT_ALLOC = 4,
	INPUT_BLOCK = 8,
	INPUT_ALL = 15,
	INPUT_NO_WAKEUPS = 16,	/* of sched, only the switches matter */
	INPUT_NO_IRQS = 64,	/* nor interrupts */
	INPUT_LEVELS = 32,	/* what was off before the window matters too */
	INPUT_BEFORE = 128,	/* so does what is missing before it */
	INPUT_AFTER = 256,	/* and after it */
};

struct input_needs {
	unsigned int classes; /* INPUT_* */
	/*
	 * Sources without which there is no answer: "sched.switch,block". A class stands for any
	 * of its sources. NULL: any sources.
	 */
	const char *sources;
};

/* What shows some of everything: the summary, a comparison. */
#define INPUT_SOURCES_SUMMARY "sched.switch,alloc.rss,block"
#define INPUT_NEEDS_SUMMARY                                                                        \
	(struct input_needs)                                                                       \
	{                                                                                          \
		INPUT_ALL | INPUT_BEFORE, INPUT_SOURCES_SUMMARY                                    \
	}

/*
 * True when the trace has every event of the classes and of the window [from_ns, to_ns), and has
 * the sources. If not, buf says what is missing: "alloc: 1,200 events lost; block: ...", which
 * source was off or never recorded, or that the window lies outside of the trace.
 */
bool input_is_complete(const struct trace *t, struct input_needs needs, uint64_t from_ns,
		       uint64_t to_ns, char *buf, size_t size);

/*
 * A sentence on what is missing from a trace that was cut by process or recorded with --only. NULL:
 * the trace is of the whole machine.
 */
const char *input_part_note(const struct trace *t);

/*
 * What stdout can show: its width (80 when it is no terminal), and whether it takes more than
 * ASCII.
 */
unsigned int input_terminal_width(void);
/* The width to wrap text at; 0: stdout is no terminal, so lines are not wrapped. */
unsigned int input_wrap_width(void);
bool input_speaks_utf8(void);

/* A renderer on stdout for in->format. NULL: out of memory; the error is printed. */
struct render *input_render(const struct input *in, uint64_t table_limit, bool human);

/* A hint to append to the text of -EACCES and -EPERM of a trace; "" for other codes. */
const char *input_owner_hint(int code);

/* Ends a command whose query failed with code: EPIPE is quiet. Returns the exit status. */
int input_failed(int code, const struct err *e);

#endif /* INPUT_H */
