/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * columns: which kinds of events there are, what columns they have, and how each is stored.
 *
 * The lists below are the only place that says so: the codec, FORMAT.md's table, the SQL event
 * tables and `info --columns` follow them. Ids are stored in traces: append only.
 */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <stdint.h>

/* utid and upid of things that are not tasks. Real ids start at EVENT_ID_FIRST. */
enum {
	EVENT_ID_IDLE = 0,	/* the idle task of any CPU */
	EVENT_ID_UNKNOWN = 1,	/* who it was went lost with a declared loss */
	EVENT_ID_IRQ = 2,	/* interrupt context: no task to charge */
	EVENT_ID_FILTERED = 3,	/* left out of the recording by --only */
	EVENT_ID_FIRST = 16,
};

/* X(id, KIND, "name"). Append only. */
#define EVENT_KINDS(X)                   \
	X(1, SWITCH, "switch")           \
	X(2, WAKEUP, "wakeup")           \
	X(3, SLAB_ALLOC, "slab_alloc")   \
	X(4, SLAB_FREE, "slab_free")     \
	X(5, PAGE_ALLOC, "page_alloc")   \
	X(6, PAGE_FREE, "page_free")     \
	X(7, RSS, "rss")                 \
	X(8, VM, "vm")                   \
	X(9, BLOCK, "block")             \
	X(10, HEAP_ALLOC, "heap_alloc")  \
	X(11, HEAP_FREE, "heap_free")    \
	X(12, DIRTY, "dirty")            \
	X(13, IRQ, "irq")                \
	X(14, STACK, "stack")

enum event_kind {
#define X(id, kind, name) EVENT_##kind = id,
	EVENT_KINDS(X)
#undef X
	EVENT_KIND_CNT	/* one more than the last: ids are in order */
};

#define EVENT_VALUES 14

/*
 * How a column is stored (schema/FORMAT.md, "Columns"):
 *   UTID     index into the block's list of utids
 *   PREV     as UTID; 0 when it is the thread the CPU's last switch went to
 *   TUPLE    one index per row into a per-kind list of the value combinations that occur;
 *            shared by all TUPLE columns of the kind and by flags
 *   PLAIN    the value                        DELTA    difference to the row before
 *   TDELTA   difference to the last row with the same tuple
 *   BACKREF  how many rows ago the same value was; new ones as differences
 *   XREF     the row of the kind before this one (alloc of a free) that has the value
 */
enum event_codec {
	EVENT_CODEC_UTID = 1,
	EVENT_CODEC_PREV = 2,
	EVENT_CODEC_TUPLE = 3,
	EVENT_CODEC_PLAIN = 4,
	EVENT_CODEC_DELTA = 5,
	EVENT_CODEC_TDELTA = 6,
	EVENT_CODEC_BACKREF = 7,
	EVENT_CODEC_XREF = 8,
};

/*
 * X(KIND, index, "sql column", codec, "unit and meaning")
 * Every kind has in addition ts_ns, cpu, flags (EVENT_F_*) and utid, in struct event itself.
 */
