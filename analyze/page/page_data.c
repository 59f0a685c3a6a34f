/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * page_data: what a page about a window shows, as compressed JSON.
 *
 *     window --[bins]--> page_rows, schema/report_page.sql --> page_columns --> zlib
 *
 * The bins are the finest that the page can show; it adds them up to coarser ones itself. A bin of
 * a large trace consists of whole slices of blocks, so that all of it comes from the index. A small
 * trace is decoded, and its bins are of equal lengths.
 */
#include "analyze/page/page_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analyze/fold/index.h"
#include "base/array.h"

#define BINS_WANTED   800
#define ROWS_WANTED   30000	/* of a result with a row per bin and process, by kind of row */
#define DECODE_EVENTS 10000000	/* as many are decoded in a second or two */
#define SPIKES_SHOWN  200
#define STACKS_SHOWN  3000
#define COMPRESSION   4

static const struct page_rows_def defs[] = {
	{ "cpu", "cpu_usage", .keys = { "upid" }, .ranked = 1,
	  .values = { "oncpu_ns", "switches", "preempted" }, .measured = 1 },
	{ "cpus", "cpu_usage", .keys = { "cpu" }, .values = { "oncpu_ns" } },
	{ "waits", "sched_waits", "process", .keys = { "upid" }, .ranked = 1,
	  .values = { "wait_ns", "waits", "^wait_max_ns" }, .measured = 1 },
	/* nearly all threads sleep nearly always */
	{ "states", "thread_states", "process", .keys = { "upid" }, .ranked = 1,
	  .values = { "running_ns", "runnable_ns", "preempted_ns", "disk_ns",
		      "uninterruptible_ns", "sleeping_ns", "stopped_ns", "unknown_ns" },
	  .measured = 5, .is_sparse = true },
	/* mapped memory may be unused */
	{ "memory", "alloc_usage", "process", .without = "source", .without_text = "vm",
	  .keys = { "source", "upid" }, .ranked = 2,
	  .values = { "alloc_bytes", "now_bytes", "allocs", "frees", "free_bytes",
		      "^peak_bytes" }, .measured = 2 },
	{ "io", "io_usage", "process", .ranked = 1,
	  .keys = { "upid", "dev", "op", "submitter", "owner_how" },
	  .values = { "bytes", "ios", "errors", "^lat_max_ns" }, .measured = 2 },
};

struct page_bins {
	uint64_t *edges;
	size_t cnt, cap;	/* of edges */
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

static int make_bins(struct page_bins *b, struct analysis *a, uint64_t from_ns, uint64_t to_ns,
		     struct err *e)
{
	uint64_t length = round_length((to_ns - from_ns) / BINS_WANTED + 1), at = from_ns;
	const struct index *x = NULL;
	int ret = context_events(a, UINT32_MAX, from_ns, to_ns) > DECODE_EVENTS ?
		analysis_index_of(a, ANALYSIS_KINDS | ANALYSIS_STATES, &x, e) : 0;

	if (ret < 0)
		return ret;
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

static int compress_text(const struct buf *text, struct buf *ret, struct err *e)
{
	uLongf bytes = compressBound(text->len);
	uint8_t *room = text->failed ? NULL : buf_room(ret, bytes);

	if (!room || compress2(room, &bytes, text->data, text->len, COMPRESSION) != Z_OK)
		return err_set(e, -ENOMEM, "out of memory");
	ret->len += bytes;
	return 0;
}

static void put_window(const struct analysis *a, struct buf *out)
{
	uint64_t before = a->start_ns;

	page_put(out, "{\"edges\":[");
	for (size_t i = 0; i <= a->bin_cnt; i++) {
		page_put(out, i ? "," : "");
		page_put_int(out, (int64_t)(a->bin_edges[i] - before));
		before = a->bin_edges[i];
	}
	page_put(out, "],\n\"results\":{");
}

/* The results with a row per bin, of what a report without a filter is about. */
static int put_results(struct analysis *a, struct page_columns *c, struct err *e)
{
	const char *only = trace_get(a->trace, "only");
	const struct scope_filter f = { .workload_only = only && !strcmp(only, "1") };
	int ret = scope_init(&a->scope, &a->ids, &f);

	if (ret < 0)
		return err_set(e, ret, "out of memory");
	for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]) && !ret; i++)
		ret = page_rows_put(a, &defs[i], c, ROWS_WANTED * defs[i].ranked, e);
	scope_done(&a->scope);
	return ret;
}

static int collect(struct analysis *a, const struct row_sink *also, struct buf *text,
		   struct err *e)
{
	struct report_request r = {
		.view = "page", .every_ns = INT64_MAX, .from_ns = a->bin_edges[0],
		.to_ns = a->bin_edges[a->bin_cnt],
	};
	struct report_request spikes = { .view = "spikes", .from_ns = r.from_ns, .to_ns = r.to_ns,
					 .limit = SPIKES_SHOWN };
	struct report_request stacks = { .view = "stacks", .from_ns = r.from_ns, .to_ns = r.to_ns,
					 .limit = STACKS_SHOWN };
	struct page_columns c;
	int ret = page_columns_init(&c, a, text);

	if (ret < 0)
		return err_set(e, ret, "out of memory");
	put_window(a, text);
	ret = put_results(a, &c, e);
	if (!ret)
		ret = analysis_report(a, &r, &c.sink, e);
	page_columns_begin(&c, "stacks");
	if (!ret)
		ret = analysis_report(a, &stacks, &c.sink, e);
	page_columns_begin(&c, "spikes");
	c.also = also;
	if (!ret)
		ret = analysis_report(a, &spikes, &c.sink, e);
	page_put(text, "}");
	page_columns_end(&c);
	page_put(text, "}\n");
	page_columns_done(&c);
	return ret;
}

int analysis_page(struct analysis *a, uint64_t from_ns, uint64_t to_ns,
		  const struct row_sink *also, struct buf *ret, struct err *e)
{
	struct page_bins bins = { 0 };
	struct buf text = { 0 };
	int r;

	context_clip(a, &from_ns, &to_ns);
	if (from_ns == to_ns)
		return err_set(e, -EINVAL, "the window is empty");
	r = make_bins(&bins, a, from_ns, to_ns, e);
	if (!r) {
		a->bin_edges = bins.edges;
		a->bin_cnt = bins.cnt - 1;
		r = collect(a, also, &text, e);
		a->bin_edges = NULL;
		a->bin_cnt = 0;
	}
	if (!r)
		r = compress_text(&text, ret, e);
	buf_done(&text);
	free(bins.edges);
	return r;
}
