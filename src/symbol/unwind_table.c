/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * unwind_table: libdw finds the row of the table and returns the rule for each register of the
 * caller as DWARF operations, which are evaluated here. Only the copied stack is read: the thread
 * may have exited. The file is read, never mapped, because its owner may truncate it.
 */
#include "symbol/unwind_table.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/elf_symbols.h"

#if defined(EBPFREC_LINES) && (defined(__x86_64__) || defined(__aarch64__))
#define IS_OFFERED
#endif

#ifndef IS_OFFERED

bool unwind_is_offered(void)
{
	return false;
}

struct unwind_table *unwind_table_read(int fd)
{
	return NULL;
}

void unwind_table_free(struct unwind_table *t)
{
}

size_t unwind_table_bytes(const struct unwind_table *t)
{
	return 0;
}

unsigned int unwind_walk(const struct unwind_stack *s, uint64_t *frames, unsigned int max,
			 bool *ret_whole)
{
	*ret_whole = false;
	return 0;
}

#else

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <sys/auxv.h>

/* DWARF numbers of registers, and their positions in struct pt_regs. */
#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define REG_CNT 17
#define REG_FP 6
#define REG_SP 7
static const uint8_t kernel_reg[REG_CNT] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0,
					     16 };
#define KERNEL_PC 16
#define KERNEL_CS 17
#define CODE_BITS 64
#define CALL_PUSHES true	/* the return address is at the upper end of a frame */
#else
#define MACHINE EM_AARCH64
#define REG_CNT 32
#define REG_FP 29
#define REG_SP 31
static const uint8_t kernel_reg[REG_CNT] = { 0,	 1,  2,	 3,  4,	 5,  6,	 7,  8,	 9,  10,
					     11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
					     22, 23, 24, 25, 26, 27, 28, 29, 30, 31 };
#define KERNEL_PC 32
#define KERNEL_PSTATE 33
#define CALL_PUSHES false	/* the link register is saved at the lower end of a frame */
#define CODE_BITS 48	/* higher bits of a return address may have a signature */
#endif

#define SEGMENTS_MAX 8
#define TABLE_MAX_BYTES (256u << 20)
#define DEPTH_MAX 16	/* most values on the stack of an expression */
#define OPERATIONS_MAX 64

struct unwind_table {
	Elf *elf;
	Dwarf_CFI *cfi;		/* NULL: the file has only the table of a Go program */
	struct go_table go;
	bool has_go;
	size_t bytes;
	struct {
		uint64_t offset, bytes, addr;
	} segments[SEGMENTS_MAX];
	unsigned int segment_cnt;
};

/* A frame: values of the registers that are known. */
struct frame {
	uint64_t reg[REG_CNT];
	bool known[REG_CNT];
	uint64_t pc;
	bool is_call;	/* pc is a return address: its function contains the byte before pc */
};

bool unwind_is_offered(void)
{
	return true;
}

/* ---- tables ---- */

static Elf *open_elf(int fd)
{
	const Elf64_Ehdr *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);

	elf_version(EV_CURRENT);
	if (fd >= 0)
		return elf_begin(fd, ELF_C_READ, NULL);
	if (!vdso)
		return NULL;
	return elf_memory((char *)(uintptr_t)vdso,
			  vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize);
}

/*
 * Returns whether the file has .eh_frame sections that are not too large: libdw reads these into
 * memory as a whole, and the file is untrusted.
 */
static bool has_sections(struct unwind_table *t)
{
	Elf_Scn *scn = NULL;
	size_t names;
	const char *name;
	GElf_Shdr s;
	bool found = false;

	if (elf_getshdrstrndx(t->elf, &names) ||
	    !gelf_getshdr(elf_getscn(t->elf, names), &s) || s.sh_size > TABLE_MAX_BYTES ||
	    s.sh_flags & SHF_COMPRESSED)
		return false;
	while ((scn = elf_nextscn(t->elf, scn))) {
		if (!gelf_getshdr(scn, &s) || !(name = elf_strptr(t->elf, names, s.sh_name)))
			return false;
		if (strncmp(name, ".eh_frame", strlen(".eh_frame")))
			continue;
		if (s.sh_type == SHT_NOBITS || s.sh_flags & SHF_COMPRESSED ||
		    s.sh_size > TABLE_MAX_BYTES)
			return false;
		found = true;
		t->bytes += s.sh_size;
	}
	return found;
}

