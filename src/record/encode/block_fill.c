/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_fill: converts wire records to arrays per kind and column, in two passes.
 *
 * The first pass counts records by hook and CPU, so every (kind, CPU) has its range in the arrays;
 * the caller also reports the counts as statistics. The pass collects the task records, sorted by
 * time, for task_table. The loop runs for every record, so everything that can be computed from the
 * sums is left to sum_tally().
 *
 * The second pass resolves tids and stores the values, with one switch statement per record and no
 * allocation.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/chunk.h"
#include "format/event.h"
#include "model/call.h"
#include "record/encode/block_state.h"

/* Distance of prefetching: the records were written by another CPU, maybe long ago. */
#define AHEAD_BYTES 768

/*
 * BPF programs read the clock before they reserve room in the ring. An interrupt between the two
 * steps may store its record first, so records may be out of order by a place or two, which
 * insertion sorts at almost no cost. Rows that are far out of order (such as those of the heap,
 * whose records arrive in chunks) are sorted by radix.
 */

#define ORDER_INSERT_MAX 256	/* maximum distance by which insertion moves a row */
#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

/* Moves an element of `bytes` bytes from index `from` to the lower index `to`. */
static inline void move(void *v, size_t bytes, uint32_t from, uint32_t to)
{
	char *at;
	uint64_t x;

	if (!v)
		return;
	at = (char *)v + to * bytes;
	memcpy(&x, (char *)v + from * bytes, bytes);
	memmove(at + bytes, at, (from - to) * bytes);
	memcpy(at, &x, bytes);
}

/* Reorders n elements from index `start` on: element i is replaced by element order[i]. */
static void apply(void *v, size_t bytes, uint32_t start, const uint64_t *order, uint32_t n,
		  char *scratch)
{
	char *first;

	if (!v)
		return;
	first = (char *)v + start * bytes;
	for (uint32_t i = 0; i < n; i++)
		memcpy(scratch + i * bytes, first + (uint32_t)order[i] * bytes, bytes);
	memcpy(first, scratch, n * bytes);
}

/* Sorts by one digit, stably. */
static void sort_digit(uint64_t *to, const uint64_t *from, uint32_t n, unsigned int shift)
{
	uint32_t end[DIGITS + 1] = { 0 }, i;

	for (i = 0; i < n; i++)
		end[(from[i] >> shift) % DIGITS + 1]++;
	for (i = 1; i < DIGITS; i++)
		end[i] += end[i - 1];
	for (i = 0; i < n; i++)
		to[end[(from[i] >> shift) % DIGITS]++] = from[i];
}

/*
 * Sorts the indexes 0 .. n - 1 of ts by time. The lower half of each value in *ret is an index, the
 * upper half the sort key: the time since the first row. *ret and *ret_other are the halves of v,
 * which has 2 * n elements.
 */
static int order_places(const uint64_t *ts, uint32_t n, uint64_t *v, uint64_t **ret,
			uint64_t **ret_other)
{
	uint64_t first = UINT64_MAX, last = 0, *from = v, *to = v + n, *swap;
	size_t *order;
	uint32_t i;

	for (i = 0; i < n; i++) {
		first = ts[i] < first ? ts[i] : first;
		last = ts[i] > last ? ts[i] : last;
	}
	*ret = from;
	*ret_other = to;
	if (last - first > UINT32_MAX) {	/* longer than any slice */
		order = array_order(ts, n, sizeof(*ts));
		for (i = 0; order && i < n; i++)
			from[i] = order[i];
		free(order);
		return order ? 0 : -ENOMEM;
	}
	for (i = 0; i < n; i++)
		from[i] = (ts[i] - first) << 32 | i;
	for (unsigned int shift = 32; shift < 64; shift += DIGIT_BITS) {
		sort_digit(to, from, n, shift);
		swap = from;
		from = to;
		to = swap;
	}
	*ret = from;
	*ret_other = to;
	return 0;
}

static int sort_rows(struct kind_rows *k, uint32_t start, uint32_t n)
{
	uint64_t *places = malloc(2 * (size_t)n * sizeof(*places)), *sorted, *other;
	char *scratch;
	int r = places ? order_places(k->ts_ns + start, n, places, &sorted, &other) : -ENOMEM;

	if (r < 0)
		goto out;
	scratch = (char *)other;
#define APPLY(array) apply(array, sizeof(*(array)), start, sorted, n, scratch)
	APPLY(k->utid);
	APPLY(k->ref);
	APPLY(k->tuple);
	for (unsigned int c = 0; c < EVENT_VALUES; c++)
		APPLY(k->val[c]);
	APPLY(k->ts_ns);
#undef APPLY
out:
	free(places);
	return r;
}

static int order_rows(struct kind_rows *k, uint32_t start, uint32_t end)
{
	const uint64_t *ts = k->ts_ns;
	uint32_t i, lo;

	for (i = start + 1; i < end; i++) {
		if (ts[i - 1] <= ts[i])
			continue;
		lo = start + (uint32_t)lower_bound_plain(ts + start, i - start, ts[i] + 1);
		if (i - lo > ORDER_INSERT_MAX)
			return sort_rows(k, start, end - start);
#define MOVE(array) move(array, sizeof(*(array)), i, lo)
		MOVE(k->utid);
		MOVE(k->ref);
		MOVE(k->tuple);
		for (unsigned int c = 0; c < EVENT_VALUES; c++)
			MOVE(k->val[c]);
		MOVE(k->ts_ns);
#undef MOVE
	}
	return 0;
}

