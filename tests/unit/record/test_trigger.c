/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* --trigger: valid conditions, and the events that fire them. Marks: their sources. */
#include "base/buf.h"
#include "bpf/wire.h"
#include "tests/unit/gen/gen_trace.h"
#include "record/flight/flight_recorder.h"
#include "format/event.h"
#include "record/flight/trigger.h"
#include "tests/unit/unit_test.h"

#define ALL ~0u
#define S 1000000000ull
#define DEV (4000u << 20) /* the kernel has no such device */

/* ---- expressions ---- */

static struct trigger parsed(const char *text)
{
	struct trigger t = { .kind = 99 };
	struct err e = { "" };

	if (trigger_parse(text, ALL, true, &t, &e))
		fail_msg("%s: %s", text, e.text);
	return t;
}

UNIT_TEST(test_expressions_mean_what_they_say)
{
	struct trigger t = parsed("spike>500MiB");

	assert_int_equal(t.kind, TRIGGER_SPIKE);
	assert_int_equal(t.value, 500 * MIB);
	assert_int_equal(t.window_ns, S);
	assert_string_equal(t.text, "spike>500MiB");
	t = parsed("spike > 1.5GiB/250ms");
	assert_int_equal(t.value, 1536 * MIB);
	assert_int_equal(t.window_ns, 250 * MS);
	t = parsed("io-latency>200ms");
	assert_int_equal(t.kind, TRIGGER_IO_LATENCY);
	assert_int_equal(t.value, 200 * MS);
	assert_int_equal(parsed("runq>50ms").kind, TRIGGER_RUNQ);
	assert_int_equal(parsed("loss>0").kind, TRIGGER_LOSS);
	t = parsed("request:GET /a=b > 20ms");
	assert_int_equal(t.kind, TRIGGER_REQUEST);
	assert_string_equal(t.name, "GET /a=b");
	assert_int_equal(t.value, 20 * MS);
	t = parsed("exit!=0");
	assert_int_equal(t.kind, TRIGGER_EXIT);
	assert_int_equal(t.op, TRIGGER_NOT);
	assert_int_equal(parsed("exit=7").op, TRIGGER_IS);
	assert_int_equal(parsed("exit = 7").value, 7);
	assert_int_equal(parsed("exit>128").op, TRIGGER_ABOVE);
}

UNIT_TEST(test_bad_expressions_are_named_with_what_there_is)
{
	static const char *const bad[] = {
		"", ">", "spike", "spike>", "spike5MiB", "spike=5MiB", "spike>=5MiB", "spike>x",
		"spike>5MiB/", "spike>5MiB/1ms", "spike>5MiB/2h", "spike>5MiB/x", "runq!=5ms",
		"runq>5MiB", "io-latency>5", "io-latency>-5ms", "io_latency>5ms", "loss>x",
		"exit", "exit!0", "exit!=", "exit!=256", "exit!=x", "exit!=0 ", "memory>5MiB",
		"request>5ms", "request:>5ms", "request:GET", "request:GET>", "request:GET=5ms",
		"request:GET>x",
	};
	struct trigger t;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err e = { "" };
		int r = trigger_parse(bad[i], ALL, true, &t, &e);

		if (!strcmp(bad[i], "io-latency>5")) {	/* a bare number is seconds */
			assert_int_equal(r, 0);
			continue;
		}
		if (r >= 0)
			fail_msg("'%s' was taken", bad[i]);
		assert_non_null(strstr(e.text, "--trigger"));
		assert_non_null(strstr(e.text, bad[i]));
	}
}

UNIT_TEST(test_conditions_need_what_they_are_about)
{
	struct err e = { "" };
	struct trigger t;

	assert_int_equal(trigger_parse("spike>1MiB", 0, true, &t, &e), -EINVAL);
	assert_non_null(strstr(e.text, "alloc.rss"));
	assert_int_equal(trigger_parse("runq>1ms", 0, true, &t, NULL), -EINVAL);
	assert_int_equal(trigger_parse("io-latency>1ms", 0, true, &t, NULL), -EINVAL);
	assert_int_equal(trigger_parse("request:GET>1ms", 0, true, &t, NULL), -EINVAL);
	assert_int_equal(trigger_parse("loss>5", 0, true, &t, NULL), 0);
	assert_int_equal(trigger_parse("exit!=0", ALL, false, &t, NULL), -EINVAL);
}

/* ---- events that fire ---- */

struct fixture {
	struct gen *g[2];	/* a ring each */
	struct trigger_set *set;
	struct buf snapshot;
	uint8_t lost_hook;	/* 0: WIRE_DIRTY */
	unsigned int fired;
	uint64_t ts_ns;
	char why[256];
};

