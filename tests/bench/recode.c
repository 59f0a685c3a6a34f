/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * recode TRACE [ROUNDS [LEVEL...]]: the block writer alone, fed with the events of a real
 * recording.
 *
 * It reads a trace, turns its events and tasks back into wire records, slice by slice and CPU by
 * CPU as the rings gave them, and encodes them again: at each compression level ("none" or 1 ..
 * 19), ROUNDS times, levels in turn. It prints the bytes for each level, and the CPU time per
 * event (lowest and median of the rounds). One round of one level under callgrind tells the
 * number of instructions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "bpf/wire.h"
#include "record/encode/block_writer.h"
#include "trace/trace.h"

#define LEVELS_MAX 24
#define ROUNDS_MAX 1000

struct slice {
	uint64_t from_ns, to_ns;
	struct block_segment *segments;	/* tasks, then one per CPU */
	struct buf *bufs;
};

struct recode {
	struct trace *trace;
	struct slice *slices;
	size_t slice_cnt;
	unsigned int cpu_cnt;
	uint64_t page_bytes, event_cnt, wire_bytes;
};

static void die(const char *what, int err)
{
	fprintf(stderr, "recode: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static uint32_t tid_of(const struct recode *r, uint64_t utid)
{
	const struct trace_thread *t = trace_thread_find(r->trace, (uint32_t)utid);

	return t ? t->tid : utid == EVENT_ID_IDLE ? 0 : 0x3fffffff;
}

static uint32_t pid_of(const struct recode *r, uint64_t upid)
{
	const struct trace_process *p = trace_process_find(r->trace, (uint32_t)upid);

	return p ? p->pid : 0;
}

static void add(struct buf *b, const void *record, size_t bytes)
{
	static const char zeros[8];

	buf_add(b, record, bytes);
	buf_add(b, zeros, -bytes & 7);
	if (b->failed)
		die("records", ENOMEM);
}

#define HDR(hook_, ev)                                                                             \
	.hdr = { .ts_ns = (ev)->ts_ns,                                                             \
		 .hook = (hook_),                                                                  \
		 .flags = (ev)->flags,                                                             \
		 .cpu = (ev)->cpu,                                                                 \
		 .tid = tid_of(r, (ev)->utid) }

static void add_block_event(const struct recode *r, struct buf *b, const struct event *ev)
{
	static const uint8_t hooks[] = { 0,
					 WIRE_BLOCK_INSERT,
					 WIRE_BLOCK_ISSUE,
					 WIRE_BLOCK_COMPLETE,
					 WIRE_BLOCK_REQUEUE,
					 WIRE_BLOCK_ERROR,
					 WIRE_BLOCK_MERGE,
					 WIRE_BLOCK_START,
					 WIRE_BLOCK_DONE };
	const uint64_t *v = ev->v;
	struct wire_request_issue x = {
		.step = { HDR(hooks[v[EV_REQUEST_ACTION] % sizeof(hooks)], ev),
			  .rq = v[EV_REQUEST_RQ],
			  .dev = (uint32_t)v[EV_REQUEST_DEV],
			  .sector = v[EV_REQUEST_SECTOR],
			  .bytes = (uint32_t)v[EV_REQUEST_BYTES],
			  .cmd_flags = (uint32_t)v[EV_REQUEST_CMD_FLAGS],
			  .done_bytes = (uint32_t)v[EV_REQUEST_DONE_BYTES],
			  .status = (uint32_t)v[EV_REQUEST_STATUS],
			  .part = (uint32_t)v[EV_REQUEST_PART] },
		.ino = v[EV_REQUEST_INO],
		.last_ino = v[EV_REQUEST_INO],
		.ino_dev = (uint32_t)v[EV_REQUEST_INO_DEV],
		.pages = (uint32_t)v[EV_REQUEST_PAGES],
	};

	add(b, &x, x.step.hdr.hook == WIRE_BLOCK_ISSUE ? sizeof(x) : sizeof(x.step));
}

static void add_dirty(const struct recode *r, struct buf *b, const struct event *ev)
{
	const struct trace_thread *t = trace_thread_find(r->trace, ev->utid);
	struct wire_dirty x = { HDR(WIRE_DIRTY, ev), .ino = ev->v[EV_DIRTY_INO],
				.ino_dev = (uint32_t)ev->v[EV_DIRTY_INO_DEV],
				.pid = t ? pid_of(r, t->upid) : 0 };

	add(b, &x, sizeof(x));
}

static void add_irq(const struct recode *r, struct buf *b, const struct event *ev)
{
	static const uint8_t entries[] = { [EVENT_IRQ_LINE] = WIRE_IRQ_ENTRY,
					   [EVENT_IRQ_SOFT] = WIRE_SOFTIRQ_ENTRY,
					   [EVENT_IRQ_LOCAL] = WIRE_VECTOR_ENTRY };
	unsigned int type =
		ev->v[EV_IRQ_TYPE] < EVENT_IRQ_TYPE_CNT ? (unsigned int)ev->v[EV_IRQ_TYPE] : 0;
	struct wire_irq x = {
		HDR((uint8_t)(entries[type] + (ev->v[EV_IRQ_ACTION] == EVENT_IRQ_EXIT)), ev),
		.vector = (uint32_t)ev->v[EV_IRQ_VECTOR], .type = (uint16_t)type,
		.handled = (uint16_t)ev->v[EV_IRQ_HANDLED]
	};

	if (type)
		add(b, &x, sizeof(x));
}

static void add_slab_event(const struct recode *r, struct buf *b, const struct event *ev)
{
	const uint64_t *v = ev->v;

	if (ev->kind == EVENT_SLAB_ALLOC && v[EV_SLAB_ALLOC_CACHE]) {
		struct wire_cache_alloc x = { HDR(WIRE_CACHE_ALLOC, ev),
					      .addr = v[EV_SLAB_ALLOC_ADDR],
					      .call_site = v[EV_SLAB_ALLOC_CALL_SITE],
					      .cache = v[EV_SLAB_ALLOC_CACHE],
					      .bytes_req = (uint32_t)v[EV_SLAB_ALLOC_BYTES_REQ],
					      .bytes_alloc = (uint32_t)v[EV_SLAB_ALLOC_BYTES] };

		add(b, &x, sizeof(x));
	} else if (ev->kind == EVENT_SLAB_ALLOC) {
		struct wire_kmalloc x = { HDR(WIRE_KMALLOC, ev), .addr = v[EV_SLAB_ALLOC_ADDR],
					  .call_site = v[EV_SLAB_ALLOC_CALL_SITE],
					  .bytes_req = (uint32_t)v[EV_SLAB_ALLOC_BYTES_REQ],
					  .bytes_alloc = (uint32_t)v[EV_SLAB_ALLOC_BYTES] };

		add(b, &x, sizeof(x));
	} else if (v[EV_SLAB_FREE_CACHE]) {
		struct wire_cache_free x = { HDR(WIRE_CACHE_FREE, ev),
					     .addr = v[EV_SLAB_ALLOC_ADDR],
					     .cache = v[EV_SLAB_FREE_CACHE] };

		add(b, &x, sizeof(x));
	} else {
		struct wire_kfree x = { HDR(WIRE_KFREE, ev), .addr = v[EV_SLAB_ALLOC_ADDR] };

		add(b, &x, sizeof(x));
	}
}

static void add_sched_event(const struct recode *r, struct buf *b, const struct event *ev)
{
	const uint64_t *v = ev->v;

	if (ev->kind == EVENT_SWITCH) {
		struct wire_switch x = { HDR(WIRE_SWITCH, ev),
					 .next_tid = tid_of(r, v[EV_SWITCH_NEXT_UTID]),
					 .prev_state = (uint16_t)v[EV_SWITCH_PREV_STATE],
					 .prev_prio = (uint8_t)v[EV_SWITCH_PREV_PRIO],
					 .next_prio = (uint8_t)v[EV_SWITCH_NEXT_PRIO] };

		add(b, &x, sizeof(x));
	} else {
		struct wire_waking x = {
			HDR(v[EV_WAKEUP_IS_NEW] ? WIRE_WAKEUP_NEW : WIRE_WAKING, ev),
			.target_tid = tid_of(r, v[EV_WAKEUP_TARGET_UTID]),
			.target_cpu = (uint16_t)v[EV_WAKEUP_TARGET_CPU],
			.prio = (uint8_t)v[EV_WAKEUP_PRIO], .is_new = (uint8_t)v[EV_WAKEUP_IS_NEW],
			.call = (uint16_t)v[EV_WAKEUP_CALL]
		};

		add(b, &x, sizeof(x));
	}
}

static void add_memory_event(const struct recode *r, struct buf *b, const struct event *ev)
{
	const uint64_t *v = ev->v;

	if (ev->kind == EVENT_PAGE_ALLOC) {
		struct wire_page_alloc x = { HDR(WIRE_PAGE_ALLOC, ev), .pfn = v[EV_PAGE_ALLOC_PFN],
					     .order = (uint16_t)v[EV_PAGE_ALLOC_PAGE_ORDER],
					     .gfp = (uint32_t)v[EV_PAGE_ALLOC_GFP],
					     .migratetype =
						     (uint16_t)v[EV_PAGE_ALLOC_MIGRATETYPE] };

		add(b, &x, sizeof(x));
	} else if (ev->kind == EVENT_PAGE_FREE) {
		struct wire_page_free x = { HDR(WIRE_PAGE_FREE, ev), .pfn = v[EV_PAGE_ALLOC_PFN],
					    .order = (uint32_t)v[EV_PAGE_ALLOC_PAGE_ORDER] };

		add(b, &x, sizeof(x));
	} else if (ev->kind == EVENT_RSS) {
		struct wire_rss x = { HDR(WIRE_RSS, ev), .pid = pid_of(r, v[EV_RSS_UPID]),
				      .member = (uint32_t)v[EV_RSS_MEMBER],
				      .pages = (int64_t)(v[EV_RSS_BYTES] / r->page_bytes) };

		add(b, &x, sizeof(x));
	} else {
		struct wire_vm x = { HDR(WIRE_VM, ev), .pid = pid_of(r, v[EV_VM_UPID]),
				     .op = (uint32_t)v[EV_VM_OP], .addr = v[EV_VM_ADDR],
				     .len_bytes = v[EV_VM_LEN_BYTES],
				     .total_vm_pages = v[EV_VM_TOTAL_VM_BYTES] / r->page_bytes };

		add(b, &x, sizeof(x));
	}
}

static void add_event(struct recode *r, struct slice *s, const struct event *ev)
{
	struct buf *b = &s->bufs[1 + (ev->cpu < r->cpu_cnt ? ev->cpu : 0)];

	switch (ev->kind) {
	case EVENT_SWITCH:
	case EVENT_WAKEUP:
		add_sched_event(r, b, ev);
		break;
	case EVENT_SLAB_ALLOC:
	case EVENT_SLAB_FREE:
		add_slab_event(r, b, ev);
		break;
	case EVENT_PAGE_ALLOC:
	case EVENT_PAGE_FREE:
	case EVENT_RSS:
	case EVENT_VM:
		add_memory_event(r, b, ev);
		break;
	case EVENT_REQUEST:
		add_block_event(r, b, ev);
		break;
	case EVENT_DIRTY:
		add_dirty(r, b, ev);
		break;
	case EVENT_IRQ:
		add_irq(r, b, ev);
		break;
	default:
		return;
	}
	r->event_cnt++;
}

/* Snapshot rows for older tasks, and the records of forks and exits; names do not matter here. */
static void add_tasks(struct recode *r)
{
	size_t cnt, i, at = 0;
	const struct trace_thread *t = trace_threads(r->trace, &cnt);
	const struct trace_task_event *ev;

	for (i = 0; i < cnt; i++) {
		struct wire_snap x = { .rss_pages = { -1, -1, -1, -1 }, .total_vm_pages = -1 };

		if (!(t[i].flags & TRACE_TASK_AT_START))
			continue;
		x.task.hdr =
			(struct wire_hdr){ .ts_ns = r->slices[0].from_ns, .hook = WIRE_TASK_SNAP };
		x.task.tid = x.task.ns_tid = t[i].tid;
		x.task.pid = x.task.ns_pid = pid_of(r, t[i].upid);
		x.task.start_ns = t[i].start_ns;
		snprintf(x.task.comm, sizeof(x.task.comm), "%.15s", t[i].comm);
		add(&r->slices[0].bufs[0], &x, sizeof(x));
	}
	ev = trace_task_events(r->trace, &cnt);
	for (i = 0; i < cnt; i++) {
		struct wire_hdr h = { .ts_ns = ev[i].ts_ns, .cpu = ev[i].cpu };
		uint32_t tid = tid_of(r, ev[i].utid), pid = pid_of(r, ev[i].upid);

		while (at + 1 < r->slice_cnt && ev[i].ts_ns >= r->slices[at].to_ns)
			at++;
		if (ev[i].type == TRACE_TASK_NEW) {
			struct wire_task x = { .hdr = h, .tid = tid, .pid = pid, .ns_tid = tid,
					       .ns_pid = pid, .start_ns = ev[i].ts_ns };

			x.hdr.hook = WIRE_TASK_NEW;
			snprintf(x.comm, sizeof(x.comm), "%.15s", ev[i].comm);
			add(&r->slices[at].bufs[0], &x, sizeof(x));
		} else if (ev[i].type == TRACE_TASK_EXIT) {
			struct wire_exit x = {
				.hdr = h, .tid = tid, .pid = pid, .group_dead = tid == pid
			};

			x.hdr.hook = WIRE_TASK_EXIT;
			add(&r->slices[at].bufs[0], &x, sizeof(x));
		}
	}
}

static void read_trace(struct recode *r, const char *path)
{
	const struct trace_block *blocks;
	struct event_cursor *c;
	const struct event *ev;
	struct err e = { "" };
	const char *page;
	size_t at = 0, i, j;
	int err = trace_open(&r->trace, path, &e);

	if (err)
		die(err_text(&e, err), err);
	page = trace_get(r->trace, "page_bytes");
	r->page_bytes = page ? strtoull(page, NULL, 10) : 4096;
	r->cpu_cnt = trace_cpu_cnt(r->trace);
	blocks = trace_blocks(r->trace, &r->slice_cnt);
	if (!r->slice_cnt)
		die("an empty trace", EINVAL);
	r->slices = calloc(r->slice_cnt, sizeof(*r->slices));
	for (i = 0; r->slices && i < r->slice_cnt; i++) {
		r->slices[i] =
			(struct slice){ .from_ns = blocks[i].from_ns, .to_ns = blocks[i].to_ns };
		r->slices[i].bufs = calloc(r->cpu_cnt + 1, sizeof(struct buf));
		r->slices[i].segments = calloc(r->cpu_cnt + 1, sizeof(struct block_segment));
	}
	add_tasks(r);
	err = event_cursor_open(&c, r->trace, ~0u, 0, UINT64_MAX, &e);
	while (!err && (err = event_cursor_next(c, &ev, &e)) > 0) {
		while (at + 1 < r->slice_cnt && ev->ts_ns >= r->slices[at].to_ns)
			at++;
		add_event(r, &r->slices[at], ev);
		err = 0;
	}
	if (err < 0)
		die(err_text(&e, err), err);
	event_cursor_close(c);
	for (i = 0; i < r->slice_cnt; i++)
		for (j = 0; j <= r->cpu_cnt; j++) {
			struct buf *b = &r->slices[i].bufs[j];

			r->slices[i].segments[j] = (struct block_segment){ b->data, b->len };
			r->wire_bytes += b->len;
		}
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* All slices through a new writer; *ret_bytes: of the blocks. The CPU time it took. */
static double encode(const struct recode *r, int level, uint64_t *ret_bytes)
{
	struct block_writer_config config = { .cpu_cnt = r->cpu_cnt, .zstd_level = level,
					      .tasks.page_bytes = (uint32_t)r->page_bytes };
	struct block_writer *w;
	const void *block;
	double begin, sum = 0;
	size_t bytes, i;
	int err = block_writer_new(&w, &config);

	*ret_bytes = 0;
	for (i = 0; !err && i < r->slice_cnt; i++) {
		struct trace_clock clock = { .mono_ns = r->slices[i].from_ns };
		struct block_slice s = { .from_ns = r->slices[i].from_ns,
					 .to_ns = r->slices[i].to_ns,
					 .segments = r->slices[i].segments,
					 .segment_cnt = r->cpu_cnt + 1,
					 .clocks = &clock,
					 .clock_cnt = 1 };

		begin = cpu_ns();
		err = block_writer_encode(w, &s, &block, &bytes, NULL);
		sum += cpu_ns() - begin;
		*ret_bytes += bytes;
	}
	if (err)
		die("encoding", err);
	block_writer_free(w);
	return sum;
}

static int cmp(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1
						       : *(const double *)a > *(const double *)b;
}

int main(int argc, char **argv)
{
	static double ns[LEVELS_MAX][ROUNDS_MAX];
	int levels[LEVELS_MAX] = { BLOCK_LEVEL_NONE, 1, 2, 3, 4, 6, 9 }, level_cnt = 7, i;
	int rounds = argc > 2 ? atoi(argv[2]) : 5, round;
	uint64_t bytes[LEVELS_MAX];
	struct recode r = { 0 };

	if (argc < 2 || rounds < 1 || rounds > ROUNDS_MAX || argc - 3 > LEVELS_MAX) {
		fprintf(stderr, "usage: recode TRACE [ROUNDS [LEVEL|none ...]]\n");
		return 2;
	}
	for (i = 3; i < argc; i++)
		levels[i - 3] = strcmp(argv[i], "none") ? atoi(argv[i]) : BLOCK_LEVEL_NONE;
	if (argc > 3)
		level_cnt = argc - 3;
	read_trace(&r, argv[1]);
	for (round = 0; round < rounds; round++)
		for (i = 0; i < level_cnt; i++)
			ns[i][round] = encode(&r, levels[i], &bytes[i]) / (double)r.event_cnt;
	printf("%llu events in %zu blocks, %.1f bytes an event in the rings; %d rounds\n\n",
	       (unsigned long long)r.event_cnt, r.slice_cnt,
	       (double)r.wire_bytes / (double)r.event_cnt, rounds);
	printf("| level | bytes/event | ns/event, median | ns/event, lowest |\n"
	       "|---|---|---|---|\n");
	for (i = 0; i < level_cnt; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", levels[i]);
		qsort(ns[i], (size_t)rounds, sizeof(double), cmp);
		printf("| %s | %.2f | %.1f | %.1f |\n", levels[i] < 0 ? "none" : name,
		       (double)bytes[i] / (double)r.event_cnt, ns[i][rounds / 2], ns[i][0]);
	}
	trace_close(r.trace);
	return 0;
}
