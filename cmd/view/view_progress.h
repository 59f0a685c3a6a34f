/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_progress: the page while traces are read for the first time. It shows the progress, and from
 * the heads of the blocks events of each kind and losses over time. It reloads itself until the
 * real page is ready. Threads: one.
 */
#pragma once

#include "cmd/serve/http_server.h"
#include "trace/trace.h"

/* Writes the page about the traces: `done` of their `all` events are read. 0 or -ENOMEM. */
int view_progress_answer(const struct trace *const *traces, unsigned int cnt, uint64_t done,
			 uint64_t all, struct http_answer *ret);
