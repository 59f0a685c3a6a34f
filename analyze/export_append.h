/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * export_append: adds to an exported database what its trace has got since.
 *
 *     export_blocks + trace --> the instant up to which nothing has changed --> DELETE, INSERT behind it
 *
 * Everything in one transaction of SQLite's, with a journal: killed at any moment, the database is what it was
 * before. Threads: one.
 */
#ifndef EXPORT_APPEND_H
#define EXPORT_APPEND_H

#include "analyze/export_sql.h"

/* x->path is the database. -EEXIST: it is none to add to, and left as it is; the text says why. */
int export_append(struct export_to *x, struct err *e);

/* Has SQLite undo what a killed one left half-done, before the file is replaced: its journal must not outlive it. */
void export_append_settle(const char *path);

#endif /* EXPORT_APPEND_H */
