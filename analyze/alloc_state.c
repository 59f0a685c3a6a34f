/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The account's state as bytes. A cell's notes: the processes that change in it, as they were at
 * its beginning, and of the objects from before it those that an operation in it ends or splits,
 * with that operation's number. The whole state: all processes, all live objects.
 */
#include "analyze/alloc_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void put_process(const struct alloc_account *x, uint32_t process, struct buf *out)
{
	const struct mem_process *m = &x->mem[process];
	unsigned int i;

	index_put(out, ident_upid(&x->a->ident, process));
	index_put(out, m->known | (unsigned int)m->ended << 5);
	for (i = 0; i < MEM_MEMBER_CNT; i++)
		index_put(out, m->bytes[i]);
	index_put(out, m->vm_bytes);
	index_put_signed(out, x->heap_bytes[process]);
}

static int get_process(struct alloc_account *x, struct index_in *in)
{
	uint32_t p = ident_process(&x->a->ident, (uint32_t)index_get(in));
	struct mem_process *m = &x->mem[p];
	uint64_t known = index_get(in);
	unsigned int i;

	m->known = (uint8_t)(known & 0x1f);
	m->ended = known >> 5 & 1;
	for (i = 0; i < MEM_MEMBER_CNT; i++)
		m->bytes[i] = index_get(in);
	m->vm_bytes = index_get(in);
	x->heap_bytes[p] = index_get_signed(in);
	return in->bad ? -EBADMSG : 0;
}

/* ---- making notes ---- */

void alloc_state_note(struct alloc_account *x, uint32_t process)
{
	x->noted[process] = x->cell;
	x->note_cnt++;
	put_process(x, process, &x->process_notes);
}

static struct live_objects *objects_of(const struct alloc_account *x)
{
	return x->source_mask & 1u << ALLOC_SLAB ? x->slab :
	       x->source_mask & 1u << ALLOC_PAGE ? x->pages : x->heap;
}

static void put_object(const struct alloc_account *x, const struct live_object *obj,
		       uint64_t from_addr, struct buf *out)
{
	const struct live_kind *k = live_objects_kind(objects_of(x), obj->kind);

	index_put_signed(out, (int64_t)(obj->addr - from_addr));
	index_put(out, ident_utid(&x->a->ident, obj->owner));
	index_put(out, k->bytes);
	if (x->source_mask & 1u << ALLOC_PAGE)
		index_put(out, k->order);
}

static void on_older(void *ctx, const struct live_object *obj)
{
	struct alloc_account *x = ctx;

	index_put(&x->object_notes, x->op - x->note_op);
	put_object(x, obj, x->op_addr, &x->object_notes);
	x->note_op = x->op;
}

void alloc_account_begin_cell(struct alloc_account *x)
{
	x->cell++;
	x->note_cnt = 0;
	x->op = x->note_op = 0;
	buf_reset(&x->process_notes);
	buf_reset(&x->object_notes);
	live_objects_begin_cell(objects_of(x), on_older, x);
}

void alloc_account_take_cell(const struct alloc_account *x, struct buf *out)
{
	if (!x->note_cnt && !x->object_notes.len)
		return;
	index_put(out, x->note_cnt);
	buf_add(out, x->process_notes.data, x->process_notes.len);
	buf_add(out, x->object_notes.data, x->object_notes.len);
	out->failed |= x->process_notes.failed | x->object_notes.failed;
}

/* ---- the whole state ---- */

struct saving {
	const struct alloc_account *x;
	struct buf *out;
	uint64_t last_addr;
};

static int save_object(void *ctx, const struct live_object *obj, uint64_t bytes, enum live_end end)
{
	struct saving *s = ctx;
	const struct alloc_account *x = s->x;

	/* of a heap that ended with an exec nothing is freed any more */
	if ((x->source_mask & 1u << ALLOC_HEAP) &&
	    obj->space != alloc_state_space(x, ident_process_of(&x->a->ident, obj->owner)))
		return 0;
	put_object(x, obj, s->last_addr, s->out);
	s->last_addr = obj->addr;
	return s->out->failed ? -ENOMEM : 0;
}

