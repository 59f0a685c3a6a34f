/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fuzz_repair: checks and repairs a whole trace (scratch_trace.h). The output contains exactly the
 * parts that the check called valid, and passes the check.
 */
#include "edit/trace_copy.h"
#include "fuzz.h"
#include "scratch_trace.h"

struct seen {
	uint64_t valid, damaged;
};

static int on_part(void *ctx, const struct check_part *p)
{
	struct seen *s = ctx;

	FUZZ_CHECK(p->file && p->reason && p->from_ns <= p->to_ns);
	s->valid += p->block_cnt;
	s->damaged += p->status == CHECK_DAMAGED;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct check_result before = { 0 }, after = { 0 };
	struct repair_result made = { 0 };
	const char *trace = scratch_trace(data, bytes);
	struct seen seen = { 0 };
	struct trace *t, *n;
	struct err e = { "" };
	char path[128];
	int r;

	snprintf(path, sizeof(path), "%s/new", scratch_dir());
	if (trace_open_anyway(&t, trace, NULL) < 0)
		return 0;
	r = trace_check(t, on_part, &seen, &before, &e);
	FUZZ_CHECK(r == 0 || r == -ENOMEM);
	FUZZ_CHECK(r < 0 || (seen.valid == before.block_cnt && seen.damaged == before.damaged_cnt));
	if (r == 0 && trace_repair(t, path, &made, &e) == 0) {
		FUZZ_CHECK(made.block_cnt == before.block_cnt && made.block_cnt);
		FUZZ_CHECK(trace_open(&n, path, &e) == 0);
		FUZZ_CHECK(trace_check(n, NULL, NULL, &after, &e) == 0);
		FUZZ_CHECK(!after.damaged_cnt && after.block_cnt == before.block_cnt);
		FUZZ_CHECK(after.event_cnt == before.event_cnt);
		trace_close(n);
	} else {
		FUZZ_CHECK(r < 0 || !before.block_cnt);
	}
	trace_close(t);
	scratch_remove(path);
	return 0;
}
