/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* say: prints all messages to stderr, escaped by textsafe. */
#include "cmd/render/say.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/textsafe.h"
#include "base/units.h"
#include "cmd/render/render.h"

#define TEXT_BYTES 1024
#define PREFIX "ebpfrec: "
#define FIGURE_BYTES 64

const char *say_text(const char *s)
{
	static char bufs[4][TEXT_BYTES];
	static unsigned int turn;
	char *buf = bufs[turn++ % 4];

	textsafe_escape(buf, TEXT_BYTES, s, strlen(s), NULL);
	return buf;
}

const char *say_format(const char *fmt, ...)
{
	static char bufs[4][TEXT_BYTES];
	static unsigned int turn;
	char *buf = bufs[turn++ % 4];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, TEXT_BYTES, fmt, ap);
	va_end(ap);
	return buf;
}

static char *figure(void)
{
	static char bufs[16][FIGURE_BYTES];
	static unsigned int turn;

	return bufs[turn++ % 16];
}

const char *say_count(uint64_t v)
{
	return units_format_count(figure(), FIGURE_BYTES, v);
}

const char *say_counted(uint64_t v, const char *what)
{
	char *text = figure();

	snprintf(text, FIGURE_BYTES, "%s %s%s", say_count(v), what, v == 1 ? "" : "s");
	return text;
}

const char *say_bytes(uint64_t v)
{
	return units_format_bytes(figure(), FIGURE_BYTES, v);
}

const char *say_bytes_si(uint64_t v)
{
	return units_format_bytes_si(figure(), FIGURE_BYTES, v);
}

const char *say_file_bytes(const char *path)
{
	struct stat st;

	return say_bytes_si(stat(path, &st) ? 0 : (uint64_t)st.st_size);
}

const char *say_duration(uint64_t ns)
{
	return units_format_duration(figure(), FIGURE_BYTES, ns);
}

const char *say_instant(int64_t ns)
{
	return units_format_instant(figure(), FIGURE_BYTES, ns);
}

void say_after(const char *prefix, const char *text)
{
	const char *safe = say_text(text);
	struct winsize w;

	/* flush stdout first, to keep the order of data and messages */
	fflush(stdout);
	fputs(prefix, stderr);
	if (!isatty(STDERR_FILENO) || ioctl(STDERR_FILENO, TIOCGWINSZ, &w) ||
	    w.ws_col <= 2 * strlen(prefix) || strlen(prefix) + strlen(safe) <= w.ws_col ||
	    strchr(safe, '\n'))
		fprintf(stderr, "%s\n", safe);
	else
		render_wrap_beside(stderr, safe, w.ws_col, (unsigned int)strlen(prefix));
}

static void say(const char *fmt, va_list ap)
{
	char text[TEXT_BYTES];

	vsnprintf(text, sizeof(text), fmt, ap);
	say_after(PREFIX, text);
}

int say_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return EXIT_FAILED;
}

void say_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

#define RECENT_S (12 * 3600)

const char *say_clock(uint64_t real_ns)
{
	time_t at = (time_t)(real_ns / UNITS_NS_PER_S);
	char text[64];
	struct tm tm;

	if (!localtime_r(&at, &tm))
		return "?";
	strftime(text, sizeof(text),
		 llabs((long long)(time(NULL) - at)) < RECENT_S ? "%H:%M:%S %Z" : "%F %H:%M:%S %Z",
		 &tm);
	return say_format("%s", text);
}

const char *say_wall(uint64_t real_ns, bool local)
{
	time_t sec = (time_t)(real_ns / UNITS_NS_PER_S);
	unsigned int ns = (unsigned int)(real_ns % UNITS_NS_PER_S);
	char day[32], frac[16], zone[16], *buf = figure();
	int decimals = 9;
	struct tm tm;

	if (!(local ? localtime_r(&sec, &tm) : gmtime_r(&sec, &tm))) {
		snprintf(buf, FIGURE_BYTES, "@%" PRIu64 ".%09u", real_ns / UNITS_NS_PER_S, ns);
		return buf;
	}
	snprintf(frac, sizeof(frac), ".%09u", ns);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	if (local) {
		long off = tm.tm_gmtoff / 60;

		snprintf(zone, sizeof(zone), "%c%02u:%02u", off < 0 ? '-' : '+',
			 (unsigned int)(off < 0 ? -off : off) / 60 % 100,
			 (unsigned int)(off < 0 ? -off : off) % 60);
	} else {
		snprintf(zone, sizeof(zone), "Z");
	}
	while (decimals > 3 && frac[decimals] == '0' && frac[decimals - 1] == '0' &&
	       frac[decimals - 2] == '0')
		decimals -= 3;
	snprintf(buf, FIGURE_BYTES, "%s%.*s%s", day, decimals + 1, frac, zone);
	return buf;
}

/* terminal: gets size and features of the terminal from the environment and the kernel. */

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
	 * cut the line to the terminal's width, since a wrapped line could not be overwritten; each
	 * byte is a cell, since the text is ASCII
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
