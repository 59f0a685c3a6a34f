/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* terminal: size and features of the terminal on stdout. Threads: one. No errors. */
#pragma once

#include <stdbool.h>

/* Columns of the terminal on stdout; 0: stdout is not a terminal, so nothing is cut or wrapped. */
unsigned int input_terminal_width(void);
/* Rows of the terminal; 0: unknown, or no terminal. */
unsigned int input_terminal_height(void);
/* Returns whether the terminal shows more than ASCII. */
bool input_speaks_utf8(void);
