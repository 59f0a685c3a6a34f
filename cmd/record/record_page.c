/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* record_page: opens the trace that was recorded, as `export --to html` does. */
#include "cmd/record/record_page.h"

#include <unistd.h>

#include "analyze/engine/report_view.h"
#include "cmd/input/input.h"
#include "cmd/render/page.h"
#include "cmd/render/say.h"

int record_page_check(const char *html, bool force)
{
	if (!page_is_built())
		return say_error("--html: %s", page_lacks);
	if (!force && !access(html, F_OK))
		return opts_usage_error("--html: the file exists; -f replaces it");
	return 0;
}

void record_page_make(const char *output, const char *html, bool force, bool quiet)
{
	struct input in = { .path = output };
	struct page_request q = { .path = output };
	char missing[400] = "";
	struct err e = { "" };
	int c = input_open(&in, false);

	c = c ?: input_window(&in, &q.from_ns, &q.to_ns) ?: input_analysis(&in);
	if (!c) {
		input_is_complete(in.trace, report_view_find("page")->needs, q.from_ns, q.to_ns,
				  missing, sizeof(missing));
		q.analysis = in.analysis;
		q.trace = in.trace;
		q.missing = missing;
		c = input_status(page_make(&q, html, force, &e), &e);
	}
	if (!c && !quiet)
		say_note("%s: a page of the recording, %s; open it in a browser", html,
			 say_file_bytes(html));
	input_close(&in);
}
