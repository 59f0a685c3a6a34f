/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* trace_list: opens one trace after the other and reports those that cannot be opened on stderr. */
#include "cmd/mcp/trace_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/input/input.h"
#include "cmd/render/say.h"

static void list_trace(const char *dir, const char *name)
{
	char *path, missing[400];
	struct input in = { .quick = true };
	uint64_t from_ns, to_ns;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return;
	in.path = path;
	if (!input_open(&in, false)) {
		from_ns = trace_start_ns(in.trace);
		to_ns = trace_end_ns(in.trace);
		input_verify(&in, true, from_ns, to_ns);
		printf("%s: %s from %s, %s%s; command: %s; in a browser: ebpfrec view -i %s\n",
		       say_text(name), say_duration(to_ns - from_ns),
		       say_wall(trace_real_ns(in.trace, from_ns), false),
		       input_is_complete(in.trace, LOSS_NEEDS_ALL, from_ns, to_ns, missing,
					 sizeof(missing)) ? "complete" : "INCOMPLETE: ", missing,
		       say_text(trace_get(in.trace, "command") ?: "none"), say_text(path));
	}
	input_close(&in);
	free(path);
}

static int is_trace(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return *d->d_name != '.' && (d->d_type == DT_DIR || d->d_type == DT_UNKNOWN ||
				     d->d_type == DT_LNK || (dot && !strcmp(dot, ".zip")));
}

int trace_list_print(const char *dir)
{
	struct dirent **found;
	int cnt = scandir(dir, &found, is_trace, alphasort);
	char path[4200];

	if (cnt < 0)
		return say_error("%s: %s", dir, strerror(errno));
	for (int i = 0; i < cnt; i++) {
		snprintf(path, sizeof(path), "%s/%s/manifest", dir, found[i]->d_name);
		if (strstr(found[i]->d_name, ".zip") || !access(path, F_OK))
			list_trace(dir, found[i]->d_name);
		free(found[i]);
	}
	free(found);
	return 0;
}
