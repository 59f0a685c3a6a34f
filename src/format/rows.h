/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * rows: the rows of a trace's small tables, as structs for writer and reader, and their form on
 * disk (schema/FORMAT.md).
 *
 * Strings that a reader returns are NUL-terminated and never NULL; they may contain any other byte.
 * Times are CLOCK_MONOTONIC ns.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "event_lists.h"

#define TRACE_COMM_LEN 16

#define TRACE_TASK_KTHREAD 0x01
#define TRACE_TASK_RECORDER 0x02	/* the recorder and its threads */
#define TRACE_TASK_WORKLOAD 0x04	/* COMMAND, -p, --cgroup, and all their descendants */
#define TRACE_TASK_AT_START 0x08	/* older than the recording */

struct manifest_entry {
	char *key, *value;	/* the value may contain any byte but NUL */
};

struct trace_process {
	uint32_t upid;
	uint32_t pid;
	uint32_t ns_pid;
	uint32_t ppid;
	uint32_t parent_upid;		/* EVENT_ID_UNKNOWN if unknown */
	uint32_t uid;
	uint32_t flags;			/* TRACE_TASK_* */
	uint32_t exit_code;		/* as from wait(); valid if end_ns != 0 */
	uint64_t start_ns;		/* creation; may be before the trace; 0: unknown */
	uint64_t end_ns;		/* exit of the last thread; 0: alive at the end */
	uint64_t cgroup_id;		/* the last control group */
	const char *comm;		/* the last name of its main thread */
	const char *exe;		/* file passed to exec; "" if unknown */
	const char *cmdline;		/* arguments joined by spaces; "" if unknown */
};

/* Scheduling parameters of a thread. */
struct trace_sched {
	uint32_t policy1;		/* 1 + SCHED_*; 0: all fields are unknown */
	uint32_t static_prio;		/* 120 + nice value */
	uint32_t rt_priority;
	uint32_t cpu_cnt;		/* number of online CPUs that it may use */
	uint64_t cpus;	/* mask of these CPUs; 0: unknown, because a CPU number is above 63 */
};

struct trace_thread {
	uint32_t utid;
	uint32_t upid;
	uint32_t tid;
	uint32_t ns_tid;
	uint32_t flags;
	/*
	 * 1 + prev_state of a thread that was off the CPUs at the trace's start, valid until its
	 * first switch or wake-up; 0: unknown
	 */
	uint32_t start_state;
	uint32_t start_call; /* the thread's activity at that time, as in a switch; 0: unknown */
	uint64_t start_ns, end_ns;
	/* the thread's CPU time by the scheduler, at its snapshot row */
	uint64_t sum_exec_start_ns;
	uint64_t sum_exec_end_ns; /* CPU time at its exit or in the end snapshot; 0: unknown */
	const char *comm;
	struct trace_sched sched;	/* the last known parameters */
};

enum trace_task_event_type {
	TRACE_TASK_NEW = 1, TRACE_TASK_EXEC = 2, TRACE_TASK_RENAME = 3,
	TRACE_TASK_EXIT = 4, TRACE_TASK_CGROUP = 5, TRACE_TASK_SNAP = 6,
	TRACE_TASK_SCHED = 7,
};

struct trace_task_event {
	uint64_t ts_ns;
	uint32_t utid, upid;
	uint16_t cpu;
	uint8_t type;
	uint32_t exit_code;
	uint64_t cgroup_id;
	const char *comm;		/* the name (NEW, EXEC, RENAME, SNAP, SCHED) */
	const char *exe;		/* EXEC, else "" */
	const char *cmdline;		/* EXEC, SNAP if known, else "" */
	struct trace_sched sched;	/* in rows with a name */
};

/*
 * A process's memory at one time, from the start snapshot or a block's keyframe: the baseline for
 * later changes.
 */
