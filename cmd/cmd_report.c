/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_report: `ebpfrec report` shows one canned view of one window: once, or again and again while
 * the trace is recorded, or for several hosts on one axis of time.
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
#include "cmd/input/hosts.h"
#include "cmd/render/say.h"
#include "cmd/report_answer.h"

#define FOLLOW_NS (2 * UNITS_NS_PER_S)
#define VIEWS_MAX 32

/* ---- options ---- */

static const char *const by_names[] = {
	[REPORT_BY_PROCESS] = "process", [REPORT_BY_THREAD] = "thread",
	[REPORT_BY_COMM] = "comm",	 [REPORT_BY_CGROUP] = "cgroup",
	[REPORT_BY_CPU] = "cpu",	 [REPORT_BY_DEVICE] = "device",
	[REPORT_BY_VECTOR] = "vector",
};

#define BY_HINT "; there are process, thread, comm, cgroup, cpu, device and vector"
#define BY_CNT (sizeof(by_names) / sizeof(by_names[0]))

static int take_by(void *options, const char *value, struct err *e)
{
	struct report_options *r = options;

	for (unsigned int i = 0; i < BY_CNT; i++) {
		if (!strcmp(value, by_names[i])) {
			r->q.by = (enum report_by)i;
			r->q.by_set = true;
			return 0;
		}
	}
	return opts_unknown("key", "--by: ", value, by_names, BY_CNT, BY_HINT, BY_HINT);
}

static int take_follow(void *follow_ns, const char *value, struct err *e)
{
	uint64_t ns = FOLLOW_NS;
	int c = value ? units_parse_duration(value, &ns, e) : 0;

	if (!c && ns < UNITS_NS_PER_S / 10)
		c = err_set(e, -ERANGE, "%s is too often; at least 100ms", value);
	*(uint64_t *)follow_ns = ns;
	return c;
}

static int take_limit(void *options, const char *value, struct err *e)
{
	struct report_options *r = options;

	r->has_limit = true;
	return units_parse_count(value, &r->q.limit, e);
}

static int take_path(void *options, const char *path, struct err *e)
{
	struct report_options *r = options;

	r->in.path = path;
	return lists_add_string(&r->paths, path);
}

static int take_format(void *options, const char *value, struct err *e)
{
	struct report_options *r = options;

	if (strcmp(value, "folded"))
		return input_take_format(&r->in.format, value, e);
	r->in.format = RENDER_FOLDED;
	return 0;
}

static int take_operand(void *options, const char *value)
{
	struct report_options *r = options;
	const struct report_view *views, *found = NULL;
	unsigned int cnt = report_views(&views);
	const char *names[VIEWS_MAX];

	if (cnt > VIEWS_MAX)
		cnt = VIEWS_MAX;
	for (unsigned int i = 0; i < cnt; i++) {
		names[i] = views[i].name;
		if (!strcmp(value, names[i]))
			found = &views[i];
	}
	if (!found && !access(value, F_OK))
		return input_status(take_path(r, value, NULL), NULL);
	if (r->view)
		return opts_usage_error("unexpected argument '%s' after the view '%s'", value,
					r->view->name);
	if (!found)
		return opts_unknown("view", "", value, names, cnt, "",
				    "; 'ebpfrec report --list' shows what there is");
	r->view = found;
	return 0;
}

/* Refuses options that exclude each other. */
static int check_together(struct report_options *r)
{
	const char *view = r->view ? r->view->name : "";
	const char *alone = r->phases	    ? "--phases"
			    : r->follow_ns  ? "--follow"
			    : r->db	    ? "--db"
			    : r->in.during  ? "--during"
			    : r->sparklines ? "--sparklines"
					    : NULL;

	if (r->paths.cnt > 1 && alone)
		return opts_usage_error("%s is for one trace, and there are %u", alone,
					r->paths.cnt);
	if (r->phases && r->q.every_ns)
		return opts_usage_error("--phases and --every are two ways to cut the window: "
					"choose one");
	if (r->phases && !strcmp(view, "summary"))
		return opts_usage_error("the summary has many parts; --phases without a view has a "
					"row per interval");
	if (r->in.format == RENDER_FOLDED &&
	    ((strcmp(view, "stacks") && strcmp(view, "leaks")) || r->paths.cnt > 1))
		return opts_usage_error("--format folded is for the views stacks and leaks, of one "
					"trace; what made a spike "
					"is in the stacks of its time: report stacks --from --to");
	r->in.folded_count =
		r->q.sort && (!strcmp(r->q.sort, "samples") || !strcmp(r->q.sort, "objects"));
	if (r->follow_ns && r->db)
		return opts_usage_error("--db is written once: leave out --follow");
	return 0;
}

