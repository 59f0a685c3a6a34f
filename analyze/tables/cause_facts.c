/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* cause_facts: queries and phrases shared by the rules of causes(), and facts about all threads. */
#include "analyze/tables/cause_facts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/table.h"
#include "base/array.h"
#include "base/strpool.h"
#include "table_columns.h"

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

/* Selects the most throttled group, and the last quota of this group or of its ancestor. */
const char causes_quota_sql[] =
	"SELECT coalesce(q.quota_of, p.cgroup), q.quota_ns, q.period_ns "
	"FROM wait_kinds(:from, :to, 0, 'process') AS u JOIN processes AS p ON p.upid = u.upid "
	"JOIN quotas AS q ON q.cgroup_id = p.cgroup_id AND q.from_ns = (SELECT max(from_ns) "
	"FROM quotas WHERE cgroup_id = q.cgroup_id AND from_ns < :to) "
	"WHERE u.kind = 'throttled' AND p.comm = coalesce(:comm, p.comm) "
	"AND coalesce(q.quota_of, p.cgroup) NOT NULL "
	"GROUP BY 1 ORDER BY sum(u.wait_ns) DESC, 1 LIMIT 1";

/*
 * Slices: finds threads that used the CPU while threads of a name waited for it, for
 * causes().
 *
 *     slices of the window --[longest waits of the name]--> slices that overlap them --> a name
 *
 * In a window with few slices, all slices are read once and kept for all names. Otherwise the
 * slices are read twice per name.
 */

#define LONGEST_WAITS 20

struct ran_instead {
	struct hash_map threads;	/* threads of the name, by utid */
	struct cause_slice waits[LONGEST_WAITS];	/* the longest wait first */
	unsigned int wait_cnt;
	struct hash_map utids;		/* threads that ran during waits -> number */
	uint64_t *ran_ns;		/* time per thread, by its number in utids */
	uint32_t *utid_of;
	size_t ran_cap, utid_cap;
	struct fact *shares;		/* time per name */
	size_t share_cnt, share_cap;
};

typedef int (*each_slice)(struct ran_instead *r, const struct cause_slice *s);

static int scan_slices(struct causes *c, struct ran_instead *r, each_slice each)
{
	struct table_query q = { .from_ns = INT64_MIN, .to_ns = INT64_MAX };
	bool is_kept = !r;
	struct table_scan scan = { 0 };
	const struct cell *row;
	int ret;

	q.cols_used = 1u << COL_SLICE_UTID | 1u << COL_SLICE_CPU | 1u << COL_SLICE_START_NS |
		      1u << COL_SLICE_END_NS | 1u << COL_SLICE_WAIT_NS;
	cell_int(&q.args[0], c->from_ns);
	cell_int(&q.args[1], c->to_ns);
	ret = table_scan_open(&scan, c->a, table_find("sched_slices"), &q, c->e);
	while (ret >= 0 && (ret = table_scan_next(&scan, &row, c->e)) > 0) {
		const struct cause_slice s = {
			.start_ns = row[COL_SLICE_START_NS].i, .end_ns = row[COL_SLICE_END_NS].i,
			.wait_ns = row[COL_SLICE_WAIT_NS].i, .cpu = row[COL_SLICE_CPU].i,
			.utid = row[COL_SLICE_UTID].i,
		};

		ret = is_kept ? array_add(&c->slices, &c->slice_cap, &c->slice_cnt, s) :
				each(r, &s);
	}
	table_scan_done(&scan);
	return ret;
}

static int all_slices(struct causes *c, struct ran_instead *r, each_slice each)
{
	int ret = 0;

	if (!c->keeps_slices)
		return scan_slices(c, r, each);
	if (!c->has_slices)
		ret = scan_slices(c, NULL, NULL);
	c->has_slices = !ret;
	for (size_t i = 0; i < c->slice_cnt && !ret; i++)
		ret = each(r, &c->slices[i]);
	return ret;
}

static const char threads_sql[] =
	"SELECT utid FROM threads WHERE thread_in_scope(utid) AND (:comm IS NULL OR comm = :comm "
	"OR upid IN (SELECT upid FROM processes WHERE comm = :comm))";

static int thread_row(struct causes *c, const struct value *v, void *ctx)
{
	struct ran_instead *r = ctx;
	uint32_t number;
	int ret = hash_map_intern(&r->threads, (uint64_t)v[0].i, 0, &number);

	(void)c;
	return ret < 0 ? ret : 0;
}

