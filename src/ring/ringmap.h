/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * ringmap: the reader's end of a BPF ring buffer, through its memory-mapped pages (layout:
 * kernel/bpf/ringbuf.c). libbpf's ring_buffer hides the positions. They tell how full a ring is,
 * and that everything before an instant has been read.
 *
 * Threads: one.
 */
#ifndef RINGMAP_H
#define RINGMAP_H

#include <stddef.h>
#include <stdint.h>

struct ringmap {
	unsigned long *consumer_pos;
	const unsigned long *producer_pos;
	const unsigned char *data;	/* mapped twice in a row, so that no record wraps */
	uint64_t bytes;		/* of data, once */
	unsigned long pos;	/* consumed up to here; ringmap_publish() tells the kernel */
};

/* Maps the ring buffer fd with bytes of data, which stays the caller's. 0 or -errno. */
int ringmap_init(struct ringmap *m, int fd, uint64_t bytes);
void ringmap_done(struct ringmap *m);

/* Where the producers are now: a bound for ringmap_next(). */
unsigned long ringmap_producer(const struct ringmap *m);

/*
 * The next record before position end. NULL: there is none, or the next one is not committed yet.
 * The record stays valid until ringmap_publish().
 */
const void *ringmap_next(struct ringmap *m, unsigned long end, size_t *ret_bytes);

/* Gives the space of what was consumed back to the producers. */
void ringmap_publish(struct ringmap *m);

#endif /* RINGMAP_H */
