/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * say: prints messages for people to stderr, safe for a terminal. This header also declares the
 * functions for the terminal, its pager and its line of progress.
 *
 * Messages may quote file names and strings of a trace; control characters, invalid UTF-8 and
 * invisible characters in them are shown as \xNN. Threads: one (say_text() uses four static
 * buffers in turn). No errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit statuses. `record` returns others (see session_run()): COMMAND's own, 125, 126, 127. */
enum {
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_RECORD = 125,
};

/* Print "ebpfrec: text\n". say_error() returns EXIT_FAILED. */
int say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints "prefix text\n"; further lines of a wrapped text are indented to its beginning. */
void say_after(const char *prefix, const char *text);

/*
 * Format figures for people; see base/units.h. A text is valid until sixteen further texts were
 * made.
 */
const char *say_count(uint64_t v);
const char *say_counted(uint64_t v, const char *what); /* "1 block", "1,234 blocks" */
const char *say_bytes(uint64_t v);
const char *say_bytes_si(uint64_t v);
const char *say_file_bytes(const char *path); /* size of a file, as say_bytes_si() */
const char *say_duration(uint64_t ns);
const char *say_instant(int64_t ns);
/*
 * Formats a wall-clock time as RFC 3339, with 3, 6 or 9 decimals, as needed for an exact value;
 * local: in the process' time zone, else in UTC.
 */
const char *say_wall(uint64_t real_ns, bool local);
/* Formats other text, cut to about a thousand bytes; valid until the fourth call after this one. */
const char *say_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Escapes s for a terminal, and cuts it to about a thousand bytes. Valid until the fourth call
 * after this one.
 */
const char *say_text(const char *s);

/*
 * Formats a time of day in the reader's time zone: "08:19:53 UTC"; adds the date unless the time is
 * recent. Valid as long as the text of say_format().
 */
const char *say_clock(uint64_t real_ns);

/* terminal: size and features of the terminal on stdout. Threads: one. No errors. */

/* Columns of the terminal on stdout; 0: stdout is not a terminal, so nothing is cut or wrapped. */
unsigned int input_terminal_width(void);
/* Rows of the terminal; 0: unknown, or no terminal. */
unsigned int input_terminal_height(void);
/* Returns whether the terminal shows more than ASCII. */
bool input_speaks_utf8(void);

/*
 * pager: pipes stdout through a pager, like git: $PAGER, or else less, which exits at once if the
 * text fits on the screen (LESS=FRX unless LESS is set).
 *
 * Code that checks whether stdout is a terminal must run before pager_begin(). Threads: one. Prints
 * no errors: if there is no pager, stdout stays unchanged.
 */
/* Starts the pager if stdout is a terminal. PAGER="" and PAGER=cat: no pager. */
void pager_begin(void);
/* Flushes stdout, waits until the user has left the pager, and restores the terminal. */
void pager_end(void);

/*
 * progress: a line on the terminal that shows the progress of a task. Callers use it only if stderr
 * is a terminal. Initially all zeros: no line is shown. Threads: one.
 */
struct progress {
	size_t cells; /* width of the current line; 0: none */
};

/* Shows this text in place of the current line. */
void progress_line(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Shows "what: [####................] 12,345 of 67,890 unit". all: 0 if unknown. */
void progress_show(struct progress *p, const char *what, uint64_t done, uint64_t all,
		   const char *unit);
void progress_erase(struct progress *p);
