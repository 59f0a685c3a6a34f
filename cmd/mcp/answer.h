/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * answer: the output of a command line of this program, made by a process of its own. A question
 * that takes too long, needs too much memory or crashes ends that process, and not the server.
 *
 * Threads: one. Errors: -errno.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct answer_text {
	char *out, *notes; /* stdout and stderr, each ends with a NUL; the caller frees them */
	size_t out_bytes;
	int status; /* the command's exit status; -1: it was ended */
	bool is_late, is_long; /* it took too long; it printed more than ANSWER_BYTES_MAX */
	bool is_cancelled; /* input() asked for the end */
};

/* Watches the server's input while an answer is made. */
struct answer_watch {
	int fd; /* input() is called when it can be read; -1: never */
	bool (*input)(void *ctx); /* false: end the process that answers */
	void (*tick)(void *ctx, unsigned int seconds); /* about once a second */
	void *ctx;
};

#define ANSWER_SECONDS 60
#define ANSWER_BYTES_MAX (2u << 20)

/*
 * one() runs in the process that answers, and returns the exit status. If SIGALRM ends that
 * process, the answer is late.
 */
int answer_make(struct answer_text *ret, int (*one)(void *ctx), void *ctx,
		const struct answer_watch *watch);

/*
 * viewer: processes that serve traces to a browser, one for each trace, as long as the server that
 * was asked for their addresses runs: the kernel ends them if it is killed.
 *
 * Threads: one. Errors: -errno, with text.
 */
#define VIEWERS_MAX 8 /* the oldest ends for a further one */
#define VIEWER_SECONDS 60 /* until a viewer must have its address */

/*
 * Returns the address in *ret_url, which is valid until the next call. serve(ctx) runs in the
 * viewer's process: it prints the address and a newline to stdout, and keeps running.
 */
int viewer_start(const char *path, int (*serve)(void *ctx), void *ctx, const char **ret_url,
		 struct err *e);
void viewer_end_all(void);
