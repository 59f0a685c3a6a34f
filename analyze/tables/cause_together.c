/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cause_together: facts about all threads together, for causes(): their main activity, its object,
 * and the name that ended it.
 *
 *     times by kind --[main kind]--> its object, enders, quota, file, CPU's threads --> sentences
 */
#include "analyze/tables/cause_facts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
 * of the time. *ret_idle: the main idle kind, if it has more time and at least half of all; else
 * NULL.
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
