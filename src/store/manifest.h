/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * manifest: the small text file of a trace directory.
 *
 *     ebpfrec trace 1
 *     key=value
 *     ...
 *
 * Keys are [a-z0-9._-]+, sorted. In values every byte outside 0x20..0x7e, and the backslash, is
 * written as \xHH. Threads: one.
 */
#ifndef MANIFEST_H
#define MANIFEST_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "store/files.h"

#define MANIFEST_NAME "manifest"
#define MANIFEST_NEW "manifest.new"	/* one being written, to replace it */
#define MANIFEST_VERSION 1
#define MANIFEST_MAX_BYTES (1u << 20)

struct manifest_entry {
	char *key, *value;	/* the value may hold any byte but NUL */
};

struct manifest {
	struct manifest_entry *entries;	/* by key */
	size_t cnt, cap;
};

void manifest_done(struct manifest *m);
int manifest_set(struct manifest *m, const char *key, const char *value); /* -EINVAL: not a key */
const char *manifest_get(const struct manifest *m, const char *key);		/* NULL: none */

/* The file's text, malloc'ed. */
int manifest_format(const struct manifest *m, char **ret, size_t *ret_bytes);
/* -EINVAL: not a manifest; -EPROTONOSUPPORT: of a newer format. Lines that make no sense are passed over. */
int manifest_parse(struct manifest *m, const char *text, size_t bytes);

/* The same, and says what is wrong. */
int manifest_parse_text(struct manifest *m, const char *text, size_t bytes, struct err *e);

/* Where one is written. */
struct manifest_place {
	const struct files *files;
	int dir_fd;
	uid_t uid;	/* owner of the file; -1 each leaves it */
	gid_t gid;
};

/* Writes text beside the manifest there may be, syncs it, and puts it in its place. */
int manifest_replace(const struct manifest_place *place, const char *text, size_t bytes);

/* Reads dir_fd/manifest. Errors as manifest_parse() and openat(). */
int manifest_read(struct manifest *m, int dir_fd, struct err *e);

#endif /* MANIFEST_H */
