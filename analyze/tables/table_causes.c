/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * table_causes: causes(from_ns, to_ns, of_workload, is_brief): what delayed the report's threads,
 * as sentences.
 *
 *     path or waits of the window --[candidates: who, kind, time]--> rules --[sort]--> rows
 *
 * A candidate is a name and an activity: running, a kind of wait, or a wait that another thread
 * caused. Its cost is its time on the path to the end of the window, or the time of all threads of
 * the name. A rule turns candidates or other facts into sentences, or adds a verdict that explains
 * why there is none. Up to three causes are shown, after processes that were killed; the other
 * sentences are facts about all threads together. In a window of up to DETAIL_EVENTS_MAX events,
 * causes on a path are ranked by the savings that whatif() returns, if known.
 *
 * For example, a command of 10 s whose thread A waited 4 s for lock L, while its holder B waited
 * 3 s for a disk: the path has 1 s of B running and 3 s of B waiting for the disk, both during A's
 * wait. The candidate (A, held, L) has 4 s: "A waited 4.00 s of the critical path (40 %) for lock
 * L, held by B (4711): disk 75 %, running 25 %".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/tables/cause_facts.h"
#include "base/array.h"
#include "base/strpool.h"
#include "table_columns.h"

/* ---- facts ---- */

static const char path_sql[] =
	"SELECT t.comm, c.kind, coalesce(c.object, c.call), c.object IS NOT NULL, w.comm, "
	"c.held_kind, coalesce(c.held_object, c.held_call), h.comm, p.comm, wp.comm, "
	"sum(c.end_ns - c.start_ns), "
	"max(c.end_ns - c.start_ns), coalesce(h.tid, 0) "
	"FROM blocking_chain(:from, :to) AS c JOIN threads AS t ON t.utid = c.utid "
	"JOIN processes AS p ON p.upid = t.upid LEFT JOIN threads AS w ON w.utid = c.held_utid "
	"LEFT JOIN processes AS wp ON wp.upid = w.upid "
	"LEFT JOIN threads AS h ON h.utid = c.holder_utid "
	"WHERE c.kind NOT IN ('unknown', 'ended') AND NOT p.is_recorder "
	"GROUP BY 1, 2, 3, 4, 5, 6, 7, c.holder_utid, p.comm, wp.comm";

static int step_row(struct causes *c, const struct value *v, void *ctx)
{
	(void)ctx;
	return array_add(&c->steps, &c->step_cap, &c->step_cnt,
			 (struct step){ .comm = causes_text(c, &v[0]),
					.kind = causes_text(c, &v[1]),
					.what = causes_text(c, &v[2]),
					.is_object = v[3].i != 0,
					.waiter = causes_text(c, &v[4]),
					.held_kind = causes_text(c, &v[5]),
					.held_what = causes_text(c, &v[6]),
					.holder = causes_text(c, &v[7]),
					.process = causes_text(c, &v[8]),
					.waiter_process = causes_text(c, &v[9]),
					.ns = (uint64_t)v[10].i,
					.longest_ns = (uint64_t)v[11].i,
					.holder_tid = (uint64_t)v[12].i });
}

/* Texts are compared by address: the pool has one copy of each. */
static bool is_of(const struct step *s, const struct candidate *x)
{
	return x->is_held ? s->waiter == x->comm && s->held_kind == x->kind &&
				    s->held_what == x->held_what
			  : !s->waiter && s->comm == x->comm && s->kind == x->kind;
}

static int add_step(struct causes *c, const struct step *s)
{
	struct candidate x = { .comm = s->comm, .process = s->process, .kind = s->kind };
	uint32_t number;
	int ret;

	if (s->waiter)
		x = (struct candidate){ .comm = s->waiter,
					.process = s->waiter_process,
					.kind = s->held_kind,
					.held_what = s->held_what,
					.is_held = true };
	x.is_path = true;
	x.threads = 1;
	/* Texts have at least two bytes: address ^ 1 is not the address of another text. */
	ret = hash_map_intern(&c->numbers, (uintptr_t)x.comm,
			      x.is_held ? (uintptr_t)x.held_what ^ 1 : (uintptr_t)x.kind, &number);
	if (ret > 0)
		ret = array_add(&c->candidates, &c->candidate_cap, &c->candidate_cnt, x);
	if (ret < 0)
		return ret;
	c->candidates[number].ns += s->ns;
	if (s->longest_ns > c->candidates[number].longest_ns)
		c->candidates[number].longest_ns = s->longest_ns;
	return 0;
}

/* A text that several steps of a candidate have in common, and the time of these steps. */
struct share {
	const char *text;
	uint64_t tid; /* tid of the holder, if text is its name; else 0 */
	uint64_t ns;
	bool is_object;
};

static int by_text(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return compare_numbers((uintptr_t)x->text, (uintptr_t)y->text)
		       ?: compare_numbers(x->tid, y->tid);
}

static int by_share(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return compare_numbers(y->ns, x->ns) ?: strcmp(x->text, y->text) ?:
	       compare_numbers(x->tid, y->tid);
}

enum share_of { SHARES_OF_WHAT, SHARES_OF_HOLDER, SHARES_OF_KIND };

/*
 * Sums the times of the candidate's steps per text, the largest first. Returns the number of
 * entries of *ret, which the caller frees, or -ENOMEM.
 */
static int shares(const struct causes *c, const struct candidate *x, enum share_of by,
		  struct share **ret)
{
	size_t cnt = 0, cap = 0, last = 0;

	*ret = NULL;
	for (size_t i = 0; i < c->step_cnt; i++) {
		const struct step *s = &c->steps[i];
		const char *key = by == SHARES_OF_WHAT	   ? s->what
				  : by == SHARES_OF_HOLDER ? s->holder
							   : s->kind;

		if (!is_of(s, x) || !key)
			continue;
		if (array_add(ret, &cap, &cnt,
			      (struct share){ key, by == SHARES_OF_HOLDER ? s->holder_tid : 0,
					      s->ns, s->is_object }) < 0)
			return -ENOMEM;
	}
	if (!cnt)
		return 0;
	qsort(*ret, cnt, sizeof(**ret), by_text);
	for (size_t i = 1; i < cnt; i++)
		if (!by_text(&(*ret)[i], &(*ret)[last]))
			(*ret)[last].ns += (*ret)[i].ns;
		else
			(*ret)[++last] = (*ret)[i];
	qsort(*ret, last + 1, sizeof(**ret), by_share);
	return (int)last + 1;
}

