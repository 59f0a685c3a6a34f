/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * input: opens the trace of -i for report, sql, export, info and check, and turns their --from and
 * --to into a window.
 */
#include "cmd/input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/render/say.h"
#include "cmd/input/timeexpr.h"

static const char *const class_names[] = { "task", "sched", "alloc", "block" };

#define CLASS_CNT (sizeof(class_names) / sizeof(class_names[0]))

int input_take(struct input *in, const struct opts_command *command, int id, const char *value)
{
	switch (id) {
	case INPUT_OPT_TRACE:
		if (in->path)
			return opts_usage_error(
				command, "-i: one trace at a time, and there are '%s' and '%s'",
				in->path, value);
		in->path = value;
		return 0;
	case INPUT_OPT_FROM:
		in->from = value;
		return 0;
	case INPUT_OPT_TO:
		in->to = value;
		return 0;
	case INPUT_OPT_DURING:
		in->during = value;
		return 0;
	case INPUT_OPT_FORMAT:
		if (render_parse_format(value, &in->format))
			return opts_usage_error(
				command, "unknown format '%s'; there are table, csv and json",
				value);
		return 0;
	case INPUT_OPT_NO_INDEX:
		in->no_index = true;
		in->quick = false;
		return 0;
	default:
		return -1;
	}
}

