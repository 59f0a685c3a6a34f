/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* report_bins: a group is identified by the text of its key columns, which come first in a row. */
#include "analyze/engine/report_bins.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/keys.h"
#include "analyze/engine/column.h"
#include "analyze/engine/unowned.h"
#include "base/array.h"

#define ROWS_MAX 10000000 /* most rows of 0 in total: about a GiB of CSV */
#define KEY_MAX	 512
#define COLS_MAX 64

struct group {
	char *key;		/* the text of all key values */
	struct value *values;	/* of the key columns; texts point into key */
	uint64_t first, end;	/* bins in which the group may have a row */
	uint64_t seen;		/* the last bin with a row of it, + 1 */
};

struct report_bins {
	struct analysis *a;
	const struct report_request *r;
	const struct report_view *view;
	const struct row_sink *next;
	struct row_sink groups_sink, rows_sink;
	/* base_ns: start of bin 0; end_ns: end of the window, inside the trace */
	uint64_t base_ns, end_ns;
	uint64_t bin_cnt;
	unsigned int col_cnt, key_cnt;
	/* columns; -1: none */
	int pid, comm, source, complete, lost, unowned_ios, unowned_bytes;
	enum value_type types[COLS_MAX];	/* of figures; VALUE_NULL: no row has this figure */
	bool is_single[COLS_MAX];	/* a figure of single events */
	struct group *groups;	/* in order of the window's rows */
	size_t cnt, cap;
	struct group **by_key;	/* cnt_keys of them; NULL: groups are not needed */
	size_t cnt_keys;
	uint64_t bin;		/* the current bin */
	uint64_t rows_in_bin;
	struct value zeros[COLS_MAX + 1];	/* its row of 0, if has_zeros */
	bool has_zeros, zeros_complete;
	bool is_sparse;
};

static int begin(struct report_bins *b, unsigned int col_cnt, const char *const *names, bool has_t)
{
	if (col_cnt > COLS_MAX)
		return -E2BIG;
	b->col_cnt = col_cnt;
	b->pid = b->comm = b->source = b->complete = b->lost = -1;
	b->unowned_ios = b->unowned_bytes = -1;
	for (b->key_cnt = 0; has_t + b->key_cnt < col_cnt; b->key_cnt++)
		if (!column_find(names[has_t + b->key_cnt])->is_key)
			break;
	for (unsigned int i = 0; i + has_t < col_cnt; i++) {
		const char *name = names[i + has_t];
		int *at = !strcmp(name, "pid")	       ? &b->pid :
			  !strcmp(name, "comm")	       ? &b->comm :
			  !strcmp(name, "source")      ? &b->source :
			  !strcmp(name, "complete")    ? &b->complete :
			  !strcmp(name, "lost_events") ? &b->lost :
			  !strcmp(name, "unowned_ios") ? &b->unowned_ios :
			  !strcmp(name, "unowned_bytes") ? &b->unowned_bytes : NULL;

		b->is_single[i] = column_find(name)->is_single;
		if (at)
			*at = (int)i;
	}
	return 0;
}

/* Formats the key columns' texts, one after the other. False: they are too long. */
static bool key_of(const struct report_bins *b, const struct value *v, char key[KEY_MAX])
{
	size_t at = 0;

	for (unsigned int i = 0; i < b->key_cnt && at < KEY_MAX; i++) {
		bool is_text = v[i].type == VALUE_TEXT;
		char number[24] = "-";

		if (v[i].type == VALUE_INT)
			snprintf(number, sizeof(number), "%" PRId64, v[i].i);
		at += (size_t)snprintf(key + at, KEY_MAX - at, "%.*s\x1f",
				       is_text ? (int)v[i].text_bytes : (int)sizeof(number),
				       is_text ? v[i].text : number);
	}
	return b->key_cnt && at < KEY_MAX;
}

/* ---- groups ---- */

static uint64_t bin_of(const struct report_bins *b, uint64_t ts_ns)
{
	return ts_ns > b->base_ns ? (ts_ns - b->base_ns) / b->r->every_ns : 0;
}

/*
 * Finds the bins in which processes with the group's PID were alive; if possible only those with
 * its name.
 */
static void find_life(const struct report_bins *b, struct group *g)
{
	const struct value *pid = b->pid >= 0 ? &g->values[b->pid] : NULL,
			   *comm = b->comm >= 0 ? &g->values[b->comm] : NULL;
	bool named = false;
	size_t cnt, i;
	const struct trace_process *p = trace_processes(b->a->trace, &cnt);

	g->end = b->bin_cnt;
	if (!pid || pid->type != VALUE_INT)
		return;
	g->first = b->bin_cnt;
	g->end = 0;
	for (i = 0; i < cnt; i++) {
		uint64_t first = bin_of(b, p[i].start_ns);
		uint64_t end = p[i].end_ns ? bin_of(b, p[i].end_ns) + 1 : b->bin_cnt;
		bool same = comm && comm->type == VALUE_TEXT &&
			    strlen(p[i].comm) == comm->text_bytes &&
			    !memcmp(p[i].comm, comm->text, comm->text_bytes);

		if (p[i].pid != (uint32_t)pid->i || (named && !same))
			continue;
		if (same && !named) {
			g->first = b->bin_cnt;
			g->end = 0;
		}
		named |= same;
		g->first = first < g->first ? first : g->first;
		g->end = end > g->end ? end : g->end;
	}
	g->end = g->end < b->bin_cnt ? g->end : b->bin_cnt;
}

