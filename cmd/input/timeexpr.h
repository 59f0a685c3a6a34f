/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * timeexpr: the ways to name an instant of a trace on the command line.
 *
 *     1.5s  1500ms  90   after the trace's start; a bare number is seconds
 *     -2s                before the trace's end
 *     2026-03-01T12:00:00.5Z  (or +01:00, or nothing: local time of the reader)
 *     T12:00:03          that time of day, on the day the trace began (or the day after, if it
 *                        runs past midnight)
 *     @1772366400.5      seconds since 1970-01-01 UTC
 *     mark:build         a mark of that name; mark:build#2 the second one. Without "mark:", if it
 *                        looks like none of the other forms
 *
 * All arithmetic is on integers, exact to the nanosecond. Threads: any; local time is the process'
 * TZ. Errors: -EINVAL (not a time), -ERANGE (does not fit), -ENOENT (no mark of that name), with a
 * text that states the expected forms.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * The expressions count from these instants. Clocks: mono is CLOCK_MONOTONIC, real is
 * CLOCK_REALTIME, ns.
 */
struct timeexpr_base {
	uint64_t start_ns, end_ns; /* of the trace, mono */
	uint64_t start_real_ns;
	/*
	 * Converts any instant. The clock may have been set, so an instant before start_real_ns
	 * may be in the trace. NULL: mono is the wall clock itself.
	 */
	uint64_t (*mono_from_real)(void *ctx, uint64_t real_ns);
	/* The nr-th mark (from 1) of that name: 0 or -ENOENT. NULL: the trace has no marks. */
	int (*mark)(void *ctx, const char *name, uint64_t nr, uint64_t *ret_mono_ns);
	void *ctx;
};

/* A word that is a time, and no bare name, which may be a mark or anything else. */
bool timeexpr_is_time(const char *s);

/* Results before the monotonic clock's zero become 0. Results may be outside the trace. */
int timeexpr_resolve(const char *s, const struct timeexpr_base *base, uint64_t *ret_mono_ns,
		     struct err *e);

/*
 * A future instant, as a wall-clock time or as a duration from now. A time of day is the one
 * nearest to now. -ERANGE: it is in the past.
 */
int timeexpr_resolve_future(const char *s, uint64_t now_real_ns, uint64_t *ret_real_ns,
			    struct err *e);
