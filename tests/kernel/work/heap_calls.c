/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_calls WHAT [COUNT]: allocates by every function, with sizes that no other code uses, and
 * prints the counts that a recording must have for each: size=allocations,frees,pid.
 *
 * Compiled with LIBRARY, it is an allocator that may be called anywhere, also in a signal handler
 * that interrupted it: it never reuses memory. The C library's allocator may not.
 */
#include "truth.h"

#ifdef LIBRARY

#define ROOM (1ull << 32)

static char *begin;
static size_t used;

void *malloc(size_t bytes)
{
	size_t at;
	char *p;

	if (!__atomic_load_n(&begin, __ATOMIC_ACQUIRE)) {
		p = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		__atomic_store_n(&begin, p, __ATOMIC_RELEASE);
	}
	at = __atomic_fetch_add(&used, ((bytes + 15) & ~(size_t)15) + 16, __ATOMIC_RELAXED);
	memcpy(begin + at, &bytes, sizeof(bytes));
	return begin + at + 16;
}

void free(void *p)
{
}

void *calloc(size_t cnt, size_t bytes)
{
	return malloc(cnt * bytes);
}

void *realloc(void *p, size_t bytes)
{
	void *to = malloc(bytes);
	size_t old;

	if (p) {
		memcpy(&old, (char *)p - 16, sizeof(old));
		memcpy(to, p, old < bytes ? old : bytes);
	}
	return to;
}

#else

#include <malloc.h>
#include <sys/time.h>
#ifdef __GLIBC__
#include <linux/filter.h>
#include <linux/seccomp.h>
#endif

#define THREADS 64

#ifndef __GLIBC__	/* musl */
#define pvalloc valloc
#endif

static void say(size_t bytes, long allocs, long frees)
{
	printf("size=%zu,%ld,%ld,%d\n", bytes, allocs, frees, (int)getpid());
	fflush(stdout);
}

/* The compiler is not to know it, because no allocation could have it. */
static volatile size_t too_much = PTRDIFF_MAX;

static void *need(void *p)
{
	if (!p)
		truth_fail("an allocation");
	*(volatile char *)p = 1;
	return p;
}

static void give(size_t bytes, long cnt, void *(*take)(size_t bytes))
{
	long i;

	for (i = 0; i < cnt; i++)
		free(need(take(bytes)));
	need(take(bytes));
	say(bytes, cnt + 1, cnt);
}

static void *take_calloc(size_t bytes)
{
	return calloc(7, bytes / 7);
}

static void *take_memalign(size_t bytes)
{
	return memalign(64, bytes);
}

static void *take_aligned(size_t bytes)
{
	return aligned_alloc(256, bytes);
}

static void *take_posix(size_t bytes)
{
	void *p;

	return posix_memalign(&p, 4096, bytes) ? NULL : p;
}

static void *take_realloc(size_t bytes)
{
	return realloc(NULL, bytes);
}

/* Grows and shrinks a block, whose old size is freed each time. */
static void reallocs(long cnt)
{
	long i, moved = 0, in_place = 0;
	char *p, *q, *wall;

	for (i = 0; i < cnt; i++) {
		p = need(malloc(50021));
		wall = need(malloc(50023));	/* so that p cannot grow in place */
		q = need(realloc(p, 100003));
		moved += q != p;
		p = need(realloc(q, 90001));	/* shrinks in place */
		in_place += q == p;
		p = need(reallocarray(p, 3, 10009));
		free(p);
		free(wall);
	}
	if (!moved || !in_place)
		truth_fail("both ways of realloc");
	say(50021, cnt, cnt);
	say(50023, cnt, cnt);
	say(100003, cnt, cnt);
	say(90001, cnt, cnt);
	say(30027, cnt, cnt);
	/* a failed call changes nothing */
	p = need(malloc(50033));
	if (realloc(p, too_much) || reallocarray(p, too_much, 4) || malloc(too_much))
		truth_fail("failures of realloc");
	say(50033, 1, 0);
	/* glibc frees */
	p = need(malloc(50051));
	if (!realloc(p, 0))
		say(50051, 1, 1);
}

