/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * disclosed: all strings of the trace's lists and of its manifest, sorted, doubles dropped.
 */
#include "cmd/copy/disclosed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cmd/render/say.h"
#include "edit/trace_redact.h"

#define KIND(name) (1u << REDACT_##name)
#define REDACT_UID REDACT_KIND_CNT

/* Slab caches and symbols disclose nothing: the kernel has them on every machine. */
_Static_assert(REDACT_KIND_CNT == 15, "a new kind of strings belongs into a class");

static const struct {
	const char *name;
	unsigned int kinds;
} classes[] = {
	{ "process names", KIND(COMM) },	/* and of threads */
	{ "command lines", KIND(CMDLINE) },
	{ "paths", KIND(PATH) | KIND(CGROUP) },	/* of programs, files, cgroups */
	{ "user names", KIND(USER) },	/* and in paths and command lines, below /home */
	{ "user ids", KIND(UID) },
	{ "host names", KIND(HOST) },
	{ "addresses of sockets", KIND(SOCKET) },
	{ "devices", KIND(DEVICE) },
	{ "marks and notes", KIND(MARK) | KIND(NOTE) },
	{ "requests", KIND(REQUEST) },	/* and their steps */
	{ "functions", KIND(FUNCTION) },	/* that asked for memory or were on a stack */
	{ "build ids", KIND(BUILD_ID) },	/* identify the file for anyone who has it */
};

#define CLASS_CNT (sizeof(classes) / sizeof(classes[0]))

struct disclosed {
	char **strings[CLASS_CNT];
	size_t cnt[CLASS_CNT], cap[CLASS_CNT];
	int error; /* the first one stays */
};

static void add_bytes(struct disclosed *d, unsigned int kind, const char *s, size_t bytes)
{
	char *copy = d->error ? NULL : strndup(s, bytes);
	unsigned int c = 0;

	while (c < CLASS_CNT && !(classes[c].kinds & 1u << kind))
		c++;
	if (c < CLASS_CNT && copy &&
	    !array_reserve(&d->strings[c], &d->cap[c], d->cnt[c] + 1)) {
		d->strings[c][d->cnt[c]++] = copy;
		return;
	}
	if (c < CLASS_CNT)
		d->error = -ENOMEM;
	free(copy);
}

/* Adds the users whose home directory is in s. */
static void add_users(struct disclosed *d, const char *s)
{
	while ((s = strstr(s, "/home/"))) {
		size_t n;

		s += strlen("/home/");
		n = strcspn(s, "/ :,;'\"");
		if (n)
			add_bytes(d, REDACT_USER, s, n);
	}
}

static void add(void *ctx, enum redact_kind kind, const char *s)
{
	add_bytes(ctx, kind, s, strlen(s));
	if ((KIND(CMDLINE) | KIND(PATH) | KIND(CGROUP)) & 1u << kind)
		add_users(ctx, s);
}

static void add_uids(struct disclosed *d, const struct trace *t)
{
	size_t cnt, i;
	const struct trace_process *p = trace_processes(t, &cnt);
	char uid[16];

	for (i = 0; i < cnt; i++) {
		int n = snprintf(uid, sizeof(uid), "%u", p[i].uid);

		add_bytes(d, REDACT_UID, uid, (size_t)n);
	}
}

static void sort(struct disclosed *d, unsigned int c)
{
	char **s = d->strings[c];
	size_t i, n = 0;

	if (d->cnt[c])
		qsort(s, d->cnt[c], sizeof(*s), compare_texts);
	for (i = 0; i < d->cnt[c]; i++) {
		if (n && !strcmp(s[n - 1], s[i]))
			free(s[i]);
		else
			s[n++] = s[i];
	}
	d->cnt[c] = n;
}

/* Drops strings that `real` does not have, for a class that is sorted in both. */
static void keep_real(struct disclosed *d, const struct disclosed *real, unsigned int c)
{
	size_t n = 0;

	for (size_t i = 0; i < d->cnt[c]; i++) {
		char *s = d->strings[c][i];

		if (bsearch(&s, real->strings[c], real->cnt[c], sizeof(s), compare_texts))
			d->strings[c][n++] = s;
		else
			free(s);
	}
	d->cnt[c] = n;
}

static void collect(struct disclosed *d, const struct trace *t)
{
	trace_strings_each(t, add, d);
	add_uids(d, t);
	for (unsigned int c = 0; c < CLASS_CNT; c++)
		sort(d, c);
}

static void drop(struct disclosed *d)
{
	for (unsigned int c = 0; c < CLASS_CNT; c++) {
		while (d->cnt[c])
			free(d->strings[c][--d->cnt[c]]);
		free(d->strings[c]);
	}
}

int disclosed_say(const struct trace *t, const struct trace *real, bool show)
{
	struct disclosed d = { .error = 0 }, r = { .error = 0 };

	collect(&d, t);
	if (real)
		collect(&r, real);
	if (!d.error)
		d.error = r.error;
	if (!d.error)
		say_note("%sthese strings can be read in the bundle (--show-strings lists them):",
			 real ? "besides pseudonyms, " : "");
	for (unsigned int c = 0; c < CLASS_CNT && !d.error; c++) {
		if (real)
			keep_real(&d, &r, c);
		say_note("  %-20s %8s", classes[c].name, say_count(d.cnt[c]));
		for (size_t i = 0; show && i < d.cnt[c]; i++)
			printf("%s: %s\n", classes[c].name, say_text(d.strings[c][i]));
	}
	drop(&d);
	drop(&r);
	return d.error;
}