/*
 * Adds a step; sort all steps afterwards with steps_order(). At the same instant, paths precede
 * dirtyings, which precede other records in order of arrival. -ENOMEM.
 */
static int steps_add(struct block_steps *s, const struct wire_hdr *h, uint32_t row)
{
	struct task_step step = { h->ts_ns, h, row, (uint32_t)s->cnt };

	return array_add(&s->v, &s->cap, &s->cnt, step);
}

/*
 * Returns the rank of a hook among steps of the same instant: paths, then dirtyings, then others.
 */
static int step_rank(unsigned int hook)
{
	return hook == WIRE_PATH ? 0 : hook == WIRE_DIRTY ? 1 : 2;
}

static int step_cmp(const void *a, const void *b)
{
	const struct task_step *x = a, *y = b;

	return compare_numbers(x->ts_ns, y->ts_ns) ?:
	       step_rank(x->h->hook) - step_rank(y->h->hook) ?:
	       compare_numbers(x->number, y->number);
}

static void steps_order(struct block_steps *s)
{
	/* v may be NULL if there are no steps */
	if (s->cnt > 1)
		qsort(s->v, s->cnt, sizeof(*s->v), step_cmp);
}

/* by hook: enum event_kind; 0: the hook's records have no columns */
static const uint8_t wire_hook_kind[WIRE_HOOK_MAX] = {
#define X(hook, kind, class) [WIRE_##hook] = EVENT_##kind,
	WIRE_HOOKS(X)
#undef X
};

/*
 * Counts a record without columns: a name, a task or a snapshot row. Snapshot rows are not events
 * of a CPU.
 */
static int count_step(struct block_writer *w, const struct wire_hdr *h)
{
	if (h->hook != WIRE_TASK_SNAP) {
		if (h->cpu >= w->config.cpu_cnt) {
			w->stats.bad_cnt++;
			return 0;
		}
		w->stats.event_cnt[wire_hook_class[h->hook]] += !wire_hook_is_name(h->hook);
		w->stats.late_cnt += h->ts_ns < w->from_ns;
	}
	if (h->hook == WIRE_SOCKET)
		return socket_names_note(w, (const struct wire_socket *)h);
	if (h->hook == WIRE_PLACE)
		return kernel_places_note(w, (const struct wire_place *)h);
	return steps_add(h->hook == WIRE_PATH ? &w->steps : &w->tasks, h, 0);
}

static int count_segment(struct block_writer *w, const struct block_segment *g)
{
	const uint8_t *p = g->data, *end = p + g->bytes;
	unsigned int cpu_cnt = w->config.cpu_cnt;
	uint32_t *tally = w->tally;
	int r;

	while (p < end) {
		const struct wire_hdr *h = (const struct wire_hdr *)p;
		size_t bytes = wire_record_size(p, (size_t)(end - p));

		if (!bytes) {
			w->stats.bad_cnt++;
			break;
		}
		p += bytes;
		__builtin_prefetch(p + AHEAD_BYTES);
		if (!wire_hook_kind[h->hook]) {
			r = count_step(w, h);
			if (r < 0)
				return r;
		} else if (h->cpu < cpu_cnt) {
			tally[h->cpu * WIRE_HOOK_MAX + h->hook]++;
		} else {
			w->stats.bad_cnt++;
		}
	}
	return 0;
}

/* Adds up the counts by hook to counts by kind and by class. */
static void sum_tally(struct block_writer *w)
{
	memset(w->pos, 0, (size_t)EVENT_KIND_CNT * w->config.cpu_cnt * sizeof(*w->pos));
	for (unsigned int cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
		for (unsigned int hook = 0; hook < WIRE_HOOK_MAX; hook++) {
			uint32_t n = w->tally[cpu * WIRE_HOOK_MAX + hook];

			w->pos[cpu * EVENT_KIND_CNT + wire_hook_kind[hook]] += n;
			w->stats.event_cnt[wire_hook_class[hook]] += n;
		}
	}
}

#define WIRE_STATE_DEAD (0x10 | 0x20 | 0x80)	/* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */

/*
 * Adds the last switches of dead threads for execs by threads other than the leader. Such an exec
 * exchanges the tids of two threads, and the last switch of the dead thread shows when this
 * happened.
 */
static int add_last_switches(struct block_writer *w, const struct block_slice *s)
{
	size_t task_cnt = w->tasks.cnt;
	int r = 0;

	for (size_t n = 0; n < task_cnt; n++) {
		const struct wire_exec *x = (const void *)w->tasks.v[n].h;

		if (x->hdr.hook != WIRE_TASK_EXEC || x->old_tid == x->tid || !x->old_tid)
			continue;
		for (size_t i = 0; i < s->segment_cnt; i++) {
			const uint8_t *p = s->segments[i].data, *end = p + s->segments[i].bytes;
			size_t bytes;

			for (; p < end && (bytes = wire_record_size(p, (size_t)(end - p)));
			     p += bytes) {
				const struct wire_hdr *h = (const struct wire_hdr *)p;
				const struct wire_switch *k =
					h->hook == WIRE_SWITCH ? (const void *)h :
					h->hook == WIRE_SWITCH_MORE ?
					&((const struct wire_switch_more *)h)->common : NULL;

				if (k && (h->tid == x->tid || h->tid == x->old_tid) &&
				    h->ts_ns <= x->hdr.ts_ns &&
				    k->prev_state & WIRE_STATE_DEAD)
					r = r ?: steps_add(&w->tasks, h, 0);
			}
		}
	}
	return r;
}

