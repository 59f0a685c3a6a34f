/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Owners of pages that requests write back: hand-made records, known answers, read through SQL. */
#include "analyze/analyze.h"
#include "tests/unit/gen/made_trace.h"
#include "tests/unit/gen/table_rows.h"
#include "tests/unit/unit_test.h"

#define T0 1000000000ull
#define S 1000000000ull
#define DISK (8u << 20)
#define FS (8u << 20 | 1)
#define BDEV_FS 3u
#define META (1u << 12)

enum { ALICE = 100, BOB = 200, SYNC = 300, KWORKER = 50, JBD2 = 60 };

static struct made_trace fx;
static unsigned int write_cnt;

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

static void begin(struct made_trace *f)
{
	write_cnt = 0;
	made_begin(f, &(struct gen_config){ .cpu_cnt = 2, .from_ns = T0 });
	add_task(f->g, T0, ALICE, "alice", false);
	add_task(f->g, T0, BOB, "bob", false);
	add_task(f->g, T0, SYNC, "sync", false);
	add_task(f->g, T0, KWORKER, "kworker/u8:1", true);
	add_task(f->g, T0, JBD2, "jbd2/sda1-8", true);
}

/* Whose pages a request writes. */
enum { FILES = EVENT_PAGES_FILE, ANON = EVENT_PAGES_ANON, MAPPED = EVENT_PAGES_MAPPED,
       DEVICE = EVENT_PAGES_DISK, SWAP = EVENT_PAGES_SWAP, KERNEL = EVENT_PAGES_KERNEL,
       NO_PAGES = EVENT_PAGES_NONE };

struct write {
	uint64_t ms;		/* after T0 */
	uint32_t tid;
	unsigned int pages;
	uint64_t ino, last_ino;	/* 0: the same */
	uint32_t flags;
	uint32_t waiter;	/* process */
	const char *want;	/* its owner and how that is known, or its file; NULL: anything */
};

/* The writes of a test, in order; their sectors are 8 apart. */
static struct write writes[16];

/* A whole request. */
static void put_write(struct write w)
{
	uint32_t fs = w.pages == DEVICE ? BDEV_FS : FS;
	struct wire_request_issue r = {
		.step = { .hdr = { .ts_ns = T0 + w.ms * MS, .hook = WIRE_BLOCK_ISSUE, .cpu = 1,
				   .tid = w.tid },
			  .rq = 0x1000 + 8 * write_cnt, .sector = 8 * write_cnt,
			  .dev = DISK, .bytes = 4096, .cmd_flags = 1 | w.flags, .part = DISK },
		.ino = w.ino,
		.last_ino = w.last_ino ? w.last_ino : w.ino,
		.ino_dev = w.ino ? fs : 0,
		.pages = w.pages,
		.waiter = w.waiter,
	};

	gen_raw(fx.g, &r, sizeof(r));
	gen_block(fx.g, T0 + w.ms * MS + 1000, 1, 0, WIRE_BLOCK_COMPLETE, r.step.rq, DISK,
		  r.step.sector, 4096, 1 | w.flags);
	assert_true(write_cnt < sizeof(writes) / sizeof(writes[0]));
	writes[write_cnt++] = w;
}

#define put(...) put_write((struct write){ __VA_ARGS__ })

/* Ends the trace. The text that the columns give of each write is the one wanted. */
static void finish(uint64_t end_ms, const char *columns)
{
	char sql[160];
	struct rows r;

	made_finish(&fx, T0 + end_ms * MS);
	for (unsigned int i = 0; i < write_cnt; i++) {
		snprintf(sql, sizeof(sql), "SELECT %s FROM block_requests WHERE sector = %u",
			 columns, 8 * i);
		rows_sql(&r, fx.a, sql);
		assert_int_equal(r.row_cnt, 1);
		if (writes[i].want && strcmp(rows_text(&r, 0, 0), writes[i].want))
			fail_msg("write %u: '%s', not '%s'", i, rows_text(&r, 0, 0),
				 writes[i].want);
		rows_done(&r);
	}
}

#define OWNER "owner || ' ' || owner_how"

