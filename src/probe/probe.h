/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * probe: the BPF side of a recording, loaded and attached.
 *
 *     kernel hooks --> [probe] --ring file descriptors--> src/ring
 *
 * Opening checks privileges and selects programs by the kernel's features. No program runs until
 * probe_attach(). Threads: one, except that any thread may call probe_count().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/helper.h"
#include "bpf/wire.h"
#include "probe/rings.h"

struct probe;
struct span_probes;

#define PROBE_OFFCPU_NS 1000000ULL

struct probe_config {
	uint32_t sources;	/* mask of SOURCE_BIT */
	uint64_t stacks_min_bytes;	/* stacks of allocations of at least this size; 0: none */
	uint32_t stacks_every;		/* stacks of every n-th allocation instead; 0: by size */
	/*
	 * sched.offcpu: waits of at least this length, and an error if this kernel cannot record
	 * them; 0: at least PROBE_OFFCPU_NS, and no error
	 */
	uint64_t offcpu_ns;
	uint64_t profile_ns;	/* cpu.sample: period of the samples of each CPU */
	/* mask of cpu.sample and sched.offcpu: copy the user stack, from 5.15 */
	uint32_t copies;
	bool of_all;		/* stacks and waits of all threads: the target set is not used */
	/* alloc.heap: a program with its own malloc, probed like a C library; NULL: none */
	const struct span_probes *span_probes;	/* --request; NULL: none */
	const char *heap_program;
	bool targets;		/* keep the target set even if no program looks it up */
	bool only;		/* the programs drop events outside the target set */
	uint64_t cgroup_id;	/* the target set follows this cgroup; 0: none */
	struct rings_config rings;
	const char *btf_file;	/* BTF to use instead of /sys/kernel/btf/vmlinux; NULL: none */
	/* about selected sources, or parts of them, that this kernel lacks */
	struct notices notices;
};

/*
 * -EPERM: a capability is missing. -ENOENT: BTF is missing. -ENOSYS: the kernel lacks a hook that
 * every recording needs, or refused a program. The text has the details.
 */
int probe_open(struct probe **ret, const struct probe_config *config, struct err *e);
void probe_close(struct probe *p);

unsigned int probe_cpu_cnt(const struct probe *p);	/* possible CPUs */
const struct rings *probe_rings(const struct probe *p);	/* the probe keeps them */

/* Adds a process to the target set. */
int probe_add_target(struct probe *p, uint32_t pid);

/* Attaches every selected program. On return all of them are active. */
int probe_attach(struct probe *p, struct err *e);
void probe_detach(struct probe *p);

/*
 * Detaches the programs of one attached source (enum source), and attaches them again. After
 * probe_source_off() some records of the source may still arrive. On return of probe_source_on()
 * all its programs are active.
 */
void probe_source_off(struct probe *p, unsigned int source);
int probe_source_on(struct probe *p, unsigned int source, struct err *e);

/*
 * Call when the kernel has skipped programs of an attached hook. From now on a second program sends
 * the skipped events, if the hook has one.
 */
int probe_take_skipped(struct probe *p, unsigned int hook, struct err *e);

/*
 * Calls row for every thread on the machine. The record is valid during the call. A result < 0 of
 * row ends the snapshot and is returned.
 */
int probe_snapshot(struct probe *p, int (*row)(void *ctx, const struct wire_snap *snap), void *ctx,
		   struct err *e);

/* Counts of a hook's programs on one CPU since loading. They only grow. */
struct probe_count {
	uint64_t attempted;
	uint64_t lost_full, lost_other;
};
struct probe_count probe_count(const struct probe *p, unsigned int cpu, unsigned int hook);

/*
 * Counts how often the kernel skipped and ran the programs of a hook since loading. Hooks without
 * programs have 0. An event that a hook's second program sent does not count as missed. If two
 * programs run at one event (bpf/alloc.bpf.c), the time of both counts, but as one run. Runs of
 * programs that send nothing themselves count for the first hook of their source.
 */
struct probe_run_stats {
	uint64_t missed_cnt;
	uint64_t run_cnt, run_time_ns;	/* only while statistics were on */
};
int probe_read_stats(const struct probe *p, struct probe_run_stats stats[WIRE_HOOK_MAX]);

/*
 * Turning on the kernel's statistics of run time takes CAP_SYS_ADMIN each time, which the recorder
 * drops. So a helper process keeps that capability and does only this, on a byte through its
 * socket; when it ends, the statistics are off. Start it before other threads exist and before
 * privileges are dropped. -EPERM: statistics are unavailable without CAP_SYS_ADMIN. Others: errors
 * of fork().
 */
int probe_stats_start(struct helper *ret);
/* 0: the statistics are on (or off) now. -errno or -EIO: the helper failed. */
int probe_stats_switch(const struct helper *h, bool on);

/*
 * Returns the capabilities that are still needed after probe_attach(), as a mask of PRIVILEGE_BIT:
 * none, or CAP_BPF if the kernel refuses bpf() without it, as kernels before 5.19 do with
 * kernel.unprivileged_bpf_disabled.
 */
uint64_t probe_needs(struct probe *p);

/*
 * Writes the name of a kernel function's address as kallsyms_find() does. -ENOENT: no known
 * function. -ENOTSUP: not available before 5.13.
 */
int probe_symbol(struct probe *p, uint64_t addr, char *name, size_t size);
/*
 * Sends the records that wait in the areas of the CPUs. -EAGAIN: some are left, because a ring has
 * no room or a program is just filling a record. Others: the kernel's errors.
 */
int probe_flush(const struct probe *p);
bool probe_has_symbols(const struct probe *p);

/* Name and object size of a slab cache at a kernel address. */
int probe_cache_name(struct probe *p, uint64_t addr, char *name, size_t size,
		     uint64_t *ret_object_bytes);

/*
 * Returns whether switches report steal time of a hypervisor (see fix_stolen_ns() in
 * bpf/fixes.bpf.h). It is also true without a hypervisor.
 */
bool probe_has_steal(const struct probe *p);

/* Returns the sources, as a mask of SOURCE_BIT, whose events have a copy of the user stack. */
uint32_t probe_copies(const struct probe *p);

/* Space-separated names of the loaded programs, for the manifest. */
const char *probe_programs(const struct probe *p);

/* libbpf's version at run time: "v1.1". */
const char *probe_library_version(void);
