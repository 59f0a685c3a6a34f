/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * stack_text: a stack in one line, outermost function first, as flame graph tools want it:
 *
 *     main;sites_outer;sites_alpha
 *
 * A frame without a name is what site_text has for it, a kernel one its address. A ';' in a name becomes ':'.
 */
#ifndef STACK_TEXT_H
#define STACK_TEXT_H

#include "base/buf.h"
#include "event/trace.h"

/* Appends it with a NUL; user frames are what they were at ts_ns. Memory failures are kept in out. */
void stack_text_add(struct buf *out, const struct trace *t, uint64_t stack, uint64_t ts_ns);

#endif /* STACK_TEXT_H */
