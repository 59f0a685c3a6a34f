/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * module_cache: opens a file by the process's mapping (/proc/PID/map_files), which works even if
 * the path has changed, else by the path in the process's file system (/proc/PID/root), else by the
 * path in the recorder's file system. A path may lead to another file by now: build id, or device
 * and inode, must match the mapping.
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

#include "base/array.h"
#include "base/hash_map.h"
#include "base/strpool.h"

/*
 * map_cache: a list of changes (mappings and execs) per process, sorted by time. The newest change
 * that covers an address decides; before the first change, the parent's mappings at the fork apply.
 * A fork therefore costs nothing, and a parent's list is kept until its children have called exec.
 */

#define THIN_OUT_CHANGES 256

struct change {
	uint64_t ts_ns;
	uint64_t start, end, offset;
	void *module;
	bool is_exec;
};

struct proc {
	uint32_t pid;
	uint32_t users;			/* number of children whose lookups use this list */
	uint64_t since_ns, end_ns;	/* end_ns 0: the process has not exited */
	/* when /proc/PID/maps was read; lookups of earlier times use the result, too */
	uint64_t known_ns;
	uint64_t needed_ns;		/* earliest fork of a child; see map_cache_forget() */
	struct proc *parent;
	struct proc *older;		/* the previous process with this pid */
	struct change *changes;
	size_t cnt, cap, thin_at;
};

struct map_cache {
	struct hash_map by_pid;		/* by pid: the newest process */
};

int map_cache_new(struct map_cache **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void release(struct proc *p)
{
	if (p->parent)
		p->parent->users--;
	p->parent = NULL;
}

static void free_proc(struct proc *p)
{
	release(p);
	free(p->changes);
	free(p);
}

void map_cache_free(struct map_cache *c)
{
	struct hash_slot *s;
	size_t pos = 0;

	if (!c)
		return;
	while ((s = hash_map_next(&c->by_pid, &pos))) {
		struct proc *p, *older;

		for (p = s->value; p; p = older) {
			older = p->older;
			p->parent = NULL;	/* all processes are being freed */
			free_proc(p);
		}
	}
	hash_map_done(&c->by_pid);
	free(c);
}

static struct proc *proc_at(const struct map_cache *c, uint32_t pid, uint64_t ts_ns)
{
	struct proc *p = hash_map_get(&c->by_pid, pid);

	while (p && p->since_ns > ts_ns)
		p = p->older;
	return p;
}

static struct proc *add_proc(struct map_cache *c, uint32_t pid, uint64_t since_ns)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = pid;
	p->since_ns = since_ns;
	p->older = hash_map_get(&c->by_pid, pid);
	if (hash_map_put(&c->by_pid, pid, p)) {
		free(p);
		return NULL;
	}
	return p;
}

int map_cache_add(struct map_cache *c, uint32_t pid, uint64_t now_ns)
{
	struct proc *p = hash_map_get(&c->by_pid, pid);

	if (p && !p->end_ns)
		return map_cache_renew(c, pid, now_ns);
	p = add_proc(c, pid, p ? p->end_ns : 0);
	if (!p)
		return -ENOMEM;
	p->known_ns = now_ns;
	return 0;
}

/* Inserts a change by time, after earlier arrivals with the same time. */
static int add_change(struct proc *p, const struct change *t)
{
	size_t at;

	if (array_reserve(&p->changes, &p->cap, p->cnt + 1) < 0)
		return -ENOMEM;
	for (at = p->cnt; at && p->changes[at - 1].ts_ns > t->ts_ns; at--)
		p->changes[at] = p->changes[at - 1];
	p->changes[at] = *t;
	p->cnt++;
	return 0;
}

int map_cache_renew(struct map_cache *c, uint32_t pid, uint64_t now_ns)
{
	struct proc *p = proc_at(c, pid, now_ns);
	struct change t = { .ts_ns = now_ns, .is_exec = true };

	return p ? add_change(p, &t) : 0;
}

