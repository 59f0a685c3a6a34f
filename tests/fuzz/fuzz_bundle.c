/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_bundle: a zip file that claims to be a trace. Its unpacked trace is not larger than the
 * file, has each chunk file once and in order, and can be read like any other trace.
 */
#include "trace/trace.h"
#include "fuzz.h"
#include "scratch_trace.h"
#include "store/bundle.h"

static volatile size_t sink;

static const char *put_file(const uint8_t *data, size_t bytes)
{
	static char path[128];
	int fd;

	if (!path[0]) {
		snprintf(path, sizeof(path), "%s/b.zip", scratch_dir());
		FUZZ_CHECK(!setenv("TMPDIR", scratch_dir(), 1));
	}
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	FUZZ_CHECK(fd >= 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes);
	FUZZ_CHECK(!ftruncate(fd, (off_t)bytes) && !close(fd));
	return path;
}

static void read_trace(struct trace *t)
{
	const struct trace_process *p;
	const struct event *ev;
	struct event_cursor *c;
	size_t cnt, i;

	p = trace_processes(t, &cnt);
	for (i = 0; i < cnt; i++)
		sink += strlen(p[i].comm);
	if (event_cursor_open(&c, t, ~0u, 0, UINT64_MAX, NULL) < 0)
		return;
	while (event_cursor_next(c, &ev, NULL) > 0)
		sink++;
	event_cursor_close(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const char *path = put_file(data, bytes);
	struct bundle b = { 0 };
	struct err e = { "" };
	struct trace *t;
	uint64_t sum;

	if (bundle_open(&b, path, &e) < 0) {
		FUZZ_CHECK(e.text[0] && !b.files && !b.manifest);
		return 0;
	}
	sum = b.manifest_bytes;
	for (size_t i = 0; i < b.cnt; i++) {
		FUZZ_CHECK(!i || b.files[i - 1].number < b.files[i].number);
		sum += b.files[i].bytes;
	}
	FUZZ_CHECK(b.manifest && b.cnt <= BUNDLE_MEMBERS_MAX && sum <= bytes);
	bundle_close(&b);
	if (trace_open(&t, path, NULL) == 0) {
		read_trace(t);
		trace_close(t);
	}
	return 0;
}
