/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_owner: whose pages a request writes back.
 *
 *     dirtying records --[who dirtied each inode last]--> owner_upid, owner_how of block issues
 *
 * Done where the trace is written, so that a block answers for itself: pages may be dirtied half a
 * minute before they are written. Records of the slice are taken in order of time, over all CPUs.
 * The rule, never a guess: the owner is the process that dirtied the inode of the request's first
 * page last. It is not known when that was before the recording, or when dirtying records were lost
 * since; then nothing is said until the inode is dirtied again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "chunk/block_state.h"
#include "chunk/hook_name.h"

#define OWNER_INODES_MAX 65536
#define OWNER_SHARED_NS 30000000000ull	/* the kernel writes dirty pages back after that time, by default */
#define REQ_OP_MASK 0xffu
#define REQ_OP_WRITE 1u

struct owner_inode {
	uint64_t ino;
	uint32_t dev;
	struct ident_process *process;	/* dirtied it last; pinned */
	uint64_t last_ns;		/* when it is known to have done so last */
	uint64_t other_ns;		/* the same for the last other process; 0: none */
	uint64_t named_epoch;		/* the last block that has its name */
	char name[WIRE_NAME_LEN];
};

struct owner_step {
	uint64_t ts_ns;
	const struct wire_hdr *h;
	uint32_t row;
};

struct block_owners {
	struct idmap by_inode;
	struct owner_inode **inodes;	/* inode_cnt */
	uint32_t inode_cnt;
	struct owner_step *steps;	/* of this block */
	size_t step_cnt, step_cap;
};

int block_owners_new(struct block_owners **ret)
{
	struct block_owners *o = calloc(1, sizeof(*o));

	if (o)
		o->inodes = malloc(OWNER_INODES_MAX * sizeof(*o->inodes));
	if (!o || !o->inodes) {
		free(o);
		return -ENOMEM;
	}
	*ret = o;
	return 0;
}

static uint64_t inode_key(uint64_t ino, uint32_t dev)
{
	return ino ^ (dev + 1ull) * 0x9e3779b97f4a7c15ull;
}

/* Forgets what was dirtied last before until_ns. */
static void forget(struct block_owners *o, uint64_t until_ns)
{
	uint32_t i, n = 0;

	for (i = 0; i < o->inode_cnt; i++) {
		struct owner_inode *x = o->inodes[i];

		if (x->last_ns >= until_ns) {
			o->inodes[n++] = x;
			continue;
		}
		idmap_remove(&o->by_inode, inode_key(x->ino, x->dev));
		x->process->pinned--;
		free(x);
	}
	o->inode_cnt = n;
}

void block_owners_free(struct block_owners *o)
{
	if (!o)
		return;
	forget(o, UINT64_MAX);
	idmap_done(&o->by_inode);
	free(o->inodes);
	free(o->steps);
	free(o);
}

void block_owner_begin(struct block_owners *o)
{
	o->step_cnt = 0;
}

int block_owner_note(struct block_owners *o, const struct wire_hdr *h, uint32_t row)
{
	if (o->step_cnt == o->step_cap) {
		size_t cap = o->step_cap ? o->step_cap * 2 : 256;
		void *p = realloc(o->steps, cap * sizeof(*o->steps));

		if (!p)
			return -ENOMEM;
		o->steps = p;
		o->step_cap = cap;
	}
	o->steps[o->step_cnt++] = (struct owner_step){ h->ts_ns, h, row };
	return 0;
}

/* By time; of what happened at once, dirtying first. */
static int step_cmp(const void *a, const void *b)
{
	const struct owner_step *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	return (y->h->hook == WIRE_DIRTY) - (x->h->hook == WIRE_DIRTY);
}

static struct owner_inode *inode_find(struct block_owners *o, uint64_t ino, uint32_t dev)
{
	struct owner_inode *x = idmap_get(&o->by_inode, inode_key(ino, dev));

	return x && x->ino == ino && x->dev == dev ? x : NULL;
}

static struct owner_inode *inode_make(struct block_owners *o, const struct wire_dirty *r)
{
	uint64_t age = 4 * OWNER_SHARED_NS;
	struct owner_inode *x;