/*
 * Selects the waits of all threads of a name, by kind, if they add up to a twentieth of the window.
 * Without a workload, locks, stops, pipes, sockets and other calls are skipped: most of these waits
 * are waits of idle threads. With a critical path (:kind is not NULL), pipes, sockets and other
 * calls are skipped, too.
 */
static const char held_up_sql[] =
	"WITH has AS MATERIALIZED (SELECT count(*) > 0 AS workload FROM processes "
	"WHERE is_workload), "
	"p AS MATERIALIZED (SELECT upid, comm FROM processes, has "
	"WHERE upid > 3 AND NOT is_kthread AND is_workload >= workload) "
	"SELECT p.comm, u.kind, sum(u.wait_ns) AS ns, (SELECT count(*) FROM threads AS t "
	"JOIN p AS o ON o.upid = t.upid WHERE o.comm = p.comm "
	"AND coalesce(t.start_ns, :from) < :to AND coalesce(t.end_ns, :to) > :from) "
	"FROM wait_kinds(:from, :to, 0, 'process') AS u JOIN p ON p.upid = u.upid, has "
	"WHERE u.kind IN ('cpu', 'throttled', 'disk', 'fault') "
	"OR (workload AND u.kind IN ('lock', 'stopped')) "
	"OR (workload AND :kind IS NULL AND u.kind IN ('pipe', 'socket', 'call')) "
	"GROUP BY p.comm, u.kind HAVING 20 * ns >= :to - :from";
static const char ran_sql[] =
	"WITH has AS MATERIALIZED (SELECT count(*) > 0 AS workload FROM processes "
	"WHERE is_workload) "
	"SELECT p.comm, 'running', sum(u.oncpu_ns) AS ns, 1 FROM cpu_usage(:from, :to) AS u "
	"JOIN processes AS p ON p.upid = u.upid, has "
	"WHERE p.upid > 3 AND NOT p.is_kthread AND p.is_workload >= workload "
	"GROUP BY p.comm HAVING 2 * ns >= :to - :from";

/*
 * Adds a candidate: the time of all processes with a name in one kind of wait, or running. Adds
 * none if the path has a candidate with this name and kind of at least a tenth of the window.
 */
static int held_up_row(struct causes *c, const struct value *v, void *ctx)
{
	const char *comm = causes_text(c, &v[0]);
	const struct candidate x = { .comm = comm,
				     .process = comm,
				     .kind = causes_text(c, &v[1]),
				     .ns = (uint64_t)v[2].i,
				     .threads = (uint64_t)v[3].i };

	(void)ctx;
	for (size_t i = 0; i < c->candidate_cnt; i++) {
		const struct candidate *of = &c->candidates[i];

		if (of->is_path && of->process == x.process && of->kind == x.kind &&
		    10 * of->ns >= c->span_ns)
			return 0;
	}
	return array_add(&c->candidates, &c->candidate_cap, &c->candidate_cnt, x);
}

/* Sleeps for a timer are idle only if one of them is at least half of the candidate's time. */
static bool is_idle(const struct candidate *x)
{
	return causes_is_idle_kind(x->kind) &&
	       (strcmp(x->kind, "timer") || 2 * x->longest_ns >= x->ns);
}

/* Returns whether a candidate is too small to be shown. Sums over threads have a lower limit. */
static bool is_small(const struct causes *c, const struct candidate *x)
{
	return (x->is_path ? 10 : 20) * x->ns < c->span_ns;
}

/*
 * Returns the candidate's cost: its saving without the drift, or its time if the saving is unknown.
 */
static uint64_t cost_of(const struct candidate *x)
{
	uint64_t sum_ns = x->saves_min_ns + x->saves_max_ns;

	if (!x->of_ns)
		return x->ns;
	return sum_ns > x->drift_ns ? (sum_ns - x->drift_ns) / 2 : 0;
}

/*
 * Order: causes on the path or with a known saving, then sums, then idle waits; the costliest
 * first.
 */
static int by_cost(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return compare_numbers(x->is_idle, y->is_idle) ?:
	       compare_numbers(y->is_path || y->of_ns, x->is_path || x->of_ns) ?:
	       compare_numbers(cost_of(y), cost_of(x)) ?: compare_numbers(y->ns, x->ns) ?:
	       strcmp(x->comm, y->comm) ?: strcmp(x->kind, y->kind) ?:
	       strcmp(x->held_what ?: "", y->held_what ?: "");
}

/*
 * Moves the costliest sum of a kind to `place`, if the candidate there is on the path and has less
 * time. Locks and stops have little time on the path: while threads wait for a lock, the path is in
 * the holder, and while a thread is stopped, the path is in other threads.
 */
static void promote(struct causes *c, const char *kind, size_t place)
{
	struct candidate *to, x;

	if (place >= c->candidate_cnt)
		return;
	to = &c->candidates[place];
	for (size_t i = place + 1; i < c->candidate_cnt && to->is_path; i++) {
		x = c->candidates[i];
		if (x.is_path || x.is_idle || strcmp(x.kind, kind) || x.ns < to->ns)
			continue;
		memmove(to + 1, to, (i - place) * sizeof(*to));
		*to = x;
	}
}

static const char saving_sql[] =
	"SELECT cause, saves_min_ns, saves_max_ns, of_ns, drift_ns "
	"FROM whatif(:from, :to, :kind, 1) "
	"WHERE verdict IS NULL";

static bool has_cause(const struct candidate *x, const char *cause)
{
	for (unsigned int i = 0; i < x->function_cnt; i++)
		if (x->functions[i].cause == cause)
			return true;
	return x->cause == cause;
}

static int saving_row(struct causes *c, const struct value *v, void *ctx)
{
	const char *cause = causes_text(c, &v[0]);
	struct candidate saved = { .saves_min_ns = (uint64_t)v[1].i,
				   .saves_max_ns = (uint64_t)v[2].i,
				   .of_ns = (uint64_t)v[3].i,
				   .drift_ns = (uint64_t)v[4].i };

	(void)ctx;
	for (size_t i = 0; i < c->candidate_cnt; i++) {
		struct candidate *x = &c->candidates[i];

		if (!has_cause(x, cause) || (x->of_ns && cost_of(x) >= cost_of(&saved)))
			continue;
		x->cause = cause;
		x->saves_min_ns = saved.saves_min_ns;
		x->saves_max_ns = saved.saves_max_ns;
		x->of_ns = saved.of_ns;
		x->drift_ns = saved.drift_ns;
	}
	return 0;
}

