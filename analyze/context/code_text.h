/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* code_text: formats code, stacks, interrupts and the objects of waits as text. Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/context/dense_ids.h"
#include "base/buf.h"
#include "model/call.h"
#include "model/thread_states.h"
#include "symbol/source_lines.h"
#include "trace/trace.h"

/* Returns the name of an id, owned by the trace; NULL: unknown. */
static inline const char *name_text(const struct trace *t, enum trace_name_type type, uint64_t id)
{
	const struct trace_name *n = trace_name_find(t, type, id);

	return n ? n->name : NULL;
}

#define SITE_TEXT_MAX 1024

/*
 * Writes a user-space code address, cut to size:
 *
 *     make_node+0x1f [libtree.so]    libtree.so+0x11a3 (stripped)    0x7f21c0a3 (anonymous memory)
 *
 * Without with_offset, as in stacks, the offset in the function and the file are omitted. If lines
 * is not NULL, the source line is appended if known: make_node (/src/tree.c:31), or with_offset:
 * make_node+0x1f [libtree.so] (tree.c:31).
 */
void site_text_format(char *to, size_t size, const struct trace_site *s, bool with_offset,
		      struct source_lines *lines);
/*
 * Returns the address of the aligned eight bytes that contain a lock word. These eight bytes may
 * contain two four-byte words that threads wait for: a glibc condition variable has such words at
 * offsets 40 and 44, a read-write lock at 8 and 12.
 */
uint64_t site_lock_of(uint64_t addr);
/*
 * Writes the variable that contains a lock: "locks+0x28 (server)", "7f33a0012018 (libx.so)". s must
 * have a file.
 */
void site_text_variable(char *to, size_t size, const struct trace_site *s);
/*
 * Returns why s has no name, as in user_sites.unresolved: "stripped", "exited", ...; NULL: s has a
 * name.
 */
const char *site_text_why(const struct trace_site *s);

/*
 * FOLDED: omits CPython's own frames between two named Python functions ("py::...", python -X
 * perf). RAW: all frames. MODULES: shows only the file of each frame ("server;libz.so.1;[kernel]");
 * adjacent frames of the same file are merged.
 */
enum stack_frames { STACK_FOLDED, STACK_RAW, STACK_MODULES };
enum stack_part { STACK_ALL, STACK_USER, STACK_KERNEL, STACK_INTERRUPT };

/*
 * Appends a stack and a NUL, as one line with the outermost function first, the format of flame
 * graph tools:
 *
 *     main;sites_outer;sites_alpha
 *
 * part selects all frames, the user frames, the kernel frames, or the frames of an interrupt
 * without the interrupted code. User frames are resolved for ts_ns. A user frame without a name is
 * shown as by site_text_format(), a kernel frame as its address. A ';' in a name becomes ':'. A
 * stack without any frame is "[no stack]" for STACK_ALL and STACK_USER. Returns false, and appends
 * nothing, if the stack has no frame in the part. Memory errors are recorded in out.
 */
bool stack_text_add(struct buf *out, const struct trace *t, uint64_t stack, uint64_t ts_ns,
		    enum stack_part part, enum stack_frames frames, struct source_lines *lines);

/* Returns the name of an EVENT_IRQ type, "irq", "softirq" or "local"; "?": unknown type. */
const char *irq_type_name(uint64_t type);
/* Returns the type with this name; 0: not found. */
unsigned int irq_type_find(const char *name);
/*
 * Returns the name of a vector, e.g. "NET_RX" or "timer"; for an interrupt line, the names of its
 * handlers. The names are static or owned by the trace. NULL: unknown.
 */
const char *irq_vector_name(const struct trace *t, uint64_t type, uint64_t vector);

/* object_text: texts for the objects that threads wait for. Threads: any. No errors. */

#define OBJECT_TEXT_BYTES 256

/*
 * Writes the text for the `object` of a switch of thread utid with this `call`. A lock: its
 * variable in a mapped file ("audit_lock (server)", "locks+0x28 (server)"), its address in a file
 * without symbols ("7f33a0012018 (libx.so)") or elsewhere ("7f33a0012018"). A pipe: "pipe:[4711]",
 * as in /proc/PID/fd. A socket: its name ("tcp 127.0.0.1:80 > 127.0.0.1:40112"), or "socket:[4711]"
 * without a name. Returns false and writes "" if the object is unknown (0).
 */
bool object_text(const struct trace *t, uint32_t utid, uint64_t ts_ns, uint32_t call,
		 uint64_t object, char ret[OBJECT_TEXT_BYTES]);

/*
 * Returns whether the text names a socket whose ends have the same address: both ends are on this
 * machine.
 */
bool object_text_is_local(const char *text);

/*
 * Returns the thread that ended a sleep; 0: an interrupt ended it. For a socket whose other end is
 * on the same machine, the kernel delivers data in a soft interrupt during the sender's call, so
 * the thread interrupted by a soft interrupt is returned if that thread was in a call that sends.
 */
uint32_t object_waker(const struct trace *t, enum call_machine machine,
		      const struct thread_sleep *s);

/*
 * Returns the thread that ended a wait for a lock by releasing it; 0: unknown, or the wait was
 * ended by something else, such as a signal or a timeout.
 */
uint32_t object_releaser(enum call_machine machine, const struct thread_sleep *s);

/*
 * thread_makers: finds the thread that created a thread. The thread that calls clone or fork also
 * is the first to wake the new thread. If this wake-up is unknown, only the creating process is
 * known, and its main thread is used.
 *
 *     threads, processes, first wake-ups --[thread_makers]--> a thread, by dense number
 *
 * Threads: one at a time.
 */
struct thread_makers {
	const struct dense_ids *ids;
	uint32_t *first_of;	/* by dense process: its main thread; 0: unknown */
	uint32_t *waker_of;	/* by dense thread: its first waker; 0: unknown */
	uint64_t held_to_ns;	/* instant before the recorder released COMMAND; 0: unknown */
	bool is_read;
};

/* ids must outlive m. 0 or -ENOMEM. */
int thread_makers_init(struct thread_makers *m, const struct dense_ids *ids);
void thread_makers_done(struct thread_makers *m);

/* Stores the thread's first waker if w is the thread's first wait for a CPU after its creation. */
void thread_makers_note(struct thread_makers *m, const struct thread_wait *w);

/*
 * Returns the creator of a thread, as a dense number: the thread's first waker or, if unknown, the
 * main thread of its process; for a main thread, the main thread of the parent process. 0: unknown.
 * *ret_start_ns: time (CLOCK_MONOTONIC) at which the thread was created, or COMMAND was released;
 * 0: unknown.
 */
uint32_t thread_maker(struct thread_makers *m, uint32_t thread, uint64_t *ret_start_ns);
