/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * input: opens the trace of -i for report, sql, export, info and check, and turns their --from and
 * --until into a window.
 */
#include "cmd/input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "base/buf.h"
#include "cmd/input/who.h"
#include "edit/trace_cut.h"
#include "model/live_objects.h"
#include "symbol/source_lines.h"

int input_take_path(void *input, const char *value, struct err *e)
{
	struct input *in = input;

	if (in->path)
		return err_set(e, -EINVAL, "one trace at a time, and there are '%s' and '%s'",
			       in->path, value);
	in->path = value;
	return 0;
}

bool input_is_warm_up(const struct input *in)
{
	if (!trace_get(in->trace, "note.warm_up"))
		return false;
	say_note("%s: a warm-up run, left out", input_path(in));
	return true;
}

int input_take_format(void *format, const char *value, struct err *e)
{
	return render_parse_format(value, RENDER_OF_ROWS, format) ?
		       opts_usage_error("unknown format '%s'; there are table, csv, json and jsonl",
					value) : 0;
}

int input_list_tables(void *field, const char *value, struct err *e)
{
	const struct schema_table *tables;
	unsigned int cnt = schema_tables(&tables);

	for (unsigned int i = 0; i < cnt; i++) {
		printf("%-16s ", tables[i].name);
		render_wrap_beside(stdout, tables[i].doc, input_terminal_width(), 17);
	}
	return OPTS_LEAVE;
}

char *input_output_name(const struct input *in, const char *ending)
{
	const char *path = input_path(in);
	char *name;
	size_t n = strlen(path), start;

	while (n && path[n - 1] == '/')
		n--;
	for (start = n; start && path[start - 1] != '/'; start--)
		;
	n -= start;
	if (n > 8 && !memcmp(path + start + n - 8, ".ebpfrec", 8))
		n -= 8;
	if (asprintf(&name, "%.*s%s", (int)n, path + start, ending) >= 0)
		return name;
	say_error("out of memory");
	return NULL;
}

const char *input_part_note(const struct trace *t)
{
	const char *only = trace_get(t, "only");

	if (trace_get(t, "cut.processes"))
		return "Cut: events of some processes only (cut.processes in `ebpfrec info`). What "
		       "others did, and "
		       "so machines, CPUs and devices as a whole, is not in it.";
	if (only && !strcmp(only, "1"))
		return "Recorded with --only: what others than the workload did, and so machines, "
		       "CPUs and devices as a whole, is not in it.";
	return NULL;
}

const char *input_waits_note(const struct trace *t, const char *view)
{
	const char *min_ns = trace_get(t, "offcpu.min_ns");

	return min_ns && !strcmp(view, "offcpu") ?
		       say_format("Waits of %s and more were recorded.",
				  say_duration(strtoull(min_ns, NULL, 10))) : NULL;
}

const char *input_heap_note(const struct trace *t, const char *sources)
{
	uint64_t mean = trace_get_number(t, "heap.sample_bytes");
	const uint64_t small = 16u << 20, large = 1u << 30;

	if (!mean || !strstr(sources, "alloc") || strstr(sources, "alloc."))
		return NULL;
	return say_format("The heap was sampled (record --heap=SIZE), a sample per %s: its figures "
			  "are estimates. In nine of ten cases %s is off by at most %s, and %s by "
			  "at most %s.", say_bytes(mean), say_bytes(small),
			  say_bytes(heap_weight_error(mean, small)), say_bytes(large),
			  say_bytes(heap_weight_error(mean, large)));
}

/*
 * Returns whether at_ns, an edge of a window, is in block i or in a block next to that block:
 * neighbouring blocks may hold late records of the window.
 */
static bool is_at_edge(const struct trace_block *b, size_t cnt, size_t i, uint64_t at_ns)
{
	uint64_t from_ns = i ? b[i - 1].from_ns : b[i].from_ns;
	uint64_t to_ns = i + 1 < cnt ? b[i + 1].to_ns : b[i].to_ns;

	return at_ns >= from_ns && at_ns <= to_ns;
}

