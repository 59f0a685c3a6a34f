/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * rings: the number and size of the BPF ring buffers, and the ring of each CPU. They are chosen
 * before the programs are loaded; the ring buffers are made during loading.
 *
 * A ring for each CPU is cheapest for the CPUs. But each ring takes a thread and memory, so CPUs of
 * larger machines share rings. They share with CPUs of the same last-level cache, in which the
 * positions of the ring stay.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum ring_sharing {
	/* as RINGS_PER_CPU for at most TOPOLOGY_ALONE_MAX CPUs; else as below */
	RINGS_AUTO = 0,
	RINGS_PER_CPU,
	RINGS_PER_CACHE,	/* one for each last-level cache */
	RINGS_COUNT,		/* a given number of rings; neighbouring CPUs share */
};

/*
 * RINGS_AUTO with more CPUs than TOPOLOGY_ALONE_MAX: at most TOPOLOGY_SHARE_MAX CPUs of one cache
 * share a ring. More CPUs share only if there would be more than TOPOLOGY_RINGS_MAX rings.
 */
#define TOPOLOGY_ALONE_MAX 16
#define TOPOLOGY_SHARE_MAX 8
#define TOPOLOGY_RINGS_MAX 64

struct rings_config {
	enum ring_sharing sharing;
	unsigned int cnt;	/* for RINGS_COUNT */
	uint64_t bytes;		/* of each ring, rounded up to a power of two; 0 = default */
};

#define RINGS_DEFAULT_BYTES (8ULL << 20)

struct rings {
	unsigned int cpu_cnt, cnt;
	unsigned int *cpu_ring;		/* number of the ring, by CPU */
	uint64_t bytes;			/* of data in each; a power of two */
	uint32_t wake_bytes;		/* programs wake the reader of a ring filled beyond this */
	int *fds;			/* by ring; rings_make() makes them */
};

/* Chooses everything except fds. 0 or -ENOMEM. */
int rings_plan(struct rings *r, const struct rings_config *config, unsigned int cpu_cnt);

/*
 * Makes the array of maps with a slot per CPU that rings_make() fills, in place of the loader's. So
 * the rings can be made while the programs are being loaded: 0 or -errno.
 */
struct bpf_map;
int rings_make_slots(const struct rings *r, struct bpf_map *map);

/*
 * Makes the BPF ring buffers and inserts them into the array of maps slots_fd, which has a slot per
 * CPU. locked: this kernel counts them as locked memory (kernel_locks_map_memory()) and returns
 * -EPERM if the limit is exceeded.
 */
int rings_make(struct rings *r, int slots_fd, bool locked, struct err *e);
/* Runs the program flush_stage for each CPU: see probe_flush(). */
int rings_flush(const struct rings *r, int program_fd);
void rings_done(struct rings *r);

/*
 * Finds the last-level cache of each of cpu_cnt CPUs. group[cpu] is the lowest CPU with the same
 * cache, or cpu itself if that is unknown, because the CPU is off or the file is missing. dir is
 * /sys/devices/system/cpu.
 */
void topology_read(const char *dir, unsigned int cpu_cnt, unsigned int *group);

/*
 * Assigns cpu_cnt CPUs to rings: ring[cpu] is the number of the CPU's ring. Returns the number of
 * rings (1..cpu_cnt); each has a CPU. cnt: for RINGS_COUNT.
 */
unsigned int topology_deal(const unsigned int *group, unsigned int cpu_cnt,
			   enum ring_sharing sharing, unsigned int cnt, unsigned int *ring);
