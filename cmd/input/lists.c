/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * lists: for record's -p, -e and the command line it notes down, and report's --pid and --tid.
 */
#include "cmd/input/lists.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int lists_add_string(void *strings, const char *s, struct err *e)
{
	struct lists_strings *list = strings;
	const char **p = realloc(list->v, (list->cnt + 1) * sizeof(*p));

	if (!p)
		return -ENOMEM;
	list->v = p;
	p[list->cnt++] = s;
	return 0;
}

int lists_take_ids(void *ids, const char *s, struct err *e)
{
	struct lists_ids *list = ids;
	const char *p = s;

	for (;;) {
		uint64_t v = 0;
		uint32_t *grown;
		size_t n = strspn(p, "0123456789");

		for (size_t i = 0; i < n && v <= INT32_MAX; i++)
			v = v * 10 + (uint64_t)(p[i] - '0');
		if (!n || !v || v > INT32_MAX || (p[n] && p[n] != ','))
			return err_set(e, -EINVAL,
				       "'%s' is not a list of ids such as 123,456", s);
		grown = realloc(list->v, (list->cnt + 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->v = grown;
		grown[list->cnt++] = (uint32_t)v;
		if (!p[n])
			return 0;
		p += n + 1;
	}
}

int lists_take_words(void *list_ptr, const char *s, struct err *e)
{
	char **list = list_ptr;
	size_t have = *list ? strlen(*list) : 0;
	char *p = realloc(*list, have + strlen(s) + 2);

	if (!p)
		return -ENOMEM;
	*list = p;
	if (have)
		p[have++] = ',';
	strcpy(p + have, s);
	return 0;
}

static bool is_plain(const char *s)
{
	return *s &&
	       !s[strspn(
		       s,
		       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_")];
}

char *lists_join_argv(char *const *argv)
{
	size_t size = 1;
	char *line, *o;

	for (char *const *a = argv; *a; a++)
		size += strlen(*a) * 4 + 3; /* a ' becomes '\'' */
	line = malloc(size);
	if (!line)
		return NULL;
	o = line;
	for (char *const *a = argv; *a; a++) {
		if (a != argv)
			*o++ = ' ';
		if (is_plain(*a)) {
			o = stpcpy(o, *a);
			continue;
		}
		*o++ = '\'';
		for (const char *p = *a; *p; p++) {
			if (*p == '\'')
				o = stpcpy(o, "'\\''");
			else
				*o++ = *p;
		}
		*o++ = '\'';
	}
	*o = '\0';
	return line;
}
