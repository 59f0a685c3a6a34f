/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* code_text: texts for code addresses, stacks of them, and interrupts. Threads: any. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "symbol/source_lines.h"
#include "trace/trace.h"

/* Returns the name of a number; the trace keeps it. NULL: unknown. */
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
 * Stacks show it without the offset in the function and without the file. Unless lines is NULL, the
 * line of source code follows, if it is known: make_node (/src/tree.c:31), make_node+0x1f
 * [libtree.so] (tree.c:31).
 */
void site_text_format(char *to, size_t size, const struct trace_site *s, bool with_offset,
		      struct source_lines *lines);
/*
 * A lock may have two words of four bytes for waiting, in one word of eight bytes: a condition
 * variable of glibc at offsets 40 and 44, a read-write lock at 8 and 12. Returns the address of the
 * word of eight bytes.
 */
uint64_t site_lock_of(uint64_t addr);
/* A lock in a variable: "locks+0x28 (server)", "7f33a0012018 (libx.so)". s has a file. */
void site_text_variable(char *to, size_t size, const struct trace_site *s);
/* "stripped", "exited", ... as in user_sites.unresolved; NULL: s has a name. */
const char *site_text_why(const struct trace_site *s);

/*
 * FOLDED: without CPython's own frames between two functions of Python that have names ("py::...",
 * python -X perf); RAW: all. MODULES: a frame is its file ("server;libz.so.1;[kernel]"), and
 * adjacent frames of one file are one.
 */
enum stack_frames { STACK_FOLDED, STACK_RAW, STACK_MODULES };
enum stack_part { STACK_ALL, STACK_USER, STACK_KERNEL, STACK_INTERRUPT };

/*
 * Appends a stack in one line with a NUL, outermost function first, the format of flame graph
 * tools:
 *
 *     main;sites_outer;sites_alpha
 *
 * or only its frames of user space or of the kernel, or those of an interrupt, without the
 * interrupted code. User frames are resolved for ts_ns. A user frame without a name is shown as in
 * site_text_format(), a kernel frame as its address. A ';' in a name becomes ':'. False: the stack
 * has no frame in this part, and nothing was appended. For a stack without any frame, all and the
 * user's part are "[no stack]". Memory failures are kept in out.
 */
bool stack_text_add(struct buf *out, const struct trace *t, uint64_t stack, uint64_t ts_ns,
		    enum stack_part part, enum stack_frames frames, struct source_lines *lines);

/*
 * Types and numbers of interrupts are those of EVENT_IRQ rows. Returns "irq", "softirq" or "local";
 * "?": unknown type.
 */
const char *irq_type_name(uint64_t type);
/* Returns the type of such a name, or 0. */
unsigned int irq_type_find(const char *name);
/*
 * Returns "NET_RX", "timer", or for a line the names of its handlers; the trace keeps them. NULL:
 * unknown.
 */
const char *irq_vector_name(const struct trace *t, uint64_t type, uint64_t vector);
