/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * topology: which CPUs share a cache, and so which ring each CPU writes to.
 *
 * A ring of its own is the cheapest for a CPU. But each ring has a thread and memory, so that larger
 * machines share: CPUs behind the same last-level cache, where the shared positions stay.
 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include <stdint.h>

enum ring_sharing {
	RINGS_AUTO = 0,		/* as CPU up to TOPOLOGY_ALONE_MAX CPUs, beyond it as below */
	RINGS_PER_CPU,
	RINGS_PER_CACHE,	/* one for each last-level cache */
	RINGS_COUNT,		/* a number of rings; neighbouring CPUs share */
};

/* RINGS_AUTO: CPUs of one cache share, at most this many a ring, and more only beyond so many rings. */
#define TOPOLOGY_ALONE_MAX 16
#define TOPOLOGY_SHARE_MAX 8
#define TOPOLOGY_RINGS_MAX 64

/*
 * Which last-level cache each of cpu_cnt CPUs is behind: group[cpu] is the lowest CPU behind the same
 * one, the CPU itself where that cannot be told (it is off, or there is no such file).
 * dir is /sys/devices/system/cpu.
 */
void topology_read(const char *dir, unsigned int cpu_cnt, unsigned int *group);

/*
 * Deals cpu_cnt CPUs out: ring[cpu] < number of rings, which is returned (1..cpu_cnt) and has no ring
 * without a CPU. *ret_most: the most CPUs that share one. cnt: for RINGS_COUNT.
 */
unsigned int topology_deal(const unsigned int *group, unsigned int cpu_cnt,
			   enum ring_sharing sharing, unsigned int cnt, unsigned int *ring,
			   unsigned int *ret_most);

#endif /* TOPOLOGY_H */
