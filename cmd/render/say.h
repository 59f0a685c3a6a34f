/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * say: text for a person, on stderr, safe for a terminal.
 *
 * Messages may quote file names and strings of a trace; control characters, invalid UTF-8 and
 * invisible characters in them are shown as \xNN.
 * Threads: one (say_text() has one static buffer per call, four in turn). No errors.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses. record has its own (see session_run()): the command's, 125, 126, 127. */
enum {
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_RECORD = 125,
};

/* "ebpfrec: text\n". say_error() returns EXIT_FAILED. */
int say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "prefix text\n"; a text longer than the terminal continues below its own beginning. */
void say_after(const char *prefix, const char *text);

/*
 * Figures as people read them; see base/units.h. A text is valid until sixteen more have been made.
 */
const char *say_count(uint64_t v);
const char *say_counted(uint64_t v, const char *what); /* "1 block", "1,234 blocks" */
const char *say_bytes(uint64_t v);
const char *say_bytes_si(uint64_t v);
const char *say_file_bytes(const char *path); /* how large a file is, as say_bytes_si() */
const char *say_duration(uint64_t ns);
const char *say_instant(int64_t ns);
/*
 * A wall-clock instant as RFC 3339 with the decimals (3, 6 or 9) needed to be exact; local: in the
 * process' time zone, else in UTC.
 */
const char *say_wall(uint64_t real_ns, bool local);
/* Any other text, of about a thousand bytes; valid until the fourth call after this one. */
const char *say_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* s made safe, cut to about a thousand bytes. Valid until the fourth call after this one. */
const char *say_text(const char *s);

/*
 * "08:19:53 UTC", in the reader's time zone; with the date unless it was today or so. The text is
 * valid as long as that of say_format().
 */
const char *say_clock(uint64_t real_ns);
