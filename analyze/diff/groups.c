/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * groups: queries the processes and figures of each run. After the last run, role_assign() treats
 * all processes of a group as one side, with ids that are unique over the runs.
 */
#include "analyze/diff/groups.h"

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

/* ranks: sums of ranks are doubled, so that the mean ranks of ties are integers. */

#define ROUNDING 1e-9

static double median_of(const double *v, size_t cnt)
{
	return cnt % 2 ? v[cnt / 2] : (v[cnt / 2 - 1] + v[cnt / 2]) / 2;
}

/*
 * Returns an array: element [k * (most + 1) + s] is the number of ways in which k of the ranks add
 * up to s. The caller frees it. NULL: out of memory.
 */
static double *count_ways(const unsigned int *twice, size_t cnt, size_t n, size_t most)
{
	double *ways = calloc((n + 1) * (most + 1), sizeof(*ways));

	if (!ways)
		return NULL;
	ways[0] = 1;
	for (size_t i = 0; i < cnt; i++)
		for (size_t k = n; k-- > 0;)
			for (size_t s = twice[i]; s <= most; s++)
				ways[(k + 1) * (most + 1) + s] +=
					ways[k * (most + 1) + s - twice[i]];
	return ways;
}

static double upper_tail(double z)
{
	return erfc(z / sqrt(2)) / 2;
}

/*
 * Sets *ret to a share of all ways to divide the values into the two groups: the ways with a sum of
 * ranks at least as far from the mean as `sum`.
 */
static int find_p(const unsigned int *twice, size_t cnt, size_t n, size_t sum, double *ret)
{
	double middle = (double)n * (double)(cnt + 1), far = 0, all = 0, variance = 0, *ways;
	size_t most = cnt * (cnt + 1);

	if (cnt > RANKS_EXACT_MAX) {
		for (size_t i = 0; i < cnt; i++)
			variance += ((double)twice[i] - (double)(cnt + 1)) *
				    ((double)twice[i] - (double)(cnt + 1));
		variance *= (double)n * (double)(cnt - n) / (double)cnt / (double)(cnt - 1);
		*ret = variance > 0 ? 2 * upper_tail(fabs((double)sum - middle) / sqrt(variance)) :
				      1;
		return 0;
	}
	ways = count_ways(twice, cnt, n, most);
	if (!ways)
		return -ENOMEM;
	for (size_t s = 0; s <= most; s++) {
		double w = ways[n * (most + 1) + s];

		all += w;
		if (fabs((double)s - middle) >= fabs((double)sum - middle) - ROUNDING)
			far += w;
	}
	free(ways);
	*ret = far / all;
	return 0;
}

/*
 * Sets twice[] to the doubled rank of each value in both groups. Returns the sum of the doubled
 * ranks of a's values.
 */
static size_t rank_all(const double *a, size_t n, const double *b, size_t m, unsigned int *twice)
{
	size_t i = 0, k = 0, at = 0, sum = 0;

	while (i < n || k < m) {
		double v = i < n && (k == m || a[i] <= b[k]) ? a[i] : b[k];
		size_t from = at, of_a = i;

		for (; i < n && a[i] == v; i++)
			at++;
		of_a = i - of_a;
		for (; k < m && b[k] == v; k++)
			at++;
		/*
		 * the rank of equal values is the mean of their ranks (from + 1) .. at; doubled:
		 * from + 1 + at
		 */
		for (size_t j = from; j < at; j++)
			twice[j] = (unsigned int)(from + at + 1);
		sum += of_a * (from + at + 1);
	}
	return sum;
}

/*
 * Sets *ret to the rank k, from 1, of the difference at which the interval begins: the largest k
 * for which fewer than k differences are below the true shift with a probability of at most
 * (1 - RANKS_LEVEL) / 2. 0: no interval.
 */
