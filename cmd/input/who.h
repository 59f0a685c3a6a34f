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
 * Prints that no task of the kind has this id or name, and a similar name. If only a thread has the
 * id or name, prints the option that selects it (in->of_threads) or the thread's process. A
 * workload needs no word.
 */
int who_none(const struct input *in, enum who_kind kind, const char *word);

/*
 * Adds the upids of processes, or the utids of threads, that had a name which the pattern matches
 * at any time of the trace. 0 or -ENOMEM.
 */
int who_had_name(const struct trace *t, enum who_kind kind, const char *pattern,
		 struct hash_map *ret);

/*
 * --pid, --comm, --workload, --tid and --thread must each match a task, and all together as well,
 * and --requests a request of a program: otherwise no match would look like an empty answer.
 * who_find() returns the set of matched options. It returns all of them if the trace has no block
 * or no option is set. The sets of several traces are combined with |. who_check() prints an error
 * about the first option without a match.
 */
unsigned int who_find(struct trace *t, const struct report_request *q);
int who_check(const struct input *in, const struct report_request *q, unsigned int found);
#define WHO_ALL 127u	/* nothing is missing */

/*
 * Finds the request of a program with an id (a number, or as tables show it: 2,062,948) that ended
 * in the window, or was open at its end. It must be the only one; option is for messages.
 */
int who_request(const struct input *in, const char *option, const char *text, uint64_t *from_ns,
		uint64_t *to_ns, uint64_t *ret_id);

/*
 * The life of the process that in->during selects, or else of the thread, clipped to the trace. It
 * must be the only one.
 */
int who_during(const struct input *in, uint64_t *from_ns, uint64_t *to_ns);
