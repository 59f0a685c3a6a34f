/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Memory in an index, the writer's half: one account per group of sources runs through the trace,
 * and every change goes to its holder's row and to all sets the holder is in.
 *
 * Levels are kept whole at a cell's beginning as often as the sums since the last time have become
 * as many as the levels: so finding the levels anywhere costs no more than they are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/index_job.h"
#include "analyze/index_memory.h"

enum { SET_PROCESS, SET_COMM, SET_CGROUP, SET_CGROUP_OTHERS, SET_ALL, SET_CNT };

struct holder_state {
	int64_t level;
	uint32_t row, cell;	/* row is its row in that cell */
};

struct level_row {
	struct index_memory_row row;
	int64_t now;		/* level, from the cell's beginning */
};

struct level_set {
	uint64_t hash;
	int64_t now;
	uint64_t rise, rise_ns;
	uint32_t members, cell;
};

struct rate_row {
	uint64_t granule, bytes;
	uint32_t process;
	uint8_t slot;
};

struct rate_state {
	uint32_t row, cell;
};

struct level_job {
	struct index_job *j;
	enum index_group group;
	uint32_t holder_cnt, set_cnt, cell;	/* cell: counted from 1, of this job; 0: before the first */
	struct alloc_account *account;
	struct holder_state *holders;	/* by slot and holder */
	struct level_row *rows;
	size_t row_cnt, row_cap;
	struct level_set *sets;		/* by slot and set */
	uint32_t *used;			/* sets of this cell, as in sets */
	size_t used_cnt, used_cap;
	struct rate_state *rates;	/* by slot and process */
	struct rate_row *rate_rows;
	size_t rate_cnt, rate_cap;
	size_t nonzero, since_base;	/* levels that are not 0; rows written since they were */
	struct grouping comms, cgroups;
	struct buf out;
};

/* Room for one more; NULL: out of memory. */
static void *grow(void **v, size_t cnt, size_t *cap, size_t bytes)
{
	if (cnt == *cap) {
		size_t n = *cap ? *cap * 2 : 256;
		void *p = realloc(*v, n * bytes);

		if (!p)
			return NULL;
		*v = p;
		*cap = n;
	}
	return (char *)*v + cnt * bytes;
}

/* ---- changes ---- */

static unsigned int slot_of(const struct alloc_change *c)
{
	return c->source == ALLOC_VM;
}

static uint32_t set_of(struct level_job *s, unsigned int which, uint32_t process)
{
	const struct trace_process *p = ident_process_row(&s->j->a->ident, process);
	uint32_t at = s->j->a->ident.process_cnt;

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
	uint32_t *used;

	if (x->cell != s->cell) {
		used = grow((void **)&s->used, s->used_cnt, &s->used_cap, sizeof(*used));
		if (!used)
			return -ENOMEM;
		*used = set;
		s->used_cnt++;
		*x = (struct level_set){ .cell = s->cell };
	}
	x->hash += hash;
	x->members++;
	return 0;
}

static struct level_row *row_of(struct level_job *s, unsigned int slot, uint32_t holder,
				uint32_t process)
{
	struct holder_state *h = &s->holders[(size_t)slot * s->holder_cnt + holder];
	uint64_t hash;
	struct level_row *row;
	unsigned int i;

	if (h->cell == s->cell)
		return &s->rows[h->row];
	row = grow((void **)&s->rows, s->row_cnt, &s->row_cap, sizeof(*row));
	if (!row)
		return NULL;
	*row = (struct level_row){ .row = { .holder = holder, .slot = (uint8_t)slot } };
	hash = index_memory_hash(s->j->a, holder);
	for (i = 0; i < SET_CNT; i++) {
		uint32_t set = set_of(s, i, process);

		if (set != UINT32_MAX && join_set(s, slot * s->set_cnt + set, hash) < 0)
			return NULL;
	}
	h->cell = s->cell;
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
		if (x->now > (int64_t)x->rise) {
			x->rise = (uint64_t)x->now;
			x->rise_ns = c->ts_ns;
		}
	}
}

