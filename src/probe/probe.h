/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * probe: loads and attaches the BPF programs of a recording.
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
#include "base/privilege.h"
#include "bpf/wire.h"
#include "probe/rings.h"

struct probe;
struct span_probes;

#define PROBE_OFFCPU_NS 1000000ULL

struct probe_config {
	uint32_t sources;	/* mask of SOURCE_BIT */
	uint64_t stacks_min_bytes; /* record stacks of allocations of at least this size; 0: none */
	/* record stacks of every n-th allocation instead; 0: select by size */
	uint32_t stacks_every;
	/*
	 * sched.offcpu: record waits of at least this length; an error if the kernel does not
	 * support the source. 0: PROBE_OFFCPU_NS, and no error if the kernel does not support the
	 * source
	 */
	uint64_t offcpu_ns;
	uint64_t profile_ns;	/* cpu.sample: period of the samples of each CPU */
	/*
	 * mask of cpu.sample and sched.offcpu: their events include a copy of the user stack (5.15)
	 */
	uint32_t copies;
	bool of_all; /* record stacks and waits of all threads, not only of the target set */
	const struct span_probes *span_probes;	/* --request; NULL: none */
	/* alloc.heap: program with its own malloc, whose functions are probed; NULL: none */
	const char *heap_program;
	bool targets;		/* maintain the target set even if no program uses it */
	bool only;		/* programs drop events outside the target set */
	uint64_t cgroup_id;	/* the target set follows this cgroup; 0: none */
	struct rings_config rings;
	const char *btf_file;	/* BTF file if /sys/kernel/btf/vmlinux is not visible; NULL: none */
	/* notices about selected sources, or parts of sources, that this kernel lacks */
	struct notices notices;
};

/*
 * -EPERM: a capability is missing. -ENOENT: no BTF. -ENOSYS: the kernel lacks a hook that every
 * recording needs, or refused a program. e has the details.
 */
int probe_open(struct probe **ret, const struct probe_config *config, struct err *e);
void probe_close(struct probe *p);

unsigned int probe_cpu_cnt(const struct probe *p);	/* number of possible CPUs */
const struct rings *probe_rings(const struct probe *p);	/* owned by the probe */

/* Adds a process to the target set. */
int probe_add_target(struct probe *p, uint32_t pid);

/* Attaches all selected programs. When it returns, all of them are active. */
int probe_attach(struct probe *p, struct err *e);
void probe_detach(struct probe *p);

/*
 * Detach, and attach again, the programs of one attached source (enum source). Some records of the
 * source may still arrive after probe_source_off(). When probe_source_on() returns, all its
 * programs are active.
 */
void probe_source_off(struct probe *p, unsigned int source);
int probe_source_on(struct probe *p, unsigned int source, struct err *e);

/*
 * Call this after the kernel has skipped programs of an attached hook. If the hook has a second
 * program, from now on that program sends the events for which the first is skipped.
 */
int probe_take_skipped(struct probe *p, unsigned int hook, struct err *e);

/*
 * Calls row for every thread of the machine. The record is valid during the call. A result < 0 of
 * row ends the snapshot and is returned.
 */
int probe_snapshot(struct probe *p, int (*row)(void *ctx, const struct wire_snap *snap), void *ctx,
		   struct err *e);

/* Counters of a hook's programs on one CPU since loading. */
struct probe_count {
	uint64_t attempted;
	uint64_t lost_full, lost_other;
};
struct probe_count probe_count(const struct probe *p, unsigned int cpu, unsigned int hook);

/*
 * Counters of how often the kernel skipped and ran the programs of a hook since loading; 0 for
 * hooks without programs. If a hook's second program sent an event, the event does not count as
 * missed. If both programs run for an event (bpf/alloc.bpf.c), run_time_ns has the time of both,
 * but they count as one run. Programs that send nothing themselves count for the first hook of
 * their source.
 */
struct probe_run_stats {
	uint64_t missed_cnt;
	uint64_t run_cnt, run_time_ns;	/* only while run-time statistics are on */
};
int probe_read_stats(const struct probe *p, struct probe_run_stats stats[WIRE_HOOK_MAX]);

/*
 * Starts a helper process that turns the kernel's run-time statistics on and off. This takes
 * CAP_SYS_ADMIN each time, which the recorder drops and the helper keeps. When the helper ends, the
 * statistics are off. Call this while the process has one thread, and before privileges are
 * dropped. -EPERM: no CAP_SYS_ADMIN. Other errors: from fork().
 */
int probe_stats_start(struct helper *ret);
/* Turns the statistics on or off. -errno or -EIO: the helper failed. */
int probe_stats_switch(const struct helper *h, bool on);

/*
 * Returns the capabilities that are still needed after probe_attach(), as a mask of PRIVILEGE_BIT:
 * 0, or CAP_BPF if the kernel refuses bpf() without it (kernels before 5.19 with
 * kernel.unprivileged_bpf_disabled).
 */
uint64_t probe_needs(struct probe *p);

/*
 * Returns the name of the kernel function at an address, as kallsyms_find() does. -ENOENT: not in a
 * function. -ENOTSUP: before 5.13.
 */
int probe_symbol(struct probe *p, uint64_t addr, char *name, size_t size);
/*
 * Sends the records that wait in the areas of the CPUs. -EAGAIN: some remain, because a ring has no
 * room or a program is filling a record. Others: the kernel's errors.
 */
int probe_flush(const struct probe *p);
bool probe_has_symbols(const struct probe *p);

/* Returns name and object size of the slab cache at a kernel address. */
int probe_cache_name(struct probe *p, uint64_t addr, char *name, size_t size,
		     uint64_t *ret_object_bytes);

/*
 * Returns whether switches have the steal time of a hypervisor (see fix_stolen_ns() in
 * bpf/fixes.bpf.h). True even without a hypervisor.
 */
bool probe_has_steal(const struct probe *p);

/* Returns the sources, as a mask of SOURCE_BIT, whose events include a copy of the user stack. */
uint32_t probe_copies(const struct probe *p);

/* Space-separated names of the loaded programs, for the manifest. */
const char *probe_programs(const struct probe *p);

/* Returns libbpf's version at run time: "v1.1". */
const char *probe_library_version(void);

/*
 * own_pids: translates process ids from the recorder's pid namespace to the initial namespace,
 * whose ids BPF programs see. In that namespace, the same number is another process. Threads: one.
 */
/* Returns true if the caller's pid namespace is not the initial one. */
bool own_pids_are_other(void);

/*
 * Translates ids in place. pids[0] is the caller's process id, the other ids are those of its
 * children (0: none); cnt is at most OWN_PIDS_MAX. An id that cannot be translated becomes 0.
 */
#define OWN_PIDS_MAX 8
int own_pids_translate(struct probe *probe, uint32_t *pids, size_t cnt, struct err *e);
