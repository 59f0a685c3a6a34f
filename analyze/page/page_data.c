/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * page_data: what a page about a window shows, as compressed JSON.
 *
 *     window --[bins]--> page_rows, schema/report_page.sql --> row_log --> page_columns --> zlib
 *
 * The bins are the finest that the page can show; it adds them up to coarser ones itself. A bin of
 * a window with many events consists of whole slices of blocks, so that all of it comes from the
 * index. A window with fewer is decoded, and its bins are of equal lengths. How many are few
 * depends on how long somebody is to wait: a step is answered at once, and where somebody stays,
 * the same window comes with finer bins. Two threads find the results; a log keeps each until all
 * are there, so that the page does not depend on which thread found what.
 */
#include "analyze/page/page_columns.h"
#include "analyze/page/page_rows.h"
#include "analyze/page/row_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analyze/fold/index.h"
#include "base/array.h"
#include "base/workers.h"

#define BINS_WANTED   800
#define BINS_SERVED   400	/* as many as a chart has points: cmd/page/charts.js */
#define ROWS_WANTED   30000	/* of a result with a row per bin and process, by kind of row */
#define DECODE_EVENTS 10000000	/* as many are decoded in a second or two */
#define BINS_FEW      80
#define BIN_EVENTS    8		/* a bin of less would be empty */
#define ROWS_SERVED   8000
/* a step is to take 0.15 s of CPU time: it decodes so many events for all bins, or for few */
#define STEP_EVENTS   100000
#define STEP_EVENTS_FEW 500000
/* and takes so many slices from the index; of more it has CPU time alone */
#define STEP_SLICES 100
#define TWO_THREADS_SLICES 1000 /* of more, two would need more than 256 MiB */
#define SPIKES_SHOWN  200
#define STACKS_SHOWN  3000
#define PEAKS	      5		/* bins in which single events are looked for */
#define COMPRESSION   4
#define COMPRESSION_QUICKLY 1

#define PAGE_KINDS (ANALYSIS_KINDS | ANALYSIS_STATES)	/* of the index */

enum { ROWS_CPU, ROWS_WAITS, ROWS_STATES, ROWS_MEMORY, ROWS_IO, ROWS_CNT };

static const struct page_rows_def cpus = {
	"cpus", "cpu_usage", .without = "utid", .keys = { "cpu" }, .values = { "oncpu_ns" }
};
static const struct page_rows_def defs[ROWS_CNT] = {
	[ROWS_CPU] = { "cpu", "cpu_usage", .keys = { "upid" }, .ranked = 1,
	  .values = { "oncpu_ns", "switches", "preempted" }, .measured = 1, .with = &cpus },
	[ROWS_WAITS] = { "waits", "sched_waits", "process", .keys = { "upid" }, .ranked = 1,
	  .values = { "wait_ns", "waits", "^wait_max_ns" }, .measured = 1 },
	/* nearly all threads sleep nearly always */
	[ROWS_STATES] = { "states", "thread_states", "process", .keys = { "upid" }, .ranked = 1,
	  .values = { "running_ns", "runnable_ns", "preempted_ns", "throttled_ns",
		      "disk_ns", "uninterruptible_ns", "sleeping_ns", "stopped_ns", "unknown_ns" },
	  .measured = 6, .is_sparse = true },
	/* mapped memory may be unused */
	[ROWS_MEMORY] = { "memory", "alloc_usage", "process", .without = "source",
	  .without_text = "vm", .keys = { "source", "upid" }, .ranked = 2,
	  .values = { "alloc_bytes", "now_bytes", "allocs", "frees", "free_bytes",
		      "exit_bytes", "^peak_bytes" }, .measured = 2 },
	[ROWS_IO] = { "io", "io_usage", "process", .ranked = 1,
	  .keys = { "upid", "dev", "op", "submitter", "owner_how" },
	  .values = { "bytes", "ios", "errors", "^lat_max_ns" }, .measured = 2 },
};

