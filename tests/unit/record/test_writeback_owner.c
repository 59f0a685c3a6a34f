/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Owners of pages that requests write back: hand-made records, known answers, read through SQL. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 1000000000ull
#define MS 1000000ull
#define S 1000000000ull
#define DISK (8u << 20)
#define FS (8u << 20 | 1)
#define BDEV_FS 3u
#define META (1u << 12)

enum { ALICE = 100, BOB = 200, SYNC = 300, KWORKER = 50, JBD2 = 60 };

struct fixture {
	char dir[64], path[80];
	struct gen *g;
	struct trace *t;
	struct analysis *a;
	uint64_t sector;
};

static void add_task(struct gen *g, uint64_t ts, uint32_t pid, const char *comm, bool is_kthread)
{
	struct wire_snap r = {
		.task = { .hdr = { .ts_ns = ts, .hook = WIRE_TASK_SNAP, .tid = pid,
				   .flags = is_kthread ? WIRE_F_KTHREAD : 0 },
			  .tid = pid, .pid = pid, .ppid = 1, .ns_tid = pid, .ns_pid = pid,
			  .start_ns = 1 + pid, .cgroup_id = 1 },
	};

	snprintf(r.task.comm, sizeof(r.task.comm), "%s", comm);
	gen_raw(g, &r, sizeof(r));
}

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	gen_temp_dir(f->dir);
	snprintf(f->path, sizeof(f->path), "%s/t", f->dir);
	f->g = gen_open(f->path, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0 });
	add_task(f->g, T0, ALICE, "alice", false);
	add_task(f->g, T0, BOB, "bob", false);
	add_task(f->g, T0, SYNC, "sync", false);
	add_task(f->g, T0, KWORKER, "kworker/u8:1", true);
	add_task(f->g, T0, JBD2, "jbd2/sda1-8", true);
}

static void look(struct fixture *f, uint64_t end_ns)
{
	struct err e = { "" };

	gen_slice(f->g, end_ns);
	gen_finish(f->g);
	if (trace_open(&f->t, f->path, &e) < 0 || analysis_open(&f->a, f->t, &e) < 0)
		fail_msg("%s", e.text);
}

static void end(struct fixture *f)
{
	analysis_close(f->a);
	trace_close(f->t);
	gen_remove_dir(f->dir);
}

struct write {
	uint64_t ts;
	uint32_t tid;
	unsigned int pages;
	uint64_t ino, last_ino;	/* 0: the same */
	uint32_t flags;
	uint32_t waiter;	/* process */
};

/* A whole request. Returns its sector, by which the test finds it again. */
static uint64_t put_write(struct fixture *f, struct write w)
{
	uint32_t fs = w.pages == EVENT_PAGES_DISK ? BDEV_FS : FS;
	struct wire_request_issue r = {
		.step = { .hdr = { .ts_ns = w.ts,
				   .hook = WIRE_BLOCK_ISSUE,
				   .cpu = 1,
				   .tid = w.tid },
			  .rq = 0x1000 + f->sector,
			  .sector = f->sector,
			  .dev = DISK,
			  .bytes = 4096,
			  .cmd_flags = 1 | w.flags,
			  .part = DISK },
		.ino = w.ino,
		.last_ino = w.last_ino ? w.last_ino : w.ino,
		.ino_dev = w.ino ? fs : 0,
		.pages = w.pages,
		.waiter = w.waiter,
	};

	gen_raw(f->g, &r, sizeof(r));
	gen_block(f->g, w.ts + 1000, 1, 0, WIRE_BLOCK_COMPLETE, r.step.rq, DISK, r.step.sector,
		  4096, 1 | w.flags);
	f->sector += 8;
	return r.step.sector;
}

