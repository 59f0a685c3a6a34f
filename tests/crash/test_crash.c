/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A recording on a disk that fails, or loses its power, before each of its operations. Data that
 * was reported as written exists, partial data never counts as whole, every error is reported, and
 * no file stays open.
 */
#include "trace/trace.h"
#include "sim_disk.h"
#include "store/chunk_scan.h"
#include "store/store_writer.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/unit_test.h"

#define BLOCKS 10
#define DICE 8		/* crashes per operation */
#define NEVER UINT64_MAX

static struct {
	uint8_t *data;
	size_t bytes;
	uint64_t from_ns, events;
} blocks[BLOCKS];
static char dir[64], path[80];

static int make_blocks(void **state)
{
	struct gen_mix m = { .seed = 9, .now_ns = 1000000 };
	struct gen *g = gen_open(NULL, &(struct gen_config){ .from_ns = m.now_ns });
	const void *block;

	gen_mix_start(g, &m);
	for (int i = 0; i < BLOCKS; i++) {
		/* Small blocks fit into a sector; large blocks tear in many places. */
		gen_mix_run(g, &m, i % 3 == 2 ? 1200 : 40);
		blocks[i].from_ns = m.now_ns;
		gen_slice(g, ++m.now_ns);
		block = gen_last_block(g, &blocks[i].bytes);
		blocks[i].data = malloc(blocks[i].bytes);
		memcpy(blocks[i].data, block, blocks[i].bytes);
	}
	gen_mix_done(&m);
	gen_finish(g);
	/* in memory if there is a place: thousands of small files */
	snprintf(dir, sizeof(dir), "/dev/shm/ebpfrec-crash.XXXXXX");
	if (!mkdtemp(dir))
		gen_temp_dir(dir);
	snprintf(path, sizeof(path), "%s/t", dir);
	return 0;
}

static int free_blocks(void **state)
{
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i].data);
	gen_remove_dir(dir);
	return 0;
}

struct recording {
	int created;		/* result of store_writer_create() */
	unsigned int appended;	/* blocks that were taken */
	int error;		/* the first */
	struct err e;
	bool finished;
};

/* synced: the number of blocks that are appended with a sync. */
static struct recording record_how(struct sim_disk *d, bool with_thread, int synced)
{
	const struct store_config config = { .uid = (uid_t)-1, .gid = (gid_t)-1,
					     .files = sim_files(d), .sync_inline = !with_thread,
					     .file_bytes = blocks[2].bytes + 3 * blocks[0].bytes };
	struct recording r = { 0 };
	struct store_writer *w;

	r.error = r.created = store_writer_create(&w, "t", &config, &r.e);
	if (r.error < 0)
		return r;
	store_writer_set(w, "page_bytes", "4096");
	r.error = store_writer_flush_manifest(w, &r.e);
	for (int i = 0; r.error == 0 && i < BLOCKS; i++) {
		r.error = store_writer_append(w, blocks[i].data, blocks[i].bytes, i < synced, &r.e);
		r.appended += r.error == 0;
	}
	if (r.error == 0) {
		r.error = store_writer_finish(w, &r.e);
		r.finished = r.error == 0;
	} else {
		store_writer_abort(w);
	}
	return r;
}

/* Records all blocks, and ends with the first error, as the session does. */
static struct recording record(struct sim_disk *d, bool with_thread)
{
	return record_how(d, with_thread, BLOCKS);
}

/* ---- checks afterwards ---- */

static int on_block(void *ctx, uint64_t offset, struct block_meta *front)
{
	block_meta_free(front);
	return 0;
}

static int on_damage(void *ctx, uint64_t offset, uint64_t bytes, const char *reason)
{
	*(const char **)ctx = reason;
	return 0;
}

