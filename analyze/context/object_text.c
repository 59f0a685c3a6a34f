/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* object_text: formats an object by the type that its call implies. */
#include "analyze/context/object_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/code_text.h"
#include "base/units.h"
#include "model/call.h"

static void put_lock(const struct trace *t, uint32_t utid, uint64_t ts_ns, uint64_t addr,
		     char ret[OBJECT_TEXT_BYTES])
{
	const struct trace_thread *of = trace_thread_find(t, utid);
	const struct trace_site *s = of ? trace_site_find(t, of->upid, addr, ts_ns) : NULL;

	if (s && s->module[0])
		site_text_variable(ret, OBJECT_TEXT_BYTES, s);
	else
		snprintf(ret, OBJECT_TEXT_BYTES, "%" PRIx64, site_lock_of(addr));
}

static void put_named(const struct trace *t, enum trace_name_type type, uint64_t id,
		      const char *what, uint64_t number, char ret[OBJECT_TEXT_BYTES])
{
	const char *name = name_text(t, type, id);

	if (name)
		snprintf(ret, OBJECT_TEXT_BYTES, "%s", name);
	else
		snprintf(ret, OBJECT_TEXT_BYTES, "%s:[%" PRIu64 "]", what, number);
}

/*
 * Writes a device's name. Device numbers of terminals are fixed
 * (Documentation/admin-guide/devices.txt).
 */
static void put_device(const struct trace *t, bool is_block, uint32_t dev,
		       char ret[OBJECT_TEXT_BYTES])
{
	unsigned int major = dev >> 20, minor = dev & 0xfffff;
	const char *name = is_block ? name_text(t, TRACE_NAME_DEVICE, dev) : NULL;

	if (name)
		snprintf(ret, OBJECT_TEXT_BYTES, "/dev/%s", name);
	else if (!is_block && major == 136)
		snprintf(ret, OBJECT_TEXT_BYTES, "/dev/pts/%u", minor);
	else if (!is_block && major == 4)
		snprintf(ret, OBJECT_TEXT_BYTES, "/dev/tty%s%u", minor < 64 ? "" : "S",
			 minor < 64 ? minor : minor - 64);
	else if (!is_block && major == 5 && minor < 3)
		snprintf(ret, OBJECT_TEXT_BYTES, "/dev/%s",
			 minor == 0 ? "tty" : minor == 1 ? "console" : "ptmx");
	else
		snprintf(ret, OBJECT_TEXT_BYTES, "%s device %u:%u", is_block ? "block" : "char",
			 major, minor);
}

/*
 * Writes the type of an anonymous file and its descriptor: "epoll 4". The two letters are those of
 * WIRE_OBJECT_ANONYMOUS().
 */
static void put_anonymous(uint64_t object, char ret[OBJECT_TEXT_BYTES])
{
	static const struct {
		char first, second;
		const char *name;
	} types[] = {
		{ 'e', 'f', "eventfd" },	{ 'e', 'p', "epoll" },
		{ 't', 'f', "timerfd" },	{ 's', 'l', "signalfd" },
		{ 'i', 'f', "inotify" },	{ 'f', 'i', "fanotify" },
		{ 'i', 'i', "io_uring" },	{ 'p', 'e', "perf_event" },
		{ 'u', 'a', "userfaultfd" },
	};
	const char *name = "anonymous file";

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((uint8_t)types[i].first == (object >> 40 & 0xff) &&
		    (uint8_t)types[i].second == (object >> 32 & 0xff))
			name = types[i].name;
	snprintf(ret, OBJECT_TEXT_BYTES, "%s %u", name, (uint32_t)object);
}

static void put_mmap_lock(const struct trace *t, uint32_t utid, uint64_t pid,
			  char ret[OBJECT_TEXT_BYTES])
{
	const struct trace_thread *of = trace_thread_find(t, utid);
	const struct trace_process *p = of ? trace_process_find(t, of->upid) : NULL;

	snprintf(ret, OBJECT_TEXT_BYTES, "mmap lock of %" PRIu64 "%s%s", pid, p ? " " : "",
		 p ? p->comm : "");
}

static void put_inode_lock(const struct trace *t, uint64_t object, char ret[OBJECT_TEXT_BYTES])
{
	char inode[32];
	const char *path = name_text(t, TRACE_NAME_WAITED, object);

	snprintf(inode, sizeof(inode), "inode:[%u]", (uint32_t)object);
	snprintf(ret, OBJECT_TEXT_BYTES, "inode lock of %s", path ? path : inode);
}

/*
 * Writes the function that contains the lock. The symbol is "function+0x1a", followed by "
 * [module]" for a module.
 */
static void put_kernel_lock(const struct trace *t, uint64_t object, char ret[OBJECT_TEXT_BYTES])
{
	const char *name = name_text(t, TRACE_NAME_SYMBOL, CALL_LOCK_ADDR(object));

	if (name)
		snprintf(ret, OBJECT_TEXT_BYTES, "kernel lock in %.*s", (int)strcspn(name, "+"),
			 name);
	else
		snprintf(ret, OBJECT_TEXT_BYTES, "kernel lock");
}

