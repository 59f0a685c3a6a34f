/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * index: makes the parts of an index when a query needs them.
 *
 * A job makes all parts that come from events of the same kinds, when a query first needs one of
 * them. The number of intervals that a job has completed is stored as a part, too, with the job as
 * key. Jobs run on all CPUs, the longest first. For a finished trace all intervals are kept. If a
 * trace still grows, or its recorder died, the last interval is not kept, because the next block
 * may contain late records of that interval. If damage is discovered, all parts are made again
 * without the damaged block.
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
#include "analyze/fold/fold.h"
#include "analyze/fold/fold_memory.h"
#include "analyze/fold/fold_reader.h"
#include "analyze/fold/folds.h"
#include "analyze/fold/index_job.h"
#include "analyze/fold/index_memory.h"
#include "analyze/fold/spikes.h"
#include "base/array.h"
#include "base/workers.h"
#include "format/zpack.h"
#include "trace/derived_file.h"

/*
 * index_follow: an index in memory that continues as a live trace grows. It keeps the tails of its
 * jobs, machines that continue in place, and the parts of the last intervals. A query for the
 * newest interval may need earlier ones: some machines begin at an earlier clean keyframe, and a
 * burst may have begun earlier.
 *
 * The recorder of a flight trace removes its oldest blocks. The trace must then be opened again,
 * with new numbers of intervals, threads and processes, so machines that continue in place are
 * saved as tails, too. Parts keep their keys: key_base is added to an interval's number.
 */

#define BEGIN_NS 60000000000ull	/* time to read before the first window */
#define BEGIN_EVENTS 2000000	/* approximate limit of events read before the first window */
#define KEEP_NS 2000000000ull	/* time for which parts are kept */
#define DROP_INTERVALS 4	/* old parts are dropped after this many new intervals */

struct analysis_follow {
	struct derived_file *d;	/* NULL: nothing was kept */
	uint64_t at_ns, at_key;	/* the next interval: its beginning, and the key of its parts */
	uint64_t start_ns;	/* start of the trace, from which granules of rates are counted */
};

