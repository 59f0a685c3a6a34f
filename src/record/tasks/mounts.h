/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * mounts: where file systems are mounted, as the recorder sees it. Converts a path inside a file
 * system to one from the root.
 *
 * The table is read at the start and again after each change, at most every 100 ms. The number of a
 * file system may be used again: the path of a file of which the event is older than the mount in
 * the table is used only if that file is there. Threads: a table belongs to one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mounts {
	struct mount *v;
	size_t cnt, cap;
	uint64_t read_ns;	/* CLOCK_MONOTONIC; 0: not read yet */
	uint64_t changed_ns;	/* of a change after read_ns; 0: none */
	int watch;		/* descriptor that reports changes, plus one; 0: none */
};

/* A file as events name it. */
struct mounts_file {
	uint32_t dev;		/* file system: major << 20 | minor */
	uint64_t ino;
	uint64_t ts_ns;		/* of the event */
	const char *inside;	/* path inside the file system: "/a/b" */
};

/* Reads the table of this process and watches it. m is all zeroes. */
void mounts_watch(struct mounts *m);

void mounts_done(struct mounts *m);

/*
 * Writes the path of f from the root, cut to size. Of several mounts, the one that shows most of
 * the file system is used. If the file system is not mounted here, or another one may have had its
 * number at the time of the event, f->inside is copied.
 */
void mounts_path(struct mounts *m, const struct mounts_file *f, char *ret, size_t size);

/* Replaces the table by the lines of a mountinfo file. For tests. 0 or -errno. */
int mounts_read(struct mounts *m, const char *mountinfo);
