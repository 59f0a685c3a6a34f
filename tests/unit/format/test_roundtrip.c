/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Output equals input: random wire records through block_writer, store_writer, trace and cursor;
 * every field of every event, in the promised order.
 */
#include "record/encode/block_state.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/unit_test.h"

#define PAGE 4096ull

/* The expected output: the event with tids and pids in place of utids and upids. */
struct expect {
	struct event ev;
	uint64_t arrival;
};

struct model {
	struct expect *v;
	size_t cnt, cap;
};

static void model_add(struct model *m, const struct event *ev)
{
	if (m->cnt == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 1024;
		m->v = realloc(m->v, m->cap * sizeof(*m->v));
		assert_non_null(m->v);
	}
	m->v[m->cnt].ev = *ev;
	m->v[m->cnt].arrival = m->cnt;
	m->cnt++;
}

static int model_cmp(const void *a, const void *b)
{
	const struct expect *x = a, *y = b;

	if (x->ev.ts_ns != y->ev.ts_ns)
		return x->ev.ts_ns < y->ev.ts_ns ? -1 : 1;
	if (x->ev.cpu != y->ev.cpu)
		return x->ev.cpu < y->ev.cpu ? -1 : 1;
	if (x->ev.kind != y->ev.kind)
		return x->ev.kind < y->ev.kind ? -1 : 1;
	return x->arrival < y->arrival ? -1 : 1;
}

static uint64_t wild(uint64_t *seed)
{
	uint64_t r = gen_random(seed);

	switch (r % 4) {
	case 0:
		return gen_random(seed);
	case 1:
		return gen_random(seed) >> (r >> 8) % 64;
	case 2:
		return 0xffff888000000000ull + (r >> 8) % 64 * 64;
	default:
		return (r >> 8) % 8;
	}
}

static struct wire_hdr any_hdr(uint64_t *seed, unsigned int hook, uint64_t ts, unsigned int cpu_cnt)
{
	return (struct wire_hdr){
		.ts_ns = ts,
		.hook = (wire_u8)hook,
		.cpu = (wire_u16)(gen_random(seed) % cpu_cnt),
		.tid = (wire_u32)(gen_random(seed) % 50),
		.flags = gen_random(seed) % 4 ? 0 : WIRE_F_IRQ,
	};
}

static struct event base_of(const struct wire_hdr *h, unsigned int kind)
{
	return (struct event){ .ts_ns = h->ts_ns, .cpu = h->cpu, .kind = (uint8_t)kind,
			       .flags = h->flags, .utid = h->tid };
}

static void add_sched(struct gen *g, struct model *m, uint64_t *seed, unsigned int hook,
		      uint64_t ts, unsigned int cpus)
{
	struct event ev;

	if (hook == WIRE_SWITCH) {
		struct wire_switch r = {
			.hdr = any_hdr(seed, hook, ts, cpus),
			.next_tid = (wire_u32)(gen_random(seed) % 50),
			.prev_state = (wire_u16)wild(seed),
			.prev_prio = (wire_u8)wild(seed),
			.next_prio = (wire_u8)wild(seed),
		};

		r.hdr.flags = (wire_u8)(gen_random(seed) % 3 ? 0 : WIRE_F_PREEMPT);
		gen_raw(g, &r, sizeof(r));
		ev = base_of(&r.hdr, EVENT_SWITCH);
		ev.v[EV_SWITCH_NEXT_UTID] = r.next_tid;
		ev.v[EV_SWITCH_PREV_STATE] = r.prev_state;
		ev.v[EV_SWITCH_PREV_PRIO] = r.prev_prio;
		ev.v[EV_SWITCH_NEXT_PRIO] = r.next_prio;
	} else {
		struct wire_waking r = {
			.hdr = any_hdr(seed, hook, ts, cpus),
			.target_tid = (wire_u32)(gen_random(seed) % 50),
			.target_cpu = (wire_u16)wild(seed),
			.prio = (wire_u8)wild(seed),
			.is_new = hook == WIRE_WAKEUP_NEW,
			.call = (wire_u16)wild(seed),
		};

		gen_raw(g, &r, sizeof(r));
		ev = base_of(&r.hdr, EVENT_WAKEUP);
		ev.v[EV_WAKEUP_TARGET_UTID] = r.target_tid;
		ev.v[EV_WAKEUP_TARGET_CPU] = r.target_cpu;
		ev.v[EV_WAKEUP_PRIO] = r.prio;
		ev.v[EV_WAKEUP_IS_NEW] = r.is_new;
		ev.v[EV_WAKEUP_CALL] = r.call;
	}
	model_add(m, &ev);
}

