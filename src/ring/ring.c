/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * ring: see ring.h. A reader sleeps until its ring is filled beyond the wake-up threshold, or for
 * poll_ms, and then copies all records. It never waits for the encoder: they share only the pool of
 * slabs, whose lock is taken once per slab.
 */
#include "ring/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "event_lists.h"

#define SLAB_BYTES (256 * 1024)
/* Small enough that a slice never has more records than a block may have. */
#define DEFAULT_MEMORY_BYTES (128ULL << 20)
#define DEFAULT_POLL_MS 50
#define FEED_POLL_MS 5	/* a feed does not wake its reader, and may fill up within 50 ms */
#define FLUSH_TRIES 1000
#define PUBLISH_BYTES (64 * 1024)
#define SHORT_BYTES 48	/* nearly all records are 24 to 48 bytes long */
/*
 * A record's timestamp is taken some ns before the record is in the ring, or longer if a hypervisor
 * takes the CPU away in between. A slice waits this long for late records.
 */
#define STRAGGLER_NS 2000000ULL

struct reader {
	struct ring_group *group;
	/* the reader reads this feed instead of a ring; NULL: a ring */
	const struct ring_feed *feed;
	unsigned long *consumer_pos;	/* the ring's memory: see map_ring() */
	const unsigned long *producer_pos;
	const unsigned char *data;
	/* end of the consumed records; publish() passes it to the kernel */
	unsigned long pos;
	unsigned int inside;		/* bytes of the record at pos already consumed */
	int epoll_fd;			/* watches the ring, edge-triggered, and wake_fd */
	pthread_t thread;
	bool started;
	/* 1: enter has not been called yet; otherwise its result */
	int entered;
	bool stalled;			/* a slab could not be allocated */

	/* accessed only by the reader */
	struct ring_slice current;	/* records before the cut */
	struct ring_slice next;		/* records at or after the cut */
	uint64_t done_gen; /* number of the last cut that this reader has handed over */

	/* the slice that was handed over; under group->lock */
	struct ring_slice ready;

	/* counters, written by the reader and read by any thread */
	uint64_t kept_cnt[WIRE_HOOK_MAX];
	uint64_t dropped_cnt[WIRE_HOOK_MAX];	/* records before the start */
	uint64_t used_max_bytes;
	uint64_t pending_bytes;
};

struct ring_group {
	struct ring_group_config config;
	struct reader *readers;
	unsigned int reader_cnt;
	int wake_fd;			/* eventfd; a write wakes the readers */
	bool stop;

	uint64_t start_ns;		/* atomic; UINT64_MAX: drop everything */
	uint64_t cut_ns;		/* atomic; valid for cut number cut_gen */
	uint64_t cut_gen;		/* atomic */
	/* atomic; number of the last flushed cut: all records before this cut are in the rings */
	uint64_t flushed_gen;

	/* protects the slabs and the hand-over; never held while reading */
	pthread_mutex_t lock;
	pthread_cond_t handed;
	unsigned int ready_cnt;
	struct ring_slab *pool;
	uint64_t slab_bytes;		/* of all slabs, including those in the pool */
	uint64_t pool_bytes;
	uint64_t need_bytes;		/* memory for all slices of a cut, see need_note() */
	uint64_t used_max_bytes;	/* maximum of slab_bytes - pool_bytes */
};

#define load(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

/* ---- the ring's memory ---- */

/*
 * A BPF ring buffer (kernel/bpf/ringbuf.c) has a page with the consumer's position, which user
 * space writes, a page with the producer's position, and the data, mapped twice in a row so that no
 * record wraps around. This file maps this memory because libbpf's ring_buffer hides the positions.
 * The positions show how full a ring is, and whether all records before a time have been read.
 */
static int map_ring(struct reader *r, int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), rest = page + 2 * r->group->config.ring_bytes;
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	r->consumer_pos = p;
	p = mmap(NULL, rest, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (p == MAP_FAILED)
		return -errno;
	r->producer_pos = p;
	r->data = (const unsigned char *)p + page;
	r->pos = load(r->consumer_pos);
	return 0;
}