int analysis_follow_new(struct analysis_follow **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void analysis_follow_free(struct analysis_follow *f)
{
	if (f)
		derived_file_close(f->d);
	free(f);
}

/* ---- opening ---- */

static size_t first_interval(const struct index *x)
{
	uint64_t from_ns = x->a->index_use.follow_from_ns, events;
	size_t end = index_interval_at(x, from_ns), i;

	i = index_interval_at(x, from_ns > BEGIN_NS ? from_ns - BEGIN_NS : 0);
	events = index_events(x, i, end, UINT32_MAX);
	for (; i < end && events > BEGIN_EVENTS; i++)
		events -= index_events(x, i, i + 1, UINT32_MAX);
	while (i && !x->a->block_is_clean[i])
		i--;
	return i;
}

/* Excludes the last block of a live trace, which may still get late records. */
static void leave_out_last(struct index *x)
{
	if (x->end && trace_is_live(x->a->trace))
		x->end--;
}

static uint32_t utid_at(const struct index *x, size_t cnt)
{
	return cnt ? trace_thread_at(x->a->trace, cnt - 1)->utid : 0;
}

static uint32_t upid_at(const struct index *x, size_t cnt)
{
	return cnt ? trace_process_at(x->a->trace, cnt - 1)->upid : 0;
}

/* Stores counts and last ids of threads and processes, to detect renumbering. */
static void note_ids(struct index *x)
{
	x->thread_cnt = trace_thread_cnt(x->a->trace);
	x->process_cnt = trace_process_cnt(x->a->trace);
	x->last_utid = utid_at(x, x->thread_cnt);
	x->last_upid = upid_at(x, x->process_cnt);
}

/* Continues from the state that the previous analysis kept, if any. 0 or -ENOMEM. */
static int index_follow_open(struct index *x)
{
	struct analysis_follow *f = x->follow;
	size_t i = lower_bound_plain(x->from_ns, x->interval_cnt, f->at_ns);

	leave_out_last(x);
	note_ids(x);
	if (!f->d || i > x->end || i == x->interval_cnt || x->from_ns[i] != f->at_ns) {
		derived_file_close(f->d);
		f->d = NULL;
		x->begin = first_interval(x);
		return derived_file_open(&x->d, x->a->trace, DERIVED_APART);
	}
	x->d = f->d;
	f->d = NULL;
	x->begin = i;
	x->key_base = f->at_key - i;
	if (f->start_ns != x->a->start_ns)
		derived_file_drop(x->d, DERIVED_INDEX + INDEX_RATES,
				  DERIVED_INDEX + INDEX_RATES + INDEX_GROUP_CNT);
	return 0;
}

/* ---- continuing ---- */

/* Returns the first interval whose parts are kept. */
static size_t first_kept(const struct index *x)
{
	size_t i = x->end;

	while (i && (!x->a->block_is_clean[i] || x->from_ns[x->end] - x->from_ns[i] < KEEP_NS))
		i--;
	return i;
}

/* Copies the parts of a type whose key is at least `key`. */
static int keep_type(const struct index *x, struct derived_file *to, unsigned int type,
		     uint64_t key, struct buf *mem)
{
	const struct derived_part *v;
	const uint8_t *raw;
	size_t cnt, i;
	int r = derived_file_parts(x->d, type, &v, &cnt);

	for (i = lower_bound(v, cnt, key, key); i < cnt && !r; i++) {
		r = derived_file_read(x->d, &v[i], mem, &raw);
		if (!r)
			r = derived_file_add(to, NULL, type, v[i].key, 0,
					     &(struct buf){ .data = (uint8_t *)raw,
							    .len = v[i].raw_bytes });
	}
	return r;
}

/*
 * Returns the key of the first part of a type that intervals from `key` on need. Levels need the
 * last INDEX_BASE at or before `key`, and the INDEX_SUMS since then.
 */
static uint64_t first_key(const struct index *x, unsigned int type, uint64_t key)
{
	unsigned int base = type >= INDEX_BASE ? INDEX_BASE : INDEX_SUMS;
	const struct derived_part *v;
	size_t cnt, i;

	if (type < base || type >= base + INDEX_GROUP_CNT ||
	    derived_file_parts(x->d, DERIVED_INDEX + INDEX_BASE + type - base, &v, &cnt))
		return key;
	i = lower_bound(v, cnt, key, key + 1);
	return i ? v[i - 1].key : key;
}

/* Copies to another file the parts of the interval `from` and of later ones, and all tails. */
static int keep_parts(const struct index *x, size_t from, struct derived_file *to)
{
	uint64_t key = from + x->key_base;
	struct buf mem = { 0 }, info = { 0 };
	int r = derived_file_begin(to, false);

	for (unsigned int i = 0; i < INDEX_PART_CNT && !r; i++)
		r = keep_type(x, to, DERIVED_INDEX + i, first_key(x, i, key), &mem);
	for (unsigned int i = 0; i < INDEX_TAIL_CNT && !r; i++)
		r = keep_type(x, to, DERIVED_INDEX_TAIL + i, 0, &mem);
	for (unsigned int i = 0; i < JOB_CNT && !r; i++) {
		if (!(x->has_tail & 1u << i))
			continue;
		buf_reset(&info);
		packed_put(&info, x->made_cnt[i] + x->key_base);
		r = derived_file_add(to, NULL, DERIVED_INDEX_INFO, i, 0, &info);
	}
	buf_done(&mem);
	buf_done(&info);
	return r;
}

static int drop_old_parts(struct index *x)
{
	struct derived_file *to;
	int r = derived_file_open(&to, x->a->trace, DERIVED_APART);

	r = r ?: keep_parts(x, first_kept(x), to);
	if (r < 0) {
		derived_file_close(to);
		return r;
	}
	derived_file_close(x->d);
	x->d = to;
	x->begin = x->end;
	return 0;
}

bool index_follow_on(struct index *x)
{
	size_t before = x->end;

	if (!index_is_true(x) || x->failed || x->end >= x->interval_cnt)
		return false;
	if (before >= x->begin + DROP_INTERVALS && drop_old_parts(x) < 0)
		return false;
	if (index_place(x) < 0 || utid_at(x, x->thread_cnt) != x->last_utid ||
	    upid_at(x, x->process_cnt) != x->last_upid)
		return false;
	leave_out_last(x);
	note_ids(x);
	for (unsigned int i = 0; i < JOB_CNT; i++)
		if (!(x->has_tail & 1u << i))
			x->made_cnt[i] = before;
	return true;
}

/* ---- closing ---- */

/* Appends a machine's state to its tail, of which the job has written the first part. */
static int save_kept(struct index *x, unsigned int job)
{
	struct fold_machine *m = x->kept[job];
	const struct fold_state_def *state = m->def->state;
	unsigned int tail = state->tail + m->def->group;
	struct buf mem = { 0 }, out = { 0 };
	struct packed_in in;
	int r = index_read_tail(x, tail, &mem, &in);

	if (!r) {
		buf_add(&out, in.p, (size_t)(in.end - in.p));
		state->save(m, x->from_ns[x->end], &out);
		r = index_add_tail(x, NULL, tail, &out);
	}
	buf_done(&mem);
	buf_done(&out);
	return r;
}

static void keep(struct index *x)
{
	struct analysis_follow *f = x->follow;
	struct derived_file *to;
	int r = 0;

	/* the trace may have been refreshed without a query */
	x->end = index_read_cnt(x);
	for (unsigned int i = 0; i < JOB_CNT; i++)
		if (x->made_cnt[i] != x->end)
			x->has_tail &= ~(1u << i);
	/*
	 * keep nothing at the end of a recording, which no interval follows, or after an empty
	 * interval, which is rare
	 */
	if (!index_is_true(x) || x->failed || !x->end || x->end == x->interval_cnt ||
	    x->from_ns[x->end - 1] == x->from_ns[x->end] ||
	    derived_file_open(&to, x->a->trace, DERIVED_APART) < 0)
		return;
	for (unsigned int i = 0; i < JOB_CNT && !r; i++)
		r = x->kept[i] && x->has_tail & 1u << i ? save_kept(x, i) : 0;
	if (r < 0 || keep_parts(x, first_kept(x), to) < 0) {
		derived_file_close(to);
		return;
	}
	f->d = to;
	f->at_ns = x->from_ns[x->end];
	f->at_key = x->end + x->key_base;
	f->start_ns = x->a->start_ns;
}

/* Keeps the state for the next analysis. */
static void index_follow_close(struct index *x)
{
	keep(x);
	for (unsigned int i = 0; i < JOB_CNT; i++)
		fold_machine_free(x->kept[i]);
}

#define SMALL_EVENTS 2000000	/* up to this many events are decoded in no noticeable time */
#define SAVE_EVENTS 2000000	/* number of new events after which the file is written again */
#define INDEX_TRIES 8

/* The jobs that also make the parts of JOB_RATES. */
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
 * If there are few CPUs or the trace is followed, JOB_STATES also makes the parts of JOB_SCHED and,
 * if the trace is followed, those of JOB_REQUESTS, so that each event is decoded only once. On many
 * CPUs, separate jobs are faster.
 */
static const struct fold_def *const joined_folds[] = { &fold_states, &fold_requests };
#define JOINED_CPUS 3	/* largest number of CPUs for which jobs are joined */
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

/* ---- the whole index ---- */

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

/* Reads from the file how many intervals each job has completed. */
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

/*
 * Returns the jobs that must make parts for queries about some kinds. *ret_from: the first interval
 * for which one of these jobs has not made parts.
 */
static uint32_t missing_jobs(const struct index *x, uint32_t kinds, size_t *ret_from)
{
	uint32_t jobs = 0, missing = 0;

	for (unsigned int i = 0; i < JOB_CNT; i++) {
		/* a followed trace is not cut, so it needs no checkpoints */
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

/* Drops all parts of all intervals. */
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

/* Starts adding parts: to a new derived file if save is set, else in memory. */
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
 * Installs the new file. The jobs' parts cover the first cnt intervals; the tails are the states
 * after these intervals.
 */
static int save_file(struct index *x, uint32_t jobs, size_t cnt)
{
	struct buf info = { 0 };
	int r = 0;

	/* the other parts were made before the damage was found */
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
	unsigned int order[JOB_CNT];	/* jobs to run, most work first */
	const struct analysis_index_use *use;
	uint64_t total;			/* number of events to read */
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
	else if (j->is_joined)
		ret = index_fold_job(j, joined_folds, j->x->follow ? 2 : 1, NULL);
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

/* Returns whether JOB_STATES is to make the parts of JOB_SCHED, too. */
static bool joins(const struct index *x, uint32_t jobs)
{
	return x->follow || (jobs & 1u << JOB_STATES && jobs & 1u << JOB_SCHED &&
			     x->made_cnt[JOB_SCHED] == x->made_cnt[JOB_STATES] &&
			     workers_cpu_cnt() <= JOINED_CPUS);
}

static void make_jobs(struct build *b, struct index *x, uint32_t jobs, size_t last)
{
	uint64_t work_of[JOB_CNT];
	bool is_joined = joins(x, jobs);
	unsigned int i, k;

	if (is_joined)
		jobs &= ~(1u << JOB_SCHED);
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
						 .is_joined = is_joined && i == JOB_STATES,
						 .kinds = job_kinds(i),
						 .stop = &b->workers.stop };
		work_of[i] = index_events(x, x->made_cnt[i], x->end, job_kinds(i));
		b->total += work_of[i];
		for (k = b->workers.cnt++; k && work_of[b->order[k - 1]] < work_of[i]; k--)
			b->order[k] = b->order[k - 1];
		b->order[k] = i;
	}
}

/*
 * Makes the missing parts of the jobs. The tails are the states at the beginning of interval
 * `last`.
 */
static int build(struct index *x, uint32_t jobs, size_t last, const struct analysis_index_use *use,
		 struct err *e)
{
	struct build b = { .use = use };
	int ret;

	/* during a recording use one thread, to save CPU time and memory */
	b.workers = (struct workers){ .thread_max = x->follow ? 0 : WORKERS_MAX, .run = run_job,
				      .tick = tell_progress, .ctx = &b };
	make_jobs(&b, x, jobs, last);
	ret = workers_run(&b.workers, e);
	/* end the progress display even if the work failed */
	if (use->progress)
		use->progress(use->ctx, b.total, b.total);
	return ret;
}

/* Adds sums over the whole trace for spikes, even if the query's window is short. */
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

/* Makes the missing parts of the jobs. -EBADMSG: damage was discovered in the trace. */
static int make_parts(struct index *x, uint32_t jobs, size_t from, bool save,
		      const struct analysis_index_use *use, struct err *e)
{
	size_t last = x->follow || trace_is_finished(x->a->trace) ? x->end : x->end - 1, i;
	/* prepare resets now, because the threads share them */
	int r = trace_mm_resets_prepare(x->a->trace);

	r = r ?: task_names_prepare(&x->a->ids);
	r = r ?: begin_file(x, save);
	/* verify all columns, because the jobs read only some */
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
	/* continue without an index if it cannot be made */
	return r == -ENOMEM ? r : 0;
}

bool analysis_index_failed(const struct analysis *a)
{
	return a->index && !index_is_true(a->index);
}
