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
#include "record/encode/block_state.h"
#include "record/encode/request_event.h"
#include "format/hook.h"

#define ADDRESSES_MAX 65536	/* at this limit all are forgotten: queues come and go */

void request_lost_end_done(struct request_lost_end *u)
{
	request_track_free(u->track);
	free(u->suspects);
}

static int suspect(struct request_lost_end *u, unsigned int hook, uint64_t from_ns, uint64_t to_ns)
{
	return array_add(&u->suspects, &u->suspect_cap, &u->suspect_cnt, (struct trace_loss){
		.from_ns = from_ns, .to_ns = to_ns, .cpu = 0xffff, .hook = (uint8_t)hook,
		.cls = hook_name_find(hook)->cls, .missed_cnt = 1, .inferred_cnt = 1 });
}

static int on_end(void *ctx, const struct block_request *r)
{
	struct request_lost_end *u = ctx;
	int ret = 0;

	if (r->unseen & REQUEST_UNSEEN_COMPLETE)
		ret = suspect(u, WIRE_BLOCK_COMPLETE, r->start_ns, r->end_ns);
	if (r->unseen & REQUEST_UNSEEN_DONE && ret == 0)
		ret = suspect(u, WIRE_BLOCK_DONE, r->start_ns, r->end_ns);
	return ret;
}

static int forget(struct request_lost_end *u)
{
	request_track_free(u->track);
	u->track = NULL;
	u->suspect_cnt = 0;
	return request_track_new(&u->track, on_end, u);
}

static void declare(struct block_writer *w, size_t cnt)
{
	struct request_lost_end *u = &w->unseen;

	if (!cnt)
		return;
	for (size_t i = 0; i < cnt; i++)
		row_put_loss(&w->small[CHUNK_LOSS], &u->suspects[i]);
	w->stats.unseen_cnt[EVENT_CLASS_BLOCK] += cnt;
	u->suspect_cnt -= cnt;
	memmove(u->suspects, u->suspects + cnt, u->suspect_cnt * sizeof(*u->suspects));
}

int request_lost_end_resolve(struct block_writer *w, const struct block_slice *s)
{
	struct request_lost_end *u = &w->unseen;
	size_t i = 0, old_cnt = u->suspect_cnt;
	struct event ev;
	int r = 0;

	while (i < w->steps.cnt && !request_is_step(w->steps.v[i].h))
		i++;
	/*
	 * a declared loss, or a loss of an earlier slice, may be the very event that is missing
	 * here
	 */
	if (block_slice_lacks(s, WIRE_BLOCK_DONE, true) ||
	    (i < w->steps.cnt && w->steps.v[i].ts_ns < w->from_ns))
		return forget(u);
	if (!u->track || request_track_addresses(u->track) > ADDRESSES_MAX)
		r = forget(u);
	for (; r == 0 && i < w->steps.cnt; i++) {
		if (!request_is_step(w->steps.v[i].h))
			continue;
		request_event_of(w->steps.v[i].h, &ev);
		r = request_track_event(u->track, &ev);
	}
	if (r == 0)
		declare(w, s->is_last ? u->suspect_cnt : old_cnt);
	return r;
}
