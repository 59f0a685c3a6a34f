/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_check: `ebpfrec check` checks a trace for damage. It prints a row for each valid or damaged
 * part of every file, and a line with the result.
 */
#include <inttypes.h>

#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "edit/trace_copy.h"

struct check {
	struct input in;
	struct render *render;
};

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE(struct check, in),
	INPUT_OPTION_FORMAT(struct check, in),
	{ 0 },
};

/* Prints the result in one line. */
static void conclude(const struct input *in, const struct check_result *r)
{
	const struct trace *t = in->trace;
	const char *path = input_path(in), *blocks = say_counted(r->block_cnt, "block"),
		   *events = say_count(r->event_cnt);

	if (!r->damaged_cnt) {
		say_note("%s: whole: %s, %s events%s", path, blocks, events,
			 trace_is_live(t) ? " so far; it is still being recorded"
			 : trace_is_finished(t)
				 ? ""
				 : "; not finished: its recorder was killed, or could not write");
		return;
	}
	say_note("%s: damaged: valid without a gap up to %s s; %" PRIu64
		 " part%s (%s) skipped, %s missing between valid blocks; %s with %s events %s "
		 "valid",
		 path, say_instant((int64_t)(r->valid_to_ns - trace_start_ns(t))), r->damaged_cnt,
		 r->damaged_cnt == 1 ? "" : "s", say_bytes_si(r->damaged_bytes),
		 say_duration(r->missing_ns), blocks, events, r->block_cnt == 1 ? "is" : "are");
	if (r->missing_first)
		say_note("%s: its beginning is missing, and nothing says how long it was: the "
			 "first valid block is number %" PRIu64 " (from 0), and times count from "
			 "there", path, r->missing_first);
	if (r->block_cnt)
		say_note("%s: reports leave out what is damaged; `ebpfrec repair -i %s -o NEW` "
			 "writes a trace of what is valid",
			 path, path);
}

static struct value known(uint64_t v, bool is_known)
{
	return is_known ? value_int(v) : value_null();
}

/* Prints one part. A column that does not apply to the part is NULL, not 0. */
static int put_part(void *ctx, const struct check_part *p)
{
	static const char *const statuses[] = {
		[CHECK_VALID] = "valid", [CHECK_DAMAGED] = "damaged", [CHECK_NOTE] = "note"
	};
	const struct check *c = ctx;
	bool slice = p->from_ns != p->to_ns, blocks = p->status == CHECK_VALID && p->block_cnt;
	bool placed = p->status != CHECK_NOTE || p->bytes;
	uint64_t start_ns = trace_start_ns(c->in.trace);
	const struct value v[] = {
		value_text(p->file),
		value_text(statuses[p->status]),
		known(p->offset, placed),
		known(p->bytes, placed),
		known(p->from_ns - start_ns, slice),
		known(p->to_ns - start_ns, slice),
		known(p->block_cnt, blocks),
		known(p->event_cnt, blocks),
		value_text(p->reason),
	};

	return render_put(c->render, v);
}

static int run(void *job)
{
	static const char *const names[] = { "file",  "status", "offset", "bytes", "from_ns",
					     "to_ns", "blocks", "events", "reason" };
	struct check_result r = { 0 };
	struct check *c = job;
	struct err e = { "" };
	int x = input_open(&c->in, false);

	c->render = x ? NULL : input_render(&c->in, 0, true, NULL);
	if (!c->render)
		return EXIT_FAILED;
	render_begin(c->render, 9, names);
	x = input_render_end(c->render, trace_check(c->in.trace, put_part, c, &r, &e), &e);
	if (x)
		return x;
	conclude(&c->in, &r);
	return r.damaged_cnt ? EXIT_FAILED : 0;
}

const struct opts_command check_opts = {
	.name = "check",
	.about = "Check that a trace is undamaged.",
	.synopsis = "[-i TRACE] [--format FORMAT]",
	.text = "Reads every byte and verifies checksums, all columns of all events, the order\n"
		"of the blocks, and derived.idx. Lists what is valid, what is damaged and\n"
		"skipped, and what time is missing. The exit status is 0 when nothing is\n"
		"damaged, else 1.\n",
	.options = options,
	.examples = "  ebpfrec check -i trace.ebpfrec\n"
		    "  ebpfrec repair -i trace.ebpfrec -o repaired.ebpfrec\n",
	.bytes = sizeof(struct check),
	.initial = &(const struct check){ .in.anyway = true },
	.done = input_close,
	.operand_hint = "-i names the trace",
	.run = run,
};