/* Keeps the longest waits; among equal waits, the earliest. */
static int add_wait(struct ran_instead *r, const struct cause_slice *s)
{
	unsigned int i = r->wait_cnt;
	uint32_t number;

	if (s->wait_ns <= 0 || !hash_map_find(&r->threads, (uint64_t)s->utid, 0, &number))
		return 0;
	while (i && (r->waits[i - 1].wait_ns < s->wait_ns ||
		     (r->waits[i - 1].wait_ns == s->wait_ns &&
		      r->waits[i - 1].start_ns > s->start_ns))) {
		if (i < LONGEST_WAITS)
			r->waits[i] = r->waits[i - 1];
		i--;
	}
	if (i < LONGEST_WAITS)
		r->waits[i] = *s;
	r->wait_cnt += r->wait_cnt < LONGEST_WAITS;
	return 0;
}

static int add_time(struct ran_instead *r, const struct cause_slice *s, int64_t ns)
{
	uint32_t number;
	int ret = hash_map_intern(&r->utids, (uint64_t)s->utid, 0, &number);

	if (ret < 0 || array_reserve(&r->ran_ns, &r->ran_cap, number + 1ul) < 0 ||
	    array_reserve(&r->utid_of, &r->utid_cap, number + 1ul) < 0)
		return -ENOMEM;
	if (ret)
		r->ran_ns[number] = 0;
	r->utid_of[number] = (uint32_t)s->utid;
	r->ran_ns[number] += (uint64_t)ns;
	return 0;
}

static int add_overlaps(struct ran_instead *r, const struct cause_slice *s)
{
	int ret = 0;

	for (unsigned int i = 0; i < r->wait_cnt && !ret; i++) {
		const struct cause_slice *w = &r->waits[i];
		int64_t from_ns = w->start_ns - w->wait_ns, to_ns = w->start_ns;

		from_ns = s->start_ns > from_ns ? s->start_ns : from_ns;
		to_ns = s->end_ns < to_ns ? s->end_ns : to_ns;
		if (s->cpu == w->cpu && from_ns < to_ns)
			ret = add_time(r, s, to_ns - from_ns);
	}
	return ret;
}

static int name_row(struct causes *c, const struct value *v, void *ctx)
{
	*(const char **)ctx = causes_text(c, &v[0]);
	return 0;
}

/* Adds a thread's time to the time of its name. */
static int add_share(struct causes *c, struct ran_instead *r, uint32_t number)
{
	const struct statement_param params[] = {
		{ ":utid", value_int(r->utid_of[number]) },
		{ .name = NULL },
	};
	const char *name = NULL;
	size_t i = 0;
	int ret = causes_query_with(c, "SELECT comm FROM threads WHERE utid = :utid", params,
				    name_row, &name);

	if (ret || !name)
		return ret;
	while (i < r->share_cnt && r->shares[i].text != name)
		i++;
	if (i == r->share_cnt)
		ret = array_add(&r->shares, &r->share_cap, &r->share_cnt,
				(struct fact){ .text = name, .is_found = true });
	if (!ret)
		r->shares[i].v[0] += (int64_t)r->ran_ns[number];
	return ret;
}

/* Returns the name with the largest share of the waits, in percent. */
static struct fact largest(const struct ran_instead *r)
{
	struct fact top = { 0 };
	int64_t wait_ns = 0;

	for (unsigned int i = 0; i < r->wait_cnt; i++)
		wait_ns += r->waits[i].wait_ns;
	for (size_t i = 0; i < r->share_cnt && wait_ns; i++) {
		struct fact f = r->shares[i];

		f.v[0] = (int64_t)(100 * (uint64_t)f.v[0] / (uint64_t)wait_ns);
		if (!top.is_found || f.v[0] > top.v[0] ||
		    (f.v[0] == top.v[0] && strcmp(f.text, top.text) < 0))
			top = f;
	}
	return top;
}

int causes_ran_instead(struct causes *c, const char *comm, struct fact *ret)
{
	struct ran_instead r = { .wait_cnt = 0 };
	int err = causes_query(c, threads_sql, NULL, comm, thread_row, &r);

	err = err ?: all_slices(c, &r, add_wait);
	if (!err && r.wait_cnt)
		err = all_slices(c, &r, add_overlaps);
	for (uint32_t i = 0; i < r.utids.cnt && !err; i++)
		err = add_share(c, &r, i);
	if (!err)
		*ret = largest(&r);
	hash_map_done(&r.threads);
	hash_map_done(&r.utids);
	free(r.ran_ns);
	free(r.utid_of);
	free(r.shares);
	return err;
}

