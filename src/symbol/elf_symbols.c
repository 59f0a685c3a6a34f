/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * elf_symbols: uses libelf, which checks offsets against the file's size. This code checks the size
 * of every section and segment before reading its data. Symbols are sorted by address. Their names
 * remain in the file's string tables, which are copied as a whole, because checking each name would
 * cost more. Only variables in writable memory are kept.
 */
#include "symbol/elf_symbols.h"

#include <elfutils/version.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"

#ifdef EBPFREC_DEMANGLE
#include <libiberty/demangle.h>
#include <setjmp.h>
#endif

#define SYMBOLS_MAX (8u << 20)
#define NAMES_MAX (512u << 20)
#define NOTES_MAX (64u << 10)
#define SEGMENTS_MAX 4096
#define SECTIONS_MAX (1u << 20)

struct symbol {
	uint64_t addr, size;	/* size 0: the symbol table has no size for it */
	uint32_t name;		/* offset into the arena */
	/* of several symbols with one address, the one with the lowest rank counts */
	uint32_t rank;
};
/* distance between the ranks of bindings; within a binding, ranks are in the order of the file */
#define RANK_STEP (1u << 24)

struct symbol_list {
	struct symbol *v;
	size_t cnt, cap;
	bool is_sorted;		/* by address; sorted at the first search */
};

struct segment {
	uint64_t offset, bytes, addr;
	uint64_t mem_bytes;	/* including the zeroed memory after the file's bytes */
	bool is_writable;
};

struct elf_symbols {
	struct symbol_list functions, variables;
	struct buf arena;
	struct segment *segments;
	size_t segment_cnt;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_bytes;
	char link[ELF_LINK_MAX];
	uint32_t link_crc;
	bool is_full;
	uint64_t *starts;	/* start addresses of functions in the unwind table; sorted */
	size_t start_cnt;
};

/* ---- reading ---- */

/* Returns the list to which a symbol belongs; NULL: none. */
static struct symbol_list *list_of(struct elf_symbols *s, const GElf_Sym *sym)
{
	if (sym->st_shndx == SHN_UNDEF || !sym->st_value)
		return NULL;
	if (GELF_ST_TYPE(sym->st_info) == STT_FUNC || GELF_ST_TYPE(sym->st_info) == STT_GNU_IFUNC)
		return &s->functions;
	if (GELF_ST_TYPE(sym->st_info) != STT_OBJECT)
		return NULL;
	for (size_t i = 0; i < s->segment_cnt; i++)
		if (s->segments[i].is_writable &&
		    sym->st_value - s->segments[i].addr < s->segments[i].mem_bytes)
			return &s->variables;
	return NULL;
}

static int add_symbol(struct symbol_list *to, const GElf_Sym *sym, size_t name)
{
	unsigned int bind = GELF_ST_BIND(sym->st_info);
	uint32_t by_bind = bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? RANK_STEP : 2 * RANK_STEP;
	struct symbol f = { .addr = sym->st_value, .size = sym->st_size, .name = (uint32_t)name,
			    .rank = by_bind + (uint32_t)to->cnt };

	return to->cnt == SYMBOLS_MAX ? -E2BIG : array_add(&to->v, &to->cap, &to->cnt, f);
}

static int read_table(struct elf_symbols *s, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Scn *link = elf_getscn(elf, sh->sh_link);
	size_t i, cnt, first = s->arena.len;
	const Elf_Data *strings;
	GElf_Shdr names;
	Elf_Data *data;
	int r = 0;

	if (!sh->sh_entsize || sh->sh_size / sh->sh_entsize > SYMBOLS_MAX)
		return sh->sh_entsize ? -E2BIG : -ENOEXEC;
	/* libelf reads a string table as a whole: check its size first */
	if (!gelf_getshdr(link, &names) || names.sh_type != SHT_STRTAB)
		return -ENOEXEC;
	if (names.sh_size >= NAMES_MAX - first)
		return -E2BIG;
	data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf)
		return -ENOEXEC;
	strings = elf_getdata(link, NULL);
	if (!strings || !strings->d_buf || names.sh_flags & SHF_COMPRESSED)
		return 0;
	buf_add(&s->arena, strings->d_buf, strings->d_size);
	buf_add(&s->arena, "", 1);
	if (s->arena.failed)
		return -ENOMEM;
	cnt = data->d_size / sh->sh_entsize;
	for (i = 0; i < cnt && !r; i++) {
		struct symbol_list *to;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			return -ENOEXEC;
		to = list_of(s, &sym);
		if (to && sym.st_name && sym.st_name < strings->d_size)
			r = add_symbol(to, &sym, first + sym.st_name);
	}
	return r;
}

