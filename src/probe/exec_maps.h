/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * exec_maps: what all processes map as code, as the kernel tells it to perf. There is a record of
 * each mmap, mprotect and dlopen of executable memory, and of exec, fork and exit, with its time.
 * The file is named by its build id since 5.12, and before that by device and inode. Only these
 * records cost anything. Opening needs CAP_PERFMON; reading needs no capability.
 *
 * CPUs that come online later are not covered. Threads: one.
 */
#pragma once

#include <stdint.h>

#include "symbol/map_cache.h"

struct exec_maps;

/* < 0: the error of perf_event_open(). */
int exec_maps_open(struct exec_maps **ret, unsigned int cpu_cnt);
void exec_maps_close(struct exec_maps *m);

/*
 * Calls note for what came since the last call, in the order of time. A record is valid during the
 * call of note. A result < 0 of note ends the reading and is returned. *ret_lost is how many
 * records the kernel had no room for; it is not set when there is no memory.
 */
int exec_maps_read(struct exec_maps *m, int (*note)(void *ctx, const struct map_record *r),
		   void *ctx, uint64_t *ret_lost);
