/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * All figures are held until the last row has come, since a group may begin in any bin. Two rows of
 * one bin and group are refused: not every figure can be added.
 */
#include "cmd/render/pivot.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cmd/render/render.h"

#define LABEL_MAX 128
#define KEYS_MAX  4
#define CELLS_MAX (64u << 20) /* figures of all groups: half a GiB */

struct group {
	char label[LABEL_MAX];
	double *cells; /* NaN: no row */
	double sum;
};

struct pivot {
	struct pivot_options o;
	struct row_sink sink;
	unsigned int keys[KEYS_MAX], key_cnt, figure, t;
	struct group *groups;
	size_t cnt, cap, last;
	char keys_there[128]; /* what tells rows apart: "pid,comm,device,op" */
	char error[256];
};

void pivot_free(struct pivot *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->cnt; i++)
		free(p->groups[i].cells);
	free(p->groups);
	free(p);
}

const char *pivot_error(const struct pivot *p)
{
	return p->error;
}

/* The number of a column; -1: there is none, and the error says so. */
static int find(struct pivot *p, const char *name, size_t n, unsigned int cnt,
		const char *const *names)
{
	for (unsigned int i = 0; i < cnt; i++)
		if (strlen(names[i]) == n && !memcmp(names[i], name, n))
			return (int)i;
	snprintf(p->error, sizeof(p->error), "the view has no column '%.*s'",
		 n < 60 ? (int)n : 60, name);
	return -1;
}

static int begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct pivot *p = ctx;
	int t = find(p, "t_ns", 4, col_cnt, names),
	    figure = find(p, p->o.figure, strlen(p->o.figure), col_cnt, names);

	if (t < 0 || figure < 0)
		return -EINVAL;
	for (unsigned int i = 0; i < col_cnt; i++)
		if (column_find(names[i])->is_key &&
		    strlen(p->keys_there) + strlen(names[i]) + 2 < sizeof(p->keys_there))
			strcat(strcat(p->keys_there, *p->keys_there ? "," : ""), names[i]);
	p->t = (unsigned int)t;
	p->figure = (unsigned int)figure;
	for (const char *s = p->o.by; *s; s += strspn(s, ",")) {
		size_t n = strcspn(s, ",");
		int at = find(p, s, n, col_cnt, names);

		if (at < 0 || p->key_cnt == KEYS_MAX)
			return -EINVAL;
		p->keys[p->key_cnt++] = (unsigned int)at;
		s += n;
	}
	return 0;
}

static void make_label(const struct pivot *p, const struct value *v, char *buf)
{
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < p->key_cnt && at + 1 < LABEL_MAX; i++) {
		const struct value *x = &v[p->keys[i]];
		const char *space = i ? " " : "";

		if (x->type == VALUE_INT)
			at += (size_t)snprintf(buf + at, LABEL_MAX - at, "%s%" PRId64, space, x->i);
		else if (x->type == VALUE_TEXT)
			at += (size_t)snprintf(buf + at, LABEL_MAX - at, "%s%.*s", space,
					       (int)x->text_bytes, x->text);
		else
			at += (size_t)snprintf(buf + at, LABEL_MAX - at, "%s-", space);
	}
}

/* NULL: out of memory, or too many of them, and the error says so. */
static struct group *group_of(struct pivot *p, const char *label)
{
	struct group *g;

	for (size_t i = 0; i < p->cnt; i++) {
		g = &p->groups[(p->last + 1 + i) % p->cnt];
		if (!strcmp(g->label, label)) {
			p->last = (size_t)(g - p->groups);
			return g;
		}
	}
	if ((p->cnt + 1) * p->o.bin_cnt > CELLS_MAX) {
		snprintf(p->error, sizeof(p->error),
			 "too many bins and groups for columns; make --every longer, or the window "
			 "shorter");
		return NULL;
	}
	if (array_reserve(&p->groups, &p->cap, p->cnt + 1) < 0)
		return NULL;
	g = &p->groups[p->cnt];
	*g = (struct group){ .cells = malloc(p->o.bin_cnt * sizeof(double)) };
	if (!g->cells)
		return NULL;
	for (uint64_t i = 0; i < p->o.bin_cnt; i++)
		g->cells[i] = NAN;
	memcpy(g->label, label, LABEL_MAX);
	p->last = p->cnt++;
	return g;
}

static int row(void *ctx, const struct value *v)
{
	struct pivot *p = ctx;
	const struct value *x = &v[p->figure];
	double figure = x->type == VALUE_INT ? (double)x->i : x->type == VALUE_REAL ? x->r : 0;
	uint64_t bin = (uint64_t)(v[p->t].i - p->o.from_ns) / p->o.every_ns;
	char label[LABEL_MAX];
	struct group *g;

	if (v[p->t].i < p->o.from_ns || bin >= p->o.bin_cnt)
		return 0;
	make_label(p, v, label);
	g = group_of(p, label);
	if (!g)
		return *p->error ? -EINVAL : -ENOMEM;
	if (!isnan(g->cells[bin])) {
		snprintf(p->error, sizeof(p->error),
			 "a bin has several rows with %s '%s'; name more columns, of %s, or "
			 "choose another --by",
			 p->o.by, label, p->keys_there);
		return -EINVAL;
	}
	g->cells[bin] = figure;
	g->sum += figure;
	return 0;
}

static int by_sum(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return compare_numbers(y->sum, x->sum) ?: strcmp(x->label, y->label);
}

/* Numbers (CPUs) by value, names by what they did. */
static int by_number(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	long long m = atoll(x->label), n = atoll(y->label);

	return compare_numbers(m, n);
}

static bool are_numbers(const struct pivot *p)
{
	for (size_t i = 0; i < p->cnt; i++)
		if (p->groups[i].label[strspn(p->groups[i].label, "0123456789")])
			return false;
	return true;
}

static int end(void *ctx)
{
	const struct pivot *p = ctx;
	const struct row_sink *next = p->o.next;
	size_t cnt = p->o.limit && p->o.limit < p->cnt ? p->o.limit : p->cnt;
	const char **names = calloc(cnt + 1, sizeof(*names));
	struct value *values = calloc(cnt + 1, sizeof(*values));
	int r = names && values ? 0 : -ENOMEM;

	if (p->cnt)
		qsort(p->groups, p->cnt, sizeof(*p->groups), by_sum);
	if (p->cnt && are_numbers(p))
		qsort(p->groups, cnt, sizeof(*p->groups), by_number);
	if (!r) {
		names[0] = "t_ns";
		for (size_t i = 0; i < cnt; i++)
			names[i + 1] = p->groups[i].label;
		r = next->begin(next->ctx, (unsigned int)cnt + 1, names);
	}
	for (uint64_t bin = 0; bin < p->o.bin_cnt && r >= 0; bin++) {
		values[0] = value_int((uint64_t)p->o.from_ns + bin * p->o.every_ns);
		for (size_t i = 0; i < cnt; i++) {
			double v = p->groups[i].cells[bin];

			values[i + 1] = value_real(isnan(v) ? 0 : v);
		}
		r = next->row(next->ctx, values);
	}
	if (r >= 0)
		r = next->end(next->ctx);
	free(names);
	free(values);
	return r;
}

struct pivot *pivot_new(const struct pivot_options *o)
{
	struct pivot *p = calloc(1, sizeof(*p));

	if (p) {
		p->o = *o;
		p->sink = (struct row_sink){ .ctx = p, .begin = begin, .row = row, .end = end };
	}
	return p;
}

const struct row_sink *pivot_sink(const struct pivot *p)
{
	return &p->sink;
}
