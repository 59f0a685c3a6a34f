/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* cause_facts: queries and phrases shared by the rules of causes(). */
#include "analyze/tables/cause_facts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/strpool.h"

struct reader {
	struct causes *c;
	int (*row)(struct causes *c, const struct value *v, void *ctx);
	void *ctx;
};

static int read_row(void *ctx, const struct value *v)
{
	const struct reader *r = ctx;

	return r->row(r->c, v, r->ctx);
}

int causes_query_with(struct causes *c, const char *sql, const struct statement_param *params,
		      int (*row)(struct causes *c, const struct value *v, void *ctx), void *ctx)
{
	struct reader r = { c, row, ctx };
	const struct row_sink sink = { .ctx = &r, .row = read_row };

	return statement_run(c->a, sql, params, &sink, c->e);
}

int causes_query(struct causes *c, const char *sql, const char *kind, const char *comm,
		 int (*row)(struct causes *c, const struct value *v, void *ctx), void *ctx)
{
	const struct statement_param params[] = {
		{ ":from", value_int((uint64_t)c->from_ns) },
		{ ":to", value_int((uint64_t)c->to_ns) },
		{ ":kind", value_text(kind) },
		{ ":comm", value_text(comm) },
		{ .name = NULL },
	};

	return causes_query_with(c, sql, params, row, ctx);
}

int causes_window(struct causes *c, struct analysis *a, const struct table_query *q, struct err *e)
{
	int64_t all_ns = (int64_t)(a->end_ns - a->start_ns);
	int ret;

	c->a = a;
	c->to_ns = all_ns;
	ret = window_arg_ns(q, 0, "from_ns", &c->from_ns, e);
	ret = ret ?: window_arg_ns(q, 1, "to_ns", &c->to_ns, e);
	/* clip the window to the trace */
	c->from_ns = c->from_ns < 0 ? 0 : c->from_ns;
	c->to_ns = c->to_ns > all_ns ? all_ns : c->to_ns;
	c->to_ns = c->to_ns < c->from_ns ? c->from_ns : c->to_ns;
	c->span_ns = c->to_ns > c->from_ns ? (uint64_t)(c->to_ns - c->from_ns) : 1;
	return ret;
}

const char *causes_text(struct causes *c, const struct value *v)
{
	return v->type == VALUE_TEXT ? strpool_put(c->texts, v->text) : NULL;
}

bool causes_is_idle_kind(const char *kind)
{
	static const char *const kinds[] = { "poll",   "timer",	    "child",
					     "signal", "condition", "kernel" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i], kind))
			return true;
	return false;
}

void causes_append(char *to, const char *format, ...)
{
	size_t len = strlen(to);
	va_list args;

	va_start(args, format);
	vsnprintf(to + len, ANSWER_BYTES - len, format, args);
	va_end(args);
}

struct sentence *causes_add(struct causes *c, const char *rule, const char *verdict)
{
	if (array_add(&c->sentences, &c->cap, &c->cnt,
		      (struct sentence){ .rule = rule, .verdict = verdict }) < 0) {
		c->failed = true;
		return &c->none;
	}
	return &c->sentences[c->cnt - 1];
}

static const struct phrase phrases[] = {
	{ "running", "ran for", "on CPUs" },
	{ "throttled", "was throttled for", "by a quota of CPU time" },
	{ "stopped", "was stopped for", "" },
	{ "cpu", "waited", "for a CPU" },
	{ "disk", "waited", "for a disk" },
	{ "lock", "waited", "for locks" },
	{ "condition", "waited", "for condition variables" },
	{ "fault", "waited", "for pages" },
	{ "poll", "waited", "for events" },
	{ "call", "waited", "in system calls" },
	{ "kernel", "waited", "for work, as kernel threads" },
	{ "socket", "waited", "for sockets" },
	{ "pipe", "waited", "for pipes" },
	{ "timer", "waited", "for timers" },
	{ "child", "waited", "for children" },
	{ "signal", "waited", "for signals" },
	{ "unknown", "did what is not known for", "" },
};

const struct phrase *causes_phrase(const char *kind)
{
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
		if (!strcmp(phrases[i].kind, kind))
			return &phrases[i];
	return &phrases[sizeof(phrases) / sizeof(phrases[0]) - 1];
}

