/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * exec_maps: the code mappings of all processes, from perf records of the kernel: one with a
 * timestamp for each mmap, mprotect and dlopen of executable memory, and for each exec, fork and
 * exit. A record identifies the file by build id since 5.12, before that by device and inode. Only
 * these events have a cost. Opening needs CAP_PERFMON; reading needs no capability.
 *
 * CPUs that come online later are not covered. Threads: one.
 */
#pragma once

#include <stdint.h>

#include "symbol/module_cache.h"

struct exec_maps;

/* < 0: error of perf_event_open(). */
int exec_maps_open(struct exec_maps **ret, unsigned int cpu_cnt);
void exec_maps_close(struct exec_maps *m);

/*
 * Calls note for each record since the last call, in order of time. The record is valid until note
 * returns. A result < 0 of note ends the reading and is returned. *ret_lost: number of records for
 * which the kernel had no room; not set if memory is exhausted.
 */
int exec_maps_read(struct exec_maps *m, int (*note)(void *ctx, const struct map_record *r),
		   void *ctx, uint64_t *ret_lost);
