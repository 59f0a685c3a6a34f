/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * rings: how many rings there are, of what kind and size, and which CPU writes to which.
 * Decided before the programs are loaded, made after.
 */
#ifndef RINGS_H
#define RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "probe/topology.h"
#include "ring/ringmap.h"

struct rings_config {
	enum ring_sharing sharing;
	unsigned int cnt;	/* RINGS_COUNT */
	uint64_t bytes;		/* of each, rounded up to a power of two; 0 = RINGS_DEFAULT_BYTES */
	bool plain;		/* BPF ring buffers even where the kernel offers what mapped rings need */
};

#define RINGS_DEFAULT_BYTES (8ULL << 20)

/* What the programs are to be told. */
struct rings {
	bool mapped;
	unsigned int cpu_cnt, cnt;
	unsigned int *cpu_ring;		/* by CPU */
	uint64_t bytes;			/* of data in each; a power of two */
	uint64_t room_bytes;		/* of these, how many may wait (mapped) */
	uint32_t wake_bytes;		/* a ring filled beyond this wakes its reader */
	uint64_t key;
	int *fds;			/* of the BPF ring buffers, made by rings_make() */
};

/* Decides everything but fds. -ENOMEM. */
int rings_plan(struct rings *r, const struct rings_config *config, bool mapped,
	       unsigned int cpu_cnt);

/*
 * Makes the BPF ring buffers and puts them into the array of maps behind slots_fd, one slot per CPU. locked: this kernel
 * counts them as locked memory (kernel_locks_map_memory()), which is what it says -EPERM for.
 */
int rings_make(struct rings *r, int slots_fd, bool locked, struct err *e);
void rings_done(struct rings *r);

#endif /* RINGS_H */
