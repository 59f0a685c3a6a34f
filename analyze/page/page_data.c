/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * page_data: the data that a page about a window shows, as compressed JSON.
 *
 *     window --[bins]--> page_rows, schema/report_page.sql --> row_log --> page_columns --> zlib
 *
 * Two threads compute the results. Each result is kept in a log until all are complete, so that the
 * page does not depend on the threads' timing. For a page that is made only once (PAGE_WHOLE),
 * waits and requests are computed twice: peaks in the first results determine where bins are fine.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analyze/analyze.h"
#include "analyze/context/context.h"
#include "analyze/fold/index.h"
#include "analyze/page/page_rows.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/workers.h"

#define PAGE_KINDS (ANALYSIS_KINDS | ANALYSIS_STATES) /* parts of the index that are needed */

/* ---- page bins ---- */

#define BINS_WANTED   800
#define BINS_FINE     300	/* additional bins around peaks */
#define PARTS	      20	/* number of parts of a divided bin */
#define BINS_SERVED   400	/* number of points in a chart: cmd/page/charts.js */
#define DECODE_EVENTS 10000000	/* number of events decoded within one or two seconds */
/* with fewer blocks, bins of one block would be much wider than a chart's points */
#define BLOCKS_FEW    100
#define BINS_FEW      60
#define BIN_EVENTS    8		/* bins with fewer events would mostly be empty */
/* limits of events decoded for PAGE_STEP, in fine bins and in BINS_FEW bins: about 0.15 s */
#define STEP_EVENTS   1000
#define STEP_EVENTS_FEW 350000
/* limit of index slices read for PAGE_STEP; a longer window shows only CPU time */
#define STEP_SLICES 12

static int add_edge(struct page_bins *b, uint64_t ts_ns)
{
	if (array_reserve(&b->edges, &b->cap, b->cnt + 1) < 0)
		return -ENOMEM;
	b->edges[b->cnt++] = ts_ns;
	return 0;
}

/* Rounds up to 1, 2 or 5 times a power of ten, so that edges are short numbers. */
static uint64_t round_length(uint64_t ns)
{
	static const uint64_t steps[] = { 1, 2, 5 };
	uint64_t power = 1;

	for (;; power *= 10)
		for (unsigned int i = 0; i < 3; i++)
			if (steps[i] * power >= ns)
				return steps[i] * power;
}

/* Rounds up to two significant digits. */
static uint64_t round_finely(uint64_t ns)
{
	uint64_t power = 1;

	while (ns / power >= 100)
		power *= 10;
	return (ns + power - 1) / power * power;
}

/* Estimates the number of events in a window: each block counts in proportion to its overlap. */
static double events_within(const struct analysis *a, uint64_t from_ns, uint64_t to_ns,
			    size_t *ret_blocks)
{
	double events = 0;
	size_t cnt;
	const struct trace_block *b = trace_blocks(a->trace, &cnt);

	*ret_blocks = 0;
	for (size_t i = 0; i < cnt; i++) {
		uint64_t first = b[i].from_ns > from_ns ? b[i].from_ns : from_ns,
			 end = b[i].to_ns < to_ns ? b[i].to_ns : to_ns;

		if (first >= end)
			continue;
		events += (double)trace_block_events(&b[i], UINT32_MAX) * (double)(end - first) /
			  (double)(b[i].to_ns - b[i].from_ns);
		++*ret_blocks;
	}
	return events;
}

