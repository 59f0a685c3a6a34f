/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_demo: `ebpfrec demo` analyzes a trace that is installed with the program, step by step, until
 * its fault is found. Each step is a command that the reader can type; it runs in a process of its
 * own.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "cmd/cmd.h"
#include "cmd/render/render.h"
#include "cmd/render/say.h"

#define ARGS_MAX 8
#define TRACE "shop.ebpfrec"

/* The trace was made by tests/vm/demo_trace.sh from tests/kernel/work/shop.c. */
static const struct step {
	const char *text;
	const char *args[ARGS_MAX]; /* report or sql; -i TRACE is appended */
} steps[] = {
	{ "A program, shop, was recorded for three seconds. Some of its orders take 300 ms. The "
	  "summary names what held it up in its first lines, and in its last lines the commands "
	  "that show more.",
	  { "report" } },
	{ "It is not the CPU: 'nightly' uses more of it and delays nobody. The threads of "
	  "'shop' "
	  "wait for locks. Which one, and who holds it?",
	  { "report", "locks" } },
	{ "The thread 'audit' holds stock_lock. What does it do until it releases it?",
	  { "report", "waits", "--comm", "shop", "--thread", "audit" } },
	{ "It calls fdatasync. Which file does it write?",
	  { "report", "io", "--comm", "shop", "--by", "file" } },
	{ "The audit writes its file block by block, each to the disk before the next, and all "
	  "orders wait meanwhile. Write it without the lock. Any window can be asked, and any "
	  "table "
	  "is SQL; this is how often and how long each thread slept for a lock:",
	  { "sql", "SELECT tid, comm, sum(waits) AS waits, sum(wait_ns) / 1000000 AS ms "
		   "FROM wait_ends(0, 4000000000) JOIN threads USING (utid) "
		   "WHERE kind = 'lock' AND is_workload GROUP BY tid" } },
};

#define STEP_CNT (sizeof(steps) / sizeof(steps[0]))

/*
 * Changes to the directory of the trace, which is looked up relative to the program: in the source
 * tree or in the installation.
 */
static bool enter_directory(char path[PATH_MAX])
{
	static const char *const places[] = { "../cmd/demo", "../../cmd/demo", "../lib/ebpfrec" };
	char program[PATH_MAX], name[PATH_MAX + 64];

	if (!path_of_program(program))
		return false;
	for (unsigned int i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(name, sizeof(name), "%s/%s", program, places[i]);
		if (realpath(name, path) && !chdir(path) && !access(TRACE, R_OK | X_OK))
			return true;
	}
	return false;
}

/* Runs one step in a process of its own. Returns its exit status. */
static int run_step(const struct step *s)
{
	char *argv[ARGS_MAX + 3];
	int n = 0, status;
	pid_t pid;

	printf("$ ebpfrec");
	for (int i = 0; i < ARGS_MAX && s->args[i]; i++) {
		argv[n++] = (char *)s->args[i];
		printf(strchr(s->args[i], ' ') ? " \"%s\"" : " %s", s->args[i]);
	}
	argv[n++] = "-i";
	argv[n++] = TRACE;
	argv[n] = NULL;
	printf(" -i " TRACE "\n");
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return say_error("cannot run the command: %s", strerror(errno));
	if (!pid)
		exit(opts_run(strcmp(argv[0], "sql") ? &report_opts : &sql_opts, argv));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return say_error("cannot wait for the command: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* Waits for Enter. Returns false if the reader ends the demo. */
static bool goes_on(unsigned int step)
{
	int c, first;

	printf("\n(%u of %zu; Enter goes on, q ends) ", step, STEP_CNT);
	fflush(stdout);
	first = c = getchar();
	while (c != '\n' && c != EOF)
		c = getchar();
	return first != 'q' && c != EOF;
}

static int run(void *job)
{
	bool asks = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	char path[PATH_MAX];

	if (!enter_directory(path))
		return say_error(
			"the demo's trace was not found beside the program; `make install` "
			"puts it into PREFIX/lib/ebpfrec");
	printf("$ cd %s\n\n", path);
	for (unsigned int i = 0; i < STEP_CNT; i++) {
		int c;

		if (i && asks && !goes_on(i))
			return 0;
		printf(i ? "\n" : "");
		render_wrap(stdout, steps[i].text, input_terminal_width());
		printf("\n");
		c = run_step(&steps[i]);
		if (c)
			return c;
	}
	printf("\n");
	render_wrap(stdout,
		    "Now record a program of your own: `sudo ebpfrec record -- COMMAND`, and then "
		    "`ebpfrec report`.",
		    input_terminal_width());
	return 0;
}

static const struct opts_option options[] = { { 0 } };

const struct opts_command demo_opts = {
	.name = "demo",
	.about = "Find a fault in a small example trace, step by step.",
	.synopsis = "",
	.text = "Asks a trace that comes with the program, in five steps, why its orders are slow. "
		"Each\nstep is a command that works on other traces as well. It needs no root.\n",
	.options = options,
	.examples = "  ebpfrec demo\n",
	.bytes = 1,
	.run = run,
};
