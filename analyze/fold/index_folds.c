/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * One pass over the trace for one or more folds that need the same events: of every interval, what
 * was found is added up by the folds' own keys, and stored with what their machines had to know.
 */
#include "analyze/fold/index_job.h"

#include <errno.h>

#include "analyze/fold/feed.h"
#include "analyze/fold/fold_reader.h"
#include "analyze/fold/fold_sums.h"

struct fold_share {		/* one fold of the pass */
	const struct fold_def *def;
	struct fold_target target;
	struct fold_sums sums;		/* of the interval that is being made */
};

struct fold_pass {
	struct index_job *j;
	const struct index_keeper *keeper;	/* NULL: the folds' own sums are kept */
	struct fold_reader *reader;
	struct fold_share shares[FEED_LISTENERS_MAX];
	unsigned int cnt;
	struct buf out;
};

static int find_sum(struct fold_target *t, uint64_t ts_ns, const struct fold_key *key,
		    void **ret_sum, uint64_t *ret_end_ns)
{
	struct fold_share *s =
		(struct fold_share *)((char *)t - offsetof(struct fold_share, target));

	*ret_end_ns = t->to_ns;
	*ret_sum = fold_sums_of(&s->sums, key->a, key->b);
	return *ret_sum ? 1 : -ENOMEM;
}

static int ignore(void *ctx, const void *found)
{
	return 0;
}

static int open_pass(struct fold_pass *p, const struct fold_def *const *defs, unsigned int cnt)
{
	struct index_job *j = p->j;
	const struct fold_range range = { index_job_from_ns(j), j->a->end_ns, j->x,
					  j->from ? FOLD_READER_TAIL : FOLD_READER_TRACE };
	struct fold_use uses[FEED_LISTENERS_MAX];
	int ret;

	for (; p->cnt < cnt; p->cnt++) {
		struct fold_share *s = &p->shares[p->cnt];

		s->def = defs[p->cnt];
		s->target = (struct fold_target){ .ids = &j->a->ids, .sum = find_sum };
		uses[p->cnt] = (struct fold_use){ s->def, { NULL, ignore } };
		if (p->keeper)
			uses[p->cnt].sink = p->keeper->sink;
		if (!s->def->sums)
			continue;
		fold_sums_init(&s->sums, s->def->sums);
		uses[p->cnt].sink = (struct fold_sink){ &s->target, s->def->sums->add };
	}
	ret = fold_reader_open(&p->reader, j->a, &range, uses, cnt, &j->e);
	return ret < 0 ? ret :
			 fold_reader_run(p->reader, range.from_ns, SIZE_MAX, NULL, &j->e);
}

static int save_tail(struct fold_pass *p, unsigned int n, uint64_t at_ns)
{
	const struct fold_state_def *state = p->shares[n].def->state;
	int ret;

	buf_reset(&p->out);
	ret = p->keeper ? p->keeper->put_tail(p->keeper->sink.ctx, &p->out) : 0;
	if (!ret)
		ret = state->save(fold_reader_machine(p->reader, n), at_ns, &p->out);
	return ret < 0 ? ret : index_add_tail(p->j->x, p->j->z, state->tail, &p->out);
}

static int begin_interval(struct fold_pass *p, size_t interval)
{
	uint64_t from_ns = index_interval_from(p->j->x, interval);
	unsigned int n;
	int ret = 0;

	for (n = 0; n < p->cnt && !ret; n++) {
		struct fold_share *s = &p->shares[n];

		s->target.from_ns = from_ns;
		s->target.to_ns = index_interval_to(p->j->x, interval);
		if (!s->def->state)
			continue;
		if (interval == p->j->last)
			ret = save_tail(p, n, from_ns);
		if (!ret)
			ret = s->def->state->begin_interval(fold_reader_machine(p->reader, n),
							    from_ns);
	}
	if (p->keeper && !ret)
		ret = p->keeper->begin(p->keeper->sink.ctx, interval);
	return ret;
}

static int put_sums(struct fold_pass *p, size_t interval, struct fold_share *s)
{
	size_t i;

	buf_reset(&p->out);
	for (i = 0; i < fold_sums_cnt(&s->sums); i++) {
		struct fold_row *r = fold_sums_at(&s->sums, i);

		s->def->sums->put(s->target.ids, &(struct fold_key){ r->a, r->b }, r->sum,
				  &p->out);
	}
	fold_sums_clear(&s->sums);
	return index_add(p->j->x, p->j->z, interval, s->def->sums->part, &p->out);
}

static int put_interval(struct fold_pass *p, size_t interval)
{
	unsigned int n;
	int ret = p->keeper ? p->keeper->put(p->keeper->sink.ctx, interval) : 0;

	for (n = 0; n < p->cnt && !ret; n++) {
		struct fold_share *s = &p->shares[n];

		if (s->def->sums)
			ret = put_sums(p, interval, s);
		if (ret || !s->def->state)
			continue;
		buf_reset(&p->out);
		ret = s->def->state->put_interval(fold_reader_machine(p->reader, n), &p->out);
		if (!ret)
			ret = index_add(p->j->x, p->j->z, interval, s->def->state->part, &p->out);
	}
	return ret;
}

int index_fold_job(struct index_job *j, const struct fold_def *const *defs, unsigned int cnt,
		   const struct index_keeper *keeper)
{
	struct fold_pass p = { .j = j, .keeper = keeper };
	unsigned int n;
	size_t i;
	int ret = open_pass(&p, defs, cnt);

	for (i = j->from; i < j->end && !ret; i++) {
		ret = begin_interval(&p, i);
		if (!ret)
			ret = fold_reader_run(p.reader, index_interval_to(j->x, i), SIZE_MAX, NULL,
					      &j->e);
		if (!ret)
			ret = put_interval(&p, i);
		if (!ret)
			ret = index_job_done_interval(j, i);
	}
	fold_reader_close(p.reader);
	for (n = 0; n < p.cnt; n++)
		if (p.shares[n].sums.def)
			fold_sums_done(&p.shares[n].sums);
	buf_done(&p.out);
	return ret;
}