static int note_fork(struct map_cache *c, const struct map_record *r)
{
	struct proc *parent = proc_at(c, r->parent_pid, r->ts_ns), *p;

	if (!parent || r->pid == r->parent_pid)
		return 0;
	p = hash_map_get(&c->by_pid, r->pid);
	if (p && p->since_ns >= r->ts_ns)
		return 0;
	if (p && !p->end_ns)
		p->end_ns = r->ts_ns;
	p = add_proc(c, r->pid, r->ts_ns);
	if (!p)
		return -ENOMEM;
	p->parent = parent;
	parent->users++;
	return 0;
}

int map_cache_note(struct map_cache *c, const struct map_record *r)
{
	struct change t = { .ts_ns = r->ts_ns, .start = r->start, .end = r->end,
			  .offset = r->offset, .module = r->module,
			  .is_exec = r->what == MAP_EXEC };
	struct proc *p;

	if (r->what == MAP_FORK)
		return note_fork(c, r);
	p = proc_at(c, r->pid, r->ts_ns);
	if (!p)
		return 0;
	if (r->what == MAP_EXIT)
		p->end_ns = r->ts_ns;
	return r->what == MAP_EXIT ? 0 : add_change(p, &t);
}

bool map_cache_follows(const struct map_cache *c, uint32_t pid)
{
	return hash_map_get(&c->by_pid, pid) != NULL;
}

static bool decides(const struct change *t, uint64_t addr)
{
	return t->is_exec || (addr >= t->start && addr < t->end);
}

int map_cache_find(const struct map_cache *c, uint32_t pid, uint64_t addr, uint64_t ts_ns,
		  struct map_hit *ret)
{
	const struct proc *p = proc_at(c, pid, ts_ns);
	uint64_t until_ns = UINT64_MAX;

