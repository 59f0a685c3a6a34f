/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * column_input: the format that make_seeds.c writes and fuzz_column.c reads. No holes;
 * little-endian.
 */
#pragma once

#include <stdint.h>

#include "format/event.h"

struct column_input {
	uint16_t kind_cnt[32];
	uint8_t cpu_cnt, utid_cnt;
};

struct column_section {
	uint8_t type;		/* bit 0: TUPLES, else COLUMN */
	uint8_t kind, column, part, encoding, shift;
	uint16_t item_cnt;
	uint16_t raw_bytes;	/* 0: stored as they are */
	uint16_t bytes;		/* of the following bytes; cut to the available ones */
};

_Static_assert(sizeof(struct column_input) == 66, "layout");
_Static_assert(EVENT_KIND_CNT <= 32, "more kinds than there is room for");
_Static_assert(sizeof(struct column_section) == 12, "layout");
