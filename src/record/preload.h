/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * preload: decides whether a library in the workload or uprobes record the heap. Prepares the
 * library's memory and its variables in COMMAND's environment.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct heap_ring;
struct session_options;

/* The library's memory and environment; all zeros: no library is used. */
struct preload {
	struct heap_ring *ring;
	char *env[3];		/* "NAME=VALUE" strings for COMMAND, NULL-terminated */
	/* COMMAND's file if it has its own malloc, which uprobes record; else NULL */
	char *program;
	uint64_t without_cnt;	/* number of the workload's execs without the library */
};

/*
 * Prepares the library for a recording with alloc.heap. If the library cannot be used, p remains
 * empty, and a notice states the reason and the cost of uprobes. owner, group: ids of the recorder
 * after it drops its privileges. -ENOENT: no such user; -ENOMEM; or the error of creating the
 * memory.
 */
int preload_open(struct preload *p, const struct session_options *o, uid_t owner, gid_t group,
		 struct err *e);
/*
 * Raises COMMAND's limit of locked memory (RLIMIT_MEMLOCK) by the size of the library's memory, so
 * that mlockall() does not fail because of the library. Does nothing without CAP_SYS_RESOURCE.
 */
void preload_raise_limit(const struct preload *p, pid_t pid);
/* Warns, at the end of a recording, about processes that the library could not record. */
void preload_say(const struct preload *p, const struct session_options *o);
void preload_close(struct preload *p);
/* Returns true if the library is installed where this program expects it. */
bool preload_has_library(void);

/*
 * Creates the memory for events of requests, which programs write with cmd/ebpfrec.h, and *ret_env,
 * a "NAME=VALUE" string for COMMAND with the memory's name. The caller frees both. See
 * preload_open() for other arguments and errors.
 */
int preload_open_spans(struct heap_ring **ret, char **ret_env, const struct session_options *o,
		       uid_t owner, gid_t group, struct err *e);
