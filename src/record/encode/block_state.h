/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_state: private state of the block writer. Its parts are:
 *
 * block_writer.c (sections, the thread on each CPU), block_fill.c (counts records, converts them to
 * arrays), block_dict.c (names, sites, stacks), block_requests.c (owners, files and lost ends of
 * requests).
 */
#pragma once

#include "base/buf.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "bpf/wire.h"
#include "format/block.h"
#include "model/request_track.h"
#include "model/writeback_owners.h"
#include "record/encode/block_writer.h"
#include "format/columns.h"
#include "ring/ring.h"

/*
 * A slot is a thread, or a pseudo id, to which this block's events refer. Slots are numbered in
 * order of first use, and on disk by frequency. The first four are always the pseudo ids.
 */
enum { SLOT_IDLE = 0, SLOT_UNKNOWN, SLOT_IRQ, SLOT_FILTERED, SLOT_FIRST };

struct block_slots {
	uint32_t cnt, cap;
	struct task_thread **thread;	/* NULL for pseudo ids */
	uint32_t *utid;
	uint32_t *hits;			/* number of references in columns */
	uint32_t *rank;			/* index in UTIDS; valid if hits is not 0 */
	uint32_t *order;		/* slots by rank */
};

/* A recently used tid: a line of a direct-mapped cache for task_table_thread_at(). */
struct block_seen {
	uint32_t tid, slot;
	uint64_t since_ns, until_ns;	/* the tid belongs to slot in [since_ns, until_ns) */
};
#define BLOCK_SEEN_CNT 512

/* A recently used pid, and the process that was found for it. */
struct block_seen_pid {
	uint32_t pid;			/* 0: entry is empty */
	struct task_process *process;	/* has a row in this block */
	uint64_t since_ns, until_ns;	/* the pid belongs to the process in [since_ns, until_ns) */
};
#define BLOCK_SEEN_PIDS 64

/* The thread on a CPU at the end of the last block. */
struct block_runner {
	bool known;			/* from a switch or a snapshot */
	bool lost;			/* switches were lost after the last known one */
	uint32_t pseudo;		/* EVENT_ID_*, if thread is NULL */
	struct task_thread *thread;	/* pinned */
	uint64_t last_ns;		/* time of the last switch applied */
};

/* State of one CPU while its switches are processed. */
struct block_cpu {
	uint32_t row, end;		/* remaining switches */
	uint32_t run;			/* slot of the current thread */
	uint32_t last_run;		/* slot of the thread at the end of the slice */
	/* add CPU_END rows: a lost switch may have taken the CPU's thread off the CPU */
	bool needs_end;
	uint64_t since_ns;
};

/* Last switches from and to a thread in a slice. */
struct block_sight {
	uint64_t left_ns, came_ns;
	uint32_t came_to;		/* 1 + CPU of the switch at came_ns; 0: none */
	bool is_on;			/* on a CPU at the start of the slice */
};

struct block_steps {
	struct task_step *v;
	size_t cnt, cap;
};

/* The sites or the stacks of one block. All zeros is an empty dictionary. */
struct block_dict {
	struct hash_map by_key;	/* by key: index or offset in items, + 1 */
	struct buf items;
};

/* Search for requests of which an event was lost, see block_requests.c. */
struct request_lost_end {
	struct request_track *track;	/* NULL: no events yet */
	struct trace_loss *suspects;
	size_t suspect_cnt, suspect_cap;
};

#define BLOCK_LAST_SOCKETS 64

struct block_writer {
	struct block_writer_config config;
	struct task_table *task_table;
	struct hash_map names[TRACE_NAME_TYPE_CNT];	/* by id, until block_names_forget() */
	uint64_t last_sockets[BLOCK_LAST_SOCKETS];	/* objects that this block has named */
	struct hash_map places;		/* by switch, see kernel_places: block_dict.c */
	struct block_dict sites, stacks;
	struct writeback_owners owners;	/* block_requests.c */
	struct inode_cache paths;	/* block_requests.c */
	uint64_t last_path;		/* highest number of a path */
	struct strpool *span_names;
	struct hash_map span_numbers;	/* by address of the name in span_names */
	struct request_lost_end unseen;	/* used with config.watch_requests */
	struct block_out out;
	struct column_writer columns;
	struct block_slots slots;
	struct block_seen seen[BLOCK_SEEN_CNT];
	struct block_seen_pid seen_pids[BLOCK_SEEN_PIDS];
	struct kind_rows rows[EVENT_KIND_CNT];
	uint32_t *tally;		/* number of records, by cpu * WIRE_HOOK_MAX + hook */
	uint32_t *pos;	/* by cpu * EVENT_KIND_CNT + kind: counts, later the next rows to fill */
	struct block_steps tasks;	/* the slice's task records */
	/* records of class block; without watch_requests, only issues, dirtyings and paths */
	struct block_steps steps;
	struct block_runner *runners;	/* by cpu */
	uint32_t *running;		/* by cpu: slot at from_ns */
	struct block_cpu *cpus;		/* by cpu */
	struct block_sight *sights;	/* by slot */
	size_t sight_cap;
	uint64_t number;		/* number of the block being made */
	/* number of calls of block_writer_encode(); marks set by failed calls have older numbers */
	uint64_t epoch;
	bool force_keyframe;			/* the next block lists every task */
	uint64_t keyframe_epoch;		/* epoch of the last block that lists every task */
	uint64_t start_ns;		/* from_ns of the first block */
	uint64_t from_ns, to_ns;
	uint64_t first_ns, last_ns;
	struct block_stats stats;
	struct row_writer small[CHUNK_SMALL_END];	/* by enum chunk_section_type */
};

