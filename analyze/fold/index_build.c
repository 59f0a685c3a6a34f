/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Runs the jobs on the CPUs there are, longest first, and decides what is kept: all intervals of a
 * finished trace; of one that still grows, or whose recorder died, all but the last, into which the
 * next block's late records may still fall. Damage found on the way changes what was there: then
 * all is made again without the damaged block.
 */
#include "analyze/fold/index.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/engine/context.h"
#include "analyze/fold/fold_irq.h"
#include "analyze/fold/fold_memory.h"
#include "analyze/fold/fold_requests.h"
#include "analyze/fold/index_job.h"
#include "analyze/fold/index_state.h"
#include "analyze/fold/spike_rates.h"
#include "format/zpack.h"

#define SMALL_EVENTS 2000000	/* decoded in less time than anybody waits for */
#define SAVE_EVENTS 2000000	/* a file is written anew when so many more are in it */
#define PROGRESS_NS 100000000
#define THREADS_MAX 8
#define ROUNDS_MAX 8

enum { JOB_SCHED, JOB_REQUESTS, JOB_IRQ, JOB_MEMORY, JOB_CNT = JOB_MEMORY + INDEX_GROUP_CNT };

struct build {
	struct index_job jobs[JOB_CNT];
	unsigned int order[JOB_CNT];	/* most work first */
	unsigned int next, running;	/* under lock */
	int failed;			/* the first error; under lock */
	struct err e;
	_Atomic bool stop;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

static uint64_t interval_events(const struct analysis *a, size_t interval, uint32_t kinds)
{
	size_t cnt;
	const struct trace_block *b = trace_blocks(a->trace, &cnt) + interval;
	uint64_t events = 0;
	unsigned int k;

	for (k = 0; k < EVENT_KIND_CNT; k++)
		if (kinds & 1u << k)
			events += b->kind_cnt[k];
	return events;
}

static uint64_t range_events(const struct analysis *a, size_t from, size_t to, uint32_t kinds)
{
	uint64_t events = 0;

	for (; from < to; from++)
		events += interval_events(a, from, kinds);
	return events;
}

int index_job_done_interval(struct index_job *j, size_t interval)
{
	atomic_fetch_add(&j->done_events, interval_events(j->a, interval, j->kinds));
	return atomic_load(j->stop) ? -ECANCELED : 0;
}

static const struct fold_def *const folds[JOB_MEMORY][2] = {
	[JOB_SCHED] = { &fold_cpu, &fold_waits },
	[JOB_REQUESTS] = { &fold_requests },
	[JOB_IRQ] = { &fold_irq },
};

static uint32_t job_kinds(unsigned int job)
{
	if (job >= JOB_MEMORY)
		return fold_memory((enum index_group)(job - JOB_MEMORY))->kinds;
	return folds[job][0]->kinds | (folds[job][1] ? folds[job][1]->kinds : 0);
}

static int run_job(struct build *b, unsigned int i)
{
	struct index_job *j = &b->jobs[i];
	int ret = zpack_new(&j->z, 0);

	if (ret < 0)
		return ret;
	if (i >= JOB_MEMORY)
		ret = index_memory_job(j, (enum index_group)(i - JOB_MEMORY));
	else
		ret = index_fold_job(j, folds[i], folds[i][1] ? 2 : 1, NULL);
	zpack_free(j->z);
	return ret;
}

static void *work(void *arg)
{
	struct build *b = arg;
	unsigned int i;
	int ret;

	pthread_mutex_lock(&b->lock);
	while (b->next < JOB_CNT && !b->failed) {
		i = b->order[b->next++];
		pthread_mutex_unlock(&b->lock);
		ret = run_job(b, i);
		pthread_mutex_lock(&b->lock);
		if (ret < 0 && !b->failed) {
			b->failed = ret;
			b->e = b->jobs[i].e;
			atomic_store(&b->stop, true);
		}
	}
	b->running--;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

/* Tells of progress until all threads are done. */
static void wait_for_all(struct build *b, const struct analysis_index_use *use, uint64_t total)
{
	struct timespec until;
	unsigned int i;

	pthread_mutex_lock(&b->lock);
	while (b->running) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += PROGRESS_NS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&b->changed, &b->lock, &until);
		if (use->progress) {
			uint64_t done = 0;

			for (i = 0; i < JOB_CNT; i++)
				done += atomic_load(&b->jobs[i].done_events);
			pthread_mutex_unlock(&b->lock);
			use->progress(use->ctx, done, total);
			pthread_mutex_lock(&b->lock);
		}
	}
	pthread_mutex_unlock(&b->lock);
}