/* Returns the length of bins, and sets are_decoded and are_coarse. */
static uint64_t bin_length(struct page_bins *b, const struct analysis *a, uint64_t from_ns,
			   uint64_t to_ns, enum page_effort effort)
{
	size_t blocks;
	double events = events_within(a, from_ns, to_ns, &blocks);
	bool can_decode = events <= DECODE_EVENTS || blocks < BLOCKS_FEW;
	uint64_t bins = (uint64_t)(events / BIN_EVENTS);

	if (effort == PAGE_WHOLE) {
		b->are_decoded = context_events(a, UINT32_MAX, from_ns, to_ns) <= DECODE_EVENTS;
		return round_length((to_ns - from_ns) / BINS_WANTED + 1);
	}
	b->are_coarse = effort == PAGE_STEP && events > STEP_EVENTS && can_decode;
	b->are_decoded = effort == PAGE_STEP ? events <= STEP_EVENTS_FEW : can_decode;
	bins = bins > BINS_SERVED ? BINS_SERVED : bins;
	if (bins < BINS_FEW || (b->are_coarse && b->are_decoded))
		bins = BINS_FEW;
	return round_finely((to_ns - from_ns) / bins + 1);
}

/* Sets the edges of the bins. 0 or -errno. */
static int page_bins_make(struct page_bins *b, struct analysis *a, uint64_t from_ns, uint64_t to_ns,
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
	/*
	 * edges are multiples of length from the trace's start; with an index, each is moved to the
	 * end of the index slice that contains it
	 */
	while (!ret && at < to_ns) {
		uint64_t next = a->start_ns + ((at - a->start_ns) / length + 1) * length;

		if (x && next < to_ns)
			next = index_interval_to(x, index_interval_at(x, next - 1));
		at = next < to_ns ? next : to_ns;
		ret = add_edge(b, at);
	}
	return ret < 0 ? err_set(e, ret, "out of memory") : 0;
}

/* ---- fine bins around peaks ---- */

/* Marks the bin of an instant and the bin before. Returns how many bins are newly marked. */
static size_t mark_bins(const struct page_bins *b, uint64_t at_ns, bool *is_fine)
{
	size_t end = 1, marked = 0;

	while (end + 1 < b->cnt && b->edges[end] <= at_ns)
		end++;
	for (size_t bin = end > 1 ? end - 2 : 0; bin < end; bin++) {
		marked += !is_fine[bin];
		is_fine[bin] = true;
	}
	return marked;
}

/*
 * Divides each bin that contains an instant of at_ns, and the bin before it, into fine bins, until
 * BINS_FINE bins were added. at_ns is in order of importance. All other bins are unchanged.
 */
static int page_bins_refine(struct page_bins *b, const uint64_t *at_ns, size_t cnt, struct err *e)
{
	struct page_bins fine = *b;
	bool *is_fine = calloc(b->cnt, sizeof(*is_fine));
	size_t added = 0;
	int ret = is_fine ? 0 : -ENOMEM;

	fine.edges = NULL;
	fine.cnt = fine.cap = 0;
	for (size_t i = 0; !ret && i < cnt && added < BINS_FINE; i++)
		added += mark_bins(b, at_ns[i], is_fine) * (PARTS - 1);
	for (size_t bin = 0; !ret && bin + 1 < b->cnt; bin++) {
		uint64_t length = b->edges[bin + 1] - b->edges[bin];

		ret = add_edge(&fine, b->edges[bin]);
		for (unsigned int i = 1; !ret && is_fine[bin] && length >= PARTS && i < PARTS; i++)
			ret = add_edge(&fine, b->edges[bin] + length / PARTS * i);
	}
	if (!ret)
		ret = add_edge(&fine, b->edges[b->cnt - 1]);
	free(is_fine);
	if (ret) {
		free(fine.edges);
		return err_set(e, ret, "out of memory");
	}
	free(b->edges);
	*b = fine;
	return 0;
}

static void page_bins_done(struct page_bins *b)
{
	free(b->edges);
}

/* rows wanted per kind of row, in a result with a row per bin and process */
#define ROWS_WANTED   30000
#define ROWS_SERVED   8000
#define ROWS_COARSE   1500	/* if bins are coarse; a page with fine bins follows */
#define TWO_THREADS_SLICES 1000 /* with more, two threads would need more than 256 MiB of memory */
#define SPIKES_SHOWN  200
#define STACKS_SHOWN  3000
#define LANES_SHOWN   30
#define PEAKS	      5		/* number of bins in which single events are searched */
#define PLACES	      3		/* number of peaks per kind around which bins are fine */
#define COMPRESSION   4
#define COMPRESSION_QUICKLY 1