int block_count_records(struct block_writer *w, const struct block_slice *s)
{
	uint64_t total = 0;
	int r;

	memset(w->tally, 0, (size_t)WIRE_HOOK_MAX * w->config.cpu_cnt * sizeof(*w->tally));
	memset(&w->stats, 0, sizeof(w->stats));
	w->tasks.cnt = 0;
	w->steps.cnt = 0;
	for (size_t i = 0; i < s->segment_cnt; i++) {
		r = count_segment(w, &s->segments[i]);
		if (r < 0)
			return r;
	}
	sum_tally(w);
	for (size_t i = 0; i < 4; i++)
		total += w->stats.event_cnt[i];
	if (total > CHUNK_EVENTS_MAX)
		return -E2BIG;
	if (add_last_switches(w, s) < 0)
		return -ENOMEM;
	steps_order(&w->tasks);
	return 0;
}

/* Reallocates one of several arrays that share the capacity cap. */
#define GROW(array)                                                      \
	p = realloc(array, (size_t)cap * sizeof(*(array)));              \
	if (!p)                                                          \
		return -ENOMEM;                                          \
	array = p;

/* ---- slots ---- */

static int slots_room(struct block_slots *s)
{
	uint32_t cap = s->cap ? s->cap * 2 : 256;
	void *p;

	GROW(s->thread)
	GROW(s->utid)
	GROW(s->hits)
	GROW(s->rank)
	GROW(s->order)
	s->cap = cap;
	return 0;
}

static uint32_t slot_add(struct block_slots *s, struct task_thread *t, uint32_t utid)
{
	if (s->cnt == s->cap && slots_room(s) < 0)
		return UINT32_MAX;
	s->thread[s->cnt] = t;
	s->utid[s->cnt] = utid;
	s->hits[s->cnt] = 0;
	s->rank[s->cnt] = 0;
	return s->cnt++;
}

int block_slots_begin(struct block_writer *w)
{
	static const uint32_t pseudo[SLOT_FIRST] = {
		[SLOT_IDLE] = EVENT_ID_IDLE, [SLOT_UNKNOWN] = EVENT_ID_UNKNOWN,
		[SLOT_IRQ] = EVENT_ID_IRQ, [SLOT_FILTERED] = EVENT_ID_FILTERED,
	};

	w->slots.cnt = 0;
	for (unsigned int i = 0; i < SLOT_FIRST; i++)
		if (slot_add(&w->slots, NULL, pseudo[i]) == UINT32_MAX)
			return -ENOMEM;
	memset(w->seen, 0, sizeof(w->seen));
	memset(w->seen_pids, 0, sizeof(w->seen_pids));
	memset(w->last_sockets, 0, sizeof(w->last_sockets));
	return 0;
}

uint32_t block_slot_of(struct block_writer *w, struct task_thread *t)
{
	if (t->slot_block == w->epoch)
		return t->slot;
	if (task_table_use_thread(w->task_table, t) < 0)
		return UINT32_MAX;
	t->slot = slot_add(&w->slots, t, t->utid);
	if (t->slot != UINT32_MAX)
		t->slot_block = w->epoch;
	return t->slot;
}

static __attribute__((noinline)) uint32_t slot_slow(struct block_writer *w, uint32_t tid,
						    uint64_t ts_ns)
{
	struct block_seen *seen = &w->seen[tid % BLOCK_SEEN_CNT];
	struct task_thread *t;
	uint64_t until;
	uint32_t slot;

	t = task_table_thread_at(w->task_table, tid, ts_ns, &until);
	slot = t ? block_slot_of(w, t) : UINT32_MAX;
	if (slot == UINT32_MAX)
		return UINT32_MAX;
	/*
	 * Cache only key_tid: life.since_ns is not valid for a tid that the thread took later, by
	 * an exec.
	 */
	if (tid == t->key_tid)
		*seen = (struct block_seen){ tid, slot, t->life.since_ns, until };
	return slot;
}

/* ---- the second pass ---- */

struct fill {
	struct block_writer *w;
	bool doubtful;		/* the first pass found invalid records: check every record again */
	bool failed;
};

static inline uint32_t fill_slot(struct fill *f, uint32_t tid, uint64_t ts_ns)
{
	const struct block_seen *seen = &f->w->seen[tid % BLOCK_SEEN_CNT];
	uint32_t slot;

	if (!tid) {
		slot = SLOT_IDLE;
	} else if (seen->tid == tid && ts_ns >= seen->since_ns && ts_ns < seen->until_ns) {
		slot = seen->slot;
	} else {
		slot = slot_slow(f->w, tid, ts_ns);
		if (slot == UINT32_MAX) {
			f->failed = true;
			return SLOT_UNKNOWN;
		}
	}
	f->w->slots.hits[slot]++;
	return slot;
}

