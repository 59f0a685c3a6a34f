/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * disclosed: the strings of a trace that tell something about people and machines, by class, each
 * once: what a reader of the trace learns. Threads: one. Errors: -ENOMEM.
 */
#ifndef DISCLOSED_H
#define DISCLOSED_H

#include <stddef.h>

#include "trace/trace.h"

enum disclosed_class {
	DISCLOSED_PROCESS,	/* names of processes and threads */
	DISCLOSED_CMDLINE,
	DISCLOSED_PATH,		/* programs, files, cgroups */
	DISCLOSED_USER,		/* names in paths and command lines below /home */
	DISCLOSED_UID,
	DISCLOSED_HOST,
	DISCLOSED_DEVICE,
	DISCLOSED_NOTE,		/* marks and notes */
	DISCLOSED_FUNCTION,	/* of programs, that asked for memory or were on such a stack */
	DISCLOSED_BUILD_ID,	/* of their files: who has the file too can tell which it is */
	DISCLOSED_CLASS_CNT
};

struct disclosed {
	char **strings[DISCLOSED_CLASS_CNT];	/* sorted, each once */
	size_t cnt[DISCLOSED_CLASS_CNT], cap[DISCLOSED_CLASS_CNT];
	int error;	/* the first one stays */
};

/* "process names" */
const char *disclosed_class_name(enum disclosed_class c);

/* Free with disclosed_done() in any case. */
int disclosed_collect(struct disclosed *d, const struct trace *t);
void disclosed_done(struct disclosed *d);

#endif /* DISCLOSED_H */
