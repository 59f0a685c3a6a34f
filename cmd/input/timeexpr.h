/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * timeexpr: parses expressions for an instant of a trace on the command line.
 *
 *     1.5s  1500ms  90   after the trace's start; a bare number is seconds
 *     -2s                before the trace's end
 *     2026-03-01T12:00:00.5Z  (or +01:00, or nothing: local time of the reader)
 *     T12:00:03          that time of day, on the day the trace began (or the day after, if it
 *                        runs past midnight)
 *     @1772366400.5      seconds since 1970-01-01 UTC
 *     mark:build         the mark of that name; mark:build#2 is the second mark of that name.
 *                        "mark:" may be left out if the name has none of the other forms
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
 * The instants to which expressions are relative. Units: ns; mono: CLOCK_MONOTONIC, real:
 * CLOCK_REALTIME.
 */
struct timeexpr_base {
	uint64_t start_ns, end_ns; /* start and end of the trace, mono */
	uint64_t start_real_ns;
	/*
	 * Converts any instant. Since the clock may have been set, an instant before start_real_ns
	 * may be in the trace. NULL: mono is itself the wall clock.
	 */
	uint64_t (*mono_from_real)(void *ctx, uint64_t real_ns);
	/* Finds the nr-th mark (from 1) of a name: 0 or -ENOENT. NULL: the trace has no marks. */
	int (*mark)(void *ctx, const char *name, uint64_t nr, uint64_t *ret_mono_ns);
	void *ctx;
};

/*
 * Returns whether s has the form of a time. A bare name, which may be a mark or another word, is
 * not a time.
 */
bool timeexpr_is_time(const char *s);

/*
 * Parses an expression. *ret_mono_ns may be outside the trace; an instant before the zero of the
 * clock becomes 0.
 */
int timeexpr_resolve(const char *s, const struct timeexpr_base *base, uint64_t *ret_mono_ns,
		     struct err *e);

/*
 * Parses a future instant: a wall-clock time, or a duration from now. A time of day is the one
 * nearest to now. -ERANGE: the instant is in the past.
 */
int timeexpr_resolve_future(const char *s, uint64_t now_real_ns, uint64_t *ret_real_ns,
			    struct err *e);
