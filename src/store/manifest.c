/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* manifest: a sorted list in memory, lines on disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/crc32c.h"
#include "store/chunk_scan.h"
#include "store/manifest.h"

#define MANIFEST_MAGIC "ebpfrec trace "
#define HEAD MANIFEST_MAGIC "2\n"	/* the first line, with the current version */
#define HEAD_BYTES (sizeof(HEAD) - 1)
#define SUM_KEY "crc32c="
#define SUM_KEY_BYTES (sizeof(SUM_KEY) - 1)
#define SUM_BYTES (SUM_KEY_BYTES + 8 + 1)	/* length of the checksum line */

void manifest_done(struct manifest *m)
{
	for (size_t i = 0; i < m->cnt; i++) {
		free(m->entries[i].key);
		free(m->entries[i].value);
	}
	free(m->entries);
	memset(m, 0, sizeof(*m));
}

static size_t manifest_place(const struct manifest *m, const char *key, int *ret_there)
{
	size_t lo = 0, hi = m->cnt;

	*ret_there = 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strcmp(m->entries[mid].key, key);

		if (!c) {
			*ret_there = 1;
			return mid;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int manifest_set(struct manifest *m, const char *key, const char *value)
{
	char *v, *k;
	size_t at;
	int there;

	if (!*key || key[strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789._-")])
		return -EINVAL;
	at = manifest_place(m, key, &there);
	v = strdup(value);
	if (!v)
		return -ENOMEM;
	if (there) {
		free(m->entries[at].value);
		m->entries[at].value = v;
		return 0;
	}
	k = array_reserve(&m->entries, &m->cap, m->cnt + 1) < 0 ? NULL : strdup(key);
	if (!k) {
		free(v);
		return -ENOMEM;
	}
	memmove(m->entries + at + 1, m->entries + at, (m->cnt - at) * sizeof(*m->entries));
	m->entries[at] = (struct manifest_entry){ k, v };
	m->cnt++;
	return 0;
}

const char *manifest_get(const struct manifest *m, const char *key)
{
	int there;
	size_t at = manifest_place(m, key, &there);

	return there ? m->entries[at].value : NULL;
}

void manifest_format_uuid(char buf[static MANIFEST_UUID_BYTES], uint64_t trace_id)
{
	snprintf(buf, MANIFEST_UUID_BYTES, "%08x-%04x-8%03x-8%x00-000000000000",
		 (unsigned int)(trace_id >> 32), (unsigned int)(trace_id >> 16 & 0xffff),
		 (unsigned int)(trace_id >> 4 & 0xfff), (unsigned int)(trace_id & 0xf));
}

/* Formats the checksum line for HEAD and the bytes after this line. */
static void put_sum(char line[static SUM_BYTES + 1], const void *rest, size_t bytes)
{
	snprintf(line, SUM_BYTES + 1, SUM_KEY "%08x\n",
		 crc32c(crc32c(0, HEAD, HEAD_BYTES), rest, bytes));
}

/*
 * Returns whether a manifest's second line was originally a checksum line. Some of its bytes may be
 * changed or missing: a common subsequence of four of SUM_KEY's seven bytes suffices. With the keys
 * that older programs wrote, SUM_KEY has a shorter common subsequence.
 */
static bool has_sum(const char *line, size_t bytes)
{
	/* [k]: longest common subsequence of SUM_KEY's first k bytes and the line so far */
	size_t common[SUM_KEY_BYTES + 1] = { 0 };

	for (size_t i = 0; i < SUM_KEY_BYTES && i < bytes; i++) {
		size_t before = 0, was;

		for (size_t k = 1; k <= SUM_KEY_BYTES; k++) {
			was = common[k];
			if (line[i] == SUM_KEY[k - 1])
				common[k] = before + 1;
			else if (common[k - 1] > was)
				common[k] = common[k - 1];
			before = was;
		}
	}
	return common[SUM_KEY_BYTES] >= 4;
}

static bool sum_holds(const char *line, size_t bytes)
{
	char want[SUM_BYTES + 1];

	if (bytes < SUM_BYTES)
		return false;
	put_sum(want, line + SUM_BYTES, bytes - SUM_BYTES);
	return !memcmp(line, want, SUM_BYTES);
}

/* Returns whether the first line is complete and has another version. */
static bool is_of_other_format(const char *text, size_t bytes)
{
	size_t at = strlen(MANIFEST_MAGIC);

	/* a version does not begin with 0 */
	if (bytes <= at || memcmp(text, MANIFEST_MAGIC, at) || text[at] == '0' ||
	    (bytes >= HEAD_BYTES && !memcmp(text, HEAD, HEAD_BYTES)))
		return false;
	while (at < bytes && text[at] >= '0' && text[at] <= '9')
		at++;
	return at > strlen(MANIFEST_MAGIC) && at < bytes && text[at] == '\n';
}

enum verdict { WHOLE, WHOLE_WITHOUT_SUM, DAMAGED, OTHER_FORMAT, NO_MANIFEST };

static enum verdict judge(const char *text, size_t bytes)
{
	size_t rest = bytes > HEAD_BYTES ? bytes - HEAD_BYTES : 0;
	const char *line = text + bytes - rest;
	bool has_head = bytes >= HEAD_BYTES && !memcmp(text, HEAD, HEAD_BYTES);

	/* the checksum covers HEAD: if it matches, a different first line is damage */
	if (sum_holds(line, rest))
		return has_head ? WHOLE : DAMAGED;
	if (is_of_other_format(text, bytes))
		return OTHER_FORMAT;
	if (has_sum(line, rest))
		return DAMAGED;
	if (!has_head)
		return NO_MANIFEST;
	/* older programs always wrote this entry, and no checksum */
	return memmem(line - 1, rest + 1, "\nstate=", 7) ? WHOLE_WITHOUT_SUM : DAMAGED;
}

int manifest_format(const struct manifest *m, char **ret, size_t *ret_bytes)
{
	char esc[8], sum[SUM_BYTES + 1];
	struct buf b = { 0 };
	const char *s;
	size_t i;
	int n;

	buf_add(&b, HEAD, HEAD_BYTES);
	put_sum(sum, NULL, 0);
	buf_add(&b, sum, SUM_BYTES);
	for (i = 0; i < m->cnt; i++) {
		buf_add(&b, m->entries[i].key, strlen(m->entries[i].key));
		buf_add(&b, "=", 1);
		for (s = m->entries[i].value; *s; s++) {
			if (*s >= 0x20 && *s < 0x7f && *s != '\\') {
				buf_add(&b, s, 1);
				continue;
			}
			n = snprintf(esc, sizeof(esc), "\\x%02x", (unsigned char)*s);
			buf_add(&b, esc, (size_t)n);
		}
		buf_add(&b, "\n", 1);
	}
	if (b.failed) {
		buf_done(&b);
		return -ENOMEM;
	}
	i = HEAD_BYTES + SUM_BYTES;
	put_sum(sum, b.data + i, b.len - i);
	memcpy(b.data + HEAD_BYTES, sum, SUM_BYTES);
	*ret = (char *)b.data;
	*ret_bytes = b.len;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/*
 * Replaces escapes in place. A NUL byte, escaped or not, ends the value, because values are C
 * strings.
 */
static void unescape(char *s)
{
	char *d = s;

	while (*s) {
		if (s[0] == '\\' && s[1] == 'x' && hex_digit(s[2]) >= 0 && hex_digit(s[3]) >= 0) {
			*d = (char)(hex_digit(s[2]) << 4 | hex_digit(s[3]));
			if (!*d)
				return;
			d++;
			s += 4;
		} else {
			*d++ = *s++;
		}
	}
	*d = 0;
}

static int parse_line(struct manifest *m, const char *line, size_t bytes)
{
	char *copy = strndup(line, bytes), *eq;
	int r = 0;

	if (!copy)
		return -ENOMEM;
	eq = strchr(copy, '=');
	if (eq && eq != copy) {
		*eq = 0;
		unescape(eq + 1);
		r = manifest_set(m, copy, eq + 1);
	}
	free(copy);
	return r == -EINVAL ? 0 : r;
}

int manifest_parse(struct manifest *m, const char *text, size_t bytes)
{
	enum verdict verdict = judge(text, bytes);
	size_t at = HEAD_BYTES + (verdict == WHOLE ? SUM_BYTES : 0);
	const char *nl;
	int r;

	if (verdict == NO_MANIFEST || verdict == OTHER_FORMAT)
		return verdict == OTHER_FORMAT ? -EPROTONOSUPPORT : -EINVAL;
	if (verdict == DAMAGED) {
		m->damaged_bytes = bytes;
		return manifest_set(m, MANIFEST_LOST, MANIFEST_SUM_DIFFERS);
	}
	while (at < bytes) {
		nl = memchr(text + at, '\n', bytes - at);
		nl = nl ?: text + bytes;
		r = parse_line(m, text + at, (size_t)(nl - text) - at);
		if (r < 0)
			return r;
		at = (size_t)(nl - text) + 1;
	}
	return 0;
}

int manifest_parse_text(struct manifest *m, const char *text, size_t bytes, struct err *e)
{
	int r = manifest_parse(m, text, bytes);

	if (r == -EINVAL)
		return err_set(e, r, "not a trace: '%s' does not start with '%s%d'", MANIFEST_NAME,
			       MANIFEST_MAGIC, MANIFEST_VERSION);
	if (r == -EPROTONOSUPPORT &&
	    !memcmp(text, MANIFEST_MAGIC "1\n", strlen(MANIFEST_MAGIC) + 2))
		return err_set(
			e, r,
			"the trace was recorded by a development version of ebpfrec before 0.1.0 "
			"(format 1), which this one does not read; record it again");
	if (r == -EPROTONOSUPPORT)
		return err_set(e, r,
			       "the trace is of a newer format than this program (%d); use a newer "
			       "ebpfrec",
			       MANIFEST_VERSION);
	return r < 0 ? err_set(e, r, "cannot read '%s': %s", MANIFEST_NAME, err_text(NULL, r)) : 0;
}

int manifest_read(struct manifest *m, int dir_fd, struct err *e)
{
	struct chunk_io io = { 0 };
	struct stat st;
	size_t bytes;
	int fd, r;
	char *text;

	fd = openat(dir_fd, MANIFEST_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0) {
		r = -errno;
		if (r == -ENOENT)
			return err_set(e, -EINVAL, "not a trace: it has no file '%s'",
				       MANIFEST_NAME);
		return err_set(e, r, "cannot open '%s': %s", MANIFEST_NAME, err_text(NULL, r));
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		/* not a regular file: reports the error for an empty text */
		return manifest_parse_text(m, "", 0, e);
	}
	bytes = st.st_size < MANIFEST_MAX_BYTES ? (size_t)st.st_size : MANIFEST_MAX_BYTES;
	text = malloc(bytes + 1);
	io.fd = fd;
	r = text ? chunk_io_read(&io, 0, text, bytes) : -ENOMEM;
	close(fd);
	if (r < 0)
		err_set(e, r, "cannot read '%s': %s", MANIFEST_NAME, err_text(NULL, r));
	else
		r = manifest_parse_text(m, text, bytes, e);
	free(text);
	return r;
}

int manifest_replace(const struct manifest_place *place, const char *text, size_t bytes)
{
	const struct files *f = place->files;
	int fd, r, r2;

	r = f->unlink(f->ctx, place->dir_fd, MANIFEST_NEW);
	if (r < 0 && r != -ENOENT)
		return r;
	fd = f->create(f->ctx, place->dir_fd, MANIFEST_NEW);
	if (fd < 0)
		return fd;
	r = 0;
	if (place->uid != (uid_t)-1 || place->gid != (gid_t)-1)
		r = f->set_owner(f->ctx, fd, place->uid, place->gid);
	r = r ?: files_write_all(f, fd, text, bytes, 0) ?: f->sync(f->ctx, fd);
	r2 = f->close(f->ctx, fd);
	r = r < 0 ? r : r2;
	r = r ?: f->rename(f->ctx, place->dir_fd, MANIFEST_NEW, MANIFEST_NAME);
	if (r == 0)
		r = f->sync_dir(f->ctx, place->dir_fd);
	else
		f->unlink(f->ctx, place->dir_fd, MANIFEST_NEW);
	return r;
}
