/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * nearest: used by main, opts and the view names of report to answer a mistyped word. The distance
 * is Damerau's with neighbours only (optimal string alignment), on words of up to 31 bytes.
 */
#include "cmd/input/nearest.h"

#include <string.h>

#define WORD_MAX 31

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	a = a < b ? a : b;
	return a < c ? a : c;
}

static unsigned int distance(const char *a, size_t an, const char *b, size_t bn)
{
	unsigned int d[WORD_MAX + 1][WORD_MAX + 1];

	for (unsigned int i = 0; i <= an; i++)
		d[i][0] = i;
	for (unsigned int j = 0; j <= bn; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= an; i++) {
		for (size_t j = 1; j <= bn; j++) {
			unsigned int change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, change);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[an][bn];
}

int nearest_find(const char *word, const char *const *names, unsigned int cnt)
{
	size_t len = strlen(word);
	unsigned int best = len / 3 + 1; /* more changes than that is another word */
	int found = -1;

	if (!len || len > WORD_MAX)
		return -1;
	for (unsigned int i = 0; i < cnt; i++) {
		size_t n = names[i] ? strlen(names[i]) : 0;
		const char *dot = names[i] ? strchr(names[i], '.') : NULL;
		unsigned int d;

		if (!n || n > WORD_MAX)
			continue;
		/* its beginning, or its end after a dot, is nearer than any typing error */
		d = len >= 2 && (!strncmp(word, names[i], len) || (dot && !strcmp(word, dot + 1))) ?
			    0 :
			    distance(word, len, names[i], n);
		/* A word in which every character differs is not a typing error. */
		if (d < len && (d < best || (d == best && found < 0))) {
			best = d;
			found = (int)i;
		}
	}
	return found;
}
