/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A trace that keeps only its end, and a trace that is read while it is written: the files that are
 * removed and those that stay.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "trace/trace.h"
#include "tests/unit/gen/gen_trace.h"
#include "store/chunk_scan.h"
#include "store/files.h"
#include "store/store_writer.h"
#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"

static char dir[64], path[80];

static int setup(void **state)
{
	gen_temp_dir(dir);
	snprintf(path, sizeof(path), "%s/t.ebpfrec", dir);
	return 0;
}

static int teardown(void **state)
{
	gen_remove_dir(dir);
	return 0;
}

/* Slice i of 100 ms: two threads take turns, one of them allocates, their memory grows. */
static void write_slice(struct gen *g, unsigned int i)
{
	uint64_t t = 1000 + i * 100 * MS;

	if (!i) {
		gen_snap(g, 1000, 0, 100, 100, 1, "steady");
		gen_snap(g, 1000, 1, 200, 200, 1, "sleeper");
		gen_snap(g, 1000, 1, 300, 300, 2, "kthread");
	}
	for (unsigned int k = 0; k < 200; k++) {
		gen_switch(g, t + 10 + k * 1000, 0, k & 1 ? 100 : 0, k & 1 ? 0 : 100, 0);
		gen_kmalloc(g, t + 20 + k * 1000, 0, 100, 0x1000 + 64 * (i * 200 + k), 64, 77, 0);
	}
	gen_rss(g, t + 500000, 0, 100, 100, 1, 1000 + i);
	gen_slice(g, t + 100 * MS);
}

static uint64_t disk_bytes(void)
{
	char file[160];
	uint64_t *numbers = NULL, all = 0;
	size_t cnt = 0, i;
	struct stat st;
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	assert_int_equal(chunk_name_list(fd, &numbers, &cnt), 0);
	close(fd);
	for (i = 0; i < cnt; i++) {
		snprintf(file, sizeof(file), "%s/", path);
		chunk_name_format(file + strlen(file), numbers[i]);
		assert_int_equal(stat(file, &st), 0);
		all += (uint64_t)st.st_size;
	}
	free(numbers);
	return all;
}

UNIT_TEST_IN(test_bytes_kept_are_a_bound_at_every_instant, setup, teardown)
{
	const uint64_t keep = 200000, file = 30000;
	struct gen *g = gen_open(path, &(struct gen_config){ .from_ns = 1000, .file_bytes = file,
							     .keep_bytes = keep });
	const struct store_keep *kept;
	uint64_t most = 0;

	for (unsigned int i = 0; i < 400; i++) {
		write_slice(g, i);
		if (disk_bytes() > most)
			most = disk_bytes();
		assert_true(disk_bytes() <= keep + file);
		kept = store_writer_keep(gen_store_writer(g));
		assert_int_equal(kept->bytes, disk_bytes());
		assert_true(!kept->dropped_files || kept->bytes > keep - file);
	}
	assert_true(kept->dropped_files > 3);
	assert_int_equal(kept->bytes + kept->dropped_bytes,
			 store_writer_bytes(gen_store_writer(g)));
	assert_true(most > keep);
	gen_finish(g);
	assert_true(disk_bytes() <= keep + file);
}

UNIT_TEST_IN(test_time_kept_is_never_less_than_asked_for, setup, teardown)
{
	struct gen *g = gen_open(path, &(struct gen_config){ .from_ns = 1000, .file_bytes = 20000,
							     .keep_ns = 2000 * MS });
	const struct store_keep *kept;

	for (unsigned int i = 0; i < 100; i++) {
		uint64_t end = 1000 + (i + 1) * 100 * MS;

		write_slice(g, i);
		kept = store_writer_keep(gen_store_writer(g));
		assert_true(i < 20 ? store_keep_from_ns(kept) == 1000 :
				     end - store_keep_from_ns(kept) >= 2000 * MS);
	}
	/* and not much more: a file has about five slices here */
	assert_true(1000 + 100 * 100 * MS - store_keep_from_ns(kept) <= 4000 * MS);
	assert_true(kept->dropped_files > 3);
	gen_finish(g);
}

