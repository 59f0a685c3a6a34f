/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_levels: what each process has resident and mapped, counter by counter. Found: struct
 * level_found, for each change and for each process that a keyframe names.
 *
 * Reading begins at a block whose keyframe has every process's counters, so the index needs nothing
 * of this fold.
 */
#ifndef FOLD_LEVELS_H
#define FOLD_LEVELS_H

#include "analyze/fold/fold.h"
#include "model/mem_levels.h"

extern const struct fold_def fold_levels;

struct level_found {
	uint64_t ts_ns;
	uint32_t process;		/* dense */
	const struct mem_process *mem;	/* from now on; valid during the call */
};

#endif /* FOLD_LEVELS_H */
