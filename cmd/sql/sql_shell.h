/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sql_shell: reads statements and dot commands from a terminal, one after the other.
 *
 * Lines are edited, remembered (~/.ebpfrec_history, mode 0600) and completed by libedit. A program
 * that was built without libedit reads plain lines, and says so.
 * Threads: one.
 */
#pragma once

/* Asks ask() until the input ends or .quit. Returns an exit status. */
int sql_shell_run(void (*ask)(void *ctx, const char *text), void *ctx);

/* The dot commands, with their help; .name NULL ends the list. */
struct sql_shell_command {
	const char *name, *arg, *help;
};
extern const struct sql_shell_command sql_shell_commands[];