/*
 * Facts about all threads together, for causes(): their main activity, its object, and the name
 * that ended it.
 *
 *     times by kind --[main kind]--> its object, enders, quota, file, CPU's threads --> sentences
 */

/*
 * Selects the time of all threads per kind and system call. The last column adds up to their
 * lifetime.
 */
static const char kinds_sql[] =
	"SELECT 'running', NULL, running_ns, running_ns + runnable_ns + preempted_ns "
	"+ throttled_ns + disk_ns + uninterruptible_ns + sleeping_ns + stopped_ns + unknown_ns "
	"FROM thread_states(:from, :to, 0, 'none') UNION ALL "
	"SELECT kind, call, sum(wait_ns), 0 FROM wait_kinds(:from, :to, 0, 'none') GROUP BY 1, 2";
static const char file_sql[] =
	"SELECT file, sum(bytes), 0 FROM block_requests WHERE end_ns >= :from AND end_ns < :to "
	"AND iif(owner_upid = submitter_upid, thread_in_scope(submitter_utid), "
	"in_scope(owner_upid)) GROUP BY file ORDER BY sum(latency_ns) DESC, file LIMIT 1";
static const char others_sql[] =
	"WITH r AS MATERIALIZED (SELECT b.*, iif(b.owner_upid = b.submitter_upid, "
	"thread_in_scope(b.submitter_utid), in_scope(b.owner_upid)) AS mine "
	"FROM block_requests AS b WHERE b.end_ns >= :from AND b.end_ns < :to) "
	"SELECT t.comm, sum(r.bytes) AS bytes, 0 FROM r "
	"JOIN threads AS t ON t.utid = r.submitter_utid "
	"WHERE NOT r.mine AND NOT thread_in_scope(r.submitter_utid) "
	"AND r.dev IN (SELECT dev FROM r WHERE mine) GROUP BY t.upid, t.comm "
	"ORDER BY bytes DESC, t.upid, t.comm LIMIT 1";

struct kind_time {
	const char *kind, *call;
	uint64_t ns, call_ns;
};

struct together {
	struct kind_time kinds[32];
	unsigned int kind_cnt;
	uint64_t life_ns;
	struct enders ends;
};

static int kind_row(struct causes *c, const struct value *v, void *ctx)
{
	struct together *t = ctx;
	const char *kind = causes_text(c, &v[0]);
	uint64_t ns = v[2].type == VALUE_INT ? (uint64_t)v[2].i : 0;
	unsigned int i = 0;

	if (!kind)
		return 0;
	t->life_ns += (uint64_t)v[3].i;
	while (i < t->kind_cnt && strcmp(t->kinds[i].kind, kind))
		i++;
	if (i == sizeof(t->kinds) / sizeof(t->kinds[0]))
		return 0;
	if (i == t->kind_cnt)
		t->kinds[t->kind_cnt++] = (struct kind_time){ .kind = kind };
	t->kinds[i].ns += ns;
	if (v[1].type == VALUE_TEXT && ns > t->kinds[i].call_ns) {
		t->kinds[i].call = causes_text(c, &v[1]);
		t->kinds[i].call_ns = ns;
	}
	return 0;
}

static bool is_busy_kind(const char *kind)
{
	return !causes_is_idle_kind(kind) && strcmp(kind, "stopped") && strcmp(kind, "unknown");
}

/*
 * Returns the kind with most time. Kinds of idle waits count only if no other kind has a twentieth
 * of the time. *idle: the main idle kind if it has more time than the returned kind, and at least
 * half of all time; else NULL.
 */