int alloc_account_save(const struct alloc_account *x, struct buf *out)
{
	struct saving s = { x, out, 0 };
	struct buf rows = { 0 };
	uint32_t cnt = 0, i;

	for (i = 0; i < x->a->ident.process_cnt; i++) {
		struct mem_process fresh;

		alloc_state_fresh(x, i, &fresh);
		if (!x->heap_bytes[i] && mem_process_same(&fresh, &x->mem[i]))
			continue;
		put_process(x, i, &rows);
		cnt++;
	}
	index_put(out, cnt);
	buf_add(out, rows.data, rows.len);
	out->failed |= rows.failed;
	buf_done(&rows);
	return live_objects_rest(objects_of(x), save_object, &s);
}

/* ---- going on from one ---- */

static void get_object(const struct alloc_account *x, struct index_in *in, struct alloc_older *ret)
{
	ret->addr = index_get_signed(in);
	ret->owner = ident_thread(&x->a->ident, (uint32_t)index_get(in));
	ret->bytes = index_get(in);
	ret->order = x->source_mask & 1u << ALLOC_PAGE ? (uint8_t)index_get(in) : 0;
}

static int add_object(struct alloc_account *x, struct live_objects *o, uint32_t space,
		      uint64_t addr, const struct alloc_older *older)
{
	struct live_kind k = { .bytes = older->bytes, .bytes_req = older->bytes,
			       .order = older->order };

	return live_objects_add(o, space, addr, 0, older->owner, &k, NULL, NULL);
}

int alloc_state_put_back(struct alloc_account *x, struct live_objects *o, uint32_t space)
{
	int ret = 0;

	for (; !ret && x->older_at < x->older_cnt && x->older[x->older_at].op == x->op;
	     x->older_at++)
		ret = add_object(x, o, space, x->op_addr + (uint64_t)x->older[x->older_at].addr,
				 &x->older[x->older_at]);
	return ret;
}

static int load_notes(struct alloc_account *x, struct index_in *in)
{
	uint64_t op = 0;
	size_t cap = 0;

	while (in->p != in->end && !in->bad) {
		struct alloc_older *older;

		if (x->older_cnt == cap) {
			cap = cap ? cap * 2 : 1024;
			older = realloc(x->older, cap * sizeof(*older));
			if (!older)
				return -ENOMEM;
			x->older = older;
		}
		older = &x->older[x->older_cnt++];
		op += index_get(in);
		older->op = op;
		get_object(x, in, older);
	}
	return in->bad ? -EBADMSG : 0;
}

static int load_objects(struct alloc_account *x, struct index_in *in)
{
	struct live_objects *o = objects_of(x);
	struct alloc_older older;
	uint64_t addr = 0;
	int ret = 0;

	while (!ret && in->p != in->end && !in->bad) {
		get_object(x, in, &older);
		addr += (uint64_t)older.addr;
		ret = add_object(x, o,
				 o == x->heap ? ident_process_of(&x->a->ident, older.owner) : 0, addr,
				 &older);
	}
	return ret < 0 ? ret : in->bad ? -EBADMSG : 0;
}

int alloc_state_load(struct alloc_account *x, const struct alloc_account_start *start)
{
	size_t cnt;
	int ret = 0;

	x->begun = true;
	if (x->turn_cnt)
		x->turn_at = trace_turn_from(x->a->trace, start->from_ns);
	if (start->in->p == start->in->end)
		return start->in->bad ? -EBADMSG : 0;
	for (cnt = index_get_cnt(start->in); cnt && !ret; cnt--)
		ret = get_process(x, start->in);
	if (ret < 0 || start->in->bad)
		return -EBADMSG;
	return start->whole ? load_objects(x, start->in) : load_notes(x, start->in);
}
