/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* scratch_trace: files are overwritten, since creating new ones would take most of a run's time. */
#include <dirent.h>
#include <sys/stat.h>

#include "format/chunk.h"
#include "fix_chunk.h"
#include "fuzz.h"
#include "scratch_trace.h"

#define FILES_MAX 4

static char dir[64], trace[96];

void scratch_remove(const char *path)
{
	char name[512];
	struct dirent *d;
	DIR *o = opendir(path);

	while (o && (d = readdir(o))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, d->d_name);
		if (unlink(name))
			scratch_remove(name);
	}
	if (o)
		closedir(o);
	rmdir(path);
}

static void at_exit(void)
{
	scratch_remove(dir);
}

const char *scratch_dir(void)
{
	if (dir[0])
		return dir;
	snprintf(dir, sizeof(dir), "/dev/shm/ebpfrec-fuzz.XXXXXX");
	if (!mkdtemp(dir)) {
		snprintf(dir, sizeof(dir), "/tmp/ebpfrec-fuzz.XXXXXX");
		FUZZ_CHECK(mkdtemp(dir));
	}
	atexit(at_exit);
	return dir;
}

static void put_file(const char *name, const void *data, size_t bytes)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", trace, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	FUZZ_CHECK(fd >= 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes);
	FUZZ_CHECK(!ftruncate(fd, (off_t)bytes) && !close(fd));
}

static void put_chunk(unsigned int number, const uint8_t *data, size_t bytes, unsigned int flags)
{
	uint8_t *p = malloc(bytes + 1);
	char name[32];

	FUZZ_CHECK(p);
	memcpy(p, data, bytes);
	if (flags & 3)
		fix_chunk(p, bytes, flags & 2);
	snprintf(name, sizeof(name), "chunk-%06u.ebr", number);
	put_file(name, p, bytes);
	free(p);
}

const char *scratch_trace(const uint8_t *data, size_t bytes)
{
	static const char *const manifests[] = {
		"ebpfrec trace 2\npage_bytes=4096\nstate=recording\n",
		"ebpfrec trace 2\npage_bytes=4096\nstate=finished\n",
	};
	unsigned int flags = bytes ? data[0] : 0, i;
	const char *m = manifests[!!(flags & 4)];
	const uint8_t *p = data + (bytes > 0), *end = data + bytes;
	char name[160];

	if (!trace[0]) {
		snprintf(trace, sizeof(trace), "%s/t", scratch_dir());
		FUZZ_CHECK(!mkdir(trace, 0700));
	}
	put_file("manifest", m, strlen(m));
	for (i = 0; i < FILES_MAX; i++) {
		const uint8_t *next = NULL;

		if (p < end && i + 1 < FILES_MAX && end - p > 8)
			next = memmem(p + 1, (size_t)(end - p) - 1, CHUNK_FILE_MAGIC, 8);
		if (!next)
			next = end;
		if (p < end) {
			put_chunk(i, p, (size_t)(next - p), flags);
		} else {
			snprintf(name, sizeof(name), "%s/chunk-%06u.ebr", trace, i);
			unlink(name);
		}
		p = next;
	}
	return trace;
}
