/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Task identity: tids and pids become utids and upids, through the whole writer and reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "trace/trace.h"
#include "tests/unit/gen/gen_trace.h"

#define MS 1000000ull

struct fixture {
	char dir[64], path[80];
	struct gen *g;
	struct trace *t;
};

static void begin(struct fixture *f, const struct gen_config *more)
{
	struct gen_config c = more ? *more : (struct gen_config){ 0 };

	memset(f, 0, sizeof(*f));
	gen_temp_dir(f->dir);
	snprintf(f->path, sizeof(f->path), "%s/t", f->dir);
	if (!c.from_ns)
		c.from_ns = 100 * MS;
	f->g = gen_open(f->path, &c);
}

static void read_back(struct fixture *f)
{
	struct err e = { 0 };
	size_t cnt;

	gen_finish(f->g);
	f->g = NULL;
	assert_int_equal(trace_open(&f->t, f->path, &e), 0);
	trace_damages(f->t, &cnt);
	assert_int_equal(cnt, 0);
}

static void end(struct fixture *f)
{
	trace_close(f->t);
	gen_remove_dir(f->dir);
}

/* The utid of the i-th event of a kind. */
static struct event event_at(struct fixture *f, unsigned int kind, size_t i)
{
	struct event_cursor *c;
	const struct event *ev = NULL;
	struct err e = { 0 };
	struct event copy;

	assert_int_equal(event_cursor_open(&c, f->t, 1u << kind, 0, UINT64_MAX, &e), 0);
	do
		assert_int_equal(event_cursor_next(c, &ev, &e), 1);
	while (i--);
	copy = *ev;
	event_cursor_close(c);
	return copy;
}

static const struct trace_process *process_of(struct fixture *f, uint32_t utid)
{
	const struct trace_thread *h = trace_thread_find(f->t, utid);
	const struct trace_process *p;

	assert_non_null(h);
	p = trace_process_find(f->t, h->upid);
	assert_non_null(p);
	return p;
}

static const struct trace_process *process_named(struct fixture *f, const char *comm)
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
static void test_snapshot_state_holds_until_the_first_event(void **state)
{
	struct fixture f;
	const struct trace_thread *h;
	size_t cnt, i;

	begin(&f, NULL);
	for (i = 0; i < 7; i++)		/* start states 3, 0, 1, 2, 3, 0, 1 */
		gen_snap(f.g, 101 * MS, 0, 102 + i, 102 + i, 1, "old");
	gen_wakeup(f.g, 101 * MS + 500, 0, 0, 104, 0);
	gen_switch(f.g, 101 * MS + 1000, 0, 102, 108, 0);
	gen_switch(f.g, 101 * MS + 1001, 0, 108, 105, 0);
	gen_wakeup(f.g, 102 * MS, 0, 0, 106, 0);
	gen_slice(f.g, 200 * MS);
	gen_wakeup(f.g, 250 * MS, 0, 0, 105, 0);
	gen_wakeup(f.g, 250 * MS, 0, 0, 106, 0);
	gen_slice(f.g, 300 * MS);
	read_back(&f);
	h = trace_threads(f.t, &cnt);
	assert_int_equal(cnt, 7);
	for (i = 0; i < cnt; i++)
		assert_int_equal(h[i].start_state, ((const uint32_t[]){ 0, 0, 0, 2, 3, 0, 0 })[i]);
	end(&f);
}

