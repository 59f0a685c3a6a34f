/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_bundle: `ebpfrec bundle`: a trace and what goes with it as one zip file, not larger than
 * asked for, and what it discloses. The new trace is made in a directory of its own beside the
 * output (base/atomic_output.h), and everything else is derived from that new trace.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "base/units.h"
#include "cmd/bundle_texts.h"
#include "cmd/cmd.h"
#include "cmd/disclosed.h"
#include "cmd/input/input.h"
#include "cmd/input/redact_options.h"
#include "cmd/render/say.h"
#include "edit/trace_cut.h"
#include "store/bundle_reader.h"
#include "store/bundle_writer.h"
#include "event_lists.h"
#include "store/store_writer.h"

enum { OPT_MAX_SIZE = 256, OPT_SHOW_STRINGS, OPT_REDACT };

#define MAX_SIZE_DEFAULT UINT64_C(24000000)
#define MAX_SIZE_MAX	 UINT64_C(4000000000)	/* beyond, a zip file is one of another kind */

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE,
	INPUT_OPTIONS_WINDOW,
	{ 'o', 'o', "output", "FILE", "the bundle (default: TRACE's name and .zip, here)" },
	{ OPT_MAX_SIZE, 0, "max-size", "SIZE",
	  "leave out what matters least until it fits (default: 24MB)" },
	{ OPT_SHOW_STRINGS, 0, "show-strings", NULL,
	  "list every name, command line, path and so on that the bundle discloses" },
	{ OPT_REDACT, 0, "redact", NULL,
	  "replace names with pseudonyms, as `ebpfrec redact` does" },
	REDACT_OPTIONS,
	{ 'f', 'f', "force", NULL, "replace FILE when it exists" },
	{ 0 },
};

const struct opts_command bundle_opts = {
	.name = "bundle",
	.about = "Pack a trace into one zip file for a bug report.",
	.synopsis = "[-i TRACE] [-o FILE.zip] [OPTIONS]",
	.text = "The bundle holds the trace, facts about the machine, and the summary as text and\n"
		"CSV. Every command reads it: ebpfrec report -i FILE.zip. When the bundle is too\n"
		"large, these sources are left out, in this order:\n"
		EVENT_TRIM_ORDER ".\n"
		"Then the window's ends are left out. Reports mark what is missing.\n"
		"The command counts what the bundle discloses.\n",
	.options = options,
	.examples = "  ebpfrec bundle\n"
		    "  ebpfrec bundle -i trace.ebpfrec -o bug.zip --max-size 10MB --show-strings\n"
		    "  ebpfrec bundle --redact --keep-workload --from 12s --to 14s -o public.zip\n"
		    "  ebpfrec report -i bug.zip cpu --from 1s --to 2s\n",
};

struct bundle_job {
	struct input in;
	const char *output;
	uint64_t max_bytes;
	bool show_strings, force, redact;
	struct redact_options_taken taken;
	/* while it runs */
	struct trace *t;	/* what is bundled */
	struct atomic_output out;
	char *new_trace, *redacted, *zip; /* paths of what is made in it */
	struct redact_result renamed;
	struct trace_cut_request cut;
	struct trace_cut_result made;
	unsigned int end_trims;	/* blocks that went from the window's ends */
	uint64_t zip_bytes;
};

/* Least useful first: what costs most bytes for what it tells in a bug report. */
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

/* ---- what goes in ---- */

struct members {
	struct bundle_member v[BUNDLE_MEMBERS_MAX];
	char *names[BUNDLE_MEMBERS_MAX], *paths[BUNDLE_MEMBERS_MAX];
	size_t cnt;
};

static int add_file(struct members *m, const char *dir, const char *name)
{
	struct bundle_member *v = &m->v[m->cnt];

	m->names[m->cnt] = strdup(name);
	if (!m->names[m->cnt] || asprintf(&m->paths[m->cnt], "%s/%s", dir, name) < 0) {
		free(m->names[m->cnt]);
		return -ENOMEM;
	}
	*v = (struct bundle_member){ .name = m->names[m->cnt], .path = m->paths[m->cnt] };
	m->cnt++;
	return 0;
}

