/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* wire_record: what the hooks of wire.h mean to the block writer, and how long their records are. */
#include <stddef.h>

#include "chunk/block_state.h"

const uint8_t wire_hook_kind[WIRE_HOOK_MAX] = {
	[WIRE_SWITCH] = EVENT_SWITCH, [WIRE_WAKING] = EVENT_WAKEUP,
	[WIRE_WAKEUP_NEW] = EVENT_WAKEUP, [WIRE_KMALLOC] = EVENT_SLAB_ALLOC,
	[WIRE_KMALLOC_NODE] = EVENT_SLAB_ALLOC, [WIRE_CACHE_ALLOC] = EVENT_SLAB_ALLOC,
	[WIRE_CACHE_ALLOC_NODE] = EVENT_SLAB_ALLOC, [WIRE_KFREE] = EVENT_SLAB_FREE,
	[WIRE_CACHE_FREE] = EVENT_SLAB_FREE, [WIRE_PAGE_ALLOC] = EVENT_PAGE_ALLOC,
	[WIRE_PAGE_FREE] = EVENT_PAGE_FREE, [WIRE_RSS] = EVENT_RSS, [WIRE_VM] = EVENT_VM,
	[WIRE_BLOCK_INSERT] = EVENT_BLOCK, [WIRE_BLOCK_ISSUE] = EVENT_BLOCK,
	[WIRE_BLOCK_COMPLETE] = EVENT_BLOCK, [WIRE_BLOCK_REQUEUE] = EVENT_BLOCK,
	[WIRE_BLOCK_ERROR] = EVENT_BLOCK, [WIRE_BLOCK_MERGE] = EVENT_BLOCK,
	[WIRE_BLOCK_START] = EVENT_BLOCK, [WIRE_BLOCK_DONE] = EVENT_BLOCK,
	[WIRE_HEAP_ALLOC] = EVENT_HEAP_ALLOC, [WIRE_HEAP_FREE] = EVENT_HEAP_FREE,
	[WIRE_DIRTY] = EVENT_DIRTY,
	[WIRE_IRQ_ENTRY] = EVENT_IRQ, [WIRE_IRQ_EXIT] = EVENT_IRQ,
	[WIRE_SOFTIRQ_ENTRY] = EVENT_IRQ, [WIRE_SOFTIRQ_EXIT] = EVENT_IRQ,
	[WIRE_VECTOR_ENTRY] = EVENT_IRQ, [WIRE_VECTOR_EXIT] = EVENT_IRQ,
	[WIRE_STACK] = EVENT_STACK,
};

const uint8_t wire_hook_class[WIRE_HOOK_MAX] = {
#define X(id, name, class, source) [id] = WIRE_CLASS_##class,
	WIRE_HOOKS(X)
#undef X
};

const uint8_t wire_hook_action[WIRE_HOOK_MAX] = {
	[WIRE_BLOCK_INSERT] = EVENT_BLOCK_INSERT, [WIRE_BLOCK_ISSUE] = EVENT_BLOCK_ISSUE,
	[WIRE_BLOCK_COMPLETE] = EVENT_BLOCK_COMPLETE, [WIRE_BLOCK_REQUEUE] = EVENT_BLOCK_REQUEUE,
	[WIRE_BLOCK_ERROR] = EVENT_BLOCK_ERROR, [WIRE_BLOCK_MERGE] = EVENT_BLOCK_MERGE,
	[WIRE_BLOCK_START] = EVENT_BLOCK_START, [WIRE_BLOCK_DONE] = EVENT_BLOCK_DONE,
	[WIRE_IRQ_ENTRY] = EVENT_IRQ_ENTRY, [WIRE_IRQ_EXIT] = EVENT_IRQ_EXIT,
	[WIRE_SOFTIRQ_ENTRY] = EVENT_IRQ_ENTRY, [WIRE_SOFTIRQ_EXIT] = EVENT_IRQ_EXIT,
	[WIRE_VECTOR_ENTRY] = EVENT_IRQ_ENTRY, [WIRE_VECTOR_EXIT] = EVENT_IRQ_EXIT,
};

#define ROOM(bytes) (((bytes) + 7) & ~7u)

