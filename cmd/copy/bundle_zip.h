/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle_zip: the content of a bundle: the trace's own files, and readable ones: data on the
 * machine, and a summary. Threads: one. Errors: -errno and a struct err.
 */
#pragma once

#include <stdbool.h>

#include "trace/trace.h"

/*
 * Makes the zip file of t, which is the trace in the directory dir. The members are in a folder.
 * *ret_bytes: its size. Texts are safe for a terminal, and contain no environment variables.
 * page_of: name of the trace in commands on the page; NULL leaves report.html out, as does a
 * program without charts.
 */
int bundle_zip_make(const char *zip, const char *folder, const char *dir, struct trace *t,
		    const char *page_of, uint64_t *ret_bytes, struct err *e);

/*
 * disclosed: the strings of a trace that disclose something about people and machines, by class,
 * each once. Threads: one.
 */
/*
 * Notes how many there are of each class; show: prints them to stdout. real: only the strings count
 * that this trace has, too, which t was made of; so pseudonyms do not. May be NULL. 0 or -ENOMEM.
 */
int disclosed_say(const struct trace *t, const struct trace *real, bool show);
