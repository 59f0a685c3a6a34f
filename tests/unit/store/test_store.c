/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The trace directory: files, rotation, manifest, moving aside, and reading while it is written. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "format/chunk.h"
#include "trace/trace_read.h"
#include "tests/unit/gen/gen_trace.h"
#include "store/chunk_scan.h"
#include "store/manifest.h"
#include "store/store_writer.h"
#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"

/* store_backup(): only the caller is trusted. */
#define NO_USER ((uid_t)-1)

static char dir[64], path[80], old[96];

static int setup(void **state)
{
	gen_temp_dir(dir);
	snprintf(path, sizeof(path), "%s/t.ebpfrec", dir);
	snprintf(old, sizeof(old), "%s.old", path);
	return 0;
}

static int teardown(void **state)
{
	gen_remove_dir(dir);
	return 0;
}

static const struct store_config nobody = { .uid = (uid_t)-1, .gid = (gid_t)-1 };

static struct gen *open_gen(uint64_t file_bytes)
{
	return gen_open(path, &(struct gen_config){ .from_ns = 1000, .file_bytes = file_bytes });
}

static void write_slices(struct gen *g, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++) {
		gen_switch(g, 1500 + i * 1000, 0, i, i + 1, 0);
		gen_kfree(g, 1600 + i * 1000, 0, i + 1, 64);
		gen_slice(g, 2000 + i * 1000);
	}
}

static size_t file_count(void)
{
	uint64_t *numbers = NULL;
	size_t cnt = 0;
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	assert_int_equal(chunk_name_list(fd, &numbers, &cnt), 0);
	free(numbers);
	close(fd);
	return cnt;
}

static size_t count_events(struct trace *t)
{
	struct event_cursor *c;
	const struct event *ev;
	size_t n = 0;

	assert_int_equal(event_cursor_open(&c, t, ~0u, 0, UINT64_MAX, NULL), 0);
	while (event_cursor_next(c, &ev, NULL) > 0)
		n++;
	event_cursor_close(c);
	return n;
}

static void check_trace(size_t blocks, bool finished, size_t damages)
{
	struct trace *t;
	size_t cnt;

	assert_int_equal(trace_open(&t, path, NULL), 0);
	assert_int_equal(trace_is_finished(t), finished);
	trace_blocks(t, &cnt);
	assert_int_equal(cnt, blocks);
	assert_int_equal(count_events(t), blocks * 2);
	trace_damages(t, &cnt);
	assert_int_equal(cnt, damages);
	trace_close(t);
}