static struct fixture fx;

static int on_fired(void *ctx, const struct trigger *t, uint64_t ts_ns, const char *why)
{
	struct fixture *f = ctx;

	f->fired++;
	f->ts_ns = ts_ns;
	snprintf(f->why, sizeof(f->why), "%s", why);
	return 0;
}

static void begin(struct fixture *f, const char *expr)
{
	const struct trigger_sink sink = { f, on_fired };
	struct trigger t = parsed(expr);

	memset(f, 0, sizeof(*f));
	for (int i = 0; i < 2; i++)
		f->g[i] = gen_open(NULL, &(struct gen_config){ .from_ns = 1 });
	assert_int_equal(trigger_set_new(&f->set, &t, 1, &sink), 0);
}

/* Passes the records of both rings, those of the second ring first. lost: dirtyings. */
static unsigned int feed(struct fixture *f, uint64_t lost, uint64_t to_ns)
{
	struct trace_loss loss = { .hook = f->lost_hook ? f->lost_hook : WIRE_DIRTY,
				   .full_cnt = lost };
	const struct block_slice slice = { .losses = &loss, .loss_cnt = lost > 0, .to_ns = to_ns };
	struct ring_slice slices[2];
	unsigned int before = f->fired;

	loss.cls = hook_name_find(loss.hook)->cls;
	for (int i = 0; i < 2; i++) {
		const struct block_segment *b = gen_records(f->g[1 - i]);
		struct ring_slab *slab = malloc(sizeof(*slab) + b->bytes);

		slab->next = NULL;
		slab->bytes = b->bytes;
		if (b->bytes)
			memcpy(slab->data, b->data, b->bytes);
		slices[i] = (struct ring_slice){ slab, slab };
	}
	assert_int_equal(trigger_set_feed(f->set, slices, 2, &f->snapshot, &slice), 0);
	for (int i = 0; i < 2; i++) {
		free(slices[i].first);
		gen_slice(f->g[i], to_ns);
	}
	buf_reset(&f->snapshot);
	return f->fired - before;
}

static void end(struct fixture *f)
{
	if (!f->g[0])
		return;
	trigger_set_free(f->set);
	gen_finish(f->g[0]);
	gen_finish(f->g[1]);
	buf_done(&f->snapshot);
	memset(f, 0, sizeof(*f));
}

static void rss(struct fixture *f, uint64_t ts, unsigned int ring, uint32_t pid,
		unsigned int member, uint64_t mib)
{
	gen_rss(f->g[ring], ts, ring, pid, pid, member, (int64_t)(mib * MIB / 4096));
}

UNIT_TEST(test_spike_fires_once_at_its_instant)
{
	begin(&fx, "spike>500MiB");
	/* moves between CPUs while it grows, 100 MiB every 100 ms */
	for (unsigned int i = 1; i <= 9; i++)
		rss(&fx, i * 100 * MS, i & 1, 40, 1, i * 100);
	assert_int_equal(feed(&fx, 0, S), 1);
	assert_int_equal(fx.ts_ns, 700 * MS);
	assert_non_null(strstr(fx.why, "process 40"));
	assert_non_null(strstr(fx.why, "600 MiB"));
	/* the same rise goes on for a while: it was reported already */
	for (unsigned int i = 10; i <= 12; i++)
		rss(&fx, i * 100 * MS, 0, 40, 1, i * 100);
	assert_int_equal(feed(&fx, 0, 2 * S), 0);
	/* and again after it had fallen */
	rss(&fx, 5 * S, 0, 40, 1, 0);
	rss(&fx, 5 * S + 300 * MS, 0, 40, 1, 501);
	assert_int_equal(feed(&fx, 0, 6 * S), 1);
}

UNIT_TEST(test_spike_needs_to_be_fast_and_of_resident_memory)
{
	begin(&fx, "spike>500MiB");
	/* 1.2 GiB in 2.4 s: never more than 500 in one second */
	for (unsigned int i = 0; i <= 24; i++)
		rss(&fx, S + i * 100 * MS, 0, 40, 1, i * 50);
	/* a process that gets swapped out */
	rss(&fx, S, 0, 60, 2, 0);
	rss(&fx, S + 5, 0, 60, 2, 900);
	/* a process's first value is not growth */
	rss(&fx, S + 6, 0, 70, 1, 5000);
	assert_int_equal(feed(&fx, 0, 4 * S), 0);
}

