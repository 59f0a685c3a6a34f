/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * id_names: slab caches and code are named by BPF programs, devices by /sys/dev/block, cgroups by a
 * walk of their file system, users by the C library, interrupt lines by /sys/kernel/irq, mounted
 * directories by mountinfo. Kernels before 5.13 name code by kallsyms, of which reading all takes
 * 80 ms.
 */
#include "record/tasks/id_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/account.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "probe/probe.h"
#include "record/tasks/cgroup.h"
#include "record/tasks/mounts.h"
#include "record/tasks/user_sites.h"
#include "symbol/kallsyms.h"

struct id_names {
	struct probe *probe;
	struct user_sites *sites;
	struct kallsyms *kallsyms;	/* only where the probe has no symbols; NULL: hidden */
	char cgroup_root[PATH_MAX];
	int cgroup_fd;			/* -1: cgroup v2 is not mounted */
	struct hash_map cgroups;		/* id -> path (in the pool), as of the last walk */
	struct strpool *pool;
	struct mounts mounts;
};

int id_names_new(struct id_names **ret, struct probe *probe)
{
	struct id_names *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->probe = probe;
	n->cgroup_fd = -1;
	if (!probe_has_symbols(probe) && kallsyms_open(&n->kallsyms))
		n->kallsyms = NULL;
	if (strpool_new(&n->pool)) {
		id_names_free(n);
		return -ENOMEM;
	}
	if (!cgroup_find_mount(n->cgroup_root))
		n->cgroup_fd = open(n->cgroup_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*ret = n;
	return 0;
}

void id_names_free(struct id_names *n)
{
	if (!n)
		return;
	if (n->cgroup_fd >= 0)
		close(n->cgroup_fd);
	kallsyms_close(n->kallsyms);
	hash_map_done(&n->cgroups);
	mounts_done(&n->mounts);
	strpool_free(n->pool);
	free(n);
}

bool id_names_has_kernel_symbols(const struct id_names *n)
{
	return probe_has_symbols(n->probe) || n->kallsyms;
}

static int device_name(uint32_t dev, char *name, size_t size, uint64_t *ret_sectors)
{
	char path[64], line[128];
	unsigned long long sectors = 0;
	int err = -ENOENT;
	FILE *f;

	/* the kernel's encoding: major << 20 | minor */
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

void id_names_of_device(uint32_t dev, char *buf, size_t size)
{
	uint64_t sectors;

	if (device_name(dev, buf, size, &sectors))
		snprintf(buf, size, "device %u:%u", dev >> 20, dev & 0xfffff);
}

static int keep_cgroup(void *ctx, uint64_t id, const char *path)
{
	struct id_names *n = ctx;
	const char *kept = strpool_put(n->pool, path);

	return kept ? hash_map_put(&n->cgroups, id, (void *)kept) : -ENOMEM;
}

/* The writer asks once per id. An unknown id belongs to a new cgroup, so all are read again. */
static int cgroup_name(struct id_names *n, uint64_t id, char *path, size_t size)
{
	const char *kept;
	int err;

	if (n->cgroup_fd < 0)
		return -ENOTSUP;
	kept = hash_map_get(&n->cgroups, id);
	if (!kept) {
		err = cgroup_walk(n->cgroup_fd, keep_cgroup, n);
		if (err)
			return err;
		kept = hash_map_get(&n->cgroups, id);
	}
	if (!kept)
		return -ENOENT;
	snprintf(path, size, "%s", kept);
	return 0;
}

static int user_name(uid_t uid, char *name, size_t size)
{
	struct account user;
	int err = account_find_uid(&user, uid);

	if (!err)
		snprintf(name, size, "%s", user.name);
	return err;
}

/* The handlers that have the line now, separated by commas. */
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
		return device_name((uint32_t)id, name, size, ret_arg);
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

static void file_path(void *ctx, uint32_t dev, const char *inside, char *ret, size_t size)
{
	mounts_path(&((struct id_names *)ctx)->mounts, dev, inside, ret, size);
}

struct id_names_calls id_names_calls(struct id_names *n, struct user_sites *sites)
{
	n->sites = sites;
	return (struct id_names_calls){ .ctx = n, .name = find_name,
					.site = sites ? site_name : NULL, .path = file_path };
}
