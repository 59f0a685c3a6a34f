/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * metrics: a series is identified by a row of metric_table and the text of its labels. For a live
 * trace, a series has one value, to which windows are added. For an export, a series has a value
 * per bin, and the series of a section are written and freed before the next section begins.
 */
#include "cmd/metrics/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/keys.h"
#include "analyze/engine/align.h"
#include "analyze/engine/column.h"
#include "base/array.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "base/textsafe.h"
#include "base/units.h"
#include "cmd/render/render.h"
#include "cmd/render/say.h"

/* metric_options: parses the key of --by, and prints the table of metrics for --list. */

int metric_options_by(void *by, const char *value, struct err *e)
{
	static const char *const names[] = { "comm", "unit", "container", "user" };
	unsigned int i;

	return opts_pick(&i, "key", "--by: ", value, names, sizeof(names) / sizeof(names[0]), "",
			 "; there are comm, unit, container and user: metrics are "
			 "of processes, not of threads") ?: !keys_parse(value, by);
}

int metric_options_list(void *field, const char *value, struct err *e)
{
	static const char *const types[] = { "counter", "gauge", "gauge", "histogram" };

	for (const struct metric *m = metric_table; m->name; m++) {
		if (!m->help)
			continue;
		printf("%-37s %-9s ", m->name, types[m->type]);
		render_wrap_beside(stdout, m->help, input_terminal_width(), 48);
	}
	return OPTS_LEAVE;
}

#define COLUMNS_MAX 16
#define LABEL_BYTES 1024
#define LABELS_BYTES (2 * LABEL_BYTES + 256)
#define OTHER "[other]"
#define NAMED_OTHER "\\x5bother]" /* label of a process that is named [other] */
#define LABEL_OTHER SIZE_MAX
#define PROGRAM "program" /* section of the values that the caller sets */
/* after the first window, an owner gets a label only with this many bytes in a window */
#define WORTH_BYTES (1u << 20)
#define WORTH_PARTS 100 /* the same for times: at least the window's length / WORTH_PARTS */
#define HIST_FIRST 12 /* the first bucket: less than 2^12 ns (4 us) */
#define HIST_LAST 34 /* the last bucket before +Inf: less than 2^34 ns (17 s) */
#define HIST_BUCKETS (HIST_LAST - HIST_FIRST + 2) /* including +Inf */
#define HIST_WORDS (HIST_BUCKETS + 1) /* the buckets and the sum */

struct series {
	unsigned int metric; /* row of metric_table */
	const char *labels;
	size_t who; /* index in struct labels; LABEL_OTHER: none */
	uint64_t *v; /* values of bin 0, bin 1, ... */
	uint64_t shown; /* peaks: value of the last interval */
	/*
	 * histograms: end of the last window with a request, and that window's longest request
	 * (slow_id 0: unknown)
	 */
	uint64_t seen_ns, slow_id, slow_ns;
};

struct label {
	const char *text;
	bool is_shown; /* false: removed; its series are kept in case the label returns */
	uint64_t used_ns; /* end of the last window in which the label's owner was large */
};

struct labels {
	struct label *v;
	size_t cap, cnt, shown, max; /* shown: number of shown labels, at most max */
};

struct metrics {
	unsigned int by, top;
	struct strpool *pool;
	struct hash_map map; /* (metric, labels) -> index in series */
	struct series *series;
	size_t series_cap, series_cnt;
	struct labels who, device, request;
	bool is_first; /* no window was counted yet */
	/* about the current window */
	uint64_t window_ns, now_ns; /* length and end of the window */
	int64_t from_rel, every_ns; /* every_ns 0: one bin */
	size_t bin_cnt;
	uint64_t bytes; /* bytes of v of all series */
	/* about the current section */
	char section[32];
	unsigned int col_cnt;
	const char *const *names;
	unsigned int metrics_of[COLUMNS_MAX]; /* by column: index in metric_table + 1; 0: none */
	int ranked; /* the column that determines the largest owners */
	unsigned int rank;
	/* used only by exports; out is NULL otherwise */
	FILE *out;
	/* timestamps of the window's beginning and of each bin's end */
	uint64_t *stamps_ms, samples;
};

