/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The message of a failed ring: it has the reasons that are known on this kernel, and no guesses
 * about others.
 */
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "probe/rings.h"
#include "tests/unit/gen/refuse_call.h"
#include "tests/unit/unit_test.h"

/*
 * The message of rings_make() in a child whose bpf() fails with error; "": cannot be tested here.
 */
static void refused(int error, bool locked, char *text, size_t bytes)
{
	const struct rings_config config = { .cnt = 1 };
	struct err e = { "" };
	struct rings r;
	int fds[2], status;
	ssize_t n;

	assert_int_equal(pipe(fds), 0);
	if (!fork()) {
		if (!refuse_call(SYS_bpf, -1, 0, error) || syscall(SYS_bpf, 0, NULL, 0) == 0 ||
		    errno != error)
			_exit(0);
		if (rings_plan(&r, &config, 1) || rings_make(&r, -1, locked, &e) != -error)
			snprintf(e.text, sizeof(e.text), "rings_make() did not fail with %d",
				 error);
		n = write(fds[1], e.text, strlen(e.text));
		_exit(n < 0);
	}
	close(fds[1]);
	n = read(fds[0], text, bytes - 1);
	close(fds[0]);
	assert_true(n >= 0);
	text[n] = '\0';
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
}

static void says(const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("wanted '%s' in: %s", wanted, text);
}

static void says_not(const char *text, const char *unwanted)
{
	if (strstr(text, unwanted))
		fail_msg("'%s' is not known, in: %s", unwanted, text);
}

UNIT_TEST(test_refused_ring_says_what_is_known)
{
	struct utsname u;
	char text[1000];

	assert_int_equal(uname(&u), 0);
	refused(EPERM, true, text, sizeof(text));
	if (!*text)
		skip();
	says(text, "ulimit -l");
	says(text, u.release);
	says_not(text, "CAP_BPF");
	refused(EPERM, false, text, sizeof(text));
	says(text, "CAP_BPF");
	says(text, "seccomp");
	says(text, u.release);
	says_not(text, "ulimit");
	refused(ENOMEM, false, text, sizeof(text));
	says(text, "cgroup");
	says(text, "--ring-size");
	refused(E2BIG, false, text, sizeof(text));
	says(text, "--ring-size");
	says_not(text, "cgroup");
}

UNIT_TESTS
