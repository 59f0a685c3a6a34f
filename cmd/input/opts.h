/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * opts: parses command lines, checks values, and prints errors and help, all from one table of
 * options per command. timeexpr parses values that are instants of a trace.
 *
 * It accepts -x, -xVALUE, -x VALUE, combined flags (-aq), --name, --name=VALUE, --name VALUE, and
 * --, which ends the options. A value may begin with '-' (--until -2s). Every command has -h and
 * --help. The error for an unknown option suggests the nearest known one.
 *
 * Threads: one; the command that was parsed last is remembered for opts_usage_error().
 */
#pragma once

#include <stdbool.h>
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
	OPTS_STEP, /* as OPTS_DURATION, but requires a unit, since a bare number could mean ms */
	OPTS_CALL, /* stored by take() */
};

/*
 * Returned in place of an exit status by options such as --help: end the command with exit status
 * 0.
 */
#define OPTS_LEAVE (-1000)

/*
 * Parses a value into the option's field. Returns 0; -errno with e set, which is then printed after
 * the option's name; an exit status if the error has been printed; or OPTS_LEAVE.
 */
typedef int (*opts_take_fn)(void *field, const char *value, struct err *e);

struct opts_option {
	char short_name; /* 0: none */
	const char *name; /* without the dashes; NULL ends the table */
	/*
	 * Placeholder of the value in the help. NULL: a flag; "[=DUR]": an optional value after
	 * '='; "[SIZE]": an optional value after '=', or the next argument if that begins with a
	 * digit.
	 */
	const char *arg;
	const char *help; /* may contain '\n' */
	enum opts_kind kind;
	size_t field; /* offset of the field in the command's struct */
	opts_take_fn take; /* parser, for OPTS_CALL */
	/*
	 * Bounds of a number; max 0: unbounded. refuse: the message for a value out of bounds, or
	 * for an empty text; if the message begins with a blank, the value is printed before the
	 * message.
	 */
	uint64_t min, max;
	const char *refuse;
	uint64_t otherwise; /* value of a number whose optional argument is missing */
	/* Message if the text is missing or empty; NULL: the option is not mandatory. */
	const char *needed;
};

struct opts_command {
	const char *name; /* name of the command: "report"; NULL: ebpfrec itself */
	const char *about; /* one line, for the list of commands */
	const char *synopsis; /* usage without "ebpfrec report " */
	const char *text; /* paragraphs before the options; may be NULL */
	const struct opts_option *options;
	const char *examples; /* lines, each with a newline */
	void (*more_help)(void); /* prints the text after the examples; may be NULL */

	/*
	 * The command's struct: its size, its initial contents (NULL: zeros), and a function that
	 * frees it.
	 */
	size_t bytes;
	const void *initial;
	void (*done)(void *job);
	/*
	 * Parses an operand; 0 or an exit status. NULL: if operand_field is not 0, one operand is
	 * stored at that offset (const char *); else operands are refused.
	 */
	int (*operand)(void *job, const char *value);
	size_t operand_field;
	/* Printed after "unexpected argument 'x'; "; may be NULL. */
	const char *operand_hint;
	/*
	 * Replaces operand, if not NULL: the first operand ends the options, and rest points to it.
	 * argv: the whole command line.
	 */
	int (*rest)(void *job, char **argv, char **rest);
	/* Runs the command. Returns the exit status. */
	int (*run)(void *job);
};

/*
 * Parses the arguments after argv[0], the command's name, into job. Returns 0, an exit status after
 * printing an error, or OPTS_LEAVE.
 */
int opts_parse(const struct opts_command *command, void *job, char **argv);

/*
 * Allocates the command's struct, parses the command line, runs the command, and frees the struct.
 * Returns the exit status.
 */
int opts_run(const struct opts_command *command, char **argv);

void opts_print_help(const struct opts_command *command);

/*
 * Prints "ebpfrec report: text" and a hint at --help to stderr; "report" is the command being
 * parsed or run. Returns EXIT_USAGE.
 */
int opts_usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Calls opts_usage_error() for a word that is not one of names. The message begins with `before`
 * ("--by: " or ""). Then follow "unknown WHAT 'WORD'; did you mean 'NAME'?" and if_near or, if no
 * name is near, "unknown WHAT 'WORD'" and if_not.
 */
