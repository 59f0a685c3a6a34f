/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_state: what the parts of the block writer share: block_writer.c (sections), wire_record.c
 * (how many of what), block_fill.c (records to arrays), cpu_keyframe.c (who ran when),
 * writeback_owner.c (whose pages a request writes back), file_paths.c (of which file),
 * socket_names.c (what a socket connects), request_lost_end.c (ends of requests that nobody saw).
 * Nobody else.
 */
#pragma once

#include "base/buf.h"
#include "base/hash_map.h"
#include "bpf/wire.h"
#include "format/block_out.h"
#include "model/request_track.h"
#include "model/writeback_owners.h"
#include "record/encode/block_writer.h"
#include "format/column_writer.h"
#include "ring/wire_record.h"

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

/* Says who runs on a CPU at the end of the last block. */
struct block_runner {
	bool known;			/* a switch was seen, or a snapshot told */
	bool lost;			/* switches were lost since anything was known */
	uint32_t pseudo;		/* EVENT_ID_*, when thread is NULL */
	struct task_thread *thread;	/* pinned */
	uint64_t last_ns;		/* of the last switch applied */
};

/* One CPU while its switches are gone through: who has it, since when. */
struct block_cpu {
	uint32_t row, end;		/* switches to come */
	uint32_t run;			/* slot */
	uint32_t last_run;		/* the slot that has it when the slice ends */
	bool needs_end;			/* ... which the switches do not tell */
	uint64_t since_ns;
};

/* The switches of a slice saw a thread here last. */
struct block_sight {
	uint64_t left_ns, came_ns;
	uint32_t came_to;		/* CPU + 1; 0: nowhere */
	bool is_on;			/* a CPU when the slice begins */
};

struct block_steps {
	struct task_step *v;
	size_t cnt, cap;
};

/* The sites or the stacks of one block. All zeros is an empty dictionary. */
struct block_dict {
	struct hash_map by_key;	/* to a place in items, + 1 */
	struct buf items;
};

/* Keeps the requests that seem to have lost an event: request_lost_end.c. */
struct request_lost_end {
	struct request_track *track;	/* NULL: nothing was seen yet */
	struct trace_loss *suspects;
	size_t suspect_cnt, suspect_cap;
};

#define BLOCK_LAST_SOCKETS 64

struct block_writer {
	struct block_writer_config config;
	struct task_table *task_table;
	struct hash_map names[TRACE_NAME_TYPE_CNT];	/* by id; all names ever asked for */
	uint64_t last_sockets[BLOCK_LAST_SOCKETS];	/* whose names this block has */
	struct block_dict sites, stacks;
	struct writeback_owners owners;	/* writeback_owner.c */
	struct inode_cache paths;	/* file_paths.c */
	uint64_t last_path;		/* the highest number of a path */
	struct request_lost_end unseen;	/* with config.watch_requests */
	struct block_out out;
	struct column_writer columns;
	struct block_slots slots;
	struct block_seen seen[BLOCK_SEEN_CNT];
	struct block_seen_pid seen_pids[BLOCK_SEEN_PIDS];
	struct kind_rows rows[EVENT_KIND_CNT];
	uint32_t *tally;		/* cpu * WIRE_HOOK_MAX + hook: the slice's records */
	uint32_t *pos;	/* cpu * EVENT_KIND_CNT + kind: counts, then the next row to fill */
	struct block_steps tasks;	/* the slice's task records */
	/* records of class block; unless watch_requests only issues, dirtyings and paths */
	struct block_steps steps;
	struct block_runner *runners;	/* by cpu */
	uint32_t *running;		/* by cpu: slot at from_ns */
	struct block_cpu *cpus;		/* by cpu */
	struct block_sight *sights;	/* by slot */
	size_t sight_cap;
	uint64_t number;		/* of the block being made */
	uint64_t epoch; /* of the attempt: a failed one leaves marks behind that must not count */
	bool force_keyframe;			/* the next block lists every task */
	uint64_t keyframe_epoch;		/* of the last one that did */
	uint64_t start_ns;		/* from_ns of the first block */
	uint64_t from_ns, to_ns;
	uint64_t first_ns, last_ns;
	struct block_stats stats;
	struct row_writer small[CHUNK_SMALL_END];	/* by enum chunk_section_type */
};

/* ---- block_count.c ---- */

extern const uint8_t wire_hook_kind[WIRE_HOOK_MAX];	/* enum event_kind; 0: not a column kind */

/* Another CPU wrote the records, maybe long ago: they are prefetched that far ahead. */
#define BLOCK_AHEAD_BYTES 768

/* Counts records per kind and CPU, finds the task records and sorts them by time. */
int block_count_records(struct block_writer *w, const struct block_slice *s);

/* ---- block_order.c ---- */

int block_order_rows(struct kind_rows *k, uint32_t start, uint32_t end);
/*
 * Steps in order of time, which they get when all are there. At the same instant paths come first,
 * then dirtyings, then the others in their order of arrival. -ENOMEM.
 */
