/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * view_whatif: whatif(from_ns, to_ns, without, is_each): how much sooner the report's threads
 * would have finished without a cause of delay.
 *
 *     pieces of all threads --[replay: end, path]--> causes on the path
 *     cause, pieces --[replay without it, three ways]--> a saving from .. to, the next bottleneck
 *
 * The end is the last instant at which a thread of the report was on a CPU. If a thread that had
 * ended earlier ends even later in the replay, its end counts instead. A cause is a set of pieces
 * that take no time in the replay (replay.h): waits for a lock, for a file or for a disk, sleeps,
 * timed-out waits, throttling, stops, waits for a CPU, or everything that the threads of a process
 * do, except waiting for requests. Leaving out a function shortens each piece on a CPU by the
 * function's share of the samples in the piece or, if these are few, its share of the thread's
 * samples in the window.
 *
 * `without` is a list of causes, one per line, which are left out together, or one by one if
 * is_each. If it is empty, each cause on the path is left out alone, then functions of the process
 * that ran longest on the path, and then the next bottlenecks: one cause may hide another on the
 * recorded path.
 *
 * The saving is an interval: from the smallest to the largest saving of the replay variants, each
 * compared with the unchanged replay of the same variant. Both bounds are widened by the larger of
 * two errors: the drift, which is the difference between the recorded end and the end of the
 * unchanged REPLAY_SCHEDULED; and the difference that the remaining waits for a CPU on the path may
 * make in another run. These waits depend on other work and are treated as independent draws: the
 * variance of their sum is the sum of their squares (1.96 standard deviations, at most the sum
 * itself). A function is left out twice more, with the lowest and the highest share that fit each
 * thread's number of samples (Wilson's interval, 95 %). REPLAY_FIXED is one of the variants only if
 * sleeps that a network ended are at least a twentieth of the path.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/code_text.h"
#include "analyze/engine/statement.h"
#include "analyze/fold/folds.h"
#include "analyze/views/view.h"
#include "base/array.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "base/units.h"
#include "model/call.h"
#include "model/replay.h"
#include "table_columns.h"

#define PIECES_MAX (4u << 20)
/* maximum number of causes tried: the causes with most time on the path */
#define CAUSES_MAX 12
#define POLLS_MIN 10		/* consecutive equal sleeps that count as polling */
#define PIECE_SAMPLES_MIN 20	/* with fewer samples in a piece, use the share in the window */
#define FUNCTIONS_MAX 64	/* one bit of struct sample each */
#define SIGMA_95 1.96
#define RUNNING WAIT_KIND_CNT	/* the kind of pieces on a CPU, after the kinds of waits */

enum cause_type {
	CAUSE_LOCK, CAUSE_FILE, CAUSE_DISK, CAUSE_PROCESS, CAUSE_QUOTA, CAUSE_SLEEP, CAUSE_TIMEOUT,
	CAUSE_STOP, CAUSE_CPU, CAUSE_FUNCTION, CAUSE_TYPE_CNT,
};

static const struct {
	const char *word;
	bool needs_name;	/* false: the name of a process is optional */
} cause_types[] = {
	[CAUSE_LOCK] = { "lock", true },       [CAUSE_FILE] = { "file", true },
	[CAUSE_DISK] = { "disk", false },      [CAUSE_PROCESS] = { "process", true },
	[CAUSE_QUOTA] = { "quota", false },    [CAUSE_SLEEP] = { "sleep", false },
	[CAUSE_TIMEOUT] = { "timeout", false }, [CAUSE_STOP] = { "stop", false },
	[CAUSE_CPU] = { "cpu", false },	       [CAUSE_FUNCTION] = { "function", true },
};

/* Names are in whatif.texts: equal names have equal addresses. */
struct cause {
	const char *name;	/* NULL: any */
	uint64_t path_ns;
	uint8_t type;		/* enum cause_type */
	bool is_next;		/* was added as the next bottleneck */
	uint64_t bit;		/* bit of the function in struct sample */
};

/* A CPU sample. bits: the functions among the causes that its stack contains. */
struct sample {
	uint64_t ts_ns, bits;
	uint32_t thread;
};

/* Time on a path, by process, kind and object. */
struct spent {
	const char *comm;	/* name of the process */
	uint32_t object;
	uint8_t kind;
	uint64_t ns;
	struct cause cause;	/* cause of the first piece; CAUSE_TYPE_CNT: none */
};

struct whatif {
	struct view v;
	enum call_machine machine;
	struct replay *replay;
	struct thread_makers makers;
	struct strpool *texts;
	const char **comms;		/* by dense process; NULL: not looked up yet */
	uint64_t *first_ns;		/* by thread: start of its first piece; 0: none */
	struct hash_map object_numbers;
	const char **objects;		/* texts by number; NULL: none */
	size_t object_cap;
	size_t cnt;			/* number of pieces */
	uint32_t last;			/* the thread that was on a CPU last; 0: none */
	uint64_t last_ns;
	/* pieces on a CPU; the replay ends when the last of these ends */
	uint32_t *ends;
	size_t end_cnt, end_cap;
	uint32_t target;		/* the element of `ends` that ended last in the last run */
	struct cause *causes;
	size_t cause_cnt, cause_cap;
	bool is_given, is_each;		/* is_given: causes come from `without` */
	/* parts of the recorded path; instant_ns: sleeps with is_instant (replay.h) */
	uint64_t unknown_ns, polled_ns, instant_ns;
	struct sample *samples;		/* sorted by thread and time */
	size_t sample_cnt, sample_cap;
	uint32_t *hits;			/* [i]: number of hits among the first i samples */
	double sigma;			/* deviation for shares: +-SIGMA_95 or 0 */
	const char *unknown_comm, *polling_comm;
	unsigned int function_cnt;
	unsigned int polls;		/* length of the present series of equal sleeps */
	uint64_t poll_ns, poll_last_ns, poll_object;
	bool failed;			/* out of memory */
};

