/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_report: `ebpfrec report`: one canned view over one window. The heading above a table names
 * the trace, the window and whether it is complete; with csv and json stdout holds the rows alone,
 * and what is missing is said on stderr.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/hosts.h"
#include "cmd/input.h"
#include "cmd/leftover.h"
#include "cmd/lists.h"
#include "cmd/nearest.h"
#include "cmd/phases.h"
#include "cmd/progress.h"
#include "cmd/say.h"
#include "cmd/sparkline.h"
#include "cmd/timeexpr.h"

#define TABLE_ROWS_DEFAULT 20
#define FOLLOW_NS	   (2 * UNITS_NS_PER_S)
#define VIEWS_MAX	   32

enum {
	OPT_EVERY = 256,
	OPT_BY,
	OPT_PID,
	OPT_COMM,
	OPT_SORT,
	OPT_LIMIT,
	OPT_DB,
	OPT_LIST,
	OPT_HISTOGRAM,
	OPT_WITH_RECORDER,
	OPT_WITH_IDLE,
	OPT_SPARKLINES,
	OPT_SPIKE_WINDOW,
	OPT_SPIKE_MIN,
	OPT_PHASES,
	OPT_FOLLOW
};

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE,
	INPUT_OPTIONS_WINDOW,
	{ OPT_EVERY, 0, "every", "DUR", "one answer per DUR of the window: 100ms, 1s" },
	{ OPT_PHASES, 0, "phases", NULL,
	  "one answer per interval between marks; without VIEW a row each" },
	{ OPT_FOLLOW, 0, "follow", "[=DUR]",
	  "while it is recorded: a new answer every DUR (2s) until it ends" },
	{ OPT_BY, 0, "by", "KEY", "one row per process, thread, comm, cgroup, cpu, device or vector" },
	{ OPT_PID, 0, "pid", "PID,...", "these processes only" },
	{ OPT_COMM, 0, "comm", "NAME", "processes of this name only; may be a pattern: 'cc*'" },
	{ OPT_SORT, 0, "sort", "COLUMN", "largest first by this column; -COLUMN smallest first" },
	{ OPT_LIMIT, 0, "limit", "N",
	  "rows at most, 0 for all (default: 20 for tables, else all)" },
	INPUT_OPTION_FORMAT,
	INPUT_OPTION_NO_INDEX,
	{ OPT_WITH_RECORDER, 0, "with-recorder", NULL, "also show what ebpfrec itself did" },
	{ OPT_WITH_IDLE, 0, "with-idle", NULL,
	  "also show idle time, so that each CPU adds up to the window" },
	{ OPT_SPARKLINES, 0, "sparklines", NULL,
	  "with --every, draw a line per row's group, as on a terminal" },
	{ OPT_SPIKE_WINDOW, 0, "spike-window", "DUR",
	  "spikes: length of the sliding window (100ms)" },
	{ OPT_SPIKE_MIN, 0, "spike-min", "SIZE",
	  "spikes: bytes in that window that make one (default: ten times\nthe process's median "
	  "rate, at least "
	  "16MiB)" },
	{ OPT_DB, 0, "db", "FILE", "also write the window as a SQLite file" },
	{ 'f', 'f', "force", NULL, "replace FILE of --db when it exists" },
	{ OPT_HISTOGRAM, 0, "histogram", NULL,
	  "latency: how many requests took how long, in powers of two" },
	{ OPT_LIST, 0, "list", NULL, "list the views and the questions they answer" },
	{ 0 },
};

const struct opts_command report_opts = {
	.name = "report",
	.about = "Answer a question about a window of a trace.",
	.synopsis = "[-i TRACE] [VIEW] [OPTIONS]",
	.text = "VIEW is one of those 'ebpfrec report --list' shows; the default is summary.\n"
		"Tables are for reading; csv and json hold raw numbers, with the unit in the "
		"column's\n"
		"name, and all rows; folded, of the views stacks and leaks, is what flame graph tools read. Several traces (-i again, or names after the options) are put on\n"
		"one axis of time by wall clock; rows then begin with the host.\n",
	.options = options,
	.examples = "  ebpfrec report\n"
		    "  ebpfrec report cpu --from 1.5s --to 3s\n"
		    "  ebpfrec report cpu --every 100ms --format csv > cpu.csv\n"
		    "  ebpfrec report alloc --by process --from 2s --to 2.1s\n"
		    "  ebpfrec report io --every 1s --by device --format csv\n"
		    "  ebpfrec report cpu --from -10s --follow\n"
		    "  ebpfrec report --phases --during make\n"
		    "  ebpfrec report cpu --every 1s --format csv -i *.ebpfrec\n",
};

