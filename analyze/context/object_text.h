/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* object_text: texts for the objects that threads wait for. Threads: any. No errors. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/context/dense_ids.h"
#include "model/call.h"
#include "model/thread_states.h"
#include "trace/trace.h"

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
 * Returns whether the text is that of a socket whose ends have the same address, and so are both on
 * this machine.
 */
bool object_text_is_local(const char *text);

/*
 * Returns the thread that ended a sleep; 0: an interrupt ended it. For a socket whose other end is
 * on the same machine, the kernel delivers data in a soft interrupt during the sender's call, so
 * the thread interrupted by a soft interrupt is returned if it was in a call that sends.
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
	uint64_t held_to_ns;	/* just before the recorder released COMMAND; 0: unknown */
	bool is_read;
};

/* ids must outlive m. 0 or -ENOMEM. */
int thread_makers_init(struct thread_makers *m, const struct dense_ids *ids);
void thread_makers_done(struct thread_makers *m);

/* Processes a thread's wait for a CPU, which may be the first one after its creation. */
void thread_makers_note(struct thread_makers *m, const struct thread_wait *w);

/*
 * Returns the creator of a thread, a dense number: its first waker or, if unknown, the main thread
 * of its process; for a main thread, that of the parent process. 0: unknown. *ret_start_ns: time
 * (CLOCK_MONOTONIC) at which the thread was created, or COMMAND was released; 0: unknown.
 */
uint32_t thread_maker(struct thread_makers *m, uint32_t thread, uint64_t *ret_start_ns);
