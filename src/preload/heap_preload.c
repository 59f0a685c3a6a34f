/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_preload: the library that `record --heap -- COMMAND` loads into the workload with
 * LD_PRELOAD. It wraps the C library's allocator, and writes a record of each allocation and each
 * free into memory shared with the recorder (heap_share.h). It starts no thread and keeps no
 * descriptor open. It makes system calls only at the first event of a process or thread, and for
 * stacks.
 *
 * Its functions may be called before libc is initialized, inside dlsym(), in signal handlers, and
 * by children of fork() that never exec. A thread reserves a slot with a single instruction, which
 * a signal cannot interrupt. The page at `process` is zeroed in the child by any kind of fork
 * (MADV_WIPEONFORK): this shows a child that its chunk belongs to the parent.
 *
 * An allocation is recorded after it is made, and a free before it is done: if another thread gets
 * the same address at once, the records are in the right order. An allocator may call itself by
 * name, as musl's calloc calls malloc: such inner calls are not recorded (HIDING).
 *
 * If only samples are recorded (heap_share.h), other allocations only decrease a counter of the
 * thread, and other frees only load a counter.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#pragma weak __rseq_size
#pragma weak __rseq_offset
#define HAS_RSEQ
#endif

#include "preload/heap_share.h"

#define WRAPS __attribute__((visibility("default")))
#define LOCAL_THREAD static __thread __attribute__((tls_model("initial-exec")))
#define CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define NO_MEMORY (errno = ENOMEM, NULL)

/* ---- the wrapped allocator ---- */

static struct {
	void *(*malloc)(size_t bytes);
	void *(*calloc)(size_t cnt, size_t bytes);
	void *(*realloc)(void *p, size_t bytes);
	void (*free)(void *p);
	void *(*memalign)(size_t align, size_t bytes);
	void *(*aligned_alloc)(size_t align, size_t bytes);
	int (*posix_memalign)(void **ret, size_t align, size_t bytes);
	void *(*valloc)(size_t bytes);
	void *(*pvalloc)(size_t bytes);
} next;

static bool ready;		/* `next` is complete */
LOCAL_THREAD bool resolving;	/* this thread is looking up the functions of `next` */

/*
 * dlsym() allocates from this while the allocator is looked up. The memory is never freed. The size
 * of an object is stored before it.
 */
static char early[8192] __attribute__((aligned(16)));
static size_t early_used;

static bool is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early < sizeof(early);
}

static void *early_alloc(size_t bytes)
{
	size_t room = (bytes + 31) & ~(size_t)15, at;

	if (bytes > sizeof(early))
		return NULL;
	at = __atomic_fetch_add(&early_used, room, __ATOMIC_RELAXED);
	if (at + room > sizeof(early))
		return NULL;
	memcpy(early + at, &bytes, sizeof(bytes));
	return early + at + 16;
}

static bool resolve(void)
{
	int saved = errno;

	if (resolving)
		return false;
	resolving = true;
#define NEXT(name) *(void **)&next.name = dlsym(RTLD_NEXT, #name)
	NEXT(malloc);
	NEXT(calloc);
	NEXT(realloc);
	NEXT(free);
	NEXT(memalign);
	NEXT(aligned_alloc);
	NEXT(posix_memalign);
	NEXT(valloc);
	NEXT(pvalloc);
	resolving = false;
	__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	errno = saved;
	return true;
}

/* Returns whether the allocator's functions are known. False: the thread is inside dlsym(). */
static inline bool is_ready(void)
{
	return likely(__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) || resolve();
}

/* ---- the shared memory ---- */

/* `slot` of a thread without a chunk: looks like the end of a chunk. Nothing is written there. */
#define PARKED ((struct heap_share_record *)(uintptr_t)(HEAP_CHUNK_RECORDS * 32))

static const uint64_t unknown;
/*
 * Points to the process's epoch: 0 until begin_process(), then a number that differs from the
 * parent's if this is a child of fork().
 */
static const uint64_t *process = &unknown;
static uint64_t last_epoch;
static struct heap_share_head *head;
static char *chunks;
static unsigned int chunk_cnt;
static bool counts_cycles, takes_stacks;
static uint32_t stacks_every;
static uint64_t stacks_min;
static enum { UNTRIED, OPENING, OPEN, OFF } state;
static bool was_called;		/* this library's functions have been called */

/* mean bytes between samples; 0: record all allocations; 1: unknown, before the first allocation */
static uint64_t sample_mean = 1;
/* the live samples, which fork() clears in the child; NULL: no sampling */
static struct heap_samples *samples;

/* the pid namespace is not the recorder's: events are only counted, as lost */
static bool only_counts;

