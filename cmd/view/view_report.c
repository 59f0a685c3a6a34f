/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "cmd/view/view_report.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/render/render.h"

#define STACKS_SHOWN 3000	/* of a flame graph: the largest ones */
#define SECTION_ROWS 100	/* of `why`; the page shows the first until more are asked for */
#define WAITERS_SHOWN 50
#define FOUND_MAX    15		/* rows of each kind that a search gives */
#define COLUMNS_MAX  32

static const char json[] = "application/json; charset=utf-8";

struct view_served {
	const char *name;
	uint64_t limit;
	unsigned int by;
	bool stacks_apart;
};
#define BY_PROCESS (1u << REPORT_BY_PROCESS)
static const struct view_served served[] = {
	{ "why" }, { "spikes" },
	{ "profile", STACKS_SHOWN, BY_PROCESS, true }, { "stacks", STACKS_SHOWN, BY_PROCESS },
	{ "offcpu", STACKS_SHOWN, BY_PROCESS },
};

static const struct view_served *find_served(const char *name)
{
	for (size_t i = 0; name && i < sizeof(served) / sizeof(served[0]); i++)
		if (!strcmp(served[i].name, name))
			return &served[i];
	return NULL;
}

/* An argument that is a process or thread id. 0: missing or not a number. */
static uint32_t take_id(const struct http_request *q, const char *name)
{
	const char *text = http_request_argument(q, name);

	return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

int view_render_answer(int (*write)(void *ctx, const struct row_sink *out, struct err *e),
		       void *ctx, struct http_answer *ret, struct err *e)
{
	FILE *f = open_memstream(&ret->text, &ret->bytes);
	const struct render_options o = { .format = RENDER_JSON, .out = f };
	struct render *out = NULL;
	int c = f ? render_new(&out, &o) : -ENOMEM;

	c = c ?: write(ctx, render_sink(out), e);
	render_free(out);
	if (f && fclose(f) && !c)
		c = -ENOMEM;
	ret->type = json;
	return c;
}

/* ---- a view ---- */

struct question {
	struct analysis *a;
	struct report_request r;
	uint64_t from_ns, to_ns;	/* the request's, from the trace's start */
};

static int write_view(void *ctx, const struct row_sink *out, struct err *e)
{
	struct question *question = ctx;

	return analysis_report(question->a, &question->r, out, e);
}

/* ---- the waiters of a thread ---- */

/* cmd_view has checked these. */
static void take_window(struct question *question, const struct http_request *q)
{
	question->from_ns = strtoull(http_request_argument(q, "from"), NULL, 10);
	question->to_ns = strtoull(http_request_argument(q, "to"), NULL, 10);
}

/*
 * Rows by waiting thread: threads whose sleeps were ended by a thread with this number, or of this
 * process.
 */
static int write_waiters(void *ctx, const struct row_sink *out, struct err *e)
{
	const struct question *question = ctx;
	const struct report_request *r = &question->r;
	char sql[1400];

	snprintf(sql, sizeof(sql),
		 "SELECT w.comm AS waiter, w.tid AS tid, e.kind AS kind, "
		 "coalesce(e.object, e.call) AS object, sum(e.waits) AS waits, "
		 "sum(e.wait_ns) AS wait_ns, max(e.wait_max_ns) AS wait_max_ns "
		 "FROM wait_ends(%" PRIu64 ", %" PRIu64 ") AS e "
		 "JOIN threads AS x ON x.utid = e.ender_utid "
		 "JOIN processes AS p ON p.upid = x.upid JOIN threads AS w ON w.utid = e.utid "
		 "WHERE %s = %u AND w.utid <> x.utid AND e.kind <> 'kernel' "
		 "GROUP BY w.utid, e.kind, coalesce(e.object, e.call) HAVING sum(e.waits) > 0 "
		 "ORDER BY sum(e.wait_ns) DESC LIMIT %d",
		 question->from_ns, question->to_ns, r->tid_cnt ? "x.tid" : "p.pid",
		 r->tid_cnt ? r->tids[0] : r->pids[0], WAITERS_SHOWN);
	return analysis_sql(question->a, sql, out, e);
}

int view_report_rows(struct analysis *a, const struct http_request *q, uint64_t from_ns,
		     uint64_t to_ns, struct http_answer *ret, struct err *e)
{
	uint32_t pid = take_id(q, "pid"), tid = take_id(q, "tid");
	const char *view = http_request_argument(q, "view");
	const struct view_served *v = find_served(view);
	const char *request = http_request_argument(q, "request");
	struct question question = { a, {
		.from_ns = from_ns, .to_ns = to_ns, .summary_rows = SECTION_ROWS,
		.comm = http_request_argument(q, "comm"),
		.pids = pid ? &pid : NULL, .pid_cnt = pid > 0,
		.tids = tid ? &tid : NULL, .tid_cnt = tid > 0,
		.request = request ? strtoull(request, NULL, 10) : 0,
		.workload = http_request_argument(q, "workload") } };

	if (view && !strcmp(view, "waiters") && (pid || tid)) {
		take_window(&question, q);
		return view_render_answer(write_waiters, &question, ret, e);
	}
	if (!v || (request && strcmp(view, "why")))
		return -EINVAL;
	question.r.view = v->name;
	question.r.limit = v->limit;
	question.r.by = v->by;
	question.r.stacks_apart = v->stacks_apart;
	return view_render_answer(write_view, &question, ret, e);
}

/* ---- a search ---- */

/* Columns in which a word is looked for. */
static const char *const names[] = { "pid", "tid", "comm", "file", "object", "holder",
				     "cmdline", NULL };

/* Passes on the rows that contain the word, at most FOUND_MAX. */
struct finder {
	struct analysis *a;
	uint64_t from_ns, to_ns, start_ns;	/* start_ns: of the trace */
	const char *word;
	const struct row_sink *next;
	unsigned int col_cnt, found;
	bool is_name[COLUMNS_MAX];
};

static int finder_begin(void *ctx, unsigned int col_cnt, const char *const *col_names)
{
	struct finder *f = ctx;

	f->col_cnt = col_cnt < COLUMNS_MAX ? col_cnt : COLUMNS_MAX;
	f->found = 0;
	for (unsigned int i = 0; i < f->col_cnt; i++)
		f->is_name[i] = render_is_one_of(col_names[i], names);
	return f->next->begin(f->next->ctx, col_cnt, col_names);
}

static bool has_word(const struct value *v, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; v->type == VALUE_TEXT && i + n <= v->text_bytes; i++)
		if (!strncasecmp(v->text + i, word, n))
			return true;
	return v->type == VALUE_INT && isdigit((unsigned char)*word) &&
	       strtoll(word, NULL, 10) == v->i;
}

