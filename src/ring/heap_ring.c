/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_ring: see heap_ring.h. A pass reads the owners of all chunks, then the complete records of
 * each owned chunk. pread() copies them: each word is read once, and a truncated file causes an
 * error instead of a signal. An invalid record counts as lost.
 */
#include "ring/heap_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "base/clock.h"
#include "event_lists.h"
#include "preload/heap_share.h"

/*
 * heap_clock: to read a pair, the counter is read before and after the clock, a few times. The
 * closest two counter values enclose the most exact clock value.
 */

#define TRIES 8
#define CLOSE_CYCLES 200	/* an interruption takes longer than this */

bool heap_clock_is_there(void)
{
#ifdef __x86_64__
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	unsigned int a, b, c, d;
	char name[16] = "";

	if (f && fscanf(f, "%15s", name) != 1)
		name[0] = 0;
	if (f)
		fclose(f);
	return !strcmp(name, "tsc") && __get_cpuid(0x80000001, &a, &b, &c, &d) && d & 1u << 27;
#else
	return false;
#endif
}

void heap_clock_read(struct heap_clock *c)
{
#ifdef __x86_64__
	struct heap_clock_pair best = { 0, 0 };
	uint64_t width = UINT64_MAX, before, after, ns, error_ns;
	unsigned int i, cpu;

	for (i = 0; i < TRIES && width > CLOSE_CYCLES; i++) {
		before = __rdtscp(&cpu);	/* waits until earlier instructions are complete */
		ns = clock_mono_ns();
		after = __rdtscp(&cpu);
		if (after - before >= width)
			continue;
		width = after - before;
		best = (struct heap_clock_pair){ before + width / 2, ns };
	}
	heap_clock_add(c, best);
	error_ns = heap_clock_ns(c, best.cycles + width / 2 + 1);
	if (error_ns && error_ns - best.ns > c->error_ns)
		c->error_ns = error_ns - best.ns;
#endif
}

static const struct heap_clock_pair *pair(const struct heap_clock *c, unsigned int number)
{
	return &c->pairs[number % HEAP_CLOCK_PAIRS];
}

void heap_clock_add(struct heap_clock *c, struct heap_clock_pair p)
{
	const struct heap_clock_pair *last = c->cnt ? pair(c, c->cnt - 1) : NULL;

	if (last && (p.cycles <= last->cycles || p.ns <= last->ns))
		return;
	c->pairs[c->cnt++ % HEAP_CLOCK_PAIRS] = p;
}

/* Converts a number of cycles to ns, at the rate between two pairs. */
static uint64_t length_ns(const struct heap_clock_pair *a, const struct heap_clock_pair *b,
			  uint64_t cycles)
{
	uint64_t ns = b->ns - a->ns;

	if (!((cycles | ns) >> 32))
		return cycles * ns / (b->cycles - a->cycles);
	return (uint64_t)((unsigned __int128)cycles * ns / (b->cycles - a->cycles));
}

uint64_t heap_clock_ns(const struct heap_clock *c, uint64_t cycles)
{
	unsigned int first = c->cnt > HEAP_CLOCK_PAIRS ? c->cnt - HEAP_CLOCK_PAIRS : 0;
	unsigned int i = c->cnt - 1;
	const struct heap_clock_pair *a, *b;
	uint64_t reach, back, ns;

	if (c->cnt < 2)
		return 0;
	reach = pair(c, i)->cycles - pair(c, first)->cycles;
	while (i > first + 1 && pair(c, i - 1)->cycles > cycles)
		i--;
	a = pair(c, i - 1);
	b = pair(c, i);
	if (cycles < a->cycles) {
		back = a->cycles - cycles;
		ns = length_ns(a, b, back);
		return back > reach || ns >= a->ns ? 0 : a->ns - ns;
	}
	if (cycles > b->cycles && cycles - b->cycles > reach)
		return 0;
	return a->ns + length_ns(a, b, cycles - a->cycles);
}