static int functions_row(struct causes *c, const struct value *v, void *ctx)
{
	struct candidate *x = ctx;
	struct function *f = &x->functions[x->function_cnt];
	char text[ANSWER_BYTES];

	if (x->function_cnt == VIEW_FUNCTIONS_MAX || !v[0].text || strchr(v[0].text, '\n'))
		return 0;
	snprintf(text, sizeof(text), "function:%s", v[0].text);
	f->name = causes_text(c, &v[0]);
	f->cause = causes_text(c, &(struct value){ .type = VALUE_TEXT, .text = text });
	f->percent = 100 * (uint64_t)v[1].i / (uint64_t)v[2].i;
	x->function_cnt++;
	return 0;
}

/* For a candidate that is a sum of waits: looks up, only once, which name ended most of them. */
static int find_enders(struct causes *c, struct candidate *x)
{
	if (x->has_enders || !c->is_small)
		return 0;
	x->has_enders = true;
	return causes_query(c, causes_ends_sql, x->kind, x->comm, causes_enders_row, &x->enders);
}

/* Returns the object that accounts for at least half of a sum of waits; NULL: none. */
static const char *object_of(const struct candidate *x)
{
	return 2 * x->enders.object_ns >= x->ns ? x->enders.object : NULL;
}

/* Returns whatif()'s name of a candidate's cause, or NULL. */
static const char *cause_of(struct causes *c, const struct candidate *x)
{
	static const char *const words[][2] = {
		{ "cpu", "cpu" },   { "throttled", "quota" },  { "disk", "disk" },
		{ "timer", "sleep" }, { "stopped", "stop" },   { "poll", "timeout" },
		{ "pipe", "timeout" }, { "socket", "timeout" }, { "condition", "timeout" },
	};
	bool is_lock = !strcmp(x->kind, "lock");
	const char *name = is_lock ? x->is_held ? x->held_what : object_of(x) : x->process;
	const char *word = is_lock ? "lock" : NULL;
	char text[ANSWER_BYTES];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !word; i++)
		if (!strcmp(words[i][0], x->kind))
			word = words[i][1];
	if (!word || !name || !*name || strchr(name, '\n'))
		return NULL;
	snprintf(text, sizeof(text), "%s:%s", word, name);
	return causes_text(c, &(struct value){ .type = VALUE_TEXT, .text = text });
}

/* Looks up the savings of the candidates that are large enough to be shown. */
static int find_savings(struct causes *c)
{
	char *list = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&list, &len);
	int ret = f ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->candidate_cnt && !ret; i++) {
		struct candidate *x = &c->candidates[i];

		if (x->is_idle || is_small(c, x))
			continue;
		if (!x->is_path && !strcmp(x->kind, "lock"))
			ret = find_enders(c, x);
		if (c->has_samples && x->is_path && !strcmp(x->kind, "running"))
			ret = causes_query(c, view_functions_sql, NULL, x->comm, functions_row,
					   x);
		for (unsigned int k = 0; k < x->function_cnt; k++)
			fprintf(f, "%s\n", x->functions[k].cause);
		x->cause = cause_of(c, x);
		if (x->cause)
			fprintf(f, "%s\n", x->cause);
	}
	if (f && fclose(f))
		ret = -ENOMEM;
	if (!ret && len)
		ret = causes_query(c, saving_sql, list, NULL, saving_row, NULL);
	free(list);
	return ret;
}

static int find_candidates(struct causes *c)
{
	int ret = c->has_path ? causes_query(c, path_sql, NULL, NULL, step_row, NULL) : 0;

	for (size_t i = 0; i < c->step_cnt && !ret; i++)
		ret = add_step(c, &c->steps[i]);
	ret = ret
		      ?: causes_query(c, held_up_sql, c->has_path ? "path" : NULL, NULL,
				      held_up_row, NULL);
	/* held_up_sql omits names that only ran: without other candidates, select these names */
	if (!ret && !c->candidate_cnt)
		ret = causes_query(c, ran_sql, NULL, NULL, held_up_row, NULL);
	for (size_t i = 0; i < c->candidate_cnt; i++)
		c->candidates[i].is_idle = is_idle(&c->candidates[i]);
	if (!ret && c->has_path && c->has_few_events)
		ret = find_savings(c);
	if (!ret && c->candidate_cnt)
		qsort(c->candidates, c->candidate_cnt, sizeof(*c->candidates), by_cost);
	if (!ret) {
		promote(c, "lock", CAUSES_SHOWN - 1);
		promote(c, "stopped", 0);
	}
	return ret;
}

/* ---- sentences ---- */

/* Returns whether the name can be an argument, perhaps in single quotes, and is not a pattern. */
static bool can_name(const char *name)
{
	if (!*name || *name == '-')
		return false;
	for (; *name; name++)
		if (*name < ' ' || *name > '~' || strchr("'*?[", *name))
			return false;
	return true;
}

/* Counts processes outside of the workload that have the same name. */
static const char others_sql[] =
	"SELECT NULL, count(*), 0 FROM processes WHERE comm = :comm AND upid > 3 "
	"AND NOT is_workload AND (SELECT count(*) FROM processes WHERE is_workload)";

/* Adds the command that shows more about a candidate, if its name can be an argument. */
static int name_command(struct causes *c, struct sentence *s, const char *view,
			const struct candidate *x)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-_.:/+@";
	const char *quote = strspn(x->comm, plain) == strlen(x->comm) ? "" : "'";
	struct fact others = { 0 };
	int ret = causes_query(c, others_sql, NULL, x->process, causes_fact_row, &others);

	if (can_name(x->comm))
		causes_append(s->command, "%s --%s %s%s%s%s", view,
			      x->comm == x->process ? "comm" : "thread", quote, x->comm, quote,
			      others.v[0] ? " --workload" : "");
	return ret;
}

