/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * new_trace: writes a trace that gets its name only when it is complete (base/atomic_output.h), for
 * cut, redact, repair and snapshot. Also parses the options for pseudonyms. Threads: one. Prints
 * errors.
 */
#pragma once

#include "base/buf.h"
#include "cmd/input/opts.h"
#include "edit/trace_redact.h"
#include "trace/trace.h"

/*
 * Calls write() to make a trace at a temporary path, and renames it to output. Refuses an output
 * that exists or is inside the trace `of` (may be NULL). write() returns 0, -errno with e, or an
 * exit status if it has printed the error. Returns an exit status.
 *
 * If checked_block_cnt is not NULL, the new trace is checked before it is renamed: it must be
 * undamaged and have that number of blocks, which write() has counted.
 */
int new_trace_make(const struct trace *of, const char *output,
		   int (*write)(void *ctx, const char *path, struct err *e), void *ctx,
		   const uint64_t *checked_block_cnt);

/*
 * redact_options: the options --keep, --keep-workload and --salt of commands that write pseudonyms,
 * and the closing notes of these commands. Threads: one.
 */

struct redact_options_taken {
	struct redact_options o;
	struct lists_strings keep;
	struct buf salt;
};

/* taken: the struct redact_options_taken inside the command's struct. */
#define REDACT_OPTIONS(command, taken)                                                            \
	{ 0, "keep", "PATTERN",                                                                   \
	  "names, words and path components that match stay: 'python*', '/usr/*';\n"              \
	  "may be given more than once",                                                          \
	  OPTS_CALL, offsetof(command, taken), redact_options_keep },                             \
	{ 0, "keep-workload", NULL,                                                               \
	  "what the recorded command, -p or --cgroup ran keeps its names and\ncommand lines",     \
	  OPTS_FLAG, offsetof(command, taken.o.keep_workload) },                                  \
	{ 0, "salt", "TEXT|@FILE",                                                                \
	  "the same salt gives the same pseudonyms (default: a random one that is\nforgotten)",   \
	  OPTS_CALL, offsetof(command, taken), redact_options_salt }

/* The functions below parse option values; see opts_take_fn. */
int redact_options_keep(void *taken, const char *pattern, struct err *e);
int redact_options_salt(void *taken, const char *value, struct err *e);

/* Returns whether any option of redact_options was set. */
bool redact_options_any(const struct redact_options_taken *r);
void redact_options_done(struct redact_options_taken *r);	/* also wipes the salt */

/* Prints to stderr the number of replaced names, and the kinds of names that were kept. */
void redact_options_say(const char *path, const struct redact_result *res);
