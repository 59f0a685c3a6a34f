/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * probe: the BPF side of a recording, loaded and attached.
 *
 *     kernel hooks --> [probe] --ring file descriptors--> src/ring
 *
 * Opening checks privileges and picks programs by what the kernel offers; nothing runs
 * until probe_attach(). Threads: one, except that probe_counters() may be read from any.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/wire.h"
#include "probe/rings.h"

struct probe;

struct probe_config {
	uint32_t sources;	/* mask of SOURCE_BIT */
	uint64_t stacks_min_bytes;	/* stacks of allocations of that size and more; 0: none */
	uint32_t stacks_every;		/* stacks of every so-manieth instead; 0: by size */
	bool only;		/* the kernel drops what is not of the target set */
	uint64_t cgroup_id;	/* the target set follows this cgroup; 0: none */
	struct rings_config rings;
	const char *btf_file;	/* BTF to use instead of /sys/kernel/btf/vmlinux; NULL: none */
	/* A picked source (or a part of it) that this kernel does not have. May be NULL. */
	void (*warn)(void *ctx, const char *text);
	void *warn_ctx;
};

/*
 * -EPERM: says which capability is missing. -ENOENT: no BTF. -ENOSYS: a hook that cannot be
 * done without is missing, or the kernel refused a program (says which and why).
 */
int probe_open(struct probe **ret, const struct probe_config *config, struct err *e);
void probe_close(struct probe *p);

unsigned int probe_cpu_cnt(const struct probe *p);	/* possible CPUs */
unsigned int probe_ring_cnt(const struct probe *p);
/* Descriptors stay the probe's. */
struct ring_place probe_ring_place(const struct probe *p, unsigned int ring);

/* Adds a process to the target set. */
int probe_add_target(struct probe *p, uint32_t pid);

/* Attaches every picked program; on return all of them see events. */
int probe_attach(struct probe *p, struct err *e);
void probe_detach(struct probe *p);

/*
 * Detaches the programs of one attached source (enum source), and attaches them again. Some of its
 * records may still come after the first returns; on return of the second all its programs see events.
 */
void probe_source_off(struct probe *p, unsigned int source);
int probe_source_on(struct probe *p, unsigned int source, struct err *e);

/*
 * To be called when the kernel was seen to have skipped programs of a hook that is attached: from now on
 * a second program sends what it skips, where there is one.
 */
int probe_take_skipped(struct probe *p, unsigned int hook, struct err *e);

/* Calls row for every thread there is, with a record valid during the call; < 0 from row ends it. */
int probe_snapshot(struct probe *p, int (*row)(void *ctx, const struct wire_snap *snap), void *ctx,
		   struct err *e);

/* What the programs of a hook count on one CPU since loading; live, values only grow. */
struct probe_count {
	uint64_t attempted;
	uint64_t lost_full, lost_other;
};
struct probe_count probe_count(const struct probe *p, unsigned int cpu, unsigned int hook);

/*
 * How often the kernel skipped, and ran, the programs of a hook since loading. Hooks without a program give 0.
 * An event that a hook's second program sent was not missed; and of two programs at one event
 * (bpf/alloc.bpf.c) the time counts and the run is one.
 * Runs of programs that send nothing themselves count for the first hook of their source.
 */
struct probe_run_stats {
	uint64_t missed_cnt;
	uint64_t run_cnt, run_time_ns;	/* only while statistics were on */
};
int probe_read_stats(const struct probe *p, struct probe_run_stats stats[WIRE_HOOK_MAX]);
/*
 * What of the caller's capabilities is needed to go on after probe_attach(), as a mask of
 * PRIVILEGE_BIT: none, or CAP_BPF where the kernel refuses bpf() altogether without it (before 5.19
 * with kernel.unprivileged_bpf_disabled).
 */
uint64_t probe_needs(struct probe *p);

/* Name and object size of a slab cache at a kernel address. */
int probe_cache_name(struct probe *p, uint64_t addr, char *name, size_t size,
		     uint64_t *ret_object_bytes);

/* Space-separated names of the loaded programs, for the manifest. */
const char *probe_programs(const struct probe *p);

/* What the caller lacks to record ("CAP_BPF and CAP_PERFMON"), or NULL. */
const char *probe_missing_capability(void);

/* libbpf's version at run time: "v1.1". */
const char *probe_library_version(void);

#endif /* PROBE_H */
