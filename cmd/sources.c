/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sources: turns the flat list of kernel hooks into sources and classes for people. The names come
 * from session_hooks(), so that a new source needs no line here.
 */
#include "cmd/sources.h"

#include <stdio.h>
#include <string.h>

#include "cmd/render/say.h"
#include "cmd/input/input.h"
#include "record/session.h"

#define WORDS_MAX 64

/* "a; b" without saying a thing twice. */
static void add_use(struct source_row *s, const char *use)
{
	size_t n = strlen(s->used_for);

	if (use && *use && !strstr(s->used_for, use) && n + strlen(use) + 3 < sizeof(s->used_for))
		snprintf(s->used_for + n, sizeof(s->used_for) - n, "%s%s", n ? "; " : "", use);
}

unsigned int sources_list(const struct source_row **ret)
{
	static struct source_row sources[WORDS_MAX];
	const struct session_hook *hooks;
	unsigned int hook_cnt = session_hooks(&hooks), cnt = 0;

	memset(sources, 0, sizeof(sources));
	for (unsigned int i = 0; i < hook_cnt; i++) {
		struct source_row *s = sources;

		while (s < sources + cnt && strcmp(s->name, hooks[i].source))
			s++;
		if (s == sources + WORDS_MAX)
			continue;
		cnt += s == sources + cnt;
		s->name = hooks[i].source;
		s->is_default |= hooks[i].is_default;
		s->there_cnt += hooks[i].is_there;
		add_use(s, hooks[i].used_for);
	}
	*ret = sources;
	return cnt;
}

static bool is_known(const char *const *words, unsigned int cnt, const char *w, size_t len)
{
	for (unsigned int i = 0; i < cnt; i++) {
		if (strlen(words[i]) == len && !memcmp(words[i], w, len))
			return true;
	}
	return false;
}

/*
 * Sources and classes, then "light" and "all". A class's name is what stands before the dot;
 * store keeps those.
 */
static unsigned int list_words(const char **words, char store[WORDS_MAX][32])
{
	const struct source_row *sources;
	unsigned int source_cnt = sources_list(&sources), cnt = 0, stored = 0;

	for (unsigned int i = 0; i < source_cnt && cnt + 3 < WORDS_MAX; i++) {
		const char *name = sources[i].name;
		size_t len = strcspn(name, ".");

		words[cnt++] = name;
		if (name[len] && len < sizeof(store[0]) && !is_known(words, cnt, name, len)) {
			memcpy(store[stored], name, len);
			store[stored][len] = '\0';
			words[cnt++] = store[stored++];
		}
	}
	words[cnt++] = "light";
	words[cnt++] = "all";
	return cnt;
}

int sources_check(const char *list)
{
	char store[WORDS_MAX][32], word[64];
	const char *words[WORDS_MAX];
	unsigned int cnt = list_words(words, store);

	for (const char *p = list;; p++) {
		size_t len;

		p += *p == '+' || *p == '-';
		len = strcspn(p, ",");
		if (!is_known(words, cnt, p, len)) {
			snprintf(word, sizeof(word), "%.*s", (int)len, p);
			return opts_unknown("event", "-e: ", word, words, cnt,
					    " '-e list' shows what there is",
					    "; '-e list' shows what there is");
		}
		p += len;
		if (!*p)
			return 0;
	}
}

int sources_print(void)
{
	static const char *const names[] = { "source", "default", "this kernel", "for" };
	const struct input in = { .format = RENDER_TABLE };
	const struct source_row *sources;
	unsigned int cnt = sources_list(&sources);
	struct render *r = input_render(&in, 0, true, NULL);
	int c;

	if (!r)
		return EXIT_FAILED;
	render_begin(r, 4, names);
	for (unsigned int i = 0; i < cnt; i++) {
		const struct source_row *s = &sources[i];

		render_put(r, (struct value[]){ value_text(s->name),
						value_text(s->is_default ? "yes" : "no"),
						value_text(s->there_cnt ? "yes" : "NO"),
						value_text(s->used_for) });
	}
	c = input_render_end(r, 0, NULL);
	if (!c)
		printf("\nA class stands for its default sources: sched, alloc, block. "
		       "light is sched, block and alloc.rss. all is everything.\n"
		       "+NAME adds to the default, -NAME takes away from it: -e +sched.irq,"
		       "-alloc.slab.\n"
		       "The source task is always recorded.\n");
	return c;
}
