/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* index_number: the numbers that states are saved as in an index (schema/INDEX.md). Inline; no state. */
#ifndef INDEX_NUMBER_H
#define INDEX_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/varint.h"

/* A blob being read; a reader that runs over its end gives zeros, and is bad. */
struct index_in {
	const uint8_t *p, *end;
	bool bad;
};

static inline uint64_t index_get(struct index_in *in)
{
	uint64_t v = 0;
	const uint8_t *p = in->p;

	if (p != in->end && *p < 0x80) {
		in->p++;
		return *p;
	}
	p = varint_get(p, in->end, &v);
	if (!p) {
		in->bad = true;
		in->p = in->end;
		return 0;
	}
	in->p = p;
	return v;
}

static inline int64_t index_get_signed(struct index_in *in)
{
	return (int64_t)zigzag_decode(index_get(in));
}

static inline void index_put(struct buf *b, uint64_t v)
{
	buf_add_varint(b, v);
}

static inline void index_put_signed(struct buf *b, int64_t v)
{
	buf_add_varint(b, zigzag_encode((uint64_t)v));
}

/* A number of rows that cannot be more than the bytes that are left; a wrong one makes in bad. */
static inline size_t index_get_cnt(struct index_in *in)
{
	uint64_t v = index_get(in);

	if (v > (uint64_t)(in->end - in->p)) {
		in->bad = true;
		in->p = in->end;
		return 0;
	}
	return (size_t)v;
}

#endif /* INDEX_NUMBER_H */
