/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * diff: queries processes, CPU, memory, block requests and program requests of each side in SQL,
 * adds up the results per bin and per role or name of requests, and compares each figure.
 */
#include "analyze/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/context.h"
#include "analyze/diff/role.h"
#include "analyze/engine/statement.h"
#include "base/array.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "model/quantile.h"

/*
 * The tail of the t distribution is the regularised incomplete beta function, evaluated by its
 * continued fraction (DLMF 8.17.22) with the modified Lentz method.
 */

double bin_noise_variance(const double *bins, size_t cnt)
{
	double sum = 0;
	size_t i;

	for (i = 1; i < cnt; i++)
		sum += (bins[i] - bins[i - 1]) * (bins[i] - bins[i - 1]);
	return cnt < 2 ? 0 : sum / (2.0 * (double)(cnt - 1));
}

static double degrees(size_t cnt)
{
	return cnt < 2 ? 1 : fmax(1, 2.0 * (double)(cnt - 1) / 3.0);
}

struct bin_estimate bin_estimate_sum(const double *bins, size_t cnt)
{
	struct bin_estimate e = { 0, bin_noise_variance(bins, cnt) * (double)cnt, degrees(cnt) };
	size_t i;

	for (i = 0; i < cnt; i++)
		e.value += bins[i];
	return e;
}

struct bin_estimate bin_estimate_max(const double *bins, size_t cnt)
{
	struct bin_estimate e = { 0, bin_noise_variance(bins, cnt), degrees(cnt) };
	size_t i;

	for (i = 0; i < cnt; i++)
		if (bins[i] > e.value)
			e.value = bins[i];
	return e;
}

static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), f, m, step;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	f = d;
	for (m = 1; m < 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		f *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		step = d * c;
		f *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return f;
}

static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	/* the fraction converges fast only for small x; otherwise use the symmetry */
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_p(double t, double df)
{
	if (isinf(t))
		return 0;
	return fmin(1, fmax(0, incomplete_beta(df / 2, 0.5, df / (df + t * t))));
}

double bin_compare(const struct bin_estimate *a, const struct bin_estimate *b)
{
	double v = a->variance + b->variance, diff = b->value - a->value;

	if (v <= 0)
		return diff == 0 ? 1 : 0;
	return student_p(diff / sqrt(v), v * v / (a->variance * a->variance / a->df +
						  b->variance * b->variance / b->df));
}

double bin_corrected(double p, size_t cnt)
{
	return fmin(1, p * (double)cnt);
}

#define BINS_DEFAULT	 50
#define BIN_MIN_NS	 10000000ull
#define LEVEL		 0.01
#define RELATIVE_MIN	 0.05
#define LAT_REQUESTS_MIN 30

/* Program requests use the series from SERIES_IOS on, and one series per part of a request. */
enum { SERIES_ONCPU, SERIES_RSS, SERIES_IOS, SERIES_BYTES, SERIES_LAT, SERIES_LAT_MAX, SERIES_PART,
       SERIES_CNT = SERIES_PART + DIFF_METRIC_CNT - DIFF_REQUEST_PART };

/* Names of requests, in the order of first use. */
struct names {
	struct strpool *texts;
	struct hash_map numbers;	/* by address of the text in texts */
	const char **v;
	size_t cnt, cap;
};

/* Sums of a role, or of the requests with one name, on one side. */
struct totals {
	uint64_t processes;
	/* NULL: no data; SERIES_LAT, SERIES_PART: sums, to be divided by SERIES_IOS */
	double *bins[SERIES_CNT];
	struct quantile lat;
};

struct side {
	const struct diff_side *of;
	int64_t from_ns, to_ns;		/* from the trace's start */
	size_t bin_cnt;
	struct role_processes p;
	struct names *names;
	size_t role_cnt, name_cnt;	/* numbers of totals for roles and for names */
	struct totals *totals;		/* by role, then by name of requests */
	bool complete[DIFF_METRIC_CNT];
	/* the source was off for the whole window, or was never recorded */
	bool absent[DIFF_METRIC_CNT];
	bool only_workload;
	int series;			/* series of the rows being received */
	uint64_t bin_ns;
	/* wall time and number of processes of the workload */
	uint64_t wall_ns, wall_processes;
};