static void unmap_ring(struct reader *r)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), rest = page + 2 * r->group->config.ring_bytes;

	if (r->consumer_pos)
		munmap(r->consumer_pos, page);
	if (r->producer_pos)
		munmap((void *)r->producer_pos, rest);
}

/*
 * Returns the next record before position end. NULL: there is none, or it is not committed yet. A
 * record has a header of 8 bytes, whose first word is its length with two flag bits. The returned
 * record is valid until publish().
 */
static const void *next_record(struct reader *r, unsigned long end, size_t *ret_bytes)
{
	while (r->pos < end) {
		const uint32_t *head =
			(const void *)(r->data + (r->pos & (r->group->config.ring_bytes - 1)));
		const struct wire_hdr *h = (const void *)((const char *)(head + 2) + r->inside);
		uint32_t word = load(head);
		size_t len = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT), room;

		if (word & BPF_RINGBUF_BUSY_BIT)
			return NULL;
		if (!(word & BPF_RINGBUF_DISCARD_BIT)) {
			*ret_bytes = len - r->inside;
			room = wire_record_room[h->hook % WIRE_HOOK_MAX];
			if (room && room < *ret_bytes) { /* more wire records follow */
				*ret_bytes = room;
				r->inside += room;
				return h;
			}
		}
		r->inside = 0;
		r->pos += (len + BPF_RINGBUF_HDR_SZ + 7) & ~7UL;
		if (!(word & BPF_RINGBUF_DISCARD_BIT))
			return h;
	}
	return NULL;
}

/* Frees the space of consumed records for the producers. */
static void publish(struct reader *r)
{
	if (r->feed)
		return;
	store(r->consumer_pos, r->pos);
}

/* ---- slabs ---- */

/*
 * Returns an empty slab. beyond_limit: may exceed the limit, because the slab is for a cut, whose
 * end releases slabs.
 */
static struct ring_slab *slab_get(struct ring_group *g, bool beyond_limit)
{
	struct ring_slab *s = NULL;

	pthread_mutex_lock(&g->lock);
	if (g->pool) {
		s = g->pool;
		g->pool = s->next;
		g->pool_bytes -= SLAB_BYTES;
	} else if (beyond_limit || g->slab_bytes + SLAB_BYTES <= g->config.memory_bytes) {
		s = mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
		s = s == MAP_FAILED ? NULL : s;
		g->slab_bytes += s ? SLAB_BYTES : 0;
	}
	if (g->slab_bytes - g->pool_bytes > g->used_max_bytes)
		g->used_max_bytes = g->slab_bytes - g->pool_bytes;
	pthread_mutex_unlock(&g->lock);
	if (s) {
		s->next = NULL;
		s->bytes = 0;
	}
	return s;
}

static void slab_free(struct ring_group *g, struct ring_slab *s)
{
	munmap(s, SLAB_BYTES);
	g->slab_bytes -= SLAB_BYTES;
}

/* Moves a slice's slabs to the pool, or frees them. Returns the size of all. */
static uint64_t slabs_put(struct ring_group *g, struct ring_slice *slice)
{
	struct ring_slab *s, *next;
	uint64_t bytes = 0;

	pthread_mutex_lock(&g->lock);
	for (s = slice->first; s; s = next) {
		next = s->next;
		bytes += SLAB_BYTES;
		if (g->slab_bytes > g->config.memory_bytes) {
			slab_free(g, s);
			continue;
		}
		s->next = g->pool;
		g->pool = s;
		g->pool_bytes += SLAB_BYTES;
	}
	pthread_mutex_unlock(&g->lock);
	slice->first = slice->last = NULL;
	return bytes;
}

static void pool_shrink(struct ring_group *g, uint64_t keep_bytes)
{
	struct ring_slab *s;

	pthread_mutex_lock(&g->lock);
	while (g->pool_bytes > keep_bytes) {
		s = g->pool;
		g->pool = s->next;
		g->pool_bytes -= SLAB_BYTES;
		slab_free(g, s);
	}
	pthread_mutex_unlock(&g->lock);
}

