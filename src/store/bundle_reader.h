/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle_reader: a trace in one zip file, as `ebpfrec bundle` makes it, without unpacking it by hand.
 *
 *     FILE.zip --[bundle_reader]--> manifest text, a descriptor per chunk file --> src/event
 *
 * Members are stored, not compressed, and their names are a trace directory's. They are copied into
 * files without a name ($TMPDIR, /var/tmp, /tmp, else memory), which go with the descriptors.
 *
 * A bundle comes from anybody. Refused: more than BUNDLE_MEMBERS_MAX members, compressed or encrypted
 * ones, names with '/', '\' or used twice, members that are larger together than the file, zip64. So what it takes to
 * open one is bounded by the file's own size. CRCs of the zip are not looked at: each block has its own, and
 * one that does not hold costs that block alone.
 *
 * Threads: one per bundle. Errors: 0 or -errno and a struct err.
 */
#ifndef BUNDLE_READER_H
#define BUNDLE_READER_H

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
 * -ENOTDIR: path is neither a directory nor a zip file; -EINVAL: a zip file that is no bundle; -ENOTSUP: this program was
 * built without libzip.
 */
int bundle_open(struct bundle *ret, const char *path, struct err *e);
void bundle_close(struct bundle *b);

/* "1.7.3"; NULL: built without. */
const char *bundle_library_version(void);

#endif /* BUNDLE_READER_H */
