/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* id_names: names for ids that the block writer asks for, from the machine that is recorded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/rows.h"
#include "symbol/unwind_table.h"

struct probe;
struct id_names;
struct user_sites;

/* The block writer asks through these functions. */
struct id_names_calls {
	void *ctx;
	/*
	 * The name of an id that records carry as a number (format/rows.h says what ids there are),
	 * and in *ret_arg, which is 0 before, what belongs to it: the object size of a slab cache,
	 * the sectors of a device. Asked for once per id. -errno: not known.
	 */
	int (*name)(void *ctx, enum trace_name_type type, uint64_t id, char *name, size_t size,
		    uint64_t *ret_arg);
	/*
	 * The quota of the i-th group that was named; quota_ns 0: it has none. Groups that are
	 * named meanwhile come last. NULL: there are no more. The member may be NULL.
	 */
	const struct trace_quota *(*quota)(void *ctx, size_t i);
	/*
	 * Says what process pid has at ret->addr at ts_ns: fills all of ret but upid and addr,
	 * strings good until the next call. It is so from ret->from_ns to *ret_until_ns. < 0:
	 * nothing is to be said.
	 */
	int (*site)(void *ctx, uint32_t pid, uint64_t ts_ns, struct trace_site *ret,
		    uint64_t *ret_until_ns);
	/* Names of code found after it was asked for: user_sites_find_late(). May be NULL. */
	bool (*late_site)(void *ctx, struct trace_site *ret);
	/* The variable at ret->addr: user_sites_find_variable(). */
	int (*variable)(void *ctx, uint32_t pid, uint64_t since_ns, uint64_t ts_ns,
			struct trace_site *ret);
	/*
	 * The frames of a thread of process pid whose registers and stack at ts_ns were copied (the
	 * first three members of copy), innermost first: at most max. The first is where the thread
	 * was; 0: they are not known. *ret_whole: they reach the thread's first function. The
	 * member may be NULL.
	 */
	unsigned int (*unwind)(void *ctx, uint32_t pid, uint64_t ts_ns,
			       const struct unwind_stack *copy, uint64_t *frames, unsigned int max,
			       bool *ret_whole);
	/*
	 * The path, from the root, of what is at inside in the file system dev; NULL: paths stay
	 * those inside the file system.
	 */
	void (*path)(void *ctx, uint32_t dev, const char *inside, char *ret, size_t size);
};

/*
 * Finds the cgroup file system and, for kernels before 5.13, reads the kernel's symbols. Names that
 * are missing stay unresolved.
 */
int id_names_new(struct id_names **ret, struct probe *probe);
void id_names_free(struct id_names *n);

/*
 * False where the kernel hides its functions' addresses from this user; then they stay without
 * names.
 */
bool id_names_has_kernel_symbols(const struct id_names *n);

/* "vda", or "device 8:0" where the kernel has no name for it. */
void id_names_of_device(uint32_t dev, char *buf, size_t size);

/* n and sites (NULL: no names of user code and of locks) must outlive the writer. */
struct id_names_calls id_names_calls(struct id_names *n, struct user_sites *sites);
