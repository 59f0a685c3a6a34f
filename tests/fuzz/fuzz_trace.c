/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_trace: a whole trace: chunk files (scratch_trace.h), and all queries of an open trace.
 * Events are in order, blocks do not overlap, and damage is listed.
 */
#include "trace/trace.h"
#include "fuzz.h"
#include "scratch_trace.h"

static volatile size_t sink;

static void read_lists(struct trace *t)
{
	const struct trace_process *p;
	const struct trace_thread *h;
	const struct trace_task_event *ev;
	const struct trace_name *n;
	const struct trace_loss *l;
	size_t cnt, i;

	p = trace_processes(t, &cnt);
	for (i = 0; i < cnt; i++) {
		sink += strlen(p[i].comm) + strlen(p[i].exe) + strlen(p[i].cmdline);
		FUZZ_CHECK(trace_process_find(t, p[i].upid) == &p[i]);
	}
	h = trace_threads(t, &cnt);
	for (i = 0; i < cnt; i++) {
		sink += strlen(h[i].comm);
		FUZZ_CHECK(trace_thread_find(t, h[i].utid) == &h[i]);
	}
	ev = trace_task_events(t, &cnt);
	for (i = 0; i < cnt; i++)
		sink += strlen(ev[i].comm) + strlen(ev[i].exe) + strlen(ev[i].cmdline);
	for (int type = 1; type < 5; type++) {
		n = trace_names(t, (enum trace_name_type)type, &cnt);
		for (i = 0; i < cnt; i++)
			sink += strlen(n[i].name);
	}
	l = trace_losses(t, &cnt);
	for (i = 1; i < cnt; i++)
		FUZZ_CHECK(l[i - 1].from_ns <= l[i].from_ns);
	sink += trace_real_ns(t, trace_start_ns(t)) + trace_mono_from_real_ns(t, 77);
}

static void read_blocks(struct trace *t)
{
	const struct trace_block *b;
	const struct trace_rss *rss;
	size_t cnt, i, n;

	b = trace_blocks(t, &cnt);
	for (i = 0; i < cnt; i++) {
		FUZZ_CHECK(b[i].from_ns <= b[i].to_ns);
		FUZZ_CHECK(!i || b[i - 1].to_ns <= b[i].from_ns);
		trace_block_rss(t, i, &rss, &n, NULL);
		sink += trace_block_running(t, i, (unsigned int)i);
	}
}

static void read_events(struct trace *t)
{
	struct event_cursor *c;
	const struct event *ev;
	uint64_t last = 0;

	if (event_cursor_open(&c, t, ~0u, 0, UINT64_MAX, NULL) < 0)
		return;
	while (event_cursor_next(c, &ev, NULL) > 0) {
		FUZZ_CHECK(ev->ts_ns >= last);
		FUZZ_CHECK(ev->kind < EVENT_KIND_CNT && ev->cpu < trace_cpu_cnt(t));
		last = ev->ts_ns;
	}
	event_cursor_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	size_t cnt, damages, damages2, i;
	struct trace *t;

	if (trace_open(&t, scratch_trace(data, bytes), NULL) < 0)
		return 0;
	trace_damages(t, &damages);
	read_lists(t);
	read_blocks(t);
	read_events(t);
	trace_blocks(t, &cnt);
	for (i = 0; i < cnt; i++)
		trace_block_verify(t, i, NULL);
	trace_damages(t, &damages2);
	FUZZ_CHECK(damages2 >= damages);
	trace_close(t);
	return 0;
}