static int finder_row(void *ctx, const struct value *values)
{
	struct finder *f = ctx;
	bool is_found = false;

	for (unsigned int i = 0; i < f->col_cnt && !is_found; i++)
		is_found = f->is_name[i] && has_word(&values[i], f->word);
	if (!is_found || f->found++ >= FOUND_MAX)
		return 0;
	return f->next->row(f->next->ctx, values);
}

static int finder_end(void *ctx)
{
	struct finder *f = ctx;

	return f->next->end(f->next->ctx);
}

static int write_found(void *ctx, const struct row_sink *out, struct err *e)
{
	static const struct {
		const char *title, *view;
		unsigned int by;
	} kinds[] = {
		{ "Threads", "states", 1u << REPORT_BY_THREAD },
		{ "Files", "io", 1u << REPORT_BY_FILE | 1u << REPORT_BY_PROCESS },
		{ "Locks", "locks", 0 },
	};
	struct finder *f = ctx;
	const struct row_sink sink = { f, finder_begin, finder_row, finder_end };
	char commands[200];
	int c;

	f->next = out;
	snprintf(commands, sizeof(commands),
		 "SELECT cmdline, comm, pid FROM processes WHERE cmdline <> '' "
		 "AND start_ns < %" PRIu64 " AND (end_ns IS NULL OR end_ns > %" PRIu64 ") "
		 "ORDER BY upid",
		 f->to_ns - f->start_ns, f->from_ns - f->start_ns);
	c = out->section(out->ctx, "Commands");
	c = c ?: analysis_sql(f->a, commands, &sink, e);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !c; i++) {
		const struct report_request r = { .view = kinds[i].view, .by = kinds[i].by,
						  .from_ns = f->from_ns, .to_ns = f->to_ns };

		c = out->section(out->ctx, kinds[i].title);
		c = c ?: analysis_report(f->a, &r, &sink, e);
	}
	return c;
}

int view_report_search(struct analysis *a, const struct http_request *q, uint64_t from_ns,
		       uint64_t to_ns, struct http_answer *ret, struct err *e)
{
	struct finder f = { .a = a, .from_ns = from_ns, .to_ns = to_ns,
			    .word = http_request_argument(q, "word") };

	if (!f.word || !*f.word)
		return -EINVAL;
	/* "from" counts from it, and cmd_view has checked it */
	f.start_ns = from_ns - strtoull(http_request_argument(q, "from"), NULL, 10);
	return view_render_answer(write_found, &f, ret, e);
}