/* ---- labels ---- */

/*
 * Returns the index of a label by its text; LABEL_OTHER: no such label. admit: adds the label if
 * there is room.
 */
static size_t find_label(struct metrics *m, struct labels *l, const char *text, bool admit)
{
	size_t i = 0;

	while (i < l->cnt && strcmp(l->v[i].text, text))
		i++;
	if (i == l->cnt || !l->v[i].is_shown) {
		if (!admit || l->shown == l->max)
			return LABEL_OTHER;
		l->shown++;
	}
	if (i == l->cnt) {
		text = strpool_put(m->pool, text);
		if (!text || array_reserve(&l->v, &l->cap, l->cnt + 1) < 0) {
			l->shown--;
			return LABEL_OTHER;
		}
		l->v[l->cnt++] = (struct label){ .text = text };
	}
	l->v[i].is_shown = true;
	if (admit)
		l->v[i].used_ns = m->now_ns;
	return i;
}

/*
 * Removes labels that have been idle for METRICS_IDLE_NS, the longest idle first, until there is
 * room for the `top` largest owners of a section. Runs only between windows, so that each label has
 * the whole window's values.
 */
static void make_way(struct metrics *m)
{
	struct labels *l = &m->who;

	while (l->shown + m->top > l->max) {
		size_t oldest = LABEL_OTHER;

		for (size_t i = 0; i < l->cnt; i++)
			if (l->v[i].is_shown &&
			    (oldest == LABEL_OTHER || l->v[i].used_ns < l->v[oldest].used_ns))
				oldest = i;
		if (oldest == LABEL_OTHER || m->now_ns - l->v[oldest].used_ns < METRICS_IDLE_NS)
			return;
		l->v[oldest].is_shown = false;
		l->shown--;
		for (size_t i = 0; i < m->series_cnt; i++)
			if (m->series[i].who == oldest &&
			    metric_table[m->series[i].metric].type == METRIC_PEAK)
				m->series[i].shown = m->series[i].v[0] = 0;
	}
}

/* Returns whether a column is in ns, which metrics convert to seconds. */
static bool is_time(const char *column)
{
	return !strcmp(column_find(column)->unit, "ns");
}

/*
 * Returns whether the row's owner may get a label. Rows of a section are in descending order. After
 * the first window, small owners get no label: otherwise an idle machine would use up all labels.
 */
static bool is_large(struct metrics *m, const struct value *row)
{
	const struct value *v = &row[m->ranked];
	uint64_t n = v->type == VALUE_INT && v->i > 0 ? (uint64_t)v->i : 0;

	if (m->out || !n || m->rank++ >= m->top)
		return false;
	if (m->is_first)
		return true;
	return is_time(m->names[m->ranked]) ? n >= m->window_ns / WORTH_PARTS
						  : n >= WORTH_BYTES;
}

/* Writes the value of a label, escaped for the text formats. Returns its length. */
static size_t put_value(char *to, const char *text)
{
	char *at = to;

	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			*at++ = '\\';
		*at++ = *text;
	}
	*at = '\0';
	return (size_t)(at - to);
}

/*
 * Writes the labels of a row: comm="...",op="read". Returns the owner of the row: an index in
 * m->who, or LABEL_OTHER.
 */
static size_t make_labels(struct metrics *m, const struct value *row, char *to)
{
	char safe[LABEL_BYTES / 2];
	const char *name, *text;
	size_t len = 0, who = LABEL_OTHER, device, request;

	*to = '\0';
	for (unsigned int i = 0; i < m->col_cnt; i++) {
		if (row[i].type != VALUE_TEXT)
			continue;
		name = m->names[i];
		text = row[i].text;
		textsafe_escape(safe, sizeof(safe), text, row[i].text_bytes, NULL);
		text = safe;
		if (!strcmp(name, "who")) {
			for (unsigned int k = 0; k < REPORT_BY_CNT; k++)
				if (m->by == 1u << k)
					name = report_key_name((enum report_by)k);
			if (!strcmp(safe, OTHER))
				strcpy(safe, NAMED_OTHER);
			who = find_label(m, &m->who, safe, is_large(m, row));
			text = who == LABEL_OTHER ? OTHER : safe;
		} else if (!strcmp(name, "device")) {
			device = find_label(m, &m->device, safe, true);
			text = device == LABEL_OTHER ? OTHER : safe;
		} else if (!strcmp(name, "request")) {
			request = find_label(m, &m->request, safe, true);
			text = request == LABEL_OTHER ? OTHER : safe;
		}
		len += (size_t)sprintf(to + len, "%s%.40s=\"", len ? "," : "", name);
		len += put_value(to + len, text);
		len += (size_t)sprintf(to + len, "\"");
	}
	return who;
}

