/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * say: the one way to stderr for messages. The escaping itself is textsafe's.
 */
#include "cmd/render/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/textsafe.h"
#include "cmd/cmd.h"

#define TEXT_BYTES 1024

const char *say_text(const char *s)
{
	static char bufs[4][TEXT_BYTES];
	static unsigned int turn;
	char *buf = bufs[turn++ % 4];

	textsafe_escape(buf, TEXT_BYTES, s, strlen(s), NULL);
	return buf;
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