void input_verify(struct input *in, bool sums, uint64_t from_ns, uint64_t to_ns)
{
	size_t cnt, i;
	const struct trace_block *b = trace_blocks(in->trace, &cnt);

	for (i = 0; i < cnt; i++) {
		if (b[i].first_ns >= to_ns || b[i].to_ns <= from_ns)
			continue;
		if (sums && in->analysis && analysis_knows_block(in->analysis, i) &&
		    !is_at_edge(b, cnt, i, from_ns) && !is_at_edge(b, cnt, i, to_ns))
			continue;
		(void)trace_block_verify(in->trace, i, NULL); /* trace_damages() lists damage */
	}
	input_note_damage(in);
}

static void show_progress(void *ctx, uint64_t done, uint64_t all)
{
	struct input *in = ctx;

	in->indexed_events = done;
	in->all_events = all;
	if (!isatty(STDERR_FILENO))
		return;
	if (done < all)
		progress_show(&in->progress, "indexing, once", done, all, "events");
	else
		progress_erase(&in->progress);
}

int input_use_symbols(struct input *in)
{
	size_t cnt, missing = 0, named = 0;
	const struct trace_site *s = trace_sites(in->trace, &cnt);
	const bool is_first = !in->symbol_dirs;
	char dir[256] = "";
	int r;

	if (!in->symbols)
		return 0;
	r = is_first ? symbol_dirs_new(&in->symbol_dirs, in->symbols, dir) : 0;
	if (r == -ENOMEM)
		return input_status(r, NULL);
	if (r)
		return say_error("--symbols: %s: %s", say_text(dir), strerror(-r));
	for (size_t i = 0; i < cnt; i++) {
		const char *name;
		uint64_t offset;

		if (s[i].why == TRACE_SITE_NAMED || !s[i].build_id[0] || s[i].symbol[0] ||
		    !s[i].module_offset)
			continue;
		missing++;
		/* a return address follows the call: look up the byte before */
		name = symbol_dirs_find(in->symbol_dirs, s[i].build_id, s[i].module_offset - 1,
					s[i].symbol_offset ? s[i].symbol_offset - 1 : 0, &offset);
		if (name && trace_site_name(in->trace, i, name, offset + 1) < 0)
			return input_status(-ENOMEM, NULL);
		named += name != NULL;
	}
	if (is_first && missing)
		say_note("%s: --symbols names %s of %s addresses without a name", input_path(in),
			 say_count(named), say_count(missing));
	return 0;
}

int input_open_analysis(struct input *in)
{
	struct analysis_index_use use = { .use = !in->no_index, .save = !in->follow,
					  .always = in->follow, .follow = in->follow,
					  .follow_from_ns = in->follow_from_ns, .ctx = in };
	struct err e = { "" };
	int r = analysis_open(&in->analysis, in->trace, &e);

	if (r)
		return input_status(r, &e);
	if (in->raw_frames)
		analysis_use_raw_frames(in->analysis);
	use.progress = show_progress;
	analysis_use_index(in->analysis, &use);
	/* save the lists before the index, which copies them into its file */
	if (in->quick && !in->no_index)
		trace_lists_save(in->trace);
	return input_use_symbols(in);
}

int input_analysis(struct input *in)
{
	struct err e = { "" };
	int c = in->analysis ? 0 : input_open_analysis(in);

	return c ? c : input_status(analysis_prepare(in->analysis, &e), &e);
}

int input_open_cut(struct input *in, struct trace_cut_request *q)
{
	int c = in->analysis ? 0 : input_open_analysis(in);

	q->before = analysis_checkpoint;
	q->before_ctx = in->analysis;
	if (!c && q->upids) {
		/*
		 * requests without an owner may belong to any selected process, so their number
		 * does not depend on the selection
		 */
		const struct report_request io = { .view = "io", .from_ns = q->from_ns,
						   .to_ns = q->to_ns, .workload = true };
		const struct request_cnt left_out = analysis_unowned(in->analysis, &io);

		q->unowned_ios = left_out.ios;
		q->unowned_bytes = left_out.bytes;
	}
	return c;
}

