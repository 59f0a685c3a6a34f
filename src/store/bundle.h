/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle: reads and writes a trace in one zip file, made by `ebpfrec bundle`.
 *
 *     FILE.zip --[bundle_open]--> manifest text, a descriptor per chunk file --> src/trace
 *
 * Members have the names of files in a trace directory, in one folder or (old bundles) in none.
 * They are stored, not compressed, because a trace is compressed already: the zip file is only
 * little larger than the trace. Opening copies the members into unnamed files (in $TMPDIR,
 * /var/tmp, /tmp, or memory), which vanish when their descriptors are closed.
 *
 * A bundle is untrusted. Errors are: more than BUNDLE_MEMBERS_MAX members, compressed or encrypted
 * members, names in another folder, names with '\', duplicate names, members that together exceed
 * the file's size, zip64. The size of the file therefore limits the cost of opening it. CRCs of the
 * zip file are not checked: each block has its own CRC, and damage costs only that block.
 *
 * Threads: one per bundle. Errors: 0 or -errno and a struct err.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define BUNDLE_MEMBERS_MAX 512

struct bundle_file {
	uint64_t number;	/* number of the chunk file */
	uint64_t bytes;
	int fd;			/* open for reading at any offset */
};

struct bundle {
	char *manifest;
	size_t manifest_bytes;
	struct bundle_file *files;	/* in order of their numbers */
	size_t cnt;
};

/*
 * -ENOTDIR: path is neither a directory nor a zip file; -EINVAL: the zip file is not a bundle;
 * -ENOTSUP: this program was built without libzip.
 */
int bundle_open(struct bundle *ret, const char *path, struct err *e);
void bundle_close(struct bundle *b);

struct bundle_member {
	const char *name;	/* name in the folder */
	const char *path;	/* file with the contents; NULL: data has them */
	const void *data;	/* contents */
	size_t bytes;
};

/*
 * Writes path, which must not exist, in a directory that belongs to the caller; the umask applies.
 * folder: name of the members' folder, without '/' and '\'; NULL: none. All members get the time
 * mtime_s. *ret_bytes: the file's size. -ENOTSUP: built without libzip.
 */
int bundle_write(const char *path, const char *folder, const struct bundle_member *members,
		 size_t cnt, int64_t mtime_s, uint64_t *ret_bytes, struct err *e);

/* Returns libzip's version: "1.7.3"; NULL: built without libzip. */
const char *bundle_library_version(void);