static void check(struct fixture *f, uint64_t sector, const char *owner, const char *how)
{
	struct rows r;
	char sql[160];

	snprintf(sql, sizeof(sql),
		 "SELECT owner, owner_how FROM block_requests WHERE sector = %llu",
		 (unsigned long long)sector);
	rows_sql(&r, f->a, sql);
	assert_int_equal(r.row_cnt, 1);
	assert_string_equal(rows_text(&r, 0, 1), how);
	assert_string_equal(rows_text(&r, 0, 0), owner);
	rows_done(&r);
}

UNIT_TEST(test_write_back_belongs_to_who_dirtied_the_inode)
{
	struct fixture f;
	uint64_t a, b, never, same;

	begin(&f);
	gen_dirty(f.g, T0 + 1 * MS, 0, ALICE, ALICE, 11, FS, "a.txt");
	gen_dirty(f.g, T0 + 2 * MS, 0, BOB, BOB, 22, FS, "b.txt");
	gen_dirty(f.g, T0 + 2 * MS, 0, BOB, BOB, 11, FS + 1, "other file system");
	a = put_write(&f, (struct write){ T0 + 10 * MS, SYNC, EVENT_PAGES_FILE, 11 });
	b = put_write(&f, (struct write){ T0 + 10 * MS, KWORKER, EVENT_PAGES_FILE, 22 });
	never = put_write(&f, (struct write){ T0 + 11 * MS, SYNC, EVENT_PAGES_FILE, 33 });
	gen_slice(f.g, T0 + 100 * MS);
	/* in a later block: it knows by itself */
	same = put_write(&f, (struct write){ T0 + 150 * MS, SYNC, EVENT_PAGES_FILE, 11 });
	look(&f, T0 + 200 * MS);
	check(&f, a, "alice", "dirtied");
	check(&f, b, "bob", "dirtied");
	check(&f, never, "unknown", "unknown");
	check(&f, same, "alice", "dirtied");
	end(&f);
}

UNIT_TEST(test_order_is_that_of_time_over_all_cpus)
{
	struct fixture f;
	uint64_t before, after;

	begin(&f);
	/* arrives in another order than it happened; Bob's is after the first request */
	after = put_write(&f, (struct write){ T0 + 30 * MS, SYNC, EVENT_PAGES_FILE, 11 });
	gen_dirty(f.g, T0 + 20 * MS, 0, BOB, BOB, 11, FS, "f");
	before = put_write(&f, (struct write){ T0 + 10 * MS, SYNC, EVENT_PAGES_FILE, 11 });
	gen_dirty(f.g, T0 + 5 * MS, 1, ALICE, ALICE, 11, FS, "f");
	look(&f, T0 + 100 * MS);
	check(&f, before, "alice", "dirtied");
	check(&f, after, "bob", "dirtied_shared");
	end(&f);
}

UNIT_TEST(test_shared_and_mixed_are_said)
{
	struct fixture f;
	uint64_t shared, alone, mixed, merged;

	begin(&f);
	gen_dirty(f.g, T0 + 1 * MS, 0, ALICE, ALICE, 11, FS, "log");
	gen_dirty(f.g, T0 + 2 * MS, 0, BOB, BOB, 11, FS, "log");
	gen_dirty(f.g, T0 + 3 * MS, 0, ALICE, ALICE, 12, FS, "x");
	gen_dirty(f.g, T0 + 4 * MS, 0, ALICE, ALICE, 13, FS, "y");
	shared = put_write(&f, (struct write){ T0 + 10 * MS, KWORKER, EVENT_PAGES_FILE, 11 });
	mixed = put_write(&f, (struct write){ T0 + 11 * MS, KWORKER, EVENT_PAGES_FILE, 12, 11 });
	merged = put_write(&f, (struct write){ T0 + 12 * MS, KWORKER, EVENT_PAGES_FILE, 12, 13 });
	gen_slice(f.g, T0 + 20 * MS);
	gen_dirty(f.g, T0 + 40 * S, 0, BOB, BOB, 11, FS, "log");
	alone = put_write(&f, (struct write){ T0 + 41 * S, KWORKER, EVENT_PAGES_FILE, 11 });
	look(&f, T0 + 42 * S);
	check(&f, shared, "bob", "dirtied_shared");
	check(&f, mixed, "alice", "dirtied_mixed");
	check(&f, merged, "alice", "dirtied");
	check(&f, alone, "bob", "dirtied");	/* Alice's pages were written long ago */
	end(&f);
}

