/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* pager: a shell runs it, so that $PAGER may have options and less need not be installed. */
#include "cmd/render/pager.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT "command -v less >/dev/null && exec less; exec cat"

static pid_t pager; /* 0: none */
static int terminal = -1;

static void run_pager(int input, const char *command)
{
	dup2(input, STDIN_FILENO);
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

void pager_begin(void)
{
	const char *command = getenv("PAGER");
	int ends[2];

	command = command ?: DEFAULT;
	if (!*command || !strcmp(command, "cat") || !isatty(STDOUT_FILENO) || pipe(ends))
		return;
	fflush(stdout);
	pager = fork();
	if (!pager) {
		close(ends[1]);
		run_pager(ends[0], command);
	}
	if (pager > 0) {
		terminal = dup(STDOUT_FILENO);
		dup2(ends[1], STDOUT_FILENO);
	}
	close(ends[0]);
	close(ends[1]);
}

void pager_end(void)
{
	if (pager <= 0)
		return;
	fflush(stdout);
	dup2(terminal, STDOUT_FILENO);
	close(terminal);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
	pager = 0;
}
