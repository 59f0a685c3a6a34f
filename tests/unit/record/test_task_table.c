/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Task identity: tids and pids become utids and upids, through the whole writer and reader. */
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"

static struct made_trace fx;

static void begin(struct made_trace *f, const struct gen_config *more)
{
	struct gen_config c = more ? *more : (struct gen_config){ 0 };

	if (!c.from_ns)
		c.from_ns = 100 * MS;
	made_begin(f, &c);
}

/* The utid of the i-th event of a kind. */
static struct event event_at(struct made_trace *f, unsigned int kind, size_t i)
{
	struct event_cursor *c;
	const struct event *ev = NULL;
	struct event copy;

	assert_int_equal(event_cursor_open(&c, f->t, 1u << kind, 0, UINT64_MAX, NULL), 0);
	do
		assert_int_equal(event_cursor_next(c, &ev, NULL), 1);
	while (i--);
	copy = *ev;
	event_cursor_close(c);
	return copy;
}

static const struct trace_process *process_of(struct made_trace *f, uint32_t utid)
{
	const struct trace_thread *h = trace_thread_find(f->t, utid);
	const struct trace_process *p;

	assert_non_null(h);
	p = trace_process_find(f->t, h->upid);
	assert_non_null(p);
	return p;
}

static const struct trace_process *process_named(struct made_trace *f, const char *comm)
{
	const struct trace_process *p, *found = NULL;
	size_t cnt, i;

	p = trace_processes(f->t, &cnt);
	for (i = 0; i < cnt; i++) {
		if (strcmp(p[i].comm, comm))
			continue;
		assert_null(found);
		found = &p[i];
	}
	assert_non_null(found);
	return found;
}

/*
 * A state that the snapshot read after an event of the thread is not its state at the start. Rows
 * of later blocks have none of threads with events, and leave that of the first one in place.
 */
UNIT_TEST(test_snapshot_state_holds_until_the_first_event)
{
	const struct trace_thread *h;
	size_t cnt, i;

	begin(&fx, NULL);
	for (i = 0; i < 7; i++)		/* start states 3, 0, 1, 2, 3, 0, 1 */
		gen_snap(fx.g, 101 * MS, 0, 102 + i, 102 + i, 1, "old");
	gen_wakeup(fx.g, 101 * MS + 500, 0, 0, 104, 0);
	gen_switch(fx.g, 101 * MS + 1000, 0, 102, 108, 0);
	gen_switch(fx.g, 101 * MS + 1001, 0, 108, 105, 0);
	gen_wakeup(fx.g, 102 * MS, 0, 0, 106, 0);
	gen_slice(fx.g, 200 * MS);
	gen_wakeup(fx.g, 250 * MS, 0, 0, 105, 0);
	gen_wakeup(fx.g, 250 * MS, 0, 0, 106, 0);
	made_read(&fx, 300 * MS);
	h = trace_threads(fx.t, &cnt);
	assert_int_equal(cnt, 7);
	for (i = 0; i < cnt; i++)
		assert_int_equal(h[i].start_state, ((const uint32_t[]){ 0, 0, 0, 2, 3, 0, 0 })[i]);
}

