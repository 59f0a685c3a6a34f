/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* new_trace: makes the new trace at a temporary path, and renames it when it is complete. */
#include "cmd/copy/new_trace.h"

#include "base/atomic_output.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "edit/trace_copy.h"

/* Checks that the new trace at path is undamaged and has block_cnt blocks. */
static int check(const char *output, const char *path, uint64_t block_cnt)
{
	struct check_result c = { 0 };
	struct err e = { "" };
	struct trace *t;
	int r = trace_open(&t, path, &e);

	if (!r) {
		r = trace_check(t, NULL, NULL, &c, &e);
		trace_close(t);
	}
	if (r)
		return say_error("%s: cannot be checked: %s", output, err_text(&e, r));
	if (c.damaged_cnt || c.block_cnt != block_cnt)
		return say_error("%s: is not whole after it was written; is the disk failing?",
				 output);
	return 0;
}

int new_trace_make(const struct trace *of, const char *output,
		   int (*write)(void *ctx, const char *path, struct err *e), void *ctx,
		   const uint64_t *checked_block_cnt)
{
	struct atomic_output out = { 0 };
	struct err e = { "" };
	int r = of ? trace_copy_refuse(of, output, &e) : 0;

	atomic_output_catch_signals();
	r = r ?: atomic_output_begin(&out, output, true, &e) ?: write(ctx, out.path, &e);
	if (!r && checked_block_cnt)
		r = check(output, out.path, *checked_block_cnt);
	r = r ?: atomic_output_commit(&out, output, false, &e);
	atomic_output_drop(&out);
	return input_status(r, &e);
}
