/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * table_slow_requests: slow_requests(from_ns, to_ns, name, least_pct, least_ns, id) compares the
 * slow requests of a name, or the request with an id, with the other requests of the name: a row
 * per kind of activity, the largest difference of the mean times first.
 *
 *     requests --[length]--> slow ones, others
 *     request_time --[kind: sum, sum of squares]--> means, difference, interval --> sentence
 *
 * The interval of a difference of means is Welch's, for 95 % of the normal distribution:
 * 1.96 * sqrt(s1^2 / n1 + s2^2 / n2). It needs at least two requests on each side. The first row
 * has a sentence. A later row has a sentence if its difference is certain (0 is outside of the
 * interval) and at least a tenth of the first row's.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/tables/cause_facts.h"
#include "base/array.h"
#include "base/strpool.h"
#include "table_columns.h"

#define SENTENCES_MAX 3
#define GROWTH_MIN_BYTES (1u << 20)

/* A kind of activity. Times are means in ns per request. */
struct activity {
	const char *kind, *what, *by;
	const char *meanwhile[2];
	double slow, others, error;	/* error: half of the interval; < 0: unknown */
	uint64_t by_tid;	/* 0: `by` names several threads */
	uint64_t meanwhile_pct[2];	/* for running, [0] is the share of function `what` */
	const char *beside;	/* for disk: another process, if it moved more bytes; else NULL */
	uint64_t bytes;	/* moved by `beside`; for running: growth of the requests' processes */
	/* is_object: `what` is an object, not a call; is_timeout: most waits timed out */
	bool is_object, is_timeout;
	char answer[ANSWER_BYTES];
};

struct slow {
	struct causes c;	/* used for texts and window */
	struct value params[3];	/* least_pct, least_ns, id; with id, only that request is slow */
	const char *name;
	uint64_t slow_cnt, other_cnt, min_ns, max_ns;
	struct activity *v;
	size_t cnt, cap, given;
	bool is_done;
};

#define REQUESTS                                                                                 \
	"r AS MATERIALIZED (SELECT name, id, start_ns, dur_ns, utid, end_ns FROM "               \
	"requests(:from, :to) WHERE iif(:id IS NULL, name GLOB :name, name = :name) "            \
	"AND (end_ns NOTNULL OR id = :id) "                                                      \
	"AND (:id NOTNULL OR thread_in_scope(utid, start_ns))), "                                \
	"least AS MATERIALIZED (SELECT coalesce(:least_ns, (SELECT percentile(dur_ns, "          \
	"coalesce(:least_pct, 99)) FROM r)) AS ns), "                                            \
	"c AS MATERIALIZED (SELECT r.*, iif(:id IS NULL, dur_ns >= least.ns, id = :id) AS slow " \
	"FROM r, least) "

/* Selects the numbers of slow and other requests, and the range of lengths of the slow ones. */
static const char counts_sql[] =
	"WITH " REQUESTS "SELECT coalesce(sum(slow), 0), coalesce(sum(NOT slow), 0), "
	"coalesce(min(iif(slow, dur_ns, NULL)), 0), coalesce(max(iif(slow, dur_ns, NULL)), 0) "
	"FROM c";

static int counts_row(struct causes *c, const struct value *v, void *ctx)
{
	struct slow *s = ctx;

	(void)c;
	s->slow_cnt = (uint64_t)v[0].i;
	s->other_cnt = (uint64_t)v[1].i;
	s->min_ns = (uint64_t)v[2].i;
	s->max_ns = (uint64_t)v[3].i;
	return 0;
}

/*
 * Selects, per kind, the sums and sums of squares of slow and other requests, and the object (or
 * call) and the thread that account for at least half of the slow requests' time.
 */