static void add_memory(struct gen *g, struct model *m, uint64_t *seed, unsigned int hook,
		       uint64_t ts, unsigned int cpus)
{
	struct wire_hdr h = any_hdr(seed, hook, ts, cpus);
	struct event ev = base_of(&h, EVENT_RSS);

	if (hook == WIRE_RSS) {
		struct wire_rss r = { h, (wire_u32)(gen_random(seed) % 30),
				      (wire_u32)(gen_random(seed) % 5),
				      (wire_s64)(wild(seed) >> 14) - 3 };

		gen_raw(g, &r, sizeof(r));
		ev.v[EV_RSS_UPID] = r.pid;
		ev.v[EV_RSS_MEMBER] = r.member;
		ev.v[EV_RSS_BYTES] = r.pages < 0 ? 0 : (uint64_t)r.pages * PAGE;
	} else {
		struct wire_vm r = { h, (wire_u32)(gen_random(seed) % 30),
				     (wire_u32)(gen_random(seed) % 5), wild(seed), wild(seed),
				     wild(seed) >> 12 };

		gen_raw(g, &r, sizeof(r));
		ev.kind = EVENT_VM;
		ev.v[EV_VM_UPID] = r.pid;
		ev.v[EV_VM_OP] = r.op;
		ev.v[EV_VM_ADDR] = r.addr;
		ev.v[EV_VM_LEN_BYTES] = r.len_bytes;
		ev.v[EV_VM_TOTAL_VM_BYTES] = r.total_vm_pages * PAGE;
	}
	model_add(m, &ev);
}

static void add_block(struct gen *g, struct model *m, uint64_t *seed, unsigned int hook,
		      uint64_t ts, unsigned int cpus)
{
	static const uint8_t action[] = {
		EVENT_REQUEST_INSERT,  EVENT_REQUEST_ISSUE, EVENT_REQUEST_COMPLETE,
		EVENT_REQUEST_REQUEUE, EVENT_REQUEST_ERROR, EVENT_REQUEST_MERGE,
		EVENT_REQUEST_START,   EVENT_REQUEST_DONE,
	};
	struct wire_request r = {
		any_hdr(seed, hook, ts, cpus), wild(seed),	     wild(seed),
		(wire_u32)wild(seed),	       (wire_u32)wild(seed), (wire_u32)wild(seed),
		(wire_u32)wild(seed),	       (wire_u32)wild(seed), (wire_u32)wild(seed),
	};
	struct event ev = base_of(&r.hdr, EVENT_REQUEST);

	if (hook == WIRE_BLOCK_ISSUE || (hook >= WIRE_BIO_QUEUE && hook != WIRE_BIO_COMPLETE)) {
		struct wire_request_issue x = { r, wild(seed), wild(seed), (wire_u32)wild(seed),
					      (wire_u32)wild(seed) };

		gen_raw(g, &x, sizeof(x));
		ev.v[EV_REQUEST_INO] = x.ino;
		ev.v[EV_REQUEST_INO_DEV] = x.ino_dev;
		ev.v[EV_REQUEST_PAGES] = x.pages;
	} else {
		gen_raw(g, &r, sizeof(r));
	}
	ev.v[EV_REQUEST_ACTION] = hook >= WIRE_BIO_QUEUE ?
					  hook - WIRE_BIO_QUEUE + EVENT_REQUEST_BIO_QUEUE :
					  action[hook - WIRE_BLOCK_INSERT];
	ev.v[EV_REQUEST_RQ] = r.rq;
	ev.v[EV_REQUEST_DEV] = r.dev;
	ev.v[EV_REQUEST_SECTOR] = r.sector;
	ev.v[EV_REQUEST_BYTES] = r.bytes;
	ev.v[EV_REQUEST_CMD_FLAGS] = r.cmd_flags;
	ev.v[EV_REQUEST_DONE_BYTES] = r.done_bytes;
	ev.v[EV_REQUEST_STATUS] = r.status;
	ev.v[EV_REQUEST_PART] = r.part;
	model_add(m, &ev);
}