static const struct {
	const char *name;
	const char *source;	/* the source that must be complete */
	int series;
	/* smaller changes are irrelevant; 0: least() computes it from the window */
	double least;
	double pct;		/* percentile, for SERIES_LAT */
} metrics[DIFF_METRIC_CNT + 1] = {
	[DIFF_ONCPU] = { "oncpu_ns", "sched.switch", SERIES_ONCPU, 0 },
	[DIFF_RSS_PEAK] = { "largest_rss_bytes", "alloc.rss", SERIES_RSS, 1 << 20 },
	[DIFF_IOS] = { "ios", "block", SERIES_IOS, 10 },
	[DIFF_IO_BYTES] = { "io_bytes", "block", SERIES_BYTES, 1 << 20 },
	[DIFF_LAT_P50] = { "lat_p50_ns", "block", SERIES_LAT, 10000, 50 },
	[DIFF_LAT_P99] = { "lat_p99_ns", "block", SERIES_LAT, 10000, 99 },
	[DIFF_REQUESTS] = { "requests", "app.span", SERIES_IOS, 10 },
	[DIFF_REQUESTS_PER_S] = { "requests_per_s", "app.span", SERIES_IOS, 1e-9 },
	[DIFF_REQUEST_P50] = { "request_p50_ns", "app.span", SERIES_LAT, 10000, 50 },
	[DIFF_REQUEST_P90] = { "request_p90_ns", "app.span", SERIES_LAT, 10000, 90 },
	[DIFF_REQUEST_P99] = { "request_p99_ns", "app.span", SERIES_LAT, 10000, 99 },
	[DIFF_REQUEST_MAX] = { "request_max_ns", "app.span", SERIES_LAT_MAX, 10000 },
	[DIFF_REQUEST_PART ... DIFF_METRIC_CNT - 1] = { NULL, "app.span", SERIES_PART, 10000 },
	[DIFF_WALL] = { "wall_ns" },
};

struct compared {
	struct diff_row row;
	double change;			/* relative; for sorting */
};

const char *diff_metric_name(enum diff_metric m)
{
	return metrics[m].name;
}

const char *diff_part_name(enum diff_metric m)
{
	unsigned int part = m - DIFF_REQUEST_PART;

	if (m < DIFF_REQUEST_PART || m >= DIFF_METRIC_CNT)
		return NULL;
	return part < WAIT_KIND_CNT ? wait_kind_name(part) :
	       part == WAIT_KIND_CNT ? "running" : "queued";
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

/* ---- reading the traces ---- */

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

/* Columns: upid, t_ns, value. */
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

/* Columns: upid, t_ns, bytes, latency. */
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

/* Finds or adds a name. A name that is added after the totals were allocated has no totals. */
static int name_number(struct names *n, const struct value *v, uint32_t *ret)
{
	const char *text = strpool_put(n->texts, v->type == VALUE_TEXT ? v->text : "");
	int added = text ? hash_map_intern(&n->numbers, (uintptr_t)text, 0, ret) : -ENOMEM;

	return added > 0 ? array_add(&n->v, &n->cap, &n->cnt, text) : added;
}

static int take_name(void *ctx, const struct value *v)
{
	uint32_t nr;

	return name_number(((struct side *)ctx)->names, &v[0], &nr);
}

static int totals_of_name(struct side *s, const struct value *name, struct totals **ret)
{
	uint32_t nr;
	int r = name_number(s->names, name, &nr);

	*ret = r || nr >= s->name_cnt ? NULL : &s->totals[s->role_cnt + nr];
	return r;
}

/* Columns: name, end, length, number of processes that had requests of this name. */
static int take_span(void *ctx, const struct value *v)
{
	double *cnt, *sum, *max, ns = (double)v[2].i;
	struct side *s = ctx;
	struct totals *d;
	int r = totals_of_name(s, &v[0], &d);

	if (!d)
		return r;
	cnt = bin_of(s, d, SERIES_IOS, v[1].i);
	sum = bin_of(s, d, SERIES_LAT, v[1].i);
	max = bin_of(s, d, SERIES_LAT_MAX, v[1].i);
	if (!cnt || !sum || !max)
		return 0;
	*cnt += 1;
	*sum += ns;
	*max = fmax(*max, ns);
	d->processes = (uint64_t)v[3].i;
	return quantile_add(&d->lat, (uint64_t)v[2].i);
}

static int series_of_part(enum diff_metric m)
{
	return SERIES_PART + (int)(m - DIFF_REQUEST_PART);
}

/* Columns: name, end, kind, time. */
static int take_part(void *ctx, const struct value *v)
{
	enum diff_metric m = DIFF_REQUEST_PART;
	struct side *s = ctx;
	struct totals *d;
	double *bin = NULL;
	int r = totals_of_name(s, &v[0], &d);

	while (m < DIFF_METRIC_CNT && strcmp(diff_part_name(m), v[2].text))
		m++;
	if (d && m < DIFF_METRIC_CNT)
		bin = bin_of(s, d, series_of_part(m), v[1].i);
	if (bin)
		*bin += (double)v[3].i;
	return r;
}

/* Columns: source, complete, absent. */
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
	return ask(s, take_process, role_process_sql, e) ?:
	       ask(s, take_name, "WITH " ROLE_SPANS " SELECT name FROM n", e);
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
		{ 0, take_span,
		  "WITH " ROLE_SPANS " SELECT r.name, end_ns, dur_ns, n.processes"
		  " FROM r JOIN n ON n.name = r.name" },
		{ 0, take_part,
		  "WITH " ROLE_SPANS " SELECT r.name, r.end_ns, x.kind, x.dur_ns"
		  " FROM request_time(:from, :to) AS x JOIN r ON r.id = x.id"
		  " AND r.start_ns = x.start_ns AND r.name = x.name" },
		{ 0, take_complete,
		  "SELECT column1, is_complete(column2, :from, :to),"
		  " EXISTS (SELECT 1 FROM source_gaps WHERE source = column1"
		  " AND from_ns <= :from AND to_ns >= :to) OR EXISTS (SELECT 1 FROM info"
		  " WHERE key = 'sources'"
		  " AND instr(',' || value || ',', ',' || column1 || ',') = 0)"
		  " FROM (VALUES ('sched.switch', 'report cpu'), ('alloc.rss', 'report memory'),"
		  " ('block', 'report io'), ('app.span', 'report requests'))" },
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]) && !r; i++) {
		s->series = questions[i].series;
		r = ask(s, questions[i].row, questions[i].sql, e);
	}
	return r;
}

