/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * exec_maps: see exec_maps.h. Each CPU has a software event that never fires; the kernel writes the
 * wanted records into the event's ring. Reading copies the records, sorts them and parses them.
 */
#include "probe/exec_maps.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"

/* 128 KiB hold about a thousand mappings. The exec of a program with ten libraries makes 12. */
#define DATA_PAGES 32

/* Definitions of 5.12, for older headers. */
#define ATTR_BUILD_ID (1ULL << 34)	/* among the bits after perf_event_attr.read_format */
#define MISC_BUILD_ID (1 << 14)

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *page;	/* NULL: the CPU is not covered */
};

struct exec_maps {
	struct cpu_ring *rings;
	unsigned int cnt;
	size_t page_bytes;
	struct buf bytes;	/* complete records, of one call of exec_maps_read() */
	struct buf order;	/* a struct event_place per record */
	uint64_t lost;
};

struct event_place {
	uint64_t ts_ns;
	size_t at;
};

static int open_event(unsigned int cpu, bool build_id)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.mmap = 1, .mmap2 = 1, .comm = 1, .comm_exec = 1, .task = 1, .sample_id_all = 1,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC,
		.watermark = 1, .wakeup_watermark = 1 << 30,	/* no wake-ups: the caller polls */
	};

	if (build_id) {
		uint8_t *flags = (uint8_t *)&a + offsetof(struct perf_event_attr, read_format) + 8;
		uint64_t bits;

		memcpy(&bits, flags, sizeof(bits));
		bits |= ATTR_BUILD_ID;
		memcpy(flags, &bits, sizeof(bits));
	}
	return (int)syscall(SYS_perf_event_open, &a, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_ring(struct exec_maps *m, unsigned int cpu)
{
	struct cpu_ring *r = &m->rings[cpu];

	r->fd = open_event(cpu, true);
	if (r->fd < 0 && errno == EINVAL)
		r->fd = open_event(cpu, false);
	if (r->fd < 0)
		return errno == ENODEV ? 0 : -errno;	/* not online */
	r->page = mmap(NULL, (DATA_PAGES + 1) * m->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		       r->fd, 0);
	if (r->page == MAP_FAILED) {
		r->page = NULL;
		return -errno;
	}
	return 0;
}

int exec_maps_open(struct exec_maps **ret, unsigned int cpu_cnt)
{
	struct exec_maps *m = calloc(1, sizeof(*m));
	int r = 0;

	if (!m)
		return -ENOMEM;
	m->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	m->rings = calloc(cpu_cnt, sizeof(*m->rings));
	for (unsigned int i = 0; m->rings && i < cpu_cnt; i++)
		m->rings[i].fd = -1;
	m->cnt = m->rings ? cpu_cnt : 0;
	r = m->rings ? 0 : -ENOMEM;
	for (unsigned int i = 0; i < m->cnt && !r; i++)
		r = open_ring(m, i);
	if (r) {
		exec_maps_close(m);
		return r;
	}
	*ret = m;
	return 0;
}

void exec_maps_close(struct exec_maps *m)
{
	if (!m)
		return;
	for (unsigned int i = 0; i < m->cnt; i++) {
		if (m->rings[i].page)
			munmap(m->rings[i].page, (DATA_PAGES + 1) * m->page_bytes);
		if (m->rings[i].fd >= 0)
			close(m->rings[i].fd);
	}
	free(m->rings);
	buf_done(&m->bytes);
	buf_done(&m->order);
	free(m);
}

/* ---- reading ---- */

/* Copies len bytes from position `from` of the ring's data, which may wrap around at its end. */
static void copy_out(const struct exec_maps *m, const struct cpu_ring *r, uint64_t from, void *to,
		     size_t len)
{
	const char *data = (const char *)r->page + m->page_bytes;
	size_t size = DATA_PAGES * m->page_bytes, at = from & (size - 1);
	size_t first = len < size - at ? len : size - at;

	memcpy(to, data + at, first);
	memcpy((char *)to + first, data, len - first);
}

static void drain(struct exec_maps *m, struct cpu_ring *r)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail;

	while (tail < head) {
		struct event_place p = { .at = m->bytes.len };
		struct perf_event_header h;
		uint8_t *to;

		copy_out(m, r, tail, &h, sizeof(h));
		if (h.size < sizeof(h) + sizeof(p.ts_ns) || h.size > head - tail)
			break;		/* invalid; the kernel writes no such records */
		to = buf_room(&m->bytes, (h.size + 7u) & ~7u);
		if (!to)
			break;
		copy_out(m, r, tail, to, h.size);
		/* with this sample_type, every record ends with the time */
		memcpy(&p.ts_ns, to + h.size - sizeof(p.ts_ns), sizeof(p.ts_ns));
		m->bytes.len += (h.size + 7u) & ~7u;
		buf_add(&m->order, &p, sizeof(p));
		tail += h.size;
	}
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
}