struct page_bins {
	uint64_t *edges;
	size_t cnt, cap;	/* of edges */
	bool are_decoded;	/* they are of equal lengths */
	bool are_coarse;	/* who stays at the window can have finer ones */
	size_t slices;		/* of blocks in them; 0 where they are decoded */
	bool are_long;		/* to find everything in them takes longer than a step may */
};

static int add_edge(struct page_bins *b, uint64_t ts_ns)
{
	if (array_reserve(&b->edges, &b->cap, b->cnt + 1) < 0)
		return -ENOMEM;
	b->edges[b->cnt++] = ts_ns;
	return 0;
}

/* 1, 2 or 5 times a power of ten, so that edges are short numbers. */
static uint64_t round_length(uint64_t ns)
{
	static const uint64_t steps[] = { 1, 2, 5 };
	uint64_t power = 1;

	for (;; power *= 10)
		for (unsigned int i = 0; i < 3; i++)
			if (steps[i] * power >= ns)
				return steps[i] * power;
}

/* So that two digits are enough for it. */
static uint64_t round_finely(uint64_t ns)
{
	uint64_t power = 1;

	while (ns / power >= 100)
		power *= 10;
	return (ns + power - 1) / power * power;
}

/* Returns how many events a window has: of each block, its part of them. */
static double events_within(const struct analysis *a, uint64_t from_ns, uint64_t to_ns)
{
	double events = 0;
	size_t cnt;
	const struct trace_block *b = trace_blocks(a->trace, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		uint64_t first = b[i].from_ns > from_ns ? b[i].from_ns : from_ns,
			 end = b[i].to_ns < to_ns ? b[i].to_ns : to_ns;

		if (first < end)
			events += (double)trace_block_events(&b[i], UINT32_MAX) *
				  (double)(end - first) / (double)(b[i].to_ns - b[i].from_ns);
	}
	return events;
}

/* Decides how long bins are, and whether so few events are in the window that they are decoded. */
static uint64_t bin_length(struct page_bins *b, const struct analysis *a, uint64_t from_ns,
			   uint64_t to_ns, enum page_effort effort)
{
	double events = events_within(a, from_ns, to_ns);
	uint64_t bins = (uint64_t)(events / BIN_EVENTS);

	if (effort == PAGE_WHOLE) {
		b->are_decoded = context_events(a, UINT32_MAX, from_ns, to_ns) <= DECODE_EVENTS;
		return round_length((to_ns - from_ns) / BINS_WANTED + 1);
	}
	b->are_coarse = effort == PAGE_STEP && events > STEP_EVENTS && events <= DECODE_EVENTS;
	b->are_decoded = events <= (effort == PAGE_STEP ? STEP_EVENTS_FEW : DECODE_EVENTS);
	bins = bins > BINS_SERVED ? BINS_SERVED : bins;
	if (bins < BINS_FEW || (b->are_coarse && b->are_decoded))
		bins = BINS_FEW;
	return round_finely((to_ns - from_ns) / bins + 1);
}

static int make_bins(struct page_bins *b, struct analysis *a, uint64_t from_ns, uint64_t to_ns,
		     enum page_effort effort, struct err *e)
{
	uint64_t length = bin_length(b, a, from_ns, to_ns, effort), at = from_ns;
	const struct index *x = NULL;
	int ret = b->are_decoded ? 0 : analysis_index_of(a, PAGE_KINDS, &x, e);

	if (ret < 0)
		return ret;
	if (x)
		b->slices = index_interval_at(x, to_ns - 1) - index_interval_at(x, from_ns);
	b->are_long = effort == PAGE_STEP && b->slices > STEP_SLICES;
	ret = add_edge(b, from_ns);
	/* edges that count from the trace's start; an index gives the next edge of a slice */
	while (!ret && at < to_ns) {
		uint64_t next = a->start_ns + ((at - a->start_ns) / length + 1) * length;

		if (x && next < to_ns)
			next = index_interval_to(x, index_interval_at(x, next - 1));
		at = next < to_ns ? next : to_ns;
		ret = add_edge(b, at);
	}
	return ret < 0 ? err_set(e, ret, "out of memory") : 0;
}

