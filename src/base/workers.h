/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * workers: runs numbered pieces of work in a few threads.
 *
 * Each thread repeatedly runs the next unassigned piece. After the first failure no further piece
 * is started. If no thread can be created, the caller's thread runs the pieces.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum { WORKERS_MAX = 8 };		/* maximum number of threads */

struct workers {
	unsigned int cnt;		/* number of pieces; long pieces should come first */
	/* at most WORKERS_MAX; the number of CPUs is another limit */
	unsigned int thread_max;
	/* Runs a piece, 0 .. cnt-1, in any thread. 0, or -errno and a message. */
	int (*run)(void *ctx, unsigned int piece, struct err *e);
	/* Called by the thread that waits in workers_run(), ten times a second; may be NULL. */
	void (*tick)(void *ctx);
	void *ctx;
	_Atomic bool stop;		/* a piece has failed: others may end early */

	_Atomic unsigned int next;	/* private from here on: the next unassigned piece */
	_Atomic int failed;		/* result of the first piece that failed */
	struct err err;
};

/* Returns the number of CPUs that this process may use. */
unsigned int workers_cpu_cnt(void);
/* Waits until all threads have ended. Returns 0 or the result of the first piece that failed. */
int workers_run(struct workers *w, struct err *e);
