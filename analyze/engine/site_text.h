/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * site_text: a user-space code address as people read it.
 *
 *     make_node+0x1f [libtree.so]    libtree.so+0x11a3 (stripped)    0x7f21c0a3 (anonymous memory)
 *
 * Threads: any.
 */
#ifndef SITE_TEXT_H
#define SITE_TEXT_H

#include <stddef.h>

#include "format/rows.h"

#define SITE_TEXT_MAX 512

/* Writes it, cut to size. */
void site_text_format(char *to, size_t size, const struct trace_site *s);
/* The same without the offset in the function, for stacks. */
void site_text_frame(char *to, size_t size, const struct trace_site *s);
/* "stripped", "exited", ... as in user_sites.unresolved; NULL: it has a name. */
const char *site_text_why(const struct trace_site *s);

#endif /* SITE_TEXT_H */