#define CHUNKS_MIN 4u
#define FIRST_READ 32u		/* records; if a chunk has more, all of its records are read */
#define LOOK_NS 50000000ULL	/* interval of checks for owners that have ended */
#define AHEAD_MAX_NS 1000000000ULL	/* a timestamp farther ahead is invalid */
#define LOST_MAX (1ULL << 32)	/* most losses that can occur between two passes */
#define YOUNG_S 10
#define EVENT_MAX_PS 10000000ULL	/* a longer time includes an interruption of the thread */
#define TID_MAX (1u << 22)	/* the kernel's PID_MAX_LIMIT */

struct chunk {
	uint32_t tid;		/* owner; 0: unused, or not read yet */
	uint32_t taken;		/* records read from the chunk so far */
};

struct heap_ring {
	struct heap_ring_config config;
	char dir[48], path[64];	/* dir is empty if it was not created */
	int fd;
	unsigned int cpu_cnt;
	unsigned int chunk_cnt;
	bool is_ended;		/* atomic */
	struct chunk *chunks;

	/* the current pass */
	unsigned int at;	/* index of the chunk; chunk_cnt: no pass is active */
	uint64_t look_ns;
	bool looks, owner_ended;
	uint32_t owner[HEAP_CHUNKS_MAX];

	/* records read from the current chunk */
	struct heap_share_record batch[HEAP_CHUNK_RECORDS];
	unsigned int batch_at, batch_cnt;
	union {
		struct wire_heap_alloc alloc;
		struct wire_heap_free free;
		struct wire_span span;
	} record;
	struct wire_stack stack;	/* stack of the last returned allocation */
	/* stack_bytes: 0: the stack is not the next record to return */
	size_t record_bytes, stack_bytes;
	const struct wire_hdr *given;		/* the last returned record */
	size_t given_bytes;
	bool again;

	struct heap_clock clock;
	uint64_t lost_seen[HEAP_SHARE_KINDS];
	/* by kind; written by the reader, read by any thread */
	uint64_t taken_cnt[HEAP_SHARE_KINDS], lost_cnt[HEAP_SHARE_KINDS], bad_cnt;
	uint64_t stack_cnt, event_ps, stack_ps;
};

#define load(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define store(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)

/* ---- the file ---- */

#define PLACE "/dev/shm/ebpfrec-heap."

/* Removes files of recorders that were killed. A live recorder holds a lock on its file. */
static void remove_left(void)
{
	time_t now = time(NULL);
	char path[PATH_MAX];
	struct stat st;
	glob_t g;
	int fd;

	if (glob(PLACE "*", 0, NULL, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		snprintf(path, sizeof(path), "%s/events", g.gl_pathv[i]);
		/* a younger directory may not be locked yet */
		if (lstat(g.gl_pathv[i], &st) || !S_ISDIR(st.st_mode) ||
		    st.st_mtime + YOUNG_S > now)
			continue;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB)) {
			unlink(path);
			rmdir(g.gl_pathv[i]);
		}
		if (fd >= 0)
			close(fd);
	}
	globfree(&g);
}

