/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * module_cache: looks for a file in this order: the process's mapping itself (/proc/PID/map_files,
 * which works even if the path changed), the path as the process sees it (/proc/PID/root), the path
 * as the recorder sees it. The last two may be another file by now, so their build id, or their
 * device and inode, must match the mapping.
 */
#include "symbol/module_cache.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/hash_map.h"
#include "base/strpool.h"
#include "symbol/debug_file.h"

#define OPEN_MAX_CNT 256 /* files held open; further files are opened when they are needed */
#define TABLES_MAX_BYTES (256u << 20)	/* limit for symbols in memory, of all modules */

#define DELETED " (deleted)"

struct module {
	const char *key, *path, *build_id;	/* in the pool */
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t id_bytes;
	unsigned int dev_major, dev_minor;
	uint64_t ino;
	bool has_file, was_deleted;
	int fd;				/* -1: not open */
	uint64_t opened_turn;
	struct elf_symbols *symbols;	/* NULL: not read */
	enum module_why failed;	/* why reading symbols failed; MODULE_NAMED: not tried yet */
	struct unwind_table *unwind;	/* NULL: not read, or the file has none */
	bool has_no_unwind;
	uint64_t used_turn;
	struct module *next;
};

struct module_cache {
	module_open_mapped open_mapped;
	void *ctx;
	struct strpool *pool;
	struct module *modules;
	struct hash_map by_key;		/* by the key's address in pool */
	unsigned int open_cnt;
	size_t table_bytes;
	uint64_t turn;
};

int module_cache_new(struct module_cache **ret, module_open_mapped open_mapped, void *ctx)
{
	struct module_cache *cache = calloc(1, sizeof(*cache));

	if (!cache || strpool_new(&cache->pool)) {
		free(cache);
		return -ENOMEM;
	}
	cache->open_mapped = open_mapped;
	cache->ctx = ctx;
	*ret = cache;
	return 0;
}

static void close_module(struct module_cache *cache, struct module *m)
{
	if (m->fd < 0)
		return;
	close(m->fd);
	m->fd = -1;
	cache->open_cnt--;
}

void module_cache_free(struct module_cache *cache)
{
	struct module *m, *next;

	if (!cache)
		return;
	for (m = cache->modules; m; m = next) {
		next = m->next;
		close_module(cache, m);
		elf_symbols_free(m->symbols);
		unwind_table_free(m->unwind);
		free(m);
	}
	hash_map_done(&cache->by_key);
	strpool_free(cache->pool);
	free(cache);
}

/* ---- opening ---- */

static int open_file(const char *path, enum module_why *why)
{
	int fd = debug_file_open(path);

	if (fd == -EACCES || fd == -EPERM)
		*why = MODULE_UNREADABLE;
	else if (fd == -EINVAL)
		*why = MODULE_CHANGED;
	return fd;
}

/* True if a file found by its path is the mapped one. */
static bool is_same_file(const struct module *m, int fd)
{
	struct stat st;

	if (m->id_bytes)
		return debug_file_has_id(fd, m->id, m->id_bytes);
	return m->ino && fstat(fd, &st) == 0 && st.st_ino == m->ino &&
	       major(st.st_dev) == m->dev_major && minor(st.st_dev) == m->dev_minor;
}

static int open_by_path(const struct module *m, const char *root, enum module_why *why)
{
	char path[PATH_MAX];
	int fd;

	if (m->path[0] != '/' ||
	    snprintf(path, sizeof(path), "%s%s", root, m->path) >= (int)sizeof(path))
		return -1;
	fd = open_file(path, why);
	if (fd < 0 || is_same_file(m, fd))
		return fd;
	close(fd);
	*why = MODULE_CHANGED;
	return -1;
}

/* Opens the file unless it is open, or returns why that failed. */
static enum module_why open_module(struct module_cache *cache, struct module *m, uint32_t pid,
				   uint64_t start, uint64_t end)
{
	enum module_why why = MODULE_NAMED;
	char root[64];

	if (m->fd >= 0)
		return MODULE_NAMED;
	snprintf(root, sizeof(root), "/proc/%u", pid);
	if (access(root, F_OK)) {
		why = MODULE_EXITED;
	} else {
		m->fd = cache->open_mapped ? cache->open_mapped(cache->ctx, pid, start, end) : -1;
		snprintf(root, sizeof(root), "/proc/%u/root", pid);
		if (m->fd < 0)
			m->fd = open_by_path(m, root, &why);
	}
	if (m->fd < 0 && !m->was_deleted) {
		enum module_why here = why;

		m->fd = open_by_path(m, "", &here);
		if (why == MODULE_NAMED)
			why = here;
	}
	if (m->fd >= 0) {
		cache->open_cnt++;
		m->opened_turn = cache->turn;
		return MODULE_NAMED;
	}
	if (why == MODULE_NAMED || (m->was_deleted && why == MODULE_CHANGED))
		return MODULE_DELETED;
	return why;
}