UNIT_TEST(test_write_back_belongs_to_who_dirtied_the_inode)
{
	begin(&fx);
	gen_dirty(fx.g, T0 + 1 * MS, 0, ALICE, ALICE, 11, FS, "a.txt");
	gen_dirty(fx.g, T0 + 2 * MS, 0, BOB, BOB, 22, FS, "b.txt");
	gen_dirty(fx.g, T0 + 2 * MS, 0, BOB, BOB, 11, FS + 1, "other file system");
	put(10, SYNC, FILES, 11, .want = "alice dirtied");
	put(10, KWORKER, FILES, 22, .want = "bob dirtied");
	put(11, SYNC, FILES, 33, .want = "unknown unknown");
	gen_slice(fx.g, T0 + 100 * MS);
	/* in a later block: it knows by itself */
	put(150, SYNC, FILES, 11, .want = "alice dirtied");
	finish(200, OWNER);
}

UNIT_TEST(test_order_is_that_of_time_over_all_cpus)
{
	begin(&fx);
	/* arrives in another order than it happened; Bob's is after the first request */
	put(30, SYNC, FILES, 11, .want = "bob dirtied_shared");
	gen_dirty(fx.g, T0 + 20 * MS, 0, BOB, BOB, 11, FS, "f");
	put(10, SYNC, FILES, 11, .want = "alice dirtied");
	gen_dirty(fx.g, T0 + 5 * MS, 1, ALICE, ALICE, 11, FS, "f");
	finish(100, OWNER);
}

UNIT_TEST(test_shared_and_mixed_are_said)
{
	begin(&fx);
	gen_dirty(fx.g, T0 + 1 * MS, 0, ALICE, ALICE, 11, FS, "log");
	gen_dirty(fx.g, T0 + 2 * MS, 0, BOB, BOB, 11, FS, "log");
	gen_dirty(fx.g, T0 + 3 * MS, 0, ALICE, ALICE, 12, FS, "x");
	gen_dirty(fx.g, T0 + 4 * MS, 0, ALICE, ALICE, 13, FS, "y");
	put(10, KWORKER, FILES, 11, .want = "bob dirtied_shared");
	put(11, KWORKER, FILES, 12, 11, .want = "alice dirtied_mixed");
	put(12, KWORKER, FILES, 12, 13, .want = "alice dirtied");
	gen_slice(fx.g, T0 + 20 * MS);
	gen_dirty(fx.g, T0 + 40 * S, 0, BOB, BOB, 11, FS, "log");
	/* Alice's pages were written long ago */
	put(41000, KWORKER, FILES, 11, .want = "bob dirtied");
	finish(42000, OWNER);
}

/*
 * An I/O limit held the request back: a kernel thread submits it, and Bob waits for it. Alice's own
 * submissions are hers.
 */
UNIT_TEST(test_io_of_a_kernel_thread_is_the_waiting_process_s)
{
	begin(&fx);
	gen_dirty(fx.g, T0 + 1 * MS, 0, ALICE, ALICE, 11, FS, "a.txt");
	put(10, KWORKER, ANON, .waiter = BOB, .want = "bob waiter");
	put(11, ALICE, ANON, .waiter = BOB, .want = "alice direct");
	put(12, KWORKER, FILES, 11, .waiter = BOB, .want = "alice dirtied");
	put(13, KWORKER, ANON, .waiter = JBD2, .want = "unknown unknown");
	finish(100, OWNER);
}

UNIT_TEST(test_pages_decide_who_else_it_may_be)
{
	begin(&fx);
	gen_dirty(fx.g, T0 + 1 * MS, 0, ALICE, ALICE, 77, BDEV_FS, "");
	gen_dirty(fx.g, T0 + 1 * MS, 0, ALICE, ALICE, 88, BDEV_FS, "");
	gen_dirty(fx.g, T0 + 2 * MS, 0, JBD2, JBD2, 88, BDEV_FS, "");
	put(10, BOB, ANON, .want = "bob direct");
	put(10, KWORKER, ANON, .want = "unknown unknown");
	put(11, BOB, MAPPED, 11, .want = "bob direct");
	put(12, BOB, DEVICE, 77, 0, META, .want = "unknown metadata");
	put(13, JBD2, DEVICE, 77, .want = "unknown journal");
	put(14, KWORKER, DEVICE, 77, .want = "alice dirtied");
	put(15, KWORKER, DEVICE, 88, .want = "unknown metadata");
	put(16, BOB, SWAP, .want = "unknown swap");
	put(17, BOB, KERNEL, .want = "unknown unknown");
	put(18, BOB, NO_PAGES, .want = "bob submitted");
	finish(100, OWNER);
}