/* The files of a trace marked as finished are whole. */
static void check_finished_files(void)
{
	const char *reason = NULL;
	const struct chunk_sink sink = { &reason, on_block, on_damage };
	int dir_fd = open(path, O_RDONLY | O_DIRECTORY), fd;
	struct chunk_scan_info info;
	char name[CHUNK_NAME_BYTES];
	uint64_t *numbers = NULL;
	size_t cnt = 0, i;

	assert_int_equal(chunk_name_list(dir_fd, &numbers, &cnt), 0);
	for (i = 0; i < cnt; i++) {
		reason = NULL;
		chunk_name_format(name, numbers[i]);
		fd = openat(dir_fd, name, O_RDONLY);
		assert_int_equal(chunk_scan_from(fd, 0, true, &sink, &info), 0);
		close(fd);
		if (reason)
			fail_msg("%s is of a finished trace, and has a damaged %s", name, reason);
	}
	free(numbers);
	close(dir_fd);
}

/*
 * Returns the index of the recorded block that equals b. Fails if there is none, or if a byte
 * differs.
 */
static unsigned int which(const struct trace_block *b)
{
	uint8_t *p = malloc(b->bytes);
	unsigned int i;
	char file[128];
	int fd;

	snprintf(file, sizeof(file), "%s/%s", path, b->file);
	fd = open(file, O_RDONLY);
	assert_int_equal(pread(fd, p, b->bytes, (off_t)b->offset), (ssize_t)b->bytes);
	close(fd);
	for (i = 0; i < BLOCKS; i++)
		if (b->bytes == blocks[i].bytes && !memcmp(p, blocks[i].data, b->bytes))
			break;
	free(p);
	if (i == BLOCKS)
		fail_msg("block at %llu of %s was never written like that",
			 (unsigned long long)b->offset, b->file);
	return i;
}

/*
 * Reads the saved trace. must: mask of the blocks that must exist. Returns the mask of existing
 * blocks. damage_ok: skipped parts may be declared.
 */
static unsigned int check(unsigned int must, bool finished, bool damage_ok)
{
	const struct trace_block *b;
	const struct trace_damage *d;
	unsigned int there = 0;
	struct err e = { "" };
	struct trace *t;
	size_t cnt, i;
	int r;

	r = trace_open(&t, path, &e);
	if (r < 0) {
		/* it never became a trace */
		assert_int_equal(r, -EINVAL);
		assert_int_equal(must, 0);
		assert_false(finished);
		return 0;
	}
	b = trace_blocks(t, &cnt);
	for (i = 0; i < cnt; i++) {
		there |= 1u << which(&b[i]);
		assert_int_equal(trace_block_verify(t, i, &e), 0);
	}
	if ((there & must) != must)
		fail_msg("blocks %x are there, not all of %x", there, must);
	if (finished)
		assert_true(trace_is_finished(t));
	if (trace_is_finished(t)) {
		assert_int_equal(there, (1u << BLOCKS) - 1);
		check_finished_files();
	}
	d = trace_damages(t, &cnt);
	if (!damage_ok && cnt)
		fail_msg("%s at %llu of %s", d->reason, (unsigned long long)d->offset, d->file);
	trace_close(t);
	return there;
}

static uint64_t op_cnt(void)
{
	struct sim_disk *d = sim_new(&(struct sim_plan){ .fail_at = NEVER, .power_at = NEVER });
	struct recording r = record(d, false);
	uint64_t n = sim_op_cnt(d);

	assert_int_equal(r.error, 0);
	assert_true(r.finished);
	assert_int_equal(sim_open_cnt(d), 0);
	assert_true(sim_save(d, path));
	check((1u << BLOCKS) - 1, true, false);
	gen_remove_dir(path);
	sim_free(d);
	return n;
}

