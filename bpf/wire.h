/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * wire.h: the one contract between the BPF programs and the recorder.
 *
 *     bpf/x.bpf.c --ring buffer--> [wire records] --> src/ring, src/chunk
 *
 * Every record starts with struct wire_hdr and has the fixed size of its hook,
 * except WIRE_TASK_EXEC, whose tail is cut to the strings it carries, and WIRE_STACK. Records
 * never reach the disk as they are: src/chunk turns them into columns. The two
 * ends are built together, so this layout may change freely; what is on disk
 * (schema/FORMAT.md) may not.
 *
 * Byte order is the machine's. No record has holes: a ring reservation is not
 * cleared, and an unwritten byte would be kernel memory leaking into a trace.
 */
#ifndef WIRE_H
#define WIRE_H

#ifndef __BPF__
#include <stddef.h>
#include <stdint.h>
typedef uint8_t wire_u8;
typedef uint16_t wire_u16;
typedef uint32_t wire_u32;
typedef uint64_t wire_u64;
typedef int64_t wire_s64;
#else
typedef __u8 wire_u8;
typedef __u16 wire_u16;
typedef __u32 wire_u32;
typedef __u64 wire_u64;
typedef __s64 wire_s64;
#endif

#define WIRE_COMM_LEN 16
#define WIRE_FILE_MAX 256	/* file name at exec, with its NUL */
#define WIRE_ARGS_MAX 512	/* command line at exec, NUL-separated as in /proc/PID/cmdline */
#define WIRE_RSS_MEMBERS 4	/* file, anon, swap, shmem: the kernel's MM_* order */

/*
 * One row per hook: X(id, NAME, class, "source").
 * A hook is one place in the kernel a record can come from. Counters are kept
 * per hook and CPU. One BPF program serves one hook (or two do, each with counters
 * of its own: struct wire_tally), but for WIRE_STACK. Where the kernel does not re-enter a program on
 * a CPU, a plain increment of that counter is exact; conf_reentrant tells where it does.
 * Append only; ids are stored in loss and cost rows of traces.
 */
#define WIRE_HOOKS(X)                                  \
	X(1, SWITCH, SCHED, "sched.switch")            \
	X(2, WAKING, SCHED, "sched.wakeup")            \
	X(3, WAKEUP_NEW, SCHED, "sched.wakeup")        \
	X(4, TASK_NEW, TASK, "task")                   \
	X(5, TASK_EXEC, TASK, "task")                  \
	X(6, TASK_RENAME, TASK, "task")                \
	X(7, TASK_EXIT, TASK, "task")                  \
	X(8, TASK_CGROUP, TASK, "task")                \
	X(9, KMALLOC, ALLOC, "alloc.slab")             \
	X(10, KFREE, ALLOC, "alloc.slab")              \
	X(11, CACHE_ALLOC, ALLOC, "alloc.slab")        \
	X(12, CACHE_FREE, ALLOC, "alloc.slab")         \
	X(13, PAGE_ALLOC, ALLOC, "alloc.page")         \
	X(14, PAGE_FREE, ALLOC, "alloc.page")          \
	X(15, RSS, ALLOC, "alloc.rss")                 \
	X(16, VM, ALLOC, "alloc.vm")                   \
	X(17, BLOCK_INSERT, BLOCK, "block")            \
	X(18, BLOCK_ISSUE, BLOCK, "block")             \
	X(19, BLOCK_COMPLETE, BLOCK, "block")          \
	X(20, BLOCK_REQUEUE, BLOCK, "block")           \
	X(21, BLOCK_ERROR, BLOCK, "block")             \
	X(22, BLOCK_MERGE, BLOCK, "block")             \
	X(23, BLOCK_START, BLOCK, "block")             \
	X(24, BLOCK_DONE, BLOCK, "block")              \
	X(25, HEAP_ALLOC, ALLOC, "alloc.heap")         \
	X(26, HEAP_FREE, ALLOC, "alloc.heap")          \
	X(27, KMALLOC_NODE, ALLOC, "alloc.slab")       \
	X(28, CACHE_ALLOC_NODE, ALLOC, "alloc.slab")   \
	X(29, DIRTY, BLOCK, "block.dirty")             \
	X(31, IRQ_ENTRY, SCHED, "sched.irq")           \
	X(32, IRQ_EXIT, SCHED, "sched.irq")            \
	X(33, SOFTIRQ_ENTRY, SCHED, "sched.irq")       \
	X(34, SOFTIRQ_EXIT, SCHED, "sched.irq")        \
	X(35, VECTOR_ENTRY, SCHED, "sched.irq")        \
	X(36, VECTOR_EXIT, SCHED, "sched.irq")         \
	X(37, STACK, ALLOC, "alloc.stacks")

