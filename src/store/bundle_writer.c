/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle_writer: libzip writes a temporary file beside the bundle, and renames it when it closes.
 */
#include "store/bundle_writer.h"

#include <errno.h>
#include <sys/stat.h>

#ifdef EBPFREC_NO_ZIP

int bundle_write(const char *path, const struct bundle_member *members, size_t cnt,
		 int64_t mtime_s, uint64_t *ret_bytes, struct err *e)
{
	(void)members;
	(void)cnt;
	(void)mtime_s;
	(void)ret_bytes;
	return err_set(e, -ENOTSUP,
		       "'%s' cannot be made: this program was built without libzip; `ebpfrec cut` "
		       "makes a directory that any zip program packs (zip -0 -j)",
		       path);
}

#else

#include <zip.h>

static int add(zip_t *z, const struct bundle_member *m, int64_t mtime_s)
{
	zip_source_t *s = m->path ? zip_source_file(z, m->path, 0, -1) :
				    zip_source_buffer(z, m->data, m->bytes, 0);
	zip_int64_t at;

	if (!s)
		return -ENOMEM;
	at = zip_file_add(z, m->name, s, ZIP_FL_ENC_UTF_8);
	if (at < 0) {
		zip_source_free(s);
		return -EINVAL;
	}
	if (zip_set_file_compression(z, (zip_uint64_t)at, ZIP_CM_STORE, 0) < 0 ||
	    zip_file_set_mtime(z, (zip_uint64_t)at, mtime_s, 0) < 0 ||
	    zip_file_set_external_attributes(z, (zip_uint64_t)at, 0, ZIP_OPSYS_UNIX,
					     (zip_uint32_t)(S_IFREG | 0600) << 16) < 0)
		return -EINVAL;
	return 0;
}

int bundle_write(const char *path, const struct bundle_member *members, size_t cnt,
		 int64_t mtime_s, uint64_t *ret_bytes, struct err *e)
{
	int code = 0, r = 0;
	struct stat st;
	size_t i;
	zip_t *z;

	z = zip_open(path, ZIP_CREATE | ZIP_EXCL, &code);
	if (!z)
		return err_set(e, code == ZIP_ER_EXISTS ? -EEXIST : -EIO, "cannot create '%s'",
			       path);
	for (i = 0; i < cnt && r == 0; i++)
		r = add(z, &members[i], mtime_s);
	if (r == 0 && zip_close(z) < 0)
		r = -EIO;
	if (r < 0) {
		r = err_set(e, r, "cannot write '%s': %s", path, zip_strerror(z));
		zip_discard(z);
		return r;
	}
	if (stat(path, &st) < 0)
		return err_set(e, -errno, "'%s': %s", path, err_text(NULL, -errno));
	*ret_bytes = (uint64_t)st.st_size;
	return 0;
}

#endif /* EBPFREC_NO_ZIP */
