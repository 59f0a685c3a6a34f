/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * buf: a growing byte buffer. A failed allocation sets `failed`, and further calls do nothing, so
 * that a series of appends needs only one check at its end. All zeros is an empty buffer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t len;
	size_t cap;
	bool failed;
};

void buf_done(struct buf *b);	/* frees; b is empty again */
void buf_reset(struct buf *b);	/* empty, keeps the memory, forgets a failure */

/* Makes room for at least bytes more after len; NULL: out of memory. Does not change len. */
uint8_t *buf_room(struct buf *b, size_t bytes);
void buf_add(struct buf *b, const void *data, size_t bytes);
void buf_add_varint(struct buf *b, uint64_t v);
