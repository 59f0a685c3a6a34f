/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* view_report: rows of `report` for a window, as answers to a browser. Threads: one. */
#pragma once

#include "analyze/context/analysis.h"
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
