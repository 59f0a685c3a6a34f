/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* object_text: implementation. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/context/code_text.h"
#include "analyze/context/object_text.h"
#include "model/call.h"

static void put_lock(const struct trace *t, uint32_t utid, uint64_t ts_ns, uint64_t addr,
		     char ret[OBJECT_TEXT_BYTES])
{
	const struct trace_thread *of = trace_thread_find(t, utid);
	const struct trace_site *s = of ? trace_site_find(t, of->upid, addr, ts_ns) : NULL;

	if (s && s->module[0])
		site_text_variable(ret, OBJECT_TEXT_BYTES, s);
	else
		snprintf(ret, OBJECT_TEXT_BYTES, "%" PRIx64, addr);
}

bool object_text(const struct trace *t, uint32_t utid, uint64_t ts_ns, uint32_t call,
		 uint64_t object, char ret[OBJECT_TEXT_BYTES])
{
	const struct trace_name *n;

	*ret = 0;
	if (!object)
		return false;
	switch (call_object_of(call)) {
	case CALL_OBJECT_PIPE:
		snprintf(ret, OBJECT_TEXT_BYTES, "pipe:[%" PRIu64 "]", object);
		break;
	case CALL_OBJECT_SOCKET:
		n = trace_name_find(t, TRACE_NAME_SOCKET, object);
		if (n)
			snprintf(ret, OBJECT_TEXT_BYTES, "%s", n->name);
		else
			snprintf(ret, OBJECT_TEXT_BYTES, "socket:[%" PRIu64 "]", object);
		break;
	case CALL_OBJECT_LOCK:
		put_lock(t, utid, ts_ns, object, ret);
		break;
	}
	return true;
}

bool object_text_is_local(const char *text)
{
	const char *local = strchr(text, ' '), *remote = strstr(text, " > "), *port;

	if (!local || !remote)
		return false;
	port = strrchr(remote, ':');
	return port && !strncmp(local + 1, remote + 3, (size_t)(port + 1 - (remote + 3)));
}

uint32_t object_waker(const struct trace *t, const struct thread_sleep *s)
{
	char text[OBJECT_TEXT_BYTES];

	if (!s->is_irq)
		return s->waker;
	if (s->waker < EVENT_ID_FIRST || call_object_of(s->call) != CALL_OBJECT_SOCKET)
		return 0;
	/* the name of a socket is nobody's own */
	return object_text(t, EVENT_ID_UNKNOWN, s->end_ns, s->call, s->object, text) &&
	       object_text_is_local(text) ? s->waker : 0;
}