/* Data that append() reported as written exists after a power failure before any operation. */
UNIT_TEST(test_power_goes_before_every_operation)
{
	uint64_t n = op_cnt(), at, dice;
	unsigned int more = 0, damaged = 0;

	assert_true(n > 60);
	for (at = 0; at <= n; at++) {
		struct sim_disk *d =
			sim_new(&(struct sim_plan){ .fail_at = NEVER, .power_at = at });
		struct recording r = record(d, false);
		unsigned int must = (1u << r.appended) - 1, there;

		assert_int_equal(sim_open_cnt(d), 0);
		assert_true(r.finished || r.error == -EIO);
		for (dice = 0; dice < DICE; dice++) {
			if (!sim_save_after_crash(d, path, at * DICE + dice + 1)) {
				assert_int_equal(must, 0);
				continue;
			}
			there = check(must, r.finished, true);
			more += there > must;
			damaged += there == must;
			gen_remove_dir(path);
		}
		sim_free(d);
	}
	/* else the dice are loaded: a block that was not acknowledged may have got there, or not */
	assert_true(more > 5 && damaged > 50);
}

/*
 * Without a sync per block, closing a file syncs it: a trace that is finished has all its blocks.
 */
static void run_without_syncs(bool with_thread)
{
	uint64_t n = op_cnt(), at, dice;

	for (at = 0; at <= n; at++) {
		struct sim_disk *d =
			sim_new(&(struct sim_plan){ .fail_at = NEVER, .power_at = at });
		/* the first starts the thread, which then closes */
		struct recording r = record_how(d, with_thread, with_thread);

		for (dice = 0; dice < DICE; dice++) {
			if (!sim_save_after_crash(d, path, at * DICE + dice + 1))
				continue;
			check(r.finished ? (1u << BLOCKS) - 1 : 0, r.finished, true);
			gen_remove_dir(path);
		}
		sim_free(d);
	}
}

UNIT_TEST(test_power_goes_without_syncs)
{
	run_without_syncs(false);
}

UNIT_TEST(test_power_goes_while_a_thread_closes)
{
	run_without_syncs(true);
}

/* Syncs have a thread of their own: a reader sees the blocks that the disk has, and no others. */
UNIT_TEST(test_power_goes_while_a_thread_syncs)
{
	uint64_t n = op_cnt(), at, dice;

	for (at = 0; at <= n; at++) {
		struct sim_disk *d =
			sim_new(&(struct sim_plan){ .fail_at = NEVER, .power_at = at });
		struct recording r = record(d, true);
		unsigned int must = 0, i;
		char name[CHUNK_NAME_BYTES];
		uint64_t file, offset = sizeof(struct disk_file);

		assert_int_equal(sim_open_cnt(d), 0);
		/* as the writer lays them out: by the size of the block before */
		for (i = 0, file = 0; i < r.appended; i++) {
			if (offset > sizeof(struct disk_file) &&
			    offset + blocks[i - 1].bytes > blocks[2].bytes + 3 * blocks[0].bytes) {
				file++;
				offset = sizeof(struct disk_file);
			}
			chunk_name_format(name, file);
			if (sim_is_durable(d, name, offset, blocks[i].bytes))
				must |= 1u << i;
			offset += blocks[i].bytes;
		}
		if (r.finished)
			assert_int_equal(must, (1u << BLOCKS) - 1);
		for (dice = 0; dice < DICE; dice++) {
			if (!sim_save_after_crash(d, path, at * DICE + dice + 1))
				continue;
			check(must, r.finished, true);
			gen_remove_dir(path);
		}
		sim_free(d);
	}
}