UNIT_TEST(test_after_a_loss_nothing_is_said)
{
	begin(&fx);
	gen_dirty(fx.g, T0 + 1 * MS, 0, ALICE, ALICE, 11, FS, "f");
	put(10, SYNC, FILES, 11, .want = "alice dirtied");
	gen_slice(fx.g, T0 + 100 * MS);
	gen_loss(fx.g, &(struct trace_loss){ .from_ns = T0 + 100 * MS, .to_ns = T0 + 200 * MS,
					     .hook = WIRE_DIRTY, .cls = EVENT_CLASS_BLOCK,
					     .full_cnt = 1 });
	put(150, SYNC, FILES, 11, .want = "unknown unknown");
	gen_slice(fx.g, T0 + 200 * MS);
	put(250, SYNC, FILES, 11, .want = "unknown unknown");
	gen_dirty(fx.g, T0 + 260 * MS, 0, BOB, BOB, 11, FS, "f");
	put(270, SYNC, FILES, 11, .want = "bob dirtied");
	finish(300, OWNER);
}

/*
 * A process that made pages dirty and exited long ago is still their owner, though its pid is
 * another process's by now.
 */
UNIT_TEST(test_owner_outlives_its_process)
{
	begin(&fx);
	gen_new(fx.g, T0 + 1 * MS, 0, ALICE, 400, 400, ALICE, "first");
	gen_dirty(fx.g, T0 + 2 * MS, 0, 400, 400, 11, FS, "f");
	gen_exit(fx.g, T0 + 3 * MS, 0, 400, 400, 0, true, MS);
	for (unsigned int i = 1; i <= 25; i++)
		gen_slice(fx.g, T0 + i * S);
	gen_new(fx.g, T0 + 25 * S + MS, 0, ALICE, 400, 400, ALICE, "second");
	put(26000, KWORKER, FILES, 11, .want = "first dirtied");
	finish(27000, OWNER);
}

UNIT_TEST(test_file_has_its_name)
{
	struct rows r;

	begin(&fx);
	gen_dirty(fx.g, T0 + 1 * MS, 0, ALICE, ALICE, 11, FS, "old name");
	gen_slice(fx.g, T0 + 5 * MS);
	gen_dirty(fx.g, T0 + 6 * MS, 0, ALICE, ALICE, 11, FS, "name");
	gen_dirty(fx.g, T0 + 6 * MS, 0, BOB, BOB, 11, FS + 1, "twin");
	put(10, SYNC, FILES, 11);
	finish(100, OWNER);
	rows_sql(&r, fx.a, "SELECT file FROM block_requests");
	assert_string_equal(rows_text(&r, 0, 0), "/name");
	rows_done(&r);
	rows_sql(&r, fx.a, "SELECT file_name(ino_dev, ino) FROM dirty_events "
			   "JOIN threads USING (utid) WHERE comm = 'bob'");
	assert_string_equal(rows_text(&r, 0, 0), "/twin");
	rows_done(&r);
	rows_sql(&r, fx.a, "SELECT count(*) FROM names WHERE type = 'file'");
	assert_int_equal(rows_int(&r, 0, 0), 2);
	rows_done(&r);
}

/* A request has the path that its inode had then; a device's own pages have none. */
UNIT_TEST(test_a_new_file_with_an_old_inode_number_is_another_file)
{
	begin(&fx);
	put(1, ALICE, FILES, 11, .want = "-");
	/* at the same instant: the kernel sends the path with the request that needs it */
	gen_path(fx.g, T0 + 2 * MS, 0, ALICE, 11, FS, "home/alice/first");
	put(2, ALICE, ANON, 11, .want = "/home/alice/first");
	gen_slice(fx.g, T0 + 5 * MS);
	gen_path(fx.g, T0 + 6 * MS, 0, ALICE, 11, FS, "second");
	gen_path(fx.g, T0 + 6 * MS, 0, ALICE, 77, BDEV_FS, "x");
	put(7, ALICE, ANON, 11, .want = "/second");
	put(7, ALICE, DEVICE, 77, .want = "-");
	gen_slice(fx.g, T0 + 10 * MS);
	put(11, ALICE, ANON, 11, .want = "/second");
	finish(100, "coalesce(file, '-')");
}

