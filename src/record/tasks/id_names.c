/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * id_names: reads names of slab caches and kernel code with BPF programs, of devices from
 * /sys/dev/block, of cgroups by walking their file system, of users with the C library, of
 * interrupt lines from /sys/kernel/irq, and of mount points from mountinfo. Before Linux 5.13,
 * names of kernel code are read from kallsyms, which takes 80 ms.
 */
#include "record/tasks/id_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hash_map.h"
#include "base/privilege.h"
#include "base/strpool.h"
#include "probe/probe.h"
#include "record/tasks/user_sites.h"

/*
 * cgroup: a kernfs file handle contains the 64-bit id that BPF programs see. Opening a handle
 * requires CAP_DAC_READ_SEARCH, so paths of ids are found by walking the directories instead: the
 * id is also the directory's inode number.
 */

#define DEPTH_MAX 64

/* A file handle with room for an id, because struct file_handle ends with a flexible array. */
struct id_handle {
	struct file_handle h;
	uint64_t id[4];
};

int cgroup_find_mount(const char *controller, char dir[PATH_MAX])
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int err = -ENOTSUP;

	while (f && err && (m = getmntent(f))) {
		if (strcmp(m->mnt_type, controller ? "cgroup" : "cgroup2") ||
		    (controller && !hasmntopt(m, controller)))
			continue;
		snprintf(dir, PATH_MAX, "%s", m->mnt_dir);
		err = 0;
	}
	if (f)
		endmntent(f);
	return err;
}

int cgroup_id_of(const char *dir, uint64_t *ret_id)
{
	struct id_handle handle = { .h = { .handle_bytes = sizeof(handle.id) } };
	int mount_id;

	if (name_to_handle_at(AT_FDCWD, dir, &handle.h, &mount_id, 0))
		return -errno;
	memcpy(ret_id, handle.h.f_handle, sizeof(*ret_id));
	return 0;
}

struct walk {
	int (*row)(void *ctx, uint64_t id, const char *path);
	void *ctx;
	char path[PATH_MAX];
};

/*
 * Walks the cgroups below dir_fd, and closes dir_fd. len: length of the path of dir_fd, without a
 * final slash.
 */
static int walk_below(struct walk *w, int dir_fd, size_t len, unsigned int depth)
{
	DIR *d = fdopendir(dir_fd);
	struct dirent *entry;
	int err = 0, fd;

	if (!d) {
		close(dir_fd);
		return 0;
	}
	while (!err && (entry = readdir(d))) {
		size_t n = strlen(entry->d_name);

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    len + n + 2 > sizeof(w->path))
			continue;
		w->path[len] = '/';
		memcpy(w->path + len + 1, entry->d_name, n + 1);
		/* with 64-bit inode numbers, the id of a kernfs file is its inode number */
		err = w->row(w->ctx, entry->d_ino, w->path);
		if (err || depth == DEPTH_MAX)
			continue;
		fd = openat(dirfd(d), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			err = walk_below(w, fd, len + 1 + n, depth + 1);
	}
	closedir(d);
	return err;
}

int cgroup_walk(int mount_fd, int (*row)(void *ctx, uint64_t id, const char *path), void *ctx)
{
	struct walk w = { .row = row, .ctx = ctx };
	struct stat st;
	int fd, err;

	fd = openat(mount_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		err = -errno;
		close(fd);
		return err;
	}
	err = row(ctx, st.st_ino, "/");
	if (!err)
		return walk_below(&w, fd, 0, 0);
	close(fd);
	return err;
}

/*
 * Reads two numbers from a file of a group. Returns how many were read. path: relative to the
 * mount.
 */