/* ---- row_log: results kept for a later sink ---- */

/*
 * A record is a letter followed by its values: packed numbers, and texts that end with a NUL. A log
 * must be zeroed before row_log_init(). Threads: one at a time.
 */
struct row_log {
	struct row_sink sink;	/* rows sent to the sink are kept in the log */
	struct buf bytes;
	unsigned int col_cnt;
	/* section whose rows are dropped, but whose title is kept; NULL: none */
	const char *without;
};

enum { RECORD_SECTION = 'S', RECORD_BEGIN = 'B', RECORD_ROW = 'R', RECORD_END = 'E' };

static void append_text(struct buf *b, const char *text, size_t bytes)
{
	packed_put(b, bytes);
	buf_add(b, text, bytes);
	buf_add(b, "", 1);
}

static int kept(const struct row_log *l)
{
	return l->bytes.failed ? -ENOMEM : 0;
}

static int keep_section(void *ctx, const char *title)
{
	struct row_log *l = ctx;
	int ret;

	packed_put(&l->bytes, RECORD_SECTION);
	append_text(&l->bytes, title, strlen(title));
	ret = kept(l);
	return ret ? ret : l->without && !strcmp(l->without, title);
}

static int keep_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct row_log *l = ctx;

	l->col_cnt = col_cnt;
	packed_put(&l->bytes, RECORD_BEGIN);
	packed_put(&l->bytes, col_cnt);
	for (unsigned int i = 0; i < col_cnt; i++)
		append_text(&l->bytes, names[i], strlen(names[i]));
	return kept(l);
}

static int keep_row(void *ctx, const struct value *values)
{
	struct row_log *l = ctx;

	packed_put(&l->bytes, RECORD_ROW);
	for (unsigned int i = 0; i < l->col_cnt; i++) {
		const struct value *v = &values[i];

		packed_put(&l->bytes, v->type);
		if (v->type == VALUE_INT)
			packed_put_signed(&l->bytes, v->i);
		else if (v->type == VALUE_REAL)
			buf_add(&l->bytes, &v->r, sizeof(v->r));
		else if (v->type == VALUE_TEXT)
			append_text(&l->bytes, v->text, v->text_bytes);
	}
	return kept(l);
}

static int keep_end(void *ctx)
{
	struct row_log *l = ctx;

	packed_put(&l->bytes, RECORD_END);
	return kept(l);
}

/* Does nothing. A report omits optional sections without rows if the sink has more(). */
static void keep_more(void *ctx, uint64_t cnt, const char *command)
{
}

/* The log must not move, because its sink points to it. */
static void row_log_init(struct row_log *l)
{
	buf_reset(&l->bytes);
	l->sink = (struct row_sink){ l, keep_begin, keep_row, keep_end, keep_section,
				     keep_more };
}

static void row_log_done(struct row_log *l)
{
	buf_done(&l->bytes);
}

static const char *get_text(struct packed_in *in, size_t *ret_bytes)
{
	const char *text;

	*ret_bytes = packed_get_cnt(in);
	text = (const char *)in->p;
	in->p += *ret_bytes + 1;
	return text;
}

static int replay_begin(struct packed_in *in, const char **names, unsigned int col_cnt,
		      const struct row_sink *to)
{
	size_t bytes;

	for (unsigned int i = 0; i < col_cnt; i++)
		names[i] = get_text(in, &bytes);
	return to->begin ? to->begin(to->ctx, col_cnt, names) : 0;
}

static int replay_row(struct packed_in *in, struct value *values, unsigned int col_cnt,
		    const struct row_sink *to)
{
	for (unsigned int i = 0; i < col_cnt; i++) {
		struct value *v = &values[i];

		*v = (struct value){ .type = (enum value_type)packed_get(in) };
		if (v->type == VALUE_INT) {
			v->i = packed_get_signed(in);
		} else if (v->type == VALUE_REAL) {
			memcpy(&v->r, in->p, sizeof(v->r));
			in->p += sizeof(v->r);
		} else if (v->type == VALUE_TEXT) {
			v->text = get_text(in, &v->text_bytes);
		}
	}
	return to->row(to->ctx, values);
}

