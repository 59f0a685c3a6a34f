/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * units: parses and formats durations, sizes and counts.
 *
 * A number is decimal digits with an optional fraction, an optional space, and a unit. All
 * arithmetic is on exact integers, without floating point.
 *
 *     durations   ns us ms s m h d   (also: nsec, usec, msec, sec, min, hour(s), day(s)); pieces
 *                 may follow each other: 1m30s. A bare number is seconds.
 *     sizes       decimal  B k kB M MB G GB T TB     64M   is 64,000,000
 *                 binary   Ki KiB Mi MiB Gi GiB Ti TiB   64MiB is 67,108,864
 *                 A bare number is bytes. Only k/K ignores case.
 *
 * Threads: any. Errors: 0 or -EINVAL (unknown form) or -ERANGE (does not fit in 64 bits); outputs
 * are untouched on failure; struct err describes the expected form.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define UNITS_NS_PER_S ((uint64_t)1000000000)

/* Buffer size for any text of units_format_*(), including the NUL. */
#define UNITS_TEXT_MAX 32

/* Parses a duration. -EINVAL also for a value finer than a nanosecond. */
int units_parse_duration(const char *s, uint64_t *ret_ns, struct err *e);
/* Parses a size. A fraction of a byte is cut off: 1.3KiB is 1331. */
int units_parse_size(const char *s, uint64_t *ret_bytes, struct err *e);
/* Parses digits only; separators (1,000 or 1_000) are -EINVAL. */
int units_parse_count(const char *s, uint64_t *ret, struct err *e);

/*
 * Parses the longest number at the start of s (digits, optional '.' and up to 9 decimals) as
 * seconds: *ret_ns of "12.5" is 12,500,000,000. Returns the characters consumed, 0 without a
 * number, or -ERANGE/-EINVAL (more than 9 significant decimals).
 */
int units_scan_seconds(const char *s, uint64_t *ret_ns);

/* All return buf. size should be at least UNITS_TEXT_MAX. Examples of texts: */
char *units_format_count(char *buf, size_t size, uint64_t v);		/* 1,234,567 */
char *units_format_signed(char *buf, size_t size, int64_t v);		/* -1,234,567 */
char *units_format_duration(char *buf, size_t size, uint64_t ns);	/* 12.3 ms */
char *units_format_bytes(char *buf, size_t size, uint64_t bytes);	/* 1.5 MiB, binary */
char *units_format_bytes_si(char *buf, size_t size, uint64_t bytes);	/* 3.4 MB, decimal */
/* Formats an instant as seconds with 3, 6 or 9 decimals, the fewest that are exact. */
char *units_format_instant(char *buf, size_t size, int64_t ns);