static inline struct kind_rows *fill_row(struct fill *f, const struct wire_hdr *h,
					 unsigned int kind, uint32_t *ret_at)
{
	struct block_writer *w = f->w;
	struct kind_rows *k = &w->rows[kind];
	uint32_t at = w->pos[h->cpu * EVENT_KIND_CNT + kind]++;

	k->ts_ns[at] = h->ts_ns;
	k->utid[at] = fill_slot(f, h->tid, h->ts_ns);
	*ret_at = at;
	return k;
}

/*
 * Adds a row's tuple to the dictionary. Set `again` if most rows of the kind repeat the previous
 * row's tuple.
 */
static inline __attribute__((always_inline)) void
fill_tuple(struct fill *f, struct kind_rows *k, uint32_t at, const uint64_t *tuple,
	   unsigned int width, bool again)
{
	uint32_t i = again ? tuple_dict_add_again(&k->tuples, tuple, width) :
			     tuple_dict_add(&k->tuples, tuple, width);

	if (__builtin_expect(i == TUPLE_NONE, 0)) {
		i = 0;
		f->failed = true;
	}
	k->tuple[at] = i;
}

/* ---- effects of a record besides its row; called by code that schema/events.awk generates ---- */

static void note_step(struct fill *f, const struct wire_hdr *h, uint32_t at)
{
	if (steps_add(&f->w->steps, h, at) < 0)
		f->failed = true;
}

/* Looks up a user-space address of the thread in a slot. Returns block_use_site()'s code. */
static uint64_t fill_site(struct fill *f, uint32_t slot, uint64_t addr, enum block_site what,
			  uint64_t ts_ns)
{
	const struct task_thread *t = f->w->slots.thread[slot];
	uint64_t code = 0;

	if (t && t->process &&
	    block_use_site(f->w, t->process, addr, what, ts_ns, &code) < 0)
		f->failed = true;
	return code;
}

/*
 * If the PLACE record of the switch shows a kernel lock, sets the object of the switch to the lock,
 * and the file type of the call accordingly.
 */
static __attribute__((noinline)) void note_place(struct fill *f, struct kind_rows *k, uint32_t at,
						 const struct wire_switch *r)
{
	uint64_t caller = kernel_places_take(f->w, &r->hdr);
	uint64_t tuple[] = { r->hdr.flags & (EVENT_F_IRQ | EVENT_F_PREEMPT | EVENT_F_NEXT_OUT),
			     r->prev_state, r->prev_prio, r->next_prio,
			     CALL_WITH_FILE(r->call, CALL_FILE_KERNEL_LOCK) };

	if (!caller)
		return;
	fill_tuple(f, k, at, tuple, 5, false);
	k->val[EV_SWITCH_OBJECT][at] = CALL_LOCK_OBJECT(caller);
	if (block_use_name(f->w, TRACE_NAME_SYMBOL, caller) < 0)
		f->failed = true;
}

static inline void note_switch(struct fill *f, struct kind_rows *k, uint32_t at,
			       const struct wire_switch *r)
{
	uint64_t object = (uint64_t)r->object_high << 32 | r->object_low;

	k->val[EV_SWITCH_OBJECT][at] = object;
	if (r->hdr.flags & WIRE_F_PLACE)
		note_place(f, k, at, r);
	if (!object)
		return;
	if (call_object_of(r->call) == CALL_OBJECT_LOCK)
		fill_site(f, k->utid[at], object, BLOCK_SITE_VARIABLE, r->hdr.ts_ns);
	else if (r->call == WIRE_CALL_FROZEN ?
			 block_use_name(f->w, TRACE_NAME_CGROUP, WIRE_OBJECT_GROUP_ID(object)) < 0 :
			 socket_names_use(f->w, r->call, object) < 0)
		f->failed = true;
}

/*
 * Handles a switch away from a thread whose switch to the CPU was not recorded: the kernel hides
 * the task that had the CPU before, so no counter of the kernel shows the missing switch. stay_ns
 * is how long the thread had the CPU (its stay); the time from the CPU's previous switch to the
 * start of the stay belongs to the hidden task. If the leaving thread is the idle task, its stay is
 * unknown, and all time since the previous switch has no owner. In both cases the times of other
 * threads are right, so a loss is declared only for
 *   - the time before this slice in which earlier blocks report the hidden task on the CPU;
 *   - the time since the previous switch, if the stay of a thread other than the idle task is
 *     unknown.
 * A stay that began before the CPU's previous switch counts as unknown.
 */
