/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * rows: the small tables of a trace, as structs. The writer fills them in, the reader returns them;
 * their form on disk is in row_codec.h and schema/FORMAT.md.
 *
 * Strings that a reader returns are NUL-terminated and never NULL; they may hold any other byte.
 * Times are CLOCK_MONOTONIC ns.
 */
#pragma once

#include <stdint.h>

#include "event_lists.h"

#define TRACE_COMM_LEN 16

#define TRACE_TASK_KTHREAD 0x01
#define TRACE_TASK_RECORDER 0x02	/* the recorder itself and its threads */
#define TRACE_TASK_WORKLOAD 0x04	/* COMMAND, -p, --cgroup, and all their descendants */
#define TRACE_TASK_AT_START 0x08	/* older than the recording */

struct manifest_entry {
	char *key, *value;	/* the value may hold any byte but NUL */
};

struct trace_process {
	uint32_t upid;
	uint32_t pid;
	uint32_t ns_pid;
	uint32_t ppid;
	uint32_t parent_upid;		/* EVENT_ID_UNKNOWN if unknown */
	uint32_t uid;
	uint32_t flags;			/* TRACE_TASK_* */
	uint32_t exit_code;		/* as in wait(); valid when end_ns != 0 */
	uint64_t start_ns;		/* creation; may be before the trace; 0: unknown */
	uint64_t end_ns;		/* exit of the last thread; 0: alive at the end */
	uint64_t cgroup_id;		/* its last one */
	const char *comm;		/* the last name of its main thread */
	const char *exe;		/* file passed to exec; "" if unknown */
	const char *cmdline;		/* arguments joined by spaces; "" if unknown */
};

struct trace_thread {
	uint32_t utid;
	uint32_t upid;
	uint32_t tid;
	uint32_t ns_tid;
	uint32_t flags;
	/*
	 * 1 + its prev_state off the CPUs, from the trace's start until its first switch or
	 * wake-up; 0: unknown
	 */
	uint32_t start_state;
	uint32_t start_call;		/* its activity there, as in a switch; 0: unknown */
	uint64_t start_ns, end_ns;
	/* the scheduler's own CPU time of the thread at its snapshot row */
	uint64_t sum_exec_start_ns;
	uint64_t sum_exec_end_ns;	/* ... at its exit or in the end snapshot; 0: unknown */
	const char *comm;
};

enum trace_task_event_type {
	TRACE_TASK_NEW = 1, TRACE_TASK_EXEC = 2, TRACE_TASK_RENAME = 3,
	TRACE_TASK_EXIT = 4, TRACE_TASK_CGROUP = 5, TRACE_TASK_SNAP = 6,
};

struct trace_task_event {
	uint64_t ts_ns;
	uint32_t utid, upid;
	uint16_t cpu;
	uint8_t type;
	uint32_t exit_code;
	uint64_t cgroup_id;
	const char *comm;		/* the new name (NEW, EXEC, RENAME, SNAP) */
	const char *exe;		/* EXEC, else "" */
	const char *cmdline;		/* EXEC, SNAP if known, else "" */
};

/* Memory at one time: baselines from the start snapshot and block keyframes. */
struct trace_rss {
	uint64_t ts_ns;
	uint32_t upid;
	uint64_t bytes[4];		/* file, anon, swap, shmem */
	uint64_t total_vm_bytes;
	/* bit per member of bytes, bit 4 total_vm_bytes: 0 stands for unknown */
	uint32_t unknown;
};

/* cnt records of one hook on one CPU were lost somewhere in [from_ns, to_ns). */
struct trace_loss {
	uint64_t from_ns, to_ns;
	uint16_t cpu;
	uint8_t hook;			/* enum wire_hook */
	uint8_t cls;			/* enum event_class */
	uint64_t full_cnt;		/* the ring had no room */
	uint64_t other_cnt;		/* the reservation failed for another reason */
	/* no program ran: the kernel skipped it (recursion_misses); cpu is 0xffff: unknown */
	uint64_t missed_cnt;
	/* of these, losses that no counter saw: request_lost_end.c */
	uint64_t inferred_cnt;
};

/* The cost of recording in [from_ns, to_ns); counters are increments. */
struct trace_cost {
	uint64_t from_ns, to_ns;
	uint64_t user_ns, sys_ns;	/* recorder CPU */
	uint64_t bytes_written;
	uint64_t ring_used_max_bytes;	/* highest fill of any ring */
	uint64_t ring_size_bytes;	/* of one ring */
	uint64_t rss_bytes;		/* recorder's resident memory at to_ns */
	uint64_t queue_max_bytes; /* most bytes in slabs at a time: read, not yet encoded */
	uint64_t queue_size_bytes;	/* the limit of queue_max_bytes */
	uint64_t cpu_cnt;		/* CPUs online at to_ns; 0: unknown */
};

/* Per hook, over [from_ns, to_ns). run_time_ns is 0 if BPF statistics were off. */
struct trace_hook_stat {
	uint64_t from_ns, to_ns;
	uint8_t hook;
	uint64_t attempted_cnt, read_cnt;
	uint64_t run_cnt, run_time_ns;	/* while the kernel's run-time statistics were on */
	uint64_t sampled_ns;		/* how long they were on */
	uint64_t sampled_cnt;		/* the part of attempted_cnt while they were on */
	uint64_t cost_ns;		/* not on disk: a reader's estimate, see hook.h */
};

/*
 * A source that was off in [from_ns, to_ns): it has no event there. In a block, cut at the block's
 * end; a reader joins adjacent rows.
 */
