/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Starting the workload: late release, exit statuses as in a shell. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "record/launch.h"
#include "tests/unit/gen/refuse_call.h"
#include "tests/unit/unit_test.h"

static const sigset_t none; /* ignored by the caller */

static int run(char *const *argv, int *ret_errno)
{
	struct launch *l;
	int code = -1;

	assert_int_equal(launch_new(&l, argv, NULL, &none, NULL, NULL), 0);
	*ret_errno = launch_release(l);
	if (!*ret_errno)
		assert_int_equal(launch_wait(l, 1, &code), 1);
	launch_free(l);
	return code;
}

UNIT_TEST(test_launch_passes_the_exit_status)
{
	char *const argv[] = { "sh", "-c", "exit 7", NULL };
	int err;

	assert_int_equal(run(argv, &err), 7);
	assert_int_equal(err, 0);
}

UNIT_TEST(test_launch_gives_128_plus_signal)
{
	char *const argv[] = { "sh", "-c", "kill -9 $$", NULL };
	int err;

	assert_int_equal(run(argv, &err), 128 + 9);
}

UNIT_TEST(test_launch_tells_missing_from_not_executable)
{
	char *const missing[] = { "/no/such/program", NULL };
	char *const directory[] = { "/etc", NULL };
	int err;

	run(missing, &err);
	assert_int_equal(err, ENOENT);
	run(directory, &err);
	assert_int_equal(err, EACCES);
}

UNIT_TEST(test_launch_runs_nothing_before_release)
{
	char path[] = "/tmp/ebpfrec-launch-XXXXXX";
	char *argv[] = { "rm", path, NULL };
	struct launch *l;
	int code;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(launch_new(&l, argv, NULL, &none, NULL, NULL), 0);
	usleep(50000);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(launch_wait(l, 0, &code), 0);
	launch_free(l);	/* never released: it must not have run */
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
}

/*
 * Signals that a recorder handles: the workload ignores those that the caller ignores, and has
 * the default action for the others.
 */
UNIT_TEST(test_launch_leaves_signals_as_the_caller_has_them)
{
	char *const argv[] = { "sh", "-c", "kill -INT $$; kill -USR2 $$; kill -TERM $$; exit 7",
			       NULL };
	sigset_t ignored;
	struct launch *l;
	int code = -1;

	sigemptyset(&ignored);
	sigaddset(&ignored, SIGINT);
	sigaddset(&ignored, SIGUSR2);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_IGN);
	assert_int_equal(launch_new(&l, argv, NULL, &ignored, NULL, NULL), 0);
	signal(SIGTERM, SIG_DFL);
	assert_int_equal(launch_release(l), 0);
	assert_int_equal(launch_wait(l, 1, &code), 1);
	assert_int_equal(code, 128 + SIGTERM);
	launch_free(l);
}

UNIT_TEST(test_launch_refuses_an_unknown_user)
{
	char *const argv[] = { "true", NULL };
	struct err e = {};
	struct launch *l;

	assert_int_equal(launch_new(&l, argv, "no-such-user-here", &none, NULL, &e), -ENOENT);
	assert_non_null(strstr(e.text, "no-such-user-here"));
}

/* The lower 32 bits of these are root's. */
UNIT_TEST(test_launch_refuses_a_number_that_is_no_uid)
{
	static const char *const users[] = { "4294967296",  "18446744073709551616",
					     "-4294967296", "4294967295",
					     "+0",	    " 0",
					     "0x",	    "" };
	char *const argv[] = { "true", NULL };
	struct launch *l;

	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		assert_int_equal(launch_new(&l, argv, users[i], &none, NULL, NULL), -ENOENT);
}

static int refusal(char *command)
{
	char *const argv[] = { command, NULL };
	struct launch *l;
	int err, at_exec;

	assert_int_equal(launch_new(&l, argv, NULL, &none, NULL, NULL), 0);
	err = launch_refusal(l);
	at_exec = launch_release(l);
	launch_free(l);
	assert_int_equal(err, at_exec);
	return err;
}

UNIT_TEST(test_launch_knows_before_what_exec_would_say)
{
	char path[] = "/tmp/ebpfrec-launch-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);	/* commands that still run do not have it open */

	assert_int_equal(refusal("true"), 0);
	assert_int_equal(refusal("/bin/sh"), 0);
	assert_int_equal(refusal("no-such-command-here"), ENOENT);
	assert_int_equal(refusal("./no-such-command-here"), ENOENT);
	assert_int_equal(refusal("/etc/passwd/true"), ENOTDIR);
	assert_int_equal(refusal("/etc"), EACCES);
	assert_int_equal(write(fd, "#!/no/such/shell\n", 17), 17);
	assert_int_equal(refusal(path), EACCES);
	assert_int_equal(fchmod(fd, 0700), 0);
	assert_int_equal(refusal(path), ETXTBSY);
	close(fd);
	assert_int_equal(refusal(path), ENOENT);
	unlink(path);
}

/* In a process that may not be traced: the number of refusals that differ from those of exec. */
static int differing_refusals(const char *file)
{
	const struct {
		const char *command, *path;
		mode_t mode;
		int refusal;
	} cases[] = {
		{ file, NULL, 0600, EACCES },
		{ file, NULL, 0700, 0 },
		{ "/etc", NULL, 0700, EACCES },
		{ "/no/such/command", NULL, 0700, ENOENT },
		{ "/etc/passwd/true", NULL, 0700, ENOTDIR },
		{ "no-such-command-here", "/bin:/usr/bin", 0700, ENOENT },
		{ "true", "/no/such:/etc/passwd:/bin:/usr/bin", 0700, 0 },
		{ "true", NULL, 0700, 0 },
		{ strrchr(file, '/') + 1, "/bin:/tmp", 0600, EACCES },
		{ strrchr(file, '/') + 1, "/bin:/tmp:", 0700, 0 },
		{ "", "/bin", 0700, ENOENT },
	};
	struct launch *l;
	int bad = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *const argv[] = { (char *)cases[i].command, NULL };
		int err;

		if (cases[i].path)
			setenv("PATH", cases[i].path, 1);
		else
			unsetenv("PATH");
		if (chmod(file, cases[i].mode) || launch_new(&l, argv, NULL, &none, NULL, NULL))
			return 100;
		err = launch_refusal(l);
		if (err != cases[i].refusal || (err && launch_release(l) != err)) {
			print_error("'%s': %d\n", cases[i].command, err);
			bad++;
		}
		launch_free(l);
	}
	return bad;
}

UNIT_TEST(test_launch_knows_before_where_nobody_may_be_traced)
{
	char path[] = "/tmp/ebpfrec-launch-XXXXXX";
	int fd = mkstemp(path), status;
	pid_t pid;

	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	close(fd);
	pid = fork();
	if (!pid)
		_exit(refuse_call(SYS_ptrace, -1, 0, EPERM) ? differing_refusals(path) : 101);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(path);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 101)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

UNIT_TESTS