static int compress_text(const struct buf *text, int level, struct buf *ret, struct err *e)
{
	uLongf bytes = compressBound(text->len);
	uint8_t *room = text->failed ? NULL : buf_room(ret, bytes);

	if (!room || compress2(room, &bytes, text->data, text->len, level) != Z_OK)
		return err_set(e, -ENOMEM, "out of memory");
	ret->len += bytes;
	return 0;
}

static void put_window(const struct analysis *a, const struct page_bins *b, struct buf *out)
{
	uint64_t before = a->start_ns;

	page_put(out, "{\"end\":");
	page_put_int(out, context_rel(a, trace_end_ns(a->trace)));
	page_put(out, trace_is_live(a->trace) ? ",\"live\":true" : ",\"live\":false");
	page_put(out, b->are_coarse || b->are_long ? ",\"coarse\":true" : ",\"coarse\":false");
	page_put(out, b->are_long ? ",\"partial\":true" : ",\"partial\":false");
	page_put(out, ",\n\"edges\":[");
	for (size_t i = 0; i <= a->bin_cnt; i++) {
		page_put(out, i ? "," : "");
		page_put_int(out, (int64_t)(a->bin_edges[i] - before));
		before = a->bin_edges[i];
	}
	page_put(out, "],\n\"results\":{");
}

/* ---- jobs ---- */

/* A job finds rows per bin, or a report. The page has the results in this order. */
enum { JOB_PAGE = ROWS_CNT, JOB_STACKS, JOB_PROFILE, JOB_SPIKES, JOB_SUMMARY, JOB_CNT };

struct page_job {
	const struct page_rows_def *rows;	/* NULL: a report */
	size_t rows_wanted;
	struct report_request report;
	const char *section;	/* of a report that has no sections */
	struct row_log log;
	bool is_done, is_left_out;
};

/* Two threads take jobs from one list, those that take long first. */
struct page_jobs {
	struct analysis *a;
	struct page_job jobs[JOB_CNT];
	struct page_rows_def defs[ROWS_CNT];
	_Atomic unsigned int next;	/* of job_order */
	bool has_index, is_alone;
	const char *path;	/* of the trace, and what tells that it is the same */
	uint64_t hash;
	size_t block_cnt;
	bool is_doubtful;	/* what the helper found; after its end */
};

/* JOB_PAGE does those that are not in here. */
static const unsigned int job_order[] = {
	JOB_SPIKES, ROWS_MEMORY, JOB_PAGE, ROWS_STATES, JOB_SUMMARY, ROWS_CPU, JOB_STACKS,
	JOB_PROFILE
};
#define ORDER_CNT (sizeof(job_order) / sizeof(job_order[0]))

/* Memory belongs to processes, and requests to whoever owns them. */
static bool goes_by_thread(unsigned int rows)
{
	return rows == ROWS_CPU || rows == ROWS_WAITS || rows == ROWS_STATES;
}

static void init_jobs(struct page_jobs *j, struct analysis *a, uint64_t from_ns, uint64_t to_ns,
		      bool by_thread)
{
	const struct report_request r = { .from_ns = a->bin_edges[0],
					  .to_ns = a->bin_edges[a->bin_cnt] };

	*j = (struct page_jobs){ .a = a, .path = trace_path(a->trace) };
	for (unsigned int i = 0; i < JOB_CNT; i++) {
		j->jobs[i] = (struct page_job){ .rows = i < ROWS_CNT ? &j->defs[i] : NULL,
						.report = r };
		row_log_init(&j->jobs[i].log);
	}
	memcpy(j->defs, defs, sizeof(defs));
	for (unsigned int i = 0; by_thread && i < ROWS_CNT; i++) {
		if (!goes_by_thread(i))
			continue;
		j->defs[i].keys[0] = "utid";
		j->defs[i].by = j->defs[i].by ? "thread" : NULL;
	}
	j->jobs[JOB_PAGE].report.view = "page";
	j->jobs[JOB_PAGE].report.every_ns = INT64_MAX;
	j->jobs[JOB_STACKS].report.view = j->jobs[JOB_STACKS].section = "stacks";
	j->jobs[JOB_STACKS].report.limit = STACKS_SHOWN;
	j->jobs[JOB_PROFILE].report.view = j->jobs[JOB_PROFILE].section = "profile";
	j->jobs[JOB_PROFILE].report.limit = STACKS_SHOWN;
	j->jobs[JOB_PROFILE].report.stacks_apart = true;
	j->jobs[JOB_SPIKES].report.view = j->jobs[JOB_SPIKES].section = "spikes";
	j->jobs[JOB_SPIKES].report.limit = SPIKES_SHOWN;
	j->jobs[JOB_SUMMARY].report.from_ns = from_ns;
	j->jobs[JOB_SUMMARY].report.to_ns = to_ns;
	j->jobs[JOB_SUMMARY].log.without = "Spikes";
}

