/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * run_stats: turns the kernel's statistics of BPF run time on and off.
 *
 * Turning them on takes CAP_SYS_ADMIN each time, which the recorder gives up. So a helper process
 * keeps that one capability and does this one thing, when a byte comes through a socket. When the
 * helper ends, the statistics are off.
 *
 * Threads: one. Start the helper before other threads exist and before privileges are dropped.
 */
#ifndef RUN_STATS_H
#define RUN_STATS_H

#include <stdbool.h>

#include "base/helper.h"

/* -EPERM: there are no statistics without CAP_SYS_ADMIN. Others: errors of fork(). */
int run_stats_start(struct helper *ret);
/* 0: the statistics are on (or off) now. -errno or -EIO: the helper could not do it. */
int run_stats_switch(const struct helper *h, bool on);

#endif /* RUN_STATS_H */
