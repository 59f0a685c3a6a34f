/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * say: the one way to stderr for messages. The escaping itself is textsafe's.
 */
#include "cmd/render/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/textsafe.h"
#include "base/units.h"
#include "cmd/cmd.h"

#define TEXT_BYTES 1024
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

const char *say_duration(uint64_t ns)
{
	return units_format_duration(figure(), FIGURE_BYTES, ns);
}

const char *say_instant(int64_t ns)
{
	return units_format_instant(figure(), FIGURE_BYTES, ns);
}

static void say(const char *fmt, va_list ap)
{
	char text[TEXT_BYTES];

	vsnprintf(text, sizeof(text), fmt, ap);
	/* stdout first, so that data and messages come in the order they were made. */
	fflush(stdout);
	fprintf(stderr, "ebpfrec: %s\n", say_text(text));
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
