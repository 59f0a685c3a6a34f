/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle_reader: reads a trace in one zip file, as `ebpfrec bundle` makes it.
 *
 *     FILE.zip --[bundle_reader]--> manifest text, a descriptor per chunk file --> src/trace
 *
 * Members are stored, not compressed, and have a trace directory's names. The reader copies them
 * into unnamed files ($TMPDIR, /var/tmp, /tmp, else memory), which vanish with their descriptors.
 *
 * Nobody vouches for a bundle. Refused: more than BUNDLE_MEMBERS_MAX members, compressed or
 * encrypted members, names with '/' or '\' or used twice, members that together exceed the file,
 * zip64. So the file's own size bounds the cost of opening it. The zip's CRCs are not checked: each
 * block has its own, and a wrong one costs only that block.
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
 * -ENOTDIR: path is neither a directory nor a zip file; -EINVAL: the zip file is no bundle;
 * -ENOTSUP: this program was built without libzip.
 */
int bundle_open(struct bundle *ret, const char *path, struct err *e);
void bundle_close(struct bundle *b);

/* "1.7.3"; NULL: built without libzip. */
const char *bundle_library_version(void);

#endif /* BUNDLE_READER_H */
