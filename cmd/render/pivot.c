/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Two rows of one bin and group are refused: not every figure can be added. */
#include "cmd/render/pivot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_MAX 128
#define TIME_NAME "t_ns" /* also of a process, which is in brackets then */
#define REST_NAME "[others]"
#define CELLS_MAX (64u << 20) /* figures of all groups: half a GiB */

static double sum_of_rest(const struct bin_groups *g, size_t from, uint64_t bin)
{
	double sum = 0;

	for (size_t i = from; i < g->cnt; i++)
		sum += isnan(g->v[i].cells[bin]) ? 0 : g->v[i].cells[bin];
	return sum;
}

static int end(void *ctx)
{
	struct pivot *p = ctx;
	struct bin_groups *g = &p->groups;
	size_t cnt = p->limit && p->limit < g->cnt ? p->limit : g->cnt;
	size_t col_cnt = 1 + cnt + (p->has_rest && cnt < g->cnt);
	const char **names = calloc(col_cnt, sizeof(*names));
	struct value *values = calloc(col_cnt, sizeof(*values));
	int r = names && values ? 0 : -ENOMEM;

	if (g->left_out) {
		snprintf(g->error, sizeof(g->error),
			 "too many bins and groups for columns; make --every longer, or the window "
			 "shorter");
		r = -EINVAL;
	}
	bin_groups_sort(g, cnt);
	if (!r) {
		names[0] = TIME_NAME;
		for (size_t i = 0; i < cnt; i++)
			names[i + 1] = strcmp(g->v[i].label, TIME_NAME) ? g->v[i].label :
									  "[" TIME_NAME "]";
		if (col_cnt > cnt + 1)
			names[cnt + 1] = REST_NAME;
		r = p->next->begin(p->next->ctx, (unsigned int)col_cnt, names);
	}
	for (uint64_t bin = 0; bin < g->o.bin_cnt && r >= 0; bin++) {
		values[0] = value_int((uint64_t)g->o.from_ns + bin * g->o.every_ns);
		for (size_t i = 0; i < cnt; i++) {
			double v = g->v[i].cells[bin];

			values[i + 1] = value_real(isnan(v) ? 0 : v);
		}
		if (col_cnt > cnt + 1)
			values[cnt + 1] = value_real(sum_of_rest(g, cnt, bin));
		r = p->next->row(p->next->ctx, values);
	}
	if (r >= 0)
		r = p->next->end(p->next->ctx);
	free(names);
	free(values);
	return r;
}

struct row_sink pivot_sink(struct pivot *p)
{
	struct bin_groups_options *o = &p->groups.o;

	o->bins_per_cell = 1;
	o->label_bytes = LABEL_MAX;
	o->is_single = true;
	o->groups_max = CELLS_MAX / (o->bin_cnt ?: 1);
	return (struct row_sink){
		.ctx = p, .begin = bin_groups_begin, .row = bin_groups_row, .end = end
	};
}
