/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * record_repeat: the same recording several times, each by a process of its own: a recorder drops
 * its privileges when its programs run, so it records once.
 *
 * Threads: one. Prints errors; returns exit statuses.
 */
#pragma once

#include <stdint.h>

#include "cmd/input/opts.h"

struct record_repeat {
	uint64_t cnt; /* runs; 0: --repeat was not given */
	uint64_t warm_up; /* the first of them */
};

#define RECORD_REPEAT_MAX 1000

/*
 * Calls one() for the traces OUTPUT.1 to OUTPUT.cnt. It adds the notes "run=N" and, for a warm-up,
 * "warm_up=1". The status is that of the first run that fails. The runs end at a signal, or if one
 * could not be recorded.
 */
int record_repeat(const struct record_repeat *r, const char *output, struct lists_strings *notes,
		  int (*one)(void *ctx, const char *output), void *ctx);
