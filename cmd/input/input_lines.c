/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* input_lines: --lines, of the commands that show code of programs. */
#include <errno.h>
#include <string.h>

#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "symbol/source_lines.h"

#define NAMED_MAX 5 /* files without lines, of each reason */

int input_take_lines(void *lines, const char *value, struct err *e)
{
	if (!source_lines_is_offered())
		return err_set(e, -ENOTSUP, "this program was built without libdw, which reads "
					    "debugging information; install libdw-dev, and build "
					    "it again");
	*(const char **)lines = value ? value : "";
	return 0;
}

int input_use_lines(struct input *in)
{
	return in->lines ? input_status(analysis_use_lines(in->analysis, in->lines,
							   in->symbol_dirs), NULL) : 0;
}

static void note_more(unsigned int cnt, const char *why)
{
	if (cnt > NAMED_MAX)
		say_note("no lines of %u more file%s: %s", cnt - NAMED_MAX,
			 cnt - NAMED_MAX == 1 ? "" : "s", why);
}

void input_note_lines(const struct input *in)
{
	const char *path, *why, *before = NULL;
	unsigned int cnt = 0;

	for (unsigned int nr = 0; analysis_lines_missing(in->analysis, nr, &path, &why); nr++) {
		if (before && strcmp(why, before)) {
			note_more(cnt, before);
			cnt = 0;
		}
		if (++cnt <= NAMED_MAX)
			say_note("no lines of %s%s: %s", in->lines, say_text(path), why);
		before = why;
	}
	note_more(cnt, before);
}
