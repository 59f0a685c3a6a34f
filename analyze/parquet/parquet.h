/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * parquet: writes a table as an Apache Parquet file, as a stream. Others call just this.
 *
 *     rows --> columns of a row group --[parquet_encode, zstd]--> pages, [thrift]--> footer
 *
 * Of the format (https://parquet.apache.org/docs/file-format/) this writes: files of version 1;
 * flat columns of INT64, DOUBLE and BYTE_ARRAY, with the logical types STRING and TIMESTAMP (ns,
 * UTC); a chunk of each column has a dictionary page or none, and one or two data pages (V1), all
 * packed with zstd; encodings PLAIN (dictionaries, DOUBLE), RLE (NULLs), RLE_DICTIONARY and
 * DELTA_BINARY_PACKED; statistics of a chunk: the number of NULLs, and the bounds of numbers.
 *
 * Numbers use a dictionary where at most every other is a new one, differences otherwise, as
 * instants do; texts always use a dictionary. They have as many bits as they need or whole bytes.
 * Rows whose numbers need a second byte, if few, come last, in a page of their own. Widths and the
 * column that orders rows are those that pack a sample best. The bytes depend on the rows alone.
 *
 * Threads: a file belongs to one. Memory: a row group of PARQUET_GROUP_ROWS rows, and
 * PARQUET_GROUP_TEXT bytes of texts. Errors: 0 or -errno with a text; never prints.
 */
#pragma once

#include <stdio.h>

#include "analyze/context/analysis.h"
#include "base/buf.h"

#define PARQUET_GROUP_ROWS (1u << 17) /* readers that have threads take a row group each */
#define PARQUET_GROUP_TEXT (16u << 20)

enum parquet_type { PARQUET_INT, PARQUET_TIME, PARQUET_REAL, PARQUET_TEXT };

struct parquet_column {
	const char *name;
	enum parquet_type type;
	const char *constant;	/* every row has this text, and no value for it; NULL: it has */
	bool orders; /* rows may be put together by its values; those with the same stay in order */
};

struct parquet;

/*
 * out, and what columns and meta point to, stay the caller's. meta: pairs of key and value for the
 * footer, up to a NULL.
 */
int parquet_new(struct parquet **ret, FILE *out, const struct parquet_column *cols,
		unsigned int col_cnt, const char *const *meta, struct err *e);
/* A value for each column without a constant, or VALUE_NULL. Texts are in UTF-8. */
int parquet_row(struct parquet *p, const struct value *values, struct err *e);
/* Writes the rest and the footer. Without it the file is damaged. Does not close out. */
int parquet_finish(struct parquet *p, struct err *e);
void parquet_free(struct parquet *p);

/*
 * parquet_encode: the encodings of Parquet that are written. Private to analyze/parquet.
 *
 *     RLE, RLE_DICTIONARY   small numbers of a fixed width: runs, and groups of eight
 *     DELTA_BINARY_PACKED   differences, in blocks of 128, each quarter as wide as it needs
 *
 * Threads: any, each its own buffer, which remembers that memory ran out.
 * https://github.com/apache/parquet-format/blob/master/Encodings.md
 */
/* Bits that numbers up to max need; 0 of 0. */
unsigned int parquet_width(uint64_t max);
/* v: numbers of width bits, 1 to 32. */
void parquet_put_hybrid(struct buf *b, const uint64_t *v, size_t cnt, unsigned int width);
/* unit: each width is a multiple of it, 1 or 8 bits. */
void parquet_put_delta(struct buf *b, const int64_t *v, size_t cnt, unsigned int unit);
