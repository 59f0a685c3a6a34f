/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_writer: encodes one slice of wire records as one block.
 *
 * Stages: counting (block_fill), threads and processes (task_table), arrays (block_fill), the
 * thread on each CPU and small sections (here), event columns (column_writer), packing (block_out).
 * The state kept between blocks is task_table, the thread on each CPU, names, and scratch memory.
 *
 * Example of three records in the rings, and their places in the block:
 *
 *     CPU 1  11  wake-up of tid 9 by tid 3     a row of the wake-up columns
 *     CPU 0  12  switch from tid 7 to tid 9    a row of the switch columns
 *     CPU 0  15  128 bytes of slab, by tid 9   a row of the slab columns
 *
 * Tids 3, 7 and 9 become utids: UTIDS lists these three, and THREADS describes each thread at the
 * block's end. In the keyframe, tid 7 is on CPU 0, since the first switch on CPU 0 is from tid 7.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/chunk.h"
#include "record/encode/block_state.h"

/*
 * cpu_keyframe: finds the thread on each CPU at the start of a block's slice.
 *
 * This is the thread to which the last switch before the slice went. Before the first switch, it is
 * the thread that the first switch leaves, or the thread that a snapshot saw. A thread has one CPU
 * at a time: if a switch of another CPU names the thread, a switch was lost, and the thread on the
 * former CPU is unknown until that CPU's next switch. At the slice's end a thread is therefore on
 * the CPU of its last switch. The thread on a CPU is also unknown after switches of this CPU were
 * lost because the ring was full.
 */

static bool is_switch_of(const struct trace_loss *l, unsigned int cpu)
{
	return (l->hook == WIRE_SWITCH || l->hook == WIRE_SWITCH_MORE) &&
	       (l->cpu == cpu || l->cpu == UINT16_MAX);
}

static bool lost_switches(const struct block_slice *s, unsigned int cpu)
{
	for (size_t i = 0; i < s->loss_cnt; i++)
		if (is_switch_of(&s->losses[i], cpu))
			return true;
	return false;
}

/*
 * Returns true if switch records were lost in the ring after ts_ns. Skipped programs do not count:
 * the next switch record then contains how long its thread had the CPU (stay_ns).
 */
static bool lost_records_since(const struct block_slice *s, unsigned int cpu, uint64_t ts_ns)
{
	for (size_t i = 0; i < s->loss_cnt; i++)
		if (is_switch_of(&s->losses[i], cpu) && s->losses[i].to_ns > ts_ns &&
		    (s->losses[i].full_cnt || s->losses[i].other_cnt))
			return true;
	return false;
}

static uint32_t runner_slot(struct block_writer *w, const struct block_runner *r)
{
	if (r->thread)
		return block_slot_of(w, r->thread);
	switch (r->pseudo) {
	case EVENT_ID_IDLE:
		return SLOT_IDLE;
	case EVENT_ID_FILTERED:
		return SLOT_FILTERED;
	default:
		return SLOT_UNKNOWN;
	}
}

/*
 * Finds the thread on a CPU without a known thread. The first switch shows the thread that had the
 * CPU until then. Without a switch, the CPU had one thread for the whole slice, and the snapshot's
 * row is right unless switches were lost.
 */
static uint32_t first_runner(struct block_writer *w, const struct block_slice *s, unsigned int cpu,
			     uint32_t row, uint32_t end, bool *ret_known)
{
	const struct kind_rows *k = &w->rows[EVENT_SWITCH];
	bool is_lost = w->runners[cpu].lost || lost_switches(s, cpu);
	struct task_thread *t;
	uint32_t slot;

	if (w->config.no_switches) {
		*ret_known = false;
		return SLOT_UNKNOWN;
	}
	*ret_known = true;
	if (row < end) {
		slot = k->utid[row];
		t = w->slots.thread[slot];
		/*
		 * With --only, a thread outside the workload may have had the CPU without a record.
		 */
		if (w->config.filtered &&
		    !(t && t->process && t->process->flags & TRACE_TASK_WORKLOAD))
			return SLOT_FILTERED;
		return slot;
	}
	t = is_lost ? NULL : task_table_snap_runner(w->task_table, cpu, w->start_ns);
	if (t)
		return block_slot_of(w, t);
	if (w->config.filtered && !w->runners[cpu].lost)
		return SLOT_FILTERED;
	/* The snapshot includes every thread, and none was on this CPU. */
	if (w->config.cpu_online && w->config.cpu_online[cpu] && !is_lost &&
	    task_table_has_snap_since(w->task_table, w->start_ns))
		return SLOT_IDLE;
	*ret_known = false;
	return SLOT_UNKNOWN;
}