static int read_numbers(int mount_fd, int len, const char *path, const char *file, long long *ret_a,
			long long *ret_b)
{
	char full[PATH_MAX], buf[64];
	ssize_t n;
	int fd;

	if (snprintf(full, sizeof(full), ".%.*s/%s", len, path, file) >= (int)sizeof(full))
		return 0;
	fd = openat(mount_fd, full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return sscanf(buf, "%lld %lld", ret_a, ret_b);
}

/*
 * Returns true if the group has a quota. The unit in files of both versions is the microsecond;
 * "max 100000" and -1 mean unlimited.
 */
static bool has_quota(int mount_fd, int len, const char *path, long long *ret_quota_us,
		      long long *ret_period_us)
{
	long long none;

	if (read_numbers(mount_fd, len, path, "cpu.max", ret_quota_us, ret_period_us) == 2)
		return true;
	return read_numbers(mount_fd, len, path, "cpu.cfs_quota_us", ret_quota_us, &none) > 0 &&
	       read_numbers(mount_fd, len, path, "cpu.cfs_period_us", ret_period_us, &none) > 0 &&
	       *ret_quota_us > 0;
}

/*
 * Sets limit_id, quota_ns and period_ns to the quota that applies to the group at path ("/a/b"):
 * its own quota, or the quota of the nearest ancestor that has one. limit_id is an inode number.
 * Returns 0; 1: no quota; -ENOENT: no such group.
 */
static int cgroup_quota(int mount_fd, const char *path, struct trace_quota *ret)
{
	int left = (int)strlen(path);
	long long quota_us, period_us;
	char full[PATH_MAX];
	struct stat st;

	if (snprintf(full, sizeof(full), ".%s", path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	while (left > 1 && !has_quota(mount_fd, left, path, &quota_us, &period_us))
		left = (int)((const char *)memrchr(path, '/', (size_t)left) - path);
	if (fstatat(mount_fd, full, &st, 0))
		return -errno;
	if (left <= 1)
		return 1;
	full[1 + left] = '\0';
	if (fstatat(mount_fd, full, &st, 0))
		return -errno;
	ret->limit_id = st.st_ino;
	ret->quota_ns = (uint64_t)quota_us * 1000;
	ret->period_ns = (uint64_t)period_us * 1000;
	return 0;
}

/*
 * mounts: parses /proc/self/mountinfo into a list of (file system, directory inside it, mount
 * point). Format: proc_pid_mountinfo(5).
 */

#define MOUNTS_TABLE "/proc/self/mountinfo"
#define MOUNTS_AGAIN_NS 100000000ull

struct mount {
	uint32_t dev;
	int id;
	/* earliest possible time of the mount; 0: before the first table */
	uint64_t since_ns;
	char *root;	/* mounted directory inside the file system; "": its root */
	char *dir;	/* mount point; "" for / */
};

static void release_mounts(struct mount *v, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		free(v[i].root);
		free(v[i].dir);
	}
	free(v);
}

void mounts_done(struct mounts *m)
{
	release_mounts(m->v, m->cnt);
	if (m->watch)
		close(m->watch - 1);
	memset(m, 0, sizeof(*m));
}

/* Copies a directory from mountinfo and decodes \NNN for blanks and backslashes. "/" becomes "". */
static char *mountinfo_dir(const char *text)
{
	char *s = strdup(text), *to = s, *from;
	unsigned int c;

	for (from = s; s && *from; from++) {
		if (*from == '\\' && sscanf(from + 1, "%3o", &c) == 1 && strlen(from) > 3) {
			*to++ = (char)c;
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	if (s)
		*to = 0;
	if (s && !strcmp(s, "/"))
		*s = 0;
	return s;
}

/*
 * Returns the since_ns of the mount at index i of a new table. Tables list mounts in the same
 * order, so the search in the old table begins at i.
 */
static uint64_t mounted_since(const struct mounts *old, const struct mount *x, size_t i,
			      uint64_t read_ns)
{
	for (size_t k = 0; k < old->cnt; k++) {
		const struct mount *o = &old->v[(i + k) % old->cnt];

		if (o->id == x->id && o->dev == x->dev && !strcmp(o->dir, x->dir))
			return o->since_ns;
	}
	return old->read_ns ? read_ns : 0;
}

int mounts_read(struct mounts *m, const char *mountinfo)
{
	char root[PATH_MAX], dir[PATH_MAX], *line = NULL;
	const struct mounts old = *m;
	FILE *f = fopen(mountinfo, "re");
	unsigned int major, minor;
	struct mount *x;
	size_t size = 0;
	int id, r = 0;

	if (!f)
		return -errno;
	m->v = NULL;
	m->cnt = m->cap = 0;
	m->read_ns = clock_mono_ns();
	while (r == 0 && getline(&line, &size, f) > 0) {
		if (sscanf(line, "%d %*d %u:%u %4095s %4095s", &id, &major, &minor, root, dir) != 5)
			continue;
		r = array_reserve(&m->v, &m->cap, m->cnt + 1);
		if (r < 0)
			break;
		x = &m->v[m->cnt];
		*x = (struct mount){ .dev = major << 20 | minor, .id = id,
				     .root = mountinfo_dir(root), .dir = mountinfo_dir(dir) };
		r = x->root && x->dir ? 0 : -ENOMEM;
		x->since_ns = r ? 0 : mounted_since(&old, x, m->cnt, m->read_ns);
		m->cnt++;
	}
	release_mounts(old.v, old.cnt);
	free(line);
	fclose(f);
	return r;
}

/* Returns the part of path `inside` below `root`; NULL: the path is not below root. */
static const char *below(const char *inside, const char *root)
{
	size_t n = strlen(root);

	return strncmp(inside, root, n) || (inside[n] && inside[n] != '/') ? NULL : inside + n;
}

static const struct mount *find_mount(const struct mounts *m, uint32_t dev, const char *inside)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < m->cnt; i++)
		if (m->v[i].dev == dev && below(inside, m->v[i].root) &&
		    (!best || strlen(m->v[i].root) < strlen(best->root)))
			best = &m->v[i];
	return best;
}

/* Reads this process's table of mounts and watches it for changes. *m must be all zeros. */
static void mounts_watch(struct mounts *m)
{
	/* best effort: without the table, paths are not converted */
	m->watch = open(MOUNTS_TABLE, O_RDONLY | O_CLOEXEC) + 1;
	mounts_read(m, MOUNTS_TABLE);
}

/* Reads the table again after a change, at most every MOUNTS_AGAIN_NS. */
static void refresh_mounts(struct mounts *m)
{
	struct pollfd p = { .fd = m->watch - 1, .events = POLLPRI };

	if (!m->watch)
		return;
	if (poll(&p, 1, 0) > 0 && p.revents & POLLPRI)
		m->changed_ns = clock_mono_ns();
	if (m->changed_ns && clock_mono_ns() - m->read_ns > MOUNTS_AGAIN_NS) {
		m->changed_ns = 0;
		mounts_read(m, MOUNTS_TABLE);
	}
}

void mounts_path(struct mounts *m, const struct mounts_file *f, char *ret, size_t size)
{
	const struct mount *x;
	struct stat st;

	refresh_mounts(m);
	x = find_mount(m, f->dev, f->inside);
	if (x) {
		snprintf(ret, size, "%s%s", x->dir, below(f->inside, x->root));
		if ((x->since_ns <= f->ts_ns && !m->changed_ns) ||
		    (!lstat(ret, &st) && st.st_ino == f->ino))
			return;
	}
	snprintf(ret, size, "%s", f->inside);
}

/*
 * kallsyms: the text symbols of /proc/kallsyms, sorted by address. Names are in one arena; a
 * function's name is followed by its module's name. Addresses are valid only until reboot, so they
 * are resolved while recording.
 */

struct symbol {
	uint64_t addr;
	uint32_t name;		/* offset into the arena */
};

struct kallsyms {
	struct symbol *symbols;
	size_t cnt, cap;
	struct buf arena;
};

static int add_symbol(struct kallsyms *k, uint64_t addr, const char *name, const char *module)
{
	char full[256];
	int n;

	if (array_reserve(&k->symbols, &k->cap, k->cnt + 1) < 0)
		return -ENOMEM;
	n = snprintf(full, sizeof(full), "%s%s%s", name, module[0] ? " " : "", module);
	k->symbols[k->cnt].addr = addr;
	k->symbols[k->cnt++].name = k->arena.len;
	buf_add(&k->arena, full, (n < (int)sizeof(full) ? n : (int)sizeof(full) - 1) + 1);
	return k->arena.failed ? -ENOMEM : 0;
}

static void kallsyms_close(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->symbols);
	buf_done(&k->arena);
	free(k);
}

/* Reads /proc/kallsyms. -EPERM: the kernel hides addresses (kptr_restrict). */
static int kallsyms_open(struct kallsyms **ret)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], type, name[256], module[128];
	unsigned long long addr;
	int err = 0;

	if (!k || !f) {
		err = k ? -errno : -ENOMEM;
		goto out;
	}
	while (!err && fgets(line, sizeof(line), f)) {
		module[0] = 0;
		if (sscanf(line, "%llx %c %255s %127s", &addr, &type, name, module) < 3)
			continue;
		if (!addr || !strchr("tTwW", type) || !strncmp(name, "__pfx_", 6))
			continue;
		err = add_symbol(k, addr, name, module);
	}
	if (!err && !k->cnt)
		err = -EPERM;
	if (!err)
		qsort(k->symbols, k->cnt, sizeof(*k->symbols), compare_u64);
