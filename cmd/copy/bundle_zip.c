/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle_zip: stores the trace's files unchanged, and adds readable files: a page, the summary as
 * text and csv, and the manifest's data on the machine.
 */
#include "cmd/copy/bundle_zip.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/engine/report_view.h"
#include "base/array.h"
#include "base/textsafe.h"
#include "base/units.h"
#include "cmd/input/input.h"
#include "cmd/render/page.h"
#include "cmd/render/say.h"
#include "edit/trace_redact.h"
#include "store/bundle.h"

/*
 * disclosed: collects the strings of the trace's lists and manifest, sorts them, and drops
 * duplicates.
 */

#define KIND(name) (1u << REDACT_##name)
#define REDACT_UID REDACT_KIND_CNT

/* Names of slab caches and kernel symbols disclose nothing: they are the same on all machines. */
_Static_assert(REDACT_KIND_CNT == 15, "a new kind of strings belongs into a class");

static const struct {
	const char *name;
	unsigned int kinds;
} classes[] = {
	{ "process names", KIND(COMM) },	/* including threads */
	{ "command lines", KIND(CMDLINE) },
	{ "paths", KIND(PATH) | KIND(CGROUP) },	/* programs, files, cgroups */
	{ "user names", KIND(USER) },	/* including those below /home in paths and command lines */
	{ "user ids", KIND(UID) },
	{ "host names", KIND(HOST) },
	{ "addresses of sockets", KIND(SOCKET) },
	{ "devices", KIND(DEVICE) },
	{ "marks and notes", KIND(MARK) | KIND(NOTE) },
	{ "requests", KIND(REQUEST) },	/* including their steps */
	{ "functions", KIND(FUNCTION) }, /* functions that allocated memory or were on a stack */
	{ "build ids", KIND(BUILD_ID) }, /* anyone who has a file can recognize its build id */
};

#define CLASS_CNT (sizeof(classes) / sizeof(classes[0]))