/* ---- pieces ---- */

static const char *comm_of(struct whatif *x, uint32_t thread)
{
	const struct dense_ids *ids = &x->v.a->ids;
	uint32_t process = dense_process_of(ids, thread);

	if (!x->comms[process])
		x->comms[process] = strpool_put(x->texts, dense_process_comm(ids, process));
	x->failed |= !x->comms[process];
	return x->comms[process] ?: "";
}

/*
 * Returns whether the thread belongs to the recorder: waits for the recorder's startup are not
 * causes.
 */
static bool is_recorder(const struct whatif *x, uint32_t thread)
{
	const struct trace_thread *t = dense_thread_row(&x->v.a->ids, thread);

	return t && t->flags & TRACE_TASK_RECORDER;
}

/* Tracks the thread that ran last; of several such threads, the one with the lowest number. */
static void note_last(struct whatif *x, uint32_t thread, uint64_t to_ns)
{
	bool is_last = to_ns > x->last_ns || (to_ns == x->last_ns && thread < x->last);

	if (is_last && scope_has_thread(x->v.scope, thread)) {
		x->last = thread;
		x->last_ns = to_ns;
	}
}

static int note_piece(struct whatif *x, const struct thread_piece *p)
{
	const struct window *w = &x->v.w;
	struct replay_piece *last;
	struct replay_piece r = {
		.from_ns = p->from_ns > w->from_ns ? p->from_ns : w->from_ns,
		.to_ns = p->to_ns < w->to_ns ? p->to_ns : w->to_ns,
		.thread = p->thread, .call = p->call,
		.what = p->state == THREAD_RUNNING ? REPLAY_RUN :
			p->state == THREAD_UNKNOWN ? REPLAY_UNKNOWN :
			p->state == THREAD_RUNNABLE || p->state == THREAD_PREEMPTED ? REPLAY_CPU :
										      REPLAY_SLEEP,
	};

	if (p->thread < EVENT_ID_FIRST || r.from_ns >= r.to_ns)
		return 0;
	r.kind = r.what == REPLAY_RUN ? RUNNING :
					(uint8_t)wait_kind_of(x->machine, p->state, p->call);
	last = replay_last(x->replay, p->thread);
	if (!last)
		x->first_ns[p->thread] = r.from_ns;
	if (r.what == REPLAY_RUN)
		note_last(x, p->thread, r.to_ns);
	/* Consecutive parts of a sleep are one piece, and so are parts of a stay on CPUs. */
	if (last && last->to_ns == r.from_ns && last->what == r.what && !last->flag &&
	    last->kind != WAIT_THROTTLED && r.kind != WAIT_THROTTLED) {
		last->to_ns = r.to_ns;
		last->kind = r.kind;
		return 0;
	}
	if (++x->cnt > PIECES_MAX)
		return -E2BIG;
	return replay_add(x->replay, &r);
}

/* Returns a number for the text of the sleep's object; 0: no text. */
static uint32_t object_number(struct whatif *x, const struct thread_sleep *s)
{
	const struct analysis *a = x->v.a;
	uint64_t process = dense_process_of(&a->ids, s->thread);
	char text[OBJECT_TEXT_BYTES];
	uint32_t number;
	int added;

	if (!s->object)
		return 0;
	added = hash_map_intern(&x->object_numbers, process << 8 | call_object_of(s->call),
				s->object, &number);
	number++;
	if (added < 0 || array_reserve(&x->objects, &x->object_cap, number + 1) < 0) {
		x->failed = true;
		return 0;
	}
	if (added > 0 && object_text(a->trace, dense_utid(&a->ids, s->thread), s->end_ns, s->call,
				     s->object, text))
		x->objects[number] = strpool_put(x->texts, text);
	return number;
}

/*
 * Completes the piece of a sleep that has ended: sets kind, object and waker, and sets p->call to
 * whether the sleep timed out.
 */
static void note_sleep(struct whatif *x, const struct thread_sleep *s)
{
	struct replay_piece *p = replay_last(x->replay, s->thread);

	if (!p || p->what != REPLAY_SLEEP || p->to_ns != s->end_ns || p->flag)
		return;
	p->flag = true;	/* the sleep is over */
	p->kind = (uint8_t)wait_kind_of(x->machine, s->state, s->call);
	p->object = object_number(x, s);
	p->call = s->waker_call == CALL_TIMEOUT && s->is_seen;
	if (!s->is_seen)
		p->waker = EVENT_ID_UNKNOWN;
	else if (s->waker != s->thread && !p->call)
		p->waker = object_waker(x->v.a->trace, x->machine, s);
	/*
	 * A wake-up by a network, or of a kernel worker, may or may not be the answer to an earlier
	 * request.
	 */
	p->is_instant = !p->waker && !p->call && s->is_seen &&
			(p->kind == WAIT_SOCKET || p->kind == WAIT_POLL || p->kind == WAIT_KERNEL);
}

static int on_found(void *ctx, const void *found)
{
	struct whatif *x = ctx;
	const struct states_found *f = found;

	if (f->sleep)
		note_sleep(x, f->sleep);
	if (f->wait)
		thread_makers_note(&x->makers, f->wait);
	if (f->ran) {
		uint32_t thread = dense_thread(&x->v.a->ids, f->ran->utid);
		struct replay_piece *p = thread >= EVENT_ID_FIRST ?
						 replay_last(x->replay, thread) : NULL;

		if (p && p->what == REPLAY_RUN)
			p->cpu = (uint16_t)f->ran->cpu;
	}
	return f->piece ? note_piece(x, f->piece) : 0;
}