static void sqlite_progress(void *ctx, uint64_t rows, uint64_t all_rows)
{
	struct input *in = ctx;

	progress_show(&in->progress, "sqlite", rows, all_rows, "rows");
}

int input_export_sqlite(struct input *in, struct export_request *x, bool progress,
			uint64_t *ret_rows)
{
	struct err e = { "" };
	int c;

	x->progress = progress ? sqlite_progress : NULL;
	x->ctx = in;
	atomic_output_catch_signals();
	c = analysis_export_sqlite(in->analysis, x, ret_rows, &e);
	progress_erase(&in->progress);
	return input_status(c, &e);
}

void input_note_damage(struct input *in)
{
	const char *path = input_path(in);
	size_t cnt;

	trace_damages(in->trace, &cnt);
	if (cnt > in->damage_noted)
		say_note("%s: %zu damaged part%s skipped; `ebpfrec check -i %s` lists %s", path,
			 cnt, cnt == 1 ? "" : "s", path, cnt == 1 ? "it" : "them");
	in->damage_noted = cnt;
}

const char *input_owner_hint(int code)
{
	return code == -EACCES || code == -EPERM
		       ? "; only its owner can read a trace, so try sudo or chown"
		       : "";
}

static int say_no_such(const char *path)
{
	return say_error("%s: no such trace; record one with `ebpfrec record -- COMMAND`, or name "
			 "it with -i",
			 path);
}

int input_open_dir(struct input *in, const char *of_bundle, int *ret_fd)
{
	const char *path = input_path(in);

	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd >= 0)
		return 0;
	if (errno == ENOENT)
		return say_no_such(path);
	if (errno != ENOTDIR)
		return say_error("%s: %s%s", path, strerror(errno), input_owner_hint(-errno));
	/* a file: input_open() prints an error unless it is a bundle */
	return input_open(in, false) ? EXIT_FAILED :
				       say_error("%s: a bundle: %s", path, of_bundle);
}

int input_open(struct input *in, bool notes)
{
	const char *path = input_path(in);
	struct err e = { "" };
	size_t damage_cnt, block_cnt;
	int r = (in->anyway ? trace_open_anyway :
		 in->quick && !in->no_index ? trace_open_quick : trace_open)(&in->trace, path, &e);

	if (r == -ENOENT && access(path, F_OK))
		return say_no_such(path);
	if (r) {
		/* most messages contain the path already */
		const char *text = err_text(&e, r);
		bool named = strstr(text, path);

		return say_error("%s%s%s%s", named ? "" : path, named ? "" : ": ", text,
				 input_owner_hint(r));
	}
	trace_damages(in->trace, &damage_cnt);
	trace_blocks(in->trace, &block_cnt);
	if (notes && !block_cnt)
		say_note("%s: there is no %s block in it, so there is nothing to report", path,
			 damage_cnt ? "intact" : "finished");
	if (notes)
		input_note_damage(in);
	return 0;
}

int input_refresh(struct input *in)
{
	struct err e = { "" };
	int c = trace_refresh(in->trace, &e);

	if (c == -ESTALE) { /* --keep removed the beginning of the trace */
		input_close(in);
		c = input_open(in, false);
	} else if (c) {
		c = say_error("%s", err_text(&e, c));
	}
	c = c ?: in->analysis ? input_use_symbols(in) : 0;
	if (!c && !trace_is_live(in->trace) && !trace_is_finished(in->trace))
		say_note("%s: its recorder is gone", input_path(in));
	return c;
}