/* Kernel frames only: user frames belong to a process, which the model does not know by then. */
static void any_frames(uint64_t *seed, uint64_t *frames, unsigned int cnt)
{
	for (unsigned int i = 0; i < cnt; i++)
		frames[i] = gen_random(seed) % 3 + 0xffffffff81000001;
}

static uint64_t stack_number(const uint64_t *frames, unsigned int cnt)
{
	struct stack_frames f = { .kernel = frames, .kernel_cnt = cnt, .user = frames };
	struct block_dict book = { 0 };
	struct row_writer rows = { 0 };
	uint64_t id = 0;
	bool is_new;

	assert_int_equal(stack_dict_use(&book, &rows, &f, &id, &is_new), 0);
	assert_true(is_new);
	assert_int_equal(rows.cnt, cnt);
	block_dict_done(&book);
	buf_done(&rows.out);
	return id;
}

static void add_stack(struct gen *g, struct model *m, uint64_t *seed, uint64_t ts,
		      unsigned int cpus)
{
	struct wire_stack r = { .hdr = any_hdr(seed, WIRE_STACK, ts, cpus), .addr = wild(seed),
				.bytes = wild(seed), .of = WIRE_PAGE_ALLOC,
				.kernel_cnt = (wire_u16)(gen_random(seed) % 4) };
	struct event ev = base_of(&r.hdr, EVENT_STACK);

	any_frames(seed, r.frames, r.kernel_cnt);
	gen_raw(g, &r, offsetof(struct wire_stack, frames) + 8 * r.kernel_cnt);
	ev.v[EV_STACK_SOURCE] = EVENT_PAGE_ALLOC;
	ev.v[EV_STACK_STACK] = stack_number(r.frames, r.kernel_cnt);
	ev.v[EV_STACK_ADDR] = r.addr;
	ev.v[EV_STACK_BYTES] = r.bytes;
	model_add(m, &ev);
}

static void add_sample(struct gen *g, struct model *m, uint64_t *seed, uint64_t ts,
		       unsigned int cpus)
{
	struct wire_sample r = { .hdr = any_hdr(seed, WIRE_SAMPLE, ts, cpus),
				 .kernel_cnt = (wire_u16)(gen_random(seed) % 4) };
	struct event ev = base_of(&r.hdr, EVENT_SAMPLE);

	any_frames(seed, r.frames, r.kernel_cnt);
	gen_raw(g, &r, offsetof(struct wire_sample, frames) + 8 * r.kernel_cnt);
	ev.v[EV_SAMPLE_STACK] = stack_number(r.frames, r.kernel_cnt);
	model_add(m, &ev);
}

/* The value of tid_of() for a waker that is not a thread. */
#define PSEUDO_TID 1000000

