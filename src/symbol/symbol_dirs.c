/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * symbol_dirs: lists the build ids of all files first. Symbols are read when a name in a file is
 * first looked up. Directories behind symbolic links are not searched, since links may be a circle;
 * files behind them are read.
 */
#include "symbol/symbol_dirs.h"

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
#include "symbol/debug_file.h"

#define DEPTH_MAX 16
#define FILES_MAX (1u << 20)

struct named_file {
	char id[DEBUG_FILE_HEX_MAX];
	char *path;
	struct elf_symbols *symbols;	/* NULL: not read, or not readable */
	bool was_read;
};

struct symbol_dirs {
	struct named_file *files;	/* by id; several may have one */
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

/* Returns the place of the first file with this build id, if there is one. */
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

const char *symbol_dirs_path(const struct symbol_dirs *d, const char *build_id, size_t nr)
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
	/* a whole symbol table is better than that of a stripped file */
	for (int full = 1; full >= 0 && !found && addr; full--)
		for (i = lo; i < d->cnt && !strcmp(d->files[i].id, build_id) && !found; i++)
			if (symbols_of(&d->files[i]) &&
			    !!elf_symbols_is_full(d->files[i].symbols) == full)
				found = elf_symbols_find_addr(d->files[i].symbols, addr,
							      ret_offset);
	return found;
}