static const char *const by_names[] = {
	[REPORT_BY_PROCESS] = "process", [REPORT_BY_THREAD] = "thread",
	[REPORT_BY_COMM] = "comm",	 [REPORT_BY_CGROUP] = "cgroup",
	[REPORT_BY_CPU] = "cpu",	 [REPORT_BY_DEVICE] = "device",
	[REPORT_BY_VECTOR] = "vector",
};

#define BY_CNT (sizeof(by_names) / sizeof(by_names[0]))

struct report {
	struct input in;
	struct report_request q;
	const struct report_view *view;
	uint32_t *pids;
	const char **paths;	/* of the traces, as -i and operands gave them */
	unsigned int path_cnt;
	const char *db;
	bool has_limit, force, list, sparklines, phases;
	uint64_t follow_ns;	/* 0: once */
	/* while it runs */
	struct trace *trace;
	const struct row_sink *next;	/* the renderer */
	struct sparkline *drawing;	/* NULL: none is made */
	char missing[400];	/* what the window lacks; empty: nothing */
	bool said;
};

/* ---- options ---- */

static int take_by(struct report *r, const char *value)
{
	int near;

	for (unsigned int i = 0; i < BY_CNT; i++) {
		if (!strcmp(value, by_names[i])) {
			r->q.by = (enum report_by)i;
			r->q.by_set = true;
			return 0;
		}
	}
	near = nearest_find(value, by_names, BY_CNT);
	return opts_usage_error(
		&report_opts,
		"--by: unknown key '%s'%s%s%s; there are process, thread, comm, cgroup, cpu, "
		"device and vector",
		value, near >= 0 ? "; did you mean '" : "", near >= 0 ? by_names[near] : "",
		near >= 0 ? "'?" : "");
}

static int take_number(struct report *r, int id, const char *value)
{
	struct err e = { "" };
	const char *name;
	int c;

	switch (id) {
	case OPT_EVERY:
		name = "every";
		c = units_parse_duration(value, &r->q.every_ns, &e);
		if (!c && !r->q.every_ns)
			c = err_set(&e, -EINVAL, "the step must be longer than 0");
		break;
	case OPT_PID:
		name = "pid";
		c = lists_add_pids(value, &r->pids, &r->q.pid_cnt, &e);
		r->q.pids = r->pids;
		break;
	case OPT_LIMIT:
		name = "limit";
		c = units_parse_count(value, &r->q.limit, &e);
		r->has_limit = true;
		break;
	case OPT_SPIKE_WINDOW:
		name = "spike-window";
		c = units_parse_duration(value, &r->q.spike_window_ns, &e);
		break;
	default: /* OPT_SPIKE_MIN */
		name = "spike-min";
		c = units_parse_size(value, &r->q.spike_min_bytes, &e);
		break;
	}
	return c ? opts_usage_error(&report_opts, "--%s: %s", name, err_text(&e, c)) : 0;
}

static int take_view(struct report *r, const char *name)
{
	const struct report_view *views;
	unsigned int cnt = report_views(&views);
	const char *names[VIEWS_MAX];
	int near;

	if (r->view)
		return opts_usage_error(&report_opts,
					"unexpected argument '%s' after the view '%s'", name,
					r->view->name);
	if (cnt > VIEWS_MAX)
		cnt = VIEWS_MAX;
	for (unsigned int i = 0; i < cnt; i++) {
		names[i] = views[i].name;
		if (!strcmp(name, names[i])) {
			r->view = &views[i];
			return 0;
		}
	}
	near = nearest_find(name, names, cnt);
	if (near >= 0)
		return opts_usage_error(&report_opts, "unknown view '%s'; did you mean '%s'?", name,
					names[near]);
	return opts_usage_error(&report_opts,
				"unknown view '%s'; 'ebpfrec report --list' shows what there is",
				name);
}