/* ---- series ---- */

static unsigned int words_of(const struct series *s)
{
	return metric_table[s->metric].type == METRIC_HISTOGRAM ? HIST_WORDS : 1;
}

/* Finds or adds a series. NULL: out of memory. */
static struct series *find_series(struct metrics *m, unsigned int metric, const char *labels,
				  size_t who)
{
	const char *fixed = metric_table[metric].label;
	char text[LABELS_BYTES + 64];
	struct series *s;
	uint32_t nr;
	int c;

	if (fixed) {
		snprintf(text, sizeof(text), "%s%s%s", labels, *labels ? "," : "", fixed);
		labels = text;
	}
	labels = strpool_put(m->pool, labels);
	if (!labels || array_reserve(&m->series, &m->series_cap, m->series_cnt + 1) < 0)
		return NULL;
	c = hash_map_intern(&m->map, metric, (uintptr_t)labels, &nr);
	if (c < 0)
		return NULL;
	s = &m->series[nr];
	if (c) {
		*s = (struct series){ .metric = metric, .labels = labels, .who = who };
		m->series_cnt = nr + 1;
		m->bytes += m->bin_cnt * words_of(s) * sizeof(*s->v);
		if (m->bytes <= METRICS_BINS_BYTES)
			s->v = calloc(m->bin_cnt * words_of(s), sizeof(*s->v));
	}
	return s->v ? s : NULL;
}

/* Returns the values of a series in a bin; adds the series if necessary. NULL: out of memory. */
static uint64_t *series_of(struct metrics *m, unsigned int metric, const char *labels, size_t who,
			   size_t bin)
{
	const struct series *s = find_series(m, metric, labels, who);

	return s ? s->v + bin * words_of(s) : NULL;
}

static void drop_series(struct metrics *m)
{
	for (size_t i = 0; i < m->series_cnt; i++)
		free(m->series[i].v);
	hash_map_clear(&m->map);
	m->series_cnt = 0;
	m->bytes = 0;
}

/* Returns the bucket of requests that took less than high_ns, a power of two. */
static unsigned int bucket_of(int64_t high_ns)
{
	unsigned int k = 0;

	while (k < HIST_BUCKETS - 1 && high_ns > (int64_t)1 << (HIST_FIRST + k))
		k++;
	return k;
}

static void add(enum metric_type type, uint64_t *v, uint64_t n)
{
	if (type != METRIC_PEAK)
		*v += n;
	else if (*v < n)
		*v = n;
}

/* ---- rows ---- */

static int on_section(void *ctx, const char *title)
{
	struct metrics *m = ctx;

	snprintf(m->section, sizeof(m->section), "%s", title);
	return 0;
}

static int on_begin(void *ctx, unsigned int cnt, const char *const *names)
{
	struct metrics *m = ctx;

	m->col_cnt = cnt < COLUMNS_MAX ? cnt : COLUMNS_MAX;
	m->names = names;
	m->rank = 0;
	m->ranked = -1;
	for (unsigned int i = 0; i < m->col_cnt; i++) {
		m->metrics_of[i] = 0;
		for (unsigned int k = 0; metric_table[k].name; k++)
			if (!strcmp(metric_table[k].section, m->section) &&
			    !strcmp(metric_table[k].column, names[i]))
				m->metrics_of[i] = k + 1;
		if (m->metrics_of[i] && m->ranked < 0)
			m->ranked = (int)i;
	}
	return 0;
}

