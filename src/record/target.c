/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * target: a cgroup names its processes and those of the cgroups below it. Processes that join later
 * are followed by the task hooks in the kernel.
 */
#include "record/target.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "bpf/wire.h"
#include "record/encode/block_writer.h"
#include "probe/probe.h"
#include "record/tasks/cgroup.h"
#include "record/session.h"
#include "store/store_writer.h"

/*
 * The full path of a cgroup: path itself if it is inside the mount, else the path below the mount.
 */
static int cgroup_dir(const char *path, char full[PATH_MAX], struct err *e)
{
	char mount[PATH_MAX];
	int err = cgroup_find_mount(NULL, mount);

	if (err)
		return err_set(e, err, "--cgroup %s: no cgroup v2 file system is mounted", path);
	if (!strncmp(path, mount, strlen(mount)))
		snprintf(full, PATH_MAX, "%s", path);
	else if (snprintf(full, PATH_MAX, "%s/%s", mount, path + strspn(path, "/")) >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "--cgroup %s: the path is too long", path);
	return 0;
}

int target_cgroup_id(const char *path, uint64_t *ret_id, struct err *e)
{
	char full[PATH_MAX];
	int err = cgroup_dir(path, full, e);

	if (err)
		return err;
	err = cgroup_id_of(full, ret_id);
	if (err)
		return err_set(e, err, "--cgroup %s: %s; give a path below the cgroup v2 mount",
			       path, strerror(-err));
	return 0;
}

static int seed(struct probe *probe, struct block_writer *writer, uint32_t pid)
{
	int err = probe_add_target(probe, pid);

	return err ? err : block_writer_add_workload(writer, pid);
}

struct seeding {
	struct probe *probe;
	struct block_writer *writer;
	int dir_fd;
};

/* Marks the processes of one cgroup; path begins with a slash. */
static int seed_from_cgroup(void *ctx, uint64_t id, const char *path)
{
	const struct seeding *s = ctx;
	char file[PATH_MAX + 16];
	unsigned int pid;
	int fd, err = 0;
	FILE *f;

	snprintf(file, sizeof(file), ".%s/cgroup.procs", path);
	fd = openat(s->dir_fd, file, O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	while (f && !err && fscanf(f, "%u", &pid) == 1)
		err = seed(s->probe, s->writer, pid);
	if (f)
		fclose(f);
	return err;
}

int target_seed(struct probe *probe, struct block_writer *writer, pid_t command_pid,
		const struct session_options *o, struct err *e)
{
	struct seeding s = { .probe = probe, .writer = writer };
	char dir[PATH_MAX];
	int err = 0;

	if (command_pid)
		err = seed(probe, writer, command_pid);
	for (unsigned int i = 0; !err && i < o->pid_cnt; i++)
		err = seed(probe, writer, o->pids[i]);
	if (!err && o->cgroup) {
		err = cgroup_dir(o->cgroup, dir, e);
		s.dir_fd = err ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (s.dir_fd >= 0) {
			err = cgroup_walk(s.dir_fd, seed_from_cgroup, &s);
			close(s.dir_fd);
		}
	}
	return err ? err_set(e, err, "cannot mark the workload: %s", strerror(-err)) : 0;
}

static bool is_target(const struct session_options *o, const struct wire_snap *s)
{
	if (o->all_cmdlines || s->task.hdr.flags & WIRE_F_TARGET)
		return true;
	for (unsigned int i = 0; i < o->pid_cnt; i++) {
		if (o->pids[i] == s->task.pid)
			return true;
	}
	return false;
}

int target_read_cmdlines(struct block_writer *writer, const struct session_options *o,
			 const struct buf *snapshot)
{
	const struct wire_snap *rows = (const struct wire_snap *)snapshot->data;
	size_t cnt = snapshot->len / sizeof(*rows), i;
	char path[64], args[4096];
	ssize_t n;
	int fd, err = 0;

	for (i = 0; i < cnt && !err; i++) {
		if (rows[i].task.tid != rows[i].task.pid || !is_target(o, &rows[i]))
			continue;
		snprintf(path, sizeof(path), "/proc/%u/cmdline", rows[i].task.pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;	/* the process has ended */
		n = read(fd, args, sizeof(args));
		close(fd);
		if (n > 0)
			err = block_writer_set_cmdline(writer, rows[i].task.pid, args, n);
	}
	return err;
}

int target_set_note(struct store_writer *w, const char *note, struct err *e)
{
	const char *eq = strchr(note, '=');
	char key[80];

	if (!eq || eq == note || eq - note > 64)
		return err_set(e, -EINVAL,
			       "--note %s: give KEY=VALUE, with a key of at most 64 characters",
			       note);
	snprintf(key, sizeof(key), "note.%.*s", (int)(eq - note), note);
	for (size_t i = 5; key[i]; i++) {
		key[i] = tolower((unsigned char)key[i]);
		if (!isalnum((unsigned char)key[i]) && !strchr("._-", key[i]))
			return err_set(e, -EINVAL,
				       "--note %s: a key has letters, digits, '.', '_' and '-'",
				       note);
	}
	return store_writer_set(w, key, eq + 1);
}
