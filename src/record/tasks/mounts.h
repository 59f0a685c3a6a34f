/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * mounts: the mount points of file systems, as the recorder sees them. Converts a path inside a
 * file system to a path from the root.
 *
 * The table is read at the start and after each change, at most every 100 ms. The number of a file
 * system may be reused: if an event is older than the mount, a converted path is used only if the
 * file exists there. Threads: one per table.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mounts {
	struct mount *v;
	size_t cnt, cap;
	uint64_t read_ns;	/* CLOCK_MONOTONIC; 0: not read yet */
	uint64_t changed_ns;	/* time of a change after read_ns; 0: none */
	int watch;		/* 1 + descriptor that reports changes; 0: none */
};

/* A file in an event. */
struct mounts_file {
	uint32_t dev;		/* file system: major << 20 | minor */
	uint64_t ino;
	uint64_t ts_ns;		/* time of the event */
	const char *inside;	/* path inside the file system: "/a/b" */
};

/* Reads this process's table of mounts, and watches it. *m is all zeros initially. */
void mounts_watch(struct mounts *m);

void mounts_done(struct mounts *m);

/*
 * Writes the path of f from the root, truncated to size. Of several mounts, uses the one with the
 * largest part of the file system. If the file system is not mounted here, or its number may have
 * had another meaning at the time of the event, copies f->inside.
 */
void mounts_path(struct mounts *m, const struct mounts_file *f, char *ret, size_t size);

/* Replaces the table by that of a mountinfo file. For tests. 0 or -errno. */
int mounts_read(struct mounts *m, const char *mountinfo);