struct disclosed {
	char **strings[CLASS_CNT];
	size_t cnt[CLASS_CNT], cap[CLASS_CNT];
	int error; /* the first error, -errno */
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

/* Adds the names of users whose home directories occur in s. */
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

/* Drops strings of class c that `real` does not contain. The class must be sorted in both. */
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

#define ROOM_FOR_TEXTS 8

struct members {
	struct bundle_member v[BUNDLE_MEMBERS_MAX];	/* the members own their paths and data */
	size_t cnt;
};

static int add_file(struct members *m, const char *dir, const char *name)
{
	char *path;

	if (m->cnt + ROOM_FOR_TEXTS >= BUNDLE_MEMBERS_MAX)
		return -E2BIG;
	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	m->v[m->cnt++] = (struct bundle_member){ .name = path + strlen(dir) + 1, .path = path };
	return 0;
}

/* Adds the trace's files: the manifest and the chunk files, but no files made by an analysis. */
static int add_trace(struct members *m, const char *dir, struct err *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int r = d ? 0 : -errno;

	while (d && r == 0 && (e = readdir(d)))
		if (!strcmp(e->d_name, "manifest") || !strncmp(e->d_name, "chunk-", 6))
			r = add_file(m, dir, e->d_name);
	if (d)
		closedir(d);
	if (r < 0)
		return err_set(err, r, "'%s': %s", dir,
			       r == -E2BIG ? "it has too many files for a bundle" :
					     err_text(NULL, r));
	qsort(m->v, m->cnt, sizeof(m->v[0]), compare_texts);
	return 0;
}

static int put_value(FILE *f, const char *key, const char *value)
{
	size_t n = strlen(value), room = n * TEXTSAFE_GROWTH + 1;
	char *safe = malloc(room);

	if (!safe)
		return -ENOMEM;
	textsafe_escape(safe, room, value, n, NULL);
	fprintf(f, "%s=%s\n", key, safe);
	free(safe);
	return 0;
}

/* Writes kernel, CPUs, memory, mounts and versions as lines "key=value". */
static int put_environment(FILE *f, struct trace *t, struct err *e)
{
	static const char *const keys[] = {
		"host",	      "kernel.release", "kernel.version", "machine",  "cpu.model",
		"cpu.possible", "cpu.online",	"mem.bytes",	  "page_bytes", "mounts",
		"recorder.version", "sources",	"programs",	  "lacks",
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && r == 0; i++)
		if (trace_get(t, keys[i]))
			r = put_value(f, keys[i], trace_get(t, keys[i]));
	return r;
}

/* Writes `report summary` of the whole trace. */
static int put_summary(FILE *f, struct trace *t, enum render_format format, struct err *e)
{
	const struct report_request q = { .view = "summary",
					  .from_ns = trace_start_ns(t),
					  .to_ns = trace_end_ns(t) };
	struct render_options o = { .format = format, .human = true, .out = f };
	struct analysis *a = NULL;
	struct render *render = NULL;
	int r = analysis_open(&a, t, e);

	if (r == 0 && render_new(&render, &o) < 0)
		r = err_set(e, -ENOMEM, "out of memory");
	r = r ?: analysis_report(a, &q, render_sink(render), e);
	render_free(render);
	analysis_close(a);
	return r;
}

static int put_csv(FILE *f, struct trace *t, struct err *e)
{
	return put_summary(f, t, RENDER_CSV, e);
}

static int put_table(FILE *f, struct trace *t, struct err *e)
{
	uint64_t from = trace_start_ns(t), to = trace_end_ns(t);
	char missing[400];

	input_is_complete(t, report_view_find("summary")->needs, from, to, missing,
			  sizeof(missing));
	fprintf(f, "%s from %s, %s%s\n\n", say_duration(to - from),
		say_wall(trace_real_ns(t, from), false),
		missing[0] ? "INCOMPLETE: " : "complete", missing);
	return put_summary(f, t, RENDER_TABLE, e);
}

/* Writes README.txt, for the recipient of the bundle. */
static int put_readme(FILE *f, struct trace *t, struct err *e)
{
	uint64_t from = trace_start_ns(t);

	fprintf(f,
		"This folder is a recording: what the processes of a Linux machine did with its "
		"CPUs, memory\nand block devices, for %s from %s on.\nThe program ebpfrec made "
		"it.%s\n\n"
		"To read without ebpfrec:\n"
		"    summary.txt      what happened, and who used the most\n"
		"    summary.csv      the same for a spreadsheet\n"
		"    environment.txt  the machine\n\n"
		"ebpfrec reads this folder, and the zip file as it is; FOLDER is either:\n"
		"    ebpfrec report -i FOLDER\n"
		"    ebpfrec report -i FOLDER --list\n"
		"    ebpfrec report -i FOLDER cpu --from 1s --until 2s\n"
		"    ebpfrec sql -i FOLDER \"SELECT pid, comm, cmdline FROM processes\"\n"
		"    ebpfrec export -i FOLDER --to sqlite -o trace.db\n\n"
		"manifest and chunk-*.ebr are the recording itself. schema/FORMAT.md of ebpfrec's\n"
		"source describes every byte of it.\n",
		say_duration(trace_end_ns(t) - from),
		say_wall(trace_real_ns(t, from), false),
		trace_get(t, "redacted") ? " Names in it are pseudonyms." : "");
	return 0;
}

static int add_texts(struct members *m, struct trace *t, struct err *e)
{
	static const struct {
		const char *name;
		int (*put)(FILE *f, struct trace *t, struct err *e);
	} texts[] = {
		{ "README.txt", put_readme },
		{ "environment.txt", put_environment },
		{ "summary.txt", put_table },
		{ "summary.csv", put_csv },
	};
	int r = 0;

	for (unsigned int i = 0; i < sizeof(texts) / sizeof(texts[0]) && r == 0; i++) {
		struct bundle_member *v = &m->v[m->cnt++];
		char *data = NULL;
		FILE *f = open_memstream(&data, &v->bytes);

		r = f ? texts[i].put(f, t, e) : -ENOMEM;
		if (f && fclose(f) && r == 0)
			r = -ENOMEM;
		v->name = texts[i].name;
		v->data = data;
	}
	return r;
}

/* Adds report.html: `export --to html` of the whole trace. */
static int add_page(struct members *m, struct trace *t, const char *page_of, struct err *e)
{
	struct bundle_member *v = &m->v[m->cnt];
	char *data = NULL, missing[400];
	struct page_request q = { .trace = t, .path = page_of, .from_ns = trace_start_ns(t),
				  .to_ns = trace_end_ns(t), .missing = missing };
	struct analysis *a = NULL;
	FILE *f;
	int r;

	if (q.from_ns == q.to_ns)
		return 0;
	input_is_complete(t, report_view_find("page")->needs, q.from_ns, q.to_ns, missing,
			  sizeof(missing));
	r = analysis_open(&a, t, e);
	q.analysis = a;
	f = r < 0 ? NULL : open_memstream(&data, &v->bytes);
	if (f)
		r = page_write(&q, f, e);
	else if (!r)
		r = err_set(e, -ENOMEM, "out of memory");
	if (f && fclose(f) && r == 0)
		r = err_set(e, -ENOMEM, "out of memory");
	analysis_close(a);
	v->name = "report.html";
	v->data = data;
	m->cnt++;
	return r;
}

int bundle_zip_make(const char *zip, const char *folder, const char *dir, struct trace *t,
		    const char *page_of, uint64_t *ret_bytes, struct err *e)
{
	struct members *m = calloc(1, sizeof(*m));
	int r = m ? add_trace(m, dir, e) : -ENOMEM;

	r = r ?: add_texts(m, t, e);
	if (r == 0 && page_of && page_is_built())
		r = add_page(m, t, page_of, e);
	if (r == 0) {
		(void)unlink(zip);
		r = bundle_write(zip, folder, m->v, m->cnt,
				 (int64_t)(trace_real_ns(t, trace_end_ns(t)) / UNITS_NS_PER_S),
				 ret_bytes, e);
	}
	for (size_t i = 0; m && i < m->cnt; i++) {
		free((void *)m->v[i].path);
		free((void *)m->v[i].data);
	}
	free(m);
	return r;
}