/* The thread left its CPU 9 ns before, and was woken 1 ns before that, or 4 ns after, or not. */
static void add_offcpu(struct gen *g, struct model *m, uint64_t *seed, uint64_t ts,
		       unsigned int cpus)
{
	struct wire_offcpu r = { .hdr = any_hdr(seed, WIRE_OFFCPU, ts, cpus), .left_ns = ts - 9,
				 .woken_ns = ts - (gen_random(seed) % 2 ? 10 : 5),
				 .waker_tid = (wire_u32)(gen_random(seed) % 50),
				 .state = (wire_u16)wild(seed),
				 .waker_kind = (wire_u16)(gen_random(seed) % 3),
				 .kernel_cnt = (wire_u16)(gen_random(seed) % 4),
				 .waker_kernel_cnt = (wire_u16)(gen_random(seed) % 4) };
	unsigned int cnt = r.kernel_cnt + r.waker_kernel_cnt;
	struct event ev;

	r.hdr.flags = gen_random(seed) % 3 ? 0 : WIRE_F_PREEMPT;
	any_frames(seed, r.frames, cnt);
	gen_raw(g, &r, offsetof(struct wire_offcpu, frames) + 8 * cnt);
	ev = base_of(&r.hdr, EVENT_OFFCPU);
	ev.v[EV_OFFCPU_WAKER_UTID] = r.waker_kind == OFFCPU_WAKER_THREAD ? r.waker_tid
				     : r.waker_kind == OFFCPU_WAKER_IRQ
					     ? PSEUDO_TID + EVENT_ID_IRQ
					     : PSEUDO_TID + EVENT_ID_UNKNOWN;
	ev.v[EV_OFFCPU_STATE] = r.state;
	ev.v[EV_OFFCPU_STACK] = stack_number(r.frames + r.waker_kernel_cnt, r.kernel_cnt);
	if (r.waker_kernel_cnt)
		ev.v[EV_OFFCPU_WAKER_STACK] = stack_number(r.frames, r.waker_kernel_cnt);
	ev.v[EV_OFFCPU_DUR_NS] = 9;
	if (r.waker_kind != OFFCPU_WAKER_NONE)
		ev.v[EV_OFFCPU_RUNNABLE_NS] = r.woken_ns > r.left_ns ? 5 : 9;
	else if (r.hdr.flags)
		ev.v[EV_OFFCPU_RUNNABLE_NS] = 9;
	model_add(m, &ev);
}

static void add_irq(struct gen *g, struct model *m, uint64_t *seed, unsigned int hook, uint64_t ts,
		    unsigned int cpus)
{
	struct wire_irq r = { any_hdr(seed, hook, ts, cpus), (wire_u32)wild(seed),
			      (wire_u16)wild(seed), (wire_u16)wild(seed) };
	struct event ev = base_of(&r.hdr, EVENT_IRQ);

	gen_raw(g, &r, sizeof(r));
	ev.v[EV_IRQ_ACTION] = (hook - WIRE_IRQ_ENTRY) % 2 ? EVENT_IRQ_EXIT : EVENT_IRQ_ENTRY;
	ev.v[EV_IRQ_TYPE] = r.type;
	ev.v[EV_IRQ_VECTOR] = r.vector;
	ev.v[EV_IRQ_HANDLED] = r.handled;
	model_add(m, &ev);
}

/* One name, whose number is therefore 1. */
static void add_span(struct gen *g, struct model *m, uint64_t *seed, uint64_t ts, unsigned int cpus)
{
	struct wire_span r = { any_hdr(seed, WIRE_SPAN, ts, cpus), .id = wild(seed),
			       .action = EVENT_SPAN_BEGIN + gen_random(seed) % 5, .name = "GET" };
	struct event ev = base_of(&r.hdr, EVENT_SPAN);

	gen_raw(g, &r, sizeof(r));
	ev.v[EV_SPAN_ACTION] = r.action;
	ev.v[EV_SPAN_NAME] = 1;
	ev.v[EV_SPAN_ID] = r.id;
	model_add(m, &ev);
}

