/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * wire_record: a table, made from wire.h, of the hooks with records of fixed length. Records with
 * texts or frames have their length in fields.
 */
#include "ring/wire_record.h"

#include <string.h>

#include "ring/ring.h"

#define ROOM(bytes) (((bytes) + 7) & ~7u)

const uint16_t wire_record_room[WIRE_HOOK_MAX] = {
#define X(hook, record) [WIRE_##hook] = ROOM(sizeof(struct wire_##record)),
	WIRE_FIXED(X)
#undef X
};

static size_t exec_size(const struct wire_exec *x)
{
	if (x->file_len > WIRE_FILE_MAX || x->args_len > WIRE_ARGS_MAX)
		return 0;
	return ROOM(offsetof(struct wire_exec, strings) + x->file_len + x->args_len);
}

static size_t stack_size(const struct wire_stack *s)
{
	if (s->kernel_cnt > WIRE_STACK_KERNEL || s->user_cnt > WIRE_STACK_USER ||
	    s->of >= WIRE_HOOK_MAX)
		return 0;
	return offsetof(struct wire_stack, frames) + 8u * (s->kernel_cnt + s->user_cnt);
}

static size_t sample_size(const struct wire_sample *s)
{
	if (s->kernel_cnt > WIRE_STACK_KERNEL || s->user_cnt > WIRE_STACK_USER ||
	    s->stack_bytes > WIRE_STACK_COPY)
		return 0;
	if (s->stack_bytes)
		return ROOM(offsetof(struct wire_sample, stack) + s->stack_bytes);
	return offsetof(struct wire_sample, frames) + 8u * (s->kernel_cnt + s->user_cnt);
}

static size_t offcpu_size(const struct wire_offcpu *o)
{
	if (o->kernel_cnt > WIRE_STACK_KERNEL || o->waker_kernel_cnt > WIRE_STACK_KERNEL ||
	    o->user_cnt > WIRE_STACK_USER || o->waker_user_cnt > WIRE_STACK_USER ||
	    o->stack_bytes > WIRE_WAIT_COPY)
		return 0;
	if (o->stack_bytes)
		return ROOM(offsetof(struct wire_offcpu, stack) + o->stack_bytes);
	return offsetof(struct wire_offcpu, frames) +
	       8u * (o->kernel_cnt + o->user_cnt + o->waker_kernel_cnt + o->waker_user_cnt);
}

static size_t path_size(const struct wire_path *p)
{
	return p->len > sizeof(p->names) ? 0 : ROOM(offsetof(struct wire_path, names) + p->len);
}

size_t wire_record_size_odd(const void *data, size_t max)
{
	const struct wire_hdr *h = data;
	size_t bytes = 0;

	if (h->hook == WIRE_TASK_EXEC && max >= offsetof(struct wire_exec, strings))
		bytes = exec_size(data);
	else if (h->hook == WIRE_STACK && max >= offsetof(struct wire_stack, frames))
		bytes = stack_size(data);
	else if (h->hook == WIRE_OFFCPU && max >= offsetof(struct wire_offcpu, frames))
		bytes = offcpu_size(data);
	else if (h->hook == WIRE_SAMPLE && max >= offsetof(struct wire_sample, frames))
		bytes = sample_size(data);
	else if (h->hook == WIRE_PATH && max >= offsetof(struct wire_path, names))
		bytes = path_size(data);
	return bytes <= max ? bytes : 0;
}

const struct wire_hdr *slab_next_record(const struct ring_slab *s, size_t *at)
{
	const void *h = s->data + *at;
	size_t bytes = *at < s->bytes ? wire_record_size(h, s->bytes - *at) : 0;

	*at += bytes;
	return bytes ? h : NULL;
}

void slices_filter(struct ring_slice *slices, unsigned int slice_cnt,
		   bool (*keep)(void *ctx, const struct wire_hdr *h), void *ctx)
{
	const struct wire_hdr *h;
	struct ring_slab *s;
	size_t at, next, to;

	for (unsigned int i = 0; i < slice_cnt; i++) {
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