/*
 * Writes, for example, "make waited 2.24 s of 2.98 s (75 %) for a disk", or of a candidate on the
 * path "2.24 s of the critical path", because its threads may also have run or waited off the path.
 */
static void begin_sentence(const struct causes *c, struct sentence *s, const struct candidate *x,
			   const char *what)
{
	const struct phrase *p = causes_phrase(x->kind);
	char ns[UNITS_TEXT_MAX], span[UNITS_TEXT_MAX];

	s->cost_ns = x->ns;
	duration(ns, x->ns);
	if (x->threads > 1) {
		causes_append(
			s->answer, "On average %.1f of the %llu threads of %s %s%s%s, %s in all",
			(double)x->ns / (double)c->span_ns, (unsigned long long)x->threads, x->comm,
			!strcmp(p->verb, "was throttled for") ? "were throttled"
			: !strcmp(p->verb, "was stopped for") ? "were stopped"
							      : p->verb,
			*what ? " " : "", what, ns);
		return;
	}
	causes_append(s->answer, "%s %s %s of %s (%llu %%)%s%s", x->comm, p->verb, ns,
		      x->is_path ? "the critical path" : duration(span, c->span_ns),
		      (unsigned long long)(100 * x->ns / c->span_ns), *what ? " " : "", what);
}

/* Appends the object or call that took at least half of a candidate's time: ": /var/lib/x". */
static int name_object(const struct causes *c, struct sentence *s, const struct candidate *x)
{
	struct share *v;
	int cnt = shares(c, x, SHARES_OF_WHAT, &v);

	if (cnt > 0 && 2 * v->ns >= x->ns)
		causes_append(s->answer, ": %s%s",
			      v->is_object && !strcmp(x->kind, "timer") ? "sleeps of " : "",
			      v->text);
	free(v);
	return cnt < 0 ? cnt : 0;
}

/* ---- rules about candidates ---- */

/*
 * Appends the thread that ended most of the candidate's waiting time and, for a lock, how the path
 * spent these waits (its steps by kind): ", held by audit (4711): disk 81 %, running 12 %".
 */
static int name_holder(const struct causes *c, struct sentence *s, const struct candidate *x)
{
	struct share *holders, *kinds = NULL;
	int cnt = shares(c, x, SHARES_OF_HOLDER, &holders);

	if (cnt > 0 && strcmp(x->kind, "lock"))
		causes_append(s->answer, ", until %s (%llu) continued it", holders->text,
			      (unsigned long long)holders->tid);
	else if (cnt > 0)
		causes_append(s->answer, ", held by %s (%llu)", holders->text,
			      (unsigned long long)holders->tid);
	if (cnt > 0 && !strcmp(x->kind, "lock"))
		cnt = shares(c, x, SHARES_OF_KIND, &kinds);
	for (int i = 0; kinds && i < cnt && i < 2; i++)
		if (20 * kinds[i].ns >= x->ns)
			causes_append(s->answer, "%s%s %llu %%", i ? ", " : ": ", kinds[i].text,
				      (unsigned long long)(100 * kinds[i].ns / x->ns));
	free(holders);
	free(kinds);
	return cnt < 0 ? cnt : 0;
}

/* followed by the control group, the only kind of object of a stop */
#define FROZEN_BY "by the freezer of "

/* Like name_holder(), for the waits of all threads of a name. */
static int name_enders(struct causes *c, struct sentence *s, struct candidate *x)
{
	bool is_lock = !strcmp(x->kind, "lock");
	const struct enders *f = &x->enders;
	char what[ANSWER_BYTES];
	int ret = find_enders(c, x);
	const char *object = object_of(x);

	snprintf(what, sizeof(what), "%s%s",
		 !object ? causes_phrase(x->kind)->what :
		 is_lock ? "for lock " : FROZEN_BY, object ?: "");
	begin_sentence(c, s, x, what);
	if (f->ender && 2 * f->ender_ns >= f->all_ns)
		causes_append(s->answer,
			      is_lock ? ", held by %s (%llu)%s%s" : ", until %s (%llu) %s",
			      f->ender, (unsigned long long)f->tid,
			      !is_lock	      ? "continued it"
			      : *f->meanwhile ? ": "
					      : "",
			      is_lock ? f->meanwhile : "");
	return ret;
}

static int rule_held(struct causes *c, struct sentence *s, struct candidate *x)
{
	char what[ANSWER_BYTES] = "";
	int ret;

	if (!strcmp(x->kind, "lock"))
		snprintf(what, sizeof(what), x->held_what ? "for lock %s" : "for locks",
			 x->held_what);
	else if (x->held_what && *x->held_what == '/')	/* a control group, not a system call */
		snprintf(what, sizeof(what), FROZEN_BY "%s", x->held_what);
	if (x->is_path)
		begin_sentence(c, s, x, what);
	ret = x->is_path ? name_holder(c, s, x) : name_enders(c, s, x);
	return ret ?: name_command(c, s, strcmp(x->kind, "lock") ? "why" : "locks", x);
}

static int rule_throttled(struct causes *c, struct sentence *s, struct candidate *x)
{
	char quota[UNITS_TEXT_MAX], period[UNITS_TEXT_MAX];
	struct fact f = { 0 };
	int ret = causes_query(c, causes_quota_sql, NULL, x->process, causes_fact_row, &f);

	begin_sentence(c, s, x, f.is_found ? "" : causes_phrase(x->kind)->what);
	if (f.is_found)
		causes_append(s->answer, ": %s has %s of each %s", f.text,
			      duration(quota, (uint64_t)f.v[0]),
			      duration(period, (uint64_t)f.v[1]));
	return ret ?: name_command(c, s, "throttle", x);
}

/* Selects the other process that moved most bytes on the same devices, and the bytes of :comm. */
static const char beside_sql[] =
	"WITH r AS MATERIALIZED (SELECT p.comm AS comm, b.dev AS dev, b.bytes AS bytes "
	"FROM block_requests AS b JOIN processes AS p ON p.upid = b.submitter_upid "
	"WHERE b.end_ns >= :from AND b.end_ns < :to) "
	"SELECT comm, sum(bytes) AS bytes, (SELECT sum(bytes) FROM r WHERE comm = :comm) FROM r "
	"WHERE comm <> :comm AND dev IN (SELECT dev FROM r WHERE comm = :comm) "
	"GROUP BY comm ORDER BY bytes DESC, comm LIMIT 1";

