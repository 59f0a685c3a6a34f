/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * hosts: several traces as one, each of a host of its own, on one axis of time.
 *
 *     traces --[hosts: wall clock]--> one window each --> analysis --[rows with the host first]--> a renderer
 *
 * The axis counts ns from the wall-clock time at which the first of the traces begins. A trace is put on it by its
 * clock rows, at its window's start; how well those were read is known, how far the clocks of different hosts were
 * apart is not. Threads: one. Functions print what is wrong to stderr and return an exit status, as those of input.h.
 */
#ifndef HOSTS_H
#define HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "cmd/input.h"
#include "cmd/opts.h"

#define HOSTS_NAME_BYTES 80

struct host {
	struct input in;
	struct trace *trace;
	char name[HOSTS_NAME_BYTES];	/* as the trace says, made distinct: "db", "db#2" */
	uint64_t from_ns, to_ns;	/* its window, CLOCK_MONOTONIC of that host */
	int64_t shift_ns;	/* to be added to its instants (ns from its start) to be on the axis */
	char missing[400];	/* what the window lacks; "": nothing */
};

struct hosts {
	struct host *v;
	unsigned int cnt;
	uint64_t origin_real_ns;	/* 0 of the axis */
	uint64_t uncertainty_ns;	/* how far two hosts' readings may be apart, clocks being right */
	bool differ;			/* there are hosts of different names: their clocks may differ */
};

/* Opens all; like has the options they share. */
int hosts_open(struct hosts *h, const struct input *like, const char *const *paths, unsigned int cnt);
void hosts_close(struct hosts *h);

/*
 * The window of --from and --to in all of them; without these, of each trace its whole, beginning with a whole step
 * of the axis when every_ns is not 0. needs: for missing, as input_is_complete() takes them.
 */
int hosts_window(struct hosts *h, const struct input *in, const struct opts_command *command,
		 uint64_t every_ns, struct input_needs needs);

/* One view of all of them, into one table on stdout. limit: rows of each host, 0 for all. */
int hosts_report(struct hosts *h, const struct input *in, const struct opts_command *command,
		 const struct report_view *view, const struct report_request *q, uint64_t limit);

#endif /* HOSTS_H */