bool object_text(const struct trace *t, uint32_t utid, uint64_t ts_ns, uint32_t call,
		 uint64_t object, char ret[OBJECT_TEXT_BYTES])
{
	*ret = 0;
	if (!object)
		return false;
	switch (call_object_of(call)) {
	case CALL_OBJECT_PIPE:
		snprintf(ret, OBJECT_TEXT_BYTES, "pipe:[%" PRIu64 "]", object);
		break;
	case CALL_OBJECT_SOCKET:
		put_named(t, TRACE_NAME_SOCKET, object, "socket", object, ret);
		break;
	case CALL_OBJECT_FILE:
		put_named(t, TRACE_NAME_WAITED, object, "inode", (uint32_t)object, ret);
		break;
	case CALL_OBJECT_DEVICE:
		put_device(t, CALL_FILE(call) == CALL_FILE_BLOCK_DEVICE, (uint32_t)object, ret);
		break;
	case CALL_OBJECT_ANONYMOUS:
		put_anonymous(object, ret);
		break;
	case CALL_OBJECT_MMAP_LOCK:
		put_mmap_lock(t, utid, object, ret);
		break;
	case CALL_OBJECT_PROCESS:
		snprintf(ret, OBJECT_TEXT_BYTES, "process %" PRIu64, object);
		break;
	case CALL_OBJECT_THREAD:
		snprintf(ret, OBJECT_TEXT_BYTES, "thread %" PRIu64, object);
		break;
	case CALL_OBJECT_TIMER:
		units_format_duration(ret, OBJECT_TEXT_BYTES, object);
		break;
	case CALL_OBJECT_GROUP:
		put_named(t, TRACE_NAME_CGROUP, CALL_GROUP_ID(object), "cgroup", object, ret);
		break;
	case CALL_OBJECT_INODE_LOCK:
		put_inode_lock(t, object, ret);
		break;
	case CALL_OBJECT_KERNEL_LOCK:
		put_kernel_lock(t, object, ret);
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

uint32_t object_waker(const struct trace *t, enum call_machine machine,
		      const struct thread_sleep *s)
{
	enum call_wake wake = call_wake_of(machine, s->waker_call);
	char text[OBJECT_TEXT_BYTES];

	if (!s->is_irq)
		return s->waker;
	if (s->waker < EVENT_ID_FIRST || call_object_of(s->call) != CALL_OBJECT_SOCKET ||
	    (wake != CALL_WAKE_WRITE && wake != CALL_WAKE_CLOSE))
		return 0;
	/* the name of a socket does not depend on a thread */
	return object_text(t, EVENT_ID_UNKNOWN, s->end_ns, s->call, s->object, text) &&
	       object_text_is_local(text) ? s->waker : 0;
}

uint32_t object_releaser(enum call_machine machine, const struct thread_sleep *s)
{
	enum call_wake wake = call_wake_of(machine, s->waker_call);

	if (s->is_irq || s->waker_call == CALL_UNKNOWN)
		return 0;
	/* an exit releases robust locks, closes files and removes mappings */
	if (s->waker_call == CALL_EXIT)
		return s->waker;
	if (call_wake_of(machine, s->call) == CALL_WAKE_FUTEX)
		return wake == CALL_WAKE_FUTEX ? s->waker : 0;
	if (wake == CALL_WAKE_WRITE && !call_is_of_kernel_lock(s->call))
		/* e.g. the freezer's wake-up; but a write may release a kernel lock */
		return 0;
	return wake == CALL_WAKE_SIGNAL ? 0 : s->waker;
}

/*
 * thread_makers: main threads are looked up on first use, because a trace that is opened quickly
 * has not read its threads.
 */

int thread_makers_init(struct thread_makers *m, const struct dense_ids *ids)
{
	*m = (struct thread_makers){ .ids = ids };
	m->first_of = calloc(ids->process_cnt + 1, sizeof(*m->first_of));
	m->waker_of = calloc(ids->thread_cnt + 1, sizeof(*m->waker_of));
	return m->first_of && m->waker_of ? 0 : -ENOMEM;
}

void thread_makers_note(struct thread_makers *m, const struct thread_wait *w)
{
	uint32_t *waker = &m->waker_of[w->thread];

	if (!*waker && !w->slept && w->waker >= EVENT_ID_FIRST && w->waker < m->ids->thread_cnt)
		*waker = w->waker;
	if (*waker == w->waker && !m->held_to_ns && w->waker &&
	    dense_thread_row(m->ids, w->thread)->start_call == CALL_HELD)
		m->held_to_ns = w->from_ns - 1;
}

void thread_makers_done(struct thread_makers *m)
{
	free(m->first_of);
	free(m->waker_of);
}

static void read_first_threads(struct thread_makers *m)
{
	const struct trace_thread *threads;
	size_t cnt;

	threads = trace_threads(m->ids->trace, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		const struct trace_thread *h = &threads[i];
		const struct trace_process *p = trace_process_find(m->ids->trace, h->upid);

		if (p && h->tid == p->pid)
			m->first_of[dense_process(m->ids, h->upid)] =
				dense_thread(m->ids, h->utid);
	}
	m->is_read = true;
}

uint32_t thread_maker(struct thread_makers *m, uint32_t thread, uint64_t *ret_start_ns)
{
	const struct trace_thread *h = dense_thread_row(m->ids, thread);
	uint32_t process = dense_process_of(m->ids, thread);
	const struct trace_process *p = dense_process_row(m->ids, process);

	*ret_start_ns = h ? h->start_ns : 0;
	if (!h || !p)
		return 0;
	if (h->start_call == CALL_HELD && m->held_to_ns)
		*ret_start_ns = m->held_to_ns;
	if (m->waker_of[thread])
		return m->waker_of[thread];
	if (!m->is_read)
		read_first_threads(m);
	return m->first_of[h->tid == p->pid ? dense_process(m->ids, p->parent_upid) : process];
}
