/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* record_page: the page of `record --html`. Threads: one. Prints; returns exit statuses. */
#pragma once

#include <stdbool.h>

/* Before the recording: can the page be made? */
int record_page_check(const char *html, bool force);
/*
 * Makes the page of the trace that was recorded. An error is printed, and the exit status stays
 * COMMAND's.
 */
void record_page_make(const char *output, const char *html, bool force, bool quiet);
