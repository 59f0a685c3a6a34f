/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * mounts: where file systems are mounted, as the recorder sees it. Converts a path inside a file
 * system to one from the root.
 *
 * The table is read again when an unknown file system is looked up, at most once a second. Threads:
 * a table belongs to one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mounts {
	struct mount *v;
	size_t cnt, cap;
	uint64_t read_ns;	/* CLOCK_MONOTONIC; 0: not read yet */
};

void mounts_done(struct mounts *m);

/*
 * Writes the path from the root of inside ("/a/b") in the file system dev (major << 20 | minor),
 * cut to size. Of several mounts, the one that shows most of the file system is used. If the file
 * system is not mounted here, inside is copied.
 */
void mounts_path(struct mounts *m, uint32_t dev, const char *inside, char *ret, size_t size);

/* Replaces the table by the lines of a mountinfo file. For tests. 0 or -errno. */
int mounts_read(struct mounts *m, const char *mountinfo);
