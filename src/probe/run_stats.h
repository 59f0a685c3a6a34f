/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * run_stats: turns the kernel's statistics of BPF run time on and off.
 *
 * Turning them on takes CAP_SYS_ADMIN each time, which the recorder gives up. So a helper process
 * keeps that one capability and does this one thing, when a byte comes through a socket. The helper
 * holds no other descriptor and ends with the recorder.
 *
 * Threads: one. Start the helper before other threads exist and before privileges are dropped.
 */
#ifndef RUN_STATS_H
#define RUN_STATS_H

#include <sys/types.h>

struct run_stats;

/* -EPERM: there are no statistics without CAP_SYS_ADMIN. Others: errors of fork(). */
int run_stats_start(struct run_stats **ret);
/* Ends the helper, which turns the statistics off. NULL is fine. */
void run_stats_end(struct run_stats *r);

pid_t run_stats_pid(const struct run_stats *r);	/* of the helper; 0 for NULL */
/* 0: the statistics are on (or off) now. -errno or -EIO: the helper could not do it. */
int run_stats_switch(struct run_stats *r, int on);

#endif /* RUN_STATS_H */