static void test_snapshot_gives_processes_threads_and_baselines(void **state)
{
	struct fixture f;
	const struct trace_process *p;
	const struct trace_thread *h;
	const struct trace_rss *r;
	size_t cnt;

	begin(&f, NULL);
	/* The child precedes its parent, the thread its leader: a snapshot promises no order. */
	gen_snap(f.g, 101 * MS, 0, 201, 200, 100, "worker");
	gen_snap(f.g, 101 * MS, 0, 200, 200, 100, "child");
	gen_snap(f.g, 101 * MS, 0, 100, 100, 1, "parent");
	gen_slice(f.g, 200 * MS);
	read_back(&f);
	trace_processes(f.t, &cnt);
	assert_int_equal(cnt, 2);
	h = trace_threads(f.t, &cnt);
	assert_int_equal(cnt, 3);
	p = process_named(&f, "child");
	assert_int_equal(p->pid, 200);
	assert_int_equal(p->start_ns, 201);
	assert_int_equal(p->ppid, 100);
	assert_int_equal(p->parent_upid, process_named(&f, "parent")->upid);
	assert_true(p->flags & TRACE_TASK_AT_START);
	assert_int_equal(process_named(&f, "parent")->parent_upid, EVENT_ID_UNKNOWN);
	assert_int_equal(h[0].sum_exec_start_ns, 5000);
	assert_int_equal(h[0].sum_exec_end_ns, 0);
	assert_int_equal(h[0].start_state, 2);
	assert_string_equal(h[0].comm, "worker");
	r = trace_rss_baselines(f.t, &cnt);
	assert_int_equal(cnt, 2);
	assert_int_equal(r[0].bytes[1], 100 * 4096);
	assert_int_equal(r[0].total_vm_bytes, 1000 * 4096);
	end(&f);
}

static void test_second_snapshot_is_the_end_not_another_thread(void **state)
{
	static const int64_t rss[4] = { 1, 2, 3, 4 };
	struct fixture f;
	const struct trace_thread *h;
	size_t cnt;

	begin(&f, NULL);
	gen_snap(f.g, 101 * MS, 0, 100, 100, 1, "old");
	gen_slice(f.g, 200 * MS);
	gen_new(f.g, 201 * MS, 0, 100, 300, 300, 100, "young");
	gen_snap_full(f.g, 250 * MS, 100, 100, 1, 101, "old", rss, 7, 9999, 0, false);
	gen_snap_full(f.g, 250 * MS, 300, 300, 100, 201 * MS - 10, "young", rss, 7, 1234, 0, false);
	gen_slice(f.g, 300 * MS);
	read_back(&f);
	h = trace_threads(f.t, &cnt);
	assert_int_equal(cnt, 2);
	assert_int_equal(h[0].sum_exec_start_ns, 5000);
	assert_int_equal(h[0].sum_exec_end_ns, 9999);
	assert_int_equal(h[1].sum_exec_start_ns, 0);
	assert_int_equal(h[1].sum_exec_end_ns, 1234);
	/* one born while recording has no baseline: its counters started from nothing */
	trace_rss_baselines(f.t, &cnt);
	assert_int_equal(cnt, 1);
	assert_int_equal(trace_rss_snaps(f.t, &cnt)[2].bytes[2], 3 * 4096);
	assert_int_equal(cnt, 3);
	end(&f);
}

static void test_reused_pid_is_another_process(void **state)
{
	struct fixture f;
	struct event a, b, c;

	begin(&f, NULL);
	gen_snap(f.g, 101 * MS, 0, 100, 100, 1, "first");
	gen_kfree(f.g, 110 * MS, 0, 100, 0x1000);
	gen_exit(f.g, 120 * MS, 0, 100, 100, 0x0300, true, 777);
	gen_switch(f.g, 121 * MS, 0, 100, 0, 0);	/* its last switch follows its exit */
	gen_new(f.g, 130 * MS, 1, 1, 100, 100, 1, "second");
	gen_kfree(f.g, 140 * MS, 0, 100, 0x1000);
	gen_rss(f.g, 115 * MS, 0, 1, 100, 1, 5);
	gen_rss(f.g, 145 * MS, 0, 1, 100, 1, 6);
	gen_slice(f.g, 200 * MS);
	read_back(&f);
	a = event_at(&f, EVENT_SLAB_FREE, 0);
	b = event_at(&f, EVENT_SLAB_FREE, 1);
	c = event_at(&f, EVENT_SWITCH, 0);
	assert_int_not_equal(a.utid, b.utid);
	assert_int_equal(a.utid, c.utid);
	assert_string_equal(process_of(&f, a.utid)->comm, "first");
	assert_string_equal(process_of(&f, b.utid)->comm, "second");
	assert_int_equal(process_of(&f, a.utid)->end_ns, 120 * MS);
	assert_int_equal(process_of(&f, a.utid)->exit_code, 0x0300);
	assert_int_equal(process_of(&f, b.utid)->end_ns, 0);
	assert_int_equal(event_at(&f, EVENT_RSS, 0).v[EV_RSS_UPID], process_of(&f, a.utid)->upid);
	assert_int_equal(event_at(&f, EVENT_RSS, 1).v[EV_RSS_UPID], process_of(&f, b.utid)->upid);
	assert_int_equal(trace_thread_find(f.t, a.utid)->sum_exec_end_ns, 777);
	end(&f);
}

