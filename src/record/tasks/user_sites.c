/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * user_sites: looks up code at the byte before a return address, because a call that never returns
 * may be the last instruction of its function. For variables, the mappings of a process are read
 * when one of its threads first sleeps on a lock, and again for addresses in later mappings.
 */
#include "record/tasks/user_sites.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash_map.h"
#include "base/privilege.h"
#include "probe/exec_maps.h"
#include "probe/probe.h"
#include "symbol/elf_symbols.h"
#include "symbol/module_cache.h"
#include "symbol/perf_map.h"

#define KEEP_NS 2000000000ULL	/* records of a ring may be up to this late */
/* minimum time between two readings of a process's mappings, because reading blocks the process */
#define READ_AGAIN_NS 2000000000ULL
#define KEEP_LIST_NS 60000000000ULL	/* lists unused for this time are dropped */

struct user_sites {
	struct helper opener;
	struct exec_maps *maps;		/* NULL: not available */
	struct map_cache *cache;
	struct module_cache *modules;
	struct hash_map lists;		/* pid -> struct map_list */
	bool has_code;
	uint64_t forgot_ns;
	struct jit *jits;		/* newest first */
	size_t jit_cnt;
};

/* A writable mapping, including the zeroed memory that the loader maps after it. */
struct map_range {
	struct map_record map;
	uint64_t end;
	char *path;			/* path of map; NULL: no file */
};

struct map_list {
	struct map_range *v;		/* in order of addresses */
	size_t cnt, cap;
	uint64_t read_ns, used_ns;	/* read_ns 0: not read */
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
 * A helper process opens files, because the recorder drops its privileges. The helper has only
 * CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH. It opens files for reading on
 * request, and passes their descriptors over a socket. A request consists of numbers and never
 * contains a path; the answer is an error number and, if it is 0, a descriptor. Without
 * CAP_SYS_PTRACE there is no helper, and the recorder opens the files that its user may open.
 */
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40	/* since Linux 5.9 */
#endif

#define OPENER_NEEDS                                                               \
	(PRIVILEGE_BIT(CAP_SYS_PTRACE) | PRIVILEGE_BIT(CAP_CHECKPOINT_RESTORE) |   \
	 PRIVILEGE_BIT(CAP_DAC_READ_SEARCH))

enum request_what {
	REQUEST_MAPPED = 0,	/* file that is mapped at exactly [start, end) */
	REQUEST_MAPS = 1,	/* /proc/PID/maps */
	REQUEST_TMP = 2,	/* the process's /tmp, to open its map file after its exit */
	REQUEST_PERF_MAP = 3,	/* /tmp/perf-PID.map of the process */
};

struct request {
	uint64_t start, end;
	uint32_t pid, what;
};

/* Users under which a process creates files, and its pid in its own pid namespace. */
struct owner {
	uint32_t uids[4];	/* real, effective, saved and file system user ids */
	uint32_t ns_pid;
};

static int read_owner(uint32_t pid, struct owner *ret)
{
	char line[512], path[32];
	unsigned int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		uint32_t *u = ret->uids;

		if (!strncmp(line, "Uid:", 4))
			found |= sscanf(line + 4, "%u %u %u %u", u, u + 1, u + 2, u + 3) == 4;
		if (!strncmp(line, "NSpid:", 6) && strrchr(line, '\t'))
			found |= (sscanf(strrchr(line, '\t'), "%u", &ret->ns_pid) == 1) << 1;
	}
	fclose(f);
	return found == 3 ? 0 : -ESRCH;
}

/*
 * Opens a path relative to dir with dir as root directory. Symbolic links cannot lead outside of
 * dir.
 */
