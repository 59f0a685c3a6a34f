/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * page: a window of a trace as one HTML file, which needs no network and no other file.
 *
 *     summary --rows--> tables of HTML     analysis_page() --> data --> charts, by cmd/page/page.js
 *
 * cmd/page/embed_page.sh puts the page and the library of its charts into the program. The page's
 * policy lets the browser run its own script, known by its hash, and load nothing. (The handles of
 * the range selector do not work without their images, which are data: addresses in the library.)
 * Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "analyze/context/analysis.h"

struct page_request {
	struct analysis *analysis;
	const struct trace *trace;
	const char *path;	/* of the trace, for commands to copy */
	uint64_t from_ns, to_ns;
	const char *missing;	/* missing parts of the window; "": none */
	bool is_served;		/* it has no data, and requests it from its server */
};

/* False: the program was built without the library; page_lacks explains the remedy. */
bool page_is_built(void);
extern const char page_lacks[];

/* 0 or -errno. */
int page_write(const struct page_request *r, FILE *f, struct err *e);
/* A page with the pages of two traces beside each other, as `ebpfrec view` serves them. */
int page_write_beside(const char *const *traces, size_t cnt, FILE *f);
/*
 * Writes the text of page_write() as a file for its owner, which gets its name when it is whole
 * (base/atomic_output.h).
 */
int page_make(const struct page_request *r, const char *path, bool force, struct err *e);

/* Made by cmd/page/embed_page.sh. */
extern const char page_script[], page_style[], page_license[], page_page[];
extern const char page_script_hash[], page_style_hash[];
extern const char page_css[]; /* of all pages; page_style has that of the charts, too */
extern const char page_beside[];	/* of two windows, with a mark for the traces */
extern const char page_flame[];	/* of a flame graph, with marks for render_stacks.c */