static uint32_t after_switch(const struct kind_rows *k, uint32_t row)
{
	uint64_t flags = k->tuples.values[(size_t)k->tuple[row] * k->tuples.width];

	return flags & EVENT_F_NEXT_OUT ? SLOT_FILTERED : k->ref[row];
}

static void set_runner(struct block_runner *r, struct task_thread *t, uint32_t pseudo)
{
	if (t)
		t->life.pinned++;
	if (r->thread)
		r->thread->life.pinned--;
	r->thread = t;
	r->pseudo = pseudo;
}

/* Finds the thread on a CPU at from_ns. */
static int begin_cpu(struct block_writer *w, const struct block_slice *s, unsigned int cpu)
{
	const struct kind_rows *k = &w->rows[EVENT_SWITCH];
	struct block_runner *r = &w->runners[cpu];
	struct block_cpu *c = &w->cpus[cpu];

	*c = (struct block_cpu){ .row = k->cpu_start[cpu],
				 .end = k->cpu_start[cpu + 1],
				 .since_ns = w->from_ns };
	c->run = r->known ? runner_slot(w, r) : first_runner(w, s, cpu, c->row, c->end, &r->known);
	if (c->run == UINT32_MAX)
		return -ENOMEM;
	/* Late records show switches before the slice began. */
	for (; c->row < c->end && k->ts_ns[c->row] < w->from_ns; c->row++)
		if (k->ts_ns[c->row] >= r->last_ns)
			c->run = after_switch(k, c->row);
	return 0;
}

static int begin_cpus(struct block_writer *w, const struct block_slice *s)
{
	int r;

	for (unsigned int cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
		r = begin_cpu(w, s, cpu);
		if (r < 0)
			return r;
	}
	if (array_reserve(&w->sights, &w->sight_cap, w->slots.cnt) < 0)
		return -ENOMEM;
	memset(w->sights, 0, w->slots.cnt * sizeof(*w->sights));
	for (unsigned int cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
		struct block_cpu *c = &w->cpus[cpu];

		/* A keyframe must not have a thread on two CPUs. */
		if (c->run >= SLOT_FIRST && w->sights[c->run].is_on)
			c->run = SLOT_UNKNOWN;
		w->sights[c->run].is_on = true;
		w->running[cpu] = c->run;
	}
	return 0;
}

static void account_switches(struct block_writer *w, unsigned int cpu)
{
	const struct kind_rows *k = &w->rows[EVENT_SWITCH];
	struct block_cpu *c = &w->cpus[cpu];
	struct block_sight *s;

	for (; c->row < c->end && k->ts_ns[c->row] < w->to_ns; c->row++) {
		c->since_ns = k->ts_ns[c->row];
		s = &w->sights[k->utid[c->row]];
		if (c->since_ns > s->left_ns)
			s->left_ns = c->since_ns;
		c->run = after_switch(k, c->row);
		s = &w->sights[c->run];
		if (c->since_ns >= s->came_ns) {
			s->came_ns = c->since_ns;
			s->came_to = cpu + 1;
		}
	}
}

/*
 * Returns true if this CPU's thread was seen on another CPU after its switch to this CPU, or at the
 * same instant: switches with equal timestamps have no order.
 */
static bool is_elsewhere(const struct block_writer *w, unsigned int cpu)
{
	const struct block_cpu *c = &w->cpus[cpu];
	const struct block_sight *s = &w->sights[c->run];

	return c->run >= SLOT_FIRST &&
	       (s->left_ns > c->since_ns ||
		(s->came_to && s->came_to != cpu + 1 && s->came_ns >= c->since_ns));
}

static void end_cpu(struct block_writer *w, const struct block_slice *s, unsigned int cpu)
{
	const struct kind_rows *k = &w->rows[EVENT_SWITCH];
	struct block_runner *r = &w->runners[cpu];
	struct block_cpu *c = &w->cpus[cpu];
	bool is_lost = lost_records_since(s, cpu, c->since_ns);

	/* A lost switch may have taken the thread off the CPU at an unknown time. */
	c->needs_end = is_lost && c->run != SLOT_UNKNOWN;
	if (is_lost || is_elsewhere(w, cpu)) {
		c->run = SLOT_UNKNOWN;
		r->known = false;
		r->lost = true;
	} else if (r->known) {
		r->lost = false;
	}
	c->last_run = c->run;
	for (; c->row < c->end; c->row++) {
		c->run = after_switch(k, c->row);
		r->known = true;
		r->lost = false;
	}
	if (k->cpu_start[cpu] < c->end && k->ts_ns[c->end - 1] > r->last_ns)
		r->last_ns = k->ts_ns[c->end - 1];
	set_runner(r, w->slots.thread[c->run], w->slots.utid[c->run]);
}

