/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * input: the common part of commands that read a trace: -i, --from, --until, --format, opening the
 * trace and reporting its damage.
 *
 * Threads: one. Functions print what is wrong to stderr and return an exit status; 0 goes on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/context/analysis.h"
#include "analyze/context/loss_index.h"
#include "cmd/input/opts.h"
#include "cmd/input/timeexpr.h"
#include "cmd/render/terminal.h"
#include "cmd/render/render.h"
#include "trace/trace.h"

#define INPUT_TRACE_DEFAULT "trace.ebpfrec"

#define INPUT_TABLE_ROWS 20 /* rows of a table at most, unless --limit is given */

struct input {
	const char *path;	/* NULL: the default */
	const char *from, *to;	/* as written, NULL: the trace's own */
	const char *during;	/* a process or thread, as written; not with from and to */
	bool of_threads;	/* the command, or its view, accepts --tid and --thread */
	enum render_format format;
	bool markdown; /* tables are Markdown's */
	bool anyway;		/* open it without a manifest, too */
	bool quick;		/* may read and write its lists in derived.idx */
	/* the analyses of a trace that grows go on from each other, from the instant on; NULL */
	struct analysis_follow *follow;
	uint64_t follow_from_ns;
	bool folded_count;	/* see struct render_options */
	bool wide; /* tables: see struct render_options, as is drops */
	bool of_bins; /* the same */
	const char *drops;
	const char *symbols;	/* directories of files with symbols; NULL: none */
	struct symbol_dirs *symbol_dirs;	/* while the trace is open */
	char *fetched;		/* symbols, if input_fetch() extended it */
	bool raw_frames;	/* stacks with frames of interpreters */
	const char *lines;	/* the directory that files of code are below; NULL: no lines */
	bool no_index;		/* decode all that an answer needs */
	/* while it is open */
	struct trace *trace;
	struct analysis *analysis;
	size_t damage_noted;	/* damaged parts already reported */
	struct progress progress;
	/* while an index is made; another thread may look */
	_Atomic uint64_t indexed_events, all_events;
};

/* Options of commands that read a trace; in is the struct input within the command's struct. */
#define INPUT_OPTION_TRACE(command, in)                                                           \
	{ 'i', "input", "TRACE", "trace or bundle to read (default: " INPUT_TRACE_DEFAULT ")",    \
	  OPTS_CALL, offsetof(command, in), input_take_path }
#define INPUT_OPTIONS_WINDOW(command, in)                                                         \
	{ 0, "from", "TIME",                                                                      \
	  "window starts here: 1.5s after the trace's start, -2s before its\n"                    \
	  "end, 2026-03-01T12:00:00.5Z, T12:00:03, @SECONDS or mark:NAME",                        \
	  OPTS_TEXT, offsetof(command, in.from) },                                                \
	{ 0, "until", "TIME", "window ends before this instant (default: whole trace)",           \
	  OPTS_TEXT, offsetof(command, in.to) },                                                  \
	{ 0, "to", "TIME", "the older name of --until", OPTS_TEXT, offsetof(command, in.to) },    \
	{ 0, "during", "TASK",                                                                    \
	  "the window is the life of this process or thread: a PID, a TID, or a\n"                \
	  "name that only one has; or request:ID, a request of a program",                         \
	  OPTS_TEXT, offsetof(command, in.during) }
#define INPUT_OPTION_FORMAT(command, in)                                                          \
	{ 0, "format", "FORMAT", "table (default), csv, json or jsonl",                           \
	  OPTS_CALL, offsetof(command, in.format), input_take_format }
#define INPUT_OPTION_NO_INDEX(command, in)                                                        \
	{ 0, "no-index", NULL,                                                                    \
	  "decode the trace from its start, and neither use nor make derived.idx\n"               \
	  "(in the trace, or in the user's cache)",                                               \
	  OPTS_FLAG, offsetof(command, in.no_index) }
#define INPUT_OPTION_LINES(command, in)                                                           \
	{ 0, "lines", "[=DIR]",                                                                   \
	  "name code of programs with its line of source code, as debugging\n"                    \
	  "information on this machine, or below DIR, says",                                      \
	  OPTS_CALL, offsetof(command, in.lines), input_take_lines }

#define INPUT_OPTION_RAW_FRAMES(command, raw_frames)                                              \
	{ 0, "raw-frames", NULL,                                                                  \
	  "stacks with the interpreter's frames between functions of Python",                     \
	  OPTS_FLAG, offsetof(command, raw_frames) }

#define INPUT_OPTION_SYMBOLS(command, symbols)                                                    \
	{ 0, "symbols", "DIR,...",                                                                \
	  "name code whose name was not found while recording by files below\n"                   \
	  "DIR with the same build id: programs, libraries, debug files",                         \
	  OPTS_TEXT, offsetof(command, symbols),                                                  \
	  .refuse = "the directory must not be empty" }

/* The functions below parse their values; see opts_take_fn. */
int input_take_path(void *input, const char *value, struct err *e);
int input_take_format(void *format, const char *value, struct err *e);
int input_take_lines(void *lines, const char *value, struct err *e);

static inline const char *input_path(const struct input *in)
{
	return in->path ? in->path : INPUT_TRACE_DEFAULT;
}

/*
 * The name of an output made from the trace's: "dir/build.ebpfrec/" and ".zip" give "build.zip".
 * malloc'ed; NULL: out of memory, and the error is printed.
 */
char *input_output_name(const struct input *in, const char *ending);

/*
 * Opens the trace; notes damage and a recording under way on stderr when notes is set. EXIT_FAILED
 * if it cannot.
 */