UNIT_TEST_IN(test_the_smaller_of_two_limits_counts, setup, teardown)
{
	struct store_keep k = { .keep_bytes = 1000, .keep_ns = 50 };

	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(store_keep_add_file(&k, i), 0);
		store_keep_add_block(&k, 100, i * 10, i * 10 + 10, 1);
	}
	assert_false(store_keep_has_excess(&k, 100, 59));
	assert_true(store_keep_has_excess(&k, 100, 60));	/* 10 .. 60 are 50 ns */
	assert_false(store_keep_has_excess(&k, 699, 50));
	assert_true(store_keep_has_excess(&k, 700, 50));	/* 300 + 700 bytes */
	store_keep_drop(&k);
	assert_int_equal(k.dropped_bytes, 100);
	assert_int_equal(k.bytes, 300);
	assert_false(store_keep_has_excess(&k, 700, 60));
	store_keep_undo_file(&k, 3);
	store_keep_undo_file(&k, 3);
	assert_int_equal(k.cnt, 2);
	assert_int_equal(k.bytes, 200);
	store_keep_drop(&k);
	assert_false(store_keep_has_excess(&k, 1 << 20, 1 << 20));	/* the last one stays */
	store_keep_done(&k);
}

static const struct trace_process *find(const struct trace *t, uint32_t pid)
{
	size_t cnt, i;
	const struct trace_process *p = trace_processes(t, &cnt);

	for (i = 0; i < cnt; i++)
		if (p[i].pid == pid)
			return &p[i];
	return NULL;
}

UNIT_TEST_IN(test_what_is_left_stands_alone, setup, teardown)
{
	struct gen *g = gen_open(path, &(struct gen_config){ .from_ns = 1000, .file_bytes = 20000,
							     .keep_bytes = 60000 });
	const struct trace_rss *base;
	const struct trace_block *b;
	size_t cnt, i, own = 0;
	struct store_keep kept;
	uint64_t kept_from_ns;
	struct trace *t;

	for (unsigned int k = 0; k < 200; k++)
		write_slice(g, k);
	kept = *store_writer_keep(gen_store_writer(g));
	kept_from_ns = store_keep_from_ns(&kept);
	assert_true(kept.dropped_blocks > 0);
	gen_finish(g);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	assert_int_equal(trace_start_ns(t), kept_from_ns);
	assert_int_equal(strtoull(trace_get(t, "kept.from_ns"), NULL, 10), kept_from_ns);
	assert_int_equal(strtoull(trace_get(t, "dropped.files"), NULL, 10), kept.dropped_files);
	assert_int_equal(strtoull(trace_get(t, "dropped.events"), NULL, 10), kept.dropped_events);
	trace_damages(t, &cnt);
	assert_int_equal(cnt, 0);
	b = trace_blocks(t, &cnt);
	assert_int_equal(cnt, 200 - kept.dropped_blocks);
	for (i = 1; i < cnt; i++)
		assert_int_equal(b[i].from_ns, b[i - 1].to_ns);
	/* nothing happened to these since the very beginning */
	assert_non_null(find(t, 200));
	assert_string_equal(find(t, 200)->comm, "sleeper");
	assert_string_equal(find(t, 300)->comm, "kthread");
	/* the level a process had when the trace now begins */
	base = trace_rss_baselines(t, &cnt);
	for (i = 0; i < cnt; i++) {
		if (base[i].upid != find(t, 100)->upid)
			continue;
		own++;
		assert_int_equal(base[i].ts_ns, kept_from_ns);
		assert_int_equal(base[i].bytes[1], (1000 + kept.dropped_blocks - 1) * 4096);
	}
	assert_int_equal(own, 1);
	trace_close(t);
}

static size_t count(struct trace *t)
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

/* The trace is opened, and read after the recorder has removed every file that was there then. */
UNIT_TEST_IN(test_reader_keeps_what_the_recorder_removes, setup, teardown)
{
	struct gen *g = gen_open(path, &(struct gen_config){ .from_ns = 1000, .file_bytes = 20000,
							     .keep_bytes = 60000 });
	size_t blocks, damages, i, events = 0;
	const struct trace_block *b;
	struct err e = { "" };
	struct trace *t;
	unsigned int k;

	assert_int_equal(store_writer_set(gen_store_writer(g), "keep.bytes", "60000"), 0);
	assert_int_equal(store_writer_flush_manifest(gen_store_writer(g), &e), 0);
	for (k = 0; k < 100; k++)
		write_slice(g, k);
	assert_int_equal(trace_open(&t, path, &e), 0);
	assert_true(trace_is_live(t));
	for (; k < 300; k++)
		write_slice(g, k);
	b = trace_blocks(t, &blocks);
	assert_true(blocks > 5);
	for (i = 0; i < blocks; i++)
		for (k = 0; k < EVENT_KIND_CNT; k++)
			events += b[i].kind_cnt[k];
	assert_int_equal(count(t), events);
	trace_damages(t, &damages);
	assert_int_equal(damages, 0);
	assert_int_equal(trace_refresh(t, &e), -ESTALE);
	trace_close(t);
	gen_finish(g);
}