/* The values of --by that a view takes: "process, thread, cpu"; "": it has no --by. */
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

/* Refuses an option that the view ignores: the answer would look as if it were respected. */
static int check_view(const struct report_options *r)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a report has a view */
	const char *view = r->view->name;
	bool spikes = !strcmp(view, "spikes"), summary = !strcmp(view, "summary");
	char list[128];

	if (r->q.histogram && strcmp(view, "latency"))
		return opts_usage_error("--histogram is of the view 'latency', not of '%s'", view);
	if ((r->q.spike_window_ns || r->q.spike_min_bytes) && !spikes && !summary)
		return opts_usage_error(
			"--spike-window and --spike-min are of the view 'spikes', not of '%s'",
			view);
	if (summary && (r->q.every_ns || r->q.sort))
		return opts_usage_error(
			"the summary has many parts; --%s is of one view: `ebpfrec report --list` "
			"shows them, and 'totals' has a row for all",
			r->q.every_ns ? "every" : "sort");
	if (!r->q.by_set || r->view->by_mask & 1u << r->q.by)
		return 0;
	list_keys(r->view, list, sizeof(list));
	if (!list[0])
		return opts_usage_error("view '%s' takes no --by", r->view->name);
	return opts_usage_error("view '%s' has no rows by %s; it takes --by %s", r->view->name,
				by_names[r->q.by], list);
}

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
	return OPTS_LEAVE;
}

/* After all options: the default view, and what excludes each other. */
static int check_options(struct report_options *r)
{
	int c = 0;

	if (r->list)
		return list_views();
	if (!r->view)
		c = take_operand(r, r->phases ? "totals" : "summary");
	if (!c)
		c = check_together(r);
	if (!c)
		c = check_view(r);
	r->q.view = r->view ? r->view->name : NULL;
	r->q.pids = r->pids.v;
	r->q.pid_cnt = r->pids.cnt;
	return c;
}

/* ---- following ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = 1;
}

/* Reads what was recorded meanwhile. 0 or an exit status. */
static int refresh(struct input *in)
{
	struct err e = { "" };
	int c = trace_refresh(in->trace, &e);

	if (c == -ESTALE) { /* --keep removed its beginning */
		input_close(in);
		c = input_open(in, false);
	} else if (c) {
		c = say_error("%s", err_text(&e, c));
	}
	if (!c && !trace_is_live(in->trace) && !trace_is_finished(in->trace))
		say_note("%s: its recorder is gone", input_path(in));
	return c;
}

static int follow(struct report_options *o)
{
	const struct timespec wait = { .tv_sec = (time_t)(o->follow_ns / UNITS_NS_PER_S),
				       .tv_nsec = (long)(o->follow_ns % UNITS_NS_PER_S) };
	struct sigaction stop = { .sa_handler = on_interrupt };
	const char *begin = isatty(STDOUT_FILENO) ? "\033[H\033[2J" : "";
	int c;

	sigaction(SIGINT, &stop, NULL);
	for (;;) {
		/* The first block comes after a second; until then there is nothing to show. */
		if (trace_end_ns(o->in.trace) || !trace_is_live(o->in.trace)) {
			/* A terminal is cleared; a file gets an empty line between answers. */
			fputs(begin, stdout);
			begin = *begin == '\033' ? begin : "\n";
			c = report_answer(o);
			fflush(stdout);
			if (c || ferror(stdout))
				return c;
		}
		if (!trace_is_live(o->in.trace) || interrupted)
			return 0;
		nanosleep(&wait, NULL);
		if (interrupted)
			return 0;
		c = refresh(&o->in);
		if (c)
			return c;
	}
}

static int report_hosts(struct report_options *o)
{
	uint64_t limit =
		o->has_limit || o->in.format != RENDER_TABLE ? o->q.limit : REPORT_TABLE_ROWS;
	struct hosts h;
	int c = hosts_open(&h, &o->in, o->paths.v, o->paths.cnt);

	if (c)
		return c;
	c = hosts_window(&h, &o->in, o->q.every_ns, report_needs(o->q.view));
	if (!c)
		c = hosts_report(&h, &o->in, o->view, &o->q, limit);
	hosts_close(&h);
	return c;
}

static int run(void *job)
{
	struct report_options *o = job;
	int c = check_options(o);

	if (!c && o->paths.cnt > 1)
		return report_hosts(o);
	if (!c)
		c = input_open(&o->in, !o->follow_ns);
	if (c)
		return c;
	return o->follow_ns ? follow(o) : report_answer(o);
}