/*
 * Adds a row of a histogram: the upper end of a step (column high_ns) and, in a later column, the
 * number of requests in that step. sum_ns: total time of these requests; slow_id and slow_ns: id
 * and time of the longest request.
 */
static int on_histogram(struct metrics *m, const struct value *row, const char *labels, size_t bin)
{
	struct series *s = find_series(m, m->metrics_of[m->ranked] - 1, labels, LABEL_OTHER);
	uint64_t *v = s ? s->v + bin * HIST_WORDS : NULL, slow_id = 0;
	int64_t high_ns = 0;

	if (!v)
		return -ENOMEM;
	if (s->seen_ns != m->now_ns)
		s->slow_ns = 0;
	s->seen_ns = m->now_ns;
	for (unsigned int i = 0; i < m->col_cnt; i++) {
		if (row[i].type != VALUE_INT)
			continue;
		if (!strcmp(m->names[i], "high_ns"))
			high_ns = row[i].i;
		else if (!strcmp(m->names[i], "sum_ns"))
			v[HIST_BUCKETS] += (uint64_t)row[i].i;
		else if (!strcmp(m->names[i], "slow_id"))
			slow_id = (uint64_t)row[i].i;
		else if (!strcmp(m->names[i], "slow_ns") && (uint64_t)row[i].i > s->slow_ns) {
			s->slow_ns = (uint64_t)row[i].i;
			s->slow_id = slow_id;
		}
		else if (m->metrics_of[i])
			v[bucket_of(high_ns)] += (uint64_t)row[i].i;
	}
	return 0;
}

/* Adds a row to its series; the first column is t_ns. */
static int on_row(void *ctx, const struct value *row)
{
	struct metrics *m = ctx;
	size_t bin = m->every_ns ? (size_t)((row[0].i - m->from_rel) / m->every_ns) : 0;
	char labels[LABELS_BYTES];
	const struct metric *of;
	uint64_t *v;
	size_t who;

	if (bin >= m->bin_cnt)
		return 0;
	who = make_labels(m, row, labels);
	if (m->ranked >= 0 && metric_table[m->metrics_of[m->ranked] - 1].type == METRIC_HISTOGRAM)
		return on_histogram(m, row, labels, bin);
	for (unsigned int i = 0; i < m->col_cnt; i++) {
		if (!m->metrics_of[i] || row[i].type != VALUE_INT)
			continue;
		of = &metric_table[m->metrics_of[i] - 1];
		v = series_of(m, m->metrics_of[i] - 1, labels, who, bin);
		if (!v)
			return -ENOMEM;
		add(of->type, v, row[i].i > 0 ? (uint64_t)row[i].i : 0);
	}
	return 0;
}

/* ---- text ---- */

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), len = strlen(end);

	return n >= len && !strcmp(s + n - len, end);
}

/* Writes a value; ns are written as seconds with 9 decimals. */
static void put_number(FILE *f, bool is_ns, uint64_t v)
{
	if (is_ns)
		fprintf(f, "%" PRIu64 ".%09" PRIu64, v / UNITS_NS_PER_S, v % UNITS_NS_PER_S);
	else
		fprintf(f, "%" PRIu64, v);
}

struct writer {
	FILE *f;
	bool openmetrics;
	const uint64_t *stamps_ms; /* NULL: write no timestamps */
	size_t bin_cnt;
	bool is_ns; /* unit of the current metric */
	/* series whose longest request is added to the next sample; NULL: none */
	const struct series *exemplar;
	uint64_t samples;
};

/* Writes a sample. more: an additional label; may be "". */
static void put_sample(struct writer *w, const struct series *s, const char *suffix,
		       const char *more, bool is_ns, uint64_t v, size_t stamp)
{
	const char *comma = *s->labels && *more ? "," : "";
	const char *open = *s->labels || *more ? "{" : "", *close = *open ? "}" : "";

	fprintf(w->f, "%s%s%s%s%s%s%s ", metric_table[s->metric].name, suffix, open, s->labels,
		comma, more, close);
	put_number(w->f, is_ns, v);
	if (w->stamps_ms) {
		fprintf(w->f, " %" PRIu64 ".%03" PRIu64, w->stamps_ms[stamp] / 1000,
			w->stamps_ms[stamp] % 1000);
	} else if (w->openmetrics && w->exemplar) {
		fprintf(w->f, " # {request_id=\"%" PRId64 "\"} ", (int64_t)w->exemplar->slow_id);
		put_number(w->f, true, w->exemplar->slow_ns);
	}
	fputc('\n', w->f);
	w->samples++;
}

