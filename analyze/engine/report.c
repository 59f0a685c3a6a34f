/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Canned reports: a SQL file per view (schema/report_VIEW.sql, or report_VIEW_by_KEY.sql where a
 * key asks for another shape), with these marks replaced before it runs:
 *
 *     $t       "t_ns, " with --every, else nothing: the bin's beginning as first column
 *     $t_spike the same for the bin in which u.start_ns lies; $tgroup: "t_ns, " to group or order
 *              by
 *     $rkeys   names of the key's columns in a row r; $binfrom, $binto: the bin (or window) of a
 *              row r of an inner query
 *     $keys    the key's columns, of a table-valued function that groups by itself (upid, utid,
 *              name)
 *     $cpukeys the key's columns, of cpu_usage; $cpugroup what to group by
 *
 * and the parameters :from :to :every (ns from the trace's start), :by, :spike_window,
 * :spike_min, :top (rows of a summary's section). Which processes a report is about is the scope,
 * which the table-valued functions look at themselves.
 */
#include "analyze/engine/analysis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/context.h"
#include "analyze/engine/statement.h"

#define SUMMARY_ROWS 10		/* of each section */
#define MARK "-- section: "	/* begins a section in report_summary.sql */
#define BY(x) (1u << REPORT_BY_##x)
#define BY_TASKS (BY(PROCESS) | BY(THREAD) | BY(COMM) | BY(CGROUP))

static const struct report_view views[] = {
	{ "summary", "What happened, and who used the most?",
	  "Each section is the beginning of another view.", 0, REPORT_BY_PROCESS },
	{ "totals", "How much CPU time, memory and I/O was there in all?",
	  "Requests of stacked devices count in each layer.", 0, REPORT_BY_PROCESS },
	{ "cpu", "Who used the CPU?",
	  "Interrupts count for the thread they interrupted, as in the scheduler's own accounting; "
	  "irq and softirq are the interrupts' part, if sched.irq was recorded. [unknown]: "
	  "switches were lost, or belong to tasks that the kernel hides from BPF.",
	  BY_TASKS | BY(CPU), REPORT_BY_PROCESS },
	{ "irq", "Which interrupts took time, and whose?",
	  "Record it with -e sched,sched.irq. Times exclude nested interrupts. Handlers that share "
	  "a line form one row. Interrupts of tasks that the kernel hides from BPF are missing.",
	  BY_TASKS | BY(CPU) | BY(VECTOR), REPORT_BY_VECTOR, .whole_machine = true },
	{ "sched", "Who waited for a CPU, and for how long?",
	  "A wait counts, with its whole length, where it ends. Percentiles are exact up to 65536 "
	  "waits a row in a window of up to a million events, otherwise within 0.4 %.",
	  BY_TASKS, REPORT_BY_PROCESS },
	{ "alloc", "Who allocated, freed and held how much memory?",
	  "Sources overlap; do not add them. The kernel batches RSS counters per CPU, some tens "
	  "of pages each. Levels of slab, page and heap count from the trace's start, so losses "
	  "before the window affect them too.",
	  BY_TASKS, REPORT_BY_PROCESS },
	{ "spikes", "Which processes allocated much in a short time?",
	  "A spike reaches the threshold within the spike window. The threshold is ten times the "
	  "process's own median rate, at least 16 MiB, unless --spike-min sets it.",
	  BY(PROCESS), REPORT_BY_PROCESS },
	{ "io", "Who made which block requests, and how long did they take?",
	  "The process that last dirtied a file owns its write-back; the submitter owns other "
	  "requests; [unknown] has the rest. Latency is from queueing to completion.",
	  BY_TASKS | BY(DEVICE), REPORT_BY_PROCESS },
	{ "latency", "Where did block requests spend their time?",
	  "queue: until the first issue to the device; device: from the last issue to completion. "
	  "Percentiles are exact up to 65536 requests a row, otherwise within 0.4 %.",
	  BY_TASKS | BY(DEVICE), REPORT_BY_DEVICE },
	{ "pattern", "How large are block requests, and do they follow each other?",
	  "Sequential: adjacent to one of the 16 requests of the same row that ended before.",
	  BY_TASKS | BY(DEVICE), REPORT_BY_DEVICE },
	{ "devices", "How busy was each block device?",
	  "The view counts all requests, whatever process owns them. A request is in flight from "
	  "queueing to completion. Devices stack; do not add layers.",
	  0, REPORT_BY_DEVICE },
	{ "preempts", "Who took the CPU from whom?",
	  "A preemption counts where it happens. by oncpu: how long the preempting process then "
	  "ran at a stretch.",
	  0, REPORT_BY_PROCESS },
	{ "timeline", "Which thread ran on which CPU, and when?",
	  "Without --every: each slice. With --every: the busiest process of each CPU and bin.",
	  0, REPORT_BY_PROCESS },
	{ "memory", "How much memory did processes have?",
	  "Levels are from the end of the window or bin. The kernel batches RSS counters per CPU: "
	  "each may be off by up to 32 pages (or twice the number of CPUs, if that is more) per "
	  "CPU; the error does not accumulate.",
	  BY(PROCESS), REPORT_BY_PROCESS },
	{ "leaks", "What was allocated in the window and not freed by its end?",
	  "The rows include caches and other memory that is meant to stay. Sources overlap; do not "
	  "add them.",
	  BY_TASKS, REPORT_BY_PROCESS, .whole_only = true },
	{ "lifetimes", "How long did allocations live, and which were short-lived?",
	  "temporary: freed within 1 ms. Sources overlap; do not add them.", BY_TASKS,
	  REPORT_BY_PROCESS, .whole_only = true },
	{ "sizes", "How large were allocations?",
	  "There is one row per power of two. Sources overlap; do not add them.", BY_TASKS,
	  REPORT_BY_PROCESS },
	{ "stacks", "From which stacks was memory allocated?",
	  "The bytes are no totals: only allocations with a recorded stack count (record "
	  "--stacks). User-space frames come from frame pointers: code without them, as most C "
	  "libraries, cuts a stack short or omits callers. Sources overlap; do not add them.",
	  BY_TASKS, REPORT_BY_PROCESS, .whole_only = true },
	{ "loss", "What was lost?",
	  "Losses are known per interval of about a second; a loss counts in every window that its "
	  "interval touches.",
	  BY(CPU), REPORT_BY_CPU },
	{ "cost", "What did recording cost?",
	  "The recorder samples its counters about once a second; a window gets its share of a "
	  "sample. Time in the kernel is extrapolated from the measured runs, about one in "
	  "sixteen. machine_pct is the share of all CPUs.",
	  0, REPORT_BY_PROCESS },
};

#define VIEW_CNT (sizeof(views) / sizeof(views[0]))

static const char *const by_names[] = { "process", "thread", "comm", "cgroup", "cpu",
				       "device",  "vector" };

unsigned int report_views(const struct report_view **ret)
{
	*ret = views;
	return VIEW_CNT;
}

static const struct report_view *find_view(const char *name)
{
	size_t i;

	for (i = 0; i < VIEW_CNT; i++)
		if (!strcmp(views[i].name, name))
			return &views[i];
	return NULL;
}

/* What a key is in SQL; NULL: a view that is by it has a file of its own. */
struct by_sql {
	const char *keys, *row_keys, *cpu_keys, *cpu_group;
};

#define CGROUP_SQL "coalesce(p.cgroup, 'cgroup:' || p.cgroup_id, p.comm)"

static const struct by_sql by_sql[] = {
	[REPORT_BY_PROCESS] = { "p.pid AS pid, u.name AS comm,", "r.pid, r.comm",
				"p.pid AS pid, p.comm AS comm,", "u.upid" },
	[REPORT_BY_THREAD] = { "p.pid AS pid, t.tid AS tid, u.name AS comm,",
			       "r.pid, r.tid, r.comm",
			       "p.pid AS pid, t.tid AS tid, t.comm AS comm,", "u.utid" },
	[REPORT_BY_COMM] = { "u.name AS comm,", "r.comm", "p.comm AS comm,", "p.comm" },
	[REPORT_BY_CGROUP] = { "u.name AS cgroup,", "r.cgroup", CGROUP_SQL " AS cgroup,",
			       CGROUP_SQL },
	[REPORT_BY_CPU] = { "u.cpu AS cpu," },
	[REPORT_BY_VECTOR] = { NULL },
};

static const char *or_nothing(const char *text)
{
	return text ? text : "";
}

/* Replaces marks; a mark ends where its name does, so that $t is not part of $tid. */
static char *expand(const struct report_request *r, enum report_by by, const char *text)
{
	const struct {
		const char *mark, *value;
	} marks[] = {
		{ "$t", r->every_ns ? "u.t_ns AS t_ns," : "" },
		{ "$t_spike",
		  r->every_ns ? ":from + (u.start_ns - :from) / :every * :every AS t_ns," : "" },
		{ "$tgroup", r->every_ns ? "t_ns," : "" },
		{ "$binfrom", r->every_ns ? "r.t_ns" : ":from" },
		{ "$binto", r->every_ns ? "min(r.t_ns + :every, :to)" : ":to" },
		{ "$keys", or_nothing(by_sql[by].keys) },
		{ "$rkeys", or_nothing(by_sql[by].row_keys) },
		{ "$cpukeys", or_nothing(by_sql[by].cpu_keys) },
		{ "$cpugroup", or_nothing(by_sql[by].cpu_group) },
	};
	sqlite3_str *s = sqlite3_str_new(NULL);
	size_t len, i;

	while (*text) {
		len = strcspn(text, "$");
		sqlite3_str_append(s, text, (int)len);
		text += len;
		if (!*text)
			break;
		len = 1 + strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_");
		for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
			if (strlen(marks[i].mark) == len && !strncmp(marks[i].mark, text, len))
				break;
		if (i < sizeof(marks) / sizeof(marks[0]))
			sqlite3_str_appendall(s, marks[i].value);
		else
			sqlite3_str_append(s, text, (int)len);
		text += len;
	}
	return sqlite3_str_finish(s);
}

static void trim(char *sql)
{
	size_t len = strlen(sql);

	while (len && strchr(" \t\n;", sql[len - 1]))
		sql[--len] = 0;
}

/* Puts the asked order and limit around a report's text. Takes sql. */
static char *finish_sql(char *sql, const struct report_request *r)
{
	const char *col = r->sort;
	char *out;

	trim(sql);
	if (!col || !*col) {
		out = r->limit
			      ? sqlite3_mprintf("%s\nLIMIT %llu", sql, (unsigned long long)r->limit)
			      : sqlite3_mprintf("%s", sql);
	} else {
		bool ascending = *col == '-';

		out = sqlite3_mprintf(
			"SELECT * FROM (\n%s\n) ORDER BY %s\"%w\" %s LIMIT %lld", sql,
			r->every_ns ? "t_ns, " : "", col + ascending, ascending ? "ASC" : "DESC",
			r->limit && r->limit < INT64_MAX ? (long long)r->limit : -1LL);
	}
	sqlite3_free(sql);
	return out;
}

static int check_request(const struct report_request *r, const struct report_view *v,
			 enum report_by by, struct err *e)
{
	char list[128];
	size_t len = 0, i;

	if (r->every_ns && v->whole_only)
		return err_set(e, -EINVAL, "report %s has no --every: it looks at the window's end",
			       v->name);
	if (!r->by_set || (v->by_mask & 1u << by))
		return 0;
	if (!v->by_mask)
		return err_set(e, -EINVAL, "report %s has no --by", v->name);
	list[0] = 0;
	for (i = 0; i < sizeof(by_names) / sizeof(by_names[0]); i++)
		if (v->by_mask & 1u << i)
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
						len ? ", " : "", by_names[i]);
	return err_set(e, -EINVAL, "report %s: --by %s makes no sense there; it knows %s", v->name,
		       (unsigned int)by < sizeof(by_names) / sizeof(by_names[0]) ? by_names[by]
										 : "?",
		       list);
}

static int check_sort(struct analysis *a, const struct report_request *r, const char *inner,
		      struct err *e)
{
	const char *col = r->sort, *at;
	char columns[1200];
	size_t len;

	if (!col || !*col || statement_columns(a, inner, columns, sizeof(columns)) < 0)
		return 0;	/* an error in it is found when it runs */
	col += *col == '-';
	len = strlen(col);
	for (at = columns; len && (at = strstr(at, col)); at++)
		if ((at == columns || at[-1] == ' ') && (!at[len] || at[len] == ','))
			return 0;
	return err_set(e, -EINVAL, "--sort: there is no column \"%.40s\" here; there are %s", col,
		       columns);
}

/* ---- the summary: a report that is made of several ---- */

/* Turns its parts into one long result. */
struct flat {
	const struct row_sink *out;
	char title[64];
	unsigned int col_cnt;
	const char *const *names;
	int64_t row;
};

static int flat_begin(void *ctx, unsigned int cnt, const char *const *names)
{
	struct flat *f = ctx;

	f->row = 0;
	f->col_cnt = cnt;
	f->names = names;
	return 0;
}

static int flat_row(void *ctx, const struct value *values)
{
	struct flat *f = ctx;
	struct value row[4] = {
		{ .type = VALUE_TEXT, .text = f->title, .text_bytes = strlen(f->title) },
		{ .type = VALUE_INT, .i = ++f->row },
		{ .type = VALUE_TEXT },
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; i < f->col_cnt && ret >= 0; i++) {
		row[2].text = f->names[i];
		row[2].text_bytes = strlen(f->names[i]);
		row[3] = values[i];
		ret = f->out->row(f->out->ctx, row);
	}
	return ret;
}

static int run_part(struct analysis *a, const char *text, size_t len,
		    const struct statement_param *params, const struct row_sink *sink,
		    struct err *e)
{
	char *sql = strndup(text, len);
	int ret;

	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	ret = statement_run(a, sql, params, sink, e);
	free(sql);
	return ret;
}

/*
 * Runs schema/report_summary.sql part by part. With sink->section each part is a result of its own,
 * otherwise all of it is one result: section, row, name, value.
 */
static int run_summary(struct analysis *a, const struct statement_param *params,
		       const struct row_sink *sink, struct err *e)
{
	static const char *const flat_names[] = { "section", "row", "name", "value" };
	const char *at = strstr(schema_text("report_summary"), MARK), *next;
	struct flat f = { .out = sink };
	struct row_sink flat_sink = { .ctx = &f, .begin = flat_begin, .row = flat_row };
	int ret = 0;

	if (!sink->section && sink->begin)
		ret = sink->begin(sink->ctx, 4, flat_names);
	for (; at && ret >= 0; at = next) {
		size_t len = strcspn(at + strlen(MARK), "\n");

		next = strstr(at + 1, MARK);
		if (len >= sizeof(f.title))
			len = sizeof(f.title) - 1;
		memcpy(f.title, at + strlen(MARK), len);
		f.title[len] = 0;
		if (sink->section)
			ret = sink->section(sink->ctx, f.title);
		if (ret >= 0)
			ret = run_part(a, at, next ? (size_t)(next - at) : strlen(at), params,
				       sink->section ? sink : &flat_sink, e);
	}
	if (ret >= 0 && !sink->section && sink->end)
		ret = sink->end(sink->ctx);
	return ret < 0 ? ret : 0;
}

/* ---- one report ---- */

static int run_view(struct analysis *a, const struct report_request *r, const struct report_view *v,
		    enum report_by by, const struct row_sink *sink, struct err *e)
{
	struct statement_param params[] = {
		{ ":from", VALUE_INT, context_rel_clamped(a, r->from_ns), NULL },
		{ ":to", VALUE_INT, context_rel_clamped(a, r->to_ns), NULL },
		{ ":every", VALUE_INT, r->every_ns > INT64_MAX ? INT64_MAX : (int64_t)r->every_ns,
		  NULL },
		{ ":by", VALUE_TEXT, 0, by_names[by] },
		{ ":top", VALUE_INT, r->summary_rows ? r->summary_rows : SUMMARY_ROWS, NULL },
		{ ":spike_window", VALUE_INT, (int64_t)r->spike_window_ns, NULL },
		{ ":spike_min", VALUE_INT, (int64_t)r->spike_min_bytes, NULL },
		{ NULL, VALUE_NULL, 0, NULL },
	};
	char name[64];
	const char *text;
	char *sql;
	int ret;

	if (!strcmp(v->name, "summary"))
		return run_summary(a, params, sink, e);
	snprintf(name, sizeof(name), "report_%s_%s", v->name, r->every_ns ? "every" : "whole");
	text = schema_text(name);
	snprintf(name, sizeof(name), "report_%s_by_%s", v->name, by_names[by]);
	if (r->by_set && schema_text(name))
		text = schema_text(name);
	snprintf(name, sizeof(name), "report_%s_histogram", v->name);
	if (r->histogram)
		text = schema_text(name);
	if (r->histogram && !text)
		return err_set(e, -EINVAL, "report %s has no --histogram", v->name);
	snprintf(name, sizeof(name), "report_%s", v->name);
	if (!text)
		text = schema_text(name);
	if (!text)
		return err_set(e, -ENOENT, "schema/%s.sql is not in this program", name);
	sql = expand(r, by, text);
	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	ret = check_sort(a, r, sql, e);
	if (ret < 0) {
		sqlite3_free(sql);
		return ret;
	}
	sql = finish_sql(sql, r);
	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	ret = statement_run(a, sql, params, sink, e);
	sqlite3_free(sql);
	return ret < 0 ? err_prefix(e, ret, "report %s", v->name) : ret;
}

int analysis_report(struct analysis *a, const struct report_request *r, const struct row_sink *sink,
		    struct err *e)
{
	const struct report_view *v = find_view(r->view ? r->view : "summary");
	struct scope_filter f = {
		.pids = r->pids, .pid_cnt = r->pid_cnt, .comm = r->comm,
		.with_recorder = r->with_recorder, .with_idle = r->with_idle,
	};
	const char *only = trace_get(a->trace, "only");
	enum report_by by;
	int ret;

	if (!v)
		return err_set(e, -EINVAL, "there is no report \"%.40s\"; see report --list",
			       r->view);
	by = r->by_set ? r->by : v->by_default;
	ret = check_request(r, v, by, e);
	if (ret < 0)
		return ret;
	if (v->whole_machine)
		f.with_recorder = f.with_idle = true;
	f.comm_of_thread = by == REPORT_BY_THREAD;
	f.with_pseudo = by == REPORT_BY_CPU;
	f.workload_only = only && !strcmp(only, "1");
	scope_done(&a->scope);
	ret = scope_init(&a->scope, &a->ids, &f);
	if (ret < 0)
		return err_set(e, ret, "out of memory");
	ret = run_view(a, r, v, by, sink, e);
	scope_done(&a->scope);
	return ret;
}