static int find_place(size_t n, size_t m, size_t *ret)
{
	double tail = (1 - RANKS_LEVEL) / 2, sum = 0, all = 0, *ways, z = 1.6448536269514722;
	double nm = (double)n * (double)m;
	size_t cnt = n + m, most = cnt * (cnt + 1), least = n * (n + 1);
	unsigned int twice[RANKS_EXACT_MAX];

	*ret = 0;
	if (cnt > RANKS_EXACT_MAX) {
		*ret = (size_t)fmax(0, floor(nm / 2 - z * sqrt(nm * (double)(cnt + 1) / 12)));
		return 0;
	}
	for (size_t i = 0; i < cnt; i++)
		twice[i] = 2 * (unsigned int)(i + 1);
	ways = count_ways(twice, cnt, n, most);
	if (!ways)
		return -ENOMEM;
	for (size_t s = 0; s <= most; s++)
		all += ways[n * (most + 1) + s];
	for (size_t u = 0; u <= n * m; u++) {
		sum += ways[n * (most + 1) + least + 2 * u] / all;
		if (sum > tail + ROUNDING)
			break;
		*ret = u + 1;
	}
	free(ways);
	return 0;
}

int ranks_compare(double *a, size_t n, double *b, size_t m, struct ranks *ret)
{
	double *d = malloc(n * m * sizeof(*d)), ways = 1;
	unsigned int *twice = malloc((n + m) * sizeof(*twice));
	size_t place = 0;
	int r = d && twice ? 0 : -ENOMEM;

	if (r)
		goto out;
	qsort(a, n, sizeof(*a), compare_double);
	qsort(b, m, sizeof(*b), compare_double);
	*ret = (struct ranks){ .median = { median_of(a, n), median_of(b, m) } };
	for (size_t i = 0; i < n * m; i++)
		d[i] = b[i % m] - a[i / m];
	qsort(d, n * m, sizeof(*d), compare_double);
	ret->shift = median_of(d, n * m);
	r = find_p(twice, n + m, n, rank_all(a, n, b, m, twice), &ret->p);
	if (!r)
		r = find_place(n, m, &place);
	ret->has_interval = place > 0;
	if (place) {
		ret->low = d[place - 1];
		ret->high = d[n * m - place];
	}
	for (size_t i = 1; i <= n; i++)
		ways *= (double)(m + i) / (double)i;
	ret->least_p = fmin(1, 2 / ways);
out:
	free(twice);
	free(d);
	return r;
}

struct place {
	double p;
	size_t at;
};

int ranks_correct(double *p, size_t cnt)
{
	struct place *order = malloc((cnt + 1) * sizeof(*order));
	double least = 1;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		order[i] = (struct place){ p[i], i };
	qsort(order, cnt, sizeof(*order), compare_double);
	for (size_t i = cnt; i-- > 0;) {
		least = fmin(least, order[i].p * (double)cnt / (double)(i + 1));
		p[order[i].at] = least;
	}
	free(order);
	return 0;
}

#define FALSE_SHARE 0.05
#define RELATIVE_MIN 0.02
#define WIDE 0.05 /* "same" requires an interval inside +- 5 % */
#define FIRST_UPID 16 /* smaller ids are pseudo processes */

/* Figures that need the same sources of a trace. */
static const struct family {
	const char *prefix; /* prefix of the figures' names */
	const char *needs;
	double least; /* smaller changes are irrelevant */
	bool is_largest; /* maximum of a role's processes; otherwise their sum */
	bool more_is_better;
} families[] = {
	{ "wall_ns", "report cpu", 1e6, true },	     { "oncpu_ns", "report cpu", 1e6, false },
	{ "self_ns", "report profile", 5e6, false }, { "wait_", "report waits", 1e6, false },
	{ "largest_rss_bytes", "report memory", 256 << 10, true },
	{ "io_bytes", "report io", 64 << 10, false }, { "ios", "report io", 4, false },
	{ "offcpu_ns", "report offcpu", 5e6, false },
	{ "stack_bytes", "report stacks", 64 << 10, false },
	{ "heap_", "report alloc", 64 << 10, false }, { "slab_", "report alloc", 256 << 10, false },
	{ "requests_per_s", "report requests", 0.01, .more_is_better = true },
	{ "request_", "report requests", 1e4, false },
	{ "page_", "report alloc", 256 << 10, false },
};

