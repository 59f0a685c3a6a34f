/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Each side is asked four questions in SQL (processes, CPU, memory, requests); what comes back is
 * added up per role and bin, and the roles are then compared figure by figure.
 */
#include "analyze/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/bin_noise.h"
#include "analyze/context/context.h"
#include "analyze/diff/role.h"
#include "analyze/engine/statement.h"
#include "model/quantile.h"

#define BINS_DEFAULT	 50
#define BIN_MIN_NS	 10000000ull
#define LEVEL		 0.01
#define RELATIVE_MIN	 0.05
#define LAT_REQUESTS_MIN 30

enum { SERIES_ONCPU, SERIES_RSS, SERIES_IOS, SERIES_BYTES, SERIES_LAT, SERIES_CNT };

/* Holds what a role did on one side. */
struct totals {
	uint64_t processes;
	/* NULL: nothing of it; SERIES_LAT: sums, to be divided by SERIES_IOS */
	double *bins[SERIES_CNT];
	struct quantile lat;
};

struct side {
	const struct diff_side *of;
	int64_t from_ns, to_ns;		/* from the trace's start */
	size_t bin_cnt;
	struct role_processes p;
	struct totals *totals;		/* by role */
	bool complete[DIFF_METRIC_CNT];
	/* its source was off for all of the window, or never recorded */
	bool absent[DIFF_METRIC_CNT];
	bool only_workload;
	int series;			/* subject of the incoming rows */
	uint64_t bin_ns;
	uint64_t wall_ns, wall_processes;	/* of the workload */
};

static const struct {
	const char *name;
	const char *source;	/* which has to be complete */
	int series;
	double least;		/* a change below it is not relevant; 0: a share of the window */
} metrics[DIFF_METRIC_CNT + 1] = {
	[DIFF_ONCPU] = { "oncpu_ns", "sched.switch", SERIES_ONCPU, 0 },
	[DIFF_RSS_PEAK] = { "largest_rss_bytes", "alloc.rss", SERIES_RSS, 1 << 20 },
	[DIFF_IOS] = { "ios", "block", SERIES_IOS, 10 },
	[DIFF_IO_BYTES] = { "io_bytes", "block", SERIES_BYTES, 1 << 20 },
	[DIFF_LAT_P50] = { "lat_p50_ns", "block", SERIES_LAT, 10000 },
	[DIFF_LAT_P99] = { "lat_p99_ns", "block", SERIES_LAT, 10000 },
	[DIFF_WALL] = { "wall_ns" },
};

struct compared {
	struct diff_row row;
	double change;			/* relative, for the order */
};

const char *diff_metric_name(enum diff_metric m)
{
	return metrics[m].name;
}

bool diff_is_change(enum diff_verdict v)
{
	return v != DIFF_SAME && v != DIFF_UNKNOWN;
}

const char *diff_verdict_name(enum diff_verdict v)
{
	static const char *const names[] = { "same", "changed", "only A", "only B", "unknown" };

	return names[v];
}

/* ---- what the traces say ---- */

static int ask(struct side *s, int (*row)(void *ctx, const struct value *v), const char *sql,
	       struct err *e)
{
	const struct row_sink sink = { .ctx = s, .row = row };
	const struct statement_param params[] = {
		{ ":from", value_int((uint64_t)s->from_ns) },
		{ ":to", value_int((uint64_t)s->to_ns) },
		{ ":every", value_int(s->bin_ns) },
		{ ":only_workload", value_int(s->only_workload) },
		{ .name = NULL },
	};

	return statement_run(s->of->a, sql, params, &sink, e);
}

static int take_process(void *ctx, const struct value *v)
{
	return role_process_add(&((struct side *)ctx)->p, v, 0);
}

static struct totals *totals_of(struct side *s, int64_t upid)
{
	const struct role_process *p = role_process_find(&s->p, upid);

	return p ? &s->totals[p->role] : NULL;
}

static double *bin_of(struct side *s, struct totals *d, int series, int64_t t_ns)
{
	uint64_t at = (uint64_t)(t_ns - s->from_ns) / s->bin_ns;

	if (t_ns < s->from_ns || at >= s->bin_cnt)
		return NULL;
	if (!d->bins[series])
		d->bins[series] = calloc(s->bin_cnt, sizeof(double));
	return d->bins[series] ? &d->bins[series][at] : NULL;
}

/* upid, t_ns, value */
static int take_bin(void *ctx, const struct value *v)
{
	struct side *s = ctx;
	struct totals *d = totals_of(s, v[0].i);
	double *bin;

	if (!d || v[2].type == VALUE_NULL)
		return 0;
	bin = bin_of(s, d, s->series, v[1].i);
	if (!bin)
		return 0;
	if (s->series == SERIES_RSS)
		*bin = fmax(*bin, (double)v[2].i);
	else
		*bin += (double)v[2].i;
	return 0;
}

