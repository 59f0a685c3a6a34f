/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * user_sites: looks an address of code up one byte before the call's return address, because a call
 * that never returns may be its function's last instruction. Variables need no records of mappings:
 * the list of a process is read when a thread of it first sleeps for a lock, and again for memory
 * that was mapped later.
 */
#include "record/tasks/user_sites.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash_map.h"
#include "base/helper.h"
#include "base/privilege.h"
#include "probe/exec_maps.h"
#include "record/tasks/own_pids.h"
#include "symbol/debug_file.h"
#include "symbol/module_cache.h"

#define KEEP_NS 2000000000ULL	/* records of one ring may be a slice late */
#define READ_AGAIN_NS 2000000000ULL	/* reading the mappings of a process holds it up */
#define KEEP_LIST_NS 60000000000ULL	/* of a process that nobody asks for */

struct user_sites {
	struct helper opener;
	struct exec_maps *maps;		/* NULL: not available */
	struct map_cache *cache;
	struct module_cache *modules;
	struct hash_map lists;		/* of mappings (struct map_list), by pid */
	bool has_code;
	uint64_t forgot_ns;
};

/* Holds a mapping that can be written, with the memory that the loader adds behind a file's. */
struct map_range {
	struct map_record map;
	uint64_t end;
	char *path;			/* map's; NULL: no file */
};

struct map_list {
	struct map_range *v;		/* by address */
	size_t cnt, cap;
	uint64_t read_ns, used_ns;	/* read_ns 0: not yet */
};

_Static_assert((int)MODULE_STRIPPED == TRACE_SITE_STRIPPED &&
	       (int)MODULE_NO_FUNCTION == TRACE_SITE_NO_FUNCTION &&
	       (int)MODULE_ANONYMOUS == TRACE_SITE_ANONYMOUS &&
	       (int)MODULE_EXITED == TRACE_SITE_EXITED &&
	       (int)MODULE_DELETED == TRACE_SITE_DELETED &&
	       (int)MODULE_CHANGED == TRACE_SITE_CHANGED &&
	       (int)MODULE_UNREADABLE == TRACE_SITE_UNREADABLE &&
	       (int)MODULE_UNMAPPED == TRACE_SITE_UNMAPPED, "reasons are stored as they are");

/* ---- opening files of other processes ---- */

/*
 * The recorder gives up its privileges. A helper process that has only CAP_SYS_PTRACE and
 * CAP_CHECKPOINT_RESTORE opens for reading what it asks for, and passes descriptors. The recorder
 * asks for two kinds of files only, and by numbers: it sends no path. A request goes over a socket;
 * the answer is an error number and, with 0, a descriptor. Without those capabilities the recorder
 * opens what it may by itself.
 */
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40	/* since 5.9 */
#endif

#define OPENER_NEEDS (PRIVILEGE_BIT(CAP_SYS_PTRACE) | PRIVILEGE_BIT(CAP_CHECKPOINT_RESTORE))

struct request {
	uint64_t start, end;	/* 0, 0: the list of mappings */
	uint32_t pid, zero;
};

static int open_for(const struct request *q)
{
	char path[96];

	if (q->start || q->end)
		snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", q->pid,
			 (unsigned long long)q->start, (unsigned long long)q->end);
	else
		snprintf(path, sizeof(path), "/proc/%u/maps", q->pid);
	return debug_file_open(path);
}

static int send_answer(int to, int fd)
{
	int error = fd < 0 ? -fd : 0;
	struct iovec iov = { &error, sizeof(error) };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} u = { .bytes = { 0 } };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (!error) {
		msg.msg_control = u.bytes;
		msg.msg_controllen = sizeof(u.bytes);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(to, &msg, MSG_NOSIGNAL) == (ssize_t)sizeof(error) ? 0 : -errno;
}

static int receive_answer(int from)
{
	int error = 0, fd = -EIO;
	struct iovec iov = { &error, sizeof(error) };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} u;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = u.bytes,
			      .msg_controllen = sizeof(u.bytes) };
	struct cmsghdr *c;
	ssize_t n;

	do {
		n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(error))
		return -EIO;
	if (error)
		return error > 0 ? -error : -EIO;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void serve(int fd)
{
	struct request q;

	while (recv(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q)) {
		int got = open_for(&q), r = send_answer(fd, got);

		if (got >= 0)
			close(got);
		if (r)
			break;
	}
}