#define FAMILY_CNT (sizeof(families) / sizeof(families[0]))

struct run {
	int group;
	uint32_t first_upid; /* added to the trace's own ids */
	bool complete[FAMILY_CNT];
};

struct fact {
	uint32_t run, upid, figure; /* upid 0: of the workload, or of a name of requests */
	uint32_t name; /* name of requests + 1; 0: none */
	double value;
};

struct words {
	struct strpool *texts;
	struct hash_map places; /* maps an address in texts to an index in v */
	const char **v;
	size_t cnt, cap;
};

struct groups {
	struct role_processes p[2];
	struct run *runs;
	size_t run_cnt, run_cap;
	struct fact *facts;
	size_t fact_cnt, fact_cap;
	struct words figures, names; /* figures; names of requests */
	bool only_workload;
	uint32_t next_upid[2];
	uint32_t last_upid; /* last id of the run being added */
};

const char *groups_verdict_name(enum groups_verdict v)
{
	static const char *const names[] = { "worse", "better", "cannot tell", "small", "same" };

	return names[v];
}

int groups_new(struct groups **ret, bool only_workload)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->only_workload = only_workload;
	return 0;
}

static void free_words(struct words *w)
{
	strpool_free(w->texts);
	hash_map_done(&w->places);
	free(w->v);
}

void groups_free(struct groups *g)
{
	if (!g)
		return;
	role_processes_done(&g->p[0]);
	role_processes_done(&g->p[1]);
	free_words(&g->figures);
	free_words(&g->names);
	free(g->facts);
	free(g->runs);
	free(g);
}

static size_t family_of(const char *figure)
{
	size_t i = 0;

	while (i + 1 < FAMILY_CNT &&
	       strncmp(figure, families[i].prefix, strlen(families[i].prefix)))
		i++;
	return i;
}

/* ---- a run ---- */

static int take_process(void *ctx, const struct value *v)
{
	struct groups *g = ctx;
	const struct run *run = &g->runs[g->run_cnt - 1];

	g->last_upid = (uint32_t)v[0].i + run->first_upid;
	return role_process_add(&g->p[run->group], v, run->first_upid);
}

static int find_word(struct words *w, const char *text, uint32_t *ret)
{
	int r = w->texts ? 0 : strpool_new(&w->texts);

	text = r ? NULL : strpool_put(w->texts, text);
	r = text ? hash_map_intern(&w->places, (uintptr_t)text, 0, ret) : -ENOMEM;
	return r > 0 ? array_add(&w->v, &w->cap, &w->cnt, text) : r;
}

/* Columns: upid or name of requests (NULL: the workload), figure, value. */
static int take_fact(void *ctx, const struct value *v)
{
	struct groups *g = ctx;
	struct fact *f;
	int r;

	if (v[1].type != VALUE_TEXT || v[2].type == VALUE_NULL)
		return 0;
	if (array_reserve(&g->facts, &g->fact_cap, g->fact_cnt + 1) < 0)
		return -ENOMEM;
	f = &g->facts[g->fact_cnt];
	*f = (struct fact){ .run = (uint32_t)g->run_cnt - 1,
			    .value = v[2].type == VALUE_INT ? (double)v[2].i : v[2].r };
	f->upid = v[0].type == VALUE_INT ?
			  (uint32_t)v[0].i + g->runs[g->run_cnt - 1].first_upid : 0;
	r = find_word(&g->figures, v[1].text, &f->figure);
	if (!r && v[0].type == VALUE_TEXT) {
		r = find_word(&g->names, v[0].text, &f->name);
		f->name++;
	}
	g->fact_cnt += !r;
	return r;
}

/* Columns: report, whether its sources are complete. */
static int take_complete(void *ctx, const struct value *v)
{
	struct groups *g = ctx;

	for (size_t i = 0; i < FAMILY_CNT; i++)
		if (v[0].type == VALUE_TEXT && !strcmp(families[i].needs, v[0].text))
			g->runs[g->run_cnt - 1].complete[i] = v[1].i;
	return 0;
}

