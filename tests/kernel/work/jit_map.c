/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * jit_map: a program that makes code at run time and writes a map file for it. Arguments: what the
 * map file is (file; link: a symbolic link to one; dump: a jitdump that the program maps), and a
 * command that is run between the phases.
 *
 *     phase old     the code is jit_old
 *     phase new     other code is at the same address: jit_new
 *     phase odd     code beside it, whose name holds what a terminal or a browser obeys
 *     phase bare    bare_code(), which has data in the register of the frame pointer
 *
 * Each phase burns 200 ms of CPU time in the code, and has its limits printed (old_from, old_to).
 */
#include "truth.h"

#define BURN(name, step)                                                                           \
	static __attribute__((noinline, used, section(#name "_code")))                             \
	uint64_t name(volatile uint64_t *v)                                                        \
	{                                                                                          \
		for (int i = 0; i < 200000; i++)                                                   \
			*v += (uint64_t)i * step;                                                  \
		return *v;                                                                         \
	}                                                                                          \
	extern const char __start_##name##_code[], __stop_##name##_code[];

BURN(first, 3)
BURN(second, 5)

#define ODD "odd \033[31m<script>;,\"=1+1\""
#define PAGE 65536	/* the largest page size */

static char *memory;
static char path[64];
static bool is_dump;

static void write_to(int fd, const void *p, size_t n)
{
	if (write(fd, p, n) != (ssize_t)n)
		truth_fail(path);
}

/* Writes the header, and tells profilers of the file by mapping it. */
static void begin_dump(void)
{
	const struct {
		uint32_t magic, version, bytes, machine, pad, pid;
		uint64_t ts_ns, flags;
	} header = { 0x4a695444, 1, 40, 0, 0, (uint32_t)getpid(), truth_now_ns(), 0 };
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0)
		truth_fail(path);
	write_to(fd, &header, sizeof(header));
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		truth_fail("mmap");
	close(fd);
}

static void put_record(int fd, const char *at, const char *code, size_t bytes, const char *name)
{
	const struct {
		uint32_t id, bytes;
		uint64_t ts_ns;
		uint32_t pid, tid;
		uint64_t vma, addr, code_bytes, index;
	} load = { 0, (uint32_t)(sizeof(load) + strlen(name) + 1 + bytes), truth_now_ns(), 0, 0,
		   (uintptr_t)at, (uintptr_t)at, bytes, 0 };

	write_to(fd, &load, sizeof(load));
	write_to(fd, name, strlen(name) + 1);
	write_to(fd, code, bytes);
}

/* Writes code and a line for it while the memory is not executable. */
static void put_code(size_t at, const char *from, const char *to, const char *name)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (mprotect(memory, PAGE, PROT_READ | PROT_WRITE))
		truth_fail("mprotect");
	memcpy(memory + at, from, (size_t)(to - from));
	__builtin___clear_cache(memory + at, memory + at + (to - from));
	if (fd < 0)
		truth_fail(path);
	if (is_dump)
		put_record(fd, memory + at, from, (size_t)(to - from), name);
	else if (dprintf(fd, "%lx %lx %s\n", (unsigned long)(memory + at),
			      (unsigned long)(to - from), name) < 0)
		truth_fail(path);
	close(fd);
	if (mprotect(memory, PAGE, PROT_READ | PROT_EXEC))
		truth_fail("mprotect");
}

/*
 * The words that a walk by the frame pointer takes for the next frame, and for the address of a
 * caller.
 */
static uint64_t not_a_frame[2] = { 0, 0xc000123456 };

__attribute__((noinline)) static uint64_t bare_code(volatile uint64_t *v)
{
	uint64_t n = 1000000, saved;

#if defined(__x86_64__)
	__asm__ volatile("mov %%rbp, %1\n\tmov %2, %%rbp\n1:\tdec %0\n\tjnz 1b\n\tmov %1, %%rbp"
			 : "+r"(n), "=&r"(saved) : "r"(not_a_frame) : "cc");
#else
	__asm__ volatile("mov %1, x29\n\tmov x29, %2\n1:\tsubs %0, %0, #1\n\tb.ne 1b\n\tmov x29, %1"
			 : "+r"(n), "=&r"(saved) : "r"(not_a_frame) : "cc");
#endif
	return *v += n;
}

static void burn(const char *phase, uint64_t (*code)(volatile uint64_t *v))
{
	volatile uint64_t v = 0;
	uint64_t from_ns = truth_cpu_ns();

	printf("%s_from=%llu\n", phase, (unsigned long long)truth_now_ns());
	do
		code(&v);
	while (truth_cpu_ns() - from_ns < 200000000);
	printf("%s_to=%llu\n", phase, (unsigned long long)truth_now_ns());
}

static void run(const char *command)
{
	if (system(command))
		truth_fail(command);
}

int main(int argc, char **argv)
{
	char other[sizeof(path) + 8];

	if (argc != 3)
		truth_fail("usage: jit_map file|link|dump COMMAND");
	is_dump = !strcmp(argv[1], "dump");
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("pid=%d\n", getpid());
	snprintf(path, sizeof(path), is_dump ? "/tmp/jit-%d.dump" : "/tmp/perf-%d.map", getpid());
	snprintf(other, sizeof(other), "%s.other", path);
	if (!strcmp(argv[1], "link") && symlink(other, path))
		truth_fail("symlink");
	if (is_dump)
		begin_dump();
	memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		truth_fail("mmap");
	printf("addr=%lu\n", (unsigned long)memory);
	put_code(0, __start_first_code, __stop_first_code, "jit_old");
	run(argv[2]);
	burn("old", (void *)memory);
	run(argv[2]);
	put_code(0, __start_second_code, __stop_second_code, "jit_new");
	burn("new", (void *)memory);
	run(argv[2]);
	put_code(4096, __start_first_code, __stop_first_code, ODD);
	burn("odd", (void *)(memory + 4096));
	burn("bare", bare_code);
	unlink(path);
	unlink(other);
	return 0;
}