static int opener_start(struct helper *ret)
{
	*ret = (struct helper){ 0 };
	if (!privilege_has(CAP_SYS_PTRACE))
		return 0;
	return helper_start(ret, "ebpfrec-open", OPENER_NEEDS, SOCK_SEQPACKET, serve);
}

/*
 * Opens the regular file that pid has mapped at exactly [start, end), or with 0, 0 /proc/PID/maps.
 * A descriptor, or -errno.
 */
static int opener_open(const struct helper *h, uint32_t pid, uint64_t start, uint64_t end)
{
	const struct request q = { .pid = pid, .start = start, .end = end };

	if (!h->pid)
		return open_for(&q);
	if (send(h->fd, &q, sizeof(q), MSG_NOSIGNAL) != (ssize_t)sizeof(q))
		return -errno;
	return receive_answer(h->fd);
}

/* ---- a set of sites ---- */

static int open_mapped(void *ctx, uint32_t pid, uint64_t start, uint64_t end)
{
	return opener_open(ctx, pid, start, end);
}

int user_sites_new(struct user_sites **ret, unsigned int cpu_cnt, bool has_code,
		   const struct notices *notices, struct err *e)
{
	struct user_sites *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return err_set(e, -ENOMEM, "out of memory");
	u->has_code = has_code;
	r = opener_start(&u->opener) ?: map_cache_new(&u->cache);
	r = r ?: module_cache_new(&u->modules, open_mapped, &u->opener);
	if (r) {
		user_sites_free(u);
		return err_set(e, r, "cannot prepare to look up functions: %s", strerror(-r));
	}
	*ret = u;
	/* perf and /proc use other pids than BPF there, which name other processes */
	if (own_pids_are_other()) {
		notices_warn(notices, "inside a pid namespace %s of programs get no names; "
				      "record outside of it", has_code ? "functions" : "locks");
		user_sites_free(u);
		*ret = NULL;
		return 0;
	}
	r = has_code ? exec_maps_open(&u->maps, cpu_cnt) : 0;
	if (r)
		notices_warn(notices, "functions of short-lived processes are not named: "
				      "perf_event_open: %s", strerror(-r));
	return 0;
}

static void drop_ranges(struct map_list *l)
{
	while (l->cnt)
		free(l->v[--l->cnt].path);
}

/* before_ns: when the list must have been used for it to stay */
static bool drop_list(void *before_ns, void **list)
{
	struct map_list *l = *list;

	if (l->used_ns >= *(uint64_t *)before_ns)
		return false;
	drop_ranges(l);
	free(l->v);
	free(l);
	return true;
}

void user_sites_free(struct user_sites *u)
{
	uint64_t all = UINT64_MAX;

	if (!u)
		return;
	hash_map_drop_if(&u->lists, drop_list, &all);
	hash_map_done(&u->lists);
	exec_maps_close(u->maps);
	map_cache_free(u->cache);
	module_cache_free(u->modules);
	helper_end(&u->opener);
	free(u);
}

pid_t user_sites_pid(const struct user_sites *u)
{
	return u ? u->opener.pid : 0;
}

/* ---- following ---- */

/* Notes a record of a followed process; the others are many. */
static int note(void *ctx, const struct map_record *r)
{
	struct user_sites *u = ctx;
	struct map_record with = *r;

	if (r->what != MAP_FORK && !map_cache_follows(u->cache, r->pid))
		return 0;
	if (r->what == MAP_CODE) {
		with.module = module_cache_of(u->modules, r);
		if (!with.module)
			return -ENOMEM;
	}
	return map_cache_note(u->cache, &with);
}

/* Parses one line of /proc/PID/maps; false: the memory lacks the permission, a letter. */
static bool parse_line(char *line, char permission, struct map_record *r)
{
	const char *perms = strchr(line, ' '), *found = perms ? strchr(perms, permission) : NULL;
	unsigned long long start, end, offset, ino;
	unsigned int major, minor;
	int at = 0;

	/* most mappings lack it, and scanning a line is most of the work */
	if (!found || found - perms > 4)
		return false;
	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%llx-%llx %*s %llx %x:%x %llu %n", &start, &end, &offset, &major,
		   &minor, &ino, &at) < 6 || !at)
		return false;
	r->start = start;
	r->end = end;
	r->offset = offset;
	r->dev_major = major;
	r->dev_minor = minor;
	r->ino = ino;
	r->path = line[at] ? line + at : "//anon";
	return true;
}