int input_open(struct input *in, bool notes);
/* Returns true, with a note, for a warm-up run (`record --warm-up`), which groups exclude. */
bool input_is_warm_up(const struct input *in);
/* Reads the blocks recorded since the trace was opened. */
int input_refresh(struct input *in);
/*
 * Returns the end of the completely known part of a trace that may be growing: the block after the
 * last one may have late records of the last one's time. 0: nothing is known yet.
 */
uint64_t input_known_ns(const struct input *in);
/*
 * known_ns: an earlier result of input_known_ns(). Returns how far before known_ns events lie that
 * arrived since, which happens if a live trace has them more than a block late. 0: no such events.
 */
uint64_t input_late_ns(const struct input *in, uint64_t known_ns);
/*
 * Closes everything that input_open() and input_open_analysis() opened. It is done() of commands
 * whose struct begins with a struct input.
 */
void input_close(void *input);

/*
 * Opens the trace's directory, for commands that need a directory. EXIT_FAILED: not found, or a
 * bundle; of_bundle explains why a bundle cannot be used, and the alternative.
 */
int input_open_dir(struct input *in, const char *of_bundle, int *ret_fd);

/*
 * Damage in the events of a closed file shows only when they are read. This reads the blocks of a
 * window before a question, so that the answer takes damage into account, and notes the skipped
 * parts. sums: the question is answered from sums over whole blocks. Blocks were already read if an
 * index was made of them: only those at the window's edges are then read again.
 */
void input_verify(struct input *in, bool sums, uint64_t from_ns, uint64_t to_ns);

/*
 * Makes the analysis, which answers from the index unless --no-index was given. Its parts are made
 * when they are needed. EXIT_FAILED if it cannot.
 */
int input_open_analysis(struct input *in);
/* The same, unless it is open, and all parts are made. */
int input_analysis(struct input *in);
/* Names code by the files of --symbols, if it was given. Part of input_open_analysis(). */
int input_use_symbols(struct input *in);
/*
 * Runs debuginfod-find for the files of `report symbols`, and names code by those that it finds.
 * EXIT_FAILED if it cannot run, or if no server is configured.
 */
int input_fetch(struct input *in, uint64_t from_ns, uint64_t to_ns);
/* Has the analysis show lines, if --lines was given. EXIT_FAILED if it cannot. */
int input_use_lines(struct input *in);
/* Notes on stderr of files without lines, with the reasons. */
void input_note_lines(const struct input *in);

/* The same for a cut, which takes the state at the window's beginning from the analysis. */
struct trace_cut_request;
int input_open_cut(struct input *in, struct trace_cut_request *q);

/* Writes a database of x->path; progress: shows a line on the terminal. Returns the exit status. */
int input_export_sqlite(struct input *in, struct export_request *x, bool progress,
			uint64_t *ret_rows);

/* Reports on stderr the damage found since the last report. */
void input_note_damage(struct input *in);

#define INPUT_MARK_NAME_MAX (TRACE_MARK_TEXT_MAX + 16)
/* "the wall clock was set between 1.0 and 1.8 s: times of day in between may be wrong by 1 h" */
const char *input_clock_step(const struct trace *t, const struct trace_clock_step *step);
/* Writes the name of a mark for --from and --until: "build", and the second one "build#2". */
void input_mark_name(char buf[INPUT_MARK_NAME_MAX], const struct trace_mark *m);

/* The window of --from and --until as CLOCK_MONOTONIC ns. EXIT_USAGE if it is invalid. */
int input_window(const struct input *in, uint64_t *ret_from_ns, uint64_t *ret_to_ns);

/*
 * --from and --until, if set, on any axis of time. EXIT_USAGE if a value is invalid.
 */
int input_resolve(const struct input *in, const struct timeexpr_base *base, uint64_t *from_ns,
		  uint64_t *to_ns);

/*
 * The answer of loss_index_is_complete() about a trace. If it is no, buf lists the missing parts:
 * "alloc: 1,200 events lost; block: ...", sources that were off or never recorded, or a
 * window outside the trace.
 */
bool input_is_complete(const struct trace *t, struct loss_needs needs, uint64_t from_ns,
		       uint64_t to_ns, char *buf, size_t size);

/*
 * Appends to buf how many requests of unknown owners may belong to the processes that q chooses.
 * The analysis is open.
 */
void input_add_unowned(const struct input *in, const struct report_request *q, char *buf,
		       size_t size);

/*
 * A sentence on the missing parts of a trace that was cut by process or recorded with --only. NULL:
 * the trace is of the whole machine.
 */
const char *input_part_note(const struct trace *t);

/* For the view offcpu: the minimum length of recorded waits. NULL: unknown. */
const char *input_waits_note(const struct trace *t, const char *view);

/* For an answer that needs these sources: the error of estimates of a sampled heap. NULL: none. */
const char *input_heap_note(const struct trace *t, const char *sources);

/*
 * A renderer on stdout for in->format; more: heading, progress and the like, may be NULL. NULL: out
 * of memory; the error is printed.
 */
struct render *input_render(const struct input *in, uint64_t table_limit, bool human,
			    const struct render_options *more);
/* Ends the rows of render_put(), unless code is an error, frees r, and returns the exit status. */
int input_render_end(struct render *r, int code, const struct err *e);

/* A hint to append to the text of -EACCES and -EPERM of a trace; "" for other codes. */
const char *input_owner_hint(int code);

/*
 * The exit status of a command whose work ended with code: 0, an exit status, or -errno, which is
 * printed with e. EPIPE is quiet.
 */
int input_status(int code, const struct err *e);
/*
 * The same for a report, which also refuses invalid options that only the view can check: columns.
 */
int input_report_status(int code, const struct err *e);

/* Prints the tables for `export -t` and SQL on stdout, for the option --list. */
int input_list_tables(void *field, const char *value, struct err *e);
