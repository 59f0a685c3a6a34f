/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * user_sites: finds the functions at code addresses of the workload, and the variables at addresses
 * of its locks, while the workload is running.
 *
 *     exec_maps --> map_cache: mapped file at an address and time --> module_cache: function
 *
 * A process is followed after the first reading of its mappings (/proc/PID/maps), and its children
 * after their forks. Threads: the encoding thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "bpf/wire.h"
#include "format/rows.h"
#include "symbol/unwind_table.h"

struct user_sites;

/*
 * Call this with privileges, while the program has a single thread. Warns about unavailable parts:
 * without perf events, only processes that live long enough are followed. Without has_code, only
 * variables are found; following code has a small cost for every process of the machine.
 */
int user_sites_new(struct user_sites **ret, unsigned int cpu_cnt, bool has_code,
		   const struct notices *notices, struct err *e);
void user_sites_free(struct user_sites *u);
/* Returns the helper's pid; 0: no helper, or u is NULL. */
pid_t user_sites_pid(const struct user_sites *u);

/* Starts to follow a running process. */
int user_sites_add(struct user_sites *u, uint32_t pid);
/*
 * Reads records of new mappings. Call this often, because files and processes disappear. u may be
 * NULL.
 */
int user_sites_look(struct user_sites *u);
/*
 * Drops data that is older than some seconds. Call this after a slice that ends at to_ns was
 * encoded. u may be NULL.
 */
void user_sites_end_slice(struct user_sites *u, uint64_t to_ns);

/* Implements id_names_calls.site; ctx is a struct user_sites. */
int user_sites_find(void *ctx, uint32_t pid, uint64_t ts_ns, struct trace_site *ret,
		    uint64_t *ret_until_ns);

/*
 * Returns a name that was found after its event was written: *ret replaces the row with the same
 * upid, addr and from_ns. False: no more names. Call this repeatedly after each user_sites_look().
 */
bool user_sites_find_late(struct user_sites *u, struct trace_site *ret);

/*
 * Finds the variable at ret->addr of process pid, which has run its program since since_ns, in a
 * mapped file. Sets all members of ret except upid and addr. -ENOENT: no file is mapped there;
 * -ENOMEM. The mappings may be read after ts_ns, so nothing is found if the process has exited by
 * then.
 */
int user_sites_find_variable(struct user_sites *u, uint32_t pid, uint64_t since_ns, uint64_t ts_ns,
			     struct trace_site *ret);
/*
 * Reads the mappings of a process for later lookups of variables, because the process may exit
 * soon. u may be NULL.
 */
int user_sites_read_list(struct user_sites *u, uint32_t pid);

/*
 * Unwinds process pid from its registers and stack at ts_ns, as unwind_walk() does. Ignores
 * copy->table.
 */
unsigned int user_sites_unwind(struct user_sites *u, uint32_t pid, uint64_t ts_ns,
			       const struct unwind_stack *copy, uint64_t *frames, unsigned int max,
			       bool *ret_whole);
