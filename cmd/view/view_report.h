/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* view_report: rows of `report` for a window, as answers to a browser. Threads: one. */
#pragma once

#include <stdint.h>

#include "analyze/context/analysis.h"
#include "base/err.h"
#include "cmd/serve/http_server.h"

/*
 * Rows of the view that the request names, as JSON, of the process, thread or name that it names.
 * -EINVAL: this view is not served; -errno: it cannot be made.
 */
int view_report_rows(struct analysis *a, const struct http_request *q, uint64_t from_ns,
		     uint64_t to_ns, struct http_answer *ret, struct err *e);
/*
 * Threads, files and locks of the window whose name contains the word of the request in any case,
 * or whose number is the word: the largest ones of each. -EINVAL: the request has no word.
 */
int view_report_search(struct analysis *a, const struct http_request *q, uint64_t from_ns,
		       uint64_t to_ns, struct http_answer *ret, struct err *e);
/* JSON of the rows that write() produces, as the answer's text. 0, or the result of write(). */
int view_render_answer(int (*write)(void *ctx, const struct row_sink *out, struct err *e),
		       void *ctx, struct http_answer *ret, struct err *e);

/*
 * view_download: a window as a file that a browser saves. The command that the page shows beside
 * the link makes it, in a temporary directory; a directory becomes a zip file. A thread waits for
 * the command while other requests are answered. Threads: one calls this.
 */
/* Limits of time and disk for one file, and of files that are made at once. */
#define VIEW_DOWNLOAD_SECONDS 60
#define VIEW_DOWNLOAD_BYTES   (UINT64_C(1) << 30)
#define VIEW_DOWNLOADS_MAX    4

/*
 * Begins to make the file; *ret is completed later. The window is in ns from the trace's start;
 * trace is its path, symbols the value of --symbols or NULL; both must stay valid. -EINVAL: the
 * request names no known file; -EBUSY: too many are being made.
 */
int view_download_begin(const struct http_request *q, const char *trace, const char *symbols,
			uint64_t from_ns, uint64_t to_ns, struct http_answer *ret);
