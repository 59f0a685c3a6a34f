/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_bundle: `ebpfrec bundle` packs a trace and its attachments into one zip file of limited size,
 * and lists the strings that it discloses. The new trace is made in a directory of its own beside
 * the output (base/atomic_output.h), and all attachments are derived from that new trace.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/engine/report_view.h"
#include "base/array.h"
#include "base/atomic_output.h"
#include "base/textsafe.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/copy/new_trace.h"
#include "cmd/input/input.h"
#include "cmd/render/page.h"
#include "cmd/render/say.h"
#include "edit/trace_cut.h"
#include "edit/trace_redact.h"
#include "event_lists.h"
#include "store/bundle.h"
#include "store/store_writer.h"

/*
 * disclosed: the strings of a trace that disclose something about people and machines, by class,
 * each once. Collects the strings of the trace's lists and manifest, sorts them, and drops
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
	/* including users named below /home in paths and command lines */
	{ "user names", KIND(USER) },
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

/* Drops strings of class c that `real` does not contain. `real` must be sorted. */
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

/*
 * Prints the number of strings of each class as a note; show: also prints the strings to stdout.
 * real: the trace from which t was made, or NULL. Strings that real does not contain are skipped:
 * they are pseudonyms. 0 or -ENOMEM.
 */
static int disclosed_say(const struct trace *t, const struct trace *real, bool show)
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

/*
 * The members of the zip file: the trace's unchanged files; and, for people, a page, the summary as
 * text and csv, and a description of the machine from the manifest.
 */
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
static int put_environment(FILE *f, struct trace *t, struct analysis *a, struct err *e)
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
static int put_summary(FILE *f, struct trace *t, struct analysis *a, enum render_format format,
		       struct err *e)
{
	const struct report_request q = { .view = "summary",
					  .from_ns = trace_start_ns(t),
					  .to_ns = trace_end_ns(t) };
	struct render_options o = { .format = format, .human = true, .out = f };
	struct render *render = NULL;
	int r = render_new(&render, &o);

	if (r < 0)
		return err_set(e, -ENOMEM, "out of memory");
	r = analysis_report(a, &q, render_sink(render), e);
	render_free(render);
	return r;
}

static int put_csv(FILE *f, struct trace *t, struct analysis *a, struct err *e)
{
	return put_summary(f, t, a, RENDER_CSV, e);
}

static int put_table(FILE *f, struct trace *t, struct analysis *a, struct err *e)
{
	uint64_t from = trace_start_ns(t), to = trace_end_ns(t);
	char missing[400];

	input_is_complete(t, report_view_find("summary")->needs, from, to, missing,
			  sizeof(missing));
	fprintf(f, "%s from %s, %s%s\n\n", say_duration(to - from),
		say_wall(trace_real_ns(t, from), false),
		missing[0] ? "INCOMPLETE: " : "complete", missing);
	return put_summary(f, t, a, RENDER_TABLE, e);
}

/* Writes README.txt, for the recipient of the bundle. */
static int put_readme(FILE *f, struct trace *t, struct analysis *a, struct err *e)
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

static int add_texts(struct members *m, struct trace *t, struct analysis *a, struct err *e)
{
	static const struct {
		const char *name;
		int (*put)(FILE *f, struct trace *t, struct analysis *a, struct err *e);
	} texts[] = {
		{ "README.txt", put_readme },
		{ "environment.txt", put_environment },
		{ "summary.txt", put_table },
		{ "summary.csv", put_csv },
	};
	int r = 0;

	/* keep the rows: both summaries consist of the same rows */
	analysis_keep_rows(a, true);
	for (unsigned int i = 0; i < sizeof(texts) / sizeof(texts[0]) && r == 0; i++) {
		struct bundle_member *v = &m->v[m->cnt++];
		char *data = NULL;
		FILE *f = open_memstream(&data, &v->bytes);

		r = f ? texts[i].put(f, t, a, e) : -ENOMEM;
		if (f && fclose(f) && r == 0)
			r = -ENOMEM;
		v->name = texts[i].name;
		v->data = data;
	}
	analysis_keep_rows(a, false);
	return r;
}

#define PAGE_NAME "report.html"

