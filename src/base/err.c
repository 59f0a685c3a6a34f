/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* err: stores the first message about a failure and the prefixes that callers add. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e || e->text[0])
		return code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return code;
}

int err_prefix(struct err *e, int code, const char *fmt, ...)
{
	char old[sizeof(e->text)];
	va_list ap;
	size_t n;

	if (!e)
		return code;
	memcpy(old, e->text, sizeof(old));
	if (!old[0])
		snprintf(old, sizeof(old), "%s", err_text(NULL, code));
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, ": %s", old);
	return code;
}

void notices_warn(const struct notices *n, const char *fmt, ...)
{
	char text[768];
	va_list ap;

	if (!n->warn)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n->warn(n->ctx, text);
}

const char *err_text(const struct err *e, int code)
{
	const char *s;

	if (e && e->text[0])
		return e->text;
	if (code == -ENOMEM)
		return "out of memory";
	/* a GNU function that returns constants, so threads share no buffer */
	s = strerrordesc_np(code < 0 ? -code : code);
	return s ? s : "unknown error";
}