int block_steps_add(struct block_steps *s, const struct wire_hdr *h, uint32_t row);
void block_steps_order(struct block_steps *s);

/* ---- block_fill.c ---- */

/* Makes room and fills the arrays; rows end up in order of (cpu, ts_ns, arrival). */
int block_fill_rows(struct block_writer *w, const struct block_slice *s);
/* The slot of a thread in this block. UINT32_MAX: out of memory. */
uint32_t block_slot_of(struct block_writer *w, struct task_thread *t);
int block_slots_begin(struct block_writer *w);
void block_fill_done(struct block_writer *w);

/* ---- block_dict.c: what events refer to by a number. 0 or -ENOMEM ---- */

/* The block refers to id: appends its name, once per block. Ignores ids without a name, and 0. */
int block_use_name(struct block_writer *w, enum trace_name_type type, uint64_t id);
/* From now on id has this name. */
int block_set_name(struct block_writer *w, enum trace_name_type type, uint64_t id,
		   const char *name);
/*
 * Forgets the ids that no block since epoch referred to: ids come and go, and a recording may last
 * for weeks. Some thousands of sockets and files stay, of which the kernel tells only now and then.
 */
void block_names_forget(struct block_writer *w, uint64_t epoch);
void block_names_done(struct block_writer *w);

void block_dict_done(struct block_dict *b);
void block_dict_begin(struct block_dict *b);	/* begins a block */

enum block_site {
	BLOCK_SITE_CODE,
	BLOCK_SITE_CALLER,	/* what may be no code, but what a frame pointer led to */
	BLOCK_SITE_VARIABLE,
};

/*
 * An event of a process at ts_ns has an address of user space: code, or a lock, which may be a
 * variable. Each (process, address) is asked for once per block, or once for each mapping that was
 * there in turn. *ret_code: a hash of the file, its build id and the offset in it, or of the name
 * of code without a file, the same in every block; 0: nothing is known to be mapped there. A caller
 * of which nothing is known gets no row.
 */
int block_use_site(struct block_writer *w, const struct task_process *p, uint64_t addr,
		   enum block_site what, uint64_t ts_ns, uint64_t *ret_code);

struct stack_frames {
	uint32_t upid;		/* of the user frames; 0: there are none */
	uint32_t kernel_cnt, user_cnt;
	const uint64_t *kernel, *user;	/* innermost first */
	uint64_t code;		/* hash of what was mapped at the user frames */
	bool is_unwound;	/* not by frame pointers alone, which may lead to no code */
};

/*
 * A stack's number is a hash of its frames, and of the process and the mapped files if it has user
 * frames. A stack thus has the same number in every block, although nothing is kept between blocks,
 * and another number if other files are mapped at the same addresses: rows with the same number
 * have the same names at any time. Two stacks of a block never share a number. *ret_id is above 0
 * and below 2^62.
 */
uint64_t stack_code_add(uint64_t code, uint64_t site_code);	/* the next user frame's */
int stack_dict_use(struct block_dict *b, struct row_writer *w, const struct stack_frames *f,
		   uint64_t *ret_id, bool *ret_new);

/* ---- cpu_keyframe.c ---- */

/*
 * Works out who runs on each CPU: at from_ns, for the keyframe, and after the block, for the next
 * one.
 */
int block_account_cpus(struct block_writer *w, const struct block_slice *s);
/* CPU_STATE rows. */
void block_put_keyframe(struct block_writer *w);
/*
 * In the first block: what the snapshot read of a thread after a switch or wake-up of it is not its
 * state at the start.
 */
void block_check_start_states(struct block_writer *w);
/* The threads of the block have events, so a trace that begins later does not begin with these. */
void block_end_start_states(struct block_writer *w);

/* ---- file_paths.c ---- */

void file_paths_init(struct inode_cache *paths);
/* Names files for threads that sleep for them. While all steps are records of paths. */
int file_paths_note(struct block_writer *w);
/* Fills path of the block's issues, and names the files. Before the rows are ordered. */
int file_paths_resolve(struct block_writer *w, const struct block_slice *s);

/* ---- socket_names.c: 0 or -ENOMEM ---- */

/* A socket has these ends. */
int socket_names_note(struct block_writer *w, const struct wire_socket *r);
/* A thread sleeps in call (WIRE_CALL_*) for object: the block gets the socket's or file's name. */
int socket_names_use(struct block_writer *w, uint32_t call, uint64_t object);

/* ---- writeback_owner.c ---- */

/* For the owners: a process (struct task_process) that is remembered keeps its row. */
void writeback_owner_pin(void *process, int by);
/* Fills owner_upid and owner_how of the block's issues. Before the rows are ordered. */
int writeback_owner_resolve(struct block_writer *w, const struct block_slice *s);

/* ---- request_lost_end.c ---- */

void request_lost_end_done(struct request_lost_end *u);
/* Puts LOSS rows for what must have happened. */
int request_lost_end_resolve(struct block_writer *w, const struct block_slice *s);
