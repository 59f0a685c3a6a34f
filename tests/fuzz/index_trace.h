/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_trace: one small finished trace, the same at every call, with a derived file that has lists
 * and index. For targets that change files beside a trace, and for their seeds.
 * Threads: one. Any failure here aborts the program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct derived_part;
struct trace;

/* Makes the trace at path, and its derived file. */
void index_trace_make(const char *path);

/* An analysis that uses the derived file or not; it creates no file. */
struct analysis *index_trace_analysis(struct trace *t, bool use_index);

/* All bytes of a file of the directory; the caller frees them. */
uint8_t *index_trace_read(const char *path, const char *file, size_t *ret_bytes);
void index_trace_write(const char *path, const char *file, const void *data, size_t bytes);

/*
 * Writes a copy of the file `whole` (whole_bytes long) with a few bytes changed. Each four bytes of
 * data change one byte: three are the position, the fourth is the new value. A rest of fewer than
 * four is ignored.
 */
void index_trace_write_changed(const char *path, const char *file, const uint8_t *whole,
			       size_t whole_bytes, const uint8_t *data, size_t bytes);

/* Repairs the checksums of a derived file in place, for the fields within its bytes. */
void index_trace_fix(uint8_t *p, size_t bytes);

/* Replaces a part of t's derived file by data, with all checksums right. */
void index_trace_put_part(struct trace *t, const struct derived_part *part, const uint8_t *data,
			  size_t bytes);