/* ---- modules ---- */

static struct module *add_module(struct module_cache *cache, const struct map_record *r,
				 const char *key)
{
	struct module *m = calloc(1, sizeof(*m));
	char hex[DEBUG_FILE_HEX_MAX], path[PATH_MAX];
	size_t len = strlen(r->path);

	if (!m)
		return NULL;
	snprintf(path, sizeof(path), "%s", r->path);
	m->fd = -1;
	m->key = key;
	m->has_file = r->path[0] == '/' && r->path[1] != '/' && (r->build_id_bytes || r->ino);
	if (len > strlen(DELETED) && len < sizeof(path) &&
	    !strcmp(path + len - strlen(DELETED), DELETED)) {
		path[len - strlen(DELETED)] = 0;
		m->was_deleted = true;
	}
	debug_file_put_hex(hex, r->build_id, r->build_id_bytes);
	memcpy(m->id, r->build_id, r->build_id_bytes);
	m->id_bytes = r->build_id_bytes;
	m->dev_major = r->dev_major;
	m->dev_minor = r->dev_minor;
	m->ino = r->ino;
	m->path = strpool_put(cache->pool, r->path[0] == '/' && r->path[1] == '/' ? "" : path);
	m->build_id = strpool_put(cache->pool, hex);
	if (!m->path || !m->build_id || hash_map_put(&cache->by_key, (uintptr_t)key, m)) {
		free(m);
		return NULL;
	}
	m->next = cache->modules;
	cache->modules = m;
	return m;
}

struct module *module_cache_of(struct module_cache *cache, const struct map_record *r)
{
	char text[PATH_MAX + 128], hex[DEBUG_FILE_HEX_MAX];
	const char *key;
	struct module *m;

	debug_file_put_hex(hex, r->build_id, r->build_id_bytes);
	snprintf(text, sizeof(text), "%s/%x:%x/%llx/%s", hex, r->dev_major, r->dev_minor,
		 (unsigned long long)r->ino, r->path);
	key = strpool_put(cache->pool, text);
	if (!key)
		return NULL;
	m = hash_map_get(&cache->by_key, (uintptr_t)key) ?: add_module(cache, r, key);
	if (m && m->has_file && !m->symbols && m->fd < 0 && !m->failed &&
	    cache->open_cnt < OPEN_MAX_CNT)
		(void)open_module(cache, m, r->pid, r->start, r->end);
	return m;
}

void module_cache_close_unused(struct module_cache *cache)
{
	struct module *m;

	for (m = cache->modules; m; m = m->next)
		if (m->fd >= 0 && m->opened_turn < cache->turn)
			close_module(cache, m);
	cache->turn++;
}

/* ---- names ---- */

/* Adds the symbols of a separate file. */
static bool add_separate(void *module, int fd)
{
	const struct module *m = module;

	return !elf_symbols_add(m->symbols, fd) && elf_symbols_is_full(m->symbols);
}

static void drop_unwind(struct module_cache *cache, struct module *m)
{
	if (!m->unwind)
		return;
	cache->table_bytes -= unwind_table_bytes(m->unwind);
	unwind_table_free(m->unwind);
	m->unwind = NULL;
}

/* Frees tables of unused modules if they take too much memory; they are read again on demand. */
static void drop_tables(struct module_cache *cache, const struct module *but)
{
	struct module *m;

	for (m = cache->modules; m && cache->table_bytes > TABLES_MAX_BYTES; m = m->next) {
		if (m == but || m->used_turn >= cache->turn)
			continue;
		drop_unwind(cache, m);
		if (!m->symbols)
			continue;
		cache->table_bytes -= elf_symbols_bytes(m->symbols);
		elf_symbols_free(m->symbols);
		m->symbols = NULL;
	}
}

