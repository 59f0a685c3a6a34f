/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bundle: reads and writes the zip file with libzip. The size of a file's central directory is
 * checked before libzip sees the file, to limit libzip's memory. For writing, libzip makes a
 * temporary file beside the bundle, and renames it when closing.
 */
#include "store/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "store/chunk_scan.h"
#include "store/files.h"
#include "store/manifest.h"

void bundle_close(struct bundle *b)
{
	for (size_t i = 0; i < b->cnt; i++)
		close(b->files[i].fd);
	free(b->files);
	free(b->manifest);
	*b = (struct bundle){ 0 };
}

/* Opens a regular file that begins as a zip file does. */
static int open_file(const char *path, uint64_t *ret_bytes, struct err *e)
{
	char magic[4] = "";
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r = 0;

	if (fd < 0)
		return err_set(e, -errno, "cannot open '%s': %s", path, err_text(NULL, -errno));
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode) || pread(fd, magic, 4, 0) != 4 || memcmp(magic, "PK\3\4", 4))
		r = -ENOTDIR;
	if (r < 0) {
		close(fd);
		return err_set(e, r,
			       "'%s' is not a trace: a trace is a directory, or a zip file that "
			       "`ebpfrec bundle` made",
			       path);
	}
	*ret_bytes = (uint64_t)st.st_size;
	return fd;
}

#ifdef EBPFREC_NO_ZIP

const char *bundle_library_version(void)
{
	return NULL;
}

int bundle_open(struct bundle *ret, const char *path, struct err *e)
{
	uint64_t bytes = 0;
	int fd = open_file(path, &bytes, e);

	if (fd < 0)
		return fd;
	close(fd);
	return err_set(e, -ENOTSUP,
		       "'%s': this program was built without libzip; unpack the bundle (unzip) and "
		       "name its folder",
		       path);
}

int bundle_write(const char *path, const char *folder, const struct bundle_member *members,
		 size_t cnt, int64_t mtime_s, uint64_t *ret_bytes, struct err *e)
{
	return err_set(e, -ENOTSUP,
		       "'%s' cannot be made: this program was built without libzip; `ebpfrec cut` "
		       "makes a directory that any zip program packs (zip -0 -j)",
		       path);
}

#else

#include <zip.h>

const char *bundle_library_version(void)
{
	return zip_libzip_version();
}

#define EOCD_BYTES 22
#define EOCD_TAIL  (65535 + EOCD_BYTES)
#define ZIP64_LOCATOR_BYTES 20

/*
 * Checks the end record of a zip file, which contains the number of members. A comment may follow
 * the record, so several places may look like one. All of these must be valid, because libzip may
 * use any of them.
 */
static int check_end(int fd, uint64_t bytes)
{
	size_t n = bytes < EOCD_TAIL ? (size_t)bytes : EOCD_TAIL, i;
	uint8_t *tail = malloc(n + 1);
	int r = -EINVAL;

	if (!tail)
		return -ENOMEM;
	if (n < EOCD_BYTES || pread(fd, tail, n, (off_t)(bytes - n)) != (ssize_t)n)
		n = 0;
	for (i = 0; n && i + EOCD_BYTES <= n; i++) {
		if (memcmp(tail + i, "PK\5\6", 4))
			continue;
		r = 0;
		if ((tail[i + 10] | tail[i + 11] << 8) > BUNDLE_MEMBERS_MAX ||
		    (tail[i + 8] | tail[i + 9] << 8) > BUNDLE_MEMBERS_MAX ||
		    (i >= ZIP64_LOCATOR_BYTES &&
		     !memcmp(tail + i - ZIP64_LOCATOR_BYTES, "PK\6\7", 4))) {
			r = -E2BIG;
			break;
		}
	}
	free(tail);
	return r;
}

