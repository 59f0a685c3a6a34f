/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * id_names: looks up names of ids on the recorded machine, for the block writer: control groups,
 * mounts, devices, users, interrupts and code of the kernel.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/rows.h"
#include "symbol/unwind_table.h"

/*
 * cgroup: finds paths and ids of control groups, of version 2 or of a version 1 hierarchy. The id
 * of a group is the id in its kernfs file handle.
 */
/*
 * Finds the mount of cgroup v2 or, with a controller, of this controller's version 1 hierarchy.
 * -ENOTSUP: not mounted.
 */
int cgroup_find_mount(const char *controller, char dir[PATH_MAX]);

/* Finds the id of the group whose directory has the full path dir. -ENOENT: no such directory. */
int cgroup_id_of(const char *dir, uint64_t *ret_id);

/*
 * Calls row for every cgroup, with its id and its path relative to the mount ("/": the root). A
 * result < 0 of row ends the walk and is returned. Requires no capability. Skips cgroups nested
 * deeper than 64.
 */
int cgroup_walk(int mount_fd, int (*row)(void *ctx, uint64_t id, const char *path), void *ctx);

/*
 * mounts: converts paths inside file systems to paths from the root, according to the mounts that
 * the recorder sees.
 *
 * The table is read at the start and after each change, at most every 100 ms. The number of a file
 * system may be reused: if an event is older than the mount, a converted path is used only if the
 * file exists there. Threads: one per table.
 */

struct mounts {
	struct mount *v;
	size_t cnt, cap;
	uint64_t read_ns;	/* CLOCK_MONOTONIC; 0: not read yet */
	uint64_t changed_ns;	/* time of a change after read_ns; 0: none */
	int watch;		/* 1 + descriptor that reports changes; 0: none */
};

/* A file to which an event refers. */
struct mounts_file {
	uint32_t dev;		/* file system: major << 20 | minor */
	uint64_t ino;
	uint64_t ts_ns;		/* time of the event, CLOCK_MONOTONIC ns */
	const char *inside;	/* path inside the file system: "/a/b" */
};

void mounts_done(struct mounts *m);

/*
 * Writes the path of f from the root, truncated to size. If several mounts contain the file, uses
 * the mount with the largest part of the file system. If the file system is not mounted here, or
 * its number may have had another meaning at the time of the event, copies f->inside.
 */
void mounts_path(struct mounts *m, const struct mounts_file *f, char *ret, size_t size);

/* For tests: replaces the table by the table in a mountinfo file. 0 or -errno. */
int mounts_read(struct mounts *m, const char *mountinfo);

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