/* Adds report.html: `export --to html` of the whole trace. */
static int add_page(struct members *m, struct trace *t, struct analysis *a, const char *page_of,
		    struct err *e)
{
	struct bundle_member *v = &m->v[m->cnt];
	char *data = NULL, missing[400];
	struct page_request q = { .trace = t, .path = page_of, .analysis = a,
				  .from_ns = trace_start_ns(t), .to_ns = trace_end_ns(t),
				  .missing = missing };
	FILE *f;
	int r;

	if (q.from_ns == q.to_ns)
		return 0;
	input_is_complete(t, report_view_find("page")->needs, q.from_ns, q.to_ns, missing,
			  sizeof(missing));
	f = open_memstream(&data, &v->bytes);
	r = f ? page_write(&q, f, e) : err_set(e, -ENOMEM, "out of memory");
	if (f && fclose(f) && r == 0)
		r = err_set(e, -ENOMEM, "out of memory");
	v->name = PAGE_NAME;
	v->data = data;
	m->cnt++;
	return r;
}

static void drop_last(struct members *m)
{
	const struct bundle_member *v = &m->v[--m->cnt];

	free((void *)v->path);
	free((void *)v->data);
}

static int zip_write(const char *zip, const char *folder, const struct trace *t,
		     const struct members *m, uint64_t *ret_bytes, struct err *e)
{
	(void)unlink(zip);
	return bundle_write(zip, folder, m->v, m->cnt,
			    (int64_t)(trace_real_ns(t, trace_end_ns(t)) / UNITS_NS_PER_S),
			    ret_bytes, e);
}

/*
 * Makes the zip file of t, which is the trace in the directory dir. All members are in folder.
 * *ret_bytes: size of the zip file. Texts are safe for a terminal, and contain no environment
 * variables. page_of: name of the trace in commands on the page. If *ret_no_page is set, the page
 * is left out. Otherwise, if the zip file with the page exceeds max_bytes, the page is left out and
 * *ret_no_page is set: the page can be made again from the trace.
 */
static int zip_make(const char *zip, const char *folder, const char *dir, struct trace *t,
		    const char *page_of, uint64_t max_bytes, bool *ret_no_page,
		    uint64_t *ret_bytes, struct err *e)
{
	struct members *m = calloc(1, sizeof(*m));
	struct analysis *a = NULL;
	int r = m ? add_trace(m, dir, e) : -ENOMEM;

	r = r ?: analysis_open(&a, t, e) ?: add_texts(m, t, a, e);
	if (r == 0 && !*ret_no_page && page_is_built())
		r = add_page(m, t, a, page_of, e);
	analysis_close(a);
	r = r ?: zip_write(zip, folder, t, m, ret_bytes, e);
	if (r == 0 && *ret_bytes > max_bytes && !*ret_no_page) {
		*ret_no_page = true;
		if (!strcmp(m->v[m->cnt - 1].name, PAGE_NAME))
			drop_last(m);
		r = zip_write(zip, folder, t, m, ret_bytes, e);
	}
	while (m && m->cnt)
		drop_last(m);
	free(m);
	return r;
}

/* ---- the command ---- */

#define MAX_SIZE_DEFAULT UINT64_C(24000000)
#define FOLDER_MAX 200 /* bytes; zip readers limit the length of folder and member name */
#define MAX_SIZE_MAX UINT64_C(4000000000) /* larger zip files need the Zip64 format */

struct bundle_job {
	struct input in;
	const char *output;
	char *default_output;
	uint64_t max_bytes;
	bool show_strings, force, redact;
	struct redact_options_taken taken;
	/* set while the command runs */
	struct atomic_output out;
	char *new_trace, *redacted, *zip; /* paths inside out */
	char *folder; /* folder that the bundle unpacks into */
	struct redact_result renamed;
	struct trace_cut_request cut;
	struct trace_cut_result made;
	bool no_page; /* leave out report.html, which exceeds max_bytes */
	size_t first, end; /* the window's blocks: [first, end) */
	/* bytes of these blocks: in total, and per source */
	uint64_t bytes, saved[TRACE_CUT_SOURCE_MAX];
	unsigned int end_trims; /* blocks cut from the window's ends */
	uint64_t zip_bytes;
};

