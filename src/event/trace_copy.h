/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_copy: what programs that make a trace of another one share: where the new one may be, and
 * blocks that go over byte for byte. Threads: one.
 */
#ifndef TRACE_COPY_H
#define TRACE_COPY_H

#include <stddef.h>

#include "base/err.h"
#include "event/trace.h"
#include "store/store_writer.h"

/* -EEXIST: path exists; -EINVAL: it lies inside of t, which would be a change to t. */
int trace_copy_refuse(const struct trace *t, const char *path, struct err *e);

/* -EIO: the block has gone bad since it was checked. */
int trace_copy_block(struct trace *t, size_t block, struct store_writer *w, struct err *e);

#endif /* TRACE_COPY_H */