LOCAL_THREAD struct {
	uint64_t epoch;
	struct heap_share_record *slot;	/* the next slot */
	/* queried once, because the call may be forbidden later, and vfork() changes the tid */
	uint32_t tid;
	uint32_t allocs, stacks;	/* allocs: counter for stacks_every */
	unsigned int lose;	/* number of events to lose before the next search for a chunk */
	uintptr_t hiding_at;	/* frame of the function whose inner calls are not recorded */
	uintptr_t new_at;	/* frame of the current C++ operator new */
	/* caller of operator new; 0: none is active, or it has called malloc */
	uint64_t new_caller;
	size_t new_bytes; /* requested bytes of operator new, if it may round them up; else 0 */
	bool hid;		/* an inner call was not recorded */
	int64_t left;		/* bytes to the next sample */
	uint64_t random;
} mine = { .slot = PARKED };

#define HIDDEN (1ULL << 63)	/* bit of an epoch, which then differs from the process's */
#define SIGNAL_FRAME_MIN 1024	/* stack bytes: an allocator's inner calls use less */
#define LOSE_AT_ONCE 64		/* a search through all chunks costs as much as this many events */

/*
 * Returns whether the process is in another pid namespace than the recorder, with other thread ids.
 */
static bool is_other_namespace(uint64_t pid_ns)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino != pid_ns;
}

/* Returns whether the address space is limited. If so, leaves all of it to the workload. */
static bool is_limited(int fd)
{
	struct heap_share_head *h;
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return false;
	h = mmap(NULL, HEAP_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h != MAP_FAILED) {
		__atomic_fetch_add(&h->limited_cnt, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&h->began_cnt, 1, __ATOMIC_RELAXED);
		munmap(h, HEAP_CHUNK_BYTES);
	}
	return true;
}

static bool map_share(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct heap_share_head *h = MAP_FAILED;
	struct stat st;
	char *at;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_size > HEAP_SHARE_HEAD_BYTES && !is_limited(fd)) {
		/* a slot's address determines its chunk: chunks must be aligned */
		at = mmap(NULL, (size_t)st.st_size + HEAP_CHUNK_BYTES, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (at != MAP_FAILED) {
			at += -(uintptr_t)at % HEAP_CHUNK_BYTES;
			h = mmap(at, (size_t)st.st_size, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_FIXED, fd, 0);
		}
	}
	close(fd);
	if (h == MAP_FAILED)
		return false;
	chunk_cnt = h->chunk_cnt;
	if (h->magic != HEAP_SHARE_MAGIC || chunk_cnt > HEAP_CHUNKS_MAX ||
	    HEAP_SHARE_HEAD_BYTES + (uint64_t)chunk_cnt * HEAP_CHUNK_BYTES > (uint64_t)st.st_size)
		return false;
	(void)madvise(h, (size_t)st.st_size, MADV_DONTDUMP);
	head = h;
	counts_cycles = h->counts_cycles;
	stacks_every = h->stacks_every;
	stacks_min = h->stacks_min;
	takes_stacks = stacks_every || stacks_min;
	sample_mean = h->sample_mean > HEAP_SAMPLE_MAX ? HEAP_SAMPLE_MAX : h->sample_mean;
	chunks = (char *)h + HEAP_SHARE_HEAD_BYTES;
	return true;
}

static bool open_share(void)
{
	const char *path = getenv(HEAP_SHARE_ENV);
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), bytes = page_bytes;
	char *page;

	if (!path || !map_share(path))
		return false;
	if (sample_mean)
		bytes += sizeof(*samples);
	page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (page == MAP_FAILED || madvise(page, bytes, MADV_WIPEONFORK))
		return false;
	if (sample_mean)
		samples = (void *)(page + page_bytes);
	process = (void *)page;
	return true;
}