static void test_pid_reused_many_times_in_one_slice(void **state)
{
	const struct trace_process *p;
	struct fixture f;
	size_t cnt, i;
	char comm[16];

	begin(&f, NULL);
	for (i = 0; i < 500; i++) {
		snprintf(comm, sizeof(comm), "life-%zu", i);
		gen_new(f.g, 101 * MS + i * 1000, 0, 1, 55, 55, 1, comm);
		gen_kmalloc(f.g, 101 * MS + i * 1000 + 500, 0, 55, 64 + i, 32, 1, 0);
		if (i % 3)	/* some exits are lost */
			gen_exit(f.g, 101 * MS + i * 1000 + 900, 0, 55, 55, 0, true, 1);
	}
	gen_slice(f.g, 200 * MS);
	read_back(&f);
	p = trace_processes(f.t, &cnt);
	for (i = 0; i + 1 < cnt; i++)
		assert_true(p[i].pid != 55 || p[i].end_ns);
	for (i = 0; i < 500; i += 7) {
		snprintf(comm, sizeof(comm), "life-%zu", i);
		assert_string_equal(process_of(&f, event_at(&f, EVENT_SLAB_ALLOC, i).utid)->comm,
				    comm);
	}
	end(&f);
}

static void test_lost_fork_is_filled_in_later(void **state)
{
	struct fixture f;
	struct event a, b;

	begin(&f, NULL);
	gen_kfree(f.g, 110 * MS, 0, 70, 0x1000);	/* never announced */
	gen_kfree(f.g, 111 * MS, 0, 71, 0x1000);
	gen_slice(f.g, 200 * MS);
	gen_exec(f.g, 210 * MS, 0, 70, 70, 0, "found", "/bin/found", "found\0-v", 8);
	gen_kfree(f.g, 220 * MS, 0, 70, 0x1000);
	gen_slice(f.g, 300 * MS);
	read_back(&f);
	a = event_at(&f, EVENT_SLAB_FREE, 0);
	b = event_at(&f, EVENT_SLAB_FREE, 2);
	assert_int_equal(a.utid, b.utid);
	assert_string_equal(process_of(&f, a.utid)->comm, "found");
	assert_string_equal(process_of(&f, a.utid)->exe, "/bin/found");
	assert_int_equal(process_of(&f, a.utid)->pid, 70);
	b = event_at(&f, EVENT_SLAB_FREE, 1);
	assert_int_equal(trace_thread_find(f.t, b.utid)->upid, EVENT_ID_UNKNOWN);
	assert_int_equal(trace_thread_find(f.t, b.utid)->tid, 71);
	assert_string_equal(trace_thread_find(f.t, b.utid)->comm, "");
	end(&f);
}

static void test_end_snapshot_names_a_lost_fork(void **state)
{
	static const int64_t rss[4] = { 1, 2, 3, 4 };
	struct fixture f;

	begin(&f, NULL);
	gen_kfree(f.g, 110 * MS, 0, 70, 0x1000);
	gen_slice(f.g, 200 * MS);
	gen_snap_full(f.g, 250 * MS, 70, 70, 1, 105 * MS, "named", rss, 7, 50, 0, false);
	gen_slice(f.g, 300 * MS);
	read_back(&f);
	assert_string_equal(process_of(&f, event_at(&f, EVENT_SLAB_FREE, 0).utid)->comm, "named");
	end(&f);
}