/* Which bytes of a hook's record become which column, as schema/events/ declares. */
static const struct place {
	uint8_t hook, kind, index, codec;
	uint16_t offset, bytes;
} places[] = {
#define X(hook_, kind_, record, index_, codec_, field)                                             \
	{ .hook = WIRE_##hook_, .kind = EVENT_##kind_, .index = (index_),                          \
	  .codec = EVENT_CODEC_##codec_, .offset = offsetof(struct wire_##record, field),          \
	  .bytes = sizeof(((struct wire_##record *)NULL)->field) },
	WIRE_PLACES(X)
#undef X
};

#define PLACE_CNT (sizeof(places) / sizeof(places[0]))

/* A record of any ordinary source: random fields, which must come out as the columns declared. */
static void add_declared(struct gen *g, struct model *m, uint64_t *seed, unsigned int hook,
			 uint64_t ts, unsigned int cpus)
{
	uint64_t record[64] = { 0 };
	struct wire_hdr h = any_hdr(seed, hook, ts, cpus);
	struct event ev = base_of(&h, EVENT_NONE);

	memcpy(record, &h, sizeof(h));
	for (size_t i = 0; i < PLACE_CNT; i++) {
		const struct place *p = &places[i];
		uint64_t value = p->codec == EVENT_CODEC_UTID ? gen_random(seed) % 50 : wild(seed);

		if (p->hook != hook)
			continue;
		memcpy((char *)record + p->offset, &value, p->bytes);
		memcpy(&ev.v[p->index], &value, p->bytes);
		ev.kind = p->kind;
	}
	gen_raw(g, record, wire_record_size(record, sizeof(record)));
	model_add(m, &ev);
}

static const uint8_t any_hooks[] = {
#define X(hook, kind, class) WIRE_##hook,
	WIRE_HOOKS(X)
#undef X
};

static void add_any(struct gen *g, struct model *m, uint64_t *seed, uint64_t ts, unsigned int cpus)
{
	unsigned int hook = any_hooks[gen_random(seed) % sizeof(any_hooks)];

	switch (hook) {
	case WIRE_TASK_NEW ... WIRE_TASK_CGROUP:	/* no events */
	case WIRE_TASK_SNAP:
	case WIRE_PATH:
	case WIRE_SOCKET:
	case WIRE_PLACE:
	case WIRE_SCHED_FACTS:
		add_any(g, m, seed, ts, cpus);
		break;
	case WIRE_SWITCH:
	case WIRE_WAKING:
	case WIRE_WAKEUP_NEW:
		if (gen_random(seed) % 2)
			add_sched(g, m, seed, hook, ts, cpus);
		else
			add_declared(g, m, seed, hook, ts, cpus);
		break;
	case WIRE_RSS:
	case WIRE_VM:
		add_memory(g, m, seed, hook, ts, cpus);
		break;
	case WIRE_SPAN:
		add_span(g, m, seed, ts, cpus);
		break;
	case WIRE_STACK:
		add_stack(g, m, seed, ts, cpus);
		break;
	case WIRE_OFFCPU:
		add_offcpu(g, m, seed, ts, cpus);
		break;
	case WIRE_SAMPLE:
		add_sample(g, m, seed, ts, cpus);
		break;
	default:
		if (hook >= WIRE_IRQ_ENTRY && hook <= WIRE_VECTOR_EXIT)
			add_irq(g, m, seed, hook, ts, cpus);
		else if ((hook >= WIRE_BLOCK_INSERT && hook <= WIRE_BLOCK_DONE) ||
			 (hook >= WIRE_BIO_QUEUE && hook <= WIRE_BIO_REMAP))
			add_block(g, m, seed, hook, ts, cpus);
		else
			add_declared(g, m, seed, hook, ts, cpus);
		break;
	}
}

static uint32_t tid_of(const struct trace *t, uint64_t utid)
{
	const struct trace_thread *h;

	if (utid < EVENT_ID_FIRST)
		return utid == EVENT_ID_IDLE ? 0 : PSEUDO_TID + (uint32_t)utid;
	h = trace_thread_find(t, (uint32_t)utid);
	assert_non_null(h);
	return h->tid;
}

static uint32_t pid_of(const struct trace *t, uint64_t upid)
{
	const struct trace_process *p;

	if (upid == EVENT_ID_UNKNOWN)
		return 0;
	p = trace_process_find(t, (uint32_t)upid);
	assert_non_null(p);
	return p->pid;
}

static void check_event(const struct trace *t, const struct event *got, const struct event *want)
{
	struct event ev = *got;

	ev.utid = tid_of(t, ev.utid);
	if (column_codec(ev.kind, 0) == EVENT_CODEC_UTID)
		ev.v[0] = tid_of(t, ev.v[0]);
	if (ev.kind == EVENT_RSS || ev.kind == EVENT_VM)
		ev.v[0] = pid_of(t, ev.v[0]);
	if (ev.kind == EVENT_REQUEST)	/* worked out by the writer: test_writeback_owner.c */
		ev.v[EV_REQUEST_OWNER_UPID] = ev.v[EV_REQUEST_OWNER_HOW] = 0;
	/* the writer drops or shortens impossible stays: test_cpu_keyframe.c */
	if (ev.kind == EVENT_SWITCH && ev.v[EV_SWITCH_STAY_NS] < want->v[EV_SWITCH_STAY_NS])
		ev.v[EV_SWITCH_STAY_NS] = want->v[EV_SWITCH_STAY_NS];
	assert_int_equal(ev.ts_ns, want->ts_ns);
	assert_int_equal(ev.cpu, want->cpu);
	assert_int_equal(ev.kind, want->kind);
	assert_int_equal(ev.flags, want->flags);
	assert_int_equal(ev.utid, want->utid);
	assert_memory_equal(ev.v, want->v, sizeof(ev.v));
}

static void check_window(struct trace *t, const struct model *m, uint32_t mask, uint64_t from,
			 uint64_t to)
{
	struct event_cursor *c;
	const struct event *ev;

	assert_int_equal(event_cursor_open(&c, t, mask, from, to, NULL), 0);
	for (size_t i = 0; i < m->cnt; i++) {
		const struct event *want = &m->v[i].ev;

		if (!(mask & 1u << want->kind) || want->ts_ns < from || want->ts_ns >= to)
			continue;
		assert_int_equal(event_cursor_next(c, &ev, NULL), 1);
		check_event(t, ev, want);
	}
	assert_int_equal(event_cursor_next(c, &ev, NULL), 0);
	assert_int_equal(event_cursor_next(c, &ev, NULL), 0);
	event_cursor_close(c);
}

struct shape {
	unsigned int cpus, slices, per_slice;
	uint64_t step;		/* of time, at most; 0: all at once */
	unsigned int jitter;	/* how far back a timestamp may jump */
	unsigned int level;
};

static void run_shape(const struct shape *s, uint64_t seed)
{
	struct model m = { 0 };
	struct made_trace made;
	struct trace *t;
	uint64_t now = 1000000, i, start = now;
	unsigned int slice, late = 0;
	struct gen *g;
	size_t cnt;

	made_begin(&made, &(struct gen_config){ .cpu_cnt = s->cpus, .from_ns = start,
						.zstd_level = (int)s->level,
						.file_bytes = 200000 });
	g = made.g;
	for (slice = 0; slice < s->slices; slice++) {
		uint64_t top = now;

		for (i = 0; i < s->per_slice; i++) {
			uint64_t ts;

			now += s->step ? gen_random(&seed) % s->step : 0;
			ts = now - (s->jitter ? gen_random(&seed) % s->jitter : 0);
			add_any(g, &m, &seed, ts, s->cpus);
			if (ts > top)
				top = ts;
		}
		gen_slice(g, now = top + 1);
		late += gen_last_stats(g)->late_cnt > 0;
		assert_int_equal(gen_last_stats(g)->bad_cnt, 0);
		assert_int_equal(gen_last_stats(g)->event_cnt[EVENT_CLASS_SCHED] +
				 gen_last_stats(g)->event_cnt[EVENT_CLASS_ALLOC] +
				 gen_last_stats(g)->event_cnt[EVENT_CLASS_BLOCK] +
				 gen_last_stats(g)->event_cnt[EVENT_CLASS_CPU] +
				 gen_last_stats(g)->event_cnt[EVENT_CLASS_MEM] +
				 gen_last_stats(g)->event_cnt[EVENT_CLASS_APP], s->per_slice);
	}
	made_read(&made, 0);
	t = made.t;
	if (m.cnt)
		qsort(m.v, m.cnt, sizeof(*m.v), model_cmp);
	assert_true(trace_is_finished(t));
	trace_damages(t, &cnt);
	assert_int_equal(cnt, 0);
	trace_blocks(t, &cnt);
	assert_int_equal(cnt, s->slices);
	assert_int_equal(trace_start_ns(t), start);
	assert_int_equal(trace_end_ns(t), now);
	check_window(t, &m, ~0u, 0, UINT64_MAX);
	for (i = 0; i < 20; i++) {
		uint64_t a = start + gen_random(&seed) % (now - start + 1);
		uint64_t b = start + gen_random(&seed) % (now - start + 1);

		check_window(t, &m, (uint32_t)gen_random(&seed), a < b ? a : b, a < b ? b : a);
	}
	for (i = 1; i < EVENT_KIND_CNT; i++)
		check_window(t, &m, 1u << i, start, now);
	assert_true(!s->jitter || late);
	made_close(&made);
	free(m.v);
}

UNIT_TEST(test_every_field_survives_in_order)
{
	static const struct shape shapes[] = {
		{ .cpus = 3, .slices = 4, .per_slice = 20000, .step = 2000 },
		/* an event a block, and none */
		{ .cpus = 2, .slices = 60, .per_slice = 1, .step = 1000000 },
		{ .cpus = 1, .slices = 3, .per_slice = 0 },
		/* all at the same time */
		{ .cpus = 4, .slices = 2, .per_slice = 3000, .step = 0 },
		/* inversions and late records; far out of order; over more than 2^32 ns */
		{ .cpus = 3, .slices = 8, .per_slice = 3000, .step = 300, .jitter = 20000 },
		{ .cpus = 2, .slices = 2, .per_slice = 20000, .step = 10, .jitter = 90000 },
		{ .cpus = 2, .slices = 2, .per_slice = 20000, .step = 1000000,
		  .jitter = 3000000000 },
		{ .cpus = 200, .slices = 3, .per_slice = 5000, .step = 100, .level = 3 },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		print_message("shape %zu\n", i);
		run_shape(&shapes[i], 11 + i);
	}
}

UNIT_TEST(test_random_shapes)
{
	uint64_t seed = 99;

	for (int i = 0; i < 30; i++) {
		struct shape s = {
			.cpus = 1 + (unsigned int)(gen_random(&seed) % 8),
			.slices = 1 + (unsigned int)(gen_random(&seed) % 6),
			.per_slice = (unsigned int)(gen_random(&seed) % 600),
			.step = gen_random(&seed) % 5
					? 1 + (gen_random(&seed) >> (gen_random(&seed) % 30 + 30))
					: 0,
		};

		run_shape(&s, gen_random(&seed));
	}
}

/* Columns that are not requested are 0, requested ones are right. */
UNIT_TEST(test_cursor_gives_the_columns_asked_for)
{
	uint32_t ask[EVENT_KIND_CNT] = { 0 };
	struct event_cursor *c, *all;
	const struct event *ev, *full;
	struct gen_mix mix = { .seed = 7, .now_ns = 1000 };
	struct made_trace m;
	uint64_t seen = 0;

	made_begin(&m, &(struct gen_config){ .from_ns = 1000 });
	gen_mix_start(m.g, &mix);
	gen_mix_run(m.g, &mix, 20000);
	gen_mix_done(&mix);
	made_read(&m, mix.now_ns + 1);
	for (int round = 0; round < 60; round++) {
		unsigned int i;

		for (i = 0; i < EVENT_KIND_CNT; i++)
			ask[i] = (uint32_t)gen_random(&mix.seed);
		assert_int_equal(event_cursor_open_columns(&c, m.t, ~0u, ask, 0, UINT64_MAX, NULL),
				 0);
		assert_int_equal(event_cursor_open(&all, m.t, ~0u, 0, UINT64_MAX, NULL), 0);
		while (event_cursor_next(all, &full, NULL) > 0) {
			assert_int_equal(event_cursor_next(c, &ev, NULL), 1);
			assert_int_equal(ev->ts_ns, full->ts_ns);
			assert_int_equal(ev->kind, full->kind);
			for (i = 0; i < event_kind_values(ev->kind); i++)
				if (ask[ev->kind] & 1u << i)
					assert_int_equal(ev->v[i], full->v[i]);
			if (ask[ev->kind] & EVENT_COL_UTID)
				assert_int_equal(ev->utid, full->utid);
			if (ask[ev->kind] & EVENT_COL_FLAGS)
				assert_int_equal(ev->flags, full->flags);
			seen++;
		}
		assert_int_equal(event_cursor_next(c, &ev, NULL), 0);
		event_cursor_close(c);
		event_cursor_close(all);
	}
	assert_true(seen > 60 * 15000);
	made_close(&m);
}

UNIT_TEST(test_bad_records_are_counted_not_stored)
{
	struct wire_hdr unknown = { .ts_ns = 5, .hook = 29 };
	struct gen *g = gen_open(NULL, &(struct gen_config){ .cpu_cnt = 2 });

	gen_switch(g, 10, 7, 1, 2, 0);		/* a CPU there is not */
	gen_switch(g, 11, 1, 1, 2, 0);
	gen_raw(g, &unknown, sizeof(unknown));
	gen_switch(g, 12, 1, 2, 1, 0);		/* after an invalid record: cannot be found */
	gen_slice(g, 100);
	assert_int_equal(gen_last_stats(g)->bad_cnt, 2);
	assert_int_equal(gen_last_stats(g)->event_cnt[EVENT_CLASS_SCHED], 1);
	gen_finish(g);
}

UNIT_TEST(test_record_size_of_every_hook)
{
	static const bool is_hook[256] = {
#define X(id, name, class, source) [id] = true,
		EVENT_HOOKS(X)
#undef X
		[WIRE_TASK_SNAP] = true,
	};
	static const uint8_t zeros[2048];
	uint8_t rec[2048];
	struct wire_exec x = { .hdr = { .hook = WIRE_TASK_EXEC }, .file_len = 5, .args_len = 4 };

	for (unsigned int hook = 0; hook < 256; hook++) {
		size_t n;

		memcpy(rec, zeros, sizeof(rec));
		((struct wire_hdr *)rec)->hook = (wire_u8)hook;
		n = wire_record_size(rec, sizeof(rec));
		assert_int_equal(n % 8, 0);
		assert_int_equal(n != 0, is_hook[hook]);
		if (n) {
			assert_int_equal(wire_record_size(rec, n), n);
			assert_int_equal(wire_record_size(rec, n - 1), 0);
		}
	}
	assert_int_equal(wire_record_size(&x, sizeof(x)), 64 + 16);
	x.file_len = WIRE_FILE_MAX + 1;
	assert_int_equal(wire_record_size(&x, sizeof(x)), 0);
	assert_int_equal(wire_record_size(rec, 15), 0);
}

UNIT_TESTS
