/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * viewer: processes that serve traces to a browser, one for each trace, as long as the server that
 * was asked for their addresses runs: the kernel ends them if it is killed.
 *
 * Threads: one. Errors: -errno, with text.
 */
#pragma once

#include "base/err.h"

#define VIEWERS_MAX 8 /* the oldest ends for a further one */
#define VIEWER_SECONDS 60 /* until a viewer must have its address */

/*
 * Returns the address in *ret_url, which is valid until the next call. serve(ctx) runs in the
 * viewer's process: it prints the address and a newline to stdout, and keeps running.
 */
int viewer_start(const char *path, int (*serve)(void *ctx), void *ctx, const char **ret_url,
		 struct err *e);
void viewer_end_all(void);