static int name_cmp(const void *a, const void *b)
{
	return strcmp(((const struct bundle_member *)a)->name,
		      ((const struct bundle_member *)b)->name);
}

/* The trace's files: the manifest and the chunk files, nothing that an analysis left there. */
static int add_trace(struct members *m, const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int r = 0;

	if (!d)
		return -errno;
	while (r == 0 && (e = readdir(d))) {
		if (strcmp(e->d_name, "manifest") && strncmp(e->d_name, "chunk-", 6))
			continue;
		r = m->cnt + 8 < BUNDLE_MEMBERS_MAX ? add_file(m, dir, e->d_name) : -E2BIG;
	}
	closedir(d);
	qsort(m->v, m->cnt, sizeof(m->v[0]), name_cmp);
	return r;
}

static void members_done(struct members *m)
{
	for (size_t i = 0; i < BUNDLE_MEMBERS_MAX; i++) {
		free(m->names[i]);
		free(m->paths[i]);
	}
	free(m);
}

static void add_text(struct members *m, const char *name, const struct bundle_text *text)
{
	m->v[m->cnt++] = (struct bundle_member){ .name = name, .data = text->data,
						 .bytes = text->bytes };
}

static int write_zip(struct bundle_job *j, struct trace *t, struct err *e)
{
	struct members *m = calloc(1, sizeof(*m));
	struct bundle_text environment = { 0 }, table = { 0 }, csv = { 0 };
	int r = m ? add_trace(m, j->new_trace) : -ENOMEM;

	if (r == 0)
		r = bundle_text_environment(&environment, t);
	if (r < 0)
		err_set(e, r, "'%s': %s", j->new_trace,
			r == -E2BIG ? "it has too many files for a bundle" : err_text(NULL, r));
	if (r == 0)
		r = bundle_text_summary(&table, t, RENDER_TABLE, e);
	if (r == 0)
		r = bundle_text_summary(&csv, t, RENDER_CSV, e);
	if (r == 0) {
		add_text(m, "environment.txt", &environment);
		add_text(m, "summary.txt", &table);
		add_text(m, "summary.csv", &csv);
		(void)unlink(j->zip);
		r = bundle_write(j->zip, m->v, m->cnt,
				 (int64_t)(trace_real_ns(t, trace_end_ns(t)) / UNITS_NS_PER_S),
				 &j->zip_bytes, e);
	}
	free(environment.data);
	free(table.data);
	free(csv.data);
	if (m)
		members_done(m);
	return r;
}

/* ---- making it fit ---- */

/* The next source that saves something; false: there is none. */
static int trim_more(struct bundle_job *j, uint64_t *ret_saved, struct err *e)
{
	unsigned int i, source;
	int r;

	*ret_saved = 0;
	for (i = 0; i < TRIM_STEPS && !*ret_saved; i++) {
		source = source_number(trim_steps[i]);
		if (j->cut.left_out & 1u << source)
			continue;
		r = trace_cut_source_bytes(j->t, &j->cut, source, ret_saved, e);
		if (r < 0)
			return r;
		if (*ret_saved)
			j->cut.left_out |= 1u << source;
	}
	return 0;
}

/* Bytes of the blocks of the window without the sources that are left out. */
static int size_without(const struct bundle_job *j, uint64_t *ret, struct err *e)
{
	uint64_t bytes, saved;
	size_t first, end;
	unsigned int i;
	int r = 0;

	trace_cut_blocks(j->t, j->cut.from_ns, j->cut.to_ns, &first, &end, &bytes);
	for (i = 0; r == 0 && trace_cut_source(i); i++) {
		if (!(j->cut.left_out & 1u << i))
			continue;
		r = trace_cut_source_bytes(j->t, &j->cut, i, &saved, e);
		bytes -= saved < bytes ? saved : bytes;
	}
	*ret = bytes;
	return r;
}

/* The window's ends, a block at a time, so that its middle stays. false: there is one block. */
static bool trim_ends(struct bundle_job *j)
{
	size_t first, end, cnt;
	const struct trace_block *b = trace_blocks(j->t, &cnt);
	uint64_t bytes;

	trace_cut_blocks(j->t, j->cut.from_ns, j->cut.to_ns, &first, &end, &bytes);
	if (end - first < 2)
		return false;
	if (j->end_trims++ % 2)
		j->cut.to_ns = b[end - 2].to_ns;
	else
		j->cut.from_ns = b[first + 1].from_ns;
	return true;
}

