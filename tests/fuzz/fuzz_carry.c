/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_carry: carry.idx, what a cut begins with.
 *
 *     data[0] % 3: 0 data[4..] is a point, unpacked: what can be read is written and read to the same
 *                  1 a point of carry.idx is data[4..], all checksums right; a cut begins with it
 *                  2 carry.idx with a few bytes changed, as they are
 *     data[1]      the instant, in 256ths of the trace; data[2] for 1: which point
 *
 * Whoever makes checksums right may lie about what came before a cut, and must do no other harm: the cut is a whole trace. What
 * merely was damaged must never show: in 2 what is carried over is what it is without points.
 */
#include <string.h>

#include "base/crc32c.h"
#include "chunk/chunk.h"
#include "event/carry_code.h"
#include "event/trace_check.h"
#include "event/trace_cut.h"
#include "fuzz.h"
#include "index_trace.h"
#include "scratch_trace.h"
#include "store/chunk_name.h"

#define HEAD_BYTES 4
#define POINT_EVENTS 60
#define CUT_NS 300000
#define DIR_ENTRY_BYTES 40
#define ALL_KINDS ((uint32_t)-1)

static char path[128], cut_path[128];
static struct trace *t;
static uint8_t *carry_file;
static size_t carry_bytes;

static void at_exit(void)
{
	trace_close(t);
	free(carry_file);
}

static struct trace_carry carry(uint64_t at_ns, bool points, bool make)
{
	const struct trace_carry_request q = { .kind_mask = ALL_KINDS,
					       .no_points = !points,
					       .point_events = make ? POINT_EVENTS : 0 };
	struct trace_carry c = { 0 };

	FUZZ_CHECK(trace_carry(t, at_ns, &q, &c, NULL) == 0);
	return c;
}

static void begin(void)
{
	struct trace_carry c;

	snprintf(path, sizeof(path), "%s/t", scratch_dir());
	snprintf(cut_path, sizeof(cut_path), "%s/cut", scratch_dir());
	index_trace_make(path);
	FUZZ_CHECK(trace_open(&t, path, NULL) == 0);
	c = carry(trace_end_ns(t), true, true);
	trace_carry_done(&c);
	carry_file = index_trace_read(path, CHUNK_CARRY_NAME, &carry_bytes);
	atexit(at_exit);
}

static uint64_t instant(uint8_t part)
{
	return trace_start_ns(t) + (trace_end_ns(t) - trace_start_ns(t)) / 256 * part + 1;
}

static void read_point(const uint8_t *data, size_t bytes)
{
	uint64_t at_ns = trace_end_ns(t);
	struct trace_carry c, again;
	struct buf b = { 0 }, b2 = { 0 };

	if (carry_decode(data, bytes, at_ns, 2, &c) < 0)
		return;
	FUZZ_CHECK(carry_encode(&c, at_ns, &b) == 0);
	FUZZ_CHECK(carry_decode(b.data, b.len, at_ns, 2, &again) == 0);
	FUZZ_CHECK(carry_encode(&again, at_ns, &b2) == 0 && b.len == b2.len &&
		   !memcmp(b.data, b2.data, b.len));
	trace_carry_done(&c);
	trace_carry_done(&again);
	buf_done(&b);
	buf_done(&b2);
}

static void put(uint8_t *p, uint64_t v, size_t bytes)
{
	memcpy(p, &v, bytes);
}

/* The point's bytes are behind everything else, and the list of points behind them (schema/INDEX.md). */
static void put_point(const uint8_t *data, size_t bytes, unsigned int point)
{
	uint8_t *p = malloc(carry_bytes + bytes), *entry;
	uint64_t dir;
	uint32_t cnt;
	size_t dir_bytes;

	FUZZ_CHECK(p);
	memcpy(&cnt, carry_file + 12, 4);
	memcpy(&dir, carry_file + 16, 8);
	FUZZ_CHECK(cnt);
	dir_bytes = (size_t)cnt * DIR_ENTRY_BYTES;
	memcpy(p, carry_file, dir);
	memcpy(p + dir, data, bytes);
	memcpy(p + dir + bytes, carry_file + dir, dir_bytes);
	entry = p + dir + bytes + (size_t)(point % cnt) * DIR_ENTRY_BYTES;
	put(entry + 8, dir, 8);
	put(entry + 16, bytes, 8);
	put(entry + 24, bytes, 8);
	put(entry + 32, CHUNK_PACK_NONE, 4);
	put(entry + 36, crc32c(0, data, bytes), 4);
	put(p + 16, dir + bytes, 8);
	put(p + 36, crc32c(0, p + dir + bytes, dir_bytes), 4);
	put(p + 44, crc32c(0, p, 44), 4);
	index_trace_write(path, CHUNK_CARRY_NAME, p, carry_bytes + bytes);
	free(p);
}

static void cut(uint64_t at_ns)
{
	const struct trace_cut_request q = { .from_ns = at_ns,
					     .to_ns = at_ns + CUT_NS,
					     .reason = "cut" };
	struct trace_cut_result got;
	struct check_result checked = { 0 };
	struct trace *small;

	if (trace_cut(t, &q, cut_path, &got, NULL) == 0) {
		FUZZ_CHECK(trace_open(&small, cut_path, NULL) == 0);
		FUZZ_CHECK(trace_check(small, NULL, NULL, &checked, NULL) == 0 &&
			   !checked.damaged_cnt);
		trace_close(small);
	}
	scratch_remove(cut_path);
}

static void compare(uint64_t at_ns)
{
	struct trace_carry with = carry(at_ns, true, false), without = carry(at_ns, false, false);
	struct buf a = { 0 }, b = { 0 };

	FUZZ_CHECK(carry_encode(&with, at_ns, &a) == 0 && carry_encode(&without, at_ns, &b) == 0);
	FUZZ_CHECK(a.len == b.len && !memcmp(a.data, b.data, a.len));
	trace_carry_done(&with);
	trace_carry_done(&without);
	buf_done(&a);
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (!t)
		begin();
	if (bytes < HEAD_BYTES)
		return 0;
	switch (data[0] % 3) {
	case 0:
		read_point(data + HEAD_BYTES, bytes - HEAD_BYTES);
		break;
	case 1:
		put_point(data + HEAD_BYTES, bytes - HEAD_BYTES, data[2]);
		cut(instant(data[1]));
		break;
	default:
		index_trace_write_changed(path, CHUNK_CARRY_NAME, carry_file, carry_bytes, data + HEAD_BYTES,
					  bytes - HEAD_BYTES);
		compare(instant(data[1]));
		break;
	}
	return 0;
}
