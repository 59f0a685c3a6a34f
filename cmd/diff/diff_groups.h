/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * diff_groups: `ebpfrec diff A... --with B...`. Threads: one. Prints; returns exit statuses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analyze/diff/diff.h"
#include "cmd/input/input.h"
#include "cmd/input/opts.h"
#include "cmd/render/render.h"

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

struct diff_groups {
	const struct lists_strings *paths; /* of group A and of group B */
	const struct input *like; /* window, format */
	uint64_t limit;
	bool only_workload, only_changed, exit_code;
	bool html; /* in place of the format */
	struct diff_flame *flame; /* gets the runs, too; NULL: none */
};

int diff_groups(const struct diff_groups *d);

/*
 * diff_page: figures of two groups of runs as a page of HTML, with a box plot of each. The page has
 * no script and loads nothing; no text of a trace is markup in it. Threads: one.
 */
struct diff_page_row {
	const char *role, *figure, *change, *verdict;
	const char *text[2]; /* the medians, for people */
	bool is_worse, is_better;
	const double *values[2]; /* of the runs, least first */
	size_t cnt[2];
};

/*
 * diff_rows: the rows of diff_run() as a table's, for people or for machines. Threads: one.
 */
struct diff_rows {
	const struct row_sink *out;
	enum render_format format;
	bool only_changed;
	bool has_small, has_few, has_digits; /* of rows that came, which a legend explains */
};

int diff_rows_begin(const struct diff_rows *d);
/* ctx: a struct diff_rows. */
int diff_rows_put(void *ctx, const struct diff_row *row);
