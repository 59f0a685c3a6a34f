/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_allocators COUNT: threads and a forked child call every form of new, delete, malloc and
 * free, by sizes that nothing else asks for, and count. Prints what a recording has to show, one
 * line per process and size: size=bytes,allocations,frees,pid.
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

enum { FIRST = 30027, KINDS = 24, THREADS = 4 };

static std::atomic<long> allocs[KINDS], frees[KINDS];
static void *volatile escape;

/* The kind's own size; an object of each third round is kept. */
template <class Alloc, class Free> static void use(unsigned kind, long cnt, Alloc alloc, Free give)
{
	for (long i = 0; i < cnt; i++) {
		void *p = alloc(FIRST + kind * 16);

		escape = p;
		allocs[kind]++;
		if (i % 3) {
			give(p, FIRST + kind * 16);
			frees[kind]++;
		}
	}
}

#define USE(alloc, give) use(kind++, cnt, [](size_t n) -> void * { return alloc; }, \
			     [](void *p, size_t n) { (void)n; give; })

static void all(long cnt)
{
	const std::align_val_t a{ 64 };
	unsigned kind = 0;

	USE(operator new(n), operator delete(p));
	USE(operator new(n), operator delete(p, n));
	USE(operator new[](n), operator delete[](p));
	USE(operator new[](n), operator delete[](p, n));
	USE(operator new(n, std::nothrow), operator delete(p, std::nothrow));
	USE(operator new[](n, std::nothrow), operator delete[](p, std::nothrow));
	use(kind++, cnt, [a](size_t n) { return operator new(n, a); },
	    [a](void *p, size_t) { operator delete(p, a); });
	use(kind++, cnt, [a](size_t n) { return operator new(n, a); },
	    [a](void *p, size_t n) { operator delete(p, n, a); });
	use(kind++, cnt, [a](size_t n) { return operator new[](n, a); },
	    [a](void *p, size_t) { operator delete[](p, a); });
	use(kind++, cnt, [a](size_t n) { return operator new[](n, a); },
	    [a](void *p, size_t n) { operator delete[](p, n, a); });
	use(kind++, cnt, [a](size_t n) { return operator new(n, a, std::nothrow); },
	    [a](void *p, size_t) { operator delete(p, a, std::nothrow); });
	use(kind++, cnt, [a](size_t n) { return operator new[](n, a, std::nothrow); },
	    [a](void *p, size_t) { operator delete[](p, a, std::nothrow); });
	USE(malloc(n), free(p));
	USE(calloc(1, n), free(p));
	USE(realloc(NULL, n), free(p));
	USE(memalign(64, n), free(p));
	USE(aligned_alloc(64, n), free(p));
	USE(valloc(n), free(p));
	use(kind++, cnt, [](size_t n) {
		void *p = NULL;

		return posix_memalign(&p, 64, n) ? NULL : p;
	}, [](void *p, size_t) { free(p); });
	/* one size becomes the next: the smaller one is freed by it */
	for (long i = 0; i < cnt; i++) {
		void *p = malloc(FIRST + kind * 16);

		escape = p;
		escape = p = realloc(p, FIRST + (kind + 1) * 16);
		allocs[kind]++;
		frees[kind]++;
		allocs[kind + 1]++;
		free(p);
		frees[kind + 1]++;
	}
}

static void print()
{
	for (unsigned i = 0; i < KINDS; i++)
		if (allocs[i])
			printf("size=%u,%ld,%ld,%d\n", FIRST + i * 16, allocs[i].load(),
			       frees[i].load(), getpid());
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long cnt = argc > 1 ? atol(argv[1]) : 100;
	std::vector<std::thread> threads;
	pid_t child;

	for (int i = 0; i < THREADS; i++)
		threads.emplace_back(all, cnt);
	for (auto &t : threads)
		t.join();
	print();
	child = fork();
	if (!child) {
		for (unsigned i = 0; i < KINDS; i++)
			allocs[i] = frees[i] = 0;
		all(cnt);
		print();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return 0;
}
