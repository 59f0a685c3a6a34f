/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle_zip: makes the zip file of a bundle: the trace's own files, and readable files: a summary,
 * and data on the machine. Threads: one. Errors: -errno and a struct err.
 */
#pragma once

#include <stdbool.h>

#include "trace/trace.h"

/*
 * Makes the zip file of t, which is the trace in the directory dir. All members are in folder.
 * *ret_bytes: size of the zip file. Texts are safe for a terminal, and contain no environment
 * variables. page_of: name of the trace in commands on the page; NULL: no report.html. Without the
 * library of charts, report.html is left out, too.
 */
int bundle_zip_make(const char *zip, const char *folder, const char *dir, struct trace *t,
		    const char *page_of, uint64_t *ret_bytes, struct err *e);

/*
 * disclosed: the strings of a trace that disclose something about people and machines, by class,
 * each once. Threads: one.
 */
/*
 * Prints the number of strings of each class as a note; show: also prints the strings to stdout.
 * real: the trace from which t was made, or NULL. Strings that real does not contain are skipped:
 * they are pseudonyms. 0 or -ENOMEM.
 */
int disclosed_say(const struct trace *t, const struct trace *real, bool show);
