/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* rings: see rings.h. CPUs are ordered by their caches, and this sequence is divided into rings. */
#include "probe/rings.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define WAKE_SHARE 8	/* a ring wakes its reader if an eighth of it is filled */

/* ---- assignment of rings to CPUs ---- */

/*
 * Returns the number at the start of a file, for example 0 for the list "0-7,64-71". -1: error.
 */
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

void topology_online(const char *dir, unsigned int cpu_cnt, bool *online)
{
	unsigned int from, to;
	char path[512];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "%s/online", dir);
	f = fopen(path, "re");
	/* ranges: "0-3,6" */
	while (f && (n = fscanf(f, "%u-%u", &from, &to)) >= 1) {
		for (to = n == 1 ? from : to; from <= to && from < cpu_cnt; from++)
			online[from] = true;
		if (fgetc(f) != ',')
			break;
	}
	if (f)
		fclose(f);
}

void topology_read(const char *dir, unsigned int cpu_cnt, unsigned int *group)
{
	char path[512];

	for (unsigned int cpu = 0; cpu < cpu_cnt; cpu++) {
		long best = 0;

		group[cpu] = cpu;
		for (unsigned int i = 0; i < 16; i++) {
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
	/* A CPU forms its own group if the first CPU of its group belongs to another group. */
	for (unsigned int cpu = 0; cpu < cpu_cnt; cpu++) {
		if (group[group[cpu]] != group[cpu])
			group[cpu] = cpu;
	}
}

/*
 * Assigns the CPUs of one group to rings, from ring `first` on, with at most `most` CPUs per ring.
 * Returns the number of rings.
 */
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
		/* The first CPU of a group assigns the whole group. */
		if (group[cpu] == cpu)
			cnt += deal_group(group, cpu_cnt, cpu, most, cnt, ring);
	}
	return cnt;
}

/* Merges neighbouring rings until there are at most cnt. */
static unsigned int merge(unsigned int cpu_cnt, unsigned int have, unsigned int cnt,
			  unsigned int *ring)
{
	if (have <= cnt)
		return have;
	for (unsigned int cpu = 0; cpu < cpu_cnt; cpu++)
		ring[cpu] = (uint64_t)ring[cpu] * cnt / have;
	return cnt;
}

static unsigned int deal(const unsigned int *group, unsigned int cpu_cnt,
			 enum ring_sharing sharing, unsigned int cnt, unsigned int *ring)
{
	unsigned int have;

	if (sharing == RINGS_AUTO && cpu_cnt > TOPOLOGY_ALONE_MAX) {
		have = deal_groups(group, cpu_cnt, TOPOLOGY_SHARE_MAX, ring);
		cnt = TOPOLOGY_RINGS_MAX;
	} else if (sharing == RINGS_PER_CACHE) {
		have = deal_groups(group, cpu_cnt, cpu_cnt, ring);
		cnt = cpu_cnt;
	} else {
		/*
		 * First assign one ring per CPU, in order of the caches; merge() then reduces their
		 * number.
		 */
		have = deal_groups(group, cpu_cnt, 1, ring);
		if (sharing != RINGS_COUNT || !cnt)
			cnt = cpu_cnt;
	}
	return merge(cpu_cnt, have, cnt, ring);
}

/* on: the online CPUs. Returns the index in `on` of the first CPU that shares on[i]'s cache. */
static unsigned int leader_of(const unsigned int *group, const unsigned int *on, unsigned int i)
{
	unsigned int k = 0;

	while (group[on[k]] != group[on[i]])
		k++;
	return k;
}

unsigned int topology_deal(const unsigned int *group, const bool *online, unsigned int cpu_cnt,
			   enum ring_sharing sharing, unsigned int cnt, unsigned int *ring)
{
	unsigned int *on = calloc(cpu_cnt, 3 * sizeof(*on)), *on_group, *on_ring, i, on_cnt = 0;
	unsigned int have, off_cnt = 0;

	for (i = 0; on && i < cpu_cnt; i++)
		if (!online || online[i])
			on[on_cnt++] = i;
	if (!on_cnt) {
		free(on);
		return deal(group, cpu_cnt, sharing, cnt, ring);
	}
	on_group = on + cpu_cnt;
	on_ring = on_group + cpu_cnt;
	for (i = 0; i < on_cnt; i++)
		on_group[i] = leader_of(group, on, i);
	have = deal(on_group, on_cnt, sharing, cnt, on_ring);
	for (i = 0; i < on_cnt; i++)
		ring[on[i]] = on_ring[i];
	for (i = 0; i < cpu_cnt; i++)
		if (online && !online[i])
			ring[i] = off_cnt++ % have;
	free(on);
	return have;
}

/* ---- the rings ---- */

static uint64_t round_up_power_of_two(uint64_t v)
{
	uint64_t p = sysconf(_SC_PAGESIZE);

	while (p < v)
		p *= 2;
	return p;
}