static void read_link(struct elf_symbols *s, Elf_Scn *scn, const GElf_Shdr *sh)
{
	const Elf_Data *data;
	size_t len, at;

	if (sh->sh_size > ELF_LINK_MAX + 8 || sh->sh_type == SHT_NOBITS)
		return;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return;
	len = strnlen(data->d_buf, data->d_size);
	at = (len + 4) & ~(size_t)3;	/* includes the NUL; padded to 4 bytes */
	if (!len || len >= ELF_LINK_MAX || at + 4 > data->d_size || memchr(data->d_buf, '/', len))
		return;
	memcpy(s->link, data->d_buf, len + 1);
	memcpy(&s->link_crc, (const char *)data->d_buf + at, 4);
}

static int read_sections(struct elf_symbols *s, Elf *elf, bool is_first)
{
	Elf_Scn *scn = NULL;
	size_t names, cnt = 0;
	GElf_Shdr sh;
	int r = 0;

	if (elf_getshdrstrndx(elf, &names))
		return 0;	/* symbols cannot be found without section headers */
	while (!r && (scn = elf_nextscn(elf, scn)) != NULL) {
		const char *name;

		if (++cnt > SECTIONS_MAX)
			return -E2BIG;
		if (!gelf_getshdr(scn, &sh))
			return -ENOEXEC;
		if (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM) {
			r = read_table(s, elf, scn, &sh);
			s->is_full |= !r && sh.sh_type == SHT_SYMTAB;
		} else if (is_first && sh.sh_type == SHT_PROGBITS) {
			name = elf_strptr(elf, names, sh.sh_name);
			if (name && !strcmp(name, ".gnu_debuglink"))
				read_link(s, scn, &sh);
		}
	}
	return r;
}

static void read_notes(struct elf_symbols *s, Elf *elf, const GElf_Phdr *ph)
{
	Elf_Data *data;
	GElf_Nhdr note;
	size_t at = 0, name, desc;

	if (!ph->p_filesz || ph->p_filesz > NOTES_MAX || ph->p_offset > INT64_MAX)
		return;
	data = elf_getdata_rawchunk(elf, (int64_t)ph->p_offset, ph->p_filesz,
				    ph->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	while (data && (at = gelf_getnote(data, at, &note, &name, &desc)) != 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((const char *)data->d_buf + name, "GNU", 4) || !note.n_descsz)
			continue;
		s->build_id_bytes =
			note.n_descsz < ELF_BUILD_ID_MAX ? note.n_descsz : ELF_BUILD_ID_MAX;
		memcpy(s->build_id, (const char *)data->d_buf + desc, s->build_id_bytes);
		return;
	}
}

#define STARTS_MAX (8u << 20)

/*
 * Reads the start addresses of functions from the table of .eh_frame_hdr, in the only format that
 * linkers write: pairs of 4 bytes (address, position of the entry), relative to the header's
 * address.
 */
static int read_starts(struct elf_symbols *s, Elf *elf)
{
	static const uint8_t form[4] = { 1, 0x1b, 0x03, 0x3b };
	GElf_Phdr ph;
	Elf_Data *data;
	uint32_t cnt;
	size_t i, segments;
	int32_t at;

	if (elf_getphdrnum(elf, &segments))
		return 0;
	for (i = 0; i < segments; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_GNU_EH_FRAME)
			break;
	if (i == segments || ph.p_filesz < 12 || ph.p_filesz > 8ull * STARTS_MAX ||
	    ph.p_offset > INT64_MAX)
		return 0;
	data = elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_BYTE);
	if (!data || !data->d_buf || memcmp(data->d_buf, form, sizeof(form)))
		return 0;
	memcpy(&cnt, (const char *)data->d_buf + 8, sizeof(cnt));
	if (cnt > (data->d_size - 12) / 8)
		return 0;
	s->starts = malloc((cnt + 1) * sizeof(*s->starts));
	if (!s->starts)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		memcpy(&at, (const char *)data->d_buf + 12 + 8 * i, sizeof(at));
		s->starts[i] = ph.p_vaddr + (uint64_t)(int64_t)at;
	}
	qsort(s->starts, cnt, sizeof(*s->starts), compare_u64);
	s->start_cnt = cnt;
	return 0;
}