/* Calls add for the mappings that have a permission. 0 also when the process is gone. */
static int read_maps(struct user_sites *u, uint32_t pid, uint64_t now_ns, char permission,
		     int (*add)(void *ctx, const struct map_record *r), void *ctx)
{
	int fd = opener_open(&u->opener, pid, 0, 0), r = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct map_record rec = { .what = MAP_CODE, .pid = pid, .ts_ns = now_ns };
	char *line = NULL;
	size_t room = 0;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (!r && getline(&line, &room, f) > 0)
		if (parse_line(line, permission, &rec))
			r = add(ctx, &rec);
	free(line);
	fclose(f);
	return r;
}

int user_sites_add(struct user_sites *u, uint32_t pid)
{
	uint64_t now_ns = clock_mono_ns();
	int r = u->has_code ? map_cache_add(u->cache, pid, now_ns) : 0;

	return r || !u->has_code ? r : read_maps(u, pid, now_ns, 'x', note, u);
}

static int renew(void *ctx, uint32_t pid)
{
	struct user_sites *u = ctx;
	uint64_t now_ns = clock_mono_ns();
	char path[32];
	int r;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (access(path, F_OK))
		return 0;	/* its exit record is still to come, or was lost */
	r = map_cache_renew(u->cache, pid, now_ns);
	return r ? r : read_maps(u, pid, now_ns, 'x', note, u);
}

int user_sites_look(struct user_sites *u)
{
	uint64_t lost;
	int r;

	if (!u || !u->maps)
		return 0;
	r = exec_maps_read(u->maps, note, u, &lost);
	if (!r && lost)
		r = map_cache_each(u->cache, renew, u);
	return r;
}

void user_sites_end_slice(struct user_sites *u, uint64_t to_ns)
{
	uint64_t before_ns;

	if (!u)
		return;
	module_cache_close_unused(u->modules);
	if (to_ns < u->forgot_ns + KEEP_NS)
		return;
	u->forgot_ns = to_ns;
	map_cache_forget(u->cache, to_ns - KEEP_NS);
	before_ns = to_ns > KEEP_LIST_NS ? to_ns - KEEP_LIST_NS : 0;
	hash_map_drop_if(&u->lists, drop_list, &before_ns);
}

/* ---- answering ---- */

static int find_mapping(struct user_sites *u, uint32_t pid, uint64_t addr, uint64_t ts_ns,
			struct map_hit *ret)
{
	int r = map_cache_find(u->cache, pid, addr, ts_ns, ret);

	if (r == -ESRCH) {
		/* the process moved into the cgroup, or its fork was lost */
		r = user_sites_add(u, pid) ?: map_cache_find(u->cache, pid, addr, ts_ns, ret);
	}
	return r;
}

int user_sites_find(void *ctx, uint32_t pid, uint64_t ts_ns, struct trace_site *ret,
		    uint64_t *ret_until_ns)
{
	struct user_sites *u = ctx;
	struct module_answer a;
	struct map_hit hit;
	int r;

	ret->symbol = ret->module = ret->build_id = "";
	ret->why = TRACE_SITE_NOT_UNWOUND;
	ret->from_ns = 0;
	*ret_until_ns = UINT64_MAX;
	if (ret->addr == TRACE_ADDR_NOT_UNWOUND)
		return 0;
	ret->why = TRACE_SITE_UNMAPPED;
	r = find_mapping(u, pid, ret->addr - 1, ts_ns, &hit);
	if (r == -ENOMEM)
		return r;
	if (r) {
		char path[32];

		snprintf(path, sizeof(path), "/proc/%u", pid);
		if (access(path, F_OK))
			ret->why = TRACE_SITE_EXITED;
		return 0;
	}
	r = module_cache_find(u->modules, hit.module, pid, hit.start, hit.end,
			     ret->addr - 1 - hit.start + hit.offset, &a);
	if (r)
		return r;
	ret->from_ns = hit.from_ns;
	*ret_until_ns = hit.until_ns;
	ret->why = (uint8_t)a.why;
	ret->symbol = a.symbol;
	ret->symbol_offset = a.symbol[0] ? a.symbol_offset + 1 : 0;
	ret->module = a.path;
	ret->module_offset = a.path[0] ? ret->addr - hit.start + hit.offset : 0;
	ret->build_id = a.build_id;
	return 0;
}

