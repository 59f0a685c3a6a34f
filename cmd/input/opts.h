/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * opts: one command's options, from its table, and the help text from the same table.
 *
 * It takes -x, -xVALUE, -x VALUE, bundles of flags (-aq), --name, --name=VALUE, --name VALUE,
 * and --, which ends the options. A value may begin with '-' (--to -2s). -h and --help are every
 * command's. An unknown option names the nearest known one.
 *
 * Threads: one. Errors are printed to stderr; the caller leaves with EXIT_USAGE.
 */
#ifndef OPTS_H
#define OPTS_H

#include <stdbool.h>

struct opts_option {
	int id;			/* what opts_next() returns; > 0 */
	char short_name;	/* 0: none */
	const char *name;	/* without the dashes */
	/*
	 * Placeholder of its value in the help; NULL: a flag; "[=DUR]": it may have one, behind
	 * '='.
	 */
	const char *arg;
	const char *help;	/* may hold '\n' */
};

struct opts_command {
	const char *name;		/* "report"; NULL for ebpfrec itself */
	const char *about;		/* one line, for the list of commands */
	const char *synopsis;		/* what follows "ebpfrec report " */
	const char *text;		/* paragraphs before the options; may be NULL */
	const struct opts_option *options;	/* ended by id 0 */
	const char *examples;		/* lines, each ended */
	bool operand_ends;		/* the first operand ends the options */
};

enum {
	OPTS_END = 0,
	OPTS_BAD = -1,		/* the error is printed */
	OPTS_HELP = -2,		/* the help was printed to stdout */
	OPTS_OPERAND = -3,	/* *ret_value is an argument that is no option */
};

struct opts {
	const struct opts_command *command;
	int argc;
	char **argv;
	int next;		/* index into argv; after OPTS_END of the first operand left */
	const char *bundle;	/* rest of "-abc" */
	bool only_operands;	/* "--" was seen */
};

/* argv[0] is the command's name and is skipped. */
void opts_init(struct opts *o, const struct opts_command *command, int argc, char **argv);

/* The next option's id, or one of OPTS_*. *ret_value is the option's value, NULL for flags. */
int opts_next(struct opts *o, const char **ret_value);

void opts_print_help(const struct opts_command *command);

/* "ebpfrec report: text" and how to get help, on stderr. Returns EXIT_USAGE. */
int opts_usage_error(const struct opts_command *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* OPTS_H */
