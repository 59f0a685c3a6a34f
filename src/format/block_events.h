/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_events: converts all events of a block into columns, for programs that write selected
 * events. Threads: one. Errors: -ENOMEM, -EINVAL, -E2BIG.
 */
#pragma once

#include <stddef.h>

#include "format/block_out.h"
#include "format/event.h"

/*
 * Adds UTIDS and the columns of events, which are in order of time, with CPUs below head->cpu_cnt.
 * Call this after adding the block's other small sections. Sets kind_cnt, first_ns and last_ns of
 * head.
 */
int block_events_add(struct block_out *o, const struct event *events, size_t cnt,
		     struct disk_block *head);
