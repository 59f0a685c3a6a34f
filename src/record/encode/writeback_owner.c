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
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "record/encode/block_state.h"

#define OWNER_INODES_MAX 65536
#define OWNER_SHARED_NS                                                                            \
	30000000000ull /* by default the kernel writes dirty pages back after that time */
#define REQ_OP_MASK 0xffu
#define REQ_OP_WRITE 1u

struct owner_inode {
	uint64_t ino;
	uint32_t dev;
	struct task_process *process;	/* the last process to dirty the inode; pinned */
	uint64_t last_ns;		/* its last known dirtying */
	uint64_t other_ns;		/* the last dirtying by any other process; 0: none */
	uint64_t named_epoch;		/* the last block that has its name */
	char name[WIRE_NAME_LEN];
};

static uint64_t inode_key(uint64_t ino, uint32_t dev)
{
	return ino ^ (dev + 1ull) * 0x9e3779b97f4a7c15ull;
}

static bool drop_inode(void *ctx, void *value)
{
	struct owner_inode *x = value;

	if (x->last_ns >= *(uint64_t *)ctx)
		return false;
	x->process->life.pinned--;
	free(x);
	return true;
}

/* Forgets inodes that were last dirtied before until_ns. */
static void forget(struct hash_map *owners, uint64_t until_ns)
{
	hash_map_drop_if(owners, drop_inode, &until_ns);
}

void writeback_owners_done(struct hash_map *owners)
{
	forget(owners, UINT64_MAX);
	hash_map_done(owners);
}

static struct owner_inode *inode_find(struct hash_map *owners, uint64_t ino, uint32_t dev)
{
	struct owner_inode *x = hash_map_get(owners, inode_key(ino, dev));

	return x && x->ino == ino && x->dev == dev ? x : NULL;
}

static struct owner_inode *inode_make(struct hash_map *owners, const struct wire_dirty *r)
{
	uint64_t age = 4 * OWNER_SHARED_NS;
	struct owner_inode *x;

	/* what was dirtied long ago is on the disk by now */
	for (; owners->cnt == OWNER_INODES_MAX; age /= 2)
		forget(owners, r->hdr.ts_ns > age ? r->hdr.ts_ns - age : 0);
	x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->ino = r->ino;
	x->dev = r->ino_dev;
	if (hash_map_put(owners, inode_key(x->ino, x->dev), x) < 0) {
		free(x);
		return NULL;
	}
	return x;
}

static void put_name(struct block_writer *w, struct owner_inode *x)
{
	if (!x->name[0] || x->named_epoch == w->epoch)
		return;
	x->named_epoch = w->epoch;
	row_put_name(&w->name_rows, &(struct trace_name){ .type = TRACE_NAME_FILE, .id = x->ino,
							.arg = x->dev, .name = x->name });
}

static int on_dirty(struct block_writer *w, const struct wire_dirty *r)
{
	struct hash_map *owners = &w->owners;
	struct task_process *p = task_table_process_at(w->task_table, r->pid, r->hdr.ts_ns, NULL);
	struct owner_inode *x = inode_find(owners, r->ino, r->ino_dev);

	if (!p)
		return -ENOMEM;
	if (!x && hash_map_get(owners, inode_key(r->ino, r->ino_dev)))
		return 0;	/* two inodes with one key: the second is not followed */
	if (!x) {
		x = inode_make(owners, r);
		if (!x)
			return -ENOMEM;
	} else if (r->hdr.ts_ns < x->last_ns) {
		return 0;	/* a late record; a later one was applied already */
	} else if (x->process != p) {
		x->other_ns = x->last_ns;
		x->process->life.pinned--;
	}
	if (x->process != p) {
		x->process = p;
		p->life.pinned++;
	}
	x->last_ns = r->hdr.ts_ns;
	if (r->name[0] && memcmp(x->name, r->name, sizeof(x->name))) {
		memcpy(x->name, r->name, sizeof(x->name));
		x->name[sizeof(x->name) - 1] = 0;
		x->named_epoch = 0;
	}
	put_name(w, x);
	return 0;
}

static int on_issue(struct block_writer *w, const struct wire_request_issue *r, uint32_t row)
{
	struct kind_rows *k = &w->rows[EVENT_REQUEST];
	struct owner_inode *x = inode_find(&w->owners, r->ino, r->ino_dev), *last;
	unsigned int how = EVENT_OWNER_DIRTIED;

	if (!x)
		return 0;
	put_name(w, x);
	if ((r->step.cmd_flags & REQ_OP_MASK) != REQ_OP_WRITE ||
	    (r->pages != EVENT_PAGES_FILE && r->pages != EVENT_PAGES_DISK))
		return 0;
	if (x->other_ns && r->step.hdr.ts_ns - x->other_ns < OWNER_SHARED_NS)
		how = EVENT_OWNER_SHARED;
	if (r->last_ino != r->ino) {
		last = inode_find(&w->owners, r->last_ino, r->ino_dev);
		if (!last || last->process != x->process)
			how = EVENT_OWNER_MIXED;
	}
	k->val[EV_REQUEST_OWNER_UPID][row] = x->process->upid;
	k->val[EV_REQUEST_OWNER_HOW][row] = how;
	return task_table_use_process(w->task_table, x->process);
}

int writeback_owner_resolve(struct block_writer *w, const struct block_slice *s)
{
	bool lost = block_slice_lacks(s, WIRE_DIRTY, false);
	size_t i;
	int r = 0;

	if (lost)
		forget(&w->owners, UINT64_MAX);
	/* after a loss the last dirtier is unknown anywhere in the slice */
	for (i = 0; r == 0 && !lost && i < w->steps.cnt; i++) {
		const struct wire_hdr *h = w->steps.v[i].h;

		if (h->hook == WIRE_DIRTY)
			r = on_dirty(w, (const struct wire_dirty *)h);
		else if (h->hook == WIRE_BLOCK_ISSUE)
			r = on_issue(w, (const struct wire_request_issue *)h, w->steps.v[i].row);
	}
	return r;
}
