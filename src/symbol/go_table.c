/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * go_table: the layout is defined in Go's runtime/symtab.go and runtime/runtime2.go:
 *
 *     header       magic, 2 zeros, step of code addresses, size of a pointer; number of functions,
 *                  number of files, address of the first function; positions of names, units,
 *                  files, frames and functions
 *     functions    pairs of 32 bits, sorted: offset of the code, offset of the description; the
 *                  last pair has only the end of the code
 *     description  offset of the code, of the name; ...; offset in frames; ...; flags
 *     frames       of a function: pairs of varints, change of the distance and of the address
 *
 * In a position-independent program, the address of the first function may be missing in the
 * header. It is then in a relocation, or it is the start of .text.
 */
#include "symbol/go_table.h"

#include <gelf.h>
#include <string.h>

#define TABLE_MAX (256u << 20)
#define FUNCTIONS_MAX (4u << 20)
#define MAGIC_118 0xfffffff0u
#define MAGIC_120 0xfffffff1u

enum { AT_CNT = 8, AT_TEXT = 24, AT_NAMES = 32, AT_UNITS = 40, AT_FRAMES = 56, AT_FUNCTIONS = 64,
       HEADER_BYTES = 72 };
enum { FUNCTION_NAME = 4, FUNCTION_FRAMES = 16, FLAGS_118 = 37, FLAGS_120 = 41 };
enum { FLAG_OUTERMOST = 1, FLAG_MOVES_STACK = 2 };

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* ---- reading ---- */

/* Returns the data of a section; NULL: none. */
static const Elf_Data *section_data(Elf_Scn *scn, const GElf_Shdr *sh)
{
	const Elf_Data *data;

	if (sh->sh_type != SHT_PROGBITS || sh->sh_flags & SHF_COMPRESSED || sh->sh_size > TABLE_MAX)
		return NULL;
	data = elf_rawdata(scn, NULL);
	return data && data->d_buf ? data : NULL;
}

/* Returns the value of the relocation of the word at addr. */
static bool relocated(Elf_Scn *scn, const GElf_Shdr *sh, uint64_t addr, uint64_t *ret)
{
	Elf_Data *data;
	GElf_Rela r;

	if (sh->sh_type != SHT_RELA || sh->sh_size > TABLE_MAX || sh->sh_flags & SHF_COMPRESSED)
		return false;
	data = elf_getdata(scn, NULL);
	for (int i = 0; data && i < (int)(sh->sh_size / sizeof(Elf64_Rela)); i++) {
		if (!gelf_getrela(data, i, &r))
			return false;
		if (r.r_offset == addr) {
			*ret = (uint64_t)r.r_addend;
			return true;
		}
	}
	return false;
}

static bool use_header(struct go_table *g, const Elf_Data *data)
{
	const uint8_t *p = data->d_buf;
	uint32_t magic;

	if (data->d_size < HEADER_BYTES)
		return false;
	magic = get32(p);
	g->data = p;
	g->bytes = data->d_size;
	g->pc_step = p[6];
	g->flags_at = magic == MAGIC_118 ? FLAGS_118 : FLAGS_120;
	g->text = get64(p + AT_TEXT);
	g->names = get64(p + AT_NAMES);
	g->names_end = get64(p + AT_UNITS);
	g->frames = get64(p + AT_FRAMES);
	g->functions = get64(p + AT_FUNCTIONS);
	if ((magic != MAGIC_118 && magic != MAGIC_120) || p[7] != 8 || !g->pc_step ||
	    get64(p + AT_CNT) > FUNCTIONS_MAX)
		return false;
	g->cnt = (uint32_t)get64(p + AT_CNT);
	return g->cnt && g->names < g->names_end && g->names_end <= g->bytes &&
	       !p[g->names_end - 1] && g->frames <= g->bytes && g->functions <= g->bytes &&
	       g->bytes - g->functions >= 8ull * g->cnt + 4;
}

