/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * mounts: /proc/self/mountinfo as a list of (file system, directory inside it, directory here).
 * Format: proc_pid_mountinfo(5).
 */
#include "record/tasks/mounts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"

#define MOUNTS_AGAIN_NS 1000000000ull

struct mount {
	uint32_t dev;
	char *root;	/* the mounted directory of the file system; "" is its root */
	char *dir;	/* the mount point; "" is / */
};

static void clear(struct mounts *m)
{
	for (size_t i = 0; i < m->cnt; i++) {
		free(m->v[i].root);
		free(m->v[i].dir);
	}
	m->cnt = 0;
}

void mounts_done(struct mounts *m)
{
	clear(m);
	free(m->v);
	memset(m, 0, sizeof(*m));
}

/* Parses a directory of mountinfo, with blanks and backslashes as \NNN. "/" becomes "". */
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

int mounts_read(struct mounts *m, const char *mountinfo)
{
	char root[PATH_MAX], dir[PATH_MAX], *line = NULL;
	FILE *f = fopen(mountinfo, "re");
	unsigned int major, minor;
	size_t size = 0;
	int r = 0;

	if (!f)
		return -errno;
	clear(m);
	while (r == 0 && getline(&line, &size, f) > 0) {
		if (sscanf(line, "%*d %*d %u:%u %4095s %4095s", &major, &minor, root, dir) != 4)
			continue;
		r = array_reserve(&m->v, &m->cap, m->cnt + 1);
		if (r < 0)
			break;
		m->v[m->cnt] = (struct mount){ major << 20 | minor, directory(root),
					       directory(dir) };
		r = m->v[m->cnt].root && m->v[m->cnt].dir ? 0 : -ENOMEM;
		m->cnt++;
	}
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

void mounts_path(struct mounts *m, uint32_t dev, const char *inside, char *ret, size_t size)
{
	const struct mount *x = find(m, dev, inside);

	if (!x && (!m->read_ns || clock_mono_ns() - m->read_ns > MOUNTS_AGAIN_NS)) {
		m->read_ns = clock_mono_ns();
		/* best effort: without the table the path is the one inside the file system */
		mounts_read(m, "/proc/self/mountinfo");
		x = find(m, dev, inside);
	}
	if (x)
		snprintf(ret, size, "%s%s", x->dir, below(inside, x->root));
	else
		snprintf(ret, size, "%s", inside);
}
