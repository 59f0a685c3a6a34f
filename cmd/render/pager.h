/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * pager: stdout through a pager, as git does it: $PAGER, else less, which shows a screenful without
 * waiting for a key (LESS=FRX unless the environment sets it).
 *
 * Code that asks whether stdout is a terminal must run before. Threads: one. Prints nothing;
 * without a pager, stdout stays unchanged.
 */
#pragma once

/* Begins, if stdout is a terminal and there is a pager. PAGER="" and PAGER=cat mean none. */
void pager_begin(void);
/* Flushes stdout, waits until the user has left the pager, and restores the terminal. */
void pager_end(void);