static void note_switch_more(struct fill *f, struct kind_rows *k, uint32_t at,
			     const struct wire_switch_more *r)
{
	const struct wire_hdr *h = &r->common.hdr;
	struct block_writer *w = f->w;
	uint64_t *stay_ns = &k->val[EV_SWITCH_STAY_NS][at], from_ns, to_ns = w->from_ns;

	note_switch(f, k, at, &r->common);
	from_ns = at > k->cpu_start[h->cpu] ? k->ts_ns[at - 1] : w->runners[h->cpu].last_ns;
	if (from_ns > h->ts_ns)
		from_ns = h->ts_ns;
	if (*stay_ns >= h->ts_ns - from_ns)
		*stay_ns = 0;
	if (*stay_ns)
		from_ns = h->ts_ns - *stay_ns;
	else if (h->tid && h->ts_ns > to_ns)
		to_ns = h->ts_ns;
	if (from_ns < w->start_ns)
		from_ns = w->start_ns;
	if (!(h->flags & WIRE_F_BREAK) || from_ns >= to_ns)
		return;
	row_put_loss(&w->small[CHUNK_LOSS], &(struct trace_loss){
		.from_ns = from_ns, .to_ns = to_ns, .cpu = h->cpu, .hook = WIRE_SWITCH,
		.cls = EVENT_CLASS_SCHED, .missed_cnt = 1, .inferred_cnt = 1 });
	w->stats.unseen_cnt[EVENT_CLASS_SCHED]++;
}

static inline void note_request(struct fill *f, const struct kind_rows *k, uint32_t at,
				const struct wire_request *r)
{
	if (f->w->config.watch_requests)
		note_step(f, &r->hdr, at);
}

static inline void note_request_issue(struct fill *f, const struct kind_rows *k, uint32_t at,
				      const struct wire_request_issue *r)
{
	note_step(f, &r->step.hdr, at);
}

static inline void note_dirty(struct fill *f, const struct kind_rows *k, uint32_t at,
			      const struct wire_dirty *r)
{
	note_step(f, &r->hdr, at);
}

static inline void note_heap_alloc(struct fill *f, const struct kind_rows *k, uint32_t at,
				   const struct wire_heap_alloc *r)
{
	fill_site(f, k->utid[at], r->call_site, BLOCK_SITE_CODE, r->hdr.ts_ns);
}

/* ---- records whose values need a lookup ---- */

/* Finds the process for a column and adds its row to PROCESSES. NULL: unknown, or no memory. */
static __attribute__((noinline)) struct task_process *process_slow(struct fill *f, uint32_t pid,
								    uint64_t ts_ns)
{
	struct block_seen_pid *seen = &f->w->seen_pids[pid % BLOCK_SEEN_PIDS];
	struct task_process *p;
	uint64_t until;

	if (!pid)
		return NULL;
	p = task_table_process_at(f->w->task_table, pid, ts_ns, &until);
	if (!p || task_table_use_process(f->w->task_table, p) < 0) {
		f->failed = true;
		return NULL;
	}
	*seen = (struct block_seen_pid){ pid, p, p->life.since_ns, until };
	return p;
}

static inline struct task_process *fill_process(struct fill *f, uint32_t pid, uint64_t ts_ns)
{
	const struct block_seen_pid *seen = &f->w->seen_pids[pid % BLOCK_SEEN_PIDS];

	if (seen->pid == pid && ts_ns >= seen->since_ns && ts_ns < seen->until_ns)
		return seen->process;
	return process_slow(f, pid, ts_ns);
}

static void fill_rss(struct fill *f, const struct wire_rss *r)
{
	uint32_t at;
	struct kind_rows *k = fill_row(f, &r->hdr, EVENT_RSS, &at);
	struct task_process *p = fill_process(f, r->pid, r->hdr.ts_ns);
	/*
	 * The kernel batches changes per CPU, so the sum may be negative for an instant: store 0,
	 * as /proc does.
	 */
	uint64_t bytes = r->pages < 0 ? 0 : (uint64_t)r->pages * f->w->config.tasks.page_bytes;
	uint64_t tuple[] = { r->hdr.flags & EVENT_F_IRQ, p ? p->upid : EVENT_ID_UNKNOWN,
			     r->member };

	k->val[EV_RSS_BYTES][at] = bytes;
	fill_tuple(f, k, at, tuple, 3, true);
	if (p && r->member < WIRE_RSS_MEMBERS)
		task_table_note_rss(p, r->member, bytes, r->hdr.ts_ns);
}

static void fill_vm(struct fill *f, const struct wire_vm *r)
{
	uint32_t at;
	struct kind_rows *k = fill_row(f, &r->hdr, EVENT_VM, &at);
	struct task_process *p = fill_process(f, r->pid, r->hdr.ts_ns);
	uint64_t bytes = r->total_vm_pages * f->w->config.tasks.page_bytes;
	uint64_t tuple[] = { r->hdr.flags & EVENT_F_IRQ, p ? p->upid : EVENT_ID_UNKNOWN, r->op };

	k->val[EV_VM_ADDR][at] = r->addr;
	k->val[EV_VM_LEN_BYTES][at] = r->len_bytes;
	k->val[EV_VM_TOTAL_VM_BYTES][at] = bytes;
	fill_tuple(f, k, at, tuple, 3, false);
	if (p)
		task_table_note_rss(p, WIRE_RSS_MEMBERS, bytes, r->hdr.ts_ns);
}

#define UNWOUND_MAX 127	/* maximum number of frames */

/*
 * Drops the innermost frames before call_site, which belong to the tracepoint and the BPF program.
 */