int rings_plan(struct rings *r, const struct rings_config *config, unsigned int cpu_cnt)
{
	unsigned int *group = calloc(cpu_cnt, sizeof(*group));
	bool *online = calloc(cpu_cnt, sizeof(*online));

	memset(r, 0, sizeof(*r));
	r->cpu_ring = calloc(cpu_cnt, sizeof(*r->cpu_ring));
	if (!group || !online || !r->cpu_ring) {
		free(group);
		free(online);
		rings_done(r);
		return -ENOMEM;
	}
	topology_online(TOPOLOGY_DIR, cpu_cnt, online);
	r->cpu_cnt = cpu_cnt;
	/* if no CPUs share a ring, do not look up their caches: this takes 10 files per CPU */
	if (config->sharing == RINGS_PER_CPU ||
	    (config->sharing == RINGS_AUTO && cpu_cnt <= TOPOLOGY_ALONE_MAX)) {
		for (unsigned int cpu = 0; cpu < cpu_cnt; cpu++)
			group[cpu] = cpu;
	} else {
		topology_read(TOPOLOGY_DIR, cpu_cnt, group);
	}
	r->cnt = topology_deal(group, online, cpu_cnt, config->sharing, config->cnt, r->cpu_ring);
	free(group);
	free(online);
	r->bytes = round_up_power_of_two(config->bytes ? config->bytes : RINGS_DEFAULT_BYTES);
	r->wake_bytes = r->bytes / WAKE_SHARE;
	return 0;
}

/* Returns the likely reason of an error, and what to do about it. */
static const char *next_step(int error, bool locked)
{
	if (error == EPERM && locked)
		return "this kernel counts rings as locked memory: raise `ulimit -l` or have "
		       "CAP_SYS_RESOURCE";
	if (error == EPERM)
		return "this kernel does not count rings as locked memory, so it is a right: "
		       "CAP_BPF is missing, or a container's seccomp filter or a security module "
		       "forbids bpf()";
	if (error == ENOMEM)
		return "rings count for the memory limit of the recorder's cgroup: raise that, or "
		       "try a smaller --ring-size";
	return "try a smaller --ring-size";
}

static int cannot_make(uint64_t bytes, int error, bool locked, struct err *e)
{
	struct utsname u = { .release = "?" };

	uname(&u);
	return err_set(e, -error, "cannot make a ring of %llu bytes on Linux %s: %s; %s",
		       (unsigned long long)bytes, u.release, strerror(error),
		       next_step(error, locked));
}

/* Fills all slots in one call: after each call, the kernel waits for an RCU grace period. */
static int fill_slots_at_once(const struct rings *r, int slots_fd)
{
	__u32 *keys = calloc(r->cpu_cnt, 2 * sizeof(*keys)), *fds;
	__u32 cnt = r->cpu_cnt, cpu;
	int err;

	if (!keys)
		return -ENOMEM;
	fds = keys + r->cpu_cnt;
	for (cpu = 0; cpu < r->cpu_cnt; cpu++) {
		keys[cpu] = cpu;
		fds[cpu] = (__u32)r->fds[r->cpu_ring[cpu]];
	}
	err = bpf_map_update_batch(slots_fd, keys, fds, &cnt, NULL);
	free(keys);
	return err;
}

int rings_make_slots(const struct rings *r, struct bpf_map *map)
{
	int like = bpf_map_create(BPF_MAP_TYPE_RINGBUF, NULL, 0, 0, sysconf(_SC_PAGESIZE), NULL);
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = like);
	int fd, err;

	if (like < 0)
		return -errno;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "rings", sizeof(__u32), sizeof(__u32),
			    r->cpu_cnt, &opts);
	err = fd < 0 ? -errno : bpf_map__reuse_fd(map, fd);
	close(like);
	if (fd >= 0)
		close(fd);
	return err;
}

int rings_make(struct rings *r, int slots_fd, bool locked, struct err *e)
{
	unsigned int i, cpu;

	r->fds = calloc(r->cnt, sizeof(*r->fds));
	if (!r->fds)
		return err_set(e, -ENOMEM, "out of memory");
	for (i = 0; i < r->cnt; i++)
		r->fds[i] = -1;
	for (i = 0; i < r->cnt; i++) {
		r->fds[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ebpfrec_ring", 0, 0, r->bytes,
					   NULL);
		if (r->fds[i] < 0)
			return cannot_make(r->bytes, errno, locked, e);
	}
	if (!fill_slots_at_once(r, slots_fd))
		return 0;
	/* Before 5.14, each slot needs a call. */
	for (cpu = 0; cpu < r->cpu_cnt; cpu++) {
		if (bpf_map_update_elem(slots_fd, &cpu, &r->fds[r->cpu_ring[cpu]], 0))
			return err_set(e, -errno, "cannot give CPU %u its ring: %s", cpu,
				       strerror(errno));
	}
	return 0;
}

int rings_flush(const struct rings *r, int program_fd)
{
	bool is_left = false;

	for (uint64_t cpu = 0; cpu < r->cpu_cnt; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &cpu, .ctx_size_in = sizeof(cpu),
			    .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (uint32_t)cpu);
		int err = bpf_prog_test_run_opts(program_fd, &opts);

		if (err == -ENXIO) {	/* the CPU is offline: its area is unused */
			opts.flags = 0;
			opts.cpu = 0;
			err = bpf_prog_test_run_opts(program_fd, &opts);
		}
		if (err)
			return err;
		is_left |= opts.retval != 0;
	}
	return is_left ? -EAGAIN : 0;
}

void rings_done(struct rings *r)
{
	for (unsigned int i = 0; r->fds && i < r->cnt; i++) {
		if (r->fds[i] >= 0)
			close(r->fds[i]);
	}
	free(r->fds);
	free(r->cpu_ring);
	memset(r, 0, sizeof(*r));
}