static void find_segments(struct unwind_table *t)
{
	GElf_Phdr p;
	size_t cnt, i;

	if (elf_getphdrnum(t->elf, &cnt))
		return;
	for (i = 0; i < cnt && t->segment_cnt < SEGMENTS_MAX; i++) {
		if (!gelf_getphdr(t->elf, (int)i, &p))
			return;
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		t->segments[t->segment_cnt].offset = p.p_offset;
		t->segments[t->segment_cnt].bytes = p.p_filesz;
		t->segments[t->segment_cnt++].addr = p.p_vaddr;
	}
}

struct unwind_table *unwind_table_read(int fd)
{
	struct unwind_table *t = calloc(1, sizeof(*t));
	GElf_Ehdr h;

	if (!t)
		return NULL;
	t->elf = open_elf(fd);
	if (!t->elf || !gelf_getehdr(t->elf, &h) || h.e_machine != MACHINE)
		goto fail;
	t->has_go = CALL_PUSHES && go_table_read(&t->go, t->elf);
	t->bytes += t->has_go ? t->go.bytes : 0;
	find_segments(t);
	t->cfi = has_sections(t) ? dwarf_getcfi_elf(t->elf) : NULL;
	elf_cntl(t->elf, ELF_C_FDDONE);
	if (!t->cfi && !t->has_go)
		goto fail;
	return t;
fail:
	unwind_table_free(t);
	return NULL;
}

void unwind_table_free(struct unwind_table *t)
{
	if (!t)
		return;
	dwarf_cfi_end(t->cfi);
	elf_end(t->elf);
	free(t);
}

size_t unwind_table_bytes(const struct unwind_table *t)
{
	return sizeof(*t) + t->bytes;
}

/* Converts a file offset to an address in the ELF file; false: not in code. */
static bool code_addr(const struct unwind_table *t, uint64_t offset, uint64_t *ret)
{
	for (unsigned int i = 0; i < t->segment_cnt; i++)
		if (offset - t->segments[i].offset < t->segments[i].bytes) {
			*ret = offset - t->segments[i].offset + t->segments[i].addr;
			return true;
		}
	return false;
}

/* ---- expressions ---- */

struct machine {
	const struct unwind_stack *s;
	uint64_t from;		/* address of the first byte of the stack's copy */
	const struct frame *f;
	uint64_t cfa;
	bool has_cfa;
	uint64_t value[DEPTH_MAX];
	unsigned int depth;
	bool failed;
};

static bool read_stack(const struct machine *m, uint64_t addr, uint64_t *ret)
{
	uint64_t at = addr - m->from;

	if (m->s->byte_cnt < sizeof(*ret) || at > m->s->byte_cnt - sizeof(*ret))
		return false;
	memcpy(ret, m->s->bytes + at, sizeof(*ret));
	return true;
}

static void push(struct machine *m, uint64_t v)
{
	if (m->depth == DEPTH_MAX)
		m->failed = true;
	else
		m->value[m->depth++] = v;
}

static uint64_t pop(struct machine *m)
{
	if (!m->depth) {
		m->failed = true;
		return 0;
	}
	return m->value[--m->depth];
}

static void push_register(struct machine *m, uint64_t reg, uint64_t plus)
{
	if (reg >= REG_CNT || !m->f->known[reg])
		m->failed = true;
	else
		push(m, m->f->reg[reg] + plus);
}

/* Applies an operation to the two topmost values. */
static void apply_two(struct machine *m, unsigned int atom)
{
	uint64_t b = pop(m), a = pop(m);

	switch (atom) {
	case DW_OP_plus: push(m, a + b); break;
	case DW_OP_minus: push(m, a - b); break;
	case DW_OP_mul: push(m, a * b); break;
	case DW_OP_and: push(m, a & b); break;
	case DW_OP_or: push(m, a | b); break;
	case DW_OP_xor: push(m, a ^ b); break;
	case DW_OP_shl: push(m, b < 64 ? a << b : 0); break;
	case DW_OP_shr: push(m, b < 64 ? a >> b : 0); break;
	case DW_OP_eq: push(m, a == b); break;
	case DW_OP_ne: push(m, a != b); break;
	case DW_OP_ge: push(m, (int64_t)a >= (int64_t)b); break;
	case DW_OP_gt: push(m, (int64_t)a > (int64_t)b); break;
	case DW_OP_le: push(m, (int64_t)a <= (int64_t)b); break;
	case DW_OP_lt: push(m, (int64_t)a < (int64_t)b); break;
	default: m->failed = true;
	}
}