/* ---- the bins with the longest wait, and with the slowest request ---- */

struct peaks {
	const struct analysis *a;
	const char *column;
	unsigned int col;
	int64_t *most;		/* by bin */
};

static int peaks_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct peaks *p = ctx;

	for (p->col = 0; p->col + 1 < col_cnt && strcmp(names[p->col], p->column);)
		p->col++;
	return 0;
}

static int peaks_row(void *ctx, const struct value *values)
{
	struct peaks *p = ctx;
	const struct value *v = &values[p->col];
	size_t bin = lower_bound_plain(p->a->bin_edges, p->a->bin_cnt,
				       context_abs(p->a, values[0].i));

	if (v->type == VALUE_INT && v->i > p->most[bin])
		p->most[bin] = v->i;
	return 0;
}

/* Puts the name and the bins as [from, to), the highest first, as JSON. */
static int put_peaks(struct analysis *a, const struct row_log *rows, const char *name,
		     const char *column, struct buf *out)
{
	struct peaks p = { .a = a, .column = column };
	int ret = -ENOMEM;

	p.most = calloc(a->bin_cnt, sizeof(*p.most));
	if (p.most)
		ret = row_log_replay(rows, &(struct row_sink){ .ctx = &p, .begin = peaks_begin,
							       .row = peaks_row });
	page_put(out, name);
	for (unsigned int n = 0; !ret && n < PEAKS; n++) {
		size_t bin = 0;

		for (size_t i = 1; i < a->bin_cnt; i++)
			bin = p.most[i] > p.most[bin] ? i : bin;
		if (!p.most[bin])
			break;
		p.most[bin] = 0;
		page_put(out, n ? ",[" : "[");
		page_put_int(out, context_rel(a, a->bin_edges[bin]));
		page_put(out, ",");
		page_put_int(out, context_rel(a, a->bin_edges[bin + 1]));
		page_put(out, "]");
	}
	free(p.most);
	return ret;
}

/* ---- doing a job ---- */

/* Finds the rows of everything that a report without a filter is about. */
static int find_rows(struct analysis *a, struct page_job *j, struct err *e)
{
	const struct scope_filter f = { .workload_only = context_workload_only(a) };
	int ret = scope_init(&a->scope, &a->ids, &f);

	if (ret < 0)
		return err_set(e, ret, "out of memory");
	ret = page_rows_put(a, j->rows, &j->log.sink, j->rows_wanted, e);
	scope_done(&a->scope);
	j->is_done = !ret;
	return ret;
}

static int find_report(struct analysis *a, struct page_job *j, const char *peaks, struct err *e)
{
	struct report_request r = j->report;
	int ret = j->section ? j->log.sink.section(&j->log, j->section) : 0;

	r.peaks = peaks;
	if (!ret)
		ret = analysis_report(a, &r, &j->log.sink, e);
	j->is_done = !ret;
	return ret;
}

/*
 * Its single events lie in the highest bins of these rows. Where the next window can be asked for,
 * nobody needs to look into the bins of this one.
 */
