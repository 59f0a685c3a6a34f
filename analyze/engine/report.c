/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Canned reports: a SQL file per view (schema/report_VIEW.sql, or report_VIEW_by_KEY.sql where a
 * key asks for another shape), with these marks replaced before it runs:
 *
 *     $t       "t_ns, " with --every, else nothing: the bin's beginning as first column
 *     $t_spike the same for the bin in which u.start_ns lies; $tgroup: "t_ns, " to group or order
 *              by
 *     $binfrom, $binto: the bin (or window) of a row r of an inner query
 *     $keys    the keys' columns, of a table-valued function that groups by itself (upid, utid,
 *              name, member_upid)
 *     $cpukeys the keys' columns, of cpu_usage; $cpugroup what to group by; $rkeys their names in a
 *              row r. Each of these ends with a comma, or is nothing
 *
 * and the parameters :from :to :every (ns from the trace's start), :by, :spike_window,
 * :spike_min, :top (rows of a summary's section),
 * :brief (fewer rows and sections, for a screen), :continues (the window before this one was asked
 * for). Which processes a report is about is the scope, which the table-valued functions look at
 * themselves.
 */
#include "analyze/context/analysis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/column.h"
#include "analyze/context/context.h"
#include "analyze/engine/report_bins.h"
#include "analyze/engine/statement.h"

#define SUMMARY_ROWS 10		/* of each section */
#define MARK "-- section: "	/* begins a section in report_summary.sql */
#define BY_TASKS KEYS_WHO
#define BY_REQUESTS (BY_TASKS | KEY(DEVICE) | KEY(OP))

static const struct report_view views[] = {
	{ "summary", "What happened, and who used the most?",
	  "Each section is the beginning of another view.", 0, KEY(PROCESS) },
	{ "totals", "How much CPU time, memory and I/O was there in all?",
	  "Requests of stacked devices count in each layer.", 0, KEY(PROCESS) },
	{ "cpu", "Who used the CPU?",
	  "Interrupts count for the thread they interrupted, as in the scheduler's own accounting; "
	  "irq and softirq are the interrupts' part, if sched.irq was recorded. [unknown]: "
	  "switches were lost, or belong to tasks that the kernel hides from BPF.",
	  BY_TASKS | KEY(CPU), KEY(PROCESS) },
	{ "irq", "Which interrupts took time, and whose?",
	  "`ebpfrec record -e +sched.irq -- COMMAND` records them. Times exclude nested "
	  "interrupts. "
	  "Handlers that share a line form one row. Interrupts of tasks that the kernel hides from "
	  "BPF are missing.",
	  BY_TASKS | KEY(CPU) | KEY(VECTOR), KEY(VECTOR), .whole_machine = true },
	{ "sched", "Who waited for a CPU, and for how long?",
	  "A wait counts, with its whole length, where it ends. Percentiles are exact up to 65536 "
	  "waits a row in a window of up to a million events, otherwise within 0.4 %.",
	  BY_TASKS, KEY(PROCESS) },
	{ "states", "What did threads do all the time: run, wait, sleep?",
	  "The parts of a thread add up to its life in the window. disk: an uninterruptible sleep "
	  "while a block request that the thread submitted is in flight. unknown: where "
	  "events were lost, and before the first event of a thread whose state was not read when "
	  "the recording began.",
	  BY_TASKS, KEY(PROCESS) },
	{ "why", "Why did it take that long?",
	  "Give --pid, --comm or --during. After the states come the longest waits for a CPU and "
	  "what ran there instead, the requests, who ended the sleep, and the chain: from the "
	  "window's end back along the wake-ups, in the last second.",
	  0, KEY(PROCESS), .whole_only = true },
	{ "parallel", "Whose time was it, when several CPUs were busy at once?",
	  "wall: the time of day, each instant divided among the threads that ran; the rows add up "
	  "to the time in which any ran. With --histogram: how long how many CPUs were busy. Only "
	  "threads that --pid or --comm name count, if you give these.",
	  BY_TASKS, KEY(PROCESS) },
	{ "alloc", "Who allocated, freed and held how much memory?",
	  "Sources overlap; do not add them. The kernel batches RSS counters per CPU, some tens "
	  "of pages each. Levels of slab, page and heap count from the trace's start, so losses "
	  "before the window affect them too.",
	  BY_TASKS, KEY(PROCESS) },
	{ "spikes", "Which processes allocated much in a short time?",
	  "A spike reaches the threshold within the spike window. The threshold is ten times the "
	  "process's own median rate, at least 16 MiB, unless --spike-min sets it. Bursts without "
	  "a "
	  "pause longer than the spike window are one spike.",
	  KEY(PROCESS), KEY(PROCESS) },
	{ "io", "Who made which block requests, and how long did they take?",
	  "The process that last dirtied a file owns its write-back; the submitter owns other "
	  "requests; [unknown] has the rest. Latency is from queueing to completion.",
	  BY_REQUESTS | KEY(SIZE) | KEY(FILE), KEY(PROCESS) },
	{ "latency", "Where did block requests spend their time?",
	  "queue: until the first issue to the device; device: from the last issue to completion. "
	  "Percentiles are exact up to 65536 requests a row, otherwise within 0.4 %.",
	  BY_REQUESTS | KEY(SIZE), KEY(DEVICE) },
	{ "pattern", "How large are block requests, and do they follow each other?",
	  "Sequential: adjacent to one of the 16 requests of the same row that ended before.",
	  BY_REQUESTS, KEY(DEVICE) },
	{ "devices", "How busy was each block device?",
	  "The view counts all requests, whatever process owns them. A request is in flight from "
	  "queueing to completion. Devices stack; do not add layers.",
	  0, KEY(DEVICE) },
	{ "preempts", "Who took the CPU from whom?",
	  "A preemption counts where it happens. by oncpu: how long the preempting process then "
	  "ran at a stretch.",
	  0, KEY(PROCESS) },
	{ "timeline", "Which thread ran on which CPU, and when?",
	  "Without --every: each slice. With --every: the busiest process of each CPU and bin.", 0,
	  KEY(PROCESS) },
	{ "memory", "How much memory did processes have?",
	  "Levels are from the end of the window or bin. The kernel batches RSS counters per CPU: "
	  "each may be off by up to 32 pages (or twice the number of CPUs, if that is more) per "
	  "CPU; the error does not accumulate.",
	  KEYS_WHO & ~KEY(THREAD), KEY(PROCESS) },
	{ "leaks", "What was allocated in the window and not freed by its end?",
	  "HELD at exit: the process held this heap memory when it ended (or called exec); live: "
	  "still there. The rows include caches and other memory that is meant to stay. Sources "
	  "overlap; do not add them.",
	  BY_TASKS | KEY(SITE), KEY(PROCESS), .whole_only = true },
	{ "lifetimes", "How long did allocations live, and which were short-lived?",
	  "freed: by the window's end. temporary: within 1 ms. Sources overlap; do not add them.",
	  BY_TASKS, KEY(PROCESS), .whole_only = true },
	{ "sizes", "How large were allocations?",
	  "There is one row per power of two. Sources overlap; do not add them.", BY_TASKS,
	  KEY(PROCESS) },
	{ "stacks", "From which stacks was memory allocated?",
	  "The bytes are no totals: only allocations with a recorded stack count. User-space "
	  "frames come from frame pointers: code without them, as most C "
	  "libraries, cuts a stack short or omits callers. Sources overlap; do not add them.",
	  BY_TASKS, KEY(PROCESS), .whole_only = true },
	{ "offcpu", "Where did threads wait off the CPU, and who woke them?",
	  "`ebpfrec record --offcpu 10ms -- COMMAND` records waits of at least that long. A wait "
	  "counts, with its whole length, where it ends. User-space frames come from frame "
	  "pointers: code without them, as most C libraries, cuts a stack short or omits callers.",
	  BY_TASKS | KEY(WAKER), KEY(PROCESS), .whole_only = true },
	{ "bins", "What did each name do, in rows that many hosts can send and add up?",
	  "Rows of a name, of its requests by device and operation, of the steps of their latency, "
	  "and one without a name of the machine. The recorder counts, too.",
	  KEY(COMM) | KEY(UNIT) | KEY(CONTAINER) | KEY(USER), KEY(COMM), .whole_machine = true },
	{ "loss", "What was lost?",
	  "Losses are known per interval of about a second; a loss counts in every window that its "
	  "interval touches. Counted: the kernel offered the event, or skipped a program. "
	  "Inferred: no program ran, as while a task runs that the kernel hides from BPF; later "
	  "events tell.",
	  KEY(CPU), KEY(CPU) },
	{ "cost", "What did recording cost?",
	  "The recorder samples its counters about once a second; a window gets its share of a "
	  "sample. Time in the kernel is extrapolated from the measured runs, about one in "
	  "sixteen. machine_pct is the share of all CPUs.",
	  0, KEY(PROCESS) },
};

#define VIEW_CNT (sizeof(views) / sizeof(views[0]))

unsigned int report_views(const struct report_view **ret)
{
	*ret = views;
	return VIEW_CNT;
}

/* Of the page (analysis_page()) and of metrics (cmd/metrics): nobody asks for them by name. */
static const struct report_view more_views[] = {
	{ "page", "", "", 0, KEY(PROCESS) },
	{ "metrics", "", "", KEY(COMM) | KEY(UNIT) | KEY(CONTAINER) | KEY(USER), KEY(COMM) },
};

static const struct report_view *find_view(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(more_views) / sizeof(more_views[0]); i++)
		if (!strcmp(name, more_views[i].name))
			return &more_views[i];
	for (i = 0; i < VIEW_CNT; i++)
		if (!strcmp(views[i].name, name))
			return &views[i];
	return NULL;
}

/*
 * What a key is in SQL: its columns of a table-valued function, of a row r, and of cpu_usage, and
 * what to group by there. A key that is a text of processes has none: it is the same for all.
 */
enum key_mark { KEY_MARK_KEYS, KEY_MARK_ROW, KEY_MARK_CPU, KEY_MARK_GROUP, KEY_MARK_CNT };

static const char *const key_sql[REPORT_BY_CNT][KEY_MARK_CNT] = {
	[REPORT_BY_PROCESS] = { "p.pid AS pid, u.name AS comm,", "r.pid, r.comm,",
				"p.pid AS pid, p.comm AS comm,", "u.upid," },
	[REPORT_BY_THREAD] = { "p.pid AS pid, t.tid AS tid, u.name AS comm,",
			       "r.pid, r.tid, r.comm,",
			       "p.pid AS pid, t.tid AS tid, t.comm AS comm,", "u.utid," },
	[REPORT_BY_CPU] = { "u.cpu AS cpu,", "r.cpu,", "u.cpu AS cpu,", "u.cpu," },
	[REPORT_BY_DEVICE] = { "device_name(u.dev) AS device,", NULL,
			       "device_name(u.dev) AS device,", "u.dev," },
	[REPORT_BY_OP] = { "u.op AS op,", NULL, "u.op AS op,", "u.op," },
	[REPORT_BY_FILE] = { NULL, NULL, "u.file AS file,", "u.file," },
	[REPORT_BY_SIZE] = { "u.size_from_bytes AS size_from_bytes, "
			     "u.size_to_bytes AS size_to_bytes," },
	[REPORT_BY_SITE] = { [KEY_MARK_GROUP] = "u.source," },
};

/* The mark whose name at has, of the length len, as the keys' SQL. False: there is no such mark. */
static bool expand_keys(sqlite3_str *s, unsigned int keys, const char *at, size_t len)
{
	static const struct {
		const char *mark, *text;	/* of a key that is a text, with its name twice */
	} marks[KEY_MARK_CNT] = {
		[KEY_MARK_KEYS] = { "$keys", "task_key('%s', u.member_upid) AS %s," },
		[KEY_MARK_ROW] = { "$rkeys", "r.%.0s%s," },
		[KEY_MARK_CPU] = { "$cpukeys", "task_key('%s', p.upid) AS %s," },
		[KEY_MARK_GROUP] = { "$cpugroup", "task_key('%s', p.upid),%.0s" },
	};
	unsigned int m, k;

	for (m = 0; m < KEY_MARK_CNT; m++)
		if (strlen(marks[m].mark) == len && !strncmp(marks[m].mark, at, len))
			break;
	if (m == KEY_MARK_CNT)
		return false;
	/* both have the name as a column, and are made of it */
	if (keys & (KEY(PROCESS) | KEY(THREAD)))
		keys &= ~KEY(COMM);
	if (keys & KEY(THREAD))
		keys &= ~KEY(PROCESS);
	for (k = 0; k < REPORT_BY_CNT; k++) {
		if (!(keys & 1u << k))
			continue;
		if (KEYS_TEXT & 1u << k)
			sqlite3_str_appendf(s, marks[m].text, report_key_name(k),
					    report_key_name(k));
		else
			sqlite3_str_appendall(s, key_sql[k][m] ? key_sql[k][m] : "");
	}
	return true;
}

/* Replaces marks; a mark ends where its name does, so that $t is not part of $tid. */
static char *expand(const struct report_request *r, unsigned int keys, const char *text)
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
		else if (!expand_keys(s, keys, text, len))
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

/* Keys of which a view has rows of another kind: they stand alone. */
#define KEYS_ALONE (KEY(CPU) | KEY(VECTOR) | KEY(SITE) | KEY(WAKER))

int report_check_keys(const struct report_view *v, unsigned int by, struct err *e)
{
	char has[160], names[160];

	if (!by || !v->by_mask)
		return by ? err_set(e, -EINVAL, "view '%s' takes no --by", v->name) : 0;
	keys_format(v->by_mask, names, sizeof(names));
	keys_format(by & ~v->by_mask, has, sizeof(has));
	if (by & ~v->by_mask)
		return err_set(e, -EINVAL, "view '%s' has no rows by %s; it takes --by %s", v->name,
			       has, names);
	if (by & KEY(FILE) && by & (KEY(THREAD) | KEY(SIZE)))
		return err_set(e, -EINVAL,
			       "view '%s' has rows by file together with any key but thread and "
			       "size",
			       v->name);
	keys_format(by & KEYS_ALONE, has, sizeof(has));
	if (by & KEYS_ALONE && by & (by - 1))
		return err_set(e, -EINVAL,
			       "view '%s' has rows by %s alone, not together with other keys",
			       v->name, has);
	return 0;
}

/* Finds the column in what the report gives, and makes its name r->sort: name has room for it. */
static int check_sort(struct analysis *a, struct report_request *r, const char *inner,
		      char name[64], struct err *e)
{
	const char *col = r->sort, *at;
	bool ascending = col && *col == '-';
	char columns[1200];
	size_t len;

	if (!col || !*col || statement_columns(a, inner, columns, sizeof(columns)) < 0)
		return 0;	/* an error in it is found when it runs */
	col += ascending;
	for (at = columns; *col && *at; at += len, at += strspn(at, ", ")) {
		len = strcspn(at, ",");
		snprintf(name, 64, "%s%.*s", ascending ? "-" : "", (int)len, at);
		if (!column_is_called(name + ascending, col))
			continue;
		r->sort = name;
		return 0;
	}
	return err_set(e, -EINVAL, "--sort: there is no column \"%.40s\" here; there are %s", col,
		       columns);
}

/* ---- reports that are made of several ---- */

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
 * Runs a text with sections part by part. With sink->section each part is a result of its own,
 * otherwise all of it is one result: section, row, name, value.
 */
static int run_sections(struct analysis *a, const char *text, const struct statement_param *params,
			bool brief, const struct row_sink *sink, struct err *e)
{
	static const char *const flat_names[] = { "section", "row", "name", "value" };
	const char *at = strstr(text, MARK), *next;
	struct flat f = { .out = sink };
	struct row_sink flat_sink = { .ctx = &f, .begin = flat_begin, .row = flat_row };
	int ret = 0;

	if (!sink->section && sink->begin)
		ret = sink->begin(sink->ctx, 4, flat_names);
	for (; at && ret >= 0; at = next) {
		const char *title = at + strlen(MARK);
		bool more = *title == '+'; /* not on the first screen */
		size_t len;

		ret = 0;
		next = strstr(at + 1, MARK);
		if (more && brief)
			continue;
		title += more;
		len = strcspn(title, "\n");
		if (len >= sizeof(f.title))
			len = sizeof(f.title) - 1;
		memcpy(f.title, title, len);
		f.title[len] = 0;
		if (sink->section)
			ret = sink->section(sink->ctx, f.title);
		if (!ret)
			ret = run_part(a, at, next ? (size_t)(next - at) : strlen(at), params,
				       sink->section ? sink : &flat_sink, e);
	}
	if (ret >= 0 && !sink->section && sink->end)
		ret = sink->end(sink->ctx);
	return ret < 0 ? ret : 0;
}

/* ---- one report ---- */

static int run_view(struct analysis *a, const struct report_request *r, const struct report_view *v,
		    unsigned int keys, const struct row_sink *sink, struct err *e)
{
	char by[160];
	bool brief = sink->section && !r->summary_rows;
	struct statement_param params[] = {
		{ ":from", VALUE_INT, context_rel_clamped(a, r->from_ns), NULL },
		{ ":to", VALUE_INT, context_rel_clamped(a, r->to_ns), NULL },
		{ ":every", VALUE_INT, r->every_ns > INT64_MAX ? INT64_MAX : (int64_t)r->every_ns,
		  NULL },
		{ ":by", VALUE_TEXT, 0, by },
		{ ":top", VALUE_INT, r->summary_rows ? r->summary_rows : SUMMARY_ROWS, NULL },
		{ ":brief", VALUE_INT, brief, NULL },
		{ ":spike_window", VALUE_INT, (int64_t)r->spike_window_ns, NULL },
		{ ":spike_min", VALUE_INT, (int64_t)r->spike_min_bytes, NULL },
		{ ":continues", VALUE_INT, r->continues, NULL },
		{ ":peaks", r->peaks ? VALUE_TEXT : VALUE_NULL, 0, r->peaks },
		{ NULL, VALUE_NULL, 0, NULL },
	};
	struct report_request sorted = *r;
	char name[64], column[64];
	const char *text;
	char *sql;
	int ret;

	if (v->by_mask & KEY(OP))
		keys = keys_of_requests(keys);
	/* beside a file the other keys are columns of the same shape */
	keys_format(keys & KEY(FILE) ? KEY(FILE) : keys, by, sizeof(by));
	snprintf(name, sizeof(name), "report_%s_%s", v->name, r->every_ns ? "every" : "whole");
	text = schema_text(name);
	snprintf(name, sizeof(name), "report_%s_by_%.32s", v->name, by);
	if (r->by && schema_text(name))
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
	if (strstr(text, MARK))
		return run_sections(a, text, params, brief, sink, e);
	sql = expand(r, keys, text);
	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	ret = check_sort(a, &sorted, sql, column, e);
	if (ret < 0) {
		sqlite3_free(sql);
		return ret;
	}
	sql = finish_sql(sql, &sorted);
	if (!sql)
		return err_set(e, -ENOMEM, "out of memory");
	ret = statement_run(a, sql, params, sink, e);
	sqlite3_free(sql);
	return ret < 0 ? err_prefix(e, ret, "report %s", v->name) : ret;
}

/* With rows of 0 where nothing happened. */
static int run_filled(struct analysis *a, const struct report_request *r,
		      const struct report_view *v, unsigned int keys, const struct row_sink *sink,
		      struct err *e)
{
	struct report_request whole = *r;
	struct report_bins *bins;
	int ret = report_bins_new(&bins, a, r, sink);

	if (ret < 0)
		return err_set(e, ret, "out of memory");
	if (!bins)
		return run_view(a, r, v, keys, sink, e);
	whole.every_ns = whole.limit = 0;
	whole.sort = NULL;
	if (r->fill == REPORT_FILL_GROUPS)
		ret = run_view(a, &whole, v, keys, report_bins_groups(bins), e);
	if (!ret)
		ret = run_view(a, r, v, keys, report_bins_rows(bins), e);
	if (r->ret_sparse)
		*r->ret_sparse = report_bins_is_sparse(bins);
	report_bins_free(bins);
	return ret;
}

int analysis_report(struct analysis *a, const struct report_request *r, const struct row_sink *sink,
		    struct err *e)
{
	const struct report_view *v = find_view(r->view ? r->view : "summary");
	struct scope_filter f = {
		.pids = r->pids, .pid_cnt = r->pid_cnt, .comm = r->comm,
		.with_recorder = r->with_recorder, .with_idle = r->with_idle,
		.merges_unknown = r->merge_unknown,
	};
	unsigned int by;
	int ret;

	if (!v)
		return err_set(e, -EINVAL,
			       "there is no report \"%.40s\"; `ebpfrec report --list` shows all",
			       r->view);
	by = r->by ? r->by : v->by_default;
	if (r->every_ns && v->whole_only)
		return err_set(e, -EINVAL, "report %s has no --every: it looks at the window's end",
			       v->name);
	ret = report_check_keys(v, r->by, e);
	if (ret < 0)
		return ret;
	if (v->whole_machine)
		f.with_recorder = f.with_idle = true;
	f.comm_of_thread = by & KEY(THREAD);
	f.with_pseudo = by == KEY(CPU);
	f.workload_only = context_workload_only(a);
	scope_done(&a->scope);
	ret = scope_init(&a->scope, &a->ids, &f);
	if (ret < 0)
		return err_set(e, ret, "out of memory");
	ret = r->fill && r->every_ns ? run_filled(a, r, v, by, sink, e) :
				       run_view(a, r, v, by, sink, e);
	scope_done(&a->scope);
	return ret;
}
