/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Memory in an index, the writer's half: one fold per group of sources runs through the trace,
 * and every change goes to its owner's row and to all sets the owner is in.
 *
 * Levels are kept whole at an interval's beginning as often as the sums since the last time have
 * become as many as the levels: so finding the levels anywhere costs no more than they are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fold/index_job.h"
#include "analyze/fold/index_memory.h"
#include "base/array.h"

enum { SET_PROCESS, SET_COMM, SET_CGROUP, SET_CGROUP_OTHERS, SET_ALL, SET_CNT };

struct owner_state {
	int64_t level;
	uint32_t row, interval;	/* row is its row in that interval */
};

struct level_row {
	struct index_memory_row row;
	int64_t now;		/* level, from the interval's beginning */
};

struct level_set {
	uint64_t hash;
	int64_t now;
	uint64_t growth, growth_ns;
	uint32_t members, interval;
};

struct rate_row {
	uint64_t granule, bytes;
	uint32_t process;
	uint8_t slot;
};

struct rate_state {
	uint32_t row, interval;
};

struct level_job {
	struct index_job *j;
	enum index_group group;
	/* interval: counted from 1, of this job; 0: before the first */
	uint32_t owner_cnt, set_cnt, interval;
	struct owner_state *owners;	/* by slot and owner */
	struct level_row *rows;
	size_t row_cnt, row_cap;
	struct level_set *sets;		/* by slot and set */
	uint32_t *used;			/* sets of this interval, as in sets */
	size_t used_cnt, used_cap;
	struct rate_state *rates;	/* by slot and process */
	struct rate_row *rate_rows;
	size_t rate_cnt, rate_cap;
	size_t nonzero, since_base;	/* levels that are not 0; rows written since they were */
	struct grouping comms, cgroups;
	struct buf out;
};

/* ---- changes ---- */

static unsigned int slot_of(const struct alloc_change *c)
{
	return c->source == ALLOC_VM;
}

static uint32_t set_of(struct level_job *s, unsigned int which, uint32_t process)
{
	const struct trace_process *p = dense_process_row(&s->j->a->ids, process);
	uint32_t at = s->j->a->ids.process_cnt;

	switch (which) {
	case SET_PROCESS:
		return process;
	case SET_COMM:
		return at + grouping_of_process(&s->comms, process);
	case SET_CGROUP:
		return at + s->comms.cnt + grouping_of_process(&s->cgroups, process);
	case SET_CGROUP_OTHERS:
		return p && p->flags & TRACE_TASK_RECORDER
			       ? UINT32_MAX
			       : at + s->comms.cnt + s->cgroups.cnt +
					 grouping_of_process(&s->cgroups, process);
	default:
		return s->set_cnt - 1;
	}
}

static int join_set(struct level_job *s, uint32_t set, uint64_t hash)
{
	struct level_set *x = &s->sets[set];

	if (x->interval != s->interval) {
		if (array_reserve(&s->used, &s->used_cap, s->used_cnt + 1) < 0)
			return -ENOMEM;
		s->used[s->used_cnt++] = set;
		*x = (struct level_set){ .interval = s->interval };
	}
	x->hash += hash;
	x->members++;
	return 0;
}

static struct level_row *row_of(struct level_job *s, unsigned int slot, uint32_t owner,
				uint32_t process)
{
	struct owner_state *h = &s->owners[(size_t)slot * s->owner_cnt + owner];
	uint64_t hash;
	struct level_row *row;
	unsigned int i;

	if (h->interval == s->interval)
		return &s->rows[h->row];
	if (array_reserve(&s->rows, &s->row_cap, s->row_cnt + 1) < 0)
		return NULL;
	row = &s->rows[s->row_cnt];
	*row = (struct level_row){ .row = { .owner = owner, .slot = (uint8_t)slot } };
	hash = index_memory_hash(s->j->a, owner);
	for (i = 0; i < SET_CNT; i++) {
		uint32_t set = set_of(s, i, process);

		if (set != UINT32_MAX && join_set(s, slot * s->set_cnt + set, hash) < 0)
			return NULL;
	}
	h->interval = s->interval;
	h->row = (uint32_t)s->row_cnt++;
	return row;
}