static bool slice_append(struct ring_group *g, struct ring_slice *slice, const void *record,
			 size_t bytes, bool beyond_limit)
{
	size_t room = (bytes + 7) & ~(size_t)7;
	struct ring_slab *s = slice->last;

	if (!s || sizeof(*s) + s->bytes + room > SLAB_BYTES) {
		s = slab_get(g, beyond_limit);
		if (!s)
			return false;
		if (slice->last)
			slice->last->next = s;
		else
			slice->first = s;
		slice->last = s;
	}
	memcpy(s->data + s->bytes, record, bytes);
	memset(s->data + s->bytes + bytes, 0, room - bytes);
	s->bytes += room;
	return true;
}

/* ---- readers ---- */

/*
 * Copies records before position end until a record is not short, is not of the current slice, or
 * does not fit into the slice's last slab. Nearly all records can be copied in this way. Each copy
 * has the same fixed length, so that only the next position depends on the record's length; excess
 * bytes are overwritten by the next record, or are past the end of the last one. Returns the total
 * length of the records.
 */
static size_t drain_short(struct reader *r, unsigned long end, uint64_t start_ns, uint64_t late_ns)
{
	unsigned long mask = r->group->config.ring_bytes - 1;
	struct ring_slab *s = r->current.last;
	unsigned char *to, *last;
	size_t bytes;

	if (r->feed || !s)
		return 0;
	to = s->data + s->bytes;
	last = (unsigned char *)s + SLAB_BYTES - SHORT_BYTES;
	while (r->pos < end && to <= last) {
		const uint32_t *head = (const void *)(r->data + (r->pos & mask));
		const struct wire_hdr *h = (const void *)((const char *)(head + 2) + r->inside);
		/* a length with a flag bit exceeds every limit */
		uint32_t len = load(head), room;
		uint64_t *cnt;

		if (len > WIRE_STAGE_BYTES || h->ts_ns < start_ns || h->ts_ns >= late_ns)
			break;
		room = wire_record_room[h->hook % WIRE_HOOK_MAX] ?: len;
		if (room > SHORT_BYTES || room > len - r->inside || room % 8)
			break;
		memcpy(to, h, SHORT_BYTES);
		to += room;
		r->inside += room;
		if (r->inside == len) {
			r->pos += len + BPF_RINGBUF_HDR_SZ;
			r->inside = 0;
		}
		cnt = &r->kept_cnt[h->hook % WIRE_HOOK_MAX];
		store(cnt, *cnt + 1);
	}
	bytes = (size_t)(to - s->data) - s->bytes;
	s->bytes += bytes;
	return bytes;
}

/*
 * Copies the ring's records before position end, or the feed's records up to time end. False: some
 * records remain, because one is not committed or memory is exhausted. While a cut is due the limit
 * is ignored, and the records in the ring at the time of the cut are copied: slabs are released
 * only after all readers have handed over, so waiting for memory would never end.
 *
 * Start and cut are read only once: records before end were stamped before the caller read end, and
 * a start or cut that is set after that is later than their timestamps.
 */