static const struct kind_time *main_kind(const struct together *t, const struct kind_time **idle)
{
	const struct kind_time *top = NULL;

	*idle = NULL;
	for (unsigned int i = 0; i < t->kind_cnt; i++) {
		const struct kind_time *k = &t->kinds[i];
		int ranks[2] = { 0, 0 };

		if (!k->ns)
			continue;
		for (unsigned int j = 0; top && j < 2; j++) {
			const struct kind_time *of = j ? top : k;

			ranks[j] = !strcmp(of->kind, "kernel")				 ? 0
				   : is_busy_kind(of->kind) && 20 * of->ns >= t->life_ns ? 2
											 : 1;
		}
		if (!top || ranks[0] > ranks[1] ||
		    (ranks[0] == ranks[1] &&
		     (k->ns > top->ns || (k->ns == top->ns && strcmp(k->kind, top->kind) < 0))))
			top = k;
	}
	for (unsigned int i = 0; top && i < t->kind_cnt; i++) {
		const struct kind_time *k = &t->kinds[i];

		if (causes_is_idle_kind(k->kind) && strcmp(k->kind, "kernel") && k != top &&
		    k->ns > top->ns && 2 * k->ns >= t->life_ns && (!*idle || k->ns > (*idle)->ns))
			*idle = k;
	}
	return top;
}

static struct sentence *add_fact(struct causes *c, unsigned int *place)
{
	struct sentence *s = causes_add(c, "together", "yes: a fact about all threads");

	s->place = ++*place;
	return s;
}

/* Names the object of at least half of the waits, and the name that ended at least half of them. */
static void say_enders(struct causes *c, const struct enders *x, const struct kind_time *top,
		       unsigned int *place)
{
	bool has_object = x->object && 2 * x->object_ns >= top->ns;
	bool is_call = !strcmp(top->kind, "call"), is_timer = !strcmp(top->kind, "timer");
	char ns[UNITS_TEXT_MAX];
	struct sentence *s;

	if (has_object) {
		s = add_fact(c, place);
		causes_append(s->answer, "%s of that was for %s%s (%s)", duration(ns, x->object_ns),
			      is_timer ? "sleeps of " : "", x->object, x->call ?: "?");
	} else if ((is_call || is_timer) && top->call && 2 * top->call_ns >= top->ns) {
		s = add_fact(c, place);
		causes_append(s->answer, "%s of that was in %s", duration(ns, top->call_ns),
			      top->call);
	}
	if (!x->ender || 2 * x->ender_ns < x->all_ns)
		return;
	s = add_fact(c, place);
	causes_append(s->answer, "%s ended %s of that; what it did meanwhile: %s", x->ender,
		      duration(ns, x->ender_ns), *x->meanwhile ? x->meanwhile : "unknown");
}

static const char *si_bytes(char *buf, int64_t bytes)
{
	snprintf(buf, UNITS_TEXT_MAX, "%.3g %s", (double)bytes / ((double)bytes < 1e9 ? 1e6 : 1e9),
		 (double)bytes < 1e9 ? "MB" : "GB");
	return buf;
}

/* Adds the facts of a kind: the quota, the user of the CPU, the file, other users of the disk. */
static int say_facts(struct causes *c, const struct kind_time *top, unsigned int *place)
{
	char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX], ns[UNITS_TEXT_MAX];
	struct fact f = { 0 }, others = { 0 };
	struct sentence *s;
	int ret = 0;

	if (!strcmp(top->kind, "throttled")) {
		ret = causes_query(c, causes_quota_sql, NULL, NULL, causes_fact_row, &f);
		s = f.is_found ? add_fact(c, place) : NULL;
		if (s)
			causes_append(s->answer, "%s of that was in %s, which has %s of each %s",
				      duration(ns, top->ns), f.text, duration(a, (uint64_t)f.v[0]),
				      duration(b, (uint64_t)f.v[1]));
	} else if (!strcmp(top->kind, "cpu")) {
		ret = causes_ran_instead(c, NULL, &f);
		s = f.is_found && f.v[0] >= 25 ? add_fact(c, place) : NULL;
		if (s)
			causes_append(s->answer,
				      "%s had the CPU for %lld %% of the longest of these waits",
				      f.text, (long long)f.v[0]);
	} else if (!strcmp(top->kind, "disk")) {
		ret = causes_query(c, file_sql, NULL, NULL, causes_fact_row, &f);
		ret = ret ?: causes_query(c, others_sql, NULL, NULL, causes_fact_row, &others);
		s = f.is_found && f.text ? add_fact(c, place) : NULL;
		if (s)
			causes_append(s->answer, "Of the file %s they moved %s", f.text,
				      si_bytes(a, f.v[0]));
		s = others.is_found ? add_fact(c, place) : NULL;
		if (s)
			causes_append(s->answer, "Beside them, %s moved %s on the same disk",
				      others.text, si_bytes(a, others.v[0]));
	}
	return ret;
}

