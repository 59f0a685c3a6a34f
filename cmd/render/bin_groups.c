/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * All figures are kept until the last row has arrived, since a group may begin in any bin. Groups
 * are identified by the text of their key columns.
 */
#include "cmd/render/bin_groups.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/textsafe.h"
#include "base/words.h"

#define LABEL_MAX 128

void bin_groups_done(struct bin_groups *g)
{
	for (size_t i = 0; i < g->cnt; i++)
		free(g->v[i].cells);
	free(g->v);
	hash_map_done(&g->map);
	strpool_free(g->labels);
}

/* ---- columns ---- */

/* Finds a column. Returns false with an error if the view does not have it. */
static bool find(struct bin_groups *g, struct word name, unsigned int cnt,
		 const char *const *names, unsigned int *ret)
{
	for (*ret = 0; *ret < cnt; (*ret)++)
		if (word_is(name, names[*ret]))
			return true;
	snprintf(g->error, sizeof(g->error), "the view has no column '%.*s'",
		 name.len < 60 ? name.len : 60, name.s);
	return false;
}

int bin_groups_begin(void *groups, unsigned int col_cnt, const char *const *names)
{
	struct bin_groups *g = groups;

	if (!find(g, word_of("t_ns"), col_cnt, names, &g->t) ||
	    !find(g, word_of(g->o.figure), col_cnt, names, &g->figure))
		return -EINVAL;
	for (unsigned int i = 0; i < col_cnt; i++) {
		if (!column_find(names[i])->is_key)
			continue;
		if (strlen(g->keys_there) + strlen(names[i]) + 2 < sizeof(g->keys_there))
			strcat(strcat(g->keys_there, *g->keys_there ? "," : ""), names[i]);
		if (!g->o.by && i < g->figure && g->key_cnt < BIN_GROUPS_KEYS_MAX)
			g->keys[g->key_cnt++] = i;
	}
	for (const char *s = g->o.by ? g->o.by : ""; *s;)
		if (g->key_cnt == BIN_GROUPS_KEYS_MAX ||
		    !find(g, word_next(&s), col_cnt, names, &g->keys[g->key_cnt++]))
			return -EINVAL;
	return strpool_new(&g->labels);
}

/* ---- rows ---- */

static void make_label(const struct bin_groups *g, const struct value *v, char *buf)
{
	size_t size = g->o.label_bytes, at = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < g->key_cnt && at + 1 < size; i++) {
		const struct value *x = &v[g->keys[i]];

		if (i)
			buf[at++] = ' ';
		if (x->type == VALUE_INT)
			at += (size_t)snprintf(buf + at, size - at, "%" PRId64, x->i);
		else if (x->type != VALUE_TEXT)
			at += (size_t)snprintf(buf + at, size - at, "-");
		else if (g->o.is_safe)
			at += textsafe_escape(buf + at, size - at, x->text, x->text_bytes, NULL);
		else
			at += (size_t)snprintf(buf + at, size - at, "%.*s", (int)x->text_bytes,
					       x->text);
	}
}

/* *ret NULL: there are too many groups. */
static int group_of(struct bin_groups *g, const char *text, struct bin_group **ret)
{
	const char *label = strpool_put(g->labels, text);
	size_t cells = bin_groups_cells(g);
	uint32_t nr;

	if (!label || hash_map_intern(&g->map, (uintptr_t)label, 0, &nr) < 0 ||
	    array_reserve(&g->v, &g->cap, g->cnt + 1) < 0)
		return -ENOMEM;
	if (nr == g->cnt && nr < g->o.groups_max) {
		double *cell = malloc(cells * sizeof(*cell));

		if (!cell)
			return -ENOMEM;
		for (size_t i = 0; i < cells; i++)
			cell[i] = NAN;
		g->v[g->cnt++] = (struct bin_group){ .label = label, .cells = cell };
	}
	*ret = nr < g->cnt ? &g->v[nr] : NULL;
	return 0;
}

int bin_groups_row(void *groups, const struct value *v)
{
	struct bin_groups *g = groups;
	const struct value *x = &v[g->figure];
	double figure = x->type == VALUE_INT ? (double)x->i : x->type == VALUE_REAL ? x->r : 0;
	int64_t after_ns = v[g->t].i - g->o.from_ns;
	/* the first bin may begin before the instant that is known of it */
	uint64_t bin = after_ns > 0 ? (uint64_t)after_ns / g->o.every_ns : 0;
	struct bin_group *group;
	char label[LABEL_MAX];
	double *cell;
	int r;

	if (!g->labels || after_ns < -(int64_t)g->o.every_ns || bin >= g->o.bin_cnt)
		return 0;
	make_label(g, v, label);
	r = group_of(g, label, &group);
	if (r || !group) {
		g->left_out++;
		return r;
	}
	cell = &group->cells[bin / g->o.bins_per_cell];
	if (g->o.is_single && !isnan(*cell)) {
		snprintf(g->error, sizeof(g->error),
			 "a bin has several rows with %s '%s'; name more columns, of %s, or "
			 "choose another --by",
			 g->o.by, label, g->keys_there);
		return -EINVAL;
	}
	*cell = fmax(*cell, figure);
	group->sum += figure;
	return 0;
}

/* ---- order ---- */

static int by_sum(const void *a, const void *b)
{
	const struct bin_group *x = a, *y = b;

	return compare_numbers(y->sum, x->sum) ?: strcmp(x->label, y->label);
}

static int by_number(const void *a, const void *b)
{
	const struct bin_group *x = a, *y = b;
	long long m = atoll(x->label), n = atoll(y->label);

	return compare_numbers(m, n);
}

void bin_groups_sort(struct bin_groups *g, size_t cnt)
{
	size_t i = 0;

	if (!g->cnt)
		return;
	qsort(g->v, g->cnt, sizeof(*g->v), by_sum);
	while (i < cnt && !g->v[i].label[strspn(g->v[i].label, "0123456789")])
		i++;
	if (i == cnt)
		qsort(g->v, cnt, sizeof(*g->v), by_number);
}
