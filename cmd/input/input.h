/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * input: the common part of commands that read a trace: -i, --from, --until, --format, opening the
 * trace and reporting its damage.
 *
 * Threads: one. Functions print errors to stderr and return an exit status; 0: success.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/analyze.h"
#include "analyze/context/loss_index.h"
#include "cmd/input/opts.h"
#include "cmd/render/say.h"
#include "cmd/render/render.h"
#include "trace/trace.h"

#define INPUT_TRACE_DEFAULT "trace.ebpfrec"

#define INPUT_TABLE_ROWS 20 /* default limit of rows of a table */

struct input {
	const char *path;	/* trace to open; NULL: INPUT_TRACE_DEFAULT */
	const char *from, *to;	/* as written; NULL: start and end of the trace */
	const char *during;	/* a process or thread, as written; excludes from and to */
	bool of_threads;	/* the command, or its view, accepts --tid and --thread */
	enum render_format format;
	bool markdown; /* print tables as Markdown */
	bool anyway;		/* open the trace even without a manifest */
	bool quick;		/* may load lists from derived.idx, and store lists in it */
	/*
	 * state that successive analyses of a growing trace share, and the instant from which the
	 * next analysis continues; NULL: the trace is analyzed once
	 */
	struct analysis_follow *follow;
	uint64_t follow_from_ns;
	bool folded_count;	/* see struct render_options */
	bool wide; /* this and drops: see struct render_options */
	bool of_bins; /* sets per_first of struct render_options */
	const char *drops;
	const char *symbols;	/* directories of files with symbols; NULL: none */
	struct symbol_dirs *symbol_dirs;	/* set while the trace is open */
	char *fetched;		/* memory of symbols, if input_fetch() set it */
	bool raw_frames;	/* keep the frames of interpreters in stacks */
	const char *lines;	/* directory below which source files are; NULL: no lines */
	bool no_index;		/* use no index: decode all events that an answer needs */
	/* set while the trace is open */
	struct trace *trace;
	struct analysis *analysis;
	size_t damage_noted;	/* number of damaged parts already reported */
	struct progress progress;
	/* progress of making an index; other threads may read it */
	_Atomic uint64_t indexed_events, all_events;
};

/* Options of commands that read a trace; in: the struct input inside the command's struct. */
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
 * Returns a name for an output, made from the trace's name: "dir/build.ebpfrec/" and ".zip" result
 * in "build.zip". malloc'ed; NULL: out of memory, and the error is printed.
 */
char *input_output_name(const struct input *in, const char *ending);

/*
 * Opens the trace. notes: also prints notes to stderr about damage, and that the trace is being
 * recorded. EXIT_FAILED: it cannot be opened.
 */
int input_open(struct input *in, bool notes);
/*
 * Returns true, and prints a note, for a warm-up run (`record --warm-up`), which groups of traces
 * exclude.
 */
bool input_is_warm_up(const struct input *in);
/* Reads the blocks recorded since the trace was opened. */
int input_refresh(struct input *in);
/*
 * Returns the instant before which all events of a possibly growing trace are known: a future block
 * may contain late records that belong to the time of the last block. 0: nothing is known yet.
 */
uint64_t input_known_ns(const struct input *in);
/*
 * known_ns: an earlier result of input_known_ns(). Returns the ns by which the earliest event that
 * arrived after that call precedes known_ns; 0: no such event. Events of a live trace may be
 * written more than a block late.
 */
uint64_t input_late_ns(const struct input *in, uint64_t known_ns);
/*
 * Closes what input_open() and input_open_analysis() opened. Commands whose struct begins with a
 * struct input use it as done().
 */
void input_close(void *input);

/*
 * Opens the trace's directory, for commands that cannot use a bundle. EXIT_FAILED: not found, or a
 * bundle; then prints of_bundle, which explains the reason and the alternative.
 */
int input_open_dir(struct input *in, const char *of_bundle, int *ret_fd);

/*
 * Reads the blocks of a window before a query, and prints notes on damaged parts: damage in the
 * events of a closed file is found only by reading them, and the answer must consider it. sums: the
 * answer is made from sums over whole blocks; blocks that are in the index were already read when
 * the index was made, so only those at the window's edges are read again.
 */
void input_verify(struct input *in, bool sums, uint64_t from_ns, uint64_t to_ns);

/*
 * Makes the analysis, which uses the index unless --no-index is set. Parts of the index are made
 * when they are needed. EXIT_FAILED on errors.
 */