/* ---- variables ---- */

static int add_range(void *ctx, const struct map_record *r)
{
	struct map_list *l = ctx;
	struct map_range *last = l->cnt ? &l->v[l->cnt - 1] : NULL, new = { .map = *r };

	if (last && last->end == r->start && !r->ino) {
		last->end = r->end;
		return 0;
	}
	new.end = r->end;
	new.path = r->ino ? strdup(r->path) : NULL;
	if (r->ino && !new.path)
		return -ENOMEM;
	new.map.path = new.path;
	if (array_reserve(&l->v, &l->cap, l->cnt + 1) < 0 || !l->v) {
		free(new.path);
		return -ENOMEM;
	}
	l->v[l->cnt++] = new;
	return 0;
}

/* The range that holds an address; NULL: none does. */
static struct map_range *range_of(const struct map_list *l, uint64_t addr)
{
	size_t lo = 0, hi = l->cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->v[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->cnt && addr >= l->v[lo].map.start ? &l->v[lo] : NULL;
}

int user_sites_read_list(struct user_sites *u, uint32_t pid)
{
	struct map_list *l = u ? hash_map_make(&u->lists, pid, sizeof(*l)) : NULL;

	if (!l)
		return u ? -ENOMEM : 0;
	drop_ranges(l);
	l->read_ns = l->used_ns = clock_mono_ns();
	return read_maps(u, pid, l->read_ns, 'w', add_range, l);
}

/* The range of an address, of a list that is as new as it has to be. */
static int find_range(struct user_sites *u, uint32_t pid, uint64_t addr, uint64_t since_ns,
		      uint64_t ts_ns, struct map_range **ret)
{
	struct map_list *l = hash_map_get(&u->lists, pid);
	int r;

	*ret = l ? range_of(l, addr) : NULL;
	if (l)
		l->used_ns = ts_ns;
	if (l && l->read_ns >= since_ns && (*ret || ts_ns < l->read_ns + READ_AGAIN_NS))
		return 0;
	r = user_sites_read_list(u, pid);
	l = hash_map_get(&u->lists, pid);
	*ret = l ? range_of(l, addr) : NULL;
	return r;
}

int user_sites_find_variable(struct user_sites *u, uint32_t pid, uint64_t since_ns, uint64_t ts_ns,
			     struct trace_site *ret)
{
	struct map_range *m;
	struct module_answer a;
	int r = find_range(u, pid, ret->addr, since_ns, ts_ns, &m);

	if (r || ts_ns < since_ns || !m || !m->path)
		return r ? r : -ENOENT;
	if (!m->map.module)
		m->map.module = module_cache_of(u->modules, &m->map);
	if (!m->map.module)
		return -ENOMEM;
	r = module_cache_find_variable(u->modules, m->map.module, pid, m->map.start, m->map.end,
				       m->map.offset, ret->addr - m->map.start, &a);
	if (r)
		return r;
	*ret = (struct trace_site){ .upid = ret->upid, .addr = ret->addr, .from_ns = since_ns,
				    .why = (uint8_t)a.why, .symbol = a.symbol,
				    .symbol_offset = a.symbol[0] ? a.symbol_offset : 0,
				    .module = a.path, .build_id = a.build_id,
				    .module_offset = ret->addr - m->map.start + m->map.offset };
	return 0;
}

/* ---- unwinding ---- */

struct walk {
	struct user_sites *sites;
	uint32_t pid;
	uint64_t ts_ns;
};

static struct unwind_table *table_at(void *ctx, uint64_t pc, uint64_t *ret_offset,
				     bool *ret_mapped)
{
	const struct walk *w = ctx;
	struct map_hit hit;

	*ret_mapped = !find_mapping(w->sites, w->pid, pc, w->ts_ns, &hit);
	if (!*ret_mapped)
		return NULL;
	*ret_offset = pc - hit.start + hit.offset;
	return module_cache_unwind(w->sites->modules, hit.module, w->pid, hit.start, hit.end);
}

unsigned int user_sites_unwind(struct user_sites *u, uint32_t pid, uint64_t ts_ns,
			       const struct unwind_stack *copy, uint64_t *frames, unsigned int max,
			       bool *ret_whole)
{
	struct walk w = { u, pid, ts_ns };
	struct unwind_stack s = *copy;

	s.table = table_at;
	s.ctx = &w;
	return unwind_walk(&s, frames, max, ret_whole);
}
