/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_events: decoded events back into the columns of a block, for programs that pick events.
 * Small sections of the block's own go first. Threads: one. Errors: -ENOMEM, -EINVAL, -E2BIG.
 */
#ifndef BLOCK_EVENTS_H
#define BLOCK_EVENTS_H

#include <stddef.h>

#include "chunk/block_out.h"
#include "event/event.h"

/*
 * Adds UTIDS and the columns of events, which are in order of time and of CPUs below head->cpu_cnt.
 * head gets kind_cnt, first_ns and last_ns.
 */
int block_events_add(struct block_out *o, const struct event *events, size_t cnt,
		     struct disk_block *head);

#endif /* BLOCK_EVENTS_H */