/* Sends all kept rows to the sink. 0 or -errno. */
static int row_log_replay(const struct row_log *l, const struct row_sink *to)
{
	struct packed_in in = { .p = l->bytes.data, .end = l->bytes.data + l->bytes.len };
	const char **names = NULL;
	struct value *values = NULL;
	unsigned int col_cnt = 0;
	int ret = 0;

	while (in.p != in.end && ret >= 0) {
		uint64_t record = packed_get(&in);
		size_t bytes;

		if (record == RECORD_SECTION) {
			const char *title = get_text(&in, &bytes);

			ret = to->section ? to->section(to->ctx, title) : 0;
		} else if (record == RECORD_BEGIN) {
			col_cnt = (unsigned int)packed_get(&in);
			free(names);
			free(values);
			names = calloc(col_cnt + 1, sizeof(*names));
			values = calloc(col_cnt + 1, sizeof(*values));
			ret = names && values ? replay_begin(&in, names, col_cnt, to) : -ENOMEM;
		} else if (record == RECORD_ROW) {
			ret = values ? replay_row(&in, values, col_cnt, to) : -EINVAL;
		} else {
			ret = to->end ? to->end(to->ctx) : 0;
		}
	}
	free(names);
	free(values);
	return ret < 0 ? ret : 0;
}

/* ---- the page ---- */

/* Kinds of peaks: long waits, slow requests, spikes, and marks. */
enum { PLACE_WAIT, PLACE_REQUEST, PLACE_SPIKE, PLACE_MARK, PLACE_KINDS };

enum { ROWS_CPU, ROWS_WAITS, ROWS_STATES, ROWS_MEMORY, ROWS_IO, ROWS_LANES, ROWS_CNT };

static const struct page_rows_def cpus = {
	"cpus", "cpu_usage", .without = "utid", .keys = { "cpu" }, .values = { "oncpu_ns" }
};
static const struct page_rows_def defs[ROWS_CNT] = {
	[ROWS_CPU] = { "cpu", "cpu_usage", .keys = { "upid" }, .ranked = 1,
	  .values = { "oncpu_ns", "switches", "preempted" }, .measured = 1, .with = &cpus },
	[ROWS_WAITS] = { "waits", "sched_waits", "process", .keys = { "upid" }, .ranked = 1,
	  .values = { "wait_ns", "waits", "^wait_max_ns" }, .measured = 1 },
	/* is_sparse: most threads sleep most of the time */
	[ROWS_STATES] = { "states", "thread_states", "process", .keys = { "upid" }, .ranked = 1,
	  .values = { "running_ns", "runnable_ns", "preempted_ns", "throttled_ns",
		      "disk_ns", "uninterruptible_ns", "sleeping_ns", "stopped_ns", "unknown_ns" },
	  .measured = 6, .is_sparse = true },
	/* the states of the busiest threads, for cmd/page/singles.js */
	[ROWS_LANES] = { "lanes", "thread_states", "thread", .keys = { "utid" }, .ranked = 1,
	  .values = { "running_ns", "runnable_ns", "preempted_ns", "throttled_ns",
		      "disk_ns", "uninterruptible_ns", "sleeping_ns", "stopped_ns" },
	  .measured = 6, .is_sparse = true, .named_max = LANES_SHOWN },
	/* without vm, because mapped memory may be unused */
	[ROWS_MEMORY] = { "memory", "alloc_usage", "process", .without = "source",
	  .without_text = "vm", .keys = { "source", "upid" }, .ranked = 2,
	  .values = { "alloc_bytes", "now_bytes", "allocs", "frees", "free_bytes",
		      "exit_bytes", "^peak_bytes" }, .measured = 2 },
	[ROWS_IO] = { "io", "io_usage", "process", .ranked = 1,
	  .keys = { "upid", "dev", "op", "submitter", "owner_how" },
	  .values = { "bytes", "ios", "errors", "^lat_max_ns" }, .measured = 2 },
};

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
	for (size_t i = 0; i < b->cnt; i++) {
		page_put(out, i ? "," : "");
		page_put_int(out, (int64_t)(b->edges[i] - before));
		before = b->edges[i];
	}
	page_put(out, "],\n\"results\":{");
}

