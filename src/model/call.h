/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * call: what a thread was doing when it left its CPU, and what a thread that does this waits for.
 *
 *     column `call` of a switch --[call]--> a name; with the thread's state, a kind of wait
 *
 * A call is a number as in schema/FORMAT.md, section 6. Names and kinds are those of
 * schema/calls.decl, by the machine that was recorded. Any number is valid. Threads: any.
 */
#pragma once

#include <stdint.h>

#include "model/thread_states.h"

#define CALL_UNKNOWN 0
#define CALL_KERNEL 1		/* a kernel thread, or a worker of the kernel's for a process */
#define CALL_USER 2		/* user code, or an exception of it such as a page fault */
#define CALL_THROTTLED 3	/* the quota of its control group was used up */
#define CALL_OTHER 4		/* a system call whose number is too large to be kept */
#define CALL_FAULT 5		/* an exception of user code, which waits for the mmap lock */
#define CALL_EXIT 6		/* of a wake-up: the waker is exiting */
#define CALL_HELD 7		/* at the start: the recorder holds COMMAND back */
#define CALL_IS_NUMBER 0x4000	/* a system call: */
#define CALL_IS_32_BIT 0x2000	/* by the numbers of 32-bit programs */
#define CALL_NUMBER_CNT 512
#define CALL_NUMBER(call) ((call) & (CALL_NUMBER_CNT - 1))
#define CALL_FILE(call) ((call) >> 9 & 15)	/* enum call_file, of what the call waits for */

enum call_file {
	CALL_FILE_UNKNOWN = 0,
	CALL_FILE_PIPE = 1,
	CALL_FILE_DEVICE = 2,		/* a character device, such as a terminal */
	CALL_FILE_MMAP_LOCK = 3,	/* no file */
	CALL_FILE_DIRECTORY = 4,
	CALL_FILE_PROCESS = 5,		/* no file: the end of a child */
	CALL_FILE_BLOCK_DEVICE = 6,
	CALL_FILE_TIMER = 7,		/* no file: a time */
	CALL_FILE_REGULAR = 8,
	CALL_FILE_THREAD = 9,		/* no file: the end of another thread of the process */
	CALL_FILE_KERNEL = 10,		/* of proc, sysfs or the control groups */
	CALL_FILE_SOCKET = 12,
	CALL_FILE_ANONYMOUS = 15,	/* eventfd, timerfd, inotify and the like */
};

/* Time off the CPUs is spent on one of these. */
enum wait_kind {
	WAIT_CPU,		/* runnable */
	WAIT_THROTTLED,
	WAIT_DISK,		/* also for a file's pages, and for a sync */
	WAIT_LOCK,
	WAIT_SOCKET,
	WAIT_PIPE,
	WAIT_POLL,		/* for one of several things */
	WAIT_TIMER,
	WAIT_CHILD,		/* or another thread, for its end */
	WAIT_SIGNAL,
	WAIT_FAULT,		/* in an exception of user code: a page that has to be read */
	WAIT_KERNEL,		/* of kernel threads */
	WAIT_CALL,		/* in another system call */
	WAIT_STOPPED,
	WAIT_UNKNOWN,
	WAIT_KIND_CNT,
};

/* Says what `object` of a switch is. */
enum call_object {
	CALL_OBJECT_LOCK,	/* the address of a lock, in the memory of the process */
	CALL_OBJECT_PIPE,	/* an inode number */
	CALL_OBJECT_SOCKET,	/* an inode number */
	CALL_OBJECT_DEVICE,	/* major << 20 | minor */
	CALL_OBJECT_FILE,	/* bits 0 to 31: an inode number; above: of its file system */
	CALL_OBJECT_ANONYMOUS,	/* bits 0 to 31: a descriptor; above: two letters of its type */
	CALL_OBJECT_MMAP_LOCK,	/* the pid of the process */
	CALL_OBJECT_PROCESS,	/* a pid */
	CALL_OBJECT_THREAD,	/* a tid */
	CALL_OBJECT_TIMER,	/* ns */
};

/* Call it for a switch whose object is not 0. */
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
		[CALL_FILE_ANONYMOUS] = CALL_OBJECT_ANONYMOUS,
	};

	if (call == CALL_FAULT)
		return CALL_OBJECT_MMAP_LOCK;
	return call & CALL_IS_NUMBER ? (enum call_object)objects[CALL_FILE(call)] :
				       CALL_OBJECT_LOCK;
}

/* How a thread wakes others in a call. */
enum call_wake {
	CALL_WAKE_OTHER,	/* nothing of the below; also not known */
	CALL_WAKE_FUTEX,	/* those who wait in futex */
	CALL_WAKE_SIGNAL,	/* by a signal or as a tracer: whatever they wait for */
	CALL_WAKE_WRITE,	/* those who wait for a socket, or in a group that it freezes */
	CALL_WAKE_CLOSE,	/* those who wait for a socket, or for the lock of a file */
};

enum call_machine {
	CALL_MACHINE_UNKNOWN = 0,
	CALL_MACHINE_X86_64,
	CALL_MACHINE_ARM64,
};

/* machine: as uname() has it; may be NULL. */
enum call_machine call_machine_of(const char *machine);

/*
 * The name of a system call, or "call 500" of one that is too new to have one here; or what else
 * the thread was doing: "user code", "kernel thread". NULL: not known.
 */
const char *call_name(enum call_machine machine, uint32_t call);

enum call_wake call_wake_of(enum call_machine machine, uint32_t call);

/* state: not THREAD_RUNNING. */
enum wait_kind wait_kind_of(enum call_machine machine, enum thread_state state, uint32_t call);
const char *wait_kind_name(enum wait_kind kind);
