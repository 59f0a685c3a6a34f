/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * alloc_account: every change of what a process holds, from all memory sources, in time order.
 *
 *     slab, page, heap, RSS, VM events, exec, exit --[alloc_account]--> changes, with whom to
 * credit
 *
 * A free credits the thread that allocated. Sources are told apart and must never be added up: a
 * page may be a slab's, a slab object a kmalloc's, and both part of a process's RSS.
 *
 * Starts at the trace's start, for a free may end what was allocated any time before. Memory: live
 * objects, processes. Threads: one.
 */
#ifndef ALLOC_ACCOUNT_H
#define ALLOC_ACCOUNT_H

#include <stdint.h>

#include "analyze/context.h"
#include "analyze/index.h"
#include "event/live_objects.h"

enum alloc_source {
	ALLOC_RSS = 0,
	ALLOC_SLAB = 1,
	ALLOC_PAGE = 2,
	ALLOC_VM = 3,
	ALLOC_HEAP = 4,
	ALLOC_SOURCE_CNT = 5,
};

enum alloc_change_kind {
	ALLOC_CHANGE_BASELINE = 1, /* was there before the trace, or before its first event */
	ALLOC_CHANGE_ALLOC,
	ALLOC_CHANGE_FREE,
	ALLOC_CHANGE_LOST,     /* its free was lost; found out now */
	ALLOC_CHANGE_EXIT,     /* the process ended (or, heap: called exec) */
	ALLOC_CHANGE_UNPAIRED, /* a free of what was allocated before the trace; delta only if its
				  size is known */
};

struct alloc_change {
	uint64_t ts_ns;
	int64_t delta;			/* bytes */
	uint32_t thread,
		process; /* ident numbers: who is credited; RSS, VM: thread is EVENT_ID_UNKNOWN */
	uint8_t source, kind;
};

typedef int (*alloc_account_sink)(void *ctx, const struct alloc_change *c);

struct alloc_account;

/* source_mask: 1u << ALLOC_x. Baselines are given to sink at the first run. */
int alloc_account_open(struct alloc_account **ret, struct analysis *a, uint32_t source_mask,
		       uint64_t until_ns, alloc_account_sink sink, void *ctx, struct err *e);
void alloc_account_close(struct alloc_account *x);

/*
 * For an index. begin_cell(): from now on notes are made of what a cell needs of the time before it;
 * take_cell() writes them. save() writes the whole state. An account opened with either, at that
 * instant, goes on as this one does. Sources of one enum index_group only.
 */
struct alloc_account_start {
	uint64_t from_ns;
	struct index_in *in;
	bool whole;	/* what save() wrote; else take_cell() */
};
int alloc_account_open_cell(struct alloc_account **ret, struct analysis *a, uint32_t source_mask,
			    const struct alloc_account_start *start, uint64_t until_ns,
			    alloc_account_sink sink, void *ctx, struct err *e);
void alloc_account_begin_cell(struct alloc_account *x);
void alloc_account_take_cell(const struct alloc_account *x, struct buf *out);
int alloc_account_save(const struct alloc_account *x, struct buf *out);

/* Handles everything before to_ns (<= until_ns). 0 or -errno. */
int alloc_account_run(struct alloc_account *x, uint64_t to_ns, struct err *e);

/* "rss", "slab", "page", "vm", "heap" */
const char *alloc_source_name(unsigned int source);
/* Index or -1; name need not end at len. */
int alloc_source_find(const char *name, size_t len);

/* What an allocation event says of its object. *ret_addr: address or page frame. */
void alloc_event_kind(const struct event *ev, uint32_t page_bytes, struct live_kind *ret_kind,
		      uint64_t *ret_addr);
/* Bytes of a page on the recorded machine. */
uint32_t alloc_page_bytes(const struct trace *t);

#endif /* ALLOC_ACCOUNT_H */