static bool drain(struct reader *r, unsigned long end, bool cut_is_due)
{
	struct ring_group *g = r->group;
	uint64_t start_ns = load(&g->start_ns), pending = r->pending_bytes;
	uint64_t late_ns = load(&g->cut_gen) != r->done_gen ? load(&g->cut_ns) : UINT64_MAX;
	unsigned long published = r->pos;
	unsigned long before, stop;
	unsigned int inside;
	const struct wire_hdr *h;
	uint64_t *cnt;
	size_t bytes;

	for (;;) {
		stop = published + PUBLISH_BYTES;
		pending += drain_short(r, stop < end ? stop : end, start_ns, late_ns);
		before = r->pos;
		inside = r->inside;
		h = r->feed ? r->feed->next(r->feed->ctx, end, &bytes) :
			      next_record(r, end, &bytes);
		if (!h)
			break;
		if (r->feed)
			r->pos += bytes;
		cnt = &r->kept_cnt[h->hook % WIRE_HOOK_MAX];
		if (__builtin_expect(h->ts_ns < start_ns, 0)) {
			cnt = &r->dropped_cnt[h->hook % WIRE_HOOK_MAX];
		} else {
			struct ring_slice *slice = h->ts_ns >= late_ns ? &r->next : &r->current;

			if (!slice_append(g, slice, h, bytes, cut_is_due)) {
				r->inside = inside;
				/* not consumed: the record remains in the ring */
				r->pos = before;
				if (r->feed)
					r->feed->unread(r->feed->ctx);
				r->stalled = true;
				break;
			}
			pending += bytes;
		}
		store(cnt, *cnt + 1);
		if (r->pos - published >= PUBLISH_BYTES) {
			publish(r);
			published = r->pos;
			store(&r->pending_bytes, pending);
		}
	}
	publish(r);
	store(&r->pending_bytes, pending);
	return r->feed ? !r->stalled : r->pos >= end;
}

static void hand_over(struct reader *r, uint64_t gen)
{
	struct ring_group *g = r->group;

	pthread_mutex_lock(&g->lock);
	r->ready = r->current;
	g->ready_cnt++;
	pthread_cond_signal(&g->handed);
	pthread_mutex_unlock(&g->lock);
	r->current = r->next;
	r->next.first = r->next.last = NULL;
	r->done_gen = gen;
	store(&r->pending_bytes, 0);
}

/*
 * Returns how long a reader may sleep, in ms: if a cut is pending, at most until the cut can end.
 */
static int sleep_ms(const struct reader *r)
{
	struct ring_group *g = r->group;
	uint64_t now_ns, due_ns;

	if (load(&g->cut_gen) == r->done_gen)
		return r->feed ? FEED_POLL_MS : (int)g->config.poll_ms;
	now_ns = clock_mono_ns();
	due_ns = load(&g->cut_ns) + STRAGGLER_NS;
	if (due_ns <= now_ns)	/* wait 1 ms at a time until all records are in the rings */
		return load(&g->flushed_gen) != load(&g->cut_gen);
	return clock_poll_ms(now_ns, due_ns, 1000);
}

/* Wakes all readers. If that fails, they wake after poll_ms. */
static void wake_readers(const struct ring_group *g)
{
	uint64_t one = 1;

	(void)!write(g->wake_fd, &one, sizeof(one));
}

static void *reader_main(void *arg)
{
	struct reader *r = arg;
	struct ring_group *g = r->group;
	struct epoll_event ev;
	bool was_behind = false;
	int err = g->config.enter ? g->config.enter(g->config.enter_ctx) : 0;

	pthread_mutex_lock(&g->lock);
	r->entered = err;
	pthread_cond_signal(&g->handed);
	pthread_mutex_unlock(&g->lock);
	if (err)
		return NULL;
	while (!load(&g->stop)) {
		uint64_t now_ns, gen, used;
		unsigned long end;
		bool is_due, is_flushed;

		if (!was_behind)
			epoll_wait(r->epoll_fd, &ev, 1, sleep_ms(r));
		if (r->stalled) {
			struct timespec pause = { .tv_nsec = 2000000 };

			nanosleep(&pause, NULL);
			r->stalled = false;
		}
		now_ns = clock_mono_ns();
		gen = load(&g->cut_gen);
		is_flushed = load(&g->flushed_gen) == gen;
		end = r->feed ? now_ns : load(r->producer_pos);
		used = r->feed ? 0 : end - r->pos;
		if (used > load(&r->used_max_bytes))
			store(&r->used_max_bytes, used);
		is_due = gen != r->done_gen && now_ns >= load(&g->cut_ns) + STRAGGLER_NS;
		was_behind = !drain(r, end, is_due);
		if (!was_behind && is_due && is_flushed)
			hand_over(r, gen);
	}
	return NULL;
}