out:
	if (f)
		fclose(f);
	if (err) {
		kallsyms_close(k);
		return err;
	}
	*ret = k;
	return 0;
}

/*
 * Formats "function+0x1a", followed by " [module]" for a module. -ENOENT: the address is in no
 * known function.
 */
static int kallsyms_find(const struct kallsyms *k, uint64_t addr, char *name, size_t size)
{
	size_t after = lower_bound(k->symbols, k->cnt, addr, addr + 1);
	const struct symbol *s;
	const char *text, *module;

	if (!after)
		return -ENOENT;
	s = &k->symbols[after - 1];
	/* an address more than 1 MiB after the start of a function is not in it */
	if (addr - s->addr > 1 << 20)
		return -ENOENT;
	text = (const char *)k->arena.data + s->name;
	module = strchr(text, ' ');
	snprintf(name, size, "%.*s+0x%llx%s", (int)(module ? module - text : (long)strlen(text)),
		 text, (unsigned long long)(addr - s->addr), module ? module : "");
	return 0;
}

/* ---- id_names ---- */

/*
 * Interval of reading all quotas, which may change at any time. Reading one quota takes 10 to 20
 * us.
 */
#define QUOTAS_EVERY_NS 2000000000ULL

/* A mount of control groups. Each hierarchy of version 1 has its own group ids. */
struct cgroups {
	struct id_names *names;
	uint64_t flag;		/* bit set in the ids: WIRE_CGROUP_V1, WIRE_CGROUP_V1_MEMORY or 0 */
	int fd;			/* -1: not mounted */
};