UNIT_TEST_IN(test_files_are_private, setup, teardown)
{
	struct gen *g;
	struct stat st;

	umask(0);
	g = open_gen(0);
	write_slices(g, 0, 1);
	gen_abort(g);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(file_in(path, "manifest"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(file_in(path, "chunk-000000.ebr"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

UNIT_TEST_IN(test_new_file_at_a_size, setup, teardown)
{
	struct gen *g = open_gen(20000);
	uint64_t bytes;

	write_slices(g, 0, 100);
	bytes = store_writer_bytes(gen_store_writer(g));
	assert_true(bytes > 40000);
	gen_finish(g);
	assert_in_range(file_count(), bytes / 20000 + 1, bytes / 10000);
	check_trace(100, true, 0);
}

UNIT_TEST_IN(test_one_block_a_file_when_blocks_are_larger, setup, teardown)
{
	struct gen *g = open_gen(1);

	write_slices(g, 0, 5);
	gen_finish(g);
	assert_int_equal(file_count(), 5);
	check_trace(5, true, 0);
}

UNIT_TEST_IN(test_new_file_at_an_age, setup, teardown)
{
	struct store_config c = nobody;
	struct store_writer *w;
	struct gen *g = gen_open(NULL, &(struct gen_config){ .from_ns = 1000 });
	const void *block;
	size_t bytes;

	c.file_age_ns = 20000000;
	assert_int_equal(store_writer_create(&w, path, &c, NULL), 0);
	for (int i = 0; i < 3; i++) {
		write_slices(g, (unsigned int)i, (unsigned int)i + 1);
		block = gen_last_block(g, &bytes);
		assert_int_equal(store_writer_append(w, block, bytes, 1, NULL), 0);
		usleep(30000);
	}
	assert_int_equal(store_writer_finish(w, NULL), 0);
	gen_finish(g);
	assert_int_equal(file_count(), 3);
	check_trace(3, true, 0);
}

UNIT_TEST_IN(test_trace_of_a_killed_recorder_reads, setup, teardown)
{
	struct gen *g = open_gen(20000);

	write_slices(g, 0, 30);
	gen_abort(g);
	check_trace(30, false, 0);
}

UNIT_TEST_IN(test_trace_without_a_block_opens, setup, teardown)
{
	struct gen *g = open_gen(0);
	struct trace *t;
	size_t cnt;

	gen_abort(g);
	check_trace(0, false, 0);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	assert_int_equal(trace_start_ns(t), 0);
	assert_int_equal(trace_end_ns(t), 0);
	assert_int_equal(trace_real_ns(t, 5), 0);
	trace_processes(t, &cnt);
	assert_int_equal(cnt, 0);
	trace_close(t);
}

UNIT_TEST_IN(test_growing_trace_reads_as_a_prefix, setup, teardown)
{
	struct gen *g = open_gen(30000);
	struct trace *early;

	write_slices(g, 0, 3);
	assert_int_equal(trace_open(&early, path, NULL), 0);
	for (unsigned int i = 3; i < 60; i++) {
		write_slices(g, i, i + 1);
		check_trace(i + 1, false, 0);
	}
	/* a trace opened early still has its first blocks, after all later writes */
	assert_int_equal(count_events(early), 6);
	trace_close(early);
	gen_finish(g);
	check_trace(60, true, 0);
}

/* Another process appends as fast as it can while this one reads. */
UNIT_TEST_IN(test_reader_never_sees_half_a_block, setup, teardown)
{
	time_t give_up = time(NULL) + 60;
	size_t last = 0, cnt;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		struct gen_mix m = { .seed = 3, .now_ns = 1000 };
		struct gen *g = open_gen(3000000);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		gen_mix_start(g, &m);
		for (;;) {
			gen_mix_run(g, &m, 4000);
			gen_slice(g, ++m.now_ns);
			usleep(1000);
		}
	}
	while (last < 100 && time(NULL) < give_up) {
		struct trace *t;
		size_t blocks, i, events = 0;
		const struct trace_block *b;

		if (trace_open(&t, path, NULL) < 0) {
			assert_int_equal(last, 0);
			usleep(1000);
			continue;
		}
		b = trace_blocks(t, &blocks);
		assert_true(blocks >= last);
		for (i = blocks > 5 ? blocks - 5 : 0; i < blocks; i++) {
			unsigned int k;

			for (k = 0; k < EVENT_KIND_CNT; k++)
				events += b[i].kind_cnt[k];
		}
		if (blocks) {
			struct event_cursor *c;
			const struct event *ev;

			event_cursor_open(&c, t, ~0u, b[blocks > 5 ? blocks - 5 : 0].from_ns,
					  UINT64_MAX, NULL);
			while (event_cursor_next(c, &ev, NULL) > 0)
				events--;
			event_cursor_close(c);
		}
		assert_int_equal(events, 0);
		/* at most the block being written, at the very end */
		trace_damages(t, &cnt);
		assert_true(cnt <= 1);
		last = blocks;
		trace_close(t);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	assert_true(last >= 100);
}

UNIT_TEST_IN(test_full_disk_leaves_whole_blocks, setup, teardown)
{
	struct rlimit lim, was;
	struct err e = { 0 };
	const void *block;
	struct store_writer *w;
	struct gen *g = gen_open(NULL, &(struct gen_config){ .from_ns = 1000 });
	size_t bytes, done = 0;
	int r = 0;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(store_writer_create(&w, path, &nobody, &e), 0);
	getrlimit(RLIMIT_FSIZE, &was);
	lim = was;
	lim.rlim_cur = 10001;
	setrlimit(RLIMIT_FSIZE, &lim);
	while (r == 0) {
		write_slices(g, (unsigned int)done, (unsigned int)done + 1);
		block = gen_last_block(g, &bytes);
		r = store_writer_append(w, block, bytes, 0, &e);
		done += r == 0;
	}
	setrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(r, -EFBIG);
	assert_non_null(strstr(e.text, "chunk-000000.ebr"));
	assert_true(done > 2);
	store_writer_abort(w);
	check_trace(done, false, 0);
	gen_finish(g);
}

UNIT_TEST_IN(test_full_disk_then_room_again, setup, teardown)
{
	struct rlimit lim, was;
	struct err e = { 0 };
	const void *block;
	struct store_writer *w;
	struct gen *g = gen_open(NULL, &(struct gen_config){ .from_ns = 1000 });
	size_t bytes;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(store_writer_create(&w, path, &nobody, &e), 0);
	write_slices(g, 0, 1);
	block = gen_last_block(g, &bytes);
	getrlimit(RLIMIT_FSIZE, &was);
	lim = was;
	lim.rlim_cur = bytes / 2;
	setrlimit(RLIMIT_FSIZE, &lim);
	assert_int_equal(store_writer_append(w, block, bytes, 0, &e), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(store_writer_append(w, block, bytes, 0, &e), 0);
	assert_int_equal(store_writer_finish(w, &e), 0);
	check_trace(1, true, 0);
	gen_finish(g);
}

UNIT_TEST_IN(test_create_refuses_what_exists, setup, teardown)
{
	struct store_writer *w;
	struct err e = { 0 };
	char target[96];

	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(store_writer_create(&w, path, &nobody, &e), -EEXIST);
	assert_non_null(strstr(e.text, path));
	rmdir(path);
	/* a link to somewhere else is not followed */
	snprintf(target, sizeof(target), "%s/elsewhere", dir);
	assert_int_equal(mkdir(target, 0700), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(store_writer_create(&w, path, &nobody, NULL), -EEXIST);
	unlink(path);
	memset(&e, 0, sizeof(e));
	assert_int_equal(store_writer_create(&w, file_in(dir, "no/such"), &nobody, &e), -ENOENT);
	assert_non_null(strstr(e.text, "no/such"));
}

UNIT_TEST_IN(test_move_aside, setup, teardown)
{
	struct err e = { 0 };
	struct stat st;

	assert_int_equal(store_backup(path, 0, NO_USER, &e), 0);	/* nothing there */
	gen_finish(open_gen(0));
	assert_int_equal(store_backup(path, 0, NO_USER, &e), 1);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(stat(old, &st), 0);
	/* a second time would destroy the first */
	gen_finish(open_gen(0));
	assert_int_equal(store_backup(path, 0, NO_USER, &e), -EEXIST);
	assert_int_equal(stat(path, &st), 0);
	assert_non_null(strstr(e.text, "-f"));
	assert_int_equal(store_backup(path, 1, NO_USER, NULL), 2);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(stat(old, &st), 0);
}

UNIT_TEST_IN(test_move_aside_with_a_slash_behind, setup, teardown)
{
	struct stat st;

	gen_finish(open_gen(0));
	assert_int_equal(store_backup(file_in(path, "%s", ""), 0, NO_USER, NULL), 1);
	assert_int_equal(stat(old, &st), 0);
	assert_int_equal(stat(path, &st), -1);
}

UNIT_TEST_IN(test_move_aside_touches_only_traces, setup, teardown)
{
	char file[128];
	struct stat st;

	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(store_backup(path, 1, NO_USER, NULL), -ENOTEMPTY);
	rmdir(path);
	file_write(path, "", 0);
	assert_int_equal(store_backup(path, 1, NO_USER, NULL), -EEXIST);
	unlink(path);
	/* path.old is something else: -f does not make it fair game */
	gen_finish(open_gen(0));
	assert_int_equal(mkdir(old, 0700), 0);
	snprintf(file, sizeof(file), "%s/precious", old);
	file_write(file, "", 0);
	assert_true(store_backup(path, 1, NO_USER, NULL) < 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(stat(path, &st), 0);
}

UNIT_TEST_IN(test_remove_leaves_foreign_files, setup, teardown)
{
	struct gen *g = open_gen(1);
	struct err e = { 0 };
	char file[128];
	struct stat st;

	write_slices(g, 0, 3);
	gen_finish(g);
	snprintf(file, sizeof(file), "%s/notes.txt", path);
	file_write(file, "", 0);
	assert_true(store_remove(path, &e) < 0);
	assert_int_equal(stat(file, &st), 0);
	unlink(file);
	gen_remove_dir(path);
	g = open_gen(1);
	write_slices(g, 0, 3);
	gen_abort(g);
	assert_int_equal(store_remove(path, NULL), 0);
	assert_int_equal(stat(path, &st), -1);
	assert_true(store_remove(path, NULL) < 0);
	assert_true(store_remove("/tmp", NULL) < 0);
}

UNIT_TEST_IN(test_manifest_keeps_any_bytes, setup, teardown)
{
	static const char nasty[] = "a=b\nstate=finished\\x41\x01\x7f\xff\x1b[31m \"'";
	struct store_writer *w;
	struct trace *t;
	char big[5000];
	size_t cnt;

	memset(big, '\xe4', sizeof(big));
	big[sizeof(big) - 1] = 0;
	assert_int_equal(store_writer_create(&w, path, &nobody, NULL), 0);
	assert_int_equal(store_writer_set(w, "note.nasty", nasty), 0);
	assert_int_equal(store_writer_set(w, "note.big", big), 0);
	assert_int_equal(store_writer_set(w, "empty", ""), 0);
	assert_int_equal(store_writer_set(w, "empty", "now not"), 0);
	assert_int_equal(store_writer_set(w, "Not A Key", "x"), -EINVAL);
	assert_int_equal(store_writer_set(w, "", "x"), -EINVAL);
	assert_int_equal(store_writer_flush_manifest(w, NULL), 0);
	store_writer_abort(w);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	assert_false(trace_is_finished(t));
	assert_string_equal(trace_get(t, "note.nasty"), nasty);
	assert_string_equal(trace_get(t, "note.big"), big);
	assert_string_equal(trace_get(t, "empty"), "now not");
	assert_null(trace_get(t, "nothing"));
	trace_manifest(t, &cnt);
	assert_int_equal(cnt, 6);	/* and trace.id, trace.uuid */
	trace_close(t);
}

UNIT_TEST_IN(test_manifest_parser_takes_anything, setup, teardown)
{
	static const char *const bad[] = {
		"", "x", "ebpfrec trace ", "ebpfrec trace 0\n", "ebpfrec trace 2", "EBPFREC"
	};
	static const char odd[] =
		"ebpfrec trace 2\n\n=x\nkey\nstate=s\nk=v\\x4\\x\\\\xzz\nBAD=1\n"
		"z=\\x00hidden\nlast=1";
	struct manifest m = { 0 };
	uint64_t seed = 3;
	char junk[400];
	size_t i, k;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(manifest_parse(&m, bad[i], strlen(bad[i])), -EINVAL);
	assert_int_equal(manifest_parse(&m, "ebpfrec trace 1\n", 16), -EPROTONOSUPPORT);
	assert_int_equal(manifest_parse(&m, "ebpfrec trace 3\n", 16), -EPROTONOSUPPORT);
	assert_int_equal(manifest_parse(&m, "ebpfrec trace 10\n", 17), -EPROTONOSUPPORT);
	assert_int_equal(manifest_parse(&m, odd, sizeof(odd) - 1), 0);
	assert_string_equal(manifest_get(&m, "k"), "v\\x4\\x\\\\xzz");
	assert_string_equal(manifest_get(&m, "z"), "");
	assert_string_equal(manifest_get(&m, "last"), "1");
	assert_int_equal(m.cnt, 4);
	manifest_done(&m);
	for (i = 0; i < 3000; i++) {
		memcpy(junk, "ebpfrec trace 2\nstate=\n", 23);
		for (k = 23; k < sizeof(junk); k++)
			junk[k] = "=\n\\xab01 \0"[gen_random(&seed) % 11];
		assert_int_equal(manifest_parse(&m, junk, sizeof(junk)), 0);
		assert_int_equal(m.damaged_bytes, 0);
		manifest_done(&m);
	}
}

/* A damaged first line is not taken for another format, nor a lost checksum for a missing one. */
UNIT_TEST_IN(test_manifest_parser_tells_damage_from_other_formats, setup, teardown)
{
	static const struct {
		const char *text;
		int result;
		bool damaged;
	} cases[] = {
		{ "ebpfrec trace 2\nstate=x\n", 0, false },
		{ "ebpfrec trace 2\narch=x\nstate=x\n", 0, false },
		{ "ebpfrec trace 2\n", 0, true },
		{ "ebpfrec trace 2\nsta", 0, true },
		{ "ebpfrec trace 2\nc", 0, true },
		{ "ebpfrec trace 2\ncrc32c=01234567\nstate=x\n", 0, true },
		{ "ebpfrec trace 2\ncrc32c=0123456\nstate=x\n", 0, true },
		{ "ebpfrec trace 2\nrc32c=01234567\nstate=x\n", 0, true },
		{ "ebpfrec trace 2\nc3c=01234567\nstate=x\n", 0, true },
		{ "ebpfrec trace 2\nXcrc32c01234567\nstate=x\n", 0, true },
		{ "ebpfrec trace 2crc32c=01234567\nstate=x\n", 0, true },
		{ "ebpfrec trace x\ncrc32c=01234567\nstate=x\n", 0, true },
		{ "ebpfrec trace 3\ncrc32c=01234567\nstate=x\n", -EPROTONOSUPPORT, false },
		{ "ebpfrec trace 10\ncrc32c=01234567\nstate=x\n", -EPROTONOSUPPORT, false },
		{ "ebpfrec trace 3\nstate=x\n", -EPROTONOSUPPORT, false },
		{ "ebpfrec trace x\nstate=x\n", -EINVAL, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct manifest m = { 0 };
		int r = manifest_parse(&m, cases[i].text, strlen(cases[i].text));

		if (r != cases[i].result || !!m.damaged_bytes != cases[i].damaged ||
		    (!r && !manifest_get(&m, cases[i].damaged ? MANIFEST_LOST : "state")))
			fail_msg("case %zu: %d, %zu damaged bytes", i, r, m.damaged_bytes);
		manifest_done(&m);
	}
}

UNIT_TEST_IN(test_open_says_what_is_wrong, setup, teardown)
{
	struct err e = { 0 };
	struct trace *t;
	char file[128];

	assert_int_equal(trace_open(&t, path, &e), -ENOENT);
	assert_non_null(strstr(e.text, path));
	memset(&e, 0, sizeof(e));
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(trace_open(&t, path, &e), -EINVAL);
	assert_non_null(strstr(e.text, "manifest"));
	snprintf(file, sizeof(file), "%s/manifest", path);
	memset(&e, 0, sizeof(e));
	assert_int_equal(trace_open(&t, file, &e), -ENOENT);
	file_write(file, "ebpfrec trace 9\n", 16);
	memset(&e, 0, sizeof(e));
	assert_int_equal(trace_open(&t, file, &e), -ENOTDIR);
	memset(&e, 0, sizeof(e));
	assert_int_equal(trace_open(&t, path, &e), -EPROTONOSUPPORT);
	assert_non_null(strstr(e.text, "newer"));
}

UNIT_TEST_IN(test_chunk_names, setup, teardown)
{
	char name[CHUNK_NAME_BYTES];
	uint64_t n = 77;

	chunk_name_format(name, 0);
	assert_string_equal(name, "chunk-000000.ebr");
	chunk_name_format(name, 1234567);
	assert_string_equal(name, "chunk-1234567.ebr");
	assert_int_equal(chunk_name_parse(name, &n), 0);
	assert_int_equal(n, 1234567);
	assert_int_equal(chunk_name_parse("chunk-1.ebr", &n), -EINVAL);
	assert_int_equal(chunk_name_parse("chunk-000001.ebr.new", &n), -EINVAL);
	assert_int_equal(chunk_name_parse("chunk--00001.ebr", &n), -EINVAL);
	assert_int_equal(chunk_name_parse("chunk-0000012", &n), -EINVAL);
	assert_int_equal(chunk_name_parse("manifest", &n), -EINVAL);
}

UNIT_TEST_IN(test_small_sections_come_through, setup, teardown)
{
	const struct trace_loss loss = { .from_ns = 1, .to_ns = UINT64_MAX, .cpu = UINT16_MAX,
					 .hook = 9, .cls = 2, .full_cnt = 3, .other_cnt = 4,
					 .missed_cnt = 5 };
	const struct trace_cost cost = { .from_ns = 1, .to_ns = 2, .user_ns = 3, .sys_ns = 4,
					 .bytes_written = 5, .ring_used_max_bytes = 6,
					 .ring_size_bytes = 7, .rss_bytes = 8 };
	const struct trace_hook_stat stat = { .from_ns = 1, .to_ns = 2, .hook = 28,
					      .attempted_cnt = 3, .read_cnt = 4, .run_cnt = 5,
					      .run_time_ns = 6 };
	const struct trace_hook_stat *hs;
	const struct trace_loss *l;
	const struct trace_cost *c;
	struct gen *g = open_gen(0);
	struct trace *t;
	size_t cnt;

	gen_loss(g, &loss);
	gen_cost(g, &cost);
	gen_hook_stat(g, &stat);
	gen_cache_alloc(g, 1500, 0, 5, 64, 64, 0xffffffff81000042, 0xffff888000001234);
	gen_block(g, 1600, 0, 5, WIRE_BLOCK_ISSUE, 1, 8 << 20 | 1, 0, 512, 1);
	gen_slice(g, 2000);
	gen_slice(g, 1002000);
	gen_finish(g);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	l = trace_losses(t, &cnt);
	assert_int_equal(cnt, 1);
	assert_int_equal(l->to_ns, trace_end_ns(t)); /* it was found after the end */
	assert_int_equal(l->cpu, UINT16_MAX);
	assert_int_equal(l->missed_cnt, 5);
	c = trace_costs(t, &cnt);
	assert_int_equal(cnt, 1);
	assert_memory_equal(c, &cost, sizeof(cost));
	hs = trace_hook_stats(t, &cnt);
	assert_int_equal(cnt, 1);
	assert_int_equal(hs->hook, 28);
	assert_int_equal(hs->run_time_ns, 6);
	trace_clocks(t, &cnt);
	assert_int_equal(cnt, 2);
	/* the clock rows are at 2000 and 1002000: 1.7e18 ahead, exactly */
	assert_int_equal(trace_real_ns(t, 1500), 1700000000000001500ull);
	assert_int_equal(trace_mono_from_real_ns(t, 1700000000000999999ull), 999999);
	assert_string_equal(trace_name_find(t, TRACE_NAME_CACHE, 0xffff888000001234)->name,
			    "cache-ffff888000001234");
	assert_int_equal(trace_name_find(t, TRACE_NAME_CACHE, 0xffff888000001234)->arg, 192);
	assert_string_equal(trace_name_find(t, TRACE_NAME_SYMBOL, 0xffffffff81000042)->name,
			    "function_ffffffff810000+0x42");
	assert_string_equal(trace_name_find(t, TRACE_NAME_DEVICE, 8 << 20 | 1)->name, "dev8:1");
	assert_null(trace_name_find(t, TRACE_NAME_DEVICE, 99));
	trace_names(t, TRACE_NAME_SYMBOL, &cnt);
	assert_int_equal(cnt, 1);
	trace_close(t);
}

/*
 * A cost row with the same interval as a block gets the block's size, which the recorder could not
 * know.
 */
UNIT_TEST_IN(test_cost_of_a_slice_has_its_blocks_size, setup, teardown)
{
	static const uint64_t slices[][2] = { { 1000, 1999 }, { 1001, 2000 }, { 1000, 2000 } };
	struct gen *g = open_gen(0);
	const struct trace_cost *c;
	struct trace *t;
	size_t cnt;

	for (size_t i = 0; i < 3; i++)
		gen_cost(g, &(struct trace_cost){ .from_ns = slices[i][0], .to_ns = slices[i][1],
						  .bytes_written = 5 });
	gen_slice(g, 2000);
	gen_finish(g);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	assert_int_equal(trace_block_at(t, 0)->from_ns, 1000);
	c = trace_costs(t, &cnt);
	assert_int_equal(cnt, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(c[i].bytes_written, i < 2 ? 5 : trace_block_at(t, 0)->bytes);
	trace_close(t);
}

UNIT_TESTS