/*
 * An I/O limit held the request back: a kernel thread submits it, and Bob waits for it. Alice's own
 * submissions are hers.
 */
UNIT_TEST(test_io_of_a_kernel_thread_is_the_waiting_process_s)
{
	struct fixture f;
	uint64_t held, own, file, in_vain;

	begin(&f);
	gen_dirty(f.g, T0 + 1 * MS, 0, ALICE, ALICE, 11, FS, "a.txt");
	held = put_write(&f, (struct write){ T0 + 10 * MS, KWORKER, EVENT_PAGES_ANON,
					     .waiter = BOB });
	own = put_write(&f, (struct write){ T0 + 11 * MS, ALICE, EVENT_PAGES_ANON,
					    .waiter = BOB });
	file = put_write(&f, (struct write){ T0 + 12 * MS, KWORKER, EVENT_PAGES_FILE, 11,
					     .waiter = BOB });
	in_vain = put_write(&f, (struct write){ T0 + 13 * MS, KWORKER, EVENT_PAGES_ANON,
						.waiter = JBD2 });
	look(&f, T0 + 100 * MS);
	check(&f, held, "bob", "waiter");
	check(&f, own, "alice", "direct");
	check(&f, file, "alice", "dirtied");
	check(&f, in_vain, "unknown", "unknown");
	end(&f);
}

UNIT_TEST(test_pages_decide_who_else_it_may_be)
{
	struct fixture f;
	uint64_t direct, loop, mapped, meta, journal, raw, shared_raw, swap, kernel, none;

	begin(&f);
	gen_dirty(f.g, T0 + 1 * MS, 0, ALICE, ALICE, 77, BDEV_FS, "");
	gen_dirty(f.g, T0 + 1 * MS, 0, ALICE, ALICE, 88, BDEV_FS, "");
	gen_dirty(f.g, T0 + 2 * MS, 0, JBD2, JBD2, 88, BDEV_FS, "");
	direct = put_write(&f, (struct write){ T0 + 10 * MS, BOB, EVENT_PAGES_ANON });
	loop = put_write(&f, (struct write){ T0 + 10 * MS, KWORKER, EVENT_PAGES_ANON });
	mapped = put_write(&f, (struct write){ T0 + 11 * MS, BOB, EVENT_PAGES_MAPPED, 11 });
	meta = put_write(&f, (struct write){ T0 + 12 * MS, BOB, EVENT_PAGES_DISK, 77, 0, META });
	journal = put_write(&f, (struct write){ T0 + 13 * MS, JBD2, EVENT_PAGES_DISK, 77 });
	raw = put_write(&f, (struct write){ T0 + 14 * MS, KWORKER, EVENT_PAGES_DISK, 77 });
	shared_raw = put_write(&f, (struct write){ T0 + 15 * MS, KWORKER, EVENT_PAGES_DISK, 88 });
	swap = put_write(&f, (struct write){ T0 + 16 * MS, BOB, EVENT_PAGES_SWAP });
	kernel = put_write(&f, (struct write){ T0 + 17 * MS, BOB, EVENT_PAGES_KERNEL });
	none = put_write(&f, (struct write){ T0 + 18 * MS, BOB, EVENT_PAGES_NONE });
	look(&f, T0 + 100 * MS);
	check(&f, direct, "bob", "direct");
	check(&f, loop, "unknown", "unknown");
	check(&f, mapped, "bob", "direct");
	check(&f, meta, "unknown", "metadata");
	check(&f, journal, "unknown", "journal");
	check(&f, raw, "alice", "dirtied");
	check(&f, shared_raw, "unknown", "metadata");
	check(&f, swap, "unknown", "swap");
	check(&f, kernel, "unknown", "unknown");
	check(&f, none, "bob", "submitted");
	end(&f);
}