	if (!p)
		return -ESRCH;
	if (p->end_ns && p->end_ns > ts_ns)
		until_ns = p->end_ns;
	for (; p; ts_ns = p->since_ns, p = p->parent) {
		size_t i = p->cnt;

		if (ts_ns < p->known_ns)
			ts_ns = p->known_ns;
		for (; i && p->changes[i - 1].ts_ns > ts_ns; i--)
			if (decides(&p->changes[i - 1], addr) &&
			    p->changes[i - 1].ts_ns < until_ns && p->pid == pid)
				until_ns = p->changes[i - 1].ts_ns;
		for (; i; i--) {
			const struct change *t = &p->changes[i - 1];

			if (!decides(t, addr))
				continue;
			if (t->is_exec)
				return -ENOENT;
			*ret = (struct map_hit){ .start = t->start, .end = t->end,
						 .offset = t->offset, .module = t->module,
						 .from_ns = t->ts_ns <= p->known_ns ? 0 : t->ts_ns,
						 .until_ns = until_ns };
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- forgetting ---- */

/* Drops changes that were replaced before before_ns, by an exec or a later mapping of the range. */
static void thin_out(struct proc *p, uint64_t before_ns)
{
	size_t first = 0, i, k, kept = 0;

	if (p->needed_ns < before_ns)
		before_ns = p->needed_ns;
	for (i = 0; i < p->cnt && p->changes[i].ts_ns <= before_ns; i++)
		if (p->changes[i].is_exec)
			first = i;
	if (first || (p->cnt && p->changes[0].is_exec && p->changes[0].ts_ns <= before_ns)) {
		memmove(p->changes, p->changes + first, (p->cnt - first) * sizeof(*p->changes));
		p->cnt -= first;
		release(p);
	}
	if (p->cnt < THIN_OUT_CHANGES || p->cnt < p->thin_at)
		return;
	for (i = 0; i < p->cnt; i++) {
		const struct change *t = &p->changes[i];

		for (k = i + 1; k < p->cnt && p->changes[k].ts_ns <= before_ns; k++)
			if (!t->is_exec && p->changes[k].start <= t->start &&
			    p->changes[k].end >= t->end)
				break;
		if (k == p->cnt || p->changes[k].ts_ns > before_ns)
			p->changes[kept++] = *t;
	}
	p->cnt = kept;
	p->thin_at = kept * 2;
}

static bool is_over(const struct proc *p, uint64_t before_ns)
{
	return p->end_ns && p->end_ns < before_ns && !p->users;
}

/* Drops finished processes from a pid's chain. True: the chain is empty. */
static bool prune(void *ctx, void **chain)
{
	uint64_t before_ns = *(uint64_t *)ctx;
	struct proc *p, *kept = NULL, **end = &kept, *older;

	for (p = *chain; p; p = older) {
		older = p->older;
		if (is_over(p, before_ns)) {
			free_proc(p);
			continue;
		}
		thin_out(p, before_ns);
		*end = p;
		end = &p->older;
	}
	*end = NULL;
	if (kept)
		*chain = kept;
	return !kept;
}

static void find_needed(struct map_cache *c)
{
	struct hash_slot *s;
	struct proc *p;
	size_t pos;

	for (pos = 0; (s = hash_map_next(&c->by_pid, &pos));)
		for (p = s->value; p; p = p->older)
			p->needed_ns = UINT64_MAX;
	for (pos = 0; (s = hash_map_next(&c->by_pid, &pos));)
		for (p = s->value; p; p = p->older)
			if (p->parent && p->since_ns < p->parent->needed_ns)
				p->parent->needed_ns = p->since_ns;
}

void map_cache_forget(struct map_cache *c, uint64_t before_ns)
{
	find_needed(c);
	hash_map_drop_if(&c->by_pid, prune, &before_ns);
}

int map_cache_each(struct map_cache *c, int (*f)(void *ctx, uint32_t pid), void *ctx)
{
	const struct hash_slot *s;
	size_t pos = 0;
	int r = 0;

	while (!r && (s = hash_map_next(&c->by_pid, &pos))) {
		const struct proc *p = s->value;

		if (!p->end_ns)
			r = f(ctx, p->pid);
	}
	return r;
}

#define OPEN_MAX_CNT 256 /* most open files; other files are opened for each lookup */
#define TABLES_MAX_BYTES (256u << 20)	/* most memory for the symbols of all modules */

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
	struct elf_symbols *symbols;	/* NULL: not read yet */
	/* reason why symbols could not be read; MODULE_NAMED: not tried yet */
	enum module_why failed;
	struct unwind_table *unwind;	/* NULL: not read yet, or the file has no table */
	bool has_no_unwind;
	uint64_t used_turn;
	struct module *next;
};

struct module_cache {
	module_open_mapped open_mapped;
	void *ctx;
	struct strpool *pool;
	struct module *modules;
	struct hash_map by_key;		/* by address of the key in pool */
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

/* Returns whether a file that was found by its path is the mapped one. */
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

/* Opens the file unless it is open. Returns MODULE_NAMED, or the reason of a failure. */
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

/*
 * If tables take too much memory, frees those of unused modules, which are read again when needed.
 */
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
		/* another process may still have the file */
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

/* Reads the file's symbols if m->symbols is NULL. False: *ret has the reason, or *r is an error. */
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

/* symbol: NULL: no symbol at the address. */
static int give_symbol(struct module_cache *cache, const struct module *m, const char *symbol,
		       struct module_answer *ret)
{
	if (symbol) {
		/* the table may be freed while the caller uses the answer */
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
	/* the file remains open for its symbols */
	if (!is_vdso && open_module(cache, m, pid, start, end) != MODULE_NAMED)
		return NULL;
	m->unwind = unwind_table_read(is_vdso ? -1 : m->fd);
	m->has_no_unwind = !m->unwind;
	if (m->unwind)
		cache->table_bytes += unwind_table_bytes(m->unwind);
	drop_tables(cache, m);
	return m->unwind;
}
