/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* checkpoint_file: in a part, rows of memory are RSS_STATE and events are columns. */
#include "edit/checkpoint_file.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "format/block_events.h"
#include "trace/derived_file.h"
#include "trace/trace_state.h"

#define CHECKPOINTS_MAX 100000

struct checkpoint_file {
	struct trace *t;
	struct derived_file *d;	/* NULL: none can be used or made */
	bool is_begun;		/* there are new parts */
	struct block_out out;
};

/* ---- bytes ---- */

int checkpoint_encode(const struct checkpoint *c, uint64_t at_ns, unsigned int cpu_cnt,
		      struct block_out *o, const void **ret, size_t *ret_bytes)
{
	struct disk_block head = { .flags = CHUNK_BLOCK_CARRIED, .cpu_cnt = cpu_cnt };
	struct row_writer rows = { .base_ns = at_ns };
	size_t i;
	int r;

	head.from_ns = head.to_ns = at_ns;
	block_out_begin(o);
	for (i = 0; i < c->memory_cnt; i++)
		row_put_rss(&rows, &c->memory[i]);
	block_out_add_rows(o, CHUNK_RSS_STATE, &rows);
	buf_done(&rows.out);
	r = block_events_add(o, c->events, c->event_cnt, &head);
	return r < 0 ? r : block_out_seal(o, &head, ret, ret_bytes);
}

/*
 * Stored events take more than a byte each. Bytes that claim otherwise would make a reader take
 * hundreds of times their size.
 */
static bool has_too_many_events(const struct disk_block *head)
{
	uint64_t cnt = 0;
	unsigned int kind;

	for (kind = 0; kind < CHUNK_KINDS; kind++)
		cnt += head->kind_cnt[kind];
	return cnt > head->block_bytes;
}

static int read_memory(struct block_meta *f, struct zunpack *z, struct checkpoint *c)
{
	struct row_reader rows;
	struct trace_rss row;
	size_t cap = 0;
	int r = block_meta_rows(f, z, CHUNK_RSS_STATE, &rows);

	while (r == 0 && (r = row_get_rss(&rows, &row)) > 0) {
		if (row.ts_ns != f->head.from_ns ||
		    (c->memory_cnt && row.upid <= c->memory[c->memory_cnt - 1].upid))
			return -EBADMSG;
		r = array_reserve(&c->memory, &cap, c->memory_cnt + 1);
		if (r == 0)
			c->memory[c->memory_cnt++] = row;
	}
	return r;
}

static int read_block(struct block_meta *f, const struct block_io *io, struct checkpoint *c)
{
	struct zunpack *z;
	char scratch[4096];
	const char *why;
	int r = zunpack_new(&z);

	if (r < 0)
		return r;
	r = block_meta_verify(f, io, scratch, sizeof(scratch), &why);
	if (r == 0)
		r = read_memory(f, z, c);
	if (r == 0)
		r = block_events_read(f, io, z, &c->events, &c->event_cnt);
	zunpack_free(z);
	return r;
}

int checkpoint_decode(const void *bytes, size_t cnt, uint64_t at_ns, unsigned int cpu_cnt,
		      struct checkpoint *ret)
{
	struct block_memory m = { bytes, cnt };
	const struct block_io io = { block_memory_read, &m };
	struct block_meta *f = NULL;
	struct checkpoint c = { 0 };
	struct disk_block head;
	const char *why;
	int r = cnt < sizeof(head) ? -EBADMSG : block_head_check(bytes, &head, &why);

	if (r == 0 && (head.block_bytes != cnt || !(head.flags & CHUNK_BLOCK_CARRIED) ||
		       head.from_ns != at_ns || head.to_ns != at_ns || head.cpu_cnt > cpu_cnt ||
		       has_too_many_events(&head)))
		r = -EBADMSG;
	if (r == 0)
		r = block_meta_open(&f, &head, &io, &why);
	if (r == 0)
		r = read_block(f, &io, &c);
	block_meta_free(f);
	if (r == 0 && c.event_cnt && c.events[c.event_cnt - 1].ts_ns >= at_ns)
		r = -EBADMSG;
	if (r < 0) {
		checkpoint_done(&c);
		return r == -ENOMEM ? r : -EBADMSG;
	}
	*ret = c;
	return 0;
}

