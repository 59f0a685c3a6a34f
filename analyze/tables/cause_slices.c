/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cause_slices: finds threads that used the CPU while threads of a name waited for it, for
 * causes().
 *
 *     slices of the window --[longest waits of the name]--> slices that overlap them --> a name
 *
 * In a window with few slices, all slices are read once and kept for all names. Otherwise the
 * slices are read twice per name.
 */
#include "analyze/tables/cause_facts.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/engine/table.h"
#include "base/array.h"
#include "base/strpool.h"
#include "table_columns.h"

#define LONGEST_WAITS 20

struct ran_instead {
	struct hash_map threads;	/* threads of the name, by utid */
	struct cause_slice waits[LONGEST_WAITS];	/* the longest wait first */
	unsigned int wait_cnt;
	struct hash_map utids;		/* threads that ran during waits -> number */
	uint64_t *ran_ns;		/* time per thread, by its number in utids */
	uint32_t *utid_of;
	size_t ran_cap, utid_cap;
	struct fact *shares;		/* time per name */
	size_t share_cnt, share_cap;
};

typedef int (*each_slice)(struct ran_instead *r, const struct cause_slice *s);

static int scan_slices(struct causes *c, struct ran_instead *r, each_slice each)
{
	struct table_query q = { .from_ns = INT64_MIN, .to_ns = INT64_MAX };
	bool is_kept = !r;
	struct table_scan scan = { 0 };
	const struct cell *row;
	int ret;

	q.cols_used = 1u << COL_SLICE_UTID | 1u << COL_SLICE_CPU | 1u << COL_SLICE_START_NS |
		      1u << COL_SLICE_END_NS | 1u << COL_SLICE_WAIT_NS;
	cell_int(&q.args[0], c->from_ns);
	cell_int(&q.args[1], c->to_ns);
	ret = table_scan_open(&scan, c->a, table_find("sched_slices"), &q, c->e);
	while (ret >= 0 && (ret = table_scan_next(&scan, &row, c->e)) > 0) {
		const struct cause_slice s = {
			.start_ns = row[COL_SLICE_START_NS].i, .end_ns = row[COL_SLICE_END_NS].i,
			.wait_ns = row[COL_SLICE_WAIT_NS].i, .cpu = row[COL_SLICE_CPU].i,
			.utid = row[COL_SLICE_UTID].i,
		};

		ret = is_kept ? array_add(&c->slices, &c->slice_cap, &c->slice_cnt, s) :
				each(r, &s);
	}
	table_scan_done(&scan);
	return ret;
}

static int all_slices(struct causes *c, struct ran_instead *r, each_slice each)
{
	int ret = 0;

	if (!c->keeps_slices)
		return scan_slices(c, r, each);
	if (!c->has_slices)
		ret = scan_slices(c, NULL, NULL);
	c->has_slices = !ret;
	for (size_t i = 0; i < c->slice_cnt && !ret; i++)
		ret = each(r, &c->slices[i]);
	return ret;
}

static const char threads_sql[] =
	"SELECT utid FROM threads WHERE thread_in_scope(utid) AND (:comm IS NULL OR comm = :comm "
	"OR upid IN (SELECT upid FROM processes WHERE comm = :comm))";

static int thread_row(struct causes *c, const struct value *v, void *ctx)
{
	struct ran_instead *r = ctx;
	uint32_t number;
	int ret = hash_map_intern(&r->threads, (uint64_t)v[0].i, 0, &number);

	(void)c;
	return ret < 0 ? ret : 0;
}

/* Keeps the longest waits; among equal waits, the earliest. */
static int add_wait(struct ran_instead *r, const struct cause_slice *s)
{
	unsigned int i = r->wait_cnt;
	uint32_t number;

	if (s->wait_ns <= 0 || !hash_map_find(&r->threads, (uint64_t)s->utid, 0, &number))
		return 0;
	while (i && (r->waits[i - 1].wait_ns < s->wait_ns ||
		     (r->waits[i - 1].wait_ns == s->wait_ns &&
		      r->waits[i - 1].start_ns > s->start_ns))) {
		if (i < LONGEST_WAITS)
			r->waits[i] = r->waits[i - 1];
		i--;
	}
	if (i < LONGEST_WAITS)
		r->waits[i] = *s;
	r->wait_cnt += r->wait_cnt < LONGEST_WAITS;
	return 0;
}