static const struct ranking {
	int (*row)(void *ctx, const struct value *v);
	const char *sql;
} completeness = {
	take_complete,
	"SELECT column1, is_complete(column1, :from, :to) FROM (VALUES ('report cpu'),"
	" ('report waits'), ('report memory'), ('report io'), ('report alloc'),"
	" ('report profile'), ('report requests'), ('report offcpu'), ('report stacks'))"
}, questions[] = {
	{ take_process, role_process_sql },
	{ take_fact,
	  "SELECT NULL, 'wall_ns', min(max(coalesce(end_ns, :to)), :to) - max(min(start_ns), :from)"
	  " FROM processes WHERE is_workload AND NOT is_recorder AND upid >= 16" },
	{ take_fact,
	  "SELECT upid, 'oncpu_ns', sum(oncpu_ns) FROM cpu_usage(:from, :to, NULL)"
	  " WHERE utid >= 16 GROUP BY 1" },
	{ take_fact,
	  "SELECT upid, 'wait_' || kind || '_ns', sum(wait_ns)"
	  " FROM wait_kinds(:from, :to, NULL, 'process')"
	  " WHERE kind NOT IN ('kernel', 'stopped', 'unknown') GROUP BY 1, 2" },
	{ take_fact,
	  "SELECT upid, iif(source = 'rss', 'largest_rss_bytes', source || '_alloc_bytes'),"
	  " iif(source = 'rss', max(peak_bytes), sum(alloc_bytes))"
	  " FROM alloc_usage(:from, :to, NULL, 'process')"
	  " WHERE source IN ('rss', 'slab', 'page', 'heap') GROUP BY 1, 2" },
	{ take_fact,
	  "SELECT upid, 'heap_peak_bytes', peak_bytes"
	  " FROM alloc_usage(:from, :to, NULL, 'process') WHERE source = 'heap'" },
	{ take_fact,
	  "SELECT iif(owner_upid > 1, owner_upid, submitter_upid), 'ios', count(*)"
	  " FROM block_requests WHERE end_ns >= :from AND end_ns < :to GROUP BY 1" },
	{ take_fact,
	  "SELECT iif(owner_upid > 1, owner_upid, submitter_upid), 'io_bytes', sum(bytes)"
	  " FROM block_requests WHERE end_ns >= :from AND end_ns < :to GROUP BY 1" },
	{ take_fact,
	  "SELECT upid, 'self_ns ' || coalesce(replace(stack_text(stack, last_ns), rtrim("
	  "stack_text(stack, last_ns), replace(stack_text(stack, last_ns), ';', '')), ''),"
	  " '[no sample]'), sum(oncpu_ns) FROM cpu_profile(:from, :to)"
	  " WHERE EXISTS (SELECT 1 FROM cpu_samples LIMIT 1) GROUP BY 1, 2" },
	{ take_fact,
	  "WITH " ROLE_SPANS ", f AS (SELECT name, count(*) * 1e9 / (:to - :from) AS per_s,"
	  " percentile(dur_ns, 50) AS p50, percentile(dur_ns, 90) AS p90,"
	  " percentile(dur_ns, 99) AS p99, max(dur_ns) AS longest FROM r GROUP BY name)"
	  " SELECT name, 'requests_per_s', per_s FROM f"
	  " UNION ALL SELECT name, 'request_p50_ns', p50 FROM f"
	  " UNION ALL SELECT name, 'request_p90_ns', p90 FROM f"
	  " UNION ALL SELECT name, 'request_p99_ns', p99 FROM f"
	  " UNION ALL SELECT name, 'request_max_ns', longest FROM f" },
	{ take_fact,
	  "WITH " ROLE_SPANS " SELECT r.name, 'request_' || x.kind || '_ns', 1.0 * sum(x.dur_ns) /"
	  " n.cnt FROM request_time(:from, :to) AS x JOIN r ON r.id = x.id"
	  " AND r.start_ns = x.start_ns AND r.name = x.name JOIN n ON n.name = r.name"
	  " GROUP BY r.name, x.kind" },
};

