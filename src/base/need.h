/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * need: how much of a buffer was wanted lately: the most, an eighth less each time since. What a
 * buffer has beyond that can be given back, while what soon comes again stays.
 */
#pragma once

#include <stdint.h>

/* Threads: one for each *need, which begins as 0. Returns the new need, at least wanted. */
static inline uint64_t need_note(uint64_t *need, uint64_t wanted)
{
	uint64_t before = *need - *need / 8;

	*need = wanted > before ? wanted : before;
	return *need;
}
