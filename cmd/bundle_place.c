/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* bundle_place: mkdtemp() and flock(); only what a bundle makes is ever removed. */
#include "cmd/bundle_place.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/say.h"
#include "store/store_writer.h"

#define PLACE_NAME ".ebpfrec-bundle."
#define PLACE_TRIES 5

static int name_parts(struct bundle_place *p)
{
	if (asprintf(&p->trace, "%s/trace", p->dir) < 0)
		p->trace = NULL;
	if (asprintf(&p->redacted, "%s/redacted", p->dir) < 0)
		p->redacted = NULL;
	if (asprintf(&p->zip, "%s/zip", p->dir) < 0)
		p->zip = NULL;
	return p->trace && p->redacted && p->zip ? 0 : -ENOMEM;
}

static void drop_trace(const char *path)
{
	struct err e = { "" };
	int r;

	if (!path || access(path, F_OK) < 0)
		return;
	r = store_remove(path, &e);
	if (r < 0 && access(path, F_OK) == 0)
		say_note("%s", err_text(&e, r));
}

void bundle_place_drop_trace(const struct bundle_place *p)
{
	drop_trace(p->trace);
	drop_trace(p->redacted);
}

void bundle_place_drop(struct bundle_place *p)
{
	if (!p->dir)
		return;
	bundle_place_drop_trace(p);
	if (p->zip)
		(void)unlink(p->zip);
	(void)rmdir(p->dir);
	if (p->fd >= 0)
		close(p->fd);
	free(p->dir);
	free(p->trace);
	free(p->redacted);
	free(p->zip);
	*p = (struct bundle_place){ .fd = -1 };
}

/* Mine and nobody's any more: whoever made it is gone. */
static void drop_abandoned(const char *path)
{
	struct bundle_place p = { .fd = open(path,
					     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) };
	struct stat st;

	if (p.fd < 0)
		return;
	p.dir = strdup(path);
	if (p.dir && fstat(p.fd, &st) == 0 && st.st_uid == geteuid() &&
	    flock(p.fd, LOCK_EX | LOCK_NB) == 0 && name_parts(&p) == 0) {
		bundle_place_drop(&p);
		return;
	}
	close(p.fd);
	free(p.dir);
	free(p.trace);
	free(p.redacted);
	free(p.zip);
}

/* The directory of output is matched as it is written, whatever characters it has. */
static void drop_all_abandoned(const char *dir, int dir_len)
{
	char *pattern = calloc(1, (size_t)dir_len * 2 + sizeof(PLACE_NAME) + 8), *to = pattern;
	glob_t found;
	size_t i;

	if (!pattern)
		return;
	for (i = 0; i < (size_t)dir_len; i++) {
		if (strchr("*?[\\", dir[i]))
			*to++ = '\\';
		*to++ = dir[i];
	}
	strcpy(to, PLACE_NAME "??????");
	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
		for (i = 0; i < found.gl_pathc; i++)
			drop_abandoned(found.gl_pathv[i]);
		globfree(&found);
	}
	free(pattern);
}

/* Before it is locked, another one may take it for abandoned, and remove it. */
static int make_locked(struct bundle_place *p, const char *dir, int dir_len)
{
	struct stat st;

	if (asprintf(&p->dir, "%.*s" PLACE_NAME "XXXXXX", dir_len, dir) < 0) {
		p->dir = NULL;
		return -ENOMEM;
	}
	if (!mkdtemp(p->dir))
		return -errno;
	p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->fd >= 0 && flock(p->fd, LOCK_EX | LOCK_NB) == 0 && fstat(p->fd, &st) == 0 &&
	    st.st_nlink)
		return 0;
	return -EAGAIN;
}

int bundle_place_make(struct bundle_place *p, const char *output)
{
	const char *slash = strrchr(output, '/');
	int dir_len = slash ? (int)(slash - output) + 1 : 0, tries = PLACE_TRIES, r;

	drop_all_abandoned(output, dir_len);
	do {
		*p = (struct bundle_place){ .fd = -1 };
		r = make_locked(p, output, dir_len);
		if (r == 0)
			r = name_parts(p);
		if (r == 0)
			return 0;
		if (p->fd >= 0)
			close(p->fd);
		free(p->dir);
		p->dir = NULL;
	} while (r == -EAGAIN && --tries);
	say_error("cannot make a directory beside '%s': %s", output, strerror(-r));
	return EXIT_FAILED;
}