static int rule_disk(struct causes *c, struct sentence *s, struct candidate *x)
{
	struct fact f = { 0 };
	char size[UNITS_TEXT_MAX];
	int ret = 0;

	if (c->is_small)
		ret = causes_query(c, beside_sql, NULL, x->process, causes_fact_row, &f);
	begin_sentence(c, s, x, causes_phrase(x->kind)->what);
	ret = ret ?: name_object(c, s, x);
	if (f.is_found && f.v[0] > f.v[1])
		causes_append(s->answer, ", beside %s of %s",
			      units_format_bytes(size, sizeof(size), (uint64_t)f.v[0]), f.text);
	return ret ?: name_command(c, s, "why", x);
}

/*
 * Selects the scheduling, at the window's end, of the thread of a name that waited longest for a
 * CPU: policy and priority (empty: the default), nice value, number of allowed CPUs, number of
 * online CPUs.
 */
static const char treated_sql[] =
	"WITH w AS MATERIALIZED (SELECT u.utid AS utid FROM wait_kinds(:from, :to, 0, 'thread') "
	"AS u JOIN processes AS p ON p.upid = u.upid WHERE u.kind = 'cpu' AND p.comm = :comm "
	"ORDER BY u.wait_ns DESC, u.utid LIMIT 1), "
	"e AS MATERIALIZED (SELECT ts_ns, policy, nice, rt_priority, allowed_cpus "
	"FROM task_events WHERE utid = (SELECT utid FROM w) AND policy IS NOT NULL) "
	"SELECT CASE WHEN rt_priority THEN 'policy ' || policy || ', priority ' || rt_priority "
	"WHEN policy <> 'other' THEN 'policy ' || policy ELSE '' END, nice, allowed_cpus, "
	"(SELECT value FROM info WHERE key = 'cpu.online') + 0 "
	"FROM (SELECT * FROM e WHERE ts_ns < :to UNION ALL "
	"SELECT :from, policy, nice, rt_priority, allowed_cpus FROM threads JOIN w USING (utid) "
	"WHERE policy IS NOT NULL AND NOT EXISTS (SELECT 1 FROM e)) ORDER BY ts_ns DESC LIMIT 1";

/* Appends, for example, "; cc1 has policy fifo, priority 5" or "; cc1 may use 1 of 4 CPUs". */
static int name_treatment(struct causes *c, struct sentence *s, const struct candidate *x)
{
	char subject[ANSWER_BYTES];
	const char *sep = subject;
	struct fact f = { 0 };
	int ret = causes_query(c, treated_sql, NULL, x->process, causes_fact_row, &f);

	if (ret || !f.is_found)
		return ret;
	snprintf(subject, sizeof(subject), "; %s",
		 x->threads > 1 ? "the thread that waited most" : x->comm);
	if (f.text && *f.text) {
		causes_append(s->answer, "%s has %s", sep, f.text);
		sep = ",";
	}
	if (f.v[0]) {
		causes_append(s->answer, "%s runs at nice %lld", sep, (long long)f.v[0]);
		sep = ",";
	}
	if (f.v[1] < f.v[2])
		causes_append(s->answer, "%s may use %lld of %lld CPUs", sep, (long long)f.v[1],
			      (long long)f.v[2]);
	return 0;
}

static int rule_cpu(struct causes *c, struct sentence *s, struct candidate *x)
{
	struct fact f = { 0 };
	int ret = c->is_small ? causes_ran_instead(c, x->comm, &f) : 0;

	begin_sentence(c, s, x, causes_phrase(x->kind)->what);
	if (f.is_found && f.v[0] >= 25)
		causes_append(s->answer, ", the longest behind %s (%lld %%)", f.text,
			      (long long)f.v[0]);
	return ret ?: name_treatment(c, s, x) ?: name_command(c, s, "why", x);
}

static const char function_sql[] =
	"SELECT json_extract(frames, '$[#-1]'), 100 * sum(ns) / max(1, sum(sum(ns)) OVER ()), 0 "
	"FROM (SELECT '[' || replace(json_quote(stack_text(u.stack, u.last_ns)), ';', '\",\"') "
	"|| ']' AS frames, u.oncpu_ns AS ns FROM cpu_profile(:from, :to) AS u "
	"JOIN threads AS t ON t.utid = u.utid WHERE t.comm = :comm AND u.stack NOT NULL) "
	"GROUP BY 1 ORDER BY sum(ns) DESC, 1 LIMIT 1";

static int rule_running(struct causes *c, struct sentence *s, struct candidate *x)
{
	struct fact f = { 0 };
	int ret = 0;

	for (unsigned int i = 0; i < x->function_cnt; i++)
		if (x->functions[i].cause == x->cause)
			f = (struct fact){ x->functions[i].name,
					   { (int64_t)x->functions[i].percent }, true };
	if (!f.is_found && c->has_samples && c->is_small)
		ret = causes_query(c, function_sql, NULL, x->comm, causes_fact_row, &f);

	begin_sentence(c, s, x, causes_phrase(x->kind)->what);
	if (f.is_found && f.text && f.v[0] >= 20)
		causes_append(s->answer, ", %lld %% of it in %s", (long long)f.v[0], f.text);
	return ret ?: name_command(c, s, c->has_samples ? "profile" : "cpu --by thread", x);
}

/* Selects the system call with most timeouts in waits of a kind, and their mean length. */
static const char timeouts_sql[] =
	"SELECT u.call, sum(u.timeouts) AS cnt, sum(u.waits), "
	"sum(u.timeout_ns) / max(1, sum(u.timeouts)) "
	"FROM wait_kinds(:from, :to, 0, 'thread') AS u JOIN threads AS t ON t.utid = u.utid "
	"JOIN processes AS p ON p.upid = t.upid WHERE u.kind = :kind "
	"AND (t.comm = :comm OR p.comm = :comm) GROUP BY u.call ORDER BY cnt DESC, u.call LIMIT 1";