static const char activities_sql[] =
	"WITH " REQUESTS ", "
	"p AS MATERIALIZED (SELECT c.slow, c.id, c.start_ns, c.name, x.kind, x.object, x.call, "
	"t.comm, t.tid, x.timeout, x.dur_ns FROM request_time(:from, :to) AS x "
	"JOIN c ON c.id = x.id AND c.start_ns = x.start_ns AND c.name = x.name "
	"LEFT JOIN threads AS t ON t.utid = x.by_utid), "
	"one AS (SELECT slow, kind, 1.0 * sum(dur_ns) AS ns FROM p GROUP BY slow, kind, id, "
	"start_ns, name), "
	"k AS MATERIALIZED (SELECT kind, sum(iif(slow, ns, 0)) AS s, sum(iif(slow, ns * ns, 0)) "
	"AS s2, sum(iif(slow, 0, ns)) AS o, sum(iif(slow, 0, ns * ns)) AS o2 FROM one GROUP BY "
	"kind), "
	"what AS (SELECT kind, coalesce(object, call) AS what, object NOTNULL AS is_object, "
	"sum(dur_ns) AS ns, row_number() OVER (PARTITION BY kind ORDER BY sum(dur_ns) DESC, "
	"coalesce(object, call)) AS n FROM p WHERE slow AND coalesce(object, call) NOTNULL "
	"GROUP BY kind, coalesce(object, call)), "
	"tids AS MATERIALIZED (SELECT kind, comm, tid, sum(dur_ns) AS ns FROM p "
	"WHERE slow AND comm NOTNULL GROUP BY kind, comm, tid), "
	"who AS (SELECT kind, comm, sum(ns) AS ns, row_number() OVER (PARTITION BY kind "
	"ORDER BY sum(ns) DESC, comm) AS n FROM tids GROUP BY kind, comm) "
	"SELECT k.kind, s, s2, o, o2, what.what, what.is_object, who.comm, coalesce((SELECT tid "
	"FROM tids AS t WHERE t.kind = k.kind AND t.comm = who.comm AND 2 * t.ns >= s), 0), "
	"(SELECT 2 * sum(dur_ns) >= s FROM p WHERE p.kind = k.kind AND slow AND timeout) FROM k "
	"LEFT JOIN what ON what.kind = k.kind AND what.n = 1 AND 2 * what.ns >= s "
	"LEFT JOIN who ON who.kind = k.kind AND who.n = 1 AND 2 * who.ns >= s";

static double variance_of_mean(double sum, double squares, uint64_t cnt)
{
	double v = (squares - sum * sum / (double)cnt) / (double)(cnt - 1) / (double)cnt;

	return v > 0 ? v : 0;
}

static int activity_row(struct causes *c, const struct value *v, void *ctx)
{
	struct slow *s = ctx;
	struct activity x = { .kind = causes_text(c, &v[0]), .what = causes_text(c, &v[5]),
			      .is_object = v[6].i, .by = causes_text(c, &v[7]),
			      .by_tid = (uint64_t)v[8].i, .error = -1,
			      .is_timeout = v[9].type == VALUE_INT && v[9].i };

	x.slow = v[1].r / (double)s->slow_cnt;
	x.others = s->other_cnt ? v[3].r / (double)s->other_cnt : 0;
	if (s->slow_cnt > 1 && s->other_cnt > 1)
		x.error = 1.96 * sqrt(variance_of_mean(v[1].r, v[2].r, s->slow_cnt) +
				      variance_of_mean(v[3].r, v[4].r, s->other_cnt));
	return array_add(&s->v, &s->cap, &s->cnt, x);
}

static int by_difference(const void *a, const void *b)
{
	const struct activity *x = a, *y = b;
	double d = (y->slow - y->others) - (x->slow - x->others) ?: y->slow - x->slow;

	return d > 0 ? 1 : d < 0 ? -1 : strcmp(x->kind, y->kind);
}

/* The ten slowest requests, and the threads that worked for them. */
#define WORST                                                                                    \
	"WITH " REQUESTS ", ten AS (SELECT * FROM c WHERE slow ORDER BY dur_ns DESC LIMIT 10), " \
	"worst AS MATERIALIZED (SELECT DISTINCT ten.start_ns, ten.start_ns + ten.dur_ns "        \
	"AS end_ns, y.utid FROM request_threads(:from, :to) AS y JOIN ten ON ten.id = y.id "     \
	"AND ten.start_ns = y.request_ns AND ten.name = y.name WHERE y.dur_ns > 0) "

/*
 * Selects the thread that held the lock during the ten slowest requests. Uses wait_ends(), which
 * skips threads that only passed the lock on.
 */
static const char holder_sql[] = WORST
	"SELECT t.comm, t.tid, sum(e.wait_ns) AS ns, sum(sum(e.wait_ns)) OVER () FROM worst "
	"JOIN wait_ends(worst.start_ns, worst.end_ns) AS e ON e.utid = worst.utid LEFT JOIN "
	"threads AS t ON t.utid = e.ender_utid WHERE e.kind = 'lock' "
	"AND (:what IS NULL OR e.object = :what) AND e.meanwhile IS NULL "
	"GROUP BY e.ender_utid ORDER BY ns DESC, t.tid LIMIT 1";