static void test_events_before_a_fork_are_somebody_elses(void **state)
{
	struct fixture f;

	begin(&f, NULL);
	gen_kfree(f.g, 110 * MS, 0, 80, 0x1000);	/* the former owner of tid 80, unknown */
	gen_new(f.g, 120 * MS, 0, 1, 80, 80, 1, "later");
	gen_kfree(f.g, 130 * MS, 0, 80, 0x1000);
	gen_slice(f.g, 200 * MS);
	read_back(&f);
	assert_int_not_equal(event_at(&f, EVENT_SLAB_FREE, 0).utid,
			     event_at(&f, EVENT_SLAB_FREE, 1).utid);
	assert_string_equal(process_of(&f, event_at(&f, EVENT_SLAB_FREE, 1).utid)->comm, "later");
	end(&f);
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
	struct fixture f;
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
	gen_slice(f.g, 300 * MS);
	read_back(&f);
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
	end(&f);
}

static void test_exec_by_a_thread_takes_the_leaders_place(void **state)
{
	exec_by_a_thread(false);
	exec_by_a_thread(true);
}

static void test_names_change_and_the_last_one_stays(void **state)
{
	const struct trace_task_event *te;
	struct fixture f;
	size_t cnt;

	begin(&f, NULL);
	gen_snap(f.g, 101 * MS, 0, 100, 100, 1, "a");
	gen_new(f.g, 102 * MS, 0, 100, 105, 100, 1, "a");
	gen_rename(f.g, 103 * MS, 0, 105, 100, "thread-name");
	gen_slice(f.g, 200 * MS);
	gen_rename(f.g, 203 * MS, 0, 100, 100, "main-name");
	gen_cgroup(f.g, 204 * MS, 0, 100, 100, 77);
	gen_slice(f.g, 300 * MS);
	read_back(&f);
	assert_string_equal(process_named(&f, "main-name")->comm, "main-name");
	assert_int_equal(process_named(&f, "main-name")->cgroup_id, 77);
	assert_string_equal(trace_name_find(f.t, TRACE_NAME_CGROUP, 77)->name, "/group-77");
	te = trace_task_events(f.t, &cnt);
	assert_int_equal(cnt, 5);
	assert_int_equal(te[0].type, TRACE_TASK_SNAP);
	assert_int_equal(te[1].type, TRACE_TASK_NEW);
	assert_int_equal(te[2].type, TRACE_TASK_RENAME);
	assert_string_equal(te[2].comm, "thread-name");
	assert_string_equal(trace_thread_find(f.t, te[2].utid)->comm, "thread-name");
	assert_int_equal(te[2].upid, te[3].upid);
	assert_int_equal(te[4].type, TRACE_TASK_CGROUP);
	assert_int_equal(te[4].cgroup_id, 77);
	end(&f);
}

static void add_facts(struct fixture *f, uint64_t ts, uint8_t policy, uint8_t nice120,
		      uint64_t cpu_mask)
{
	struct wire_sched_facts r = {
		.hdr = { .ts_ns = ts, .hook = WIRE_SCHED_FACTS, .tid = 105 }, .pid = 100,
		.policy = policy, .static_prio = nice120,
		.allowed_cnt = (uint32_t)__builtin_popcountll(cpu_mask), .cpu_mask = cpu_mask,
	};

	gen_raw(f->g, &r, sizeof(r));
}

static void test_scheduling_facts_have_a_row_when_they_change(void **state)
{
	const struct trace_task_event *te;
	const struct trace_sched *last;
	struct fixture f;
	size_t cnt;

	begin(&f, NULL);
	gen_snap(f.g, 101 * MS, 0, 100, 100, 1, "a");
	gen_new(f.g, 102 * MS, 0, 100, 105, 100, 1, "b");
	add_facts(&f, 103 * MS, 0, 120, 3);
	add_facts(&f, 104 * MS, 0, 120, 3);	/* the same: no row */
	add_facts(&f, 105 * MS, 0, 120, 2);
	gen_slice(f.g, 200 * MS);
	add_facts(&f, 203 * MS, 0, 120, 2);
	add_facts(&f, 204 * MS, 3, 130, 2);
	gen_rename(f.g, 205 * MS, 0, 105, 100, "c");
	gen_slice(f.g, 300 * MS);
	read_back(&f);
	te = trace_task_events(f.t, &cnt);
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
	last = &trace_thread_find(f.t, te[4].utid)->sched;
	assert_memory_equal(last, &te[4].sched, sizeof(*last));
	assert_int_equal(last->policy1, 4);
	assert_int_equal(last->static_prio, 130);
	assert_int_equal(trace_task_event_cnt(f.t, 0, UINT64_MAX), 2);	/* new, rename */
	end(&f);
}

