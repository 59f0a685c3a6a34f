/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* id_names: looks up names of ids on the recorded machine, for the block writer. */
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

/* Functions with which the block writer looks up names. */
struct id_names_calls {
	void *ctx;
	/*
	 * Looks up the name of an id (types: see format/rows.h); called once per id. Sets *ret_arg,
	 * which is initially 0, to a property: object size of a slab cache, sectors of a device.
	 * -errno: unknown.
	 */
	int (*name)(void *ctx, enum trace_name_type type, uint64_t id, char *name, size_t size,
		    uint64_t *ret_arg);
	/*
	 * Returns the quota of the i-th named group; quota_ns 0: unlimited. Groups named between
	 * calls are appended to the list. NULL: end of the list. The member may be NULL.
	 */
	const struct trace_quota *(*quota)(void *ctx, size_t i);
	/*
	 * Looks up the function at ret->addr of process pid at ts_ns. Sets all members of ret
	 * except upid and addr; strings are valid until the next call. The result is valid from
	 * ret->from_ns until *ret_until_ns. < 0: unknown.
	 */
	int (*site)(void *ctx, uint32_t pid, uint64_t ts_ns, struct trace_site *ret,
		    uint64_t *ret_until_ns);
	/*
	 * Returns the name of a code address that was unknown when it was looked up:
	 * user_sites_find_late(). May be NULL.
	 */
	bool (*late_site)(void *ctx, struct trace_site *ret);
	/* Looks up the variable at ret->addr: user_sites_find_variable(). */
	int (*variable)(void *ctx, uint32_t pid, uint64_t since_ns, uint64_t ts_ns,
			struct trace_site *ret);
	/*
	 * Unwinds a thread of process pid from a copy of its registers and stack at ts_ns (the
	 * first three members of copy). Returns at most max frames, innermost first; frames[0] is
	 * the interrupted instruction. 0: unknown. *ret_whole: true if the frames reach the
	 * thread's first function. The member may be NULL.
	 */
	unsigned int (*unwind)(void *ctx, uint32_t pid, uint64_t ts_ns,
			       const struct unwind_stack *copy, uint64_t *frames, unsigned int max,
			       bool *ret_whole);
	/*
	 * Converts a path inside a file system to a path from the root. The member may be NULL:
	 * paths are then not converted.
	 */
	void (*path)(void *ctx, const struct mounts_file *f, char *ret, size_t size);
};

/*
 * Opens the cgroup file systems and, before Linux 5.13, reads the kernel's symbols. Missing parts
 * are not an error: their ids then have no names.
 */
int id_names_new(struct id_names **ret, struct probe *probe);
void id_names_free(struct id_names *n);

/*
 * Returns false if the kernel hides the addresses of its functions from this user. These functions
 * then have no names.
 */
bool id_names_has_kernel_symbols(const struct id_names *n);

/* Formats the name of a device: "vda", or "device 8:0" if the kernel has no name. */
void id_names_of_device(uint32_t dev, char *buf, size_t size);

/*
 * Returns the functions for n and sites (NULL: no names of user code and locks). n and sites must
 * outlive the writer.
 */
struct id_names_calls id_names_calls(struct id_names *n, struct user_sites *sites);
