/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * ringmap: the consumer's end of one ring, by its memory-mapped pages. Two kinds: a mapped ring of
 * the project's own (struct wire_ring in wire.h), and BPF_MAP_TYPE_RINGBUF (layout:
 * kernel/bpf/ringbuf.c) where the kernel does not offer what the first needs. libbpf's
 * ring_buffer hides the positions, and these are what tells how full a ring is and that
 * everything before an instant has been read.
 *
 * Threads: one.
 */
#ifndef RINGMAP_H
#define RINGMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

/* Where a ring is. */
struct ring_place {
	int fd;			/* of a BPF ring buffer: it has the records, or only rings the bell */
	int mapped_fd;		/* of the array map that has the records; -1: fd has them */
	unsigned int index;	/* the map's value that is this ring */
	uint64_t bytes;		/* of data; a power of two */
	uint64_t key;		/* mapped: of its stamps */
};

/* From one mapped ring to the next in their map. */
#define RING_STRIDE(bytes) (WIRE_RING_DATA + (bytes) + WIRE_RING_TAIL)

struct ringmap {
	/* of the records */
	unsigned long *consumer_pos;
	const unsigned long *producer_pos;
	const unsigned char *data;	/* a record never wraps */
	uint64_t bytes;
	unsigned long pos;		/* consumed up to here; published by ringmap_publish() */
	bool mapped;
	uint64_t key;
	/* mapped: of the BPF ring buffer whose only use is to wake */
	unsigned long *bell_consumer;
	const unsigned long *bell_producer;

	struct {
		void *at;
		size_t bytes;
	} maps[4];
	unsigned int map_cnt;
};

/* Maps a ring. 0 or -errno. */
int ringmap_init(struct ringmap *m, const struct ring_place *place);
void ringmap_done(struct ringmap *m);

/* To be called after waking, before looking for records: the next batch wakes again. */
void ringmap_hush(struct ringmap *m);

/* Where the producers are now: a bound for ringmap_next(). */
unsigned long ringmap_producer(const struct ringmap *m);

const void *ringmap_next_bpf(struct ringmap *m, unsigned long end, size_t *ret_bytes);

/* The next record before position end, or NULL (none, or one not committed yet). Valid until published. */
static inline const void *ringmap_next(struct ringmap *m, unsigned long end, size_t *ret_bytes)
{
	const uint64_t *stamp = (const void *)(m->data + (m->pos & (m->bytes - 1)));
	uint64_t v;
	size_t len;

	if (!m->mapped)
		return ringmap_next_bpf(m, end, ret_bytes);
	if (m->pos >= end)
		return NULL;
	v = __atomic_load_n(stamp, __ATOMIC_ACQUIRE) ^ m->key;
	len = v & ((1 << WIRE_RING_LEN_BITS) - 1);
	/* what another position's record left here, or anything else but this position's stamp */
	if (v != WIRE_RING_STAMP_OF(m->pos, len, 0))
		return NULL;
	m->pos += (len + WIRE_RING_STAMP + 7) & ~7UL;
	*ret_bytes = len;
	return stamp + 1;
}

/* Gives the space of what was consumed back to the producers. */
void ringmap_publish(struct ringmap *m);

#endif /* RINGMAP_H */