static int holder_row(struct causes *c, const struct value *v, void *ctx)
{
	struct activity *x = ctx;

	x->by = 2 * v[2].i >= v[3].i ? causes_text(c, &v[0]) : NULL;
	x->by_tid = x->by ? (uint64_t)v[1].i : 0;
	return 0;
}

/* Selects the main activities of the thread that ended the waits of the ten slowest requests. */
static const char meanwhile_sql[] = WORST
	"SELECT e.meanwhile, sum(e.meanwhile_ns) AS ns, sum(sum(e.meanwhile_ns)) OVER () "
	"FROM worst JOIN wait_ends(worst.start_ns, worst.end_ns) AS e ON e.utid = worst.utid "
	"JOIN threads AS t ON t.utid = e.ender_utid WHERE e.kind = :kind AND t.comm = :comm "
	"AND e.meanwhile NOTNULL GROUP BY e.meanwhile ORDER BY ns DESC, e.meanwhile LIMIT 2";

static int meanwhile_row(struct causes *c, const struct value *v, void *ctx)
{
	struct activity *x = ctx;
	int n = x->meanwhile[0] != NULL;

	x->meanwhile[n] = causes_text(c, &v[0]);
	x->meanwhile_pct[n] = v[2].i ? (uint64_t)(100 * v[1].i / v[2].i) : 0;
	return 0;
}

/* Selects the function that the threads of the ten slowest requests ran most, and its share. */
static const char function_sql[] = WORST
	"SELECT json_extract(frames, '$[#-1]'), 100 * sum(ns) / max(1, sum(sum(ns)) OVER ()) "
	"FROM (SELECT '[' || replace(json_quote(stack_text(u.stack, u.last_ns)), ';', '\",\"') "
	"|| ']' AS frames, u.oncpu_ns AS ns FROM worst JOIN cpu_profile(worst.start_ns, "
	"worst.end_ns) AS u ON u.utid = worst.utid WHERE u.stack NOT NULL) "
	"GROUP BY 1 ORDER BY sum(ns) DESC, 1 LIMIT 1";

static int function_row(struct causes *c, const struct value *v, void *ctx)
{
	struct activity *x = ctx;

	x->what = v[1].i >= 20 ? causes_text(c, &v[0]) : NULL;
	x->meanwhile_pct[0] = (uint64_t)v[1].i;
	return 0;
}

/*
 * Selects the process that moved most bytes on the same disks during the ten slowest requests, if
 * the requests' own processes moved less. A block request counts for its owner, as in report io.
 */
static const char beside_sql[] = WORST
	", b AS MATERIALIZED (SELECT DISTINCT q.end_ns, q.sector, q.dev, q.bytes, "
	"iif(q.owner_upid > 1, q.owner_upid, q.submitter_upid) AS upid FROM worst JOIN "
	"block_requests AS q ON q.end_ns >= worst.start_ns AND q.end_ns < worst.end_ns), "
	"own AS MATERIALIZED (SELECT DISTINCT t.upid FROM worst JOIN threads AS t "
	"ON t.utid = worst.utid) "
	"SELECT p.comm, sum(b.bytes) AS bytes FROM b JOIN processes AS p ON p.upid = b.upid "
	"WHERE b.upid NOT IN own AND b.dev IN (SELECT dev FROM b WHERE upid IN own) "
	"GROUP BY p.comm HAVING sum(b.bytes) > (SELECT sum(bytes) FROM b WHERE upid IN own) "
	"ORDER BY bytes DESC, p.comm LIMIT 1";

/* Selects the largest growth of memory of the processes during one of the ten slowest requests. */
static const char growth_sql[] = WORST
	"SELECT NULL, coalesce(max(bytes), 0) FROM (SELECT max(r.bytes) - min(r.bytes) AS bytes "
	"FROM worst JOIN threads AS t ON t.utid = worst.utid JOIN rss_points AS r "
	"ON r.upid = t.upid AND r.ts_ns >= worst.start_ns AND r.ts_ns < worst.end_ns "
	"WHERE r.member = 'anon' GROUP BY worst.start_ns)";

static int bytes_row(struct causes *c, const struct value *v, void *ctx)
{
	struct activity *x = ctx;

	x->beside = causes_text(c, &v[0]);
	x->bytes = (uint64_t)v[1].i;
	return 0;
}