const char *input_path(const struct input *in)
{
	return in->path ? in->path : INPUT_TRACE_DEFAULT;
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

/* An edge of a window lies in the block, or in one beside it, whose late records it may need. */
static bool is_at_edge(const struct trace_block *b, size_t cnt, size_t i, uint64_t at_ns)
{
	uint64_t from_ns = i ? b[i - 1].from_ns : b[i].from_ns;
	uint64_t to_ns = i + 1 < cnt ? b[i + 1].to_ns : b[i].to_ns;

	return at_ns >= from_ns && at_ns <= to_ns;
}

void input_verify(struct trace *t, struct analysis *a, uint64_t from_ns, uint64_t to_ns)
{
	size_t cnt, i;
	const struct trace_block *b = trace_blocks(t, &cnt);

	for (i = 0; i < cnt; i++) {
		if (b[i].first_ns >= to_ns || b[i].to_ns <= from_ns)
			continue;
		if (a && analysis_knows_block(a, i) && !is_at_edge(b, cnt, i, from_ns) &&
		    !is_at_edge(b, cnt, i, to_ns))
			continue;
		(void)trace_block_verify(t, i, NULL); /* listed in trace_damages() */
	}
}

static void show_progress(void *ctx, uint64_t done, uint64_t all)
{
	struct input *in = ctx;

	progress_show(&in->progress, "indexing, once", done, all, "events");
}

int input_analysis(struct input *in, struct trace *t, struct analysis **ret)
{
	struct analysis_index_use use = { .use = !in->no_index, .save = true, .ctx = in };
	struct err e = { "" };
	int r = analysis_open(ret, t, &e);

	if (r)
		return input_failed(r, &e);
	if (isatty(STDERR_FILENO))
		use.progress = show_progress;
	analysis_use_index(*ret, &use);
	/* before the index, which takes the lists over into its file */
	if (in->quick)
		trace_lists_save(t);
	r = analysis_prepare(*ret, &e);
	progress_erase(&in->progress);
	if (!r)
		return 0;
	analysis_close(*ret);
	*ret = NULL;
	return input_failed(r, &e);
}

void input_note_damage(struct input *in, const struct trace *t)
{
	const char *path = input_path(in);
	size_t cnt;

	trace_damages(t, &cnt);
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
	say_error("%s: no such trace; record one with `ebpfrec record -- COMMAND`, or name it with "
		  "-i",
		  path);
	return EXIT_FAILED;
}

int input_open_dir(struct input *in, const char *of_bundle, int *ret_fd)
{
	const char *path = input_path(in);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = fd < 0 ? errno : 0;
	struct trace *t;

	*ret_fd = fd;
	switch (r) {
	case 0:
		return 0;
	case ENOENT:
		return say_no_such(path);
	case ENOTDIR:
		/* what it is, if it is no bundle, is known where traces are opened */
		if (input_open(in, false, &t))
			return EXIT_FAILED;
		trace_close(t);
		say_error("%s: a bundle: %s", path, of_bundle);
		return EXIT_FAILED;
	default:
		say_error("%s: %s%s", path, strerror(r), input_owner_hint(-r));
		return EXIT_FAILED;
	}
}

int input_open(struct input *in, bool notes, struct trace **ret)
{
	const char *path = input_path(in);
	struct err e = { "" };
	struct trace *t;
	size_t damage_cnt, block_cnt;
	int r = (in->anyway ? trace_open_anyway :
		 in->quick ? trace_open_quick : trace_open)(&t, path, &e);

	if (r == -ENOENT && access(path, F_OK))
		return say_no_such(path);
	if (r) {
		/* The library mostly names the path, or a file inside; do not name it twice. */
		const char *text = err_text(&e, r);
		bool named = strstr(text, path);

		say_error("%s%s%s%s", named ? "" : path, named ? "" : ": ", text,
			  input_owner_hint(r));
		return EXIT_FAILED;
	}
	trace_damages(t, &damage_cnt);
	trace_blocks(t, &block_cnt);
	if (notes && !block_cnt)
		say_note("%s: there is no %s block in it, so there is nothing to tell", path,
			 damage_cnt ? "intact" : "finished");
	if (notes)
		input_note_damage(in, t);
	*ret = t;
	return 0;
}

static uint64_t mono_from_real(void *ctx, uint64_t real_ns)
{
	return trace_mono_from_real_ns(ctx, real_ns);
}

static int find_mark(void *ctx, const char *name, uint64_t nr, uint64_t *ret_mono_ns)
{
	const struct trace_mark *m = trace_mark_find(ctx, name, nr);

	if (!m)
		return -ENOENT;
	*ret_mono_ns = m->ts_ns;
	return 0;
}

static int resolve(const char *name, const char *value, const struct opts_command *command,
		   const struct timeexpr_base *base, uint64_t *ret)
{
	struct err e = { "" };
	int r;

	if (!value)
		return 0;
	r = timeexpr_resolve(value, base, ret, &e);
	return r ? opts_usage_error(command, "--%s: %s", name, err_text(&e, r)) : 0;
}

static const char *from_start(char *buf, const struct trace *t, uint64_t ns)
{
	return units_format_instant(buf, UNITS_TEXT_MAX, (int64_t)(ns - trace_start_ns(t)));
}

#define DURING_SHOWN 5

/* The life of the one process that is meant, as far as it lies in the trace. */
static int during_window(const struct input *in, const struct opts_command *command,
			 const struct trace *t, uint64_t *from_ns, uint64_t *to_ns)
{
	char list[400] = "", a[UNITS_TEXT_MAX];
	const struct trace_process *p, *found = NULL;
	size_t cnt, i, hits = 0;
	uint64_t pid = 0;
	bool by_pid = !units_parse_count(in->during, &pid, NULL);

	p = trace_processes(t, &cnt);
	for (i = 0; i < cnt; i++) {
		if (by_pid ? p[i].pid != pid : strcmp(p[i].comm, in->during))
			continue;
		found = &p[i];
		if (hits++ < DURING_SHOWN)
			snprintf(list + strlen(list), sizeof(list) - strlen(list),
				 "%s%u (from %s s)", hits > 1 ? ", " : "", p[i].pid,
				 from_start(a, t,
					    p[i].start_ns > *from_ns ? p[i].start_ns : *from_ns));
	}
	if (!hits)
		return opts_usage_error(command, "--during: there is no process '%s' in the trace",
					in->during);
	if (hits > 1)
		return opts_usage_error(command,
					"--during: %zu processes are '%s': %s%s; give a pid, or "
					"--from and --to",
					hits, in->during, list, hits > DURING_SHOWN ? ", ..." : "");
	if (found->start_ns > *from_ns)
		*from_ns = found->start_ns;
	if (found->end_ns && found->end_ns < *to_ns)
		*to_ns = found->end_ns;
	return 0;
}

int input_window(const struct input *in, const struct opts_command *command, const struct trace *t,
		 uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
	uint64_t from = trace_start_ns(t), to = trace_end_ns(t);
	const struct timeexpr_base base = {
		.start_ns = from,
		.end_ns = to,
		.start_real_ns = trace_real_ns(t, from),
		.mono_from_real = mono_from_real,
		.mark = find_mark,
		.ctx = (void *)t, /* only read there */
	};
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX], c[UNITS_TEXT_MAX];
	int r;

	if (in->during && (in->from || in->to))
		return opts_usage_error(command,
					"--during is a window of its own: leave out --from "
					"and --to");
	if (in->during) {
		r = during_window(in, command, t, &from, &to);
		*ret_from_ns = from;
		*ret_to_ns = to;
		return r;
	}
	r = resolve("from", in->from, command, &base, &from);
	if (!r)
		r = resolve("to", in->to, command, &base, &to);
	if (r)
		return r;
	if ((in->from || in->to) && from >= to)
		return opts_usage_error(
			command,
			"the window is empty: it starts at %s s and ends at %s s (the trace has "
			"0 .. %s s); --from must be before --to",
			from_start(a, t, from), from_start(b, t, to),
			from_start(c, t, trace_end_ns(t)));
	*ret_from_ns = from;
	*ret_to_ns = to;
	return 0;
}

