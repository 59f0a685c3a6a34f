/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * preload: decides whether a library in the workload or uprobes record the heap, and sets COMMAND's
 * environment for the library.
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
	char *env[3];		/* "NAME=VALUE", for COMMAND; ends with NULL */
	/* COMMAND's file, whose own malloc uprobes record; NULL: it has none */
	char *program;
	uint64_t without_cnt;	/* programs of the workload in which the library did not begin */
};

/*
 * Prepares the library for a recording with alloc.heap. If it cannot be used, p stays empty and one
 * notice names the reason and the cost of uprobes. owner, group: of the recorder after it has
 * dropped its privileges. Errors: -ENOENT no such user, -ENOMEM, or the memory cannot be made.
 */
int preload_open(struct preload *p, const struct session_options *o, uid_t owner, gid_t group,
		 struct err *e);
/*
 * Raises the limit of locked memory (RLIMIT_MEMLOCK) of COMMAND by the library's memory, so that
 * mlockall() of a program fits as without it. Needs CAP_SYS_RESOURCE, and does nothing otherwise.
 */
void preload_raise_limit(const struct preload *p, pid_t pid);
/* Reports at the end of a recording which processes the library could not record. */
void preload_say(const struct preload *p, const struct session_options *o);
void preload_close(struct preload *p);
/* Returns whether the library is where this program looks for it. */
bool preload_has_library(void);

/*
 * Makes the memory for events of requests, which programs with cmd/ebpfrec.h write, and *ret_env,
 * the text "NAME=VALUE" for COMMAND that names it. The caller frees both. Arguments and errors as
 * above.
 */
int preload_open_spans(struct heap_ring **ret, char **ret_env, const struct session_options *o,
		       uid_t owner, gid_t group, struct err *e);
