/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * draft: the directory beside an output in which a command makes it (base/draft_dir.h), so that under the output's name
 * there is all of it or nothing. It is gone at the end, by a signal, too (leftover.h); one that was killed is removed by the
 * next that makes a draft in the same directory. Threads: one. Says what is wrong.
 */
#ifndef DRAFT_H
#define DRAFT_H

#include <stdbool.h>

#include "base/draft_dir.h"

struct draft {
	struct draft_dir dir;
};

/* Beside output, which need not exist. 0 or EXIT_FAILED. */
int draft_make(struct draft *d, const char *output);

/* The path of what is made in it under that name; malloc'ed. NULL: out of memory, said so. */
char *draft_path(const struct draft *d, const char *name);

/* A draft of a trace: *ret_path, in it, is where it is to be made. Output must not exist. 0 or EXIT_FAILED. */
int draft_make_trace(struct draft *d, const char *output, char **ret_path);

/*
 * What is there under name becomes output: a file, or a directory. replace: in place of a file that is there; else that is
 * an error. 0 or EXIT_FAILED.
 */
int draft_place(const struct draft *d, const char *name, const char *output, bool replace);

int draft_place_trace(const struct draft *d, const char *output);

/* With all that is left in it. */
void draft_drop(struct draft *d);

#endif /* DRAFT_H */