static int groups_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	return begin(ctx, col_cnt, names, false);
}

static int groups_row(void *ctx, const struct value *v)
{
	struct report_bins *b = ctx;
	char key[KEY_MAX], *at;
	struct group *g;

	for (unsigned int i = 0; i < b->col_cnt; i++)
		if (v[i].type != VALUE_NULL)
			b->types[i] = v[i].type;
	if (!key_of(b, v, key))
		return 0;
	if (array_reserve(&b->groups, &b->cap, b->cnt + 1) < 0)
		return -ENOMEM;
	g = &b->groups[b->cnt];
	*g = (struct group){ .key = strdup(key), .values = calloc(b->key_cnt, sizeof(*g->values)) };
	b->cnt++;
	if (!g->key || !g->values)
		return -ENOMEM;
	at = g->key;
	for (unsigned int i = 0; i < b->key_cnt; i++) {
		g->values[i] = v[i];
		g->values[i].text = at;
		at += v[i].type == VALUE_TEXT ? strnlen(v[i].text, v[i].text_bytes) :
						strcspn(at, "\x1f");
		at++;
	}
	find_life(b, g);
	return 0;
}

static int by_key(const void *x, const void *y)
{
	const struct group *const *a = x, *const *b = y;

	return strcmp((*a)->key, (*b)->key);
}

static int groups_end(void *ctx)
{
	struct report_bins *b = ctx;
	uint64_t rows = 0;
	size_t i, n = 0;

	b->by_key = calloc(b->cnt + 1, sizeof(*b->by_key));
	if (!b->by_key)
		return -ENOMEM;
	for (i = 0; i < b->cnt; i++) {
		struct group *g = &b->groups[i];

		b->by_key[i] = g;
		rows += g->end > g->first ? g->end - g->first : 0;
	}
	qsort(b->by_key, b->cnt, sizeof(*b->by_key), by_key);
	/* rows that differ only in other columns than the keys are one group */
	for (i = 1; i < b->cnt; i++) {
		if (strcmp(b->by_key[n]->key, b->by_key[i]->key))
			b->by_key[++n] = b->by_key[i];
		else
			b->by_key[i]->end = 0;
	}
	b->cnt_keys = b->cnt ? n + 1 : 0;
	b->is_sparse = rows > ROWS_MAX;
	return 0;
}

/* ---- rows ---- */

static int rows_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct report_bins *b = ctx;
	int ret = begin(b, col_cnt, names, true);

	return ret ? ret : b->next->begin(b->next->ctx, col_cnt, names);
}

/*
 * Fills in the common part of all rows of 0 of the current bin: its beginning, and whether it is
 * complete. If rows are about sources, completeness is that of the group's source.
 */
static void begin_zeros(struct report_bins *b, const struct group *g)
{
	uint64_t from = b->base_ns + b->bin * b->r->every_ns, to = from + b->r->every_ns;
	const struct value *of = b->source >= 0 && g ? &g->values[b->source] : NULL;
	struct loss_index *losses = &b->a->losses;
	struct value *v = b->zeros + 1;
	char source[32] = "", room[LOSS_SOURCES_MAX];
	struct loss_needs needs;

	if (of && of->type == VALUE_TEXT)
		snprintf(source, sizeof(source), "%.*s", (int)of->text_bytes, of->text);
	needs = loss_needs_of(b->view->needs, source, room);
	b->zeros[0] = (struct value){ .type = VALUE_INT, .i = context_rel(b->a, from) };
	to = to < b->r->to_ns ? to : b->r->to_ns;
	for (unsigned int i = 0; i + 1 < b->col_cnt; i++) {
		bool has = i >= b->key_cnt && !b->is_single[i] && b->types[i] != VALUE_TEXT;

		v[i] = (struct value){ .type = has ? b->types[i] : VALUE_NULL };
	}
	b->zeros_complete = b->complete >= 0 &&
			    loss_index_is_complete(losses, needs, from, to, NULL, NULL);
	if (b->complete >= 0)
		v[b->complete] = value_int(b->zeros_complete);
	if (b->lost >= 0)
		v[b->lost] = (struct value){
			.type = VALUE_INT,
			.i = (int64_t)loss_index_lost(losses, needs.sources, from, to),
		};
	b->has_zeros = !of;
}

/* Requests of unknown owners that a row of 0 in the current bin may lack; g NULL: of no group. */
static struct request_cnt zeros_lack(const struct report_bins *b, const struct group *g)
{
	uint64_t from = b->base_ns + b->bin * b->r->every_ns, to = from + b->r->every_ns;
	bool is_known = true;