enum wire_class {
	WIRE_CLASS_TASK = 0,
	WIRE_CLASS_SCHED = 1,
	WIRE_CLASS_ALLOC = 2,
	WIRE_CLASS_BLOCK = 3,
	WIRE_CLASS_CNT = 4,
};

enum wire_hook {
#define X(id, name, class, source) WIRE_##name = id,
	WIRE_HOOKS(X)
#undef X
	/* Never sent by the kernel: a row of the start or end snapshot, built in user space. */
	WIRE_TASK_SNAP = 30,
	WIRE_HOOK_MAX = 64,	/* of arrays by hook, here and in memory; a trace stores 8 bits */
};

/* wire_hdr.flags */
#define WIRE_F_IRQ 0x01		/* taken in hard or soft interrupt or NMI: tid is a bystander */
#define WIRE_F_PREEMPT                                                                             \
	0x02 /* SWITCH: prev had to leave while runnable: what the kernel counts as nivcsw */
#define WIRE_F_TARGET 0x04	/* TASK_*, SNAP: the task is in the recording's target set */
#define WIRE_F_NEXT_OUT 0x08	/* SWITCH under --only: next is not in the target set */
#define WIRE_F_KTHREAD 0x10	/* TASK_*, SNAP: a kernel thread */
#define WIRE_F_FLUSH_SEQ 0x20 /* BLOCK_COMPLETE: someone is told of the end, so a flush sequence may go on */

struct wire_hdr {
	wire_u64 ts_ns;		/* CLOCK_MONOTONIC, read before the reservation */
	wire_u8 hook;		/* enum wire_hook */
	wire_u8 flags;		/* WIRE_F_* */
	wire_u16 cpu;
	wire_u32 tid;		/* current's tid, initial pid namespace; 0 is idle */
};

/* sched_switch; hdr.tid is prev */
struct wire_switch {
	struct wire_hdr hdr;
	wire_u32 next_tid;
	wire_u16 prev_state;	/* kernel TASK_* bits, low 16; 0 = still runnable */
	wire_u8 prev_prio;	/* kernel priority 0..139: nice 0 is 120 */
	wire_u8 next_prio;
};

/* sched_waking, sched_wakeup_new; hdr.tid is the waker (WIRE_F_IRQ: an interrupt was) */
struct wire_waking {
	struct wire_hdr hdr;
	wire_u32 target_tid;
	wire_u16 target_cpu;	/* where it last ran, not where it will run */
	wire_u8 prio;
	wire_u8 is_new;		/* 1: first wake-up of a new task */
};

/* Identity of one thread; sent at fork and built from the task iterator. */
struct wire_task {
	struct wire_hdr hdr;
	wire_u32 tid;
	wire_u32 pid;		/* tgid */
	wire_u32 ppid;		/* tgid of the parent process */
	wire_u32 ns_tid;	/* ids in the task's own pid namespace */
	wire_u32 ns_pid;
	wire_u32 uid;		/* in the initial user namespace */
	wire_u64 start_ns; /* CLOCK_MONOTONIC of the task's creation (task_struct.start_time) */
	wire_u64 cgroup_id;	/* cgroup v2 id; 1 is the root */
	char comm[WIRE_COMM_LEN];
};

/* TASK_SNAP: wire_task and what the process has and does at that instant. */
struct wire_snap {
	struct wire_task task;
	wire_s64 rss_pages[WIRE_RSS_MEMBERS];	/* of the process; -1: no memory map */
	wire_s64 total_vm_pages;		/* -1: no memory map */
	wire_u64 sum_exec_ns;			/* the scheduler's own CPU time of this thread */
	wire_u32 cpu;				/* where it runs or last ran */
	wire_u32 on_cpu;			/* 1: it was running when read */
};

struct wire_exec {
	struct wire_hdr hdr;
	wire_u32 tid;
	wire_u32 pid;
	wire_u32 old_tid;	/* differs when a thread other than the leader called exec */
	wire_u32 uid;
	wire_u64 cgroup_id;
	char comm[WIRE_COMM_LEN];
	wire_u16 file_len;	/* bytes of strings[] that are the file name, with NUL */
	wire_u16 args_len;	/* bytes after it that are the command line */
	wire_u16 args_cut;	/* 1: the command line was longer */
	wire_u16 zero;
	char strings[WIRE_FILE_MAX + WIRE_ARGS_MAX]; /* cut to file_len + args_len, padded to 8 */
};