/* Finds the thread on each CPU at from_ns, for the keyframe, and at to_ns, for the next block. */
static int account_cpus(struct block_writer *w, const struct block_slice *s)
{
	int r;

	r = begin_cpus(w, s);
	if (r < 0)
		return r;
	for (unsigned int cpu = 0; cpu < w->config.cpu_cnt; cpu++)
		account_switches(w, cpu);
	for (unsigned int cpu = 0; cpu < w->config.cpu_cnt; cpu++)
		end_cpu(w, s, cpu);
	return 0;
}

/* Discards a start state that the snapshot may have read after the thread's event at ts_ns. */
static void check_start_state(struct block_writer *w, uint32_t slot, uint64_t ts_ns)
{
	struct task_thread *t = w->slots.thread[slot];

	if (t && ts_ns <= t->state_ns)
		t->start_state = 0;
}

/*
 * For the first block: discards start states that the snapshot read after a switch or wake-up of
 * the thread, because these are later states.
 */
static void check_start_states(struct block_writer *w)
{
	static const unsigned int kinds[] = { EVENT_SWITCH, EVENT_WAKEUP };

	for (unsigned int i = 0; i < 2; i++) {
		const struct kind_rows *k = &w->rows[kinds[i]];

		for (uint32_t at = 0; at < k->cnt; at++) {
			check_start_state(w, k->ref[at], k->ts_ns[at]);
			if (kinds[i] == EVENT_SWITCH)
				check_start_state(w, k->utid[at], k->ts_ns[at]);
		}
	}
}

/* Appends CPU_STATE rows. */
static void put_keyframe(struct block_writer *w)
{
	bool needs_end = false;

	for (unsigned int cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
		row_put_cpu_state(&w->small[CHUNK_CPU_STATE], &(struct row_cpu_state){
			.cpu = cpu, .utid = w->slots.utid[w->running[cpu]] });
		needs_end |= w->cpus[cpu].needs_end;
	}
	for (unsigned int cpu = 0; needs_end && cpu < w->config.cpu_cnt; cpu++)
		row_put_cpu_end(&w->small[CHUNK_CPU_END], &(struct row_cpu_end){
			.cpu = cpu, .utid = w->slots.utid[w->cpus[cpu].last_run] });
}

/* ---- writer ---- */

static int writer_alloc(struct block_writer *w)
{
	unsigned int cpu_cnt = w->config.cpu_cnt, kind;

	for (kind = 0; kind < EVENT_KIND_CNT; kind++)
		if (kind_rows_init(&w->rows[kind], kind, cpu_cnt) < 0)
			return -ENOMEM;
	w->tally = calloc((size_t)WIRE_HOOK_MAX * cpu_cnt, sizeof(*w->tally));
	w->pos = calloc((size_t)EVENT_KIND_CNT * cpu_cnt, sizeof(*w->pos));
	w->runners = calloc(cpu_cnt, sizeof(*w->runners));
	w->running = calloc(cpu_cnt, sizeof(*w->running));
	w->cpus = calloc(cpu_cnt, sizeof(*w->cpus));
	if (!w->tally || !w->pos || !w->runners || !w->running || !w->cpus)
		return -ENOMEM;
	return 0;
}

