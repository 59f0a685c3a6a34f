/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_state: what the parts of the block writer share: block_writer.c (sections),
 * block_count.c (how many of what), block_fill.c (records to arrays), block_summary.c (who ran when),
 * block_owner.c (whose pages a request writes back), block_unseen.c (ends of requests that nobody
 * saw). Nobody else.
 */
#ifndef BLOCK_STATE_H
#define BLOCK_STATE_H

#include "bpf/wire.h"
#include "chunk/block_out.h"
#include "chunk/block_writer.h"
#include "chunk/column_writer.h"
#include "chunk/identity.h"
#include "chunk/name_book.h"
#include "chunk/site_book.h"
#include "chunk/stack_book.h"

/*
 * A slot is a thread, or a pseudo id, that this block's events refer to. Slots are numbered as
 * they come; on disk they are numbered by frequency. The first four are always the pseudo ids.
 */
enum { SLOT_IDLE = 0, SLOT_UNKNOWN, SLOT_IRQ, SLOT_FILTERED, SLOT_FIRST };

struct block_slots {
	uint32_t cnt, cap;
	struct ident_thread **thread;	/* NULL for pseudo ids */
	struct trace_summary *sum;	/* utid is set */
	uint32_t *hits;			/* references by columns */
	uint32_t *rank;			/* index in UTIDS; valid when hits is not 0 */
	uint32_t *order;		/* slots by rank */
};

/* A tid seen lately: one line of a direct-mapped cache in front of identity_thread_at(). */
struct block_seen {
	uint32_t tid, slot;
	uint64_t since_ns, until_ns;	/* the tid means slot in [since, until) */
};
#define BLOCK_SEEN_CNT 512

/* The same for pids, and what was last found out about one. */
struct block_seen_pid {
	uint32_t pid;			/* 0: nothing yet */
	struct ident_process *process;	/* has its row in this block */
	uint64_t since_ns, until_ns;	/* the pid means it in [since, until) */
};
#define BLOCK_SEEN_PIDS 64

/* Who runs on a CPU at the end of the last block. */
struct block_runner {
	bool known;			/* a switch was seen, or a snapshot told */
	uint32_t pseudo;		/* EVENT_ID_*, when thread is NULL */
	struct ident_thread *thread;	/* pinned */
	uint64_t last_ns;		/* of the last switch applied */
};

/* One CPU while its switches are gone through: who has it, since when. */
struct block_cpu {
	uint32_t row, end;		/* switches to come */
	uint32_t run;			/* slot */
	uint64_t since_ns;
	uint64_t doubt_ns;		/* from here on it was seen elsewhere; UINT64_MAX */
};

struct block_owners;
struct block_unseen;

struct block_writer {
	struct block_writer_config config;
	bool *cpu_online;		/* NULL: not known */
	struct identity *identity;
	struct name_book names;
	struct site_book sites;
	struct stack_book stacks;
	struct block_owners *owners;
	struct block_unseen *unseen;	/* NULL unless config.watch_requests */
	struct block_out out;
	struct column_writer columns;
	struct block_slots slots;
	struct block_seen seen[BLOCK_SEEN_CNT];
	struct block_seen_pid seen_pids[BLOCK_SEEN_PIDS];
	struct kind_rows rows[EVENT_KIND_CNT];
	uint32_t rows_cap[EVENT_KIND_CNT];
	uint32_t *tally;		/* cpu * WIRE_HOOK_MAX + hook: the slice's records */
	uint32_t *pos;			/* cpu * EVENT_KIND_CNT + kind: counts, then the next row to fill */
	const struct wire_hdr **tasks;	/* the slice's task records */
	size_t task_cnt, task_cap;
	struct block_runner *runners;	/* by cpu */
	uint32_t *running;		/* by cpu: slot at from_ns */
	struct block_cpu *cpus;		/* by cpu */
	uint32_t *turn;			/* CPUs with switches left, a heap by the next one's time */
	uint32_t *claim;		/* by slot: 1 + the CPU that has it; 0 */
	uint32_t claim_cap;
	uint64_t number;		/* of the block being made */
	uint64_t epoch; /* of the attempt: a failed one leaves marks behind that must not count */
	bool anew;			/* the next block lists every task */
	uint64_t anew_epoch;		/* of the last one that did */
	uint64_t start_ns;		/* from_ns of the first block */
	uint64_t from_ns, to_ns;
	uint64_t first_ns, last_ns;
	struct block_stats stats;
	struct row_writer processes, threads, task_events, cpu_state, rss_state, rss_snaps, summary;
	struct row_writer loss, cost, hook_stats, clocks, marks, name_rows, gaps, site_rows, frame_rows;
};

/* ---- wire_record.c ---- */

extern const uint8_t wire_hook_kind[WIRE_HOOK_MAX];	/* enum event_kind; 0: not a column kind */
extern const uint8_t wire_hook_class[WIRE_HOOK_MAX];	/* enum wire_class */
extern const uint8_t wire_hook_action[WIRE_HOOK_MAX];	/* EVENT_BLOCK_*, EVENT_IRQ_* */
extern const uint16_t wire_record_room[WIRE_HOOK_MAX];	/* bytes, rounded up to 8; 0: not by its hook */

size_t wire_record_size_odd(const void *data, size_t max);

/* Records lie one behind the other and were written long ago, by another CPU maybe: ask for them that far ahead. */
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

/* ---- block_count.c ---- */

/* Counts records per kind and CPU, finds the task records and sorts them by time. Late rows are counted with the fill. */
int block_count_records(struct block_writer *w, const struct block_slice *s);

/* ---- block_fill.c ---- */

/* Makes room and fills the arrays; rows end up in order of (cpu, ts_ns, arrival). */
int block_fill_rows(struct block_writer *w, const struct block_slice *s);
/* The slot of a thread in this block. UINT32_MAX: out of memory. */
uint32_t block_slot_of(struct block_writer *w, struct ident_thread *t);
int block_slots_begin(struct block_writer *w);
void block_fill_done(struct block_writer *w);

/* ---- block_summary.c ---- */

/* Works out who ran: summary times, the keyframe's runners, and the runners after the block. */
int block_account_cpus(struct block_writer *w, const struct block_slice *s);
/* SUMMARY and CPU_STATE rows. */
int block_put_summary(struct block_writer *w);

/* ---- block_owner.c ---- */

int block_owners_new(struct block_owners **ret);
void block_owners_free(struct block_owners *o);
void block_owner_begin(struct block_owners *o);
/* An issue or dirtying record of the block, which stays where it is, and its row. 0 or -ENOMEM. */
int block_owner_note(struct block_owners *o, const struct wire_hdr *h, uint32_t row);
/* Fills owner_upid and owner_how of the block's issues. Before the rows are ordered. */
int block_owner_resolve(struct block_writer *w, const struct block_slice *s);

/* ---- block_unseen.c ---- */

int block_unseen_new(struct block_unseen **ret);
void block_unseen_free(struct block_unseen *u);
/* Any record of class block, between begin and resolve of a block. 0 or -ENOMEM. */
void block_unseen_begin(struct block_unseen *u);
int block_unseen_note(struct block_writer *w, const struct wire_block *r);
/* Puts LOSS rows for what must have happened. */
int block_unseen_resolve(struct block_writer *w, const struct block_slice *s);

#endif /* BLOCK_STATE_H */
