/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The machine's state as bytes. An interval's notes: the processes that change in it, as they were
 * at its beginning, and of the objects from before it those that an operation in it ends or splits,
 * with that operation's number. The whole state: all processes, all live objects.
 */
#include "analyze/fold/fold_memory_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static void put_process(const struct memory_machine *x, uint32_t process, struct buf *out)
{
	const struct mem_process *m = &x->mem[process];
	unsigned int i;

	packed_put(out, dense_upid(&x->a->ids, process));
	packed_put(out, m->known | (unsigned int)m->ended << 5);
	for (i = 0; i < MEM_MEMBER_CNT; i++)
		packed_put(out, m->bytes[i]);
	packed_put(out, m->vm_bytes);
	packed_put_signed(out, x->heap_bytes[process]);
}

static int get_process(struct memory_machine *x, struct packed_in *in)
{
	uint32_t p = dense_process(&x->a->ids, (uint32_t)packed_get(in));
	struct mem_process *m = &x->mem[p];
	uint64_t known = packed_get(in);
	unsigned int i;

	m->known = (uint8_t)(known & 0x1f);
	m->ended = known >> 5 & 1;
	for (i = 0; i < MEM_MEMBER_CNT; i++)
		m->bytes[i] = packed_get(in);
	m->vm_bytes = packed_get(in);
	x->heap_bytes[p] = packed_get_signed(in);
	return in->bad ? -EBADMSG : 0;
}

/* ---- making notes ---- */

void memory_state_note(struct memory_machine *x, uint32_t process)
{
	x->noted[process] = x->round;
	x->note_cnt++;
	put_process(x, process, &x->process_notes);
}

static struct live_objects *objects_of(const struct memory_machine *x)
{
	return x->source_mask & 1u << ALLOC_SLAB ? x->slab :
	       x->source_mask & 1u << ALLOC_PAGE ? x->pages : x->heap;
}

static void put_object(const struct memory_machine *x, const struct live_object *obj,
		       uint64_t from_addr, struct buf *out)
{
	const struct live_kind *k = live_objects_kind(objects_of(x), obj->kind);

	packed_put_signed(out, (int64_t)(obj->addr - from_addr));
	packed_put(out, dense_utid(&x->a->ids, obj->owner));
	packed_put(out, k->bytes);
	if (x->source_mask & 1u << ALLOC_PAGE)
		packed_put(out, k->order);
}

static void on_older(void *ctx, const struct live_object *obj)
{
	struct memory_machine *x = ctx;

	packed_put(&x->object_notes, x->op - x->note_op);
	put_object(x, obj, x->op_addr, &x->object_notes);
	x->note_op = x->op;
}

int memory_state_begin_interval(void *m, uint64_t from_ns)
{
	struct memory_machine *x = m;

	x->round++;
	x->note_cnt = 0;
	x->op = x->note_op = 0;
	buf_reset(&x->process_notes);
	buf_reset(&x->object_notes);
	live_objects_begin_notes(objects_of(x), on_older, x);
	return 0;
}

int memory_state_put_interval(void *m, struct buf *out)
{
	const struct memory_machine *x = m;

	if (!x->note_cnt && !x->object_notes.len)
		return 0;
	packed_put(out, x->note_cnt);
	buf_add(out, x->process_notes.data, x->process_notes.len);
	buf_add(out, x->object_notes.data, x->object_notes.len);
	out->failed |= x->process_notes.failed | x->object_notes.failed;
	return 0;
}

/* ---- the whole state ---- */

struct saving {
	const struct memory_machine *x;
	struct buf *out;
	uint64_t last_addr;
};

static int save_object(void *ctx, const struct live_object *obj, uint64_t bytes, enum live_end end)
{
	struct saving *s = ctx;
	const struct memory_machine *x = s->x;

	/* of a heap that ended with an exec nothing is freed any more */
	if ((x->source_mask & 1u << ALLOC_HEAP) &&
	    obj->space != memory_state_space(x, dense_process_of(&x->a->ids, obj->owner)))
		return 0;
	put_object(x, obj, s->last_addr, s->out);
	s->last_addr = obj->addr;
	return s->out->failed ? -ENOMEM : 0;
}

/* What is known of a process when nothing was seen of it yet. */
static void fresh_process(const struct memory_machine *x, uint32_t process,
			  struct mem_process *ret)
{
	const struct trace_process *p = dense_process_row(&x->a->ids, process);

