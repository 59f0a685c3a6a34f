/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd: the commands of ebpfrec, for the table in main.c, and functions that commands share.
 *
 * A command prints data to stdout and messages to stderr. At the end, main.c checks that all data
 * was written to stdout.
 */
#pragma once

#include "cmd/input/opts.h"

extern const struct opts_command record_opts, report_opts, sql_opts, export_opts, info_opts,
	check_opts, repair_opts, redact_opts, snapshot_opts, mark_opts, diff_opts, cut_opts,
	bundle_opts, metrics_opts, doctor_opts, view_opts, assert_opts, mcp_opts, demo_opts;

/* sources: the words that `record -e` accepts. Functions print errors and return an exit status. */
/* Prints the table of `record -e list` to stdout. */
int sources_print(void);

/*
 * Checks that every word of list, with or without a sign, is a source, a class, "light" or "all".
 * EXIT_USAGE: prints the nearest known word.
 */
int sources_check(const char *list);
