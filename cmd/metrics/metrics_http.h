/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * metrics_http: the endpoint of `ebpfrec metrics --listen`. It answers GET /metrics, one request
 * after the other, in the caller's thread. Connections, memory for headers and the time of a
 * request are bounded, for each client and in all.
 *
 * Threads: one. Errors: -errno with text; -ENOSYS: the program was built without libmicrohttpd.
 */
#ifndef METRICS_HTTP_H
#define METRICS_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct metrics_http;

/* The text of an answer, malloc'ed. NULL: it cannot be made. */
typedef char *(*metrics_http_text)(void *ctx, bool openmetrics, size_t *ret_bytes);

/* address: "127.0.0.1:19435", "[::1]:19435", or a port alone, on 127.0.0.1; port 0: any. */
int metrics_http_start(struct metrics_http **ret, const char *address, metrics_http_text text,
		       void *ctx, struct err *e);
void metrics_http_stop(struct metrics_http *h);
/* "http://127.0.0.1:19435/metrics" */
const char *metrics_http_url(const struct metrics_http *h);
/* Answers what there is, and waits for more until then. */
void metrics_http_run(struct metrics_http *h, int wait_ms);

#endif /* METRICS_HTTP_H */