/* upid, t_ns, bytes, latency */
static int take_request(void *ctx, const struct value *v)
{
	struct side *s = ctx;
	struct totals *d = totals_of(s, v[0].i);
	double *ios, *bytes, *lat;

	if (!d)
		return 0;
	ios = bin_of(s, d, SERIES_IOS, v[1].i);
	bytes = bin_of(s, d, SERIES_BYTES, v[1].i);
	lat = bin_of(s, d, SERIES_LAT, v[1].i);
	if (!ios || !bytes || !lat)
		return 0;
	*ios += 1;
	*bytes += (double)v[2].i;
	if (v[3].type == VALUE_NULL)
		return 0;
	*lat += (double)v[3].i;
	return quantile_add(&d->lat, (uint64_t)v[3].i);
}

/* source, complete, absent */
static int take_complete(void *ctx, const struct value *v)
{
	struct side *s = ctx;

	for (int m = 0; m < DIFF_METRIC_CNT; m++)
		if (v[0].type == VALUE_TEXT && !strcmp(metrics[m].source, v[0].text)) {
			s->complete[m] = v[1].i;
			s->absent[m] = v[2].i;
		}
	return 0;
}

static int load_processes(struct side *s, struct err *e)
{
	for (int m = 0; m < DIFF_METRIC_CNT; m++)
		s->complete[m] = true;
	return ask(s, take_process, role_process_sql, e);
}

static int load_totals(struct side *s, struct err *e)
{
	static const struct {
		int series;
		int (*row)(void *ctx, const struct value *v);
		const char *sql;
	} questions[] = {
		{ SERIES_ONCPU, take_bin,
		  "SELECT upid, t_ns, sum(oncpu_ns) FROM cpu_usage(:from, :to, :every)"
		  " WHERE utid >= 16 GROUP BY 1, 2" },
		{ SERIES_RSS, take_bin,
		  "SELECT upid, t_ns, peak_bytes FROM alloc_usage(:from, :to, :every, 'process')"
		  " WHERE source = 'rss'" },
		{ SERIES_IOS, take_request,
		  "SELECT iif(owner_upid > 1, owner_upid, submitter_upid), end_ns, bytes,"
		  " latency_ns FROM block_requests WHERE end_ns >= :from AND end_ns < :to" },
		{ 0, take_complete,
		  "SELECT column1, is_complete(column2, :from, :to),"
		  " EXISTS (SELECT 1 FROM source_gaps WHERE source = column1"
		  " AND from_ns <= :from AND to_ns >= :to) OR EXISTS (SELECT 1 FROM info"
		  " WHERE key = 'sources'"
		  " AND instr(',' || value || ',', ',' || column1 || ',') = 0)"
		  " FROM (VALUES ('sched.switch', 'report cpu'), ('alloc.rss', 'report memory'),"
		  " ('block', 'report io'))" },
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]) && !r; i++) {
		s->series = questions[i].series;
		r = ask(s, questions[i].row, questions[i].sql, e);
	}
	return r;
}

/* ---- comparing ---- */

/* Mean latency of the bins that have requests: how the percentiles' noise is judged. */
static struct bin_estimate latency_estimate(const struct side *s, const struct totals *d)
{
	struct bin_estimate e = { 0, 0, 1 };
	double *means = malloc((s->bin_cnt + 1) * sizeof(*means));
	size_t i, n = 0;

	if (!means)
		return e;
	for (i = 0; i < s->bin_cnt; i++)
		if (d->bins[SERIES_IOS] && d->bins[SERIES_IOS][i] > 0)
			means[n++] = d->bins[SERIES_LAT][i] / d->bins[SERIES_IOS][i];
	if (n > 1) {
		e = bin_estimate_sum(means, n);
		e.value /= (double)n;
		e.variance /= (double)n * (double)n;
	}
	free(means);
	return e;
}

static struct bin_estimate estimate(const struct side *s, struct totals *d,
				    enum diff_metric m)
{
	struct bin_estimate e = { 0, 0, 1 };
	const double *bins;
	size_t first = 0, end = s->bin_cnt;

	if (metrics[m].series == SERIES_LAT) {
		e = latency_estimate(s, d);
		e.value = (double)quantile_get(&d->lat, m == DIFF_LAT_P50 ? 50 : 99);
		return e;
	}
	bins = d->bins[metrics[m].series];
	if (!bins)
		return e;
	/* the time before its start and after its end is not part of its noise */
	while (first < end && bins[first] == 0)
		first++;
	while (end > first && bins[end - 1] == 0)
		end--;
	return m == DIFF_RSS_PEAK ? bin_estimate_max(bins + first, end - first)
				  : bin_estimate_sum(bins + first, end - first);
}

