/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* record_repeat: a signal ends the run that is being recorded, and no other follows. */
#include "cmd/record/record_repeat.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/render/say.h"

#define FORWARDED_CNT 4
#define STATUS_CANNOT_RUN 126 /* and 127 */

/* Command-line state that the signal handler needs. */
static volatile pid_t recorder;
static volatile sig_atomic_t stopped;

/* A terminal sends to the whole group. A signal to this process alone is for the recorder. */
static void forward(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	stopped |= sig != SIGUSR2;
	if (info->si_code != SI_KERNEL && recorder > 0)
		kill(recorder, sig);
	errno = saved;
}

static int run_once(unsigned int n, const char *output, struct lists_strings *notes,
		    int (*one)(void *ctx, const char *output), void *ctx, bool is_warm_up)
{
	char name[4096], run[32];

	if ((size_t)snprintf(name, sizeof(name), "%s.%u", output, n) >= sizeof(name))
		return say_error("%s: the name is too long", output);
	snprintf(run, sizeof(run), "run=%u", n);
	if (lists_add_string(notes, run, NULL) ||
	    (is_warm_up && lists_add_string(notes, "warm_up=1", NULL)))
		return say_error("out of memory");
	return one(ctx, name);
}

int record_repeat(const struct record_repeat *r, const char *output, struct lists_strings *notes,
		  int (*one)(void *ctx, const char *output), void *ctx)
{
	static const int signals[FORWARDED_CNT] = { SIGINT, SIGTERM, SIGHUP, SIGUSR2 };
	const struct sigaction forwards = { .sa_sigaction = forward, .sa_flags = SA_SIGINFO };
	struct sigaction before[FORWARDED_CNT];
	int first = 0, status = 0;

	for (int i = 0; i < FORWARDED_CNT; i++)
		sigaction(signals[i], &forwards, &before[i]);
	for (unsigned int n = 1; n <= r->cnt && !stopped; n++) {
		pid_t pid;

		fflush(NULL);
		pid = recorder = fork();
		if (pid < 0)
			return say_error("cannot start a recorder: %s", strerror(errno));
		if (!pid) {
			for (int i = 0; i < FORWARDED_CNT; i++)
				sigaction(signals[i], &before[i], NULL);
			status = run_once(n, output, notes, one, ctx, n <= r->warm_up);
			fflush(NULL);
			_exit(status);
		}
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		recorder = 0;
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		first = first ? first : status;
		if (status == EXIT_RECORD || status == STATUS_CANNOT_RUN ||
		    status == STATUS_CANNOT_RUN + 1)
			break;
	}
	return first;
}
