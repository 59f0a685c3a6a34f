/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * span_track: the requests of programs, and the threads that worked for each.
 *
 *     events app.span --[span_track]--> requests, stays, steps
 *
 *     1.0 ms  thread 7  begin GET 17      request GET 17 begins, thread 7 works for it
 *     1.2 ms  thread 7  attach 0          stay of thread 7: 1.0 to 1.2 ms; no thread works for it
 *     1.5 ms  thread 9  attach 17         thread 9 works for it from here on
 *     1.6 ms  thread 9  step query        step query of GET 17 begins
 *     2.0 ms  thread 9  end 17            stay of thread 9: 1.5 to 2.0 ms; GET 17 and query end
 *
 * A request with an id belongs to the process that began it, and one thread at a time works for it:
 * the last one that began or attached it. A thread works for at most one request with an id. An id
 * that the thread's own process did not begin refers to the last request with this id in any
 * process.
 *
 * A request without an id is a call of a function: its thread works for it until the function
 * returns, even while the thread works for other requests. The end of a call also ends the open
 * calls inside it (longjmp() or an exception may leave functions).
 *
 * Events come in order of time. Functions return 0 or -ENOMEM. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_map.h"

struct span_request {
	uint64_t name;		/* number of its name */
	uint64_t id;		/* 0: a call of a function */
	uint64_t begin_ns, end_ns;	/* end_ns 0: not ended */
	uint32_t thread, process;	/* thread and process that began it */
	uint32_t ender;		/* the thread that ended it */
	uint32_t stay, step;	/* current stay and step, + 1; 0: none */
	uint32_t outer;		/* call: the enclosing call on the same thread, + 1; 0: none */
	bool has_failed;
};

/* A time in which a thread worked for a request. */
struct span_stay {
	uint32_t request, thread;
	uint64_t from_ns, to_ns;	/* to_ns 0: it has not ended */
};

struct span_step {
	uint64_t name;
	uint32_t request, thread;
	uint64_t from_ns, to_ns;	/* to_ns 0: it has not ended */
};

struct span_thread {
	uint32_t current;	/* request with an id, + 1; 0: none */
	uint32_t call;		/* innermost call, + 1; 0: none */
};

/* A struct of zeros is empty. */
struct span_track {
	struct span_request *requests;	/* in order of begin_ns */
	struct span_stay *stays;
	struct span_step *steps;
	size_t request_cnt, stay_cnt, step_cnt;
	size_t request_cap, stay_cap, step_cap;
	struct hash_map ids;		/* numbers for pairs (process or UINT32_MAX, id) */
	uint32_t *last;			/* by number: the last request with this pair, + 1 */
	size_t last_cap;
	struct hash_map thread_numbers;
	struct span_thread *threads;
	size_t thread_cap;
};

struct span_event {
	uint64_t ts_ns;
	uint32_t thread, process;
	unsigned int action;	/* enum event_span */
	uint64_t name; /* BEGIN, STEP: number of the name; END of a function: of its name; else 0 */
	uint64_t id;
};

int span_track_event(struct span_track *t, const struct span_event *ev);
void span_track_done(struct span_track *t);
