/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * err: the human half of an error.
 *
 * Functions return 0 or a negative errno; those that can say more take an
 * optional struct err * and put there what failed, why, and what to do next,
 * as one sentence without a trailing newline. Passing NULL is always allowed.
 * The first message wins: a caller that adds context uses err_prefix().
 */
#ifndef ERR_H
#define ERR_H

struct err {
	char text[512];
};

/*
 * Sets the text, unless there is one already, and returns code: `return err_set(e, -EINVAL, ...)`.
 */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the text. Returns code. */
int err_prefix(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The text, or strerror of code without one. Never NULL; may point to e->text. */
const char *err_text(const struct err *e, int code);

#endif /* ERR_H */
