/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * zpack: packs and unpacks sections of blocks, and parts of other files. No other module uses zstd.
 * Threads: one per packer or unpacker.
 */
#pragma once

#include <stddef.h>

struct zpack;
struct zunpack;

#define ZPACK_LEVEL_DEFAULT 1

int zpack_new(struct zpack **ret, int level);	/* level 0: the library's default */
void zpack_free(struct zpack *z);
/* Returns the bytes of output buffer that zpack_run() needs for `bytes` bytes of input. */
size_t zpack_bound(size_t bytes);
/*
 * Packs into dst, which has zpack_bound() bytes. Returns an enum chunk_pack, and the size. Stores
 * the bytes unpacked if the packed ones would not be smaller, or would be fewer than least: readers
 * refuse a section that unpacks to too many times its size. -errno: failed.
 */
int zpack_run(struct zpack *z, void *dst, size_t room, const void *src, size_t bytes, size_t least,
	      size_t *ret_bytes);

/* Packs into one zstd frame of any size. 0 or -ENOMEM. */
int zpack_frame(struct zpack *z, void *dst, size_t room, const void *src, size_t bytes,
		size_t *ret_bytes);

int zunpack_new(struct zunpack **ret);
void zunpack_free(struct zunpack *z);
/*
 * Unpacks exactly raw_bytes into dst. -EBADMSG: the bytes are invalid; -EPROTONOSUPPORT: unknown
 * enum chunk_pack.
 */
int zunpack_run(struct zunpack *z, unsigned int pack, void *dst, size_t raw_bytes, const void *src,
		size_t bytes);

/* Returns the version of the packing library at run time: "1.5.4". */
const char *zpack_library_version(void);
