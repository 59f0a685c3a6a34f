/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * exec_maps: what all processes map as code, as the kernel tells it to perf: mmap, mprotect and dlopen of
 * executable memory, exec, fork, exit, each with its time; with the file's build id since 5.12, before that with
 * its device and inode. Costs nothing but those records. Needs CAP_PERFMON when it is opened, later nothing.
 *
 * CPUs that come online later are not watched. Threads: one.
 */
#ifndef EXEC_MAPS_H
#define EXEC_MAPS_H

#include <stdint.h>

#include "symbol/map_book.h"

struct exec_maps;

/* < 0: what perf_event_open() said. */
int exec_maps_open(struct exec_maps **ret, unsigned int cpu_cnt);
void exec_maps_close(struct exec_maps *m);

/*
 * Hands out what came since the last call, in order of time; records are good during the call. < 0 from note ends it,
 * and is returned.
 */
int exec_maps_read(struct exec_maps *m, int (*note)(void *ctx, const struct map_record *r), void *ctx);
/* How many records the kernel had no room for since the last call of this. */
uint64_t exec_maps_take_lost(struct exec_maps *m);

#endif /* EXEC_MAPS_H */