/* The same bursts as in reports: of a process, of a name, of all together, each once. */
UNIT_TEST(test_spike_may_be_of_many_processes)
{
	const uint32_t own[TRIGGER_OWN_MAX] = { 90, 0, 91 };

	begin(&fx, "spike>500MiB");
	trigger_set_leave_out(fx.set, own);
	/* three with 200 MiB each, none of which has half */
	for (uint32_t pid = 50; pid < 53; pid++) {
		gen_new(fx.g[0], S, 0, 1, pid, pid, 1, "cc1");
		rss(&fx, S + pid, 0, pid, 1, 1000);	/* shared with the parent */
		rss(&fx, S + MS + pid, 1, pid, 1, 1200);
	}
	assert_int_equal(feed(&fx, 0, 2 * S), 1);
	assert_non_null(strstr(fx.why, "processes named cc1 grew by 600 MiB"));
	/* other names, and one that has the name no longer; the recorder does not count */
	for (uint32_t pid = 60; pid < 63; pid++)
		gen_new(fx.g[0], 4 * S, 0, 1, pid, pid, 1, pid == 60 ? "as" : "ld");
	gen_new(fx.g[0], 4 * S, 0, 1, 90, 90, 1, "ebpfrec");
	for (uint32_t pid = 60; pid < 63; pid++)
		rss(&fx, 4 * S + 1, 0, pid, 1, 0);
	rss(&fx, 4 * S + 1, 0, 90, 1, 0);
	rss(&fx, 4 * S + 2, 0, 90, 1, 400);
	rss(&fx, 4 * S + 3, 0, 60, 1, 220);
	rss(&fx, 4 * S + 4, 0, 61, 1, 110);
	gen_rename(fx.g[0], 4 * S + 5, 0, 61, 61, "lto");
	rss(&fx, 4 * S + 6, 0, 62, 1, 170);
	assert_int_equal(feed(&fx, 0, 4 * S + 10), 0);
	rss(&fx, 4 * S + 11, 0, 62, 1, 171);
	assert_int_equal(feed(&fx, 0, 5 * S), 1);
	assert_non_null(strstr(fx.why, ": all processes grew by 501 MiB"));
	/* what follows within the window belongs to it */
	rss(&fx, 5 * S, 0, 60, 1, 900);
	assert_int_equal(feed(&fx, 0, 5 * S + 1), 0);
	/* a process that has half of it is the reason */
	rss(&fx, 8 * S, 0, 61, 1, 210);
	rss(&fx, 8 * S + 1, 0, 62, 1, 591);
	assert_int_equal(feed(&fx, 0, 9 * S), 1);
	assert_non_null(strstr(fx.why,
			       "process 62 (ld) grew by 420 MiB, all processes by 520 MiB"));
}

/* Resident memory as in reports: all kinds together, without memory released by an exec. */
UNIT_TEST(test_spike_is_of_resident_memory_as_a_whole)
{
	begin(&fx, "spike>500MiB");
	gen_new(fx.g[0], S, 0, 1, 40, 40, 1, "mapper");
	for (unsigned int i = 0; i < 4; i++)	/* it inherits 300 MiB, which do not count */
		rss(&fx, S, 0, 40, i, i == 1 ? 300 : 0);
	rss(&fx, S + 1, 0, 40, 0, 200);
	rss(&fx, S + 2, 0, 40, 1, 500);
	assert_int_equal(feed(&fx, 0, 2 * S), 0);
	rss(&fx, S + 3, 0, 40, 3, 101);
	assert_int_equal(feed(&fx, 0, 2 * S), 1);
	assert_non_null(strstr(fx.why, "501 MiB"));
	/* file pages become anonymous memory */
	rss(&fx, 4 * S, 0, 40, 0, 0);
	rss(&fx, 4 * S + 1, 0, 40, 1, 700);
	assert_int_equal(feed(&fx, 0, 5 * S), 0);
	/* a new program begins without the old one's shared memory */
	gen_new(fx.g[0], 6 * S, 0, 1, 50, 50, 1, "server");
	for (unsigned int i = 0; i <= 60; i++)
		rss(&fx, (6 + i) * S + MS, 0, 50, 3, i * 10);
	gen_exec(fx.g[0], 66 * S + 2 * MS, 0, 50, 50, 0, "server", "/server", "server", 7);
	assert_int_equal(feed(&fx, 0, 66 * S + 3 * MS), 0);
	rss(&fx, 66 * S + 4 * MS, 0, 50, 3, 501);
	assert_int_equal(feed(&fx, 0, 67 * S), 1);
}

