/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle_writer: writes one zip file of stored members: files, or texts in memory. Members are not
 * compressed (a trace already is), so the zip is little larger than they are.
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
	const char *path;	/* a file; or NULL, and data has the bytes */
	const void *data;	/* these bytes */
	size_t bytes;
};

/*
 * Writes path, which must not exist, in a directory of the caller's own: the umask decides its
 * mode. All members get mtime_s. *ret_bytes is the file's size. -ENOTSUP: built without libzip.
 */
int bundle_write(const char *path, const struct bundle_member *members, size_t cnt,
		 int64_t mtime_s, uint64_t *ret_bytes, struct err *e);

#endif /* BUNDLE_WRITER_H */