uint64_t input_known_ns(const struct input *in)
{
	size_t cnt;
	const struct trace_block *b = trace_blocks(in->trace, &cnt);

	if (!trace_is_live(in->trace))
		return trace_end_ns(in->trace);
	return cnt ? b[cnt - 1].from_ns : 0;
}

uint64_t input_late_ns(const struct input *in, uint64_t known_ns)
{
	uint64_t from_ns = known_ns;
	size_t cnt;
	const struct trace_block *b = trace_blocks(in->trace, &cnt);

	while (cnt-- && b[cnt].from_ns > known_ns)
		if (b[cnt].first_ns < from_ns)
			from_ns = b[cnt].first_ns;
	return known_ns - from_ns;
}

void input_close(void *input)
{
	struct input *in = input;

	analysis_close(in->analysis);
	trace_close(in->trace);
	symbol_dirs_free(in->symbol_dirs);
	if (in->fetched)
		in->symbols = NULL;
	free(in->fetched);
	in->symbol_dirs = NULL;
	in->fetched = NULL;
	in->analysis = NULL;
	in->trace = NULL;
}

const char *input_clock_step(const struct trace *t, const struct trace_clock_step *step)
{
	int64_t start = (int64_t)trace_start_ns(t);
	int64_t shift_ns = step->set_ns + (int64_t)step->suspended_ns;

	return say_format("%s between %s and %s s: times of day in between may be wrong by %s",
			  !step->suspended_ns ? "the wall clock was set" :
			  !step->set_ns	      ? "the machine was suspended" :
						"the machine was suspended and the wall clock set",
			  say_instant((int64_t)step->from_ns - start),
			  say_instant((int64_t)step->to_ns - start),
			  say_duration((uint64_t)llabs(shift_ns)));
}

/* Converts a wall-clock time; prints a note if the wall clock was set at that instant. */
static uint64_t mono_from_real(void *ctx, uint64_t real_ns)
{
	uint64_t mono_ns = trace_mono_from_real_ns(ctx, real_ns);
	struct trace_clock_step step;

	/* a time that the clock skipped was mapped to the instant of the step */
	if (trace_clock_step_find(ctx, mono_ns - !!mono_ns, mono_ns + 1, &step))
		say_note("%s: %s", trace_path(ctx), input_clock_step(ctx, &step));
	return mono_ns;
}

static int find_mark(void *ctx, const char *name, uint64_t nr, uint64_t *ret_mono_ns)
{
	const struct trace_mark *m = trace_mark_find(ctx, name, nr);

	if (!m)
		return -ENOENT;
	*ret_mono_ns = m->ts_ns;
	return 0;
}

void input_mark_name(char buf[INPUT_MARK_NAME_MAX], const struct trace_mark *m)
{
	if (m->nr > 1)
		snprintf(buf, INPUT_MARK_NAME_MAX, "%s#%u", m->text, m->nr);
	else
		snprintf(buf, INPUT_MARK_NAME_MAX, "%s", m->text);
}

int input_resolve(const struct input *in, const struct timeexpr_base *base, uint64_t *from_ns,
		  uint64_t *to_ns)
{
	const char *name = "from";
	struct err e = { "" };
	int r = in->from ? timeexpr_resolve(in->from, base, from_ns, &e) : 0;

	if (!r && in->to) {
		name = "until";
		r = timeexpr_resolve(in->to, base, to_ns, &e);
	}
	return r ? opts_usage_error("--%s: %s", name, err_text(&e, r)) : 0;
}

static const char *from_start(const struct trace *t, uint64_t ns)
{
	return say_instant((int64_t)(ns - trace_start_ns(t)));
}