static int rule_wait(struct causes *c, struct sentence *s, struct candidate *x)
{
	struct fact f = { 0 };
	char ns[UNITS_TEXT_MAX];
	int ret = 0;

	/* A timer that expires is not a timeout. */
	if (c->is_small && strcmp(x->kind, "timer"))
		ret = causes_query(c, timeouts_sql, x->kind, x->comm, causes_fact_row, &f);
	begin_sentence(c, s, x, causes_phrase(x->kind)->what);
	ret = ret ?: name_object(c, s, x);
	if (f.is_found && f.v[0])
		causes_append(s->answer, ", %lld of %lld waits in %s timed out after %s",
			      (long long)f.v[0], (long long)f.v[1], f.text ?: "user code",
			      duration(ns, (uint64_t)f.v[2]));
	return ret ?: name_command(c, s, "why", x);
}

struct candidate_rule {
	const char *name, *kind; /* kind NULL: all other kinds */
	int (*make)(struct causes *c, struct sentence *s, struct candidate *x);
};

static const struct candidate_rule candidate_rules[] = {
	{ "held", NULL, rule_held },
	{ "throttled", "throttled", rule_throttled },
	{ "disk", "disk", rule_disk },
	{ "cpu", "cpu", rule_cpu },
	{ "running", "running", rule_running },
	{ "wait", NULL, rule_wait },
};
#define CANDIDATE_RULES (sizeof(candidate_rules) / sizeof(candidate_rules[0]))

static const struct candidate_rule *rule_of(const struct candidate *x)
{
	if (x->is_held || !strcmp(x->kind, "lock") || !strcmp(x->kind, "stopped"))
		return &candidate_rules[0];
	for (size_t i = 1; i < CANDIDATE_RULES - 1; i++)
		if (!strcmp(candidate_rules[i].kind, x->kind))
			return &candidate_rules[i];
	return &candidate_rules[CANDIDATE_RULES - 1];
}

/* Appends, for example, "; removing it saves 1.80 s to 2.30 s of 9.40 s". */
static void add_saving(struct sentence *s, const struct candidate *x)
{
	char min[UNITS_TEXT_MAX], max[UNITS_TEXT_MAX], of[UNITS_TEXT_MAX];

	if (!x->of_ns)
		return;
	duration(min, x->saves_min_ns);
	duration(max, x->saves_max_ns);
	if (200 * x->saves_max_ns < x->of_ns)
		causes_append(s->answer, "; removing it alone saves nothing");
	else if (!x->saves_min_ns || !strcmp(min, max))
		causes_append(s->answer, "; removing it saves %s%s of %s",
			      x->saves_min_ns ? "" : "at most ", max, duration(of, x->of_ns));
	else
		causes_append(s->answer, "; removing it saves %s to %s of %s", min, max,
			      duration(of, x->of_ns));
}

/*
 * Applies the rules to candidates: adds up to max sentences, and a verdict for each rule without a
 * sentence.
 */
static int apply_candidates(struct causes *c, unsigned int max, unsigned int *place)
{
	unsigned int shown = 0;
	uint64_t first_ns = 0;
	bool found[CANDIDATE_RULES] = { false };
	int ret = 0;

	for (size_t i = 0; i < c->candidate_cnt && !ret; i++) {
		struct candidate *x = &c->candidates[i];
		const struct candidate_rule *r = rule_of(x);
		/* A sum over threads must also be at least a quarter of the first cause. */
		bool has_little = is_small(c, x) || (!x->is_path && 4 * x->ns < first_ns);
		bool waits_for_others = x->is_idle && shown;
		struct sentence *s;

		if (has_little || waits_for_others || shown == max) {
			/* Add only one verdict per rule, for its largest candidate. */
			if (found[r - candidate_rules])
				continue;
			found[r - candidate_rules] = true;
			s = causes_add(c, r->name,
				       has_little ? "no: it is a small part of the window" :
				       waits_for_others ? "no: it waits for others, or is idle" :
							  "no: others took more");
			s->cost_ns = x->ns;
			continue;
		}
		found[r - candidate_rules] = true;
		s = causes_add(c, r->name, "yes");
		s->place = ++*place;
		x->is_shown = true;
		first_ns = first_ns ?: x->ns;
		ret = r->make(c, s, x);
		add_saving(s, x);
		shown++;
	}
	for (size_t i = 0; i < CANDIDATE_RULES && !ret; i++)
		if (!found[i])
			causes_add(c, candidate_rules[i].name, "no: nothing of it was found");
	return ret;
}

/* ---- rules about other facts ---- */

static const char killed_sql[] =
	"SELECT p.comm, coalesce((SELECT m.rss_bytes FROM memory_levels(k.ts_ns, k.ts_ns + 1, 0, "
	"'process') AS m WHERE m.upid = p.upid), 0), k.ts_ns, "
	"coalesce((SELECT c.name FROM names AS c WHERE c.type = 'cgroup' "
	"AND c.id = k.limit_cgroup_id), 'its memory cgroup'), "
	"coalesce(k.limit_pages * page_bytes(), 0) "
	"FROM oom_kills AS k JOIN threads AS t ON t.utid = k.victim_utid "
	"JOIN processes AS p ON p.upid = t.upid "
	"WHERE k.ts_ns >= :from AND k.ts_ns < :to AND thread_in_scope(k.victim_utid) "
	"ORDER BY k.ts_ns";

static int killed_row(struct causes *c, const struct value *v, void *ctx)
{
	struct sentence *s = causes_add(c, "killed", "yes");

	s->place = ++*(unsigned int *)ctx;
	causes_append(s->answer, "Killed by the OOM killer: %s, ", v[0].text);
	if (v[1].i)
		causes_append(s->answer, "%.1f MiB, ", (double)v[1].i / 1048576);
	if (v[4].i)
		causes_append(s->answer, "limit of %s %.1f MiB, ", v[3].text,
			      (double)v[4].i / 1048576);
	causes_append(s->answer, "at %.3f s", (double)v[2].i / 1e9);
	causes_append(s->command, "pressure");
	return 0;
}

/* Arguments and columns are the same as in the summary, so that both share the cached rows. */
static const char spikes_sql[] =
	"SELECT coalesce(comm_at(u.upid, (u.start_ns + u.end_ns) / 2), u.name), u.bytes, u.dur_ns, "
	"u.start_ns, u.bytes_per_s FROM memory_spikes(:from, :to, 0, 0) AS u "
	"WHERE u.kind <> 'machine' "
	"AND u.source <> 'page' AND ((SELECT count(*) FROM processes WHERE is_workload) = 0 "
	"OR EXISTS (SELECT 1 FROM processes AS p WHERE p.is_workload "
	"AND (p.upid = u.upid OR (u.upid IS NULL AND p.comm = u.name)))) "
	"ORDER BY u.bytes DESC, u.start_ns LIMIT 1";

