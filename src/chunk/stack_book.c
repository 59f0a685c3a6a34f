/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* stack_book: a map from number to frames; where a hash is taken by another stack, the next number. */
#include "chunk/stack_book.h"

#include <errno.h>
#include <string.h>

#define ID_BITS 62

struct stored {
	uint32_t upid, kernel_cnt, user_cnt, zero;
	/* frames follow */
};

void stack_book_done(struct stack_book *b)
{
	idmap_done(&b->by_id);
	buf_done(&b->stacks);
}

void stack_book_begin(struct stack_book *b)
{
	if (b->stacks.len)
		idmap_done(&b->by_id);
	buf_reset(&b->stacks);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	return h ^ h >> 29;
}

static uint64_t hash(const struct stack_frames *f)
{
	uint64_t h = mix(f->upid, f->kernel_cnt);
	uint32_t i;

	for (i = 0; i < f->kernel_cnt; i++)
		h = mix(h, f->kernel[i]);
	for (i = 0; i < f->user_cnt; i++)
		h = mix(h, f->user[i]);
	return h;
}

static bool is_same(const struct stored *s, const struct stack_frames *f)
{
	const uint64_t *frames = (const uint64_t *)(s + 1);

	return s->upid == f->upid && s->kernel_cnt == f->kernel_cnt && s->user_cnt == f->user_cnt &&
	       !memcmp(frames, f->kernel, f->kernel_cnt * sizeof(*frames)) &&
	       !memcmp(frames + s->kernel_cnt, f->user, f->user_cnt * sizeof(*frames));
}

int stack_book_use(struct stack_book *b, struct row_writer *w, const struct stack_frames *f,
		   uint64_t *ret_id, bool *ret_new)
{
	struct stored s = { f->upid, f->kernel_cnt, f->user_cnt, 0 };
	uint64_t id = hash(f);
	uintptr_t at;
	uint32_t i;

	*ret_new = false;
	for (;; id++) {
		id &= (1ull << ID_BITS) - 1;
		id += !id;
		at = (uintptr_t)idmap_get(&b->by_id, id);
		if (!at)
			break;
		*ret_id = id;
		if (is_same((const struct stored *)(b->stacks.data + (at - 1)), f))
			return 0;
	}
	at = b->stacks.len;
	buf_add(&b->stacks, &s, sizeof(s));
	buf_add(&b->stacks, f->kernel, f->kernel_cnt * sizeof(uint64_t));
	buf_add(&b->stacks, f->user, f->user_cnt * sizeof(uint64_t));
	if (b->stacks.failed || idmap_put(&b->by_id, id, (void *)(at + 1)))
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
