/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sources: groups the flat list of kernel hooks by source, for people. The names come from
 * session_hooks(), so that a new source needs no change here.
 */
#include "cmd/sources.h"

#include <stdio.h>
#include <string.h>

#include "cmd/render/say.h"
#include "cmd/input/input.h"
#include "event_lists.h"
#include "probe/source.h"
#include "record/session.h"
#include "base/words.h"

#define NAME_CELLS 13
#define WORDS_MAX 64

/* Appends a use to s->used_for ("a; b"), unless the text is already there. */
static void add_use(struct source_row *s, const char *use)
{
	size_t n = strlen(s->used_for);

	if (use && *use && strncmp(use, "the same", 8) && !strstr(s->used_for, use) &&
	    n + strlen(use) + 3 < sizeof(s->used_for))
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
		uint32_t mask;

		/* the hook belongs to an option other than -e */
		if (source_parse(hooks[i].source, &mask, NULL))
			continue;
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

int sources_check(const char *list)
{
	char choices[] = EVENT_CHOICES, word[64];
	const char *names[WORDS_MAX];
	unsigned int cnt = 0, i;

	for (char *s = strtok(choices, ", "); s && cnt < WORDS_MAX; s = strtok(NULL, ", "))
		if (strcmp(s, "or"))
			names[cnt++] = s;
	do {
		struct word w;

		list += *list == '+' || *list == '-';
		w = word_next(&list);
		snprintf(word, sizeof(word), "%.*s", w.len, w.s);
		if (opts_pick(&i, "event", "-e: ", word, names, cnt,
			      " '-e list' shows what there is", "; '-e list' shows what there is"))
			return EXIT_USAGE;
	} while (*list);
	return 0;
}

int sources_print(void)
{
	const struct source_row *sources;
	unsigned int cnt = sources_list(&sources), width = input_terminal_width();

	printf("%-*s  DEFAULT  THIS KERNEL  FOR\n", NAME_CELLS, "SOURCE");
	for (unsigned int i = 0; i < cnt; i++) {
		const struct source_row *s = &sources[i];

		printf("%-*s  %-7s  %-11s  ", NAME_CELLS, s->name, s->is_default ? "yes" : "no",
		       s->there_cnt ? "yes" : "NO");
		render_wrap_beside(stdout, s->used_for, width, NAME_CELLS + 24);
	}
	printf("\n");
	render_wrap(stdout, "A class stands for its default sources: sched, alloc, block. "
		    "light is sched, block and alloc.rss. all is everything. deep, for one "
		    "program, is the default with --profile --offcpu 1ms --unwind dwarf. "
		    "+NAME adds to the default, -NAME takes away from it: "
		    "-e +sched.irq,-alloc.slab. The source task is always recorded.", width);
	return 0;
}
