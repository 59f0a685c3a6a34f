// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * topology: see topology.h. CPUs are put in the order of their caches, and that order is
 * cut into rings.
 */
#include "probe/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number a file begins with, or -1: of a list like "0-7,64-71" the first CPU. */
static long read_first(const char *path)
{
	FILE *f = fopen(path, "re");
	long n = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%ld", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

void topology_read(const char *dir, unsigned int cpu_cnt, unsigned int *group)
{
	unsigned int cpu, i;
	char path[512];

	for (cpu = 0; cpu < cpu_cnt; cpu++) {
		long best = 0;

		group[cpu] = cpu;
		for (i = 0; i < 16; i++) {
			long level, first;

			snprintf(path, sizeof(path), "%s/cpu%u/cache/index%u/level", dir, cpu, i);
			level = read_first(path);
			if (level < 0)
				break;
			snprintf(path, sizeof(path), "%s/cpu%u/cache/index%u/shared_cpu_list", dir,
				 cpu, i);
			first = read_first(path);
			if (level > best && first >= 0 && first < (long)cpu_cnt) {
				best = level;
				group[cpu] = first;
			}
		}
	}
	/* a CPU whose leader does not say so itself (it is off) leads */
	for (cpu = 0; cpu < cpu_cnt; cpu++) {
		if (group[group[cpu]] != group[cpu])
			group[cpu] = cpu;
	}
}

/* Deals the CPUs of one group to as many rings as at most `most` CPUs each take, starting with ring first. */
static unsigned int deal_group(const unsigned int *group, unsigned int cpu_cnt, unsigned int leader,
			       unsigned int most, unsigned int first, unsigned int *ring)
{
	unsigned int cpu, cnt = 0, parts, i = 0;

	for (cpu = 0; cpu < cpu_cnt; cpu++)
		cnt += group[cpu] == leader;
	parts = (cnt + most - 1) / most;
	for (cpu = 0; cpu < cpu_cnt; cpu++) {
		if (group[cpu] == leader)
			ring[cpu] = first + (uint64_t)i++ * parts / cnt;
	}
	return parts;
}

static unsigned int deal_groups(const unsigned int *group, unsigned int cpu_cnt, unsigned int most,
				unsigned int *ring)
{
	unsigned int cpu, cnt = 0;

	for (cpu = 0; cpu < cpu_cnt; cpu++) {
		/* the first of its group brings the whole group */
		if (group[cpu] == cpu)
			cnt += deal_group(group, cpu_cnt, cpu, most, cnt, ring);
	}
	return cnt;
}

/* Neighbours share until there are at most cnt rings. */
static unsigned int merge(unsigned int cpu_cnt, unsigned int have, unsigned int cnt,
			  unsigned int *ring)
{
	unsigned int cpu;

	if (have <= cnt)
		return have;
	for (cpu = 0; cpu < cpu_cnt; cpu++)
		ring[cpu] = (uint64_t)ring[cpu] * cnt / have;
	return cnt;
}

static unsigned int most_sharing(const unsigned int *ring, unsigned int cpu_cnt)
{
	unsigned int *cnt = calloc(cpu_cnt, sizeof(*cnt)), cpu, most = 1;

	if (!cnt)
		return cpu_cnt;
	for (cpu = 0; cpu < cpu_cnt; cpu++) {
		if (++cnt[ring[cpu]] > most)
			most = cnt[ring[cpu]];
	}
	free(cnt);
	return most;
}

unsigned int topology_deal(const unsigned int *group, unsigned int cpu_cnt,
			   enum ring_sharing sharing, unsigned int cnt, unsigned int *ring,
			   unsigned int *ret_most)
{
	unsigned int have;

	if (sharing == RINGS_AUTO && cpu_cnt > TOPOLOGY_ALONE_MAX) {
		have = deal_groups(group, cpu_cnt, TOPOLOGY_SHARE_MAX, ring);
		cnt = TOPOLOGY_RINGS_MAX;
	} else if (sharing == RINGS_PER_CACHE) {
		have = deal_groups(group, cpu_cnt, cpu_cnt, ring);
		cnt = cpu_cnt;
	} else {
		/* a ring each, in the order of their caches */
		have = deal_groups(group, cpu_cnt, 1, ring);
		if (sharing != RINGS_COUNT || !cnt)
			cnt = cpu_cnt;
	}
	have = merge(cpu_cnt, have, cnt, ring);
	*ret_most = most_sharing(ring, cpu_cnt);
	return have;
}
