/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The intervals of a trace, their parts in the trace's derived file, and how they are made. A part
 * of an interval has the interval's number as its key. The number of intervals is a part, too.
 *
 * Jobs run on all CPUs, the longest first. All intervals of a finished trace are kept. Of a trace
 * that still grows, or whose recorder died, the last interval is not kept, since the next block may
 * have late records of it. When a job finds a damaged block, everything is made again without it.
 */
#include "analyze/fold/index.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/engine/context.h"
#include "analyze/fold/fold_memory.h"
#include "analyze/fold/fold_reader.h"
#include "analyze/fold/fold_sums.h"
#include "analyze/fold/folds.h"
#include "analyze/fold/index_job.h"
#include "analyze/fold/spikes.h"
#include "base/array.h"
#include "format/zpack.h"
#include "trace/derived_file.h"

#define SMALL_EVENTS 2000000	/* decoding these takes no noticeable time */
#define SAVE_EVENTS 2000000	/* a file is written again after so many new events */
#define PROGRESS_NS 100000000
#define THREADS_MAX 8
#define ROUNDS_MAX 8

struct index {
	struct analysis *a;
	struct derived_file *d;
	size_t interval_cnt;	/* as many as the trace has blocks */
	size_t saved_cnt;	/* the first of these are in the file already */
	uint64_t *from_ns;	/* of the intervals */
	size_t damage_cnt;	/* of the trace, when the parts were made or opened */
	bool damaged;
	struct index *before;	/* no longer true */
};

/* ---- intervals ---- */

size_t index_interval_cnt(const struct index *x)
{
	return x->interval_cnt;
}

uint64_t index_interval_from(const struct index *x, size_t interval)
{
	return x->from_ns[interval];
}

uint64_t index_interval_to(const struct index *x, size_t interval)
{
	return interval + 1 < x->interval_cnt ? x->from_ns[interval + 1] : x->a->end_ns;
}

size_t index_interval_at(const struct index *x, uint64_t ts_ns)
{
	size_t i = ts_ns == UINT64_MAX ? x->interval_cnt :
					 lower_bound_plain(x->from_ns, x->interval_cnt, ts_ns + 1);

	/* intervals may have no length: the last that begins there holds the instant */
	return i ? i - 1 : 0;
}

uint64_t index_events(const struct index *x, size_t from, size_t to, uint32_t kinds)
{
	size_t cnt;
	const struct trace_block *b = trace_blocks(x->a->trace, &cnt);
	uint64_t events = 0;
	unsigned int k;

	for (; from < to; from++)
		for (k = 0; k < EVENT_KIND_CNT; k++)
			if (kinds & 1u << k)
				events += b[from].kind_cnt[k];
	return events;
}

/* ---- parts ---- */

static int read_part(const struct index *x, unsigned int type, uint64_t key, struct buf *mem,
		     struct packed_in *ret)
{
	struct derived_part p;
	const uint8_t *raw;
	int r;

	*ret = (struct packed_in){ 0 };
	r = derived_file_get(x->d, type, key, &p);
	if (r <= 0)
		return r;
	r = derived_file_read(x->d, &p, mem, &raw);
	if (r == 0)
		*ret = (struct packed_in){ .p = raw, .end = raw + p.raw_bytes };
	return r;
}

int index_read(const struct index *x, size_t interval, unsigned int part, struct buf *mem,
	       struct packed_in *ret)
{
	return read_part(x, DERIVED_INDEX + part, interval, mem, ret);
}

int index_has(const struct index *x, size_t interval, unsigned int part)
{
	struct derived_part p;

	return derived_file_get(x->d, DERIVED_INDEX + part, interval, &p);
}

int index_read_tail(const struct index *x, unsigned int tail, struct buf *mem,
		    struct packed_in *ret)
{
	return read_part(x, DERIVED_INDEX_TAIL + tail, 0, mem, ret);
}

int index_add(struct index *x, struct zpack *z, size_t interval, unsigned int part,
	      const struct buf *b)
{
	return derived_file_add(x->d, z, DERIVED_INDEX + part, interval, 0, b);
}

int index_add_tail(struct index *x, struct zpack *z, unsigned int tail, const struct buf *b)
{
	return derived_file_add(x->d, z, DERIVED_INDEX_TAIL + tail, 0, 0, b);
}

/* ---- the whole ---- */

void index_free(struct index *x)
{
	if (!x)
		return;
	index_free(x->before);
	derived_file_close(x->d);
	free(x->from_ns);
	free(x);
}

