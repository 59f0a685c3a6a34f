/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * ringmap: see ringmap.h. A BPF ring buffer is a page with the consumer's position, which user
 * space writes, a page with the producer's position, and the data, mapped twice. Each record has a
 * header of 8 bytes, whose first word is the record's length with two flag bits.
 */
#include "ring/ringmap.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *map(int fd, size_t bytes, int prot, off_t at)
{
	void *p = mmap(NULL, bytes, prot, MAP_SHARED, fd, at);

	return p == MAP_FAILED ? NULL : p;
}

int ringmap_init(struct ringmap *m, int fd, uint64_t bytes)
{
	long page = sysconf(_SC_PAGESIZE);
	int err;

	memset(m, 0, sizeof(*m));
	m->bytes = bytes;
	m->consumer_pos = map(fd, page, PROT_READ | PROT_WRITE, 0);
	if (m->consumer_pos)
		m->producer_pos = map(fd, page + 2 * bytes, PROT_READ, page);
	if (!m->producer_pos) {
		err = -errno;
		ringmap_done(m);
		return err;
	}
	m->data = (const unsigned char *)m->producer_pos + page;
	m->pos = __atomic_load_n(m->consumer_pos, __ATOMIC_ACQUIRE);
	return 0;
}

void ringmap_done(struct ringmap *m)
{
	long page = sysconf(_SC_PAGESIZE);

	if (m->consumer_pos)
		munmap(m->consumer_pos, page);
	if (m->producer_pos)
		munmap((void *)m->producer_pos, page + 2 * m->bytes);
	memset(m, 0, sizeof(*m));
}

unsigned long ringmap_producer(const struct ringmap *m)
{
	return __atomic_load_n(m->producer_pos, __ATOMIC_ACQUIRE);
}

const void *ringmap_next(struct ringmap *m, unsigned long end, size_t *ret_bytes)
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