/* The path that was lost may have been a new one. */
UNIT_TEST(test_after_a_lost_path_none_is_known)
{
	struct trace_loss loss = { .from_ns = T0 + 10 * MS, .to_ns = T0 + 20 * MS, .cpu = 0,
				   .hook = WIRE_PATH, .cls = EVENT_CLASS_BLOCK, .full_cnt = 1 };

	begin(&fx);
	gen_path(fx.g, T0 + 1 * MS, 0, ALICE, 11, FS, "f");
	put(2, ALICE, FILES, 11, .want = "/f");
	gen_slice(fx.g, T0 + 10 * MS);
	put(12, ALICE, FILES, 11, .want = "-");
	gen_loss(fx.g, &loss);
	gen_slice(fx.g, T0 + 20 * MS);
	put(22, ALICE, FILES, 11, .want = "-");
	gen_path(fx.g, T0 + 23 * MS, 0, ALICE, 11, FS, "f");
	put(24, ALICE, FILES, 11, .want = "/f");
	finish(100, "coalesce(file, '-')");
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
	struct rows r;

	begin(&fx);
	gen_dirty(fx.g, T0 + 1 * MS, 0, ALICE, ALICE, 11, FS, "f");
	gen_dirty(fx.g, T0 + 1 * MS, 0, BOB, BOB, 12, FS, "g");
	put(10, SYNC, FILES, 11);
	put(11, SYNC, FILES, 11);
	put(12, KWORKER, FILES, 11);
	put(13, BOB, FILES, 12);
	put(14, BOB, ANON);
	put(15, KWORKER, KERNEL);
	put(16, JBD2, KERNEL);
	put(17, JBD2, DEVICE, 5);
	finish(100, OWNER);
	rows_sql(&r, fx.a, "SELECT name, submitter, owner_how, bytes FROM io_usage ORDER BY 1, 2");
	assert_int_equal(r.row_cnt, 4);
	for (unsigned int i = 0; i < 4; i++) {
		assert_string_equal(rows_text(&r, i, 0), want[i][0]);
		assert_string_equal(rows_text(&r, i, 1), want[i][1]);
		assert_string_equal(rows_text(&r, i, 2), want[i][2]);
		assert_int_equal(rows_int(&r, i, 3), atoi(want[i][3]));
	}
	rows_done(&r);
	/* grouped by device there is one row, which counts the requests of unknown owners */
	rows_sql(&r, fx.a,
		 "SELECT bytes, unknown_owner_ios FROM io_usage(0, 100000000, 0, 'none')");
	assert_int_equal(r.row_cnt, 1);
	assert_int_equal(rows_int(&r, 0, 0), 8 * 4096);
	assert_int_equal(rows_int(&r, 0, 1), 3);
	rows_done(&r);
	/* the write of the kworker may be anybody's: of who dirtied none of it, too */
	for (unsigned int i = 0; i < 3; i++) {
		const struct report_request q = {
			.view = i < 2 ? "io" : "totals", .to_ns = UINT64_MAX,
			.comm = i ? "alice" : NULL, .by = i < 2 ? 1u << REPORT_BY_COMM : 0,
		};
		bool is_known;

		rows_report(&r, fx.a, &q);
		for (unsigned int k = 0; k < r.row_cnt; k++) {
			is_known = i || strcmp(rows_text(&r, k, 0), "[unknown]") != 0;
			if (i < 2) {
				rows_cells(&r, k, "unowned_ios unowned_bytes", is_known,
					   is_known ? 4096 : 0);
			}
			if (i)
				assert_int_equal(rows_cell(&r, k, "complete"), 0);
		}
		assert_int_equal(analysis_unowned(fx.a, &q).bytes, i ? 4096 : 0);
		rows_done(&r);
	}
}

UNIT_TESTS_END(made_close, fx)