bool go_table_read(struct go_table *ret, Elf *elf)
{
	struct go_table g = { .cnt = 0 };
	Elf_Scn *scn = NULL;
	GElf_Shdr sh, text = { 0 };
	uint64_t addr = 0, first = 0, end;
	size_t names;
	bool is_known;

	if (gelf_getclass(elf) != ELFCLASS64 || elf_getshdrstrndx(elf, &names))
		return false;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		const char *name;
		const Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || !(name = elf_strptr(elf, names, sh.sh_name)))
			return false;
		if (!strcmp(name, ".text"))
			text = sh;
		if (g.cnt || (strcmp(name, ".gopclntab") &&
			      strcmp(name, ".data.rel.ro.gopclntab")))
			continue;
		data = section_data(scn, &sh);
		if (!data || !use_header(&g, data))
			return false;
		addr = sh.sh_addr;
	}
	if (!g.cnt)
		return false;
	is_known = g.text;
	while (!is_known && (scn = elf_nextscn(elf, scn)) != NULL)
		is_known = gelf_getshdr(scn, &sh) && relocated(scn, &sh, addr + AT_TEXT, &g.text);
	/* .text contains only Go code if it ends with the last function, except for padding */
	end = get32(g.data + g.functions + 8ull * g.cnt);
	first = text.sh_addr;
	if (!is_known && first && end <= text.sh_size && text.sh_size - end < 64)
		g.text = first;
	if (!g.text || g.text > UINT64_MAX - end)
		return false;
	*ret = g;
	return true;
}

/* ---- functions ---- */

bool go_table_function(const struct go_table *g, uint32_t nr, struct go_function *ret)
{
	const uint8_t *pair = g->data + g->functions + 8ull * nr, *p;
	uint32_t at, from, to;

	if (nr >= g->cnt)
		return false;
	from = get32(pair);
	at = get32(pair + 4);
	to = get32(pair + 8);
	if (from >= to || at > g->bytes - g->functions ||
	    g->bytes - g->functions - at <= g->flags_at)
		return false;
	p = g->data + g->functions + at;
	*ret = (struct go_function){ .addr = g->text + from, .end = g->text + to,
				     .name = get32(p + FUNCTION_NAME),
				     .frames = get32(p + FUNCTION_FRAMES),
				     .is_outermost = p[g->flags_at] & FLAG_OUTERMOST,
				     .moves_stack = p[g->flags_at] & FLAG_MOVES_STACK };
	return ret->end > ret->addr && ret->name < g->names_end - g->names;
}

bool go_table_find(const struct go_table *g, uint64_t addr, struct go_function *ret)
{
	uint32_t lo = 0, hi = g->cnt;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (g->text + get32(g->data + g->functions + 8ull * mid) <= addr)
			lo = mid;
		else
			hi = mid;
	}
	return go_table_function(g, lo, ret) && addr >= ret->addr && addr < ret->end;
}

/* Reads a varint of at most 32 bits at *at; sets *at to the byte after it. */
static bool get_varint(const struct go_table *g, size_t *at, uint32_t *ret)
{
	unsigned int shift = 0;
	uint8_t byte;

	*ret = 0;
	do {
		if (*at >= g->bytes || shift > 28)
			return false;
		byte = g->data[(*at)++];
		*ret |= (uint32_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return true;
}

bool go_table_frame_bytes(const struct go_table *g, const struct go_function *f, uint64_t addr,
			  uint64_t *ret)
{
	size_t at = g->frames + f->frames;
	uint64_t pc = f->addr;
	uint32_t change, step, bytes = UINT32_MAX; /* bytes: -1, the initial value of the changes */

	if (!f->frames || f->moves_stack)
		return false;
	while (pc <= addr) {
		if (!get_varint(g, &at, &change) || !get_varint(g, &at, &step) || !step)
			return false;
		bytes += change & 1 ? ~(change >> 1) : change >> 1;
		pc += (uint64_t)step * g->pc_step;
	}
	*ret = bytes;
	return bytes <= INT32_MAX;
}
