/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * stack_text: a stack in one line, outermost function first, as flame graph tools want it:
 *
 *     main;sites_outer;sites_alpha
 *
 * A frame without a name is what site_text has for it, a kernel one its address. A ';' in a name
 * becomes ':'.
 */
#ifndef STACK_TEXT_H
#define STACK_TEXT_H

#include <stdbool.h>

#include "base/buf.h"
#include "trace/trace.h"

enum stack_part { STACK_ALL, STACK_USER, STACK_KERNEL };

/*
 * Appends it, or its frames of user space or of the kernel, with a NUL; user frames are what they
 * were at ts_ns. False: a part of which it has no frame; nothing was appended. Of a stack without
 * any frame, all and the user's part are "[no stack]". Memory failures are kept in out.
 */
bool stack_text_add(struct buf *out, const struct trace *t, uint64_t stack, uint64_t ts_ns,
		    enum stack_part part);

#endif /* STACK_TEXT_H */