static int open_inside(int dir, const char *path, uint64_t flags)
{
	const struct open_how how = { .flags = flags | O_CLOEXEC | O_NOFOLLOW,
				      .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* Returns true if st is a regular file of one of the users. */
static bool is_own(const struct owner *o, const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		for (unsigned int i = 0; i < 4; i++)
			if (o->uids[i] == st->st_uid)
				return true;
	return false;
}

/*
 * Opens a process's map file in `folder` below dir: a regular file of one of the process's users.
 * -EACCES: the file belongs to another user, or is not regular.
 */
static int open_perf_map(int dir, const char *folder, const struct owner *o)
{
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%sperf-%u.map", folder, o->ns_pid);
	fd = open_inside(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && is_own(o, &st))
		return fd;
	close(fd);
	return -EACCES;
}

static int open_in_root(const struct request *q)
{
	struct owner o;
	char path[32];
	int root, fd;

	snprintf(path, sizeof(path), "/proc/%u/root", q->pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	if (q->what == REQUEST_TMP)
		fd = open_inside(root, "tmp", O_PATH | O_DIRECTORY);
	else
		fd = read_owner(q->pid, &o) ?: open_perf_map(root, "tmp/", &o);
	close(root);
	return fd;
}

static int open_for(const struct request *q)
{
	char path[96];

	switch (q->what) {
	case REQUEST_MAPPED:
		snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", q->pid,
			 (unsigned long long)q->start, (unsigned long long)q->end);
		return debug_file_open(path);
	case REQUEST_MAPS:
		snprintf(path, sizeof(path), "/proc/%u/maps", q->pid);
		return debug_file_open(path);
	case REQUEST_TMP:
	case REQUEST_PERF_MAP:
		return open_in_root(q);
	default:
		return -EINVAL;
	}
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
 * Requests a file from the helper. Returns a descriptor or -errno. start and end are for
 * REQUEST_MAPPED.
 */
static int opener_open(const struct helper *h, enum request_what what, uint32_t pid,
		       uint64_t start, uint64_t end)
{
	const struct request q = { .pid = pid, .start = start, .end = end, .what = what };

	if (!h->pid)
		return open_for(&q);
	if (send(h->fd, &q, sizeof(q), MSG_NOSIGNAL) != (ssize_t)sizeof(q))
		return -errno;
	return receive_answer(h->fd);
}

/* ---- code generated at run time ---- */

#define JITS_MAX 4096
/* maximum number of processes with an open /tmp; each uses two descriptors */
#define JIT_DIRS_MAX 128
#define JIT_SOON_NS 2000000000ULL	/* a map file usually appears within this time */
#define JIT_AGAIN_NS 800000000ULL
#define JIT_MAX_BYTES (256u << 20)	/* maximum memory for the names of all processes */
#define UNNAMED_MAX 65536

/* A frame without a name. The map file may still get its name. */
struct unnamed {
	struct trace_site site;		/* upid, addr, from_ns */
	uint64_t ts_ns;			/* time of the first event with this frame */
	struct perf_map_mapping in;
};

/* A process, while it runs one program, with anonymous executable memory. */
struct jit {
	uint32_t pid;
	uint64_t since_ns, end_ns;	/* end_ns 0: still running */
	uint64_t first_ns, tried_ns;
	struct owner owner;
	int dir, fd;			/* its /tmp, and its map file; -1: not open */
	struct stat file;		/* from fstat() of fd */
	struct perf_map *map;		/* NULL: no file found yet */
	int dump_fd; /* its jitdump, which the process maps; -1: not open */
	struct perf_map *dump;		/* NULL: none */
	bool is_wanted, has_grown;	/* has_grown: unnamed frames may have names now */
	struct unnamed *unnamed;
	size_t unnamed_cnt, unnamed_cap, unnamed_at;
	struct hash_map seen;		/* elements of unnamed, by address, from_ns and upid */
	struct jit *older;
};

static void close_jit(struct jit *j)
{
	if (j->fd >= 0)
		close(j->fd);
	if (j->dir >= 0)
		close(j->dir);
	if (j->dump_fd >= 0)
		close(j->dump_fd);
	j->fd = j->dir = j->dump_fd = -1;
}

static void free_jit(struct jit *j)
{
	close_jit(j);
	perf_map_free(j->map);
	perf_map_free(j->dump);
	free(j->unnamed);
	hash_map_done(&j->seen);
	free(j);
}

/* Returns the jit of process pid at ts_ns; NULL: no anonymous executable memory is known. */
static struct jit *jit_at(struct user_sites *u, uint32_t pid, uint64_t ts_ns)
{
	struct jit *j = u->jits;

	while (j && (j->pid != pid || j->since_ns > ts_ns || (j->end_ns && j->end_ns <= ts_ns)))
		j = j->older;
	return j;
}

/* Opens the map file if it exists and is not open already. */
static int open_map_of(struct user_sites *u, struct jit *j)
{
	struct stat st;
	int fd, r;

	if (j->end_ns)
		fd = j->dir < 0 ? -ENOENT : open_perf_map(j->dir, "", &j->owner);
	else
		fd = opener_open(&u->opener, REQUEST_PERF_MAP, j->pid, 0, 0);
	if (fd < 0)
		return 0;
	r = j->map ? 0 : perf_map_new(&j->map);
	if (r || fstat(fd, &st) ||
	    (j->fd >= 0 && st.st_dev == j->file.st_dev && st.st_ino == j->file.st_ino)) {
		close(fd);
		return r;
	}
	if (j->fd >= 0) {
		close(j->fd);
		perf_map_restart(j->map);
	}
	j->fd = fd;
	j->file = st;
	return 0;
}

/* Opens a jitdump. A process maps its jitdump, so that profilers find the file. */
static int open_dump_of(struct user_sites *u, struct jit *j, const struct map_record *r)
{
	struct stat st;
	int fd = opener_open(&u->opener, REQUEST_MAPPED, r->pid, r->start, r->end);

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || !is_own(&j->owner, &st)) {
		close(fd);
		return 0;
	}
	j->dump_fd = fd;
	return perf_map_new(&j->dump);
}

/* Reads new names. *bytes: memory that all names use. */
static int read_names(struct jit *j, struct perf_map *map, int fd, size_t *bytes)
{
	bool has_grown = false;
	int r;

	if (fd < 0 || *bytes >= JIT_MAX_BYTES)
		return 0;
	*bytes -= perf_map_bytes(map);
	r = perf_map_read(map, fd, &has_grown);
	*bytes += perf_map_bytes(map);
	j->has_grown |= has_grown;
	return r == -ENOMEM ? r : 0;
}

/*
 * Reads new lines of the map file and new records of the jitdump. Opens the map file first if that
 * is due.
 */
static int look_at(struct user_sites *u, struct jit *j, size_t *bytes)
{
	uint64_t now_ns = clock_mono_ns();
	bool is_due;
	int r = 0;

	if (j->dir < 0 && j->fd < 0 && j->dump_fd < 0)
		return 0;
	is_due = j->end_ns || (j->fd < 0 && now_ns < j->first_ns + JIT_SOON_NS) ||
		 (j->is_wanted && now_ns >= j->tried_ns + JIT_AGAIN_NS);
	if (is_due) {
		j->tried_ns = now_ns;
		j->is_wanted = false;
		r = open_map_of(u, j);
	}
	r = r ?: read_names(j, j->map, j->fd, bytes) ?: read_names(j, j->dump, j->dump_fd, bytes);
	if (j->end_ns)
		close_jit(j);
	return r == -ENOMEM ? r : 0;
}

static int look_at_jits(struct user_sites *u)
{
	size_t bytes = 0;
	struct jit *j;
	int r = 0;

	for (j = u->jits; j; j = j->older)
		bytes += (j->map ? perf_map_bytes(j->map) : 0) +
			 (j->dump ? perf_map_bytes(j->dump) : 0);
	for (j = u->jits; j && !r; j = j->older)
		r = look_at(u, j, &bytes);
	return r;
}

/* Begins to follow the map file of process pid, which has anonymous executable memory at ts_ns. */
static int add_jit(struct user_sites *u, uint32_t pid, uint64_t ts_ns)
{
	uint64_t since_ns = 0;
	unsigned int dirs = 0;
	struct jit *j;

	if (jit_at(u, pid, ts_ns) || u->jit_cnt == JITS_MAX)
		return 0;
	for (j = u->jits; j; j = j->older) {
		dirs += j->dir >= 0;
		if (j->pid == pid && j->end_ns > since_ns)
			since_ns = j->end_ns;
	}
	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->pid = pid;
	j->since_ns = since_ns;
	j->first_ns = clock_mono_ns();
	j->fd = j->dir = j->dump_fd = -1;
	if (dirs < JIT_DIRS_MAX && !read_owner(pid, &j->owner))
		j->dir = opener_open(&u->opener, REQUEST_TMP, pid, 0, 0);
	j->older = u->jits;
	u->jits = j;
	u->jit_cnt++;
	return 0;
}

/* Ends the jit of process pid, which exited or began another program at ts_ns. */
static void end_jit(struct user_sites *u, uint32_t pid, uint64_t ts_ns)
{
	for (struct jit *j = u->jits; j; j = j->older)
		if (j->pid == pid && !j->end_ns)
			j->end_ns = ts_ns;
}

/* Drops jits that ended before before_ns. */
static void forget_jits(struct user_sites *u, uint64_t before_ns)
{
	struct jit **at = &u->jits, *j;

	while ((j = *at)) {
		if (!j->end_ns || j->end_ns >= before_ns || j->dir >= 0 || j->fd >= 0 ||
		    j->dump_fd >= 0) {
			at = &j->older;
			continue;
		}
		*at = j->older;
		u->jit_cnt--;
		free_jit(j);
	}
}

static int add_unnamed(struct jit *j, const struct trace_site *site, uint64_t ts_ns,
		       const struct perf_map_mapping *in)
{
	struct unnamed new = { .ts_ns = ts_ns, .in = *in };
	uint32_t ignored;
	int r;

	j->is_wanted = true;
	if (j->seen.cnt == UNNAMED_MAX)
		return 0;
	r = hash_map_intern(&j->seen, site->addr, site->from_ns ^ (uint64_t)site->upid << 32,
			    &ignored);
	if (r <= 0)
		return r;
	new.site = (struct trace_site){ .upid = site->upid, .addr = site->addr,
					.from_ns = site->from_ns };
	return array_add(&j->unnamed, &j->unnamed_cap, &j->unnamed_cnt, new);
}

/*
 * Sets the name from the jitdump or the map file; false: not found. ret->addr is a return address.
 */
static bool name_jit(struct jit *j, uint64_t ts_ns, const struct perf_map_mapping *in,
		     struct trace_site *ret, uint64_t *ret_from_ns, uint64_t *ret_until_ns)
{
	struct perf_map_hit hit;

	if (!(j->dump && perf_map_find(j->dump, ret->addr - 1, ts_ns, in, &hit)) &&
	    !(j->map && perf_map_find(j->map, ret->addr - 1, ts_ns, in, &hit)))
		return false;
	ret->why = TRACE_SITE_NAMED;
	ret->symbol = hit.name;
	ret->symbol_offset = hit.offset + 1;
	ret->module = TRACE_MODULE_JIT;
	ret->build_id = "";
	ret->module_offset = 0;
	*ret_from_ns = hit.from_ns;
	*ret_until_ns = hit.until_ns;
	return true;
}

/* Returns true if the mapping, which has no symbols, may contain code generated at run time. */
static bool may_be_jit(const struct module_answer *a)
{
	if (a->why == MODULE_UNREADABLE)
		return !strncmp(a->path, "/memfd:", 7);
	return a->why == MODULE_ANONYMOUS && strncmp(a->path, "[v", 2);
}

static int find_jit(struct user_sites *u, uint32_t pid, uint64_t ts_ns, const struct map_hit *hit,
		    struct trace_site *ret, uint64_t *ret_until_ns)
{
	const struct perf_map_mapping in = { hit->start, hit->from_ns, hit->until_ns };
	struct jit *j = jit_at(u, pid, ts_ns);
	int r = j ? 0 : add_jit(u, pid, ts_ns);

	j = j ?: jit_at(u, pid, ts_ns);
	if (r || !j)
		return r;
	return name_jit(j, ts_ns, &in, ret, &ret->from_ns, ret_until_ns) ?
		       0 : add_unnamed(j, ret, ts_ns, &in);
}

bool user_sites_find_late(struct user_sites *u, struct trace_site *ret)
{
	uint64_t from_ns, until_ns;

	for (struct jit *j = u->jits; j; j = j->older) {
		while (j->has_grown && j->unnamed_at < j->unnamed_cnt) {
			struct unnamed *n = &j->unnamed[j->unnamed_at];

			*ret = n->site;
			if (name_jit(j, n->ts_ns, &n->in, ret, &from_ns, &until_ns)) {
				*n = j->unnamed[--j->unnamed_cnt];
				return true;
			}
			j->unnamed_at++;
		}
		j->has_grown = false;
		j->unnamed_at = 0;
	}
	return false;
}

/* ---- a set of sites ---- */

static int open_mapped(void *ctx, uint32_t pid, uint64_t start, uint64_t end)
{
	return opener_open(ctx, REQUEST_MAPPED, pid, start, end);
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
	/* In another pid namespace, perf and /proc use other ids than BPF programs. */
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

/* Drops a list that was not used since before_ns. Returns true if it was dropped. */
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
	while (u->jits) {
		struct jit *j = u->jits;

		u->jits = j->older;
		free_jit(j);
	}
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

/* ---- following processes ---- */

/* Returns true for a path such as "/home/ann/jit-1234.dump". */
static bool is_dump(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = strlen(path);

	return slash && !strncmp(slash, "/jit-", 5) && !strcmp(path + len - 5, ".dump");
}

static int note_dump(struct user_sites *u, const struct map_record *r)
{
	struct jit *j;
	int ret = add_jit(u, r->pid, r->ts_ns);

	j = ret ? NULL : jit_at(u, r->pid, r->ts_ns);
	return j && !j->dump && j->dir >= 0 ? open_dump_of(u, j, r) : ret;
}

/* Adds a record of a process that is followed; ignores all other processes. */
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
		if ((!strcmp(r->path, "//anon") || !strncmp(r->path, "/memfd:", 7)) &&
		    add_jit(u, r->pid, r->ts_ns))
			return -ENOMEM;
		if (is_dump(r->path) && note_dump(u, r))
			return -ENOMEM;
	} else {
		end_jit(u, r->pid, r->ts_ns);
	}
	return map_cache_note(u->cache, &with);
}

/*
 * Parses a line of /proc/PID/maps. permission: a letter. False: the mapping lacks the permission.
 */
static bool parse_line(char *line, char permission, struct map_record *r)
{
	const char *perms = strchr(line, ' '), *found = perms ? strchr(perms, permission) : NULL;
	unsigned long long start, end, offset, ino;
	unsigned int major, minor;
	int at = 0;

	/* check this first: most mappings lack the permission, and sscanf() is slow */
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

/* Calls add for each mapping that has the permission. Returns 0 even if the process has exited. */
static int read_maps(struct user_sites *u, uint32_t pid, uint64_t now_ns, char permission,
		     int (*add)(void *ctx, const struct map_record *r), void *ctx)
{
	int fd = opener_open(&u->opener, REQUEST_MAPS, pid, 0, 0), r = 0;
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
		return 0;	/* the exit record is late or was lost */
	r = map_cache_renew(u->cache, pid, now_ns);
	return r ? r : read_maps(u, pid, now_ns, 'x', note, u);
}

int user_sites_look(struct user_sites *u)
{
	uint64_t lost = 0;
	int r;

	if (!u)
		return 0;
	r = u->maps ? exec_maps_read(u->maps, note, u, &lost) : 0;
	if (!r && lost)
		r = map_cache_each(u->cache, renew, u);
	return r ? r : look_at_jits(u);
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
	forget_jits(u, to_ns - KEEP_NS);
	before_ns = to_ns > KEEP_LIST_NS ? to_ns - KEEP_LIST_NS : 0;
	hash_map_drop_if(&u->lists, drop_list, &before_ns);
}

/* ---- lookups ---- */

static int find_mapping(struct user_sites *u, uint32_t pid, uint64_t addr, uint64_t ts_ns,
			struct map_hit *ret)
{
	int r = map_cache_find(u->cache, pid, addr, ts_ns, ret);

	if (r == -ESRCH) {
		/* the process joined the cgroup later, or the record of its fork was lost */
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
	ret->why = ret->addr == TRACE_ADDR_NOT_UNWOUND ? TRACE_SITE_NOT_UNWOUND :
							 TRACE_SITE_NO_FRAME_POINTER;
	ret->from_ns = 0;
	*ret_until_ns = UINT64_MAX;
	if (ret->addr == TRACE_ADDR_NOT_UNWOUND || ret->addr == TRACE_ADDR_NO_FRAME_POINTER)
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
	ret->symbol_offset = a.symbol[0] ? a.symbol_offset + 1 : a.addr ? a.addr + 1 : 0;
	ret->module = a.path;
	ret->module_offset = a.path[0] ? ret->addr - hit.start + hit.offset : 0;
	ret->build_id = a.build_id;
	ret->range_from = a.range_from;
	ret->range_to = a.range_to;
	return may_be_jit(&a) ? find_jit(u, pid, ts_ns, &hit, ret, ret_until_ns) : 0;
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

/* Returns the range that contains an address; NULL: none. */
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

/* Finds the range that contains an address. Reads the list again if it may be outdated. */
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
