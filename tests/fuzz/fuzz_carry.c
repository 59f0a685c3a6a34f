/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_carry: stored checkpoints, from which a cut takes the state at its beginning.
 *
 *     data[0] % 3: 0 data[4..] is a checkpoint without its instant: if it can be read, it is
 *                    written and read back unchanged
 *                  1 a stored one is such data, all checksums right; a cut begins with it
 *                  2 the derived file with a few bytes changed, and checksums as they are
 *     data[1]      the instant, in 256ths of the trace; data[2] for 1: which point
 *
 * An attacker who makes checksums right may lie about the time before a cut, but do no other harm:
 * the cut is a whole trace. Mere damage must never show: in case 2 the state is the same as
 * without points.
 */
#include "analyze/analyze.h"
#include "edit/checkpoint.h"
#include "edit/trace_copy.h"
#include "edit/trace_cut.h"
#include "fuzz.h"
#include "index_trace.h"
#include "scratch_trace.h"
#include "trace/derived_file.h"

#define HEAD_BYTES 4
#define CUT_NS 300000
#define ALL_KINDS ((uint32_t)-1)

static char path[128], cut_path[128];
static struct trace *t;
static struct derived_part *points;
static size_t point_cnt;
static uint8_t *carry_file;
static size_t checkpoint_bytes;

static void at_exit(void)
{
	trace_close(t);
	free(points);
	free(carry_file);
}

static struct checkpoint carry(uint64_t at_ns, bool use_stored)
{
	struct analysis *a = index_trace_analysis(t, use_stored);
	struct checkpoint c = { 0 };

	FUZZ_CHECK(analysis_checkpoint(a, at_ns, ALL_KINDS, &c, NULL) == 0);
	analysis_close(a);
	return c;
}

static void list_points(void)
{
	const struct derived_part *parts;
	struct derived_file *d;

	FUZZ_CHECK(derived_file_open(&d, t, DERIVED_BESIDE) == 0);
	FUZZ_CHECK(derived_file_parts(d, DERIVED_CHECKPOINT, &parts, &point_cnt) == 0 && point_cnt);
	points = malloc(point_cnt * sizeof(*points));
	FUZZ_CHECK(points);
	memcpy(points, parts, point_cnt * sizeof(*points));
	derived_file_close(d);
}

static void begin(void)
{
	snprintf(path, sizeof(path), "%s/t", scratch_dir());
	snprintf(cut_path, sizeof(cut_path), "%s/cut", scratch_dir());
	index_trace_make(path);
	FUZZ_CHECK(trace_open(&t, path, NULL) == 0);
	list_points();
	carry_file = index_trace_read(path, DERIVED_FILE_NAME, &checkpoint_bytes);
	atexit(at_exit);
}

static uint64_t instant(uint8_t part)
{
	return trace_start_ns(t) + (trace_end_ns(t) - trace_start_ns(t)) / 256 * part + 1;
}

/* Parses the bytes as a checkpoint of at_ns. */
static struct buf make_point(const uint8_t *data, size_t bytes, uint64_t at_ns)
{
	struct buf b = { 0 };

	buf_add_varint(&b, at_ns);
	buf_add(&b, data, bytes);
	FUZZ_CHECK(!b.failed);
	return b;
}

static bool is_same(const struct checkpoint *a, const struct checkpoint *b)
{
	if (a->event_cnt != b->event_cnt || a->memory_cnt != b->memory_cnt)
		return false;
	for (size_t i = 0; i < a->memory_cnt; i++)
		if (a->memory[i].upid != b->memory[i].upid ||
		    a->memory[i].unknown != b->memory[i].unknown ||
		    memcmp(a->memory[i].bytes, b->memory[i].bytes, sizeof(a->memory[i].bytes)) ||
		    a->memory[i].total_vm_bytes != b->memory[i].total_vm_bytes)
			return false;
	return !a->event_cnt || !memcmp(a->events, b->events, a->event_cnt * sizeof(*a->events));
}

static void read_point(const uint8_t *data, size_t bytes)
{
	uint64_t at_ns = trace_end_ns(t);
	struct buf point = make_point(data, bytes, at_ns), made = { 0 };
	struct checkpoint c, again;

	if (checkpoint_decode(point.data, point.len, point.len, at_ns, 2, &c) == 0) {
		checkpoint_encode(&c, at_ns, &made);
		FUZZ_CHECK(!made.failed);
		FUZZ_CHECK(checkpoint_decode(made.data, made.len, made.len, at_ns, 2, &again) == 0);
		FUZZ_CHECK(is_same(&c, &again));
		checkpoint_done(&c);
		checkpoint_done(&again);
		buf_done(&made);
	}
	buf_done(&point);
}

/* Replaces a stored checkpoint by the bytes. */
static void put_point(const uint8_t *data, size_t bytes, unsigned int nth)
{
	const struct derived_part *part = &points[nth % point_cnt];
	size_t cnt;
	struct buf point = make_point(data, bytes,
				      trace_blocks(t, &cnt)[(uint32_t)part->key].from_ns);

	index_trace_write(path, DERIVED_FILE_NAME, carry_file, checkpoint_bytes);
	index_trace_put_part(t, part, point.data, point.len);
	buf_done(&point);
}

static void cut(uint64_t at_ns)
{
	struct analysis *a = index_trace_analysis(t, true);
	const struct trace_cut_request q = { .from_ns = at_ns, .to_ns = at_ns + CUT_NS,
					     .before = analysis_checkpoint, .before_ctx = a,
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
	analysis_close(a);
	scratch_remove(cut_path);
}

static void compare(uint64_t at_ns)
{
	struct checkpoint with = carry(at_ns, true), without = carry(at_ns, false);

	FUZZ_CHECK(is_same(&with, &without));
	checkpoint_done(&with);
	checkpoint_done(&without);
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
		index_trace_write_changed(path, DERIVED_FILE_NAME, carry_file, checkpoint_bytes,
					  data + HEAD_BYTES, bytes - HEAD_BYTES);
		compare(instant(data[1]));
		break;
	}
	return 0;
}