static void done(void *options)
{
	struct report_options *r = options;

	input_close(&r->in);
	free(r->paths.v);
	free(r->pids.v);
}

#define AT(field) offsetof(struct report_options, field)

static const struct opts_option options[] = {
	{ 'i', "input", "TRACE", "trace or bundle to read (default: " INPUT_TRACE_DEFAULT ")",
	  OPTS_CALL, .take = take_path },
	INPUT_OPTIONS_WINDOW(struct report_options, in),
	{ 0, "every", "DUR", "one answer per DUR of the window: 100ms, 1s", OPTS_DURATION,
	  AT(q.every_ns), .min = 1, .refuse = "the step must be longer than 0" },
	{ 0, "phases", NULL, "one answer per interval between marks; without VIEW a row each",
	  OPTS_FLAG, AT(phases) },
	{ 0, "follow", "[=DUR]", "during a recording: a new answer every DUR (2s) until it ends",
	  OPTS_CALL, AT(follow_ns), take_follow },
	{ 0, "by", "KEY", "one row per process, thread, comm, cgroup, cpu, device or vector",
	  OPTS_CALL, .take = take_by },
	{ 0, "pid", "PID,...", "these processes only", OPTS_CALL, AT(pids), lists_take_pids },
	{ 0, "comm", "NAME", "processes of this name only; may be a pattern: 'cc*'", OPTS_TEXT,
	  AT(q.comm) },
	{ 0, "sort", "COLUMN", "largest first by this column; -COLUMN smallest first", OPTS_TEXT,
	  AT(q.sort) },
	{ 0, "limit", "N", "rows at most, 0 for all (default: 20 for tables, else all)", OPTS_CALL,
	  .take = take_limit },
	{ 0, "format", "FORMAT", "table (default), csv or json", OPTS_CALL, .take = take_format },
	INPUT_OPTION_NO_INDEX(struct report_options, in),
	{ 0, "with-recorder", NULL, "also show what ebpfrec itself did", OPTS_FLAG,
	  AT(q.with_recorder) },
	{ 0, "with-idle", NULL, "also show idle time, so that each CPU adds up to the window",
	  OPTS_FLAG, AT(q.with_idle) },
	{ 0, "sparklines", NULL, "with --every, draw a line per row's group, as on a terminal",
	  OPTS_FLAG, AT(sparklines) },
	{ 0, "spike-window", "DUR", "spikes: length of the sliding window (100ms)", OPTS_DURATION,
	  AT(q.spike_window_ns) },
	{ 0, "spike-min", "SIZE",
	  "spikes: bytes in that window that make a spike (default: ten times\n"
	  "the process's median rate, at least 16MiB)",
	  OPTS_SIZE, AT(q.spike_min_bytes) },
	{ 0, "db", "FILE", "also write the window as a SQLite file", OPTS_TEXT, AT(db) },
	{ 'f', "force", NULL, "replace FILE of --db when it exists", OPTS_FLAG, AT(force) },
	{ 0, "histogram", NULL, "latency: how many requests took how long, in powers of two",
	  OPTS_FLAG, AT(q.histogram) },
	{ 0, "list", NULL, "list the views and the questions they answer", OPTS_FLAG, AT(list) },
	{ 0 },
};

const struct opts_command report_opts = {
	.name = "report",
	.about = "Answer a question about a window of a trace.",
	.synopsis = "[-i TRACE] [VIEW] [OPTIONS]",
	.text = "'ebpfrec report --list' shows the values of VIEW; the default is summary.\n"
		"Tables are for reading. csv and json hold all rows as raw numbers, with the unit "
		"in\n"
		"the column's name. folded, for the views stacks and leaks, is for flame graph "
		"tools.\n"
		"Several traces (-i again, or names after the options) share one axis of "
		"wall-clock\n"
		"time; rows then begin with the host.\n",
	.options = options,
	.examples = "  ebpfrec report\n"
		    "  ebpfrec report cpu --from 1.5s --to 3s\n"
		    "  ebpfrec report cpu --every 100ms --format csv > cpu.csv\n"
		    "  ebpfrec report alloc --by process --from 2s --to 2.1s\n"
		    "  ebpfrec report io --every 1s --by device --format csv\n"
		    "  ebpfrec report cpu --from -10s --follow\n"
		    "  ebpfrec report --phases --during make\n"
		    "  ebpfrec report cpu --every 1s --format csv -i *.ebpfrec\n",
	.bytes = sizeof(struct report_options),
	.initial = &(const struct report_options){ .in.quick = true },
	.done = done,
	.operand = take_operand,
	.run = run,
};