UNIT_TEST(test_snapshot_gives_processes_threads_and_baselines)
{
	const struct trace_process *p;
	const struct trace_thread *h;
	const struct trace_rss *r;
	size_t cnt;

	begin(&fx, NULL);
	/* The child precedes its parent, the thread its leader: a snapshot promises no order. */
	gen_snap(fx.g, 101 * MS, 0, 201, 200, 100, "worker");
	gen_snap(fx.g, 101 * MS, 0, 200, 200, 100, "child");
	gen_snap(fx.g, 101 * MS, 0, 100, 100, 1, "parent");
	made_read(&fx, 200 * MS);
	trace_processes(fx.t, &cnt);
	assert_int_equal(cnt, 2);
	h = trace_threads(fx.t, &cnt);
	assert_int_equal(cnt, 3);
	p = process_named(&fx, "child");
	assert_int_equal(p->pid, 200);
	assert_int_equal(p->start_ns, 201);
	assert_int_equal(p->ppid, 100);
	assert_int_equal(p->parent_upid, process_named(&fx, "parent")->upid);
	assert_true(p->flags & TRACE_TASK_AT_START);
	assert_int_equal(process_named(&fx, "parent")->parent_upid, EVENT_ID_UNKNOWN);
	assert_int_equal(h[0].sum_exec_start_ns, 5000);
	assert_int_equal(h[0].sum_exec_end_ns, 0);
	assert_int_equal(h[0].start_state, 2);
	assert_string_equal(h[0].comm, "worker");
	r = trace_rss_baselines(fx.t, &cnt);
	assert_int_equal(cnt, 2);
	assert_int_equal(r[0].bytes[1], 100 * 4096);
	assert_int_equal(r[0].total_vm_bytes, 1000 * 4096);
}

UNIT_TEST(test_second_snapshot_is_the_end_not_another_thread)
{
	static const int64_t rss[4] = { 1, 2, 3, 4 };
	const struct trace_thread *h;
	size_t cnt;

	begin(&fx, NULL);
	gen_snap(fx.g, 101 * MS, 0, 100, 100, 1, "old");
	gen_slice(fx.g, 200 * MS);
	gen_new(fx.g, 201 * MS, 0, 100, 300, 300, 100, "young");
	gen_snap_full(fx.g, 250 * MS, 100, 100, 1, 101, "old", rss, 7, 9999, 0, false);
	gen_snap_full(fx.g, 250 * MS, 300, 300, 100, 201 * MS - 10, "young", rss, 7, 1234, 0,
		      false);
	made_read(&fx, 300 * MS);
	h = trace_threads(fx.t, &cnt);
	assert_int_equal(cnt, 2);
	assert_int_equal(h[0].sum_exec_start_ns, 5000);
	assert_int_equal(h[0].sum_exec_end_ns, 9999);
	assert_int_equal(h[1].sum_exec_start_ns, 0);
	assert_int_equal(h[1].sum_exec_end_ns, 1234);
	/* one born while recording has no baseline: its counters started from nothing */
	trace_rss_baselines(fx.t, &cnt);
	assert_int_equal(cnt, 1);
	assert_int_equal(trace_rss_snaps(fx.t, &cnt)[2].bytes[2], 3 * 4096);
	assert_int_equal(cnt, 3);
}

UNIT_TEST(test_reused_pid_is_another_process)
{
	struct event a, b, c;

	begin(&fx, NULL);
	gen_snap(fx.g, 101 * MS, 0, 100, 100, 1, "first");
	gen_kfree(fx.g, 110 * MS, 0, 100, 0x1000);
	gen_exit(fx.g, 120 * MS, 0, 100, 100, 0x0300, true, 777);
	gen_switch(fx.g, 121 * MS, 0, 100, 0, 0);	/* its last switch follows its exit */
	gen_new(fx.g, 130 * MS, 1, 1, 100, 100, 1, "second");
	gen_kfree(fx.g, 140 * MS, 0, 100, 0x1000);
	gen_rss(fx.g, 115 * MS, 0, 1, 100, 1, 5);
	gen_rss(fx.g, 145 * MS, 0, 1, 100, 1, 6);
	made_read(&fx, 200 * MS);
	a = event_at(&fx, EVENT_SLAB_FREE, 0);
	b = event_at(&fx, EVENT_SLAB_FREE, 1);
	c = event_at(&fx, EVENT_SWITCH, 0);
	assert_int_not_equal(a.utid, b.utid);
	assert_int_equal(a.utid, c.utid);
	assert_string_equal(process_of(&fx, a.utid)->comm, "first");
	assert_string_equal(process_of(&fx, b.utid)->comm, "second");
	assert_int_equal(process_of(&fx, a.utid)->end_ns, 120 * MS);
	assert_int_equal(process_of(&fx, a.utid)->exit_code, 0x0300);
	assert_int_equal(process_of(&fx, b.utid)->end_ns, 0);
	assert_int_equal(event_at(&fx, EVENT_RSS, 0).v[EV_RSS_UPID], process_of(&fx, a.utid)->upid);
	assert_int_equal(event_at(&fx, EVENT_RSS, 1).v[EV_RSS_UPID], process_of(&fx, b.utid)->upid);
	assert_int_equal(trace_thread_find(fx.t, a.utid)->sum_exec_end_ns, 777);
}