/* Adds the functions of a Go program, whose names remain when it is stripped. */
static int read_go(struct elf_symbols *s, Elf *elf)
{
	size_t first = s->arena.len;
	struct go_table g;
	struct go_function f;
	int r = 0;

	if (!go_table_read(&g, elf) || g.names_end - g.names >= NAMES_MAX - first)
		return 0;
	buf_add(&s->arena, g.data + g.names, g.names_end - g.names);
	if (s->arena.failed)
		return -ENOMEM;
	for (uint32_t i = 0; i < g.cnt && !r; i++) {
		GElf_Sym symbol = { .st_info = GELF_ST_INFO(STB_LOCAL, STT_FUNC) };

		if (!go_table_function(&g, i, &f) || !s->arena.data[first + f.name])
			continue;
		symbol.st_value = f.addr;
		symbol.st_size = f.end - f.addr;
		r = add_symbol(&s->functions, &symbol, first + f.name);
	}
	return r;
}

static int read_segments(struct elf_symbols *s, Elf *elf)
{
	GElf_Phdr ph;
	size_t cnt, i;

	if (elf_getphdrnum(elf, &cnt))
		return -ENOEXEC;
	if (cnt > SEGMENTS_MAX)
		return -E2BIG;
	s->segments = calloc(cnt + 1, sizeof(*s->segments));
	if (!s->segments)
		return -ENOMEM;
	for (i = 0; i < cnt; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph))
			return -ENOEXEC;
		if (ph.p_type == PT_LOAD && ph.p_filesz)
			s->segments[s->segment_cnt++] = (struct segment){
				ph.p_offset, ph.p_filesz, ph.p_vaddr, ph.p_memsz,
				ph.p_flags & PF_W };
		else if (ph.p_type == PT_NOTE && !s->build_id_bytes)
			read_notes(s, elf, &ph);
	}
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	/* searches go backwards: the symbol to use comes last */
	return compare_numbers(x->addr, y->addr) ?: compare_numbers(y->rank, x->rank);
}

static int read_elf(struct elf_symbols *s, int fd, bool is_first)
{
	Elf *elf;
	int r;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return -ENOEXEC;
	r = elf_kind(elf) == ELF_K_ELF ? 0 : -ENOEXEC;
	if (!r && is_first)
		r = read_segments(s, elf);
	r = r ?: read_sections(s, elf, is_first);
	if (!r && is_first && !s->is_full)
		r = read_starts(s, elf) ?: read_go(s, elf);
	elf_end(elf);
	s->functions.is_sorted = s->variables.is_sorted = false;
	return r;
}