/*
 * A ring is readable while it is not empty, but programs wake the reader only for a batch.
 * Edge-triggered epoll reports only these wake-ups. It also reports each write to wake_fd once to
 * each reader, although no thread reads from wake_fd.
 */
static int watch(struct reader *r, int ring_fd)
{
	struct epoll_event ring = { .events = EPOLLIN | EPOLLET };
	struct epoll_event wake = { .events = EPOLLIN | EPOLLET };

	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0)
		return -errno;
	if ((!r->feed && epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, ring_fd, &ring)) ||
	    epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, r->group->wake_fd, &wake))
		return -errno;
	return 0;
}

static int wait_entered(struct ring_group *g, struct reader *r)
{
	int err;

	pthread_mutex_lock(&g->lock);
	while (r->entered > 0)
		pthread_cond_wait(&g->handed, &g->lock);
	err = r->entered;
	pthread_mutex_unlock(&g->lock);
	return err;
}

static int start_readers(struct ring_group *g, struct err *e)
{
	int err;

	for (unsigned int i = 0; i < g->reader_cnt; i++) {
		struct reader *r = &g->readers[i];
		char name[32];

		r->group = g;
		r->entered = 1;
		if (i >= g->config.ring_cnt)
			r->feed = &g->config.feeds[i - g->config.ring_cnt];
		err = watch(r, r->feed ? -1 : g->config.fds[i]);
		if (!err && !r->feed)
			err = map_ring(r, g->config.fds[i]);
		if (err)
			return err_set(e, err, "cannot map ring %u: %s", i, strerror(-err));
		err = -pthread_create(&r->thread, NULL, reader_main, r);
		if (err)
			return err_set(e, err, "cannot start a reader thread: %s", strerror(-err));
		r->started = true;
		snprintf(name, sizeof(name), "ebpfrec-r%u", i);
		name[15] = 0;	/* the kernel's limit of names */
		pthread_setname_np(r->thread, name);
	}
	for (unsigned int i = 0; i < g->reader_cnt; i++) {
		err = wait_entered(g, &g->readers[i]);
		if (err)
			return err_set(e, err, "a reader thread cannot give up its privileges: %s",
				       strerror(-err));
	}
	return 0;
}

int ring_group_new(struct ring_group **ret, const struct ring_group_config *config, struct err *e)
{
	struct ring_group *g = calloc(1, sizeof(*g));
	pthread_condattr_t monotonic;
	int err;

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	g->config = *config;
	if (!g->config.memory_bytes)
		g->config.memory_bytes = DEFAULT_MEMORY_BYTES;
	if (!g->config.poll_ms)
		g->config.poll_ms = DEFAULT_POLL_MS;
	g->start_ns = UINT64_MAX;
	pthread_mutex_init(&g->lock, NULL);
	/* The wall clock may be set back during a wait. */
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&g->handed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	g->reader_cnt = config->ring_cnt + config->feed_cnt;
	g->readers = calloc(g->reader_cnt, sizeof(*g->readers));
	g->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!g->readers || g->wake_fd < 0)
		err = err_set(e, -ENOMEM, "out of memory");
	else
		err = start_readers(g, e);
	if (err) {
		ring_group_free(g);
		return err;
	}
	*ret = g;
	return 0;
}

void ring_group_free(struct ring_group *g)
{
	if (!g)
		return;
	store(&g->stop, true);
	if (g->wake_fd >= 0)
		wake_readers(g);
	for (unsigned int i = 0; g->readers && i < g->reader_cnt; i++) {
		struct reader *r = &g->readers[i];

		if (r->started)
			pthread_join(r->thread, NULL);
		if (r->group)
			unmap_ring(r);
		if (r->epoll_fd > 0)
			close(r->epoll_fd);
		slabs_put(g, &r->current);
		slabs_put(g, &r->next);
		slabs_put(g, &r->ready);
	}
	pool_shrink(g, 0);
	if (g->wake_fd >= 0)
		close(g->wake_fd);
	pthread_cond_destroy(&g->handed);
	pthread_mutex_destroy(&g->lock);
	free(g->readers);
	free(g);
}

