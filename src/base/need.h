/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * need: the recent need for a buffer: the largest request, reduced by an eighth at each later one.
 * Capacity beyond it can be freed, while capacity that is soon needed again stays.
 */
#pragma once

#include <stdint.h>

/*
 * Updates *need, which begins as 0. Returns the new need, at least wanted. Threads: one per *need.
 */
static inline uint64_t need_note(uint64_t *need, uint64_t wanted)
{
	uint64_t before = *need - *need / 8;

	*need = wanted > before ? wanted : before;
	return *need;
}