UNIT_TEST(test_after_a_loss_nothing_is_said)
{
	struct fixture f;
	uint64_t before, at, after, again;

	begin(&f);
	gen_dirty(f.g, T0 + 1 * MS, 0, ALICE, ALICE, 11, FS, "f");
	before = put_write(&f, (struct write){ T0 + 10 * MS, SYNC, EVENT_PAGES_FILE, 11 });
	gen_slice(f.g, T0 + 100 * MS);
	gen_loss(f.g, &(struct trace_loss){ .from_ns = T0 + 100 * MS, .to_ns = T0 + 200 * MS,
					    .hook = WIRE_DIRTY, .cls = EVENT_CLASS_BLOCK,
					    .full_cnt = 1 });
	at = put_write(&f, (struct write){ T0 + 150 * MS, SYNC, EVENT_PAGES_FILE, 11 });
	gen_slice(f.g, T0 + 200 * MS);
	after = put_write(&f, (struct write){ T0 + 250 * MS, SYNC, EVENT_PAGES_FILE, 11 });
	gen_dirty(f.g, T0 + 260 * MS, 0, BOB, BOB, 11, FS, "f");
	again = put_write(&f, (struct write){ T0 + 270 * MS, SYNC, EVENT_PAGES_FILE, 11 });
	look(&f, T0 + 300 * MS);
	check(&f, before, "alice", "dirtied");
	check(&f, at, "unknown", "unknown");
	check(&f, after, "unknown", "unknown");
	check(&f, again, "bob", "dirtied");
	end(&f);
}

/*
 * A process that made pages dirty and exited long ago is still their owner, though its pid is
 * another process's by now.
 */
UNIT_TEST(test_owner_outlives_its_process)
{
	struct fixture f;
	uint64_t sector;
	unsigned int i;

	begin(&f);
	gen_new(f.g, T0 + 1 * MS, 0, ALICE, 400, 400, ALICE, "first");
	gen_dirty(f.g, T0 + 2 * MS, 0, 400, 400, 11, FS, "f");
	gen_exit(f.g, T0 + 3 * MS, 0, 400, 400, 0, true, MS);
	for (i = 1; i <= 25; i++)
		gen_slice(f.g, T0 + i * S);
	gen_new(f.g, T0 + 25 * S + MS, 0, ALICE, 400, 400, ALICE, "second");
	sector = put_write(&f, (struct write){ T0 + 26 * S, KWORKER, EVENT_PAGES_FILE, 11 });
	look(&f, T0 + 27 * S);
	check(&f, sector, "first", "dirtied");
	end(&f);
}

UNIT_TEST(test_file_has_its_name)
{
	struct fixture f;
	struct rows r;

	begin(&f);
	gen_dirty(f.g, T0 + 1 * MS, 0, ALICE, ALICE, 11, FS, "old name");
	gen_slice(f.g, T0 + 5 * MS);
	gen_dirty(f.g, T0 + 6 * MS, 0, ALICE, ALICE, 11, FS, "name");
	gen_dirty(f.g, T0 + 6 * MS, 0, BOB, BOB, 11, FS + 1, "twin");
	put_write(&f, (struct write){ T0 + 10 * MS, SYNC, EVENT_PAGES_FILE, 11 });
	look(&f, T0 + 100 * MS);
	rows_sql(&r, f.a, "SELECT file FROM block_requests");
	assert_string_equal(rows_text(&r, 0, 0), "/name");
	rows_done(&r);
	rows_sql(&r, f.a, "SELECT file_name(ino_dev, ino) FROM dirty_events "
			  "JOIN threads USING (utid) WHERE comm = 'bob'");
	assert_string_equal(rows_text(&r, 0, 0), "/twin");
	rows_done(&r);
	rows_sql(&r, f.a, "SELECT count(*) FROM names WHERE type = 'file'");
	assert_int_equal(rows_int(&r, 0, 0), 2);
	rows_done(&r);
	end(&f);
}