const uint16_t wire_record_room[WIRE_HOOK_MAX] = {
	[WIRE_SWITCH] = ROOM(sizeof(struct wire_switch)),
	[WIRE_WAKING] = ROOM(sizeof(struct wire_waking)),
	[WIRE_WAKEUP_NEW] = ROOM(sizeof(struct wire_waking)),
	[WIRE_TASK_NEW] = ROOM(sizeof(struct wire_task)),
	[WIRE_TASK_RENAME] = ROOM(sizeof(struct wire_rename)),
	[WIRE_TASK_EXIT] = ROOM(sizeof(struct wire_exit)),
	[WIRE_TASK_CGROUP] = ROOM(sizeof(struct wire_cgroup)),
	[WIRE_KMALLOC] = ROOM(sizeof(struct wire_kmalloc)),
	[WIRE_KMALLOC_NODE] = ROOM(sizeof(struct wire_kmalloc)),
	[WIRE_KFREE] = ROOM(sizeof(struct wire_kfree)),
	[WIRE_CACHE_ALLOC] = ROOM(sizeof(struct wire_cache_alloc)),
	[WIRE_CACHE_ALLOC_NODE] = ROOM(sizeof(struct wire_cache_alloc)),
	[WIRE_CACHE_FREE] = ROOM(sizeof(struct wire_cache_free)),
	[WIRE_PAGE_ALLOC] = ROOM(sizeof(struct wire_page_alloc)),
	[WIRE_PAGE_FREE] = ROOM(sizeof(struct wire_page_free)),
	[WIRE_RSS] = ROOM(sizeof(struct wire_rss)),
	[WIRE_VM] = ROOM(sizeof(struct wire_vm)),
	[WIRE_BLOCK_INSERT] = ROOM(sizeof(struct wire_block)),
	[WIRE_BLOCK_ISSUE] = ROOM(sizeof(struct wire_block_issue)),
	[WIRE_BLOCK_COMPLETE] = ROOM(sizeof(struct wire_block)),
	[WIRE_BLOCK_REQUEUE] = ROOM(sizeof(struct wire_block)),
	[WIRE_BLOCK_ERROR] = ROOM(sizeof(struct wire_block)),
	[WIRE_BLOCK_MERGE] = ROOM(sizeof(struct wire_block)),
	[WIRE_BLOCK_START] = ROOM(sizeof(struct wire_block)),
	[WIRE_BLOCK_DONE] = ROOM(sizeof(struct wire_block)),
	[WIRE_HEAP_ALLOC] = ROOM(sizeof(struct wire_heap_alloc)),
	[WIRE_HEAP_FREE] = ROOM(sizeof(struct wire_heap_free)),
	[WIRE_DIRTY] = ROOM(sizeof(struct wire_dirty)),
	[WIRE_IRQ_ENTRY] = ROOM(sizeof(struct wire_irq)),
	[WIRE_IRQ_EXIT] = ROOM(sizeof(struct wire_irq)),
	[WIRE_SOFTIRQ_ENTRY] = ROOM(sizeof(struct wire_irq)),
	[WIRE_SOFTIRQ_EXIT] = ROOM(sizeof(struct wire_irq)),
	[WIRE_VECTOR_ENTRY] = ROOM(sizeof(struct wire_irq)),
	[WIRE_VECTOR_EXIT] = ROOM(sizeof(struct wire_irq)),
	[WIRE_TASK_SNAP] = ROOM(sizeof(struct wire_snap)),
};

/* Those whose size is not their hook's: an exec's strings, a stack, and what is no record. */
size_t wire_record_size_odd(const void *data, size_t max)
{
	const struct wire_hdr *h = data;
	const struct wire_exec *x = data;
	const struct wire_stack *s = data;
	size_t bytes = offsetof(struct wire_exec, strings);

	if (h->hook == WIRE_STACK) {
		bytes = offsetof(struct wire_stack, frames);
		if (max < bytes || s->kernel_cnt > WIRE_STACK_KERNEL || s->user_cnt > WIRE_STACK_USER ||
		    s->of >= WIRE_HOOK_MAX)
			return 0;
		bytes += 8u * (s->kernel_cnt + s->user_cnt);
		return bytes <= max ? bytes : 0;
	}

	if (max < bytes || h->hook != WIRE_TASK_EXEC || x->file_len > WIRE_FILE_MAX ||
	    x->args_len > WIRE_ARGS_MAX)
		return 0;
	bytes = ROOM(bytes + x->file_len + x->args_len);
	return bytes <= max ? bytes : 0;
}

size_t wire_record_size(const void *data, size_t max)
{
	return wire_record_size_fast(data, max);
}
