/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * returns: finds the boundaries of x86-64 instructions by their lengths, which follow from the
 * opcode tables of Intel's manual (volume 2, appendix A). Compilers put no data between
 * instructions.
 */
#include "symbol/returns.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__

struct instruction {
	const uint8_t *p, *end;	/* bytes that follow; p beyond end: incomplete */
	unsigned int map;	/* opcode table: 0 (none), 1 (0F), 2 (0F 38), 3 (0F 3A) */
	uint8_t opcode;
	bool is_16_bit, is_64_bit, has_short_address;
	bool is_invalid;
};

static uint8_t next_byte(struct instruction *i)
{
	return i->p < i->end ? *i->p++ : (i->p = i->end + 1, 0);
}

/* Reads prefixes and the opcode. */
static void read_opcode(struct instruction *i)
{
	uint8_t b = next_byte(i);

	for (; b && strchr("\x66\x67\xf2\xf3\xf0\x2e\x36\x3e\x26\x64\x65", b); b = next_byte(i)) {
		i->is_16_bit |= b == 0x66;
		i->has_short_address |= b == 0x67;
	}
	if ((b & 0xf0) == 0x40) {	/* REX */
		i->is_64_bit = b & 8;
		b = next_byte(i);
	}
	if (b == 0xc5) {		/* VEX of two bytes */
		next_byte(i);
		i->map = 1;
		b = next_byte(i);
	} else if (b == 0xc4) {		/* VEX of three bytes */
		i->map = next_byte(i) & 0x1f;
		next_byte(i);
		b = next_byte(i);
	} else if (b == 0x62) {		/* EVEX */
		i->map = next_byte(i) & 7;
		next_byte(i);
		next_byte(i);
		b = next_byte(i);
	} else if (b == 0x0f) {
		i->map = 1;
		b = next_byte(i);
		if (b == 0x38 || b == 0x3a) {
			i->map = b == 0x38 ? 2 : 3;
			b = next_byte(i);
		}
	}
	i->opcode = b;
	i->is_invalid = i->map > 3;
}

/* Returns the length of the immediate, and whether a ModR/M byte precedes it. */
static unsigned int layout_of(struct instruction *i, bool *ret_has_modrm)
{
	unsigned int op = i->opcode, z = i->is_16_bit && !i->is_64_bit ? 2 : 4;
	bool in = false;

#define IN(from, to) (in = op >= (from) && op <= (to))
	*ret_has_modrm = true;
	if (i->map == 2)
		return 0;
	if (i->map == 3)
		return 1;
	if (i->map == 1) {
		if (IN(0x80, 0x8f)) {
			*ret_has_modrm = false;
			return 4;
		}
		*ret_has_modrm = !(IN(0x05, 0x09) || op == 0x0b || op == 0x0e || IN(0x30, 0x37) ||
				   op == 0x77 || IN(0xa0, 0xa2) || IN(0xa8, 0xaa) ||
				   IN(0xc8, 0xcf));
		return IN(0x70, 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
		       IN(0xc4, 0xc6);
	}
	*ret_has_modrm = (op < 0x40 && (op & 7) < 4) || op == 0x63 || op == 0x69 || op == 0x6b ||
			 IN(0x80, 0x8f) || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 ||
			 IN(0xd0, 0xd3) || IN(0xd8, 0xdf) || op == 0xf6 || op == 0xf7 || op >= 0xfe;
	if ((op < 0x40 && (op & 7) == 5) || op == 0x68 || op == 0x69 || op == 0x81 || op == 0xa9 ||
	    op == 0xc7)
		return z;
	if (IN(0xb8, 0xbf))
		return i->is_64_bit ? 8 : z;
	if (op == 0xe8 || op == 0xe9)
		return 4;
	if (IN(0xa0, 0xa3))
		return i->has_short_address ? 4 : 8;
	if (op == 0xc2 || op == 0xca)
		return 2;
	if (op == 0xc8)
		return 3;
	if (op == 0xf6 || op == 0xf7)	/* only TEST has an immediate */
		return i->p < i->end && (*i->p & 0x38) < 0x10 ? op == 0xf6 ? 1 : z : 0;
	i->is_invalid |= op == 0x9a || op == 0xea || op == 0x82 || (op < 0x40 && (op & 7) > 5) ||
			 IN(0x60, 0x62) || IN(0xc4, 0xc5) || IN(0xd4, 0xd6);
	return (op < 0x40 && (op & 7) == 4) || op == 0x6a || op == 0x6b || IN(0x70, 0x80) ||
	       op == 0x83 || op == 0xa8 || IN(0xb0, 0xb7) || op == 0xc0 || op == 0xc1 ||
	       op == 0xc6 || op == 0xcd || IN(0xe0, 0xe7) || op == 0xeb;
#undef IN
}

/* Returns the length of the instruction at code; 0: unknown. */
static size_t instruction_bytes(const uint8_t *code, size_t max, bool *ret_is_return)
{
	struct instruction i = { .p = code, .end = code + max };
	unsigned int immediate, mod, rm;
	bool has_modrm;

	read_opcode(&i);
	immediate = layout_of(&i, &has_modrm);
	if (has_modrm) {
		uint8_t b = next_byte(&i);

		mod = b >> 6;
		rm = b & 7;
		if (mod != 3 && rm == 4) {
			rm = next_byte(&i) & 7;	/* base of the SIB byte */
			rm = rm == 5 ? 5 : 4;
		}
		immediate += mod == 1 ? 1 : mod == 2 || (!mod && rm == 5) ? 4 : 0;
	}
	*ret_is_return = !i.map && (i.opcode == 0xc3 || i.opcode == 0xc2);
	if (i.is_invalid || i.p > i.end || immediate > (size_t)(i.end - i.p))
		return 0;
	return (size_t)(i.p - code) + immediate;
}

#elif defined(__aarch64__)

static size_t instruction_bytes(const uint8_t *code, size_t max, bool *ret_is_return)
{
	static const uint8_t ret[] = { 0xc0, 0x03, 0x5f, 0xd6 };

	*ret_is_return = max >= 4 && !memcmp(code, ret, 4);
	return max >= 4 ? 4 : 0;
}

#endif

int returns_find(const uint8_t *code, size_t bytes, uint32_t *ret, int max)
{
#if defined(__x86_64__) || defined(__aarch64__)
	int cnt = 0;
	size_t n;

	for (size_t at = 0; at < bytes; at += n) {
		bool is_return;

		n = instruction_bytes(code + at, bytes - at, &is_return);
		if (!n)
			return -EILSEQ;
		if (is_return && cnt == max)
			return -E2BIG;
		if (is_return)
			ret[cnt++] = (uint32_t)at;
	}
	return cnt;
#else
	return -ENOTSUP;
#endif
}
