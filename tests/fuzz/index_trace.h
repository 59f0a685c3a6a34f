/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_trace: one small finished trace, the same at every call, with what is kept beside it: analysis.idx
 * and lists.idx. For the targets that change what is beside a trace, and the seeds they begin with.
 * Threads: one. Whatever fails here aborts the program.
 */
#ifndef INDEX_TRACE_H
#define INDEX_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* Files of a trace's directory. */
#define INDEX_FILE "analysis.idx"
#define LISTS_FILE "lists.idx"

/* Makes the trace at path, and both files. */
void index_trace_make(const char *path);

/* All bytes of a file of the directory; the caller frees them. */
uint8_t *index_trace_read(const char *path, const char *file, size_t *ret_bytes);
void index_trace_write(const char *path, const char *file, const void *data, size_t bytes);

/*
 * Writes the file whole, of whole_bytes, with a few bytes changed: each four of data say where, in three, and what is to be
 * there. What is left over says nothing.
 */
void index_trace_write_changed(const char *path, const char *file, const uint8_t *whole, size_t whole_bytes, const uint8_t *data,
			       size_t bytes);

/* Makes the checksums of an analysis.idx right again, as far as it has the fields. In place. */
void index_trace_fix(uint8_t *p, size_t bytes);

#endif /* INDEX_TRACE_H */
