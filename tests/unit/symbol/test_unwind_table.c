/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * unwind_table: this program walks its own stack. A truncated copy yields the innermost frames of
 * the same walk, marked as cut; no content of a copy or a file makes it fail.
 */
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "bpf/wire.h"
#include "symbol/unwind_table.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/gen/make_elf.h"
#include "tests/unit/unit_test.h"

#define FRAMES 64
#define FILES 32

/* If a section has a damaged header, libelf 0.188 may keep a copy that elf_end() does not free. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libelf.so\n";
}

static volatile int after;	/* calls are not the last thing a function does */

/* ---- files ---- */

static struct file {
	char path[256];
	struct unwind_table *t;
} files[FILES];
static unsigned int file_cnt;

static struct unwind_table *table_of(const char *path)
{
	int fd;

	for (unsigned int i = 0; i < file_cnt; i++)
		if (!strcmp(files[i].path, path))
			return files[i].t;
	assert_true(file_cnt < FILES);
	snprintf(files[file_cnt].path, sizeof(files[0].path), "%s", path);
	fd = open(path[0] ? path : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	files[file_cnt].t = fd < 0 ? NULL : unwind_table_read(fd);
	close(fd);
	return files[file_cnt++].t;
}

struct place {
	uint64_t pc, offset;
	const char *path;
};

static int look(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct place *p = ctx;

	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		if (h->p_type != PT_LOAD || p->pc - info->dlpi_addr - h->p_vaddr >= h->p_memsz)
			continue;
		p->offset = p->pc - info->dlpi_addr - h->p_vaddr + h->p_offset;
		p->path = info->dlpi_name;
	}
	return 0;
}

static struct unwind_table *own_table(void *ctx, uint64_t pc, uint64_t *ret_offset,
				      bool *ret_mapped)
{
	struct place p = { .pc = pc };

	dl_iterate_phdr(look, &p);
	*ret_mapped = p.path != NULL;
	*ret_offset = p.offset;
	return p.path ? table_of(p.path) : NULL;
}

/* ---- the own stack ---- */

struct walk {
	uint64_t frames[FRAMES], short_frames[FRAMES];
	unsigned int cnt;
	bool is_whole;
	void *outer, *middle;	/* where these functions are */
};