struct wire_rename {
	struct wire_hdr hdr;
	wire_u32 tid;
	wire_u32 pid;
	char comm[WIRE_COMM_LEN];
};

struct wire_exit {
	struct wire_hdr hdr;
	wire_u32 tid;
	wire_u32 pid;
	wire_u32 exit_code;	/* as wait() gives it: signal in the low 7 bits, status in 8..15 */
	wire_u32 group_dead;	/* 1: the last thread of the process */
	wire_u64 sum_exec_ns;
};

struct wire_cgroup {
	struct wire_hdr hdr;
	wire_u32 tid;
	wire_u32 pid;
	wire_u64 cgroup_id;	/* the new one */
	wire_u32 whole_process;	/* 1: all threads move */
	wire_u32 zero;
};

/* KMALLOC, KMALLOC_NODE */
struct wire_kmalloc {
	struct wire_hdr hdr;
	wire_u64 addr;
	wire_u64 call_site;
	wire_u32 bytes_req;
	wire_u32 bytes_alloc;
};

/* KFREE */
struct wire_kfree {
	struct wire_hdr hdr;
	wire_u64 addr;
};

/* CACHE_ALLOC, CACHE_ALLOC_NODE */
struct wire_cache_alloc {
	struct wire_hdr hdr;
	wire_u64 addr;
	wire_u64 call_site;
	wire_u64 cache;		/* kernel address of the kmem_cache; 0: this kernel does not tell */
	wire_u32 bytes_req;
	wire_u32 bytes_alloc;
};

/* CACHE_FREE */
struct wire_cache_free {
	struct wire_hdr hdr;
	wire_u64 addr;
	wire_u64 cache;		/* 0: this kernel does not tell */
};

/* PAGE_ALLOC */
struct wire_page_alloc {
	struct wire_hdr hdr;
	wire_u64 pfn;
	wire_u32 gfp;
	wire_u16 order;
	wire_u16 migratetype;
};

/* PAGE_FREE */
struct wire_page_free {
	struct wire_hdr hdr;
	wire_u64 pfn;
	wire_u32 order;
	wire_u32 zero;
};

/* RSS: one counter of one memory map changed */
struct wire_rss {
	struct wire_hdr hdr;
	wire_u32 pid;		/* tgid of the owner of the memory map; 0: not known */
	wire_u32 member;	/* 0 file, 1 anon, 2 swap entries, 3 shmem */
	wire_s64 pages;		/* the counter now, as the kernel's own readers see it */
};

enum wire_vm_op {
	WIRE_VM_OTHER = 0,	/* exec, fork, exit, or not known */
	WIRE_VM_MMAP = 1,
	WIRE_VM_MUNMAP = 2,
	WIRE_VM_BRK = 3,
	WIRE_VM_MREMAP = 4,
};

/* VM: the mapped size of a process changed */
struct wire_vm {
	struct wire_hdr hdr;
	wire_u32 pid;
	wire_u32 op;		/* enum wire_vm_op */
	wire_u64 addr;		/* 0: not known */
	wire_u64 len_bytes;	/* asked for; BRK: 0, addr is the new break */
	wire_u64 total_vm_pages;/* after it */
};

/* What is behind the first page of a request. */
enum wire_pages {
	WIRE_PAGES_NONE = 0,	/* no pages (a flush, a discard), or not looked at */
	WIRE_PAGES_FILE = 1,	/* of the file inode: read into it, or under write-back */
	WIRE_PAGES_DISK = 2,	/* of a block device's own inode: metadata, journal, raw writes */
	WIRE_PAGES_ANON = 3,	/* a process's own memory: direct I/O */
	WIRE_PAGES_SWAP = 4,
	WIRE_PAGES_MAPPED = 5,	/* written, of a file but not under write-back: direct I/O from a mapping */
	WIRE_PAGES_KERNEL = 6,	/* none of these: memory of the kernel's, bounce pages */
};

/* BLOCK_*, except BLOCK_ISSUE; hdr.tid is whoever ran at that instant */
struct wire_block {
	struct wire_hdr hdr;
	wire_u64 rq;		/* identity of the request while in flight: its address */
	wire_u64 sector;	/* 512-byte units, on the whole device */
	wire_u32 dev;		/* major << 20 | minor of the whole device; 0: none */
	wire_u32 bytes; /* of the request at that instant; before a COMPLETE takes its share off */
	wire_u32 cmd_flags;	/* operation in bits 0..7, REQ_* above */
	wire_u32 done_bytes;	/* COMPLETE, ERROR: bytes finished by this event */
	wire_u32 status; /* COMPLETE, ERROR: 0 or a positive errno or blk_status_t of the kernel */
	wire_u32 part; /* major << 20 | minor of the partition; equals dev if none; 0: not known */
};

