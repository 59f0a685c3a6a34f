/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * err: messages for people: texts of errors, warnings and notices.
 *
 * Functions return 0 or a negative errno. Functions with more details take a struct err *, which
 * may be NULL, and set its text: one sentence that states what failed, why, and what to do next,
 * without a newline. The first message is kept; callers add context with err_prefix().
 */
#pragma once

struct err {
	char text[512];
};

/* Sets the text unless it is already set. Returns code: `return err_set(e, -EINVAL, ...)`. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Inserts "prefix: " before the text. Returns code. */
int err_prefix(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Callbacks for messages while an operation continues: warnings ("alloc.vm: this kernel has no
 * ...") and notices ("snapshot written to ..."). Each may be NULL.
 */
struct notices {
	void (*warn)(void *ctx, const char *text);
	void (*notice)(void *ctx, const char *text);
	void *ctx;
};
void notices_warn(const struct notices *n, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Returns the text, or the meaning of code if there is no text. Never NULL; may point to e->text.
 */
const char *err_text(const struct err *e, int code);
