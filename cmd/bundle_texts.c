/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle_texts: through memory streams, from the manifest and from the view `summary`.
 */
#include "cmd/bundle_texts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/analysis.h"
#include "base/units.h"
#include "cmd/input/input.h"
#include "base/textsafe.h"
#include "cmd/input/timeexpr.h"

static int stream_end(FILE *f, struct bundle_text *text, int r)
{
	if (fclose(f) && r == 0)
		r = -ENOMEM;
	if (r < 0) {
		free(text->data);
		*text = (struct bundle_text){ 0 };
	}
	return r;
}

static int put_value(FILE *f, const char *key, const char *value)
{
	size_t n = strlen(value), room = n * TEXTSAFE_GROWTH + 1;
	char *safe = malloc(room);

	if (!safe)
		return -ENOMEM;
	textsafe_escape(safe, room, value, n, NULL);
	fprintf(f, "%s=%s\n", key, safe);
	free(safe);
	return 0;
}

int bundle_text_environment(struct bundle_text *ret, const struct trace *t)
{
	static const char *const keys[] = {
		"host",	      "kernel.release", "kernel.version", "machine",  "cpu.model",
		"cpu.possible", "cpu.online",	"mem.bytes",	  "page_bytes", "mounts",
		"recorder.version", "sources",	"programs",	  "lacks",
	};
	struct bundle_text text = { 0 };
	FILE *f = open_memstream(&text.data, &text.bytes);
	size_t i;
	int r = 0;

	if (!f)
		return -ENOMEM;
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]) && r == 0; i++)
		if (trace_get(t, keys[i]))
			r = put_value(f, keys[i], trace_get(t, keys[i]));
	r = stream_end(f, &text, r);
	if (r == 0)
		*ret = text;
	return r;
}

static void put_heading(FILE *f, const struct trace *t)
{
	uint64_t from = trace_start_ns(t), to = trace_end_ns(t);
	char missing[400], len[UNITS_TEXT_MAX], wall[TIMEEXPR_TEXT_MAX];

	input_is_complete(t, INPUT_NEEDS_SUMMARY, from, to, missing, sizeof(missing));
	fprintf(f, "%s from %s, %s%s\n\n", units_format_duration(len, sizeof(len), to - from),
		timeexpr_format_real(wall, trace_real_ns(t, from), 0),
		missing[0] ? "INCOMPLETE: " : "complete", missing);
}

int bundle_text_summary(struct bundle_text *ret, struct trace *t, enum render_format format,
			struct err *e)
{
	const struct report_request q = { .view = "summary",
					  .from_ns = trace_start_ns(t),
					  .to_ns = trace_end_ns(t) };
	struct render_options o = { .format = format, .human = true };
	struct bundle_text text = { 0 };
	struct analysis *a = NULL;
	struct render *render = NULL;
	int r = analysis_open(&a, t, e);

	if (r < 0)
		return r;
	o.out = open_memstream(&text.data, &text.bytes);
	r = o.out ? render_new(&render, &o) : -ENOMEM;
	if (r < 0) {
		err_set(e, r, "out of memory");
	} else {
		if (format == RENDER_TABLE)
			put_heading(o.out, t);
		r = analysis_report(a, &q, render_sink(render), e);
	}
	render_free(render);
	if (o.out)
		r = stream_end(o.out, &text, r);
	analysis_close(a);
	if (r == 0)
		*ret = text;
	return r;
}
