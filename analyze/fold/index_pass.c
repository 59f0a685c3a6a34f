/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index_pass: makes one pass over the trace for folds that need the same events. For each interval
 * it stores the sums of each fold's findings, and the state of the fold's machine at the beginning.
 */
#include "analyze/fold/index_job.h"

#include <errno.h>
#include <stddef.h>

#include "analyze/fold/fold_reader.h"
#include "analyze/fold/fold_sums.h"
#include "analyze/fold/folds.h"

/*
 * A checkpoint is stored after CHECKPOINT_EVENTS events of the job, but not before the number of
 * events is CHECKPOINT_TIMES_ROWS times the number of rows in the last checkpoint. This keeps
 * checkpoints small compared with the trace, and a cut reads few events outside its window.
 */
#define CHECKPOINT_EVENTS 400000
#define CHECKPOINT_TIMES_ROWS 16

struct fold_share {		/* one fold of the pass */
	const struct fold_def *def;
	struct fold_target target;
	struct fold_sums sums;		/* sums of the current interval */
	/* if this is the share of fold_states in a joined job: the share of fold_cpu */
	struct fold_share *ran;
};

struct fold_pass {
	struct index_job *j;
	uint64_t since_checkpoint;	/* number of events of the job's kinds */
	size_t checkpoint_rows;		/* number of rows in the last checkpoint */
	const struct index_keeper *keeper;	/* NULL: the folds' own sums are stored */
	struct fold_reader *reader;
	struct fold_share shares[FOLD_USES_MAX];
	unsigned int cnt;
	struct buf out;
};

static int find_sum(struct fold_target *t, uint64_t ts_ns, const struct fold_key *key,
		    void **ret_sum, uint64_t *ret_end_ns)
{
	struct fold_share *s =
		(struct fold_share *)((char *)t - offsetof(struct fold_share, target));

	const struct fold_renames_def *renames = s->def->sums->renames;
	struct fold_key of_name = *key;
	struct task_set tasks;

	renames->tasks(t->ids, key, &tasks);
	*ret_end_ns = t->to_ns;
	if (task_has_renames(t->ids, &tasks)) {
		uint64_t end_ns = task_names_end(t->ids, &tasks, ts_ns);

		*ret_end_ns = end_ns < t->to_ns ? end_ns : t->to_ns;
		fold_renames_set(renames, &of_name,
				 task_renames_between(t->ids, &tasks, t->from_ns, ts_ns));
	}
	*ret_sum = fold_sums_of(&s->sums, of_name.a, of_name.b);
	return *ret_sum ? 1 : -ENOMEM;
}

/* Adds a share: a fold and its sums, which receive the findings of a machine of this pass. */
static void add_share(struct fold_pass *p, const struct fold_def *def)
{
	struct fold_share *s = &p->shares[p->cnt++];

	s->def = def;
	s->target = (struct fold_target){ .ids = &p->j->a->ids, .sum = find_sum };
	if (def->sums)
		fold_sums_init(&s->sums, def->sums);
}

static int add_found_of_states(void *ctx, const void *found)
{
	struct fold_share *s =
		(struct fold_share *)((char *)ctx - offsetof(struct fold_share, target));
	const struct states_found *x = found;

	if (x->ran)
		return s->ran->def->sums->add(&s->ran->target, x->ran);
	return s->def->sums->add(ctx, found);
}

static int open_pass(struct fold_pass *p, const struct fold_def *const *defs, unsigned int cnt)
{
	struct index_job *j = p->j;
	const struct fold_range range = {
		.from_ns = index_interval_from(j->x, j->from),
		.to_ns = index_interval_to(j->x, j->end - 1), .index = j->x, .start = j->start,
	};
	struct fold_use uses[FOLD_USES_MAX];
	int ret;

	for (unsigned int n = 0; n < cnt; n++) {
		struct fold_share *s = &p->shares[n];

		add_share(p, defs[n]);
		uses[n] = (struct fold_use){ .def = s->def };
		if (s->def->resume && j->x->follow)
			uses[n].kept = &j->x->kept[j->number];
		if (p->keeper)
			uses[n].sink = p->keeper->sink;
		if (s->def->sums)
			uses[n].sink = (struct fold_sink){ &s->target, s->def->sums->add };
	}
	/* fold_states of a joined job also has the findings of fold_cpu */
	if (j->is_joined) {
		p->shares[0].ran = &p->shares[cnt];
		uses[0].sink.found = add_found_of_states;
		add_share(p, &fold_cpu);
	}
	ret = fold_reader_open(&p->reader, j->a, &range, uses, cnt, j->e);
	return ret < 0 ? ret :
			 fold_reader_run(p->reader, range.from_ns, SIZE_MAX, NULL, j->e);
}

static int save_tail(struct fold_pass *p, unsigned int n, uint64_t at_ns)
{
	const struct fold_state_def *state = p->shares[n].def->state;

	buf_reset(&p->out);
	if (p->keeper)
		p->keeper->put_tail(p->keeper->sink.ctx, &p->out);
	/* a machine with resume() is saved when the index is closed */
	if (!p->j->x->follow || !p->shares[n].def->resume)
		state->save(fold_reader_machine(p->reader, n), at_ns, &p->out);
	return index_add_tail(p->j->x, p->j->z, state->tail + p->shares[n].def->group, &p->out);
}

static int add_state(struct fold_pass *p, unsigned int n, size_t interval)
{
	const struct fold_def *def = p->shares[n].def;

	return index_add(p->j->x, p->j->z, interval, def->state->part + def->group, &p->out);
}