static int query(struct slow *s, const char *sql, const struct activity *x,
		 int (*row)(struct causes *c, const struct value *v, void *ctx), void *ctx)
{
	const struct statement_param params[] = {
		{ ":from", value_int((uint64_t)s->c.from_ns) },
		{ ":to", value_int((uint64_t)s->c.to_ns) },
		{ ":name", value_text(s->name) },
		{ ":least_pct", s->params[0] },
		{ ":least_ns", s->params[1] },
		{ ":id", s->params[2] },
		{ ":kind", value_text(x ? x->kind : NULL) },
		{ ":comm", value_text(x ? x->by : NULL) },
		{ ":what", value_text(x ? x->what : NULL) },
		{ .name = NULL },
	};

	return causes_query_with(&s->c, sql, params, row, ctx);
}

/* Appends, for example, ", held by audit (5811): disk 81 %" or ", behind cc1 (811)". */
static void name_ender(struct activity *x)
{
	const char *how = !strcmp(x->kind, "lock") ? "held by" :
			  !strcmp(x->kind, "cpu")  ? "behind" :
			  !strcmp(x->kind, "stopped") ? "until" : "ended by";

	if (!x->by)
		return;
	causes_append(x->answer, ", %s %s", how, x->by);
	if (x->by_tid)
		causes_append(x->answer, " (%llu)", (unsigned long long)x->by_tid);
	for (int i = 0; i < 2 && x->meanwhile[i] && x->meanwhile_pct[i] >= 5; i++)
		causes_append(x->answer, "%s %s %llu %%", i ? "," : ":", x->meanwhile[i],
			      (unsigned long long)x->meanwhile_pct[i]);
}

/* Appends, for example, "waited 74.0 ms for lock L, held by audit (5811); the others 0.2 ms". */
static void name_activity(const struct slow *s, struct activity *x)
{
	static const struct phrase queued = { "queued", "waited", "for a thread" };
	const struct phrase *p = strcmp(x->kind, "queued") ? causes_phrase(x->kind) : &queued;
	char slow[UNITS_TEXT_MAX], others[UNITS_TEXT_MAX], bytes[UNITS_TEXT_MAX];
	bool is_were = s->slow_cnt > 1 && !strncmp(p->verb, "was ", 4);
	const char *what = p->what;

	if (x->what && !strcmp(x->kind, "lock"))
		what = "for lock ";
	causes_append(x->answer, "%s%s %s%s%s", is_were ? "were " : "", p->verb + 4 * is_were,
		      duration(slow, (uint64_t)x->slow), *what ? " " : "", what);
	if (x->what && !strcmp(x->kind, "lock"))
		causes_append(x->answer, "%s", x->what);
	else if (x->what && !x->is_object && !strcmp(x->what, "user code"))
		causes_append(x->answer, " in page faults");
	else if (x->what && !strcmp(x->kind, "running"))
		causes_append(x->answer, ", %llu %% of it in %s",
			      (unsigned long long)x->meanwhile_pct[0], x->what);
	else if (x->what)
		causes_append(x->answer, "%s%s", x->is_object ? ": " : " in ", x->what);
	if (x->is_timeout && strcmp(x->kind, "timer"))
		causes_append(x->answer, ", until a timeout");
	name_ender(x);
	units_format_bytes(bytes, sizeof(bytes), x->bytes);
	if (x->beside)
		causes_append(x->answer, ", while %s moved %s on it", x->beside, bytes);
	else if (x->bytes >= GROWTH_MIN_BYTES)
		causes_append(x->answer, ", while the process grew by %s", bytes);
	if (s->other_cnt)
		causes_append(x->answer, "; the others %s", duration(others, (uint64_t)x->others));
}

static bool is_of_one(const struct slow *s)
{
	return s->params[2].type == VALUE_INT;
}

static void name_group(const struct slow *s, struct activity *x)
{
	char from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX], cnt[UNITS_TEXT_MAX];
	double pct = 100.0 * (double)s->slow_cnt / (double)(s->slow_cnt + s->other_cnt);

	duration(from, s->min_ns);
	duration(to, s->max_ns);
	units_format_count(cnt, sizeof(cnt), s->slow_cnt);
	if (s->slow_cnt == 1) {
		causes_append(x->answer, "%s request (%s) ", is_of_one(s) ? "This" : "The slowest",
			      to);
		return;
	}
	causes_append(x->answer, "The slowest %.*f %% (%s requests, ",
		      pct < 10 && pct != (double)(int)pct ? 1 : 0, pct, cnt);
	if (strcmp(from, to)) {
		/* write the unit once: "81.0 to 97.0 ms" */
		if (!strcmp(from + strcspn(from, " "), to + strcspn(to, " ")))
			from[strcspn(from, " ")] = 0;
		causes_append(x->answer, "%s to ", from);
	}
	causes_append(x->answer, "%s) ", to);
}