static int add_births(struct whatif *x)
{
	int ret = 0;

	for (uint32_t i = EVENT_ID_FIRST; i < x->v.a->ids.thread_cnt && !ret; i++) {
		uint64_t start_ns;
		uint32_t creator;

		if (x->first_ns[i] <= x->v.w.from_ns)
			continue;
		creator = thread_maker(&x->makers, i, &start_ns);
		if (creator && start_ns >= x->v.w.from_ns && start_ns <= x->first_ns[i])
			ret = replay_add_birth(x->replay, i, creator, x->first_ns[i]);
	}
	return ret;
}

/* ---- causes ---- */

static bool is_of(struct whatif *x, const struct cause *c, const struct replay_piece *p)
{
	const char *object = p->object ? x->objects[p->object] : NULL;
	bool is_sleep = p->what == REPLAY_SLEEP;

	switch (c->type) {
	case CAUSE_FUNCTION:
		return false;	/* only a share of a piece is left out: keep_piece() */
	case CAUSE_LOCK:
		return is_sleep && p->kind == WAIT_LOCK && object == c->name;
	case CAUSE_FILE:
		return is_sleep && p->kind == WAIT_DISK && object == c->name;
	case CAUSE_PROCESS:
		if (comm_of(x, p->thread) != c->name)
			return false;
		/* keep sleeps that another process ended: waits for requests of that process */
		return !is_sleep || (p->waker_piece ? comm_of(x, p->waker) == c->name :
						      !p->is_instant && p->flag);
	}
	if (c->name && comm_of(x, p->thread) != c->name)
		return false;
	return c->type == CAUSE_DISK	? is_sleep && p->kind == WAIT_DISK :
	       c->type == CAUSE_QUOTA	? is_sleep && p->kind == WAIT_THROTTLED :
	       c->type == CAUSE_SLEEP	? is_sleep && p->kind == WAIT_TIMER :
	       c->type == CAUSE_TIMEOUT ? is_sleep && p->call && p->kind != WAIT_TIMER :
	       c->type == CAUSE_STOP	? is_sleep && p->kind == WAIT_STOPPED :
					  p->what == REPLAY_CPU;
}

struct set {
	struct whatif *x;
	const struct cause *causes;
	size_t cnt;
};

/*
 * Number of a thread's samples in an interval, and number of these samples that hit the functions.
 */
struct sampled {
	size_t cnt, of;
};

