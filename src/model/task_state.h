/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * task_state: decodes the kernel's task state bits (TASK_*, include/linux/sched.h) of a thread that
 * leaves its CPU. The bits have been the same since 4.14.
 */
#pragma once

#include <stdint.h>

enum task_state {
	TASK_STATE_RUNNABLE = 0,	/* ready to run: preempted or yielded */
	TASK_STATE_SLEEPING,		/* interruptible, or a parked kernel thread */
	TASK_STATE_IDLE, /* idle kernel thread: uninterruptible, but not counted in the load */
	TASK_STATE_UNINTERRUPTIBLE,	/* including waits for a real-time lock, and frozen tasks */
	TASK_STATE_STOPPED,
	TASK_STATE_TRACED,		/* stopped by a debugger */
	TASK_STATE_DEAD,
};

static inline enum task_state task_state_of_bits(uint64_t bits)
{
	if (!bits)
		return TASK_STATE_RUNNABLE;
	if (bits & (0x0010u | 0x0020u | 0x0080u))	/* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */
		return TASK_STATE_DEAD;
	if (bits & 0x0008u)				/* __TASK_TRACED */
		return TASK_STATE_TRACED;
	if (bits & 0x0004u)				/* __TASK_STOPPED */
		return TASK_STATE_STOPPED;
	if ((bits & 0x0402u) == 0x0402u)		/* TASK_UNINTERRUPTIBLE | TASK_NOLOAD */
		return TASK_STATE_IDLE;
	/* TASK_UNINTERRUPTIBLE, TASK_RTLOCK_WAIT, TASK_FROZEN */
	return bits & (0x0002u | 0x1000u | 0x8000u) ? TASK_STATE_UNINTERRUPTIBLE :
						      TASK_STATE_SLEEPING;
}
