/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * wire.h: the contract between the BPF programs and the recorder.
 *
 *     bpf/x.bpf.c --ring buffer--> [wire records] --> src/ring, src/record/encode
 *
 * Every record starts with struct wire_hdr and has the fixed size of its hook, except
 * WIRE_TASK_EXEC and WIRE_PATH, which end with their strings, and WIRE_STACK, WIRE_OFFCPU and
 * WIRE_SAMPLE, which end with their frames. Records are not written to disk in this form:
 * src/record/encode converts them to columns. Both sides are built together, so this layout may
 * change freely; the format on disk (schema/FORMAT.md) may not.
 *
 * Byte order is the machine's. No record has holes: a ring reservation is not cleared, and an
 * unwritten byte would be kernel memory leaking into a trace.
 */
#pragma once

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
/* Bit of cgroup_id: the group is of the CPU controller's own hierarchy, cgroup version 1. */
#define WIRE_CGROUP_V1 (1ULL << 52)
#define WIRE_CGROUP_V1_MEMORY (1ULL << 53)	/* of the memory controller's own hierarchy */
#define WIRE_CGROUP_V1_FREEZER (1ULL << 54)	/* of the freezer's own hierarchy */
#define WIRE_FILE_MAX 256	/* file name at exec, with its NUL */
#define WIRE_ARGS_MAX 512	/* command line at exec, NUL-separated as in /proc/PID/cmdline */
#define WIRE_RSS_MEMBERS 4	/* file, anon, swap, shmem: the kernel's MM_* order */

#define WIRE_PATH_NAME 256	/* the longest name of a file or directory, with its NUL */
#define WIRE_SPAN_NAME 48
#define WIRE_SOCKET_PATH 108	/* sockaddr_un.sun_path */
#define WIRE_STACK_KERNEL 40	/* innermost frames; the kernel drops outer frames */
#define WIRE_STACK_USER 48
#define WIRE_PLACE_FRAMES 10
#define WIRE_STACK_COPY 16384	/* bytes of a user stack */
/*
 * Bytes of a user stack in a wire_offcpu, which is kept in task storage: kernels allocate at most
 * 8 KiB of task storage without a lock.
 */
#define WIRE_WAIT_COPY 6144
/* Number of user registers (struct pt_regs), and index of the stack pointer among them. */
#if defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#define WIRE_REGS 21
#define WIRE_REG_SP 19
#else
#define WIRE_REGS 34
#define WIRE_REG_SP 31
#endif
/* wire_offcpu.waker_kind */
#define OFFCPU_WAKER_NONE 0
#define OFFCPU_WAKER_THREAD 1
#define OFFCPU_WAKER_IRQ 2
/* size of arrays that are indexed by hook; a trace stores a hook in 8 bits */
#define WIRE_HOOK_MAX 64

/* wire_hdr.flags */
#define WIRE_F_IRQ 0x01	/* in a hard or soft interrupt or NMI: tid is the interrupted task */
#define WIRE_F_PREEMPT                                                                             \
	0x02 /* SWITCH: prev left while runnable; the kernel counts the switch in nivcsw */
#define WIRE_F_TARGET 0x04	/* TASK_*, SNAP: the task is in the recording's target set */
#define WIRE_F_NEXT_OUT 0x08	/* SWITCH under --only: next is not in the target set */
#define WIRE_F_KTHREAD 0x10	/* TASK_*, SNAP: a kernel thread */
/* BLOCK_COMPLETE: the request has an end function, so the rest of a flush sequence may follow. */
#define WIRE_F_FLUSH_SEQ 0x20
/* SWITCH_MORE: no program ran at the switch to the thread that leaves now. */
#define WIRE_F_BREAK 0x40
/* SWITCH, SWITCH_MORE: a PLACE record, same tid and ts_ns, has the kernel stack of the sleep. */
#define WIRE_F_PLACE 0x80

/*
 * A field `call` has one of the following values, or the number of a system call with
 * WIRE_CALL_IS_NUMBER. Traces store the same values.
 */
