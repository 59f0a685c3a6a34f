/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * disclosed: all strings of the trace's lists and of its manifest, sorted, doubles dropped.
 */
#include "cmd/disclosed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cmd/render/say.h"

enum disclosed_class {
	DISCLOSED_PROCESS, /* names of processes and threads */
	DISCLOSED_CMDLINE,
	DISCLOSED_PATH, /* programs, files, cgroups */
	DISCLOSED_USER, /* names in paths and command lines below /home */
	DISCLOSED_UID,
	DISCLOSED_HOST,
	DISCLOSED_DEVICE,
	DISCLOSED_NOTE, /* marks and notes */
	DISCLOSED_FUNCTION, /* of programs, that asked for memory or were on a stack */
	DISCLOSED_BUILD_ID, /* of their files: who has the file too can tell which it is */
	DISCLOSED_CLASS_CNT
};

static const char *const class_names[DISCLOSED_CLASS_CNT] = {
	"process names", "command lines", "paths",	     "user names", "user ids",
	"host names",	 "devices",	  "marks and notes", "functions",  "build ids",
};

struct disclosed {
	char **strings[DISCLOSED_CLASS_CNT];
	size_t cnt[DISCLOSED_CLASS_CNT], cap[DISCLOSED_CLASS_CNT];
	int error; /* the first one stays */
};

static void add_bytes(struct disclosed *d, enum disclosed_class c, const char *s, size_t bytes)
{
	char *copy = d->error ? NULL : strndup(s, bytes);

	if (!copy || array_reserve(&d->strings[c], &d->cap[c], d->cnt[c] + 1) < 0) {
		free(copy);
		d->error = -ENOMEM;
		return;
	}
	d->strings[c][d->cnt[c]++] = copy;
}

/* Whose home directory is named in s. */
static void add_users(struct disclosed *d, const char *s)
{
	while ((s = strstr(s, "/home/"))) {
		size_t n;

		s += strlen("/home/");
		n = strcspn(s, "/ :,;'\"");
		if (n)
			add_bytes(d, DISCLOSED_USER, s, n);
	}
}

static void add(struct disclosed *d, enum disclosed_class c, const char *s)
{
	if (!s || !*s)
		return;
	add_bytes(d, c, s, strlen(s));
	if (c == DISCLOSED_CMDLINE || c == DISCLOSED_PATH)
		add_users(d, s);
}

static void add_tasks(struct disclosed *d, const struct trace *t)
{
	size_t process_cnt, thread_cnt, event_cnt, i;
	const struct trace_process *p = trace_processes(t, &process_cnt);
	const struct trace_thread *h = trace_threads(t, &thread_cnt);
	const struct trace_task_event *v = trace_task_events(t, &event_cnt);
	char uid[16];

	for (i = 0; i < process_cnt; i++) {
		snprintf(uid, sizeof(uid), "%u", p[i].uid);
		add(d, DISCLOSED_PROCESS, p[i].comm);
		add(d, DISCLOSED_CMDLINE, p[i].cmdline);
		add(d, DISCLOSED_PATH, p[i].exe);
		add(d, DISCLOSED_UID, uid);
	}
	for (i = 0; i < thread_cnt; i++)
		add(d, DISCLOSED_PROCESS, h[i].comm);
	for (i = 0; i < event_cnt; i++) {
		add(d, DISCLOSED_PROCESS, v[i].comm);
		add(d, DISCLOSED_CMDLINE, v[i].cmdline);
		add(d, DISCLOSED_PATH, v[i].exe);
	}
}

static void add_names(struct disclosed *d, const struct trace *t, enum trace_name_type type,
		      enum disclosed_class c)
{
	size_t cnt, i;
	const struct trace_name *n = trace_names(t, type, &cnt);

	for (i = 0; i < cnt; i++)
		add(d, c, n[i].name);
}

