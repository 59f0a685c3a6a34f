/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * workers: a few threads share numbered pieces of work.
 *
 * Each thread takes the next piece and does it to its end. After the first failure no piece is
 * begun. Without a second thread to be had, the caller's own does the work.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum { WORKERS_MAX = 8 };		/* threads */

struct workers {
	unsigned int cnt;		/* of pieces; those that take long come first */
	unsigned int thread_max;	/* WORKERS_MAX at most; CPUs limit the threads, too */
	/* Any thread calls it, with 0 .. cnt-1. 0, or -errno and what is wrong. */
	int (*run)(void *ctx, unsigned int piece, struct err *e);
	/* The caller's thread calls it ten times a second. NULL: nobody wants to know. */
	void (*tick)(void *ctx);
	void *ctx;
	_Atomic bool stop;		/* a piece has failed: the others may end early */

	_Atomic unsigned int next;	/* private from here on: the piece that nobody has taken */
	_Atomic int failed;		/* what the first piece that failed has returned, and why */
	struct err err;
};

/* Returns when all threads have ended: 0, or what the first piece that failed has returned. */
int workers_run(struct workers *w, struct err *e);
