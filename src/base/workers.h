/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * workers: a few threads share numbered pieces of work.
 *
 * Each thread takes the next piece and completes it. After the first failure no further piece is
 * started. If no other thread can be started, the caller's thread does the work.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum { WORKERS_MAX = 8 };		/* threads */

struct workers {
	unsigned int cnt;		/* of pieces; long ones come first */
	/* WORKERS_MAX at most; also limited by the number of CPUs */
	unsigned int thread_max;
	/* Called by any thread, with 0 .. cnt-1. 0, or -errno and a message. */
	int (*run)(void *ctx, unsigned int piece, struct err *e);
	/* Called by the caller's thread ten times a second; may be NULL. */
	void (*tick)(void *ctx);
	void *ctx;
	_Atomic bool stop;		/* a piece has failed: the others may end early */

	_Atomic unsigned int next;	/* private from here on: the next unassigned piece */
	_Atomic int failed;		/* result and message of the first piece that failed */
	struct err err;
};

/* Returns when all threads have ended: 0, or the result of the first piece that failed. */
int workers_run(struct workers *w, struct err *e);