UNIT_TEST(test_nothing_fires_for_the_recorder_itself)
{
	const uint32_t own[TRIGGER_OWN_MAX] = { 90, 0, 91 };

	begin(&fx, "spike>500MiB");
	trigger_set_leave_out(fx.set, own);
	gen_new(fx.g[0], S, 0, 1, 90, 90, 1, "ebpfrec");
	rss(&fx, S + 1, 0, 90, 1, 600);
	assert_int_equal(feed(&fx, 0, 2 * S), 0);
	end(&fx);

	begin(&fx, "io-latency>10ms");
	trigger_set_leave_out(fx.set, own);
	gen_new(fx.g[0], 1, 0, 1, 95, 90, 1, "ebpfrec");	/* a thread of it */
	gen_block(fx.g[0], S, 0, 95, WIRE_BLOCK_ISSUE, 0xa0, DEV, 100, 4096, 1);
	gen_block(fx.g[1], 2 * S, 1, 0, WIRE_BLOCK_COMPLETE, 0xa0, DEV, 100, 4096, 1);
	/* its trace is written back by a worker */
	gen_dirty(fx.g[1], 3 * S, 1, 95, 90, 42, DEV, "trace");
	gen_block_pages(fx.g[0], 4 * S, 0, 6, 0xa0, DEV, 100, 4096, EVENT_PAGES_FILE, 42, 42, DEV);
	gen_block(fx.g[1], 5 * S, 1, 0, WIRE_BLOCK_COMPLETE, 0xa0, DEV, 100, 4096, 1);
	assert_int_equal(feed(&fx, 0, 6 * S), 0);
	/* the recorder itself writes back pages that another process dirtied */
	gen_dirty(fx.g[1], 6 * S, 1, 5, 5, 43, DEV, "file");
	gen_block_pages(fx.g[0], 7 * S, 0, 95, 0xa0, DEV, 100, 4096, EVENT_PAGES_FILE, 43, 43, DEV);
	gen_block(fx.g[1], 8 * S, 1, 0, WIRE_BLOCK_COMPLETE, 0xa0, DEV, 100, 4096, 1);
	assert_int_equal(feed(&fx, 0, 9 * S), 1);
}

UNIT_TEST(test_spike_is_measured_from_the_snapshot_or_from_birth)
{
	struct wire_snap snap = { .task = { .hdr = { .ts_ns = S, .hook = WIRE_TASK_SNAP },
					    .tid = 40, .pid = 40, .comm = "older" },
				  .rss_pages = { 10, 100 * 256, 0, 0 } };

	begin(&fx, "spike>500MiB");
	buf_add(&fx.snapshot, &snap, sizeof(snap));
	rss(&fx, S + 100, 0, 40, 1, 599);
	assert_int_equal(feed(&fx, 0, 2 * S), 0);
	rss(&fx, 2 * S - 200 * MS, 0, 40, 1, 601);
	assert_int_equal(feed(&fx, 0, 3 * S), 1);
	assert_non_null(strstr(fx.why, "process 40 (older)"));
	gen_new(fx.g[0], 4 * S, 0, 1, 80, 80, 1, "young");
	rss(&fx, 4 * S + 5, 0, 80, 1, 0);
	rss(&fx, 4 * S + 10, 0, 80, 1, 501);
	assert_int_equal(feed(&fx, 0, 5 * S), 1);
	assert_non_null(strstr(fx.why, "process 80 (young)"));
	/* another one of the same pid */
	gen_exit(fx.g[0], 5 * S, 0, 80, 80, 0, true, 0);
	rss(&fx, 5 * S + 20, 0, 80, 1, 1100);
	assert_int_equal(feed(&fx, 0, 6 * S), 0);
}