static bool has_metric(const struct totals *d, enum diff_metric m)
{
	return metrics[m].series == SERIES_LAT ? d->lat.cnt > 0
					       : d->bins[metrics[m].series] != NULL;
}

static double least(const struct side s[2], enum diff_metric m)
{
	if (metrics[m].least > 0)
		return metrics[m].least;
	return 0.005 * (double)(s[0].to_ns - s[0].from_ns + s[1].to_ns - s[1].from_ns) / 2;
}

static void compare(const struct side s[2], struct totals *const d[2], enum diff_metric m,
		    struct compared *ret)
{
	struct bin_estimate e[2] = { estimate(&s[0], d[0], m), estimate(&s[1], d[1], m) };
	struct diff_row *row = &ret->row;
	double change = fabs(e[1].value - e[0].value), larger = fmax(e[0].value, e[1].value);
	bool differs = change > 0 && change >= RELATIVE_MIN * fmin(e[0].value, e[1].value);
	bool worth = differs && change >= least(s, m);

	row->metric = m;
	row->verdict = DIFF_SAME;
	row->complete = s[0].complete[m] && s[1].complete[m];
	for (int side = 0; side < 2; side++) {
		row->processes[side] = d[side]->processes;
		row->value[side] = e[side].value;
		row->has[side] = has_metric(d[side], m);
	}
	ret->change = larger > 0 ? change / larger : 0;
	row->p = 1;
	if (s[0].absent[m] != s[1].absent[m])
		row->verdict = DIFF_UNKNOWN;
	row->reason = differs && !worth ? DIFF_TOO_SMALL : DIFF_NO_REASON;
	if (!worth || row->verdict == DIFF_UNKNOWN)
		return;
	if (m >= DIFF_LAT_P50 &&
	    (d[0]->lat.cnt < LAT_REQUESTS_MIN || d[1]->lat.cnt < LAT_REQUESTS_MIN)) {
		row->reason = DIFF_TOO_FEW;
		return;
	}
	if (!d[0]->processes || !d[1]->processes) {
		row->verdict = d[0]->processes ? DIFF_ONLY_A : DIFF_ONLY_B;
		row->p = 0;
		return;
	}
	row->p = bin_compare(&e[0], &e[1]);
	row->verdict = DIFF_CHANGED;	/* unless noise explains it: correct_all() */
}

static void correct_all(struct compared *rows, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		rows[i].row.p = bin_corrected(rows[i].row.p, cnt);
		if (rows[i].row.p < LEVEL || rows[i].row.verdict != DIFF_CHANGED)
			continue;
		rows[i].row.verdict = DIFF_SAME;
		rows[i].row.reason = DIFF_NOISE;
	}
}

static int by_importance(const void *a, const void *b)
{
	const struct compared *x = a, *y = b;
	bool cx = diff_is_change(x->row.verdict), cy = diff_is_change(y->row.verdict);

	if (cx != cy)
		return cx ? -1 : 1;
	if (cx && x->change != y->change)
		return x->change > y->change ? -1 : 1;
	/* what is the same, the greatest users of the CPU first, each role's figures together */
	if (x->row.metric != y->row.metric)
		return x->row.metric < y->row.metric ? -1 : 1;
	return fmax(x->row.value[0], x->row.value[1]) > fmax(y->row.value[0], y->row.value[1]) ? -1
											       : 1;
}

static int compare_roles(struct side s[2], const struct role *roles, size_t role_cnt,
			 struct compared **ret, size_t *ret_cnt)
{
	struct compared *rows = calloc(role_cnt * DIFF_METRIC_CNT + 1, sizeof(*rows));
	size_t i, n = 0;
	int m;

	if (!rows)
		return -ENOMEM;
	/* without roles, a side may have no totals */
	for (i = 0; i < role_cnt && s[0].totals && s[1].totals; i++) {
		struct totals *d[2] = { &s[0].totals[i], &s[1].totals[i] };

		for (m = 0; m < DIFF_METRIC_CNT; m++) {
			if (!has_metric(d[0], m) && !has_metric(d[1], m))
				continue;
			rows[n].row.role = roles[i].name;
			rows[n].row.parent = roles[i].parent;
			compare(s, d, m, &rows[n++]);
		}
	}
	correct_all(rows, n);
	qsort(rows, n, sizeof(*rows), by_importance);
	*ret = rows;
	*ret_cnt = n;
	return 0;
}

/* ---- the workload's wall time ---- */