/*
 * Sources in the order in which they are left out: first those that are least useful per byte in a
 * bug report.
 */
static const char *const trim_steps[] = {
#define X(name) name,
	EVENT_TRIMS(X)
#undef X
};

#define TRIM_STEPS (sizeof(trim_steps) / sizeof(trim_steps[0]))

static unsigned int source_number(const char *name)
{
	unsigned int i;

	for (i = 0; trace_cut_source(i); i++)
		if (!strcmp(trace_cut_source(i), name))
			break;
	return i;
}

/* ---- making it fit ---- */

/* Returns the bytes of the window's blocks without the left-out sources. */
static uint64_t planned_bytes(const struct bundle_job *j)
{
	uint64_t bytes = j->bytes;

	for (unsigned int i = 0; trace_cut_source(i); i++)
		bytes -= j->cut.left_out & 1u << i ? j->saved[i] : 0;
	return bytes;
}

/*
 * Removes a block alternately from the window's beginning and end, so that the window's middle
 * stays. *ret_any: a block was removed; a single block is not removed.
 */
static int trim_ends(struct bundle_job *j, bool *ret_any, struct err *e)
{
	size_t cnt, block;
	const struct trace_block *b = trace_blocks(j->in.trace, &cnt);
	uint64_t saved[TRACE_CUT_SOURCE_MAX] = { 0 };
	int r;

	*ret_any = j->end - j->first > 1;
	if (!*ret_any)
		return 0;
	block = j->end_trims++ % 2 ? --j->end : j->first++;
	if (block == j->end)
		j->cut.to_ns = b[block - 1].to_ns;
	else
		j->cut.from_ns = b[block + 1].from_ns;
	r = trace_cut_saved(j->in.trace, block, saved, e);
	j->bytes -= b[block].bytes;
	for (unsigned int i = 0; trace_cut_source(i); i++)
		j->saved[i] -= saved[i];
	return r;
}

/*
 * Leaves out the next source that occupies bytes or, if there is none, a block. *ret_any: something
 * was left out.
 */
static int trim(struct bundle_job *j, bool *ret_any, struct err *e)
{
	for (unsigned int i = 0; i < TRIM_STEPS; i++) {
		unsigned int source = source_number(trim_steps[i]);

		if (j->cut.left_out & 1u << source || !j->saved[source])
			continue;
		j->cut.left_out |= 1u << source;
		*ret_any = true;
		return 0;
	}
	return trim_ends(j, ret_any, e);
}

/* Trims until at most `bytes` remain, or nothing more can be left out. */
static int trim_to(struct bundle_job *j, uint64_t bytes, struct err *e)
{
	bool any = true;
	int r = 0;

	while (r == 0 && planned_bytes(j) > bytes && any)
		r = trim(j, &any, e);
	return r;
}

/* Plans the content from the sizes of columns, before anything is written. */
static int plan(struct bundle_job *j, struct err *e)
{
	int r = 0;

	trace_cut_blocks(j->in.trace, j->cut.from_ns, j->cut.to_ns, &j->first, &j->end, &j->bytes);
	for (size_t i = j->first; r == 0 && i < j->end; i++)
		r = trace_cut_saved(j->in.trace, i, j->saved, e);
	return r == 0 ? trim_to(j, j->max_bytes, e) : r;
}

/*
 * Replaces the new trace by a copy with pseudonyms. The new trace was just written, so it has no
 * damage.
 */
static int redact(struct bundle_job *j, struct err *e)
{
	struct trace *t;
	int r = trace_open(&t, j->new_trace, e);

	if (r < 0)
		return r;
	r = trace_redact(t, j->redacted, &j->taken.o, &j->renamed, e);
	trace_close(t);
	if (r < 0)
		return r;
	r = store_remove(j->new_trace, e);
	if (r == 0 && rename(j->redacted, j->new_trace) < 0)
		r = err_set(e, -errno, "cannot rename '%s': %s", j->redacted, strerror(errno));
	return r;
}

