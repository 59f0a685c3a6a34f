/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * parquet: writes a table as an Apache Parquet file, as a stream.
 *
 *     rows --> columns of a row group --[parquet_encode, zstd]--> pages, [thrift]--> footer
 *
 * Subset of the format (https://parquet.apache.org/docs/file-format/) that is written: files of
 * version 1; flat columns of INT64, DOUBLE and BYTE_ARRAY, with the logical types STRING and
 * TIMESTAMP (ns, UTC); column chunks with at most one dictionary page, and one or two data pages
 * (V1), all compressed with zstd; encodings PLAIN (dictionaries, DOUBLE), RLE (NULLs),
 * RLE_DICTIONARY and DELTA_BINARY_PACKED; statistics of a chunk: number of NULLs, and bounds of
 * numbers.
 *
 * Integers use a dictionary if at most every second value is a new one, otherwise differences;
 * instants always use differences, texts always a dictionary. Dictionary indexes and differences
 * have the number of bits they need, or whole bytes. If few rows have numbers that need a second
 * byte, these rows are last, in a page of their own. A sample decides which widths, and which
 * column to sort rows by, give the smallest result. The output depends only on the rows.
 *
 * Threads: a file belongs to one thread. Memory: a row group of PARQUET_GROUP_ROWS rows, with
 * PARQUET_GROUP_TEXT bytes of texts. Errors: 0 or -errno with a text; never prints.
 */
#pragma once

#include <stdio.h>

#include "analyze/context/row_sink.h"
#include "base/buf.h"
#include "base/err.h"

#define PARQUET_GROUP_ROWS (1u << 17) /* readers with several threads read row groups in parallel */
#define PARQUET_GROUP_TEXT (16u << 20)

enum parquet_type { PARQUET_INT, PARQUET_TIME, PARQUET_REAL, PARQUET_TEXT };

struct parquet_column {
	const char *name;
	enum parquet_type type;
	/* the column's text in every row, which parquet_row() does not receive; NULL: none */
	const char *constant;
	bool orders; /* rows may be sorted by this column; the sort is stable */
};

struct parquet;

/*
 * out, and the data that cols and meta point to, must outlive the struct and are not freed. meta:
 * pairs of key and value for the footer, terminated by NULL.
 */
int parquet_new(struct parquet **ret, FILE *out, const struct parquet_column *cols,
		unsigned int col_cnt, const char *const *meta, struct err *e);
/* Adds a row: a value, or VALUE_NULL, for each column without a constant. Texts are UTF-8. */
int parquet_row(struct parquet *p, const struct value *values, struct err *e);
/*
 * Writes the remaining rows and the footer, without which the file is invalid. Does not close out.
 */
int parquet_finish(struct parquet *p, struct err *e);
void parquet_free(struct parquet *p);

/*
 * parquet_encode: the encodings of Parquet that are written. Private to analyze/parquet.
 *
 *     RLE, RLE_DICTIONARY   small numbers of a fixed width: runs, and groups of eight
 *     DELTA_BINARY_PACKED   differences, in blocks of 128; each quarter has its own width
 *
 * Threads: any, each with its own buffer. Memory errors are recorded in the buffer.
 * https://github.com/apache/parquet-format/blob/master/Encodings.md
 */
/* Returns the number of bits that numbers up to max need; 0 if max is 0. */
unsigned int parquet_width(uint64_t max);
/* Appends numbers of `width` bits each, 1 to 32. */
void parquet_put_hybrid(struct buf *b, const uint64_t *v, size_t cnt, unsigned int width);
/* Appends differences; their widths are multiples of unit, which is 1 or 8 bits. */
void parquet_put_delta(struct buf *b, const int64_t *v, size_t cnt, unsigned int unit);
