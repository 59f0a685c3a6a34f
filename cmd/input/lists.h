/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * lists: comma-separated values of one option, which may also be given several times.
 * Threads: any. Errors: -EINVAL with text, -ENOMEM.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* Strings that an option gave, each time it was given; not copied. */
struct lists_strings {
	const char **v; /* the owner frees it */
	unsigned int cnt;
};
/* An option's value for a struct lists_strings; see opts_take_fn. 0 or -ENOMEM */
int lists_add_string(void *list, const char *s, struct err *e);

/* Ids of processes or threads that an option gave; the owner frees v. */
struct lists_ids {
	uint32_t *v;
	unsigned int cnt;
};
/* Options' values: ids such as "12,34" for a struct lists_ids; see opts_take_fn. */
int lists_take_ids(void *ids, const char *s, struct err *e);

/* "a" then "b,c" gives "a,b,c". list is that of a malloc'ed string (char *). */
int lists_take_words(void *list, const char *s, struct err *e);

/*
 * argv as one line: arguments with spaces or quotes are quoted as a shell would want them.
 * malloc'd, or NULL.
 */
char *lists_join_argv(char *const *argv);