static void apply(struct machine *m, const Dwarf_Op *op)
{
	uint64_t v;

	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		push(m, op->atom - DW_OP_lit0);
		return;
	}
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		push_register(m, op->atom - DW_OP_breg0, op->number);
		return;
	}
	switch (op->atom) {
	case DW_OP_bregx:
		push_register(m, op->number, op->number2);
		break;
	case DW_OP_call_frame_cfa:
		push(m, m->cfa);
		m->failed |= !m->has_cfa;
		break;
	case DW_OP_addr: case DW_OP_const1u: case DW_OP_const1s: case DW_OP_const2u:
	case DW_OP_const2s: case DW_OP_const4u: case DW_OP_const4s: case DW_OP_const8u:
	case DW_OP_const8s: case DW_OP_constu: case DW_OP_consts:
		push(m, op->number);
		break;
	case DW_OP_plus_uconst:
		push(m, pop(m) + op->number);
		break;
	case DW_OP_dup:
		v = pop(m);
		push(m, v);
		push(m, v);
		break;
	case DW_OP_deref:
		m->failed |= !read_stack(m, pop(m), &v);
		push(m, m->failed ? 0 : v);
		break;
	case DW_OP_nop: case DW_OP_stack_value:
		break;
	default:
		apply_two(m, op->atom);
	}
}

/*
 * Computes a register's value: the result of the operations or, if is_address, the memory at this
 * result.
 */
static bool evaluate(struct machine *m, const Dwarf_Op *ops, size_t cnt, bool is_address,
		     uint64_t *ret)
{
	unsigned int last = cnt ? ops[cnt - 1].atom : 0;

	m->depth = 0;
	m->failed = !cnt || cnt > OPERATIONS_MAX;
	if ((last >= DW_OP_reg0 && last <= DW_OP_reg31) || last == DW_OP_regx) {
		push_register(m, last == DW_OP_regx ? ops[cnt - 1].number : last - DW_OP_reg0, 0);
		is_address = false;
		cnt = 0;
	}
	for (size_t i = 0; i < cnt && !m->failed; i++)
		apply(m, &ops[i]);
	*ret = pop(m);
	if (m->failed)
		return false;
	return !is_address || last == DW_OP_stack_value || read_stack(m, *ret, ret);
}

/* ---- frames ---- */

enum step { STEP_CALLER, STEP_END, STEP_FAILED, STEP_NOWHERE };

/* Computes a register's value in the caller. */
static bool restore(struct machine *m, Dwarf_Frame *row, unsigned int reg, uint64_t *ret,
		    bool *ret_undefined)
{
	Dwarf_Op room[3], *ops;
	size_t cnt;

	*ret_undefined = false;
	if (dwarf_frame_register(row, (int)reg, room, &ops, &cnt))
		return false;
	if (cnt)
		return evaluate(m, ops, cnt, true, ret);
	*ret_undefined = ops != NULL;
	*ret = m->f->reg[reg];
	return !ops && m->f->known[reg];
}

static enum step leave_by_table(struct machine *m, Dwarf_Frame *row, struct frame *to)
{
	bool is_signal = false, is_undefined;
	int ra = dwarf_frame_info(row, NULL, NULL, &is_signal);
	Dwarf_Op *ops;
	size_t cnt;

	m->has_cfa = false;
	if (ra < 0 || ra >= REG_CNT || dwarf_frame_cfa(row, &ops, &cnt) ||
	    !evaluate(m, ops, cnt, false, &m->cfa))
		return STEP_FAILED;
	m->has_cfa = true;
	for (unsigned int i = 0; i < REG_CNT; i++) {
		to->known[i] = restore(m, row, i, &to->reg[i], &is_undefined);
		if (i == (unsigned int)ra && is_undefined)
			return STEP_END;
		if (i == REG_SP && is_undefined) {
			to->reg[i] = m->cfa;
			to->known[i] = true;
		}
	}
	to->pc = to->reg[ra];
	to->is_call = !is_signal;
	return to->known[ra] ? STEP_CALLER : STEP_FAILED;
}

static enum step leave_by_frame_pointer(const struct machine *m, struct frame *to)
{
	uint64_t at = m->f->reg[REG_FP];

	memset(to, 0, sizeof(*to));
	if (!m->f->known[REG_FP])
		return STEP_FAILED;
	if (!at)
		return STEP_END;
	if (!read_stack(m, at, &to->reg[REG_FP]) || !read_stack(m, at + 8, &to->pc))
		return STEP_FAILED;
	to->reg[REG_SP] = at + 16;
	to->known[REG_FP] = to->known[REG_SP] = true;
	to->is_call = true;
	return STEP_CALLER;
}

/*
 * Unwinds a function of a Go program. Unless its frame is empty, the function has saved the
 * caller's frame pointer below the return address.
 */