static void registers_of(const ucontext_t *u, uint64_t regs[WIRE_REGS])
{
#if defined(__x86_64__)
	static const int order[] = { REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP, REG_RBX, REG_R11,
				     REG_R10, REG_R9, REG_R8, REG_RAX, REG_RCX, REG_RDX, REG_RSI,
				     REG_RDI, REG_ERR, REG_RIP, REG_CSGSFS, REG_EFL, REG_RSP };

	for (unsigned int i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		regs[i] = (uint64_t)u->uc_mcontext.gregs[order[i]];
#elif defined(__aarch64__)
	memcpy(regs, u->uc_mcontext.regs, 31 * sizeof(*regs));
	regs[31] = u->uc_mcontext.sp;
	regs[32] = u->uc_mcontext.pc;
#endif
}

/* Every shorter copy: the frames are the first ones of the whole copy's. */
static void cut_short(struct unwind_stack *s, struct walk *w)
{
	size_t whole = s->byte_cnt;
	unsigned int cnt, last = 0;
	bool is_whole;

	for (s->byte_cnt = 0; s->byte_cnt < whole; s->byte_cnt += 8) {
		cnt = unwind_walk(s, w->short_frames, FRAMES, &is_whole);
		assert_in_range(cnt, 1, w->cnt);
		assert_true(cnt >= last);
		assert_memory_equal(w->short_frames, w->frames, cnt * sizeof(w->frames[0]));
		if (cnt < w->cnt)
			assert_false(is_whole);
		last = cnt;
	}
	assert_int_equal(last, w->cnt);
}

static __attribute__((noinline)) void inner(struct walk *w)
{
	uint64_t regs[WIRE_REGS] = { 0 };
	struct unwind_stack s = { .regs = regs, .table = own_table };
	ucontext_t u;

	assert_int_equal(getcontext(&u), 0);
	registers_of(&u, regs);
	s.bytes = (const uint8_t *)(uintptr_t)regs[WIRE_REG_SP];
	s.byte_cnt = ((size_t)((const uint8_t *)environ - s.bytes)) & ~(size_t)7;
	w->cnt = unwind_walk(&s, w->frames, FRAMES, &w->is_whole);
	cut_short(&s, w);
	after++;
}

static __attribute__((noinline)) void middle(struct walk *w)
{
	w->middle = __builtin_return_address(0);
	inner(w);
	after++;
}

static __attribute__((noinline)) void outer(struct walk *w)
{
	w->outer = __builtin_return_address(0);
	middle(w);
	after++;
}

UNIT_TEST(test_own_stack)
{
	struct walk w = { 0 };

	if (!unwind_is_offered())
		skip();
	outer(&w);
	assert_true(w.is_whole);
	assert_in_range(w.cnt, 7, FRAMES - 1);
	/* inner, middle, outer, this function */
	assert_int_equal(w.frames[2], (uintptr_t)w.middle);
	assert_int_equal(w.frames[3], (uintptr_t)w.outer);
}

#if defined(__x86_64__)

/* ---- Go ---- */

static struct unwind_table *go_table(void *ctx, uint64_t pc, uint64_t *ret_offset, bool *ret_mapped)
{
	*ret_offset = pc - 0x400000;
	return ctx;
}

/* Below 0x10000 is code made at run time. */
static struct unwind_table *table_beside_made_code(void *ctx, uint64_t pc, uint64_t *ret_offset,
						   bool *ret_mapped)
{
	return pc < 0x10000 ? NULL : go_table(ctx, pc, ret_offset, ret_mapped);
}

/* A Go program has no unwind table, and its innermost functions may not save the frame pointer. */
UNIT_TEST(test_stack_of_stripped_go)
{
	static const struct elf_function go[] = { { "main.leaf", 0x401000, 0x40, 0, 0 },
						  { "main.main", 0x401040, 0x80, 0, 0 },
						  { "runtime.goexit", 0x4010c0, 0x20, 1, 0 } };
	struct buf table = { 0 }, file = { 0 };
	struct elf_plan plan = { .go = &table, .text_offset = 0x1000, .text_addr = 0x401000,
				 .text_bytes = 0x1000 };
	uint64_t called[10] = { 0x9010, 0, 0x401050, 0, 0, 0, 0, 0, 0x4010c5 };
	uint64_t stack[8] = { 0x401050, 0x401050, 0, 0, 0, 0, 0x4010c5, 0x4010c5 };
	uint64_t regs[WIRE_REGS] = { [WIRE_REG_SP] = 0x7000 }, frames[FRAMES];
	struct unwind_stack s = { .regs = regs, .bytes = (const uint8_t *)stack,
				  .byte_cnt = sizeof(stack), .table = go_table };
	bool is_whole;
	int fd;

	if (!unwind_is_offered())
		skip();
	make_go_table(&table, go, 3);
	make_elf(&file, &plan);
	fd = make_elf_fd(file.data, file.len);
	s.ctx = unwind_table_read(fd);
	assert_non_null(s.ctx);
	/* the frame has no bytes, then 8: the distance of the return address */
	for (uint64_t pc = 0x401002; pc < 0x401008; pc += 4) {
		regs[16] = pc;
		assert_int_equal(unwind_walk(&s, frames, FRAMES, &is_whole), 3);
		assert_true(is_whole);
		assert_int_equal(frames[1], 0x401050);
		assert_int_equal(frames[2], 0x4010c5);
	}
	s.byte_cnt = 16;
	assert_int_equal(unwind_walk(&s, frames, FRAMES, &is_whole), 2);
	assert_false(is_whole);
	/* the leaf's caller is a trampoline, which was called by main.main */
	s.bytes = (const uint8_t *)called;
	s.byte_cnt = sizeof(called);
	s.table = table_beside_made_code;
	regs[4] = 3;
	regs[16] = 0x401002;
	assert_int_equal(unwind_walk(&s, frames, FRAMES, &is_whole), 4);
	assert_true(is_whole);
	assert_int_equal(frames[1], 0x9010);
	assert_int_equal(frames[2], 0x401050);
	assert_int_equal(frames[3], 0x4010c5);
	/* no table where a trampoline's caller would be: no frame is invented */
	called[2] = 0x9020;
	assert_int_equal(unwind_walk(&s, frames, FRAMES, &is_whole), 2);
	assert_false(is_whole);
	unwind_table_free(s.ctx);
	close(fd);
	buf_done(&table);
	buf_done(&file);
}

#endif

/* ---- invalid input ---- */

static uint64_t dice = 11;

static uint64_t below(uint64_t n)
{
	return (gen_random(&dice) >> 11) % n;
}

/* Registers and a stack of anything, in the code of a file. */
static void walk_anything(struct unwind_table *(*table)(void *, uint64_t, uint64_t *, bool *),
			  void *ctx)
{
	static uint64_t stack[128];
	uint64_t regs[WIRE_REGS], frames[FRAMES];
	struct unwind_stack s = { .regs = regs, .bytes = (const uint8_t *)stack, .table = table,
				  .ctx = ctx };
	bool is_whole;

	for (unsigned int i = 0; i < WIRE_REGS; i++)
		regs[i] = below(2) ? 0x1000 + 8 * below(200) : gen_random(&dice);
	for (unsigned int i = 0; i < 128; i++)
		stack[i] = below(2) ? 0x1000 + 8 * below(200) : below(1 << 20);
	regs[WIRE_REG_SP] = below(8) ? 0x1000 : UINT64_MAX - below(64);
	s.byte_cnt = below(sizeof(stack) + 1);
	assert_true(unwind_walk(&s, frames, FRAMES, &is_whole) <= FRAMES);
}

static struct unwind_table *any_table(void *ctx, uint64_t pc, uint64_t *ret_offset,
				      bool *ret_mapped)
{
	*ret_offset = pc;
	return ctx;
}

UNIT_TEST(test_stacks_of_anything)
{
	struct unwind_table *t;

	if (!unwind_is_offered())
		skip();
	t = table_of("");
	assert_non_null(t);
	for (unsigned int i = 0; i < 20000; i++)
		walk_anything(any_table, t);
}

/* Bytes of the file's headers and of its tables are changed. */
static void damage(uint8_t *file, size_t bytes)
{
	const ElfW(Ehdr) *h = (const void *)file;
	const ElfW(Shdr) *s = (const void *)(file + h->e_shoff);
	const char *names = (const char *)file + s[h->e_shstrndx].sh_offset;
	unsigned int i, n = 1 + (unsigned int)below(40), cnt = h->e_shnum;
	size_t from[3] = { 16, h->e_phoff, h->e_shoff };
	size_t len[3] = { 48, 56u * h->e_phnum, 64u * h->e_shnum };
	size_t at, k;

	for (i = 0; i < cnt; i++) {
		if (strncmp(names + s[i].sh_name, ".eh_frame", 9))
			continue;
		k = below(3);
		from[k] = s[i].sh_offset;
		len[k] = s[i].sh_size;
	}
	for (i = 0; i < n; i++) {
		k = below(3);
		at = from[k] + below(len[k]);
		if (at < bytes)
			file[at] = (uint8_t)below(256);
	}
}

UNIT_TEST(test_files_of_anything)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), copy;
	size_t bytes = (size_t)lseek(fd, 0, SEEK_END);
	uint8_t *file = malloc(bytes);
	unsigned int i, k;

	if (!unwind_is_offered())
		skip();
	assert_non_null(file);
	for (i = 0; i < 100; i++) {
		struct unwind_table *t;

		assert_int_equal(pread(fd, file, bytes, 0), bytes);
		damage(file, bytes);
		copy = memfd_create("damaged", MFD_CLOEXEC);
		assert_int_equal(write(copy, file, bytes), bytes);
		t = unwind_table_read(copy);
		close(copy);
		for (k = 0; t && k < 300; k++)
			walk_anything(any_table, t);
		unwind_table_free(t);
	}
	free(file);
	close(fd);
}

UNIT_TEST(test_no_table)
{
	char text[] = "no ELF file";
	int fd = memfd_create("text", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	assert_null(unwind_table_read(fd));
	close(fd);
	unwind_table_free(NULL);
}

static int free_tables(void **state)
{
	while (file_cnt)
		unwind_table_free(files[--file_cnt].t);
	return 0;
}

UNIT_TESTS_IN(NULL, free_tables)
