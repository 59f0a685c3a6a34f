/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* debug_file: looks in the directories that debuggers use, in the order of gdb's manual. */
#include "symbol/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_MAX_BYTES (4ull << 30)	/* the largest separate file whose CRC is computed */

int debug_file_open(const char *path)
{
	/* O_NONBLOCK: a FIFO must not block */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

bool debug_file_has_id(int fd, const uint8_t *id, size_t bytes)
{
	uint8_t own[ELF_BUILD_ID_MAX];

	return elf_symbols_id_of(fd, own) == bytes && !memcmp(own, id, bytes);
}

void debug_file_put_hex(char to[DEBUG_FILE_HEX_MAX], const uint8_t *id, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		sprintf(to + 2 * i, "%02x", id[i]);
	to[2 * bytes] = 0;
}

bool debug_file_crc(int fd, uint32_t *ret_crc)
{
	uint32_t table[256], crc = ~0u, i, k;
	uint64_t at = 0;
	uint8_t buf[65536];
	ssize_t n = 0;

	for (i = 0; i < 256; i++) {
		table[i] = i;
		for (k = 0; k < 8; k++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	while (at < DEBUG_MAX_BYTES && (n = pread(fd, buf, sizeof(buf), (off_t)at)) > 0) {
		for (i = 0; i < (uint32_t)n; i++)
			crc = crc >> 8 ^ table[(crc ^ buf[i]) & 0xff];
		at += (uint64_t)n;
	}
	*ret_crc = ~crc;
	return n == 0 && at < DEBUG_MAX_BYTES;
}

struct search {
	const struct elf_symbols *s;
	const char *root;
	bool (*use)(void *ctx, int fd);
	void *ctx;
};

/* Calls use() with the file at root + path, if that file belongs to this one. */
static bool try_file(const struct search *q, const char *path)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t id_bytes = elf_symbols_build_id(q->s, id);
	char full[PATH_MAX];
	uint32_t want, crc;
	bool fits;
	int fd;

	if (snprintf(full, sizeof(full), "%s%s", q->root, path) >= (int)sizeof(full))
		return false;
	fd = debug_file_open(full);
	if (fd < 0)
		return false;
	if (id_bytes)
		fits = debug_file_has_id(fd, id, id_bytes);
	else
		fits = elf_symbols_link(q->s, &want) && debug_file_crc(fd, &crc) && crc == want;
	fits = fits && q->use(q->ctx, fd);
	close(fd);
	return fits;
}

bool debug_file_search(const struct elf_symbols *s, const char *root, const char *path,
		       bool (*use)(void *ctx, int fd), void *ctx)
{
	/* directories near the file's own */
	static const struct {
		const char *before, *behind;
	} places[] = { { "", "" }, { "", "/.debug" }, { "/usr/lib/debug", "" } };
	const struct search q = { s, root, use, ctx };
	uint8_t id[ELF_BUILD_ID_MAX];
	char hex[DEBUG_FILE_HEX_MAX], other[PATH_MAX];
	const char *link, *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash - path) : 0;
	size_t n = elf_symbols_build_id(s, id), i;
	uint32_t crc;

	if (n > 1) {
		debug_file_put_hex(hex, id, n);
		snprintf(other, sizeof(other), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex,
			 hex + 2);
		if (try_file(&q, other))
			return true;
	}
	link = elf_symbols_link(s, &crc);
	if (!link || !slash)
		return false;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(other, sizeof(other), "%s%.*s%s/%s", places[i].before, dir, path,
			     places[i].behind, link) < (int)sizeof(other) &&
		    strcmp(other, path) && try_file(&q, other))
			return true;
	return false;
}
