/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * preload: decides whether a library in the workload or uprobes record the heap; prepares the
 * library's memory and its variables in COMMAND's environment.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct heap_ring;
struct session_options;

/* All zeros: no library is used. */
struct preload {
	struct heap_ring *ring;
	char *env[3];		/* "NAME=VALUE" strings for COMMAND; ends with NULL */
	/* COMMAND's file if it has its own malloc, which uprobes record; else NULL */
	char *program;
	uint64_t without_cnt;	/* programs of the workload in which the library did not start */
};

/*
 * Prepares the library for a recording with alloc.heap. If the library cannot be used, p remains
 * empty, and a notice has the reason and the cost of uprobes. owner, group: of the recorder after
 * it drops its privileges. -ENOENT: no such user; -ENOMEM; or the memory cannot be created.
 */
int preload_open(struct preload *p, const struct session_options *o, uid_t owner, gid_t group,
		 struct err *e);
/*
 * Raises COMMAND's limit of locked memory (RLIMIT_MEMLOCK) by the size of the library's memory, so
 * that an mlockall() that succeeds without the library also succeeds with it. Does nothing without
 * CAP_SYS_RESOURCE.
 */
void preload_raise_limit(const struct preload *p, pid_t pid);
/* Reports, at the end of a recording, which processes the library could not record. */
void preload_say(const struct preload *p, const struct session_options *o);
void preload_close(struct preload *p);
/* Returns whether the library is installed where this program expects it. */
bool preload_has_library(void);

/*
 * Creates the memory for events of requests, which programs write with cmd/ebpfrec.h, and *ret_env,
 * a string "NAME=VALUE" for COMMAND with the memory's name. The caller frees both. Other arguments
 * and errors: see preload_open().
 */
int preload_open_spans(struct heap_ring **ret, char **ret_env, const struct session_options *o,
		       uid_t owner, gid_t group, struct err *e);