void ring_group_start_at(struct ring_group *g, uint64_t start_ns)
{
	store(&g->start_ns, start_ns);
}

int ring_group_cut(struct ring_group *g, uint64_t cut_ns)
{
	uint64_t gen = g->cut_gen + 1;
	int err = -EAGAIN;

	store(&g->cut_ns, cut_ns);
	store(&g->cut_gen, gen);
	wake_readers(g);
	if (!g->config.flush)
		err = 0;
	else
		clock_sleep_until(cut_ns + STRAGGLER_NS);
	/*
	 * Readers make room between tries. Records that still remain are late: they go to the next
	 * slice.
	 */
	for (int i = 0; i < FLUSH_TRIES && err == -EAGAIN; i++) {
		err = g->config.flush(g->config.enter_ctx);
		if (err == -EAGAIN)
			clock_sleep_until(clock_mono_ns() + 1000000);
	}
	store(&g->flushed_gen, gen);
	wake_readers(g);
	return err == -EAGAIN ? 0 : err;
}

unsigned int ring_group_slices(const struct ring_group *g)
{
	return g->reader_cnt;
}

int ring_group_take(struct ring_group *g, struct ring_slice *slices, unsigned int timeout_ms)
{
	struct timespec until = clock_after(CLOCK_MONOTONIC, timeout_ms * 1000000ULL);
	int err = 0;

	pthread_mutex_lock(&g->lock);
	while (g->ready_cnt < g->reader_cnt && !err)
		err = pthread_cond_timedwait(&g->handed, &g->lock, &until);
	if (g->ready_cnt == g->reader_cnt) {
		for (unsigned int i = 0; i < g->reader_cnt; i++) {
			slices[i] = g->readers[i].ready;
			g->readers[i].ready.first = g->readers[i].ready.last = NULL;
		}
		g->ready_cnt = 0;
		err = 0;
	}
	pthread_mutex_unlock(&g->lock);
	return err ? -EAGAIN : 0;
}

void ring_group_release(struct ring_group *g, struct ring_slice *slices)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < g->reader_cnt; i++)
		bytes += slabs_put(g, &slices[i]);
	pool_shrink(g, need_note(&g->need_bytes, bytes));
}

void ring_group_stats(struct ring_group *g, struct ring_stats *ret, bool reset)
{
	memset(ret, 0, sizeof(*ret));
	for (unsigned int i = 0; i < g->reader_cnt; i++) {
		struct reader *r = &g->readers[i];
		uint64_t used = load(&r->used_max_bytes);

		for (unsigned int h = 0; h < WIRE_HOOK_MAX; h++) {
			uint64_t kept = load(&r->kept_cnt[h]);

			ret->kept_cnt[h] += kept;
			ret->read_cnt[h] += kept + load(&r->dropped_cnt[h]);
		}
		if (used > ret->used_max_bytes)
			ret->used_max_bytes = used;
		ret->slab_bytes_pending += load(&r->pending_bytes);
		if (reset)
			store(&r->used_max_bytes, 0);
	}
	pthread_mutex_lock(&g->lock);
	ret->slab_bytes = g->slab_bytes - g->pool_bytes;
	ret->slab_spare_bytes = g->pool_bytes;
	ret->slab_max_bytes = g->used_max_bytes;
	ret->slab_limit_bytes = g->config.memory_bytes;
	if (reset)
		g->used_max_bytes = ret->slab_bytes;
	pthread_mutex_unlock(&g->lock);
}

/*
 * wire_record: a table, made from wire.h, of the hooks with records of fixed length. Records with
 * texts or frames have their length in fields.
 */

#define ROOM(bytes) (((bytes) + 7) & ~7u)

const uint16_t wire_record_room[WIRE_HOOK_MAX] = {
#define X(hook, record) [WIRE_##hook] = ROOM(sizeof(struct wire_##record)),
	WIRE_FIXED(X)
#undef X
};

