/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * call: the activity of a thread when it left its CPU, and the object that the thread then waits
 * for.
 *
 *     column `call` of a switch --[call]--> a name; with the thread's state, a kind of wait
 *
 * A call is a number as in schema/FORMAT.md, section 6. schema/calls.decl declares names and kinds
 * for each machine type. Any number is valid. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/thread_states.h"

#define CALL_UNKNOWN 0
#define CALL_KERNEL 1		/* a kernel thread, or a kernel worker for a process */
#define CALL_USER 2		/* user code, or an exception in user code such as a page fault */
#define CALL_THROTTLED 3	/* the quota of its control group was used up */
#define CALL_OTHER 4		/* a system call whose number is too large to be stored */
#define CALL_FAULT 5		/* an exception in user code that waits for the mmap lock */
#define CALL_EXIT 6		/* wake-ups: the waker is exiting */
#define CALL_HELD 7		/* at the trace's start: the recorder holds COMMAND back */
#define CALL_TIMEOUT 8		/* wake-ups: the timer of the sleep expired */
#define CALL_FROZEN 9		/* a control group froze the thread */
#define CALL_IS_NUMBER 0x4000	/* a system call; the bits below describe it */
#define CALL_IS_32_BIT 0x2000	/* numbered as for 32-bit programs */
#define CALL_NUMBER_CNT 512
#define CALL_NUMBER(call) ((call) & (CALL_NUMBER_CNT - 1))
/* enum call_file: type of the object that the call waits for */
#define CALL_FILE(call) ((call) >> 9 & 15)
#define CALL_WITH_FILE(call, file) (((call) & ~(15u << 9)) | (uint32_t)(file) << 9)
/* The object of CALL_FILE_KERNEL_LOCK is the lower 48 bits of a kernel address. */
#define CALL_LOCK_OBJECT(addr) ((addr) & 0xffffffffffff)
#define CALL_LOCK_ADDR(object) ((object) | 0xffff000000000000)
/* The id of the control group in the object of CALL_FROZEN, whose bit 47 is bit 54 of the id. */
#define CALL_GROUP_ID(object) ((object) + ((object) >> 47 & 1) * ((1ull << 54) - (1ull << 47)))

enum call_file {
	CALL_FILE_UNKNOWN = 0,
	CALL_FILE_PIPE = 1,
	CALL_FILE_DEVICE = 2,		/* a character device, such as a terminal */
	CALL_FILE_MMAP_LOCK = 3,	/* not a file */
	CALL_FILE_DIRECTORY = 4,
	CALL_FILE_PROCESS = 5,		/* not a file: the end of a child */
	CALL_FILE_BLOCK_DEVICE = 6,
	CALL_FILE_TIMER = 7,		/* not a file: a point in time */
	CALL_FILE_REGULAR = 8,
	CALL_FILE_THREAD = 9,		/* not a file: the end of another thread of the process */
	CALL_FILE_KERNEL = 10,		/* a file of proc, sysfs or the control groups */
	CALL_FILE_CONDITION = 11,	/* not a file: a condition variable or semaphore */
	CALL_FILE_SOCKET = 12,
	CALL_FILE_INODE_LOCK = 13,	/* the kernel's lock of a file or directory */
	CALL_FILE_KERNEL_LOCK = 14,	/* not a file: another lock of the kernel */
	CALL_FILE_ANONYMOUS = 15,	/* eventfd, timerfd, inotify and the like */
};

/* The resource or event that a thread without a CPU waits for. */
enum wait_kind {
	WAIT_CPU,		/* ready to run, waits for a CPU */
	WAIT_THROTTLED,
	WAIT_DISK,		/* including file pages and syncs */
	WAIT_LOCK,
	WAIT_SOCKET,
	WAIT_PIPE,
	WAIT_POLL,		/* for any of several descriptors */
	WAIT_TIMER,
	WAIT_CHILD,		/* for the end of a child or of another thread */
	WAIT_SIGNAL,
	WAIT_FAULT,		/* an exception in user code: a page that has to be read */
	WAIT_KERNEL,		/* any wait of a kernel thread */
	WAIT_CALL,		/* any other system call */
	WAIT_STOPPED,
	WAIT_CONDITION,		/* for another thread's signal */
	WAIT_UNKNOWN,
	WAIT_KIND_CNT,
};