static void expect_file(struct fixture *f, uint64_t sector, const char *want)
{
	struct rows r;
	char sql[160];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(file, '-') FROM block_requests WHERE sector = %llu",
		 (unsigned long long)sector);
	rows_sql(&r, f->a, sql);
	assert_int_equal(r.row_cnt, 1);
	assert_string_equal(rows_text(&r, 0, 0), want);
	rows_done(&r);
}

/* A request has the path that its inode had then; a device's own pages have none. */
UNIT_TEST(test_a_new_file_with_an_old_inode_number_is_another_file)
{
	uint64_t early, first, second, again, disk;
	struct fixture f;

	begin(&f);
	early = put_write(&f, (struct write){ T0 + 1 * MS, ALICE, EVENT_PAGES_FILE, 11 });
	/* at the same instant: the kernel sends the path with the request that needs it */
	gen_path(f.g, T0 + 2 * MS, 0, ALICE, 11, FS, "home/alice/first");
	first = put_write(&f, (struct write){ T0 + 2 * MS, ALICE, EVENT_PAGES_ANON, 11 });
	gen_slice(f.g, T0 + 5 * MS);
	gen_path(f.g, T0 + 6 * MS, 0, ALICE, 11, FS, "second");
	gen_path(f.g, T0 + 6 * MS, 0, ALICE, 77, BDEV_FS, "x");
	second = put_write(&f, (struct write){ T0 + 7 * MS, ALICE, EVENT_PAGES_ANON, 11 });
	disk = put_write(&f, (struct write){ T0 + 7 * MS, ALICE, EVENT_PAGES_DISK, 77 });
	gen_slice(f.g, T0 + 10 * MS);
	again = put_write(&f, (struct write){ T0 + 11 * MS, ALICE, EVENT_PAGES_ANON, 11 });
	look(&f, T0 + 100 * MS);
	expect_file(&f, early, "-");
	expect_file(&f, first, "/home/alice/first");
	expect_file(&f, second, "/second");
	expect_file(&f, again, "/second");
	expect_file(&f, disk, "-");
	end(&f);
}

/* The path that was lost may have been a new one. */
UNIT_TEST(test_after_a_lost_path_none_is_known)
{
	uint64_t before, during, after, known;
	struct trace_loss loss = { .from_ns = T0 + 10 * MS, .to_ns = T0 + 20 * MS, .cpu = 0,
				   .hook = WIRE_PATH, .cls = EVENT_CLASS_BLOCK, .full_cnt = 1 };
	struct fixture f;

	begin(&f);
	gen_path(f.g, T0 + 1 * MS, 0, ALICE, 11, FS, "f");
	before = put_write(&f, (struct write){ T0 + 2 * MS, ALICE, EVENT_PAGES_FILE, 11 });
	gen_slice(f.g, T0 + 10 * MS);
	during = put_write(&f, (struct write){ T0 + 12 * MS, ALICE, EVENT_PAGES_FILE, 11 });
	gen_loss(f.g, &loss);
	gen_slice(f.g, T0 + 20 * MS);
	after = put_write(&f, (struct write){ T0 + 22 * MS, ALICE, EVENT_PAGES_FILE, 11 });
	gen_path(f.g, T0 + 23 * MS, 0, ALICE, 11, FS, "f");
	known = put_write(&f, (struct write){ T0 + 24 * MS, ALICE, EVENT_PAGES_FILE, 11 });
	look(&f, T0 + 100 * MS);
	expect_file(&f, before, "/f");
	expect_file(&f, during, "-");
	expect_file(&f, after, "-");
	expect_file(&f, known, "/f");
	end(&f);
}

