/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_progress: a page while traces are read for the first time. It says how far that is, shows
 * what the heads of blocks have already, events of each kind and losses over time, and asks for
 * itself again until it is another page. Threads: one.
 */
#pragma once

#include "cmd/serve/http_server.h"
#include "trace/trace.h"

/* Writes the page about the traces, of whose events done of all are read. 0 or -ENOMEM. */
int view_progress_answer(const struct trace *const *traces, unsigned int cnt, uint64_t done,
			 uint64_t all, struct http_answer *ret);