int input_open_analysis(struct input *in);
/* Opens the analysis unless it is open, and makes all parts of the index. */
int input_analysis(struct input *in);
/*
 * Looks up the names of code addresses in the files of --symbols, if it is set. Called by
 * input_open_analysis().
 */
int input_use_symbols(struct input *in);
/*
 * Runs debuginfod-find for the files of `report symbols`, and looks up the names of code addresses
 * in the found files. EXIT_FAILED: it cannot be run, or no server is configured.
 */
int input_fetch(struct input *in, uint64_t from_ns, uint64_t to_ns);
/* Makes the analysis show lines of code, if --lines is set. EXIT_FAILED on errors. */
int input_use_lines(struct input *in);
/* Prints notes to stderr about files without lines, with the reasons. */
void input_note_lines(const struct input *in);

/* Opens the analysis for a cut, which needs the state at the window's beginning. */
struct trace_cut_request;
int input_open_cut(struct input *in, struct trace_cut_request *q);

/* Writes a database to x->path; progress: shows a line on the terminal. Returns the exit status. */
int input_export_sqlite(struct input *in, struct export_request *x, bool progress,
			uint64_t *ret_rows);

/* Reports on stderr the damage found since the last report. */
void input_note_damage(struct input *in);

#define INPUT_MARK_NAME_MAX (TRACE_MARK_TEXT_MAX + 16)
/*
 * Returns a sentence: "the wall clock was set between 1.0 and 1.8 s: times of day in between may be
 * wrong by 1 h".
 */
const char *input_clock_step(const struct trace *t, const struct trace_clock_step *step);
/*
 * Writes the name of a mark as --from and --until accept it: "build"; "build#2" for a second mark
 * of that name.
 */
void input_mark_name(char buf[INPUT_MARK_NAME_MAX], const struct trace_mark *m);

/* Returns the window of --from and --until, CLOCK_MONOTONIC ns. EXIT_USAGE: it is invalid. */
int input_window(const struct input *in, uint64_t *ret_from_ns, uint64_t *ret_to_ns);

/* Converts --from and --until, if set, to the time axis of base. EXIT_USAGE: an invalid value. */
int input_resolve(const struct input *in, const struct timeexpr_base *base, uint64_t *from_ns,
		  uint64_t *to_ns);

/*
 * Returns whether the window is complete for these needs (loss_index_is_complete()). If not, writes
 * the reasons to buf: "alloc: 1,200 events lost; block: ..."; sources were off or never recorded;
 * the window is outside the trace.
 */
bool input_is_complete(const struct trace *t, struct loss_needs needs, uint64_t from_ns,
		       uint64_t to_ns, char *buf, size_t size);

/*
 * Appends to buf the number of requests of unknown owners that may belong to the processes selected
 * by q. The analysis must be open.
 */
void input_add_unowned(const struct input *in, const struct report_request *q, char *buf,
		       size_t size);

/*
 * Returns a sentence on what is missing in a trace that was cut by process or recorded with --only.
 * NULL: the trace covers the whole machine.
 */
const char *input_part_note(const struct trace *t);

/* Returns a note on the minimum length of recorded waits, for the view offcpu. NULL: no note. */
const char *input_waits_note(const struct trace *t, const char *view);

/*
 * Returns a note on the error of estimates from a sampled heap. sources: sources that the answer
 * needs. NULL: no note.
 */
const char *input_heap_note(const struct trace *t, const char *sources);

/*
 * Returns a renderer to stdout for in->format, or NULL after printing an error (out of memory).
 * more: further options, such as heading and progress; may be NULL.
 */
struct render *input_render(const struct input *in, uint64_t table_limit, bool human,
			    const struct render_options *more);
/* Ends the output unless code is an error, frees r, and returns the exit status. */
int input_render_end(struct render *r, int code, const struct err *e);

/* Returns a hint to append to the message of -EACCES or -EPERM; "" for other codes. */
const char *input_owner_hint(int code);

/*
 * Converts the result of a command to its exit status. code: 0, an exit status, or -errno, for
 * which the error of e is printed, except for -EPIPE.
 */
int input_status(int code, const struct err *e);
/*
 * As input_status(), for a report: an error of an option that only the view can check, such as a
 * column, is a usage error.
 */
int input_report_status(int code, const struct err *e);

/* Prints the tables for `export -t` and SQL to stdout, for the option --list. */
int input_list_tables(void *field, const char *value, struct err *e);
