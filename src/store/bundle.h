/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle: a trace in one zip file, as made by `ebpfrec bundle`.
 *
 *     FILE.zip --[bundle_open]--> manifest text, a descriptor per chunk file --> src/trace
 *
 * Members have the names of a trace directory, in one folder or (in old bundles) in none. They are
 * stored, not compressed (a trace already is), so the zip is only little larger than they are.
 * Opening copies them into unnamed files ($TMPDIR, /var/tmp, /tmp, else memory), which vanish with
 * their descriptors.
 *
 * A bundle is untrusted. Refused: more than BUNDLE_MEMBERS_MAX members, compressed or encrypted
 * members, names in another folder, with '\' or used twice, members that together exceed the file,
 * zip64. So the file's own size bounds the cost of opening it. The zip's CRCs are not checked: each
 * block has its own, and a wrong one costs only that block.
 *
 * Threads: one per bundle. Errors: 0 or -errno and a struct err.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define BUNDLE_MEMBERS_MAX 512

struct bundle_file {
	uint64_t number;	/* of the chunk file */
	uint64_t bytes;
	int fd;			/* for reading at any offset */
};

struct bundle {
	char *manifest;
	size_t manifest_bytes;
	struct bundle_file *files;	/* by number */
	size_t cnt;
};

/*
 * -ENOTDIR: path is neither a directory nor a zip file; -EINVAL: the zip file is not a bundle;
 * -ENOTSUP: this program was built without libzip.
 */
int bundle_open(struct bundle *ret, const char *path, struct err *e);
void bundle_close(struct bundle *b);

struct bundle_member {
	const char *name;	/* in the folder */
	const char *path;	/* a file; NULL: data has the bytes */
	const void *data;	/* these bytes */
	size_t bytes;
};

/*
 * Writes path, which must not exist, in a directory that belongs to the caller; the umask applies.
 * The members are in a folder, whose name has neither '/' nor '\'; NULL: in no folder. All members
 * get mtime_s. *ret_bytes is the file's size. -ENOTSUP: built without libzip.
 */
int bundle_write(const char *path, const char *folder, const struct bundle_member *members,
		 size_t cnt, int64_t mtime_s, uint64_t *ret_bytes, struct err *e);

/* "1.7.3"; NULL: built without libzip. */
const char *bundle_library_version(void);
