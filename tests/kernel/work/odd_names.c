/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * odd_names MS: one child per hostile process name; each burns MS of CPU time under that name.
 * Names contain control characters or syntax of terminals, CSV readers, spreadsheets and JSON
 * parsers.
 */
#include "truth.h"

static const char *const names[] = {
	"\033[31mred\033[0m",
	"new\nline",
	"=cmd|' /C x'!A0",
	"a\"b,c",
	"tab\there",
	("\x9b"
	 "31mC1\xff"),
	"+1+1",
	"@SUM(1)",
	"cr\rover",
	"\\x41\\n",
	"unit\037sep",	/* separators of texts in some keys */
};

int main(int argc, char **argv)
{
	long ms = truth_arg(argc, argv, 1, 30);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		pid_t pid = fork();

		if (pid < 0)
			truth_fail("fork");
		if (pid == 0) {
			if (prctl(PR_SET_NAME, names[i]) != 0)
				truth_fail("prctl");
			while (truth_cpu_ns() < (uint64_t)ms * 1000000u)
				;
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		printf("child=%zu:%d\n", i, (int)pid);
	}
	return 0;
}