/* From the sizes of columns, before anything is written. */
static int plan(struct bundle_job *j, struct err *e)
{
	uint64_t bytes, saved = 1;
	size_t first, end;
	int r = 0;

	trace_cut_blocks(j->t, j->cut.from_ns, j->cut.to_ns, &first, &end, &bytes);
	while (r == 0 && bytes > j->max_bytes && saved) {
		r = trim_more(j, &saved, e);
		bytes -= saved < bytes ? saved : bytes;
	}
	while (r == 0 && bytes > j->max_bytes && trim_ends(j))
		r = size_without(j, &bytes, e);
	return r;
}

/* Replaces the trace, which has no damage since it was just made, by one with pseudonyms. */
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
	int r = trace_cut(j->t, &j->cut, j->new_trace, &j->made, e);

	if (r == 0 && j->redact)
		r = redact(j, e);
	if (r == 0)
		r = trace_open(&t, j->new_trace, e);
	if (r < 0)
		return r;
	r = write_zip(j, t, e);
	trace_close(t);
	return r;
}

static int make(struct bundle_job *j)
{
	char n[UNITS_TEXT_MAX], m[UNITS_TEXT_MAX];
	struct err e = { "" };
	uint64_t saved = 1;
	int r = plan(j, &e);

	while (r == 0 && saved) {
		r = make_once(j, &e);
		if (r < 0 || j->zip_bytes <= j->max_bytes)
			break;
		r = store_remove(j->new_trace, &e);
		if (r == 0)
			r = trim_more(j, &saved, &e);
		if (r == 0 && !saved)
			saved = trim_ends(j);
	}
	if (r < 0) {
		say_error("%s", err_text(&e, r));
		return EXIT_FAILED;
	}
	if (j->zip_bytes <= j->max_bytes)
		return 0;
	say_error("%s: %s is the least it takes, more than --max-size %s; record less (-d, -e), or "
		  "allow more",
		  input_path(&j->in), units_format_bytes_si(n, sizeof(n), j->zip_bytes),
		  units_format_bytes_si(m, sizeof(m), j->max_bytes));
	return EXIT_FAILED;
}

/* ---- messages ---- */

static void say_trimmed(const struct bundle_job *j)
{
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
	char n[UNITS_TEXT_MAX];
	struct disclosed d;
	struct trace *t;
	unsigned int c;
	int r = trace_open(&t, j->zip, NULL);

	if (r == 0) {
		r = disclosed_collect(&d, t);
		trace_close(t);
	}
	if (r < 0) {
		say_error("the strings of the bundle: %s", strerror(-r));
		return EXIT_FAILED;
	}
	say_note("it discloses, each counted once (--show-strings lists them):");
	for (c = 0; c < DISCLOSED_CLASS_CNT; c++) {
		say_note("  %8s %s", units_format_count(n, sizeof(n), d.cnt[c]),
			 disclosed_class_name(c));
		for (size_t i = 0; j->show_strings && i < d.cnt[c]; i++)
			printf("%s: %s\n", disclosed_class_name(c), say_text(d.strings[c][i]));
	}
	disclosed_done(&d);
	return 0;
}

static int begin(struct bundle_job *j)
{
	struct err e = { "" };
	int r;

	if (!j->force && access(j->output, F_OK) == 0) {
		say_error("%s exists; -f replaces it", j->output);
		return EXIT_FAILED;
	}
	atomic_output_catch_signals();
	r = atomic_output_begin(&j->out, j->output, false, &e);
	if (r)
		return input_failed(r, &e);
	j->new_trace = atomic_output_item(&j->out, "trace");
	j->redacted = atomic_output_item(&j->out, "redacted");
	j->zip = atomic_output_item(&j->out, "zip");
	return j->new_trace && j->redacted && j->zip ? 0 : input_failed(-ENOMEM, &e);
}

static void done(struct bundle_job *j)
{
	atomic_output_drop(&j->out);
	free(j->new_trace);
	free(j->redacted);
	free(j->zip);
}