/* BLOCK_ISSUE. Inodes are 0 unless the pages are of a file or a block device. */
struct wire_block_issue {
	struct wire_block step;
	wire_u64 ino;		/* of the first page */
	wire_u64 last_ino;	/* of the first page of the last bio: differs in a merged request */
	wire_u32 ino_dev;	/* its file system: major << 20 | minor */
	wire_u32 pages;		/* enum wire_pages */
};

#define WIRE_NAME_LEN 40

/*
 * DIRTY: process pid made a clean page of an inode dirty, and was not the last one known to have
 * done so, or that was a while ago. hdr.tid is the thread.
 */
struct wire_dirty {
	struct wire_hdr hdr;
	wire_u64 ino;
	wire_u32 ino_dev;
	wire_u32 pid;
	char name[WIRE_NAME_LEN];	/* of the file, without directory, maybe cut; "" if it has none */
};

/* What was served; numbers are stored in traces. */
enum wire_irq_type {
	WIRE_IRQ_LINE = 1,	/* a handler of an interrupt line, vector is its number */
	WIRE_IRQ_SOFT = 2,	/* a soft interrupt, the kernel's HI_SOFTIRQ .. RCU_SOFTIRQ */
	WIRE_IRQ_LOCAL = 3,	/* x86: one of the CPU's own, vector is an enum wire_vector */
};

enum wire_vector {
	WIRE_VECTOR_TIMER = 1,
	WIRE_VECTOR_RESCHEDULE = 2,
	WIRE_VECTOR_CALL = 3,
	WIRE_VECTOR_CALL_SINGLE = 4,
	WIRE_VECTOR_IRQ_WORK = 5,
};

/* IRQ_*, SOFTIRQ_*, VECTOR_*; hdr.tid is the task that was interrupted */
struct wire_irq {
	struct wire_hdr hdr;
	wire_u32 vector;
	wire_u16 type;		/* enum wire_irq_type */
	wire_u16 handled;	/* IRQ_EXIT: irqreturn_t of the handler: 0 not its own, 1 done, 2 wakes a thread */
};

/* HEAP_ALLOC */
struct wire_heap_alloc {
	struct wire_hdr hdr;
	wire_u64 addr;
	wire_u64 bytes;
	wire_u64 call_site;	/* user-space return address */
};

/* HEAP_FREE */
struct wire_heap_free {
	struct wire_hdr hdr;
	wire_u64 addr;
};

#define WIRE_STACK_KERNEL 40	/* innermost frames; what is further out is cut */
#define WIRE_STACK_USER 48

/*
 * STACK: the stack of the allocation whose record has the same ts_ns, cpu and addr. Frames are return addresses,
 * innermost first; the record ends with the last one.
 */
struct wire_stack {
	struct wire_hdr hdr;
	wire_u64 addr;		/* or page frame number */
	wire_u64 bytes;
	wire_u64 call_site;	/* as in the allocation's record; 0: it has none */
	wire_u16 of;		/* enum wire_hook of the allocation */
	wire_u16 kernel_cnt, user_cnt;
	wire_u16 zero;
	wire_u64 frames[WIRE_STACK_KERNEL + WIRE_STACK_USER];
};

/* attempted = submitted + full + other, per hook, exactly. */
struct wire_tally {
	wire_u64 attempted[WIRE_HOOK_MAX];
	/* of a second copy: the first was skipped, but would not have sent anything */
	wire_u64 passed[WIRE_HOOK_MAX];
	wire_u64 lost_full[WIRE_HOOK_MAX];	/* the ring had no room */
	/* the ring had room, the reservation failed all the same */
	wire_u64 lost_other[WIRE_HOOK_MAX];
};

/* What a hook can be interrupted by, in this order: a level nests in lower ones, never in itself. */
#define WIRE_LEVELS 4	/* task, soft interrupt, interrupt, NMI */

/* Per CPU, in a memory-mapped array the recorder reads without a system call. */
struct wire_counters {
	/* [0] of the hook's program, [1] of its second copy, which takes what the kernel made the first skip */
	struct wire_tally tally[2];
	/* What the first copy saw last, by hook and level, until the second copy has seen it too. */
	wire_u64 seen[WIRE_HOOK_MAX][WIRE_LEVELS];
	/* Found once, before attaching (bpf/task.bpf.c, find_cpu_area); 0: not known. */
	wire_u64 preempt_at;	/* kernel address of this CPU's preemption count */
	wire_u64 current_at;	/* kernel address of this CPU's pointer to its current task */
	wire_u64 percpu_offset;	/* added to a per-CPU pointer it gives this CPU's copy */
	wire_u64 ring;		/* this CPU's ring, by number; set by user space before attaching */
};