static void add_sites(struct disclosed *d, const struct trace *t)
{
	size_t cnt, i;
	const struct trace_site *s = trace_sites(t, &cnt);

	for (i = 0; i < cnt; i++) {
		add(d, DISCLOSED_FUNCTION, s[i].symbol);
		add(d, DISCLOSED_PATH, s[i].module);
		add(d, DISCLOSED_BUILD_ID, s[i].build_id);
	}
}

static void add_manifest(struct disclosed *d, const struct trace *t)
{
	static const struct {
		const char *key;
		enum disclosed_class c;
	} keys[] = {
		{ "host", DISCLOSED_HOST },
		{ "command", DISCLOSED_CMDLINE },
		{ "recorder.command_line", DISCLOSED_CMDLINE },
		{ "cgroup", DISCLOSED_PATH },
		{ "mounts", DISCLOSED_PATH },
	};
	size_t cnt, i, k;
	const struct trace_kv *kv = trace_manifest(t, &cnt);
	const struct trace_mark *m;

	for (i = 0; i < cnt; i++) {
		for (k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			if (!strcmp(kv[i].key, keys[k].key))
				add(d, keys[k].c, kv[i].value);
		if (!strncmp(kv[i].key, "note.", 5))
			add(d, DISCLOSED_NOTE, kv[i].value);
	}
	m = trace_marks(t, &cnt);
	for (i = 0; i < cnt; i++)
		add(d, DISCLOSED_NOTE, m[i].text);
}

static int text_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct disclosed *d, unsigned int c)
{
	char **s = d->strings[c];
	size_t i, n = 0;

	if (d->cnt[c])
		qsort(s, d->cnt[c], sizeof(*s), text_cmp);
	for (i = 0; i < d->cnt[c]; i++) {
		if (n && !strcmp(s[n - 1], s[i]))
			free(s[i]);
		else
			s[n++] = s[i];
	}
	d->cnt[c] = n;
}

/* Drops what real does not have, of a class that is sorted in both. */
static void keep_real(struct disclosed *d, const struct disclosed *real, unsigned int c)
{
	size_t n = 0;

	for (size_t i = 0; i < d->cnt[c]; i++) {
		char *s = d->strings[c][i];

		if (bsearch(&s, real->strings[c], real->cnt[c], sizeof(s), text_cmp))
			d->strings[c][n++] = s;
		else
			free(s);
	}
	d->cnt[c] = n;
}

static void collect(struct disclosed *d, const struct trace *t)
{
	add_tasks(d, t);
	add_names(d, t, TRACE_NAME_CGROUP, DISCLOSED_PATH);
	add_names(d, t, TRACE_NAME_USER, DISCLOSED_USER);
	add_names(d, t, TRACE_NAME_FILE, DISCLOSED_PATH);
	add_names(d, t, TRACE_NAME_PATH, DISCLOSED_PATH);
	add_names(d, t, TRACE_NAME_DEVICE, DISCLOSED_DEVICE);
	add_names(d, t, TRACE_NAME_IRQ, DISCLOSED_DEVICE);
	add_sites(d, t);
	add_manifest(d, t);
	for (unsigned int c = 0; c < DISCLOSED_CLASS_CNT; c++)
		sort(d, c);
}

static void drop(struct disclosed *d)
{
	for (unsigned int c = 0; c < DISCLOSED_CLASS_CNT; c++) {
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
		say_note("it discloses%s, each counted once (--show-strings lists them):",
			 real ? ", besides pseudonyms" : "");
	for (unsigned int c = 0; c < DISCLOSED_CLASS_CNT && !d.error; c++) {
		if (real)
			keep_real(&d, &r, c);
		say_note("  %8s %s", say_count(d.cnt[c]), class_names[c]);
		for (size_t i = 0; show && i < d.cnt[c]; i++)
			printf("%s: %s\n", class_names[c], say_text(d.strings[c][i]));
	}
	drop(&d);
	drop(&r);
	return d.error;
}