/*
 * A block device at the start of the recording, which may be removed before its name is looked up.
 */
struct known_device {
	char name[64];
	uint64_t sectors;
};

struct id_names {
	struct hash_map devices;	/* dev -> struct known_device */
	struct probe *probe;
	struct user_sites *sites;
	struct kallsyms *kallsyms;	/* used if the probe has no symbols; NULL: hidden */
	struct cgroups v2, v1;		/* v1: hierarchy of the CPU controller */
	struct cgroups v1_memory;	/* hierarchy of the memory controller */
	struct cgroups v1_freezer;	/* hierarchy of the freezer */
	struct hash_map cgroup_paths;	/* id -> path (in pool), from the last walks */
	struct trace_quota *quotas;	/* of all named groups; quota_ns 0: none */
	size_t quota_cnt, quota_cap;
	uint64_t quotas_ns;		/* time of the last read_quotas() */
	struct strpool *pool;
	struct mounts mounts;
};

static struct cgroups open_cgroups(struct id_names *n, const char *controller, uint64_t flag)
{
	struct cgroups c = { .names = n, .flag = flag, .fd = -1 };
	char dir[PATH_MAX];

	if (!cgroup_find_mount(controller, dir))
		c.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return c;
}

static int device_name(uint32_t dev, char *name, size_t size, uint64_t *ret_sectors)
{
	char path[64], line[128];
	unsigned long long sectors = 0;
	int err = -ENOENT;
	FILE *f;

	/* dev has the kernel's encoding: major << 20 | minor */
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/uevent", dev >> 20, dev & 0xfffff);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "DEVNAME=", 8))
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(name, size, "%s", line + 8);
		err = 0;
	}
	fclose(f);
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/size", dev >> 20, dev & 0xfffff);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%llu", &sectors) != 1)
			sectors = 0;
		fclose(f);
	}
	*ret_sectors = sectors;
	return err;
}

/* Reads the names of all block devices. The name is empty if it is not readable. */
static void read_devices(struct id_names *n)
{
	DIR *dir = opendir("/sys/dev/block");
	unsigned int major, minor;
	struct known_device *d;
	struct dirent *at;

	while (dir && (at = readdir(dir))) {
		if (sscanf(at->d_name, "%u:%u", &major, &minor) != 2)
			continue;
		d = hash_map_make(&n->devices, major << 20 | minor, sizeof(*d));
		if (d)
			(void)!device_name(major << 20 | minor, d->name, sizeof(d->name),
					   &d->sectors);
	}
	if (dir)
		closedir(dir);
}

static int find_device(struct id_names *n, uint32_t dev, char *name, size_t size,
		       uint64_t *ret_sectors)
{
	const struct known_device *d = hash_map_get(&n->devices, dev);
	int err = device_name(dev, name, size, ret_sectors);

	if (!err || !d || !d->name[0])
		return err;
	snprintf(name, size, "%s", d->name);
	*ret_sectors = d->sectors;
	return 0;
}

