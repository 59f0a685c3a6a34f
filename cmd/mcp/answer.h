/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * answer: what a command line of this program prints, made by a process of its own. A question that
 * takes too long, needs too much room or meets a fault ends that process, and not the server.
 *
 * Threads: one. Errors: -errno.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct answer_text {
	char *out, *notes; /* stdout and stderr, each ends with a NUL; the caller frees them */
	size_t out_bytes;
	int status; /* the command's exit status; -1: it was ended */
	bool is_late, is_long; /* it took too long; it printed more than ANSWER_BYTES_MAX */
};

#define ANSWER_SECONDS 60
#define ANSWER_BYTES_MAX (2u << 20)

/* one() runs in the process that answers, and returns the exit status. */
int answer_make(struct answer_text *ret, int (*one)(void *ctx), void *ctx);