/*
 * Selects, for waits of :kind: the object with the longest total wait; the name that ended most of
 * the waits for this object (or of all waits, if the object has less than half of the time); and
 * the main activities of that name during the waits. Up to two rows, one per activity.
 */
const char causes_ends_sql[] =
	"WITH e AS MATERIALIZED (SELECT e.*, t.upid AS upid, n.comm AS comm, n.tid AS tid "
	"FROM wait_ends(:from, :to) AS e JOIN threads AS t ON t.utid = e.utid "
	"JOIN processes AS p ON p.upid = t.upid "
	"LEFT JOIN threads AS n ON n.utid = e.ender_utid WHERE e.kind = :kind "
	"AND (:comm IS NULL OR t.comm = :comm OR p.comm = :comm)), "
	"object AS MATERIALIZED (SELECT object, call, sum(wait_ns) AS ns FROM e "
	"WHERE object NOT NULL GROUP BY upid, object ORDER BY ns DESC, object LIMIT 1), "
	"most AS MATERIALIZED (SELECT * FROM e WHERE comm NOT NULL "
	"AND (NOT EXISTS (SELECT 1 FROM object WHERE 2 * ns >= (SELECT sum(wait_ns) "
	"FROM wait_kinds(:from, :to, 0, 'none') WHERE kind = :kind)) "
	"OR object = (SELECT object FROM object))), "
	"ender AS MATERIALIZED (SELECT comm, sum(wait_ns) AS ns FROM most GROUP BY comm "
	"ORDER BY ns DESC, comm LIMIT 1) "
	"SELECT (SELECT object FROM object), (SELECT call FROM object), "
	"coalesce((SELECT ns FROM object), 0), ender.comm, coalesce(ender.ns, 0), "
	"(SELECT coalesce(sum(wait_ns), 0) FROM most), m.meanwhile, coalesce(m.ns, 0), "
	"(SELECT tid FROM most WHERE comm = ender.comm ORDER BY wait_ns DESC LIMIT 1) "
	"FROM (SELECT 1) LEFT JOIN ender LEFT JOIN (SELECT meanwhile, sum(meanwhile_ns) AS ns "
	"FROM most WHERE meanwhile NOT NULL AND comm = (SELECT comm FROM ender) GROUP BY meanwhile "
	"HAVING 20 * ns >= (SELECT ns FROM ender) ORDER BY ns DESC, meanwhile LIMIT 2) AS m";

int causes_enders_row(struct causes *c, const struct value *v, void *ctx)
{
	struct enders *x = ctx;

	x->object = causes_text(c, &v[0]);
	x->call = causes_text(c, &v[1]);
	x->object_ns = (uint64_t)v[2].i;
	x->ender = causes_text(c, &v[3]);
	x->ender_ns = (uint64_t)v[4].i;
	x->all_ns = (uint64_t)v[5].i;
	x->tid = (uint64_t)v[8].i;
	if (v[6].type == VALUE_TEXT && x->ender_ns)
		causes_append(x->meanwhile, "%s%s %llu %%", *x->meanwhile ? ", " : "", v[6].text,
			      (unsigned long long)(100 * (uint64_t)v[7].i / x->ender_ns));
	return 0;
}

/* Reading v[3] is safe for rows of three values: statement_run() adds a 0 after the last one. */
int causes_fact_row(struct causes *c, const struct value *v, void *ctx)
{
	struct fact *f = ctx;

	if (!f->is_found)
		*f = (struct fact){ causes_text(c, &v[0]), { v[1].i, v[2].i, v[3].i }, true };
	return 0;
}

/* Selects the most throttled group, and its last quota or that of an ancestor. */
const char causes_quota_sql[] =
	"SELECT coalesce(q.quota_of, p.cgroup), q.quota_ns, q.period_ns "
	"FROM wait_kinds(:from, :to, 0, 'process') AS u JOIN processes AS p ON p.upid = u.upid "
	"JOIN quotas AS q ON q.cgroup_id = p.cgroup_id AND q.from_ns = (SELECT max(from_ns) "
	"FROM quotas WHERE cgroup_id = q.cgroup_id AND from_ns < :to) "
	"WHERE u.kind = 'throttled' AND p.comm = coalesce(:comm, p.comm) "
	"AND coalesce(q.quota_of, p.cgroup) NOT NULL "
	"GROUP BY 1 ORDER BY sum(u.wait_ns) DESC, 1 LIMIT 1";