static void make_jobs(struct build *b, struct index *x, size_t from, size_t last)
{
	uint64_t work_of[JOB_CNT];
	unsigned int i, k;

	for (i = 0; i < JOB_CNT; i++) {
		b->jobs[i] = (struct index_job){ .a = x->a, .x = x, .from = from,
						 .end = x->interval_cnt, .last = last,
						 .kinds = job_kinds(i), .stop = &b->stop };
		work_of[i] = range_events(x->a, from, x->interval_cnt, job_kinds(i));
		for (k = i; k && work_of[b->order[k - 1]] < work_of[i]; k--)
			b->order[k] = b->order[k - 1];
		b->order[k] = i;
	}
}

int index_build(struct index *x, size_t from, size_t last, const struct analysis_index_use *use,
		struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[THREADS_MAX];
	unsigned int cnt = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (unsigned int)cpus;
	struct build b = { .lock = PTHREAD_MUTEX_INITIALIZER,
			   .changed = PTHREAD_COND_INITIALIZER };
	uint64_t total = range_events(x->a, from, x->interval_cnt, UINT32_MAX);
	unsigned int i;

	make_jobs(&b, x, from, last);
	b.running = cnt;
	for (i = 0; i < cnt; i++)
		if (pthread_create(&threads[i], NULL, work, &b))
			break;
	if (i < cnt) {
		pthread_mutex_lock(&b.lock);
		b.running -= cnt - i;
		pthread_mutex_unlock(&b.lock);
		cnt = i;
		if (!cnt) {
			b.running = 1;
			work(&b);
		}
	}
	wait_for_all(&b, use, total);
	for (i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
	return b.failed ? err_set(e, b.failed, "%s", err_text(&b.e, b.failed)) : 0;
}

/* What spikes needs of the whole trace, however short the window it is asked about. */
static int add_spikes(struct index *x)
{
	struct zpack *z;
	unsigned int g;
	int ret = zpack_new(&z, 0);

	if (ret < 0)
		return ret;
	for (g = 0; g < INDEX_GROUP_CNT && !ret; g++)
		ret = spike_rates_save(x, z, x->a, (enum index_group)g);
	zpack_free(z);
	return ret;
}

/* Until no damage comes to light any more. */
static int build_until_true(struct index *x, size_t last, const struct analysis_index_use *use,
			    struct err *e)
{
	unsigned int round;
	size_t i;
	int ret;

	for (round = 0; round < ROUNDS_MAX; round++) {
		/* what is read below is some columns of some kinds */
		for (i = x->saved_cnt; i < x->interval_cnt; i++)
			if (trace_block_verify(x->a->trace, i, NULL) == -ENOMEM)
				return -ENOMEM;
		trace_damages(x->a->trace, &x->damage_cnt);
		ret = index_build(x, x->saved_cnt, last, use, e);
		if (ret < 0 || index_is_true(x))
			return ret;
		trace_damages(x->a->trace, &x->damage_cnt);
		index_forget_saved(x);
	}
	return -EBADMSG;
}

int index_open(struct index **ret, struct analysis *a, const struct analysis_index_use *use,
	       struct err *e)
{
	struct index *x;
	uint64_t fresh;
	size_t last;
	int r = index_new(&x, a, use->save);

	*ret = NULL;
	if (r < 0)
		return err_set(e, r, "out of memory");
	if (!x->interval_cnt)
		goto none;
	fresh = range_events(a, x->saved_cnt, x->interval_cnt, UINT32_MAX);
	if (!x->saved_cnt && !use->always && fresh < SMALL_EVENTS)
		goto none;
	if (x->saved_cnt < x->interval_cnt) {
		bool save = use->save && (use->always || fresh >= SAVE_EVENTS);

		last = trace_is_finished(a->trace) ? x->interval_cnt : x->interval_cnt - 1;
		if (last < x->saved_cnt)
			last = x->saved_cnt;
		r = trace_mm_resets_prepare(a->trace);	/* threads share them */
		if (!r)
			r = index_begin(x, save);
		if (!r)
			r = build_until_true(x, last, use, e);
		if (!r && last == x->interval_cnt)
			r = add_spikes(x);
		/* who cannot keep it has it all the same */
		if (!r && save && last)
			(void)index_save(x, last);
		if (r < 0)
			goto none;
	}
	*ret = x;
	return 0;
none:
	index_free(x);
	return r;
}
