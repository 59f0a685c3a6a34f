/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * row_prefix: copies each row after the prefix columns. Joined results get the heading of the first
 * result, and must have its number of columns.
 */
#include "cmd/render/row_prefix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void clear(struct row_prefix *p)
{
	free(p->row);
	free(p->picked);
	p->row = NULL;
	p->picked = NULL;
	p->col_cnt = 0;
}

static int prefix_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct row_prefix *p = ctx;
	unsigned int cnt = col_cnt + p->cnt;
	const char **all;
	int r;

	if (p->joins && p->col_cnt)
		return cnt == p->col_cnt ? 0 : -EPROTO;
	clear(p);
	p->row = calloc(cnt, sizeof(*p->row));
	p->picked = calloc(cnt, sizeof(*p->picked));
	all = calloc(cnt, sizeof(*all));
	if (!p->row || !p->picked || !all) {
		free(all);
		return -ENOMEM;
	}
	p->col_cnt = cnt;
	memcpy(all, p->names, p->cnt * sizeof(*all));
	for (unsigned int i = p->cnt; i < cnt; i++) {
		all[i] = names[i - p->cnt];
		p->picked[i] = p->picks && p->picks(all[i]);
	}
	r = p->next->begin(p->next->ctx, cnt, all);
	free(all);
	return r;
}

static int prefix_row(void *ctx, const struct value *values)
{
	const struct row_prefix *p = ctx;

	memcpy(p->row, p->before, p->cnt * sizeof(*values));
	memcpy(p->row + p->cnt, values, (p->col_cnt - p->cnt) * sizeof(*values));
	if (p->change)
		p->change(p, p->row);
	return p->next->row(p->next->ctx, p->row);
}

static int prefix_end(void *ctx)
{
	const struct row_prefix *p = ctx;

	return p->joins ? 0 : p->next->end(p->next->ctx);
}

static void prefix_more(void *ctx, uint64_t cnt, const char *command)
{
	const struct row_prefix *p = ctx;

	p->next->more(p->next->ctx, cnt, command);
}

void row_prefix_init(struct row_prefix *p)
{
	p->sink = (struct row_sink){
		.ctx = p, .begin = prefix_begin, .row = prefix_row, .end = prefix_end,
		.more = p->next->more ? prefix_more : NULL
	};
}

int row_prefix_end(struct row_prefix *p, int r)
{
	if (!r && p->joins && p->col_cnt)
		r = p->next->end(p->next->ctx);
	clear(p);
	return r;
}