static void test_workload_reaches_descendants(void **state)
{
	struct fixture f;

	begin(&f, NULL);
	gen_snap(f.g, 101 * MS, 0, 50, 50, 1, "bystander");
	gen_snap(f.g, 101 * MS, 0, 62, 62, 61, "grandchild");
	gen_snap(f.g, 101 * MS, 0, 61, 61, 60, "child");
	gen_snap(f.g, 101 * MS, 0, 60, 60, 50, "target");
	block_writer_add_workload(gen_block_writer(f.g), 60);	/* before its record */
	gen_slice(f.g, 200 * MS);
	gen_new(f.g, 201 * MS, 0, 62, 63, 63, 62, "born-later");
	gen_new(f.g, 202 * MS, 0, 62, 64, 62, 62, "a-thread");
	/* forked with CLONE_PARENT: the workload's all the same */
	gen_new(f.g, 203 * MS, 0, 62, 65, 65, 50, "adopted");
	gen_new(f.g, 204 * MS, 0, 50, 51, 51, 50, "other");
	gen_slice(f.g, 300 * MS);
	block_writer_add_workload(gen_block_writer(f.g), 51);	/* after */
	gen_slice(f.g, 400 * MS);
	read_back(&f);
	assert_false(process_named(&f, "bystander")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&f, "target")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&f, "child")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&f, "grandchild")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&f, "born-later")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&f, "adopted")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&f, "other")->flags & TRACE_TASK_WORKLOAD);
	assert_int_equal(process_named(&f, "adopted")->parent_upid,
			 process_named(&f, "bystander")->upid);
	end(&f);
}

static void test_workload_pid_waits_for_its_new_owner(void **state)
{
	struct fixture f;

	begin(&f, NULL);
	gen_snap(f.g, 101 * MS, 0, 60, 60, 1, "dead");
	gen_exit(f.g, 110 * MS, 0, 60, 60, 0, true, 1);
	gen_slice(f.g, 200 * MS);
	block_writer_add_workload(gen_block_writer(f.g), 60);
	gen_slice(f.g, 300 * MS);	/* its fork is not read yet */
	gen_new(f.g, 301 * MS, 0, 1, 60, 60, 1, "command");
	gen_exit(f.g, 302 * MS, 0, 60, 60, 0, true, 1);
	gen_slice(f.g, 400 * MS);
	read_back(&f);
	assert_false(process_named(&f, "dead")->flags & TRACE_TASK_WORKLOAD);
	assert_true(process_named(&f, "command")->flags & TRACE_TASK_WORKLOAD);
	end(&f);
}

static void run_cmdlines(struct fixture *f, bool all)
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
	gen_slice(f->g, 200 * MS);
	read_back(f);
}

static void test_cmdlines_of_others_are_not_kept(void **state)
{
	const struct trace_process *p;
	struct fixture f;
	size_t cnt, i;

	run_cmdlines(&f, false);
	assert_string_equal(process_named(&f, "private")->cmdline, "");
	assert_string_equal(process_named(&f, "private")->exe, "/bin/private");
	p = trace_processes(f.t, &cnt);
	for (i = 0; i < cnt; i++) {
		if (p[i].pid == 60 || p[i].pid == 61) {
			assert_string_equal(p[i].cmdline, "mine -a two words");
			assert_string_equal(p[i].exe, "/bin/mine");
		}
		assert_int_equal((p[i].flags & TRACE_TASK_RECORDER) != 0, p[i].pid == 90);
	}
	assert_true(trace_thread_find(f.t, p[2].upid + 1)->flags & TRACE_TASK_RECORDER);
	end(&f);
}