int opts_unknown(const char *what, const char *before, const char *word, const char *const *names,
		 unsigned int cnt, const char *if_near, const char *if_not);
/* Sets *ret to the index of word in names. Returns 0, or the result of opts_unknown(). */
int opts_pick(unsigned int *ret, const char *what, const char *before, const char *word,
	      const char *const *names, unsigned int cnt, const char *if_near, const char *if_not);

/*
 * lists: comma-separated values of an option that may be repeated. Threads: any. Errors: -EINVAL
 * with text, -ENOMEM.
 */
/* Values of a repeated option; the strings are not copied. */
struct lists_strings {
	const char **v; /* freed by the owner */
	unsigned int cnt;
};
/* Appends a value to a struct lists_strings; see opts_take_fn. 0 or -ENOMEM. */
int lists_add_string(void *list, const char *s, struct err *e);

/* Ids of processes or threads from an option; the owner frees v. */
struct lists_ids {
	uint32_t *v;
	unsigned int cnt;
};
/* Appends ids such as "12,34" to a struct lists_ids; see opts_take_fn. */
int lists_take_ids(void *ids, const char *s, struct err *e);

/* Appends words to a malloc'ed string (char **list): "a", then "b,c", results in "a,b,c". */
int lists_take_words(void *list, const char *s, struct err *e);

/*
 * Joins argv to one line, with arguments quoted for a shell where necessary. malloc'ed; NULL: out
 * of memory.
 */
char *lists_join_argv(char *const *argv);

/*
 * nearest: finds the name nearest to a mistyped word, for "did you mean ...". Threads: any. No
 * errors.
 */
/*
 * Returns the index of the name nearest to word, or -1 if none is near enough. Insertions,
 * deletions, replacements and swaps of neighbours each count 1; a name that begins with word is
 * always near. A names[i] that is NULL is skipped.
 */
int nearest_find(const char *word, const char *const *names, unsigned int cnt);

/*
 * timeexpr: parses expressions for an instant of a trace on the command line.
 *
 *     1.5s  1500ms  90   after the trace's start; a bare number is seconds
 *     -2s                before the trace's end
 *     2026-03-01T12:00:00.5Z  (or +01:00, or nothing: local time of the reader)
 *     T12:00:03          that time of day, on the day the trace began (or the day after, if it
 *                        runs past midnight)
 *     @1772366400.5      seconds since 1970-01-01 UTC
 *     mark:build         the mark of that name; mark:build#2 is the second mark of that name.
 *                        "mark:" may be left out if the name has none of the other forms
 *
 * All arithmetic is on integers, exact to the nanosecond. Threads: any; local time is the process'
 * TZ. Errors: -EINVAL (not a time), -ERANGE (does not fit), -ENOENT (no mark of that name), with a
 * text that states the expected forms.
 */

/*
 * The instants to which expressions are relative. Units: ns; mono: CLOCK_MONOTONIC, real:
 * CLOCK_REALTIME.
 */
struct timeexpr_base {
	uint64_t start_ns, end_ns; /* start and end of the trace, mono */
	uint64_t start_real_ns;
	/*
	 * Converts any instant. Since the clock may have been set, an instant before start_real_ns
	 * may be in the trace. NULL: mono is itself the wall clock.
	 */
	uint64_t (*mono_from_real)(void *ctx, uint64_t real_ns);
	/* Finds the nr-th mark (from 1) of a name: 0 or -ENOENT. NULL: the trace has no marks. */
	int (*mark)(void *ctx, const char *name, uint64_t nr, uint64_t *ret_mono_ns);
	void *ctx;
};

/*
 * Returns whether s has the form of a time. A bare name, which may be a mark or another word, is
 * not a time.
 */
bool timeexpr_is_time(const char *s);

/*
 * Parses an expression. *ret_mono_ns may be outside the trace; an instant before the zero of the
 * clock becomes 0.
 */
int timeexpr_resolve(const char *s, const struct timeexpr_base *base, uint64_t *ret_mono_ns,
		     struct err *e);

/*
 * Parses a future instant: a wall-clock time, or a duration from now. For a time of day, the
 * instant nearest to now is returned. -ERANGE: the instant is in the past.
 */
int timeexpr_resolve_future(const char *s, uint64_t now_real_ns, uint64_t *ret_real_ns,
			    struct err *e);
