/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * diff_groups: `ebpfrec diff A... --with B...`. Threads: one. Prints; returns exit statuses.
 */
#pragma once

#include "cmd/diff/diff_flame.h"
#include "cmd/input/input.h"
#include "cmd/input/opts.h"

struct diff_groups {
	const struct lists_strings *paths; /* of group A and of group B */
	const struct input *like; /* window, format */
	uint64_t limit;
	bool only_workload, only_changed, exit_code;
	bool html; /* in place of the format */
	struct diff_flame *flame; /* gets the runs, too; NULL: none */
};

int diff_groups(const struct diff_groups *d);