static int take_follow(struct report *r, const char *value)
{
	struct err e = { "" };
	int c = 0;

	r->follow_ns = FOLLOW_NS;
	if (value)
		c = units_parse_duration(value, &r->follow_ns, &e);
	if (!c && r->follow_ns < UNITS_NS_PER_S / 10)
		c = err_set(&e, -ERANGE, "%s is too often; at least 100ms", value);
	return c ? opts_usage_error(&report_opts, "--follow: %s", err_text(&e, c)) : 0;
}

static int add_path(struct report *r, const char *path)
{
	const char **more = realloc(r->paths, (r->path_cnt + 1) * sizeof(*more));

	if (!more)
		return input_failed(-ENOMEM, NULL);
	more[r->path_cnt++] = path;
	r->paths = more;
	r->in.path = path;
	return 0;
}

/* A view, or a trace: "report cpu -i *.ebpfrec" is what a shell makes of a pattern. */
static int take_operand(struct report *r, const char *value)
{
	const struct report_view *views;
	unsigned int cnt = report_views(&views);

	for (unsigned int i = 0; i < cnt; i++)
		if (!strcmp(value, views[i].name))
			return take_view(r, value);
	return access(value, F_OK) ? take_view(r, value) : add_path(r, value);
}

/* What excludes what. */
static int check_together(struct report *r)
{
	const char *view = r->view ? r->view->name : "";
	const char *alone = r->phases ? "--phases" : r->follow_ns ? "--follow" : r->db ? "--db" :
			    r->in.during ? "--during" : r->sparklines ? "--sparklines" : NULL;

	if (r->path_cnt > 1 && alone)
		return opts_usage_error(&report_opts, "%s is for one trace, and there are %u", alone,
					r->path_cnt);
	if (r->phases && r->q.every_ns)
		return opts_usage_error(&report_opts,
					"--phases and --every are two ways to cut the window: "
					"choose one");
	if (r->phases && !strcmp(view, "summary"))
		return opts_usage_error(&report_opts,
					"the summary has many parts; --phases without a view has a "
					"row per interval");
	if (r->in.format == RENDER_FOLDED &&
	    ((strcmp(view, "stacks") && strcmp(view, "leaks")) || r->path_cnt > 1))
		return opts_usage_error(&report_opts,
					"--format folded is for the views stacks and leaks, of one trace; what made a spike "
					"is in the stacks of its time: report stacks --from --to");
	r->in.folded_count = r->q.sort && (!strcmp(r->q.sort, "samples") || !strcmp(r->q.sort, "objects"));
	if (r->follow_ns && r->db)
		return opts_usage_error(&report_opts, "--db is written once: leave out --follow");
	return 0;
}

/* 0, or the exit status to leave with. */
static int take_option(struct report *r, int id, const char *value)
{
	int c;

	if (id == INPUT_OPT_FORMAT && !strcmp(value, "folded")) {
		r->in.format = RENDER_FOLDED;
		return 0;
	}
	c = id == INPUT_OPT_TRACE ? add_path(r, value) : input_take(&r->in, &report_opts, id, value);
	if (c != -1)
		return c;
	switch (id) {
	case OPTS_OPERAND:
		return take_operand(r, value);
	case OPT_BY:
		return take_by(r, value);
	case OPT_COMM:
		r->q.comm = value;
		return 0;
	case OPT_SORT:
		r->q.sort = value;
		return 0;
	case OPT_DB:
		r->db = value;
		return 0;
	case 'f':
		r->force = true;
		return 0;
	case OPT_HISTOGRAM:
		r->q.histogram = true;
		return 0;
	case OPT_LIST:
		r->list = true;
		return 0;
	case OPT_PHASES:
		r->phases = true;
		return 0;
	case OPT_FOLLOW:
		return take_follow(r, value);
	case OPT_WITH_RECORDER:
		r->q.with_recorder = true;
		return 0;
	case OPT_SPARKLINES:
		r->sparklines = true;
		return 0;
	case OPT_WITH_IDLE:
		r->q.with_idle = true;
		return 0;
	default:
		return take_number(r, id, value);
	}
}

