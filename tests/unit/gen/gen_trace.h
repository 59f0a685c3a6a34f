/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * gen_trace: makes wire records by hand or by dice, and whole traces of them through the real
 * block_writer and store_writer. It is for tests and benchmarks: an error aborts the program.
 *
 *     struct gen *g = gen_open(dir, &(struct gen_config){ .cpu_cnt = 2, .from_ns = 1000 });
 *     gen_snap(g, 1000, 0, 100, 100, 1, "init");
 *     gen_switch(g, 2000, 0, 100, 0, 0);
 *     gen_slice(g, 1000000);          // everything so far becomes the block [1000, 1000000)
 *     gen_finish(g);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "record/encode/block_writer.h"
#include "store/store_writer.h"

struct gen;

/* Records of a hook in [from_ns, to_ns) do not get into the trace. */
struct gen_drop {
	unsigned int hook;
	uint64_t from_ns, to_ns;
	bool is_silent;		/* no loss tells of them: the recorder never knew of them */
	uint64_t cnt;		/* of the slice that is being made; gen_raw() counts */
};

enum gen_kernel_function {
	GEN_SCHEDULE_INNER, GEN_SCHEDULE, GEN_MUTEX_LOCK, GEN_COMPLETION, GEN_PIPE_WRITE,
	GEN_KERNEL_CNT,
};

/* The address of a function of the kernel, for return addresses: add some bytes. */
#define GEN_KERNEL(function) (0xffffffffc0de0000ull + (function) * 256ull)

struct gen_config {
	struct gen_drop *drop;	/* NULL: all records are kept */
	uint64_t trace_id; /* 0: the same for all */
	unsigned int cpu_cnt;		/* 0: 2 */
	uint64_t from_ns;		/* start of the trace */
	uint32_t recorder_pid, command_pid;
	int zstd_level;
	bool filtered, no_switches, all_cmdlines;
	bool cpus_online;		/* say that all CPUs are online */
	uint64_t file_bytes, keep_bytes, keep_ns;	/* store_config */
	bool no_names;			/* ids get no names */
	bool sites;			/* user-space addresses get names: ufunc_x of /opt/prog */
	/* in every other interval of this length, counted from 0, ufunc_x_new of /opt/new */
	uint64_t remap_ns;
	/*
	 * these instead, by bits 8 to 11 of the address; of [jit] if one begins with "py::", of
	 * libpython3.12.so.1.0 if with "_Py"
	 */
	const char *const *symbols;
	const char *sources;	/* recorded sources in the manifest; NULL: the key is missing */
	const char *machine; /* the manifest's: "x86_64" gives system calls names; NULL: missing */
	bool watch_requests;		/* as in block_writer_config */
	/* paths of cgroups by id, NULL ends them: and user 0 is root, 1000 ann; NULL: /group-ID */
	const char *const *cgroups;
	/* unwinds the stacks that samples have copied; see struct id_names_calls */
	unsigned int (*unwind)(void *ctx, uint32_t pid, uint64_t ts_ns,
			       const struct unwind_stack *copy,
			       uint64_t *frames, unsigned int max, bool *ret_whole);
	bool quotas;			/* the groups 1 and 77 have quotas, the first for a while */
};

/* dir NULL: blocks are encoded, not stored. */
struct gen *gen_open(const char *dir, const struct gen_config *config);
/* Writes index and manifest, frees g. */
void gen_finish(struct gen *g);
/* Leaves the trace as a killed recorder would, frees g. */
void gen_abort(struct gen *g);

/* A fresh directory under /tmp, and its removal with all that is in it. */
void gen_temp_dir(char path[64]);
void gen_remove_dir(const char *path);

/*
 * The number of traces a property is tested with: cnt, a third of it under sanitizers, which take
 * ten times as long and look for something else. EBPFREC_TEST_SEEDS=N: N.
 */
unsigned int gen_seeds(unsigned int cnt);

/* ---- records, in order of arrival ---- */

void gen_raw(struct gen *g, const void *record, size_t bytes);
/*
 * flags: WIRE_F_*. The previous thread leaves in state 1 (sleeping) unless WIRE_F_PREEMPT is
 * set.
 */
void gen_switch(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t prev, uint32_t next,
		unsigned int flags);
/* A thread leaves for idle in a system call of x86-64, in a state, and with the call's object. */
void gen_leave(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, unsigned int state,
	       unsigned int call, uint64_t object);
/* As gen_switch(), with stolen time, and for how long the previous thread has had the CPU. */
void gen_switch_more(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t prev, uint32_t next,
		     unsigned int flags, uint64_t steal_ns, uint64_t stay_ns);
/* The waker is in futex, on x86-64; the thread that an interrupt hit is unknown. */
void gen_wakeup(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t waker, uint32_t target,
		unsigned int flags);
/* The same, with the waker's activity: WIRE_CALL_*. */
void gen_wakeup_in(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t waker, uint32_t target,
		   unsigned int flags, unsigned int call);
void gen_kmalloc(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t addr,
		 uint32_t bytes, uint64_t call_site, unsigned int flags);
void gen_kfree(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t addr);
void gen_cache_alloc(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t addr,
		     uint32_t bytes, uint64_t call_site, uint64_t cache);
void gen_cache_free(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t addr,
		    uint64_t cache);
