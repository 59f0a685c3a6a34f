/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* name_book: a map per type; an id that has no name is kept too, so that it is not asked for again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "chunk/name_book.h"

#define NAME_MAX_BYTES 4096

struct name_entry {
	uint64_t used_block;	/* the last epoch it was written in */
	uint64_t arg;
	char *name;		/* NULL: it has none */
};

void name_book_init(struct name_book *b, const struct block_names *names)
{
	memset(b, 0, sizeof(*b));
	b->names = *names;
}

void name_book_done(struct name_book *b)
{
	unsigned int type;
	size_t i;

	for (type = 0; type < NAME_BOOK_TYPES; type++) {
		struct idmap *m = &b->by_id[type];

		for (i = 0; m->slots && i < (size_t)1 << m->bits; i++) {
			struct name_entry *n = m->slots[i].value;

			if (!n)
				continue;
			free(n->name);
			free(n);
		}
		idmap_done(m);
	}
}

int name_book_forget(struct name_book *b, uint64_t epoch)
{
	struct buf old = { 0 };
	unsigned int type;
	size_t i;

	for (type = 0; type < NAME_BOOK_TYPES && !old.failed; type++) {
		struct idmap *m = &b->by_id[type];
		const uint64_t *ids;

		/* removing moves entries: first the ids, then each by itself */
		buf_reset(&old);
		for (i = 0; m->slots && i < (size_t)1 << m->bits; i++) {
			const struct name_entry *n = m->slots[i].value;

			if (n && n->used_block < epoch)
				buf_add(&old, &m->slots[i].key, sizeof(m->slots[i].key));
		}
		ids = (const uint64_t *)old.data;
		for (i = 0; i < old.len / sizeof(*ids) && !old.failed; i++) {
			struct name_entry *n = idmap_remove(m, ids[i]);

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

static struct name_entry *name_make(struct name_book *b, enum trace_name_type type, uint64_t id)
{
	struct name_entry *n = calloc(1, sizeof(*n));
	char name[NAME_MAX_BYTES];
	uint64_t arg = 0;

	if (!n)
		return NULL;
	if (name_ask(&b->names, type, id, name, &arg) >= 0) {
		name[NAME_MAX_BYTES - 1] = 0;
		n->arg = arg;
		n->name = strdup(name);
		if (!n->name)
			goto fail;
	}
	if (idmap_put(&b->by_id[type], id, n) < 0)
		goto fail;
	return n;
fail:
	free(n->name);
	free(n);
	return NULL;
}

int name_book_use(struct name_book *b, struct row_writer *w, uint64_t epoch,
		  enum trace_name_type type, uint64_t id)
{
	struct name_entry *n;

	if (!id)
		return 0;
	n = idmap_get(&b->by_id[type], id);
	if (!n)
		n = name_make(b, type, id);
	if (!n)
		return -ENOMEM;
	if (n->used_block == epoch)
		return 0;
	n->used_block = epoch;
	if (!n->name)
		return 0;
	row_put_name(w,
		     &(struct row_name){ .type = type, .id = id, .arg = n->arg, .name = n->name });
	return 0;
}