struct trace_gap {
	uint64_t from_ns, to_ns;
	const char *source;		/* as in -e: "alloc.slab" */
	const char *reason;		/* "max-overhead" */
	/* of the machine's CPU time: measured and allowed cost */
	uint64_t cost_ppm, budget_ppm;
};

/*
 * The threads of a control group together may have a CPU for quota_ns in each period_ns. In a
 * block, cut at the block's end; a reader joins adjacent rows.
 */
struct trace_quota {
	uint64_t from_ns, to_ns;
	uint64_t cgroup_id;
	uint64_t limit_id;	/* the group that has the quota: this group, or one above */
	uint64_t quota_ns, period_ns;
};

/* An instant that a user or a trigger named during the recording. */
enum trace_mark_origin {
	TRACE_MARK_COMMAND = 0,		/* `ebpfrec mark` */
	TRACE_MARK_FD = 1,		/* a line read from --mark-fd */
	TRACE_MARK_TRIGGER = 2,		/* --trigger fired */
};

#define TRACE_MARK_TEXT_MAX 400

struct trace_mark {
	uint64_t ts_ns;	/* when it was made; may be before the block that holds it */
	uint8_t origin;			/* enum trace_mark_origin */
	uint32_t nr;	/* set by the reader: 1 for the first mark with this text, 2 ... */
	const char *text;
};

struct trace_clock {
	uint64_t mono_ns, boot_ns, real_ns, tai_ns;	/* read together */
	uint64_t uncertainty_ns;
};

struct trace_name {	/* kmem_cache, device, cgroup, kernel symbol, file, interrupt line */
	/* address, major << 20 | minor, cgroup id, inode number, 1 + number of the line */
	uint64_t id;
	/*
	 * cache: object bytes; device: logical sectors of 512 bytes; file: its file system; else 0
	 */
	uint64_t arg;
	const char *name;
	uint32_t type;	/* enum trace_name_type */
};
enum trace_name_type {			/* declared in schema/events/ */
#define X(id, name, text, redact) TRACE_NAME_##name = id,
	EVENT_NAMES(X)
#undef X
	TRACE_NAME_TYPE_CNT
};

/* A process's memory ends, or starts again. A reader derives these rows. */
enum trace_mm_reset_kind { TRACE_MM_RESET_EXEC = 1, TRACE_MM_RESET_EXIT = 2 };
struct trace_mm_reset {
	uint64_t ts_ns;
	uint32_t upid;	/* EVENT_ID_UNKNOWN: the process is not in the trace */
	uint32_t kind;
};

/* Why a user-space code address has no name; stored in traces, append only. */
enum trace_site_why {
	TRACE_SITE_NAMED = 0,		/* it has a name */
	TRACE_SITE_STRIPPED = 1, /* the file has no symbol table, and no separate one was found */
	TRACE_SITE_NO_FUNCTION = 2,	/* the file has symbols, but no function there */
	TRACE_SITE_ANONYMOUS = 3, /* no file: code made at run time, or the kernel's own pages */
	TRACE_SITE_EXITED = 4,		/* the process exited before the file could be opened */
	TRACE_SITE_DELETED = 5,		/* the file was deleted */
	TRACE_SITE_CHANGED = 6,		/* the path led to another file */
	TRACE_SITE_UNREADABLE = 7, /* the file cannot be opened, or is not a valid ELF file */
	TRACE_SITE_UNMAPPED = 8,	/* no known mapping at that address */
	TRACE_SITE_NOT_UNWOUND = 9,	/* the address is TRACE_ADDR_NOT_UNWOUND */
	TRACE_SITE_NO_FRAME_POINTER = 10,	/* the address is TRACE_ADDR_NO_FRAME_POINTER */
	TRACE_SITE_WHY_CNT = 11
};

/* Module of named code that was made at run time; its module_offset is 0. */
#define TRACE_MODULE_JIT "[jit]"

#define TRACE_ADDR_FIRST_CODE 4096	/* no code is in the first page */

/* Replaces missing outer frames of a stack; it is not an address of code. */
#define TRACE_ADDR_NOT_UNWOUND 1
/* The same, after a function without a frame pointer: the next caller would not be code. */
#define TRACE_ADDR_NO_FRAME_POINTER 2

/*
 * The site at an address of code, or of a lock, of a process. It is valid from from_ns on, until
 * the next row of the same address.
 */
struct trace_site {
	uint32_t upid;
	uint8_t why;			/* enum trace_site_why */
	/* a return address, whose function has the byte before it; or the address of a lock */
	uint64_t addr;
	uint64_t from_ns;		/* when the mapping appeared; 0: unknown */
	/* offset of addr in the function or variable; without one: addr as linked, 0: unknown */
	uint64_t symbol_offset;
	uint64_t module_offset;		/* offset of addr in the file */
	const char *symbol;	/* function or variable, in the linker's form; "" if unknown */
	const char *module; /* file as the process sees it, "[vdso]", "[jit]", ""; "": none */
	const char *build_id;		/* hexadecimal digits; "" if unknown */
	/* code without a symbol: bounds from known functions of the file; 0, 0: unknown */
	uint64_t range_from, range_to;	/* as module_offset */
};

/* A frame of a stack: a return address. Frames of a stack are adjacent, innermost first. */
struct trace_frame {
	uint64_t stack;		/* number of the stack, not 0 */
	uint64_t addr;
	uint32_t nth;		/* from 0, the innermost */
	uint32_t upid;		/* process of the code; 0: the kernel's */
};