void gen_page_alloc(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t pfn,
		    unsigned int order, unsigned int flags);
void gen_page_free(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t pfn,
		   unsigned int order);
void gen_rss(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
	     unsigned int member, int64_t pages);
void gen_vm(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
	    unsigned int op, uint64_t addr, uint64_t len, uint64_t total_pages);
/* hook: WIRE_BLOCK_*; cmd_flags 0 read, 1 write. */
void gen_block(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, unsigned int hook,
	       uint64_t rq, uint32_t dev, uint64_t sector, uint32_t bytes, uint32_t cmd_flags);
/* BLOCK_ISSUE of a write, of pages of an inode. */
void gen_block_pages(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t rq,
		     uint32_t dev, uint64_t sector, uint32_t bytes, unsigned int pages,
		     uint64_t ino, uint64_t last_ino, uint32_t ino_dev);
void gen_path(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t ino,
	      uint32_t ino_dev, const char *path);
/* With the path of the inode before it, unless that is "". */
void gen_dirty(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
	       uint64_t ino, uint32_t ino_dev, const char *path);
/* hook: WIRE_IRQ_ENTRY .. WIRE_VECTOR_EXIT; tid is interrupted. */
void gen_irq(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, unsigned int hook,
	     unsigned int vector);
/*
 * A stack of an allocation (of: its hook) at the same instant. frames: the kernel's, then user
 * space's, innermost first.
 */
void gen_stack(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, unsigned int of,
	       uint64_t addr, uint64_t bytes, const uint64_t *frames, unsigned int kernel_cnt,
	       unsigned int user_cnt);
void gen_heap(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint64_t addr,
	      uint64_t bytes); /* bytes 0: free */

/* action: EVENT_SPAN_*; name NULL: none. */
void gen_span(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, unsigned int action,
	      const char *name, uint64_t id);

void gen_new(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t forker, uint32_t tid,
	     uint32_t pid, uint32_t ppid, const char *comm);
/* args: NUL-joined, args_len bytes. old_tid 0: the same as tid. */
void gen_exec(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
	      uint32_t old_tid, const char *comm, const char *file, const char *args,
	      size_t args_len);
void gen_rename(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
		const char *comm);
void gen_exit(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
	      uint32_t code, bool group_dead, uint64_t sum_exec_ns);
/* group_code: that of the whole process, + 1, after exit_group() or a fatal signal; 0: neither. */
void gen_exit_all(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
		  uint32_t code, bool group_dead, uint64_t sum_exec_ns, uint32_t group_code);
void gen_cgroup(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
		uint64_t cgroup_id);
/* A snapshot row of a thread that started at 1 ns + tid; anon memory of 100 pages, 1000 mapped. */
void gen_snap(struct gen *g, uint64_t ts, unsigned int cpu, uint32_t tid, uint32_t pid,
	      uint32_t ppid, const char *comm);
/* Off the CPUs it has the start_state (tid + 1) % 4, read 1 us after ts. */
void gen_snap_full(struct gen *g, uint64_t ts, uint32_t tid, uint32_t pid, uint32_t ppid,
		   uint64_t start_ns, const char *comm, const int64_t rss_pages[4],
		   int64_t vm_pages, uint64_t sum_exec_ns, unsigned int cpu, bool on_cpu);

/* Each of these is stored with the next slice. */
void gen_loss(struct gen *g, const struct trace_loss *loss);
void gen_cost(struct gen *g, const struct trace_cost *cost);
void gen_hook_stat(struct gen *g, const struct trace_hook_stat *stat);
void gen_mark(struct gen *g, uint64_t ts, const char *text);

/*
 * The machine is suspended now for dur_ns. CLOCK_MONOTONIC stops; all other clocks have gone on
 * in the clock rows from here on.
 */
void gen_suspend(struct gen *g, uint64_t dur_ns);
/* The wall clock is set by this much now. */
void gen_set_clock(struct gen *g, int64_t by_ns);

/* Ends the slice that began where the last one ended. All records so far go into its block. */
void gen_slice(struct gen *g, uint64_t to_ns);
/* The next slice is the last one. */
void gen_last(struct gen *g);
/* The last block's bytes, valid until the next slice. */
const void *gen_last_block(const struct gen *g, size_t *ret_bytes);
const struct block_stats *gen_last_stats(const struct gen *g);
struct block_writer *gen_block_writer(struct gen *g);
struct store_writer *gen_store_writer(struct gen *g);
const struct block_segment *gen_records(const struct gen *g);	/* not yet in a slice */

/* ---- dice ---- */

uint64_t gen_random(uint64_t *state);	/* xorshift; never all zeros */

/*
 * A machine at work: threads switch, wake each other, allocate and free, fork and exit, read and
 * write. About cnt records from the generator's clock on, rate per second and CPU; the clock is
 * then at the last one. Call gen_mix_start() once before, for the snapshot.
 */
struct gen_mix {
	uint64_t seed;
	uint64_t now_ns;
	uint64_t per_second;	/* records of all CPUs; 0: 300000 */
	unsigned int irqs;	/* of 1000 records, entries and exits of interrupts; 0: none */
	struct gen_mix_state *state;
};
void gen_mix_start(struct gen *g, struct gen_mix *m);
void gen_mix_run(struct gen *g, struct gen_mix *m, uint64_t cnt);
void gen_mix_done(struct gen_mix *m);
