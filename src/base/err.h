/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * err: the text of an error for people, and of notices.
 *
 * Functions return 0 or a negative errno. Functions with more details take an optional struct err *
 * and set in it what failed, why, and what to do next, as one sentence without a trailing newline.
 * Passing NULL is always allowed. The first message wins: a caller that adds context uses
 * err_prefix().
 */
#pragma once

struct err {
	char text[512];
};

/* Sets the text, unless it is set already, and returns code: `return err_set(e, -EINVAL, ...)`. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Inserts "prefix: " before the text. Returns code. */
int err_prefix(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Callbacks for messages to a person while an operation continues: a warning ("alloc.vm: this
 * kernel has no ...") and good news ("snapshot written to ..."). Each may be NULL.
 */
struct notices {
	void (*warn)(void *ctx, const char *text);
	void (*notice)(void *ctx, const char *text);
	void *ctx;
};
void notices_warn(const struct notices *n, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns the text or, without one, the meaning of code. Never NULL; may point to e->text. */
const char *err_text(const struct err *e, int code);
