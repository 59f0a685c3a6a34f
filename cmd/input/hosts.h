/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * hosts: several traces, one per host, on one time axis.
 *
 *     traces --[hosts: wall clock]--> one window each --> analysis
 *                             --[rows that begin with the host]--> a renderer
 *
 * The axis counts ns from the wall-clock time at which the earliest trace begins. A trace is placed
 * on the axis by its clock readings at its window's start. The traces state how exactly each clock
 * was read, but not the offset between the clocks of different hosts. Threads: one. Functions print
 * errors to stderr and return an exit status, as in input.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/engine/report_view.h"
#include "cmd/input/input.h"
#include "cmd/render/render.h"
#include "trace/trace.h"

#define HOSTS_NAME_BYTES 80

struct host {
	struct input in;
	char name[HOSTS_NAME_BYTES]; /* host name in the trace, made unique: "db", "db#2" */
	uint64_t from_ns, to_ns; /* the window, CLOCK_MONOTONIC of that host */
	/* offset from instants of the trace (ns from its start) to instants of the axis */
	int64_t shift_ns;
	char missing[400]; /* reasons for an incomplete window; "": complete */
};

struct hosts {
	struct host *v;
	unsigned int cnt;
	uint64_t origin_real_ns; /* wall-clock time at 0 of the axis */
	/* largest error between instants of two hosts, if both clocks are right */
	uint64_t uncertainty_ns;
	/* there are several host names, so the clocks may differ */
	bool differ;
};

/* Opens all traces; like: the shared options. */
int hosts_open(struct hosts *h, const struct input *like, const char *const *paths,
	       unsigned int cnt);
void hosts_close(struct hosts *h);

/*
 * Sets the window of every trace from --from and --until. Without these options, the window is the
 * whole trace; if every_ns is not 0, it begins at a multiple of every_ns on the axis. align:
 * windows, and the axis itself, begin at whole bins of UTC of every_ns, as in align.h. needs: see
 * input_is_complete(), which sets missing.
 */
int hosts_window(struct hosts *h, const struct input *in, uint64_t every_ns, bool align,
		 struct loss_needs needs);

/*
 * Writes a view of all traces as one table to stdout. limit: rows per host, 0 for all. align: csv
 * and json also have the columns ALIGN_COLUMNS. scope: options for the commands that show more of a
 * section, or NULL.
 */
int hosts_report(struct hosts *h, const struct input *in, const struct report_view *view,
		 const struct report_request *q, uint64_t limit, bool align, const char *scope);

/*
 * align_row: columns before a row with the wall-clock time of its bin (analyze/engine/align.h), and
 * with the host and trace of the row.
 */
#define ALIGN_COLUMNS "unix_ns", "wall_uncertainty_ns"
#define ALIGN_COLUMN_CNT 2

/* Fills row[0] and row[1] for the bin that begins at t_ns, counted from the trace's start. */
void align_row(const struct trace *t, uint64_t every_ns, int64_t t_ns, struct value *row);

/*
 * Prepends the columns host and trace_id to ALIGN_COLUMNS. Their values belong to t. Call this
 * function before row_prefix_init().
 */
void align_name_trace(struct row_prefix *p, const struct trace *t);
