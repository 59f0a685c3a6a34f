/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_unseen: ends of block requests that must have been, and were not seen.
 *
 *     block records, all CPUs, by time --[is a request's address used anew before it ended?]--> LOSS rows
 *
 * The kernel counts what it skips. But one that keeps some tasks to itself (a hypervisor's agent, say) may
 * not run BPF programs while such a task is current, and an interrupt that completes requests there goes by
 * without a count. The address tells: I/O that was announced (block_io_start) ends with block_rq_complete and
 * block_io_done before its request is used again. If they are missing, and no loss of the time
 * was declared that explains it, they are declared as skipped, between the start and the next one.
 *
 * A loss is counted by the recorder about once a second, so what is suspected in a slice is declared in the
 * next one; in the last slice at once. Kernels before 6.5 announce no start: nothing is said there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "chunk/block_state.h"
#include "chunk/hook_name.h"

#define UNSEEN_ADDRESSES_MAX 65536

struct unseen_request {
	uint64_t start_ns;		/* 0: not on its way, or not seen starting */
	bool completed;			/* all of it; only its done is missing */
};

struct unseen_step {
	uint64_t ts_ns;
	uint64_t rq;
	uint32_t number;		/* of arrival */
	uint8_t hook;
	bool is_whole;			/* completion: of all that was left */
};

struct block_unseen {
	struct idmap by_address;
	struct unseen_request *requests[UNSEEN_ADDRESSES_MAX];
	uint32_t request_cnt;
	struct unseen_step *steps;	/* of this slice */
	size_t step_cnt, step_cap;
	bool is_late;			/* one of them belongs to a slice before */
	struct trace_loss *suspects;
	size_t suspect_cnt, suspect_cap;
};

int block_unseen_new(struct block_unseen **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void forget_addresses(struct block_unseen *u)
{
	uint32_t i;

	for (i = 0; i < u->request_cnt; i++)
		free(u->requests[i]);
	u->request_cnt = 0;
	idmap_done(&u->by_address);
}

void block_unseen_free(struct block_unseen *u)
{
	if (!u)
		return;
	forget_addresses(u);
	free(u->steps);
	free(u->suspects);
	free(u);
}

void block_unseen_begin(struct block_unseen *u)
{
	u->step_cnt = 0;
	u->is_late = false;
}

int block_unseen_note(struct block_writer *w, const struct wire_block *r)
{
	struct block_unseen *u = w->unseen;

	if (u->step_cnt == u->step_cap) {
		size_t cap = u->step_cap ? u->step_cap * 2 : 256;
		void *p = realloc(u->steps, cap * sizeof(*u->steps));

		if (!p)
			return -ENOMEM;
		u->steps = p;
		u->step_cap = cap;
	}
	u->steps[u->step_cnt] = (struct unseen_step){
		.ts_ns = r->hdr.ts_ns, .rq = r->rq, .number = (uint32_t)u->step_cnt,
		.hook = (uint8_t)r->hdr.hook, .is_whole = r->done_bytes >= r->bytes,
	};
	u->step_cnt++;
	u->is_late |= r->hdr.ts_ns < w->from_ns;
	return 0;
}

static int step_cmp(const void *a, const void *b)
{
	const struct unseen_step *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static struct unseen_request *request_at(struct block_unseen *u, uint64_t rq)
{
	struct unseen_request *x = idmap_get(&u->by_address, rq);

	if (x)
		return x;
	if (u->request_cnt == UNSEEN_ADDRESSES_MAX)
		forget_addresses(u);
	x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	if (idmap_put(&u->by_address, rq, x) < 0) {
		free(x);
		return NULL;
	}
	u->requests[u->request_cnt++] = x;
	return x;
}

static int suspect(struct block_unseen *u, unsigned int hook, uint64_t from_ns, uint64_t to_ns)
{
	if (u->suspect_cnt == u->suspect_cap) {
		size_t cap = u->suspect_cap ? u->suspect_cap * 2 : 16;
		void *p = realloc(u->suspects, cap * sizeof(*u->suspects));

		if (!p)
			return -ENOMEM;
		u->suspects = p;
		u->suspect_cap = cap;
	}
	u->suspects[u->suspect_cnt++] = (struct trace_loss){
		.from_ns = from_ns, .to_ns = to_ns, .cpu = 0xffff, .hook = (uint8_t)hook,
		.cls = hook_name_find(hook)->cls, .missed_cnt = 1,
	};
	return 0;
}

static int on_step(struct block_unseen *u, const struct unseen_step *s)
{
	struct unseen_request *x = request_at(u, s->rq);
	int r = 0;

	if (!x)
		return -ENOMEM;
	if (s->ts_ns < x->start_ns)
		return 0;	/* late, and overtaken */
	switch (s->hook) {
	case WIRE_BLOCK_START:
		if (x->start_ns && !x->completed)
			r = suspect(u, WIRE_BLOCK_COMPLETE, x->start_ns, s->ts_ns);
		if (x->start_ns && r == 0)
			r = suspect(u, WIRE_BLOCK_DONE, x->start_ns, s->ts_ns);
		*x = (struct unseen_request){ .start_ns = s->ts_ns };
		break;
	case WIRE_BLOCK_COMPLETE:
		x->completed |= s->is_whole;
		break;
	case WIRE_BLOCK_DONE:
	case WIRE_BLOCK_MERGE:	/* into another: this one is no more */
		x->start_ns = 0;
		break;
	}
	return r;
}

/* What was declared otherwise may be just what is missing here: counted in this slice, or late. */
static bool is_explained(const struct block_writer *w, const struct block_slice *s)
{
	size_t i;

	if (w->unseen->is_late)
		return true;
	for (i = 0; i < s->loss_cnt; i++)
		if (s->losses[i].cls == WIRE_CLASS_BLOCK)
			return true;
	for (i = 0; i < s->gap_cnt; i++)
		if (!strcmp(s->gaps[i].source, hook_name_find(WIRE_BLOCK_DONE)->source))
			return true;
	return false;
}

static void declare(struct block_writer *w, size_t cnt)
{
	struct block_unseen *u = w->unseen;
	size_t i;

	if (!cnt)
		return;
	for (i = 0; i < cnt; i++)
		row_put_loss(&w->loss, &u->suspects[i]);
	w->stats.unseen_cnt += cnt;
	u->suspect_cnt -= cnt;
	memmove(u->suspects, u->suspects + cnt, u->suspect_cnt * sizeof(*u->suspects));
}

int block_unseen_resolve(struct block_writer *w, const struct block_slice *s)
{
	struct block_unseen *u = w->unseen;
	size_t i, old_cnt = u->suspect_cnt;
	int r = 0;

	if (u->step_cnt > 1)
		qsort(u->steps, u->step_cnt, sizeof(*u->steps), step_cmp);
	for (i = 0; r == 0 && i < u->step_cnt; i++)
		r = on_step(u, &u->steps[i]);
	if (r < 0)
		return r;
	if (is_explained(w, s)) {
		u->suspect_cnt = 0;
		forget_addresses(u);
		return 0;
	}
	declare(w, s->is_last ? u->suspect_cnt : old_cnt);
	return 0;
}
