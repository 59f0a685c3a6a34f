// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * ringmap: see ringmap.h. A BPF ring buffer is a page with the consumer's position (ours to
 * write), one with the producer's, then the data, mapped twice; each record has an 8-byte
 * header whose first word is its length, with two flag bits. A mapped ring has both positions in
 * one page, data with a tail, and a stamp in front of each record.
 */
#include "ring/ringmap.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *map(struct ringmap *m, int fd, size_t bytes, int prot, uint64_t at)
{
	void *p = mmap(NULL, bytes, prot, MAP_SHARED, fd, at);

	if (p == MAP_FAILED)
		return NULL;
	m->maps[m->map_cnt].at = p;
	m->maps[m->map_cnt++].bytes = bytes;
	return p;
}

static int map_mapped(struct ringmap *m, const struct ring_place *place)
{
	uint64_t at = place->index * RING_STRIDE(place->bytes);
	long page = sysconf(_SC_PAGESIZE);
	struct wire_ring *head = map(m, place->mapped_fd, WIRE_RING_DATA, PROT_READ | PROT_WRITE, at);

	m->data = map(m, place->mapped_fd, place->bytes + WIRE_RING_TAIL, PROT_READ,
		      at + WIRE_RING_DATA);
	m->bell_consumer = map(m, place->fd, page, PROT_READ | PROT_WRITE, 0);
	m->bell_producer = map(m, place->fd, page, PROT_READ, page);
	if (!head || !m->data || !m->bell_consumer || !m->bell_producer)
		return -errno;
	m->consumer_pos = (unsigned long *)&head->consumed;
	m->producer_pos = (unsigned long *)&head->claimed;
	return 0;
}

static int map_ringbuf(struct ringmap *m, const struct ring_place *place)
{
	long page = sysconf(_SC_PAGESIZE);

	m->consumer_pos = map(m, place->fd, page, PROT_READ | PROT_WRITE, 0);
	m->producer_pos = map(m, place->fd, page + 2 * place->bytes, PROT_READ, page);
	if (!m->consumer_pos || !m->producer_pos)
		return -errno;
	m->data = (const unsigned char *)m->producer_pos + page;
	return 0;
}

int ringmap_init(struct ringmap *m, const struct ring_place *place)
{
	int err;

	memset(m, 0, sizeof(*m));
	m->mapped = place->mapped_fd >= 0;
	m->bytes = place->bytes;
	m->key = place->key;
	err = m->mapped ? map_mapped(m, place) : map_ringbuf(m, place);
	if (err) {
		ringmap_done(m);
		return err;
	}
	m->pos = __atomic_load_n(m->consumer_pos, __ATOMIC_ACQUIRE);
	return 0;
}

void ringmap_done(struct ringmap *m)
{
	unsigned int i;

	for (i = 0; i < m->map_cnt; i++)
		munmap(m->maps[i].at, m->maps[i].bytes);
	memset(m, 0, sizeof(*m));
}

void ringmap_hush(struct ringmap *m)
{
	if (m->mapped)
		__atomic_store_n(m->bell_consumer,
				 __atomic_load_n(m->bell_producer, __ATOMIC_ACQUIRE),
				 __ATOMIC_SEQ_CST);
}

unsigned long ringmap_producer(const struct ringmap *m)
{
	return __atomic_load_n(m->producer_pos, __ATOMIC_ACQUIRE);
}

const void *ringmap_next_bpf(struct ringmap *m, unsigned long end, size_t *ret_bytes)
{
	while (m->pos < end) {
		const uint32_t *head = (const void *)(m->data + (m->pos & (m->bytes - 1)));
		uint32_t word = __atomic_load_n(head, __ATOMIC_ACQUIRE);
		size_t len = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (word & BPF_RINGBUF_BUSY_BIT)
			return NULL;
		m->pos += (len + BPF_RINGBUF_HDR_SZ + 7) & ~7UL;
		if (word & BPF_RINGBUF_DISCARD_BIT)
			continue;
		*ret_bytes = len;
		return head + 2;
	}
	return NULL;
}

void ringmap_publish(struct ringmap *m)
{
	__atomic_store_n(m->consumer_pos, m->pos, __ATOMIC_RELEASE);
}
