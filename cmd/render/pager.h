/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * pager: stdout through a pager, as git does it: $PAGER, else less, which shows what fits the
 * screen without waiting for a key (LESS=FRX unless the environment says otherwise).
 *
 * What asks whether stdout is a terminal must do so before. Threads: one. Prints nothing; without a
 * pager, stdout stays as it is.
 */
#pragma once

/* Begins, if stdout is a terminal and there is a pager. PAGER="" and PAGER=cat mean none. */
void pager_begin(void);
/* Flushes stdout, waits until the reader has left the pager, and gives the terminal back. */
void pager_end(void);