/* Saves the tails with which the index of a live trace continues. */
static int save_tails(struct fold_pass *p)
{
	size_t end = p->j->end;
	int ret = 0;

	if (p->j->last != end || end == index_interval_cnt(p->j->x))
		return 0;
	for (unsigned int n = 0; n < p->cnt && !ret; n++)
		if (p->shares[n].def->state)
			ret = save_tail(p, n, index_interval_from(p->j->x, end));
	for (unsigned int n = 0; n < p->cnt && !ret; n++)
		if (p->shares[n].def->resume && p->j->x->follow)
			p->j->x->kept[p->j->number] = fold_reader_take(p->reader, n);
	return ret;
}

static int begin_state(struct fold_pass *p, unsigned int n, size_t interval, uint64_t from_ns)
{
	const struct fold_state_def *state = p->shares[n].def->state;
	void *machine = fold_reader_machine(p->reader, n);
	int ret = interval == p->j->last ? save_tail(p, n, from_ns) : 0;

	if (ret < 0)
		return ret;
	if (state->begin_interval) {
		state->begin_interval(machine, from_ns);
		return 0;
	}
	buf_reset(&p->out);
	state->save(machine, from_ns, &p->out);
	return add_state(p, n, interval);
}

static int add_checkpoint(struct fold_pass *p, unsigned int n, size_t interval)
{
	uint64_t from_ns = index_interval_from(p->j->x, interval);
	struct checkpoint c = { 0 };
	int ret = p->shares[n].def->checkpoint(fold_reader_machine(p->reader, n), from_ns, &c);

	if (!ret && c.event_cnt)
		ret = checkpoint_sort(&c, 0, p->j->part >= CHECKPOINT_SLAB);
	ret = ret ?: index_add_checkpoint(p->j->x, p->j->z, p->j->part, interval, &c);
	p->since_checkpoint = 0;
	p->checkpoint_rows = c.event_cnt + c.memory_cnt;
	checkpoint_done(&c);
	return ret;
}

static bool is_checkpoint_due(const struct fold_pass *p)
{
	uint64_t asked = p->j->a->index_use.checkpoint_events;

	if (p->j->x->follow)
		return false;
	if (asked)
		return p->since_checkpoint >= asked;
	return p->since_checkpoint >= CHECKPOINT_EVENTS &&
	       p->since_checkpoint / CHECKPOINT_TIMES_ROWS >= p->checkpoint_rows;
}

static int begin_interval(struct fold_pass *p, size_t interval)
{
	uint64_t from_ns = index_interval_from(p->j->x, interval);
	int ret = 0;

	for (unsigned int n = 0; n < p->cnt && !ret; n++) {
		struct fold_share *s = &p->shares[n];

		s->target.from_ns = from_ns;
		s->target.to_ns = index_interval_to(p->j->x, interval);
		if (s->def->checkpoint && is_checkpoint_due(p))
			ret = add_checkpoint(p, n, interval);
		if (s->def->state && !ret)
			ret = begin_state(p, n, interval, from_ns);
	}
	if (p->keeper && p->keeper->begin && !ret)
		ret = p->keeper->begin(p->keeper->sink.ctx, interval);
	return ret;
}

static int put_sums(struct fold_pass *p, size_t interval, struct fold_share *s)
{
	buf_reset(&p->out);
	for (size_t i = 0; i < fold_sums_cnt(&s->sums); i++) {
		struct fold_row *r = fold_sums_at(&s->sums, i);

		s->def->sums->put_key(s->target.ids, &(struct fold_key){ r->a, r->b }, &p->out);
		fold_sum_put(s->def->sums, r->sum, &p->out);
	}
	fold_sums_clear(&s->sums);
	return index_add(p->j->x, p->j->z, interval, s->def->sums->part, &p->out);
}

static int put_interval(struct fold_pass *p, size_t interval)
{
	int ret = p->keeper ? p->keeper->put(p->keeper->sink.ctx, interval) : 0;

	for (unsigned int n = 0; n < p->cnt && !ret; n++) {
		struct fold_share *s = &p->shares[n];

		if (s->def->sums)
			ret = put_sums(p, interval, s);
		if (ret || !s->def->state || !s->def->state->put_interval)
			continue;
		buf_reset(&p->out);
		s->def->state->put_interval(fold_reader_machine(p->reader, n), &p->out);
		ret = add_state(p, n, interval);
	}
	return ret;
}

int index_job_did(struct index_job *j, size_t interval)
{
	atomic_fetch_add(&j->done_events,
			 index_events(j->x, interval, interval + 1, j->kinds));
	return atomic_load(j->stop) ? -ECANCELED : 0;
}

int index_fold_job(struct index_job *j, const struct fold_def *const *defs, unsigned int cnt,
		   const struct index_keeper *keeper)
{
	struct fold_pass p = { .j = j, .keeper = keeper };
	int ret = open_pass(&p, defs, cnt);

	for (size_t i = j->from; i < j->end && !ret; i++) {
		ret = begin_interval(&p, i);
		ret = ret ?: fold_reader_run(p.reader, index_interval_to(j->x, i), SIZE_MAX, NULL,
					     j->e);
		p.since_checkpoint += index_events(j->x, i, i + 1, j->kinds);
		ret = ret ?: put_interval(&p, i) ?: index_job_did(j, i);
	}
	ret = ret ?: save_tails(&p);
	fold_reader_close(p.reader);
	for (unsigned int n = 0; n < p.cnt; n++)
		if (p.shares[n].sums.def)
			fold_sums_done(&p.shares[n].sums);
	buf_done(&p.out);
	return ret;
}