	for (unsigned int i = 0; g && i < b->key_cnt; i++)
		is_known &= g->values[i].type != VALUE_TEXT ||
			    g->values[i].text_bytes != strlen(KEYS_UNKNOWN) ||
			    memcmp(g->values[i].text, KEYS_UNKNOWN, strlen(KEYS_UNKNOWN));
	to = to < b->r->to_ns ? to : b->r->to_ns;
	return unowned_of_row(b->a, context_rel(b->a, from), context_rel(b->a, to), is_known);
}

/* Adds a row of 0 to the current bin; g NULL: without a group. */
static int put_zero(struct report_bins *b, const struct group *g)
{
	struct request_cnt lack;

	if (!b->has_zeros)
		begin_zeros(b, g);
	lack = zeros_lack(b, g);
	if (b->complete >= 0)
		b->zeros[1 + b->complete].i = b->zeros_complete &&
					      !(lack.ios && b->a->unowned.of_some);
	if (b->unowned_ios >= 0)
		b->zeros[1 + b->unowned_ios] = value_int(lack.ios);
	if (b->unowned_bytes >= 0)
		b->zeros[1 + b->unowned_bytes] = value_int(lack.bytes);
	for (unsigned int i = 0; g && i < b->key_cnt; i++)
		b->zeros[1 + i] = g->values[i];
	return b->next->row(b->next->ctx, b->zeros);
}

/* Ends all bins before this one. */
static int go_to(struct report_bins *b, uint64_t bin)
{
	int ret = 0;

	for (; b->bin < bin && b->bin < b->bin_cnt && !b->is_sparse && ret >= 0; b->bin++) {
		for (size_t i = 0; i < b->cnt && ret >= 0; i++) {
			struct group *g = &b->groups[i];

			if (b->bin >= g->first && b->bin < g->end && g->seen != b->bin + 1)
				ret = put_zero(b, g);
		}
		if (!b->by_key && !b->rows_in_bin && ret >= 0)
			ret = put_zero(b, NULL);
		b->rows_in_bin = 0;
		b->has_zeros = false;
	}
	b->bin = bin;
	return ret < 0 ? ret : 0;
}

static void note_seen(struct report_bins *b, const struct value *v)
{
	char key[KEY_MAX];
	struct group wanted = { .key = key }, *p = &wanted, **found;

	found = key_of(b, v, key) ? bsearch(&p, b->by_key, b->cnt_keys, sizeof(*b->by_key), by_key)
				  : NULL;
	if (found)
		(*found)->seen = b->bin + 1;
}

static int rows_row(void *ctx, const struct value *v)
{
	struct report_bins *b = ctx;
	int ret = go_to(b, bin_of(b, context_abs(b->a, v[0].i)));

	if (ret)
		return ret;
	if (b->by_key)
		note_seen(b, v + 1);
	else /* the rows themselves show the types of figures */
		for (unsigned int i = 0; i + 1 < b->col_cnt; i++)
			b->types[i] = v[i + 1].type ?: b->types[i];
	b->rows_in_bin++;
	return b->next->row(b->next->ctx, v);
}

static int rows_end(void *ctx)
{
	struct report_bins *b = ctx;
	int ret = b->by_key || b->rows_in_bin || b->bin ? go_to(b, b->bin_cnt) : 0;

	return ret ? ret : b->next->end ? b->next->end(b->next->ctx) : 0;
}

/* ---- from start to end ---- */

int report_bins_new(struct report_bins **ret, struct analysis *a, const struct report_view *v,
		    const struct report_request *r, const struct row_sink *next)
{
	struct report_bins *b;

	*ret = NULL;
	if (!(v->rows & REPORT_ROWS_ZEROS) || r->histogram)
		return 0;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->a = a;
	b->r = r;
	b->view = v;
	b->next = next;
	b->groups_sink = (struct row_sink){ b, groups_begin, groups_row, groups_end, NULL };
	b->rows_sink = (struct row_sink){ b, rows_begin, rows_row, rows_end, NULL };
	/* bins are counted from the window's start; the first one overlaps the trace */
	b->base_ns = r->from_ns;
	if (r->from_ns < a->start_ns)
		b->base_ns += (a->start_ns - r->from_ns) / r->every_ns * r->every_ns;
	b->end_ns = r->to_ns < a->end_ns ? r->to_ns : a->end_ns;
	if (b->end_ns > b->base_ns)
		b->bin_cnt = (b->end_ns - b->base_ns + r->every_ns - 1) / r->every_ns;
	*ret = b;
	return 0;
}

void report_bins_free(struct report_bins *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->cnt; i++) {
		free(b->groups[i].key);
		free(b->groups[i].values);
	}
	free(b->groups);
	free(b->by_key);
	free(b);
}

const struct row_sink *report_bins_groups(struct report_bins *b)
{
	return &b->groups_sink;
}

const struct row_sink *report_bins_rows(struct report_bins *b)
{
	return &b->rows_sink;
}

bool report_bins_is_sparse(const struct report_bins *b)
{
	return b->is_sparse;
}