static int make_once(struct bundle_job *j, struct err *e)
{
	struct trace *t;
	int r = trace_cut(j->in.trace, &j->cut, j->new_trace, &j->made, e);

	if (r == 0 && j->redact)
		r = redact(j, e);
	r = r ?: trace_open(&t, j->new_trace, e);
	if (r < 0)
		return r;
	/* only the bundle's base name: the page must not disclose directories of this machine */
	r = zip_make(j->zip, j->folder, j->new_trace, t, basename(j->output), j->max_bytes,
		     &j->no_page, &j->zip_bytes, e);
	trace_close(t);
	return r;
}

static int make(struct bundle_job *j)
{
	struct err e = { "" };
	uint64_t bytes;
	double share;
	bool any = true;
	int r = plan(j, &e);

	if (r == 0 && input_open_cut(&j->in, &j->cut))
		return EXIT_FAILED;
	while (r == 0 && any) {
		r = make_once(j, &e);
		if (r < 0 || j->zip_bytes <= j->max_bytes)
			break;
		r = store_remove(j->new_trace, &e);
		/* trim in proportion to the excess, so that few attempts suffice */
		bytes = planned_bytes(j);
		share = (double)j->max_bytes / (double)j->zip_bytes;
		r = r ?: trim_to(j, (uint64_t)((double)bytes * share), &e);
		any = planned_bytes(j) < bytes;
	}
	if (r < 0)
		return say_error("%s", err_text(&e, r));
	if (j->zip_bytes <= j->max_bytes)
		return 0;
	return say_error("%s: %s is the least it takes, more than --max-size %s; take a window "
			 "(--from, --until), record less (-e), or allow more",
			 input_path(&j->in), say_bytes_si(j->zip_bytes),
			 say_bytes_si(j->max_bytes));
}

/* ---- messages ---- */

static void say_trimmed(const struct bundle_job *j)
{
	if (j->no_page && page_is_built())
		say_note("left out, to stay below --max-size: report.html; `ebpfrec export --to "
			 "html -i %s` makes it",
			 j->output);
	for (unsigned int i = 0; i < TRIM_STEPS; i++)
		if (j->cut.left_out & 1u << source_number(trim_steps[i]))
			say_note("left out, to stay below --max-size: %s; reports that need it say "
				 "that they are incomplete",
				 trim_steps[i]);
	if (j->end_trims)
		say_note("left out, to stay below --max-size: %u block%s at the window's ends",
			 j->end_trims, j->end_trims == 1 ? "" : "s");
}

static int say_disclosed(const struct bundle_job *j)
{
	struct trace *t;
	int r = trace_open(&t, j->zip, NULL);

	if (r == 0) {
		r = disclosed_say(t, j->redact ? j->in.trace : NULL, j->show_strings);
		trace_close(t);
	}
	return r < 0 ? say_error("the strings of the bundle: %s", strerror(-r)) : 0;
}

/*
 * Returns the folder that a bundle unpacks into: "bug" for "dir/bug.zip". malloc'ed; NULL: out of
 * memory.
 */
static char *folder_name(const char *output)
{
	const char *name = strrchr(output, '/') ? strrchr(output, '/') + 1 : output;
	size_t n = strlen(name);
	char *folder;

	if (n > 4 && !strcmp(name + n - 4, ".zip"))
		n -= 4;
	folder = n && *name != '.' && n < FOLDER_MAX ? strndup(name, n) : strdup("bundle");
	for (size_t i = 0; folder && folder[i]; i++) {
		if (folder[i] == '\\')
			folder[i] = '_';
	}
	return folder;
}

static int begin(struct bundle_job *j)
{
	struct err e = { "" };
	int r;

	if (!j->force && access(j->output, F_OK) == 0)
		return say_error("%s exists; -f replaces it", j->output);
	atomic_output_catch_signals();
	r = atomic_output_begin(&j->out, j->output, false, &e);
	if (r)
		return input_status(r, &e);
	j->new_trace = atomic_output_item(&j->out, "trace");
	j->redacted = atomic_output_item(&j->out, "redacted");
	j->zip = atomic_output_item(&j->out, "zip");
	j->folder = folder_name(j->output);
	return input_status(j->new_trace && j->redacted && j->zip && j->folder ? 0 : -ENOMEM, &e);
}