UNIT_TEST(test_pid_reused_many_times_in_one_slice)
{
	const struct trace_process *p;
	size_t cnt, i;
	char comm[16];

	begin(&fx, NULL);
	for (i = 0; i < 500; i++) {
		snprintf(comm, sizeof(comm), "life-%zu", i);
		gen_new(fx.g, 101 * MS + i * 1000, 0, 1, 55, 55, 1, comm);
		gen_kmalloc(fx.g, 101 * MS + i * 1000 + 500, 0, 55, 64 + i, 32, 1, 0);
		if (i % 3)	/* some exits are lost */
			gen_exit(fx.g, 101 * MS + i * 1000 + 900, 0, 55, 55, 0, true, 1);
	}
	made_read(&fx, 200 * MS);
	p = trace_processes(fx.t, &cnt);
	for (i = 0; i + 1 < cnt; i++)
		assert_true(p[i].pid != 55 || p[i].end_ns);
	for (i = 0; i < 500; i += 7) {
		snprintf(comm, sizeof(comm), "life-%zu", i);
		assert_string_equal(process_of(&fx, event_at(&fx, EVENT_SLAB_ALLOC, i).utid)->comm,
				    comm);
	}
}

UNIT_TEST(test_lost_fork_is_filled_in_later)
{
	struct event a, b;

	begin(&fx, NULL);
	gen_kfree(fx.g, 110 * MS, 0, 70, 0x1000);	/* never announced */
	gen_kfree(fx.g, 111 * MS, 0, 71, 0x1000);
	gen_slice(fx.g, 200 * MS);
	gen_exec(fx.g, 210 * MS, 0, 70, 70, 0, "found", "/bin/found", "found\0-v", 8);
	gen_kfree(fx.g, 220 * MS, 0, 70, 0x1000);
	made_read(&fx, 300 * MS);
	a = event_at(&fx, EVENT_SLAB_FREE, 0);
	b = event_at(&fx, EVENT_SLAB_FREE, 2);
	assert_int_equal(a.utid, b.utid);
	assert_string_equal(process_of(&fx, a.utid)->comm, "found");
	assert_string_equal(process_of(&fx, a.utid)->exe, "/bin/found");
	assert_int_equal(process_of(&fx, a.utid)->pid, 70);
	b = event_at(&fx, EVENT_SLAB_FREE, 1);
	assert_int_equal(trace_thread_find(fx.t, b.utid)->upid, EVENT_ID_UNKNOWN);
	assert_int_equal(trace_thread_find(fx.t, b.utid)->tid, 71);
	assert_string_equal(trace_thread_find(fx.t, b.utid)->comm, "");
}

UNIT_TEST(test_end_snapshot_names_a_lost_fork)
{
	static const int64_t rss[4] = { 1, 2, 3, 4 };

	begin(&fx, NULL);
	gen_kfree(fx.g, 110 * MS, 0, 70, 0x1000);
	gen_slice(fx.g, 200 * MS);
	gen_snap_full(fx.g, 250 * MS, 70, 70, 1, 105 * MS, "named", rss, 7, 50, 0, false);
	made_read(&fx, 300 * MS);
	assert_string_equal(process_of(&fx, event_at(&fx, EVENT_SLAB_FREE, 0).utid)->comm, "named");
}

