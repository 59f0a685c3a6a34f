/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_list: the traces and bundles of a directory, a line each: name, length, start,
 * completeness, command, and the command that shows it in a browser.
 *
 * Threads: one. Prints; returns an exit status.
 */
#pragma once

int trace_list_print(const char *dir);
