/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * hosts: several traces, one per host, on one time axis.
 *
 *     traces --[hosts: wall clock]--> one window each --> analysis
 *                             --[rows that begin with the host]--> a renderer
 *
 * The axis counts ns from the wall-clock time at which the earliest trace begins. The clock rows of
 * a trace at its window's start give its place on the axis. The traces tell how exactly each clock
 * was read, but not the offset between the clocks of different hosts. Threads: one. Functions print
 * errors to stderr and return an exit status, as in input.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/engine/report_view.h"
#include "cmd/input/input.h"
#include "cmd/render/row_prefix.h"
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
	/* largest distance between readings of two hosts, if their clocks are right */
	uint64_t uncertainty_ns;
	/* the host names differ, so the clocks may differ */
	bool differ;
};

/* Opens all traces; like has the shared options. */
int hosts_open(struct hosts *h, const struct input *like, const char *const *paths,
	       unsigned int cnt);
void hosts_close(struct hosts *h);

/*
 * Sets the window of every trace from --from and --until. Without these options the window is the
 * whole trace, from a full step of the axis on if every_ns is not 0. align: windows are whole bins
 * of every_ns of UTC, as in align.h, and so is the axis' beginning. needs: for missing, as in
 * input_is_complete().
 */
int hosts_window(struct hosts *h, const struct input *in, uint64_t every_ns, bool align,
		 struct loss_needs needs);

/*
 * Writes one view of all traces as one table to stdout. limit: rows per host, 0 for all. align: csv
 * and json have the columns of align.h. scope: options for the commands that show more of a
 * section, or NULL.
 */
int hosts_report(struct hosts *h, const struct input *in, const struct report_view *view,
		 const struct report_request *q, uint64_t limit, bool align, const char *scope);

/*
 * align_row: says in front of a row when its bin was by the wall clock (analyze/engine/align.h),
 * and whose the row is.
 */
/* Columns in front of a row. */
#define ALIGN_COLUMNS "unix_ns", "wall_uncertainty_ns"
#define ALIGN_COLUMN_CNT 2

/* Fills row[0] and row[1] for the bin that begins at t_ns, counted from the trace's start. */
void align_row(const struct trace *t, uint64_t every_ns, int64_t t_ns, struct value *row);

/*
 * Prepends host and trace_id to the columns above, for rows that identify their trace. The texts
 * are t's. Call it before row_prefix_init().
 */
void align_name_trace(struct row_prefix *p, const struct trace *t);