int block_writer_new(struct block_writer **ret, const struct block_writer_config *config)
{
	struct block_writer *w;
	int r;

	if (!config->cpu_cnt || config->cpu_cnt > CHUNK_CPUS_MAX || config->zstd_level < -1 ||
	    config->zstd_level > 19)
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->config = *config;
	writeback_owners_init(&w->owners, writeback_owner_pin);
	file_paths_init(&w->paths);
	if (!w->config.tasks.page_bytes)
		w->config.tasks.page_bytes = 4096;
	r = writer_alloc(w) ?: task_table_new(&w->task_table, &w->config.tasks);
	r = r ?: strpool_new(&w->span_names);
	r = r ?: block_out_init(&w->out, config->zstd_level);
	if (r < 0) {
		block_writer_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void block_writer_free(struct block_writer *w)
{
	if (!w)
		return;
	block_fill_done(w);
	column_writer_done(&w->columns);
	block_out_done(&w->out);
	block_names_done(w);
	block_dict_done(&w->sites);
	block_dict_done(&w->stacks);
	writeback_owners_clear(&w->owners);
	inode_cache_clear(&w->paths);
	hash_map_done(&w->places);
	hash_map_done(&w->span_numbers);
	strpool_free(w->span_names);
	request_lost_end_done(&w->unseen);
	task_table_free(w->task_table);
	free(w->tally);
	free(w->pos);
	free(w->runners);
	free(w->running);
	free(w->cpus);
	free(w->sights);
	for (unsigned int i = 0; i < CHUNK_SMALL_END; i++)
		buf_done(&w->small[i].out);
	free(w);
}

int block_writer_add_workload(struct block_writer *w, uint32_t pid)
{
	return task_table_add_workload(w->task_table, pid);
}

uint64_t block_writer_workload_execs(const struct block_writer *w)
{
	return task_table_workload_execs(w->task_table);
}

int block_writer_set_cmdline(struct block_writer *w, uint32_t pid, const char *args,
			     size_t args_len)
{
	return task_table_set_cmdline(w->task_table, pid, args, args_len);
}

void block_writer_force_keyframe(struct block_writer *w)
{
	w->force_keyframe = true;
}

static void put_rows(struct block_writer *w, unsigned int section, const void *rows, size_t cnt)
{
	const struct row_type *of = row_type_of(section);

	for (size_t i = 0; i < cnt; i++)
		row_put(&w->small[section], of, (const char *)rows + i * of->bytes);
}

static void put_slice_rows(struct block_writer *w, const struct block_slice *s)
{
	put_rows(w, CHUNK_LOSS, s->losses, s->loss_cnt);
	put_rows(w, CHUNK_COST, s->costs, s->cost_cnt);
	put_rows(w, CHUNK_HOOK_STATS, s->hook_stats, s->hook_stat_cnt);
	put_rows(w, CHUNK_GAPS, s->gaps, s->gap_cnt);
	put_rows(w, CHUNK_CLOCKS, s->clocks, s->clock_cnt);
	put_rows(w, CHUNK_MARKS, s->marks, s->mark_cnt);
}

/* ---- names ---- */

/*
 * Adds the names of the ids in a tuple column. The dictionary of tuples has every distinct value,
 * so events need not be read.
 */
static int use_tuple_names(struct block_writer *w, unsigned int kind, unsigned int at,
			   enum trace_name_type type)
{
	const struct tuple_dict *d = &w->rows[kind].tuples;
	int r = 0;

	for (uint32_t i = 0; i < d->cnt && r == 0; i++)
		r = block_use_name(w, type, d->values[(size_t)i * d->width + at]);
	return r;
}

/*
 * Names only interrupt lines: soft interrupts and the CPU's own interrupts have fixed names
 * (FORMAT.md).
 */
static int use_irq_names(struct block_writer *w)
{
	const struct tuple_dict *d = &w->rows[EVENT_IRQ].tuples;
	int r = 0;

	for (uint32_t i = 0; i < d->cnt && r == 0; i++) {
		/* flags, then the TUPLE columns */
		const uint64_t *v = &d->values[(size_t)i * d->width + 1];

		if (v[EV_IRQ_TYPE] == EVENT_IRQ_LINE)
			r = block_use_name(w, TRACE_NAME_IRQ, v[EV_IRQ_VECTOR] + 1);
	}
	return r;
}

/*
 * Names the ids in those columns of a kind that are declared to refer to names. Paths and sockets
 * are named elsewhere, when they are numbered.
 */
static int use_kind_names(struct block_writer *w, unsigned int kind)
{
	const struct event_column *c;
	unsigned int i, at = 0;	/* index in a tuple: 0 is flags, then the TUPLE columns */
	int r = 0;

	for (i = 0; r == 0 && (c = event_column(kind, i)); i++) {
		if (c->codec != EVENT_CODEC_TUPLE)
			continue;
		at++;
		if (c->refers > EVENT_REFERS_NAME)
			r = use_tuple_names(w, kind, at, c->refers - EVENT_REFERS_NAME);
	}
	return r;
}

static int put_names(struct block_writer *w)
{
	const struct task_process *const *p;
	size_t i, cnt;
	int r = 0;

	for (unsigned int kind = 1; kind < EVENT_KIND_CNT && r == 0; kind++)
		r = use_kind_names(w, kind);
	r = r ?: use_irq_names(w);
	p = task_table_used_processes(w->task_table, &cnt);
	for (i = 0; i < cnt && r == 0; i++) {
		r = block_use_name(w, TRACE_NAME_CGROUP, p[i]->cgroup_id);
		r = r ?: block_use_name(w, TRACE_NAME_USER, p[i]->uid + 1ull);
	}
	return r;
}

/* Writes the quotas of the named groups, and names the groups that set the quotas. */
static int put_quotas(struct block_writer *w, const struct block_slice *s)
{
	const struct id_names_calls *names = &w->config.names;
	const struct trace_quota *q;
	int r = 0;

	for (size_t i = 0; r == 0 && names->quota && (q = names->quota(names->ctx, i)); i++) {
		struct trace_quota row = *q;

		if (!row.quota_ns)
			continue;
		row.from_ns = s->from_ns;
		row.to_ns = s->to_ns;
		row_put_quota(&w->small[CHUNK_QUOTAS], &row);
		r = block_use_name(w, TRACE_NAME_CGROUP, row.limit_id);
	}
	return r;
}

#define LATE_MAX_BYTES (8u << 20)	/* limit for sites; the rest is written in the next block */

/* Writes sites whose names were found after an earlier block had used them. */
static void put_late_sites(struct block_writer *w)
{
	const struct id_names_calls *names = &w->config.names;
	struct trace_site row;

	while (names->late_site && w->small[CHUNK_SITES].out.len < LATE_MAX_BYTES &&
	       names->late_site(names->ctx, &row))
		row_put_site(&w->small[CHUNK_SITES], &row);
}

/* ---- encoding ---- */

static int build(struct block_writer *w, const struct block_slice *s)
{
	struct block_slots *slots = &w->slots;
	struct row_writer *small = w->small;
	int r;

	block_out_begin(&w->out);
	r = block_count_records(w, s);
	r = r ?: task_table_begin(w->task_table, w->epoch, s->from_ns, w->start_ns);
	r = r ?: block_slots_begin(w);
	r = r ?: task_table_put_rss_state(w->task_table, &small[CHUNK_RSS_STATE], s->from_ns);
	r = r ?: task_table_apply(w->task_table, w->tasks.v, w->tasks.cnt,
				  &small[CHUNK_TASK_EVENTS], &small[CHUNK_RSS_SNAPS]);
	r = r ?: file_paths_note(w) ?: block_fill_rows(w, s) ?: account_cpus(w, s);
	if (r < 0)
		return r;
	if (!w->number)
		check_start_states(w);
	put_keyframe(w);
	put_slice_rows(w, s);
	if (w->force_keyframe) {	/* lists every live task */
		block_names_forget(w, w->keyframe_epoch);
		r = task_table_use_alive(w->task_table, s->from_ns);
	}
	r = r ?: task_table_put_tasks(w->task_table, &small[CHUNK_PROCESSES],
				      &small[CHUNK_THREADS]);
	/* traces that begin later must not use the start states */
	for (uint32_t slot = SLOT_FIRST; slot < slots->cnt; slot++)
		slots->thread[slot]->start_state = slots->thread[slot]->start_call = 0;
	r = r ?: put_names(w) ?: put_quotas(w, s);
	put_late_sites(w);
	if (r < 0)
		return r;
	for (unsigned int i = 0; i < CHUNK_SMALL_END; i++)
		block_out_add_rows(&w->out, i, &small[i]);
	r = column_add_utids(&w->out, slots->utid, slots->hits, slots->cnt, slots->rank,
			     slots->order);
	return r < 0 ? r : column_write_all(&w->columns, &w->out, w->rows, w->config.cpu_cnt,
					    w->first_ns, slots->rank);
}

int block_writer_encode(struct block_writer *w, const struct block_slice *s, const void **ret_block,
			size_t *ret_bytes, struct block_stats *ret_stats)
{
	struct disk_block head;
	int r;

	if (s->to_ns < s->from_ns)
		return -EINVAL;
	w->from_ns = s->from_ns;
	w->to_ns = s->to_ns;
	w->epoch++;
	if (!w->number)
		w->start_ns = s->from_ns;
	for (unsigned int i = 0; i < CHUNK_SMALL_END; i++) {
		buf_reset(&w->small[i].out);
		w->small[i].cnt = 0;
		w->small[i].base_ns = s->from_ns;
	}
	r = build(w, s);
	if (r < 0)
		return r;
	memset(&head, 0, sizeof(head));
	head.from_ns = s->from_ns;
	head.to_ns = s->to_ns;
	head.first_ns = w->first_ns;
	head.last_ns = w->last_ns;
	head.number = w->number;
	head.cpu_cnt = w->config.cpu_cnt;
	for (unsigned int kind = 1; kind < EVENT_KIND_CNT; kind++)
		head.kind_cnt[kind] = w->rows[kind].cnt;
	r = block_out_seal(&w->out, &head, ret_block, ret_bytes);
	if (r < 0)
		return r;
	w->number++;
	if (w->force_keyframe)
		w->keyframe_epoch = w->epoch;
	w->force_keyframe = false;
	if (ret_stats)
		*ret_stats = w->stats;
	return 0;
}
