/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_dict: what a block's events refer to. Names are kept in one map per type; an id without a
 * name is kept, too, so that nobody asks for it again. Sites are found by a hash of (process,
 * address), stacks by their number; where another stack has the number, the next free one is used.
 */
#include "record/encode/block_dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void block_dict_done(struct block_dict *b)
{
	hash_map_done(&b->by_key);
	buf_done(&b->items);
}

void block_dict_begin(struct block_dict *b)
{
	if (b->items.len)
		hash_map_done(&b->by_key);
	buf_reset(&b->items);
}

/* ---- names ---- */

#define NAME_MAX_BYTES 4096

struct name_entry {
	uint64_t used_block;	/* the last epoch that wrote the name */
	uint64_t arg;
	char *name;		/* NULL: the id has none */
};

void name_dict_done(struct name_dict *b)
{
	unsigned int type;
	struct hash_slot *s;
	size_t pos;

	for (type = 0; type < NAME_DICT_TYPES; type++) {
		for (pos = 0; (s = hash_map_next(&b->by_id[type], &pos));)
			free(((struct name_entry *)s->value)->name);
		hash_map_done_values(&b->by_id[type]);
	}
}

int name_dict_forget(struct name_dict *b, uint64_t epoch)
{
	struct buf old = { 0 };
	const struct hash_slot *s;
	unsigned int type;
	size_t i, pos;

	for (type = 0; type < NAME_DICT_TYPES && !old.failed; type++) {
		struct hash_map *m = &b->by_id[type];
		const uint64_t *ids;

		/* removal moves entries, so the ids are collected first */
		buf_reset(&old);
		for (pos = 0; (s = hash_map_next(m, &pos));)
			if (((const struct name_entry *)s->value)->used_block < epoch)
				buf_add(&old, &s->a, sizeof(s->a));
		ids = (const uint64_t *)old.data;
		for (i = 0; i < old.len / sizeof(*ids) && !old.failed; i++) {
			struct name_entry *n = hash_map_remove(m, ids[i]);

			free(n->name);
			free(n);
		}
	}
	i = old.failed;
	buf_done(&old);
	return i ? -ENOMEM : 0;
}

static int name_ask(const struct block_names *n, enum trace_name_type type, uint64_t id, char *name,
		    uint64_t *ret_arg)
{
	switch (type) {
	case TRACE_NAME_CACHE:
		return n->cache ? n->cache(n->ctx, id, name, NAME_MAX_BYTES, ret_arg) : -ENOENT;
	case TRACE_NAME_DEVICE:
		return n->device ? n->device(n->ctx, (uint32_t)id, name, NAME_MAX_BYTES, ret_arg)
				 : -ENOENT;
	case TRACE_NAME_CGROUP:
		return n->cgroup ? n->cgroup(n->ctx, id, name, NAME_MAX_BYTES) : -ENOENT;
	case TRACE_NAME_SYMBOL:
		return n->symbol ? n->symbol(n->ctx, id, name, NAME_MAX_BYTES) : -ENOENT;
	case TRACE_NAME_IRQ:
		return n->irq ? n->irq(n->ctx, (uint32_t)(id - 1), name, NAME_MAX_BYTES) : -ENOENT;
	default:
		break;
	}
	return -ENOENT;
}

static struct name_entry *name_make(struct name_dict *b, const struct block_names *names,
				    enum trace_name_type type, uint64_t id)
{
	struct name_entry *n = calloc(1, sizeof(*n));
	char name[NAME_MAX_BYTES];
	uint64_t arg = 0;

	if (!n)
		return NULL;
	if (name_ask(names, type, id, name, &arg) >= 0) {
		name[NAME_MAX_BYTES - 1] = 0;
		n->arg = arg;
		n->name = strdup(name);
		if (!n->name)
			goto fail;
	}
	if (hash_map_put(&b->by_id[type], id, n) < 0)
		goto fail;
	return n;
fail:
	free(n->name);
	free(n);
	return NULL;
}

int name_dict_use(struct name_dict *b, const struct block_names *names, struct row_writer *w,
		  uint64_t epoch, enum trace_name_type type, uint64_t id)
{
	struct name_entry *n;

	if (!id)
		return 0;
	n = hash_map_get(&b->by_id[type], id);
	if (!n)
		n = name_make(b, names, type, id);
	if (!n)
		return -ENOMEM;
	if (n->used_block == epoch)
		return 0;
	n->used_block = epoch;
	if (!n->name)
		return 0;
	row_put_name(w,
		     &(struct trace_name){ .type = type, .id = id, .arg = n->arg,
					   .name = n->name });
	return 0;
}