static int find_page(struct analysis *a, struct page_job *jobs, struct err *e)
{
	struct page_job *waits = &jobs[ROWS_WAITS], *io = &jobs[ROWS_IO];
	bool is_quick = jobs[JOB_SPIKES].is_left_out;
	struct buf peaks = { 0 };
	int ret = waits->is_done ? 0 : find_rows(a, waits, e);

	if (!ret && !io->is_done)
		ret = find_rows(a, io, e);
	if (!ret && is_quick)
		return find_report(a, &jobs[JOB_PAGE], jobs[ROWS_IO].rows_wanted ? NULL : "{}", e);
	if (!ret)
		ret = put_peaks(a, &waits->log, "{\"waits\":[", "wait_max_ns", &peaks);
	if (!ret)
		ret = put_peaks(a, &io->log, "],\"requests\":[", "lat_max_ns", &peaks);
	buf_add(&peaks, "]}", 3);
	if (!ret && peaks.failed)
		ret = -ENOMEM;
	if (!ret)
		ret = find_report(a, &jobs[JOB_PAGE], (const char *)peaks.data, e);
	buf_done(&peaks);
	return ret;
}

static int run_job(struct analysis *a, struct page_job *jobs, unsigned int i, struct err *e)
{
	return i == JOB_PAGE ? find_page(a, jobs, e) :
	       jobs[i].rows  ? find_rows(a, &jobs[i], e) :
			       find_report(a, &jobs[i], NULL, e);
}

static int run_jobs(struct page_jobs *j, struct analysis *a, struct err *e)
{
	unsigned int i;
	int ret = 0;

	while (!ret && (i = j->next++) < ORDER_CNT)
		if (!j->jobs[job_order[i]].is_left_out)
			ret = run_job(a, j->jobs, job_order[i], e);
	return ret;
}

/* ---- the second thread: it has the same trace, opened once more, and kept ---- */

/* Nothing is damaged, and nothing grows: a helper finds what the page's own thread would find. */
static bool is_steady(struct trace *t, struct page_jobs *j)
{
	size_t cnt, damage_cnt;

	trace_blocks(t, &cnt);
	trace_damages(t, &damage_cnt);
	return !damage_cnt && trace_is_finished(t) && cnt == j->block_cnt &&
	       trace_blocks_hash(t, cnt) == j->hash;
}

static void close_helper(struct analysis *a)
{
	analysis_close(a->helper);
	trace_close(a->helper_trace);
	a->helper = NULL;
	a->helper_trace = NULL;
}

/* Uses the index that is there, as the page's own thread does, and makes none. */
static bool open_helper(struct page_jobs *j)
{
	struct analysis *a = j->a, *h;
	const struct index *x = NULL;

	if (!a->helper && trace_open_quick(&a->helper_trace, j->path, NULL) < 0)
		return false;
	if (!is_steady(a->helper_trace, j) ||
	    (!a->helper && analysis_open(&a->helper, a->helper_trace, NULL) < 0))
		return false;
	h = a->helper;
	h->bin_edges = a->bin_edges;
	h->bin_cnt = a->bin_cnt;
	h->stop = a->stop;
	if (!j->has_index)
		return !h->index;
	if (!h->index_use.use)
		analysis_use_index(h, &(struct analysis_index_use){ .use = true });
	h->direct_kinds = UINT32_MAX;
	return !analysis_index_of(h, PAGE_KINDS, &x, NULL) && x;
}

/* The first thread has the page's own trace. */
static int take_jobs(void *ctx, unsigned int thread, struct err *e)
{
	struct page_jobs *j = ctx;
	struct analysis *a = j->a;
	int ret = 0;

	if (!thread) {
		ret = run_jobs(j, a, e);
		j->next = ORDER_CNT;
	} else if (j->next < ORDER_CNT) {
		bool is_open = open_helper(j);

		if (is_open)
			(void)run_jobs(j, a->helper, NULL);
		j->is_doubtful = is_open && (!is_steady(a->helper_trace, j) ||
					     analysis_index_failed(a->helper));
		if (!is_open || j->is_doubtful)
			close_helper(a);
	}
	return ret;
}