static int compare(struct slow *s)
{
	int ret = query(s, counts_sql, NULL, counts_row, s);
	double first;

	if (ret || !s->slow_cnt)
		return ret;
	ret = query(s, activities_sql, NULL, activity_row, s);
	if (ret || !s->cnt)
		return ret;
	qsort(s->v, s->cnt, sizeof(*s->v), by_difference);
	first = s->v[0].slow - s->v[0].others;
	for (size_t i = 0; i < s->cnt && i < SENTENCES_MAX && !ret; i++) {
		struct activity *x = &s->v[i];
		double difference = x->slow - x->others;

		if (i && (10 * difference < first || difference <= 0 ||
			  (!is_of_one(s) && (x->error < 0 || difference < x->error))))
			break;
		if (!strcmp(x->kind, "lock"))
			ret = query(s, holder_sql, x, holder_row, x);
		if (!strcmp(x->kind, "running"))
			ret = query(s, function_sql, x, function_row, x) ?:
			      query(s, growth_sql, x, bytes_row, x);
		if (!strcmp(x->kind, "disk"))
			ret = query(s, beside_sql, x, bytes_row, x);
		if (!ret && x->by && strcmp(x->kind, "cpu"))
			ret = query(s, meanwhile_sql, x, meanwhile_row, x);
		if (i)
			causes_append(x->answer, "%s also ", is_of_one(s) ? "It" : "They");
		else
			name_group(s, x);
		name_activity(s, x);
	}
	return ret;
}

static struct value number_of(const struct cell *c)
{
	struct value v = { .type = c->type };

	if (c->type == VALUE_REAL)
		v.r = c->r;
	else if (c->type == VALUE_INT)
		v.i = c->i;
	else
		v.type = VALUE_NULL;
	return v;
}

static int slow_open(struct analysis *a, const struct table_def *def, const struct table_query *q,
		     void *state, struct err *e)
{
	struct slow *s = state;
	int ret = causes_window(&s->c, a, q, e);

	ret = ret ?: strpool_new(&s->c.texts);
	s->params[0] = number_of(&q->args[3]);
	s->params[1] = number_of(&q->args[4]);
	s->params[2] = number_of(&q->args[5]);
	s->name = ret || q->args[2].type != VALUE_TEXT ? "*" :
							 strpool_put(s->c.texts, q->args[2].s);
	return ret ?: s->name ? 0 : -ENOMEM;
}

static void slow_close(void *state)
{
	struct slow *s = state;

	strpool_free(s->c.texts);
	free(s->v);
}

static int slow_step(void *state, struct rowbuf *out, struct err *e)
{
	struct slow *s = state;
	int ret = 0;

	s->c.e = e;
	if (!s->is_done)
		ret = compare(s);
	if (ret)
		return ret;
	s->is_done = true;
	for (; s->given < s->cnt && out->row_cnt < TABLE_BATCH_ROWS; s->given++) {
		const struct activity *x = &s->v[s->given];
		struct cell *c = rowbuf_add(out);

		cell_text(&c[COL_SLOW_REQUESTS_KIND], x->kind);
		cell_text(&c[COL_SLOW_REQUESTS_OBJECT], x->what);
		cell_int(&c[COL_SLOW_REQUESTS_SLOW_NS], (int64_t)x->slow);
		cell_int(&c[COL_SLOW_REQUESTS_OTHERS_NS], (int64_t)x->others);
		cell_int(&c[COL_SLOW_REQUESTS_DIFF_NS], (int64_t)(x->slow - x->others));
		if (x->error >= 0)
			cell_int(&c[COL_SLOW_REQUESTS_ERROR_NS], (int64_t)x->error);
		cell_text(&c[COL_SLOW_REQUESTS_ANSWER], *x->answer ? x->answer : NULL);
	}
	return s->given < s->cnt;
}

const struct table_def table_slow_requests = {
	.name = NAME_SLOW_REQUESTS, .cols = (const struct table_column[]){ COLS_SLOW_REQUESTS },
	.col_cnt = COL_SLOW_REQUESTS_CNT, .arg_cnt = ARGS_SLOW_REQUESTS,
	.time_col = -1, .cpu_col = -1, .utid_col = -1, .key_col = -1,
	.state_bytes = sizeof(struct slow),
	.open = slow_open, .step = slow_step, .close = slow_close,
};