/* Creates an unnamed file. */
static int open_unnamed(void)
{
	const char *places[] = { getenv("TMPDIR"), "/var/tmp", "/tmp" };
	int fd;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!places[i] || !*places[i])
			continue;
		fd = open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
		if (fd >= 0)
			return fd;
	}
	fd = memfd_create("ebpfrec", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Copies a stored member to fd, or to text unless it is NULL. */
static int copy_member(zip_t *z, const zip_stat_t *st, int fd, char *text)
{
	zip_file_t *f = zip_fopen_index(z, st->index, ZIP_FL_COMPRESSED);
	uint64_t at = 0;
	zip_int64_t n;
	char *buf;
	int r = 0;

	if (!f)
		return -EINVAL;
	buf = malloc(1 << 16);
	if (!buf)
		r = -ENOMEM;
	while (r == 0 && at < st->size) {
		uint64_t want = st->size - at < 1 << 16 ? st->size - at : 1 << 16;

		n = zip_fread(f, buf, want);
		/* the file ends early: keep the bytes read, as with a truncated chunk file */
		if (n <= 0 || (uint64_t)n > want)
			break;
		if (text)
			memcpy(text + at, buf, (size_t)n);
		else
			r = files_write_all(&files_kernel, fd, buf, (size_t)n, at);
		at += (uint64_t)n;
	}
	free(buf);
	zip_fclose(f);
	return r;
}

static int take_manifest(struct bundle *b, zip_t *z, const zip_stat_t *st, struct err *e)
{
	int r;

	if (st->size > MANIFEST_MAX_BYTES)
		return err_set(e, -EINVAL, "its manifest is larger than 1 MiB");
	b->manifest = calloc(1, (size_t)st->size + 1);
	if (!b->manifest)
		return err_set(e, -ENOMEM, "out of memory");
	b->manifest_bytes = (size_t)st->size;
	r = copy_member(z, st, -1, b->manifest);
	return r < 0 ? err_set(e, r, "its manifest cannot be read: %s", err_text(NULL, r)) : 0;
}

static int take_chunk(struct bundle *b, zip_t *z, const zip_stat_t *st, uint64_t number,
		      struct err *e)
{
	int fd = open_unnamed(), r;

	if (fd < 0)
		return err_set(e, fd, "cannot make a temporary file: %s", err_text(NULL, fd));
	r = copy_member(z, st, fd, NULL);
	if (r < 0) {
		close(fd);
		return err_set(e, r,
			       "'%s' cannot be copied to a temporary file: %s; name a place with "
			       "more room in TMPDIR",
			       st->name, err_text(NULL, r));
	}
	b->files[b->cnt++] = (struct bundle_file){ .number = number, .bytes = st->size, .fd = fd };
	return 0;
}

#define STAT_NEEDED                                                                             \
	(ZIP_STAT_NAME | ZIP_STAT_INDEX | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |                  \
	 ZIP_STAT_COMP_METHOD)

/*
 * Returns a member's name without the common folder, if the first member is in a folder; "": the
 * folder itself. NULL: the member is not in the folder.
 */
static const char *name_inside(const char *name, const char *first)
{
	/* stat_members() checked that the names exist */
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
	const char *slash = strchr(first, '/');
	size_t n = slash ? (size_t)(slash - first) + 1 : 0;

	return strncmp(name, first, n) || strpbrk(name + n, "/\\") || !*name ? NULL : name + n;
}

static int check_member(const zip_stat_t *st, const char *first, struct err *e)
{
	if (strlen(st->name) > 255 || !name_inside(st->name, first))
		return err_set(e, -EINVAL, "not a bundle: its members are not in one folder");
	if (st->comp_method != ZIP_CM_STORE || st->comp_size != st->size)
		return err_set(e, -EINVAL,
			       "a member is compressed, which `ebpfrec bundle` does not do; unpack "
			       "it (unzip) and name its folder");
	if (st->valid & ZIP_STAT_ENCRYPTION_METHOD && st->encryption_method != ZIP_EM_NONE)
		return err_set(e, -EINVAL,
			       "a member is encrypted; unpack it and name its folder");
	return 0;
}

static int stat_members(zip_t *z, zip_stat_t *st, size_t cnt, uint64_t file_bytes, struct err *e)
{
	uint64_t sum = 0;
	int r;

	for (size_t i = 0; i < cnt; i++) {
		zip_stat_init(&st[i]);
		if (zip_stat_index(z, i, ZIP_FL_ENC_RAW, &st[i]) < 0 ||
		    (st[i].valid & STAT_NEEDED) != STAT_NEEDED)
			return err_set(e, -EINVAL, "not a bundle: its directory is damaged");
		r = check_member(&st[i], st[0].name, e);
		if (r < 0)
			return r;
		for (size_t j = 0; j < i; j++)
			if (!strcmp(st[i].name, st[j].name))
				return err_set(e, -EINVAL,
					       "not a bundle: two members have one name");
		if (st[i].size > file_bytes - sum)
			return err_set(e, -EINVAL,
				       "not a bundle: its members are larger than the file");
		sum += st[i].size;
	}
	return 0;
}

static int take_members(struct bundle *b, zip_t *z, uint64_t file_bytes, struct err *e)
{
	zip_int64_t cnt = zip_get_num_entries(z, 0), i;
	uint64_t number;
	zip_stat_t *st;
	int r;

	if (cnt < 0 || cnt > BUNDLE_MEMBERS_MAX)
		return err_set(e, -E2BIG, "not a bundle: it has too many members");
	st = calloc((size_t)cnt + 1, sizeof(*st));
	b->files = calloc((size_t)cnt + 1, sizeof(*b->files));
	r = st && b->files ? stat_members(z, st, (size_t)cnt, file_bytes, e) :
			     err_set(e, -ENOMEM, "out of memory");
	for (i = 0; i < cnt && st && r == 0; i++) {
		/* stat_members() checked that the names exist */
		const char *name = name_inside(st[i].name, st[0].name);

		if (name && !strcmp(name, MANIFEST_NAME))
			r = take_manifest(b, z, &st[i], e);
		else if (name && !chunk_name_parse(name, &number))
			r = take_chunk(b, z, &st[i], number, e);
	}
	free(st);
	if (r == 0 && !b->manifest)
		r = err_set(e, -EINVAL, "not a bundle: it has no member '%s'", MANIFEST_NAME);
	if (b->cnt)
		qsort(b->files, b->cnt, sizeof(*b->files), compare_u64);
	return r;
}

int bundle_open(struct bundle *ret, const char *path, struct err *e)
{
	struct bundle b = { 0 };
	zip_error_t ze;
	uint64_t bytes = 0;
	int fd = open_file(path, &bytes, e), code, r;
	zip_t *z;

	if (fd < 0)
		return fd;
	r = check_end(fd, bytes);
	if (r < 0) {
		close(fd);
		return err_set(e, r, "'%s' is not a bundle: %s", path,
			       r == -E2BIG    ? "it has too many members"
			       : r == -ENOMEM ? "out of memory"
					      : "the zip file has no end; was it cut off?");
	}
	z = zip_fdopen(fd, 0, &code);
	if (!z) {
		close(fd);
		zip_error_init_with_code(&ze, code);
		r = err_set(e, code == ZIP_ER_MEMORY ? -ENOMEM : -EINVAL,
			    "'%s' is not a bundle: %s", path, zip_error_strerror(&ze));
		zip_error_fini(&ze);
		return r;
	}
	r = take_members(&b, z, bytes, e);
	zip_discard(z);
	if (r < 0) {
		bundle_close(&b);
		return err_prefix(e, r, "'%s'", path);
	}
	*ret = b;
	return 0;
}

/* ---- writing ---- */

/* Completes a member that was added to the zip: sets its time and mode, without compression. */
static int finish_member(zip_t *z, zip_int64_t at, int64_t mtime_s, mode_t mode)
{
	if (at < 0 || zip_set_file_compression(z, (zip_uint64_t)at, ZIP_CM_STORE, 0) < 0 ||
	    zip_file_set_mtime(z, (zip_uint64_t)at, mtime_s, 0) < 0 ||
	    zip_file_set_external_attributes(z, (zip_uint64_t)at, 0, ZIP_OPSYS_UNIX,
					     (zip_uint32_t)mode << 16) < 0)
		return -EINVAL;
	return 0;
}

static int add(zip_t *z, const char *folder, const struct bundle_member *m, int64_t mtime_s)
{
	zip_source_t *s = m->path ? zip_source_file(z, m->path, 0, -1) :
				    zip_source_buffer(z, m->data, m->bytes, 0);
	zip_int64_t at;
	char *name;

	if (!s || asprintf(&name, "%s%s%s", folder, *folder ? "/" : "", m->name) < 0) {
		zip_source_free(s);
		return -ENOMEM;
	}
	at = zip_file_add(z, name, s, ZIP_FL_ENC_UTF_8);
	free(name);
	if (at < 0)
		zip_source_free(s);
	return finish_member(z, at, mtime_s, S_IFREG | 0600);
}

int bundle_write(const char *path, const char *folder, const struct bundle_member *members,
		 size_t cnt, int64_t mtime_s, uint64_t *ret_bytes, struct err *e)
{
	int code = 0, r = 0;
	struct stat st;
	zip_t *z;

	z = zip_open(path, ZIP_CREATE | ZIP_EXCL, &code);
	if (!z)
		return err_set(e, code == ZIP_ER_EXISTS ? -EEXIST : -EIO, "cannot create '%s'",
			       path);
	if (folder)
		r = finish_member(z, zip_dir_add(z, folder, ZIP_FL_ENC_UTF_8), mtime_s,
				  S_IFDIR | 0700);
	for (size_t i = 0; i < cnt && r == 0; i++)
		r = add(z, folder ? folder : "", &members[i], mtime_s);
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