/* Finds here what the helper did not find, and says why if it cannot be found. */
static int find_all(struct page_jobs *j, struct err *e)
{
	struct workers w = { .thread_max = 2, .run = take_jobs, .ctx = j };
	const struct index *x = NULL;
	int ret = analysis_index_of(j->a, PAGE_KINDS, &x, e);

	if (ret < 0)
		return ret;
	j->has_index = x;
	trace_blocks(j->a->trace, &j->block_cnt);
	j->hash = trace_blocks_hash(j->a->trace, j->block_cnt);
	w.cnt = !j->is_alone && is_steady(j->a->trace, j) ? 2 : 1;
	ret = workers_run(&w, e);
	for (unsigned int i = 0; i < JOB_CNT && !ret; i++) {
		if (j->jobs[i].is_left_out || (j->jobs[i].is_done && !j->is_doubtful))
			continue;
		row_log_init(&j->jobs[i].log);
		ret = run_job(j->a, j->jobs, i, e);
	}
	return ret;
}

/* ---- the page ---- */

static int put_all(struct page_jobs *j, const struct page_bins *b, const struct row_sink *also,
		   struct buf *text)
{
	struct page_columns c;
	struct row_sink rows;
	int ret = page_columns_init(&c, j->a, text);

	if (ret < 0)
		return ret;
	put_window(j->a, b, text);
	for (unsigned int i = 0; i <= JOB_SPIKES && !ret; i++)
		ret = row_log_replay(&j->jobs[i].log, &c.sink);
	if (!ret)
		ret = page_columns_put_who(&c);
	page_put(text, "}");
	page_columns_end(&c);
	page_put(text, "}\n");
	page_columns_done(&c);
	if (ret || !also)
		return ret;
	rows = *also;
	rows.section = NULL;
	ret = row_log_replay(&j->jobs[JOB_SPIKES].log, &rows);
	return ret ? ret : row_log_replay(&j->jobs[JOB_SUMMARY].log, also);
}

int analysis_page(struct analysis *a, uint64_t from_ns, uint64_t to_ns, enum page_effort effort,
		  bool by_thread, const struct row_sink *also, struct buf *ret, struct err *e)
{
	bool is_whole = effort == PAGE_WHOLE;
	uint64_t first_ns = from_ns, end_ns = to_ns;
	struct page_bins bins = { 0 };
	struct buf text = { 0 };
	struct page_jobs j;
	int r;

	context_clip(a, &first_ns, &end_ns);
	if (first_ns == end_ns)
		return err_set(e, -EINVAL, "the window is empty");
	r = make_bins(&bins, a, first_ns, end_ns, effort, e);
	if (!r) {
		a->bin_edges = bins.edges;
		a->bin_cnt = bins.cnt - 1;
		init_jobs(&j, a, from_ns, to_ns, by_thread);
		/* who waits for a window asks for its spikes later: they take long to find */
		j.jobs[JOB_SUMMARY].is_left_out = j.jobs[JOB_SPIKES].is_left_out = !is_whole;
		for (unsigned int i = 0; i < ROWS_CNT; i++)
			j.jobs[i].rows_wanted = is_whole			   ? ROWS_WANTED :
						bins.are_long && i != ROWS_CPU ? 0 : ROWS_SERVED;
		j.is_alone = effort == PAGE_STAY && bins.slices > TWO_THREADS_SLICES;
		j.jobs[JOB_STACKS].is_left_out = j.jobs[JOB_PROFILE].is_left_out = bins.are_long;
		r = find_all(&j, e);
		r = r ? r : put_all(&j, &bins, also, &text);
		if (r == -ENOMEM)
			err_set(e, r, "out of memory");
		for (unsigned int i = 0; i < JOB_CNT; i++)
			row_log_done(&j.jobs[i].log);
		a->bin_edges = NULL;
		a->bin_cnt = 0;
	}
	if (!r)
		r = compress_text(&text, is_whole ? COMPRESSION : COMPRESSION_QUICKLY, ret, e);
	buf_done(&text);
	free(bins.edges);
	return r;
}