/*
 * A mapped ring: one value of the array map `mapped`, shared memory of producers and consumer,
 * without a lock or a helper call. The value is a page with struct wire_ring, the data, and a tail
 * into which the last record runs over, so that none is split.
 *
 * A producer looks whether there is room (all but WIRE_RING_GUARD for each of the ring's CPUs), then
 * claims its bytes with an atomic addition, writes the record, and last the stamp in front of it. What
 * interrupts it between looking and claiming has looked for itself: a claim can come to lie beyond
 * the room by one record for each level of nesting and CPU, which the guard holds. A stamp is the
 * record's position and length, mixed with a number chosen at each start: what lay there before
 * is not taken for one. Needs stores seen in order (x86), and fetching atomics (5.12).
 */
struct wire_ring {
	wire_u64 claimed;	/* bytes claimed since the start, a multiple of 8 */
	wire_u64 zero0[7];
	wire_u64 consumed;	/* of these, free again; the consumer's to write */
	wire_u64 zero1[7];
};

#define WIRE_RING_DATA 4096	/* where the data begins */
#define WIRE_RING_TAIL 4096
#define WIRE_RING_GUARD 4096
#define WIRE_RING_STAMP 8	/* bytes of a stamp */
#define WIRE_RING_LEN_BITS 16

/* position is a multiple of 8: its bits leave room for len */
#define WIRE_RING_STAMP_OF(position, len, key) \
	((((wire_u64)(position) << (WIRE_RING_LEN_BITS - 3)) | (len)) ^ (key))

/* No helper has this number: the loader makes it a call of bpf_rdonly_cast, where the kernel has that. */
#define WIRE_CALL_RDONLY_CAST 0x65620001

/* Answers of programs that user space runs by hand. */
struct wire_fact {
	wire_u64 value;		/* read_fact: object bytes of a slab cache */
	char text[64];		/* read_fact: its name */
};

/* Bits of mm_state_off: of which sources task hooks send no baselines for now. */
#define WIRE_MM_RSS 1u
#define WIRE_MM_VM 2u

/* Pages the recorder itself was given while it calibrates; see src/probe/pagemap.h. */
#define WIRE_CALIB_MAX 64
struct wire_calib {
	wire_u32 tid;			/* whose; 0: off */
	wire_u32 cnt;
	wire_u64 page[WIRE_CALIB_MAX];	/* addresses of struct page */
};

#ifndef __BPF__
#define WIRE_ASSERT_SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), "layout of " #type)
WIRE_ASSERT_SIZE(wire_hdr, 16);
WIRE_ASSERT_SIZE(wire_switch, 24);
WIRE_ASSERT_SIZE(wire_waking, 24);
WIRE_ASSERT_SIZE(wire_task, 72);
WIRE_ASSERT_SIZE(wire_snap, 128);
WIRE_ASSERT_SIZE(wire_exec, 64 + WIRE_FILE_MAX + WIRE_ARGS_MAX);
WIRE_ASSERT_SIZE(wire_rename, 40);
WIRE_ASSERT_SIZE(wire_exit, 40);
WIRE_ASSERT_SIZE(wire_cgroup, 40);
WIRE_ASSERT_SIZE(wire_kmalloc, 40);
WIRE_ASSERT_SIZE(wire_kfree, 24);
WIRE_ASSERT_SIZE(wire_cache_alloc, 48);
WIRE_ASSERT_SIZE(wire_cache_free, 32);
WIRE_ASSERT_SIZE(wire_page_alloc, 32);
WIRE_ASSERT_SIZE(wire_page_free, 32);
WIRE_ASSERT_SIZE(wire_rss, 32);
WIRE_ASSERT_SIZE(wire_vm, 48);
WIRE_ASSERT_SIZE(wire_block, 56);
WIRE_ASSERT_SIZE(wire_block_issue, 80);
WIRE_ASSERT_SIZE(wire_dirty, 72);
WIRE_ASSERT_SIZE(wire_irq, 24);
WIRE_ASSERT_SIZE(wire_heap_alloc, 40);
WIRE_ASSERT_SIZE(wire_heap_free, 24);
WIRE_ASSERT_SIZE(wire_stack, 48 + 8 * (WIRE_STACK_KERNEL + WIRE_STACK_USER));
#endif

#endif /* WIRE_H */
