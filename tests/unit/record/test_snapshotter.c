/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A snapshot by the recorder, and the temporary directory it is made in: only a whole snapshot
 * has the final name, and it replaces nothing.
 */
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/atomic_output.h"
#include "tests/unit/gen/gen_trace.h"
#include "tests/unit/gen/refuse_call.h"
#include "record/flight/flight_recorder.h"
#include "tests/unit/gen/made_files.h"
#include "tests/unit/unit_test.h"

#define TEMPORARY ".ebpfrec-new."

static char dir[64], trace[80];
static int trace_fd;

static int setup(void **state)
{
	struct gen *g;

	gen_temp_dir(dir);
	snprintf(trace, sizeof(trace), "%s/t", dir);
	g = gen_open(trace, &(struct gen_config){ .from_ns = 1000 });
	gen_snap(g, 1000, 0, 100, 100, 1, "init");
	gen_switch(g, 2000, 0, 100, 0, 0);
	gen_slice(g, 1000000);
	gen_abort(g);
	trace_fd = open(trace, O_RDONLY | O_DIRECTORY);
	return trace_fd < 0;
}

static int teardown(void **state)
{
	close(trace_fd);
	gen_remove_dir(dir);
	return 0;
}

static const char *in_dir(const char *name)
{
	return file_in(dir, "%s", name);
}

static long inode(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 ? -1 : (long)st.st_ino;
}

static bool is_whole(const char *path)
{
	char line[400];
	bool found = false;
	FILE *f;

	f = fopen(file_in(path, "manifest"), "re");
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = !strcmp(line, "state=finished\n");
	fclose(f);
	return found;
}

/* The result of snapshotter_reap(). The path is valid until the next call. */
static int snapshot(struct err *e, char path[200])
{
	struct snapshotter *s;
	const char *p;
	int r;

	assert_int_equal(snapshotter_new(&s, trace_fd, trace, (uid_t)-1, (gid_t)-1), 0);
	assert_int_equal(snapshotter_begin(s, NULL, 500), 0);
	r = snapshotter_reap(s, true, &p, e);
	if (r > 0)
		snprintf(path, 200, "%s", p);
	snapshotter_free(s);
	return r;
}

/*
 * How names in dir came to be: each name's first event, "name c" (made there) or "name m" (moved
 * there).
 */
static void names_made(int fd, char *text, size_t bytes)
{
	char buf[8192] __attribute__((aligned(8)));
	ssize_t n = read(fd, buf, sizeof(buf)), at;

	text[0] = '\0';
	for (at = 0; at < n;) {
		const struct inotify_event *e = (const void *)(buf + at);

		if (e->mask & (IN_CREATE | IN_MOVED_TO))
			snprintf(text + strlen(text), bytes - strlen(text), "%s %c\n", e->name,
				 e->mask & IN_CREATE ? 'c' : 'm');
		at += (ssize_t)(sizeof(*e) + e->len);
	}
}

UNIT_TEST_IN(test_snapshot_gets_its_name_when_it_is_whole, setup, teardown)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[200], text[2000], want[300];

	assert_true(inotify_add_watch(fd, dir, IN_CREATE | IN_MOVED_TO) >= 0);
	assert_int_equal(snapshot(NULL, path), 1);
	names_made(fd, text, sizeof(text));
	close(fd);
	snprintf(want, sizeof(want), "%s m\n", path + strlen(dir) + 1);
	if (strncmp(text, TEMPORARY, strlen(TEMPORARY)) || !strstr(text, want))
		fail_msg("names that were made:\n%swanted: a temporary one, and then %s", text,
			 want);
	assert_true(is_whole(path));
}

UNIT_TEST_IN(test_snapshot_leaves_nothing_temporary, setup, teardown)
{
	char path[200];
	char temporary[400];

	/* files of a killed recorder */
	snprintf(temporary, sizeof(temporary), "%s", in_dir(TEMPORARY "killed"));
	assert_int_equal(mkdir(temporary, 0700), 0);
	strcat(temporary, "/trace");
	assert_int_equal(mkdir(temporary, 0700), 0);
	assert_int_equal(snapshot(NULL, path), 1);
	assert_int_equal(inode(in_dir(TEMPORARY "killed")), -1);
	assert_true(is_whole(path));
}

