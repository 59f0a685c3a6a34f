/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * page: writes a window of a trace as an HTML file that needs no network and no other file.
 *
 *     summary --rows--> tables of HTML     analysis_page() --> data --> charts, by cmd/page/page.js
 *
 * cmd/page/embed_page.sh embeds the page and its library of charts in the program. The page's
 * policy allows only the page's own script, by its hash, and forbids the browser to load anything,
 * except for data: addresses: the library contains images for the range selector. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "analyze/analyze.h"

struct page_request {
	struct analysis *analysis;
	const struct trace *trace;
	const char *path;	/* path of the trace, for commands on the page */
	uint64_t from_ns, to_ns;
	const char *missing;	/* missing parts of the window; "": none */
	bool is_served;		/* the page contains no data, and requests it from its server */
};

/*
 * Returns false if the program was built without the library of charts; page_lacks explains the
 * remedy.
 */
bool page_is_built(void);
extern const char page_lacks[];

/* Writes the page. 0 or -errno. */
int page_write(const struct page_request *r, FILE *f, struct err *e);
/* Writes a page that shows the pages of two traces side by side, for `ebpfrec view`. */
int page_write_beside(const char *const *traces, size_t cnt, FILE *f);
/*
 * Writes the page to a file that only its owner can read. The file gets its name when it is
 * complete (base/atomic_output.h).
 */
int page_make(const struct page_request *r, const char *path, bool force, struct err *e);

/* Made by cmd/page/embed_page.sh. */
extern const char page_script[], page_style[], page_license[], page_page[];
extern const char page_script_hash[], page_style_hash[];
/* style of all pages; page_style also contains the style of the charts */
extern const char page_css[];
extern const char page_beside[];	/* page of two windows, with a mark for the traces */
extern const char page_flame[];	/* page of a flame graph, with marks for render_stacks.c */
