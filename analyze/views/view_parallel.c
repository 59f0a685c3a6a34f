/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * parallel_usage(from_ns, to_ns, every_ns, by): time on CPUs per bin and group, by how many CPUs
 * the threads of the scope had at that instant.
 */
#include <errno.h>

#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "table_columns.h"

static int place(struct view *v, const struct fold_key *key, struct view_place *ret)
{
	*ret = (struct view_place){ grouping_of_thread(&v->groups, (uint32_t)key->a), key->b };
	return 1;
}

static void give_row(struct view *v, const struct view_place *at, void *sum)
{
	struct cell *c = view_row(v, at->group, sum);

	cell_int(&c[COL_PARALLEL_USAGE_BUSY], (int64_t)at->b);
}

static const struct view_def parallel_view = {
	.fold = &fold_parallel, .place = place, .row = give_row, .is_sorted = true,
};

const struct table_def table_parallel_usage =
	VIEW_TABLE(PARALLEL_USAGE, parallel_view, struct view);