static int run(struct bundle_job *j)
{
	char n[UNITS_TEXT_MAX], m[UNITS_TEXT_MAX], len[UNITS_TEXT_MAX], at[UNITS_TEXT_MAX];
	struct err e = { "" };
	int c = begin(j);

	if (!c)
		c = make(j);
	if (!c && chmod(j->zip, 0600) < 0)
		c = EXIT_FAILED;
	if (!c)
		c = say_disclosed(j);
	if (!c)
		c = atomic_output_commit_item(&j->out, "zip", j->output, j->force, &e);
	if (c)
		return c < 0 ? input_failed(c, &e) : c;
	say_trimmed(j);
	if (j->redact)
		redact_options_say(j->output, &j->renamed);
	say_note("%s: %s, %s of %s, from %s s on, in %s block%s", j->output,
		 units_format_bytes_si(n, sizeof(n), j->zip_bytes),
		 units_format_duration(len, sizeof(len), j->made.to_ns - j->made.from_ns),
		 input_path(&j->in),
		 units_format_instant(at, sizeof(at),
				      (int64_t)(j->made.from_ns - trace_start_ns(j->t))),
		 units_format_count(m, sizeof(m), j->made.block_cnt),
		 j->made.block_cnt == 1 ? "" : "s");
	return 0;
}

/* "dir/build.ebpfrec/" becomes "build.zip". NULL: out of memory. */
static char *default_output(const char *path)
{
	size_t n = strlen(path), start;
	char *name;

	while (n > 1 && path[n - 1] == '/')
		n--;
	for (start = n; start && path[start - 1] != '/'; start--)
		;
	if (n - start > 8 && !strncmp(path + n - 8, ".ebpfrec", 8))
		n -= 8;
	return asprintf(&name, "%.*s.zip", (int)(n - start), path + start) < 0 ? NULL : name;
}

static int take_size(struct bundle_job *j, const char *value)
{
	struct err e = { "" };
	int r = units_parse_size(value, &j->max_bytes, &e);

	if (r == 0 && (!j->max_bytes || j->max_bytes > MAX_SIZE_MAX))
		r = err_set(&e, -ERANGE, "from 1 byte to 4GB");
	return r ? opts_usage_error(&bundle_opts, "--max-size: %s", err_text(&e, r)) : 0;
}

int cmd_bundle(int argc, char **argv)
{
	struct bundle_job j = { .max_bytes = MAX_SIZE_DEFAULT, .cut.reason = "bundle" };
	char *output = NULL;
	const char *value;
	struct opts o;
	int id, c = 0;

	opts_init(&o, &bundle_opts, argc, argv);
	while (!c && (id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_HELP)
			return 0;
		if (id == OPTS_BAD)
			return EXIT_USAGE;
		if (id == OPTS_OPERAND)
			return opts_usage_error(&bundle_opts,
						"unexpected argument '%s'; -i names the trace, -o "
						"the bundle",
						value);
		if (id == 'o')
			j.output = value;
		else if (id == 'f')
			j.force = true;
		else if (id == OPT_SHOW_STRINGS)
			j.show_strings = true;
		else if (id == OPT_REDACT)
			j.redact = true;
		else if (id == OPT_MAX_SIZE)
			c = take_size(&j, value);
		else if ((c = redact_options_take(&j.taken, &bundle_opts, id, value)) < 0)
			c = input_take(&j.in, &bundle_opts, id, value);
	}
	if (!c && j.taken.any && !j.redact)
		c = opts_usage_error(&bundle_opts,
				     "--keep, --keep-workload and --salt go with --redact");
	if (!c && !j.output)
		j.output = output = default_output(input_path(&j.in));
	if (!c && (!j.output || !*j.output))
		c = opts_usage_error(&bundle_opts, "-o needs the name of a file");
	if (!c)
		c = input_open(&j.in, true, &j.t);
	if (!c) {
		c = input_window(&j.in, &bundle_opts, j.t, &j.cut.from_ns, &j.cut.to_ns);
		if (!c)
			c = run(&j);
		done(&j);
		trace_close(j.t);
	}
	redact_options_done(&j.taken);
	free(output);
	return c;
}