/* ---- jobs ---- */

/* A job computes rows per bin, or a report. The results are written in this order. */
enum { JOB_PAGE = ROWS_CNT, JOB_STACKS, JOB_PROFILE, JOB_SPIKES, JOB_SUMMARY, JOB_WHY,
       JOB_CNT };

struct page_job {
	const struct page_rows_def *rows;	/* NULL: a report */
	size_t rows_wanted;
	struct report_request report;
	const char *section;	/* result name of a report without sections */
	struct row_log log;
	bool is_done, is_left_out;
};

/* Two threads take jobs from a list, the longest jobs first. */
struct page_jobs {
	struct analysis *a;
	const struct page_bins *bins;
	struct page_job jobs[JOB_CNT];
	struct page_rows_def defs[ROWS_CNT];
	const unsigned int *order;	/* jobs to run now */
	unsigned int order_cnt;
	_Atomic unsigned int next;	/* position of the next job in `order` */
	bool has_index, is_alone;
	struct buf peaks;	/* peaks of waits and requests, as JSON; empty: not wanted */
	/*
	 * times of peaks: first the highest peak of each kind, then the second of each, and so on
	 */
	uint64_t places[PLACE_KINDS * PLACES];
	const char *path;	/* path and identity of the trace */
	uint64_t hash;
	size_t block_cnt;
	/* set if the helper's results may be wrong; valid after the helper's end */
	bool is_doubtful;
};

/* JOB_PAGE also runs ROWS_WAITS and ROWS_IO. */
static const unsigned int page_order[] = {
	JOB_SPIKES, ROWS_MEMORY, JOB_PAGE, JOB_WHY, ROWS_STATES, ROWS_LANES, JOB_SUMMARY,
	ROWS_CPU, JOB_STACKS, JOB_PROFILE
};
/* Jobs that find the peaks run first. */
static const unsigned int first_order[] = { JOB_SPIKES, ROWS_WAITS, ROWS_IO };
#define CNT_OF(list) (sizeof(list) / sizeof((list)[0]))

/*
 * Returns whether rows may be per thread. Memory belongs to processes, and requests to their
 * owners.
 */
static bool goes_by_thread(unsigned int rows)
{
	return rows == ROWS_CPU || rows == ROWS_WAITS || rows == ROWS_STATES;
}

static void init_jobs(struct page_jobs *j, struct analysis *a, const struct page_bins *bins,
		      uint64_t from_ns, uint64_t to_ns, bool by_thread)
{
	const struct report_request r = { .from_ns = bins->edges[0],
					  .to_ns = bins->edges[bins->cnt - 1] };

	*j = (struct page_jobs){ .a = a, .bins = bins, .path = trace_path(a->trace) };
	memset(j->places, 0xff, sizeof(j->places));
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
	j->jobs[JOB_PAGE].report.every_ns = WINDOW_OWN_BINS;
	j->jobs[JOB_STACKS].report.view = j->jobs[JOB_STACKS].section = "stacks";
	j->jobs[JOB_STACKS].report.limit = STACKS_SHOWN;
	j->jobs[JOB_STACKS].report.by = 1u << REPORT_BY_PROCESS;
	j->jobs[JOB_PROFILE].report.view = j->jobs[JOB_PROFILE].section = "profile";
	j->jobs[JOB_PROFILE].report.limit = STACKS_SHOWN;
	j->jobs[JOB_PROFILE].report.by = 1u << REPORT_BY_PROCESS;
	j->jobs[JOB_PROFILE].report.stacks_apart = true;
	j->jobs[JOB_SPIKES].report.view = j->jobs[JOB_SPIKES].section = "spikes";
	j->jobs[JOB_SPIKES].report.limit = SPIKES_SHOWN;
	j->jobs[JOB_WHY].report.view = "why";
	j->jobs[JOB_WHY].report.workload = trace_get(a->trace, "command");
	j->jobs[JOB_SUMMARY].report.from_ns = from_ns;
	j->jobs[JOB_SUMMARY].report.to_ns = to_ns;
	j->jobs[JOB_SUMMARY].log.without = "Spikes";
}