	/* a fork that was lost has no start: what it held before its first event is not known */
	mem_process_init(ret, p && !(p->flags & TRACE_TASK_AT_START) &&
			      p->start_ns >= x->a->start_ns);
}

void memory_state_begin(struct memory_machine *x)
{
	uint32_t i;

	for (i = 0; i < x->a->ids.process_cnt; i++)
		fresh_process(x, i, &x->mem[i]);
}

int memory_state_save(void *m, uint64_t at_ns, struct buf *out)
{
	const struct memory_machine *x = m;
	struct saving s = { x, out, 0 };
	struct buf rows = { 0 };
	uint32_t cnt = 0, i;

	for (i = 0; i < x->a->ids.process_cnt; i++) {
		struct mem_process fresh;

		fresh_process(x, i, &fresh);
		if (!x->heap_bytes[i] && mem_process_same(&fresh, &x->mem[i]))
			continue;
		put_process(x, i, &rows);
		cnt++;
	}
	packed_put(out, cnt);
	buf_add(out, rows.data, rows.len);
	out->failed |= rows.failed;
	buf_done(&rows);
	return live_objects_rest(objects_of(x), save_object, &s);
}

/* ---- going on from one ---- */

static void get_object(const struct memory_machine *x, struct packed_in *in,
		       struct alloc_older *ret)
{
	ret->addr = packed_get_signed(in);
	ret->owner = dense_thread(&x->a->ids, (uint32_t)packed_get(in));
	ret->bytes = packed_get(in);
	ret->order = x->source_mask & 1u << ALLOC_PAGE ? (uint8_t)packed_get(in) : 0;
}

static int add_object(struct memory_machine *x, struct live_objects *o, uint32_t space,
		      uint64_t addr, const struct alloc_older *older)
{
	struct live_kind k = { .bytes = older->bytes, .bytes_req = older->bytes,
			       .order = older->order };

	return live_objects_add(o, space, addr, 0, older->owner, &k, NULL, NULL);
}

int memory_state_put_back(struct memory_machine *x, struct live_objects *o, uint32_t space)
{
	int ret = 0;

	for (; !ret && x->older_at < x->older_cnt && x->older[x->older_at].op == x->op;
	     x->older_at++)
		ret = add_object(x, o, space, x->op_addr + (uint64_t)x->older[x->older_at].addr,
				 &x->older[x->older_at]);
	return ret;
}

static int load_notes(struct memory_machine *x, struct packed_in *in)
{
	uint64_t op = 0;

	while (in->p != in->end && !in->bad) {
		struct alloc_older *older;

		if (array_reserve(&x->older, &x->older_cap, x->older_cnt + 1) < 0)
			return -ENOMEM;
		older = &x->older[x->older_cnt++];
		op += packed_get(in);
		older->op = op;
		get_object(x, in, older);
	}
	return in->bad ? -EBADMSG : 0;
}

static int load_objects(struct memory_machine *x, struct packed_in *in)
{
	struct live_objects *o = objects_of(x);
	struct alloc_older older;
	uint64_t addr = 0;
	int ret = 0;

	while (!ret && in->p != in->end && !in->bad) {
		get_object(x, in, &older);
		addr += (uint64_t)older.addr;
		ret = add_object(x, o,
				 o == x->heap ? dense_process_of(&x->a->ids, older.owner) : 0, addr,
				 &older);
	}
	return ret < 0 ? ret : in->bad ? -EBADMSG : 0;
}

int memory_state_load(void *m, uint64_t at_ns, struct packed_in *in, bool is_tail)
{
	struct memory_machine *x = m;
	size_t cnt;
	int ret = 0;

	x->op = 0;
	x->older_cnt = x->older_at = 0;
	live_objects_clear(objects_of(x));
	if (is_tail) {
		memory_state_begin(x);
		for (cnt = packed_get_cnt(in); cnt; cnt--) {
			packed_get(in);
			packed_get_signed(in);
		}
	}
	/* an interval's notes have every process that matters there */
	if (in->p == in->end)
		return in->bad ? -EBADMSG : 0;
	for (cnt = packed_get_cnt(in); cnt && !ret; cnt--)
		ret = get_process(x, in);
	if (ret < 0 || in->bad)
		return -EBADMSG;
	return is_tail ? load_objects(x, in) : load_notes(x, in);
}