int input_window(const struct input *in, uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	struct trace *t = in->trace;
	uint64_t from = trace_start_ns(t), to = trace_end_ns(t);
	const struct timeexpr_base base = {
		.start_ns = from,
		.end_ns = to,
		.start_real_ns = trace_real_ns(t, from),
		.mono_from_real = mono_from_real,
		.mark = find_mark,
		.ctx = t,
	};
	int r = input_resolve(in, &base, &from, &to);

	if (!r && in->during)
		r = who_during(in, &from, &to);
	if (!r && !(in->from && in->to) && (in->from || in->to) && from >= to)
		return opts_usage_error("--%s %s is at %s s, and the trace has 0 .. %s s only",
					in->from ? "from" : "until", in->from ? in->from : in->to,
					from_start(t, in->from ? from : to),
					from_start(t, trace_end_ns(t)));
	if (!r && (in->from || in->to) && from >= to)
		return opts_usage_error(
			"the window is empty: it starts at %s s and ends at %s s (the trace has "
			"0 .. %s s); --from must be before --until",
			from_start(t, from), from_start(t, to), from_start(t, trace_end_ns(t)));
	*ret_from_ns = from;
	*ret_to_ns = to;
	return r;
}

/* Collects the missing parts of a window in buf, one sentence each, until buf is full. */
struct missing {
	char *buf;
	size_t size;
	const struct trace *t;
};

static void __attribute__((format(printf, 2, 3))) add(struct missing *m, const char *fmt, ...)
{
	size_t n = strlen(m->buf);
	va_list ap;

	n += (size_t)snprintf(m->buf + n, m->size - n, "%s", n ? "; " : "");
	if (n >= m->size)
		return;
	va_start(ap, fmt);
	vsnprintf(m->buf + n, m->size - n, fmt, ap);
	va_end(ap);
}

static void add_missing(void *ctx, const struct loss_missing *w)
{
	struct missing *m = ctx;

	switch (w->why) {
	case LOSS_EVENTS:
		add(m, w->cnt < w->most ? "%s: %s events lost, at most %s" : "%s: %s events lost",
		    w->what, say_count(w->cnt), say_count(w->most));
		break;
	case LOSS_EARLIER:
		add(m, "%s: %s events lost before the window", w->what, say_count(w->cnt));
		break;
	case LOSS_NOT_RECORDED:
		add(m, "%s was not recorded", w->what);
		break;
	case LOSS_HEAPS:
		if (!w->what) {
			add(m, "the heap of %s program%s was not recorded", say_count(w->cnt),
			    w->cnt == 1 ? "" : "s");
			break;
		}
		add(m, w->cnt > 1 ? "the heap of process %s and %llu more was not recorded" :
				    "the heap of process %s was not recorded",
		    w->what, (unsigned long long)w->cnt - 1);
		break;
	case LOSS_OFF:
		add(m, "%s was off for %s (%s)", w->what, say_duration(w->cnt), w->reason);
		break;
	case LOSS_OUTSIDE:
		add(m, trace_end_ns(m->t) ?
			       "the window lies outside of the trace, which ends at %s s" :
			       "the window lies outside of the trace",
		    from_start(m->t, trace_end_ns(m->t)));
		break;
	case LOSS_TOO_EARLY:
		add(m, "the window begins before the trace");
		break;
	case LOSS_TOO_LATE:
		add(m, "the window ends after the trace, which ends at %s s",
		    from_start(m->t, trace_end_ns(m->t)));
		break;
	case LOSS_HOLE:
		add(m, "%s .. %s s is missing, its part of the trace is damaged",
		    from_start(m->t, w->from_ns), from_start(m->t, w->to_ns));
		break;
	case LOSS_HOLES:
		add(m, "and %llu more holes like it", (unsigned long long)w->cnt);
		break;
	case LOSS_HOLE_EARLIER:
		add(m, "a part of the trace before the cut is missing");
		break;
	case LOSS_MANIFEST:
		add(m, "the manifest of the recording %s: what it said is not known", w->reason);
	}
}

bool input_is_complete(const struct trace *t, struct loss_needs needs, uint64_t from_ns,
		       uint64_t to_ns, char *buf, size_t size)
{
	struct missing m = { buf, size, t };
	struct loss_index x;

	buf[0] = '\0';
	if (loss_index_init(&x, t) < 0)
		add(&m, "out of memory");
	else if (!loss_index_is_complete(&x, needs, from_ns, to_ns, add_missing, &m) && !buf[0])
		add(&m, "out of memory");
	loss_index_done(&x);
	return !buf[0];
}