struct trace_rss {
	uint64_t ts_ns;
	uint32_t upid;
	uint64_t bytes[4];		/* file, anon, swap, shmem */
	uint64_t total_vm_bytes;
	/* mask of unknown values: bits 0 to 3: elements of bytes; bit 4: total_vm_bytes */
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
	/* the kernel skipped the program (recursion_misses); cpu 0xffff: unknown */
	uint64_t missed_cnt;
	/* how many of these losses no counter counted: inferred, see block_requests.c */
	uint64_t inferred_cnt;
};

/*
 * Returns the number of lost events that may still make the state wrong after to_ns. Inferred ends
 * of requests do not: the request's address was used again at to_ns, so the request had ended.
 */
static inline uint64_t trace_loss_lasting(const struct trace_loss *l)
{
	bool is_over = l->cls == EVENT_CLASS_BLOCK && l->inferred_cnt <= l->missed_cnt;

	return l->full_cnt + l->other_cnt + l->missed_cnt - (is_over ? l->inferred_cnt : 0);
}

/* The recorder's own cost in [from_ns, to_ns), as increments. */
struct trace_cost {
	uint64_t from_ns, to_ns;
	uint64_t user_ns, sys_ns;	/* CPU time of the recorder */
	uint64_t bytes_written;
	uint64_t ring_used_max_bytes;	/* highest fill level of any ring */
	uint64_t ring_size_bytes;	/* of one ring */
	uint64_t rss_bytes;		/* recorder's resident memory at to_ns */
	uint64_t queue_max_bytes; /* most bytes in slabs at any time: read, but not yet encoded */
	uint64_t queue_size_bytes;	/* the limit of queue_max_bytes */
	uint64_t cpu_cnt;		/* CPUs online at to_ns; 0: unknown */
};

/* Measurements of one hook in [from_ns, to_ns). */
struct trace_hook_stat {
	uint64_t from_ns, to_ns;
	uint8_t hook;
	uint64_t attempted_cnt, read_cnt;
	/* runs while the kernel's run-time statistics were on; run_time_ns 0: they were off */
	uint64_t run_cnt, run_time_ns;
	uint64_t sampled_ns;		/* length of time for which statistics were on */
	uint64_t sampled_cnt;		/* attempted_cnt while statistics were on */
	uint64_t cost_ns;		/* not on disk: the reader's estimate, see event.h */
};

/*
 * A source was off in [from_ns, to_ns): it has no events there. Rows end at their block's end; a
 * reader joins adjacent rows.
 */
struct trace_gap {
	uint64_t from_ns, to_ns;
	const char *source;		/* name of the source in -e: "alloc.slab" */
	const char *reason;		/* "max-overhead" */
	/* measured and allowed cost, in ppm of the machine's CPU time */
	uint64_t cost_ppm, budget_ppm;
};

/*
 * The threads of a control group may together use at most quota_ns of CPU time per period_ns. Rows
 * end at their block's end; a reader joins adjacent rows.
 */
struct trace_quota {
	uint64_t from_ns, to_ns;
	uint64_t cgroup_id;
	uint64_t limit_id;	/* the group that has the quota: this group or an ancestor */
	uint64_t quota_ns, period_ns;
};

/* Origin of a mark, a point in time that a user or a trigger named during the recording. */
enum trace_mark_origin {
	TRACE_MARK_COMMAND = 0,		/* `ebpfrec mark` */
	TRACE_MARK_FD = 1,		/* a line read from --mark-fd */
	TRACE_MARK_TRIGGER = 2,		/* --trigger fired */
};

#define TRACE_MARK_TEXT_MAX 400

struct trace_mark {
	uint64_t ts_ns;	/* creation; may be before the block that contains the mark */
	uint8_t origin;			/* enum trace_mark_origin */
	/* set by the reader: 1 for the first mark with this text, 2 for the second, ... */
	uint32_t nr;
	const char *text;
};

struct trace_clock {
	uint64_t mono_ns, boot_ns, real_ns, tai_ns;	/* all clocks at the same time */
	uint64_t uncertainty_ns;
};

