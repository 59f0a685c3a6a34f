/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_fill: wire records in, arrays per kind and column out.
 *
 * The second of two passes over the records. The first (block_count) has counted, so that every (kind, CPU)
 * gets its place in the arrays; then identity has applied the task records. This one resolves tids and
 * writes each value to where it belongs: one switch per record and no allocation.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/block_state.h"
#include "chunk/chunk.h"

/* ---- slots ---- */

static int slots_room(struct block_slots *s)
{
	uint32_t cap = s->cap ? s->cap * 2 : 256;
	void *p;

#define GROW(field)                                                      \
	p = realloc(s->field, (size_t)cap * sizeof(*s->field));          \
	if (!p)                                                          \
		return -ENOMEM;                                          \
	s->field = p;
	GROW(thread)
	GROW(sum)
	GROW(hits)
	GROW(rank)
	GROW(order)
#undef GROW
	s->cap = cap;
	return 0;
}

static uint32_t slot_add(struct block_slots *s, struct ident_thread *t, uint32_t utid)
{
	if (s->cnt == s->cap && slots_room(s) < 0)
		return UINT32_MAX;
	s->thread[s->cnt] = t;
	s->sum[s->cnt] = (struct trace_summary){ .utid = utid };
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
	unsigned int i;

	w->slots.cnt = 0;
	for (i = 0; i < SLOT_FIRST; i++)
		if (slot_add(&w->slots, NULL, pseudo[i]) == UINT32_MAX)
			return -ENOMEM;
	memset(w->seen, 0, sizeof(w->seen));
	memset(w->seen_pids, 0, sizeof(w->seen_pids));
	return 0;
}

uint32_t block_slot_of(struct block_writer *w, struct ident_thread *t)
{
	if (t->slot_block == w->epoch)
		return t->slot;
	if (identity_use_thread(w->identity, t) < 0)
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
	struct ident_thread *t;
	uint64_t until;
	uint32_t slot;

	t = identity_thread_at(w->identity, tid, ts_ns, &until);
	slot = t ? block_slot_of(w, t) : UINT32_MAX;
	if (slot == UINT32_MAX)
		return UINT32_MAX;
	*seen = (struct block_seen){ tid, slot, t->since_ns, until };
	return slot;
}

/* ---- the second pass ---- */