int elf_symbols_read(struct elf_symbols **ret, int fd)
{
	struct elf_symbols *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	r = read_elf(s, fd, true);
	if (r) {
		elf_symbols_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

size_t elf_symbols_id_of(int fd, uint8_t ret[ELF_BUILD_ID_MAX])
{
	struct elf_symbols s = { .build_id_bytes = 0 };
	Elf *elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	bool is_read = elf && elf_kind(elf) == ELF_K_ELF && !read_segments(&s, elf);

	elf_end(elf);
	free(s.segments);
	return is_read ? elf_symbols_build_id(&s, ret) : 0;
}

int elf_symbols_add(struct elf_symbols *s, int fd)
{
	return read_elf(s, fd, false);
}

void elf_symbols_free(struct elf_symbols *s)
{
	if (!s)
		return;
	free(s->functions.v);
	free(s->variables.v);
	free(s->segments);
	free(s->starts);
	buf_done(&s->arena);
	free(s);
}

/* ---- lookups ---- */

size_t elf_symbols_build_id(const struct elf_symbols *s, uint8_t ret[ELF_BUILD_ID_MAX])
{
	memcpy(ret, s->build_id, s->build_id_bytes);
	return s->build_id_bytes;
}

const char *elf_symbols_link(const struct elf_symbols *s, uint32_t *ret_crc)
{
	*ret_crc = s->link_crc;
	return s->link[0] ? s->link : NULL;
}

int elf_symbols_is_full(const struct elf_symbols *s)
{
	return s->is_full;
}

size_t elf_symbols_bytes(const struct elf_symbols *s)
{
	return (s->functions.cap + s->variables.cap) * sizeof(struct symbol) + s->arena.cap +
	       s->start_cnt * sizeof(*s->starts) + sizeof(*s);
}

bool elf_symbols_addr(const struct elf_symbols *s, uint64_t file_offset, uint64_t *ret)
{
	for (size_t i = 0; i < s->segment_cnt; i++) {
		const struct segment *g = &s->segments[i];

		if (file_offset >= g->offset && file_offset - g->offset < g->bytes) {
			*ret = file_offset - g->offset + g->addr;
			return true;
		}
	}
	return false;
}

static const struct symbol *find_defined(const struct elf_symbols *s, const char *name)
{
	for (size_t i = 0; i < s->functions.cnt; i++)
		if (s->functions.v[i].rank < 2 * RANK_STEP &&
		    !strcmp((const char *)s->arena.data + s->functions.v[i].name, name))
			return &s->functions.v[i];
	return NULL;
}

bool elf_symbols_defines(const struct elf_symbols *s, const char *name)
{
	return find_defined(s, name);
}

static bool to_offset(const struct elf_symbols *s, uint64_t addr, uint64_t *ret)
{
	for (size_t i = 0; i < s->segment_cnt; i++) {
		const struct segment *g = &s->segments[i];

		if (addr >= g->addr && addr - g->addr < g->bytes) {
			*ret = addr - g->addr + g->offset;
			return true;
		}
	}
	return false;
}

bool elf_symbols_function(const struct elf_symbols *s, const char *name, uint64_t *ret_offset)
{
	const struct symbol *f = find_defined(s, name);

	return f && to_offset(s, f->addr, ret_offset);
}

int elf_symbols_each(const struct elf_symbols *s,
		     int (*each)(void *ctx, const char *name, uint64_t file_offset, uint64_t bytes),
		     void *ctx)
{
	uint64_t offset;
	int r = 0;

	for (size_t i = 0; i < s->functions.cnt && !r; i++) {
		const struct symbol *f = &s->functions.v[i];

		if (to_offset(s, f->addr, &offset))
			r = each(ctx, (const char *)s->arena.data + f->name, offset, f->size);
	}
	return r;
}

/*
 * A symbol may contain other symbols (parts with their own names), so a search goes back up to this
 * many symbols.
 */
#define LOOK_BACK 16

/* Sorts a list on first use: a file may be used for variables only, or for functions only. */
static void sort_list(struct symbol_list *l)
{
	if (l->cnt && !l->is_sorted)
		qsort(l->v, l->cnt, sizeof(*l->v), by_addr);
	l->is_sorted = true;
}

static const char *find_in(const struct elf_symbols *s, struct symbol_list *l, uint64_t addr,
			   uint64_t *ret_offset)
{
	size_t after, i;

	sort_list(l);
	after = lower_bound(l->v, l->cnt, addr, addr + 1);
	for (i = after; i-- > 0 && after - i <= LOOK_BACK;) {
		const struct symbol *f = &l->v[i];

		if (!f->size && f->addr != l->v[after - 1].addr)
			continue; /* another symbol begins between this one and the address */
		if (s->arena.data[f->name] && (!f->size || addr - f->addr < f->size)) {
			*ret_offset = addr - f->addr;
			return (const char *)s->arena.data + f->name;
		}
	}
	return NULL;
}

const char *elf_symbols_find(struct elf_symbols *s, uint64_t file_offset, uint64_t *ret_offset)
{
	uint64_t addr;

	if (!elf_symbols_addr(s, file_offset, &addr))
		return NULL;
	return find_in(s, &s->functions, addr, ret_offset);
}

const char *elf_symbols_find_addr(struct elf_symbols *s, uint64_t addr, uint64_t *ret_offset)
{
	return find_in(s, &s->functions, addr, ret_offset);
}

/*
 * Narrows [*from, *to), which contains addr, to the side of the boundary `at` that contains addr.
 */
static void narrow(uint64_t at, uint64_t addr, uint64_t *from, uint64_t *to)
{
	if (at <= addr && at > *from)
		*from = at;
	else if (at > addr && at < *to)
		*to = at;
}

bool elf_symbols_range(struct elf_symbols *s, uint64_t file_offset, uint64_t *ret_from,
		       uint64_t *ret_to)
{
	const struct symbol *f;
	uint64_t addr, from = 0, to = UINT64_MAX;
	size_t after, i;

	if (!elf_symbols_addr(s, file_offset, &addr))
		return false;
	for (i = 0; i < s->segment_cnt; i++) {
		narrow(s->segments[i].addr, addr, &from, &to);
		narrow(s->segments[i].addr + s->segments[i].bytes, addr, &from, &to);
	}
	sort_list(&s->functions);
	f = s->functions.v;
	after = lower_bound(f, s->functions.cnt, addr, addr + 1);
	if (after < s->functions.cnt)
		narrow(f[after].addr, addr, &from, &to);
	for (i = after; i-- > 0 && after - i <= LOOK_BACK;) {
		narrow(f[i].addr, addr, &from, &to);
		narrow(f[i].addr + f[i].size, addr, &from, &to);
	}
	after = lower_bound_plain(s->starts, s->start_cnt, addr + 1);
	if (after < s->start_cnt)
		narrow(s->starts[after], addr, &from, &to);
	if (after)
		narrow(s->starts[after - 1], addr, &from, &to);
	if (to <= addr || to - addr > UINT64_MAX - file_offset || addr - from > file_offset)
		return false;	/* the segment extends to the end of the address space */
	*ret_from = file_offset - (addr - from);
	*ret_to = file_offset + (to - addr);
	return true;
}

/* A mapping begins at a page boundary; its segment may begin within the page. */
#define PAGE_MAX 65536

const char *elf_symbols_find_variable(struct elf_symbols *s, uint64_t map_offset, uint64_t bytes,
				      uint64_t *ret_offset)
{
	for (size_t i = 0; i < s->segment_cnt; i++) {
		const struct segment *g = &s->segments[i];
		uint64_t at = map_offset - g->offset;

		if (!g->is_writable || (at >= g->bytes && -at >= PAGE_MAX))
			continue;
		if (at + bytes < g->mem_bytes)
			return find_in(s, &s->variables, g->addr + at + bytes, ret_offset);
	}
	return NULL;
}

unsigned int elf_symbols_library(void)
{
	return _ELFUTILS_VERSION;
}

/* debug_file: searches the directories that debuggers use, in the order of gdb's manual. */

#define DEBUG_MAX_BYTES (4ull << 30)	/* no CRC is computed for larger separate files */

int debug_file_open(const char *path)
{
	/* O_NONBLOCK: open() must not wait if the path is a FIFO */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

bool debug_file_has_id(int fd, const uint8_t *id, size_t bytes)
{
	uint8_t own[ELF_BUILD_ID_MAX];

	return elf_symbols_id_of(fd, own) == bytes && !memcmp(own, id, bytes);
}

void debug_file_put_hex(char to[DEBUG_FILE_HEX_MAX], const uint8_t *id, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		sprintf(to + 2 * i, "%02x", id[i]);
	to[2 * bytes] = 0;
}

bool debug_file_crc(int fd, uint32_t *ret_crc)
{
	uint32_t table[256], crc = ~0u, i, k;
	uint64_t at = 0;
	uint8_t buf[65536];
	ssize_t n = 0;

	for (i = 0; i < 256; i++) {
		table[i] = i;
		for (k = 0; k < 8; k++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	while (at < DEBUG_MAX_BYTES && (n = pread(fd, buf, sizeof(buf), (off_t)at)) > 0) {
		for (i = 0; i < (uint32_t)n; i++)
			crc = crc >> 8 ^ table[(crc ^ buf[i]) & 0xff];
		at += (uint64_t)n;
	}
	*ret_crc = ~crc;
	return n == 0 && at < DEBUG_MAX_BYTES;
}

struct search {
	const struct elf_symbols *s;
	const char *root;
	bool (*use)(void *ctx, int fd);
	void *ctx;
};

/* Calls use() with the file at root + path if it has the build id, or else the CRC, of q->s. */
static bool try_file(const struct search *q, const char *path)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t id_bytes = elf_symbols_build_id(q->s, id);
	char full[PATH_MAX];
	uint32_t want, crc;
	bool fits;
	int fd;

	if (snprintf(full, sizeof(full), "%s%s", q->root, path) >= (int)sizeof(full))
		return false;
	fd = debug_file_open(full);
	if (fd < 0)
		return false;
	if (id_bytes)
		fits = debug_file_has_id(fd, id, id_bytes);
	else
		fits = elf_symbols_link(q->s, &want) && debug_file_crc(fd, &crc) && crc == want;
	fits = fits && q->use(q->ctx, fd);
	close(fd);
	return fits;
}

bool debug_file_search(const struct elf_symbols *s, const char *root, const char *path,
		       bool (*use)(void *ctx, int fd), void *ctx)
{
	/* a directory to search is `before`, the file's directory and `behind`, joined */
	static const struct {
		const char *before, *behind;
	} places[] = { { "", "" }, { "", "/.debug" }, { "/usr/lib/debug", "" } };
	const struct search q = { s, root, use, ctx };
	uint8_t id[ELF_BUILD_ID_MAX];
	char hex[DEBUG_FILE_HEX_MAX], other[PATH_MAX];
	const char *link, *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash - path) : 0;
	size_t n = elf_symbols_build_id(s, id), i;
	uint32_t crc;

	if (n > 1) {
		debug_file_put_hex(hex, id, n);
		snprintf(other, sizeof(other), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex,
			 hex + 2);
		if (try_file(&q, other))
			return true;
	}
	link = elf_symbols_link(s, &crc);
	if (!link || !slash)
		return false;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(other, sizeof(other), "%s%.*s%s/%s", places[i].before, dir, path,
			     places[i].behind, link) < (int)sizeof(other) &&
		    strcmp(other, path) && try_file(&q, other))
			return true;
	return false;
}

/*
 * go_table: the layout is defined in Go's runtime/symtab.go and runtime/runtime2.go:
 *
 *     header       magic, 2 zeros, step of code addresses, size of a pointer; number of functions,
 *                  number of files, address of the first function; positions of names, units,
 *                  files, frames and functions
 *     functions    pairs of 32 bits, sorted: offset of the code, offset of the description; the
 *                  last pair has only the end of the code
 *     description  offset of the code, of the name; ...; offset in frames; ...; flags
 *     frames       of a function: pairs of varints: change of the distance between stack pointer
 *                  and return address, and change of the code address
 *
 * In a position-independent program, the address of the first function may be missing in the
 * header. It is then in a relocation, or it is the start of .text.
 */

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

/* Returns the data of a section; NULL: none. */
static const Elf_Data *section_data(Elf_Scn *scn, const GElf_Shdr *sh)
{
	const Elf_Data *data;

	if (sh->sh_type != SHT_PROGBITS || sh->sh_flags & SHF_COMPRESSED || sh->sh_size > TABLE_MAX)
		return NULL;
	data = elf_rawdata(scn, NULL);
	return data && data->d_buf ? data : NULL;
}

/* Finds the relocation of the word at addr; *ret is the relocated value. */
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
	uint32_t change, step, bytes = UINT32_MAX; /* bytes: the changes begin at -1 */

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

/*
 * demangle: libiberty passes parts of a name to a callback. The callback's result cannot stop
 * libiberty, so the callback leaves with longjmp() when the buffer is full. In this mode libiberty
 * allocates no memory, except for one identifier of a Rust name with letters beyond ASCII.
 *
 * libiberty's demanglers use stack space that grows with the name's length, at worst with its
 * square. Current versions refuse C++ names of more than 1024 bytes; older versions did not.
 */

#ifndef EBPFREC_DEMANGLE

bool demangle_is_offered(void)
{
	return false;
}

const char *demangle(char *to, size_t size, const char *symbol)
{
	return symbol;
}

#else

#define MANGLED_MAX 1024

struct text {
	char *to;
	size_t size, len;
	jmp_buf is_full;
};

bool demangle_is_offered(void)
{
	return true;
}

static void add_piece(const char *piece, size_t n, void *ctx)
{
	struct text *t = ctx;
	size_t room = t->size - 1 - t->len;

	memcpy(t->to + t->len, piece, n < room ? n : room);
	t->len += n < room ? n : room;
	if (n > room)
		longjmp(t->is_full, 1);
}

const char *demangle(char *to, size_t size, const char *symbol)
{
	struct text t = { .to = to, .size = size };

	if (symbol[0] != '_' || strlen(symbol) > MANGLED_MAX)
		return symbol;
	if (!setjmp(t.is_full)) {
		/* older Rust names look like C++ names: try Rust first */
		if (!rust_demangle_callback(symbol, DMGL_NO_OPTS, add_piece, &t)) {
			t.len = 0;
			if (!cplus_demangle_v3_callback(symbol, DMGL_NO_OPTS, add_piece, &t))
				return symbol;
		}
	}
	to[t.len] = 0;
	return to;
}

#endif

const char *function_shown(char to[FUNCTION_SHOWN + 1], const char *symbol)
{
	const char *name = demangle(to, FUNCTION_SHOWN + 1, symbol);

	if (name != to)
		snprintf(to, FUNCTION_SHOWN + 1, "%s", name);
	return to;
}
