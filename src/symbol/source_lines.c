/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * source_lines: many compilers write no table of the addresses of compilation units. Therefore, at
 * the first lookup in a file, the address ranges of all its units are collected and sorted. A
 * unit's lines are decoded at the first lookup in the unit, and kept.
 */
#include "symbol/source_lines.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/words.h"
#include "symbol/elf_symbols.h"

/*
 * symbol_dirs: collects the build ids of all files first. The symbols of a file are read at the
 * first lookup in it. Symbolic links to directories are not followed, because they may form a
 * circle; links to files are.
 */

#define DEPTH_MAX 16
#define FILES_MAX (1u << 20)

struct named_file {
	char id[DEBUG_FILE_HEX_MAX];
	char *path;
	struct elf_symbols *symbols;	/* NULL: not read yet, or unreadable */
	bool was_read;
};

struct symbol_dirs {
	struct named_file *files;	/* in order of ids; several files may have the same id */
	size_t cnt, cap;
};

static int add_file(struct symbol_dirs *d, const char *path)
{
	struct named_file f = { .path = NULL };
	uint8_t id[ELF_BUILD_ID_MAX];
	int fd = debug_file_open(path), r;
	size_t n;

	if (fd < 0)
		return 0;
	n = elf_symbols_id_of(fd, id);
	close(fd);
	if (!n)
		return 0;
	debug_file_put_hex(f.id, id, n);
	f.path = strdup(path);
	r = !f.path ? -ENOMEM : d->cnt == FILES_MAX ? -E2BIG :
		      array_add(&d->files, &d->cap, &d->cnt, f);
	if (r < 0)
		free(f.path);
	return r;
}

static int add_dir(struct symbol_dirs *d, const char *path, unsigned int depth)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	char inner[PATH_MAX];
	struct stat st;
	int r = 0, n;

	if (!dir)
		return depth ? 0 : -errno;
	while (r >= 0 && (e = readdir(dir)) != NULL) {
		n = snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    n >= (int)sizeof(inner) || lstat(inner, &st))
			continue;
		if (!S_ISDIR(st.st_mode))
			r = add_file(d, inner);
		else if (depth < DEPTH_MAX)
			r = add_dir(d, inner, depth + 1);
	}
	closedir(dir);
	return r;
}

static int by_id(const void *a, const void *b)
{
	const struct named_file *x = a, *y = b;

	return strcmp(x->id, y->id) ?: strcmp(x->path, y->path);
}

int symbol_dirs_new(struct symbol_dirs **ret, const char *dirs, char ret_dir[256])
{
	struct symbol_dirs *d = calloc(1, sizeof(*d));
	int r = d ? 0 : -ENOMEM;

	while (r >= 0 && *dirs) {
		struct word w = word_next(&dirs);

		snprintf(ret_dir, 256, "%.*s", w.len, w.s);
		r = w.len ? add_dir(d, ret_dir, 0) : 0;
	}
	if (r < 0) {
		symbol_dirs_free(d);
		return r;
	}
	if (d->cnt)
		qsort(d->files, d->cnt, sizeof(*d->files), by_id);
	*ret = d;
	return 0;
}

void symbol_dirs_free(struct symbol_dirs *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->cnt; i++) {
		elf_symbols_free(d->files[i].symbols);
		free(d->files[i].path);
	}
	free(d->files);
	free(d);
}

static struct elf_symbols *symbols_of(struct named_file *f)
{
	int fd = f->was_read ? -1 : debug_file_open(f->path);