static int read_module(struct module_cache *cache, struct module *m, uint32_t pid, uint64_t start,
		       uint64_t end)
{
	enum module_why why = open_module(cache, m, pid, start, end);
	uint8_t id[ELF_BUILD_ID_MAX];
	char hex[DEBUG_FILE_HEX_MAX], root[64];
	size_t n;
	int r;

	if (why != MODULE_NAMED) {
		/* the file may still be found through another process */
		m->failed = why == MODULE_EXITED ? MODULE_NAMED : why;
		return why == MODULE_EXITED ? -ESRCH : -ENOENT;
	}
	r = elf_symbols_read(&m->symbols, m->fd);
	close_module(cache, m);
	if (r == -ENOMEM)
		return r;
	if (r) {
		m->failed = MODULE_UNREADABLE;
		return -ENOENT;
	}
	n = elf_symbols_build_id(m->symbols, id);
	if (!m->id_bytes && n) {
		debug_file_put_hex(hex, id, n);
		m->build_id = strpool_put(cache->pool, hex);
		if (!m->build_id)
			return -ENOMEM;
	}
	if (!elf_symbols_is_full(m->symbols)) {
		snprintf(root, sizeof(root), "/proc/%u/root", pid);
		if (!debug_file_search(m->symbols, root, m->path, add_separate, m))
			debug_file_search(m->symbols, "", m->path, add_separate, m);
	}
	cache->table_bytes += elf_symbols_bytes(m->symbols);
	drop_tables(cache, m);
	return 0;
}

/* Reads the file's symbols if needed. False: *ret has the reason, or *r is an error. */
static bool has_symbols(struct module_cache *cache, struct module *m, uint32_t pid, uint64_t start,
			uint64_t end, struct module_answer *ret, int *r)
{
	*r = 0;
	*ret = (struct module_answer){ .symbol = "", .path = m->path, .build_id = m->build_id,
				       .why = m->has_file ? m->failed : MODULE_ANONYMOUS };
	if (ret->why != MODULE_NAMED)
		return false;
	m->used_turn = cache->turn;
	if (!m->symbols)
		*r = read_module(cache, m, pid, start, end);
	ret->build_id = m->build_id;
	if (!*r)
		return true;
	ret->why = *r == -ESRCH ? MODULE_EXITED : m->failed;
	if (*r != -ENOMEM)
		*r = 0;
	return false;
}

/* symbol: NULL if the address has none. */
static int give_symbol(struct module_cache *cache, const struct module *m, const char *symbol,
		       struct module_answer *ret)
{
	if (symbol) {
		/* the table may be freed before the caller uses the answer */
		ret->symbol = strpool_put(cache->pool, symbol);
		return ret->symbol ? 0 : -ENOMEM;
	}
	ret->why = elf_symbols_is_full(m->symbols) ? MODULE_NO_FUNCTION : MODULE_STRIPPED;
	return 0;
}

int module_cache_find(struct module_cache *cache, struct module *m, uint32_t pid, uint64_t start,
		     uint64_t end, uint64_t file_offset, struct module_answer *ret)
{
	int r;

	if (!has_symbols(cache, m, pid, start, end, ret, &r))
		return r;
	r = give_symbol(cache, m, elf_symbols_find(m->symbols, file_offset, &ret->symbol_offset),
			ret);
	if (!r && ret->why && !elf_symbols_addr(m->symbols, file_offset, &ret->addr))
		ret->addr = 0;
	if (ret->why == MODULE_STRIPPED)
		(void)elf_symbols_range(m->symbols, file_offset, &ret->range_from, &ret->range_to);
	return r;
}

int module_cache_find_variable(struct module_cache *cache, struct module *m, uint32_t pid,
			       uint64_t start, uint64_t end, uint64_t map_offset, uint64_t bytes,
			       struct module_answer *ret)
{
	int r;

	if (!has_symbols(cache, m, pid, start, end, ret, &r))
		return r;
	return give_symbol(cache, m, elf_symbols_find_variable(m->symbols, map_offset, bytes,
							       &ret->symbol_offset), ret);
}

struct unwind_table *module_cache_unwind(struct module_cache *cache, struct module *m,
					 uint32_t pid, uint64_t start, uint64_t end)
{
	bool is_vdso = !strcmp(m->path, "[vdso]");

	m->used_turn = cache->turn;
	if (m->unwind || m->has_no_unwind || (!m->has_file && !is_vdso))
		return m->unwind;
	/* the file stays open for its symbols */
	if (!is_vdso && open_module(cache, m, pid, start, end) != MODULE_NAMED)
		return NULL;
	m->unwind = unwind_table_read(is_vdso ? -1 : m->fd);
	m->has_no_unwind = !m->unwind;
	if (m->unwind)
		cache->table_bytes += unwind_table_bytes(m->unwind);
	drop_tables(cache, m);
	return m->unwind;
}