UNIT_TEST_IN(test_refresh_is_as_good_as_opening_anew, setup, teardown)
{
	struct gen *g =
		gen_open(path, &(struct gen_config){ .from_ns = 1000, .file_bytes = 50000 });
	struct trace *t, *anew;
	size_t a, b;
	unsigned int k = 0;

	write_slice(g, k++);
	assert_int_equal(trace_open(&t, path, NULL), 0);
	for (; k < 60; k++) {
		write_slice(g, k);
		if (k % 7)
			continue;
		assert_int_equal(trace_refresh(t, NULL), 0);
		assert_int_equal(trace_open(&anew, path, NULL), 0);
		assert_int_equal(trace_end_ns(t), trace_end_ns(anew));
#define SAME(list)                             \
		trace_##list(t, &a);           \
		trace_##list(anew, &b);        \
		assert_int_equal(a, b);
		SAME(blocks) SAME(processes) SAME(threads) SAME(task_events) SAME(rss_baselines)
		SAME(rss_snaps) SAME(losses) SAME(clocks) SAME(marks) SAME(damages) SAME(manifest)
		assert_int_equal(count(t), count(anew));
		trace_close(anew);
	}
	assert_true(trace_is_live(t));
	gen_finish(g);
	assert_int_equal(trace_refresh(t, NULL), 0);
	assert_true(trace_is_finished(t));
	assert_false(trace_is_live(t));
	trace_blocks(t, &a);
	assert_int_equal(a, 60);
	trace_close(t);
}

/* Ends of processes that come with a later block, some of them too late, are in order of time. */
UNIT_TEST_IN(test_ends_of_a_growing_trace_are_in_order, setup, teardown)
{
	static const uint64_t at_ms[][3] = { { 10, 50, 90 }, { 60, 30, 190 }, { 220, 120, 1 } };
	struct gen *g = gen_open(path, &(struct gen_config){ .from_ns = 1000 });
	struct trace *t = NULL;
	uint32_t pid = 100;

	for (unsigned int block = 0; block < 3; block++) {
		for (unsigned int i = 0; i < 3; i++)
			gen_snap(g, 1000, 0, pid + i, pid + i, 1, "ends");
		for (unsigned int i = 0; i < 3; i++, pid++)
			gen_exit(g, 1000 + at_ms[block][i] * MS, i % 2, pid, pid, 0, true, 0);
		gen_slice(g, 1000 + (block + 1) * 100 * MS);
		if (t)
			assert_int_equal(trace_refresh(t, NULL), 0);
		else
			assert_int_equal(trace_open(&t, path, NULL), 0);
		assert_int_equal(trace_mm_resets_prepare(t), 0);
		assert_int_equal(trace_mm_reset_cnt(t), 3 * (block + 1));
		for (size_t i = 1; i < trace_mm_reset_cnt(t); i++)
			assert_true(trace_mm_reset_at(t, i - 1)->ts_ns <
				    trace_mm_reset_at(t, i)->ts_ns);
	}
	assert_int_equal(trace_mm_reset_at(t, 0)->ts_ns, 1000 + MS);
	trace_close(t);
	gen_finish(g);
}

/* A partial block at the end of the newest file is damage only if no recorder is writing it. */
UNIT_TEST_IN(test_half_a_block_is_damage_only_without_its_writer, setup, teardown)
{
	struct gen *g = gen_open(path, &(struct gen_config){ .from_ns = 1000 });
	const void *block;
	struct trace *t;
	size_t bytes, cnt;
	int fd, pass;

	write_slice(g, 0);
	block = gen_last_block(g, &bytes);
	fd = open(file_in(path, "chunk-000000.ebr"), O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, block, bytes / 2), (ssize_t)(bytes / 2));
	close(fd);
	for (pass = 0; pass < 2; pass++) {
		assert_int_equal(trace_open(&t, path, NULL), 0);
		assert_int_equal(trace_is_live(t), !pass);
		trace_blocks(t, &cnt);
		assert_int_equal(cnt, 1);
		trace_damages(t, &cnt);
		assert_int_equal(cnt, pass);
		trace_close(t);
		if (!pass)
			gen_abort(g);
	}
}

/* ---- the letter box ---- */

