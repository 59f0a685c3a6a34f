/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * redact_options: --keep, --keep-workload and --salt of the commands that write pseudonyms, and
 * their closing notes. Threads: one. Functions print errors to stderr and return an exit status; 0
 * goes on.
 */
#ifndef REDACT_OPTIONS_H
#define REDACT_OPTIONS_H

#include "base/buf.h"
#include "cmd/input/opts.h"
#include "edit/trace_redact.h"

struct redact_options_taken {
	struct redact_options o;
	const char **keep;
	size_t keep_cap;
	struct buf salt;
	bool any;	/* one of them was given */
};

/* Ids of the options, apart from a command's own and those of input.h. */
enum { REDACT_OPT_KEEP = 1100, REDACT_OPT_KEEP_WORKLOAD, REDACT_OPT_SALT };

#define REDACT_OPTIONS                                                                            \
	{ REDACT_OPT_KEEP, 0, "keep", "PATTERN",                                                  \
	  "names, words and path components that match stay: 'python*', '/usr/*';\n"             \
	  "may be given more than once" },                                                        \
	{ REDACT_OPT_KEEP_WORKLOAD, 0, "keep-workload", NULL,                                     \
	  "what the recorded command, -p or --cgroup ran keeps its names and\ncommand lines" },  \
	{ REDACT_OPT_SALT, 0, "salt", "TEXT|@FILE",                                               \
	  "the same salt gives the same pseudonyms (default: a random one that is\nforgotten)" }

/* 0: taken; -1: id is another option; an exit status: bad value, and the error is printed. */
int redact_options_take(struct redact_options_taken *r, const struct opts_command *command, int id,
			const char *value);
void redact_options_done(struct redact_options_taken *r);	/* wipes the salt */

/* Notes on stderr how many names went, and which kinds stayed. */
void redact_options_say(const char *path, const struct redact_result *res);

#endif /* REDACT_OPTIONS_H */
