/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * parquet_encode: the encodings of Parquet that are written. Private to analyze/parquet.
 *
 *     RLE, RLE_DICTIONARY   small numbers of a fixed width: runs, and groups of eight
 *     DELTA_BINARY_PACKED   differences, in blocks of 128, each quarter as wide as it needs
 *
 * Threads: any, each its own buffer, which remembers that memory ran out.
 * https://github.com/apache/parquet-format/blob/master/Encodings.md
 */
#pragma once

#include "base/buf.h"

/* Bits that numbers up to max need; 0 of 0. */
unsigned int parquet_width(uint64_t max);
/* v: numbers of width bits, 1 to 32. */
void parquet_put_hybrid(struct buf *b, const uint64_t *v, size_t cnt, unsigned int width);
/* The same number cnt times. */
void parquet_put_run(struct buf *b, uint64_t v, size_t cnt, unsigned int width);
/* unit: each width is a multiple of it, 1 or 8 bits. */
void parquet_put_delta(struct buf *b, const int64_t *v, size_t cnt, unsigned int unit);
