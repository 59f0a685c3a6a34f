/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * who: the processes and threads that people name by id or by name.
 *
 * Threads: one. Functions print what is wrong to stderr and return an exit status; 0 goes on.
 */
#pragma once

#include "base/hash_map.h"
#include "cmd/input/input.h"

enum who_kind { WHO_PROCESS, WHO_THREAD, WHO_CGROUP, WHO_WORKLOAD };

/*
 * Says that nobody of the kind has this id or name, and which name is near. If a thread has what no
 * process has, says which option names it (in->of_threads), or whose thread it is. A workload has
 * no word.
 */
int who_none(const struct input *in, enum who_kind kind, const char *word);

/*
 * Adds the upids of processes, or the utids of threads, that had a name which the pattern matches
 * at any time of the trace. 0 or -ENOMEM.
 */
int who_had_name(const struct trace *t, enum who_kind kind, const char *pattern,
		 struct hash_map *ret);

/*
 * --pid, --comm, --workload, --tid and --thread each have to name somebody, and together, too, or
 * an empty answer would look like one. who_find() gives a set of what is found, all of it where a
 * trace has no block or nobody is asked for; those of several traces are put together with |.
 * who_check() says what none has.
 */
unsigned int who_find(const struct trace *t, const struct report_request *q);
int who_check(const struct input *in, const struct report_request *q, unsigned int found);
#define WHO_ALL 63u	/* nothing is missing */

/*
 * The life of the one process that in->during means, or else of the one thread, as far as it lies
 * in the trace.
 */
int who_during(const struct input *in, uint64_t *from_ns, uint64_t *to_ns);