/* report io charges owners. If the owner is unknown, each submitter and reason has a row. */
UNIT_TEST(test_report_io_charges_the_owner)
{
	static const char *const want[][4] = {
		{ "[unknown]", "jbd2/sda1-8", "journal", "8192" },
		{ "[unknown]", "kworker", "unknown", "4096" },
		{ "alice", "several", "dirtied", "12288" },
		{ "bob", "bob", "several", "8192" },
	};
	struct fixture f;
	struct rows r;
	unsigned int i;

	begin(&f);
	gen_dirty(f.g, T0 + 1 * MS, 0, ALICE, ALICE, 11, FS, "f");
	gen_dirty(f.g, T0 + 1 * MS, 0, BOB, BOB, 12, FS, "g");
	put_write(&f, (struct write){ T0 + 10 * MS, SYNC, EVENT_PAGES_FILE, 11 });
	put_write(&f, (struct write){ T0 + 11 * MS, SYNC, EVENT_PAGES_FILE, 11 });
	put_write(&f, (struct write){ T0 + 12 * MS, KWORKER, EVENT_PAGES_FILE, 11 });
	put_write(&f, (struct write){ T0 + 13 * MS, BOB, EVENT_PAGES_FILE, 12 });
	put_write(&f, (struct write){ T0 + 14 * MS, BOB, EVENT_PAGES_ANON });
	put_write(&f, (struct write){ T0 + 15 * MS, KWORKER, EVENT_PAGES_KERNEL });
	put_write(&f, (struct write){ T0 + 16 * MS, JBD2, EVENT_PAGES_KERNEL });
	put_write(&f, (struct write){ T0 + 17 * MS, JBD2, EVENT_PAGES_DISK, 5 });
	look(&f, T0 + 100 * MS);
	rows_sql(&r, f.a, "SELECT name, submitter, owner_how, bytes FROM io_usage ORDER BY 1, 2");
	assert_int_equal(r.row_cnt, 4);
	for (i = 0; i < 4; i++) {
		assert_string_equal(rows_text(&r, i, 0), want[i][0]);
		assert_string_equal(rows_text(&r, i, 1), want[i][1]);
		assert_string_equal(rows_text(&r, i, 2), want[i][2]);
		assert_int_equal(rows_int(&r, i, 3), atoi(want[i][3]));
	}
	rows_done(&r);
	/* grouped by device there is one row, which counts the requests of unknown owners */
	rows_sql(&r, f.a, "SELECT bytes, unknown_owner_ios FROM io_usage(0, 100000000, 0, 'none')");
	assert_int_equal(r.row_cnt, 1);
	assert_int_equal(rows_int(&r, 0, 0), 8 * 4096);
	assert_int_equal(rows_int(&r, 0, 1), 3);
	rows_done(&r);
	/* the write of the kworker may be anybody's: of who dirtied none of it, too */
	for (i = 0; i < 3; i++) {
		const struct report_request q = {
			.view = i < 2 ? "io" : "totals", .to_ns = UINT64_MAX,
			.comm = i ? "alice" : NULL, .by = i < 2 ? 1u << REPORT_BY_COMM : 0,
		};
		bool is_known;

		rows_report(&r, f.a, &q);
		for (unsigned int k = 0; k < r.row_cnt; k++) {
			is_known = i || strcmp(rows_text(&r, k, 0), "[unknown]") != 0;
			if (i < 2) {
				assert_int_equal(rows_cell(&r, k, "unowned_ios"), is_known);
				assert_int_equal(rows_cell(&r, k, "unowned_bytes"),
						 is_known ? 4096 : 0);
			}
			if (i)
				assert_int_equal(rows_cell(&r, k, "complete"), 0);
		}
		assert_int_equal(analysis_unowned(f.a, &q).bytes, i ? 4096 : 0);
		rows_done(&r);
	}
	end(&f);
}

UNIT_TESTS