/* Writes the samples of a histogram. sum: totals of all bins that end by timestamp `stamp`. */
static void put_histogram(struct writer *w, const struct series *s, const uint64_t *sum,
			  size_t stamp)
{
	uint64_t upto = 0;
	char le[64];

	for (unsigned int k = 0; k < HIST_BUCKETS; k++) {
		/* the step's upper end is exclusive, but le is inclusive; times are whole ns */
		uint64_t le_ns = ((uint64_t)1 << (HIST_FIRST + k)) - 1;

		upto += sum[k];
		snprintf(le, sizeof(le), "le=\"%" PRIu64 ".%09" PRIu64 "\"", le_ns / UNITS_NS_PER_S,
			 le_ns % UNITS_NS_PER_S);
		w->exemplar = s->slow_ns && k == bucket_of((int64_t)s->slow_ns + 1) ? s : NULL;
		put_sample(w, s, "_bucket", k < HIST_BUCKETS - 1 ? le : "le=\"+Inf\"", false, upto,
			   stamp);
		w->exemplar = NULL;
	}
	put_sample(w, s, "_sum", "", true, sum[HIST_BUCKETS], stamp);
	put_sample(w, s, "_count", "", false, upto, stamp);
}

static void put_series(struct writer *w, const struct series *s)
{
	const struct metric *of = &metric_table[s->metric];
	bool is_sum = of->type == METRIC_COUNTER || of->type == METRIC_HISTOGRAM;
	unsigned int words = words_of(s);
	uint64_t sum[HIST_WORDS] = { 0 };

	/* an export begins with a 0 at stamp 0; bin i - 1 has stamp i */
	for (size_t i = w->stamps_ms && is_sum ? 0 : 1; i <= w->bin_cnt; i++) {
		for (unsigned int k = 0; k < words && i; k++)
			sum[k] = (is_sum ? sum[k] : 0) + s->v[(i - 1) * words + k];
		if (of->type == METRIC_PEAK && !w->stamps_ms)
			sum[0] = s->shown;
		if (of->type == METRIC_HISTOGRAM)
			put_histogram(w, s, sum, i);
		else
			put_sample(w, s, of->type == METRIC_COUNTER ? "_total" : "", "",
				   w->is_ns, sum[0], i);
	}
}

static void put_head(const struct writer *w, const struct metric *of)
{
	static const char *const types[] = { "counter", "gauge", "gauge", "histogram" };
	static const char *const units[] = { "seconds", "bytes" };
	const char *total = of->type == METRIC_COUNTER && !w->openmetrics ? "_total" : "";

	fprintf(w->f, "# HELP %s%s %s\n# TYPE %s%s %s\n", of->name, total, of->help, of->name,
		total, types[of->type]);
	for (size_t i = 0; w->openmetrics && i < sizeof(units) / sizeof(units[0]); i++)
		if (ends_with(of->name, units[i]))
			fprintf(w->f, "# UNIT %s %s\n", of->name, units[i]);
}

static int compare_series(const void *a, const void *b)
{
	const struct series *x = a, *y = b;

	if (x->metric != y->metric)
		return x->metric < y->metric ? -1 : 1;
	return strcmp(x->labels, y->labels);
}

static bool is_hidden(const struct metrics *m, const struct series *s)
{
	return s->who != LABEL_OTHER && !m->who.v[s->who].is_shown;
}