static int add_time(struct ran_instead *r, const struct cause_slice *s, int64_t ns)
{
	uint32_t number;
	int ret = hash_map_intern(&r->utids, (uint64_t)s->utid, 0, &number);

	if (ret < 0 || array_reserve(&r->ran_ns, &r->ran_cap, number + 1ul) < 0 ||
	    array_reserve(&r->utid_of, &r->utid_cap, number + 1ul) < 0)
		return -ENOMEM;
	if (ret)
		r->ran_ns[number] = 0;
	r->utid_of[number] = (uint32_t)s->utid;
	r->ran_ns[number] += (uint64_t)ns;
	return 0;
}

static int add_overlaps(struct ran_instead *r, const struct cause_slice *s)
{
	int ret = 0;

	for (unsigned int i = 0; i < r->wait_cnt && !ret; i++) {
		const struct cause_slice *w = &r->waits[i];
		int64_t from_ns = w->start_ns - w->wait_ns, to_ns = w->start_ns;

		from_ns = s->start_ns > from_ns ? s->start_ns : from_ns;
		to_ns = s->end_ns < to_ns ? s->end_ns : to_ns;
		if (s->cpu == w->cpu && from_ns < to_ns)
			ret = add_time(r, s, to_ns - from_ns);
	}
	return ret;
}

static int name_row(struct causes *c, const struct value *v, void *ctx)
{
	*(const char **)ctx = causes_text(c, &v[0]);
	return 0;
}

/* Adds a thread's time to the time of its name. */
static int add_share(struct causes *c, struct ran_instead *r, uint32_t number)
{
	const struct statement_param params[] = {
		{ ":utid", value_int(r->utid_of[number]) },
		{ .name = NULL },
	};
	const char *name = NULL;
	size_t i = 0;
	int ret = causes_query_with(c, "SELECT comm FROM threads WHERE utid = :utid", params,
				    name_row, &name);

	if (ret || !name)
		return ret;
	while (i < r->share_cnt && r->shares[i].text != name)
		i++;
	if (i == r->share_cnt)
		ret = array_add(&r->shares, &r->share_cap, &r->share_cnt,
				(struct fact){ .text = name, .is_found = true });
	if (!ret)
		r->shares[i].v[0] += (int64_t)r->ran_ns[number];
	return ret;
}

/* Returns the name with the largest share of the waits, in percent. */
static struct fact largest(const struct ran_instead *r)
{
	struct fact top = { 0 };
	int64_t wait_ns = 0;

	for (unsigned int i = 0; i < r->wait_cnt; i++)
		wait_ns += r->waits[i].wait_ns;
	for (size_t i = 0; i < r->share_cnt && wait_ns; i++) {
		struct fact f = r->shares[i];

		f.v[0] = (int64_t)(100 * (uint64_t)f.v[0] / (uint64_t)wait_ns);
		if (!top.is_found || f.v[0] > top.v[0] ||
		    (f.v[0] == top.v[0] && strcmp(f.text, top.text) < 0))
			top = f;
	}
	return top;
}

int causes_ran_instead(struct causes *c, const char *comm, struct fact *ret)
{
	struct ran_instead r = { .wait_cnt = 0 };
	int err = causes_query(c, threads_sql, NULL, comm, thread_row, &r);

	err = err ?: all_slices(c, &r, add_wait);
	if (!err && r.wait_cnt)
		err = all_slices(c, &r, add_overlaps);
	for (uint32_t i = 0; i < r.utids.cnt && !err; i++)
		err = add_share(c, &r, i);
	if (!err)
		*ret = largest(&r);
	hash_map_done(&r.threads);
	hash_map_done(&r.utids);
	free(r.ran_ns);
	free(r.utid_of);
	free(r.shares);
	return err;
}
