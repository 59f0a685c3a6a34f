/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index: makes the parts of an index when a query needs them.
 *
 * A job makes all parts that come from events of the same kinds, when a query first needs them. The
 * number of intervals for which a job has made its parts is stored as a part, too, with the job as
 * key. Jobs run on all CPUs, the longest first. All intervals of a finished trace are kept. If a
 * trace still grows, or its recorder died, the last interval is not kept, since the next block may
 * have late records of it. If damage is discovered, all parts are made again without the damaged
 * block.
 *
 * For example, a trace whose three blocks begin at 0, 1 and 2 s has three intervals. The first
 * report of CPU time makes the parts of JOB_SCHED for all three; INDEX_INFO of this job is then 3,
 * and a derived file keeps the parts for the next command. A report of 0.5 .. 2.5 s reads the
 * stored sums of interval 1, and decodes intervals 0 and 2, each from the state that is stored for
 * its beginning. The first report of memory makes the parts of its own jobs.
 */
#include "analyze/fold/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/context.h"
#include "analyze/fold/fold_memory.h"
#include "analyze/fold/fold_reader.h"
#include "analyze/fold/folds.h"
#include "analyze/fold/index_job.h"
#include "analyze/fold/index_rates.h"
#include "analyze/fold/spikes.h"
#include "base/workers.h"
#include "format/zpack.h"
#include "trace/derived_file.h"

#define SMALL_EVENTS 2000000	/* decoding fewer events takes no noticeable time */
#define SAVE_EVENTS 2000000	/* after this many new events a file is written again */
#define INDEX_TRIES 8

/* The jobs below also make the parts of JOB_RATES. */
#define RATES_JOBS                                                                                 \
	(1u << (JOB_MEMORY + INDEX_SLAB) | 1u << (JOB_MEMORY + INDEX_PAGE) |                       \
	 1u << (JOB_MEMORY + INDEX_HEAP))

static const struct fold_def *const folds[JOB_CNT] = {
	[JOB_SCHED] = &fold_cpu,
	[JOB_REQUESTS] = &fold_requests,
	[JOB_IRQ] = &fold_irq,
	[JOB_STATES] = &fold_states,
	[JOB_RATES] = &fold_rates,
	[JOB_CARRIED + CHECKPOINT_SCHED] = &fold_carried[CHECKPOINT_SCHED],
	[JOB_CARRIED + CHECKPOINT_REQUESTS] = &fold_carried[CHECKPOINT_REQUESTS],
	[JOB_CARRIED + CHECKPOINT_IRQ] = &fold_carried[CHECKPOINT_IRQ],
};
/*
 * While a trace is followed, JOB_STATES also makes the parts of JOB_SCHED and JOB_REQUESTS, so that
 * each event is decoded once. On many CPUs, separate jobs are faster.
 */
static const struct fold_def *const folds_of_followed[] = { &fold_states, &fold_requests };
#define JOIN_STATES (1u << JOB_SCHED | 1u << JOB_REQUESTS)
_Static_assert((int)JOB_MEMORY == (int)CHECKPOINT_SLAB,
	       "the number of a job of memory is that of its part of a checkpoint");

static const struct fold_def *fold_of(unsigned int job)
{
	return folds[job] ? folds[job] : fold_memory((enum index_group)(job - JOB_MEMORY));
}

static uint32_t job_kinds(unsigned int job)
{
	return fold_of(job)->kinds;
}

static uint32_t job_asks(unsigned int job)
{
	return fold_of(job)->asks ? fold_of(job)->asks : job_kinds(job);
}

/* ---- the whole ---- */

void index_free(struct index *x)
{
	if (!x)
		return;
	if (x->follow && x->d)
		index_follow_close(x);
	index_free(x->before);
	derived_file_close(x->d);
	free(x->from_ns);
	free(x);
}

/* Reads the number of intervals with parts of each job from the file. */
static void find_made(struct index *x)
{
	struct buf mem = { 0 };
	struct packed_in in;

	for (unsigned int job = 0; job < JOB_CNT; job++) {
		uint64_t cnt;

		x->made_cnt[job] = x->begin;
		if (index_read_part(x, DERIVED_INDEX_INFO, job, &mem, &in) < 0 || in.p == in.end)
			continue;
		cnt = packed_get(&in) - x->key_base;
		if (cnt > x->end || in.bad)
			continue;
		x->made_cnt[job] = cnt;
		x->has_tail |= 1u << job;
	}
	buf_done(&mem);
}

/* Returns the jobs that must make parts for queries about these kinds, and the first interval. */
static uint32_t missing_jobs(const struct index *x, uint32_t kinds, size_t *ret_from)
{
	uint32_t jobs = 0, missing = 0;

	for (unsigned int i = 0; i < JOB_CNT; i++) {
		/* a trace is not cut with an index that follows it */
		if (x->made_cnt[i] == x->end || (x->follow && i >= JOB_CARRIED))
			continue;
		missing |= 1u << i;
		jobs |= job_asks(i) & kinds ? 1u << i : 0;
	}
	if (x->follow && jobs & JOIN_STATES)
		jobs = (jobs & ~JOIN_STATES) |
		       (x->made_cnt[JOB_STATES] == x->end ? 0 : 1u << JOB_STATES);
	if (!(RATES_JOBS & missing & ~jobs))
		jobs &= ~(1u << JOB_RATES);
	*ret_from = x->end;
	for (unsigned int i = 0; i < JOB_CNT; i++)
		if (jobs & 1u << i && x->made_cnt[i] < *ret_from)
			*ret_from = x->made_cnt[i];
	return jobs;
}

