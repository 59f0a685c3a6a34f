/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sim_disk: a disk in memory behind struct files, which fails and loses its power on demand.
 *
 * Model. Written data is in a cache until its file is synced; changes of names are in a cache until
 * the directory is synced. When the power fails, any part of the unsynced changes may have
 * reached the disk:
 *   - every 512-byte sector of every write by itself (so writes are torn and out of order);
 *   - any of the sizes that the file has had since;
 *   - any of the changes of names (a rename happens as a whole or not at all).
 * A sector inside the file that never arrived has zeros or rubbish. Synced data is never lost.
 *
 * Operations are counted from 0. Threads: any. An error of the simulation itself aborts the
 * program.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/files.h"

struct sim_disk;

struct sim_plan {
	/* Index of the operation that fails. UINT64_MAX: never. */
	uint64_t fail_at;
	/* Every later operation that writes fails, too. */
	bool fail_on;
	/* The errno it fails with. 0: a write succeeds with half of the bytes. */
	int error;
	/* The power fails before this operation: it and all later ones fail. UINT64_MAX: never. */
	uint64_t power_at;
};

struct sim_disk *sim_new(const struct sim_plan *plan);
void sim_free(struct sim_disk *d);
const struct files *sim_files(struct sim_disk *d);

uint64_t sim_op_cnt(struct sim_disk *d);
unsigned int sim_open_cnt(struct sim_disk *d);	/* descriptors that are still open */
bool sim_failed(struct sim_disk *d);		/* whether the plan's failure has happened */

/* While held, a sync does not return. */
void sim_hold_syncs(struct sim_disk *d, bool hold);

/*
 * Writes the directory as its user sees it now to files in the new directory path. False: the
 * directory does not exist.
 */
bool sim_save(struct sim_disk *d, const char *path);
/*
 * Writes the directory as it is after a power failure. The seed decides which unsynced changes have
 * reached the disk.
 */
bool sim_save_after_crash(struct sim_disk *d, const char *path, uint64_t seed);

/*
 * Whether the name and [offset, offset + bytes) of the file with this name are on the disk for
 * sure.
 */
bool sim_is_durable(struct sim_disk *d, const char *name, uint64_t offset, uint64_t bytes);