/* How many intervals the file has. */
static size_t saved_cells(const struct index *x)
{
	struct buf mem = { 0 };
	struct packed_in in;
	uint64_t cnt = 0;

	if (read_part(x, DERIVED_INDEX_INFO, 0, &mem, &in) == 0)
		cnt = packed_get(&in);
	buf_done(&mem);
	return cnt > x->interval_cnt || in.bad ? 0 : cnt;
}

/*
 * The intervals of the trace as it is, with the parts that its derived file has. save: a place is
 * wanted where parts can be added.
 */
static int index_new(struct index **ret, struct analysis *a, bool save)
{
	struct index *x = calloc(1, sizeof(*x));
	const struct trace_block *blocks;
	size_t i;
	int r;

	if (!x)
		return -ENOMEM;
	x->a = a;
	blocks = trace_blocks(a->trace, &x->interval_cnt);
	trace_damages(a->trace, &x->damage_cnt);
	x->from_ns = calloc(x->interval_cnt + 1, sizeof(*x->from_ns));
	r = x->from_ns ? derived_file_open(&x->d, a->trace, save ? DERIVED_SAVE : 0) : -ENOMEM;
	if (r < 0) {
		index_free(x);
		return r;
	}
	for (i = 0; i < x->interval_cnt; i++)
		x->from_ns[i] = blocks[i].from_ns;
	x->saved_cnt = saved_cells(x);
	*ret = x;
	return 0;
}

bool index_is_true(const struct index *x)
{
	size_t cnt;

	trace_damages(x->a->trace, &cnt);
	return !x->damaged && cnt == x->damage_cnt;
}

int index_fail(const struct index *x, int ret, struct err *e)
{
	if (ret != -EBADMSG)
		return err_set(e, ret, "analysis index: %s", err_text(NULL, ret));
	((struct index *)x)->damaged = true;
	derived_file_forget(x->d);
	return err_set(e, ret,
		       "the analysis index is damaged, and was removed: ask again, and it is "
		       "made anew");
}

void index_follow(struct index *next, struct index *before)
{
	next->before = before;
}

/* Drops what was saved: all intervals are empty. */
static void forget_saved(struct index *x)
{
	x->saved_cnt = 0;
	derived_file_drop(x->d, DERIVED_INDEX_INFO, DERIVED_TYPE_CNT);
}

/* Parts are going to be added: to a new derived file if save, else in memory. */
static int begin_file(struct index *x, bool save)
{
	int r = derived_file_begin(x->d, save);

	/* where the old file could not be taken over, nothing is saved */
	x->saved_cnt = saved_cells(x);
	if (!x->saved_cnt)
		forget_saved(x);
	return r;
}

/*
 * Puts the new file in place. Parts are of the first cnt intervals; tails stand behind the last
 * of these.
 */
static int save_file(struct index *x, size_t cnt)
{
	struct buf info = { 0 };
	int r;

	/* the other parts are of a trace without damage */
	if (x->damage_cnt)
		derived_file_drop(x->d, 0, DERIVED_INDEX_INFO);
	packed_put(&info, cnt);
	r = derived_file_add(x->d, NULL, DERIVED_INDEX_INFO, 0, 0, &info);
	buf_done(&info);
	return r < 0 ? r : derived_file_commit(x->d, x->a->trace, cnt);
}

/* ---- one job: a pass over the trace for folds that need the same events ---- */

static int done_interval(struct index_job *j, size_t interval)
{
	atomic_fetch_add(&j->done_events, index_events(j->x, interval, interval + 1, j->kinds));
	return atomic_load(j->stop) ? -ECANCELED : 0;
}

struct fold_share {		/* one fold of the pass */
	const struct fold_def *def;
	struct fold_target target;
	struct fold_sums sums;		/* of the interval that is being made */
};

struct fold_pass {
	struct index_job *j;
	const struct index_keeper *keeper;	/* NULL: the folds' own sums are kept */
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
	const struct fold_range range = { index_interval_from(j->x, j->from), j->a->end_ns, j->x,
					  j->from ? FOLD_READER_TAIL : FOLD_READER_TRACE };
	struct fold_use uses[FOLD_USES_MAX];
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

	buf_reset(&p->out);
	if (p->keeper)
		p->keeper->put_tail(p->keeper->sink.ctx, &p->out);
	state->save(fold_reader_machine(p->reader, n), at_ns, &p->out);
	return index_add_tail(p->j->x, p->j->z, state->tail + p->shares[n].def->group, &p->out);
}