static void cut_frames(const uint64_t **frames, uint32_t *cnt, uint64_t call_site)
{
	uint32_t i;

	for (i = 0; i < *cnt && (*frames)[i] != call_site; i++)
		;
	if (i == *cnt)
		return;
	*frames += i;
	*cnt -= i;
}

/*
 * Looks up the sites of the user frames of s. If a function uses the frame pointer register for
 * another purpose, the chain leads to a caller that is not code. The stack is then copied to
 * `frames` and ends at this caller.
 */
static void fill_user_frames(struct fill *f, uint32_t slot, struct stack_frames *s, uint64_t ts_ns,
			     uint64_t frames[UNWOUND_MAX + 1])
{
	enum block_site what = BLOCK_SITE_CODE;
	uint64_t code;

	for (uint32_t i = 0; i < s->user_cnt; i++) {
		code = fill_site(f, slot, s->user[i], what, ts_ns);
		if (!code && what == BLOCK_SITE_CALLER && i <= UNWOUND_MAX) {
			memmove(frames, s->user, i * sizeof(*frames));
			frames[i] = TRACE_ADDR_NO_FRAME_POINTER;
			s->user = frames;
			s->user_cnt = i + 1;
			code = fill_site(f, slot, frames[i], BLOCK_SITE_CODE, ts_ns);
		} else if (code) {
			/* mappings of the process are known, so an unknown caller is not code */
			what = BLOCK_SITE_CALLER;
		}
		s->code = stack_code_add(s->code, code);
	}
}

/* Returns the number of the stack that a slot's thread had at ts_ns, and looks up its addresses. */
static uint64_t fill_frames(struct fill *f, uint32_t slot, struct stack_frames *s, uint64_t ts_ns)
{
	struct block_writer *w = f->w;
	const struct task_thread *t = w->slots.thread[slot];
	uint64_t frames[UNWOUND_MAX + 1], id = 0;
	bool is_new;

	if (!t || !t->process)
		s->user_cnt = 0;
	/* too low for code: the chain of frame pointers has ended */
	for (uint32_t i = 0; i < s->user_cnt && !s->is_unwound; i++)
		if (s->user[i] < TRACE_ADDR_FIRST_CODE)
			s->user_cnt = i;
	s->upid = s->user_cnt ? t->process->upid : 0;
	fill_user_frames(f, slot, s, ts_ns, frames);
	if (stack_dict_use(&w->stacks, &w->small[CHUNK_FRAMES], s, &id, &is_new) < 0)
		f->failed = true;
	for (uint32_t i = 0; !f->failed && is_new && i < s->kernel_cnt; i++)
		if (block_use_name(w, TRACE_NAME_SYMBOL, s->kernel[i]) < 0)
			f->failed = true;
	return id;
}

/* Not inlined: the arrays for stacks would enlarge fill_record()'s frame. */
static __attribute__((noinline)) void fill_stack(struct fill *f, const struct wire_stack *r)
{
	uint64_t tuple[] = { r->hdr.flags & EVENT_F_IRQ, wire_hook_kind[r->of], 0 };
	struct stack_frames s = { .kernel = r->frames, .kernel_cnt = r->kernel_cnt,
				  .user = r->frames + r->kernel_cnt, .user_cnt = r->user_cnt };
	struct kind_rows *k;
	uint32_t at;

	k = fill_row(f, &r->hdr, EVENT_STACK, &at);
	if (r->of == WIRE_HEAP_ALLOC)
		cut_frames(&s.user, &s.user_cnt, r->call_site);
	else
		cut_frames(&s.kernel, &s.kernel_cnt, r->call_site);
	tuple[2] = fill_frames(f, k->utid[at], &s, r->hdr.ts_ns);
	k->val[EV_STACK_ADDR][at] = r->addr;
	k->val[EV_STACK_BYTES][at] = r->bytes;
	fill_tuple(f, k, at, tuple, 3, false);
}

/*
 * Appends the frames, if any, that the kernel found by frame pointers beyond the last unwound
 * frame. Unwinding stops early at the end of the stack's copy, or where code runs on another stack,
 * as Go's runtime does. Returns the new number of frames.
 */
static unsigned int continue_frames(uint64_t *frames, unsigned int cnt,
				    const struct stack_frames *kernels)
{
	unsigned int i, first = cnt;

	for (i = 0; i < kernels->user_cnt && kernels->user[i] != frames[first - 1]; i++)
		;
	for (i++; i < kernels->user_cnt && cnt < UNWOUND_MAX; i++) {
		if (kernels->user[i] < TRACE_ADDR_FIRST_CODE)
			break;
		frames[cnt++] = kernels->user[i];
	}
	return cnt;
}

/*
 * Replaces the user frames of s with frames unwound from the copy of the stack at ts_ns, if any.
 */
static void unwind(struct fill *f, uint32_t slot, uint64_t ts_ns, const struct unwind_stack *copy,
		   uint64_t frames[UNWOUND_MAX + 1], struct stack_frames *s)
{
	const struct task_thread *t = f->w->slots.thread[slot];
	const struct id_names_calls *names = &f->w->config.names;
	unsigned int cnt = 0, was;
	bool is_whole;

	if (t && t->process && names->unwind)
		cnt = names->unwind(names->ctx, t->process->pid, ts_ns, copy, frames, UNWOUND_MAX,
				    &is_whole);
	if (!cnt)
		return;
	frames[0]++;	/* make it a return address, as stack_walk_user() in BPF does */
	was = cnt;
	if (!is_whole)
		cnt = continue_frames(frames, cnt, s);
	if (!is_whole && cnt == was)
		frames[cnt++] = TRACE_ADDR_NOT_UNWOUND;
	s->user = frames;
	s->user_cnt = cnt;
	s->is_unwound = true;
}

