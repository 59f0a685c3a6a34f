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
 * pager: stdout through a pager, as git does it: $PAGER, else less, which shows a screenful without
 * waiting for a key (LESS=FRX unless the environment sets it).
 *
 * Code that asks whether stdout is a terminal must run before. Threads: one. Prints nothing;
 * without a pager, stdout stays unchanged.
 */
/* Begins, if stdout is a terminal and there is a pager. PAGER="" and PAGER=cat mean none. */
void pager_begin(void);
/* Flushes stdout, waits until the user has left the pager, and restores the terminal. */
void pager_end(void);

/*
 * progress: one line on the terminal that shows how far a task is, until the task ends. Callers
 * without a terminal on stderr show none. All zeros: no line is shown. Threads: one.
 */
struct progress {
	size_t cells; /* of the line that is there now */
};

/* Shows this text, which replaces the line that is there. */
void progress_line(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "what: [####................] 12,345 of 67,890 unit". all: 0 if unknown. */
void progress_show(struct progress *p, const char *what, uint64_t done, uint64_t all,
		   const char *unit);
void progress_erase(struct progress *p);
