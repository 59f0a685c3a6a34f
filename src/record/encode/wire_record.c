/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * wire_record: what the hooks of wire.h mean to the block writer, their records' lengths, the way
 * through the records of a slice, and the first pass over them. That pass counts by hook and CPU,
 * which gives block_fill the places of rows and the caller its statistics, and finds the task
 * records, in order of time. Every record passes it, so its loop does nothing that the sums tell
 * afterwards.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "format/chunk.h"
#include "format/hook.h"
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

static size_t offcpu_size(const struct wire_offcpu *o)
{
	if (o->kernel_cnt > WIRE_STACK_KERNEL || o->waker_kernel_cnt > WIRE_STACK_KERNEL ||
	    o->user_cnt > WIRE_STACK_USER || o->waker_user_cnt > WIRE_STACK_USER)
		return 0;
	return offsetof(struct wire_offcpu, frames) +
	       8u * (o->kernel_cnt + o->user_cnt + o->waker_kernel_cnt + o->waker_user_cnt);
}

static size_t path_size(const struct wire_path *p)
{
	return p->len > sizeof(p->names) ? 0 : ROOM(offsetof(struct wire_path, names) + p->len);
}

/* The records whose size is not their hook's; 0: it is none. */
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

/* ---- the first pass ---- */

/* What has no columns: paths, tasks, and rows of snapshots, which are no events and of no CPU. */
static int count_step(struct block_writer *w, const struct wire_hdr *h)
{
	if (h->hook != WIRE_TASK_SNAP) {
		if (h->cpu >= w->config.cpu_cnt) {
			w->stats.bad_cnt++;
			return 0;
		}
		w->stats.event_cnt[wire_hook_class[h->hook]]++;
		w->stats.late_cnt += h->ts_ns < w->from_ns;
	}
	return block_steps_add(h->hook == WIRE_PATH ? &w->steps : &w->tasks, h, 0);
}

static int count_segment(struct block_writer *w, const struct block_segment *g)
{
	const uint8_t *p = g->data, *end = p + g->bytes;
	unsigned int cpu_cnt = w->config.cpu_cnt;
	uint32_t *tally = w->tally;
	int r;

	while (p < end) {
		const struct wire_hdr *h = (const struct wire_hdr *)p;
		size_t bytes = wire_record_size(p, (size_t)(end - p));

		if (!bytes) {
			w->stats.bad_cnt++;
			break;
		}
		p += bytes;
		__builtin_prefetch(p + BLOCK_AHEAD_BYTES);
		if (!wire_hook_kind[h->hook]) {
			r = count_step(w, h);
			if (r < 0)
				return r;
		} else if (h->cpu < cpu_cnt) {
			tally[h->cpu * WIRE_HOOK_MAX + h->hook]++;
		} else {
			w->stats.bad_cnt++;
		}
	}
	return 0;
}

/* What was counted by hook, by kind and by class. */
static void sum_tally(struct block_writer *w)
{
	unsigned int cpu, hook;

	memset(w->pos, 0, (size_t)EVENT_KIND_CNT * w->config.cpu_cnt * sizeof(*w->pos));
	for (cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
		for (hook = 0; hook < WIRE_HOOK_MAX; hook++) {
			uint32_t n = w->tally[cpu * WIRE_HOOK_MAX + hook];

			w->pos[cpu * EVENT_KIND_CNT + wire_hook_kind[hook]] += n;
			w->stats.event_cnt[wire_hook_class[hook]] += n;
		}
	}
}

int block_count_records(struct block_writer *w, const struct block_slice *s)
{
	uint64_t total = 0;
	size_t i;
	int r;

	memset(w->tally, 0, (size_t)WIRE_HOOK_MAX * w->config.cpu_cnt * sizeof(*w->tally));
	memset(&w->stats, 0, sizeof(w->stats));
	w->tasks.cnt = 0;
	w->steps.cnt = 0;
	for (i = 0; i < s->segment_cnt; i++) {
		r = count_segment(w, &s->segments[i]);
		if (r < 0)
			return r;
	}
	sum_tally(w);
	for (i = 0; i < 4; i++)
		total += w->stats.event_cnt[i];
	if (total > CHUNK_EVENTS_MAX)
		return -E2BIG;
	block_steps_order(&w->tasks);
	return 0;
}

bool block_slice_lacks(const struct block_slice *s, unsigned int hook, bool whole_class)
{
	size_t i;

	for (i = 0; i < s->loss_cnt; i++)
		if (s->losses[i].hook == hook ||
		    (whole_class && s->losses[i].cls == wire_hook_class[hook]))
			return true;
	for (i = 0; i < s->gap_cnt; i++)
		if (!strcmp(s->gaps[i].source, hook_name_find(hook)->source))
			return true;
	return false;
}