static void move_sets(struct level_job *s, unsigned int slot, uint32_t process,
		      const struct alloc_change *c)
{
	unsigned int i;

	for (i = 0; i < SET_CNT; i++) {
		uint32_t set = set_of(s, i, process);
		struct level_set *x;

		if (set == UINT32_MAX)
			continue;
		x = &s->sets[slot * s->set_cnt + set];
		x->now += c->delta;
		if (x->now > (int64_t)x->growth) {
			x->growth = (uint64_t)x->now;
			x->growth_ns = c->ts_ns;
		}
	}
}

static int add_rate(struct level_job *s, unsigned int slot, const struct alloc_change *c)
{
	struct rate_state *r = &s->rates[(size_t)slot * s->j->a->ids.process_cnt + c->process];
	uint64_t granule = (c->ts_ns - s->j->a->start_ns) / INDEX_GRANULE_NS;

	if (r->interval == s->interval && s->rate_rows[r->row].granule == granule) {
		s->rate_rows[r->row].bytes += (uint64_t)c->delta;
		return 0;
	}
	if (array_reserve(&s->rate_rows, &s->rate_cap, s->rate_cnt + 1) < 0)
		return -ENOMEM;
	s->rate_rows[s->rate_cnt] =
		(struct rate_row){ granule, (uint64_t)c->delta, c->process, (uint8_t)slot };
	r->interval = s->interval;
	r->row = (uint32_t)s->rate_cnt++;
	return 0;
}

static int on_change(void *ctx, const void *found)
{
	struct level_job *s = ctx;
	const struct alloc_change *c = found;
	unsigned int slot = slot_of(c);
	uint32_t owner = index_memory_owner(s->j->a, c);
	struct owner_state *h = &s->owners[(size_t)slot * s->owner_cnt + owner];
	/*
	 * as groups see it: a thread counts for the process it has, which may be none that is
	 * known
	 */
	uint32_t process = owner < s->j->a->ids.thread_cnt
				   ? dense_process_of(&s->j->a->ids, owner)
				   : c->process;
	struct level_row *row;

	s->nonzero -= h->level != 0;
	h->level += c->delta;
	s->nonzero += h->level != 0;
	if (!s->interval)
		return 0;
	row = row_of(s, slot, owner, process);
	if (!row)
		return -ENOMEM;
	row->now += c->delta;
	if (row->now > (int64_t)row->row.growth) {
		row->row.growth = (uint64_t)row->now;
		row->row.growth_ns = c->ts_ns;
	}
	move_sets(s, slot, process, c);
	switch (c->kind) {
	case ALLOC_CHANGE_ALLOC:
		row->row.allocs++;
		row->row.alloc_bytes += (uint64_t)c->delta;
		return c->process >= EVENT_ID_FIRST ? add_rate(s, slot, c) : 0;
	case ALLOC_CHANGE_BASELINE:
		return 0;
	default:
		row->row.frees += c->kind == ALLOC_CHANGE_FREE || c->kind == ALLOC_CHANGE_UNPAIRED;
		row->row.lost_frees += c->kind == ALLOC_CHANGE_LOST;
		row->row.free_bytes += (uint64_t)-c->delta;
		return 0;
	}
}

/* ---- writing ---- */

static void put_owner(const struct level_job *s, uint32_t owner, unsigned int slot,
		       struct buf *out)
{
	const struct dense_ids *d = &s->j->a->ids;
	bool whole = owner >= d->thread_cnt;
	uint64_t id = whole ? dense_upid(d, owner - d->thread_cnt) : dense_utid(d, owner);

	packed_put(out, id << 2 | slot << 1 | whole);
}

