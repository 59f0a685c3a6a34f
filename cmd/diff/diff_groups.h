/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * diff_groups: compares two groups of traces, for `ebpfrec diff A... --with B...`. Threads: one.
 * Functions print errors and return exit statuses.
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
 * diff_flame: a flame graph of the differences between the stacks of two traces or two groups of
 * runs.
 *
 *     rows of report profile, offcpu or stacks, per trace --> [diff_flame] --> page, folded lines
 *
 * The value of a stack on a side is its time or bytes per run, second or request: the mean of the
 * side's runs. The colour of a frame shows the change of the frame's own time or bytes (of the
 * stack that ends in this frame), if that change is significant. Between groups, the verdict of
 * groups.h decides; between two traces, the change must exceed 4 standard errors, estimated from
 * the numbers of samples.
 *
 * Threads: one. Functions print errors and return exit statuses.
 */
enum diff_flame_per { DIFF_FLAME_PER_DEFAULT, DIFF_FLAME_PER_RUN, DIFF_FLAME_PER_SECOND,
		      DIFF_FLAME_PER_REQUEST };

struct diff_flame_options {
	/* output; a page if it ends with ".html", else folded lines; NULL: no output */
	const char *path;
	const char *view;	/* NULL: profile */
	enum diff_flame_per per; /* default: per run for groups, per second for two traces */
	bool force, is_of_groups, only_workload;
};

struct diff_flame;

int diff_flame_new(struct diff_flame **ret, const struct diff_flame_options *o);
void diff_flame_free(struct diff_flame *f);
/* Adds the window `of` of a trace to side 0 or 1. */
int diff_flame_add(struct diff_flame *f, int side, const struct input *in,
		   const struct diff_side *of);
/* Writes the page to a stream; names: names of both sides. */
int diff_flame_page(struct diff_flame *f, const char *const names[2], FILE *to, struct err *e);
/* Writes the output to the path of the options. */
int diff_flame_write(struct diff_flame *f, const char *const names[2]);

struct diff_groups {
	const struct lists_strings *paths; /* traces of group A and group B */
	const struct input *like; /* options of the window and format */
	uint64_t limit;
	bool only_workload, only_changed, exit_code;
	bool html; /* write a page instead of like->format */
	struct diff_flame *flame; /* also receives the runs; may be NULL */
};

int diff_groups(const struct diff_groups *d);

/*
 * diff_page: an HTML page with the figures of two groups of runs, and a box plot of each figure.
 * The page has no script and loads nothing; text of a trace is escaped. Threads: one.
 */
struct diff_page_row {
	const char *role, *figure, *change, *verdict;
	const char *text[2]; /* medians of both groups, formatted */
	bool is_worse, is_better;
	const double *values[2]; /* values of the runs, in ascending order */
	size_t cnt[2];
};

/* diff_rows: passes the results of diff_run() as rows to a renderer. Threads: one. */
struct diff_rows {
	const struct row_sink *out;
	enum render_format format;
	bool only_changed;
	bool has_small, has_few, has_digits; /* whether a row needs this legend */
};

int diff_rows_begin(const struct diff_rows *d);
/* Writes a result as a row; ctx: a struct diff_rows. */
int diff_rows_put(void *ctx, const struct diff_row *row);