static int ask(struct groups *g, const struct diff_side *of, const struct ranking *q,
	       struct err *e)
{
	const struct statement_param params[] = {
		{ ":from", value_int((uint64_t)context_rel(of->a, of->from_ns)) },
		{ ":to", value_int((uint64_t)context_rel(of->a, of->to_ns)) },
		{ ":only_workload", value_int(g->only_workload) },
		{ .name = NULL },
	};
	const struct row_sink sink = { .ctx = g, .row = q->row };

	return statement_run(of->a, q->sql, params, &sink, e);
}

int groups_begin(struct groups *g, int group, const struct diff_side *of, struct err *e)
{
	if (array_add(&g->runs, &g->run_cap, &g->run_cnt,
		      (struct run){ .group = group, .first_upid = g->next_upid[group] }) < 0)
		return -ENOMEM;
	return ask(g, of, &completeness, e);
}

int groups_put(struct groups *g, const char *figure, double value)
{
	const struct value row[] = { value_null(), value_text(figure), value_real(value) };

	return take_fact(g, row);
}

int groups_add(struct groups *g, int group, const struct diff_side *of, struct err *e)
{
	int r = groups_begin(g, group, of, e);

	g->last_upid = g->next_upid[group] + FIRST_UPID;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]) && !r; i++)
		r = ask(g, of, &questions[i], e);
	g->next_upid[group] = g->last_upid + 1;
	return r;
}

/* ---- comparing ---- */

/* Values by role and figure. Role number role_cnt is the workload; names of requests follow. */
struct table {
	size_t role_cnt, row_cnt, figure_cnt, run_cnt;
	double **values; /* by role and figure: values by run; NULL: no run has the figure */
};

static double *cell_of(struct table *t, size_t role, size_t figure)
{
	double **cell = &t->values[role * t->figure_cnt + figure];

	if (!*cell)
		*cell = calloc(t->run_cnt, sizeof(**cell));
	return *cell;
}

static int fill_table(const struct groups *g, struct table *t)
{
	for (size_t i = 0; i < g->fact_cnt; i++) {
		const struct fact *f = &g->facts[i];
		const struct role_process *p =
			f->upid ? role_process_find(&g->p[g->runs[f->run].group], f->upid) : NULL;
		double *cell;

		if (f->upid && !p)
			continue;
		cell = cell_of(t, p ? p->role : t->role_cnt + f->name, f->figure);
		if (!cell)
			return -ENOMEM;
		if (families[family_of(g->figures.v[f->figure])].is_largest)
			cell[f->run] = fmax(cell[f->run], f->value);
		else
			cell[f->run] += f->value;
	}
	return 0;
}

static double in_percent(double shift, bool is_log, double of)
{
	return is_log ? 100 * expm1(shift) : 100 * shift / of;
}

/*
 * Stores the values of the complete runs of a group in ret, and returns their number. Sets
 * *all_positive to false if a value is not positive: ratios of such values cannot be compared.
 */
static size_t take_values(const struct groups *g, const double *cell, size_t family, int group,
			  double *ret, bool *all_positive, bool *all_complete)
{
	size_t n = 0;

	for (size_t i = 0; i < g->run_cnt; i++) {
		if (g->runs[i].group != group)
			continue;
		*all_complete &= g->runs[i].complete[family];
		if (!g->runs[i].complete[family])
			continue;
		*all_positive &= cell[i] > 0;
		ret[n++] = cell[i];
	}
	return n;
}

size_t groups_values(const struct groups *g, const struct groups_row *row, int group, double *ret)
{
	bool is_positive = true, is_complete = true;
	size_t n = take_values(g, row->by_run, family_of(row->figure), group, ret, &is_positive,
			       &is_complete);

	qsort(ret, n, sizeof(*ret), compare_double);
	return n;
}

