/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* draft: base/draft_dir under the watch of leftover.h, with words. */
#include "cmd/draft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/leftover.h"
#include "cmd/say.h"

#define DRAFT_TRACE "trace"

int draft_make(struct draft *d, const char *output)
{
	int r;

	draft_dir_clear(output);
	r = leftover_begin();
	if (r == 0) {
		r = draft_dir_make(&d->dir, output);
		if (r == 0)
			r = leftover_watch(d->dir.path);
		else
			leftover_forget();
	}
	if (r == 0)
		return 0;
	draft_drop(d);
	say_error("cannot make a directory beside '%s': %s", output, strerror(-r));
	return EXIT_FAILED;
}

char *draft_path(const struct draft *d, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", d->dir.path, name) >= 0)
		return path;
	say_error("out of memory");
	return NULL;
}

int draft_make_trace(struct draft *d, const char *output, char **ret_path)
{
	struct stat st;

	if (!lstat(output, &st)) {
		say_error("'%s' exists already, and is left alone; name a new one with -o", output);
		return EXIT_FAILED;
	}
	if (draft_make(d, output))
		return EXIT_FAILED;
	*ret_path = draft_path(d, DRAFT_TRACE);
	return *ret_path ? 0 : EXIT_FAILED;
}

int draft_place_trace(const struct draft *d, const char *output)
{
	return draft_place(d, DRAFT_TRACE, output, false);
}

int draft_place(const struct draft *d, const char *name, const char *output, bool replace)
{
	int r;

	leftover_hold();
	r = draft_dir_place(&d->dir, name, output, replace);
	leftover_release();
	if (r == 0)
		return 0;
	say_error(r == -EEXIST ? "'%s' exists, and is left alone: it was not there before"
			       : "cannot make '%s': %s",
		  output, strerror(-r));
	return EXIT_FAILED;
}

void draft_drop(struct draft *d)
{
	if (!d->dir.path)
		return;
	leftover_hold();
	draft_dir_drop(&d->dir);
	leftover_release();
	leftover_forget();
}
