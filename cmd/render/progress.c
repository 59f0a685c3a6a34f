/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* progress: the line overwrites itself, and is erased before other text is printed. */
#include "cmd/render/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/render/say.h"

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
	/* A line that wraps could not be replaced. The rest is ASCII. */
	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col > 1 && w.ws_col <= sizeof(line))
		line[w.ws_col - 1] = '\0';
	n = strlen(line);
	/* Blanks instead of an erase sequence: works on any terminal. */
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
		done = all; /* it was an estimate */
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