struct fill {
	struct block_writer *w;
	bool doubtful;		/* the count met what is no record: look at each again */
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

/* again: the kind's rows mostly have the tuple of the row before */
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

#define TUPLE_OF(again, ...)                                                           \
	do {                                                                           \
		const uint64_t tuple_[] = { flags, __VA_ARGS__ };                      \
		fill_tuple(f, k, at, tuple_, sizeof(tuple_) / sizeof(*tuple_), again); \
	} while (0)
#define TUPLE(...) TUPLE_OF(false, __VA_ARGS__)
#define TUPLE_AGAIN(...) TUPLE_OF(true, __VA_ARGS__)

static inline bool in_slice(const struct block_writer *w, uint64_t ts_ns)
{
	return ts_ns - w->from_ns < w->to_ns - w->from_ns;
}

static void fill_sched(struct fill *f, const struct wire_hdr *h)
{
	struct block_writer *w = f->w;
	uint64_t flags = h->flags & (EVENT_F_IRQ | EVENT_F_PREEMPT | EVENT_F_NEXT_OUT);
	struct kind_rows *k;
	uint32_t at;

	if (h->hook == WIRE_SWITCH) {
		const struct wire_switch *r = (const struct wire_switch *)h;

		k = fill_row(f, h, EVENT_SWITCH, &at);
		k->ref[at] = fill_slot(f, r->next_tid, h->ts_ns);
		TUPLE(r->prev_state, r->prev_prio, r->next_prio);
		if (in_slice(w, h->ts_ns)) {
			struct trace_summary *s = &w->slots.sum[k->utid[at]];

			s->switches++;
			s->preempted += (flags & EVENT_F_PREEMPT) != 0;
		}
	} else {
		const struct wire_waking *r = (const struct wire_waking *)h;

		k = fill_row(f, h, EVENT_WAKEUP, &at);
		k->ref[at] = fill_slot(f, r->target_tid, h->ts_ns);
		TUPLE(r->target_cpu, r->prio, r->is_new);
		if (in_slice(w, h->ts_ns))
			w->slots.sum[k->ref[at]].wakeups++;
	}
}

static void fill_slab_alloc(struct fill *f, const struct wire_hdr *h)
{
	struct block_writer *w = f->w;
	uint64_t flags = h->flags & EVENT_F_IRQ, bytes;
	struct kind_rows *k;
	uint32_t at;

	k = fill_row(f, h, EVENT_SLAB_ALLOC, &at);
	if (h->hook == WIRE_KMALLOC || h->hook == WIRE_KMALLOC_NODE) {
		const struct wire_kmalloc *r = (const struct wire_kmalloc *)h;

		k->val[0][at] = r->addr;
		bytes = r->bytes_alloc;
		TUPLE(r->bytes_req, r->bytes_alloc, r->call_site, 0);
	} else {
		const struct wire_cache_alloc *r = (const struct wire_cache_alloc *)h;

		k->val[0][at] = r->addr;
		bytes = r->bytes_alloc;
		TUPLE(r->bytes_req, r->bytes_alloc, r->call_site, r->cache);
	}
	if (in_slice(w, h->ts_ns)) {
		struct trace_summary *s =
			&w->slots.sum[flags & EVENT_F_IRQ ? SLOT_IRQ : k->utid[at]];

		s->slab_allocs++;
		s->slab_bytes += bytes;
	}
}

static void fill_page_alloc(struct fill *f, const struct wire_page_alloc *r)
{
	struct block_writer *w = f->w;
	uint64_t flags = r->hdr.flags & EVENT_F_IRQ;
	struct kind_rows *k;
	uint32_t at;

	k = fill_row(f, &r->hdr, EVENT_PAGE_ALLOC, &at);
	k->val[0][at] = r->pfn;
	TUPLE_AGAIN(r->order, r->gfp, r->migratetype);
	if (in_slice(w, r->hdr.ts_ns)) {
		struct trace_summary *s =
			&w->slots.sum[flags & EVENT_F_IRQ ? SLOT_IRQ : k->utid[at]];

		s->page_allocs++;
		s->page_bytes += (uint64_t)w->config.page_bytes << (r->order & 31);
	}
}

static void fill_free(struct fill *f, const struct wire_hdr *h)
{
	uint64_t flags = h->flags & EVENT_F_IRQ;
	struct kind_rows *k;
	uint32_t at;

	switch (h->hook) {
	case WIRE_KFREE:
		k = fill_row(f, h, EVENT_SLAB_FREE, &at);
		k->val[0][at] = ((const struct wire_kfree *)h)->addr;
		TUPLE(0);
		break;
	case WIRE_CACHE_FREE:
		k = fill_row(f, h, EVENT_SLAB_FREE, &at);
		k->val[0][at] = ((const struct wire_cache_free *)h)->addr;
		TUPLE(((const struct wire_cache_free *)h)->cache);
		break;
	case WIRE_PAGE_FREE:
		k = fill_row(f, h, EVENT_PAGE_FREE, &at);
		k->val[0][at] = ((const struct wire_page_free *)h)->pfn;
		TUPLE_AGAIN(((const struct wire_page_free *)h)->order);
		break;
	default:
		k = fill_row(f, h, EVENT_HEAP_FREE, &at);
		k->val[0][at] = ((const struct wire_heap_free *)h)->addr;
		fill_tuple(f, k, at, &flags, 1, true);
		break;
	}
}

/* A process in a column gets a row in PROCESSES. NULL: not known, or no memory. */
static __attribute__((noinline)) struct ident_process *process_slow(struct fill *f, uint32_t pid,
								    uint64_t ts_ns)
{
	struct block_seen_pid *seen = &f->w->seen_pids[pid % BLOCK_SEEN_PIDS];
	struct ident_process *p;
	uint64_t until;

	if (!pid)
		return NULL;
	p = identity_process_at(f->w->identity, pid, ts_ns, &until);
	if (!p || identity_use_process(f->w->identity, p) < 0) {
		f->failed = true;
		return NULL;
	}
	*seen = (struct block_seen_pid){ pid, p, p->since_ns, until };
	return p;
}

static inline struct ident_process *fill_process(struct fill *f, uint32_t pid, uint64_t ts_ns)
{
	const struct block_seen_pid *seen = &f->w->seen_pids[pid % BLOCK_SEEN_PIDS];

	if (seen->pid == pid && ts_ns >= seen->since_ns && ts_ns < seen->until_ns)
		return seen->process;
	return process_slow(f, pid, ts_ns);
}

static void fill_memory(struct fill *f, const struct wire_hdr *h)
{
	uint64_t flags = h->flags & EVENT_F_IRQ, upid, page = f->w->config.page_bytes;
	struct ident_process *p;
	struct kind_rows *k;
	uint32_t at;

	if (h->hook == WIRE_RSS) {
		const struct wire_rss *r = (const struct wire_rss *)h;

		k = fill_row(f, h, EVENT_RSS, &at);
		p = fill_process(f, r->pid, h->ts_ns);
		upid = p ? p->upid : EVENT_ID_UNKNOWN;
		/* Below 0 for an instant, as the kernel batches per CPU: a reader sees 0, as in /proc. */
		k->val[EV_RSS_BYTES][at] = r->pages < 0 ? 0 : (uint64_t)r->pages * page;
		TUPLE_AGAIN(upid, r->member);
		if (p && r->member < 4)
			identity_note_rss(p, r->member, k->val[EV_RSS_BYTES][at], h->ts_ns);
	} else {
		const struct wire_vm *r = (const struct wire_vm *)h;

		k = fill_row(f, h, EVENT_VM, &at);
		p = fill_process(f, r->pid, h->ts_ns);
		upid = p ? p->upid : EVENT_ID_UNKNOWN;
		k->val[EV_VM_ADDR][at] = r->addr;
		k->val[EV_VM_LEN][at] = r->len_bytes;
		k->val[EV_VM_TOTAL][at] = r->total_vm_pages * page;
		TUPLE(upid, r->op);
		if (p)
			identity_note_rss(p, 4, k->val[EV_VM_TOTAL][at], h->ts_ns);
	}
}

static void fill_block(struct fill *f, const struct wire_block *r)
{
	uint64_t flags = r->hdr.flags & (EVENT_F_IRQ | EVENT_F_FLUSH_SEQ), ino_dev = 0, pages = 0;
	struct kind_rows *k;
	uint32_t at;

	if (f->w->unseen && block_unseen_note(f->w, r) < 0)
		f->failed = true;
	k = fill_row(f, &r->hdr, EVENT_BLOCK, &at);
	k->val[EV_BLOCK_RQ][at] = r->rq;
	k->val[EV_BLOCK_SECTOR][at] = r->sector;
	k->val[EV_BLOCK_BYTES][at] = r->bytes;
	k->val[EV_BLOCK_DONE_BYTES][at] = r->done_bytes;
	k->val[EV_BLOCK_INO][at] = 0;
	k->val[EV_BLOCK_OWNER_UPID][at] = 0;
	k->val[EV_BLOCK_OWNER_HOW][at] = EVENT_OWNER_NONE;
	if (r->hdr.hook == WIRE_BLOCK_ISSUE) {
		const struct wire_block_issue *x = (const struct wire_block_issue *)r;

		k->val[EV_BLOCK_INO][at] = x->ino;
		ino_dev = x->ino_dev;
		pages = x->pages;
		if (block_owner_note(f->w->owners, &r->hdr, at) < 0)
			f->failed = true;
	}
	TUPLE(wire_hook_action[r->hdr.hook], r->dev, r->cmd_flags, r->status, r->part, ino_dev,
	      pages);
}

static void fill_dirty(struct fill *f, const struct wire_dirty *r)
{
	uint64_t flags = r->hdr.flags & EVENT_F_IRQ;
	struct kind_rows *k;
	uint32_t at;

	k = fill_row(f, &r->hdr, EVENT_DIRTY, &at);
	k->val[EV_DIRTY_INO][at] = r->ino;
	TUPLE(r->ino_dev);
	if (block_owner_note(f->w->owners, &r->hdr, at) < 0)
		f->failed = true;
}

static void fill_irq(struct fill *f, const struct wire_irq *r)
{
	uint64_t flags = r->hdr.flags & EVENT_F_IRQ;
	struct kind_rows *k;
	uint32_t at;

	k = fill_row(f, &r->hdr, EVENT_IRQ, &at);
	TUPLE(wire_hook_action[r->hdr.hook], r->type, r->vector, r->handled);
}

/* A user-space code address of the thread in a slot. */
static void fill_site(struct fill *f, uint32_t slot, uint64_t addr, uint64_t ts_ns)
{
	const struct ident_thread *t = f->w->slots.thread[slot];

	if (t && t->process &&
	    site_book_use(&f->w->sites, &f->w->site_rows, t->process->upid, t->process->pid, addr,
			  ts_ns) < 0)
		f->failed = true;
}

static void fill_heap_alloc(struct fill *f, const struct wire_heap_alloc *r)
{
	uint64_t flags = r->hdr.flags & EVENT_F_IRQ;
	struct kind_rows *k;
	uint32_t at;

	k = fill_row(f, &r->hdr, EVENT_HEAP_ALLOC, &at);
	k->val[EV_HEAP_ADDR][at] = r->addr;
	k->val[EV_HEAP_BYTES][at] = r->bytes;
	TUPLE(r->call_site);
	fill_site(f, k->utid[at], r->call_site, r->hdr.ts_ns);
}

/* Frames from the one that asked on: those before it are the tracepoint's and the program's. */
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

static void fill_stack(struct fill *f, const struct wire_stack *r)
{
	uint64_t flags = r->hdr.flags & EVENT_F_IRQ, id = 0;
	struct stack_frames s = { .kernel = r->frames, .kernel_cnt = r->kernel_cnt,
				  .user = r->frames + r->kernel_cnt, .user_cnt = r->user_cnt };
	struct block_writer *w = f->w;
	const struct ident_thread *t;
	struct kind_rows *k;
	uint32_t at, i;
	bool is_new;

	k = fill_row(f, &r->hdr, EVENT_STACK, &at);
	t = w->slots.thread[k->utid[at]];
	if (r->of == WIRE_HEAP_ALLOC)
		cut_frames(&s.user, &s.user_cnt, r->call_site);
	else
		cut_frames(&s.kernel, &s.kernel_cnt, r->call_site);
	if (!t || !t->process)
		s.user_cnt = 0;
	/* the chain of frame pointers has ended: no code is in the first page */
	for (i = 0; i < s.user_cnt; i++)
		if (s.user[i] < 4096)
			s.user_cnt = i;
	s.upid = s.user_cnt ? t->process->upid : 0;
	if (stack_book_use(&w->stacks, &w->frame_rows, &s, &id, &is_new) < 0)
		f->failed = true;
	for (i = 0; i < s.user_cnt; i++)
		fill_site(f, k->utid[at], s.user[i], r->hdr.ts_ns);
	for (i = 0; is_new && i < s.kernel_cnt; i++)
		if (name_book_use(&w->names, &w->name_rows, w->epoch, TRACE_NAME_SYMBOL, s.kernel[i]) < 0)
			f->failed = true;
	k->val[EV_STACK_ADDR][at] = r->addr;
	k->val[EV_STACK_BYTES][at] = r->bytes;
	TUPLE(wire_hook_kind[r->of], id);
}

static void fill_segment(struct fill *f, const struct block_segment *g)
{
	const uint8_t *p = g->data, *end = p + g->bytes;
	unsigned int cpu_cnt = f->w->config.cpu_cnt;

	while (p < end) {
		const struct wire_hdr *h = (const struct wire_hdr *)p;
		size_t bytes;

		if (__builtin_expect(f->doubtful, 0) && !wire_record_size_fast(p, (size_t)(end - p)))
			return;
		bytes = wire_record_room[h->hook];
		if (!bytes)
			bytes = wire_record_size_odd(p, (size_t)(end - p));
		p += bytes;
		__builtin_prefetch(p + BLOCK_AHEAD_BYTES);
		if (__builtin_expect(f->doubtful, 0) && h->cpu >= cpu_cnt)
			continue;
		switch (wire_hook_kind[h->hook]) {
		case EVENT_SWITCH:
		case EVENT_WAKEUP:
			fill_sched(f, h);
			break;
		case EVENT_SLAB_ALLOC:
			fill_slab_alloc(f, h);
			break;
		case EVENT_SLAB_FREE:
		case EVENT_PAGE_FREE:
		case EVENT_HEAP_FREE:
			fill_free(f, h);
			break;
		case EVENT_PAGE_ALLOC:
			fill_page_alloc(f, (const struct wire_page_alloc *)h);
			break;
		case EVENT_RSS:
		case EVENT_VM:
			fill_memory(f, h);
			break;
		case EVENT_BLOCK:
			fill_block(f, (const struct wire_block *)h);
			break;
		case EVENT_DIRTY:
			fill_dirty(f, (const struct wire_dirty *)h);
			break;
		case EVENT_IRQ:
			fill_irq(f, (const struct wire_irq *)h);
			break;
		case EVENT_STACK:
			fill_stack(f, (const struct wire_stack *)h);
			break;
		case EVENT_HEAP_ALLOC:
			fill_heap_alloc(f, (const struct wire_heap_alloc *)h);
			break;
		default:
			break;
		}
	}
}

/* ---- room ---- */

static int rows_room(struct block_writer *w, unsigned int kind, uint32_t cnt)
{
	struct kind_rows *k = &w->rows[kind];
	uint32_t cap = w->rows_cap[kind] ? w->rows_cap[kind] : 256;
	unsigned int i;
	void *p;

	if (cnt <= w->rows_cap[kind])
		return 0;
	while (cap < cnt)
		cap *= 2;
#define GROW(field)                                                      \
	p = realloc(k->field, (size_t)cap * sizeof(*k->field));          \
	if (!p)                                                          \
		return -ENOMEM;                                          \
	k->field = p;
	GROW(ts_ns)
	GROW(utid)
	GROW(tuple)
	for (i = 0; i < EVENT_VALUES; i++) {
		switch (column_codec(kind, i)) {
		case 0:
		case EVENT_CODEC_TUPLE:
			break;
		case EVENT_CODEC_UTID:
			GROW(ref)
			break;
		default:
			GROW(val[i])
			break;
		}
	}
#undef GROW
	w->rows_cap[kind] = cap;
	return 0;
}

static int rows_prepare(struct block_writer *w, unsigned int kind)
{
	struct kind_rows *k = &w->rows[kind];
	uint32_t *pos = &w->pos[kind], total = 0;
	unsigned int cpu;

	for (cpu = 0; cpu < w->config.cpu_cnt; cpu++, pos += EVENT_KIND_CNT) {
		uint32_t n = *pos;

		k->cpu_start[cpu] = total;
		*pos = total;
		total += n;
	}
	k->cpu_start[cpu] = total;
	k->cnt = total;
	tuple_dict_reset(&k->tuples);
	return rows_room(w, kind, total);
}

/* First and last instant of the block, and what came late, from the rows of one kind and CPU in order. */
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

int block_fill_rows(struct block_writer *w, const struct block_slice *s)
{
	struct fill f = { .w = w, .doubtful = w->stats.bad_cnt };
	unsigned int kind, cpu;
	size_t i;
	int r;

	for (kind = 1; kind < EVENT_KIND_CNT; kind++) {
		r = rows_prepare(w, kind);
		if (r < 0)
			return r;
	}
	block_owner_begin(w->owners);
	if (w->unseen)
		block_unseen_begin(w->unseen);
	site_book_begin(&w->sites);
	stack_book_begin(&w->stacks);
	w->first_ns = UINT64_MAX;
	w->last_ns = 0;
	for (i = 0; i < s->segment_cnt && !f.failed; i++)
		fill_segment(&f, &s->segments[i]);
	if (f.failed)
		return -ENOMEM;
	r = block_owner_resolve(w, s);
	if (r == 0 && w->unseen)
		r = block_unseen_resolve(w, s);
	if (r < 0)
		return r;
	for (kind = 1; kind < EVENT_KIND_CNT; kind++) {
		for (cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
			r = block_order_rows(&w->rows[kind], w->rows[kind].cpu_start[cpu],
					     w->rows[kind].cpu_start[cpu + 1]);
			if (r < 0)
				return r;
			note_ends(w, &w->rows[kind], cpu);
		}
	}
	return 0;
}

void block_fill_done(struct block_writer *w)
{
	unsigned int kind, i;

	for (kind = 0; kind < EVENT_KIND_CNT; kind++) {
		struct kind_rows *k = &w->rows[kind];

		free(k->cpu_start);
		free(k->ts_ns);
		free(k->utid);
		free(k->ref);
		free(k->tuple);
		for (i = 0; i < EVENT_VALUES; i++)
			free(k->val[i]);
		tuple_dict_done(&k->tuples);
	}
	free(w->slots.thread);
	free(w->slots.sum);
	free(w->slots.hits);
	free(w->slots.rank);
	free(w->slots.order);
	free(w->tasks);
}