/* PERF_RECORD_MMAP2. After the path, the record has 32-bit pid and tid, and the 64-bit time. */
struct mmap2 {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	union {
		struct {
			uint32_t major, minor;
			uint64_t ino, generation;
		};
		struct {
			uint8_t build_id_bytes, zero[3];
			uint8_t build_id[20];
		};
	};
	uint32_t prot, flags;
	char path[];
};

struct task {
	struct perf_event_header h;
	uint32_t pid, ppid, tid, ptid;
};

static bool parse_mmap(const struct mmap2 *x, struct map_record *ret)
{
	size_t room = x->h.size - sizeof(*x) - 16;

	if (x->h.size < sizeof(*x) + 16 + 1 || strnlen(x->path, room) == room)
		return false;
	*ret = (struct map_record){ .what = MAP_CODE, .pid = x->pid, .start = x->addr,
				    .end = x->addr + x->len, .offset = x->pgoff, .path = x->path };
	if (!(x->h.misc & MISC_BUILD_ID)) {
		ret->dev_major = x->major;
		ret->dev_minor = x->minor;
		ret->ino = x->ino;
	} else if (x->build_id_bytes <= sizeof(ret->build_id)) {
		ret->build_id_bytes = x->build_id_bytes;
		memcpy(ret->build_id, x->build_id, x->build_id_bytes);
	}
	return true;
}

/* Parses a record. False: it is not relevant. */
static bool parse(struct exec_maps *m, const struct perf_event_header *h, struct map_record *ret)
{
	const struct task *t = (const struct task *)h;
	uint64_t lost[2];

	switch (h->type) {
	case PERF_RECORD_MMAP2:
		return parse_mmap((const struct mmap2 *)h, ret);
	case PERF_RECORD_COMM:
		*ret = (struct map_record){ .what = MAP_EXEC, .pid = t->pid };
		return h->misc & PERF_RECORD_MISC_COMM_EXEC;
	case PERF_RECORD_FORK:
		*ret = (struct map_record){ .what = MAP_FORK, .pid = t->pid,
					    .parent_pid = t->ppid };
		return t->pid != t->ppid;
	case PERF_RECORD_EXIT:
		*ret = (struct map_record){ .what = MAP_EXIT, .pid = t->pid };
		return t->pid == t->tid;
	case PERF_RECORD_LOST:
		memcpy(lost, h + 1, sizeof(lost));	/* an id, and the number of lost records */
		m->lost += lost[1];
		return false;
	default:
		return false;
	}
}

int exec_maps_read(struct exec_maps *m, int (*note)(void *ctx, const struct map_record *r),
		   void *ctx, uint64_t *ret_lost)
{
	struct event_place *order;
	struct map_record rec;
	size_t k, cnt;
	int r = 0;

	buf_reset(&m->bytes);
	buf_reset(&m->order);
	for (unsigned int i = 0; i < m->cnt; i++)
		if (m->rings[i].page)
			drain(m, &m->rings[i]);
	if (m->bytes.failed || m->order.failed)
		return -ENOMEM;
	order = (struct event_place *)m->order.data;
	cnt = m->order.len / sizeof(*order);
	if (cnt)
		qsort(order, cnt, sizeof(*order), compare_u64_pair);
	for (k = 0; k < cnt && !r; k++) {
		if (!parse(m, (const void *)(m->bytes.data + order[k].at), &rec))
			continue;
		rec.ts_ns = order[k].ts_ns;
		r = note(ctx, &rec);
	}
	*ret_lost = m->lost;
	m->lost = 0;
	return r;
}