/* ---- block_fill.c ---- */

/* Counts records per hook and CPU, collects the task records and sorts them by time. */
int block_count_records(struct block_writer *w, const struct block_slice *s);
/* Allocates and fills the arrays; the resulting order of rows is (cpu, ts_ns, arrival). */
int block_fill_rows(struct block_writer *w, const struct block_slice *s);
/* Returns the slot of a thread in this block. UINT32_MAX: out of memory. */
uint32_t block_slot_of(struct block_writer *w, struct task_thread *t);
int block_slots_begin(struct block_writer *w);
void block_fill_done(struct block_writer *w);

/* ---- block_dict.c: names, sites and stacks. 0 or -ENOMEM ---- */

/* Appends the name of an id to the block, once per block. Ignores 0 and ids without a name. */
int block_use_name(struct block_writer *w, enum trace_name_type type, uint64_t id);
/* Sets the name of id for this and later blocks. */
int block_set_name(struct block_writer *w, enum trace_name_type type, uint64_t id,
		   const char *name);
/*
 * Forgets ids that no block has used since epoch, so that memory is bounded in long recordings.
 * Keeps some thousands of sockets and files, because the kernel seldom repeats their names.
 */
void block_names_forget(struct block_writer *w, uint64_t epoch);
void block_names_done(struct block_writer *w);

void block_dict_done(struct block_dict *b);
void block_dict_begin(struct block_dict *b);	/* begins a block */

enum block_site {
	BLOCK_SITE_CODE,
	/* an address to which a frame pointer led, and which may not be code */
	BLOCK_SITE_CALLER,
	BLOCK_SITE_VARIABLE,
};

/*
 * Looks up a user-space address of a process at ts_ns: an address of code, or of a lock, which may
 * be a variable. Each (process, address) is looked up once per block, and again if the mapping has
 * changed. *ret_code is the same in every block: a hash of the file, its build id and the offset in
 * the file, or of the name of code without a file; 0: no known mapping. An address of type
 * BLOCK_SITE_CALLER has no row if it has no known mapping.
 */
int block_use_site(struct block_writer *w, const struct task_process *p, uint64_t addr,
		   enum block_site what, uint64_t ts_ns, uint64_t *ret_code);

struct stack_frames {
	uint32_t upid;		/* process of the user frames; 0: no user frames */
	uint32_t kernel_cnt, user_cnt;
	const uint64_t *kernel, *user;	/* innermost first */
	uint64_t code;		/* hash of the mapped files at the user frames */
	/* found by unwinding; addresses found by frame pointers alone may not be code */
	bool is_unwound;
};

/*
 * A stack's number is a hash of its frames and, if it has user frames, of the process and the
 * mapped files. A stack therefore has the same number in every block, without state between blocks.
 * If other files are mapped at the same addresses later, the stack gets another number. The names
 * of the frames of a number therefore never change. Different stacks of a block have different
 * numbers. 0 < *ret_id < 2^62.
 */
/* Adds the code of the next user frame to a hash. */
uint64_t stack_code_add(uint64_t code, uint64_t site_code);
int stack_dict_use(struct block_dict *b, struct row_writer *w, const struct stack_frames *f,
		   uint64_t *ret_id, bool *ret_new);

/* ---- block_requests.c: files ---- */

void file_paths_init(struct inode_cache *paths);
/* Names files for threads that sleep on them. Call this while w->steps has only path records. */
int file_paths_note(struct block_writer *w);
/*
 * Fills the path column of the block's issues, and names the files. Call this before rows are
 * sorted.
 */
int file_paths_resolve(struct block_writer *w, const struct block_slice *s);

/* ---- block_dict.c: sockets and places. 0 or -ENOMEM ---- */

/* Sets the name of a socket from its ends. */
int socket_names_note(struct block_writer *w, const struct wire_socket *r);
/* Adds the name of the socket or file on which a thread sleeps in call (WIRE_CALL_*). */
int socket_names_use(struct block_writer *w, uint32_t call, uint64_t object);

/* Stores the lock to which a place record refers, for its switch. 0 or -ENOMEM. */
int kernel_places_note(struct block_writer *w, const struct wire_place *r);
/*
 * Removes and returns the kernel address at which a thread waits for a lock since this switch; 0:
 * not a wait for a lock.
 */
uint64_t kernel_places_take(struct block_writer *w, const struct wire_hdr *of);

/* ---- block_requests.c ---- */

/* Adds `by` to the pin count of a struct task_process. A pinned process stays in the task table. */
void writeback_owner_pin(void *process, int by);
/* Fills owner_upid and owner_how of the block's issues. Call this before rows are sorted. */
int writeback_owner_resolve(struct block_writer *w, const struct block_slice *s);

void request_lost_end_done(struct request_lost_end *u);
/* Appends LOSS rows for events that must have happened but were not recorded. */
int request_lost_end_resolve(struct block_writer *w, const struct block_slice *s);