/* "process, thread, cpu": what --by of a view may be; empty: it has no --by. */
static void list_keys(const struct report_view *v, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < BY_CNT && n < size; i++) {
		if (v->by_mask & 1u << i)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "",
					      by_names[i]);
	}
}

/* An option that a view has no use for is refused: its answer would look as if it had been heeded. */
static int check_view(const struct report *r)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a report has a view */
	const char *view = r->view->name;
	bool spikes = !strcmp(view, "spikes"), summary = !strcmp(view, "summary");
	char list[128];

	if (r->q.histogram && strcmp(view, "latency"))
		return opts_usage_error(&report_opts,
					"--histogram is of the view 'latency', not of '%s'", view);
	if ((r->q.spike_window_ns || r->q.spike_min_bytes) && !spikes && !summary)
		return opts_usage_error(&report_opts, "--spike-window and --spike-min are of the view 'spikes', not of '%s'",
					view);
	if (summary && (r->q.every_ns || r->q.sort))
		return opts_usage_error(&report_opts,
					"the summary has many parts; --%s is of one view: `ebpfrec report --list` "
					"shows them, and 'totals' has a row for all",
					r->q.every_ns ? "every" : "sort");
	if (!r->q.by_set || r->view->by_mask & 1u << r->q.by)
		return 0;
	list_keys(r->view, list, sizeof(list));
	if (!list[0])
		return opts_usage_error(&report_opts, "view '%s' takes no --by", r->view->name);
	return opts_usage_error(&report_opts, "view '%s' has no rows by %s; it takes --by %s",
				r->view->name, by_names[r->q.by], list);
}

/* ---- output ---- */

static int list_views(void)
{
	const struct report_view *views;
	unsigned int cnt = report_views(&views);

	for (unsigned int i = 0; i < cnt; i++) {
		const struct report_view *v = &views[i];
		char list[128];

		printf("%-10s %s\n", v->name, v->question);
		if (v->notes && v->notes[0])
			printf("%-10s %s\n", "", v->notes);
		list_keys(v, list, sizeof(list));
		if (list[0])
			printf("%-10s --by %s; default %s\n", "", list, by_names[v->by_default]);
	}
	return 0;
}

/* What a view cannot know: of a trace of some processes, or without stacks, or, as it looks beyond its window, of one that was cut; NULL: nothing. */
static const char *cut_note(const struct report *r)
{
	bool begins = trace_carried_ns(r->trace), ends = trace_is_cut_short(r->trace);

	if (input_part_note(r->trace))
		return input_part_note(r->trace);
	if (!strcmp(r->view->name, "stacks") && trace_get(r->trace, "sources") &&
	    !trace_get(r->trace, "stacks.min_bytes") && !trace_get(r->trace, "stacks.every"))
		return "No stacks were recorded: they are on request, record --stacks.";
	if (!strcmp(r->view->name, "lifetimes") && ends)
		return "Cut out of a larger trace: what was freed after its end counts as not freed.";
	if (!strcmp(r->view->name, "spikes") && (begins || ends))
		return "Cut out of a larger trace: the median rate is that of what is left, and a burst at "
		       "its edge is told as far as it lies inside.";
	return NULL;
}

