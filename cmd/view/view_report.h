/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* view_report: answers a browser's requests with rows of `report` for a window. Threads: one. */
#pragma once

#include <stdint.h>

#include "analyze/analyze.h"
#include "base/err.h"
#include "cmd/serve/http_server.h"

/*
 * Answers with rows as JSON. The arguments of the request are the view, and the process, thread or
 * name to select. -EINVAL: this view is not served; -errno: other errors.
 */
int view_report_rows(struct analysis *a, const struct http_request *q, uint64_t from_ns,
		     uint64_t to_ns, struct http_answer *ret, struct err *e);
/*
 * Answers with the commands, threads, files and locks of the window whose name contains the
 * request's word, ignoring case, or whose number is the word: the first of each kind. -EINVAL: the
 * request has no word.
 */
int view_report_search(struct analysis *a, const struct http_request *q, uint64_t from_ns,
		       uint64_t to_ns, struct http_answer *ret, struct err *e);
/*
 * Sets the answer's text to the JSON of the rows that write() produces. 0, or the result of
 * write().
 */
int view_render_answer(int (*write)(void *ctx, const struct row_sink *out, struct err *e),
		       void *ctx, struct http_answer *ret, struct err *e);

/*
 * view_download: makes a file from a window, for a browser to save. It runs the command that the
 * page shows beside the link, in a temporary directory; if the output is a directory, it becomes a
 * zip file. A thread waits for the command while other requests are answered. Call it from one
 * thread only.
 */
/* Limits: seconds and bytes per file, and the number of files made at the same time. */
#define VIEW_DOWNLOAD_SECONDS 60
#define VIEW_DOWNLOAD_BYTES   (UINT64_C(1) << 30)
#define VIEW_DOWNLOADS_MAX    4

/*
 * Begins to make the file; *ret is completed later. The window is in ns from the trace's start.
 * trace: path of the trace; symbols: value of --symbols or NULL; both strings must stay valid.
 * -EINVAL: the request selects no known kind of file; -EBUSY: too many files are being made.
 */
int view_download_begin(const struct http_request *q, const char *trace, const char *symbols,
			uint64_t from_ns, uint64_t to_ns, struct http_answer *ret);
