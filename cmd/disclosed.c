/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * disclosed: all strings of the trace's lists and of its manifest, sorted, doubles dropped.
 */
#include "cmd/disclosed.h"
#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *disclosed_class_name(enum disclosed_class c)
{
	static const char *const names[DISCLOSED_CLASS_CNT] = {
		"process names", "command lines", "paths",   "user names",
		"user ids",	 "host names",	  "devices", "marks and notes",
		"functions",     "build ids",
	};

	return names[c];
}

static int add_bytes(struct disclosed *d, enum disclosed_class c, const char *s, size_t bytes)
{
	char *copy;

	if (array_reserve(&d->strings[c], &d->cap[c], d->cnt[c] + 1) < 0)
		return -ENOMEM;
	copy = strndup(s, bytes);
	if (!copy)
		return -ENOMEM;
	d->strings[c][d->cnt[c]++] = copy;
	return 0;
}

/* Whose home directory is named in s. */
static int add_users(struct disclosed *d, const char *s)
{
	int r = 0;

	while (r == 0 && (s = strstr(s, "/home/"))) {
		size_t n;

		s += strlen("/home/");
		n = strcspn(s, "/ :,;'\"");
		if (n)
			r = add_bytes(d, DISCLOSED_USER, s, n);
	}
	return r;
}

static int add(struct disclosed *d, enum disclosed_class c, const char *s)
{
	int r;

	if (!s || !*s)
		return 0;
	r = add_bytes(d, c, s, strlen(s));
	return r == 0 && (c == DISCLOSED_CMDLINE || c == DISCLOSED_PATH) ? add_users(d, s) : r;
}

static int add_tasks(struct disclosed *d, const struct trace *t)
{
	size_t process_cnt, thread_cnt, event_cnt, i;
	const struct trace_process *p = trace_processes(t, &process_cnt);
	const struct trace_thread *h = trace_threads(t, &thread_cnt);
	const struct trace_task_event *v = trace_task_events(t, &event_cnt);
	char uid[16];
	int r = 0;

	for (i = 0; i < process_cnt && r == 0; i++) {
		snprintf(uid, sizeof(uid), "%u", p[i].uid);
		r = add(d, DISCLOSED_PROCESS, p[i].comm);
		if (r == 0)
			r = add(d, DISCLOSED_CMDLINE, p[i].cmdline);
		if (r == 0)
			r = add(d, DISCLOSED_PATH, p[i].exe);
		if (r == 0)
			r = add(d, DISCLOSED_UID, uid);
	}
	for (i = 0; i < thread_cnt && r == 0; i++)
		r = add(d, DISCLOSED_PROCESS, h[i].comm);
	for (i = 0; i < event_cnt && r == 0; i++) {
		r = add(d, DISCLOSED_PROCESS, v[i].comm);
		if (r == 0)
			r = add(d, DISCLOSED_CMDLINE, v[i].cmdline);
		if (r == 0)
			r = add(d, DISCLOSED_PATH, v[i].exe);
	}
	return r;
}

static int add_names(struct disclosed *d, const struct trace *t, enum trace_name_type type,
		     enum disclosed_class c)
{
	size_t cnt, i;
	const struct trace_name *n = trace_names(t, type, &cnt);
	int r = 0;

	for (i = 0; i < cnt && r == 0; i++)
		r = add(d, c, n[i].name);
	return r;
}

static int add_sites(struct disclosed *d, const struct trace *t)
{
	size_t cnt, i;
	const struct trace_site *s = trace_sites(t, &cnt);
	int r = 0;

	for (i = 0; i < cnt && r == 0; i++) {
		r = add(d, DISCLOSED_FUNCTION, s[i].symbol);
		if (r == 0)
			r = add(d, DISCLOSED_PATH, s[i].module);
		if (r == 0)
			r = add(d, DISCLOSED_BUILD_ID, s[i].build_id);
	}
	return r;
}

static int add_manifest(struct disclosed *d, const struct trace *t)
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
	int r = 0;

	for (i = 0; i < cnt && r == 0; i++) {
		for (k = 0; k < sizeof(keys) / sizeof(keys[0]) && r == 0; k++)
			if (!strcmp(kv[i].key, keys[k].key))
				r = add(d, keys[k].c, kv[i].value);
		if (r == 0 && !strncmp(kv[i].key, "note.", 5))
			r = add(d, DISCLOSED_NOTE, kv[i].value);
	}
	m = trace_marks(t, &cnt);
	for (i = 0; i < cnt && r == 0; i++)
		r = add(d, DISCLOSED_NOTE, m[i].text);
	return r;
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

int disclosed_collect(struct disclosed *ret, const struct trace *t)
{
	struct disclosed d = { { 0 } };
	unsigned int c;
	int r = add_tasks(&d, t);

	if (r == 0)
		r = add_names(&d, t, TRACE_NAME_CGROUP, DISCLOSED_PATH);
	if (r == 0)
		r = add_names(&d, t, TRACE_NAME_FILE, DISCLOSED_PATH);
	if (r == 0)
		r = add_names(&d, t, TRACE_NAME_DEVICE, DISCLOSED_DEVICE);
	if (r == 0)
		r = add_names(&d, t, TRACE_NAME_IRQ, DISCLOSED_DEVICE);
	if (r == 0)
		r = add_sites(&d, t);
	if (r == 0)
		r = add_manifest(&d, t);
	if (r < 0) {
		disclosed_done(&d);
		return r;
	}
	for (c = 0; c < DISCLOSED_CLASS_CNT; c++)
		sort(&d, c);
	*ret = d;
	return 0;
}

void disclosed_done(struct disclosed *d)
{
	unsigned int c;
	size_t i;

	for (c = 0; c < DISCLOSED_CLASS_CNT; c++) {
		for (i = 0; i < d->cnt[c]; i++)
			free(d->strings[c][i]);
		free(d->strings[c]);
	}
	*d = (struct disclosed){ { 0 } };
}