#define EVENT_COLUMNS(X)                                                                              \
	X(SWITCH, 0, "next_utid", UTID, "thread that runs from ts_ns on")                             \
	X(SWITCH, 1, "prev_state", TUPLE, "kernel task state bits of the thread that leaves; 0 runnable") \
	X(SWITCH, 2, "prev_prio", TUPLE, "kernel priority 0..139; 120 is nice 0")                     \
	X(SWITCH, 3, "next_prio", TUPLE, "kernel priority of next_utid")                              \
	X(WAKEUP, 0, "target_utid", UTID, "thread made runnable")                                     \
	X(WAKEUP, 1, "target_cpu", TUPLE, "CPU it last ran on")                                       \
	X(WAKEUP, 2, "prio", TUPLE, "its kernel priority")                                            \
	X(WAKEUP, 3, "is_new", TUPLE, "1: first wake-up after its creation")                          \
	X(SLAB_ALLOC, 0, "addr", BACKREF, "kernel address")                                           \
	X(SLAB_ALLOC, 1, "bytes_req", TUPLE, "bytes asked for")                                       \
	X(SLAB_ALLOC, 2, "bytes", TUPLE, "bytes given")                                               \
	X(SLAB_ALLOC, 3, "call_site", TUPLE, "kernel code address of the caller")                     \
	X(SLAB_ALLOC, 4, "cache", TUPLE, "kmem_cache address; 0 kmalloc or not told by the kernel")   \
	X(SLAB_FREE, 0, "addr", XREF, "kernel address")                                               \
	X(SLAB_FREE, 1, "cache", TUPLE, "kmem_cache address; 0 kfree or not told by the kernel")      \
	X(PAGE_ALLOC, 0, "pfn", BACKREF, "page frame number")                                         \
	X(PAGE_ALLOC, 1, "page_order", TUPLE, "2^page_order pages")                                   \
	X(PAGE_ALLOC, 2, "gfp", TUPLE, "kernel GFP flags")                                            \
	X(PAGE_ALLOC, 3, "migratetype", TUPLE, "kernel migrate type")                                 \
	X(PAGE_FREE, 0, "pfn", XREF, "page frame number")                                             \
	X(PAGE_FREE, 1, "page_order", TUPLE, "2^page_order pages")                                    \
	X(RSS, 0, "upid", TUPLE, "process that owns the memory map")                                  \
	X(RSS, 1, "member", TUPLE, "0 file, 1 anon, 2 swap, 3 shmem")                                 \
	X(RSS, 2, "bytes", TDELTA, "the counter now")                                                 \
	X(VM, 0, "upid", TUPLE, "process that owns the memory map")                                   \
	X(VM, 1, "op", TUPLE, "0 other, 1 mmap, 2 munmap, 3 brk, 4 mremap")                           \
	X(VM, 2, "addr", DELTA, "address; 0 not known")                                               \
	X(VM, 3, "len_bytes", PLAIN, "length asked for")                                              \
	X(VM, 4, "total_vm_bytes", TDELTA, "VmSize after it")                                         \
	X(BLOCK, 0, "action", TUPLE, "EVENT_BLOCK_*")                                                 \
	X(BLOCK, 1, "rq", BACKREF, "identity of the request while in flight")                         \
	X(BLOCK, 2, "dev", TUPLE, "major << 20 | minor of the whole device")                          \
	X(BLOCK, 3, "sector", DELTA, "512-byte units from the start of the device")                   \
	X(BLOCK, 4, "bytes", PLAIN, "of the request at that instant, before a completion takes its share off") \
	X(BLOCK, 5, "cmd_flags", TUPLE, "kernel REQ_OP in bits 0..7, REQ_* flags above")              \
	X(BLOCK, 6, "done_bytes", PLAIN, "complete, error: bytes finished by this event")             \
	X(BLOCK, 7, "status", TUPLE, "complete, error: 0 or the kernel's error code")                 \
	X(BLOCK, 8, "part", TUPLE, "major << 20 | minor of the partition; dev if none; 0 not known")  \
	X(BLOCK, 9, "ino", TDELTA, "issue: inode behind the first page; 0 none, or not of a file or device")  \
	X(BLOCK, 10, "ino_dev", TUPLE, "issue: its file system, major << 20 | minor")                 \
	X(BLOCK, 11, "pages", TUPLE, "issue: what the first page is, EVENT_PAGES_*")                  \
	X(BLOCK, 12, "owner_upid", TDELTA, "issue: process that dirtied the inode last, if known")    \
	X(BLOCK, 13, "owner_how", PLAIN, "issue: how far that is known, EVENT_OWNER_*")               \
	X(HEAP_ALLOC, 0, "addr", BACKREF, "user address")                                             \
	X(HEAP_ALLOC, 1, "bytes", PLAIN, "bytes asked for")                                           \
	X(HEAP_ALLOC, 2, "call_site", TUPLE, "user code address of the caller")                       \
	X(HEAP_FREE, 0, "addr", XREF, "user address")                                                 \
	X(DIRTY, 0, "ino", DELTA, "inode a page of which was made dirty")                             \
	X(DIRTY, 1, "ino_dev", TUPLE, "its file system, major << 20 | minor")                         \
	X(IRQ, 0, "action", TUPLE, "EVENT_IRQ_ENTRY or EVENT_IRQ_EXIT")                               \
	X(IRQ, 1, "type", TUPLE, "EVENT_IRQ_LINE, _SOFT or _LOCAL")                                   \
	X(IRQ, 2, "vector", TUPLE, "number of the line, of the soft interrupt, or EVENT_VECTOR_*")    \
	X(IRQ, 3, "handled", TUPLE, "exit of a line's handler: 0 not its own, 1 done, 2 wakes a thread") \
	X(STACK, 0, "source", TUPLE, "kind of the allocation of the same ts_ns, cpu and addr")            \
	X(STACK, 1, "stack", TUPLE, "number of the stack")                                            \
	X(STACK, 2, "addr", DELTA, "address, or page frame number")                                   \
	X(STACK, 3, "bytes", PLAIN, "bytes allocated; heap: asked for")

enum event_block_action {
	EVENT_BLOCK_INSERT = 1,
	EVENT_BLOCK_ISSUE = 2,
	EVENT_BLOCK_COMPLETE = 3,
	EVENT_BLOCK_REQUEUE = 4,
	EVENT_BLOCK_ERROR = 5,
	EVENT_BLOCK_MERGE = 6,
	EVENT_BLOCK_START = 7,	/* I/O accounting starts: in the submitter's context */
	EVENT_BLOCK_DONE = 8,	/* I/O accounting ends: what diskstats count */
};