static size_t first_sample(const struct whatif *x, uint32_t thread, uint64_t ts_ns)
{
	size_t from = 0, to = x->sample_cnt;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct sample *s = &x->samples[mid];

		if (s->thread < thread || (s->thread == thread && s->ts_ns < ts_ns))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static struct sampled count_samples(const struct whatif *x, uint32_t thread, uint64_t from_ns,
				    uint64_t to_ns)
{
	size_t from = first_sample(x, thread, from_ns), to = first_sample(x, thread, to_ns);

	return (struct sampled){ to - from, x->hits[to] - x->hits[from] };
}

/* Fills x->hits: counts the samples that have at least one of the bits. */
static int count_hits(struct whatif *x, uint64_t bits)
{
	if (!x->hits)
		x->hits = calloc(x->sample_cnt + 1, sizeof(*x->hits));
	if (!x->hits)
		return -ENOMEM;
	for (size_t i = 0; i < x->sample_cnt; i++)
		x->hits[i + 1] = x->hits[i] + ((x->samples[i].bits & bits) != 0);
	return 0;
}

/* Returns the bound of Wilson's interval of a share at sigma; sigma 0: the share itself. */
static double share_at(struct sampled n, double sigma)
{
	double all = (double)n.cnt, share = (double)n.of / all, square = sigma * sigma;

	return (share + square / (2 * all) +
		sigma * sqrt(share * (1 - share) / all + square / (4 * all * all))) /
	       (1 + square / all);
}

/*
 * Returns the share of a piece on a CPU that the functions of x->hits ran, plus the error (at
 * x->sigma) of their share of the thread's samples.
 */
static double share_of(const struct whatif *x, const struct replay_piece *p)
{
	struct sampled all = count_samples(x, p->thread, 0, UINT64_MAX);
	struct sampled piece = count_samples(x, p->thread, p->from_ns, p->to_ns);
	double share;

	if (!all.of)
		return 0;
	share = share_at(all, x->sigma);
	if (piece.cnt >= PIECE_SAMPLES_MIN)
		share += share_at(piece, 0) - share_at(all, 0);
	return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* Returns the duration to keep. If a sleep is left out, so is the wait for a CPU after it. */
static uint64_t keep_piece(void *ctx, const struct replay_piece *p)
{
	const struct set *s = ctx;
	const struct replay_piece *slept =
		p->what == REPLAY_CPU && p->before ? replay_at(s->x->replay, p->before - 1) : NULL;
	uint64_t bits = 0, dur_ns = p->to_ns - p->from_ns;

	for (size_t i = 0; i < s->cnt; i++) {
		bits |= s->causes[i].bit;
		if (is_of(s->x, &s->causes[i], p))
			return 0;
		if (slept && slept->what == REPLAY_SLEEP && is_of(s->x, &s->causes[i], slept))
			return 0;
	}
	if (bits && p->what == REPLAY_RUN)
		dur_ns = (uint64_t)((double)dur_ns * (1 - share_of(s->x, p)));
	return dur_ns;
}

/* Adds time to a cause. The result is valid until the next call; NULL: out of memory. */
static struct cause *add_cause(struct whatif *x, enum cause_type type, const char *name,
			       uint64_t ns)
{
	for (size_t i = 0; i < x->cause_cnt; i++) {
		struct cause *c = &x->causes[i];

		if (c->type == type && c->name == name) {
			c->path_ns += ns;
			return c;
		}
	}
	if (array_add(&x->causes, &x->cause_cap, &x->cause_cnt,
		      (struct cause){ .name = name, .path_ns = ns, .type = (uint8_t)type }) < 0) {
		x->failed = true;
		return NULL;
	}
	return &x->causes[x->cause_cnt - 1];
}

/* Parses a cause, such as "lock:audit_lock", from [from, to). */
static int read_cause(struct whatif *x, const char *from, const char *to, struct err *e)
{
	size_t len = (size_t)(to - from), word = strcspn(from, ":\n");
	char name[OBJECT_TEXT_BYTES] = "";
	unsigned int type = 0;
	struct cause *c;

	while (type < CAUSE_TYPE_CNT && (strlen(cause_types[type].word) != word ||
					 strncmp(cause_types[type].word, from, word) != 0))
		type++;
	if (word < len)
		snprintf(name, sizeof(name), "%.*s", (int)(len - word - 1), from + word + 1);
	if (type == CAUSE_TYPE_CNT)
		return err_set(e, -EINVAL, "'%.*s' is not a cause: lock:NAME, file:PATH, "
			       "process:NAME, function:NAME, disk, quota, sleep, timeout, stop or "
			       "cpu", (int)len, from);
	if (cause_types[type].needs_name && !*name)
		return err_set(e, -EINVAL, "'%.*s' needs a name: %s:NAME", (int)len, from,
			       cause_types[type].word);
	c = add_cause(x, (enum cause_type)type, *name ? strpool_put(x->texts, name) : NULL, 0);
	if (c && type == CAUSE_FUNCTION && !c->bit) {
		if (x->function_cnt == FUNCTIONS_MAX)
			return err_set(e, -E2BIG, "at most %d functions", FUNCTIONS_MAX);
		c->bit = 1ull << x->function_cnt++;
	}
	return x->failed ? -ENOMEM : 0;
}

/*
 * One row per sample, in the order of thread and time: whether the stack contains function :name.
 */
static const char samples_sql[] =
	"WITH s AS MATERIALIZED (SELECT stack, max(ts_ns) AS ts_ns FROM cpu_samples "
	"WHERE ts_ns >= :from AND ts_ns < :to AND stack NOT NULL GROUP BY stack) "
	"SELECT utid, ts_ns, coalesce(stack IN (SELECT stack FROM s WHERE instr(';' "
	"|| coalesce(stack_text(stack, ts_ns, 'user'), '') || ';' "
	"|| coalesce(stack_text(stack, ts_ns, 'kernel'), '') || ';', ';' || :name || ';')), 0) "
	"FROM cpu_samples WHERE ts_ns >= :from AND ts_ns < :to ORDER BY utid, ts_ns";

/*
 * Skips code without a name (an address or offset). is_all: most samples of the function are of
 * threads that have it in more than 9 of 10 samples.
 */
const char view_functions_sql[] =
	"WITH RECURSIVE s AS MATERIALIZED (SELECT c.utid AS utid, count(*) AS cnt, "
	"stack_text(c.stack, max(c.ts_ns), 'user') AS text FROM cpu_samples AS c "
	"JOIN threads AS t ON t.utid = c.utid JOIN processes AS p ON p.upid = t.upid "
	"WHERE c.ts_ns >= :from AND c.ts_ns < :to AND :comm IN (t.comm, p.comm) "
	"GROUP BY c.utid, c.stack), "
	"u AS MATERIALIZED (SELECT utid, text, sum(cnt) AS cnt FROM s WHERE text NOT NULL "
	"GROUP BY utid, text), "
	"n AS MATERIALIZED (SELECT utid, sum(cnt) AS cnt FROM u GROUP BY utid), "
	"p(utid, cnt, text, rest, function, depth) AS (SELECT utid, cnt, text, text || ';', '', 0 "
	"FROM u UNION ALL SELECT utid, cnt, text, substr(rest, instr(rest, ';') + 1), "
	"substr(rest, 1, instr(rest, ';') - 1), depth + 1 FROM p WHERE rest <> ''), "
	"o AS MATERIALIZED (SELECT utid, cnt, function, max(depth) AS depth FROM p "
	"WHERE depth AND function NOT GLOB '*+0x*' AND function NOT GLOB '0x*' "
	"AND function NOT GLOB '[[]*' AND length(function) < 200 GROUP BY utid, text, function), "
	"f AS MATERIALIZED (SELECT o.function AS function, sum(o.cnt) AS cnt, n.cnt AS thread_cnt, "
	"max(o.depth) AS depth FROM o JOIN n ON n.utid = o.utid GROUP BY o.utid, o.function), "
	"g AS MATERIALIZED (SELECT function, sum(cnt) AS cnt, max(depth) AS depth, "
	"2 * sum(iif(10 * cnt > 9 * thread_cnt, cnt, 0)) > sum(cnt) AS is_all FROM f "
	"GROUP BY function HAVING 20 * sum(cnt) >= (SELECT sum(cnt) FROM s)) "
	"SELECT function, cnt, (SELECT sum(cnt) FROM s) FROM g "
	"ORDER BY is_all, iif(is_all, -depth, 0), cnt DESC, function "
	"LIMIT max(1, min(3, (SELECT count(*) FROM g WHERE NOT is_all)))";

struct reading {
	struct whatif *x;
	uint64_t bit;
	size_t cnt;
};

/* The query returns the same samples in the same order for each function. */
static int sample_row(void *ctx, const struct value *v)
{
	struct reading *r = ctx;
	struct whatif *x = r->x;
	uint64_t bits = v[2].i ? r->bit : 0;

	if (r->cnt < x->sample_cnt)
		x->samples[r->cnt].bits |= bits;
	else if (array_add(&x->samples, &x->sample_cap, &x->sample_cnt,
			   (struct sample){ context_abs(x->v.a, v[1].i), bits,
					    dense_thread(&x->v.a->ids, (uint32_t)v[0].i) }) < 0)
		return -ENOMEM;
	r->cnt++;
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return compare_numbers(x->thread, y->thread) ?: compare_numbers(x->ts_ns, y->ts_ns);
}

static int read_samples(struct whatif *x, struct err *e)
{
	const struct analysis *a = x->v.a;
	int ret = 0;

	for (size_t i = 0; i < x->cause_cnt && !ret; i++) {
		struct reading r = { .x = x, .bit = x->causes[i].bit };
		const struct row_sink sink = { .ctx = &r, .row = sample_row };
		const struct statement_param params[] = {
			{ ":from", value_int((uint64_t)context_rel(a, x->v.w.from_ns)) },
			{ ":to", value_int((uint64_t)context_rel(a, x->v.w.to_ns)) },
			{ ":name", value_text(x->causes[i].name) },
			{ .name = NULL },
		};

		if (r.bit)
			ret = statement_run(x->v.a, samples_sql, params, &sink, e);
	}
	if (!ret && x->sample_cnt)
		qsort(x->samples, x->sample_cnt, sizeof(*x->samples), by_thread);
	return ret;
}

struct running {
	struct whatif *x;
	uint64_t *ns;		/* running time on the path, by dense process */
};

static void note_running(void *ctx, const struct replay_piece *p, uint64_t ns)
{
	const struct running *r = ctx;

	if (p->what == REPLAY_RUN && !is_recorder(r->x, p->thread))
		r->ns[dense_process_of(&r->x->v.a->ids, p->thread)] += ns;
}

struct functions {
	struct whatif *x;
	uint64_t ns;		/* time that the process ran on the path */
};

static int function_row(void *ctx, const struct value *v)
{
	const struct functions *f = ctx;
	const char *name = strpool_put(f->x->texts, v[0].text);
	double share = (double)v[1].i / (double)v[2].i;
	struct cause *c = name ? add_cause(f->x, CAUSE_FUNCTION, name,
					   (uint64_t)(share * (double)f->ns)) : NULL;

	if (!c)
		return -ENOMEM;
	c->bit = 1ull << f->x->function_cnt++;
	return 0;
}

/* Adds functions of the process that ran longest on the recorded path. */
static int add_functions(struct whatif *x, struct err *e)
{
	const struct analysis *a = x->v.a;
	struct running r = { x, calloc(a->ids.process_cnt + 1, sizeof(*r.ns)) };
	struct functions f = { .x = x };
	const struct row_sink sink = { .ctx = &f, .row = function_row };
	const char *comm = NULL;
	int ret = r.ns ? 0 : -ENOMEM;

	if (!ret)
		replay_path(x->replay, x->target, note_running, &r);
	for (uint32_t i = 0; i < a->ids.process_cnt && !ret; i++)
		if (r.ns[i] > f.ns) {
			f.ns = r.ns[i];
			comm = dense_process_comm(&a->ids, i);
		}
	free(r.ns);
	if (comm && !ret) {
		const struct statement_param params[] = {
			{ ":from", value_int((uint64_t)context_rel(a, x->v.w.from_ns)) },
			{ ":to", value_int((uint64_t)context_rel(a, x->v.w.to_ns)) },
			{ ":comm", value_text(comm) },
			{ .name = NULL },
		};

		ret = statement_run(x->v.a, view_functions_sql, params, &sink, e);
	}
	return ret ?: read_samples(x, e);
}

struct beside {
	struct whatif *x;
	const char *comm;	/* name of the process that waited */
};

static void note_beside(void *ctx, const struct replay_piece *p, uint64_t ns)
{
	const struct beside *b = ctx;
	const char *comm = comm_of(b->x, p->thread);

	if (comm != b->comm)
		add_cause(b->x, CAUSE_PROCESS, comm, ns);
}

/*
 * A thread polls if it sleeps equally long again and again, without waking other threads between
 * these sleeps.
 */
static void note_poll(struct whatif *x, const struct replay_piece *p, uint64_t ns)
{
	if (p->what == REPLAY_SLEEP && p->object && (p->kind == WAIT_TIMER || p->call)) {
		if (p->object != x->poll_object ||
		    16 * ns > 17 * x->poll_last_ns || 17 * ns < 16 * x->poll_last_ns)
			x->polls = 0;
		x->poll_last_ns = ns;
		x->poll_object = p->object;
		x->poll_ns = x->polls++ ? x->poll_ns + ns : ns;
		if (x->polls >= POLLS_MIN && x->poll_ns > x->polled_ns) {
			x->polled_ns = x->poll_ns;
			x->polling_comm = comm_of(x, p->thread);
		}
	} else if (p->what != REPLAY_CPU &&
		   (p->what != REPLAY_RUN || replay_edges(x->replay, p) ||
		    4 * ns > x->poll_ns / (x->polls ?: 1))) {
		x->polls = 0;
	}
}

/* Returns the cause that would leave out a piece on the path; type CAUSE_TYPE_CNT: none. */
static struct cause cause_of(struct whatif *x, const struct replay_piece *p)
{
	const char *comm = comm_of(x, p->thread);
	const char *object = p->object ? x->objects[p->object] : NULL;
	struct cause c = { .type = CAUSE_TYPE_CNT };

	if (is_recorder(x, p->thread))
		;
	else if (p->what == REPLAY_CPU)
		c.type = CAUSE_CPU;
	else if (p->what == REPLAY_RUN && comm != comm_of(x, x->last))
		c = (struct cause){ .type = CAUSE_PROCESS, .name = comm };
	else if (p->what != REPLAY_SLEEP)
		;
	else if (p->call && p->kind != WAIT_TIMER)
		c = (struct cause){ .type = CAUSE_TIMEOUT, .name = comm };
	else if (p->kind == WAIT_TIMER)
		c = (struct cause){ .type = CAUSE_SLEEP, .name = comm };
	else if (p->kind == WAIT_DISK)
		c = (struct cause){ .type = object ? CAUSE_FILE : CAUSE_DISK,
				    .name = object ?: comm };
	else if (p->kind == WAIT_THROTTLED)
		c = (struct cause){ .type = CAUSE_QUOTA, .name = comm };
	else if (p->kind == WAIT_LOCK && object)
		c = (struct cause){ .type = CAUSE_LOCK, .name = object };
	return c;
}

/* Adds a piece of the recorded path to its cause, or to the unknown time. */
static void note_part(void *ctx, const struct replay_piece *p, uint64_t ns)
{
	struct whatif *x = ctx;
	const char *comm = comm_of(x, p->thread);
	const char *object = p->object ? x->objects[p->object] : NULL;
	struct beside beside = { x, comm };
	struct cause c;

	if (!ns) {	/* a sleep that another thread ended */
		uint64_t slept = p->to_ns - p->from_ns;

		if (p->kind == WAIT_LOCK && object)
			add_cause(x, CAUSE_LOCK, object, slept);
		else if (p->kind == WAIT_STOPPED)
			add_cause(x, CAUSE_STOP, comm, slept);
		else if (p->kind == WAIT_DISK)
			add_cause(x, object ? CAUSE_FILE : CAUSE_DISK, object ?: comm, slept);
		else if (slept && p->waker && comm_of(x, p->waker) != comm &&
			 !is_recorder(x, p->waker))
			add_cause(x, CAUSE_PROCESS, comm_of(x, p->waker), slept);
		return;
	}
	note_poll(x, p, ns);
	x->instant_ns += p->is_instant ? ns : 0;
	if (!is_recorder(x, p->thread) &&
	    (p->what == REPLAY_UNKNOWN ||
	     (p->what == REPLAY_SLEEP && p->waker && !p->waker_piece))) {
		x->unknown_ns += ns;
		x->unknown_comm = comm;
	}
	c = cause_of(x, p);
	if (c.type != CAUSE_TYPE_CNT)
		add_cause(x, (enum cause_type)c.type, c.name, ns);
	if (p->what == REPLAY_CPU)
		replay_beside(x->replay, p, note_beside, &beside);
}

/* ---- results ---- */

struct spending {
	struct whatif *x;
	struct spent *all;
	size_t cnt, cap;
};

static void note_spent(void *ctx, const struct replay_piece *p, uint64_t ns)
{
	struct spending *s = ctx;
	const char *comm = comm_of(s->x, p->thread);
	uint32_t object = p->kind == WAIT_TIMER || p->kind == WAIT_POLL ? 0 : p->object;

	for (size_t i = 0; i < s->cnt; i++)
		if (s->all[i].comm == comm && s->all[i].kind == p->kind &&
		    s->all[i].object == object) {
			s->all[i].ns += ns;
			return;
		}
	if (ns)
		s->x->failed |= array_add(&s->all, &s->cap, &s->cnt,
					  (struct spent){ comm, object, p->kind, ns,
							  cause_of(s->x, p) }) < 0;
}

/* Shows the largest part of the last run's path, such as "client running" or "db disk /var/x". */
static void give_next(struct whatif *x, struct cell *cells)
{
	struct spending s = { .x = x };
	const struct spent *max = NULL;
	char text[2 * OBJECT_TEXT_BYTES];

	replay_path(x->replay, x->target, note_spent, &s);
	for (size_t i = 0; i < s.cnt; i++)
		if (!max || s.all[i].ns > max->ns)
			max = &s.all[i];
	if (max) {
		const char *object = max->object ? x->objects[max->object] : NULL;

		snprintf(text, sizeof(text), "%s %s%s%s", max->comm,
			 max->kind == RUNNING ? "running" : wait_kind_name(max->kind),
			 object ? " " : "", object ?: "");
		view_text(&x->v, &cells[COL_WHATIF_NEXT], strpool_put(x->texts, text));
		cell_int(&cells[COL_WHATIF_NEXT_NS], (int64_t)max->ns);
		if (!x->is_given && max->cause.type != CAUSE_TYPE_CNT) {
			struct cause *c = add_cause(x, (enum cause_type)max->cause.type,
						    max->cause.name, 0);

			if (c)
				c->is_next = true;
		}
	}
	free(s.all);
}

struct waits {
	const struct whatif *x;
	double sum_ns, squares;
};

static void note_wait(void *ctx, const struct replay_piece *p, uint64_t ns)
{
	struct waits *w = ctx;

	if (p->what == REPLAY_CPU && !is_recorder(w->x, p->thread)) {
		w->sum_ns += (double)ns;
		w->squares += (double)ns * (double)ns;
	}
}

/* Returns how much the waits for a CPU on the last run's path may differ in another run. */
static uint64_t noise_of(const struct whatif *x)
{
	struct waits w = { .x = x };

	replay_path(x->replay, x->target, note_wait, &w);
	return (uint64_t)fmin(SIGMA_95 * sqrt(w.squares), w.sum_ns);
}

static void give_verdict(struct whatif *x, struct cell *cells, const struct set *s,
			 uint64_t left_out_ns, uint64_t of_ns)
{
	bool is_sleep = s->cnt == 1 && (s->causes->type == CAUSE_SLEEP ||
					s->causes->type == CAUSE_TIMEOUT);
	char text[2 * OBJECT_TEXT_BYTES], ns[UNITS_TEXT_MAX];

	if (!left_out_ns)
		snprintf(text, sizeof(text), "not found in the window");
	else if (20 * x->unknown_ns > of_ns)
		snprintf(text, sizeof(text), "cannot tell: %s of the path are unknown, of %s",
			 units_format_duration(ns, sizeof(ns), x->unknown_ns), x->unknown_comm);
	else if (10 * x->polled_ns > of_ns && !is_sleep)
		snprintf(text, sizeof(text), "cannot tell: %s polls for %s of the path",
			 x->polling_comm, units_format_duration(ns, sizeof(ns), x->polled_ns));
	else
		return;
	view_text(&x->v, &cells[COL_WHATIF_VERDICT], strpool_put(x->texts, text));
}

struct ends {
	uint64_t ns[REPLAY_SCHEDULED + 1];
};

static int run_all(struct whatif *x, bool has_schedule, struct ends *ret)
{
	int r = 0;

	/* REPLAY_STRUCTURE runs last: its path is used afterwards. */
	for (int i = REPLAY_SCHEDULED; i >= 0 && !r; i--)
		if (i != REPLAY_SCHEDULED || has_schedule)
			r = replay_run(x->replay, (enum replay_variant)i, x->ends, x->end_cnt,
				       &ret->ns[i], &x->target);
	return r;
}

/* Extends the interval ret to contain the savings of the replay variants. */
static void note_savings(const struct whatif *x, const struct ends *base, const struct ends *ends,
			 bool has_schedule, uint64_t ret[2])
{
	uint64_t of_ns = base->ns[REPLAY_STRUCTURE] - x->v.w.from_ns;

	for (int i = 0; i <= REPLAY_SCHEDULED - !has_schedule; i++) {
		uint64_t saved = base->ns[i] > ends->ns[i] ? base->ns[i] - ends->ns[i] : 0;

		if (i == REPLAY_FIXED && 20 * x->instant_ns < of_ns)
			continue;
		ret[0] = saved < ret[0] ? saved : ret[0];
		ret[1] = saved > ret[1] ? saved : ret[1];
	}
}

/* Adds a row without a saving. cause NULL: for all causes. */
static void give_no_answer(struct whatif *x, const char *cause)
{
	struct cell *cells = view_row(&x->v, 0, NULL);

	view_text(&x->v, &cells[COL_WHATIF_CAUSE], cause);
	view_text(&x->v, &cells[COL_WHATIF_VERDICT],
		  "cannot tell: the replay has threads that wait for each other");
}

static int give_causes(struct whatif *x, const struct set *s, const struct ends *base)
{
	uint64_t end_ns = base->ns[REPLAY_STRUCTURE], of_ns = end_ns - x->v.w.from_ns;
	uint64_t left_out_ns = 0, drift_ns, noise_ns, saved[2] = { of_ns, 0 };
	char text[2 * OBJECT_TEXT_BYTES];
	size_t len = 0;
	struct cell *cells;
	bool has_schedule = true;
	uint64_t bits = 0;
	int ret;

	for (size_t i = 0; i < s->cnt; i++) {
		const struct cause *c = &s->causes[i];

		/* A replay with a CPU scheduler has no recorded waits for a CPU to leave out. */
		has_schedule &= c->type != CAUSE_CPU;
		bits |= c->bit;
		if (len < sizeof(text))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s%s",
						i ? ", " : "", cause_types[c->type].word,
						c->name ? ":" : "", c->name ?: "");
	}
	/* The run with the unmodified shares is last: its path is used afterwards. */
	ret = bits ? count_hits(x, bits) : 0;
	for (int i = bits ? 0 : 2; i < 3 && !ret; i++) {
		struct ends ends;

		x->sigma = i == 2 ? 0 : i ? SIGMA_95 : -SIGMA_95;
		left_out_ns = replay_change(x->replay, keep_piece, (void *)s);
		ret = run_all(x, has_schedule, &ends);
		if (!ret)
			note_savings(x, base, &ends, has_schedule, saved);
	}
	if (ret == -EDEADLK)
		give_no_answer(x, strpool_put(x->texts, text));
	if (ret < 0)
		return ret == -EDEADLK ? 0 : ret;
	drift_ns = base->ns[REPLAY_SCHEDULED] > end_ns ? base->ns[REPLAY_SCHEDULED] - end_ns :
							 end_ns - base->ns[REPLAY_SCHEDULED];
	noise_ns = noise_of(x);
	if (!has_schedule || drift_ns < noise_ns)
		drift_ns = noise_ns;
	saved[0] -= drift_ns < saved[0] ? drift_ns : saved[0];
	saved[1] = saved[1] + drift_ns < of_ns ? saved[1] + drift_ns : of_ns;
	cells = view_row(&x->v, 0, NULL);
	view_text(&x->v, &cells[COL_WHATIF_CAUSE], strpool_put(x->texts, text));
	cell_int(&cells[COL_WHATIF_SAVES_MIN_NS], (int64_t)saved[0]);
	cell_int(&cells[COL_WHATIF_SAVES_MAX_NS], (int64_t)saved[1]);
	cell_int(&cells[COL_WHATIF_OF_NS], (int64_t)of_ns);
	cell_int(&cells[COL_WHATIF_DRIFT_NS], (int64_t)drift_ns);
	give_next(x, cells);
	give_verdict(x, cells, s, left_out_ns, of_ns);
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	return compare_numbers(y->path_ns, x->path_ns) ?: compare_numbers(x->type, y->type) ?:
	       strcmp(x->name ?: "", y->name ?: "");
}

/*
 * Finds the piece whose end is the end of the report. When a process exits, the threads that run
 * last may run only because they are killed. In this case the last piece of the main thread is
 * used, unless that piece ended before the killed threads were woken.
 */
static bool find_end(struct whatif *x, uint32_t *ret)
{
	const struct dense_ids *ids = &x->v.a->ids;
	const struct trace_thread *t = dense_thread_row(ids, x->last);
	const struct trace_process *p = dense_process_row(ids, dense_process_of(ids, x->last));
	const struct replay_piece *last;
	uint32_t place;

	if (!x->last || !replay_last_run(x->replay, x->last, ret))
		return false;
	if (!t || !p || !t->end_ns || t->tid == p->pid)
		return true;
	last = replay_at(x->replay, *ret);
	while (last->before && last->what != REPLAY_SLEEP)
		last = replay_at(x->replay, last->before - 1);
	for (uint32_t i = EVENT_ID_FIRST; i < ids->thread_cnt; i++) {
		const struct trace_thread *main;

		if (dense_process_of(ids, i) != dense_process_of(ids, x->last) ||
		    !replay_last_run(x->replay, i, &place))
			continue;
		main = dense_thread_row(ids, i);
		if (main && main->tid == p->pid && main->end_ns &&
		    replay_at(x->replay, place)->to_ns >= last->to_ns)
			*ret = place;
	}
	return true;
}

/*
 * Adds the ends of threads of the report that ended before the final stay on a CPU begins: the
 * workload would wait for such a thread if the thread ended last, although no recorded wait shows
 * this dependency.
 */
static int find_ends(struct whatif *x)
{
	const struct dense_ids *ids = &x->v.a->ids;
	const struct replay_piece *last;
	uint32_t end;
	int ret;

	if (!find_end(x, &end))
		return 0;
	last = replay_at(x->replay, end);
	ret = array_add(&x->ends, &x->end_cap, &x->end_cnt, end);
	for (uint32_t i = EVENT_ID_FIRST; i < ids->thread_cnt && !ret; i++) {
		const struct trace_thread *t = x->first_ns[i] ? dense_thread_row(ids, i) : NULL;

		if (t && t->end_ns && t->end_ns < x->v.w.to_ns &&
		    scope_has_thread(x->v.scope, i) && replay_last_run(x->replay, i, &end) &&
		    replay_at(x->replay, end)->to_ns <= last->from_ns)
			ret = array_add(&x->ends, &x->end_cap, &x->end_cnt, end);
	}
	return ret;
}

static int give_all(struct whatif *x, struct err *e)
{
	struct ends base;
	int ret = add_births(x);

	ret = ret ?: replay_prepare(x->replay, &x->cnt);
	ret = ret ?: find_ends(x);
	if (ret || !x->end_cnt)
		return ret;
	ret = run_all(x, true, &base);
	if (ret == -EDEADLK)
		give_no_answer(x, NULL);
	if (ret)
		return ret == -EDEADLK ? 0 : ret;
	if (x->is_given) {
		size_t cnt = x->cause_cnt;

		replay_path(x->replay, x->target, note_part, x);
		x->cause_cnt = cnt;
		for (size_t i = 0; x->is_each && i < cnt && !ret; i++)
			ret = give_causes(x, &(struct set){ x, &x->causes[i], 1 }, &base);
		return x->is_each ? ret :
				    give_causes(x, &(struct set){ x, x->causes, cnt }, &base);
	}
	replay_path(x->replay, x->target, note_part, x);
	ret = add_functions(x, e);
	if (x->cause_cnt)
		qsort(x->causes, x->cause_cnt, sizeof(*x->causes), by_path);
	/* give_causes() appends the next bottlenecks to x->causes. */
	for (size_t i = 0, given = 0; i < x->cause_cnt && given < 2 * CAUSES_MAX && !ret; i++) {
		struct cause c = x->causes[i];

		if (!c.is_next &&
		    (i >= CAUSES_MAX ||
		     200 * c.path_ns < base.ns[REPLAY_STRUCTURE] - x->v.w.from_ns))
			continue;
		ret = give_causes(x, &(struct set){ x, &c, 1 }, &base);
		given++;
	}
	return ret;
}

/* ---- the view ---- */

static int open_whatif(struct view *v, const struct table_query *q, struct err *e)
{
	struct whatif *x = (struct whatif *)v;
	const char *from = q->args[2].type == VALUE_TEXT ? q->args[2].s : "";
	const struct dense_ids *ids = &v->a->ids;
	int ret = strpool_new(&x->texts);

	x->machine = call_machine_of(trace_get(v->a->trace, "machine"));
	x->comms = calloc(ids->process_cnt + 1, sizeof(*x->comms));
	x->first_ns = calloc(ids->thread_cnt + 1, sizeof(*x->first_ns));
	if (ret < 0 || !x->comms || !x->first_ns || thread_makers_init(&x->makers, ids) < 0)
		return -ENOMEM;
	for (; *from && !ret; from += strcspn(from, "\n"), from += *from == '\n')
		ret = read_cause(x, from, from + strcspn(from, "\n"), e);
	x->is_given = x->cause_cnt > 0;
	x->is_each = q->args[3].type == VALUE_INT && q->args[3].i;
	ret = ret ?: read_samples(x, e);
	return ret ?: replay_new(&x->replay, ids->thread_cnt);
}

static int begin_whatif(struct view *v, struct err *e)
{
	const struct fold_run_config c = { .def = &fold_ends, .window = &v->w,
					   .sink = { v, on_found } };

	return fold_run_begin(&v->run, v->a, &c, e);
}

static int run_whatif(struct view *v, struct err *e)
{
	struct whatif *x = (struct whatif *)v;
	uint64_t decided;
	int ret = fold_run_to(&v->run, v->bin_to_ns, &decided, e);

	ret = ret ?: give_all(x, e);
	if (ret == -E2BIG)
		return err_set(e, ret, "the window has more than %u pieces of threads' time; "
			       "take a smaller one with --from and --to", PIECES_MAX);
	return ret ?: x->failed ? -ENOMEM : 0;
}

static void close_whatif(struct view *v)
{
	struct whatif *x = (struct whatif *)v;

	replay_free(x->replay);
	free(x->comms);
	free(x->first_ns);
	free(x->ends);
	free(x->objects);
	free(x->samples);
	free(x->hits);
	free(x->causes);
	hash_map_done(&x->object_numbers);
	thread_makers_done(&x->makers);
	strpool_free(x->texts);
}

static const struct view_def whatif_view = {
	.is_one_bin = true, .open = open_whatif,
	.begin = begin_whatif, .run_bin = run_whatif, .close = close_whatif,
};

const struct table_def table_whatif = VIEW_TABLE(WHATIF, whatif_view, struct whatif);
