/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "cmd/input/report_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/lists.h"
#include "cmd/input/nearest.h"

#define FOLLOW_NS (2 * UNITS_NS_PER_S)
#define VIEWS_MAX 32

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
	  "during a recording: a new answer every DUR (2s) until it ends" },
	{ OPT_BY, 0, "by", "KEY",
	  "one row per process, thread, comm, cgroup, cpu, device or vector" },
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
	  "spikes: bytes in that window that make a spike (default: ten times\n"
	  "the process's median rate, at least 16MiB)" },
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
};

static const char *const by_names[] = {
	[REPORT_BY_PROCESS] = "process", [REPORT_BY_THREAD] = "thread",
	[REPORT_BY_COMM] = "comm",	 [REPORT_BY_CGROUP] = "cgroup",
	[REPORT_BY_CPU] = "cpu",	 [REPORT_BY_DEVICE] = "device",
	[REPORT_BY_VECTOR] = "vector",
};

#define BY_CNT (sizeof(by_names) / sizeof(by_names[0]))

static int take_by(struct report_options *r, const char *value)
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

static int take_number(struct report_options *r, int id, const char *value)
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

static int take_view(struct report_options *r, const char *name)
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

static int take_follow(struct report_options *r, const char *value)
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

static int add_path(struct report_options *r, const char *path)
{
	if (array_reserve(&r->paths, &r->path_cap, r->path_cnt + 1) < 0)
		return input_failed(-ENOMEM, NULL);
	r->paths[r->path_cnt++] = path;
	r->in.path = path;
	return 0;
}

/* A view, or a trace: a shell makes several names of "report cpu -i *.ebpfrec". */
static int take_operand(struct report_options *r, const char *value)
{
	const struct report_view *views;
	unsigned int cnt = report_views(&views);

	for (unsigned int i = 0; i < cnt; i++)
		if (!strcmp(value, views[i].name))
			return take_view(r, value);
	return access(value, F_OK) ? take_view(r, value) : add_path(r, value);
}

/* Refuses options that exclude each other. */
static int check_together(struct report_options *r)
{
	const char *view = r->view ? r->view->name : "";
	const char *alone = r->phases ? "--phases" : r->follow_ns ? "--follow" : r->db ? "--db" :
			    r->in.during ? "--during" : r->sparklines ? "--sparklines" : NULL;

	if (r->path_cnt > 1 && alone)
		return opts_usage_error(&report_opts, "%s is for one trace, and there are %u",
					alone, r->path_cnt);
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
					"--format folded is for the views stacks and leaks, of one "
					"trace; what made a spike "
					"is in the stacks of its time: report stacks --from --to");
	r->in.folded_count =
		r->q.sort && (!strcmp(r->q.sort, "samples") || !strcmp(r->q.sort, "objects"));
	if (r->follow_ns && r->db)
		return opts_usage_error(&report_opts, "--db is written once: leave out --follow");
	return 0;
}

/* 0, or the exit status to leave with. */
static int take_option(struct report_options *r, int id, const char *value)
{
	int c;

	if (id == INPUT_OPT_FORMAT && !strcmp(value, "folded")) {
		r->in.format = RENDER_FOLDED;
		return 0;
	}
	c = id == INPUT_OPT_TRACE ? add_path(r, value)
				  : input_take(&r->in, &report_opts, id, value);
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
		return opts_usage_error(&report_opts,
					"--histogram is of the view 'latency', not of '%s'", view);
	if ((r->q.spike_window_ns || r->q.spike_min_bytes) && !spikes && !summary)
		return opts_usage_error(
			&report_opts,
			"--spike-window and --spike-min are of the view 'spikes', not of '%s'",
			view);
	if (summary && (r->q.every_ns || r->q.sort))
		return opts_usage_error(
			&report_opts,
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

int report_options_take(struct report_options *r, int argc, char **argv, bool *ret_done)
{
	const char *value;
	struct opts o;
	int id, c = 0;

	*r = (struct report_options){ .in = { .format = RENDER_TABLE, .quick = true } };
	*ret_done = true;
	opts_init(&o, &report_opts, argc, argv);
	while (!c && (id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_HELP)
			return 0;
		c = id == OPTS_BAD ? EXIT_USAGE : take_option(r, id, value);
	}
	if (!c && r->list)
		return list_views();
	if (!c && !r->view)
		c = take_view(r, r->phases ? "totals" : "summary");
	if (!c)
		c = check_together(r);
	if (!c)
		c = check_view(r);
	r->q.view = r->view ? r->view->name : NULL;
	*ret_done = c;
	return c;
}

void report_options_done(struct report_options *r)
{
	free(r->paths);
	free(r->pids);
}