static __attribute__((noinline)) void fill_sample(struct fill *f, const struct wire_sample *r)
{
	uint64_t frames[UNWOUND_MAX + 1];
	uint64_t tuple[] = { r->hdr.flags & EVENT_F_IRQ, 0 };
	struct stack_frames s = { .kernel = r->frames, .kernel_cnt = r->kernel_cnt,
				  .user = r->frames + r->kernel_cnt, .user_cnt = r->user_cnt };
	uint32_t at;
	struct kind_rows *k = fill_row(f, &r->hdr, EVENT_SAMPLE, &at);

	if (r->stack_bytes)
		unwind(f, k->utid[at], r->hdr.ts_ns,
		       &(struct unwind_stack){ .regs = r->regs, .bytes = r->stack,
					       .byte_cnt = r->stack_bytes },
		       frames, &s);
	tuple[1] = fill_frames(f, k->utid[at], &s, r->hdr.ts_ns);
	fill_tuple(f, k, at, tuple, 2, false);
}

#define SPAN_NAMES_MAX 65536	/* limit, because the names of a program may contain ids */

/* Returns the number of the name of a request or a step; 0: no name. */
static uint64_t fill_span_name(struct fill *f, const struct wire_span *r)
{
	const char *const *names = f->w->config.span_names;
	char name[WIRE_SPAN_NAME + 1] = "";
	const char *kept;
	uint32_t nr;

	if (!r->nr && !r->name[0] && r->action != EVENT_SPAN_BEGIN && r->action != EVENT_SPAN_STEP)
		return 0;
	if (r->nr && r->nr <= f->w->config.span_name_cnt)
		snprintf(name, sizeof(name), "%s", names[r->nr - 1]);
	else
		memcpy(name, r->name, sizeof(r->name));
	kept = f->w->span_numbers.cnt < SPAN_NAMES_MAX ? name : "(other)";
	kept = strpool_put(f->w->span_names, *kept ? kept : "(no name)");
	if (!kept || hash_map_intern(&f->w->span_numbers, (uintptr_t)kept, 0, &nr) < 0 ||
	    block_set_name(f->w, TRACE_NAME_SPAN, nr + 1ull, kept) < 0) {
		f->failed = true;
		return 0;
	}
	return nr + 1ull;
}

static __attribute__((noinline)) void fill_span(struct fill *f, const struct wire_span *r)
{
	uint64_t tuple[] = { r->hdr.flags & EVENT_F_IRQ, r->action, fill_span_name(f, r) };
	uint32_t at;
	struct kind_rows *k = fill_row(f, &r->hdr, EVENT_SPAN, &at);

	k->val[EV_SPAN_ID][at] = r->id;
	fill_tuple(f, k, at, tuple, 3, false);
}

static __attribute__((noinline)) void fill_offcpu(struct fill *f, const struct wire_offcpu *r)
{
	const uint64_t *waker_user = r->frames + r->user_cnt + r->waker_kernel_cnt;
	struct stack_frames waker = { .kernel = r->frames + r->user_cnt,
				      .kernel_cnt = r->waker_kernel_cnt,
				      .user = waker_user, .user_cnt = r->waker_user_cnt };
	struct stack_frames own = { .kernel = waker_user + r->waker_user_cnt,
				    .kernel_cnt = r->kernel_cnt,
				    .user = r->frames, .user_cnt = r->user_cnt };
	uint64_t tuple[] = { r->hdr.flags & EVENT_F_PREEMPT, r->state, 0, 0 };
	uint64_t frames[UNWOUND_MAX + 1];
	bool is_woken = r->waker_kind != OFFCPU_WAKER_NONE;
	uint32_t at, slot = SLOT_UNKNOWN;
	struct kind_rows *k = fill_row(f, &r->hdr, EVENT_OFFCPU, &at);
	uint64_t runnable_ns = 0;

	if (r->waker_kind == OFFCPU_WAKER_THREAD)
		slot = fill_slot(f, r->waker_tid, r->woken_ns);
	else
		f->w->slots.hits[slot = is_woken ? SLOT_IRQ : SLOT_UNKNOWN]++;
	if (is_woken && r->woken_ns > r->left_ns)
		runnable_ns = r->hdr.ts_ns - r->woken_ns;
	else if (is_woken || tuple[0])
		runnable_ns = r->hdr.ts_ns - r->left_ns;
	if (r->stack_bytes)
		unwind(f, k->utid[at], r->left_ns,
		       &(struct unwind_stack){ .regs = r->regs, .bytes = r->stack,
					       .byte_cnt = r->stack_bytes },
		       frames, &own);
	tuple[2] = fill_frames(f, k->utid[at], &own, r->left_ns);
	if (waker.kernel_cnt || waker.user_cnt)
		tuple[3] = fill_frames(f, slot, &waker, r->woken_ns);
	k->ref[at] = slot;
	k->val[EV_OFFCPU_DUR_NS][at] = r->hdr.ts_ns - r->left_ns;
	k->val[EV_OFFCPU_RUNNABLE_NS][at] = runnable_ns;
	fill_tuple(f, k, at, tuple, 4, false);
}

