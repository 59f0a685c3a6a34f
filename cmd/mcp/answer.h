/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * answer: runs a command line of this program in a process of its own, and collects its output. If
 * the command takes too long, needs too much memory or crashes, only that process ends, not the
 * server.
 *
 * Threads: one. Errors: -errno.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct answer_text {
	char *out, *notes; /* stdout and stderr, NUL-terminated; freed by the caller */
	size_t out_bytes;
	int status; /* the command's exit status; -1: it was killed */
	/*
	 * is_late: ended at the time limit; is_long: ended after ANSWER_BYTES_MAX bytes of output
	 */
	bool is_late, is_long;
	bool is_cancelled; /* ended because input() returned false */
};

/* Callbacks for the server's input and progress while an answer is made. */
struct answer_watch {
	int fd; /* input() is called when fd is readable; -1: never */
	bool (*input)(void *ctx); /* returns false to end the answering process */
	void (*tick)(void *ctx, unsigned int seconds); /* called about once a second */
	void *ctx;
};

#define ANSWER_SECONDS 60
#define ANSWER_BYTES_MAX (2u << 20)

/*
 * Runs one() in a process, and collects its output. one() returns the exit status. If SIGALRM ends
 * the process, ret->is_late is set.
 */
int answer_make(struct answer_text *ret, int (*one)(void *ctx), void *ctx,
		const struct answer_watch *watch);

/*
 * viewer: processes that serve traces to a browser, one per trace, until the server that started
 * them ends. If the server is killed, the kernel ends them.
 *
 * Threads: one. Errors: -errno, with text.
 */
#define VIEWERS_MAX 8 /* a further viewer replaces the oldest */
#define VIEWER_SECONDS 60 /* longest time until a viewer prints its address */

/*
 * Starts a viewer of the trace at path unless it runs. *ret_url: its address, valid until the next
 * call. serve(ctx) runs in the viewer's process: it prints the address and a newline to stdout, and
 * keeps running.
 */
int viewer_start(const char *path, int (*serve)(void *ctx), void *ctx, const char **ret_url,
		 struct err *e);
void viewer_end_all(void);
