/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle_texts: the members of a bundle that people read: what the machine was, what happened in
 * short. Texts are malloc'ed, safe for a terminal. Threads: one. Errors: -errno and a struct err.
 */
#ifndef BUNDLE_TEXTS_H
#define BUNDLE_TEXTS_H

#include <stddef.h>

#include "cmd/render/render.h"
#include "trace/trace.h"

struct bundle_text {
	char *data;
	size_t bytes;
};

/* Kernel, CPUs, memory, mounts, versions, one key=value a line. Never environment variables. */
int bundle_text_environment(struct bundle_text *ret, const struct trace *t);

/* `report summary` of the whole trace, with a heading when format is RENDER_TABLE. */
int bundle_text_summary(struct bundle_text *ret, struct trace *t, enum render_format format,
			struct err *e);

#endif /* BUNDLE_TEXTS_H */
