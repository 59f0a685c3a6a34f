/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * diff_flame: a flame graph of what two traces, or two groups of runs, have in their stacks.
 *
 *     rows of report profile, offcpu or stacks, per trace --> [diff_flame] --> page, folded lines
 *
 * Each stack has the mean of its runs on each side, per run, second or request. The colour of a
 * frame is the change of the stack that ends in it, so of its own time or bytes, if that change is
 * significant: between groups, as the verdict of groups.h; between two traces, beyond 4 standard
 * errors of that many samples.
 *
 * Threads: one. Prints; returns exit statuses.
 */
#pragma once

#include "analyze/diff/diff.h"
#include "cmd/input/input.h"

enum diff_flame_per { DIFF_FLAME_PER_DEFAULT, DIFF_FLAME_PER_RUN, DIFF_FLAME_PER_SECOND,
		      DIFF_FLAME_PER_REQUEST };

struct diff_flame_options {
	const char *path;	/* ends with ".html": a page; NULL: none is made */
	const char *view;	/* NULL: profile */
	enum diff_flame_per per; /* by default of groups per run, of two traces per second */
	bool force, is_of_groups, only_workload;
};

struct diff_flame;

int diff_flame_new(struct diff_flame **ret, const struct diff_flame_options *o);
void diff_flame_free(struct diff_flame *f);
/* Adds a run to side 0 or 1. */
int diff_flame_add(struct diff_flame *f, int side, const struct input *in,
		   const struct diff_side *of);
/* Writes the page to a stream; names: of both sides. */
int diff_flame_page(struct diff_flame *f, const char *const names[2], FILE *to, struct err *e);
/* Writes the file. */
int diff_flame_write(struct diff_flame *f, const char *const names[2]);