/* ---- comparing ---- */

/*
 * Estimates the mean per request of a series. Its noise is the variation of the means of all bins
 * with requests.
 */
static struct bin_estimate mean_estimate(const struct side *s, const struct totals *d, int series)
{
	const double *cnts = d->bins[SERIES_IOS], *sums = d->bins[series];
	struct bin_estimate e = { 0, 0, 1 };
	double sum = 0, cnt = 0, *means = malloc((s->bin_cnt + 1) * sizeof(*means));
	size_t i, n = 0;

	if (!means)
		return e;
	for (i = 0; i < s->bin_cnt && cnts && sums; i++) {
		sum += sums[i];
		cnt += cnts[i];
		if (cnts[i] > 0)
			means[n++] = sums[i] / cnts[i];
	}
	if (n > 1) {
		e = bin_estimate_sum(means, n);
		e.variance /= (double)n * (double)n;
	}
	e.value = cnt > 0 ? sum / cnt : 0;
	free(means);
	return e;
}

/*
 * Estimates a percentile. Its noise is the larger of two: the noise of the mean, and the noise that
 * follows from the standard error (binomial) of the percentile's rank.
 */
static struct bin_estimate percentile_estimate(const struct side *s, struct totals *d,
					       enum diff_metric m)
{
	struct bin_estimate e = mean_estimate(s, d, SERIES_LAT);
	double pct = metrics[m].pct, error = sqrt(pct * (100 - pct) / fmax(1, (double)d->lat.cnt));
	double high = (double)quantile_get(&d->lat, fmin(100, pct + 2 * error));
	double low = (double)quantile_get(&d->lat, fmax(0, pct - 2 * error));

	e.value = (double)quantile_get(&d->lat, pct);
	e.variance = fmax(e.variance, (high - low) * (high - low) / 16);
	return e;
}

static struct bin_estimate estimate(const struct side *s, struct totals *d,
				    enum diff_metric m)
{
	struct bin_estimate e = { 0, 0, 1 };
	double seconds = (double)(s->to_ns - s->from_ns) / 1e9;
	const double *bins;
	size_t first = 0, end = s->bin_cnt;

	if (metrics[m].pct > 0)
		return percentile_estimate(s, d, m);
	if (metrics[m].series == SERIES_PART)
		return mean_estimate(s, d, series_of_part(m));
	bins = d->bins[metrics[m].series];
	if (!bins)
		return e;
	/* the time before the first and after the last nonzero bin does not count as noise */
	while (first < end && bins[first] == 0)
		first++;
	while (end > first && bins[end - 1] == 0)
		end--;
	if (m == DIFF_RSS_PEAK || m == DIFF_REQUEST_MAX)
		return bin_estimate_max(bins + first, end - first);
	e = bin_estimate_sum(bins + first, end - first);
	if (m == DIFF_REQUESTS_PER_S) {
		e.value /= seconds;
		e.variance /= seconds * seconds;
	}
	return e;
}

