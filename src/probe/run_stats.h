/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * run_stats: turns the kernel's statistics of BPF run time on and off.
 *
 * That takes CAP_SYS_ADMIN each time, which the recorder gives up. So a process of its own keeps
 * that one capability and does this one thing, on a byte through a socket; it holds no other
 * descriptor, and ends with the recorder.
 *
 * Threads: one. Start it before other threads exist, and before privileges are dropped.
 */
#ifndef RUN_STATS_H
#define RUN_STATS_H

#include <sys/types.h>

struct run_stats;

/* -EPERM: without CAP_SYS_ADMIN there are no statistics. Others: what fork gives. */
int run_stats_start(struct run_stats **ret);
/* The helper ends; statistics are off. NULL is fine. */
void run_stats_end(struct run_stats *r);

pid_t run_stats_pid(const struct run_stats *r);	/* of the helper; 0 for NULL */
/* 0: they are on (or off) now. */
int run_stats_switch(struct run_stats *r, int on);

#endif /* RUN_STATS_H */
