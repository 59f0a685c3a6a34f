/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * row_codec: the rows of the small sections.
 *
 * A row is a varint, the number of bytes that follow, and its fields in the order of the lists
 * below. A reader ignores bytes after the fields that it supports, and missing fields at the end
 * are 0 or "": fields may be appended in later versions. Field types:
 *
 *   U(field) unsigned varint T(field) instant: zigzag varint of (field - from_ns of the block),
 *   modulo 2^64 S(field) string: varint length, the bytes, and a zero byte, which the length
 *   excludes
 *
 * Encoder and decoder use the same list.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/rows.h"

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
	uint64_t steal_ns;	/* steal time of utid since then */
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
union row {
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