/* Adds to buf as much of the text as fits. */
static void add(char *buf, size_t size, const char *text)
{
	size_t n = strlen(buf);

	if (n + 1 < size)
		snprintf(buf + n, size - n, "%s%s", n ? "; " : "", text);
}

/*
 * Blocks follow each other in time without a hole; where there is one, damage was skipped. Names
 * the first hole that touches the window.
 */
static void add_holes(const struct trace *t, uint64_t from_ns, uint64_t to_ns, char *buf,
		      size_t size)
{
	char line[128], a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];
	struct trace_hole h = { 0 };
	size_t hole_cnt = 0;

	while (trace_hole_next(t, &h)) {
		if (h.from_ns >= to_ns || h.to_ns <= from_ns || hole_cnt++)
			continue;
		snprintf(line, sizeof(line),
			 "%s .. %s s is missing, its part of the trace is damaged",
			 from_start(a, t, h.from_ns), from_start(b, t, h.to_ns));
	}
	if (hole_cnt)
		add(buf, size, line);
	if (hole_cnt > 1) {
		snprintf(line, sizeof(line), "and %zu more holes like it", hole_cnt - 1);
		add(buf, size, line);
	}
}

static unsigned int class_bit(const char *source)
{
	for (unsigned int i = 0; i < CLASS_CNT; i++) {
		size_t n = strlen(class_names[i]);

		if (!strncmp(source, class_names[i], n) && (!source[n] || source[n] == '.'))
			return 1u << i;
	}
	return 0;
}

/*
 * Time within the window in which the source of gap first was off, if it is the first of its
 * source; else 0.
 */
static uint64_t off_ns(const struct trace_gap *gaps, size_t cnt, size_t first, uint64_t from_ns,
		       uint64_t to_ns)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < cnt; i++) {
		const struct trace_gap *g = &gaps[i];
		uint64_t from = g->from_ns > from_ns ? g->from_ns : from_ns;
		uint64_t to = g->to_ns < to_ns ? g->to_ns : to_ns;

		if (strcmp(g->source, gaps[first].source))
			continue;
		if (i < first)
			return 0;
		sum += from < to ? to - from : 0;
	}
	return sum;
}

static void add_gaps(const struct trace *t, unsigned int class_mask, uint64_t from_ns,
		     uint64_t to_ns, char *buf, size_t size)
{
	size_t cnt;
	const struct trace_gap *gaps = trace_gaps(t, &cnt);
	char line[128], n[UNITS_TEXT_MAX];

	if (class_mask & INPUT_LEVELS)
		from_ns = 0;
	for (size_t i = 0; i < cnt; i++) {
		uint64_t ns;

		if (!(class_bit(gaps[i].source) & class_mask) ||
		    (class_mask & INPUT_NO_WAKEUPS && !strcmp(gaps[i].source, "sched.wakeup")) ||
		    (class_mask & INPUT_NO_IRQS && !strcmp(gaps[i].source, "sched.irq")))
			continue;
		ns = off_ns(gaps, cnt, i, from_ns, to_ns);
		if (!ns)
			continue;
		snprintf(line, sizeof(line), "%s was off for %s (%s)", gaps[i].source,
			 units_format_duration(n, sizeof(n), ns), gaps[i].reason);
		add(buf, size, line);
	}
}

