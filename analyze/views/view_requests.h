/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * request_owner: whose data a block request moves, and how that is known.
 *
 * The submitter queued the request; the owner is who wanted it. They are the same when a process
 * reads, or writes its own memory (direct I/O). Pages of a file are written back for whoever
 * dirtied them, often by somebody else. Where nothing tells, the owner is unknown: no guess.
 * Threads: one.
 */
#pragma once

#include "model/request_track.h"
#include "analyze/context/context.h"

enum owner_how {
	OWNER_UNKNOWN = 0,	/* nothing tells */
	OWNER_DIRTIED,		/* the only one to dirty the inode in the last 30 s */
	OWNER_DIRTIED_SHARED,	/* dirtied it last, but others did, too */
	/* ... its first pages; the request was merged with those of others */
	OWNER_DIRTIED_MIXED,
	OWNER_READ,		/* a read: the submitter */
	OWNER_DIRECT,		/* written from a process's own memory: the submitter */
	/* no pages (flush, discard), or they were not looked at: the submitter */
	OWNER_SUBMITTED,
	OWNER_METADATA,		/* of a file system: unknown */
	OWNER_JOURNAL,		/* of a file system: unknown */
	OWNER_SWAP,		/* a page of somebody's memory: unknown, except when read in */
	OWNER_VOLUME,		/* a kernel thread queued it for a volume: who asked the volume */
	OWNER_WAITER,		/* a kernel thread queued it: the process that waits for it */
	OWNER_HOW_CNT,
};

/* "unknown", "dirtied", "dirtied_shared", ... */
const char *request_owner_how_name(enum owner_how how);

/* The owner's dense_process() number, or EVENT_ID_UNKNOWN; *ret_how (may be NULL). */
uint32_t request_owner(const struct analysis *a, const struct block_request *r,
		       enum owner_how *ret_how);

struct request_charge {
	uint32_t group;
	bool in_scope, is_known;
	enum owner_how how;
	const char *submitter;		/* who queued it; "kworker" for any kernel worker */
};
