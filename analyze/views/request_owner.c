/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The rules, strongest first: operation, kind of the first page, flags, submitter. */
#include "analyze/views/request_owner.h"

#include <string.h>

#define REQ_OP_MASK 0xffu
#define REQ_OP_READ 0u
#define REQ_OP_WRITE 1u
#define JOURNAL_THREADS "jbd2/"

const char *request_owner_how_name(enum owner_how how)
{
	static const char *const names[OWNER_HOW_CNT] = {
		[OWNER_UNKNOWN] = "unknown",
		[OWNER_DIRTIED] = "dirtied",
		[OWNER_DIRTIED_SHARED] = "dirtied_shared",
		[OWNER_DIRTIED_MIXED] = "dirtied_mixed",
		[OWNER_READ] = "read",
		[OWNER_DIRECT] = "direct",
		[OWNER_SUBMITTED] = "submitted",
		[OWNER_METADATA] = "metadata",
		[OWNER_JOURNAL] = "journal",
		[OWNER_SWAP] = "swap",
		[OWNER_VOLUME] = "volume",
		[OWNER_WAITER] = "waiter",
	};

	return (unsigned int)how < OWNER_HOW_CNT ? names[how] : "?";
}

/* A process of user space that is known; kernel threads work for others. */
static bool is_user(const struct analysis *a, uint32_t process)
{
	const struct trace_process *row = dense_process_row(&a->ids, process);

	return row && !(row->flags & TRACE_TASK_KTHREAD);
}

static bool is_journal_thread(const struct analysis *a, uint32_t process)
{
	const struct trace_process *row = dense_process_row(&a->ids, process);

	return row && row->flags & TRACE_TASK_KTHREAD &&
	       !strncmp(row->comm, JOURNAL_THREADS, strlen(JOURNAL_THREADS));
}

static enum owner_how dirtied_how(const struct block_request *r)
{
	switch (r->owner_how) {
	case EVENT_OWNER_DIRTIED:
		return OWNER_DIRTIED;
	case EVENT_OWNER_SHARED:
		return OWNER_DIRTIED_SHARED;
	case EVENT_OWNER_MIXED:
		return OWNER_DIRTIED_MIXED;
	default:
		return OWNER_UNKNOWN;
	}
}

static enum owner_how write_how(const struct analysis *a, const struct block_request *r,
				uint32_t submitter)
{
	enum owner_how dirtied = dirtied_how(r);

	if (r->pages == EVENT_PAGES_SWAP)
		return OWNER_SWAP;
	if (is_journal_thread(a, submitter) && r->pages != EVENT_PAGES_FILE)
		return OWNER_JOURNAL;
	if (block_request_is_meta(r))
		return OWNER_METADATA;
	switch (r->pages) {
	case EVENT_PAGES_NONE:
		return OWNER_SUBMITTED;
	case EVENT_PAGES_FILE:
		return dirtied;
	case EVENT_PAGES_DISK:
		/*
		 * a program that writes the device itself; a file system's blocks have many
		 * dirtiers
		 */
		if (dirtied == OWNER_DIRTIED &&
		    is_user(a, dense_process(&a->ids, r->owner_upid)))
			return dirtied;
		return OWNER_METADATA;
	case EVENT_PAGES_ANON:
	case EVENT_PAGES_MAPPED:
		return is_user(a, submitter) ? OWNER_DIRECT : OWNER_UNKNOWN;
	default:
		return OWNER_UNKNOWN;
	}
}

uint32_t request_owner(const struct analysis *a, const struct block_request *r,
		       enum owner_how *ret_how)
{
	uint32_t submitter = dense_process_of(&a->ids, dense_thread(&a->ids, r->submitter));
	bool from_volume = r->below == REQUEST_PASSED_ON || (r->below && !is_user(a, submitter));
	enum owner_how how;
	uint32_t owner;

	if (from_volume && r->below != REQUEST_PASSED_ON)
		submitter = dense_process_of(&a->ids, dense_thread(&a->ids, r->asked_by));
	owner = is_user(a, submitter) ? submitter : EVENT_ID_UNKNOWN;
	if (owner == EVENT_ID_UNKNOWN && r->owner_how == EVENT_OWNER_WAITER &&
	    is_user(a, dense_process(&a->ids, r->owner_upid))) {
		if (ret_how)
			*ret_how = OWNER_WAITER;
		return dense_process(&a->ids, r->owner_upid);
	}
	switch (r->cmd_flags & REQ_OP_MASK) {
	case REQ_OP_READ:
		how = r->pages == EVENT_PAGES_SWAP ? OWNER_SWAP : OWNER_READ;
		break;
	case REQ_OP_WRITE:
		how = write_how(a, r, submitter);
		break;
	default:
		how = is_journal_thread(a, submitter) ? OWNER_JOURNAL : OWNER_SUBMITTED;
		break;
	}
	if (how == OWNER_DIRTIED || how == OWNER_DIRTIED_SHARED || how == OWNER_DIRTIED_MIXED)
		owner = dense_process(&a->ids, r->owner_upid);
	else if (how == OWNER_METADATA || how == OWNER_JOURNAL || how == OWNER_UNKNOWN ||
		 (how == OWNER_SWAP && r->cmd_flags & REQ_OP_MASK))
		owner = EVENT_ID_UNKNOWN;
	if (owner == EVENT_ID_UNKNOWN && (how == OWNER_READ || how == OWNER_SUBMITTED))
		how = OWNER_UNKNOWN;
	if (from_volume && owner != EVENT_ID_UNKNOWN)
		how = OWNER_VOLUME;
	if (ret_how)
		*ret_how = how;
	return owner;
}

/* The names of kernel workers say nothing. */
static const char *submitter_name(const struct analysis *a, const struct block_request *r)
{
	uint32_t process = dense_process_of(&a->ids, dense_thread(&a->ids, r->submitter));
	const struct trace_process *row = dense_process_row(&a->ids, process);

	if (row && row->flags & TRACE_TASK_KTHREAD && !strncmp(row->comm, "kworker/", 8))
		return "kworker";
	return dense_process_comm(&a->ids, process);
}

void request_charge(const struct analysis *a, struct grouping *groups,
		    const struct block_request *r, uint64_t at_ns, uint64_t *end_ns,
		    struct request_charge *ret)
{
	uint32_t thread = dense_thread(&a->ids, r->submitter);
	uint32_t owner = request_owner(a, r, &ret->how);

	ret->submitter = submitter_name(a, r);
	ret->is_known = owner != EVENT_ID_UNKNOWN;
	if (!ret->is_known)
		thread = EVENT_ID_UNKNOWN;
	if (owner == dense_process_of(&a->ids, thread)) {
		ret->in_scope = scope_has_thread_at(&a->scope, thread, at_ns, end_ns);
		ret->group = grouping_of_thread(groups, thread, at_ns, end_ns);
	} else {
		ret->in_scope = scope_has_process_at(&a->scope, owner, at_ns, end_ns);
		ret->group = grouping_of_process(groups, owner, at_ns, end_ns);
	}
}