/* What was never asked for, and is needed all the same. */
static void add_not_recorded(const struct trace *t, const char *needs, char *buf, size_t size)
{
	char source[32], line[64];
	size_t n;

	for (; needs && *needs; needs += n + (needs[n] == ',')) {
		n = strcspn(needs, ",");
		snprintf(source, sizeof(source), "%.*s", (int)n, needs);
		if (trace_was_recorded(t, source))
			continue;
		snprintf(line, sizeof(line), "%s was not recorded", source);
		add(buf, size, line);
	}
}

bool input_is_complete(const struct trace *t, struct input_needs needs, uint64_t from_ns,
		       uint64_t to_ns, char *buf, size_t size)
{
	uint64_t lost[CLASS_CNT] = { 0 };
	size_t loss_cnt;
	const struct trace_loss *losses = trace_losses(t, &loss_cnt);
	char line[128], n[UNITS_TEXT_MAX];

	buf[0] = '\0';
	for (size_t i = 0; i < loss_cnt; i++) {
		const struct trace_loss *l = &losses[i];

		if (l->from_ns < to_ns && l->to_ns > from_ns && l->cls < CLASS_CNT)
			lost[l->cls] += l->full_cnt + l->other_cnt + l->missed_cnt;
	}
	for (unsigned int i = 0; i < CLASS_CNT; i++) {
		if (!lost[i] || !(needs.classes & 1u << i))
			continue;
		snprintf(line, sizeof(line), "%s: %s events lost", class_names[i],
			 units_format_count(n, sizeof(n), lost[i]));
		add(buf, size, line);
	}
	add_not_recorded(t, needs.sources, buf, size);
	add_gaps(t, needs.classes, from_ns, to_ns, buf, size);
	if (to_ns <= trace_start_ns(t) || from_ns >= trace_end_ns(t)) {
		add(buf, size, "the window lies outside of the trace");
	} else {
		if (from_ns < trace_start_ns(t))
			add(buf, size, "the window begins before the trace");
		if (to_ns > trace_end_ns(t))
			add(buf, size, "the window ends after the trace");
	}
	add_holes(t, needs.classes & INPUT_BEFORE ? 0 : from_ns,
		  needs.classes & INPUT_AFTER ? UINT64_MAX : to_ns, buf, size);
	return !buf[0];
}

/* Cells of the terminal on stdout; 0: not a terminal, so nothing is cut. */
static unsigned int terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize w;
	uint64_t v;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (columns && !units_parse_count(columns, &v, NULL) && v && v < 10000)
		return (unsigned int)v;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col)
		return w.ws_col;
	return 80;
}

unsigned int input_wrap_width(void)
{
	return terminal_width();
}

unsigned int input_terminal_width(void)
{
	unsigned int width = terminal_width();

	return width ? width : 80;
}

/* By the environment, as the C library would choose: the program itself runs in the C locale. */
bool input_speaks_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *v;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		v = getenv(names[i]);
		if (v && *v)
			return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
	}
	return false;
}

struct render *input_render(const struct input *in, uint64_t table_limit, bool human)
{
	const struct render_options o = {
		.format = in->format,
		.out = stdout,
		.limit = in->format == RENDER_TABLE ? table_limit : 0,
		.human = human,
		.folded_count = in->folded_count,
		.width = terminal_width(),
	};
	struct render *r;

	if (render_new(&r, &o)) {
		say_error("out of memory");
		return NULL;
	}
	return r;
}

int input_failed(int code, const struct err *e)
{
	/* EPIPE: the reader of our output has gone, so no message is needed. */
	if (code != -EPIPE && ferror(stdout))
		say_error("cannot write to stdout: %s", strerror(-code));
	else if (code != -EPIPE)
		say_error("%s", err_text(e, code));
	return EXIT_FAILED;
}