static enum step leave_by_go(const struct machine *m, const struct unwind_table *t, uint64_t addr,
			     const struct go_function *f, struct frame *to)
{
	uint64_t bytes, at = m->f->reg[REG_SP];

	if (f->is_outermost)
		return STEP_END;
	if (!m->f->known[REG_SP] || !go_table_frame_bytes(&t->go, f, addr, &bytes))
		return leave_by_frame_pointer(m, to);
	at += bytes;
	memset(to, 0, sizeof(*to));
	to->reg[REG_FP] = m->f->reg[REG_FP];
	to->known[REG_FP] = bytes < 8 ? m->f->known[REG_FP] :
					read_stack(m, at - 8, &to->reg[REG_FP]);
	if (!read_stack(m, at, &to->pc))
		return leave_by_frame_pointer(m, to);
	to->reg[REG_SP] = at + 8;
	to->known[REG_SP] = to->is_call = true;
	return STEP_CALLER;
}

/*
 * Unwinds code that was generated at run time. Such code has frame pointers, or is a trampoline of
 * CPython, which moves the stack pointer by 8 bytes and changes no other register
 * (Python/asm_trampoline.S, x86-64). The caller of a trampoline is in a file with a table.
 */
static enum step leave_made_code(const struct machine *m, struct frame *to)
{
	enum step step = leave_by_frame_pointer(m, to);
	uint64_t at = m->f->reg[REG_SP], pc, offset;
	bool is_mapped = true;

	if (step == STEP_CALLER)
		(void)m->s->table(m->s->ctx, to->pc - 1, &offset, &is_mapped);
	if (!CALL_PUSHES || !m->f->is_call || !m->f->known[REG_SP] ||
	    (step == STEP_CALLER && is_mapped) || !read_stack(m, at + 8, &pc) ||
	    !m->s->table(m->s->ctx, pc - 1, &offset, &is_mapped))
		return step;
	*to = *m->f;
	to->pc = pc;
	to->reg[REG_SP] = at + 16;
	to->is_call = true;
	return STEP_CALLER;
}

static enum step leave(struct machine *m, struct frame *to)
{
	bool is_mapped = true;
	struct unwind_table *t;
	struct go_function f;
	Dwarf_Frame *row = NULL;
	enum step step;
	uint64_t offset, addr;

	t = m->s->table(m->s->ctx, m->f->pc - m->f->is_call, &offset, &is_mapped);
	if (!is_mapped)
		return STEP_NOWHERE;
	if (!t)
		return leave_made_code(m, to);
	if (!code_addr(t, offset, &addr))
		return leave_by_frame_pointer(m, to);
	if (t->has_go && go_table_find(&t->go, addr, &f))
		return leave_by_go(m, t, addr, &f, to);
	if (!t->cfi || dwarf_cfi_addrframe(t->cfi, addr, &row))
		return leave_by_frame_pointer(m, to);
	step = leave_by_table(m, row, to);
	free(row);
	return step;
}

/* Returns whether this is 32-bit code, whose frame pointers the kernel follows. */
static bool is_32_bit(const uint64_t *regs)
{
#if defined(__x86_64__)
	return regs[KERNEL_CS] == 0x23;
#else
	return regs[KERNEL_PSTATE] & 0x10;
#endif
}

unsigned int unwind_walk(const struct unwind_stack *s, uint64_t *frames, unsigned int max,
			 bool *ret_whole)
{
	struct frame a = { .pc = s->regs[KERNEL_PC] }, b;
	struct machine m = { .s = s, .from = s->regs[kernel_reg[REG_SP]] };
	enum step step = STEP_FAILED;
	unsigned int cnt = 0, i;

	*ret_whole = false;
	if (is_32_bit(s->regs))
		return 0;
	for (i = 0; i < REG_CNT; i++) {
		a.reg[i] = s->regs[kernel_reg[i]];
		a.known[i] = true;
	}
	while (cnt < max) {
		frames[cnt++] = a.pc;
		m.f = &a;
		step = leave(&m, &b);
		if (step != STEP_CALLER || !b.pc)
			break;
		/* a caller's frame is at a higher address: otherwise the walk might never end */
		if (b.is_call && b.reg[REG_SP] <= a.reg[REG_SP] && cnt > 1) {
			step = STEP_FAILED;
			break;
		}
		a = b;
		if (CODE_BITS < 64)
			a.pc &= (1ULL << (CODE_BITS & 63)) - 1;
	}
	*ret_whole = step == STEP_END || (step == STEP_CALLER && cnt < max);
	return step == STEP_NOWHERE && cnt > 1 ? cnt - 1 : cnt;
}

#endif /* IS_OFFERED */
