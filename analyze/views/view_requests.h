/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_requests: the owner of a block request, and how the owner is known.
 *
 * The submitter is the thread that queued the request; the owner is the process that caused it.
 * They are the same if a process reads, or writes its own memory (direct I/O). Dirty pages of a
 * file belong to the process that dirtied them, often not the submitter. The owner is never
 * guessed: without evidence it is unknown. Threads: one.
 */
#pragma once

#include "model/request_track.h"
#include "analyze/context/context.h"

enum owner_how {
	OWNER_UNKNOWN = 0,	/* no evidence */
	OWNER_DIRTIED,		/* the only process that dirtied the inode in the last 30 s */
	OWNER_DIRTIED_SHARED,	/* the last process that dirtied the inode; others did, too */
	/* the process that dirtied the first pages; the request was merged with others' requests */
	OWNER_DIRTIED_MIXED,
	OWNER_READ,		/* a read: the submitter */
	OWNER_DIRECT,		/* written from a process's own memory: the submitter */
	/* no pages (flush, discard), or pages not examined: the submitter */
	OWNER_SUBMITTED,
	OWNER_METADATA,		/* metadata of a file system: no owner */
	OWNER_JOURNAL,		/* journal of a file system: no owner */
	OWNER_SWAP,		/* swapped memory: no owner, except for reads */
	/* queued by a kernel thread for a volume: the process that submitted to the volume */
	OWNER_VOLUME,
	OWNER_WAITER,		/* queued by a kernel thread: the process that waits for it */
	OWNER_HOW_CNT,
};

/* Returns "unknown", "dirtied", "dirtied_shared", ... */
const char *request_owner_how_name(enum owner_how how);

/* Returns the owner's dense_process() number, or EVENT_ID_UNKNOWN. ret_how may be NULL. */
uint32_t request_owner(const struct analysis *a, const struct block_request *r,
		       enum owner_how *ret_how);

struct request_charge {
	uint32_t group;
	bool in_scope, is_known;
	enum owner_how how;
	const char *submitter;		/* name of the submitter; "kworker" for any kernel worker */
};