const uint8_t wire_hook_class[WIRE_HOOK_MAX] = {
#define X(hook, kind, class) [WIRE_##hook] = EVENT_CLASS_##class,
	WIRE_HOOKS(X)
#undef X
};

static size_t exec_size(const struct wire_exec *x)
{
	if (x->file_len > WIRE_FILE_MAX || x->args_len > WIRE_ARGS_MAX)
		return 0;
	return ROOM(offsetof(struct wire_exec, strings) + x->file_len + x->args_len);
}

static size_t stack_size(const struct wire_stack *s)
{
	if (s->kernel_cnt > WIRE_STACK_KERNEL || s->user_cnt > WIRE_STACK_USER ||
	    s->of >= WIRE_HOOK_MAX)
		return 0;
	return offsetof(struct wire_stack, frames) + 8u * (s->kernel_cnt + s->user_cnt);
}

static size_t sample_size(const struct wire_sample *s)
{
	if (s->kernel_cnt > WIRE_STACK_KERNEL || s->user_cnt > WIRE_STACK_USER ||
	    s->stack_bytes > WIRE_STACK_COPY)
		return 0;
	if (s->stack_bytes)
		return ROOM(offsetof(struct wire_sample, stack) + s->stack_bytes);
	return offsetof(struct wire_sample, frames) + 8u * (s->kernel_cnt + s->user_cnt);
}

static size_t offcpu_size(const struct wire_offcpu *o)
{
	if (o->kernel_cnt > WIRE_STACK_KERNEL || o->waker_kernel_cnt > WIRE_STACK_KERNEL ||
	    o->user_cnt > WIRE_STACK_USER || o->waker_user_cnt > WIRE_STACK_USER ||
	    o->stack_bytes > WIRE_WAIT_COPY)
		return 0;
	if (o->stack_bytes)
		return ROOM(offsetof(struct wire_offcpu, stack) + o->stack_bytes);
	return offsetof(struct wire_offcpu, frames) +
	       8u * (o->kernel_cnt + o->user_cnt + o->waker_kernel_cnt + o->waker_user_cnt);
}

static size_t path_size(const struct wire_path *p)
{
	return p->len > sizeof(p->names) ? 0 : ROOM(offsetof(struct wire_path, names) + p->len);
}

size_t wire_record_size_odd(const void *data, size_t max)
{
	const struct wire_hdr *h = data;
	size_t bytes = 0;

	if (h->hook == WIRE_TASK_EXEC && max >= offsetof(struct wire_exec, strings))
		bytes = exec_size(data);
	else if (h->hook == WIRE_STACK && max >= offsetof(struct wire_stack, frames))
		bytes = stack_size(data);
	else if (h->hook == WIRE_OFFCPU && max >= offsetof(struct wire_offcpu, frames))
		bytes = offcpu_size(data);
	else if (h->hook == WIRE_SAMPLE && max >= offsetof(struct wire_sample, frames))
		bytes = sample_size(data);
	else if (h->hook == WIRE_PATH && max >= offsetof(struct wire_path, names))
		bytes = path_size(data);
	return bytes <= max ? bytes : 0;
}

const struct wire_hdr *slab_next_record(const struct ring_slab *s, size_t *at)
{
	const void *h = s->data + *at;
	size_t bytes = *at < s->bytes ? wire_record_size(h, s->bytes - *at) : 0;

	*at += bytes;
	return bytes ? h : NULL;
}

void slices_filter(struct ring_slice *slices, unsigned int slice_cnt,
		   bool (*keep)(void *ctx, const struct wire_hdr *h), void *ctx)
{
	const struct wire_hdr *h;
	struct ring_slab *s;
	size_t at, next, to;

	for (unsigned int i = 0; i < slice_cnt; i++) {
		for (s = slices[i].first; s; s = s->next) {
			for (at = next = to = 0; (h = slab_next_record(s, &next)); at = next) {
				if (!keep(ctx, h))
					continue;
				if (to != at)
					memmove(s->data + to, h, next - at);
				to += next - at;
			}
			s->bytes = to;
		}
	}
}