static bool has_metric(const struct totals *d, enum diff_metric m)
{
	return m >= DIFF_LAT_P50 ? d->lat.cnt > 0 : d->bins[metrics[m].series] != NULL;
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
	if (metrics[m].series >= SERIES_LAT &&
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
	/* correct_all() changes this if noise explains the difference */
	row->verdict = DIFF_CHANGED;
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
	/* unchanged rows: by figure, then by value, largest first */
	if (x->row.metric != y->row.metric)
		return x->row.metric < y->row.metric ? -1 : 1;
	return fmax(x->row.value[0], x->row.value[1]) > fmax(y->row.value[0], y->row.value[1]) ? -1
											       : 1;
}

/* Returns whether a part of requests is long enough on either side for a change to be relevant. */
static bool is_long_part(const struct side s[2], struct totals *const d[2], enum diff_metric m)
{
	return d[0]->lat.cnt && d[1]->lat.cnt &&
	       fmax(estimate(&s[0], d[0], m).value, estimate(&s[1], d[1], m).value) >= least(s, m);
}

static int compare_all(struct side s[2], const struct role *roles, struct compared **ret,
		       size_t *ret_cnt)
{
	size_t i, n = 0, role_cnt = s[0].role_cnt, cnt = role_cnt + s[0].name_cnt;
	struct compared *rows = calloc(cnt * DIFF_METRIC_CNT + 1, sizeof(*rows));
	int m, end;

	if (!rows)
		return -ENOMEM;
	/* without roles and names, a side may have no totals */
	for (i = 0; i < cnt && s[0].totals && s[1].totals; i++) {
		struct totals *d[2] = { &s[0].totals[i], &s[1].totals[i] };

		m = i < role_cnt ? 0 : DIFF_REQUESTS;
		end = i < role_cnt ? DIFF_REQUESTS : DIFF_METRIC_CNT;
		for (; m < end; m++) {
			if ((!has_metric(d[0], m) && !has_metric(d[1], m)) ||
			    (m >= DIFF_REQUEST_PART && !is_long_part(s, d, m)))
				continue;
			rows[n].row.role =
				i < role_cnt ? roles[i].name : s[0].names->v[i - role_cnt];
			rows[n].row.parent = i < role_cnt ? roles[i].parent : "";
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

/*
 * Compares the workload's wall time inside the windows. 1: *ret was set; 0: a side has no workload.
 */
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

/* ---- the comparison ---- */

static int make_sides(struct side s[2], struct role **roles, size_t *role_cnt, struct err *e)
{
	const struct role_processes *const p[2] = { &s[0].p, &s[1].p };
	int r = load_processes(&s[0], e);

	r = r ?: load_processes(&s[1], e) ?: role_assign(p, roles, role_cnt);
	for (int side = 0; side < 2 && !r; side++) {
		s[side].role_cnt = *role_cnt;
		s[side].name_cnt = s[side].names->cnt;
		s[side].totals = calloc(*role_cnt + s[side].name_cnt + 1,
					sizeof(*s[side].totals));
		if (!s[side].totals)
			return -ENOMEM;
		for (size_t i = 0; i < p[side]->cnt; i++)
			s[side].totals[p[side]->v[i].role].processes++;
		r = load_totals(&s[side], e);
	}
	return r;
}

static void free_side(struct side *s)
{
	size_t i;

	for (i = 0; s->totals && i < s->role_cnt + s->name_cnt; i++) {
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
	struct names names = { 0 };
	struct diff_row wall;
	size_t role_cnt = 0, cnt = 0, i;
	struct side s[2];
	int r;

	give_windows(s, sides, bin_ns);
	s[0].only_workload = s[1].only_workload = only_workload;
	*ret = (struct diff_summary){ .bin_ns = s[0].bin_ns };
	s[0].names = s[1].names = &names;
	r = strpool_new(&names.texts) ?: make_sides(s, &roles, &role_cnt, e);
	r = r ?: compare_all(s, roles, &rows, &cnt);
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
		free_side(&s[i]);
	strpool_free(names.texts);
	hash_map_done(&names.numbers);
	free(names.v);
	role_free(roles, role_cnt);
	return r;
}