/* The type of `object` of a switch. */
enum call_object {
	CALL_OBJECT_LOCK,	/* the address of a lock or condition, in the process's memory */
	CALL_OBJECT_PIPE,	/* an inode number */
	CALL_OBJECT_SOCKET,	/* an inode number */
	CALL_OBJECT_DEVICE,	/* major << 20 | minor */
	/* bits 0 to 31: inode number; above: hash of the file system and inode generation */
	CALL_OBJECT_FILE,
	CALL_OBJECT_ANONYMOUS,	/* bits 0 to 31: a descriptor; above: two letters of its type */
	CALL_OBJECT_MMAP_LOCK,	/* the pid of the process */
	CALL_OBJECT_PROCESS,	/* a pid */
	CALL_OBJECT_THREAD,	/* a tid */
	CALL_OBJECT_TIMER,	/* ns */
	CALL_OBJECT_INODE_LOCK,	/* as CALL_OBJECT_FILE */
	CALL_OBJECT_GROUP,	/* CALL_GROUP_ID() is its id */
	CALL_OBJECT_KERNEL_LOCK, /* CALL_LOCK_OBJECT() of the code address where the thread waits */
};

/* Returns the type of a switch's object, which must not be 0. */
static inline enum call_object call_object_of(uint32_t call)
{
	static const uint8_t objects[16] = {
		[CALL_FILE_PIPE] = CALL_OBJECT_PIPE,
		[CALL_FILE_DEVICE] = CALL_OBJECT_DEVICE,
		[CALL_FILE_MMAP_LOCK] = CALL_OBJECT_MMAP_LOCK,
		[CALL_FILE_DIRECTORY] = CALL_OBJECT_FILE,
		[CALL_FILE_PROCESS] = CALL_OBJECT_PROCESS,
		[CALL_FILE_BLOCK_DEVICE] = CALL_OBJECT_DEVICE,
		[CALL_FILE_TIMER] = CALL_OBJECT_TIMER,
		[CALL_FILE_REGULAR] = CALL_OBJECT_FILE,
		[CALL_FILE_THREAD] = CALL_OBJECT_THREAD,
		[CALL_FILE_KERNEL] = CALL_OBJECT_FILE,
		[CALL_FILE_SOCKET] = CALL_OBJECT_SOCKET,
		[CALL_FILE_INODE_LOCK] = CALL_OBJECT_INODE_LOCK,
		[CALL_FILE_KERNEL_LOCK] = CALL_OBJECT_KERNEL_LOCK,
		[CALL_FILE_ANONYMOUS] = CALL_OBJECT_ANONYMOUS,
	};

	if (call == CALL_FAULT)
		return CALL_OBJECT_MMAP_LOCK;
	if (call == CALL_FROZEN)
		return CALL_OBJECT_GROUP;
	return call & CALL_IS_NUMBER ? (enum call_object)objects[CALL_FILE(call)] :
				       CALL_OBJECT_LOCK;
}

/*
 * Returns whether the thread waits for a lock of the kernel, not of its program. call: as in a
 * switch event.
 */
static inline bool call_is_of_kernel_lock(uint32_t call)
{
	enum call_object what = call_object_of(call);

	return what == CALL_OBJECT_MMAP_LOCK || what == CALL_OBJECT_INODE_LOCK ||
	       what == CALL_OBJECT_KERNEL_LOCK;
}

/* The way in which a thread's call wakes other threads. */
enum call_wake {
	CALL_WAKE_OTHER,	/* none of the following, or unknown */
	CALL_WAKE_FUTEX,	/* threads that wait in futex */
	CALL_WAKE_SIGNAL,	/* a signal or a tracer: threads in any wait */
	/* threads that wait for a socket, or that are in a control group that the write freezes */
	CALL_WAKE_WRITE,
	CALL_WAKE_CLOSE,	/* threads that wait for a socket, or for the lock of a file */
};

enum call_machine {
	CALL_MACHINE_UNKNOWN = 0,
	CALL_MACHINE_X86_64,
	CALL_MACHINE_ARM64,
};

/* machine: the field of struct utsname; may be NULL. */
enum call_machine call_machine_of(const char *machine);

/*
 * Returns the name of a system call, "call 500" if the system call is not in calls.decl, or the
 * name of another activity: "user code", "kernel thread". NULL: unknown.
 */
const char *call_name(enum call_machine machine, uint32_t call);

enum call_wake call_wake_of(enum call_machine machine, uint32_t call);

/* state: any but THREAD_RUNNING. */
enum wait_kind wait_kind_of(enum call_machine machine, enum thread_state state, uint32_t call);
const char *wait_kind_name(enum wait_kind kind);