#include "fill_records.h"

static void fill_segment(struct fill *f, const struct block_segment *g)
{
	const uint8_t *p = g->data, *end = p + g->bytes;
	unsigned int cpu_cnt = f->w->config.cpu_cnt;

	while (p < end) {
		const struct wire_hdr *h = (const struct wire_hdr *)p;
		size_t bytes;

		if (__builtin_expect(f->doubtful, 0) &&
		    !wire_record_size(p, (size_t)(end - p)))
			return;
		bytes = wire_record_room[h->hook];
		bytes = bytes ?: wire_record_size_odd(p, (size_t)(end - p));
		p += bytes;
		__builtin_prefetch(p + AHEAD_BYTES);
		if (__builtin_expect(f->doubtful, 0) && h->cpu >= cpu_cnt)
			continue;
		fill_record(f, h);
	}
}

/* Updates first_ns, last_ns and the count of late rows from the rows of a kind and CPU. */
static void note_ends(struct block_writer *w, const struct kind_rows *k, unsigned int cpu)
{
	uint32_t i, start = k->cpu_start[cpu], end = k->cpu_start[cpu + 1];

	if (start == end)
		return;
	if (k->ts_ns[start] < w->first_ns)
		w->first_ns = k->ts_ns[start];
	if (k->ts_ns[end - 1] > w->last_ns)
		w->last_ns = k->ts_ns[end - 1];
	for (i = start; i < end && k->ts_ns[i] < w->from_ns; i++)
		w->stats.late_cnt++;
}

/*
 * Corrects the stay of a thread on `cpu` that the switch at `row` ended. The kernel's time of the
 * thread's arrival may be some microseconds early, when the thread was still on another CPU: the
 * stay begins when the thread left the other CPU.
 */
static void shorten_stay(const struct kind_rows *k, unsigned int cpu_cnt, unsigned int cpu,
			 uint32_t row)
{
	uint64_t *stay_ns = &k->val[EV_SWITCH_STAY_NS][row], to_ns = k->ts_ns[row];

	for (unsigned int i = 0; i < cpu_cnt; i++) {
		uint32_t at = k->cpu_start[i], end = k->cpu_start[i + 1];

		at += (uint32_t)lower_bound_plain(k->ts_ns + at, end - at, to_ns - *stay_ns);
		for (; i != cpu && at < end && k->ts_ns[at] < to_ns; at++)
			if (k->utid[at] == k->utid[row])
				*stay_ns = to_ns - k->ts_ns[at];
	}
}

static void shorten_stays(const struct kind_rows *k, unsigned int cpu_cnt)
{
	for (unsigned int cpu = 0; cpu < cpu_cnt; cpu++)
		for (uint32_t row = k->cpu_start[cpu]; row < k->cpu_start[cpu + 1]; row++)
			if (k->val[EV_SWITCH_STAY_NS][row])
				shorten_stay(k, cpu_cnt, cpu, row);
}

int block_fill_rows(struct block_writer *w, const struct block_slice *s)
{
	struct fill f = { .w = w, .doubtful = w->stats.bad_cnt };
	int r = 0;

	for (unsigned int kind = 1; kind < EVENT_KIND_CNT && r == 0; kind++)
		r = kind_rows_place(&w->rows[kind], kind, &w->pos[kind], w->config.cpu_cnt);
	if (r < 0)
		return r;
	block_dict_begin(&w->sites);
	block_dict_begin(&w->stacks);
	w->first_ns = UINT64_MAX;
	w->last_ns = 0;
	for (size_t i = 0; i < s->segment_cnt && !f.failed; i++)
		fill_segment(&f, &s->segments[i]);
	if (f.failed)
		return -ENOMEM;
	steps_order(&w->steps);
	r = file_paths_resolve(w, s) ?: writeback_owner_resolve(w, s);
	if (r == 0 && w->config.watch_requests)
		r = request_lost_end_resolve(w, s);
	if (r < 0)
		return r;
	for (unsigned int kind = 1; kind < EVENT_KIND_CNT; kind++) {
		for (unsigned int cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
			r = order_rows(&w->rows[kind], w->rows[kind].cpu_start[cpu],
				       w->rows[kind].cpu_start[cpu + 1]);
			if (r < 0)
				return r;
			note_ends(w, &w->rows[kind], cpu);
		}
	}
	shorten_stays(&w->rows[EVENT_SWITCH], w->config.cpu_cnt);
	return 0;
}

void block_fill_done(struct block_writer *w)
{
	for (unsigned int kind = 0; kind < EVENT_KIND_CNT; kind++)
		kind_rows_done(&w->rows[kind]);
	free(w->slots.thread);
	free(w->slots.utid);
	free(w->slots.hits);
	free(w->slots.rank);
	free(w->slots.order);
	free(w->tasks.v);
	free(w->steps.v);
}
