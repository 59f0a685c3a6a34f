/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * user_sites: what is at the code addresses of the workload's processes, on the machine that is recorded, while it is.
 *
 *     exec_maps --> map_book: which file is mapped where, when --> module_book: which function that is
 *
 * Processes are followed from their mappings on (/proc/PID/maps), their children from their forks. Threads: the one
 * that encodes.
 */
#ifndef USER_SITES_H
#define USER_SITES_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "chunk/rows.h"

struct user_sites;

/*
 * To be called while privileged, and while there is one thread. What is not to be had (no perf events here: then only
 * processes that live long enough can be looked at) is told to warn.
 */
int user_sites_new(struct user_sites **ret, unsigned int cpu_cnt,
		   void (*warn)(void *ctx, const char *text), void *warn_ctx, struct err *e);
void user_sites_free(struct user_sites *u);
pid_t user_sites_pid(const struct user_sites *u);	/* of its helper; 0: none, or u is NULL */

/* Follows a process that lives already. */
int user_sites_add(struct user_sites *u, uint32_t pid);
/* Takes in what was mapped since the last call: to be called often, since files and processes go away. u may be NULL. */
int user_sites_look(struct user_sites *u);
/* A slice that ends at to_ns was encoded: nobody will ask for what was a second before. u may be NULL. */
int user_sites_end_slice(struct user_sites *u, uint64_t to_ns);

/* As struct block_names wants it; ctx is a struct user_sites. */
int user_sites_find(void *ctx, uint32_t pid, uint64_t ts_ns, struct trace_site *ret,
		    uint64_t *ret_until_ns);

#endif /* USER_SITES_H */