UNIT_TEST(test_waiting_for_a_cpu)
{
	begin(&fx, "runq>50ms");
	gen_rename(fx.g[0], 1, 0, 77, 70, "worker");
	gen_wakeup(fx.g[0], 1 * S, 0, 1, 77, 0);
	gen_switch(fx.g[1], 1 * S + 50 * MS, 1, 9, 77, 0);	/* just in time */
	gen_switch(fx.g[1], 2 * S, 1, 77, 9, WIRE_F_PREEMPT);
	assert_int_equal(feed(&fx, 0, 2 * S + 1), 0);
	gen_switch(fx.g[0], 2 * S + 51 * MS, 0, 0, 77, 0);	/* in the next slice, elsewhere */
	assert_int_equal(feed(&fx, 0, 3 * S), 1);
	assert_non_null(strstr(fx.why, "thread 77 (worker)"));
	/* sleeping is not a wait */
	gen_switch(fx.g[0], 3 * S, 0, 77, 0, 0);
	gen_switch(fx.g[0], 9 * S, 0, 0, 77, 0);
	assert_int_equal(feed(&fx, 0, 10 * S), 0);
	/* both records of a switch, for the thread that leaves and for the one that enters */
	gen_switch_more(fx.g[0], 11 * S, 0, 77, 9, WIRE_F_PREEMPT, 5, 0);
	gen_switch(fx.g[0], 11 * S + 60 * MS, 0, 9, 77, 0);
	assert_int_equal(feed(&fx, 0, 12 * S), 1);
	gen_switch(fx.g[0], 12 * S, 0, 77, 9, WIRE_F_PREEMPT);
	gen_switch_more(fx.g[0], 12 * S + 60 * MS, 0, 9, 77, 0, 5, 0);
	assert_int_equal(feed(&fx, 0, 13 * S), 1);
	/* a timer ends a sleep before it has begun: the thread keeps its CPU, and sleeps later */
	gen_wakeup(fx.g[0], 13 * S, 0, 77, 77, WIRE_F_IRQ);
	gen_switch(fx.g[0], 14 * S, 0, 77, 0, 0);
	gen_wakeup(fx.g[0], 15 * S - MS, 0, 0, 77, WIRE_F_IRQ);
	gen_switch(fx.g[0], 15 * S, 0, 0, 77, 0);
	assert_int_equal(feed(&fx, 0, 16 * S), 0);
}

/* A wait for a CPU that the report does not count does not fire a trigger either. */
UNIT_TEST(test_what_is_no_wait_for_a_cpu)
{
	begin(&fx, "runq>50ms");
	/* --only leaves most switches to thread 77 out */
	gen_wakeup(fx.g[0], 1 * S, 0, 9, 77, 0);
	gen_switch(fx.g[0], 20 * S, 0, 9, 77, WIRE_F_NEXT_OUT);
	/* the switch to thread 78 was hidden: it ran, and slept until 30 s */
	gen_wakeup(fx.g[0], 1 * S, 0, 9, 78, 0);
	gen_switch(fx.g[1], 2 * S, 1, 78, 0, 0);
	gen_switch(fx.g[1], 30 * S, 1, 0, 78, 0);
	/* woken again while it seems to wait: thread 79 ran unseen in between */
	gen_wakeup(fx.g[0], 1 * S, 0, 9, 79, 0);
	gen_wakeup(fx.g[0], 30 * S, 0, 9, 79, 0);
	gen_switch(fx.g[1], 31 * S, 1, 78, 79, 0);
	assert_int_equal(feed(&fx, 0, 40 * S), 0);
	/* a switch was lost in this slice, so thread 80 may have had a CPU */
	gen_wakeup(fx.g[0], 40 * S, 0, 9, 80, 0);
	fx.lost_hook = WIRE_SWITCH;
	assert_int_equal(feed(&fx, 1, 41 * S), 0);
	fx.lost_hook = 0;
	gen_switch(fx.g[1], 42 * S, 1, 79, 80, 0);
	assert_int_equal(feed(&fx, 0, 43 * S), 0);
}

/* Numbers of threads that have ended are used again. */
UNIT_TEST(test_waits_of_many_threads)
{
	begin(&fx, "runq>50ms");
	for (uint32_t tid = 1000; tid < 3000; tid++) {
		uint64_t at = tid * S;

		gen_wakeup(fx.g[0], at, 0, 9, tid, 0);
		gen_switch(fx.g[0], at + (tid % 2 ? 60 : 5) * MS, 0, 0, tid, 0);
		gen_raw(fx.g[0], &(struct wire_switch){ .hdr = { .ts_ns = at + 70 * MS, .tid = tid,
								  .hook = WIRE_SWITCH },
							 .prev_state = 0x80 /* dead */ },
			sizeof(struct wire_switch));
		assert_int_equal(feed(&fx, 0, at + S / 2), tid % 2);
	}
}

UNIT_TEST(test_slow_requests)
{
	begin(&fx, "io-latency>10ms");
	gen_new(fx.g[0], 1, 0, 1, 5, 5, 1, "writer");
	gen_block(fx.g[0], S, 0, 5, WIRE_BLOCK_INSERT, 0xa0, DEV, 100, 4096, 0);
	gen_block(fx.g[0], S + 9 * MS, 0, 5, WIRE_BLOCK_ISSUE, 0xa0, DEV, 100, 4096, 0);
	assert_int_equal(feed(&fx, 0, S + 10 * MS), 0);
	gen_block(fx.g[1], S + 11 * MS, 1, 0, WIRE_BLOCK_COMPLETE, 0xa0, DEV, 100, 4096, 0);
	assert_int_equal(feed(&fx, 0, 2 * S), 1);
	assert_non_null(strstr(fx.why, "11.0 ms on device 4000:0, submitted by thread 5 (writer)"));
	/* merged away, and its address used again: that is another request */
	gen_block(fx.g[0], 2 * S, 0, 5, WIRE_BLOCK_INSERT, 0xb0, DEV, 100, 4096, 0);
	gen_block(fx.g[0], 3 * S, 0, 5, WIRE_BLOCK_ISSUE, 0xb0, DEV, 500, 4096, 0);
	gen_block(fx.g[1], 3 * S + MS, 1, 0, WIRE_BLOCK_COMPLETE, 0xb0, DEV, 500, 4096, 0);
	assert_int_equal(feed(&fx, 0, 4 * S), 0);
}

