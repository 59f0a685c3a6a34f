/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * zpack: one zstd context for all sections. Frames have no checksum and no dictionary: the section
 * table has the CRC of the stored bytes and the unpacked size.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "format/chunk.h"
#include "format/zpack.h"

#define ZPACK_MIN_BYTES 64	/* fewer bytes would grow by the frame's overhead */

struct zpack {
	ZSTD_CCtx *cctx;	/* NULL: store everything unpacked */
};

int zpack_new(struct zpack **ret, int level)
{
	struct zpack *z = calloc(1, sizeof(*z));

	if (!z)
		return -ENOMEM;
	*ret = z;
	if (level < 0)
		return 0;
	z->cctx = ZSTD_createCCtx();
	if (!z->cctx) {
		free(z);
		return -ENOMEM;
	}
	if (ZSTD_isError(ZSTD_CCtx_setParameter(z->cctx, ZSTD_c_compressionLevel,
						level ? level : ZPACK_LEVEL_DEFAULT))) {
		zpack_free(z);
		return -EINVAL;
	}
	*ret = z;
	return 0;
}

void zpack_free(struct zpack *z)
{
	if (!z)
		return;
	ZSTD_freeCCtx(z->cctx);
	free(z);
}

size_t zpack_bound(size_t bytes)
{
	return ZSTD_compressBound(bytes);
}

int zpack_frame(struct zpack *z, void *dst, size_t room, const void *src, size_t bytes,
		size_t *ret_bytes)
{
	*ret_bytes = ZSTD_compress2(z->cctx, dst, room, src, bytes);
	return ZSTD_isError(*ret_bytes) ? -ENOMEM : 0;
}

int zpack_run(struct zpack *z, void *dst, size_t room, const void *src, size_t bytes, size_t least,
	      size_t *ret_bytes)
{
	size_t n;

	if (z->cctx && bytes >= ZPACK_MIN_BYTES) {
		if (zpack_frame(z, dst, room, src, bytes, &n) < 0)
			return -ENOMEM;
		if (n < bytes && n >= least) {
			*ret_bytes = n;
			return CHUNK_PACK_ZSTD;
		}
	}
	if (room < bytes)
		return -ENOSPC;
	if (bytes)
		memcpy(dst, src, bytes);
	*ret_bytes = bytes;
	return CHUNK_PACK_NONE;
}

/* struct zunpack is an alias of the library's context. */
int zunpack_new(struct zunpack **ret)
{
	*ret = (struct zunpack *)ZSTD_createDCtx();
	return *ret ? 0 : -ENOMEM;
}

void zunpack_free(struct zunpack *z)
{
	ZSTD_freeDCtx((ZSTD_DCtx *)z);
}

int zunpack_run(struct zunpack *z, unsigned int pack, void *dst, size_t raw_bytes, const void *src,
		size_t bytes)
{
	size_t n;

	switch (pack) {
	case CHUNK_PACK_NONE:
		if (bytes != raw_bytes)
			return -EBADMSG;
		if (bytes)
			memcpy(dst, src, bytes);
		return 0;
	case CHUNK_PACK_ZSTD:
		/* One-pass decoding writes only to dst, even if the frame claims a larger size. */
		n = ZSTD_decompressDCtx((ZSTD_DCtx *)z, dst, raw_bytes, src, bytes);
		return ZSTD_isError(n) || n != raw_bytes ? -EBADMSG : 0;
	default:
		return -EPROTONOSUPPORT;
	}
}

const char *zpack_library_version(void)
{
	return ZSTD_versionString();
}
