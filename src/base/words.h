/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* words: iterates over a comma-separated list. Blanks after a comma are skipped. */
#pragma once

#include <stdbool.h>
#include <string.h>

struct word {
	const char *s;	/* not terminated */
	int len;
};

/*
 * Returns the first word of *list (possibly an empty word), and advances *list to the next word. A
 * trailing comma is followed by an empty word.
 */
static inline struct word word_next(const char **list)
{
	struct word w = { *list, (int)strcspn(*list, ",") };

	*list += w.len;
	/* keep a comma at the end of the list: an empty word follows it */
	if (w.s[w.len] == ',' && (w.s[w.len + 1] || !w.len))
		*list += 1 + strspn(*list + 1, " ");
	return w;
}

static inline struct word word_of(const char *text)
{
	return (struct word){ text, (int)strlen(text) };
}

static inline bool word_is(struct word w, const char *text)
{
	return (int)strlen(text) == w.len && !memcmp(w.s, text, w.len);
}

static inline bool words_have(const char *list, const char *text)
{
	while (*list)
		if (word_is(word_next(&list), text))
			return true;
	return false;
}
