/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* site_text: two lists of words, one for tables and one for people. */
#include "analyze/engine/site_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *word, *text;
} reasons[TRACE_SITE_WHY_CNT] = {
	[TRACE_SITE_STRIPPED] = { "stripped", "stripped" },
	[TRACE_SITE_NO_FUNCTION] = { "no_function", "no function there" },
	[TRACE_SITE_ANONYMOUS] = { "anonymous", "anonymous memory" },
	[TRACE_SITE_EXITED] = { "exited", "process had exited" },
	[TRACE_SITE_DELETED] = { "deleted", "file was deleted" },
	[TRACE_SITE_CHANGED] = { "changed", "file was replaced" },
	[TRACE_SITE_UNREADABLE] = { "unreadable", "unreadable" },
	[TRACE_SITE_UNMAPPED] = { "unmapped", "not mapped" },
};

const char *site_text_why(const struct trace_site *s)
{
	if (s->why == TRACE_SITE_NAMED)
		return NULL;
	return s->why < TRACE_SITE_WHY_CNT ? reasons[s->why].word : "unknown";
}

static const char *file_of(const struct trace_site *s)
{
	const char *slash = strrchr(s->module, '/');

	return slash && slash[1] ? slash + 1 : s->module;
}

static void format(char *to, size_t size, const struct trace_site *s, int with_offset)
{
	const char *why = s->why < TRACE_SITE_WHY_CNT ? reasons[s->why].text : "unknown";
	const char *file = file_of(s);

	if (s->symbol[0] && with_offset)
		snprintf(to, size, "%.300s+0x%" PRIx64 " [%.160s]", s->symbol, s->symbol_offset,
			 file);
	else if (s->symbol[0])
		snprintf(to, size, "%.300s", s->symbol);
	else if (file[0] && file[0] != '[')
		snprintf(to, size, "%.300s+0x%" PRIx64 " (%s)", file, s->module_offset, why);
	else if (file[0])
		snprintf(to, size, "%.300s+0x%" PRIx64, file, s->module_offset);
	else if (with_offset)
		snprintf(to, size, "0x%" PRIx64 " (%s)", s->addr, why);
	else
		snprintf(to, size, "(%s)", why);
}

void site_text_format(char *to, size_t size, const struct trace_site *s)
{
	format(to, size, s, 1);
}

void site_text_frame(char *to, size_t size, const struct trace_site *s)
{
	format(to, size, s, 0);
}
