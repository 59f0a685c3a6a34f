/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * rings: chooses number and size of the BPF ring buffers, and the ring of each CPU, before the
 * programs are loaded; makes the ring buffers during loading.
 *
 * One ring per CPU has the least cost for the recorded programs. But each ring takes a thread and
 * memory, so on larger machines CPUs share rings: CPUs with the same last-level cache, because the
 * ring's positions then stay in that cache.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum ring_sharing {
	/* as RINGS_PER_CPU with at most TOPOLOGY_ALONE_MAX CPUs; else see below */
	RINGS_AUTO = 0,
	RINGS_PER_CPU,
	RINGS_PER_CACHE,	/* one per last-level cache */
	RINGS_COUNT,		/* rings_config.cnt rings; neighbouring CPUs share */
};

/*
 * RINGS_AUTO with more than TOPOLOGY_ALONE_MAX CPUs: at most TOPOLOGY_SHARE_MAX CPUs with the same
 * cache share a ring, or more if there would be more than TOPOLOGY_RINGS_MAX rings.
 */
#define TOPOLOGY_ALONE_MAX 16
#define TOPOLOGY_SHARE_MAX 8
#define TOPOLOGY_RINGS_MAX 64

struct rings_config {
	enum ring_sharing sharing;
	unsigned int cnt;	/* for RINGS_COUNT */
	uint64_t bytes;		/* size of each ring, rounded up to a power of two; 0: default */
};

#define RINGS_DEFAULT_BYTES (8ULL << 20)

struct rings {
	unsigned int cpu_cnt, cnt;
	unsigned int *cpu_ring;		/* by CPU: number of its ring */
	uint64_t bytes;			/* data size of each ring; a power of two */
	uint32_t wake_bytes; /* programs wake the reader if its ring holds more bytes than this */
	int *fds;			/* by ring; set by rings_make() */
};

/* Sets everything except fds. 0 or -ENOMEM. */
int rings_plan(struct rings *r, const struct rings_config *config, unsigned int cpu_cnt);

/*
 * Creates the array of maps that rings_make() fills, with a slot per CPU, instead of leaving this
 * to libbpf: the rings can then be made while the programs are being loaded. 0 or -errno.
 */
struct bpf_map;
int rings_make_slots(const struct rings *r, struct bpf_map *map);

/*
 * Creates the BPF ring buffers and inserts them into the slots of slots_fd, an array of maps with a
 * slot per CPU. locked: ring buffers count as locked memory (kernel_locks_map_memory()); if the
 * limit is exceeded, returns -EPERM.
 */
int rings_make(struct rings *r, int slots_fd, bool locked, struct err *e);
/* Runs the program flush_stage on each CPU: see probe_flush(). */
int rings_flush(const struct rings *r, int program_fd);
void rings_done(struct rings *r);

#define TOPOLOGY_DIR "/sys/devices/system/cpu"

/* Sets online[cpu] for each CPU that is online now. dir: TOPOLOGY_DIR. */
void topology_online(const char *dir, unsigned int cpu_cnt, bool *online);

/*
 * Finds the last-level cache of each of cpu_cnt CPUs: group[cpu] is the lowest CPU with the same
 * cache, or cpu itself if that is unknown (the CPU is off, or the file is missing). dir:
 * TOPOLOGY_DIR.
 */
void topology_read(const char *dir, unsigned int cpu_cnt, unsigned int *group);

/*
 * Assigns rings to cpu_cnt CPUs: ring[cpu] is the number of the CPU's ring. Returns the number of
 * rings (1..cpu_cnt), each with at least one CPU. cnt: for RINGS_COUNT.
 *
 * CPUs that are not online share the rings of the others, because a machine that supports adding
 * CPUs may have dozens of CPUs that are not online. online: NULL if all are.
 */
unsigned int topology_deal(const unsigned int *group, const bool *online, unsigned int cpu_cnt,
			   enum ring_sharing sharing, unsigned int cnt, unsigned int *ring);