/* ---- sites ---- */

struct site_asked {
	uint64_t addr;
	uint64_t from_ns, until_ns;
	uint32_t upid;
	uint32_t next;		/* the next answer of the same hash: index + 1; 0: none */
};

int site_dict_use(struct block_dict *b, const struct block_names *names, struct row_writer *w,
		  uint32_t upid, uint32_t pid, uint64_t addr, uint64_t ts_ns)
{
	uint64_t key = addr ^ (uint64_t)upid * 0x9e3779b97f4a7c15ull;
	struct site_asked *v = (struct site_asked *)b->items.data,
			  new = { .addr = addr, .upid = upid };
	uint32_t first = (uint32_t)(uintptr_t)hash_map_get(&b->by_key, key), i;
	struct trace_site row = { .upid = upid, .addr = addr };
	size_t cnt = b->items.len / sizeof(*v);
	int r;

	if (!names->site || !addr)
		return 0;
	for (i = first; i; i = v[i - 1].next)
		if (v[i - 1].addr == addr && v[i - 1].upid == upid && ts_ns >= v[i - 1].from_ns &&
		    ts_ns < v[i - 1].until_ns)
			return 0;
	if (cnt == SITE_DICT_MAX)
		return 0;
	r = names->site(names->ctx, pid, ts_ns, &row, &new.until_ns);
	if (r)
		return r == -ENOMEM ? r : 0;
	row_put_site(w, &row);
	new.from_ns = row.from_ns;
	new.next = first;
	buf_add(&b->items, &new, sizeof(new));
	if (b->items.failed || hash_map_put(&b->by_key, key, (void *)(uintptr_t)(cnt + 1)))
		return -ENOMEM;
	return 0;
}

/* ---- stacks ---- */

#define ID_BITS 62

struct stored_stack {
	uint32_t upid, kernel_cnt, user_cnt, zero;
	/* frames follow */
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 29;
}

static uint64_t stack_hash(const struct stack_frames *f)
{
	uint64_t h = mix(f->upid, f->kernel_cnt);
	uint32_t i;

	for (i = 0; i < f->kernel_cnt; i++)
		h = mix(h, f->kernel[i]);
	for (i = 0; i < f->user_cnt; i++)
		h = mix(h, f->user[i]);
	return h;
}

static bool is_same_stack(const struct stored_stack *s, const struct stack_frames *f)
{
	const uint64_t *frames = (const uint64_t *)(s + 1);

	return s->upid == f->upid && s->kernel_cnt == f->kernel_cnt && s->user_cnt == f->user_cnt &&
	       !memcmp(frames, f->kernel, f->kernel_cnt * sizeof(*frames)) &&
	       !memcmp(frames + s->kernel_cnt, f->user, f->user_cnt * sizeof(*frames));
}

int stack_dict_use(struct block_dict *b, struct row_writer *w, const struct stack_frames *f,
		   uint64_t *ret_id, bool *ret_new)
{
	struct stored_stack s = { f->upid, f->kernel_cnt, f->user_cnt, 0 };
	uint64_t id = stack_hash(f);
	uintptr_t at;
	uint32_t i;

	*ret_new = false;
	for (;; id++) {
		id &= (1ull << ID_BITS) - 1;
		id += !id;
		at = (uintptr_t)hash_map_get(&b->by_key, id);
		if (!at)
			break;
		*ret_id = id;
		if (is_same_stack((const struct stored_stack *)(b->items.data + (at - 1)), f))
			return 0;
	}
	at = b->items.len;
	buf_add(&b->items, &s, sizeof(s));
	buf_add(&b->items, f->kernel, f->kernel_cnt * sizeof(uint64_t));
	buf_add(&b->items, f->user, f->user_cnt * sizeof(uint64_t));
	if (b->items.failed || hash_map_put(&b->by_key, id, (void *)(at + 1)))
		return -ENOMEM;
	for (i = 0; i < f->kernel_cnt + f->user_cnt; i++) {
		struct trace_frame row = { .stack = id, .nth = i };

		row.upid = i < f->kernel_cnt ? 0 : f->upid;
		row.addr = i < f->kernel_cnt ? f->kernel[i] : f->user[i - f->kernel_cnt];
		row_put_frame(w, &row);
	}
	*ret_id = id;
	*ret_new = true;
	return 0;
}
