/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * checkpoint_file: checkpoints of a finished trace, as parts of its derived file.
 *
 *     checkpoint --add--> [checkpoint_file] --the last one before an instant--> checkpoint
 *
 * So only the first cut reads everything that lies before its window; the next cut begins at the
 * last checkpoint before its own. Threads: one.
 */
#ifndef CHECKPOINT_FILE_H
#define CHECKPOINT_FILE_H

#include "base/buf.h"
#include "edit/checkpoint.h"

struct checkpoint_file;

/* Without a derived file, or with one that does not fit, there are no checkpoints yet. -ENOMEM. */
int checkpoint_file_open(struct checkpoint_file **ret, struct trace *t);
void checkpoint_file_free(struct checkpoint_file *p);

/*
 * The last one that is not after at_ns. 1: *ret is for checkpoint_done(); 0: there is none;
 * -ENOMEM.
 */
int checkpoint_file_find(struct checkpoint_file *p, uint64_t at_ns, uint64_t *ret_at_ns,
			 struct checkpoint *ret);
/*
 * Adds a checkpoint behind the last one. Best effort: where no file can be made beside the trace
 * nothing happens, now and later. -ENOMEM.
 */
int checkpoint_file_add(struct checkpoint_file *p, uint64_t at_ns, const struct checkpoint *c);
/* Puts what was added in its place. Best effort. */
void checkpoint_file_save(struct checkpoint_file *p);

/* Appends a checkpoint as bytes. Its events are before at_ns, in order. */
void checkpoint_encode(const struct checkpoint *c, uint64_t at_ns, struct buf *out);
/*
 * *ret is for checkpoint_done(). -EBADMSG: the bytes are no checkpoint at at_ns, have more than
 * event_max events, or an event is not before at_ns or of no CPU below cpu_cnt; -ENOMEM.
 */
int checkpoint_decode(const void *bytes, size_t cnt, uint64_t event_max, uint64_t at_ns,
		      unsigned int cpu_cnt, struct checkpoint *ret);

#endif /* CHECKPOINT_FILE_H */