/* It fires once, while the request is open. */
UNIT_TEST(test_a_request_that_hangs_is_slow)
{
	begin(&fx, "io-latency>10ms");
	gen_new(fx.g[0], 1, 0, 1, 5, 5, 1, "writer");
	gen_block(fx.g[0], S, 0, 5, WIRE_BLOCK_ISSUE, 0xa0, DEV, 100, 4096, 1);
	assert_int_equal(feed(&fx, 0, S + 5 * MS), 0);
	assert_int_equal(feed(&fx, 0, S + 12 * MS), 1);
	assert_non_null(strstr(fx.why, "open for 12.0 ms on device 4000:0, submitted by thread 5"));
	assert_int_equal(feed(&fx, 0, 2 * S), 0);
	gen_block(fx.g[1], 3 * S, 1, 0, WIRE_BLOCK_COMPLETE, 0xa0, DEV, 100, 4096, 1);
	assert_int_equal(feed(&fx, 0, 4 * S), 0);
}

/* The last completion of a write was missed, and an empty flush got its address. */
UNIT_TEST(test_a_flush_at_an_old_address_is_not_slow)
{
	begin(&fx, "io-latency>10ms");
	gen_block(fx.g[0], S, 0, 5, WIRE_BLOCK_START, 0xa0, DEV, 100, 4096, 1);
	gen_block(fx.g[0], S + 1, 0, 5, WIRE_BLOCK_INSERT, 0xa0, DEV, 100, 4096, 1);
	gen_block(fx.g[0], S + MS, 0, 5, WIRE_BLOCK_ISSUE, 0xa0, DEV, 100, 4096, 1);
	gen_block(fx.g[1], S + 862 * MS, 1, 6, WIRE_BLOCK_START, 0xa0, DEV, 0, 0, 1);
	gen_block(fx.g[1], S + 863 * MS, 1, 0, WIRE_BLOCK_COMPLETE, 0xa0, DEV, 0, 0, 1);
	gen_block(fx.g[1], S + 863 * MS + 1, 1, 0, WIRE_BLOCK_DONE, 0xa0, DEV, 0, 0, 1);
	/* the device's own flush, issued again */
	gen_block(fx.g[0], 2 * S, 0, 5, WIRE_BLOCK_ISSUE, 0xb0, DEV, UINT64_MAX, 0, 2);
	gen_block(fx.g[0], 3 * S, 0, 5, WIRE_BLOCK_ISSUE, 0xb0, DEV, UINT64_MAX, 0, 2);
	gen_block(fx.g[1], 3 * S + MS, 1, 0, WIRE_BLOCK_COMPLETE, 0xb0, DEV, UINT64_MAX, 0, 2);
	assert_int_equal(feed(&fx, 0, 4 * S), 0);
	/* one that is */
	gen_block(fx.g[0], 4 * S, 0, 1, WIRE_BLOCK_START, 0xa0, DEV, 100, 4096, 1);
	gen_block(fx.g[0], 4 * S + MS, 0, 1, WIRE_BLOCK_ISSUE, 0xa0, DEV, 100, 4096, 1);
	gen_block(fx.g[1], 4 * S + 20 * MS, 1, 0, WIRE_BLOCK_COMPLETE, 0xa0, DEV, 100, 4096, 1);
	gen_block(fx.g[1], 4 * S + 21 * MS, 1, 0, WIRE_BLOCK_DONE, 0xa0, DEV, 100, 4096, 1);
	assert_int_equal(feed(&fx, 0, 5 * S), 1);
	assert_non_null(strstr(fx.why, "20.0 ms on device 4000:0, submitted by thread 1"));
}

