/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * redact_options: the options --keep, --keep-workload and --salt of commands that write pseudonyms,
 * and the closing notes of these commands. Threads: one.
 */
#pragma once

#include "base/buf.h"
#include "cmd/input/opts.h"
#include "edit/trace_redact.h"

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

/* Returns whether any of these options was set. */
bool redact_options_any(const struct redact_options_taken *r);
void redact_options_done(struct redact_options_taken *r);	/* also wipes the salt */

/* Prints to stderr the number of replaced names, and the kinds of names that were kept. */
void redact_options_say(const char *path, const struct redact_result *res);