/* Writes the shown series, ordered by metric, with a head before each metric. */
static int put_all(struct writer *w, const struct metrics *m)
{
	struct series *sorted = malloc((m->series_cnt + 1) * sizeof(*sorted));
	const char *name = "";
	size_t cnt = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < m->series_cnt; i++)
		if (!is_hidden(m, &m->series[i]))
			sorted[cnt++] = m->series[i];
	qsort(sorted, cnt, sizeof(*sorted), compare_series);
	for (size_t i = 0; i < cnt; i++) {
		const struct metric *of = &metric_table[sorted[i].metric];

		if (!i || sorted[i].metric != sorted[i - 1].metric)
			w->is_ns = is_time(of->column);
		/* the help is in the first row of that name */
		while (of > metric_table && !strcmp(of[-1].name, of->name))
			of--;
		if (strcmp(of->name, name))
			put_head(w, of);
		name = of->name;
		put_series(w, &sorted[i]);
	}
	free(sorted);
	return 0;
}

int metrics_write(const struct metrics *m, FILE *f, bool openmetrics)
{
	struct writer w = { .f = f, .openmetrics = openmetrics, .bin_cnt = 1 };
	int c = put_all(&w, m);

	if (!c && openmetrics)
		fputs("# EOF\n", f);
	return c;
}

/* ---- windows ---- */

/* Ends a section: an export writes and frees its series. */
static int on_end(void *ctx)
{
	struct metrics *m = ctx;
	struct writer w = {
		.f = m->out, .openmetrics = true, .stamps_ms = m->stamps_ms, .bin_cnt = m->bin_cnt
	};
	int c;

	if (!m->out)
		return 0;
	c = put_all(&w, m);
	m->samples += w.samples;
	drop_series(m);
	return !c && ferror(m->out) ? -EIO : c;
}

static int run(struct metrics *m, struct analysis *a, uint64_t from_ns, uint64_t to_ns,
	       struct err *e)
{
	const struct report_request q = { .view = "metrics",
					  .from_ns = from_ns,
					  .to_ns = to_ns,
					  .every_ns = (uint64_t)m->every_ns,
					  .by = m->by,
					  .merge_unknown = true };
	const struct row_sink sink = {
		.ctx = m, .begin = on_begin, .row = on_row, .end = on_end, .section = on_section
	};
	int c;

	m->window_ns = to_ns - from_ns;
	m->now_ns = to_ns;
	c = analysis_report(a, &q, &sink, e);
	if (c == -ENOMEM && m->bytes > METRICS_BINS_BYTES)
		return err_set(e, -EFBIG,
			       "so many bins would take more than 1 GiB of memory; "
			       "give a longer --every, or a part with --from and "
			       "--until");
	return c;
}

int metrics_give_labels(struct metrics *m, struct analysis *a, uint64_t from_ns, uint64_t to_ns,
			struct err *e)
{
	int c = run(m, a, from_ns, to_ns, e);

	drop_series(m);
	m->is_first = false;
	return c;
}

/* Frees the labels that are not shown, their series, and the texts of both. */
static int forget_hidden(struct metrics *m)
{
	struct series *of = m->series;
	struct labels *l = &m->who;
	struct strpool *pool;
	size_t cnt = 0, shown = 0;
	uint32_t nr;
	int c = strpool_new(&pool);

	hash_map_clear(&m->map);
	for (size_t i = 0; i < m->series_cnt; i++) {
		if (is_hidden(m, &of[i])) {
			free(of[i].v);
			continue;
		}
		of[cnt] = of[i];
		of[cnt].labels = c ? NULL : strpool_put(pool, of[i].labels);
		if (!of[cnt].labels ||
		    hash_map_intern(&m->map, of[cnt].metric, (uintptr_t)of[cnt].labels, &nr) < 0)
			c = -ENOMEM;
		cnt++;
	}
	m->series_cnt = cnt;
	for (size_t i = 0; i < l->cnt; i++) {
		for (size_t k = 0; k < cnt && l->v[i].is_shown; k++)
			of[k].who = of[k].who == i ? shown : of[k].who;
		if (l->v[i].is_shown)
			l->v[shown++] = l->v[i];
	}
	l->cnt = shown;
	for (size_t i = 0; i < l->cnt && !c; i++)
		c = (l->v[i].text = strpool_put(pool, l->v[i].text)) ? 0 : -ENOMEM;
	for (size_t i = 0; i < m->device.cnt && !c; i++)
		c = (m->device.v[i].text = strpool_put(pool, m->device.v[i].text)) ? 0 : -ENOMEM;
	for (size_t i = 0; i < m->request.cnt && !c; i++)
		c = (m->request.v[i].text = strpool_put(pool, m->request.v[i].text)) ? 0 : -ENOMEM;
	strpool_free(m->pool);
	m->pool = pool;
	return c;
}

