/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * opener: opens, for a recorder that has given up its privileges, what only they may look at of other processes:
 * /proc/PID/maps and the files behind executable mappings (/proc/PID/map_files). A process of its own that has
 * CAP_SYS_PTRACE and CAP_CHECKPOINT_RESTORE and nothing else, opens for reading, and passes descriptors. What is
 * read from them is read by the recorder. Where those capabilities are missing the recorder opens itself, what it may.
 */
#ifndef OPENER_H
#define OPENER_H

#include <stdint.h>
#include <sys/types.h>

struct opener;

/* To be called while privileged, and while there is one thread. 0 or -errno. */
int opener_start(struct opener **ret);
void opener_end(struct opener *o);
pid_t opener_pid(const struct opener *o);	/* 0: there is no process of its own */

/* /proc/PID/maps. A descriptor, or -errno. */
int opener_open_maps(struct opener *o, uint32_t pid);
/* The file that pid has mapped at exactly [start, end): a regular file, or -errno. */
int opener_open_mapped(struct opener *o, uint32_t pid, uint64_t start, uint64_t end);

#endif /* OPENER_H */