/* The recorder continues while the disk is slow, and afterwards everything is written. */
UNIT_TEST(test_slow_sync_holds_up_nobody)
{
	struct sim_disk *d = sim_new(&(struct sim_plan){ .fail_at = NEVER, .power_at = NEVER });
	const struct store_config config = { .uid = (uid_t)-1, .gid = (gid_t)-1,
					     .files = sim_files(d) };
	struct err e = { "" };
	struct store_writer *w;
	struct store_sync_stats stats;
	int i;

	assert_int_equal(store_writer_create(&w, "t", &config, &e), 0);
	sim_hold_syncs(d, true);
	for (i = 0; i < BLOCKS; i++)
		assert_int_equal(store_writer_append(w, blocks[i].data, blocks[i].bytes, 1, &e), 0);
	/* a recorder killed here loses nothing */
	assert_true(sim_save(d, path));
	check((1u << BLOCKS) - 1, false, false);
	gen_remove_dir(path);
	assert_false(sim_is_durable(d, "chunk-000000.ebr", 64, blocks[0].bytes));
	sim_hold_syncs(d, false);
	/* requests that waited have become one, and it covers everything */
	for (i = 0; i < 5000; i++) {
		store_writer_sync_stats(w, &stats);
		/* (a sync is counted when it has returned, and on the disk before) */
		if (stats.cnt &&
		    sim_is_durable(d, "chunk-000000.ebr", 64, store_writer_bytes(w) - 64))
			break;
		usleep(2000);
	}
	assert_true(i < 5000);
	assert_in_range(stats.cnt, 1, 2);
	store_writer_abort(w);
	assert_int_equal(sim_open_cnt(d), 0);
	sim_free(d);
}

static const int errors[] = { ENOSPC, EIO, EROFS, ENOENT, EDQUOT, 0 };

/*
 * One operation fails, or one and all later ones. The error is reported, and data accepted earlier
 * exists.
 */
static void run_failures(bool with_thread, bool fail_on)
{
	uint64_t n = op_cnt(), at;
	unsigned int k, told = 0;

	for (k = 0; k < sizeof(errors) / sizeof(*errors); k++) {
		for (at = 0; at < n; at++) {
			struct sim_disk *d = sim_new(&(struct sim_plan){
				.fail_at = at, .fail_on = fail_on, .error = errors[k],
				.power_at = NEVER });
			struct recording r = record(d, with_thread);
			unsigned int must = (1u << r.appended) - 1;

			assert_int_equal(sim_open_cnt(d), 0);
			/* half a write is not an error */
			if (!errors[k])
				assert_int_equal(r.error, 0);
			if (r.error < 0) {
				told++;
				assert_true(strlen(r.e.text) > 10);
				assert_non_null(strchr(r.e.text, '\''));
			} else if (errors[k] && errors[k] != ENOENT && !fail_on) {
				/* forgiven: removing a left-over name, closing a directory */
				assert_true(r.finished);
			}
			if (!r.created && sim_save(d, path)) {
				/*
					 * Data that a sync could not write is still in the cache;
					 * half of a block was cut off.
				 */
				check(must, r.finished, fail_on);
				gen_remove_dir(path);
			}
			/* could not even be begun: nothing is left */
			if (r.created < 0 && !fail_on) {
				assert_false(sim_save(d, path));
			} else if (r.created < 0) {
				gen_remove_dir(path);
			}
			sim_free(d);
		}
	}
	assert_true(told > 5 * 40);
}

UNIT_TEST(test_every_operation_fails_once)
{
	run_failures(false, false);
}

UNIT_TEST(test_every_operation_fails_for_good)
{
	run_failures(false, true);
}

UNIT_TEST(test_every_operation_fails_beside_a_thread)
{
	run_failures(true, false);
	run_failures(true, true);
}

/* A sync fails, then the power fails: blocks synced earlier exist. */
UNIT_TEST(test_failed_sync_then_power)
{
	uint64_t n = op_cnt(), at, dice;

	for (at = 0; at < n; at++) {
		struct sim_disk *d = sim_new(&(struct sim_plan){ .fail_at = at, .error = EIO,
								 .power_at = NEVER });
		struct recording r = record(d, false);

		for (dice = 0; dice < DICE && r.error < 0; dice++) {
			if (!sim_save_after_crash(d, path, dice + 1))
				continue;
			check((1u << r.appended) - 1, false, true);
			gen_remove_dir(path);
		}
		sim_free(d);
	}
}

UNIT_TESTS_IN(make_blocks, free_blocks)