static void test_cmdlines_of_all_when_asked_for(void **state)
{
	struct fixture f;

	run_cmdlines(&f, true);
	assert_string_equal(process_named(&f, "private")->cmdline, "private --key");
	end(&f);
}

/* group_code: of the last thread's record; 0: no thread made the others exit */
static uint32_t exit_code_of(uint32_t group_code)
{
	struct fixture f;
	uint32_t code;

	begin(&f, NULL);
	gen_snap(f.g, 101 * MS, 0, 60, 60, 1, "p");
	gen_snap(f.g, 101 * MS, 0, 61, 60, 1, "p-2");
	gen_exit(f.g, 102 * MS, 0, 60, 60, 0x0100, false, 1);
	gen_slice(f.g, 200 * MS);
	gen_exit_all(f.g, 202 * MS, 0, 61, 60, 0x0900, true, 1, group_code);
	gen_slice(f.g, 300 * MS);
	read_back(&f);
	assert_int_equal(process_named(&f, "p")->end_ns, 202 * MS);
	code = process_named(&f, "p")->exit_code;
	end(&f);
	return code;
}

static void test_exit_code_is_what_wait_returns(void **state)
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
static void test_every_block_names_those_it_refers_to(void **state)
{
	struct fixture f;
	char first[128];
	size_t cnt, i;

	begin(&f, &(struct gen_config){ .file_bytes = 1 });
	gen_snap(f.g, 101 * MS, 0, 60, 60, 1, "old-timer");
	for (i = 0; i < 40; i++) {
		uint32_t tid = 1000 + (uint32_t)i;

		gen_new(f.g, (101 + i * 1000) * MS, 0, 60, tid, tid, 60, "brief");
		gen_exit(f.g, (102 + i * 1000) * MS, 0, tid, tid, 0, true, 1);
		gen_rss(f.g, (103 + i * 1000) * MS, 0, 60, 60, 1, (int64_t)i);
		gen_slice(f.g, (200 + i * 1000) * MS);
	}
	gen_kfree(f.g, 40100 * MS, 0, 60, 0x10);
	gen_slice(f.g, 40200 * MS);
	gen_finish(f.g);
	/* removes all files except the last one, as --keep does */
	for (i = 0; i < 40; i++) {
		snprintf(first, sizeof(first), "%s/chunk-%06zu.ebr", f.path, i);
		assert_int_equal(remove(first), 0);
	}
	assert_int_equal(trace_open(&f.t, f.path, NULL), 0);
	trace_blocks(f.t, &cnt);
	assert_int_equal(cnt, 1);
	assert_string_equal(process_of(&f, event_at(&f, EVENT_SLAB_FREE, 0).utid)->comm,
			    "old-timer");
	trace_processes(f.t, &cnt);
	assert_int_equal(cnt, 1);
	assert_int_equal(trace_rss_baselines(f.t, &cnt)[0].bytes[1], 39 * 4096);
	assert_int_equal(cnt, 1);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_snapshot_gives_processes_threads_and_baselines),
		cmocka_unit_test(test_snapshot_state_holds_until_the_first_event),
		cmocka_unit_test(test_second_snapshot_is_the_end_not_another_thread),
		cmocka_unit_test(test_reused_pid_is_another_process),
		cmocka_unit_test(test_pid_reused_many_times_in_one_slice),
		cmocka_unit_test(test_lost_fork_is_filled_in_later),
		cmocka_unit_test(test_end_snapshot_names_a_lost_fork),
		cmocka_unit_test(test_events_before_a_fork_are_somebody_elses),
		cmocka_unit_test(test_exec_by_a_thread_takes_the_leaders_place),
		cmocka_unit_test(test_names_change_and_the_last_one_stays),
		cmocka_unit_test(test_scheduling_facts_have_a_row_when_they_change),
		cmocka_unit_test(test_workload_reaches_descendants),
		cmocka_unit_test(test_workload_pid_waits_for_its_new_owner),
		cmocka_unit_test(test_cmdlines_of_others_are_not_kept),
		cmocka_unit_test(test_cmdlines_of_all_when_asked_for),
		cmocka_unit_test(test_exit_code_is_what_wait_returns),
		cmocka_unit_test(test_every_block_names_those_it_refers_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
