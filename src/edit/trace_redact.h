/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_redact: creates a new trace with pseudonyms instead of names; numbers do not change.
 *
 *     checked trace --[trace_redact]--> new trace: event columns byte for byte; small sections and
 *                                       manifest written again, string by string
 *
 * Only known data is copied: fields, sections and manifest entries of later recorders are left out.
 * The salt is not stored. See redact_words below for the pseudonyms and kept names.
 *
 * Threads: one. Errors: 0 or -errno and a struct err; on error, no new trace remains.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/trace.h"

/*
 * redact_words: replaces the strings of a trace by pseudonyms, by kind of string.
 *
 *     comm      proc-ktfndc              cmdline   word by word, options and '=' keep their place:
 *     path      /pktfndc/pbmqcrd.so                pktfndc -oqbcrhs --okknnbd=/pcpdqfr/p.c abrcsdt
 *     cgroup    as a path, see below     host      host-ktfndc
 *     mark      mark-ktfndc              note      note-ktfndc
 *     device    dev-ktfndc               cache     cache-ktfndc
 *     symbol    sym-ktfndc+0x1f          function  fn-ktfndc (of user space)
 *     build id  id-ktfndc                user      user-ktfndc
 *
 * The letters depend only on the key and the string: a process and a file of the same name have the
 * same letters. Paths keep their number of components and known extensions. "" is kept. In the path
 * of a cgroup, names that container managers and systemd choose are kept, such as docker-ID.scope
 * with another id, so that a redacted trace has the same containers and users' units.
 *
 * Other kept names are those that kernels use on every machine (kernel symbols, slab caches, disks
 * such as sda or dm-0), and names that match the user's patterns. Threads: one. Errors: NULL or
 * -ENOMEM: out of memory.
 */

/*
 * pseudonym: a short word that replaces a string. Equal strings have equal words, and without the
 * key a word reveals nothing about its string.
 *
 * A word has 6 letters, one per 4 bits of a keyed hash (SipHash-2-4), or more if another string has
 * this word already. Different strings therefore have different words in one dictionary.
 * Dictionaries with the same key agree except for the rare longer words, which depend on the order
 * of strings. Threads: one per dictionary.
 */
#define PSEUDONYM_KEY_BYTES 16
#define PSEUDONYM_WORD_MAX  17	/* including the NUL */

enum redact_kind {
	REDACT_COMM, REDACT_CMDLINE, REDACT_PATH, REDACT_CGROUP, REDACT_HOST, REDACT_DEVICE,
	REDACT_CACHE, REDACT_SYMBOL, REDACT_MARK, REDACT_NOTE, REDACT_FUNCTION, REDACT_BUILD_ID,
	REDACT_USER, REDACT_SOCKET, REDACT_REQUEST,
	REDACT_KIND_CNT
};

struct redact_words;

/* keep: keep_cnt glob patterns, which must stay valid until redact_words_free(). */
int redact_words_new(struct redact_words **ret, const uint8_t key[PSEUDONYM_KEY_BYTES],
		     const char *const *keep, unsigned int keep_cnt);
void redact_words_free(struct redact_words *w);

/* True for the name of a kernel thread that is the same on every machine. */
bool redact_words_is_kernels(struct redact_words *w, const char *comm);

/* Returns the replacement of s, valid until w is freed. NULL: out of memory. */
const char *redact_word(struct redact_words *w, enum redact_kind kind, const char *s);
/* Replaces a user id in place if it belongs to a person (1000 and up, except 65534). */
int redact_uid(struct redact_words *w, uint32_t *uid);

/* Numbers of different strings of each kind that were replaced or kept. */
struct redact_counts {
	uint64_t replaced[REDACT_KIND_CNT], kept[REDACT_KIND_CNT];
};

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
