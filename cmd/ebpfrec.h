/* SPDX-License-Identifier: CC0-1.0 */
/*
 * ebpfrec.h: reports the beginning and end of a program's requests to `ebpfrec record --spans`.
 *
 * For C and C++, with GNU extensions, on Linux. There is no library: include this file. Public
 * domain (CC0-1.0).
 *
 *	ebpfrec_begin("GET", id);	a request begins, and this thread works for it
 *	ebpfrec_step("parse");		a step of this thread's request begins; the prior step ends
 *	ebpfrec_attach(id);		this thread works for request id from now on; 0: no request
 *	ebpfrec_end(id);		the request ends, on any thread
 *	ebpfrec_fail(id);		the request ends with an error
 *
 * id: any number other than 0 that no other open request of the process uses. Names are cut to 48
 * bytes.
 *
 * Without a recorder, a call costs a load and a branch. With a recorder, a call writes an event
 * into shared memory. It makes system calls only for the first event of a process and of a thread,
 * and once per some hundred events. All functions may be called by any thread, in signal handlers,
 * and after fork(). They preserve errno.
 */
#ifndef EBPFREC_H
#define EBPFREC_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Layout of the shared memory (src/preload/heap_share.h). It must not change, since compiled
 * programs contain it.
 */
#define EBPFREC_MAGIC_ 0x3170616568626165ULL
#define EBPFREC_CHUNK_ 16384u		/* bytes of a chunk; a thread owns one chunk at a time */
#define EBPFREC_RECORDS_ 448u		/* slots per chunk */
#define EBPFREC_OWNERS_ 128u		/* offset of the array of chunk owners (TIDs) in the head */
#define EBPFREC_CHUNKS_MAX_ 8192u
#define EBPFREC_KIND_REST_ 3u
#define EBPFREC_KIND_SPAN_ 64u		/* plus the number of slots that hold the name */
#define EBPFREC_NAME_ 48u
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct ebpfrec_head_ {
	uint64_t magic, pid_ns;
	uint32_t chunk_cnt, waits, off, counts_cycles;
	uint32_t others[8];
	uint64_t lost;			/* number of lost events of requests */
};

struct ebpfrec_slot_ {
	uint64_t at, id, kind, cpu;	/* each is 0 until it is written */
};

struct ebpfrec_process_ {
	int state;		/* 0: not opened; 1: open; -1: no recorder; 2: being opened */
	int other_namespace;
	uint64_t last_epoch;
	volatile uint64_t *epoch;	/* 0 in a child after fork() */
	struct ebpfrec_head_ *head;
	char *chunks;
};

struct ebpfrec_thread_ {
	uint64_t epoch;
	uintptr_t slot;			/* address of the next slot */
	uint32_t tid, lose;
};

/* Shared by all files of a program or library that include this header. */
__attribute__((weak, visibility("hidden"))) struct ebpfrec_process_ ebpfrec_process;
__attribute__((weak, visibility("hidden"))) __thread struct ebpfrec_thread_ ebpfrec_thread;