static void put_levels(const struct level_job *s, struct buf *out)
{
	size_t i, n = (size_t)s->owner_cnt * INDEX_SLOT_CNT;

	packed_put(out, s->nonzero);
	for (i = 0; i < n; i++) {
		if (!s->owners[i].level)
			continue;
		put_owner(s, (uint32_t)(i % s->owner_cnt), (unsigned int)(i / s->owner_cnt),
			   out);
		packed_put_signed(out, s->owners[i].level);
	}
}

static void put_growth(struct level_job *s, uint64_t growth, uint64_t growth_ns, uint64_t from_ns)
{
	packed_put(&s->out, growth);
	if (growth)
		packed_put(&s->out, growth_ns - from_ns);
}

static int compare_sets(const void *pa, const void *pb)
{
	const struct index_memory_set *a = pa, *b = pb;

	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	return a->hash < b->hash ? -1 : a->hash > b->hash;
}

/* A set of one is its owner; the same owners may be several sets. */
static int put_sets(struct level_job *s, uint64_t from_ns)
{
	struct index_memory_set *sets = malloc((s->used_cnt + 1) * sizeof(*sets));
	size_t i, n = 0, k = 0;

	if (!sets)
		return -ENOMEM;
	for (i = 0; i < s->used_cnt; i++) {
		const struct level_set *x = &s->sets[s->used[i]];

		if (x->members > 1)
			sets[n++] = (struct index_memory_set){ x->hash, x->growth, x->growth_ns,
							       (uint8_t)(s->used[i] / s->set_cnt) };
	}
	qsort(sets, n, sizeof(*sets), compare_sets);
	for (i = 0; i < n; i++)
		if (!k || compare_sets(&sets[k - 1], &sets[i]))
			sets[k++] = sets[i];
	packed_put(&s->out, k);
	for (i = 0; i < k; i++) {
		packed_put(&s->out, sets[i].slot);
		packed_put(&s->out, sets[i].hash);
		put_growth(s, sets[i].growth, sets[i].growth_ns, from_ns);
	}
	free(sets);
	return 0;
}

static int put_sums(struct level_job *s, uint64_t from_ns)
{
	size_t i;

	packed_put(&s->out, s->row_cnt);
	for (i = 0; i < s->row_cnt; i++) {
		const struct index_memory_row *r = &s->rows[i].row;

		put_owner(s, r->owner, r->slot, &s->out);
		packed_put(&s->out, r->allocs);
		packed_put(&s->out, r->frees);
		packed_put(&s->out, r->lost_frees);
		packed_put(&s->out, r->alloc_bytes);
		packed_put(&s->out, r->free_bytes);
		packed_put_signed(&s->out, s->rows[i].now);
		put_growth(s, r->growth, r->growth_ns, from_ns);
	}
	return put_sets(s, from_ns);
}

static int compare_rates(const void *pa, const void *pb)
{
	const struct rate_row *a = pa, *b = pb;

	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->granule < b->granule ? -1 : a->granule > b->granule;
}

static void put_rates(struct level_job *s)
{
	const struct rate_row *r = s->rate_rows;
	size_t i, k;

	if (s->rate_cnt)
		qsort(s->rate_rows, s->rate_cnt, sizeof(*r), compare_rates);
	for (i = 0; i < s->rate_cnt; i = k) {
		uint64_t last = 0;

		for (k = i; k < s->rate_cnt && r[k].slot == r[i].slot &&
			    r[k].process == r[i].process; k++)
			;
		packed_put(&s->out,
			  (uint64_t)dense_upid(&s->j->a->ids, r[i].process) << 1 | r[i].slot);
		packed_put(&s->out, k - i);
		for (; i < k; i++) {
			packed_put(&s->out, r[i].granule - last);
			packed_put(&s->out, r[i].bytes);
			last = r[i].granule;
		}
	}
}

static int add(struct level_job *s, size_t interval, unsigned int part)
{
	int ret = index_add(s->j->x, s->j->z, interval, part + s->group, &s->out);

	buf_reset(&s->out);
	return ret;
}