/* Handles the first event of a process or a forked child. False: it is not recorded. */
static bool begin_process(void)
{
	__typeof__(state) was = UNTRIED;

	/* environ NULL: libc is not initialized yet */
	if (state == OFF || (state == UNTRIED && !environ))
		return false;
	if (state != OPEN) {
		/*
		 * another thread is opening the memory, or this is a signal handler during the
		 * opening
		 */
		if (!__atomic_compare_exchange_n(&state, &was, OPENING, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			return false;
		was = open_share() ? OPEN : OFF;
	}
	if (was != OFF && is_other_namespace(head->pid_ns)) {
		only_counts = true;
		__atomic_fetch_add(&head->namespace_cnt, 1, __ATOMIC_RELAXED);
		was = OFF;
	}
	if (was == OFF) {
		sample_mean = 0;
		state = OFF;
		return false;
	}
	if (was == OPEN && !head->off)
		__atomic_fetch_add(&head->began_cnt, 1, __ATOMIC_RELAXED);
	mine.tid = (uint32_t)syscall(SYS_gettid);
	*(uint64_t *)(uintptr_t)process = ++last_epoch;
	__atomic_store_n(&state, OPEN, __ATOMIC_RELEASE);
	return true;
}

/*
 * Claims a chunk for this thread and returns its first slot. NULL: no chunk is unused. *ret_guest:
 * the thread must return the chunk with HEAP_SHARE_LEAVE after this event.
 */
static struct heap_share_record *claim_chunk(bool *ret_guest)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint32_t i, none;

	while (!__atomic_load_n(&head->off, __ATOMIC_RELAXED)) {
		for (i = 0; i < chunk_cnt; i++) {
			none = 0;
			if (__atomic_load_n(&head->owner[i], __ATOMIC_RELAXED) ||
			    !__atomic_compare_exchange_n(&head->owner[i], &none, mine.tid, false,
							 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
				continue;
			*ret_guest = head->waits && i >= chunk_cnt / 2;
			return (void *)(chunks + (size_t)i * HEAP_CHUNK_BYTES);
		}
		/* a killed recorder never frees a chunk */
		if (!head->waits || (kill((pid_t)head->recorder, 0) && errno == ESRCH))
			return NULL;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/*
 * Reserves the next slots with one instruction, so that a signal handler reserves different ones.
 */
static inline struct heap_share_record *take_slots(unsigned int cnt)
{
#ifdef __x86_64__
	uintptr_t at = cnt * sizeof(struct heap_share_record);

	__asm__ volatile("xaddq %0, %1" : "+r"(at), "+m"(mine.slot) : : "memory");
	return (struct heap_share_record *)at;
#else
	return (void *)__atomic_fetch_add((uintptr_t *)&mine.slot,
					  cnt * sizeof(struct heap_share_record), __ATOMIC_RELAXED);
#endif
}

/* Returns the number of slots in the chunk before this one. */
static inline unsigned int place_of(const struct heap_share_record *slot)
{
	return (uintptr_t)slot % HEAP_CHUNK_BYTES / sizeof(*slot);
}

/* Reserves the next slots of the thread's chunk; these may be past its end. NULL: no chunk. */
static inline struct heap_share_record *next_slots(unsigned int cnt, uintptr_t fp)
{
	if (unlikely(mine.epoch != *process) &&
	    (mine.epoch != (*process | HIDDEN) || mine.hiding_at - fp < SIGNAL_FRAME_MIN))
		return NULL;
	return take_slots(cnt);
}

struct instant {
	uint64_t at;		/* 0: not read yet */
	uint64_t cpu;
};

static inline uint64_t cpu_number(void)
{
	int cpu = -1;

#ifdef HAS_RSEQ
	/* C libraries with rseq: the field that sched_getcpu() reads */
	if (likely(&__rseq_size && __rseq_size))
		cpu = *(volatile int *)((char *)__builtin_thread_pointer() + __rseq_offset +
					offsetof(struct rseq, cpu_id));
#endif
	if (unlikely(cpu < 0))
		cpu = sched_getcpu();
	return cpu < 0 ? 0 : (uint64_t)cpu;
}

/*
 * fence: waits for earlier instructions. Later writes need no fence: the processor makes writes
 * visible in order, so other threads see them after the clock was read.
 */
static inline struct instant now(bool fence)
{
	struct timespec t;

#ifdef __x86_64__
	if (likely(counts_cycles)) {
		if (fence)
			__asm__ volatile("lfence" : : : "memory");
		return (struct instant){ __builtin_ia32_rdtsc(), cpu_number() };
	}
#endif
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (struct instant){ (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec,
				 cpu_number() };
}

/* Handles a thread's first event in this process: any chunk that it has is the parent's. */
static void begin_thread(uint64_t hidden)
{
	if (mine.epoch == (*process | hidden))
		return;
	mine.slot = PARKED;
	mine.tid = (uint32_t)syscall(SYS_gettid);
	mine.epoch = *process | hidden;
	if (!sample_mean)
		return;
	mine.random = heap_sample_seed(now(false).at ^ (uint64_t)mine.tid << 40 ^
				       (uintptr_t)&mine << 8);
	mine.left = heap_sample_distance(&mine.random, sample_mean);
}

/*
 * Returns slots in a new chunk. NULL: the event is not recorded; counts it as lost, unless it is an
 * inner call or the recording has ended.
 */
static __attribute__((noinline)) struct heap_share_record *
find_slots(enum heap_share_kind kind, unsigned int cnt, uintptr_t fp, bool *ret_guest)
{
	uint64_t hidden = mine.epoch & HIDDEN;
	struct heap_share_record *slot = NULL;
	int saved = errno;

	was_called = true;
	if (hidden && mine.hiding_at - fp < SIGNAL_FRAME_MIN) {
		mine.hid = true;
		return NULL;
	}
	mine.slot = PARKED;
	if (*process || begin_process()) {
		begin_thread(hidden);
		slot = mine.lose ? NULL : claim_chunk(ret_guest);
		mine.lose = slot ? 0 : mine.lose ? mine.lose - 1 : LOSE_AT_ONCE;
		if (slot && !*ret_guest)
			mine.slot = slot + cnt;
		else if (!slot && !head->off)
			__atomic_fetch_add(&head->lost[kind], 1, __ATOMIC_RELAXED);
	} else if (only_counts && !head->off) {
		__atomic_fetch_add(&head->lost[kind], 1, __ATOMIC_RELAXED);
	}
	errno = saved;
	return slot;
}

static inline void write_record(struct heap_share_record *slot, unsigned int kind, const void *p,
				size_t bytes, uint64_t caller, struct instant when)
{
	slot->at = when.at;
	slot->addr = (uint64_t)(uintptr_t)p;
	slot->site_kind = caller << 8 | kind;
	slot->bytes_cpu = (uint64_t)bytes << 16 | (when.cpu + 1);
}

static inline __attribute__((always_inline)) void
put(enum heap_share_kind kind, const void *p, size_t bytes, uint64_t caller, struct instant when)
{
	uintptr_t fp = (uintptr_t)__builtin_frame_address(0);
	struct heap_share_record *slot = next_slots(1, fp);
	bool is_guest = false;

	if (unlikely(place_of(slot) >= HEAP_CHUNK_RECORDS || !slot)) {
		slot = find_slots(kind, 1, fp, &is_guest);
		if (!slot)
			return;
	}
	if (!when.at)
		when = now(kind == HEAP_SHARE_ALLOC);
	write_record(slot, kind, p, bytes, caller, when);
	if (unlikely(is_guest))
		write_record(slot + 1, HEAP_SHARE_LEAVE, "", 0, 0, when);
}

/* ---- samples ---- */

static void count_lost_sample(void)
{
	if (!head->off)
		__atomic_fetch_add(&head->lost[HEAP_SHARE_ALLOC], 1, __ATOMIC_RELAXED);
}

/* Handles an allocation that is a sample, or the first one of a thread in this process. */
static __attribute__((noinline)) bool find_sample(const void *p, size_t bytes, uintptr_t fp)
{
	uint64_t hidden = mine.epoch & HIDDEN;
	int64_t left;
	int saved = errno;

	was_called = true;
	if (hidden && mine.hiding_at - fp < SIGNAL_FRAME_MIN)
		return false;
	if (!*process && !begin_process()) {
		errno = saved;
		return state == OFF; /* OFF: the caller continues, and find_slots() counts a loss */
	}
	begin_thread(hidden);
	errno = saved;
	if (!sample_mean)
		return true;
	/* read again: a signal handler may have drawn a new distance, which is equally valid */
	left = mine.left - (int64_t)bytes;
	mine.left = left;
	if (left > 0)
		return false;
	mine.left = heap_sample_distance(&mine.random, sample_mean);
	if (heap_sample_add(samples, (uintptr_t)p))
		return true;
	count_lost_sample();
	return false;
}

/* Returns whether an allocation is certainly not a sample; if so, counts its bytes. */
static inline __attribute__((always_inline)) bool is_passed(size_t bytes)
{
	int64_t left = mine.left - (int64_t)bytes;

	if (unlikely(mine.epoch != *process || left <= 0))
		return false;
	mine.left = left;
	return true;
}

/* Returns whether to record an allocation; if so, its free will be recorded, too. */
static inline __attribute__((always_inline)) bool is_sample(const void *p, size_t bytes,
							    uintptr_t fp)
{
	return unlikely(!is_passed(bytes)) && find_sample(p, bytes, fp);
}

static inline __attribute__((always_inline)) bool may_be_sample(const void *p)
{
	return __atomic_load_n(&samples->counters[heap_sample_counter((uintptr_t)p)],
			       __ATOMIC_RELAXED);
}

/*
 * Returns whether to record the free of a block. If so, the block is no longer in the set of
 * samples, so the caller must record the free.
 */
static inline __attribute__((always_inline)) bool ends_sample(const void *p)
{
	if (!sample_mean)
		return true;
	return samples && may_be_sample(p) && heap_sample_remove(samples, (uintptr_t)p);
}

static inline __attribute__((always_inline)) void put_free(const void *p, uint64_t caller)
{
	if (ends_sample(p))
		put(HEAP_SHARE_FREE, p, 0, caller, (struct instant){ 0, 0 });
}

/* malloc and free as the program resolves them: the program may contain another allocator. */
static void *(*volatile const named_malloc)(size_t bytes) = malloc;
static void (*volatile const named_free)(void *p) = free;
static void time_events(void)
{
	mine.epoch = *process;
	head->timed_from = now(true).at;
	for (unsigned int i = 0; i < HEAP_SHARE_TIMED; i++) {
		/* start at the first slot again: only the first pass has cold caches */
		if (!(i % 256))
			mine.slot = (void *)((char *)head + HEAP_SHARE_ASIDE);
		put(HEAP_SHARE_ALLOC + i % 2, "", i, CALLER, (struct instant){ 0, 0 });
	}
	head->timed_to = now(true).at;
	mine.slot = PARKED;
}

/* Runs before main(), when neither other threads nor signal handlers exist. */
static __attribute__((constructor)) void begin(void)
{
	if (*process || state != UNTRIED)
		return;
	state = OPENING;	/* the following allocation is not recorded */
	named_free(named_malloc(1));
	state = UNTRIED;
	if (!begin_process())
		return;
	if (sample_mean)
		begin_thread(0);	/* do this now, because a later vfork() changes the tid */
	else
		time_events();
	if (!was_called) {
		head->own_malloc_pid = (uint32_t)getpid();
		__atomic_fetch_add(&head->own_malloc_cnt, 1, __ATOMIC_RELAXED);
	}
}

/* ---- stacks ---- */

/*
 * Returns whether an address is readable memory. The kernel checks the address: this works in any
 * program.
 */
static bool is_readable(uintptr_t at)
{
	int saved = errno;
	/*
	 * rt_sigprocmask() reads a signal set at the address, then fails because the operation is
	 * invalid
	 */
	bool ret = syscall(SYS_rt_sigprocmask, -1, at & ~(uintptr_t)7, NULL, 8) && errno == EINVAL;

	errno = saved;
	return ret;
}

/*
 * Follows the chain of frame pointers to the callers. The register may have any value in code
 * without frame pointers: each page is checked before it is read, and frames must ascend in limited
 * steps.
 */
static unsigned int walk(uint64_t frames[HEAP_SHARE_FRAMES], uint64_t caller, uintptr_t fp)
{
	const uintptr_t page = 4096, far = 1u << 20;
	/* the page with this function's frame is readable */
	uintptr_t asked = (uintptr_t)__builtin_frame_address(0) / page, up;
	unsigned int cnt = 0;

	frames[cnt++] = caller;
	/* fp begins at the frame of this library's function */
	while (cnt < HEAP_SHARE_FRAMES && fp && !(fp % 8) && fp % page < page - 8) {
		if (fp / page != asked && !is_readable(fp))
			break;
		asked = fp / page;
		up = ((const uintptr_t *)fp)[0];
		if (cnt > 1 || ((const uint64_t *)fp)[1] != caller)
			frames[cnt++] = ((const uint64_t *)fp)[1];
		if (frames[cnt - 1] < page || up <= fp || up - fp > far)
			break;
		fp = up;
	}
	return frames[cnt - 1] < page ? cnt - 1 : cnt;
}

static bool wants_stack(size_t bytes)
{
	return stacks_every ? mine.allocs++ % stacks_every == 0 : bytes >= stacks_min;
}

/* Records an allocation with its stack. */
static __attribute__((noinline)) void put_stack(const void *p, size_t bytes, uint64_t caller,
						uintptr_t fp)
{
	struct instant when = now(true);
	struct heap_share_record *slot;
	uint64_t frames[HEAP_SHARE_FRAMES], took;
	unsigned int cnt = walk(frames, caller, fp), slots = (cnt + 3) / 4, place;
	bool is_guest = false;

	while (cnt % 4)
		frames[cnt++] = 1;
	slot = next_slots(1 + slots, fp);
	place = place_of(slot);
	if (place + 1 + slots > HEAP_CHUNK_RECORDS || !slot) {
		for (; slot && place < HEAP_CHUNK_RECORDS; place++)
			write_record(slot++, HEAP_SHARE_REST, "", 0, 0, when);
		slot = find_slots(HEAP_SHARE_ALLOC, 1 + slots, fp, &is_guest);
		if (!slot)
			return;
	}
	write_record(slot, HEAP_SHARE_STACK + slots, p, bytes, caller, when);
	memcpy(slot + 1, frames, cnt * sizeof(frames[0]));
	if (is_guest)
		write_record(slot + 1 + slots, HEAP_SHARE_LEAVE, "", 0, 0, when);
	/* measure only one in 64 stacks, so that measuring costs little */
	if (mine.stacks++ % 64 == 63) {
		took = now(false).at - when.at;
		if (took < HEAP_SHARE_TOOK_MAX) {
			__atomic_fetch_add(&head->stack_time, took, __ATOMIC_RELAXED);
			__atomic_fetch_add(&head->stacks_timed, 1, __ATOMIC_RELAXED);
		}
	}
}

static inline __attribute__((always_inline)) void *allocated(void *p, size_t bytes, uint64_t caller)
{
	uintptr_t fp = (uintptr_t)__builtin_frame_address(0);

	if (unlikely(mine.new_caller) && mine.new_at - fp < SIGNAL_FRAME_MIN) {
		caller = mine.new_caller;
		fp = mine.new_at;
		bytes = mine.new_bytes ? mine.new_bytes : bytes;
		mine.new_caller = 0;
	}
	if (sample_mean && (!p || !is_sample(p, bytes, fp)))
		return p;
	if (unlikely(takes_stacks) && p && wants_stack(bytes))
		put_stack(p, bytes, caller, fp);
	else if (likely(p != NULL))
		put(HEAP_SHARE_ALLOC, p, bytes, caller, (struct instant){ 0, 0 });
	return p;
}

/*
 * Prevents recording of the allocator's inner calls during `call`, but not of calls in a signal
 * handler.
 */
#define HIDING(call) ({ \
	uint64_t epoch_ = mine.epoch; \
	uintptr_t hiding_at_ = mine.hiding_at; \
	mine.hiding_at = (uintptr_t)__builtin_frame_address(0); \
	mine.epoch = epoch_ | HIDDEN; \
	__typeof__(call) ret_ = (call); \
	mine.epoch = epoch_; \
	mine.hiding_at = hiding_at_; \
	ret_; \
})

/* ---- the functions ---- */

/*
 * malloc_rest() and free_rest() have the uncommon parts of malloc and free, so that malloc and free
 * need no frame for a call that is not a sample. They are entered by a jump, so their frame is the
 * frame of malloc or free.
 */
static __attribute__((noinline)) void *malloc_rest(size_t bytes, uint64_t caller)
{
	if (unlikely(!is_ready()))
		return early_alloc(bytes);
	return allocated(next.malloc(bytes), bytes, caller);
}

WRAPS void *malloc(size_t bytes)
{
	if (samples && likely(!mine.new_caller && is_passed(bytes)))
		return next.malloc(bytes);
	return malloc_rest(bytes, CALLER);
}

WRAPS void *calloc(size_t cnt, size_t bytes)
{
	size_t all;

	if (unlikely(!is_ready()))
		return __builtin_mul_overflow(cnt, bytes, &all) ? NULL : early_alloc(all);
	return allocated(HIDING(next.calloc(cnt, bytes)), cnt * bytes, CALLER);
}

static __attribute__((noinline)) void free_rest(void *p, uint64_t caller)
{
	if (!p || unlikely(is_early(p)) || unlikely(!is_ready()))
		return;
	put_free(p, caller);
	next.free(p);
}

WRAPS void free(void *p)
{
	if (samples && likely(!may_be_sample(p)) && likely(!is_early(p)))
		next.free(p);
	else
		free_rest(p, CALLER);
}

static void *change_early(void *p, size_t bytes, uint64_t caller)
{
	void *to = is_ready() ? allocated(next.malloc(bytes), bytes, caller) : early_alloc(bytes);
	size_t old = 0;

	if (p && to) {
		memcpy(&old, (char *)p - 16, sizeof(old));
		memcpy(to, p, old < bytes ? old : bytes);
	}
	return to;
}

/*
 * Use this before a realloc of p: reads the time for the free of p, because another thread may get
 * the address at once.
 */
#define BEFORE_CHANGE(p) \
	bool ends_ = (p) && ends_sample(p); \
	struct instant before_ = { 0, 0 }; \
	if (ends_) \
		before_ = now(false)
#define AFTER_CHANGE(p, to, bytes, caller) \
	if (ends_ && ((to) || !(bytes))) \
		put(HEAP_SHARE_FREE, p, 0, caller, before_); \
	else if (ends_ && sample_mean && !heap_sample_add(samples, (uintptr_t)(p))) \
		count_lost_sample()

/*
 * Reallocates p. Its free is recorded after the call has succeeded, with the time before the call.
 */
static inline __attribute__((always_inline)) void *change(void *p, size_t bytes, uint64_t caller)
{
	if (unlikely(is_early(p) || !is_ready()))
		return change_early(p, bytes, caller);
	if (!p)
		return allocated(next.malloc(bytes), bytes, caller);
	BEFORE_CHANGE(p);
	void *to = HIDING(next.realloc(p, bytes));

	AFTER_CHANGE(p, to, bytes, caller);
	return allocated(to, bytes, caller);
}

WRAPS void *realloc(void *p, size_t bytes)
{
	return change(p, bytes, CALLER);
}

WRAPS void *reallocarray(void *p, size_t cnt, size_t bytes)
{
	size_t all;

	if (__builtin_mul_overflow(cnt, bytes, &all))
		return NO_MEMORY;
	return change(p, all, CALLER);
}

#define WRAP(name, parameters, ...) \
WRAPS void *name parameters \
{ \
	if (!is_ready() || !next.name) \
		return NO_MEMORY; \
	return allocated(HIDING(next.name(__VA_ARGS__)), bytes, CALLER); \
}

WRAP(memalign, (size_t align, size_t bytes), align, bytes)
WRAP(aligned_alloc, (size_t align, size_t bytes), align, bytes)
WRAP(valloc, (size_t bytes), bytes)
WRAP(pvalloc, (size_t bytes), bytes)

WRAPS int posix_memalign(void **ret, size_t align, size_t bytes)
{
	int err;

	if (!is_ready() || !next.posix_memalign)
		return ENOMEM;
	err = HIDING(next.posix_memalign(ret, align, bytes));
	if (!err)
		allocated(*ret, bytes, CALLER);
	return err;
}

/* ---- C++, and other names of allocator functions ---- */

/*
 * Returns the next function of this name after this library; NULL: there is none. Looks it up once.
 */
#define AFTER(name) ({ \
	static __typeof__(&name) found_; \
	static bool tried_; \
	if (unlikely(!__atomic_load_n(&tried_, __ATOMIC_ACQUIRE))) { \
		*(void **)&found_ = dlsym(RTLD_NEXT, #name); \
		__atomic_store_n(&tried_, true, __ATOMIC_RELEASE); \
	} \
	found_; \
})

/*
 * Begins a call of operator new. In most C++ libraries it calls malloc, whose record then has the
 * caller of operator new as its call site. Otherwise new_end() records the allocation. After an
 * exception new_caller remains set, and may be the call site of one later allocation. True: call
 * new_end().
 */
static inline bool new_begin(uint64_t caller, size_t bytes, uintptr_t fp)
{
	if (mine.new_caller && mine.new_at - fp < SIGNAL_FRAME_MIN)
		return false;
	mine.new_at = fp;
	mine.new_caller = caller;
	mine.new_bytes = bytes;
	return true;
}

static inline void new_end(void *p, size_t bytes, uint64_t caller)
{
	if (!mine.new_caller)
		return;
	mine.new_caller = 0;
	allocated(p, bytes, caller);
}

/*
 * Replaces operator new if there is no visible C++ library, for example if only a plugin has one.
 */
static void *new_without(size_t bytes, size_t align, bool throws)
{
	void *p = !is_ready() ? NULL : align ? next.aligned_alloc(align, bytes) :
					       next.malloc(bytes ? bytes : 1);

	if (!p && throws)
		__builtin_trap();	/* bad_alloc cannot be thrown here */
	return p;
}

#define NEW(name, parameters, align, throws, ...) \
WRAPS void *name parameters; \
WRAPS void *name parameters \
{ \
	__typeof__(&name) after = AFTER(name); \
	bool is_outer = new_begin(CALLER, (align) ? bytes : 0, \
				  (uintptr_t)__builtin_frame_address(0)); \
	void *p = after ? after(__VA_ARGS__) : new_without(bytes, align, throws); \
	if (is_outer) \
		new_end(p, bytes, CALLER); \
	return p; \
}
#define NEWS(name) \
NEW(name, (size_t bytes), 0, true, bytes) \
NEW(name##RKSt9nothrow_t, (size_t bytes, const void *tag), 0, false, bytes, tag) \
NEW(name##St11align_val_t, (size_t bytes, size_t align), align, true, bytes, align) \
NEW(name##St11align_val_tRKSt9nothrow_t, (size_t bytes, size_t align, const void *tag), align, \
    false, bytes, align, tag)

NEWS(_Znwm)
NEWS(_Znam)

static bool delete_is_free;	/* operator delete calls free(), which records the free */

#define DELETE(name, parameters, ...) \
WRAPS void name parameters; \
WRAPS void name parameters \
{ \
	__typeof__(&name) after = AFTER(name); \
	if (unlikely(!after)) \
		free(p); \
	if (!after || delete_is_free || !p || sample_mean) { \
		if (after && p && !delete_is_free) \
			put_free(p, CALLER); \
		if (after) \
			after(__VA_ARGS__); \
		return; \
	} \
	put_free(p, CALLER); \
	mine.hid = false; \
	(void)HIDING((after(__VA_ARGS__), 0)); \
	if (mine.hid) \
		delete_is_free = true; \
}
#define DELETES(name) \
DELETE(name, (void *p), p) \
DELETE(name##m, (void *p, size_t bytes), p, bytes) \
DELETE(name##RKSt9nothrow_t, (void *p, const void *tag), p, tag) \
DELETE(name##St11align_val_t, (void *p, size_t align), p, align) \
DELETE(name##mSt11align_val_t, (void *p, size_t bytes, size_t align), p, bytes, align) \
DELETE(name##St11align_val_tRKSt9nothrow_t, (void *p, size_t align, const void *tag), p, align, tag)

DELETES(_ZdlPv)
DELETES(_ZdaPv)

/* Wraps a function of another allocator, such as je_malloc. Without it, calls `otherwise`. */
#define ALLOCATES(name, parameters, bytes, otherwise, ...) \
WRAPS void *name parameters; \
WRAPS void *name parameters \
{ \
	__typeof__(&name) after = AFTER(name); \
	return after ? allocated(HIDING(after(__VA_ARGS__)), bytes, CALLER) : otherwise; \
}
#define REALLOCATES(name, parameters, ...) \
WRAPS void *name parameters; \
WRAPS void *name parameters \
{ \
	__typeof__(&name) after = AFTER(name); \
	if (!after) \
		return realloc(p, bytes); \
	BEFORE_CHANGE(p); \
	void *to = HIDING(after(__VA_ARGS__)); \
	AFTER_CHANGE(p, to, bytes, CALLER); \
	return allocated(to, bytes, CALLER); \
}
#define FREES(name, parameters, ...) \
WRAPS void name parameters; \
WRAPS void name parameters \
{ \
	__typeof__(&name) after = AFTER(name); \
	if (!after) { \
		free(p); \
		return; \
	} \
	if (p) \
		put_free(p, CALLER); \
	(void)HIDING((after(__VA_ARGS__), 0)); \
}
#define ALLOCATOR(prefix) \
ALLOCATES(prefix##malloc, (size_t bytes), bytes, malloc(bytes), bytes) \
ALLOCATES(prefix##calloc, (size_t cnt, size_t each), cnt * each, calloc(cnt, each), cnt, each) \
REALLOCATES(prefix##realloc, (void *p, size_t bytes), p, bytes) \
FREES(prefix##free, (void *p), p)

ALLOCATOR(je_)
ALLOCATOR(mi_)
ALLOCATOR(tc_)

#define MALLOCX_ALIGN(flags) ((size_t)1 << ((flags) & 63))
#define MALLOCX_ZERO 0x40

static void *mallocx_without(size_t bytes, int flags)
{
	size_t align = MALLOCX_ALIGN(flags);
	void *p = align > 16 ? aligned_alloc(align, bytes) :
		  flags & MALLOCX_ZERO ? calloc(1, bytes) : malloc(bytes);

	return p && flags & MALLOCX_ZERO ? memset(p, 0, bytes) : p;
}

ALLOCATES(mallocx, (size_t bytes, int flags), bytes, mallocx_without(bytes, flags), bytes, flags)
REALLOCATES(rallocx, (void *p, size_t bytes, int flags), p, bytes, flags)
FREES(dallocx, (void *p, int flags), p, flags)
FREES(sdallocx, (void *p, size_t bytes, int flags), p, bytes, flags)

/* ---- libraries that see another allocator ---- */

/*
 * Counts a library that uses the C library's functions instead of this library's. The wrappers that
 * call this enter the original function by a jump, because dlopen() uses its return address.
 */
static __attribute__((noinline)) void tell_apart(void)
{
	if (!head || head->off)
		return;
	__atomic_fetch_add(&head->apart_cnt, 1, __ATOMIC_RELAXED);
	for (unsigned int kind = HEAP_SHARE_ALLOC; kind < HEAP_SHARE_KINDS; kind++)
		__atomic_fetch_add(&head->lost[kind], 1, __ATOMIC_RELAXED);
}

WRAPS void *dlopen(const char *file, int flags)
{
	__typeof__(&dlopen) after = AFTER(dlopen);

	if (flags & RTLD_DEEPBIND)
		tell_apart();
	return after(file, flags);
}

WRAPS void *dlmopen(Lmid_t space, const char *file, int flags)
{
	__typeof__(&dlmopen) after = AFTER(dlmopen);

	if (space != LM_ID_BASE)
		tell_apart();
	return after(space, file, flags);
}
