/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* writeback_owners: an entry for each inode that was dirtied recently. */
#include "model/writeback_owners.h"

#include "format/event.h"

#define OWNER_SHARED_NS                                                                            \
	30000000000ull /* by default, the kernel writes dirty pages back after this time */
#define REQ_OP_MASK 0xffu
#define REQ_OP_WRITE 1u

struct owner_inode {
	struct inode_entry inode;	/* used_ns: its last known dirtying */
	void (*pin)(void *process, int by);
	void *process;			/* the last process to dirty the inode; pinned */
	uint64_t other_ns;		/* the last dirtying by another process; 0: none */
};

static void pin(const struct owner_inode *x, int by)
{
	if (x->process && x->pin)
		x->pin(x->process, by);
}

static void release(void *entry)
{
	pin(entry, -1);
}

void writeback_owners_init(struct writeback_owners *o, void (*pin_process)(void *process, int by))
{
	*o = (struct writeback_owners){
		/* pages that were dirtied before this are on the disk by now */
		.inodes = { .entry_bytes = sizeof(struct owner_inode), .release = release,
			    .idle_ns = 4 * OWNER_SHARED_NS },
		.pin = pin_process,
	};
}

void writeback_owners_clear(struct writeback_owners *o)
{
	inode_cache_clear(&o->inodes);
}

int writeback_owners_dirty(struct writeback_owners *o, uint64_t ts_ns, uint64_t ino, uint32_t dev,
			   void *process)
{
	struct owner_inode *x;
	void *entry;
	int ret = inode_cache_get(&o->inodes, ino, dev, ts_ns, &entry);

	if (ret < 0 || !entry)
		return ret;
	x = entry;
	if (ts_ns < x->inode.used_ns)
		return 0;	/* this record is late; a newer one has been applied */
	if (x->process != process) {
		if (x->process)
			x->other_ns = x->inode.used_ns;
		pin(x, -1);
		x->process = process;
		x->pin = o->pin;
		pin(x, 1);
	}
	x->inode.used_ns = ts_ns;
	return 0;
}

unsigned int writeback_owners_of(const struct writeback_owners *o, const struct writeback *r,
				 void **ret_process)
{
	const struct owner_inode *x = inode_cache_find(&o->inodes, r->ino, r->ino_dev), *last = x;

	if (!x || (r->cmd_flags & REQ_OP_MASK) != REQ_OP_WRITE ||
	    (r->pages != EVENT_PAGES_FILE && r->pages != EVENT_PAGES_DISK))
		return EVENT_OWNER_NONE;
	*ret_process = x->process;
	if (r->last_ino != r->ino)
		last = inode_cache_find(&o->inodes, r->last_ino, r->ino_dev);
	if (!last || last->process != x->process)
		return EVENT_OWNER_MIXED;
	return x->other_ns && r->ts_ns - x->other_ns < OWNER_SHARED_NS ? EVENT_OWNER_SHARED :
									  EVENT_OWNER_DIRTIED;
}
