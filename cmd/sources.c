/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sources: turns the flat list of kernel hooks into sources and classes for people. The names come
 * from session_hooks(), so that a new source needs no line here.
 */
#include "cmd/sources.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/input/nearest.h"
#include "cmd/render/say.h"
#include "record/session.h"

#define WORDS_MAX 64

static bool is_known(const char *const *words, unsigned int cnt, const char *w, size_t len)
{
	for (unsigned int i = 0; i < cnt; i++) {
		if (strlen(words[i]) == len && !memcmp(words[i], w, len))
			return true;
	}
	return false;
}

/*
 * Sources, then classes, then "all". A class's name is what stands before the dot; store keeps
 * those.
 */
static unsigned int list_words(const char **words, char store[WORDS_MAX][32])
{
	const struct session_hook *hooks;
	unsigned int hook_cnt = session_hooks(&hooks), cnt = 0, stored = 0;

	for (unsigned int i = 0; i < hook_cnt && cnt + 2 < WORDS_MAX; i++) {
		const char *name = hooks[i].source;
		size_t len = strcspn(name, ".");

		if (!is_known(words, cnt, name, strlen(name)))
			words[cnt++] = name;
		if (name[len] && len < sizeof(store[0]) && !is_known(words, cnt, name, len)) {
			memcpy(store[stored], name, len);
			store[stored][len] = '\0';
			words[cnt++] = store[stored++];
		}
	}
	words[cnt++] = "all";
	return cnt;
}

int sources_check(const char *list, const struct opts_command *command)
{
	char store[WORDS_MAX][32], word[64];
	const char *words[WORDS_MAX];
	unsigned int cnt = list_words(words, store);

	for (const char *p = list;; p++) {
		size_t len = strcspn(p, ",");
		int near;

		if (!is_known(words, cnt, p, len)) {
			snprintf(word, sizeof(word), "%.*s", (int)len, p);
			near = nearest_find(word, words, cnt);
			if (near >= 0)
				return opts_usage_error(command,
							"-e: unknown event '%s'; did you mean "
							"'%s'? '-e list' shows what there is",
							word, words[near]);
			return opts_usage_error(
				command, "-e: unknown event '%s'; '-e list' shows what there is",
				word);
		}
		p += len;
		if (!*p)
			return 0;
	}
}

bool sources_need_workload(const char *list)
{
	static const char *const words[] = { "alloc.heap", "all" };

	for (const char *p = list;; p++) {
		size_t len = strcspn(p, ",");

		if (is_known(words, 2, p, len))
			return true;
		p += len;
		if (!*p)
			return false;
	}
}

struct source {
	const char *name;
	bool is_default;
	unsigned int hook_cnt, there_cnt;
	char used_for[256];
};

/* "a; b" without saying a thing twice. */
static void add_use(struct source *s, const char *use)
{
	size_t n = strlen(s->used_for);

	if (use && *use && !strstr(s->used_for, use) && n + strlen(use) + 3 < sizeof(s->used_for))
		snprintf(s->used_for + n, sizeof(s->used_for) - n, "%s%s", n ? "; " : "", use);
}

static unsigned int group(struct source *sources, unsigned int max)
{
	const struct session_hook *hooks;
	unsigned int hook_cnt = session_hooks(&hooks), cnt = 0;

	for (unsigned int i = 0; i < hook_cnt; i++) {
		struct source *s = sources;

		while (s < sources + cnt && strcmp(s->name, hooks[i].source))
			s++;
		if (s == sources + max)
			continue;
		if (s == sources + cnt) {
			*s = (struct source){ .name = hooks[i].source,
					      .is_default = hooks[i].is_default };
			cnt++;
		}
		s->hook_cnt++;
		s->there_cnt += hooks[i].is_there;
		add_use(s, hooks[i].used_for);
	}
	return cnt;
}

int sources_print(void)
{
	static const char *const names[] = { "source", "default", "this kernel", "for" };
	static struct source sources[WORDS_MAX]; /* 16 KiB: too much for a stack */
	const struct input in = { .format = RENDER_TABLE };
	unsigned int cnt = group(sources, WORDS_MAX);
	struct render *r = input_render(&in, 0, true);
	const struct row_sink *sink;
	int c;

	if (!r)
		return EXIT_FAILED;
	sink = render_sink(r);
	c = sink->begin(sink->ctx, 4, names);
	for (unsigned int i = 0; !c && i < cnt; i++) {
		const struct source *s = &sources[i];
		const char *text[] = { s->name, s->is_default ? "yes" : "no",
				       s->there_cnt ? "yes" : "NO", s->used_for };
		struct value v[4];

		for (unsigned int j = 0; j < 4; j++)
			v[j] = (struct value){ .type = VALUE_TEXT,
					       .text = text[j],
					       .text_bytes = strlen(text[j]) };
		c = sink->row(sink->ctx, v);
	}
	if (!c)
		c = sink->end(sink->ctx);
	render_free(r);
	if (c)
		return input_failed(c, NULL);
	printf("\nA class names all its default sources: sched, alloc. 'all' is everything, task "
	       "is always on.\n");
	return 0;
}