static int take_wall(void *ctx, const struct value *v)
{
	struct side *s = ctx;

	s->wall_processes = (uint64_t)v[0].i;
	s->wall_ns = v[1].type == VALUE_INT && v[1].i > 0 ? (uint64_t)v[1].i : 0;
	return 0;
}

/* Limited to the window. 1: ret is the row; 0: one side has no workload. */
static int compare_wall(struct side s[2], struct diff_row *ret, struct err *e)
{
	*ret = (struct diff_row){ .role = "[workload]", .parent = "", .metric = DIFF_WALL, .p = 1,
				  .verdict = DIFF_SAME, .complete = true };
	for (int i = 0; i < 2; i++) {
		int r = ask(&s[i], take_wall,
			    "SELECT count(*), min(max(coalesce(end_ns, :to)), :to)"
			    " - max(min(start_ns), :from) FROM processes"
			    " WHERE is_workload AND NOT is_recorder AND upid >= 16", e);

		if (r)
			return r;
		ret->processes[i] = s[i].wall_processes;
		ret->value[i] = (double)s[i].wall_ns;
		ret->has[i] = s[i].wall_ns > 0;
	}
	if (fabs(ret->value[1] - ret->value[0]) >=
	    RELATIVE_MIN * fmin(ret->value[0], ret->value[1]))
		ret->verdict = DIFF_UNKNOWN;
	return ret->has[0] && ret->has[1];
}

/* ---- putting it together ---- */

static int make_sides(struct side s[2], struct role **roles, size_t *role_cnt, struct err *e)
{
	const struct role_processes *const p[2] = { &s[0].p, &s[1].p };
	int r = load_processes(&s[0], e);

	r = r ?: load_processes(&s[1], e) ?: role_assign(p, roles, role_cnt);
	for (int side = 0; side < 2 && !r; side++) {
		s[side].totals = calloc(*role_cnt + 1, sizeof(*s[side].totals));
		if (!s[side].totals)
			return -ENOMEM;
		for (size_t i = 0; i < p[side]->cnt; i++)
			s[side].totals[p[side]->v[i].role].processes++;
		r = load_totals(&s[side], e);
	}
	return r;
}

static void free_side(struct side *s, size_t role_cnt)
{
	size_t i;

	for (i = 0; s->totals && i < role_cnt; i++) {
		for (int k = 0; k < SERIES_CNT; k++)
			free(s->totals[i].bins[k]);
		quantile_done(&s->totals[i].lat);
	}
	free(s->totals);
	role_processes_done(&s->p);
}

static void give_windows(struct side s[2], const struct diff_side sides[2], uint64_t bin_ns)
{
	uint64_t len[2];
	int i;

	for (i = 0; i < 2; i++) {
		s[i] = (struct side){ .of = &sides[i],
				      .from_ns = context_rel(sides[i].a, sides[i].from_ns),
				      .to_ns = context_rel(sides[i].a, sides[i].to_ns) };
		len[i] = sides[i].to_ns - sides[i].from_ns;
	}
	if (!bin_ns)
		bin_ns = (len[0] < len[1] ? len[0] : len[1]) / BINS_DEFAULT;
	if (bin_ns < BIN_MIN_NS)
		bin_ns = BIN_MIN_NS;
	for (i = 0; i < 2; i++) {
		s[i].bin_ns = bin_ns;
		s[i].bin_cnt = (len[i] + bin_ns - 1) / bin_ns;
	}
}

int diff_run(const struct diff_side sides[2], uint64_t bin_ns, bool only_workload,
	     int (*row)(void *ctx, const struct diff_row *row), void *ctx, struct diff_summary *ret,
	     struct err *e)
{
	struct compared *rows = NULL;
	struct role *roles = NULL;
	struct diff_row wall;
	size_t role_cnt = 0, cnt = 0, i;
	struct side s[2];
	int m, r;

	give_windows(s, sides, bin_ns);
	s[0].only_workload = s[1].only_workload = only_workload;
	*ret = (struct diff_summary){ .bin_ns = s[0].bin_ns, .complete = { true, true } };
	r = make_sides(s, &roles, &role_cnt, e);
	r = r ?: compare_roles(s, roles, role_cnt, &rows, &cnt);
	for (m = 0; m < DIFF_METRIC_CNT; m++)
		for (i = 0; i < 2; i++)
			ret->complete[i] = ret->complete[i] && s[i].complete[m];
	if (!r)
		r = compare_wall(s, &wall, e);
	if (r > 0)
		r = row(ctx, &wall);
	for (i = 0; i < cnt && !r; i++) {
		ret->changed += diff_is_change(rows[i].row.verdict);
		r = row(ctx, &rows[i].row);
	}
	free(rows);
	for (i = 0; i < 2; i++)
		free_side(&s[i], role_cnt);
	role_free(roles, role_cnt);
	return r;
}