/* The end of the first request was lost, and all of the second one but its end. */
UNIT_TEST(test_a_request_is_not_slow_if_its_end_may_have_been_lost)
{
	begin(&fx, "io-latency>10ms");
	gen_block(fx.g[0], S, 0, 5, WIRE_BLOCK_INSERT, 0xa0, DEV, 100, 4096, 0);
	gen_block(fx.g[0], S + MS, 0, 5, WIRE_BLOCK_ISSUE, 0xa0, DEV, 100, 4096, 0);
	assert_int_equal(feed(&fx, 0, S + 9 * MS), 0);
	fx.lost_hook = WIRE_BLOCK_ISSUE;
	gen_block(fx.g[1], 3 * S, 1, 0, WIRE_BLOCK_COMPLETE, 0xa0, DEV, 100, 4096, 0);
	assert_int_equal(feed(&fx, 1, 4 * S), 0);
}

/* A request fires once: when it ends, or before, at the end of a slice. */
UNIT_TEST(test_slow_requests_of_programs)
{
	const char *const names[] = { "handle_get" };

	begin(&fx, "request:*get*>20ms");
	trigger_set_name_requests(fx.set, names, 1);
	gen_new(fx.g[0], 1, 0, 1, 5, 5, 1, "server");
	gen_new(fx.g[0], 1, 0, 5, 6, 5, 1, "worker");
	gen_span(fx.g[0], S, 0, 5, EVENT_SPAN_BEGIN, "get /a", 17);
	gen_span(fx.g[1], S, 1, 6, EVENT_SPAN_BEGIN, "put", 18);
	gen_span(fx.g[1], S + 5 * MS, 1, 6, EVENT_SPAN_ATTACH, NULL, 17);
	gen_span(fx.g[1], S + 20 * MS, 1, 6, EVENT_SPAN_END, NULL, 17);
	gen_span(fx.g[1], S + 90 * MS, 1, 6, EVENT_SPAN_END, NULL, 18);
	assert_int_equal(feed(&fx, 0, 2 * S), 0);
	gen_span(fx.g[0], 2 * S, 0, 5, EVENT_SPAN_BEGIN, "get /a", 19);
	gen_span(fx.g[1], 2 * S + 21 * MS, 1, 6, EVENT_SPAN_FAIL, NULL, 19);
	assert_int_equal(feed(&fx, 0, 3 * S), 1);
	assert_int_equal(fx.ts_ns, 2 * S + 21 * MS);
	assert_non_null(strstr(fx.why, ": a request get /a took 21.0 ms, begun by thread 5 (ser"));
	/* open at the end of a slice; a function, whose name the recorder knows by its number */
	gen_raw(fx.g[0], &(struct wire_span){ .hdr = { .ts_ns = 3 * S, .tid = 6,
						       .hook = WIRE_SPAN },
					      .action = EVENT_SPAN_BEGIN, .nr = 1 },
		sizeof(struct wire_span));
	assert_int_equal(feed(&fx, 0, 3 * S + 20 * MS), 0);
	assert_int_equal(feed(&fx, 0, 3 * S + 30 * MS), 1);
	assert_non_null(strstr(fx.why,
			       "handle_get() has been open for 30.0 ms, begun by thread 6"));
	gen_span(fx.g[1], 3 * S + 40 * MS, 1, 6, EVENT_SPAN_END, NULL, 0);
	assert_int_equal(feed(&fx, 0, 4 * S), 0);
	/* its end may have been lost */
	gen_span(fx.g[0], 4 * S, 0, 5, EVENT_SPAN_BEGIN, "get", 20);
	fx.lost_hook = WIRE_SPAN;
	assert_int_equal(feed(&fx, 1, 5 * S), 0);
	assert_int_equal(feed(&fx, 0, 6 * S), 0);
	/* it ends with its process */
	gen_span(fx.g[0], 6 * S, 0, 5, EVENT_SPAN_BEGIN, "get", 21);
	gen_exit(fx.g[0], 6 * S + 15 * MS, 0, 5, 5, 0, true, 0);
	assert_int_equal(feed(&fx, 0, 7 * S), 0);
}

