/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * opts: one table of options per command. From it come the parser, the checks of the values, the
 * error messages and the help.
 *
 * It takes -x, -xVALUE, -x VALUE, bundles of flags (-aq), --name, --name=VALUE, --name VALUE,
 * and --, which ends the options. A value may begin with '-' (--until -2s). -h and --help are every
 * command's. An unknown option names the nearest known one.
 *
 * Threads: one; the command that was parsed last is remembered for opts_usage_error().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The type of an option's value, and of the field that stores it. */
enum opts_kind {
	OPTS_FLAG, /* bool, set to true; takes no value */
	OPTS_TEXT, /* const char *: the value as written */
	OPTS_COUNT, /* uint64_t, as units_parse_count() reads it */
	OPTS_SIZE, /* uint64_t, bytes */
	OPTS_DURATION, /* uint64_t, ns */
	OPTS_STEP, /* the same, but with a unit: a bare number may be meant as ms */
	OPTS_CALL, /* take() stores it */
};

/* Among exit statuses, this value means "leave now, with the exit status 0": --help, --list. */
#define OPTS_LEAVE (-1000)

/*
 * Parses a value; field is the option's. Returns 0, a negative errno with e set, which is then
 * printed after the option's name, an exit status if the error has been printed, or OPTS_LEAVE.
 */
typedef int (*opts_take_fn)(void *field, const char *value, struct err *e);

struct opts_option {
	char short_name; /* 0: none */
	const char *name; /* without the dashes; NULL ends the table */
	/*
	 * Placeholder of its value in the help; NULL: a flag; "[=DUR]": an optional value, after
	 * '='; "[SIZE]": an optional value, after '=', or the next argument if that begins with a
	 * digit.
	 */
	const char *arg;
	const char *help; /* may hold '\n' */
	enum opts_kind kind;
	size_t field; /* offset in the command's struct */
	opts_take_fn take; /* of OPTS_CALL */
	/*
	 * Bounds of a number; max 0: unbounded. refuse: the message about a value outside of them
	 * or an empty text. It follows the value if it begins with a blank.
	 */
	uint64_t min, max;
	const char *refuse;
	uint64_t otherwise; /* value of a number without an argument */
	/* Makes a text mandatory: the message if it is missing or empty. */
	const char *needed;
};

struct opts_command {
	const char *name; /* "report"; NULL for ebpfrec itself */
	const char *about; /* one line, for the list of commands */
	const char *synopsis; /* the part after "ebpfrec report " */
	const char *text; /* paragraphs before the options; may be NULL */
	const struct opts_option *options;
	const char *examples; /* lines, each ended */
	void (*more_help)(void); /* prints the text after the examples; may be NULL */

	/*
	 * The command's struct: its size, its initial contents (NULL: zeros), and a function that
	 * frees it.
	 */
	size_t bytes;
	const void *initial;
	void (*done)(void *job);
	/*
	 * Parses an operand; 0 or an exit status. NULL: no operand, or one text, which is stored in
	 * this field (const char *) if operand_field is not 0.
	 */
	int (*operand)(void *job, const char *value);
	size_t operand_field;
	/* Follows "unexpected argument 'x'; "; may be NULL. */
	const char *operand_hint;
	/*
	 * In place of operand: the first operand ends the options; the rest of the command line
	 * begins with it. argv is all of the command line.
	 */
	int (*rest)(void *job, char **argv, char **rest);
	/* Does the work. Returns the exit status. */
	int (*run)(void *job);
};

/*
 * Parses the arguments after argv[0], the command's name, into job. 0: the command can run; else an
 * exit status, after an error was printed, or OPTS_LEAVE.
 */
int opts_parse(const struct opts_command *command, void *job, char **argv);

/* Makes the command's struct, parses, runs, frees. Returns the exit status. */
int opts_run(const struct opts_command *command, char **argv);

void opts_print_help(const struct opts_command *command);

/*
 * "ebpfrec report: text" and how to get help, on stderr. Returns EXIT_USAGE. The command is the one
 * that is being parsed or run.
 */
int opts_usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * opts_usage_error() for a word that is not one of names. before ("--by: " or "") precedes "unknown
 * WHAT 'WORD'; did you mean 'NAME'?" and if_near, or, if no name is near, "unknown WHAT 'WORD'" and
 * if_not.
 */
int opts_unknown(const char *what, const char *before, const char *word, const char *const *names,
		 unsigned int cnt, const char *if_near, const char *if_not);
/* The index of word in names, or the result of opts_unknown() if it is missing. */
int opts_pick(unsigned int *ret, const char *what, const char *before, const char *word,
	      const char *const *names, unsigned int cnt, const char *if_near, const char *if_not);

/*
 * lists: comma-separated values of one option, which may also be given several times.
 * Threads: any. Errors: -EINVAL with text, -ENOMEM.
 */
/* Strings that an option gave, each time it was given; not copied. */
struct lists_strings {
	const char **v; /* the owner frees it */
	unsigned int cnt;
};
/* An option's value for a struct lists_strings; see opts_take_fn. 0 or -ENOMEM */
int lists_add_string(void *list, const char *s, struct err *e);

/* Ids of processes or threads that an option gave; the owner frees v. */
struct lists_ids {
	uint32_t *v;
	unsigned int cnt;
};
/* Options' values: ids such as "12,34" for a struct lists_ids; see opts_take_fn. */
int lists_take_ids(void *ids, const char *s, struct err *e);

/* "a" then "b,c" gives "a,b,c". list is that of a malloc'ed string (char *). */
int lists_take_words(void *list, const char *s, struct err *e);

/*
 * argv as one line: arguments with spaces or quotes are quoted as a shell would want them.
 * malloc'd, or NULL.
 */
char *lists_join_argv(char *const *argv);

/*
 * nearest: "did you mean ...": the closest of a list of names to a mistyped one.
 * Threads: any. No errors.
 */
/*
 * The index of the name closest to word (insertions, deletions, replacements and swaps of
 * neighbours each count 1; a name that starts with word counts as near), or -1 when none is near
 * enough to be worth suggesting. names[i] may be NULL and is skipped.
 */
int nearest_find(const char *word, const char *const *names, unsigned int cnt);