UNIT_TEST(test_events_before_a_fork_are_somebody_elses)
{
	begin(&fx, NULL);
	gen_kfree(fx.g, 110 * MS, 0, 80, 0x1000);	/* the former owner of tid 80, unknown */
	gen_new(fx.g, 120 * MS, 0, 1, 80, 80, 1, "later");
	gen_kfree(fx.g, 130 * MS, 0, 80, 0x1000);
	made_read(&fx, 200 * MS);
	assert_int_not_equal(event_at(&fx, EVENT_SLAB_FREE, 0).utid,
			     event_at(&fx, EVENT_SLAB_FREE, 1).utid);
	assert_string_equal(process_of(&fx, event_at(&fx, EVENT_SLAB_FREE, 1).utid)->comm, "later");
}

/*
 * The leader exits and leaves its CPU for the last time; its last switch has the tid of the caller
 * if the tids changed before (late). The caller keeps its utid under the leader's tid.
 */
static void exec_by_a_thread(bool late)
{
	struct wire_switch left = {
		.hdr = { .ts_ns = 118 * MS, .hook = WIRE_SWITCH, .cpu = 1,
			 .tid = late ? 101 : 100 },
		.prev_state = 0x80,
	};
	struct made_trace f;
	struct event before, after, last;
	const struct trace_thread *h;
	size_t cnt;

	begin(&f, NULL);
	gen_snap(f.g, 101 * MS, 0, 100, 100, 1, "multi");
	gen_snap(f.g, 101 * MS, 0, 101, 100, 1, "multi-2");
	gen_switch(f.g, 102 * MS, 1, 0, 100, 0);
	gen_kfree(f.g, 110 * MS, 0, 101, 0x10);
	gen_exit(f.g, 117 * MS, 1, 100, 100, 9, false, 5);
	gen_raw(f.g, &left, sizeof(left));
	gen_kfree(f.g, 119 * MS, 0, 100, 0x10);
	gen_exec(f.g, 120 * MS, 0, 100, 100, 101, "fresh", "/bin/fresh", "fresh", 6);
	gen_slice(f.g, 200 * MS);
	gen_exit(f.g, 210 * MS, 0, 100, 100, 0x0700, true, 99);
	made_read(&f, 300 * MS);
	before = event_at(&f, EVENT_SLAB_FREE, 0);
	after = event_at(&f, EVENT_SLAB_FREE, 1);
	last = event_at(&f, EVENT_SWITCH, 1);
	assert_int_equal(before.utid, after.utid);
	assert_int_not_equal(last.utid, after.utid);
	assert_int_equal(event_at(&f, EVENT_SWITCH, 0).utid, EVENT_ID_IDLE);
	assert_int_equal(trace_thread_find(f.t, last.utid)->tid, 100);
	assert_int_equal(trace_thread_find(f.t, last.utid)->end_ns, 117 * MS);
	h = trace_thread_find(f.t, after.utid);
	assert_int_equal(h->tid, 100);
	assert_int_equal(h->end_ns, 210 * MS);
	assert_int_equal(h->sum_exec_end_ns, 99);
	assert_string_equal(process_of(&f, after.utid)->comm, "fresh");
	assert_int_equal(process_of(&f, after.utid)->exit_code, 0x0700);
	trace_threads(f.t, &cnt);
	assert_int_equal(cnt, 2);
	trace_processes(f.t, &cnt);
	assert_int_equal(cnt, 1);
	made_close(&f);
}

UNIT_TEST(test_exec_by_a_thread_takes_the_leaders_place)
{
	exec_by_a_thread(false);
	exec_by_a_thread(true);
}