static void kinds(long cnt)
{
	char text[50101];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	give(50003, cnt, malloc);
	give(50008, cnt, take_calloc);
	give(50017, cnt, take_memalign);
	give(50176, cnt, take_aligned);
	give(50047, cnt, take_posix);
	give(50053, cnt, valloc);
	give(50061, cnt, pvalloc);
	give(50069, cnt, take_realloc);
	need(strdup(text));
	say(50101, 1, 0);
	reallocs(cnt);
}

static void *thread_main(void *arg)
{
	long cnt = *(long *)arg, i;
	void *last = NULL;

	for (i = 0; i < cnt; i++) {
		free(last);
		last = need(malloc(50111));
	}
	return last;	/* another thread frees it */
}

static void threads(long cnt)
{
	pthread_t t[THREADS];
	void *p;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, thread_main, &cnt))
			truth_fail("pthread_create");
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &p);
		if (i)
			free(p);
	}
	say(50111, THREADS * cnt, THREADS * cnt - 1);
}

/* A child that never calls exec frees blocks that its parent allocated, and others. */
static void forks(long cnt)
{
	void *p = need(malloc(50119));
	pid_t pid = fork();

	if (!pid) {
		free(p);
		give(50123, cnt, malloc);
		exit(0);
	}
	waitpid(pid, NULL, 0);
	give(50129, cnt, malloc);
}

static volatile long handled, changed, between;
static volatile bool inside;	/* calloc or realloc */

static void on_timer(int sig)
{
	free(need(malloc(50131)));
	if (handled++ % 8 == 0) {	/* copies of all of it would need gigabytes */
		free(need(realloc(calloc(3, 16741), 50231)));
		changed++;
	}
	between += inside;
}

/* Needs the allocator that this file is as a library, whose functions call each other by name. */
static void signals(long cnt)
{
	const struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	long i, others = 0;
	void *p;

	signal(SIGALRM, on_timer);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; i < cnt || handled < 100 || between < 50; i++) {
		free(need(malloc(50137)));
		if (i % 16)
			continue;
		inside = true;
		p = calloc(11, 4561);
		free(need(realloc(p, 50207)));
		inside = false;
		others++;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	say(50131, handled, handled);
	say(50223, changed, changed);
	say(50231, changed, changed);
	say(50137, i, i);
	say(50171, others, others);
	say(50207, others, others);
}

/* Sets the frame pointer to fp, like code that uses its register otherwise: callers are unknown. */
#ifdef __x86_64__
static void *malloc_below(size_t bytes, uintptr_t fp)
{
	void *p = malloc;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "push %%rbp\n\t"
			 "mov %%rsp, %%r12\n\t"
			 "and $-16, %%rsp\n\t"
			 "mov %%rsi, %%rbp\n\t"
			 "call *%%rax\n\t"
			 "mov %%r12, %%rsp\n\t"
			 "pop %%rbp\n\t"
			 "lea 128(%%rsp), %%rsp"
			 : "+a"(p), "+D"(bytes), "+S"(fp)
			 :
			 : "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "memory", "cc");
	return p;
}
#else
static void *malloc_below(size_t bytes, uintptr_t fp)
{
	return malloc(bytes);
}
#endif