	f->was_read = true;
	/* the file may have been replaced since its build id was read */
	if (fd >= 0 && !elf_symbols_read(&f->symbols, fd)) {
		uint8_t id[ELF_BUILD_ID_MAX];
		char hex[DEBUG_FILE_HEX_MAX];

		debug_file_put_hex(hex, id, elf_symbols_build_id(f->symbols, id));
		if (strcmp(hex, f->id)) {
			elf_symbols_free(f->symbols);
			f->symbols = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	return f->symbols;
}

/* Returns the index of the first file with this build id; if there is none, with a higher id. */
static size_t first_of(const struct symbol_dirs *d, const char *build_id)
{
	size_t lo = 0, hi = d->cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(d->files[mid].id, build_id) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Returns the path of the nr-th file with this build id; NULL: there are fewer files. */
static const char *symbol_dirs_path(const struct symbol_dirs *d, const char *build_id, size_t nr)
{
	size_t i = first_of(d, build_id) + nr;

	return i < d->cnt && !strcmp(d->files[i].id, build_id) ? d->files[i].path : NULL;
}

const char *symbol_dirs_find(struct symbol_dirs *d, const char *build_id, uint64_t file_offset,
			     uint64_t addr, uint64_t *ret_offset)
{
	size_t lo = first_of(d, build_id), i;
	const char *found = NULL;

	for (i = lo; i < d->cnt && !strcmp(d->files[i].id, build_id) && !addr; i++)
		if (symbols_of(&d->files[i]) &&
		    !elf_symbols_addr(d->files[i].symbols, file_offset, &addr))
			addr = 0;
	/* prefer a complete symbol table to that of a stripped file */
	for (int full = 1; full >= 0 && !found && addr; full--)
		for (i = lo; i < d->cnt && !strcmp(d->files[i].id, build_id) && !found; i++)
			if (symbols_of(&d->files[i]) &&
			    !!elf_symbols_is_full(d->files[i].symbols) == full)
				found = elf_symbols_find_addr(d->files[i].symbols, addr,
							      ret_offset);
	return found;
}

#ifndef EBPFREC_LINES

bool source_lines_is_offered(void)
{
	return false;
}

int source_lines_new(struct source_lines **ret, const char *root,
		     const struct symbol_dirs *dirs)
{
	return -ENOTSUP;
}

void source_lines_free(struct source_lines *s)
{
}

const char *source_lines_find(struct source_lines *s, const char *path, const char *build_id,
			      uint64_t file_offset, unsigned int *ret_line)
{
	return NULL;
}

bool source_lines_missing(struct source_lines *s, unsigned int nr, const char **ret_path,
			  const char **ret_why)
{
	return false;
}

#else

#include <elfutils/libdw.h>

#include "base/array.h"
#include "symbol/elf_symbols.h"

#define DISCARDED 1	/* linkers assign address 0 or 1 to discarded code */

struct range {
	uint64_t start, end;
	Dwarf_Off unit;		/* offset of the unit's first entry */
};

struct binary {
	const char *path, *build_id;
	const char *why;	/* reason why lines are missing; NULL: the file has lines */
	struct elf_symbols *symbols;
	int fd;			/* descriptor of the file with the lines; -1: not open */
	Elf *elf;
	Dwarf *dwarf;
	struct range *ranges;
	size_t range_cnt, range_cap;
};

struct source_lines {
	const char *root;
	const struct symbol_dirs *dirs;	/* NULL: none */
	struct binary *binaries;
	size_t cnt, cap;
};

bool source_lines_is_offered(void)
{
	return true;
}

int source_lines_new(struct source_lines **ret, const char *root,
		     const struct symbol_dirs *dirs)
{
	struct source_lines *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->root = root;
	s->dirs = dirs;
	*ret = s;
	return 0;
}

static void close_binary(struct binary *b)
{
	dwarf_end(b->dwarf);
	elf_end(b->elf);
	if (b->fd >= 0)
		close(b->fd);
	b->dwarf = NULL;
	b->elf = NULL;
	b->fd = -1;
	b->range_cnt = 0;
}

void source_lines_free(struct source_lines *s)
{
	for (size_t i = 0; s && i < s->cnt; i++) {
		close_binary(&s->binaries[i]);
		elf_symbols_free(s->binaries[i].symbols);
		free(s->binaries[i].ranges);
	}
	if (s)
		free(s->binaries);
	free(s);
}

static int add_unit(struct binary *b, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start <= DISCARDED)
			continue;
		if (array_add(&b->ranges, &b->range_cap, &b->range_cnt,
			      (struct range){ start, end, dwarf_dieoffset(die) }) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Reads the debugging information of the file at fd, if there is any. */
static bool take_lines(void *binary, int fd)
{
	struct binary *b = binary;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	b->fd = dup(fd);
	b->elf = elf_begin(b->fd, ELF_C_READ, NULL);
	b->dwarf = b->elf ? dwarf_begin_elf(b->elf, DWARF_C_READ, NULL) : NULL;
	while (b->dwarf && !dwarf_get_units(b->dwarf, unit, &unit, NULL, NULL, &die, NULL))
		if (add_unit(b, &die) < 0)
			break;
	if (!b->range_cnt) {
		close_binary(b);
		return false;
	}
	qsort(b->ranges, b->range_cnt, sizeof(*b->ranges), compare_u64);
	return true;
}

/*
 * Opens the file at path if it has b's build id. Keeps its symbols in b if b has none yet and the
 * byte at file_offset is in a segment of the file; a separate debug file has no such segment.
 */
static int open_same(struct binary *b, const char *path, uint64_t file_offset, int *ret_fd)
{
	uint64_t addr;
	uint8_t id[ELF_BUILD_ID_MAX];
	char hex[DEBUG_FILE_HEX_MAX];
	struct elf_symbols *symbols = NULL;
	int fd = debug_file_open(path);

	if (fd < 0)
		return fd;
	if (!elf_symbols_read(&symbols, fd)) {
		debug_file_put_hex(hex, id, elf_symbols_build_id(symbols, id));
		if (!strcmp(hex, b->build_id)) {
			if (b->symbols || !elf_symbols_addr(symbols, file_offset, &addr))
				elf_symbols_free(symbols);
			else
				b->symbols = symbols;
			*ret_fd = fd;
			return 0;
		}
	}
	elf_symbols_free(symbols);
	close(fd);
	return -ESTALE;
}

static const char *open_binary(struct binary *b, const char *root, const struct symbol_dirs *dirs,
			       uint64_t file_offset)
{
	char path[PATH_MAX];
	const char *other;
	bool has_lines = false;
	int fd, r;

	if (!b->build_id[0])
		return "no build id was recorded, which would prove that the file is the same";
	r = snprintf(path, sizeof(path), "%s%s", root, b->path);
	r = r < (int)sizeof(path) ? open_same(b, path, file_offset, &fd) : -ENAMETOOLONG;
	if (!r) {
		has_lines = take_lines(b, fd) ||
			    (b->symbols &&
			     debug_file_search(b->symbols, root, b->path, take_lines, b));
		close(fd);
	}
	for (size_t i = 0; dirs && !(has_lines && b->symbols); i++) {
		other = symbol_dirs_path(dirs, b->build_id, i);
		if (!other)
			break;
		if (open_same(b, other, file_offset, &fd))
			continue;
		has_lines = has_lines || take_lines(b, fd);
		close(fd);
	}
	return has_lines && b->symbols ? NULL :
	       r == -ESTALE	       ? "another file is there, with another build id" :
	       r || !b->symbols	       ? "the file is not there, or not readable" :
					 "no debugging information is installed";
}

static struct binary *binary_of(struct source_lines *s, const char *path, const char *build_id,
				uint64_t file_offset)
{
	struct binary *b;

	for (size_t i = 0; i < s->cnt; i++)
		if (!strcmp(s->binaries[i].path, path) &&
		    !strcmp(s->binaries[i].build_id, build_id))
			return &s->binaries[i];
	if (array_reserve(&s->binaries, &s->cap, s->cnt + 1) < 0)
		return NULL;
	b = &s->binaries[s->cnt++];
	*b = (struct binary){ .path = path, .build_id = build_id, .fd = -1 };
	b->why = open_binary(b, s->root, s->dirs, file_offset);
	return b;
}

const char *source_lines_find(struct source_lines *s, const char *path, const char *build_id,
			      uint64_t file_offset, unsigned int *ret_line)
{
	const struct binary *b = binary_of(s, path, build_id, file_offset);
	const char *source;
	Dwarf_Line *line;
	Dwarf_Die unit;
	uint64_t addr;
	size_t i;
	int number;

	if (!b || b->why || !elf_symbols_addr(b->symbols, file_offset, &addr))
		return NULL;
	i = lower_bound(b->ranges, b->range_cnt, start, addr + 1);
	if (!i || addr >= b->ranges[i - 1].end ||
	    !dwarf_offdie(b->dwarf, b->ranges[i - 1].unit, &unit))
		return NULL;
	line = dwarf_getsrc_die(&unit, addr);
	source = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	/* line 0: the code belongs to no source line */
	if (!source || dwarf_lineno(line, &number) || number <= 0)
		return NULL;
	*ret_line = (unsigned int)number;
	return source;
}

static int by_reason(const void *a, const void *b)
{
	const struct binary *x = a, *y = b;
	int order = strcmp(x->why ?: "", y->why ?: "");

	return order ? order : strcmp(x->path, y->path);
}

bool source_lines_missing(struct source_lines *s, unsigned int nr, const char **ret_path,
			  const char **ret_why)
{
	if (!nr && s->cnt)
		qsort(s->binaries, s->cnt, sizeof(*s->binaries), by_reason);
	for (size_t i = 0; i < s->cnt; i++) {
		if (!s->binaries[i].why || nr-- > 0)
			continue;
		*ret_path = s->binaries[i].path;
		*ret_why = s->binaries[i].why;
		return true;
	}
	return false;
}

#endif
