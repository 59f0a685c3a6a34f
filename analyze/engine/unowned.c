/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * unowned: the counts of a report are kept per bin, because each row of a view needs the counts of
 * its bin. A window that does not consist of whole bins is counted when needed.
 */
#include "analyze/engine/unowned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/keys.h"
#include "analyze/engine/statement.h"
#include "base/words.h"

struct unowned_bin {
	int64_t from_ns, to_ns;
	struct request_cnt cnt;
};

static int take_bin(void *ctx, const struct value *v)
{
	struct unowned *u = ctx;

	if (array_reserve(&u->bins, &u->bin_cap, u->bin_cnt + 1) < 0)
		return -ENOMEM;
	u->bins[u->bin_cnt++] = (struct unowned_bin){
		.from_ns = v[0].i,
		.to_ns = v[1].i,
		.cnt = { .ios = (uint64_t)v[2].i, .bytes = (uint64_t)v[3].i },
	};
	return 0;
}

/* Counts the requests in each bin of [from_ns, to_ns) that has any. Ignores the report's scope. */
static int count_bins(struct analysis *a, int64_t from_ns, int64_t to_ns, uint64_t every_ns,
		      struct unowned *ret, struct err *e)
{
	const struct statement_param params[] = {
		{ ":from", value_int((uint64_t)from_ns) },
		{ ":to", value_int((uint64_t)to_ns) },
		{ ":every", value_int(every_ns > INT64_MAX ? INT64_MAX : every_ns) },
		{ .name = NULL },
	};
	const struct row_sink sink = { .ctx = ret, .row = take_bin };
	struct question machine = { .needs = LOSS_NEEDS_ALL };
	int r = question_begin(&machine, a, NULL);

	ret->bin_cnt = 0;
	ret->from_ns = from_ns;
	ret->to_ns = to_ns;
	r = r < 0 ? err_set(e, r, "out of memory")
		  : statement_run(a,
				  "SELECT t_ns, t_end_ns, sum(ios), sum(bytes) FROM"
				  " io_usage(:from, :to, :every, 'process')"
				  " WHERE owner_how = 'unknown' AND bytes > 0"
				  " GROUP BY t_ns, t_end_ns ORDER BY t_ns",
				  params, &sink, e);
	question_end(&machine, a);
	return r;
}

/* Sums up the bins inside [from_ns, to_ns). Returns false if a bin is only partly inside. */
static bool sum_bins(const struct unowned *u, int64_t from_ns, int64_t to_ns,
		     struct request_cnt *ret)
{
	if (from_ns < u->from_ns || to_ns > u->to_ns)
		return false;
	*ret = (struct request_cnt){ 0 };
	for (size_t i = 0; i < u->bin_cnt && u->bins[i].from_ns < to_ns; i++) {
		const struct unowned_bin *b = &u->bins[i];

		if (b->to_ns <= from_ns)
			continue;
		if (b->from_ns < from_ns || b->to_ns > to_ns)
			return false;
		ret->ios += b->cnt.ios;
		ret->bytes += b->cnt.bytes;
	}
	return true;
}

struct request_cnt unowned_count(struct analysis *a, int64_t from_ns, int64_t to_ns)
{
	struct request_cnt ret = { 0 };
	struct unowned one = { .bins = NULL };

	if (!trace_was_recorded(a->trace, "block") || to_ns <= from_ns)
		return ret;
	if (!sum_bins(&a->question->unowned, from_ns, to_ns, &ret)) {
		/* ignore errors: parts that cannot be read are reported by the report itself */
		if (count_bins(a, from_ns, to_ns, 0, &one, NULL) == 0)
			(void)sum_bins(&one, from_ns, to_ns, &ret);
		free(one.bins);
	}
	/* a trace that was cut to some processes has only the counts of the omitted requests */
	ret.ios += trace_get_number(a->trace, "cut.unowned_ios");
	ret.bytes += trace_get_number(a->trace, "cut.unowned_bytes");
	return ret;
}

struct request_cnt unowned_of_window(struct analysis *a, int64_t from_ns, int64_t to_ns)
{
	return a->question->unowned.of_some ? unowned_count(a, from_ns, to_ns)
					    : (struct request_cnt){ 0 };
}

struct request_cnt unowned_of_row(struct analysis *a, int64_t from_ns, int64_t to_ns,
				       bool is_known)
{
	const struct unowned *u = &a->question->unowned;

	return u->of_some || (u->by_owner && is_known)
		       ? unowned_count(a, from_ns, to_ns)
		       : (struct request_cnt){ 0 };
}

bool unowned_matters(const char *sources)
{
	return sources && words_have(sources, "block");
}

int unowned_find(struct question *q, struct analysis *a, const struct report_request *r,
		 unsigned int by, struct err *e)
{
	struct unowned *u = &q->unowned;

	if (!unowned_matters(q->needs.sources) || !trace_was_recorded(a->trace, "block"))
		return 0;
	u->of_some = scope_is_of_some(&q->scope);
	u->by_owner = by & KEYS_WHO;
	if ((!u->of_some && !u->by_owner) || r->to_ns <= r->from_ns)
		return 0;
	return count_bins(a, context_rel_clamped(a, r->from_ns), context_rel_clamped(a, r->to_ns),
			  r->every_ns, u, e);
}
