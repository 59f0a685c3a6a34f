/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* id_names: names for ids that the block writer looks up on the recorded machine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/rows.h"
#include "record/tasks/mounts.h"
#include "symbol/unwind_table.h"

struct probe;
struct id_names;
struct user_sites;

/* The functions through which the block writer looks up names. */
struct id_names_calls {
	void *ctx;
	/*
	 * Looks up the name of an id that records carry as a number (for types of ids see
	 * format/rows.h), and sets *ret_arg, which is 0 before, to its property: the object size of
	 * a slab cache, the sectors of a device. Called once per id. -errno: unknown.
	 */
	int (*name)(void *ctx, enum trace_name_type type, uint64_t id, char *name, size_t size,
		    uint64_t *ret_arg);
	/*
	 * Returns the quota of the i-th named group; quota_ns 0: unlimited. Groups named between
	 * calls are appended. NULL: end of the list. The member may be NULL.
	 */
	const struct trace_quota *(*quota)(void *ctx, size_t i);
	/*
	 * Looks up what process pid has at ret->addr at ts_ns: fills all of ret but upid and addr,
	 * with strings valid until the next call. The result holds from ret->from_ns until
	 * *ret_until_ns. < 0: unknown.
	 */
	int (*site)(void *ctx, uint32_t pid, uint64_t ts_ns, struct trace_site *ret,
		    uint64_t *ret_until_ns);
	/*
	 * Returns names of code found after it was looked up: user_sites_find_late(). May be NULL.
	 */
	bool (*late_site)(void *ctx, struct trace_site *ret);
	/* The variable at ret->addr: user_sites_find_variable(). */
	int (*variable)(void *ctx, uint32_t pid, uint64_t since_ns, uint64_t ts_ns,
			struct trace_site *ret);
	/*
	 * Unwinds a thread of process pid whose registers and stack at ts_ns were copied (the first
	 * three members of copy). Returns at most max frames, innermost first; the first is the
	 * interrupted instruction. 0: unknown. *ret_whole: the frames reach the thread's first
	 * function. The member may be NULL.
	 */
	unsigned int (*unwind)(void *ctx, uint32_t pid, uint64_t ts_ns,
			       const struct unwind_stack *copy, uint64_t *frames, unsigned int max,
			       bool *ret_whole);
	/*
	 * Converts a path inside a file system to one from the root. The member may be NULL: then
	 * paths stay inside the file system.
	 */
	void (*path)(void *ctx, const struct mounts_file *f, char *ret, size_t size);
};

/*
 * Finds the cgroup file system and, for kernels before 5.13, reads the kernel's symbols. Names that
 * are missing stay unresolved.
 */
int id_names_new(struct id_names **ret, struct probe *probe);
void id_names_free(struct id_names *n);

/*
 * False if the kernel hides its functions' addresses from this user; then they stay without names.
 */
bool id_names_has_kernel_symbols(const struct id_names *n);

/* "vda", or "device 8:0" if the kernel has no name for it. */
void id_names_of_device(uint32_t dev, char *buf, size_t size);

/* n and sites (NULL: no names of user code and of locks) must outlive the writer. */
struct id_names_calls id_names_calls(struct id_names *n, struct user_sites *sites);