UNIT_TEST_IN(test_snapshot_leaves_a_temporary_in_use, setup, teardown)
{
	struct atomic_output other;
	char path[200];

	assert_int_equal(atomic_output_begin(&other, trace, false, NULL), 0);
	assert_int_equal(snapshot(NULL, path), 1);
	assert_true(inode(other.dir) > 0);
	atomic_output_drop(&other);
	assert_null(other.dir);
}

/*
 * Every name that the snapshot may get in the next minute and a half exists as an empty
 * directory, which rename() would replace.
 */
UNIT_TEST_IN(test_snapshot_replaces_nothing, setup, teardown)
{
	char path[200], name[300], text[32];
	time_t now = time(NULL);
	long inodes[90];
	struct tm tm;

	for (int i = 0; i < 90; i++) {
		time_t t = now + i;

		gmtime_r(&t, &tm);
		strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &tm);
		snprintf(name, sizeof(name), "%s.snapshot-%s", trace, text);
		assert_int_equal(mkdir(name, 0700), 0);
		inodes[i] = inode(name);
	}
	assert_int_equal(snapshot(NULL, path), 1);
	assert_string_equal(path + strlen(path) - 2, "-2");
	assert_true(is_whole(path));
	for (int i = 0; i < 90; i++) {
		time_t t = now + i;

		gmtime_r(&t, &tm);
		strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &tm);
		snprintf(name, sizeof(name), "%s.snapshot-%s", trace, text);
		assert_int_equal(inode(name), inodes[i]);
		assert_false(is_whole(name));
	}
}

UNIT_TEST_IN(test_snapshot_that_fails_says_why_and_leaves_nothing, setup, teardown)
{
	char path[200], moved[200];
	struct err e = { "" };

	/* the snapshot's directory is moved away */
	snprintf(moved, sizeof(moved), "%s-moved", dir);
	assert_int_equal(rename(dir, moved), 0);
	assert_int_equal(snapshot(&e, path), -ENOENT);
	assert_non_null(strstr(e.text, "beside"));
	assert_non_null(strstr(e.text, trace));
	assert_int_equal(rename(moved, dir), 0);
}

/* ---- the atomic output alone ---- */

UNIT_TEST_IN(test_output_replaces_only_when_told, setup, teardown)
{
	struct atomic_output d;
	char from[400];
	long old;
	int fd;

	assert_int_equal(mkdir(in_dir("out"), 0700), 0);
	old = inode(in_dir("out"));
	assert_int_equal(atomic_output_begin(&d, in_dir("out"), false, NULL), 0);
	assert_int_equal(mkdir(file_in(d.dir, "tree"), 0700), 0);
	assert_int_equal(atomic_output_commit_item(&d, "tree", in_dir("out"), false, NULL),
			 -EEXIST);
	assert_int_equal(inode(in_dir("out")), old);

	snprintf(from, sizeof(from), "%s/file", d.dir);
	fd = open(from, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(link(from, in_dir("file")), 0);
	assert_int_equal(atomic_output_commit_item(&d, "file", in_dir("file"), false, NULL),
			 -EEXIST);
	assert_int_equal(atomic_output_commit_item(&d, "file", in_dir("file"), true, NULL), 0);
	assert_int_equal(atomic_output_commit_item(&d, "tree", in_dir("new"), false, NULL), 0);
	assert_true(inode(in_dir("new")) > 0);
	atomic_output_drop(&d);
}

#define NO_FILTER 99

UNIT_TEST_IN(test_output_replaces_nothing_on_an_old_file_system, setup, teardown)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		/* as NFS does */
		if (!refuse_call(SYS_renameat2, 4, RENAME_NOREPLACE, EINVAL) ||
		    renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE) == 0 ||
		    errno != EINVAL)
			_exit(NO_FILTER);
		test_output_replaces_only_when_told(state);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER)
		skip();
	assert_int_equal(status, 0);
}

UNIT_TESTS
