/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * analysis_checkpoint: finds the earlier state that a cut carries over (edit/checkpoint.h). Each
 * part is the state of one fold's machine: the machine continues from the last checkpoint in the
 * derived file, or begins at the trace's start.
 */
#include <errno.h>

#include "analyze/context/context.h"
#include "analyze/fold/fold_memory.h"
#include "analyze/fold/fold_reader.h"
#include "analyze/fold/folds.h"
#include "trace/derived_file.h"

static const struct fold_def *fold_of(unsigned int part)
{
	return part < CHECKPOINT_SLAB ? &fold_carried[part] :
					fold_memory((enum index_group)(part - CHECKPOINT_SLAB));
}

/* The memory of processes is always needed. */
static bool is_wanted(unsigned int part, uint32_t kind_mask)
{
	return fold_of(part)->kinds & kind_mask || part == CHECKPOINT_LEVELS;
}

/* d: NULL makes the part from the trace's start on. */
static int make_part(struct analysis *a, struct derived_file *d, enum checkpoint_part part,
		     uint64_t at_ns, struct checkpoint *ret, struct err *e)
{
	const struct fold_use use = { fold_of(part), { 0 } };
	struct fold_range range = { .to_ns = at_ns, .start = FOLD_READER_TRACE };
	struct fold_reader *reader = NULL;
	struct checkpoint from = { 0 };
	int r = d ? checkpoint_find(d, a->trace, part, at_ns, &range.from_ns, &from) : 0;

	if (r > 0)
		range.checkpoint = &from;
	if (r >= 0)
		r = fold_reader_open(&reader, a, &range, &use, 1, e);
	if (r >= 0)
		r = fold_reader_run(reader, at_ns, SIZE_MAX, NULL, e);
	if (r >= 0)
		r = use.def->checkpoint(fold_reader_machine(reader, 0), at_ns, ret);
	fold_reader_close(reader);
	checkpoint_done(&from);
	return r;
}

/* Adds events in order of time first, then live objects. */
static int make_parts(struct analysis *a, struct derived_file *d, uint64_t at_ns,
		      uint32_t kind_mask, struct checkpoint *ret, struct err *e)
{
	size_t first;
	int r = 0;

	for (unsigned int part = 0; part < CHECKPOINT_PART_CNT && r >= 0; part++) {
		if (!is_wanted(part, kind_mask))
			continue;
		first = part < CHECKPOINT_SLAB ? 0 : ret->event_cnt;
		r = make_part(a, d, part, at_ns, ret, e);
		if (r >= 0 && part != CHECKPOINT_LEVELS)
			r = checkpoint_sort(ret, first, part >= CHECKPOINT_SLAB);
	}
	return r;
}

/* Makes the parts of the index with the checkpoints before at_ns, if they can be stored. */
static int make_index(struct analysis *a, uint32_t kind_mask, uint64_t at_ns, struct err *e)
{
	struct derived_file *d;
	uint32_t kinds = 0;
	bool has_place;
	int r = derived_file_open(&d, a->trace, DERIVED_SAVE);

	if (r < 0)
		return r;
	has_place = derived_file_has_place(d);
	derived_file_close(d);
	for (unsigned int part = 0; part < CHECKPOINT_PART_CNT; part++)
		if (is_wanted(part, kind_mask))
			kinds |= fold_of(part)->asks ? fold_of(part)->asks : fold_of(part)->kinds;
	return has_place ? analysis_prepare_window(a, kinds, 0, at_ns, e) : 0;
}

static bool may_use_stored(const struct analysis *a)
{
	size_t damage_cnt;

	trace_damages(a->trace, &damage_cnt);
	return a->index_use.use && trace_is_finished(a->trace) && !damage_cnt;
}

int analysis_checkpoint(void *analysis, uint64_t at_ns, uint32_t kind_mask, struct checkpoint *ret,
			struct err *e)
{
	struct analysis *a = analysis;
	struct derived_file *d = NULL;
	struct checkpoint out = { 0 };
	int r = 0;

	if (may_use_stored(a) && a->index_use.save)
		r = make_index(a, kind_mask, at_ns, e);
	if (r == 0 && may_use_stored(a))
		r = derived_file_open(&d, a->trace, 0);
	r = r ?: make_parts(a, d, at_ns, kind_mask, &out, e);
	if (r == -EBADMSG && d) {
		/* the derived file is damaged: it is made again when the next query needs it */
		derived_file_forget(d);
		checkpoint_done(&out);
		r = make_parts(a, NULL, at_ns, kind_mask, &out, e);
	}
	derived_file_close(d);
	if (r < 0) {
		checkpoint_done(&out);
		return err_set(e, r, "%s", err_text(e, r));
	}
	*ret = out;
	return 0;
}
