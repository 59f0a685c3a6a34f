/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle_writer: one zip file of stored members: files, or texts in memory. Members are not
 * compressed (what a trace holds is), so that the zip is as large as they are, and a little.
 *
 * Threads: one. Errors: 0 or -errno and a struct err; then there is no file.
 */
#ifndef BUNDLE_WRITER_H
#define BUNDLE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct bundle_member {
	const char *name;	/* in the zip */
	const char *path;	/* a file; NULL: */
	const void *data;	/* these bytes */
	size_t bytes;
};

/*
 * Writes path, which must not exist, in a directory that is nobody else's: its mode comes from the umask. mtime_s is every
 * member's. *ret_bytes is the file's size. -ENOTSUP: built without libzip.
 */
int bundle_write(const char *path, const struct bundle_member *members, size_t cnt,
		 int64_t mtime_s, uint64_t *ret_bytes, struct err *e);

#endif /* BUNDLE_WRITER_H */
