/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * manifest: the small text file of a trace directory.
 *
 *     ebpfrec trace 2
 *     crc32c=xxxxxxxx
 *     key=value
 *     ...
 *
 * The second line is the checksum of all other lines; older programs did not write it. A manifest
 * that does not match its checksum, or was truncated before its entries, is ignored: the result has
 * a single entry, MANIFEST_LOST. Keys are [a-z0-9._-]+, sorted. In values every byte outside
 * 0x20..0x7e, and the backslash, is written as \xHH. Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "format/rows.h"
#include "store/files.h"

#define MANIFEST_NAME "manifest"
#define MANIFEST_NEW "manifest.new"	/* name of a new manifest until it replaces the old one */
#define MANIFEST_VERSION 2
#define MANIFEST_MAX_BYTES (1u << 20)
/* Key of the reason why the recording's manifest was lost. A copy of the trace keeps this entry. */
#define MANIFEST_LOST "manifest.lost"
#define MANIFEST_SUM_DIFFERS "does not match its checksum"

struct manifest {
	struct manifest_entry *entries;	/* in order of keys */
	size_t cnt, cap;
	size_t damaged_bytes;	/* size of a damaged text; 0: not damaged */
};

void manifest_done(struct manifest *m);
int manifest_set(struct manifest *m, const char *key, const char *value); /* -EINVAL: invalid key */
const char *manifest_get(const struct manifest *m, const char *key);	/* NULL: no such key */

/*
 * Formats a trace_id as a UUID of version 8 (RFC 9562), for other tools: the first 64 free bits are
 * the id, the other 58 bits are 0.
 */
#define MANIFEST_UUID_BYTES 37
void manifest_format_uuid(char buf[static MANIFEST_UUID_BYTES], uint64_t trace_id);

/* Formats a manifest as text, malloc'ed. */
int manifest_format(const struct manifest *m, char **ret, size_t *ret_bytes);
/*
 * Parses a text; ignores malformed lines. -EINVAL: not a manifest; -EPROTONOSUPPORT: other format.
 */
int manifest_parse(struct manifest *m, const char *text, size_t bytes);

/* Like manifest_parse(), but describes errors in e. */
int manifest_parse_text(struct manifest *m, const char *text, size_t bytes, struct err *e);

/* Directory and owner of a manifest to write. */
struct manifest_place {
	const struct files *files;
	int dir_fd;
	uid_t uid;	/* the file's owner; -1: no change */
	gid_t gid;
};

/* Writes the text to a new file, syncs the file, and renames it to the manifest's name. */
int manifest_replace(const struct manifest_place *place, const char *text, size_t bytes);

/* Reads dir_fd/manifest. Errors: see manifest_parse() and openat(). */
int manifest_read(struct manifest *m, int dir_fd, struct err *e);
