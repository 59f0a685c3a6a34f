/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_state: what the parts of the block writer share: block_writer.c (sections), block_count.c
 * (how many of what), block_fill.c (records to arrays), cpu_keyframe.c (who ran when),
 * writeback_owner.c (whose pages a request writes back), request_lost_end.c (ends of requests that
 * nobody saw). Nobody else.
 */
#ifndef BLOCK_STATE_H
#define BLOCK_STATE_H

#include "bpf/wire.h"
#include "format/block_out.h"
#include "record/encode/block_writer.h"
#include "format/column_writer.h"
#include "record/tasks/task_table.h"
#include "record/encode/block_dict.h"

/*
 * A slot is a thread, or a pseudo id, that this block's events refer to. Slots are numbered as
 * they come; on disk they are numbered by frequency. The first four are always the pseudo ids.
 */
enum { SLOT_IDLE = 0, SLOT_UNKNOWN, SLOT_IRQ, SLOT_FILTERED, SLOT_FIRST };

struct block_slots {
	uint32_t cnt, cap;
	struct task_thread **thread;	/* NULL for pseudo ids */
	uint32_t *utid;
	uint32_t *hits;			/* references by columns */
	uint32_t *rank;			/* index in UTIDS; valid when hits is not 0 */
	uint32_t *order;		/* slots by rank */
};

/* A tid seen lately: one line of a direct-mapped cache in front of task_table_thread_at(). */
struct block_seen {
	uint32_t tid, slot;
	uint64_t since_ns, until_ns;	/* the tid means slot in [since, until) */
};
#define BLOCK_SEEN_CNT 512

/* The same for pids, and what was last found out about one. */
struct block_seen_pid {
	uint32_t pid;			/* 0: nothing yet */
	struct task_process *process;	/* has its row in this block */
	uint64_t since_ns, until_ns;	/* the pid means it in [since, until) */
};
#define BLOCK_SEEN_PIDS 64

/* Who runs on a CPU at the end of the last block. */
struct block_runner {
	bool known;			/* a switch was seen, or a snapshot told */
	uint32_t pseudo;		/* EVENT_ID_*, when thread is NULL */
	struct task_thread *thread;	/* pinned */
	uint64_t last_ns;		/* of the last switch applied */
};

/* One CPU while its switches are gone through: who has it, since when. */
struct block_cpu {
	uint32_t row, end;		/* switches to come */
	uint32_t run;			/* slot */
	uint64_t since_ns;
	uint64_t doubt_ns;		/* from here on it was seen elsewhere; UINT64_MAX */
};

/* A record of class block or a dirtying, in order of time over all CPUs. */
struct block_step {
	uint64_t ts_ns;
	const struct wire_hdr *h;
	uint32_t row;
	uint32_t number;		/* order of arrival */
};

struct writeback_owners;
struct request_lost_end;

struct block_writer {
	struct block_writer_config config;
	bool *cpu_online;		/* NULL: not known */
	struct task_table *task_table;
	struct name_dict names;
	struct block_dict sites, stacks;
	struct writeback_owners *owners;
	struct request_lost_end *unseen;	/* NULL unless config.watch_requests */
	struct block_out out;
	struct column_writer columns;
	struct block_slots slots;
	struct block_seen seen[BLOCK_SEEN_CNT];
	struct block_seen_pid seen_pids[BLOCK_SEEN_PIDS];
	struct kind_rows rows[EVENT_KIND_CNT];
	uint32_t *tally;		/* cpu * WIRE_HOOK_MAX + hook: the slice's records */
	uint32_t *pos;	/* cpu * EVENT_KIND_CNT + kind: counts, then the next row to fill */
	const struct wire_hdr **tasks;	/* the slice's task records */
	size_t task_cnt, task_cap;
	struct block_step *steps;	/* of the slice; without unseen only issues and dirtyings */
	size_t step_cnt, step_cap;
	struct block_runner *runners;	/* by cpu */
	uint32_t *running;		/* by cpu: slot at from_ns */
	struct block_cpu *cpus;		/* by cpu */
	uint32_t *cpu_heap;		/* CPUs with switches left, a heap by the next one's time */
	uint32_t *claim;		/* by slot: 1 + the CPU that has it; 0 */
	uint32_t claim_cap;
	uint64_t number;		/* of the block being made */
	uint64_t epoch; /* of the attempt: a failed one leaves marks behind that must not count */
	bool force_keyframe;			/* the next block lists every task */
	uint64_t keyframe_epoch;		/* of the last one that did */
	uint64_t start_ns;		/* from_ns of the first block */
	uint64_t from_ns, to_ns;
	uint64_t first_ns, last_ns;
	struct block_stats stats;
	struct row_writer processes, threads, task_events, cpu_state, rss_state, rss_snaps, summary;
	struct row_writer loss, cost, hook_stats, clocks, marks, name_rows, gaps, site_rows,
		frame_rows;
};

