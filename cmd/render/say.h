/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * say: text for a person, on stderr, safe for a terminal.
 *
 * Messages may quote file names and strings of a trace; control characters, invalid UTF-8 and
 * invisible characters in them are shown as \xNN.
 * Threads: one (say_text() has one static buffer per call, four in turn). No errors.
 */
#ifndef SAY_H
#define SAY_H

/* "ebpfrec: text\n". say_error() returns EXIT_FAILED. */
int say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* s made safe, cut to about a thousand bytes. Valid until the fourth call after this one. */
const char *say_text(const char *s);

#endif /* SAY_H */
