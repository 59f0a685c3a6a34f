/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* terminal: gets size and features of the terminal from the environment and the kernel. */
#include "cmd/render/terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/render/say.h"

static unsigned int find_terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize w;
	uint64_t v;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (columns && !units_parse_count(columns, &v, NULL) && v && v < 10000)
		return (unsigned int)v;
	return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col ? w.ws_col : 80;
}

unsigned int input_terminal_width(void)
{
	/* the last known width, since stdout may become a pipe to the pager */
	static unsigned int width;
	unsigned int now = find_terminal_width();

	if (now)
		width = now;
	return width;
}

unsigned int input_terminal_height(void)
{
	struct winsize w;

	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) ? w.ws_row : 0;
}

/* Checks the environment like setlocale(), since the program itself runs in the C locale. */
bool input_speaks_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *v;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		v = getenv(names[i]);
		if (v && *v)
			return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
	}
	return false;
}

/* pager: run by a shell, so that $PAGER may contain options, and less need not be installed. */

#define DEFAULT "command -v less >/dev/null && exec less; exec cat"

static pid_t pager; /* process of the pager; 0: none */
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

/*
 * progress: each line overwrites the previous one; callers erase it before they print other text.
 */

#define BAR_CELLS 20

void progress_line(struct progress *p, const char *fmt, ...)
{
	struct winsize w;
	char line[320];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/*
	 * cut the line to the terminal's width: a wrapped line could not be overwritten; the text
	 * is ASCII
	 */
	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col > 1 && w.ws_col <= sizeof(line))
		line[w.ws_col - 1] = '\0';
	n = strlen(line);
	/* overwrite the rest of the old line with blanks, which works on any terminal */
	fprintf(stderr, "\r%s%*s", line, p->cells > n ? (int)(p->cells - n) : 0, "");
	fflush(stderr);
	p->cells = n;
}

void progress_show(struct progress *p, const char *what, uint64_t done, uint64_t all,
		   const char *unit)
{
	char bar[BAR_CELLS + 1] = "";

	if (!all) {
		progress_line(p, "%s: %s %s", what, say_count(done), unit);
		return;
	}
	if (done > all)
		done = all; /* all was an estimate */
	for (unsigned int i = 0; i < BAR_CELLS; i++)
		bar[i] = i < (unsigned int)((double)done / (double)all * BAR_CELLS) ? '#' : '.';
	progress_line(p, "%s: [%s] %s of %s %s", what, bar, say_count(done), say_count(all), unit);
}

void progress_erase(struct progress *p)
{
	if (p->cells)
		fprintf(stderr, "\r%*s\r", (int)p->cells, "");
	p->cells = 0;
}