/* ---- peaks: the bins with the longest waits and the slowest requests ---- */

struct peaks {
	const struct page_jobs *j;
	const char *column;
	unsigned int col;
	int64_t *most;		/* by bin: largest value */
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
	size_t bin = page_bin_of(p->j->bins, context_abs(p->j->a, values[0].i));

	if (v->type == VALUE_INT && v->i > p->most[bin])
		p->most[bin] = v->i;
	return 0;
}

/* Stores the nth peak of a kind. */
static void add_place(struct page_jobs *j, unsigned int kind, unsigned int nth, uint64_t ts_ns)
{
	if (nth < PLACES)
		j->places[nth * PLACE_KINDS + kind] = ts_ns;
}

/* Appends name, which is JSON text, and the highest bins as JSON pairs; stores the bins' starts. */
static int put_peaks(struct page_jobs *j, const struct row_log *rows, const char *name,
		     const char *column, unsigned int kind)
{
	const struct page_bins *b = j->bins;
	struct peaks p = { .j = j, .column = column };
	struct buf *out = &j->peaks;
	int ret = -ENOMEM;

	p.most = calloc(b->cnt, sizeof(*p.most));
	if (p.most)
		ret = row_log_replay(rows, &(struct row_sink){ .ctx = &p, .begin = peaks_begin,
							       .row = peaks_row });
	page_put(out, name);
	for (unsigned int n = 0; !ret && n < PEAKS; n++) {
		size_t bin = 0;

		for (size_t i = 1; i + 1 < b->cnt; i++)
			bin = p.most[i] > p.most[bin] ? i : bin;
		if (!p.most[bin])
			break;
		p.most[bin] = 0;
		add_place(j, kind, n, b->edges[bin]);
		page_put(out, n ? ",[" : "[");
		page_put_int(out, context_rel(j->a, b->edges[bin]));
		page_put(out, ",");
		page_put_int(out, context_rel(j->a, b->edges[bin + 1]));
		page_put(out, "]");
	}
	free(p.most);
	return ret;
}

/* ---- running jobs ---- */

static int find_rows(const struct page_jobs *j, struct analysis *a, struct page_job *job,
		     struct err *e)
{
	int ret = page_rows_put(a, job->rows, j->bins, &job->log.sink, job->rows_wanted, e);

	job->is_done = !ret;
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

static int find_page(struct page_jobs *j, struct analysis *a, struct err *e)
{
	struct page_job *waits = &j->jobs[ROWS_WAITS], *io = &j->jobs[ROWS_IO];
	const char *peaks = (const char *)j->peaks.data;
	int ret = waits->is_done ? 0 : find_rows(j, a, waits, e);

	if (!ret && !io->is_done)
		ret = find_rows(j, a, io, e);
	if (!peaks)
		peaks = io->rows_wanted ? NULL : "{}";
	j->jobs[JOB_PAGE].report.edges = j->bins->edges;
	j->jobs[JOB_PAGE].report.edge_cnt = j->bins->cnt;
	return ret ? ret : find_report(a, &j->jobs[JOB_PAGE], peaks, e);
}

static int run_job(struct page_jobs *j, struct analysis *a, unsigned int i, struct err *e)
{
	return i == JOB_PAGE   ? find_page(j, a, e) :
	       j->jobs[i].rows ? find_rows(j, a, &j->jobs[i], e) :
				 find_report(a, &j->jobs[i], NULL, e);
}

static int run_jobs(struct page_jobs *j, struct analysis *a, struct err *e)
{
	unsigned int i;
	int ret = 0;

	while (!ret && (i = j->next++) < j->order_cnt) {
		const struct page_job *job = &j->jobs[j->order[i]];

		if (!job->is_left_out && !job->is_done)
			ret = run_job(j, a, j->order[i], e);
	}
	return ret;
}

/* ---- the second thread: opens the trace again, and keeps it open for the next page ---- */

/*
 * Returns whether the trace is finished and undamaged, so that the helper finds the same data as
 * the page's own thread.
 */
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

/*
 * Opens the helper, which uses an existing index like the page's own thread, but does not make one.
 */
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
	h->stop = a->stop;
	if (!j->has_index)
		return !h->index;
	if (!h->index_use.use)
		analysis_use_index(h, &(struct analysis_index_use){ .use = true });
	h->direct_kinds = UINT32_MAX;
	return !analysis_index_of(h, PAGE_KINDS, &x, NULL) && x;
}