/* Maps the shared memory. Returns the new state: 1 or -1. */
static __attribute__((unused, noinline)) int ebpfrec_open_(void)
{
	struct ebpfrec_process_ *p = &ebpfrec_process;
	const char *path = getenv("EBPFREC_SPANS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 0;
	void *share = MAP_FAILED, *epoch = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && st.st_size > 3 * (off_t)EBPFREC_CHUNK_) {
		bytes = (size_t)st.st_size;
		/* a slot's index is computed from its address, so chunks must be aligned */
		share = mmap(NULL, bytes + EBPFREC_CHUNK_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
		if (share != MAP_FAILED)
			share = mmap((char *)share + (0 - (uintptr_t)share) % EBPFREC_CHUNK_, bytes,
				     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
		epoch = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	}
	close(fd);
	if (share == MAP_FAILED || epoch == MAP_FAILED || madvise(epoch, page, MADV_WIPEONFORK))
		return -1;
	p->head = (struct ebpfrec_head_ *)share;
	p->chunks = (char *)share + 3 * EBPFREC_CHUNK_;
	if (p->head->magic != EBPFREC_MAGIC_ || p->head->chunk_cnt > EBPFREC_CHUNKS_MAX_ ||
	    (3 + (uint64_t)p->head->chunk_cnt) * EBPFREC_CHUNK_ > bytes)
		return -1;
	/* TIDs of another PID namespace are of no use to the recorder */
	if (stat("/proc/self/ns/pid", &st) || st.st_ino != p->head->pid_ns)
		p->other_namespace = 1;
	p->epoch = (volatile uint64_t *)epoch;
	return 1;
}

/* Opens the memory, at most once. As a constructor, it runs before other threads exist. */
static __attribute__((constructor)) void ebpfrec_start_(void)
{
	int untried = 0, saved = errno;

	if (__atomic_compare_exchange_n(&ebpfrec_process.state, &untried, 2, 0, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		__atomic_store_n(&ebpfrec_process.state, ebpfrec_open_(), __ATOMIC_RELEASE);
	errno = saved;
}

/* Claims a chunk for this thread. Returns the address of its first slot; 0: the event is lost. */
static __attribute__((unused, noinline)) uintptr_t ebpfrec_claim_(void)
{
	struct ebpfrec_process_ *p = &ebpfrec_process;
	struct ebpfrec_thread_ *t = &ebpfrec_thread;
	uint32_t *owner, none, i;
	uintptr_t slot = 0;
	int saved = errno;

	ebpfrec_start_();
	if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != 1)
		goto out;
	if (__atomic_load_n(&p->head->off, __ATOMIC_RELAXED)) {
		__atomic_store_n(&p->state, -1, __ATOMIC_RELEASE);
		goto out;
	}
	if (!*p->epoch)
		*p->epoch = __atomic_add_fetch(&p->last_epoch, 1, __ATOMIC_RELAXED);
	if (t->epoch != *p->epoch) {
		t->tid = (uint32_t)syscall(SYS_gettid);
		t->lose = 0;
	}
	t->epoch = *p->epoch;
	owner = (uint32_t *)((char *)p->head + EBPFREC_OWNERS_);
	for (i = 0; !t->lose && !p->other_namespace && !slot && i < p->head->chunk_cnt; i++) {
		none = 0;
		if (!__atomic_load_n(&owner[i], __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&owner[i], &none, t->tid, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			slot = (uintptr_t)(p->chunks + (size_t)i * EBPFREC_CHUNK_);
	}
	t->lose = slot ? 0 : t->lose ? t->lose - 1 : 64; /* search again after 64 lost events */
	if (!slot)
		__atomic_fetch_add(&p->head->lost, 1, __ATOMIC_RELAXED);
out:
	errno = saved;
	return slot;
}

static inline void ebpfrec_now_(struct ebpfrec_slot_ *slot)
{
	struct timespec t;
	unsigned int cpu = 0;

#ifdef __x86_64__
	if (ebpfrec_process.head->counts_cycles) {
		slot->at = __builtin_ia32_rdtscp(&cpu);
		slot->cpu = (cpu & 0xfff) + 1;
		return;
	}
#endif
#ifdef __USE_GNU
	cpu = (unsigned int)sched_getcpu();
#endif
	clock_gettime(CLOCK_MONOTONIC, &t);
	slot->at = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	slot->cpu = cpu + 1;
}

/* Reserves slots with one instruction, so that a signal handler reserves other slots. */
static inline uintptr_t ebpfrec_take_(uintptr_t bytes)
{
#ifdef __x86_64__
	__asm__ volatile("xaddq %0, %1" : "+r"(bytes), "+m"(ebpfrec_thread.slot) : : "memory");
	return bytes;
#else
	return __atomic_fetch_add(&ebpfrec_thread.slot, bytes, __ATOMIC_RELAXED);
#endif
}

static __attribute__((unused, noinline)) void ebpfrec_write_(unsigned int action, const char *name,
							      uint64_t id)
{
	size_t len = name ? strnlen(name, EBPFREC_NAME_) : 0, more = (len + 31) / 32;
	const struct ebpfrec_process_ *p = &ebpfrec_process;
	struct ebpfrec_slot_ *slot = NULL, when;
	size_t place = EBPFREC_RECORDS_, i;
	uint64_t words[8];

	if (p->epoch && *p->epoch && ebpfrec_thread.epoch == *p->epoch) {
		slot = (struct ebpfrec_slot_ *)ebpfrec_take_((1 + more) * sizeof(*slot));
		place = (uintptr_t)slot % EBPFREC_CHUNK_ / sizeof(*slot);
	}
	if (place + 1 + more > EBPFREC_RECORDS_) {
		for (; slot && place < EBPFREC_RECORDS_; place++, slot++) {
			slot->at = slot->id = slot->cpu = 1;
			slot->kind = EBPFREC_KIND_REST_;
		}
		slot = (struct ebpfrec_slot_ *)ebpfrec_claim_();
		/* without a chunk, the next slot is the end of a chunk, and so is never written */
		ebpfrec_thread.slot = slot ? (uintptr_t)(slot + 1 + more) :
					     EBPFREC_RECORDS_ * sizeof(*slot);
		if (!slot)
			return;
	}
	ebpfrec_now_(&when);
	if (len) {	/* words beyond the name are 1, since 0 means not yet written */
		for (i = 0; i < 8; i++)
			words[i] = i * 8 < len ? 0 : 1;
		memcpy(words, name, len);
		memcpy(slot + 1, words, more * sizeof(*slot));
	}
	slot->at = when.at;
	slot->id = id ? id : 1;
	slot->kind = (uint64_t)!!id << 16 | action << 8 | (EBPFREC_KIND_SPAN_ + more);
	slot->cpu = when.cpu;
}

/* Writes an event, unless there is no recorder (state < 0). */
static inline void ebpfrec_put_(unsigned int action, const char *name, uint64_t id)
{
	if (__builtin_expect(__atomic_load_n(&ebpfrec_process.state, __ATOMIC_RELAXED) >= 0, 0))
		ebpfrec_write_(action, name, id);
}

static inline void ebpfrec_begin(const char *name, uint64_t id)
{
	if (id)
		ebpfrec_put_(1, name, id);
}

static inline void ebpfrec_end(uint64_t id)
{
	if (id)
		ebpfrec_put_(2, NULL, id);
}

static inline void ebpfrec_fail(uint64_t id)
{
	if (id)
		ebpfrec_put_(3, NULL, id);
}

static inline void ebpfrec_step(const char *name)
{
	ebpfrec_put_(4, name, 0);
}

static inline void ebpfrec_attach(uint64_t id)
{
	ebpfrec_put_(5, NULL, id);
}

#endif
