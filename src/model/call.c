/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* call: tables of calls by number, generated from schema/calls.decl by schema/calls.awk. */
#include "model/call.h"

#include <string.h>

/* in the tables: the kind of wait depends on the type of the file */
#define CALL_FILE_SAYS WAIT_KIND_CNT

struct call_decl {
	const char *name;
	uint8_t kind;		/* enum wait_kind, or CALL_FILE_SAYS */
	uint8_t wake;		/* enum call_wake */
};

#include "calls.h"

enum call_machine call_machine_of(const char *machine)
{
	if (machine && !strcmp(machine, "x86_64"))
		return CALL_MACHINE_X86_64;
	return machine && !strcmp(machine, "aarch64") ? CALL_MACHINE_ARM64 : CALL_MACHINE_UNKNOWN;
}

/*
 * Returns the declaration of a system call; NULL: not a system call. 32-bit calls of arm64 are not
 * in the tables.
 */
static const struct call_decl *find(enum call_machine machine, uint32_t call)
{
	static const struct call_decl other = { "another call", WAIT_CALL, CALL_WAKE_OTHER };
	uint32_t nr = CALL_NUMBER(call);

	if (call == CALL_OTHER)
		return &other;
	if (!(call & CALL_IS_NUMBER))
		return NULL;
	if (machine == CALL_MACHINE_X86_64)
		return call & CALL_IS_32_BIT ? &calls_i386[nr] : &calls_x86_64[nr];
	return machine == CALL_MACHINE_ARM64 && !(call & CALL_IS_32_BIT) ? &calls_arm64[nr] :
									    &other;
}

const char *call_name(enum call_machine machine, uint32_t call)
{
	const struct call_decl *d = find(machine, call);

	if (d)
		return d->name;
	switch (call) {
	case CALL_KERNEL:
		return "kernel thread";
	case CALL_USER:
		return "user code";
	case CALL_FAULT:
		return "page fault";
	case CALL_THROTTLED:
		return "throttled";
	case CALL_FROZEN:
		return "frozen";
	case CALL_EXIT:
		return "exit";
	case CALL_TIMEOUT:
		return "timeout";
	default:
		return NULL;
	}
}

enum call_wake call_wake_of(enum call_machine machine, uint32_t call)
{
	const struct call_decl *d = find(machine, call);

	return d ? (enum call_wake)d->wake : CALL_WAKE_OTHER;
}

static enum wait_kind kind_of_file(uint32_t call)
{
	switch (CALL_FILE(call)) {
	case CALL_FILE_PIPE:
		return WAIT_PIPE;
	case CALL_FILE_SOCKET:
		return WAIT_SOCKET;
	case CALL_FILE_REGULAR:
	case CALL_FILE_BLOCK_DEVICE:
	case CALL_FILE_DIRECTORY:
		return WAIT_DISK;
	default:
		return WAIT_CALL;
	}
}

static enum wait_kind kind_of_call(enum call_machine machine, uint32_t call)
{
	const struct call_decl *d = find(machine, call);

	if (call_is_of_kernel_lock(call))
		return WAIT_LOCK;
	if (d && CALL_FILE(call) == CALL_FILE_THREAD)
		return WAIT_CHILD;
	if (d && CALL_FILE(call) == CALL_FILE_CONDITION)
		return WAIT_CONDITION;
	/*
	 * a poll without descriptors is a sleep; a poll of one descriptor is a wait for that
	 * descriptor
	 */
	if (d && CALL_FILE(call) == CALL_FILE_TIMER)
		return WAIT_TIMER;
	if (d && d->kind == WAIT_POLL &&
	    (CALL_FILE(call) == CALL_FILE_PIPE || CALL_FILE(call) == CALL_FILE_SOCKET))
		return kind_of_file(call);
	if (d)
		return d->kind == CALL_FILE_SAYS ? kind_of_file(call) : (enum wait_kind)d->kind;
	switch (call) {
	case CALL_KERNEL:
		return WAIT_KERNEL;
	case CALL_USER:
		return WAIT_FAULT;
	default:
		return WAIT_UNKNOWN;
	}
}

enum wait_kind wait_kind_of(enum call_machine machine, enum thread_state state, uint32_t call)
{
	switch (state) {
	case THREAD_RUNNABLE:
	case THREAD_PREEMPTED:
		return WAIT_CPU;
	case THREAD_THROTTLED:
		return WAIT_THROTTLED;
	case THREAD_DISK:
		return WAIT_DISK;
	case THREAD_STOPPED:
		return WAIT_STOPPED;
	case THREAD_UNINTERRUPTIBLE:
	case THREAD_SLEEPING:
		return kind_of_call(machine, call);
	default:
		return WAIT_UNKNOWN;
	}
}

const char *wait_kind_name(enum wait_kind kind)
{
	static const char *const names[WAIT_KIND_CNT] = {
		"cpu", "throttled", "disk", "lock", "socket", "pipe", "poll", "timer", "child",
		"signal", "fault", "kernel", "call", "stopped", "condition", "unknown",
	};

	return names[kind];
}