struct trace_name {	/* kmem_cache, device, cgroup, kernel symbol, file, interrupt line */
	/*
	 * cache: address; device: major << 20 | minor; cgroup: id; file: inode number; line: number
	 * + 1; symbol: address
	 */
	uint64_t id;
	/*
	 * cache: bytes of an object; device: sectors of 512 bytes; file: device number of its file
	 * system; else 0
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

/*
 * The end of a process's memory: at its exit, or at an exec, which starts with new memory. These
 * rows are not recorded: a reader derives them.
 */
enum trace_mm_reset_kind { TRACE_MM_RESET_EXEC = 1, TRACE_MM_RESET_EXIT = 2 };
struct trace_mm_reset {
	uint64_t ts_ns;
	uint32_t upid;	/* EVENT_ID_UNKNOWN: the process is not in the trace */
	uint32_t kind;
};

/* Reason why a code address in user space has no name. Stored in traces: append only. */
enum trace_site_why {
	TRACE_SITE_NAMED = 0,		/* it has a name */
	TRACE_SITE_STRIPPED = 1, /* the file has no symbol table, and no separate one was found */
	TRACE_SITE_NO_FUNCTION = 2,	/* the file has symbols, but no function at this address */
	/* no file: code generated at run time, or the kernel's own pages */
	TRACE_SITE_ANONYMOUS = 3,
	TRACE_SITE_EXITED = 4,		/* the process exited before the file could be opened */
	TRACE_SITE_DELETED = 5,		/* the file was deleted */
	TRACE_SITE_CHANGED = 6,		/* another file has replaced it */
	TRACE_SITE_UNREADABLE = 7, /* the file cannot be opened, or is not a valid ELF file */
	TRACE_SITE_UNMAPPED = 8,	/* no known mapping at that address */
	TRACE_SITE_NOT_UNWOUND = 9,	/* the address is TRACE_ADDR_NOT_UNWOUND */
	TRACE_SITE_NO_FRAME_POINTER = 10,	/* the address is TRACE_ADDR_NO_FRAME_POINTER */
	TRACE_SITE_WHY_CNT = 11
};

/* Module of named code that was generated at run time; module_offset is 0. */
#define TRACE_MODULE_JIT "[jit]"

#define TRACE_ADDR_FIRST_CODE 4096	/* the first page contains no code */

/* Replaces missing outer frames of a stack; not a code address. */
#define TRACE_ADDR_NOT_UNWOUND 1
/* Replaces the outer frames after a function without a frame pointer, whose caller is unknown. */
#define TRACE_ADDR_NO_FRAME_POINTER 2

/*
 * The name of a code address, or of a lock's address, in a process. Valid from from_ns until the
 * next row of the same address.
 */
struct trace_site {
	uint32_t upid;
	uint8_t why;			/* enum trace_site_why */
	/* return address (the function contains the byte before it), or address of a lock */
	uint64_t addr;
	uint64_t from_ns;		/* when the mapping appeared; 0: unknown */
	/*
	 * offset of addr in the function or variable. Without a symbol: address of addr in the ELF
	 * file, 0: unknown.
	 */
	uint64_t symbol_offset;
	uint64_t module_offset;		/* offset of addr in the file */
	const char *symbol;	/* function or variable, in the linker's form; "" if unknown */
	const char *module; /* file as the process sees it, "[vdso]" or "[jit]"; "": none */
	const char *build_id;		/* hexadecimal digits; "" if unknown */
	/* code without a symbol: nearest function boundaries around addr; 0, 0: unknown */
	uint64_t range_from, range_to;	/* as module_offset */
};

/*
 * A frame of a stack, as a return address. The frames of a stack are adjacent rows, innermost
 * first.
 */
struct trace_frame {
	uint64_t stack;		/* number of the stack, not 0 */
	uint64_t addr;
	uint32_t nth;		/* 0: the innermost frame */
	uint32_t upid;		/* process of the code; 0: kernel code */
};

/*
 * The form on disk.
 *
 * A row is a varint, the number of bytes that follow, and its fields in the order of the lists
 * below. A reader ignores bytes after the fields that it supports, and missing fields at the end
 * are 0 or "": fields may be appended in later versions. Field types:
 *
 *   - U(field): unsigned varint
 *   - T(field): instant: zigzag varint of (field - from_ns of the block), modulo 2^64
 *   - S(field): string: varint length, the bytes, and a zero byte, which the length excludes
 *
 * Encoder and decoder use the same list.
 */

/* Rows that exist only on disk. */
struct row_cpu_state {
	uint32_t cpu;
	uint32_t utid;
};
struct row_cpu_end {
	uint32_t cpu;
	uint32_t utid;
	/* when the thread got the CPU; 0: at the CPU's last switch in the block */
	uint64_t since_ns;
	uint64_t steal_ns;	/* steal time of utid since it got the CPU */
};

#define ROW_SCHED(U)                                                                        \
	U(sched.policy1) U(sched.static_prio) U(sched.rt_priority) U(sched.cpu_cnt) U(sched.cpus)
#define ROW_PROCESS(U, T, S)                                                                \
	U(upid) U(pid) U(ns_pid) U(ppid) U(parent_upid) U(uid) U(flags) U(exit_code)        \
	T(start_ns) T(end_ns) U(cgroup_id) S(comm) S(exe) S(cmdline)
#define ROW_THREAD(U, T, S)                                                                 \
	U(utid) U(upid) U(tid) U(ns_tid) U(flags) T(start_ns) T(end_ns)                     \
	U(sum_exec_start_ns) U(sum_exec_end_ns) S(comm) U(start_state) U(start_call)  \
	ROW_SCHED(U)
#define ROW_TASK_EVENT(U, T, S)                                                             \
	T(ts_ns) U(type) U(cpu) U(utid) U(upid) U(exit_code) U(cgroup_id)                   \
	S(comm) S(exe) S(cmdline) ROW_SCHED(U)
#define ROW_RSS(U, T, S)                                                                           \
	T(ts_ns)                                                                                   \
	U(upid) U(bytes[0]) U(bytes[1]) U(bytes[2]) U(bytes[3]) U(total_vm_bytes) U(unknown)
#define ROW_CPU_STATE(U, T, S) U(cpu) U(utid)
#define ROW_CPU_END(U, T, S) U(cpu) U(utid) U(since_ns) U(steal_ns)
#define ROW_LOSS(U, T, S)                                                                   \
	T(from_ns) T(to_ns) U(cpu) U(hook) U(cls) U(full_cnt) U(other_cnt) U(missed_cnt)    \
	U(inferred_cnt)
#define ROW_COST(U, T, S)                                                                   \
	T(from_ns) T(to_ns) U(user_ns) U(sys_ns) U(bytes_written) U(ring_used_max_bytes)    \
	U(ring_size_bytes) U(rss_bytes) U(queue_max_bytes) U(queue_size_bytes) U(cpu_cnt)
#define ROW_HOOK_STAT(U, T, S)                                                              \
	T(from_ns) T(to_ns) U(hook) U(attempted_cnt) U(read_cnt) U(run_cnt) U(run_time_ns)  \
	U(sampled_ns) U(sampled_cnt)
#define ROW_GAP(U, T, S)                                                                    \
	T(from_ns) T(to_ns) S(source) S(reason) U(cost_ppm) U(budget_ppm)
#define ROW_QUOTA(U, T, S)                                                                  \
	T(from_ns) T(to_ns) U(cgroup_id) U(limit_id) U(quota_ns) U(period_ns)
#define ROW_CLOCK(U, T, S) T(mono_ns) U(boot_ns) U(real_ns) U(tai_ns) U(uncertainty_ns)
#define ROW_MARK(U, T, S) T(ts_ns) U(origin) S(text)
#define ROW_NAME(U, T, S) U(type) U(id) U(arg) S(name)
#define ROW_SITE(U, T, S)                                                                   \
	U(upid) U(addr) T(from_ns) U(why) U(symbol_offset) U(module_offset)                 \
	S(symbol) S(module) S(build_id) U(range_from) U(range_to)
#define ROW_FRAME(U, T, S) U(stack) U(nth) U(upid) U(addr)
/* This row is only in the derived file. */
#define ROW_MM_RESET(U, T, S) T(ts_ns) U(upid) U(kind)
/* X(name, struct, fields) */
#define ROW_TYPES(X)                                      \
	X(process, trace_process, ROW_PROCESS)            \
	X(thread, trace_thread, ROW_THREAD)               \
	X(task_event, trace_task_event, ROW_TASK_EVENT)   \
	X(rss, trace_rss, ROW_RSS)                        \
	X(cpu_state, row_cpu_state, ROW_CPU_STATE)        \
	X(cpu_end, row_cpu_end, ROW_CPU_END)              \
	X(loss, trace_loss, ROW_LOSS)                     \
	X(cost, trace_cost, ROW_COST)                     \
	X(hook_stat, trace_hook_stat, ROW_HOOK_STAT)      \
	X(clock, trace_clock, ROW_CLOCK)                  \
	X(mark, trace_mark, ROW_MARK)                     \
	X(name, trace_name, ROW_NAME)                     \
	X(gap, trace_gap, ROW_GAP)                        \
	X(quota, trace_quota, ROW_QUOTA)                  \
	X(site, trace_site, ROW_SITE)                     \
	X(frame, trace_frame, ROW_FRAME)                  \
	X(mm_reset, trace_mm_reset, ROW_MM_RESET)

/* Position and type of a field in its struct. */
struct row_field {
	uint16_t at;		/* offset in the struct */
	uint8_t bytes;
	char type;		/* 'U', 'T' or 'S' */
};

struct row_type {
	const struct row_field *fields;
	unsigned int field_cnt;
	size_t bytes;		/* of the struct */
};

enum row_type_id {
#define X(name, type, fields) ROW_TYPE_##name,
	ROW_TYPES(X)
#undef X
	ROW_TYPE_CNT
};
const struct row_type *row_type(enum row_type_id id);
/* Returns the type of a small section's rows; NULL: the section has no rows, or is unknown. */
const struct row_type *row_type_of(unsigned int section);

/* Returns a pointer to a row's nth string, from 0; NULL: there are fewer. */
const char **row_string(const struct row_type *of, void *row, unsigned int nth);

/* Room for a row of any type. */
union any_row {
#define X(name, type, fields) struct type name;
	ROW_TYPES(X)
#undef X
};

/* Appends rows. out.failed is set if memory is exhausted. */
struct row_writer {
	struct buf out;
	uint64_t base_ns;	/* from_ns of the block */
	uint32_t cnt;
};

/* Reads rows. Strings point into the section, which must outlive them. */
struct row_reader {
	const uint8_t *p, *end;
	uint64_t base_ns;
};

/* Appends a row. Writes a NULL string as "". */
void row_put(struct row_writer *w, const struct row_type *of, const void *row);
/* 1: *ret is a row; 0: end of the section; -EBADMSG: the bytes are not a valid row. */
int row_get(struct row_reader *r, const struct row_type *of, void *ret);

/* Define row_put_x(w, row) and row_get_x(r, ret) for each type x. */
#define X(name, type, fields)                                                        \
	static inline void row_put_##name(struct row_writer *w, const struct type *row) \
	{                                                                            \
		row_put(w, row_type(ROW_TYPE_##name), row);                        \
	}                                                                            \
	static inline int row_get_##name(struct row_reader *r, struct type *ret)     \
	{                                                                            \
		return row_get(r, row_type(ROW_TYPE_##name), ret);                 \
	}
ROW_TYPES(X)
#undef X
