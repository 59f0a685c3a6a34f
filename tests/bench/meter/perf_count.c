/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * perf_count FILE: how many samples a perf.data holds and how many perf says it lost.
 *
 * perf's own reports take minutes for a file of this size and count the messages about losses, not
 * the events lost. Only the record headers are walked. Records compressed by `perf record -z` are
 * one zstd stream over the whole file, whose content are records again.
 *
 *     file = header; records: { type u32, misc u16, size u16, body[size - 8] }
 *     LOST body: { id u64, lost u64, .. }   LOST_SAMPLES body: { lost u64, .. }
 *
 * The two kinds of loss are two counts of the same events: one in the stream where the buffer was
 * full, the other per event at the end, by kernels that have it. The larger one is taken.
 *
 * Records inside the stream may be cut at the end of a COMPRESSED record and go on in the next.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum {
	RECORD_LOST = 2,
	RECORD_SAMPLE = 9,
	RECORD_LOST_SAMPLES = 13,
	RECORD_AUXTRACE = 71,
	RECORD_COMPRESSED = 81,
	RECORD_COMPRESSED2 = 83,
};

struct record_head {
	uint32_t type;
	uint16_t misc, size;
};

struct file_head {
	char magic[8];
	uint64_t size, attr_size;
	uint64_t attrs_at, attrs_bytes, data_at, data_bytes;
};

struct tally {
	uint64_t samples, lost_stream, lost_end, stream_bytes;
	ZSTD_DStream *stream;
	uint8_t *left;			/* unread end of the stream's content */
	size_t left_len, left_cap;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "perf_count: %s: %s\n", what, why);
	exit(1);
}

static uint64_t read_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void inflate(struct tally *t, const uint8_t *p, size_t len);

/* Walks whole records; returns the bytes used. */
static size_t walk(struct tally *t, const uint8_t *p, size_t len)
{
	struct record_head h;
	size_t at = 0;

	while (len - at >= sizeof(h)) {
		size_t more = 0;

		memcpy(&h, p + at, sizeof(h));
		if (h.size < sizeof(h))
			die("record", "impossible size");
		if (len - at < h.size)
			break;
		if (h.type == RECORD_SAMPLE) {
			t->samples++;
		} else if (h.type == RECORD_LOST && h.size >= 24) {
			t->lost_stream += read_u64(p + at + 16);
		} else if (h.type == RECORD_LOST_SAMPLES && h.size >= 16) {
			t->lost_end += read_u64(p + at + 8);
		} else if (h.type == RECORD_COMPRESSED) {
			inflate(t, p + at + sizeof(h), h.size - sizeof(h));
		} else if (h.type == RECORD_COMPRESSED2 && h.size >= 16) {
			uint64_t body = read_u64(p + at + 8);

			inflate(t, p + at + 16, body < h.size - 16u ? (size_t)body : h.size - 16u);
		} else if (h.type == RECORD_AUXTRACE && h.size >= 16) {
			more = (size_t)read_u64(p + at + 8);
		}
		at += h.size + more;
		if (at > len)
			die("record", "reaches past the end");
	}
	return at;
}

static void inflate(struct tally *t, const uint8_t *p, size_t len)
{
	ZSTD_inBuffer in = { p, len, 0 };
	ZSTD_outBuffer out;
	size_t used, rc;

	if (!t->stream) {
		t->stream = ZSTD_createDStream();
		if (!t->stream)
			die("zstd", "out of memory");
	}
	do {
		if (t->left_cap - t->left_len < 1 << 20) {
			t->left_cap = t->left_len + (4 << 20);
			t->left = realloc(t->left, t->left_cap);
			if (!t->left)
				die("zstd", "out of memory");
		}
		out = (ZSTD_outBuffer){ t->left + t->left_len, t->left_cap - t->left_len, 0 };
		rc = ZSTD_decompressStream(t->stream, &out, &in);
		if (ZSTD_isError(rc))
			die("zstd", ZSTD_getErrorName(rc));
		t->left_len += out.pos;
		t->stream_bytes += out.pos;
		used = walk(t, t->left, t->left_len);
		memmove(t->left, t->left + used, t->left_len - used);
		t->left_len -= used;
	} while (in.pos < in.size || out.pos == out.size);
}

int main(int argc, char **argv)
{
	struct tally t = { 0 };
	struct file_head head;
	const uint8_t *map;
	struct stat st;
	int fd;

	if (argc != 2)
		die("usage", "perf_count FILE");
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0)
		die(argv[1], strerror(errno));
	if ((size_t)st.st_size < sizeof(head))
		die(argv[1], "too short for perf.data");
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		die(argv[1], strerror(errno));
	memcpy(&head, map, sizeof(head));
	if (memcmp(head.magic, "PERFILE2", 8) != 0)
		die(argv[1], "not a perf.data");
	if (head.data_at > (uint64_t)st.st_size ||
	    head.data_bytes > (uint64_t)st.st_size - head.data_at)
		die(argv[1], "cut short");
	if (walk(&t, map + head.data_at, (size_t)head.data_bytes) != head.data_bytes)
		die(argv[1], "ends inside a record");
	ZSTD_freeDStream(t.stream);
	free(t.left);
	printf("events=%llu\nlost=%llu\nbytes=%llu\nstream_bytes=%llu\n",
	       (unsigned long long)t.samples,
	       (unsigned long long)(t.lost_stream > t.lost_end ? t.lost_stream : t.lost_end),
	       (unsigned long long)st.st_size, (unsigned long long)t.stream_bytes);
	return 0;
}