static void say_result(const struct bundle_job *j)
{
	say_trimmed(j);
	if (j->redact)
		redact_options_say(j->output, &j->renamed);
	say_note("%s: %s, %s of %s, from %s s on, in %s", j->output, say_bytes_si(j->zip_bytes),
		 say_duration(j->made.to_ns - j->made.from_ns), input_path(&j->in),
		 say_instant((int64_t)(j->made.from_ns - trace_start_ns(j->in.trace))),
		 say_counted(j->made.block_cnt, "block"));
}

static int run(void *job)
{
	struct bundle_job *j = job;
	struct err e = { "" };
	int c;

	if (redact_options_any(&j->taken) && !j->redact)
		return opts_usage_error("--keep, --keep-workload and --salt go with --redact");
	if (!j->output)
		j->output = j->default_output = input_output_name(&j->in, ".zip");
	else if (!*j->output)
		return opts_usage_error("-o needs the name of a file");
	c = j->output ? input_open(&j->in, true) : EXIT_FAILED;
	c = c ?: input_window(&j->in, &j->cut.from_ns, &j->cut.to_ns) ?: begin(j);
	c = c ?: make(j);
	if (!c && chmod(j->zip, 0600) < 0)
		c = EXIT_FAILED;
	c = c ?: say_disclosed(j);
	c = c ?: atomic_output_commit_item(&j->out, "zip", j->output, j->force, &e);
	if (!c)
		say_result(j);
	return input_status(c, &e);
}

static void done(void *job)
{
	struct bundle_job *j = job;

	atomic_output_drop(&j->out);
	free(j->new_trace);
	free(j->redacted);
	free(j->zip);
	free(j->folder);
	input_close(&j->in);
	redact_options_done(&j->taken);
	free(j->default_output);
}

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE(struct bundle_job, in),
	INPUT_OPTIONS_WINDOW(struct bundle_job, in),
	{ 'o', "output", "FILE", "the bundle (default: TRACE's name and .zip, here)", OPTS_TEXT,
	  offsetof(struct bundle_job, output) },
	{ 0, "max-size", "SIZE", "leave out what matters least until it fits (default: 24MB)",
	  OPTS_SIZE, offsetof(struct bundle_job, max_bytes), .min = 1, .max = MAX_SIZE_MAX,
	  .refuse = "from 1 byte to 4GB" },
	{ 0, "show-strings", NULL,
	  "list every name, command line, path and so on that the bundle discloses", OPTS_FLAG,
	  offsetof(struct bundle_job, show_strings) },
	{ 0, "redact", NULL, "replace names with pseudonyms, as `ebpfrec redact` does", OPTS_FLAG,
	  offsetof(struct bundle_job, redact) },
	REDACT_OPTIONS(struct bundle_job, taken),
	{ 'f', "force", NULL, "replace FILE when it exists", OPTS_FLAG,
	  offsetof(struct bundle_job, force) },
	{ 0 },
};

const struct opts_command bundle_opts = {
	.name = "bundle",
	.about = "Pack a trace into one zip file for a bug report.",
	.synopsis = "[-i TRACE] [-o FILE.zip] [OPTIONS]",
	.text = "The bundle unpacks into one folder, with the trace, a README.txt, facts about "
		"the\n"
		"machine, the summary as text and CSV, and report.html, a page of charts, if\n"
		"there is room for it. Every command reads it as it is:\n"
		"ebpfrec report -i FILE.zip. When the bundle is too large, these sources are\n"
		"left out, in this order:\n" EVENT_TRIM_ORDER ".\n"
		"Then the window's ends are left out. Reports mark what is missing.\n"
		"The command counts what the bundle discloses.\n",
	.options = options,
	.examples = "  ebpfrec bundle\n"
		    "  ebpfrec bundle -i trace.ebpfrec -o bug.zip --max-size 10MB --show-strings\n"
		    "  ebpfrec bundle --redact --keep-workload --from 12s --until 14s -o "
		    "public.zip\n"
		    "  ebpfrec report -i bug.zip cpu --from 1s --until 2s\n",
	.bytes = sizeof(struct bundle_job),
	.initial = &(const struct bundle_job){ .in.quick = true, .max_bytes = MAX_SIZE_DEFAULT,
					       .cut.reason = "bundle" },
	.done = done,
	.operand_hint = "-i names the trace, -o the bundle",
	.run = run,
};