	/* what has not been dirtied for long is on the disk by now */
	for (; o->inode_cnt == OWNER_INODES_MAX; age /= 2)
		forget(o, r->hdr.ts_ns > age ? r->hdr.ts_ns - age : 0);
	x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->ino = r->ino;
	x->dev = r->ino_dev;
	if (idmap_put(&o->by_inode, inode_key(x->ino, x->dev), x) < 0) {
		free(x);
		return NULL;
	}
	o->inodes[o->inode_cnt++] = x;
	return x;
}

static void put_name(struct block_writer *w, struct owner_inode *x)
{
	if (!x->name[0] || x->named_epoch == w->epoch)
		return;
	x->named_epoch = w->epoch;
	row_put_name(&w->name_rows, &(struct row_name){ .type = TRACE_NAME_FILE, .id = x->ino,
							.arg = x->dev, .name = x->name });
}

static int on_dirty(struct block_writer *w, const struct wire_dirty *r)
{
	struct block_owners *o = w->owners;
	struct ident_process *p = identity_process_at(w->identity, r->pid, r->hdr.ts_ns, NULL);
	struct owner_inode *x = inode_find(o, r->ino, r->ino_dev);

	if (!p)
		return -ENOMEM;
	if (!x && idmap_get(&o->by_inode, inode_key(r->ino, r->ino_dev)))
		return 0;	/* two inodes, one key: the second is not followed */
	if (!x) {
		x = inode_make(o, r);
		if (!x)
			return -ENOMEM;
	} else if (r->hdr.ts_ns < x->last_ns) {
		return 0;	/* late, and overtaken */
	} else if (x->process != p) {
		x->other_ns = x->last_ns;
		x->process->pinned--;
	}
	if (x->process != p) {
		x->process = p;
		p->pinned++;
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

static int on_issue(struct block_writer *w, const struct wire_block_issue *r, uint32_t row)
{
	struct kind_rows *k = &w->rows[EVENT_BLOCK];
	struct owner_inode *x = inode_find(w->owners, r->ino, r->ino_dev), *last;
	unsigned int how = EVENT_OWNER_DIRTIED;

	if (!x)
		return 0;
	put_name(w, x);
	if ((r->step.cmd_flags & REQ_OP_MASK) != REQ_OP_WRITE ||
	    (r->pages != WIRE_PAGES_FILE && r->pages != WIRE_PAGES_DISK))
		return 0;
	if (x->other_ns && r->step.hdr.ts_ns - x->other_ns < OWNER_SHARED_NS)
		how = EVENT_OWNER_SHARED;
	if (r->last_ino != r->ino) {
		last = inode_find(w->owners, r->last_ino, r->ino_dev);
		if (!last || last->process != x->process)
			how = EVENT_OWNER_MIXED;
	}
	k->val[EV_BLOCK_OWNER_UPID][row] = x->process->upid;
	k->val[EV_BLOCK_OWNER_HOW][row] = how;
	return identity_use_process(w->identity, x->process);
}

/* Dirtying records were lost in the slice, or not taken: their source was off. */
static bool lost_any(const struct block_slice *s)
{
	size_t i;

	for (i = 0; i < s->loss_cnt; i++)
		if (s->losses[i].hook == WIRE_DIRTY)
			return true;
	for (i = 0; i < s->gap_cnt; i++)
		if (!strcmp(s->gaps[i].source, hook_name_find(WIRE_DIRTY)->source))
			return true;
	return false;
}

int block_owner_resolve(struct block_writer *w, const struct block_slice *s)
{
	struct block_owners *o = w->owners;
	bool lost = lost_any(s);
	size_t i;
	int r = 0;

	if (lost)
		forget(o, UINT64_MAX);
	/* no step at all: there may be no array to sort yet */
	if (o->step_cnt > 1)
		qsort(o->steps, o->step_cnt, sizeof(*o->steps), step_cmp);
	/* where some are lost, the last dirtier is not known anywhere in the slice */
	for (i = 0; r == 0 && !lost && i < o->step_cnt; i++) {
		const struct wire_hdr *h = o->steps[i].h;

		if (h->hook == WIRE_DIRTY)
			r = on_dirty(w, (const struct wire_dirty *)h);
		else
			r = on_issue(w, (const struct wire_block_issue *)h, o->steps[i].row);
	}
	return r;
}
