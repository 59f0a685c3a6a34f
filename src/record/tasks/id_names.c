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
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/privilege.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "probe/probe.h"
#include "record/tasks/cgroup.h"
#include "record/tasks/user_sites.h"
#include "symbol/kallsyms.h"

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
 * Reads the quota of a group. If the CPU controller uses version 1, its hierarchy may contain a
 * group with the same path.
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
