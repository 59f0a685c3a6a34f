/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * writeback_owner: whose pages a request writes back.
 *
 *     dirtying records --[the last process to dirty each inode]--> owner_upid, owner_how of issues
 *
 * The recorder decides this, so that every block answers by itself: pages may be dirtied half a
 * minute before they are written. Records of the slice are taken in order of time, over all CPUs.
 * The owner is the process that last dirtied the inode of the request's first page; nothing is
 * guessed. The owner is unknown when that happened before the recording, or when dirtying records
 * were lost since, until the inode is dirtied again.
 */
#include <errno.h>

#include "record/encode/block_state.h"

#define OWNER_SHARED_NS                                                                            \
	30000000000ull /* by default the kernel writes dirty pages back after that time */
#define REQ_OP_MASK 0xffu
#define REQ_OP_WRITE 1u

struct owner_inode {
	struct inode_entry inode;	/* used_ns: its last known dirtying */
	struct task_process *process;	/* the last process to dirty the inode; pinned */
	uint64_t other_ns;		/* the last dirtying by any other process; 0: none */
};

static void release(void *entry)
{
	struct owner_inode *x = entry;

	if (x->process)
		x->process->life.pinned--;
}

void writeback_owners_init(struct inode_cache *owners)
{
	*owners = (struct inode_cache){
		.entry_bytes = sizeof(struct owner_inode), .release = release,
		/* what was dirtied long ago is on the disk by now */
		.idle_ns = 4 * OWNER_SHARED_NS,
	};
}

static int on_dirty(struct block_writer *w, const struct wire_dirty *r)
{
	uint64_t ts_ns = r->hdr.ts_ns;
	struct task_process *p = task_table_process_at(w->task_table, r->pid, ts_ns, NULL);
	struct owner_inode *x;
	void *entry;
	int ret = p ? inode_cache_get(&w->owners, r->ino, r->ino_dev, ts_ns, &entry) : -ENOMEM;

	if (ret < 0 || !entry)
		return ret;
	x = entry;
	if (ts_ns < x->inode.used_ns)
		return 0;	/* a late record; a later one was applied already */
	if (x->process != p) {
		if (x->process)
			x->other_ns = x->inode.used_ns;
		release(x);
		x->process = p;
		p->life.pinned++;
	}
	x->inode.used_ns = ts_ns;
	return 0;
}

static int on_issue(struct block_writer *w, const struct wire_request_issue *r, uint32_t row)
{
	struct kind_rows *k = &w->rows[EVENT_REQUEST];
	struct owner_inode *x = inode_cache_find(&w->owners, r->ino, r->ino_dev), *last;
	unsigned int how = EVENT_OWNER_DIRTIED;

	if (!x || (r->step.cmd_flags & REQ_OP_MASK) != REQ_OP_WRITE ||
	    (r->pages != EVENT_PAGES_FILE && r->pages != EVENT_PAGES_DISK))
		return 0;
	if (x->other_ns && r->step.hdr.ts_ns - x->other_ns < OWNER_SHARED_NS)
		how = EVENT_OWNER_SHARED;
	if (r->last_ino != r->ino) {
		last = inode_cache_find(&w->owners, r->last_ino, r->ino_dev);
		if (!last || last->process != x->process)
			how = EVENT_OWNER_MIXED;
	}
	k->val[EV_REQUEST_OWNER_UPID][row] = x->process->upid;
	k->val[EV_REQUEST_OWNER_HOW][row] = how;
	return task_table_use_process(w->task_table, x->process);
}

int writeback_owner_resolve(struct block_writer *w, const struct block_slice *s)
{
	size_t i;
	int r = 0;

	/* after a loss the last dirtier is unknown anywhere in the slice */
	if (block_slice_lacks(s, WIRE_DIRTY, false)) {
		inode_cache_clear(&w->owners);
		return 0;
	}
	for (i = 0; r == 0 && i < w->steps.cnt; i++) {
		const struct wire_hdr *h = w->steps.v[i].h;

		if (h->hook == WIRE_DIRTY)
			r = on_dirty(w, (const struct wire_dirty *)h);
		else if (h->hook == WIRE_BLOCK_ISSUE)
			r = on_issue(w, (const struct wire_request_issue *)h, w->steps.v[i].row);
	}
	return r;
}
