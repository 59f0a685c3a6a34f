/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * mounts: converts paths inside file systems to paths from the root, according to the mounts that
 * the recorder sees.
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

/* A file to which an event refers. */
struct mounts_file {
	uint32_t dev;		/* file system: major << 20 | minor */
	uint64_t ino;
	uint64_t ts_ns;		/* time of the event, CLOCK_MONOTONIC ns */
	const char *inside;	/* path inside the file system: "/a/b" */
};

/* Reads this process's table of mounts and watches it for changes. *m must be all zeros. */
void mounts_watch(struct mounts *m);

void mounts_done(struct mounts *m);

/*
 * Writes the path of f from the root, truncated to size. If several mounts contain the file, uses
 * the mount with the largest part of the file system. If the file system is not mounted here, or
 * its number may have had another meaning at the time of the event, copies f->inside.
 */
void mounts_path(struct mounts *m, const struct mounts_file *f, char *ret, size_t size);

/* For tests: replaces the table by the table in a mountinfo file. 0 or -errno. */
int mounts_read(struct mounts *m, const char *mountinfo);