/* What a request's first page is, found when it was issued. */
enum event_pages {
	EVENT_PAGES_NONE = 0,	/* no pages, or not looked at */
	EVENT_PAGES_FILE = 1,	/* of a file: read into it, or under write-back */
	EVENT_PAGES_DISK = 2,	/* of a block device's own inode */
	EVENT_PAGES_ANON = 3,	/* a process's memory */
	EVENT_PAGES_SWAP = 4,	/* in the swap cache */
	EVENT_PAGES_MAPPED = 5,	/* written, of a file but not under write-back */
	EVENT_PAGES_KERNEL = 6,	/* none of these */
};

/* Whether BLOCK's owner_upid is the owner of all of a request that writes pages back. */
enum event_owner_how {
	EVENT_OWNER_NONE = 0,	/* owner_upid is EVENT_ID_UNKNOWN, or the row is no issue */
	EVENT_OWNER_DIRTIED = 1,	/* nobody else dirtied the inode in the 30 s before */
	EVENT_OWNER_SHARED = 2,	/* somebody else did */
	EVENT_OWNER_MIXED = 3,	/* the request holds pages of another inode with another dirtier, too */
};

enum event_irq_action {
	EVENT_IRQ_ENTRY = 1,
	EVENT_IRQ_EXIT = 2,
};

enum event_irq_type {
	EVENT_IRQ_LINE = 1,	/* a handler of an interrupt line */
	EVENT_IRQ_SOFT = 2,	/* a soft interrupt */
	EVENT_IRQ_LOCAL = 3,	/* an interrupt of the CPU's own */
	EVENT_IRQ_TYPE_CNT = 4,
};

/* Vectors of EVENT_IRQ_LOCAL. */
enum event_vector {
	EVENT_VECTOR_TIMER = 1,
	EVENT_VECTOR_RESCHEDULE = 2,
	EVENT_VECTOR_CALL = 3,		/* by another CPU, of many */
	EVENT_VECTOR_CALL_SINGLE = 4,	/* by another CPU, of this one */
	EVENT_VECTOR_IRQ_WORK = 5,
};

/* Named indices into event.v */
enum {
	EV_SWITCH_NEXT = 0, EV_SWITCH_PREV_STATE, EV_SWITCH_PREV_PRIO, EV_SWITCH_NEXT_PRIO,
	EV_WAKEUP_TARGET = 0, EV_WAKEUP_TARGET_CPU, EV_WAKEUP_PRIO, EV_WAKEUP_IS_NEW,
	EV_SLAB_ADDR = 0, EV_SLAB_BYTES_REQ, EV_SLAB_BYTES, EV_SLAB_CALL_SITE, EV_SLAB_CACHE,
	EV_SLAB_FREE_CACHE = 1,
	EV_PAGE_PFN = 0, EV_PAGE_ORDER, EV_PAGE_GFP, EV_PAGE_MIGRATETYPE,
	EV_RSS_UPID = 0, EV_RSS_MEMBER, EV_RSS_BYTES,
	EV_VM_UPID = 0, EV_VM_OP, EV_VM_ADDR, EV_VM_LEN, EV_VM_TOTAL,
	EV_BLOCK_ACTION = 0, EV_BLOCK_RQ, EV_BLOCK_DEV, EV_BLOCK_SECTOR, EV_BLOCK_BYTES,
	EV_BLOCK_CMD_FLAGS, EV_BLOCK_DONE_BYTES, EV_BLOCK_STATUS, EV_BLOCK_PART,
	EV_BLOCK_INO, EV_BLOCK_INO_DEV, EV_BLOCK_PAGES, EV_BLOCK_OWNER_UPID, EV_BLOCK_OWNER_HOW,
	EV_HEAP_ADDR = 0, EV_HEAP_BYTES, EV_HEAP_CALL_SITE,
	EV_DIRTY_INO = 0, EV_DIRTY_INO_DEV,
	EV_IRQ_ACTION = 0, EV_IRQ_TYPE, EV_IRQ_VECTOR, EV_IRQ_HANDLED,
	EV_STACK_OF = 0, EV_STACK_STACK, EV_STACK_ADDR, EV_STACK_BYTES,
};

/* event.flags */
#define EVENT_F_IRQ 0x01	/* interrupt context: utid is who was interrupted, not who did it */
#define EVENT_F_PREEMPT 0x02	/* SWITCH: the thread that leaves could have gone on */
#define EVENT_F_NEXT_OUT 0x08	/* SWITCH under --only: next is not a recorded thread */
#define EVENT_F_FLUSH_SEQ 0x20	/* BLOCK complete: a flush sequence may go on with this request */
#define EVENT_F_BROKEN 0x10	/* IRQ entry, in a cut: how it ended was lost, after the end of the cut */

unsigned int column_codec(unsigned int kind,
			  unsigned int index); /* enum event_codec; 0: there is none */
/* Whether a block may lack it, because it was written before the column was invented: then it is 0. */
int column_may_lack(unsigned int kind, unsigned int index);
unsigned int column_tuple_cnt(unsigned int kind);	/* how many TUPLE columns it has */
unsigned int column_xref_kind(unsigned int kind); /* the kind its XREF column refers to; 0: none */

#endif /* COLUMNS_H */