UNIT_TEST_IN(test_letters_arrive_with_their_instant, setup, teardown)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	char text[CONTROL_MESSAGE_MAX], file[96], longest[CONTROL_MESSAGE_MAX + 8];
	struct control_socket *p = NULL;
	uint64_t ts = 0;
	struct stat st;

	assert_int_equal(control_socket_send(dir_fd, 5, "nobody"), -ENOENT);
	assert_false(control_socket_has_owner(dir_fd));
	assert_int_equal(control_socket_open(&p, dir_fd, (uid_t)-1, (gid_t)-1), 0);
	snprintf(file, sizeof(file), "%s/" CONTROL_SOCKET_NAME, dir);
	assert_int_equal(stat(file, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(control_socket_has_owner(dir_fd));
	assert_int_equal(control_socket_receive(p, &ts, text), 0);
	assert_int_equal(control_socket_send(dir_fd, 1234567890123, "build starts"), 0);
	assert_int_equal(control_socket_send(dir_fd, UINT64_MAX, "x"), 0);
	assert_int_equal(control_socket_receive(p, &ts, text), 1);
	assert_int_equal(ts, 1234567890123);
	assert_string_equal(text, "build starts");
	assert_int_equal(control_socket_receive(p, &ts, text), 1);
	assert_int_equal(ts, UINT64_MAX);
	assert_int_equal(control_socket_receive(p, &ts, text), 0);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(control_socket_send(dir_fd, 5, longest), -E2BIG);
	control_socket_close(p);
	assert_int_equal(stat(file, &st), -1);
	assert_false(control_socket_has_owner(dir_fd));
	close(dir_fd);
}

static void send_raw(const char *bytes, size_t n)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/" CONTROL_SOCKET_NAME, dir);
	assert_int_equal(sendto(fd, bytes, n, 0, (struct sockaddr *)&a, sizeof(a)), (ssize_t)n);
	close(fd);
}

UNIT_TEST_IN(test_letters_that_make_no_sense_are_thrown_away, setup, teardown)
{
	static const char *const bad[] = {
		"",	" ",	"5",	"5 ",	"x y",
		"-5 y", "+5 y", "5x y", " 5 y", "99999999999999999999999 y"
	};
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	char text[CONTROL_MESSAGE_MAX], big[2000];
	struct control_socket *p = NULL;
	uint64_t ts;

	assert_int_equal(control_socket_open(&p, dir_fd, (uid_t)-1, (gid_t)-1), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		send_raw(bad[i], strlen(bad[i]));
		assert_int_equal(control_socket_receive(p, &ts, text), 0);
	}
	send_raw("5 a\0b", 5);
	assert_int_equal(control_socket_receive(p, &ts, text), 0);
	memset(big, '7', sizeof(big));
	send_raw(big, sizeof(big));
	memcpy(big, "5 ", 2);	/* well-formed, except for its length */
	send_raw(big, sizeof(big));
	assert_int_equal(control_socket_receive(p, &ts, text), 0);
	send_raw("6 good", 6);
	assert_int_equal(control_socket_receive(p, &ts, text), 1);
	assert_string_equal(text, "good");
	control_socket_close(p);
	close(dir_fd);
}

/* A message of another user, who was somehow let in: the kernel reports the sender. */
UNIT_TEST_IN(test_letters_of_other_users_are_thrown_away, setup, teardown)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY), status;
	char text[CONTROL_MESSAGE_MAX];
	struct control_socket *p = NULL;
	uint64_t ts;
	pid_t child;

	if (geteuid())
		skip();
	assert_int_equal(control_socket_open(&p, dir_fd, (uid_t)-1, (gid_t)-1), 0);
	assert_int_equal(chmod(dir, 0711), 0);
	for (int open_to_all = 0; open_to_all < 2; open_to_all++) {
		assert_int_equal(chmod(file_in(dir, CONTROL_SOCKET_NAME),
				       open_to_all ? 0666 : 0600), 0);
		child = fork();
		if (!child) {
			if (setgid(65534) || setuid(65534))
				_exit(100);
			_exit(-control_socket_send(dir_fd, 5, "let me in"));
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), open_to_all ? 0 : EACCES);
		assert_int_equal(control_socket_receive(p, &ts, text), 0);
	}
	assert_int_equal(control_socket_send(dir_fd, 6, "mine"), 0);
	assert_int_equal(control_socket_receive(p, &ts, text), 1);
	assert_string_equal(text, "mine");
	control_socket_close(p);
	close(dir_fd);
}

/* The owner of the trace is not root when root records for another user. */
UNIT_TEST_IN(test_letters_of_the_owner_arrive, setup, teardown)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY), status;
	struct control_socket *p = NULL;
	char text[CONTROL_MESSAGE_MAX];
	uint64_t ts;
	pid_t child;

	if (geteuid())
		skip();
	assert_int_equal(chmod(dir, 0711), 0);
	assert_int_equal(control_socket_open(&p, dir_fd, 4242, 4242), 0);
	child = fork();
	if (!child) {
		if (setgid(4242) || setuid(4242))
			_exit(100);
		_exit(-control_socket_send(dir_fd, 5, "theirs"));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(control_socket_receive(p, &ts, text), 1);
	assert_string_equal(text, "theirs");
	control_socket_close(p);
	close(dir_fd);
}

UNIT_TESTS