static int spike_row(struct causes *c, const struct value *v, void *ctx)
{
	struct sentence *s = causes_add(c, "memory", "yes");
	char size[UNITS_TEXT_MAX], ns[UNITS_TEXT_MAX];
	const char *comm = causes_text(c, &v[0]);
	const struct candidate x = { .comm = comm, .process = comm };

	s->place = ++*(unsigned int *)ctx;
	causes_append(s->answer, "%s took %s of memory within %s, at %.3f s", comm ?: "[unknown]",
		      units_format_bytes(size, sizeof(size), (uint64_t)v[1].i),
		      duration(ns, (uint64_t)v[2].i), (double)v[3].i / 1e9);
	return comm ? name_command(c, s, "spikes", &x) : 0;
}

static const char stalled_sql[] =
	"SELECT kind, sum(ns), 0 FROM (SELECT utid, CASE kind WHEN 'group limit' "
	"THEN 'reclaim for the limit of a memory cgroup' WHEN 'compaction' "
	"THEN 'compaction of memory' ELSE 'direct reclaim' END AS kind, sum(dur_ns) AS ns "
	"FROM memory_stalls(:from, :to) WHERE kind <> 'kswapd' GROUP BY 1, 2) "
	"JOIN threads AS t USING (utid) "
	"WHERE thread_in_scope(utid) AND t.comm NOT GLOB 'kcompactd*' GROUP BY kind "
	"HAVING sum(ns) >= min(100000000, (:to - :from) / 100)";

static int stalled_row(struct causes *c, const struct value *v, void *ctx)
{
	struct sentence *s = causes_add(c, "stalled", "yes");
	char ns[UNITS_TEXT_MAX];

	s->place = ++*(unsigned int *)ctx;
	s->cost_ns = (uint64_t)v[1].i;
	causes_append(s->answer, "%s in %s", duration(ns, s->cost_ns), v[0].text);
	return 0;
}

/*
 * A herd: at least 8 threads that one thread woke at a futex, each within 1 ms of the previous one.
 * A wake-up is in vain if the thread sleeps at the futex again after less than 0.2 ms on CPUs in
 * all. f: threads that waited for a futex. The + before utid keeps SQLite from reading the events
 * once per thread of f.
 */
static const char herd_sql[] =
	"WITH f AS MATERIALIZED (SELECT DISTINCT utid FROM switches WHERE ts_ns >= :from "
	"AND ts_ns < :to AND object <> 0 AND NOT preempted AND call_name(call) = 'futex'), "
	"l AS MATERIALIZED (SELECT utid, end_ns, dur_ns FROM sched_slices(:from, :to) "
	"WHERE +utid IN (SELECT utid FROM f)), "
	"s AS MATERIALIZED (SELECT w.ts_ns AS ts_ns, w.utid AS utid, w.call AS call, "
	"iif(call_name(w.call) = 'futex' AND NOT w.preempted AND w.object <> 0, "
	"w.object & ~7, NULL) AS object, "
	"sum(coalesce(l.dur_ns, 0)) OVER (PARTITION BY w.utid ORDER BY w.ts_ns) AS ran_ns "
	"FROM switches AS w LEFT JOIN l ON l.utid = w.utid AND l.end_ns = w.ts_ns "
	"WHERE w.ts_ns >= :from AND w.ts_ns < :to AND +w.utid IN (SELECT utid FROM f) "
	"AND thread_in_scope(w.utid)), "
	"e AS (SELECT ts_ns, utid, call, object, lead(ran_ns) OVER (PARTITION BY utid, object "
	"ORDER BY ts_ns) - ran_ns AS ran_ns, NULL AS waker FROM s UNION ALL "
	"SELECT ts_ns, target_utid, NULL, NULL, NULL, utid FROM wakeups "
	"WHERE ts_ns >= :from AND ts_ns < :to AND NOT irq AND +target_utid IN (SELECT utid FROM f) "
	"AND thread_in_scope(target_utid)), "
	"w AS (SELECT ts_ns, utid, waker, lag(call) OVER t AS call, lag(object) OVER t AS object, "
	"lag(ran_ns) OVER t AS ran_ns FROM e "
	"WINDOW t AS (PARTITION BY utid ORDER BY ts_ns, waker NOT NULL)), "
	"n AS (SELECT *, ts_ns - lag(ts_ns) OVER o > 1000000 AS is_new FROM w "
	"WHERE waker NOT NULL AND object NOT NULL "
	"WINDOW o AS (PARTITION BY waker, object ORDER BY ts_ns)), "
	"g AS (SELECT *, sum(coalesce(is_new, 1)) OVER (PARTITION BY waker, object ORDER BY ts_ns) "
	"AS herd FROM n), "
	"h AS MATERIALIZED (SELECT waker, object, max(call) AS call, max(utid) AS utid, "
	"count(*) AS woken, "
	"sum(coalesce(ran_ns < 200000, 0)) AS vain, "
	"sum(iif(ran_ns < 200000, ran_ns, 0)) AS vain_ns "
	"FROM g GROUP BY waker, object, herd HAVING woken >= 8 AND 2 * vain > woken) "
	"SELECT t.comm, sum(h.woken), sum(h.vain), count(*), sum(h.vain_ns), k.comm, k.tid, "
	"coalesce(object_name(h.call, h.object), '') FROM h JOIN threads AS t ON t.utid = h.utid "
	"JOIN threads AS k ON k.utid = h.waker GROUP BY h.waker, h.object ORDER BY 5 DESC LIMIT 1";

static const char no_rows_sql[] = "SELECT 1 WHERE 0";

