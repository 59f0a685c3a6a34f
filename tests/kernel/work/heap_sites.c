/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * heap_sites MODE [LIBRARY]: allocations of known sizes from functions of known names. Only mode
 * `leak` frees any.
 *
 *     here COUNT     COUNT malloc(4321) in sites_alpha(), called by sites_outer()
 *     dlopen LIB     7 calls of lib_alloc(8642) of LIB (this file, built as a library: see below)
 *     code           5 malloc(6543) from code written into anonymous memory
 *     leak           leak_alpha(), called by leak_outer(): 50 malloc(7001) that stay, and 50
 *                    malloc(7003) that are freed;
 *                    keep_pipes(), called by keep_outer(): 40 pipes that stay open;
 *                    burst_beta(), called by burst_outer(): 2000 malloc(10007), freed at once;
 *                    touch_gamma(), called by touch_outer(): touches 24 MiB of its own, and
 *                    touch_first() a page, with its first instruction
 *     serve [FILE]   waits for a line on stdin; does "here 3"; unlinks FILE; does "here 3"; waits
 *                    for another line
 *
 * Built with -shared -fPIC -DLIBRARY this file is the library, with lib_alloc() and, below it,
 * lib_inner(), which is not exported.
 */
#include "truth.h"

#define NOINLINE __attribute__((noinline))

/*
 * a call is never the last statement of a function, so that it does not become a jump, and frames
 * stay
 */
static volatile int after;
static void *volatile kept;

#ifdef LIBRARY
static NOINLINE void lib_inner(size_t bytes)
{
	kept = malloc(bytes);
	after++;
}

void lib_alloc(size_t bytes);
void lib_alloc(size_t bytes)
{
	lib_inner(bytes);
	after++;
}
#else
#include <dlfcn.h>

static NOINLINE void sites_alpha(void)
{
	kept = malloc(4321);
	after++;
}

static NOINLINE void sites_outer(long cnt)
{
	long i;

	for (i = 0; i < cnt; i++)
		sites_alpha();
	after++;
}

static void run_library(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	void (*call)(size_t bytes);

	if (!lib)
		truth_fail(dlerror());
	*(void **)&call = dlsym(lib, "lib_alloc");
	if (!call)
		truth_fail("lib_alloc");
	for (int i = 0; i < 7; i++)
		call(8642);
}

static void run_code(void)
{
#if defined(__x86_64__)
	/*
	 * push %rbp; mov %rsp,%rbp; mov $6543,%edi; call *%rax (the caller sets it); pop %rbp;
	 * ret
	 */
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xbf, 0x8f, 0x19, 0,
					      0,    0xff, 0xd6, 0x5d, 0xc3 };
	unsigned char *at =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		truth_fail("mmap");
	memcpy(at, code, sizeof(code));
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		truth_fail("mprotect");
	/* calls its second argument, in %rsi */
	for (int i = 0; i < 5; i++)
		((void (*)(long, void *))(void *)at)(0, (void *)malloc);
#endif
}

static void *volatile passing;
/* unknown to the compiler, or it makes a specialized copy of the function with another name */
static volatile int leak_cnt = 50, pipe_cnt = 40, burst_cnt = 2000, touch_bytes = 24 << 20;

static NOINLINE void leak_alpha(int cnt)
{
	for (int i = 0; i < cnt; i++) {
		kept = malloc(7001);
		passing = malloc(7003);
		free(passing);
		after++;
	}
}

static NOINLINE void leak_outer(void)
{
	leak_alpha(leak_cnt);
	after++;
}

static NOINLINE void keep_pipes(int cnt)
{
	int fds[2], i;

	for (i = 0; i < cnt; i++)
		if (pipe(fds))
			truth_fail("pipe");
	after++;
}

static NOINLINE void keep_outer(void)
{
	keep_pipes(pipe_cnt);
	after++;
}

static NOINLINE void burst_beta(int cnt)
{
	for (int i = 0; i < cnt; i++) {
		passing = malloc(10007);
		free(passing);
	}
	after++;
}

static NOINLINE void burst_outer(void)
{
	burst_beta(burst_cnt);
	after++;
}

static NOINLINE void touch_gamma(char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 4096)
		((volatile char *)at)[i] = 1;
	after++;
}

/* The first instruction of touch_first() faults; it is next to the end of touch_before(). */
void touch_first(char *at);
__asm__(".text\n"
	".type touch_before, %function\ntouch_before: ret\n.size touch_before, . - touch_before\n"
	".globl touch_first\n.type touch_first, %function\n"
#if defined(__x86_64__)
	"touch_first: movb $1, (%rdi)\n"
#else
	"touch_first: strb w1, [x0]\n"
#endif
	"ret\n.size touch_first, . - touch_first\n");
static char page_of_first[8192];

static NOINLINE void touch_outer(void)
{
	size_t bytes = (size_t)touch_bytes;
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		truth_fail("mmap");
	touch_gamma(at, bytes);
	touch_first(page_of_first + 4096);
	munmap(at, bytes);
	after++;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "here";
	char c;

	setvbuf(stdout, NULL, _IONBF, 0);
	printf("pid=%d\n", (int)getpid());
	if (!strcmp(mode, "here")) {
		sites_outer(truth_arg(argc, argv, 2, 10));
	} else if (!strcmp(mode, "dlopen")) {
		run_library(argv[2]);
	} else if (!strcmp(mode, "code")) {
		run_code();
	} else if (!strcmp(mode, "leak")) {
		leak_outer();
		keep_outer();
		burst_outer();
		touch_outer();
	} else if (!strcmp(mode, "serve")) {
		(void)!read(0, &c, 1);
		sites_outer(3);
		if (argc > 2 && unlink(argv[2]))
			truth_fail("unlink");
		sites_outer(3);
		printf("done=%d\n", (int)getpid());
		(void)!read(0, &c, 1);
	} else {
		truth_fail(mode);
	}
	return 0;
}
#endif
