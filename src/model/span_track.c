/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* span_track: see span_track.h. */
#include "model/span_track.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "format/event.h"

#define ANY_PROCESS UINT32_MAX

void span_track_done(struct span_track *t)
{
	free(t->requests);
	free(t->stays);
	free(t->steps);
	free(t->last);
	free(t->threads);
	hash_map_done(&t->ids);
	hash_map_done(&t->thread_numbers);
	*t = (struct span_track){ 0 };
}

static struct span_thread *thread_of(struct span_track *t, uint32_t thread)
{
	uint32_t nr;
	int added = hash_map_intern(&t->thread_numbers, thread, 0, &nr);

	if (added < 0 || array_reserve(&t->threads, &t->thread_cap, nr + 1) < 0)
		return NULL;
	if (added)
		t->threads[nr] = (struct span_thread){ 0 };
	return &t->threads[nr];
}

/* Returns the element for the last request with an id; NULL: out of memory. */
static uint32_t *last_of(struct span_track *t, uint32_t process, uint64_t id)
{
	uint32_t nr;
	int added = hash_map_intern(&t->ids, process, id, &nr);

	if (added < 0 || array_reserve(&t->last, &t->last_cap, nr + 1) < 0)
		return NULL;
	if (added)
		t->last[nr] = 0;
	return &t->last[nr];
}

/* Sets *ret to 1 + the open request with this id; 0: there is none. */
static int find(struct span_track *t, uint32_t process, uint64_t id, uint32_t *ret)
{
	const uint32_t among[] = { process, ANY_PROCESS };

	*ret = 0;
	for (int i = 0; i < 2 && !*ret; i++) {
		uint32_t *last = last_of(t, among[i], id);

		if (!last)
			return -ENOMEM;
		if (*last && !t->requests[*last - 1].end_ns)
			*ret = *last;
	}
	return 0;
}

static void end_stay(struct span_track *t, uint32_t request, uint64_t ts_ns)
{
	struct span_request *r = &t->requests[request];

	if (r->stay)
		t->stays[r->stay - 1].to_ns = ts_ns;
	r->stay = 0;
}

static void end_step(struct span_track *t, uint32_t request, uint64_t ts_ns)
{
	struct span_request *r = &t->requests[request];

	if (r->step)
		t->steps[r->step - 1].to_ns = ts_ns;
	r->step = 0;
}

static int begin_stay(struct span_track *t, uint32_t request, uint32_t thread, uint64_t ts_ns)
{
	end_stay(t, request, ts_ns);
	if (array_add(&t->stays, &t->stay_cap, &t->stay_cnt,
		      ((struct span_stay){ request, thread, ts_ns, 0 })) < 0)
		return -ENOMEM;
	t->requests[request].stay = (uint32_t)t->stay_cnt;
	return 0;
}

/* Makes the thread work for a request. request: 1 + index of a request with an id; 0: none. */
static int attach(struct span_track *t, struct span_thread *thread, const struct span_event *ev,
		  uint32_t request)
{
	const struct span_request *old = thread->current ? &t->requests[thread->current - 1] : NULL;

	if (request && thread->current == request && old->stay &&
	    t->stays[old->stay - 1].thread == ev->thread)
		return 0;
	if (old && old->stay && t->stays[old->stay - 1].thread == ev->thread)
		end_stay(t, thread->current - 1, ev->ts_ns);
	thread->current = request;
	return request ? begin_stay(t, request - 1, ev->thread, ev->ts_ns) : 0;
}

static int begin(struct span_track *t, struct span_thread *thread, const struct span_event *ev)
{
	struct span_request r = { .name = ev->name, .id = ev->id, .begin_ns = ev->ts_ns,
				  .thread = ev->thread, .process = ev->process,
				  .outer = ev->id ? 0 : thread->call };
	uint32_t *own, *any, nr;

	if (array_add(&t->requests, &t->request_cap, &t->request_cnt, r) < 0)
		return -ENOMEM;
	nr = (uint32_t)t->request_cnt;
	if (!ev->id) {
		thread->call = nr;
		return begin_stay(t, nr - 1, ev->thread, ev->ts_ns);
	}
	own = last_of(t, ev->process, ev->id);
	if (!own)
		return -ENOMEM;
	*own = nr;
	any = last_of(t, ANY_PROCESS, ev->id);
	if (!any)
		return -ENOMEM;
	*any = nr;
	return attach(t, thread, ev, nr);
}

static void end(struct span_track *t, uint32_t request, const struct span_event *ev)
{
	end_stay(t, request, ev->ts_ns);
	end_step(t, request, ev->ts_ns);
	t->requests[request].end_ns = ev->ts_ns;
	t->requests[request].has_failed = ev->action == EVENT_SPAN_FAIL;
	t->requests[request].ender = ev->thread;
}

/*
 * Ends the innermost call with the event's name (if the event has no name: the innermost call), and
 * all calls inside that call.
 */
static void end_call(struct span_track *t, struct span_thread *thread, const struct span_event *ev)
{
	uint32_t call = thread->call;

	while (call && ev->name && t->requests[call - 1].name != ev->name)
		call = t->requests[call - 1].outer;
	if (!call)
		return;
	for (uint32_t at = thread->call;; at = t->requests[at - 1].outer) {
		end(t, at - 1, ev);
		if (at == call)
			break;
	}
	thread->call = t->requests[call - 1].outer;
}

static int step(struct span_track *t, const struct span_thread *thread, const struct span_event *ev)
{
	uint32_t request = thread->current;

	if (!request || t->requests[request - 1].end_ns)
		request = thread->call;
	if (!request)
		return 0;
	end_step(t, request - 1, ev->ts_ns);
	if (array_add(&t->steps, &t->step_cap, &t->step_cnt,
		      ((struct span_step){ ev->name, request - 1, ev->thread, ev->ts_ns, 0 })) < 0)
		return -ENOMEM;
	t->requests[request - 1].step = (uint32_t)t->step_cnt;
	return 0;
}

int span_track_event(struct span_track *t, const struct span_event *ev)
{
	struct span_thread *thread = thread_of(t, ev->thread);
	uint32_t request = 0;
	int ret = 0;

	if (!thread)
		return -ENOMEM;
	if (ev->id && ev->action != EVENT_SPAN_BEGIN)
		ret = find(t, ev->process, ev->id, &request);
	if (ret)
		return ret;
	switch (ev->action) {
	case EVENT_SPAN_BEGIN:
		return begin(t, thread, ev);
	case EVENT_SPAN_STEP:
		return step(t, thread, ev);
	case EVENT_SPAN_ATTACH:
		return !ev->id || request ? attach(t, thread, ev, request) : 0;
	case EVENT_SPAN_END:
	case EVENT_SPAN_FAIL:
		if (!ev->id)
			end_call(t, thread, ev);
		else if (request)
			end(t, request - 1, ev);
		return 0;
	default:
		return 0;
	}
}