/* Sets all members of row except the verdict. *ret_is_tested: p was computed. */
static int measure(const struct groups *g, const double *cell, size_t family, double *room,
		   struct groups_row *row, bool *ret_is_tested)
{
	bool is_log = true, all_complete = true;
	double *v[2] = { room, room + g->run_cnt };
	struct ranks plain, r;
	size_t n[2];
	int c;

	for (int i = 0; i < 2; i++)
		n[i] = take_values(g, cell, family, i, v[i], &is_log, &all_complete);
	row->runs[0] = (unsigned int)n[0];
	row->runs[1] = (unsigned int)n[1];
	row->p = 1;
	row->reason = all_complete ? GROUPS_FEW : GROUPS_INCOMPLETE;
	*ret_is_tested = false;
	if (!n[0] || !n[1])
		return 0;
	c = ranks_compare(v[0], n[0], v[1], n[1], &plain);
	r = plain;
	for (int i = 0; is_log && i < 2; i++)
		for (size_t k = 0; k < n[i]; k++)
			v[i][k] = log(v[i][k]);
	if (!c && is_log)
		c = ranks_compare(v[0], n[0], v[1], n[1], &r);
	if (c)
		return c;
	memcpy(row->median, plain.median, sizeof(row->median));
	row->has_change = is_log || plain.median[0] > 0;
	row->has_interval = r.has_interval && row->has_change;
	row->change_pct = in_percent(r.shift, is_log, plain.median[0]);
	row->low_pct = in_percent(r.low, is_log, plain.median[0]);
	row->high_pct = in_percent(r.high, is_log, plain.median[0]);
	if (!r.has_interval)
		return 0;
	row->reason = GROUPS_NO_REASON;
	row->p = r.p;
	/* do not test if even the largest possible difference is too small to matter */
	row->is_tiny = fmax(plain.median[0], plain.median[1]) < families[family].least;
	*ret_is_tested = !row->is_tiny;
	return 0;
}

/* Returns whether the change may be large enough to matter, judged by the ends of its interval. */
static bool may_matter(const struct groups_row *row, double least)
{
	double most = fmax(fabs(row->low_pct), fabs(row->high_pct)) / 100 * row->median[0];

	return fmax(most, fabs(row->median[1] - row->median[0])) >= least;
}

/* Sets the verdict; p must have been corrected. */
static void judge(struct groups_row *row, const struct family *f, bool is_tested, double least_p)
{
	double change = row->median[1] - row->median[0];
	bool is_relevant = fabs(change) >= f->least &&
			   (!row->has_change || fabs(row->change_pct) >= 100 * RELATIVE_MIN);

	if (row->reason != GROUPS_NO_REASON) {
		row->verdict = GROUPS_CANNOT_TELL;
	} else if (!is_tested) {
		row->verdict = GROUPS_SMALL;
		row->p = 1;
	} else if (row->p <= FALSE_SHARE) {
		row->verdict = !is_relevant		       ? GROUPS_SMALL :
			       (change > 0) != f->more_is_better ? GROUPS_WORSE : GROUPS_BETTER;
	} else if (!row->has_interval ||
		   (row->low_pct > -100 * WIDE && row->high_pct < 100 * WIDE)) {
		row->verdict = GROUPS_SAME;
	} else if (!may_matter(row, f->least)) {
		row->verdict = GROUPS_SMALL;
	} else {
		row->verdict = GROUPS_CANNOT_TELL;
		row->reason = least_p > FALSE_SHARE ? GROUPS_FEW : GROUPS_NOISE;
	}
}

static int by_importance(const void *a, const void *b)
{
	const struct groups_row *x = a, *y = b;
	double cx = fabs(x->change_pct), cy = fabs(y->change_pct);

	if (!strcmp(x->figure, "wall_ns") != !strcmp(y->figure, "wall_ns"))
		return !strcmp(x->figure, "wall_ns") ? -1 : 1;
	if (x->verdict != y->verdict)
		return x->verdict < y->verdict ? -1 : 1;
	if (x->verdict <= GROUPS_BETTER && cx != cy)
		return cx > cy ? -1 : 1;
	if (strcmp(x->figure, y->figure))
		return strcmp(x->figure, y->figure);
	return x->median[0] > y->median[0] ? -1 : x->median[0] < y->median[0];
}

