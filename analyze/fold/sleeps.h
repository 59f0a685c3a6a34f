/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sleeps: when threads slept, and who woke them.
 *
 *     time on CPUs, wake-ups --[sleeps]--> struct sleep, in order of the wake-up
 *
 * A sleep begins where a thread leaves its CPU to sleep and ends with the next wake-up of this
 * thread; both lie in the window. Of several wake-ups at one instant, one by a thread comes first.
 * Memory: in proportion to the number of threads. Threads: one.
 */
#ifndef SLEEPS_H
#define SLEEPS_H

#include "analyze/context/context.h"

struct sleep {
	uint32_t thread, waker;		/* dense; the waker may have been interrupted */
	bool is_irq;			/* an interrupt woke it */
	uint64_t left_ns, woken_ns;
};

struct sleeps_sink {		/* both return 0 or -errno */
	void *ctx;
	int (*slept)(void *ctx, const struct sleep *s);
	/* A thread had a CPU until to_ns, or to the window's end. May be NULL. */
	int (*ran)(void *ctx, uint32_t thread, uint64_t to_ns);
};

/* 0, -errno, or what the sink returned. */
int sleeps_read(struct analysis *a, uint64_t from_ns, uint64_t to_ns,
		const struct sleeps_sink *sink, struct err *e);

#endif /* SLEEPS_H */