int id_names_new(struct id_names **ret, struct probe *probe)
{
	struct id_names *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->probe = probe;
	n->v2 = open_cgroups(n, NULL, 0);
	n->v1 = open_cgroups(n, "cpu", WIRE_CGROUP_V1);
	n->v1_memory = open_cgroups(n, "memory", WIRE_CGROUP_V1_MEMORY);
	n->v1_freezer = open_cgroups(n, "freezer", WIRE_CGROUP_V1_FREEZER);
	read_devices(n);
	mounts_watch(&n->mounts);
	if (!probe_has_symbols(probe) && kallsyms_open(&n->kallsyms))
		n->kallsyms = NULL;
	if (strpool_new(&n->pool)) {
		id_names_free(n);
		return -ENOMEM;
	}
	*ret = n;
	return 0;
}

void id_names_free(struct id_names *n)
{
	if (!n)
		return;
	if (n->v2.fd >= 0)
		close(n->v2.fd);
	if (n->v1.fd >= 0)
		close(n->v1.fd);
	if (n->v1_memory.fd >= 0)
		close(n->v1_memory.fd);
	if (n->v1_freezer.fd >= 0)
		close(n->v1_freezer.fd);
	kallsyms_close(n->kallsyms);
	hash_map_done(&n->cgroup_paths);
	hash_map_done_values(&n->devices);
	free(n->quotas);
	mounts_done(&n->mounts);
	strpool_free(n->pool);
	free(n);
}

bool id_names_has_kernel_symbols(const struct id_names *n)
{
	return probe_has_symbols(n->probe) || n->kallsyms;
}

void id_names_of_device(uint32_t dev, char *buf, size_t size)
{
	uint64_t sectors;

	if (device_name(dev, buf, size, &sectors))
		snprintf(buf, size, "device %u:%u", dev >> 20, dev & 0xfffff);
}

/* ---- control groups ---- */

static int keep_cgroup(void *ctx, uint64_t id, const char *path)
{
	const struct cgroups *c = ctx;
	const char *kept = strpool_put(c->names->pool, path);

	return kept ? hash_map_put(&c->names->cgroup_paths, id | c->flag, (void *)kept) : -ENOMEM;
}

/*
 * Reads the quota of a group. If version 2 sets no quota, uses that of the group with the same path
 * in the CPU controller's version 1 hierarchy, if there is such a group.
 */
static int read_quota(const struct id_names *n, struct trace_quota *q)
{
	const char *path = hash_map_get(&n->cgroup_paths, q->cgroup_id);
	bool is_v1 = q->cgroup_id & WIRE_CGROUP_V1;
	int err = is_v1 ? 1 : cgroup_quota(n->v2.fd, path, q);

	q->quota_ns = err ? 0 : q->quota_ns;
	if (err != 1 || n->v1.fd < 0)
		return err;
	err = cgroup_quota(n->v1.fd, path, q);
	q->quota_ns = err ? 0 : q->quota_ns;
	q->limit_id |= WIRE_CGROUP_V1;
	return is_v1 ? err : 0;
}

/* Adds the quota of a group that was just named. */
static int add_quota(struct id_names *n, uint64_t id)
{
	struct trace_quota q = { .cgroup_id = id };

	for (size_t i = 0; i < n->quota_cnt; i++)
		if (n->quotas[i].cgroup_id == id)
			return 0;
	if (array_reserve(&n->quotas, &n->quota_cap, n->quota_cnt + 1) < 0)
		return -ENOMEM;
	if (read_quota(n, &q) >= 0)
		n->quotas[n->quota_cnt++] = q;
	return 0;
}

/* Reads all quotas again, and drops groups that no longer exist. */
static void read_quotas(struct id_names *n)
{
	uint64_t now_ns = clock_mono_ns();

	if (now_ns - n->quotas_ns < QUOTAS_EVERY_NS)
		return;
	n->quotas_ns = now_ns;
	for (size_t i = n->quota_cnt; i-- > 0;)
		if (read_quota(n, &n->quotas[i]) < 0)
			n->quotas[i] = n->quotas[--n->quota_cnt];
}

static const struct trace_quota *quota_at(void *ctx, size_t i)
{
	struct id_names *n = ctx;

	if (!i)
		read_quotas(n);
	return i < n->quota_cnt ? &n->quotas[i] : NULL;
}