static void print_heading(const struct report *r)
{
	uint64_t start = trace_start_ns(r->trace);
	char from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX], len[UNITS_TEXT_MAX];
	char wall[TIMEEXPR_TEXT_MAX];

	printf("%s: %s\n", r->view->name, r->view->question);
	if (!start) {	/* no block: no time either */
		printf("%s, empty\n\n", say_text(input_path(&r->in)));
		return;
	}
	printf("%s, %s .. %s s (%s), from %s, %s%s\n", say_text(input_path(&r->in)),
	       units_format_instant(from, sizeof(from), (int64_t)(r->q.from_ns - start)),
	       units_format_instant(to, sizeof(to), (int64_t)(r->q.to_ns - start)),
	       units_format_duration(len, sizeof(len), r->q.to_ns - r->q.from_ns),
	       timeexpr_format_real(wall, trace_real_ns(r->trace, r->q.from_ns), 1),
	       r->missing[0] ? "INCOMPLETE: " : "complete", r->missing);
	if (r->view->notes && r->view->notes[0])
		render_wrap(stdout, r->view->notes, input_wrap_width());
	if (cut_note(r))
		printf("%s\n", cut_note(r));
	printf("\n");
}

/*
 * The sink between analysis and renderer: says what the rows are about, but only once there is an
 * answer, so that a refused request prints its error alone.
 */
static void say_what(struct report *r)
{
	if (r->said)
		return;
	r->said = true;
	if (r->in.format == RENDER_TABLE)
		print_heading(r);
	else if (r->missing[0])
		say_note("%s: the window is incomplete: %s", input_path(&r->in), r->missing);
	if (r->in.format != RENDER_TABLE && cut_note(r))
		say_note("%s: %s", input_path(&r->in), cut_note(r));
}

static int said_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct report *r = ctx;

	say_what(r);
	if (r->drawing && sparkline_begin(r->drawing, col_cnt, names) < 0)
		return -ENOMEM;
	return r->next->begin(r->next->ctx, col_cnt, names);
}

static int said_row(void *ctx, const struct value *values)
{
	const struct report *r = ctx;

	if (r->drawing && sparkline_row(r->drawing, values) < 0)
		return -ENOMEM;
	return r->next->row(r->next->ctx, values);
}

static int said_end(void *ctx)
{
	const struct report *r = ctx;

	return r->next->end(r->next->ctx);
}

static int said_section(void *ctx, const char *title)
{
	struct report *r = ctx;

	say_what(r);
	return r->next->section(r->next->ctx, title);
}

static void db_progress(void *ctx, uint64_t rows, uint64_t all_rows)
{
	progress_show(ctx, "sqlite", rows, all_rows, "rows");
}

static int write_db(const struct report *r, struct analysis *a)
{
	struct progress progress = { 0 };
	const struct export_request x = {
		.path = r->db,
		.from_ns = r->q.from_ns,
		.to_ns = r->q.to_ns,
		.force = r->force,
		.progress = isatty(STDERR_FILENO) ? db_progress : NULL,
		.making = leftover_of_export,
		.made = leftover_of_export_done,
		.ctx = &progress,
	};
	struct err e = { "" };
	struct export_result result;
	int c = analysis_export_sqlite(a, &x, &result, &e);

	progress_erase(&progress);
	return c ? input_failed(c, &e) : 0;
}

/* A view is complete when nothing it is made of was lost; names are lost with task events. */
static struct input_needs view_needs(const char *view)
{
	static const struct {
		const char *view;
		struct input_needs needs;
	} table[] = {
		{ "summary", { INPUT_ALL, INPUT_SOURCES_SUMMARY } },
		{ "totals",
		  { INPUT_ALL,
		    "sched.switch,sched.wakeup,alloc.rss,alloc.slab,alloc.page,block" } },
		{ "cpu", { INPUT_SCHED | INPUT_NO_WAKEUPS, "sched.switch" } },
		{ "sched", { INPUT_SCHED | INPUT_NO_IRQS, "sched.switch,sched.wakeup" } },
		{ "irq", { INPUT_SCHED | INPUT_NO_WAKEUPS, "sched.irq" } },
		{ "preempts", { INPUT_SCHED | INPUT_NO_WAKEUPS | INPUT_NO_IRQS, "sched.switch" } },
		{ "timeline", { INPUT_SCHED | INPUT_NO_IRQS, "sched.switch,sched.wakeup" } },
		{ "alloc", { INPUT_ALLOC | INPUT_LEVELS, "alloc" } },
		{ "memory", { INPUT_ALLOC | INPUT_LEVELS, "alloc.rss" } },
		{ "spikes", { INPUT_ALLOC, "alloc" } },
		{ "leaks", { INPUT_ALLOC, "alloc" } },
		{ "lifetimes", { INPUT_ALLOC, "alloc" } },
		{ "sizes", { INPUT_ALLOC, "alloc" } },
		{ "stacks", { INPUT_ALLOC, "alloc" } },
		{ "io", { INPUT_BLOCK, "block" } },
		{ "latency", { INPUT_BLOCK, "block" } },
		{ "devices", { INPUT_BLOCK, "block" } },
		{ "pattern", { INPUT_BLOCK, "block" } },
	};