/* Returns whether a shown cause is about this kind. */
static bool is_shown_kind(const struct causes *c, const char *kind)
{
	for (size_t i = 0; i < c->candidate_cnt; i++)
		if (c->candidates[i].is_shown && !strcmp(c->candidates[i].kind, kind))
			return true;
	return false;
}

static int say_together(struct causes *c, const struct together *t, unsigned int *place)
{
	const struct kind_time *idle, *top = main_kind(t, &idle);
	char ns[UNITS_TEXT_MAX], life[UNITS_TEXT_MAX];
	struct sentence *s;
	int ret;

	if (!top || is_shown_kind(c, top->kind))
		return 0;
	s = add_fact(c, place);
	s->cost_ns = top->ns;
	duration(ns, top->ns);
	duration(life, t->life_ns);
	causes_append(s->answer, "%s %s of %s (%llu %%)%s%s",
		      !strcmp(top->kind, "unknown")	? "What the threads did is not known for"
		      : !strcmp(top->kind, "stopped")	? "All threads together were stopped for"
		      : !strcmp(top->kind, "throttled") ? "All threads together were throttled for"
		      : !strcmp(top->kind, "running")	? "All threads together ran for"
							: "All threads together waited",
		      ns, life, (unsigned long long)(t->life_ns ? 100 * top->ns / t->life_ns : 0),
		      *causes_phrase(top->kind)->what ? " " : "", causes_phrase(top->kind)->what);
	ret = say_facts(c, top, place);
	say_enders(c, &t->ends, top, place);
	if (ret || !idle)
		return ret;
	s = add_fact(c, place);
	causes_append(s->answer, "Most of the time, %s of %s, they waited %s",
		      duration(ns, idle->ns), life, causes_phrase(idle->kind)->what);
	return 0;
}

int causes_together(struct causes *c, unsigned int *place)
{
	static const char *const ended[] = { "lock",  "condition", "socket", "pipe",   "poll",
					     "fault", "call",	   "child",  "signal", "timer" };
	struct together t = { .kind_cnt = 0 };
	const struct kind_time *top, *idle;
	int ret = causes_query(c, kinds_sql, NULL, NULL, kind_row, &t);

	top = main_kind(&t, &idle);
	for (size_t i = 0; top && i < sizeof(ended) / sizeof(ended[0]) && !ret; i++)
		if (!strcmp(ended[i], top->kind))
			ret = causes_query(c, causes_ends_sql, top->kind, NULL, causes_enders_row,
					   &t.ends);
	return ret ?: say_together(c, &t, place);
}

/*
 * Selects the two largest parts of the path, if there are processes outside the scope: "Path to the
 * end: culprit disk 71 %, victim running 12 %". A single part is skipped: another sentence names
 * it.
 */
static const char parts_sql[] =
	"SELECT t.comm || ' ' || c.kind, 100 * sum(c.end_ns - c.start_ns) / (:to - :from), 0 "
	"FROM blocking_chain(:from, :to) AS c JOIN threads AS t ON t.utid = c.utid "
	"WHERE c.kind NOT IN ('unknown', 'ended') AND EXISTS (SELECT 1 FROM processes "
	"WHERE upid > 3 AND NOT is_recorder AND NOT in_scope(upid)) "
	"GROUP BY t.comm, c.kind HAVING 10 * sum(c.end_ns - c.start_ns) >= :to - :from "
	"ORDER BY sum(c.end_ns - c.start_ns) DESC, t.comm, c.kind LIMIT 2";

struct parts {
	char text[ANSWER_BYTES];
	unsigned int cnt;
};

static int part_row(struct causes *c, const struct value *v, void *ctx)
{
	struct parts *p = ctx;

	(void)c;
	causes_append(p->text, "%s%s %lld %%", p->cnt++ ? ", " : "", v[0].text, (long long)v[1].i);
	return 0;
}

int causes_path(struct causes *c, unsigned int *place)
{
	struct parts p = { .cnt = 0 };
	int ret = causes_query(c, parts_sql, NULL, NULL, part_row, &p);
	struct sentence *s;

	if (p.cnt < 2)
		causes_add(c, "path", "no: it has one large part");
	if (ret || p.cnt < 2)
		return ret;
	s = causes_add(c, "path", "yes");
	s->place = ++*place;
	causes_append(s->answer, "Path to the end: %s", p.text);
	return 0;
}