static int make_file(struct heap_ring *h)
{
	struct heap_share_head head = {
		.magic = HEAP_SHARE_MAGIC, .chunk_cnt = h->chunk_cnt, .waits = h->config.waits,
		.counts_cycles = h->config.counts_cycles, .recorder = (uint32_t)getpid(),
		.stacks_every = h->config.stacks_every, .stacks_min = h->config.stacks_min_bytes,
		.sample_mean = h->config.sample_bytes,
	};
	off_t bytes = HEAP_SHARE_HEAD_BYTES + (off_t)h->chunk_cnt * HEAP_CHUNK_BYTES;
	struct stat st;

	remove_left();
	snprintf(h->dir, sizeof(h->dir), PLACE "XXXXXX");
	if (!mkdtemp(h->dir)) {
		h->dir[0] = 0;
		return -errno;
	}
	snprintf(h->path, sizeof(h->path), "%s/events", h->dir);
	h->fd = open(h->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (h->fd < 0)
		return -errno;
	if (!stat("/proc/self/ns/pid", &st))
		head.pid_ns = st.st_ino;
	/*
	 * Allocates all pages now: otherwise a write would kill the workload if the file system is
	 * full, and if it is not, the page would count as an allocation of the workload.
	 */
	if (flock(h->fd, LOCK_EX | LOCK_NB) || fallocate(h->fd, 0, 0, bytes) ||
	    pwrite(h->fd, &head, sizeof(head), 0) != sizeof(head) ||
	    (h->config.uid != geteuid() && fchown(h->fd, h->config.uid, h->config.gid)) ||
	    (h->config.owner != geteuid() && chown(h->dir, h->config.owner, h->config.group)) ||
	    chmod(h->dir, 0711))
		return -errno;
	return 0;
}

int heap_ring_new(struct heap_ring **ret, const struct heap_ring_config *config, struct err *e)
{
	struct heap_ring *h = calloc(1, sizeof(*h));
	uint64_t cnt = config->bytes / HEAP_CHUNK_BYTES;
	int err;

	if (!h)
		return err_set(e, -ENOMEM, "out of memory");
	h->config = *config;
	h->cpu_cnt = HEAP_SHARE_CPUS_MAX;
	h->chunk_cnt = cnt < CHUNKS_MIN ? CHUNKS_MIN : cnt > HEAP_CHUNKS_MAX ? HEAP_CHUNKS_MAX :
		       (unsigned int)cnt;
	h->at = h->chunk_cnt;
	h->chunks = calloc(h->chunk_cnt, sizeof(*h->chunks));
	h->fd = -1;
	err = h->chunks ? make_file(h) : -ENOMEM;
	if (err) {
		heap_ring_free(h);
		return err_set(e, err, "cannot make the memory for heap events in /dev/shm: %s; "
			       "try a smaller --ring-size",
			       strerror(-err));
	}
	if (h->config.counts_cycles)
		heap_clock_read(&h->clock);
	*ret = h;
	return 0;
}

void heap_ring_free(struct heap_ring *h)
{
	if (!h)
		return;
	heap_ring_end(h);
	if (h->fd >= 0) {
		unlink(h->path);
		close(h->fd);
	}
	if (h->dir[0])
		rmdir(h->dir);
	free(h->chunks);
	free(h);
}

const char *heap_ring_path(const struct heap_ring *h)
{
	return h->path;
}

void heap_ring_limit_cpus(struct heap_ring *h, unsigned int cpu_cnt)
{
	if (cpu_cnt < h->cpu_cnt)
		h->cpu_cnt = cpu_cnt;
}

void heap_ring_end(struct heap_ring *h)
{
	uint32_t off = 1;

	if (!h || h->fd < 0)
		return;
	(void)!pwrite(h->fd, &off, sizeof(off), offsetof(struct heap_share_head, off));
	store(&h->is_ended, true);
}

uint64_t heap_ring_clock_error_ns(const struct heap_ring *h)
{
	return load(&h->clock.error_ns);
}

uint64_t heap_ring_event_ps(const struct heap_ring *h)
{
	uint64_t ps = load(&h->event_ps), stack_ps = load(&h->stack_ps), cnt = 0;

	for (unsigned int kind = HEAP_SHARE_ALLOC; kind < HEAP_SHARE_KINDS; kind++)
		cnt += load(&h->taken_cnt[kind]);
	if (!ps || !cnt || stack_ps <= ps)
		return ps;
	return ps + (stack_ps - ps) * load(&h->stack_cnt) / cnt;
}

uint32_t heap_ring_began(const struct heap_ring *h)
{
	uint32_t cnt;
	ssize_t n = pread(h->fd, &cnt, sizeof(cnt), offsetof(struct heap_share_head, began_cnt));

	return n == sizeof(cnt) ? cnt : 0;
}

uint32_t heap_ring_own_malloc(const struct heap_ring *h, uint32_t *ret_pid)
{
	uint32_t said[2];

	if (pread(h->fd, said, sizeof(said), offsetof(struct heap_share_head, own_malloc_cnt)) !=
	    sizeof(said))
		return 0;
	*ret_pid = said[1];
	return said[0];
}

void heap_ring_unseen(const struct heap_ring *h, struct heap_ring_unseen *ret)
{
	uint32_t apart[2] = { 0 }, limited = 0;

	(void)!pread(h->fd, &limited, sizeof(limited),
		     offsetof(struct heap_share_head, limited_cnt));
	(void)!pread(h->fd, apart, sizeof(apart), offsetof(struct heap_share_head, namespace_cnt));
	*ret = (struct heap_ring_unseen){ limited, apart[0], apart[1] };
}

static off_t chunk_offset(unsigned int chunk)
{
	return HEAP_SHARE_HEAD_BYTES + (off_t)chunk * HEAP_CHUNK_BYTES;
}

/* ---- losses ---- */

static void count_lost(struct heap_ring *h, const uint64_t *lost)
{
	for (unsigned int kind = 0; kind < HEAP_SHARE_KINDS; kind++) {
		uint64_t more = lost[kind] - h->lost_seen[kind];

		h->lost_seen[kind] = lost[kind];
		/* a decrease, or a step of LOST_MAX or more, is corruption: counts one loss */
		store(&h->lost_cnt[kind], h->lost_cnt[kind] + (more < LOST_MAX ? more : 1));
	}
}

struct ring_feed_count heap_ring_count(const void *ring, unsigned int hook)
{
	unsigned int kind = hook == WIRE_HEAP_ALLOC ? HEAP_SHARE_ALLOC :
			    hook == WIRE_HEAP_FREE ? HEAP_SHARE_FREE : 0;
	const struct heap_ring *h = ring;
	struct ring_feed_count c = { 0 };

	if (hook == WIRE_STACK)
		c.attempted = load(&h->stack_cnt);
	if (!kind && hook != WIRE_SPAN)
		return c;
	c.lost_full = load(&h->lost_cnt[kind]);
	if (hook == (h->config.has_spans ? WIRE_SPAN : WIRE_HEAP_ALLOC))
		c.lost_other = load(&h->bad_cnt);
	c.attempted = load(&h->taken_cnt[kind]) + c.lost_full + c.lost_other;
	return c;
}

/* ---- a pass ---- */

static uint64_t to_ns(const struct heap_ring *h, uint64_t at)
{
	return h->config.counts_cycles ? heap_clock_ns(&h->clock, at) : at;
}

/*
 * Reads the time per event, measured by the process that started last, and the time per stack, the
 * mean over all processes.
 */
static void read_event_cost(struct heap_ring *h)
{
	uint64_t at[4], from_ns, ps, now = clock_mono_ns();

	if (pread(h->fd, at, sizeof(at), offsetof(struct heap_share_head, timed_from)) !=
	    sizeof(at))
		return;
	from_ns = to_ns(h, at[0]);
	ps = (to_ns(h, at[1]) - from_ns) * 1000 / HEAP_SHARE_TIMED;
	if (from_ns && ps && ps <= EVENT_MAX_PS)
		store(&h->event_ps, ps);
	if (!at[3] || at[2] / at[3] >= HEAP_SHARE_TOOK_MAX)
		return;
	if (h->config.counts_cycles)
		now = h->clock.cnt ? pair(&h->clock, h->clock.cnt - 1)->cycles : 0;
	ps = to_ns(h, now + at[2] / at[3] * 1000) - to_ns(h, now);
	if (ps && ps <= EVENT_MAX_PS)
		store(&h->stack_ps, ps);
}

static bool begin_pass(struct heap_ring *h)
{
	uint64_t lost[HEAP_SHARE_KINDS], now_ns = clock_mono_ns();
	size_t bytes = h->chunk_cnt * sizeof(h->owner[0]);

	if (pread(h->fd, lost, sizeof(lost), offsetof(struct heap_share_head, lost)) !=
		    sizeof(lost) ||
	    pread(h->fd, h->owner, bytes, offsetof(struct heap_share_head, owner)) !=
		    (ssize_t)bytes)
		return false;	/* the workload truncated the file: no data is left */
	if (h->config.counts_cycles)
		heap_clock_read(&h->clock);
	count_lost(h, lost);
	h->looks = now_ns - h->look_ns >= LOOK_NS;
	if (h->looks)
		h->look_ns = now_ns;
	/* until the cost is known, read it in every pass: the recording may end before a check */
	if (h->looks || !load(&h->event_ps))
		read_event_cost(h);
	return true;
}

/* Frees a chunk after all its records have been read. */
static void free_chunk(struct heap_ring *h, unsigned int chunk)
{
	static const char zeros[HEAP_CHUNK_BYTES];
	uint32_t none = 0;

	h->chunks[chunk] = (struct chunk){ 0, 0 };
	if (pwrite(h->fd, zeros, sizeof(zeros), chunk_offset(chunk)) == sizeof(zeros))
		(void)!pwrite(h->fd, &none, sizeof(none),
			      offsetof(struct heap_share_head, owner) + chunk * sizeof(none));
}

static bool is_whole(const struct heap_share_record *r)
{
	return r->at && r->addr && r->site_kind && r->bytes_cpu;
}

/* Reads up to cnt records of the current chunk into the batch. */
static void read_batch(struct heap_ring *h, unsigned int cnt)
{
	unsigned int taken = h->chunks[h->at].taken;
	ssize_t n;

	if (cnt > HEAP_CHUNK_RECORDS - taken)
		cnt = HEAP_CHUNK_RECORDS - taken;
	n = pread(h->fd, h->batch, cnt * sizeof(h->batch[0]),
		  chunk_offset(h->at) + (off_t)(taken * sizeof(h->batch[0])));
	h->batch_at = 0;
	h->batch_cnt = n < 0 ? 0 : (unsigned int)((size_t)n / sizeof(h->batch[0]));
}

/* Reads the first records of the current chunk. False: the chunk is unused. */
static bool begin_chunk(struct heap_ring *h)
{
	struct chunk *c = &h->chunks[h->at];

	if (!c->tid)
		c->tid = h->owner[h->at];
	if (!c->tid)
		return false;
	/* an owner that has ended writes no more records: this read gets all of them */
	h->owner_ended = c->tid > TID_MAX || (h->looks && kill((pid_t)c->tid, 0) && errno == ESRCH);
	read_batch(h, h->owner_ended ? HEAP_CHUNK_RECORDS : FIRST_READ);
	return true;
}

/* Converts the frames that follow an allocation. */
static void convert_stack(struct heap_ring *h, const struct heap_share_record *slots,
			  unsigned int cnt)
{
	struct wire_stack *s = &h->stack;

	memset(s, 0, offsetof(struct wire_stack, frames));
	s->hdr = h->record.alloc.hdr;
	s->hdr.hook = WIRE_STACK;
	s->addr = h->record.alloc.addr;
	s->bytes = h->record.alloc.bytes;
	s->call_site = h->record.alloc.call_site;
	s->of = WIRE_HEAP_ALLOC;
	s->user_cnt = (uint16_t)(4 * cnt);
	memcpy(s->frames, slots, cnt * sizeof(*slots));
	while (s->user_cnt && s->frames[s->user_cnt - 1] == 1)
		s->user_cnt--;
	h->stack_bytes = offsetof(struct wire_stack, frames) + s->user_cnt * sizeof(s->frames[0]);
	store(&h->stack_cnt, h->stack_cnt + 1);
}

static bool is_span(const struct heap_share_record *r)
{
	return (r->site_kind & 0xff) - HEAP_SHARE_SPAN <= HEAP_SHARE_NAME_SLOTS;
}

/* Returns the number of slots that follow a record, with its frames or its name. */
static unsigned int frame_slots(const struct heap_share_record *r)
{
	unsigned int kind = r->site_kind & 0xff;

	if (is_span(r))
		return kind - HEAP_SHARE_SPAN;
	return kind > HEAP_SHARE_STACK && kind <= HEAP_SHARE_STACK + HEAP_SHARE_SLOTS ?
		       kind - HEAP_SHARE_STACK : 0;
}

/* Converts an event of a request, whose name is in the cnt slots after it. False: it is invalid. */
static bool convert_span(struct heap_ring *h, const struct heap_share_record *r, unsigned int cnt)
{
	struct wire_span *s = &h->record.span;
	uint64_t words[8] = { 0 };
	unsigned int n = 4 * cnt;

	s->id = r->site_kind >> 16 & 1 ? r->addr : 0;
	s->action = r->site_kind >> 8 & 0xff;
	s->nr = 0;
	s->zero = 0;
	if (frame_slots(r) != cnt || !s->action || s->action >= EVENT_SPAN_CNT ||
	    (!s->id && s->action != EVENT_SPAN_STEP && s->action != EVENT_SPAN_ATTACH))
		return false;
	memcpy(words, r + 1, cnt * sizeof(*r));
	while (n && words[n - 1] == 1)
		words[--n] = 0;
	memcpy(s->name, words, sizeof(s->name));
	s->hdr.hook = WIRE_SPAN;
	h->record_bytes = sizeof(*s);
	store(&h->taken_cnt[0], h->taken_cnt[0] + 1);
	return true;
}

/*
 * Converts a record of a thread, with cnt slots after it, to a wire record. False: it is invalid.
 */
static bool convert(struct heap_ring *h, const struct heap_share_record *r, unsigned int cnt,
		    uint64_t ts_ns)
{
	uint64_t cpu = (r->bytes_cpu & 0xffff) - 1, bytes = r->bytes_cpu >> 16;
	unsigned int kind = frame_slots(r) ? HEAP_SHARE_ALLOC : r->site_kind & 0xff;
	struct wire_hdr *hdr = &h->record.alloc.hdr;

	if (!ts_ns || cpu >= h->cpu_cnt || bytes >= HEAP_SHARE_BYTES_MAX ||
	    (kind != HEAP_SHARE_ALLOC && kind != HEAP_SHARE_FREE && !is_span(r)))
		return false;
	*hdr = (struct wire_hdr){ .ts_ns = ts_ns, .cpu = (uint16_t)cpu,
				  .tid = h->chunks[h->at].tid };
	if (is_span(r))
		return convert_span(h, r, cnt);
	if (kind == HEAP_SHARE_ALLOC) {
		hdr->hook = WIRE_HEAP_ALLOC;
		h->record.alloc.addr = r->addr;
		h->record.alloc.bytes = bytes;
		h->record.alloc.call_site = r->site_kind >> 8;
		h->record_bytes = sizeof(h->record.alloc);
	} else {
		hdr->hook = WIRE_HEAP_FREE;
		h->record.free.addr = r->addr;
		h->record_bytes = sizeof(h->record.free);
	}
	store(&h->taken_cnt[kind], h->taken_cnt[kind] + 1);
	return true;
}

/*
 * Sets *ret to the number of slots with frames after the current record. False: these are not
 * complete yet, or will not be.
 */
static bool has_frames(struct heap_ring *h, unsigned int *ret)
{
	unsigned int cnt = frame_slots(&h->batch[h->batch_at]), i;

	if (!cnt || h->chunks[h->at].taken + 1 + cnt > HEAP_CHUNK_RECORDS)
		return false;
	*ret = cnt;
	if (h->batch_at + cnt >= h->batch_cnt)
		read_batch(h, HEAP_CHUNK_RECORDS);
	if (h->batch_at + cnt >= h->batch_cnt || frame_slots(&h->batch[h->batch_at]) != cnt)
		return false;
	for (i = 1; i <= cnt; i++)
		if (!is_whole(&h->batch[h->batch_at + i]))
			return false;
	return true;
}

/* Finds the next record of the current chunk. False: none yet. */
static bool next_of_chunk(struct heap_ring *h, uint64_t end_ns)
{
	bool is_last = h->owner_ended || load(&h->is_ended);
	struct chunk *c = &h->chunks[h->at];

	for (;;) {
		const struct heap_share_record *r = &h->batch[h->batch_at];
		unsigned int slots = 0;
		bool has_stack;
		uint64_t ts_ns;

		if (h->batch_at >= h->batch_cnt) {
			if (!h->batch_cnt || c->taken == HEAP_CHUNK_RECORDS)
				return false;
			read_batch(h, HEAP_CHUNK_RECORDS);
			if (!h->batch_cnt)
				return false;
			continue;
		}
		has_stack = is_whole(r) && has_frames(h, &slots);
		if (slots && !has_stack && !is_last)
			return false;
		r = &h->batch[h->batch_at];	/* has_frames() may have read the batch again */
		ts_ns = to_ns(h, r->at);
		if (!is_whole(r)) {
			/*
			 * a signal handler or the thread's end interrupted the write, so later
			 * records may be complete: skip this record if it will never be complete
			 */
			if (!is_last)
				return false;
		} else if (ts_ns > end_ns && ts_ns - end_ns < AHEAD_MAX_NS &&
			   !h->owner_ended) {
			return false;
		} else if ((r->site_kind & 0xff) == HEAP_SHARE_REST) {
			slots = 0;
		} else if ((r->site_kind & 0xff) == HEAP_SHARE_LEAVE) {
			c->taken = HEAP_CHUNK_RECORDS;
			return false;
		} else if (ts_ns > end_ns + AHEAD_MAX_NS ||
			   !convert(h, r, has_stack ? slots : 0, ts_ns)) {
			store(&h->bad_cnt, h->bad_cnt + 1);
		} else {
			if (has_stack && !is_span(r))
				convert_stack(h, r + 1, slots);
			h->batch_at += 1 + slots;
			c->taken += 1 + slots;
			return true;
		}
		h->batch_at += 1 + slots;
		c->taken += 1 + slots;
	}
}

static const struct wire_hdr *give(struct heap_ring *h, const struct wire_hdr *record,
				   size_t bytes)
{
	h->given = record;
	h->given_bytes = bytes;
	return record;
}

const struct wire_hdr *heap_ring_next(void *ring, uint64_t end_ns, size_t *ret_bytes)
{
	struct heap_ring *h = ring;
	bool goes_on = h->at < h->chunk_cnt;

	if (h->again) {
		h->again = false;
		*ret_bytes = h->given_bytes;
		return h->given;
	}
	if (h->stack_bytes) {
		*ret_bytes = h->stack_bytes;
		h->stack_bytes = 0;
		return give(h, &h->stack.hdr, *ret_bytes);
	}
	if (!goes_on) {
		if (!begin_pass(h))
			return NULL;
		h->at = 0;
	}
	for (; h->at < h->chunk_cnt; h->at++, goes_on = false) {
		if (!goes_on && !begin_chunk(h))
			continue;
		if (next_of_chunk(h, end_ns)) {
			*ret_bytes = h->record_bytes;
			return give(h, &h->record.alloc.hdr, h->record_bytes);
		}
		if (h->owner_ended || h->chunks[h->at].taken == HEAP_CHUNK_RECORDS)
			free_chunk(h, h->at);
	}
	return NULL;
}

void heap_ring_unread(void *ring)
{
	struct heap_ring *h = ring;

	h->again = true;
}
