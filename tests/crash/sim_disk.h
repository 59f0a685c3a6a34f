/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sim_disk: a disk in memory behind struct files, that fails, and that loses its power.
 *
 * Model. What was written is in a cache until the file is synced; names until the directory is. When
 * the power goes, of everything not synced any part may have got to the disk: every 512-byte sector of every
 * write for itself (so writes are torn and out of order), any of the sizes the file has had since, any of the
 * changes of names (a rename happens as a whole or not at all). Where a file is long enough and its
 * sector never arrived there are zeros or rubbish. Nothing that was synced is ever lost.
 *
 * Operations are counted from 0. Threads: any. Whatever fails here aborts the program.
 */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "store/files.h"

struct sim_disk;

struct sim_plan {
	uint64_t fail_at;	/* the operation that fails; UINT64_MAX: none */
	bool fail_on;		/* and all writing ones after it */
	int error;		/* with this; 0: it is a write that takes half of what it was given */
	uint64_t power_at;	/* before this operation the power goes: all fail from then on; UINT64_MAX: never */
};

struct sim_disk *sim_new(const struct sim_plan *plan);
void sim_free(struct sim_disk *d);
const struct files *sim_files(struct sim_disk *d);

uint64_t sim_op_cnt(struct sim_disk *d);
unsigned int sim_open_cnt(struct sim_disk *d);	/* descriptors nobody closed */
bool sim_failed(struct sim_disk *d);		/* whether the plan's failure has happened */

/* While held, a sync does not return. */
void sim_hold_syncs(struct sim_disk *d, bool hold);

/* The directory as its user sees it now, as files in the new directory path. False: there is none. */
bool sim_save(struct sim_disk *d, const char *path);
/* As it is found after the power has gone; what of the rest has got to the disk depends on the dice. */
bool sim_save_after_crash(struct sim_disk *d, const char *path, uint64_t seed);

/* Whether [offset, offset + bytes) of the file with this name, and the name, are on the disk for sure. */
bool sim_is_durable(struct sim_disk *d, const char *name, uint64_t offset, uint64_t bytes);

#endif /* SIM_DISK_H */