void input_add_unowned(const struct input *in, const struct report_request *q, char *buf,
		       size_t size)
{
	struct missing m = { buf, size, in->trace };
	struct request_cnt u = analysis_unowned(in->analysis, q);

	if (u.ios)
		add(&m, "%s (%s) of unknown owners may belong to %s",
		    say_counted(u.ios, "block request"), say_bytes(u.bytes),
		    q->workload ? "the workload" : "the chosen processes");
}

struct render *input_render(const struct input *in, uint64_t table_limit, bool human,
			    const struct render_options *more)
{
	struct render_options o = more ? *more : (struct render_options){ 0 };
	struct render *r;

	o.format = in->format;
	o.out = stdout;
	o.limit = in->format == RENDER_TABLE || in->of_bins ? table_limit : 0;
	o.per_first |= in->of_bins;
	o.human = human;
	o.folded_count = in->folded_count;
	o.wide = in->wide;
	o.drops = in->drops;
	o.markdown = in->markdown;
	o.width = in->wide || in->markdown ? 0 : input_terminal_width();
	if (!render_new(&r, &o))
		return r;
	say_error("out of memory");
	return NULL;
}

int input_render_end(struct render *r, int code, const struct err *e)
{
	code = code ?: render_end(r);
	render_free(r);
	return input_status(code, e);
}

int input_status(int code, const struct err *e)
{
	/* EPIPE: the reader of stdout is gone, so print no message */
	if (code >= 0 || code == -EPIPE)
		return code >= 0 ? code : EXIT_FAILED;
	return ferror(stdout) ? say_error("cannot write to stdout: %s", strerror(-code)) :
				say_error("%s", err_text(e, code));
}

int input_report_status(int code, const struct err *e)
{
	return code == -EINVAL && !strncmp(e->text, "--", 2) ? opts_usage_error("%s", e->text) :
								input_status(code, e);
}

/*
 * input_fetch: --fetch runs debuginfod-find for the build ids of `report symbols`, and adds the
 * directories of the found files to the directories of --symbols. Build ids come from the trace,
 * which is not trusted: only hexadecimal digits are passed on, and no shell is used.
 */

#define FILES_MAX 256

struct fetch {
	char ids[FILES_MAX][130];
	unsigned int cnt;
	int column;
};

static int begin_rows(void *ctx, unsigned int cnt, const char *const *names)
{
	struct fetch *f = ctx;

	for (unsigned int i = 0; i < cnt; i++)
		if (!strcmp(names[i], "build_id"))
			f->column = (int)i;
	return 0;
}

static int take_row(void *ctx, const struct value *values)
{
	struct fetch *f = ctx;
	const struct value *v = &values[f->column];

	if (v->type != VALUE_TEXT || !v->text_bytes || v->text_bytes >= sizeof(f->ids[0]) ||
	    v->text[strspn(v->text, "0123456789abcdef")])
		return 0;
	for (unsigned int i = 0; i < f->cnt; i++)
		if (!strcmp(f->ids[i], v->text))
			return 0;
	if (f->cnt < FILES_MAX)
		snprintf(f->ids[f->cnt++], sizeof(f->ids[0]), "%s", v->text);
	return 0;
}

/* Runs debuginfod-find, and sets path to the path that it prints. Returns 0, -ENOENT, or -errno. */
static int find(const char *what, const char *id, char path[PATH_MAX])
{
	const char *const argv[] = { "debuginfod-find", what, id, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], status, r;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = -posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	while (!r && (got = read(ends[0], path + n, PATH_MAX - 1 - n)) > 0)
		n += (size_t)got;
	close(ends[0]);
	if (r)
		return r == -ENOENT ? -ENOPKG : r;
	path[n] = '\0';
	path[strcspn(path, "\n")] = '\0';
	if (waitpid(pid, &status, 0) != pid)
		return -ENOENT;
	/* status 127: the program is missing, and posix_spawn() could not report it */
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return -ENOPKG;
	if (status || !strchr(path, '/'))
		return -ENOENT;
	return 0;
}

