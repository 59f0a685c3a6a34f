/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* wire_record: the length of a wire record, and iteration over the records of a slice. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

struct ring_slab;
struct ring_slice;

/* By hook: bytes of a record, rounded up to 8; 0: the record contains its length. */
extern const uint16_t wire_record_room[WIRE_HOOK_MAX];

/* Returns the length of a record whose hook has no fixed length. 0: invalid. */
size_t wire_record_size_odd(const void *data, size_t max);

/* Returns the bytes of the wire record at data, rounded up to 8; 0: invalid, or longer than max. */
static inline size_t wire_record_size(const void *data, size_t max)
{
	const struct wire_hdr *h = data;
	size_t bytes;

	if (__builtin_expect(max < sizeof(*h) || h->hook >= WIRE_HOOK_MAX, 0))
		return 0;
	bytes = wire_record_room[h->hook];
	if (__builtin_expect(bytes - 1 >= max, 0))	/* bytes is 0, or greater than max */
		return bytes ? 0 : wire_record_size_odd(data, max);
	return bytes;
}

/* Returns whether records of the hook are not events, but describe objects in other records. */
static inline bool wire_hook_is_name(unsigned int hook)
{
	return hook == WIRE_PATH || hook == WIRE_SOCKET || hook == WIRE_PLACE ||
	       hook == WIRE_SCHED_FACTS;
}

/* Returns the record at *at, and advances *at to the next one. NULL: end of the slab. */
const struct wire_hdr *slab_next_record(const struct ring_slab *s, size_t *at);
/* Calls keep for each record of the slices; removes the record if keep returns false. */
void slices_filter(struct ring_slice *slices, unsigned int slice_cnt,
		   bool (*keep)(void *ctx, const struct wire_hdr *h), void *ctx);