int index_open(struct index **ret, struct analysis *a, bool save, struct err *e)
{
	struct index *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return err_set(e, -ENOMEM, "out of memory");
	x->a = a;
	x->follow = a->index_use.follow;
	r = index_place(x);
	if (!r)
		r = x->follow ? index_follow_open(x) :
				derived_file_open(&x->d, a->trace, save ? DERIVED_SAVE : 0);
	if (r < 0) {
		index_free(x);
		return r;
	}
	find_made(x);
	*ret = x;
	return 0;
}

/* Drops all parts: no interval has any. */
static void forget_all(struct index *x)
{
	memset(x->made_cnt, 0, sizeof(x->made_cnt));
	x->has_tail = 0;
	derived_file_drop(x->d, DERIVED_FIRST_OF_INDEX, DERIVED_TYPE_CNT);
}

static bool has_info(const struct index *x)
{
	const struct derived_part *parts;
	size_t cnt;

	return derived_file_parts(x->d, DERIVED_INDEX_INFO, &parts, &cnt) == 0 && cnt;
}

/* Starts adding parts: to a new derived file if save, else in memory. */
static int begin_file(struct index *x, bool save)
{
	bool had_info = has_info(x);
	int r = derived_file_begin(x->d, save);

	if (x->follow)
		return r;
	/* the old file could not be copied */
	if (!r && had_info && !has_info(x)) {
		x->damaged = x->in_use;
		forget_all(x);
	}
	if (!index_read_cnt(x))
		forget_all(x);
	return r ? r : x->damaged ? -EBADMSG : 0;
}

/*
 * Installs the new file. The jobs' parts cover the first cnt intervals; tails are after the last.
 */
static int save_file(struct index *x, uint32_t jobs, size_t cnt)
{
	struct buf info = { 0 };
	int r = 0;

	/* the other parts describe a trace without damage */
	if (x->damage_cnt)
		derived_file_drop(x->d, 0, DERIVED_FIRST_OF_INDEX);
	packed_put(&info, cnt);
	for (unsigned int job = 0; job < JOB_CNT && !r; job++)
		if (jobs & 1u << job)
			r = derived_file_add(x->d, NULL, DERIVED_INDEX_INFO, job, 0, &info);
	buf_done(&info);
	return r < 0 ? r : derived_file_commit(x->d, x->a->trace, cnt);
}

/* ---- jobs ---- */

struct build {
	struct index_job jobs[JOB_CNT];
	unsigned int order[JOB_CNT];	/* of the jobs to run; most work first */
	const struct analysis_index_use *use;
	uint64_t total;			/* events to read */
	struct workers workers;
};

static int run_job(void *ctx, unsigned int piece, struct err *e)
{
	struct build *b = ctx;
	unsigned int i = b->order[piece];
	struct index_job *j = &b->jobs[i];
	int ret = zpack_new(&j->z, 0);

	if (ret < 0)
		return ret;
	j->e = e;
	if (!folds[i])
		ret = index_memory_job(j, (enum index_group)(i - JOB_MEMORY));
	else if (i == JOB_RATES)
		ret = index_rates_job(j);
	else if (j->x->follow && i == JOB_STATES)
		ret = index_fold_job(j, folds_of_followed, 2, NULL);
	else
		ret = index_fold_job(j, &folds[i], 1, NULL);
	zpack_free(j->z);
	return ret;
}

static void tell_progress(void *ctx)
{
	struct build *b = ctx;
	uint64_t done = 0;

	for (unsigned int i = 0; i < JOB_CNT; i++)
		done += atomic_load(&b->jobs[i].done_events);
	if (b->use->progress && done < b->total)
		b->use->progress(b->use->ctx, done, b->total);
}

static void make_jobs(struct build *b, struct index *x, uint32_t jobs, size_t last)
{
	uint64_t work_of[JOB_CNT];
	unsigned int i, k;

	for (i = 0; i < JOB_CNT; i++) {
		if (!(jobs & 1u << i))
			continue;
		b->jobs[i] = (struct index_job){ .a = x->a, .x = x, .number = i,
						 .part = i < JOB_CARRIED ? i : i - JOB_CARRIED,
						 .from = x->made_cnt[i], .end = x->end,
						 .start = x->has_tail & 1u << i ? FOLD_READER_TAIL :
							  x->made_cnt[i] ? FOLD_READER_NEW :
									   FOLD_READER_TRACE,
						 .last = last > x->made_cnt[i] ? last :
										 x->made_cnt[i],
						 .kinds = job_kinds(i),
						 .stop = &b->workers.stop };
		work_of[i] = index_events(x, x->made_cnt[i], x->end, job_kinds(i));
		b->total += work_of[i];
		for (k = b->workers.cnt++; k && work_of[b->order[k - 1]] < work_of[i]; k--)
			b->order[k] = b->order[k - 1];
		b->order[k] = i;
	}
}

