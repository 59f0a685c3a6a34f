/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * who: the processes and threads that options select by id or by name.
 *
 * Threads: one. Functions print errors to stderr and return an exit status; 0 means success.
 */
#pragma once

#include "base/hash_map.h"
#include "cmd/input/input.h"

enum who_kind { WHO_PROCESS, WHO_THREAD, WHO_CGROUP, WHO_WORKLOAD };

/*
 * Prints that no task of the kind has the id or name `word`, and a similar name. If only a thread
 * has the id or name, prints the option that selects the thread (in->of_threads), or the thread's
 * process. For a workload, word is unused.
 */
int who_none(const struct input *in, enum who_kind kind, const char *word);

/*
 * Adds to *ret the upids of processes, or the utids of threads, whose name matched the pattern at
 * any time of the trace. 0 or -ENOMEM.
 */
int who_had_name(const struct trace *t, enum who_kind kind, const char *pattern,
		 struct hash_map *ret);

/*
 * The options --pid, --comm, --workload, --tid and --thread must each match a task, some task must
 * match all of them, and --requests must match a request: an empty answer would otherwise look like
 * a result. who_find() returns the set of matched options; all of them if the trace has no block or
 * no option is set. Sets of several traces are combined with |. who_check() prints an error for the
 * first option without a match.
 */
unsigned int who_find(struct trace *t, const struct report_request *q);
int who_check(const struct input *in, const struct report_request *q, unsigned int found);
#define WHO_ALL 127u	/* all options matched */

/*
 * Finds the request of a program by its id (a number, or as in tables: 2,062,948) among the
 * requests that ended in the window [*from_ns, *to_ns) or were open at its end, and sets the window
 * to the request. Exactly one request must match. option: name of the option, for messages.
 */
int who_request(const struct input *in, const char *option, const char *text, uint64_t *from_ns,
		uint64_t *to_ns, uint64_t *ret_id);

/*
 * Sets the window to the lifetime, within the trace, of the process that in->during selects, or of
 * the thread if there is no such process; or to the time of a request ("request:ID"). Exactly one
 * process, thread or request must match.
 */
int who_during(const struct input *in, uint64_t *from_ns, uint64_t *to_ns);
