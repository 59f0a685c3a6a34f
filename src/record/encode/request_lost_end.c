/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * request_lost_end: finds ends of block requests that must have happened and that no program saw.
 *
 *     block records, all CPUs, by time
 *         --[is a request's address used again before the request ended?]--> LOSS rows
 *
 * The kernel counts the programs that it skips. But a kernel that hides some tasks (a hypervisor's
 * agent, for example) may run no BPF program while such a task is current; an interrupt that
 * completes requests at that moment goes unrecorded and uncounted. The address reveals it: I/O that
 * was announced (block_io_start) ends with block_rq_complete and block_io_done before its request
 * is used again. If these are missing, and no declared loss of that time explains it, they are
 * declared as skipped, between the start and the next use.
 *
 * The recorder counts losses about once a second, so a suspicion in one slice is declared in the
 * next one, and in the last slice at once. Kernels before 6.5 announce no start, so nothing can be
 * found there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"
#include "record/encode/block_state.h"
#include "format/hook.h"

#define UNSEEN_ADDRESSES_MAX 65536

struct end_request {
	uint64_t start_ns;		/* 0: not in flight, or its start was not seen */
	bool completed;			/* completed as a whole; only its done record is missing */
};

void request_lost_end_done(struct request_lost_end *u)
{
	hash_map_done_values(&u->by_address);
	free(u->suspects);
}

static struct end_request *request_at(struct request_lost_end *u, uint64_t rq)
{
	struct end_request *x = hash_map_get(&u->by_address, rq);

	if (x)
		return x;
	if (u->by_address.cnt == UNSEEN_ADDRESSES_MAX)
		hash_map_done_values(&u->by_address);
	x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	if (hash_map_put(&u->by_address, rq, x) < 0) {
		free(x);
		return NULL;
	}
	return x;
}

static int suspect(struct request_lost_end *u, unsigned int hook, uint64_t from_ns, uint64_t to_ns)
{
	if (array_reserve(&u->suspects, &u->suspect_cap, u->suspect_cnt + 1) < 0)
		return -ENOMEM;
	u->suspects[u->suspect_cnt++] = (struct trace_loss){
		.from_ns = from_ns, .to_ns = to_ns, .cpu = 0xffff, .hook = (uint8_t)hook,
		.cls = hook_name_find(hook)->cls, .missed_cnt = 1, .inferred_cnt = 1,
	};
	return 0;
}

static int on_step(struct request_lost_end *u, const struct wire_request *b)
{
	struct end_request *x = request_at(u, b->rq);
	uint64_t ts_ns = b->hdr.ts_ns;
	int r = 0;

	if (!x)
		return -ENOMEM;
	if (ts_ns < x->start_ns)
		return 0;	/* a late record; a later one was applied already */
	switch (b->hdr.hook) {
	case WIRE_BLOCK_START:
		if (x->start_ns && !x->completed)
			r = suspect(u, WIRE_BLOCK_COMPLETE, x->start_ns, ts_ns);
		if (x->start_ns && r == 0)
			r = suspect(u, WIRE_BLOCK_DONE, x->start_ns, ts_ns);
		*x = (struct end_request){ .start_ns = ts_ns };
		break;
	case WIRE_BLOCK_COMPLETE:
		x->completed |= b->done_bytes >= b->bytes;
		break;
	case WIRE_BLOCK_DONE:
	case WIRE_BLOCK_MERGE:	/* merged into another request: this one no longer exists */
		x->start_ns = 0;
		break;
	}
	return r;
}

static void declare(struct block_writer *w, size_t cnt)
{
	struct request_lost_end *u = &w->unseen;
	size_t i;

	if (!cnt)
		return;
	for (i = 0; i < cnt; i++)
		row_put_loss(&w->loss, &u->suspects[i]);
	w->stats.unseen_cnt[EVENT_CLASS_BLOCK] += cnt;
	u->suspect_cnt -= cnt;
	memmove(u->suspects, u->suspects + cnt, u->suspect_cnt * sizeof(*u->suspects));
}

int request_lost_end_resolve(struct block_writer *w, const struct block_slice *s)
{
	struct request_lost_end *u = &w->unseen;
	size_t i, old_cnt = u->suspect_cnt;
	bool is_late = false;	/* a record belongs to an earlier slice, whose losses are past */
	int r = 0;

	for (i = 0; r == 0 && i < w->steps.cnt; i++) {
		if (w->steps.v[i].h->hook == WIRE_DIRTY || w->steps.v[i].h->hook == WIRE_PATH)
			continue;
		is_late |= w->steps.v[i].ts_ns < w->from_ns;
		r = on_step(u, (const struct wire_request *)w->steps.v[i].h);
	}
	if (r < 0)
		return r;
	/* a declared loss may be just what is missing here */
	if (is_late || block_slice_lacks(s, WIRE_BLOCK_DONE, true)) {
		u->suspect_cnt = 0;
		hash_map_done_values(&u->by_address);
		return 0;
	}
	declare(w, s->is_last ? u->suspect_cnt : old_cnt);
	return 0;
}