#define WIRE_CALL_UNKNOWN 0
#define WIRE_CALL_KERNEL 1	/* a kernel thread, or a kernel worker for a process */
#define WIRE_CALL_USER 2	/* user code, or an exception in user code such as a page fault */
#define WIRE_CALL_THROTTLED 3	/* the quota of its control group was used up */
#define WIRE_CALL_OTHER 4	/* a system call whose number is too large to be stored */
#define WIRE_CALL_FAULT 5	/* an exception in user code that waits for the mmap lock */
#define WIRE_CALL_EXIT 6	/* WAKING: the waker is exiting */
#define WIRE_CALL_HELD 7	/* state at the start: COMMAND waits for the recorder */
#define WIRE_CALL_TIMEOUT 8	/* WAKING: the timer of the sleep expired */
#define WIRE_CALL_FROZEN 9	/* a control group froze the thread */
#define WIRE_CALL_NUMBER_MASK 0x01ff
#define WIRE_CALL_FILE_SHIFT 9	/* four bits: WIRE_FILE_*, what the call waits for */
#define WIRE_CALL_IS_32_BIT 0x2000
#define WIRE_CALL_IS_NUMBER 0x4000

/*
 * Types of objects that a thread waits for. The type of a file is the kernel's S_IFMT >> 12.
 * `object` is described below.
 */
#define WIRE_FILE_UNKNOWN 0
#define WIRE_FILE_PIPE 1
#define WIRE_FILE_DEVICE 2	/* a character device, such as a terminal */
#define WIRE_FILE_MMAP_LOCK 3	/* not a file: the lock of the process's mappings */
#define WIRE_FILE_DIRECTORY 4
#define WIRE_FILE_PROCESS 5	/* not a file: the end of a child */
#define WIRE_FILE_BLOCK_DEVICE 6
#define WIRE_FILE_TIMER 7	/* not a file: a point in time */
#define WIRE_FILE_REGULAR 8
#define WIRE_FILE_THREAD 9	/* not a file: the end of another thread of the process */
#define WIRE_FILE_KERNEL 10	/* a file of proc, sysfs or the control groups, not on a disk */
#define WIRE_FILE_CONDITION 11	/* not a file: a condition variable or semaphore */
#define WIRE_FILE_SOCKET 12
#define WIRE_FILE_INODE_LOCK 13	/* the lock of any file or directory */
/* not a file: another lock of the kernel; set by the recorder */
#define WIRE_FILE_KERNEL_LOCK 14
#define WIRE_FILE_ANONYMOUS 15	/* eventfd, timerfd, inotify and the like */
/*
 * Value of `object`:
 *   - pipe, socket: inode number
 *   - device: device number
 *   - file or directory, or its lock: WIRE_OBJECT_FILE; 0 if the inode number is above 2^32
 *   - anonymous file: WIRE_OBJECT_ANONYMOUS: the descriptor, and two letters of the kernel's
 *     name: e and f of "[eventfd]", e and p of "[eventpoll]"
 *   - another lock of the kernel: lower 48 bits of the code address where the thread waits
 */
#define WIRE_OBJECT_FILE(ino, dev, generation)                                     \
	((ino) >> 32 ? 0 : (ino) | (wire_u64)(((dev) >> 12 ^ (dev) ^ (generation) ^ \
					       (generation) >> 16) & 0xffff) << 32)
#define WIRE_OBJECT_ANONYMOUS(fd, first, second) \
	((wire_u64)(first) << 40 | (wire_u64)(second) << 32 | (wire_u32)(fd))
/* WIRE_CALL_FROZEN: the lower 47 bits of the group's id, and a bit for WIRE_CGROUP_V1_FREEZER. */
#define WIRE_OBJECT_GROUP_V1 (1ULL << 47)
#define WIRE_OBJECT_GROUP_ID(object)                                                      \
	((object) & WIRE_OBJECT_GROUP_V1                                                  \
		 ? ((object) ^ WIRE_OBJECT_GROUP_V1) | WIRE_CGROUP_V1_FREEZER : (object))

struct wire_hdr {
	wire_u64 ts_ns;		/* CLOCK_MONOTONIC, read before the reservation */
	wire_u8 hook;		/* enum wire_hook */
	wire_u8 flags;		/* WIRE_F_* */
	wire_u16 cpu;
	wire_u32 tid;		/* current's tid, initial pid namespace; 0 is idle */
};
_Static_assert(sizeof(struct wire_hdr) == 16, "wire_hdr has holes");

/*
 * A hook is a place in the kernel that sends records. Counters are kept per hook and CPU. A hook
 * has one BPF program, or two with separate counters (struct wire_tally); WIRE_STACK is sent by
 * several programs. If the kernel does not re-enter a program on a CPU, a plain increment of a
 * counter is exact; otherwise conf_reentrant is set. schema/events/ declares the hooks and their
 * records.
 */