UNIT_TEST(test_names_change_and_the_last_one_stays)
{
	const struct trace_task_event *te;
	size_t cnt;

	begin(&fx, NULL);
	gen_snap(fx.g, 101 * MS, 0, 100, 100, 1, "a");
	gen_new(fx.g, 102 * MS, 0, 100, 105, 100, 1, "a");
	gen_rename(fx.g, 103 * MS, 0, 105, 100, "thread-name");
	gen_slice(fx.g, 200 * MS);
	gen_rename(fx.g, 203 * MS, 0, 100, 100, "main-name");
	gen_cgroup(fx.g, 204 * MS, 0, 100, 100, 77);
	made_read(&fx, 300 * MS);
	assert_string_equal(process_named(&fx, "main-name")->comm, "main-name");
	assert_int_equal(process_named(&fx, "main-name")->cgroup_id, 77);
	assert_string_equal(trace_name_find(fx.t, TRACE_NAME_CGROUP, 77)->name, "/group-77");
	te = trace_task_events(fx.t, &cnt);
	assert_int_equal(cnt, 5);
	assert_int_equal(te[0].type, TRACE_TASK_SNAP);
	assert_int_equal(te[1].type, TRACE_TASK_NEW);
	assert_int_equal(te[2].type, TRACE_TASK_RENAME);
	assert_string_equal(te[2].comm, "thread-name");
	assert_string_equal(trace_thread_find(fx.t, te[2].utid)->comm, "thread-name");
	assert_int_equal(te[2].upid, te[3].upid);
	assert_int_equal(te[4].type, TRACE_TASK_CGROUP);
	assert_int_equal(te[4].cgroup_id, 77);
}

static void add_facts(struct made_trace *f, uint64_t ts, uint8_t policy, uint8_t nice120,
		      uint64_t cpu_mask)
{
	struct wire_sched_facts r = {
		.hdr = { .ts_ns = ts, .hook = WIRE_SCHED_FACTS, .tid = 105 }, .pid = 100,
		.policy = policy, .static_prio = nice120,
		.allowed_cnt = (uint32_t)__builtin_popcountll(cpu_mask), .cpu_mask = cpu_mask,
	};

	gen_raw(f->g, &r, sizeof(r));
}

UNIT_TEST(test_scheduling_facts_have_a_row_when_they_change)
{
	const struct trace_task_event *te;
	const struct trace_sched *last;
	size_t cnt;

	begin(&fx, NULL);
	gen_snap(fx.g, 101 * MS, 0, 100, 100, 1, "a");
	gen_new(fx.g, 102 * MS, 0, 100, 105, 100, 1, "b");
	add_facts(&fx, 103 * MS, 0, 120, 3);
	add_facts(&fx, 104 * MS, 0, 120, 3);	/* the same: no row */
	add_facts(&fx, 105 * MS, 0, 120, 2);
	gen_slice(fx.g, 200 * MS);
	add_facts(&fx, 203 * MS, 0, 120, 2);
	add_facts(&fx, 204 * MS, 3, 130, 2);
	gen_rename(fx.g, 205 * MS, 0, 105, 100, "c");
	made_read(&fx, 300 * MS);
	te = trace_task_events(fx.t, &cnt);
	assert_int_equal(cnt, 6);
	assert_int_equal(te[1].sched.policy1, 0);	/* the record of its creation has none */
	for (size_t i = 2; i < 5; i++) {
		assert_int_equal(te[i].type, TRACE_TASK_SCHED);
		assert_string_equal(te[i].comm, "b");
	}
	assert_int_equal(te[2].ts_ns, 103 * MS);
	assert_int_equal(te[2].sched.cpus, 3);
	assert_int_equal(te[3].ts_ns, 105 * MS);
	assert_int_equal(te[3].sched.cpu_cnt, 1);
	assert_int_equal(te[4].ts_ns, 204 * MS);
	assert_int_equal(te[5].type, TRACE_TASK_RENAME);
	assert_memory_equal(&te[5].sched, &te[4].sched, sizeof(te[4].sched));
	last = &trace_thread_find(fx.t, te[4].utid)->sched;
	assert_memory_equal(last, &te[4].sched, sizeof(*last));
	assert_int_equal(last->policy1, 4);
	assert_int_equal(last->static_prio, 130);
	assert_int_equal(trace_task_event_cnt(fx.t, 0, UINT64_MAX), 2);	/* new, rename */
}

