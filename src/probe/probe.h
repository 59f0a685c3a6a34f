/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * probe: the BPF side of a recording, loaded and attached.
 *
 *     kernel hooks --> [probe] --ring file descriptors--> src/ring
 *
 * Opening checks privileges and picks programs by what the kernel offers. Nothing runs until
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

#define PROBE_OFFCPU_NS 1000000ULL

struct probe_config {
	uint32_t sources;	/* mask of SOURCE_BIT */
	uint64_t stacks_min_bytes;	/* stacks of allocations of that size and more; 0: none */
	uint32_t stacks_every;		/* stacks of every n-th allocation instead; 0: by size */
	/*
	 * sched.offcpu: waits of that length and more, and an error if this kernel cannot; 0: of
	 * PROBE_OFFCPU_NS, and no error
	 */
	uint64_t offcpu_ns;
	uint64_t profile_ns;	/* cpu.sample: a sample of each CPU so often */
	uint32_t copies;	/* of cpu.sample and sched.offcpu: with the user stack, from 5.15 */
	bool of_all;		/* stacks and waits are those of all threads: nothing is a target */
	/* alloc.heap: it has a malloc of its own, probed as C libraries are; NULL: none */
	const char *heap_program;
	bool targets;		/* keep the target set even if no program looks it up */
	bool only;		/* the programs drop what does not belong to the target set */
	uint64_t cgroup_id;	/* the target set follows this cgroup; 0: none */
	struct rings_config rings;
	const char *btf_file;	/* BTF to use instead of /sys/kernel/btf/vmlinux; NULL: none */
	struct notices notices;	/* of picked sources, or parts of one, that this kernel lacks */
};

/*
 * -EPERM: a capability is missing. -ENOENT: there is no BTF. -ENOSYS: the kernel lacks a hook that
 * no recording can do without, or refused a program. The text says which, and why.
 */
int probe_open(struct probe **ret, const struct probe_config *config, struct err *e);
void probe_close(struct probe *p);

unsigned int probe_cpu_cnt(const struct probe *p);	/* possible CPUs */
const struct rings *probe_rings(const struct probe *p);	/* they stay the probe's */

/* Adds a process to the target set. */
int probe_add_target(struct probe *p, uint32_t pid);

/* Attaches every picked program. On return all of them see events. */
int probe_attach(struct probe *p, struct err *e);
void probe_detach(struct probe *p);

/*
 * Detaches the programs of one attached source (enum source), and attaches them again. After
 * probe_source_off() some records of the source may still come. On return of probe_source_on() all
 * its programs see events.
 */
void probe_source_off(struct probe *p, unsigned int source);
int probe_source_on(struct probe *p, unsigned int source, struct err *e);

/*
 * To be called when the kernel has skipped programs of an attached hook. From now on a second
 * program sends what the kernel skips, if the hook has one.
 */
int probe_take_skipped(struct probe *p, unsigned int hook, struct err *e);

/*
 * Calls row for every thread on the machine. The record is valid during the call. A result < 0 of
 * row ends the snapshot and is returned.
 */
int probe_snapshot(struct probe *p, int (*row)(void *ctx, const struct wire_snap *snap), void *ctx,
		   struct err *e);

/* Holds what the programs of a hook have counted on one CPU since loading. The values only grow. */
struct probe_count {
	uint64_t attempted;
	uint64_t lost_full, lost_other;
};
struct probe_count probe_count(const struct probe *p, unsigned int cpu, unsigned int hook);

/*
 * Counts how often the kernel skipped and ran the programs of a hook since loading. Hooks without
 * programs have 0. An event that a hook's second program sent was not missed. Where two programs
 * run at one event (bpf/alloc.bpf.c), the time of both counts, but as one run. Runs of programs
 * that send nothing themselves count for the first hook of their source.
 */
struct probe_run_stats {
	uint64_t missed_cnt;
	uint64_t run_cnt, run_time_ns;	/* only of the time when statistics were on */
};
int probe_read_stats(const struct probe *p, struct probe_run_stats stats[WIRE_HOOK_MAX]);

/*
 * Turning the kernel's statistics of run time on takes CAP_SYS_ADMIN each time, which the recorder
 * gives up. So a helper process keeps that one capability and does this one thing, when a byte
 * comes through its socket; when it ends, the statistics are off. Start it before other threads
 * exist and before privileges are dropped. -EPERM: there are no statistics without CAP_SYS_ADMIN.
 * Others: errors of fork().
 */
int probe_stats_start(struct helper *ret);
/* 0: the statistics are on (or off) now. -errno or -EIO: the helper could not do it. */
int probe_stats_switch(const struct helper *h, bool on);

/*
 * The capabilities that are still needed after probe_attach(), as a mask of PRIVILEGE_BIT. That is
 * none, or CAP_BPF where the kernel refuses bpf() altogether without it, as kernels before 5.19 do
 * with kernel.unprivileged_bpf_disabled.
 */
uint64_t probe_needs(struct probe *p);

/*
 * Writes the name of a kernel function's address as kallsyms_find() does. -ENOENT: no function
 * there is known. -ENOTSUP: kernels before 5.13 cannot tell.
 */
int probe_symbol(struct probe *p, uint64_t addr, char *name, size_t size);
/*
 * Sends the records that wait in the areas of the CPUs. -EAGAIN: some are left, because a ring has
 * no room or a program is filling a record at this instant. Others: the kernel's errors.
 */
int probe_flush(const struct probe *p);
bool probe_has_symbols(const struct probe *p);

/* Name and object size of a slab cache at a kernel address. */
int probe_cache_name(struct probe *p, uint64_t addr, char *name, size_t size,
		     uint64_t *ret_object_bytes);

/*
 * Returns whether switches tell what a hypervisor took from the CPU (see fix_stolen_ns() in
 * bpf/fixes.bpf.h). It does not say that there is a hypervisor.
 */
bool probe_has_steal(const struct probe *p);

/* Returns the sources, as a mask of SOURCE_BIT, whose events have a copy of the user stack. */
uint32_t probe_copies(const struct probe *p);

/* Space-separated names of the loaded programs, for the manifest. */
const char *probe_programs(const struct probe *p);

/* libbpf's version at run time: "v1.1". */
const char *probe_library_version(void);