#include "wire_records.h"

/* Per hook, exactly: attempted = submitted + lost_full + lost_other. */
struct wire_tally {
	wire_u64 attempted[WIRE_HOOK_MAX];
	/* second program: events for which the first was skipped, and which need no record */
	wire_u64 passed[WIRE_HOOK_MAX];
	wire_u64 lost_full[WIRE_HOOK_MAX];	/* the ring had no room */
	/* the ring had room, but the reservation failed */
	wire_u64 lost_other[WIRE_HOOK_MAX];
};

/*
 * Contexts that can interrupt a hook, lowest first: a level interrupts only lower levels, never
 * itself.
 */
#define WIRE_LEVELS 4	/* task, soft interrupt, interrupt, NMI */

/*
 * One area per CPU, in a memory-mapped array that the recorder reads without a system call. Nearly
 * every event reads the area's first cache line, which no other CPU's area shares.
 */
struct wire_counters {
	/* State after the CPU's last switch (bpf/sched.bpf.c). */
	wire_u64 next_task;	/* address of the next thread; 0: unknown; ~0: not recorded */
	wire_u64 rq_at;		/* fix_rq(): kernel address of the run queue; 0: unknown */
	/* fix_stolen_ns(): prev_steal_time_rq at that switch, + 1; 0: unknown */
	wire_u64 steal_seen1;
	wire_u64 away_ns;
	/* Found once, before attaching (bpf/task.bpf.c, find_cpu_area); 0: unknown. */
	wire_u64 preempt_at;	/* kernel address of this CPU's preemption count */
	wire_u64 current_at;	/* kernel address of this CPU's pointer to its current task */
	wire_u64 percpu_offset;	/* offset from a per-CPU pointer to this CPU's copy */
	/* offset from the start of a task's stack to the registers saved on entry to the kernel */
	wire_u64 regs_offset;
	/*
	 * [0]: counters of the hook's first program; [1]: of its second program, which runs even if
	 * the kernel skipped the first
	 */
	struct wire_tally tally[2];
	/*
	 * The last event of the first program, by hook and level; 0 after the second program has
	 * seen the event, too.
	 */
	wire_u64 seen[WIRE_HOOK_MAX][WIRE_LEVELS];
	/* address of the last timer that expired; 0: that timer has woken its thread */
	wire_u64 timer_at;
	wire_u64 forget;	/* used by fix_forget() */
} __attribute__((aligned(64)));

/*
 * A CPU's small records wait in this area until it is full or the recorder requests them. They are
 * sent to the ring together, as one record of the ring.
 */
#define WIRE_STAGE_BYTES 4064
#define WIRE_STAGED_MAX 64	/* largest record that may wait, in bytes */

struct wire_stage {
	wire_u64 busy;		/* a program is filling a record */
	wire_u64 used_bytes;
	wire_u8 data[WIRE_STAGE_BYTES];
} __attribute__((aligned(64)));

/*
 * Not a real helper number: the loader replaces calls of it by calls of bpf_rdonly_cast, if the
 * kernel has that function.
 */
#define WIRE_CALL_RDONLY_CAST 0x65620001

/* Structures to which addresses are cast: the loader replaces these numbers by BTF ids. */
#define WIRE_CAST_TYPES(X) \
	X(thread_info) X(task_struct) X(mm_struct) X(percpu_counter) X(kmem_cache) \
	X(address_space) X(request) X(rq) X(files_struct) X(fdtable) X(file) X(inode) \
	X(pt_regs) X(bio)

enum wire_cast_type {
	WIRE_CAST_FIRST = 0x65620100,
#define X(name) WIRE_CAST_##name,
	WIRE_CAST_TYPES(X)
#undef X
	WIRE_CAST_END,
};

/* Results of programs that user space runs. */
struct wire_fact {
	wire_u64 value;		/* read_fact: object bytes of a slab cache */
	char text[256];		/* read_fact: name of a slab cache; read_symbol: result of %pS */
};

/* Bits of mm_state_off: sources for which task hooks now do not send the state of a new map. */
#define WIRE_MM_RSS 1u
#define WIRE_MM_VM 2u

/* Pages that the recorder itself allocated during calibration; see src/probe/kernel.h. */
#define WIRE_CALIB_MAX 64
struct wire_calib {
	wire_u32 tid;			/* thread that calibrates; 0: off */
	wire_u32 cnt;
	wire_u64 page[WIRE_CALIB_MAX];	/* addresses of struct page */
};