UNIT_TEST(test_slow_write_back_names_its_owner)
{
	begin(&fx, "io-latency>10ms");
	gen_new(fx.g[0], 1, 0, 1, 5, 5, 1, "writer");
	gen_new(fx.g[0], 2, 0, 1, 6, 6, 2, "kworker/u4:1");
	gen_dirty(fx.g[1], S, 1, 5, 5, 42, DEV, "file");
	gen_block_pages(fx.g[0], 2 * S, 0, 6, 0xa0, DEV, 100, 4096, EVENT_PAGES_FILE, 42, 42, DEV);
	gen_block(fx.g[1], 3 * S, 1, 0, WIRE_BLOCK_COMPLETE, 0xa0, DEV, 100, 4096, 1);
	assert_int_equal(feed(&fx, 0, 4 * S), 1);
	assert_non_null(strstr(fx.why, "by thread 6 (kworker/u4:1), owned by process 5 (writer)"));
	/* a loss may hide who dirtied the inode since */
	assert_int_equal(feed(&fx, 1, 5 * S), 0);
	gen_block_pages(fx.g[0], 6 * S, 0, 6, 0xa0, DEV, 100, 4096, EVENT_PAGES_FILE, 42, 42, DEV);
	gen_block(fx.g[1], 7 * S, 1, 0, WIRE_BLOCK_COMPLETE, 0xa0, DEV, 100, 4096, 1);
	assert_int_equal(feed(&fx, 0, 8 * S), 1);
	assert_null(strstr(fx.why, "owned by"));
	/* one of other events does not */
	gen_dirty(fx.g[1], 9 * S, 1, 5, 5, 42, DEV, "file");
	fx.lost_hook = WIRE_SWITCH;
	assert_int_equal(feed(&fx, 1, 10 * S), 0);
	gen_block_pages(fx.g[0], 11 * S, 0, 6, 0xa0, DEV, 100, 4096, EVENT_PAGES_FILE, 42, 42, DEV);
	gen_block(fx.g[1], 12 * S, 1, 0, WIRE_BLOCK_COMPLETE, 0xa0, DEV, 100, 4096, 1);
	assert_int_equal(feed(&fx, 1, 13 * S), 1);
	assert_non_null(strstr(fx.why, "owned by process 5"));
}

UNIT_TEST(test_loss_and_exit)
{
	begin(&fx, "loss>5");
	assert_int_equal(feed(&fx, 5, S), 0);
	assert_int_equal(feed(&fx, 6, 2 * S), 1);
	assert_int_equal(fx.ts_ns, 2 * S);
	assert_int_equal(trigger_set_exit(fx.set, 3, 1), 0);
	assert_int_equal(fx.fired, 1);
	end(&fx);
	begin(&fx, "exit!=0");
	assert_int_equal(trigger_set_exit(fx.set, 3, 0), 0);
	assert_int_equal(fx.fired, 0);
	assert_int_equal(trigger_set_exit(fx.set, 4, 139), 0);
	assert_int_equal(fx.fired, 1);
	assert_non_null(strstr(fx.why, "status 139"));
	end(&fx);
	begin(&fx, "exit>128");
	assert_int_equal(trigger_set_exit(fx.set, 4, 128), 0);
	assert_int_equal(fx.fired, 0);
}

/* ---- marks ---- */

UNIT_TEST(test_lines_are_marks)
{
	static const char text[] = "build\n\ntest it\r\n";
	const struct trace_mark *rows;
	char longest[1000];
	struct marks m = { 0 };
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	m.fd = fds[0];
	assert_int_equal(marks_read(&m, 1, 10), 0);
	assert_int_equal(marks_rows(&m, &rows), 0);
	assert_int_equal(write(fds[1], text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(write(fds[1], "in p", 4), 4);
	assert_int_equal(marks_read(&m, 1, 20), 0);
	assert_int_equal(marks_rows(&m, &rows), 2);
	assert_string_equal(rows[0].text, "build");
	assert_string_equal(rows[1].text, "test it");
	assert_int_equal(rows[1].ts_ns, 20);
	assert_int_equal(rows[1].origin, TRACE_MARK_FD);
	marks_clear(&m);
	memset(longest, 'x', sizeof(longest));
	assert_int_equal(write(fds[1], "ieces\n", 6), 6);
	assert_int_equal(write(fds[1], longest, sizeof(longest)), (ssize_t)sizeof(longest));
	assert_int_equal(write(fds[1], "\nlast", 5), 5);
	close(fds[1]);
	assert_int_equal(marks_read(&m, 1, 30), 0);
	assert_int_equal(marks_read(&m, 1, 40), 0);
	assert_int_equal(marks_rows(&m, &rows), 3);
	assert_string_equal(rows[0].text, "in pieces");
	assert_int_equal(strlen(rows[1].text), TRACE_MARK_TEXT_MAX);
	assert_string_equal(rows[2].text, "last");
	assert_int_equal(m.fd, -1);
	marks_done(&m);
	close(fds[0]);
}

UNIT_TEST(test_a_flood_of_marks_is_cut)
{
	const struct trace_mark *rows;
	struct marks m = { .fd = -1 };

	for (int i = 0; i < MARKS_MAX + 7; i++)
		assert_int_equal(marks_add(&m, 5, TRACE_MARK_COMMAND, "x"), 0);
	assert_int_equal(marks_rows(&m, &rows), MARKS_MAX);
	assert_int_equal(m.dropped, 7);
	marks_done(&m);
}

UNIT_TESTS_END(end, fx)
