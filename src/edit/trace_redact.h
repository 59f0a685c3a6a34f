/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_redact: creates a new trace with pseudonyms instead of names; numbers do not change.
 *
 *     checked trace --[trace_redact]--> new trace: event columns byte for byte; small sections and
 *                                       manifest written again, string by string
 *
 * Only known data is copied: fields, sections and manifest entries of later recorders are left out.
 * The salt is not stored. redact_words.h describes the pseudonyms and the names that are kept.
 *
 * Threads: one. Errors: 0 or -errno and a struct err; on error, no new trace remains.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "edit/redact_words.h"
#include "trace/trace.h"

struct redact_options {
	const char *const *keep;	/* globs of names, path components and words to keep */
	unsigned int keep_cnt;
	bool keep_workload;	/* keep names, command lines and cgroups of the workload */
	const void *salt;	/* NULL: use a random salt */
	size_t salt_bytes;
};

struct redact_result {
	uint64_t block_cnt, bytes;	/* written */
	struct redact_counts words;
	uint64_t entries_left_out;	/* manifest entries left out */
};

/*
 * Redacts t. Call trace_check() on t first, which must not find damage. path must neither exist
 * (-EEXIST) nor be inside t (-EINVAL). -EBADMSG: a block is damaged nevertheless. -ENODATA: t has
 * no block.
 */
int trace_redact(struct trace *t, const char *path, const struct redact_options *o,
		 struct redact_result *ret, struct err *e);

/*
 * Calls fn for every nonempty string of t's lists and manifest that a redaction processes, with its
 * kind, once per occurrence.
 */
typedef void (*trace_string_fn)(void *ctx, enum redact_kind kind, const char *text);
void trace_strings_each(const struct trace *t, trace_string_fn fn, void *ctx);