static void frames(long cnt)
{
	char *none = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t loop[2] = { (uintptr_t)loop, (uintptr_t)frames }, at = (uintptr_t)none;
	const uintptr_t bad[] = { 0, 1, 8, (uintptr_t)-8, (uintptr_t)-4096, 0xdeadbeef000,
				  1ul << 63, at, at + 4096, at + 4096 - 8, at + 4096 - 16,
				  (uintptr_t)loop };
	long i, j, all = sizeof(bad) / sizeof(bad[0]);

	((uintptr_t *)none)[0] = at + 4096;	/* a frame whose caller's frame cannot be read */
	((uintptr_t *)none)[1] = (uintptr_t)frames;
	mprotect(none + 4096, 4096, PROT_NONE);
	for (i = 0; i < cnt; i++)
		for (j = 0; j < all; j++)
			free(need(malloc_below(50153, bad[j])));
	say(50153, cnt * all, cnt * all);
}

#ifdef __GLIBC__
static void *live_main(void *arg)
{
	long cnt = *(long *)arg, i;
	char *p, *q = NULL;

	for (i = 0; i < cnt; i++) {
		p = need(i % 7 ? malloc((size_t)(i * 37 % 3000)) : calloc(3, (size_t)(i % 500)));
		if (i % 3 == 1)
			p = need(realloc(p, (size_t)(i * 53 % 5000 + 1)));
		if (i % 100 == 2)
			p = need(memalign(256, 1000));
		if (i % 3)
			continue;
		free(q);
		q = p;
	}
	return need(malloc(1000003));	/* mapped for itself */
}

/* Prints the bytes that the C library itself has allocated, and ends. It keeps no freed memory. */
static void live(long cnt)
{
	struct mallinfo2 m;
	pthread_t t;

	live_main(&cnt);
	if (pthread_create(&t, NULL, live_main, &cnt))
		truth_fail("pthread_create");
	pthread_join(t, NULL);
	printf("pid=%d\n", (int)getpid());	/* the stream has its buffer */
	m = mallinfo2();
	printf("live=%zu\nmapped=%zu\n", m.uordblks, m.hblkhd);
	fflush(stdout);
	_exit(0);
}
#endif

/* The library must not need any descriptor. */
static void closed(long cnt)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	give(50247, cnt, malloc);
}

/* A child that shares its parent's memory until it ends. */
static void vforks(long cnt)
{
	volatile long i;

	for (i = 0; i < cnt; i++) {
		pid_t pid = vfork();

		if (!pid) {
			free(need(malloc(50251)));
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	say(50251, cnt, cnt);
}

static void *short_main(void *arg)
{
	return need(malloc(50261));
}

/* Threads that end at once, one after the other. */
static void short_lived(long cnt)
{
	pthread_t t;
	void *p;
	long i;

	for (i = 0; i < cnt; i++) {
		if (pthread_create(&t, NULL, short_main, NULL))
			truth_fail("pthread_create");
		pthread_join(t, &p);
		free(p);
	}
	say(50261, cnt, cnt);
}

/* A process that may make no other call than to write and to end. */
static void sandboxed(long cnt)
{
#ifdef __GLIBC__
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	int pid = (int)getpid();
	long i;

	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	puts("sandboxed");	/* the stream has its buffer */
	free(need(malloc(100000)));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		truth_fail("seccomp");
	for (i = 0; i < cnt; i++)
		free(need(malloc(50263)));
	printf("size=50263,%ld,%ld,%d\n", cnt, cnt, pid);
	fflush(stdout);
	_exit(0);
#endif
}

static void killed(long cnt)
{
	give(50147, cnt, malloc);
	kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(long cnt);
	} whats[] = { { "kinds", kinds }, { "threads", threads }, { "forks", forks },
		      { "signals", signals }, { "frames", frames }, { "killed", killed },
		      { "closed", closed }, { "vforks", vforks }, { "short_lived", short_lived },
		      { "sandboxed", sandboxed },
#ifdef __GLIBC__
		      { "live", live },
#endif
		    };

	for (unsigned int i = 0; argc > 1 && i < sizeof(whats) / sizeof(whats[0]); i++) {
		if (strcmp(argv[1], whats[i].name))
			continue;
		whats[i].run(truth_arg(argc, argv, 2, 1000));
		return 0;
	}
	truth_fail("what to do");
}

#endif
