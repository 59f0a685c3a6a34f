/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * scratch_trace: one trace directory, in memory if there is a place for it, filled again and again.
 * Threads: one. Any failure here aborts the program.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The directory, made at the first call and removed at exit. */
const char *scratch_dir(void);

/*
 * Writes chunk files into scratch_dir()/t and returns its path. Bits of data[0]: 1: checksums
 * are made right, 2: sizes too, 4: the manifest says "finished"; the caller may use the other
 * bits. The chunk files are data[1..]; a new one begins at every file magic.
 */
const char *scratch_trace(const uint8_t *data, size_t bytes);

/* Removes the files of a directory, and the directory. Ignores missing ones. */
void scratch_remove(const char *path);
