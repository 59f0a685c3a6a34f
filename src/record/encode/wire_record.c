/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * wire_record: what the hooks of wire.h mean to the block writer, their records' lengths, and the
 * way through the records of a slice.
 */
#include <stddef.h>
#include <string.h>

#include "record/encode/block_state.h"
#include "ring/ring.h"

const uint8_t wire_hook_kind[WIRE_HOOK_MAX] = {
#define X(hook, kind, class) [WIRE_##hook] = EVENT_##kind,
	WIRE_HOOKS(X)
#undef X
};

const uint8_t wire_hook_class[WIRE_HOOK_MAX] = {
#define X(hook, kind, class) [WIRE_##hook] = EVENT_CLASS_##class,
	WIRE_HOOKS(X)
#undef X
};

#define ROOM(bytes) (((bytes) + 7) & ~7u)

const uint16_t wire_record_room[WIRE_HOOK_MAX] = {
#define X(hook, record) [WIRE_##hook] = ROOM(sizeof(struct wire_##record)),
	WIRE_FIXED(X)
#undef X
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
		if (max < bytes || s->kernel_cnt > WIRE_STACK_KERNEL ||
		    s->user_cnt > WIRE_STACK_USER || s->of >= WIRE_HOOK_MAX)
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

const struct wire_hdr *slab_next_record(const struct ring_slab *s, size_t *at)
{
	const void *h = s->data + *at;
	size_t bytes = *at < s->bytes ? wire_record_size_fast(h, s->bytes - *at) : 0;

	*at += bytes;
	return bytes ? h : NULL;
}

void slices_filter(struct ring_slice *slices, unsigned int slice_cnt,
		   bool (*keep)(void *ctx, const struct wire_hdr *h), void *ctx)
{
	const struct wire_hdr *h;
	struct ring_slab *s;
	size_t at, next, to;
	unsigned int i;

	for (i = 0; i < slice_cnt; i++) {
		for (s = slices[i].first; s; s = s->next) {
			for (at = next = to = 0; (h = slab_next_record(s, &next)); at = next) {
				if (!keep(ctx, h))
					continue;
				if (to != at)
					memmove(s->data + to, h, next - at);
				to += next - at;
			}
			s->bytes = to;
		}
	}
}