static int add_rate(struct level_job *s, unsigned int slot, const struct alloc_change *c)
{
	struct rate_state *r = &s->rates[(size_t)slot * s->j->a->ident.process_cnt + c->process];
	uint64_t granule = (c->ts_ns - s->j->a->start_ns) / INDEX_GRANULE_NS;
	struct rate_row *row;

	if (r->cell == s->cell && s->rate_rows[r->row].granule == granule) {
		s->rate_rows[r->row].bytes += (uint64_t)c->delta;
		return 0;
	}
	row = grow((void **)&s->rate_rows, s->rate_cnt, &s->rate_cap, sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = (struct rate_row){ granule, (uint64_t)c->delta, c->process, (uint8_t)slot };
	r->cell = s->cell;
	r->row = (uint32_t)s->rate_cnt++;
	return 0;
}

static int on_change(void *ctx, const struct alloc_change *c)
{
	struct level_job *s = ctx;
	unsigned int slot = slot_of(c);
	uint32_t holder = index_memory_holder(s->j->a, c);
	struct holder_state *h = &s->holders[(size_t)slot * s->holder_cnt + holder];
	/* as groups see it: a thread counts for the process it has, which may be none that is known */
	uint32_t process = holder < s->j->a->ident.thread_cnt
				   ? ident_process_of(&s->j->a->ident, holder)
				   : c->process;
	struct level_row *row;

	s->nonzero -= h->level != 0;
	h->level += c->delta;
	s->nonzero += h->level != 0;
	if (!s->cell)
		return 0;
	row = row_of(s, slot, holder, process);
	if (!row)
		return -ENOMEM;
	row->now += c->delta;
	if (row->now > (int64_t)row->row.rise) {
		row->row.rise = (uint64_t)row->now;
		row->row.rise_ns = c->ts_ns;
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

static void put_holder(struct level_job *s, uint32_t holder, unsigned int slot)
{
	const struct ident *d = &s->j->a->ident;
	bool whole = holder >= d->thread_cnt;
	uint64_t id = whole ? ident_upid(d, holder - d->thread_cnt) : ident_utid(d, holder);

	index_put(&s->out, id << 2 | slot << 1 | whole);
}

static void put_levels(struct level_job *s)
{
	size_t i, n = (size_t)s->holder_cnt * INDEX_SLOT_CNT;

	index_put(&s->out, s->nonzero);
	for (i = 0; i < n; i++) {
		if (!s->holders[i].level)
			continue;
		put_holder(s, (uint32_t)(i % s->holder_cnt), (unsigned int)(i / s->holder_cnt));
		index_put_signed(&s->out, s->holders[i].level);
	}
}

static void put_rise(struct level_job *s, uint64_t rise, uint64_t rise_ns, uint64_t from_ns)
{
	index_put(&s->out, rise);
	if (rise)
		index_put(&s->out, rise_ns - from_ns);
}

static int compare_sets(const void *pa, const void *pb)
{
	const struct index_memory_set *a = pa, *b = pb;

	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	return a->hash < b->hash ? -1 : a->hash > b->hash;
}

/* A set of one is its holder; the same holders may be several sets. */
static int put_sets(struct level_job *s, uint64_t from_ns)
{
	struct index_memory_set *sets = malloc((s->used_cnt + 1) * sizeof(*sets));
	size_t i, n = 0, k = 0;

	if (!sets)
		return -ENOMEM;
	for (i = 0; i < s->used_cnt; i++) {
		const struct level_set *x = &s->sets[s->used[i]];

		if (x->members > 1)
			sets[n++] = (struct index_memory_set){
				x->hash, x->rise, x->rise_ns, (uint8_t)(s->used[i] / s->set_cnt) };
	}
	qsort(sets, n, sizeof(*sets), compare_sets);
	for (i = 0; i < n; i++)
		if (!k || compare_sets(&sets[k - 1], &sets[i]))
			sets[k++] = sets[i];
	index_put(&s->out, k);
	for (i = 0; i < k; i++) {
		index_put(&s->out, sets[i].slot);
		index_put(&s->out, sets[i].hash);
		put_rise(s, sets[i].rise, sets[i].rise_ns, from_ns);
	}
	free(sets);
	return 0;
}

static int put_sums(struct level_job *s, uint64_t from_ns)
{
	size_t i;

	index_put(&s->out, s->row_cnt);
	for (i = 0; i < s->row_cnt; i++) {
		const struct index_memory_row *r = &s->rows[i].row;

		put_holder(s, r->holder, r->slot);
		index_put(&s->out, r->allocs);
		index_put(&s->out, r->frees);
		index_put(&s->out, r->lost_frees);
		index_put(&s->out, r->alloc_bytes);
		index_put(&s->out, r->free_bytes);
		index_put_signed(&s->out, s->rows[i].now);
		put_rise(s, r->rise, r->rise_ns, from_ns);
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
		index_put(&s->out,
			  (uint64_t)ident_upid(&s->j->a->ident, r[i].process) << 1 | r[i].slot);
		index_put(&s->out, k - i);
		for (; i < k; i++) {
			index_put(&s->out, r[i].granule - last);
			index_put(&s->out, r[i].bytes);
			last = r[i].granule;
		}
	}
}

static int add(struct level_job *s, size_t cell, unsigned int part)
{
	int ret = index_add(s->j->x, s->j->z, cell, part + s->group, &s->out);

	buf_reset(&s->out);
	return ret;
}

static int make_cell(struct level_job *s, size_t cell)
{
	struct index_job *j = s->j;
	uint64_t from_ns = index_cell_from(j->x, cell);
	int ret = 0;

	buf_reset(&s->out);
	if (cell == j->last) {
		put_levels(s);
		ret = alloc_account_save(s->account, &s->out);
		if (!ret)
			ret = index_add_tail(j->x, j->z, INDEX_TAIL_MEMORY + s->group, &s->out);
		buf_reset(&s->out);
	}
	if (!ret && (cell == j->from || s->since_base >= s->nonzero)) {
		put_levels(s);
		ret = add(s, cell, INDEX_BASE);
		s->since_base = 0;
	}
	if (ret < 0)
		return ret;
	s->cell++;
	s->row_cnt = s->used_cnt = s->rate_cnt = 0;
	alloc_account_begin_cell(s->account);
	ret = alloc_account_run(s->account, index_cell_to(j->x, cell), &j->e);
	if (!ret && s->row_cnt)
		ret = put_sums(s, from_ns);
	if (!ret)
		ret = add(s, cell, INDEX_SUMS);
	if (ret < 0)
		return ret;
	s->since_base += s->row_cnt + 1;
	put_rates(s);
	ret = add(s, cell, INDEX_RATES);
	alloc_account_take_cell(s->account, &s->out);
	if (!ret)
		ret = add(s, cell, INDEX_STATE);
	return ret < 0 ? ret : index_job_done_cell(j, cell);
}

/* ---- the job ---- */

static int load_tail(struct level_job *s, uint32_t mask)
{
	struct index_job *j = s->j;
	struct alloc_account_start start = { .from_ns = index_job_from_ns(j), .whole = true };
	struct buf mem = { 0 };
	struct index_in in;
	size_t n;
	int ret = index_read_tail(j->x, INDEX_TAIL_MEMORY + s->group, &mem, &in);

	for (n = ret ? 0 : index_get_cnt(&in); n; n--) {
		uint64_t id = index_get(&in);
		uint32_t holder = id & 1 ? j->a->ident.thread_cnt +
						   ident_process(&j->a->ident, (uint32_t)(id >> 2))
					 : ident_thread(&j->a->ident, (uint32_t)(id >> 2));
		struct holder_state *h =
			&s->holders[(size_t)(id >> 1 & 1) * s->holder_cnt + holder];

		s->nonzero += !h->level;
		h->level = index_get_signed(&in);
		s->nonzero -= !h->level;
	}
	start.in = &in;
	if (!ret)
		ret = alloc_account_open_cell(&s->account, j->a, mask, &start, UINT64_MAX,
					      on_change, s, &j->e);
	buf_done(&mem);
	return ret;
}

static int begin_state(struct level_job *s)
{
	struct index_job *j = s->j;
	uint32_t mask = index_memory_mask(s->group);
	int ret;

	if (j->from)
		return load_tail(s, mask);
	ret = alloc_account_open(&s->account, j->a, mask, UINT64_MAX, on_change, s, &j->e);
	return ret < 0 || !j->end ? ret
				  : alloc_account_run(s->account, index_job_from_ns(j), &j->e);
}

static int prepare(struct level_job *s)
{
	const struct analysis *a = s->j->a;

	if (grouping_init(&s->comms, &a->ident, a->trace, GROUPING_COMM) < 0 ||
	    grouping_init(&s->cgroups, &a->ident, a->trace, GROUPING_CGROUP) < 0 ||
	    grouping_number_all(&s->comms) < 0 || grouping_number_all(&s->cgroups) < 0)
		return -ENOMEM;
	s->holder_cnt = index_memory_holder_cnt(a);
	s->set_cnt = a->ident.process_cnt + s->comms.cnt + 2 * s->cgroups.cnt + 1;
	s->holders = calloc((size_t)s->holder_cnt * INDEX_SLOT_CNT, sizeof(*s->holders));
	s->sets = calloc((size_t)s->set_cnt * INDEX_SLOT_CNT, sizeof(*s->sets));
	s->rates = calloc((size_t)a->ident.process_cnt * INDEX_SLOT_CNT, sizeof(*s->rates));
	return s->holders && s->sets && s->rates ? 0 : -ENOMEM;
}

int index_memory_job(struct index_job *j, enum index_group group)
{
	struct level_job s = { .j = j, .group = group };
	size_t i;
	int ret = prepare(&s);

	if (!ret)
		ret = begin_state(&s);
	for (i = j->from; i < j->end && !ret; i++)
		ret = make_cell(&s, i);
	alloc_account_close(s.account);
	grouping_done(&s.comms);
	grouping_done(&s.cgroups);
	free(s.holders);
	free(s.rows);
	free(s.sets);
	free(s.used);
	free(s.rates);
	free(s.rate_rows);
	buf_done(&s.out);
	return ret;
}
