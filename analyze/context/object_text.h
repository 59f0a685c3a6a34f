/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* object_text: what a thread waited for, as people read it. Threads: any. No errors. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/call.h"
#include "model/thread_states.h"
#include "trace/trace.h"

#define OBJECT_TEXT_BYTES 256

/*
 * `object` of a switch of thread utid with this `call`: a lock in a variable of a mapped file
 * ("audit_lock (server)", "locks+0x28 (server)"), in a file without symbols ("7f33a0012018
 * (libx.so)"), or elsewhere ("7f33a0012018"); "pipe:[4711]" as in /proc/PID/fd, a socket by its
 * name ("tcp 127.0.0.1:80 > 127.0.0.1:40112"), or "socket:[4711]" of one without. False, and "":
 * the object is 0, that is, not known.
 */
bool object_text(const struct trace *t, uint32_t utid, uint64_t ts_ns, uint32_t call,
		 uint64_t object, char ret[OBJECT_TEXT_BYTES]);

/* The text is of a socket whose two ends have one address: both are on this machine. */
bool object_text_is_local(const char *text);

/*
 * The thread that ended a sleep; 0: an interrupt did. The kernel delivers what a socket's other end
 * on the same machine sends in a soft interrupt within the sender's call. A thread that was hit by
 * the soft interrupt therefore counts only if it was in a call that sends.
 */
uint32_t object_waker(const struct trace *t, enum call_machine machine,
		      const struct thread_sleep *s);

/*
 * The thread whose release of a lock ended the sleep of a wait for it; 0: a signal, a time-out or
 * the like did, or it is not known.
 */
uint32_t object_releaser(enum call_machine machine, const struct thread_sleep *s);
