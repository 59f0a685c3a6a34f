/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* terminal: size and features of the terminal on stdout. Threads: one. No errors. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * Code that checks whether stdout is a terminal must run before. Threads: one. Prints no errors: if
 * there is no pager, stdout stays unchanged.
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
