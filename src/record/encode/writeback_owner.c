/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * writeback_owner: the process that dirtied the pages of a request.
 *
 *     dirtying records --[src/model/writeback_owners]--> owner_upid, owner_how of issues
 *
 * I/O without such an owner belongs to the process that waits for it, if a kernel thread submits
 * it.
 *
 * The recorder decides this, so that every block answers by itself: pages may be dirtied half a
 * minute before they are written. The slice's records are taken in order of time, over all CPUs.
 */
#include <errno.h>

#include "record/encode/block_state.h"
#include "record/encode/request_event.h"

void writeback_owner_pin(void *process, int by)
{
	((struct task_process *)process)->life.pinned += (uint32_t)by;
}

static int on_dirty(struct block_writer *w, const struct wire_dirty *r)
{
	uint64_t ts_ns = r->hdr.ts_ns;
	struct task_process *p = task_table_process_at(w->task_table, r->pid, ts_ns, NULL);

	return p ? writeback_owners_dirty(&w->owners, ts_ns, r->ino, r->ino_dev, p) : -ENOMEM;
}

static int on_issue(struct block_writer *w, const struct wire_request_issue *r, uint32_t row)
{
	struct kind_rows *k = &w->rows[EVENT_REQUEST];
	const struct writeback issue = request_writeback_of(r);
	struct task_process *owner;
	void *process;
	unsigned int how = writeback_owners_of(&w->owners, &issue, &process);

	if (how != EVENT_OWNER_NONE) {
		owner = process;
	} else {
		if (!r->waiter)
			return 0;
		how = EVENT_OWNER_WAITER;
		owner = task_table_process_at(w->task_table, r->waiter, r->step.hdr.ts_ns, NULL);
		if (!owner)
			return -ENOMEM;
	}
	k->val[EV_REQUEST_OWNER_UPID][row] = owner->upid;
	k->val[EV_REQUEST_OWNER_HOW][row] = how;
	return task_table_use_process(w->task_table, owner);
}

int writeback_owner_resolve(struct block_writer *w, const struct block_slice *s)
{
	/* after a loss the last dirtier is unknown anywhere in the slice */
	bool lacks = block_slice_lacks(s, WIRE_DIRTY, false);
	int r = 0;

	if (lacks)
		writeback_owners_clear(&w->owners);
	for (size_t i = 0; r == 0 && i < w->steps.cnt; i++) {
		const struct wire_hdr *h = w->steps.v[i].h;

		if (h->hook == WIRE_DIRTY)
			r = lacks ? 0 : on_dirty(w, (const struct wire_dirty *)h);
		else if (request_has_pages(h))
			r = on_issue(w, (const struct wire_request_issue *)h, w->steps.v[i].row);
	}
	return r;
}
