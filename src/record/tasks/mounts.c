/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * mounts: parses /proc/self/mountinfo into a list of (file system, directory inside it, mount
 * point). Format: proc_pid_mountinfo(5).
 */
#include "record/tasks/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"

#define TABLE "/proc/self/mountinfo"
#define MOUNTS_AGAIN_NS 100000000ull

struct mount {
	uint32_t dev;
	int id;
	/* earliest possible time of the mount; 0: before the first table */
	uint64_t since_ns;
	char *root;	/* mounted directory inside the file system; "": its root */
	char *dir;	/* mount point; "" for / */
};

static void release(struct mount *v, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		free(v[i].root);
		free(v[i].dir);
	}
	free(v);
}

void mounts_done(struct mounts *m)
{
	release(m->v, m->cnt);
	if (m->watch)
		close(m->watch - 1);
	memset(m, 0, sizeof(*m));
}

/* Copies a directory from mountinfo and decodes \NNN for blanks and backslashes. "/" becomes "". */
static char *directory(const char *text)
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
static uint64_t since(const struct mounts *old, const struct mount *x, size_t i, uint64_t read_ns)
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
		*x = (struct mount){ .dev = major << 20 | minor, .id = id, .root = directory(root),
				     .dir = directory(dir) };
		r = x->root && x->dir ? 0 : -ENOMEM;
		x->since_ns = r ? 0 : since(&old, x, m->cnt, m->read_ns);
		m->cnt++;
	}
	release(old.v, old.cnt);
	free(line);
	fclose(f);
	return r;
}

/* Returns the part of inside below root; NULL: inside is not below root. */
static const char *below(const char *inside, const char *root)
{
	size_t n = strlen(root);

	return strncmp(inside, root, n) || (inside[n] && inside[n] != '/') ? NULL : inside + n;
}

static const struct mount *find(const struct mounts *m, uint32_t dev, const char *inside)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < m->cnt; i++)
		if (m->v[i].dev == dev && below(inside, m->v[i].root) &&
		    (!best || strlen(m->v[i].root) < strlen(best->root)))
			best = &m->v[i];
	return best;
}

void mounts_watch(struct mounts *m)
{
	/* best effort: without the table, paths are not converted */
	m->watch = open(TABLE, O_RDONLY | O_CLOEXEC) + 1;
	mounts_read(m, TABLE);
}

/* Reads the table again after a change, at most every MOUNTS_AGAIN_NS. */
static void refresh(struct mounts *m)
{
	struct pollfd p = { .fd = m->watch - 1, .events = POLLPRI };

	if (!m->watch)
		return;
	if (poll(&p, 1, 0) > 0 && p.revents & POLLPRI)
		m->changed_ns = clock_mono_ns();
	if (m->changed_ns && clock_mono_ns() - m->read_ns > MOUNTS_AGAIN_NS) {
		m->changed_ns = 0;
		mounts_read(m, TABLE);
	}
}

void mounts_path(struct mounts *m, const struct mounts_file *f, char *ret, size_t size)
{
	const struct mount *x;
	struct stat st;

	refresh(m);
	x = find(m, f->dev, f->inside);
	if (x) {
		snprintf(ret, size, "%s%s", x->dir, below(f->inside, x->root));
		if ((x->since_ns <= f->ts_ns && !m->changed_ns) ||
		    (!lstat(ret, &st) && st.st_ino == f->ino))
			return;
	}
	snprintf(ret, size, "%s", f->inside);
}