/* ---- the derived file ---- */

static int open_derived(struct checkpoint_file *p)
{
	const struct trace *t = p->t;

	if (t->dir_fd < 0 || t->is_live || !trace_is_finished(t) || t->damages.cnt)
		return 0;
	return derived_file_open(&p->d, p->t, DERIVED_SAVE | DERIVED_BESIDE);
}

static void close_derived(struct checkpoint_file *p)
{
	derived_file_close(p->d);
	p->d = NULL;
}

int checkpoint_file_open(struct checkpoint_file **ret, struct trace *t)
{
	struct checkpoint_file *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->t = t;
	r = block_out_init(&p->out, 0);
	if (r == 0)
		r = open_derived(p);
	if (r < 0) {
		checkpoint_file_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void checkpoint_file_free(struct checkpoint_file *p)
{
	if (!p)
		return;
	close_derived(p);
	block_out_done(&p->out);
	free(p);
}

/* The last part that is not after at_ns. 1 or 0, or what reading it gave. */
static int find_part(struct checkpoint_file *p, uint64_t at_ns, struct derived_part *ret,
		     struct buf *mem, const uint8_t **ret_bytes)
{
	const struct derived_part *parts;
	size_t cnt, i;
	int r = derived_file_parts(p->d, DERIVED_CHECKPOINT, &parts, &cnt);

	if (r < 0 || !cnt || parts[0].key > at_ns)
		return r;
	i = at_ns == UINT64_MAX ? cnt : lower_bound(parts, cnt, key, at_ns + 1);
	*ret = parts[i - 1];
	r = derived_file_read(p->d, ret, mem, ret_bytes);
	return r == 0 ? 1 : r;
}

int checkpoint_file_find(struct checkpoint_file *p, uint64_t at_ns, uint64_t *ret_at_ns,
			 struct checkpoint *ret)
{
	struct derived_part part;
	struct buf mem = { 0 };
	const uint8_t *bytes;
	int r = p->d ? find_part(p, at_ns, &part, &mem, &bytes) : 0;

	if (r > 0) {
		r = checkpoint_decode(bytes, part.raw_bytes, part.key, p->t->cpu_cnt, ret);
		if (r == 0)
			*ret_at_ns = part.key;
		r = r == 0 ? 1 : r;
	}
	buf_done(&mem);
	if (r < 0 && r != -ENOMEM) {
		/* the file is damaged: everything in it is made again */
		derived_file_forget(p->d);
		close_derived(p);
		r = open_derived(p);
	}
	return r;
}

static int add_part(struct checkpoint_file *p, uint64_t at_ns, const struct checkpoint *c)
{
	struct buf raw = { 0 };
	const void *bytes;
	size_t cnt;
	int r = p->is_begun ? 0 : derived_file_begin(p->d, true);

	p->is_begun = true;
	if (r == 0)
		r = checkpoint_encode(c, at_ns, p->t->cpu_cnt, &p->out, &bytes, &cnt);
	if (r < 0)
		return r;
	buf_add(&raw, bytes, cnt);
	r = derived_file_add_plain(p->d, DERIVED_CHECKPOINT, at_ns, 0, &raw);
	buf_done(&raw);
	return r;
}

int checkpoint_file_add(struct checkpoint_file *p, uint64_t at_ns, const struct checkpoint *c)
{
	const struct derived_part *parts;
	size_t cnt;
	int r;

	if (!p->d || !derived_file_has_place(p->d))
		return 0;
	r = derived_file_parts(p->d, DERIVED_CHECKPOINT, &parts, &cnt);
	if (r == 0 && (cnt == CHECKPOINTS_MAX || (cnt && at_ns <= parts[cnt - 1].key)))
		return 0;
	if (r == 0)
		r = add_part(p, at_ns, c);
	if (r < 0)
		close_derived(p);
	return r == -ENOMEM ? r : 0;
}

void checkpoint_file_save(struct checkpoint_file *p)
{
	if (p->d && p->is_begun && !p->t->damages.cnt)
		(void)derived_file_commit(p->d, p->t, p->t->blocks.cnt);
}
