// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * rings: see rings.h. With mapped rings, whose memory is a map of the programs' own, a BPF ring
 * buffer of a page goes with each: nothing but the bell that wakes its reader.
 */
#include "probe/rings.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#define WAKE_SHARE 8	/* of a ring: filled to this part, it wakes its reader */

static uint64_t round_up_power_of_two(uint64_t v)
{
	uint64_t p = sysconf(_SC_PAGESIZE);

	while (p < v)
		p *= 2;
	return p;
}

int rings_plan(struct rings *r, const struct rings_config *config, bool mapped,
	       unsigned int cpu_cnt)
{
	unsigned int *group = calloc(cpu_cnt, sizeof(*group)), most;
	uint64_t guard;

	memset(r, 0, sizeof(*r));
	r->cpu_ring = calloc(cpu_cnt, sizeof(*r->cpu_ring));
	if (!group || !r->cpu_ring) {
		free(group);
		rings_done(r);
		return -ENOMEM;
	}
	r->mapped = mapped;
	r->cpu_cnt = cpu_cnt;
	topology_read("/sys/devices/system/cpu", cpu_cnt, group);
	r->cnt = topology_deal(group, cpu_cnt, config->sharing, config->cnt, r->cpu_ring, &most);
	free(group);
	r->bytes = round_up_power_of_two(config->bytes ? config->bytes : RINGS_DEFAULT_BYTES);
	if (mapped) {
		guard = (uint64_t)WIRE_RING_GUARD * most;
		if (r->bytes < 2 * guard)
			r->bytes = round_up_power_of_two(2 * guard);
		r->room_bytes = r->bytes - guard;
		/* the stamps only have to differ from what else may lie in the ring */
		if (getrandom(&r->key, sizeof(r->key), 0) != sizeof(r->key))
			r->key = 0x9e3779b97f4a7c15ULL * (uint64_t)getpid();
	}
	r->wake_bytes = r->bytes / WAKE_SHARE;
	return 0;
}

/* What is known of why, and what to do about it. */
static const char *next_step(int error, bool locked)
{
	if (error == EPERM && locked)
		return "this kernel counts rings as locked memory: raise `ulimit -l` or have CAP_SYS_RESOURCE";
	if (error == EPERM)
		return "this kernel does not count rings as locked memory, so it is a right: CAP_BPF is missing, or a "
		       "container's seccomp filter or a security module forbids bpf()";
	if (error == ENOMEM)
		return "rings count for the memory limit of the recorder's cgroup: raise that, or try a smaller --ring-size";
	return "try a smaller --ring-size";
}

static int cannot_make(uint64_t bytes, int error, bool locked, struct err *e)
{
	struct utsname u = { .release = "?" };

	uname(&u);
	return err_set(e, -error, "cannot make a ring of %llu bytes on Linux %s: %s; %s",
		       (unsigned long long)bytes, u.release, strerror(error), next_step(error, locked));
}

int rings_make(struct rings *r, int slots_fd, bool locked, struct err *e)
{
	uint64_t bytes = r->mapped ? (uint64_t)sysconf(_SC_PAGESIZE) : r->bytes;
	unsigned int i, cpu;

	r->fds = calloc(r->cnt, sizeof(*r->fds));
	if (!r->fds)
		return err_set(e, -ENOMEM, "out of memory");
	for (i = 0; i < r->cnt; i++)
		r->fds[i] = -1;
	for (i = 0; i < r->cnt; i++) {
		r->fds[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ebpfrec_ring", 0, 0, bytes, NULL);
		if (r->fds[i] < 0)
			return cannot_make(bytes, errno, locked, e);
	}
	for (cpu = 0; cpu < r->cpu_cnt; cpu++) {
		if (bpf_map_update_elem(slots_fd, &cpu, &r->fds[r->cpu_ring[cpu]], 0))
			return err_set(e, -errno, "cannot give CPU %u its ring: %s", cpu,
				       strerror(errno));
	}
	return 0;
}

void rings_done(struct rings *r)
{
	unsigned int i;

	for (i = 0; r->fds && i < r->cnt; i++) {
		if (r->fds[i] >= 0)
			close(r->fds[i]);
	}
	free(r->fds);
	free(r->cpu_ring);
	memset(r, 0, sizeof(*r));
}