	for (unsigned int i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!strcmp(view, table[i].view))
			return (struct input_needs){ table[i].needs.classes | INPUT_TASK,
						     table[i].needs.sources };
	}
	return (struct input_needs){ .classes = INPUT_ALL };
}

/* What a view's lines are of. NULL: it has none. */
static const char *drawn_column(const char *view)
{
	static const char *const table[][2] = {
		{ "cpu", "util_pct" },	    { "irq", "util_pct" },	  { "sched", "wait_ns" },
		{ "alloc", "alloc_bytes" }, { "io", "bytes_per_s" },	  { "memory", "rss_bytes" },
		{ "timeline", "busy_pct" }, { "devices", "depth_avg" }, { "sizes", "bytes" },
		{ "preempts", "preempts" },
	};

	for (unsigned int i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(view, table[i][0]))
			return table[i][1];
	return NULL;
}

static int begin_drawing(struct report *r, uint64_t limit)
{
	uint64_t start = trace_start_ns(r->trace), end = trace_end_ns(r->trace);
	uint64_t from = r->q.from_ns > start ? r->q.from_ns : start, to = r->q.to_ns < end ? r->q.to_ns : end;
	struct sparkline_options o = {
		.metric = drawn_column(r->q.view), .every_ns = r->q.every_ns, .limit = limit,
		.width = input_terminal_width(), .utf8 = input_speaks_utf8(),
	};

	if (r->in.format != RENDER_TABLE || !r->q.every_ns || !o.metric || from >= to ||
	    !(r->sparklines || isatty(STDOUT_FILENO)))
		return 0;
	o.from_ns = (int64_t)(from - start);
	o.to_ns = (int64_t)(to - start);
	r->drawing = sparkline_new(&o);
	return r->drawing ? 0 : -ENOMEM;
}

static int run(struct report *r, struct analysis *a)
{
	struct row_sink sink = { .ctx = r, .begin = said_begin, .row = said_row, .end = said_end };
	uint64_t limit = r->has_limit ? r->q.limit : TABLE_ROWS_DEFAULT;
	struct err e = { "" };
	struct render *out;
	int c;

	c = input_window(&r->in, &report_opts, r->trace, &r->q.from_ns, &r->q.to_ns);
	if (!c) {
		input_verify(r->trace, a, r->q.from_ns, r->q.to_ns);
		input_note_damage(&r->in, r->trace);
	}
	if (!c && r->db)
		c = write_db(r, a);
	if (c)
		return c;
	/* A table counts what it leaves out, so it has to see all rows. */
	if (r->in.format == RENDER_TABLE)
		r->q.limit = 0;
	/* nor does a section of the summary stop at ten before it is counted */
	if (r->has_limit)
		r->q.summary_rows = r->q.limit ? (int64_t)(r->q.limit & INT64_MAX) : -1;
	out = input_render(&r->in, limit, true);
	if (!out)
		return EXIT_FAILED;
	input_is_complete(r->trace, view_needs(r->q.view), r->q.from_ns, r->q.to_ns, r->missing,
			  sizeof(r->missing));
	r->next = render_sink(out);
	if (r->next->section)
		sink.section = said_section;
	c = begin_drawing(r, limit);
	if (!c)
		c = r->phases ? phases_report(a, r->trace, &r->q, &sink, &e)
			      : analysis_report(a, &r->q, &sink, &e);
	render_free(out);
	if (!c && r->drawing)
		sparkline_print(r->drawing, stdout);
	sparkline_free(r->drawing);
	r->drawing = NULL;
	/* What only the view can judge: the name of a column. */
	if (c == -EINVAL && !strncmp(e.text, "--", 2))
		return opts_usage_error(&report_opts, "%s", e.text);
	return c ? input_failed(c, &e) : 0;
}