static double least_p_of(const struct groups *g)
{
	double a = 0, b = 0, ways = 1;

	for (size_t i = 0; i < g->run_cnt; i++)
		*(g->runs[i].group ? &b : &a) += 1;
	for (double i = 1; i <= a; i++)
		ways *= (b + i) / i;
	return fmin(1, 2 / ways);
}

static int judge_all(const struct groups *g, struct groups_row *rows, const bool *tested,
		     size_t cnt)
{
	double *p = malloc((cnt + 1) * sizeof(*p)), least_p;
	size_t n = 0;
	int r = p ? 0 : -ENOMEM;

	for (size_t i = 0; i < cnt && !r; i++)
		if (tested[i])
			p[n++] = rows[i].p;
	if (!r)
		r = ranks_correct(p, n);
	least_p = fmin(1, least_p_of(g) * (double)n);
	n = 0;
	for (size_t i = 0; i < cnt && !r; i++) {
		rows[i].p = tested[i] ? p[n++] : rows[i].p;
		judge(&rows[i], &families[family_of(rows[i].figure)], tested[i], least_p);
	}
	free(p);
	return r;
}

static int make_rows(const struct groups *g, const struct table *t, const struct role *roles,
		     struct groups_row *rows, bool *tested, size_t *ret_cnt)
{
	double *room = calloc(2 * g->run_cnt + 1, sizeof(*room));
	size_t n = 0;
	int r = room ? 0 : -ENOMEM;

	for (size_t i = 0; i < t->row_cnt * t->figure_cnt && !r; i++) {
		size_t role = i / t->figure_cnt, figure = i % t->figure_cnt;

		if (!t->values[i])
			continue;
		rows[n] = (struct groups_row){
			.role = role < t->role_cnt   ? roles[role].name :
				role == t->role_cnt ? "[workload]" :
						      g->names.v[role - t->role_cnt - 1],
			.parent = role < t->role_cnt ? roles[role].parent : "",
			.figure = g->figures.v[figure],
			.by_run = t->values[i],
		};
		r = measure(g, t->values[i], family_of(g->figures.v[figure]), room, &rows[n],
			    &tested[n]);
		n++;
	}
	free(room);
	*ret_cnt = n;
	return r;
}

int groups_compare(struct groups *g, int (*row)(void *ctx, const struct groups_row *row), void *ctx,
		   struct err *e)
{
	struct table t = { .figure_cnt = g->figures.cnt, .run_cnt = g->run_cnt };
	struct groups_row *rows = NULL;
	struct role *roles = NULL;
	bool *tested = NULL;
	size_t cnt = 0, cells = 0;
	const struct role_processes *const p[2] = { &g->p[0], &g->p[1] };
	int r = role_assign(p, &roles, &t.role_cnt);

	if (r)
		return r;
	t.row_cnt = t.role_cnt + 1 + g->names.cnt;
	cells = t.row_cnt * t.figure_cnt;
	t.values = calloc(cells + 1, sizeof(*t.values));
	rows = calloc(cells + 1, sizeof(*rows));
	tested = calloc(cells + 1, sizeof(*tested));
	r = t.values && rows && tested ? fill_table(g, &t) : -ENOMEM;
	r = r ?: make_rows(g, &t, roles, rows, tested, &cnt) ?: judge_all(g, rows, tested, cnt);
	if (!r)
		qsort(rows, cnt, sizeof(*rows), by_importance);
	for (size_t i = 0; i < cnt && !r; i++)
		r = row(ctx, &rows[i]);
	for (size_t i = 0; t.values && i < cells; i++)
		free(t.values[i]);
	free(t.values);
	free(rows);
	free(tested);
	role_free(roles, t.role_cnt);
	return r;
}