static int begin_interval(void *ctx, size_t interval)
{
	struct level_job *s = ctx;
	int ret = 0;

	if (interval == s->j->from || s->since_base >= s->nonzero) {
		put_levels(s, &s->out);
		ret = add(s, interval, INDEX_BASE);
		s->since_base = 0;
	}
	s->interval++;
	s->row_cnt = s->used_cnt = s->rate_cnt = 0;
	return ret;
}

static int put_tail(void *ctx, struct buf *out)
{
	put_levels(ctx, out);
	return 0;
}

static int put_interval(void *ctx, size_t interval)
{
	struct level_job *s = ctx;
	int ret = 0;

	if (s->row_cnt)
		ret = put_sums(s, index_interval_from(s->j->x, interval));
	if (!ret)
		ret = add(s, interval, INDEX_SUMS);
	if (ret < 0)
		return ret;
	s->since_base += s->row_cnt + 1;
	put_rates(s);
	return add(s, interval, INDEX_RATES);
}

/* ---- the job ---- */

/* Everybody's levels behind the last interval of an older index. */
static int load_levels(struct level_job *s)
{
	struct index_job *j = s->j;
	struct buf mem = { 0 };
	struct packed_in in;
	size_t n;
	int ret = index_read_tail(j->x, INDEX_TAIL_MEMORY + s->group, &mem, &in);

	for (n = ret ? 0 : packed_get_cnt(&in); n; n--) {
		uint64_t id = packed_get(&in);
		uint32_t owner = id & 1 ? j->a->ids.thread_cnt +
						   dense_process(&j->a->ids, (uint32_t)(id >> 2))
					 : dense_thread(&j->a->ids, (uint32_t)(id >> 2));
		struct owner_state *h =
			&s->owners[(size_t)(id >> 1 & 1) * s->owner_cnt + owner];

		s->nonzero += !h->level;
		h->level = packed_get_signed(&in);
		s->nonzero -= !h->level;
	}
	if (!ret && in.bad)
		ret = -EBADMSG;
	buf_done(&mem);
	return ret;
}

static int prepare(struct level_job *s)
{
	const struct analysis *a = s->j->a;

	if (grouping_init(&s->comms, &a->ids, a->trace, GROUPING_COMM) < 0 ||
	    grouping_init(&s->cgroups, &a->ids, a->trace, GROUPING_CGROUP) < 0 ||
	    grouping_number_all(&s->comms) < 0 || grouping_number_all(&s->cgroups) < 0)
		return -ENOMEM;
	s->owner_cnt = index_memory_owner_cnt(a);
	s->set_cnt = a->ids.process_cnt + s->comms.cnt + 2 * s->cgroups.cnt + 1;
	s->owners = calloc((size_t)s->owner_cnt * INDEX_SLOT_CNT, sizeof(*s->owners));
	s->sets = calloc((size_t)s->set_cnt * INDEX_SLOT_CNT, sizeof(*s->sets));
	s->rates = calloc((size_t)a->ids.process_cnt * INDEX_SLOT_CNT, sizeof(*s->rates));
	return s->owners && s->sets && s->rates ? 0 : -ENOMEM;
}

int index_memory_job(struct index_job *j, enum index_group group)
{
	struct level_job s = { .j = j, .group = group };
	const struct fold_def *fold = fold_memory(group);
	const struct index_keeper keeper = { .sink = { &s, on_change }, .begin = begin_interval,
					     .put_tail = put_tail, .put = put_interval };
	int ret = prepare(&s);

	if (!ret && j->from)
		ret = load_levels(&s);
	if (!ret)
		ret = index_fold_job(j, &fold, 1, &keeper);
	grouping_done(&s.comms);
	grouping_done(&s.cgroups);
	free(s.owners);
	free(s.rows);
	free(s.sets);
	free(s.used);
	free(s.rates);
	free(s.rate_rows);
	buf_done(&s.out);
	return ret;
}
