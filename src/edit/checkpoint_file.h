/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * checkpoint_file: checkpoints of a finished trace, as parts of its derived file.
 *
 *     checkpoint --add--> [checkpoint_file] --the last one before an instant--> checkpoint
 *
 * So only the first cut reads everything that lies before its window; the next cut begins at the
 * last checkpoint before its own. The bytes of a part are a block, like the one that a cut begins
 * with (schema/FORMAT.md, block flag 0x0004). Threads: one.
 */
#ifndef CHECKPOINT_FILE_H
#define CHECKPOINT_FILE_H

#include "edit/checkpoint.h"
#include "format/block_out.h"

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

/*
 * A checkpoint as bytes. Its events are before at_ns, in order, of CPUs below cpu_cnt. *ret is
 * valid until o is used again. -ENOMEM; -E2BIG: there are more events than a block can have.
 */
int checkpoint_encode(const struct checkpoint *c, uint64_t at_ns, unsigned int cpu_cnt,
		      struct block_out *o, const void **ret, size_t *ret_bytes);
/*
 * *ret is for checkpoint_done(). -EBADMSG: the bytes are no checkpoint at at_ns, or an event is not
 * before at_ns or of no CPU below cpu_cnt; -ENOMEM.
 */
int checkpoint_decode(const void *bytes, size_t cnt, uint64_t at_ns, unsigned int cpu_cnt,
		      struct checkpoint *ret);

#endif /* CHECKPOINT_FILE_H */