static int answer(struct report *r)
{
	struct analysis *a = NULL;
	int c;

	r->said = false;
	c = input_analysis(&r->in, r->trace, &a);
	if (!c)
		c = run(r, a);
	input_note_damage(&r->in, r->trace);
	analysis_close(a);
	return c;
}

/* ---- following ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = 1;
}

/* Takes in what is new. 0 or an exit status. */
static int refresh(struct report *r)
{
	struct err e = { "" };
	int c = trace_refresh(r->trace, &e);

	if (c == -ESTALE) {	/* its beginning is gone: --keep */
		trace_close(r->trace);
		r->trace = NULL;
		c = input_open(&r->in, false, &r->trace);
	} else if (c) {
		say_error("%s", err_text(&e, c));
		c = EXIT_FAILED;
	}
	if (!c && !trace_is_live(r->trace) && !trace_is_finished(r->trace))
		say_note("%s: its recorder is gone", input_path(&r->in));
	return c;
}

static int follow(struct report *r)
{
	const struct timespec wait = { .tv_sec = (time_t)(r->follow_ns / UNITS_NS_PER_S),
				       .tv_nsec = (long)(r->follow_ns % UNITS_NS_PER_S) };
	struct sigaction stop = { .sa_handler = on_interrupt };
	const char *begin = isatty(STDOUT_FILENO) ? "\033[H\033[2J" : "";
	int c;

	sigaction(SIGINT, &stop, NULL);
	for (;;) {
		/* the first block comes after a second: until then there is nothing to tell */
		if (trace_end_ns(r->trace) || !trace_is_live(r->trace)) {
			/* home, and erase; elsewhere an empty line between answers */
			fputs(begin, stdout);
			begin = *begin == '\033' ? begin : "\n";
			c = answer(r);
			fflush(stdout);
			if (c || ferror(stdout))
				return c;
		}
		if (!trace_is_live(r->trace) || interrupted)
			return 0;
		nanosleep(&wait, NULL);
		if (interrupted)
			return 0;
		c = refresh(r);
		if (c)
			return c;
	}
}

static int report_hosts(struct report *r)
{
	uint64_t limit = r->has_limit || r->in.format != RENDER_TABLE ? r->q.limit : TABLE_ROWS_DEFAULT;
	struct hosts h;
	int c = hosts_open(&h, &r->in, r->paths, r->path_cnt);

	if (c)
		return c;
	c = hosts_window(&h, &r->in, &report_opts, r->q.every_ns, view_needs(r->q.view));
	if (!c)
		c = hosts_report(&h, &r->in, &report_opts, r->view, &r->q, limit);
	hosts_close(&h);
	return c;
}

static int report(struct report *r)
{
	int c = input_open(&r->in, !r->follow_ns, &r->trace);

	if (!c)
		c = r->follow_ns ? follow(r) : answer(r);
	trace_close(r->trace);
	return c;
}

int cmd_report(int argc, char **argv)
{
	struct report r = { .in = { .format = RENDER_TABLE, .quick = true } };
	int id, status = 0;
	const char *value;
	struct opts o;

	opts_init(&o, &report_opts, argc, argv);
	while (!status && (id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_HELP)
			goto out;
		status = id == OPTS_BAD ? EXIT_USAGE : take_option(&r, id, value);
	}
	if (!status && r.list) {
		status = list_views();
		goto out;
	}
	if (!status && !r.view)
		status = take_view(&r, r.phases ? "totals" : "summary");
	if (!status)
		status = check_together(&r);
	if (!status)
		status = check_view(&r);
	r.q.view = r.view ? r.view->name : NULL;
	if (!status)
		status = r.path_cnt > 1 ? report_hosts(&r) : report(&r);
out:
	free(r.paths);
	free(r.pids);
	return status;
}
