/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * scratch_trace: one trace directory, in memory if there is a place for it, filled again and again.
 * Threads: one. Whatever fails here aborts the program.
 */
#ifndef SCRATCH_TRACE_H
#define SCRATCH_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* The directory, made at the first call and removed at exit. */
const char *scratch_dir(void);

/*
 * data[0]: 1 checksums are made right, 2 sizes too, 4 the manifest says "finished"; the other bits are the caller's. The rest is chunk files; a
 * new one begins at every file magic. Writes them into scratch_dir()/t and returns its path.
 */
const char *scratch_trace(const uint8_t *data, size_t bytes);

/* Removes the files of a directory, and the directory. What is not there is fine. */
void scratch_remove(const char *path);

#endif /* SCRATCH_TRACE_H */
