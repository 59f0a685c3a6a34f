/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* object_text: texts for the objects that threads wait for. Threads: any. No errors. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/call.h"
#include "model/thread_states.h"
#include "trace/trace.h"

#define OBJECT_TEXT_BYTES 256

/*
 * Writes the text for `object` of a switch of thread utid with this `call`: a lock in a variable of
 * a mapped file ("audit_lock (server)", "locks+0x28 (server)"), in a file without symbols
 * ("7f33a0012018 (libx.so)"), or elsewhere ("7f33a0012018"); "pipe:[4711]" as in /proc/PID/fd, a
 * socket by its name ("tcp 127.0.0.1:80 > 127.0.0.1:40112"), or "socket:[4711]" if it has none.
 * False, and "": the object is 0, that is, unknown.
 */
bool object_text(const struct trace *t, uint32_t utid, uint64_t ts_ns, uint32_t call,
		 uint64_t object, char ret[OBJECT_TEXT_BYTES]);

/*
 * Returns whether the text is of a socket whose ends have the same address: both on this machine.
 */
bool object_text_is_local(const char *text);

/*
 * Returns the thread that ended a sleep; 0: an interrupt did. If the other end of a socket is on
 * the same machine, the kernel delivers its data in a soft interrupt within the sender's call. A
 * thread that was interrupted by the soft interrupt therefore counts only if it was in a call that
 * sends.
 */
uint32_t object_waker(const struct trace *t, enum call_machine machine,
		      const struct thread_sleep *s);

/*
 * Returns the thread whose release of a lock ended a wait for it; 0: a signal, a time-out or the
 * like did, or the thread is unknown.
 */
uint32_t object_releaser(enum call_machine machine, const struct thread_sleep *s);