int metrics_count(struct metrics *m, struct analysis *a, uint64_t from_ns, uint64_t to_ns,
		  struct err *e)
{
	int c = m->is_first ? metrics_give_labels(m, a, from_ns, to_ns, e) :
		m->who.cnt > METRICS_KNOWN * m->who.max ? forget_hidden(m) : 0;

	make_way(m);
	for (size_t i = 0; i < m->series_cnt; i++) {
		const struct metric *of = &metric_table[m->series[i].metric];

		if (of->type == METRIC_GAUGE && strcmp(of->section, PROGRAM))
			m->series[i].v[0] = 0;
	}
	return c ? c : run(m, a, from_ns, to_ns, e);
}

void metrics_end_interval(struct metrics *m)
{
	for (size_t i = 0; i < m->series_cnt; i++) {
		struct series *s = &m->series[i];

		if (metric_table[s->metric].type == METRIC_PEAK) {
			s->shown = s->v[0];
			s->v[0] = 0;
		}
	}
}

int metrics_put(struct metrics *m, const char *column, uint64_t value)
{
	unsigned int k = 0;
	uint64_t *v;

	while (strcmp(metric_table[k].column, column))
		k++;
	v = series_of(m, k, strcmp(column, "build_info") ? "" : "version=\"" EBPFREC_VERSION "\"",
		      LABEL_OTHER, 0);
	if (!v)
		return -ENOMEM;
	*v = value + (metric_table[k].type == METRIC_COUNTER ? *v : 0);
	return 0;
}

int metrics_write_bins(struct metrics *m, struct analysis *a, const struct trace *t,
		       uint64_t from_ns, uint64_t to_ns, uint64_t every_ns, FILE *f,
		       uint64_t *ret_samples, struct err *e)
{
	uint64_t ms, off_ns;
	int c = align_window(t, every_ns, &from_ns, &to_ns, e);

	if (!c)
		c = metrics_give_labels(m, a, from_ns, to_ns, e);
	if (c)
		return c;
	m->from_rel = (int64_t)(from_ns - trace_start_ns(t));
	m->every_ns = (int64_t)every_ns;
	m->bin_cnt = (size_t)((to_ns - from_ns) / every_ns);
	m->out = f;
	m->stamps_ms = calloc(m->bin_cnt + 1, sizeof(*m->stamps_ms));
	if (!m->stamps_ms)
		return -ENOMEM;
	for (size_t i = 0; i <= m->bin_cnt; i++) {
		ms = align_real_ns(t, every_ns, from_ns + i * every_ns, &off_ns) / 1000000;
		/* stamps must increase, even if the clock was set back */
		m->stamps_ms[i] = i && ms <= m->stamps_ms[i - 1] ? m->stamps_ms[i - 1] + 1 : ms;
	}
	c = run(m, a, from_ns, to_ns, e);
	if (!c && fputs("# EOF\n", f) < 0)
		c = -EIO;
	*ret_samples = m->samples;
	return c;
}

struct metrics *metrics_new(unsigned int by, unsigned int top)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m || strpool_new(&m->pool) < 0) {
		free(m);
		return NULL;
	}
	m->by = by ? by : KEY(COMM);
	m->top = top;
	m->who.max = (size_t)METRICS_LABELS * top;
	m->device.max = METRICS_DEVICES;
	m->request.max = m->who.max;
	m->bin_cnt = 1;
	m->is_first = true;
	return m;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	drop_series(m);
	hash_map_done(&m->map);
	strpool_free(m->pool);
	free(m->series);
	free(m->who.v);
	free(m->device.v);
	free(m->request.v);
	free(m->stamps_ms);
	free(m);
}