/* ---- wire_record.c ---- */

extern const uint8_t wire_hook_kind[WIRE_HOOK_MAX];	/* enum event_kind; 0: not a column kind */
extern const uint8_t wire_hook_class[WIRE_HOOK_MAX];	/* enum event_class */
extern const uint8_t wire_hook_action[WIRE_HOOK_MAX];	/* EVENT_BLOCK_*, EVENT_IRQ_* */
/* bytes, rounded up to 8; 0: not by its hook */
extern const uint16_t wire_record_room[WIRE_HOOK_MAX];

size_t wire_record_size_odd(const void *data, size_t max);

/* Another CPU wrote the records, maybe long ago: they are prefetched that far ahead. */
#define BLOCK_AHEAD_BYTES 768

/* As wire_record_size(), for where every record passes. */
static inline size_t wire_record_size_fast(const void *data, size_t max)
{
	const struct wire_hdr *h = data;
	size_t bytes;

	if (__builtin_expect(max < sizeof(*h) || h->hook >= WIRE_HOOK_MAX, 0))
		return 0;
	bytes = wire_record_room[h->hook];
	if (__builtin_expect(bytes - 1 >= max, 0))	/* 0, or longer than what is there */
		return bytes ? 0 : wire_record_size_odd(data, max);
	return bytes;
}

/* ---- block_order.c ---- */

int block_order_rows(struct kind_rows *k, uint32_t start, uint32_t end);
/*
 * The indexes of n instants in order of time; equal instants keep their order of arrival, which
 * qsort() does not promise. a and b have room for n; the result is one of them.
 */
uint32_t *block_order_by_time(const uint64_t *ts, uint32_t *a, uint32_t *b, uint32_t n);

/* ---- block_count.c ---- */

/* Counts records per kind and CPU, finds the task records and sorts them by time. */
int block_count_records(struct block_writer *w, const struct block_slice *s);

/* ---- block_fill.c ---- */

/* Makes room and fills the arrays; rows end up in order of (cpu, ts_ns, arrival). */
int block_fill_rows(struct block_writer *w, const struct block_slice *s);
/* The slot of a thread in this block. UINT32_MAX: out of memory. */
uint32_t block_slot_of(struct block_writer *w, struct task_thread *t);
int block_slots_begin(struct block_writer *w);
void block_fill_done(struct block_writer *w);

/* ---- cpu_keyframe.c ---- */

/*
 * Works out who runs on each CPU: at from_ns, for the keyframe, and after the block, for the next
 * one.
 */
int block_account_cpus(struct block_writer *w, const struct block_slice *s);
/* CPU_STATE rows. */
void block_put_keyframe(struct block_writer *w);

/* ---- writeback_owner.c ---- */

int writeback_owners_new(struct writeback_owners **ret);
void writeback_owners_free(struct writeback_owners *o);
/* Fills owner_upid and owner_how of the block's issues. Before the rows are ordered. */
int writeback_owner_resolve(struct block_writer *w, const struct block_slice *s);

/* ---- request_lost_end.c ---- */

int request_lost_end_new(struct request_lost_end **ret);
void request_lost_end_free(struct request_lost_end *u);
/* Puts LOSS rows for what must have happened. */
int request_lost_end_resolve(struct block_writer *w, const struct block_slice *s);

#endif /* BLOCK_STATE_H */