/* Appends the directory of a file to a list. */
static void add_dir(struct buf *dirs, const char *path)
{
	if (dirs->len)
		buf_add(dirs, ",", 1);
	buf_add(dirs, path, (size_t)(strrchr(path, '/') - path));
}

int input_fetch(struct input *in, uint64_t from_ns, uint64_t to_ns)
{
	const struct report_request q = { .view = "symbols", .from_ns = from_ns, .to_ns = to_ns };
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct fetch *f = calloc(1, sizeof(*f));
	const struct row_sink rows = { .ctx = f, .begin = begin_rows, .row = take_row };
	struct buf dirs = { 0 };
	struct err e = { "" };
	char path[PATH_MAX];
	unsigned int found = 0;
	int r;

	if (!urls || !*urls) {
		free(f);
		return say_error("--fetch: DEBUGINFOD_URLS names no server");
	}
	r = f ? analysis_report(in->analysis, &q, &rows, &e) : -ENOMEM;
	if (in->symbols)
		buf_add(&dirs, in->symbols, strlen(in->symbols));
	for (unsigned int i = 0; !r && i < f->cnt; i++) {
		r = find("debuginfo", f->ids[i], path);
		if (r == -ENOENT)
			r = find("executable", f->ids[i], path);
		if (!r && !strchr(path, ',')) {
			add_dir(&dirs, path);
			found++;
		}
		r = r == -ENOENT ? 0 : r;
	}
	buf_add(&dirs, "", 1);
	if (!r && !dirs.failed && f->cnt)
		say_note("--fetch: debuginfod-find found %u of %s", found,
			 say_counted(f->cnt, "file"));
	free(f);
	if (r == -ENOPKG)
		r = err_set(&e, r, "--fetch: debuginfod-find is not installed");
	if (r || dirs.failed || !found) {
		buf_done(&dirs);
		return input_status(r ?: dirs.failed ? -ENOMEM : 0, &e);
	}
	free(in->fetched);
	in->symbols = in->fetched = (char *)dirs.data;
	symbol_dirs_free(in->symbol_dirs);
	in->symbol_dirs = NULL;
	return input_use_symbols(in);
}

/* input_lines: --lines of commands that show code of programs. */

#define NAMED_MAX 5 /* number of files without lines that are listed per reason */

int input_take_lines(void *lines, const char *value, struct err *e)
{
	if (!source_lines_is_offered())
		return err_set(e, -ENOTSUP, "this program was built without libdw, which reads "
					    "debugging information; install libdw-dev, and build "
					    "it again");
	*(const char **)lines = value ? value : "";
	return 0;
}

int input_use_lines(struct input *in)
{
	return in->lines ? input_status(analysis_use_lines(in->analysis, in->lines,
							   in->symbol_dirs), NULL) : 0;
}

static void note_more(unsigned int cnt, const char *why)
{
	if (cnt > NAMED_MAX)
		say_note("no lines of %u more file%s: %s", cnt - NAMED_MAX,
			 cnt - NAMED_MAX == 1 ? "" : "s", why);
}

void input_note_lines(const struct input *in)
{
	const char *path, *why, *before = NULL;
	unsigned int cnt = 0;

	for (unsigned int nr = 0; analysis_lines_missing(in->analysis, nr, &path, &why); nr++) {
		if (before && strcmp(why, before)) {
			note_more(cnt, before);
			cnt = 0;
		}
		if (++cnt <= NAMED_MAX)
			say_note("no lines of %s%s: %s", in->lines, say_text(path), why);
		before = why;
	}
	note_more(cnt, before);
}