UNIT_TEST(test_workload_reaches_descendants)
{
	begin(&fx, NULL);
	gen_snap(fx.g, 101 * MS, 0, 50, 50, 1, "bystander");
	gen_snap(fx.g, 101 * MS, 0, 62, 62, 61, "grandchild");
	gen_snap(fx.g, 101 * MS, 0, 61, 61, 60, "child");
	gen_snap(fx.g, 101 * MS, 0, 60, 60, 50, "target");
	block_writer_add_workload(gen_block_writer(fx.g), 60);	/* before its record */
	gen_slice(fx.g, 200 * MS);
	gen_new(fx.g, 201 * MS, 0, 62, 63, 63, 62, "born-later");
	gen_new(fx.g, 202 * MS, 0, 62, 64, 62, 62, "a-thread");
	/* forked with CLONE_PARENT: the workload's all the same */
	gen_new(fx.g, 203 * MS, 0, 62, 65, 65, 50, "adopted");
	gen_new(fx.g, 204 * MS, 0, 50, 51, 51, 50, "other");
	gen_slice(fx.g, 300 * MS);
	block_writer_add_workload(gen_block_writer(fx.g), 51);	/* after */
	made_read(&fx, 400 * MS);
	assert_false(process_named(&fx, "bystander")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&fx, "target")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&fx, "child")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&fx, "grandchild")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&fx, "born-later")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&fx, "adopted")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&fx, "other")->flags & TRACE_TASK_WORKLOAD);
	assert_int_equal(process_named(&fx, "adopted")->parent_upid,
			 process_named(&fx, "bystander")->upid);
}

UNIT_TEST(test_workload_pid_waits_for_its_new_owner)
{
	begin(&fx, NULL);
	gen_snap(fx.g, 101 * MS, 0, 60, 60, 1, "dead");
	gen_exit(fx.g, 110 * MS, 0, 60, 60, 0, true, 1);
	gen_slice(fx.g, 200 * MS);
	block_writer_add_workload(gen_block_writer(fx.g), 60);
	gen_slice(fx.g, 300 * MS);	/* its fork is not read yet */
	gen_new(fx.g, 301 * MS, 0, 1, 60, 60, 1, "command");
	gen_exit(fx.g, 302 * MS, 0, 60, 60, 0, true, 1);
	made_read(&fx, 400 * MS);
	assert_false(process_named(&fx, "dead")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&fx, "command")->flags & TRACE_TASK_WORKLOAD);
}

static void run_cmdlines(struct made_trace *f, bool all)
{
	begin(f, &(struct gen_config){ .all_cmdlines = all, .recorder_pid = 90 });
	block_writer_add_workload(gen_block_writer(f->g), 60);
	block_writer_set_cmdline(gen_block_writer(f->g), 50, "secret\0--password=x\0", 20);
	gen_snap(f->g, 101 * MS, 0, 50, 50, 1, "private");
	gen_snap(f->g, 101 * MS, 0, 60, 60, 1, "mine");
	gen_snap(f->g, 101 * MS, 0, 90, 90, 1, "recorder");
	gen_snap(f->g, 101 * MS, 0, 91, 90, 1, "recorder-2");
	gen_exec(f->g, 102 * MS, 0, 60, 60, 0, "mine", "/bin/mine", "mine\0-a\0two words", 18);
	gen_exec(f->g, 103 * MS, 0, 50, 50, 0, "private", "/bin/private", "private\0--key", 14);
	gen_new(f->g, 104 * MS, 0, 60, 61, 61, 60, "mine");
	made_read(f, 200 * MS);
}

