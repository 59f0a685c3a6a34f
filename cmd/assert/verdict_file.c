/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* verdict_file: unprintable bytes become \xNN before a text is escaped for the format. */
#include "cmd/assert/verdict_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/textsafe.h"
#include "cmd/render/render.h"

static void put_case(FILE *f, const struct verdict_line *v)
{
	const char *element = v->verdict == VERDICT_FAIL ? "failure" : "error";

	fprintf(f, "<testcase classname=\"ebpfrec assert\" line=\"%u\" name=\"", v->rule->line);
	render_html_text(f, v->rule->text);
	fprintf(f, "\" time=\"%.3f\"", (double)v->rule->took_ns / 1e9);
	if (v->verdict == VERDICT_PASS) {
		fprintf(f, "/>\n");
		return;
	}
	fprintf(f, ">\n<%s type=\"%s\" message=\"", element, verdict_name(v->verdict));
	render_html_text(f, v->text);
	fprintf(f, "\">");
	render_html_text(f, v->command);
	fprintf(f, "</%s>\n</testcase>\n", element);
}

void verdict_write_junit(FILE *f, const char *file, const struct verdict_line *v, unsigned int cnt)
{
	unsigned int fails = 0, errors = 0;
	uint64_t took_ns = 0;

	for (unsigned int i = 0; i < cnt; i++) {
		fails += v[i].verdict == VERDICT_FAIL;
		errors += v[i].verdict == VERDICT_INDETERMINATE;
		took_ns += v[i].rule->took_ns;
	}
	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"");
	render_html_text(f, file);
	fprintf(f, "\" tests=\"%u\" failures=\"%u\" errors=\"%u\" time=\"%.3f\">\n", cnt, fails,
		errors, (double)took_ns / 1e9);
	for (unsigned int i = 0; i < cnt; i++)
		put_case(f, &v[i]);
	fprintf(f, "</testsuite>\n</testsuites>\n");
}

/* "%", and in a property also ":" and ",", as the runner reads them. */
static void put_github(FILE *f, const char *text, bool is_property)
{
	size_t n = strlen(text), size = n * TEXTSAFE_GROWTH + 1;
	char *safe = malloc(size);

	if (!safe)
		return;
	textsafe_escape(safe, size, text, n, NULL);
	for (const char *c = safe; *c; c++)
		if (*c == '%' || (is_property && (*c == ':' || *c == ',')))
			fprintf(f, "%%%02X", (unsigned int)*c);
		else
			fputc(*c, f);
	free(safe);
}

void verdict_write_github(FILE *f, const struct verdict_line *v, unsigned int cnt)
{
	for (; cnt--; v++) {
		if (v->verdict == VERDICT_PASS)
			continue;
		fprintf(f, "::%s file=", v->verdict == VERDICT_FAIL ? "error" : "warning");
		put_github(f, v->file, true);
		fprintf(f, ",line=%u,title=", v->rule->line);
		put_github(f, verdict_name(v->verdict), true);
		put_github(f, ": ", true);
		put_github(f, v->rule->text, true);
		fprintf(f, "::");
		put_github(f, v->text, false);
		put_github(f, "; ", false);
		put_github(f, v->command, false);
		fputc('\n', f);
	}
}