static int add_state(struct fold_pass *p, unsigned int n, size_t interval)
{
	const struct fold_def *def = p->shares[n].def;

	return index_add(p->j->x, p->j->z, interval, def->state->part + def->group, &p->out);
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

static int begin_interval(struct fold_pass *p, size_t interval)
{
	uint64_t from_ns = index_interval_from(p->j->x, interval);
	unsigned int n;
	int ret = 0;

	for (n = 0; n < p->cnt && !ret; n++) {
		struct fold_share *s = &p->shares[n];

		s->target.from_ns = from_ns;
		s->target.to_ns = index_interval_to(p->j->x, interval);
		if (s->def->state)
			ret = begin_state(p, n, interval, from_ns);
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

		s->def->sums->put_key(s->target.ids, &(struct fold_key){ r->a, r->b }, &p->out);
		fold_sum_put(s->def->sums, r->sum, &p->out);
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
		if (ret || !s->def->state || !s->def->state->put_interval)
			continue;
		buf_reset(&p->out);
		s->def->state->put_interval(fold_reader_machine(p->reader, n), &p->out);
		ret = add_state(p, n, interval);
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
			ret = done_interval(j, i);
	}
	fold_reader_close(p.reader);
	for (n = 0; n < p.cnt; n++)
		if (p.shares[n].sums.def)
			fold_sums_done(&p.shares[n].sums);
	buf_done(&p.out);
	return ret;
}

/* ---- all jobs ---- */

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
		work_of[i] = index_events(x, from, x->interval_cnt, job_kinds(i));
		for (k = i; k && work_of[b->order[k - 1]] < work_of[i]; k--)
			b->order[k] = b->order[k - 1];
		b->order[k] = i;
	}
}

/* Makes the intervals from "from" on; tails are those behind interval "last" - 1. */
static int build(struct index *x, size_t from, size_t last, const struct analysis_index_use *use,
		 struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[THREADS_MAX];
	unsigned int cnt = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (unsigned int)cpus;
	struct build b = { .lock = PTHREAD_MUTEX_INITIALIZER,
			   .changed = PTHREAD_COND_INITIALIZER };
	uint64_t total = index_events(x, from, x->interval_cnt, UINT32_MAX);
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

/* Spikes needs sums of the whole trace, even for a short window. */
static int add_spikes(struct index *x)
{
	struct zpack *z;
	int ret = zpack_new(&z, 0);

	if (ret < 0)
		return ret;
	ret = spikes_save(x, z, x->a);
	zpack_free(z);
	return ret;
}

/* Builds again until no new damage is found. */
static int build_until_true(struct index *x, size_t last, const struct analysis_index_use *use,
			    struct err *e)
{
	unsigned int round;
	size_t i;
	int ret;

	for (round = 0; round < ROUNDS_MAX; round++) {
		/* the jobs read only some columns of some kinds */
		for (i = x->saved_cnt; i < x->interval_cnt; i++)
			if (trace_block_verify(x->a->trace, i, NULL) == -ENOMEM)
				return -ENOMEM;
		trace_damages(x->a->trace, &x->damage_cnt);
		ret = build(x, x->saved_cnt, last, use, e);
		if (ret < 0 || index_is_true(x))
			return ret;
		trace_damages(x->a->trace, &x->damage_cnt);
		forget_saved(x);
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
	fresh = index_events(x, x->saved_cnt, x->interval_cnt, UINT32_MAX);
	if (!x->saved_cnt && !use->always && fresh < SMALL_EVENTS)
		goto none;
	if (x->saved_cnt < x->interval_cnt) {
		bool save = use->save && (use->always || fresh >= SAVE_EVENTS);

		last = trace_is_finished(a->trace) ? x->interval_cnt : x->interval_cnt - 1;
		if (last < x->saved_cnt)
			last = x->saved_cnt;
		r = trace_mm_resets_prepare(a->trace);	/* threads share them */
		if (!r)
			r = begin_file(x, save);
		if (!r)
			r = build_until_true(x, last, use, e);
		if (!r && last == x->interval_cnt)
			r = add_spikes(x);
		/* an index that cannot be saved is still used */
		if (!r && save && last)
			(void)save_file(x, last);
		if (r < 0)
			goto none;
	}
	*ret = x;
	return 0;
none:
	index_free(x);
	return r;
}