static int herd_row(struct causes *c, const struct value *v, void *ctx)
{
	const char *comm = causes_text(c, &v[0]);
	const struct candidate x = { .comm = comm, .process = comm };
	char ns[UNITS_TEXT_MAX];
	struct sentence *s;

	if (100 * (uint64_t)v[4].i < c->span_ns)
		return 0;
	s = causes_add(c, "herd", "yes");
	s->place = ++*(unsigned int *)ctx;
	s->cost_ns = (uint64_t)v[4].i;
	causes_append(s->answer,
		      "%s (%lld) woke %lld threads of %s at a time, %lld of %lld in vain, "
		      "which ran for %s", v[5].text, (long long)v[6].i,
		      (long long)(v[1].i / v[3].i), comm, (long long)v[2].i, (long long)v[1].i,
		      duration(ns, s->cost_ns));
	if (v[7].text && *v[7].text)
		causes_append(s->answer, ": %s", v[7].text);
	return name_command(c, s, "waits", &x);
}

/* Runs the query of a rule. If it adds no sentence, adds the verdict `no`. */
static int apply_fact(struct causes *c, const char *rule, const char *sql, const char *no,
		      int (*row)(struct causes *c, const struct value *v, void *ctx),
		      unsigned int *place)
{
	size_t before = c->cnt;
	int ret = causes_query(c, sql, NULL, NULL, row, place);

	if (!ret && c->cnt == before)
		causes_add(c, rule, no);
	return ret;
}

/* ---- the table ---- */

/* Returns the number of events of some kinds (1u << EVENT_x) in the blocks of the window. */
static uint64_t events_of(const struct causes *c, uint32_t kinds)
{
	uint64_t cnt = 0;
	size_t blocks;
	const struct trace_block *b = trace_blocks(c->a->trace, &blocks);

	for (size_t i = 0; i < blocks; i++)
		if (context_rel(c->a, b[i].from_ns) < c->to_ns &&
		    context_rel(c->a, b[i].to_ns) > c->from_ns)
			cnt += trace_block_events(&b[i], kinds);
	return cnt;
}

/* A burst of memory gets a place among the first CAUSES_SHOWN causes. */
static int find_causes_of_scope(struct causes *c, unsigned int *place)
{
	unsigned int of_memory = 0;
	size_t at = c->cnt;
	int ret = apply_fact(c, "memory", spikes_sql, "no: there was no burst", spike_row,
			     &of_memory);

	ret = ret ?: find_candidates(c);
	ret = ret ?: apply_candidates(c, CAUSES_SHOWN - of_memory, place);
	if (!ret && of_memory && !c->failed)
		c->sentences[at].place = ++*place;
	return ret;
}

static int by_place(const void *a, const void *b)
{
	const struct sentence *x = a, *y = b;

	/* sentences without a place last: 0 - 1 is the largest number */
	return compare_numbers(x->place - 1, y->place - 1) ?: strcmp(x->rule, y->rule) ?:
	       compare_numbers(y->cost_ns, x->cost_ns);
}

static int find_causes(struct causes *c)
{
	uint64_t events = events_of(c, UINT32_MAX);
	unsigned int place = 0;
	int ret;

	c->has_few_events = events <= DETAIL_EVENTS_MAX;
	c->keeps_slices = events_of(c, 1u << EVENT_SWITCH) <= KEPT_SLICES_MAX;
	c->is_small = !c->is_brief || events <= BRIEF_EVENTS_MAX;
	c->has_path = c->of_workload && c->is_small;
	c->has_samples = trace_get(c->a->trace, "profile.period_ns") != NULL;
	ret = apply_fact(c, "killed", killed_sql, "no: nobody was killed", killed_row, &place);
	if (c->of_workload || c->is_brief || !scope_is_of_some(&c->a->question->scope))
		ret = ret ?: find_causes_of_scope(c, &place);
	if (!c->is_brief) {
		ret = ret
			      ?: apply_fact(c, "stalled", stalled_sql, "no: memory was not short",
					    stalled_row, &place);
		ret = ret ?: apply_fact(c, "herd", c->has_few_events ? herd_sql : no_rows_sql,
					c->has_few_events ? "no: few threads were woken in vain" :
							    "no: the window is too large",
					herd_row, &place);
		ret = ret ?: causes_together(c, &place);
		ret = ret ?: c->of_workload ? 0 : causes_path(c, &place);
	}
	if (!ret && c->failed)
		ret = -ENOMEM;
	if (!ret)
		qsort(c->sentences, c->cnt, sizeof(*c->sentences), by_place);
	return ret;
}

static void causes_close(void *state)
{
	struct causes *c = state;

	hash_map_done(&c->numbers);
	strpool_free(c->texts);
	free(c->steps);
	free(c->candidates);
	free(c->slices);
	free(c->sentences);
}

static int causes_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		       void *state, struct err *e)
{
	struct causes *c = state;
	int ret = causes_window(c, a, q, e);

	c->of_workload = q->args[2].type == VALUE_INT && q->args[2].i;
	c->is_brief = q->args[3].type == VALUE_INT && q->args[3].i;
	return ret ?: strpool_new(&c->texts);
}

static int causes_step(void *state, struct rowbuf *out, struct err *e)
{
	struct causes *c = state;

	if (!c->is_done) {
		int ret;

		c->e = e;
		ret = find_causes(c);
		if (ret < 0)
			return ret;
		c->is_done = true;
	}
	for (; c->given < c->cnt && out->row_cnt < TABLE_BATCH_ROWS; c->given++) {
		const struct sentence *s = &c->sentences[c->given];
		struct cell *cells = rowbuf_add(out);

		cell_text(&cells[COL_CAUSES_RULE], s->rule);
		if (s->place)
			cell_int(&cells[COL_CAUSES_RANK], s->place);
		cell_text(&cells[COL_CAUSES_ANSWER], *s->answer ? s->answer : NULL);
		if (s->cost_ns)
			cell_int(&cells[COL_CAUSES_COST_NS], (int64_t)s->cost_ns);
		cell_text(&cells[COL_CAUSES_COMMAND], *s->command ? s->command : NULL);
		cell_text(&cells[COL_CAUSES_VERDICT], s->verdict);
	}
	return c->given < c->cnt;
}

const struct table_def table_causes = {
	.name = NAME_CAUSES,
	.cols = (const struct table_column[]){ COLS_CAUSES },
	.col_cnt = COL_CAUSES_CNT,
	.arg_cnt = ARGS_CAUSES,
	.fills_all = true,
	.time_col = -1,
	.cpu_col = -1,
	.utid_col = -1,
	.key_col = -1,
	.state_bytes = sizeof(struct causes),
	.open = causes_open,
	.step = causes_step,
	.close = causes_close,
};
