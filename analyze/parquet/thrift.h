/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * thrift: writes structs in Thrift's compact protocol. Private to analyze/parquet.
 *
 *     thrift_begin(t);  thrift_i64(t, 3, rows);  thrift_text(t, 6, "x");  thrift_ends(t, 1);
 *
 * Fields come in ascending order of their numbers, into a buffer. Threads: one.
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

enum { THRIFT_DEPTH = 8 };

enum thrift_type {
	THRIFT_TRUE = 1, THRIFT_FALSE = 2, THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BYTES = 8,
	THRIFT_LIST = 9, THRIFT_STRUCT = 12
};

struct thrift {
	struct buf *out;
	unsigned int depth;		/* of structs that have begun */
	int last[THRIFT_DEPTH];		/* the field that was written last in each of them */
};

/* A struct that is not a field: the outermost one, or an element of a list. */
void thrift_begin(struct thrift *t);
/* Ends the last so many that have begun. */
void thrift_ends(struct thrift *t, unsigned int cnt);

/* Fields. */
void thrift_bool(struct thrift *t, int id, bool v);
void thrift_i32(struct thrift *t, int id, int v);
void thrift_i64(struct thrift *t, int id, int64_t v);
void thrift_bytes(struct thrift *t, int id, const void *data, size_t bytes);
void thrift_text(struct thrift *t, int id, const char *text);
void thrift_struct(struct thrift *t, int id);
/* The caller writes so many elements: structs, or what follows. */
void thrift_list(struct thrift *t, int id, enum thrift_type of, size_t cnt);
void thrift_element_int(struct thrift *t, int64_t v);
void thrift_element_text(struct thrift *t, const char *text);