UNIT_TEST(test_cmdlines_of_others_are_not_kept)
{
	const struct trace_process *p;
	size_t cnt, i;

	run_cmdlines(&fx, false);
	assert_string_equal(process_named(&fx, "private")->cmdline, "");
	assert_string_equal(process_named(&fx, "private")->exe, "/bin/private");
	p = trace_processes(fx.t, &cnt);
	for (i = 0; i < cnt; i++) {
		if (p[i].pid == 60 || p[i].pid == 61) {
			assert_string_equal(p[i].cmdline, "mine -a two words");
			assert_string_equal(p[i].exe, "/bin/mine");
		}
		assert_int_equal((p[i].flags & TRACE_TASK_RECORDER) != 0, p[i].pid == 90);
	}
	assert_true(trace_thread_find(fx.t, p[2].upid + 1)->flags & TRACE_TASK_RECORDER);
}

UNIT_TEST(test_cmdlines_of_all_when_asked_for)
{
	run_cmdlines(&fx, true);
	assert_string_equal(process_named(&fx, "private")->cmdline, "private --key");
}

/* group_code: of the last thread's record; 0: no thread made the others exit */
static uint32_t exit_code_of(uint32_t group_code)
{
	struct made_trace f;
	uint32_t code;

	begin(&f, NULL);
	gen_snap(f.g, 101 * MS, 0, 60, 60, 1, "p");
	gen_snap(f.g, 101 * MS, 0, 61, 60, 1, "p-2");
	gen_exit(f.g, 102 * MS, 0, 60, 60, 0x0100, false, 1);
	gen_slice(f.g, 200 * MS);
	gen_exit_all(f.g, 202 * MS, 0, 61, 60, 0x0900, true, 1, group_code);
	made_read(&f, 300 * MS);
	assert_int_equal(process_named(&f, "p")->end_ns, 202 * MS);
	code = process_named(&f, "p")->exit_code;
	made_close(&f);
	return code;
}

UNIT_TEST(test_exit_code_is_what_wait_returns)
{
	assert_int_equal(exit_code_of(0), 0x0100);		/* the leader's */
	assert_int_equal(exit_code_of(0x0300 + 1), 0x0300);	/* exit(3) by the other thread */
	assert_int_equal(exit_code_of(0x0009 + 1), 0x0009);
	assert_int_equal(exit_code_of(0 + 1), 0);
}

/*
 * Memory in use follows the number of live tasks, and a much later block needs nothing from
 * before.
 */
UNIT_TEST(test_every_block_names_those_it_refers_to)
{
	size_t cnt, i;

	begin(&fx, &(struct gen_config){ .file_bytes = 1 });
	gen_snap(fx.g, 101 * MS, 0, 60, 60, 1, "old-timer");
	for (i = 0; i < 40; i++) {
		uint32_t tid = 1000 + (uint32_t)i;

		gen_new(fx.g, (101 + i * 1000) * MS, 0, 60, tid, tid, 60, "brief");
		gen_exit(fx.g, (102 + i * 1000) * MS, 0, tid, tid, 0, true, 1);
		gen_rss(fx.g, (103 + i * 1000) * MS, 0, 60, 60, 1, (int64_t)i);
		gen_slice(fx.g, (200 + i * 1000) * MS);
	}
	gen_kfree(fx.g, 40100 * MS, 0, 60, 0x10);
	made_read(&fx, 40200 * MS);
	trace_close(fx.t);
	/* removes all files except the last one, as --keep does */
	for (i = 0; i < 40; i++)
		assert_int_equal(remove(file_in(fx.path, "chunk-%06zu.ebr", i)), 0);
	assert_int_equal(trace_open(&fx.t, fx.path, NULL), 0);
	trace_blocks(fx.t, &cnt);
	assert_int_equal(cnt, 1);
	assert_string_equal(process_of(&fx, event_at(&fx, EVENT_SLAB_FREE, 0).utid)->comm,
			    "old-timer");
	trace_processes(fx.t, &cnt);
	assert_int_equal(cnt, 1);
	assert_int_equal(trace_rss_baselines(fx.t, &cnt)[0].bytes[1], 39 * 4096);
	assert_int_equal(cnt, 1);
}

UNIT_TESTS_END(made_close, fx)