/*
 * Finds the path of a group. The block writer calls this once per id. If the id is unknown, the
 * cgroup is new: walks all cgroups again.
 */
static int cgroup_name(struct id_names *n, uint64_t id, char *path, size_t size)
{
	struct cgroups *c = id & WIRE_CGROUP_V1_MEMORY ? &n->v1_memory :
			    id & WIRE_CGROUP_V1_FREEZER ? &n->v1_freezer :
			    id & WIRE_CGROUP_V1 ? &n->v1 : &n->v2;
	const char *kept;
	int err;

	if (c->fd < 0)
		return -ENOTSUP;
	kept = hash_map_get(&n->cgroup_paths, id);
	if (!kept) {
		err = cgroup_walk(c->fd, keep_cgroup, c);
		if (err)
			return err;
		kept = hash_map_get(&n->cgroup_paths, id);
	}
	if (!kept)
		return -ENOENT;
	snprintf(path, size, "%s", kept);
	return id & (WIRE_CGROUP_V1_MEMORY | WIRE_CGROUP_V1_FREEZER) ? 0 : add_quota(n, id);
}

static int user_name(uid_t uid, char *name, size_t size)
{
	struct account user;
	int err = account_find_uid(&user, uid);

	if (!err)
		snprintf(name, size, "%s", user.name);
	return err;
}

/* Reads the names of the line's current handlers, separated by commas. */
static int irq_name(uint32_t irq, char *name, size_t size)
{
	char path[64];
	FILE *f;
	int err;

	snprintf(path, sizeof(path), "/sys/kernel/irq/%u/actions", irq);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	err = fgets(name, (int)size, f) ? 0 : -ENOENT;
	fclose(f);
	if (!err)
		name[strcspn(name, "\n")] = 0;
	return err || name[0] ? err : -ENOENT;
}

static int find_name(void *ctx, enum trace_name_type type, uint64_t id, char *name, size_t size,
		     uint64_t *ret_arg)
{
	struct id_names *n = ctx;

	switch (type) {
	case TRACE_NAME_CACHE:
		return probe_cache_name(n->probe, id, name, size, ret_arg);
	case TRACE_NAME_DEVICE:
		return find_device(n, (uint32_t)id, name, size, ret_arg);
	case TRACE_NAME_CGROUP:
		return cgroup_name(n, id, name, size);
	case TRACE_NAME_SYMBOL:
		return n->kallsyms ? kallsyms_find(n->kallsyms, id, name, size) :
				     probe_symbol(n->probe, id, name, size);
	case TRACE_NAME_USER:
		return user_name((uid_t)(id - 1), name, size);
	case TRACE_NAME_IRQ:
		return irq_name((uint32_t)(id - 1), name, size);
	default:
		return -ENOENT;
	}
}

static int site_name(void *ctx, uint32_t pid, uint64_t ts_ns, struct trace_site *ret,
		     uint64_t *ret_until_ns)
{
	return user_sites_find(((struct id_names *)ctx)->sites, pid, ts_ns, ret, ret_until_ns);
}

static bool late_name(void *ctx, struct trace_site *ret)
{
	return user_sites_find_late(((struct id_names *)ctx)->sites, ret);
}

static int variable_name(void *ctx, uint32_t pid, uint64_t since_ns, uint64_t ts_ns,
			 struct trace_site *ret)
{
	return user_sites_find_variable(((struct id_names *)ctx)->sites, pid, since_ns, ts_ns, ret);
}

static void file_path(void *ctx, const struct mounts_file *f, char *ret, size_t size)
{
	mounts_path(&((struct id_names *)ctx)->mounts, f, ret, size);
}

static unsigned int unwind(void *ctx, uint32_t pid, uint64_t ts_ns, const struct unwind_stack *copy,
			   uint64_t *frames, unsigned int max, bool *ret_whole)
{
	return user_sites_unwind(((struct id_names *)ctx)->sites, pid, ts_ns, copy, frames, max,
				 ret_whole);
}

struct id_names_calls id_names_calls(struct id_names *n, struct user_sites *sites)
{
	n->sites = sites;
	return (struct id_names_calls){ .ctx = n, .name = find_name,
					.quota = quota_at,
					.site = sites ? site_name : NULL,
					.late_site = sites ? late_name : NULL,
					.variable = sites ? variable_name : NULL,
					.unwind = sites ? unwind : NULL, .path = file_path };
}