/* Thread 0 reads the page's own trace. */
static int take_jobs(void *ctx, unsigned int thread, struct err *e)
{
	struct page_jobs *j = ctx;
	struct analysis *a = j->a;
	int ret = 0;

	if (!thread) {
		ret = run_jobs(j, a, e);
		j->next = j->order_cnt;
	} else if (j->next < j->order_cnt) {
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

/* Resets a job, so that it runs again. */
static void forget(struct page_job *job)
{
	row_log_init(&job->log);
	job->is_done = false;
}

/*
 * Runs the jobs. Jobs that the helper did not complete are run again here, to report their errors.
 */
static int find_all(struct page_jobs *j, const unsigned int *order, unsigned int cnt,
		    struct err *e)
{
	struct workers w = { .thread_max = 2, .run = take_jobs, .ctx = j };
	const struct index *x = NULL;
	int ret = analysis_index_of(j->a, PAGE_KINDS, &x, e);

	if (ret < 0)
		return ret;
	j->order = order;
	j->order_cnt = cnt;
	j->next = 0;
	j->has_index = x;
	trace_blocks(j->a->trace, &j->block_cnt);
	j->hash = trace_blocks_hash(j->a->trace, j->block_cnt);
	w.cnt = !j->is_alone && is_steady(j->a->trace, j) ? 2 : 1;
	ret = workers_run(&w, e);
	for (unsigned int i = 0; i < JOB_CNT && !ret && j->is_doubtful; i++)
		forget(&j->jobs[i]);
	for (unsigned int i = 0; i < cnt && !ret; i++) {
		struct page_job *job = &j->jobs[order[i]];

		if (job->is_left_out || job->is_done)
			continue;
		forget(job);
		ret = run_job(j, j->a, order[i], e);
	}
	return ret;
}

/* ---- peaks ---- */

struct spike_places {
	struct page_jobs *j;
	unsigned int col, cnt;
};

static int spikes_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct spike_places *s = ctx;

	for (s->col = 0; s->col + 1 < col_cnt && strcmp(names[s->col], "start_ns");)
		s->col++;
	return 0;
}

/* The largest spike is the first row. */
static int spikes_row(void *ctx, const struct value *values)
{
	struct spike_places *s = ctx;

	if (values[s->col].type == VALUE_INT)
		add_place(s->j, PLACE_SPIKE, s->cnt++, context_abs(s->j->a, values[s->col].i));
	return 0;
}

static void add_marks(struct page_jobs *j)
{
	const struct page_bins *b = j->bins;
	unsigned int found = 0;
	size_t cnt;
	const struct trace_mark *m = trace_marks(j->a->trace, &cnt);

	for (size_t i = 0; i < cnt; i++)
		if (m[i].ts_ns >= b->edges[0] && m[i].ts_ns < b->edges[b->cnt - 1])
			add_place(j, PLACE_MARK, found++, m[i].ts_ns);
}

/*
 * Finds the peaks: single events are searched in the bins with the longest waits and the slowest
 * requests. Makes bins fine there, and around spikes and marks, so that users can zoom to these
 * events.
 */
static int look_first(struct page_jobs *j, struct page_bins *bins, struct err *e)
{
	struct spike_places s = { .j = j };
	const struct row_sink spikes = { .ctx = &s, .begin = spikes_begin, .row = spikes_row };
	uint64_t at_ns[PLACE_KINDS * PLACES];
	size_t cnt = 0;
	int ret = find_all(j, first_order, CNT_OF(first_order), e);

	if (!ret)
		ret = put_peaks(j, &j->jobs[ROWS_WAITS].log, "{\"waits\":[", "wait_max_ns",
				PLACE_WAIT);
	if (!ret)
		ret = put_peaks(j, &j->jobs[ROWS_IO].log, "],\"requests\":[", "lat_max_ns",
				PLACE_REQUEST);
	buf_add(&j->peaks, "]}", 3);
	if (!ret && j->peaks.failed)
		ret = -ENOMEM;
	if (!ret)
		ret = row_log_replay(&j->jobs[JOB_SPIKES].log, &spikes);
	if (ret)
		return ret;
	add_marks(j);
	for (unsigned int i = 0; i < PLACE_KINDS * PLACES; i++)
		if (j->places[i] != UINT64_MAX)
			at_ns[cnt++] = j->places[i];
	forget(&j->jobs[ROWS_WAITS]);
	forget(&j->jobs[ROWS_IO]);
	return page_bins_refine(bins, at_ns, cnt, e);
}

/* ---- the page ---- */

static int put_all(struct page_jobs *j, const struct page_bins *b, const struct row_sink *also,
		   struct buf *text)
{
	struct page_columns c;
	struct row_sink rows;
	int ret = page_columns_init(&c, j->a, b, text);

	if (ret < 0)
		return ret;
	put_window(j->a, b, text);
	for (unsigned int i = 0; i <= JOB_SPIKES && !ret; i++)
		ret = row_log_replay(&j->jobs[i].log, &c.sink);
	c.prefix = "why_";
	if (!ret)
		ret = row_log_replay(&j->jobs[JOB_WHY].log, &c.sink);
	c.prefix = NULL;
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
	if (first_ns == end_ns) {
		if (trace_start_ns(a->trace) < trace_end_ns(a->trace))
			return err_set(e, -EINVAL, "the window is empty");
		/* the page of a trace without blocks has a single bin, which is empty */
		from_ns = first_ns;
		to_ns = end_ns = first_ns + 1;
	}
	r = page_bins_make(&bins, a, first_ns, end_ns, effort, e);
	if (!r) {
		init_jobs(&j, a, &bins, from_ns, to_ns, by_thread);
		/* spikes take long to find: the browser requests the spikes of its window later */
		j.jobs[JOB_SUMMARY].is_left_out = j.jobs[JOB_SPIKES].is_left_out = !is_whole;
		j.jobs[JOB_WHY].is_left_out = !is_whole;
		for (unsigned int i = 0; i < ROWS_CNT; i++)
			j.jobs[i].rows_wanted = is_whole			   ? ROWS_WANTED :
						bins.are_long && i != ROWS_CPU ? 0 :
						bins.are_coarse ? ROWS_COARSE : ROWS_SERVED;
		j.is_alone = effort == PAGE_STAY && bins.slices > TWO_THREADS_SLICES;
		j.jobs[JOB_STACKS].is_left_out = j.jobs[JOB_PROFILE].is_left_out = bins.are_long;
		r = is_whole ? look_first(&j, &bins, e) : 0;
		r = r ? r : find_all(&j, page_order, CNT_OF(page_order), e);
		r = r ? r : put_all(&j, &bins, also, &text);
		if (r == -ENOMEM)
			err_set(e, r, "out of memory");
		for (unsigned int i = 0; i < JOB_CNT; i++)
			row_log_done(&j.jobs[i].log);
		buf_done(&j.peaks);
	}
	if (!r)
		r = compress_text(&text, is_whole ? COMPRESSION : COMPRESSION_QUICKLY, ret, e);
	buf_done(&text);
	page_bins_done(&bins);
	return r;
}