/* Makes the parts that the jobs have not made yet; tails are those after interval "last" - 1. */
static int build(struct index *x, uint32_t jobs, size_t last, const struct analysis_index_use *use,
		 struct err *e)
{
	struct build b = { .use = use };
	int ret;

	/* during a recording one CPU is enough, and one block at a time takes less memory */
	b.workers = (struct workers){ .thread_max = x->follow ? 0 : WORKERS_MAX, .run = run_job,
				      .tick = tell_progress, .ctx = &b };
	make_jobs(&b, x, jobs, last);
	ret = workers_run(&b.workers, e);
	/* also reports the end of work that failed */
	if (use->progress)
		use->progress(use->ctx, b.total, b.total);
	return ret;
}

/* Adds the sums for spikes, which need the whole trace, even for a short window. */
static int add_spikes(struct index *x, uint32_t jobs)
{
	struct zpack *z;
	int ret = zpack_new(&z, 0);

	if (ret < 0)
		return ret;
	for (unsigned int g = 0; g < INDEX_GROUP_CNT && !ret; g++) {
		uint32_t job = 1u << (JOB_MEMORY + g);

		if (job & RATES_JOBS && x->made_cnt[JOB_RATES] == x->end)
			continue;
		if (jobs & job || (jobs & 1u << JOB_RATES && job & RATES_JOBS))
			ret = spikes_save(x, z, x->a, (enum index_group)g);
	}
	zpack_free(z);
	return ret;
}

/* -EBADMSG: damage was discovered in the trace. */
static int make_parts(struct index *x, uint32_t jobs, size_t from, bool save,
		      const struct analysis_index_use *use, struct err *e)
{
	size_t last = x->follow || trace_is_finished(x->a->trace) ? x->end : x->end - 1, i;
	int r = trace_mm_resets_prepare(x->a->trace);	/* threads share them */

	r = r ?: task_names_prepare(&x->a->ids);
	r = r ?: begin_file(x, save);
	/* verify all columns, since the jobs read only some columns of some kinds */
	for (i = from; i < x->end && !r; i++)
		if (trace_block_verify(x->a->trace, i, NULL) == -ENOMEM)
			r = -ENOMEM;
	if (!index_read_cnt(x))
		trace_damages(x->a->trace, &x->damage_cnt);
	if (!r && index_is_true(x))
		r = build(x, jobs, last, use, e);
	if (!r && !index_is_true(x))
		r = -EBADMSG;
	if (!r && last == x->interval_cnt && !x->follow)
		r = add_spikes(x, jobs);
	/* an index that cannot be saved is still used */
	if (!r && save && last)
		(void)save_file(x, jobs, last);
	for (unsigned int job = 0; job < JOB_CNT && !r; job++)
		if (jobs & 1u << job) {
			x->made_cnt[job] = x->end;
			x->has_tail |= 1u << job;
		}
	return r;
}

int index_need(struct index *x, uint32_t kinds, const struct analysis_index_use *use,
	       struct err *e)
{
	size_t from;
	uint32_t jobs = missing_jobs(x, kinds, &from);
	uint64_t fresh = index_events(x, from, x->end, UINT32_MAX);
	int r = 0;

	if (!x->end || x->failed || (!from && !use->always && fresh < SMALL_EVENTS))
		return 0;
	if (jobs)
		r = make_parts(x, jobs, from, use->save && (use->always || fresh >= SAVE_EVENTS),
			       use, e);
	x->failed = r < 0;
	x->in_use = !r;
	return r < 0 ? r : 1;
}

/* ---- the index of an analysis ---- */

int index_open_if_used(struct analysis *a, struct index **ret, struct err *e)
{
	struct index *x = NULL;
	int r;

	*ret = a->index && index_is_true(a->index) ? a->index : NULL;
	if (*ret || !a->index_use.use || a->index_tries >= INDEX_TRIES)
		return 0;
	a->index_tries++;
	r = index_open(&x, a, a->index_use.save, e);
	if (r < 0 || !x)
		return r;
	x->before = a->index;
	*ret = a->index = x;
	return 0;
}

int analysis_index_of(struct analysis *a, uint32_t kinds, const struct index **ret, struct err *e)
{
	struct index *x;
	size_t from;
	int r;

	do {
		*ret = NULL;
		r = index_open_if_used(a, &x, e);
		if (r < 0 || !x || (!(kinds & ~a->direct_kinds) && missing_jobs(x, kinds, &from)))
			return r;
		r = index_need(x, kinds, &a->index_use, e);
		if (r > 0)
			*ret = x;
	} while (r == -EBADMSG);
	/* if an index cannot be made, go on without it */
	return r == -ENOMEM ? r : 0;
}

bool analysis_index_failed(const struct analysis *a)
{
	return a->index && !index_is_true(a->index);
}
