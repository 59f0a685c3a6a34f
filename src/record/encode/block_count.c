/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_count: first pass over the records of a slice. Counts records by hook and CPU, which gives
 * block_fill the positions of rows and the caller its statistics, and collects the task records in
 * order of time. The file also maps the hooks of wire.h to kinds and classes. The loop runs for
 * every record, so work that the sums can do afterwards is not done in it.
 */
#include <errno.h>
#include <string.h>

#include "format/chunk.h"
#include "format/hook.h"
#include "record/encode/block_state.h"

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

/* Names, tasks and snapshot rows have no columns. Snapshot rows do not count as events of a CPU. */
static int count_step(struct block_writer *w, const struct wire_hdr *h)
{
	if (h->hook != WIRE_TASK_SNAP) {
		if (h->cpu >= w->config.cpu_cnt) {
			w->stats.bad_cnt++;
			return 0;
		}
		w->stats.event_cnt[wire_hook_class[h->hook]] += !wire_hook_is_name(h->hook);
		w->stats.late_cnt += h->ts_ns < w->from_ns;
	}
	if (h->hook == WIRE_SOCKET)
		return socket_names_note(w, (const struct wire_socket *)h);
	if (h->hook == WIRE_PLACE)
		return kernel_places_note(w, (const struct wire_place *)h);
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

/* Adds the counts by hook up to counts by kind and by class. */
static void sum_tally(struct block_writer *w)
{
	memset(w->pos, 0, (size_t)EVENT_KIND_CNT * w->config.cpu_cnt * sizeof(*w->pos));
	for (unsigned int cpu = 0; cpu < w->config.cpu_cnt; cpu++) {
		for (unsigned int hook = 0; hook < WIRE_HOOK_MAX; hook++) {
			uint32_t n = w->tally[cpu * WIRE_HOOK_MAX + hook];

			w->pos[cpu * EVENT_KIND_CNT + wire_hook_kind[hook]] += n;
			w->stats.event_cnt[wire_hook_class[hook]] += n;
		}
	}
}

#define WIRE_STATE_DEAD (0x10 | 0x20 | 0x80)	/* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */

/*
 * An exec by a thread other than the leader changes which threads two tids mean. The last switches
 * of dead threads with these tids show when it changed.
 */
static int add_last_switches(struct block_writer *w, const struct block_slice *s)
{
	size_t task_cnt = w->tasks.cnt;
	int r = 0;

	for (size_t n = 0; n < task_cnt; n++) {
		const struct wire_exec *x = (const void *)w->tasks.v[n].h;

		if (x->hdr.hook != WIRE_TASK_EXEC || x->old_tid == x->tid || !x->old_tid)
			continue;
		for (size_t i = 0; i < s->segment_cnt; i++) {
			const uint8_t *p = s->segments[i].data, *end = p + s->segments[i].bytes;
			size_t bytes;

			for (; p < end && (bytes = wire_record_size(p, (size_t)(end - p)));
			     p += bytes) {
				const struct wire_hdr *h = (const struct wire_hdr *)p;
				const struct wire_switch *k =
					h->hook == WIRE_SWITCH ? (const void *)h :
					h->hook == WIRE_SWITCH_MORE ?
					&((const struct wire_switch_more *)h)->common : NULL;

				if (k && (h->tid == x->tid || h->tid == x->old_tid) &&
				    h->ts_ns <= x->hdr.ts_ns &&
				    k->prev_state & WIRE_STATE_DEAD)
					r = r ?: block_steps_add(&w->tasks, h, 0);
			}
		}
	}
	return r;
}

int block_count_records(struct block_writer *w, const struct block_slice *s)
{
	uint64_t total = 0;
	int r;

	memset(w->tally, 0, (size_t)WIRE_HOOK_MAX * w->config.cpu_cnt * sizeof(*w->tally));
	memset(&w->stats, 0, sizeof(w->stats));
	w->tasks.cnt = 0;
	w->steps.cnt = 0;
	for (size_t i = 0; i < s->segment_cnt; i++) {
		r = count_segment(w, &s->segments[i]);
		if (r < 0)
			return r;
	}
	sum_tally(w);
	for (size_t i = 0; i < 4; i++)
		total += w->stats.event_cnt[i];
	if (total > CHUNK_EVENTS_MAX)
		return -E2BIG;
	if (add_last_switches(w, s) < 0)
		return -ENOMEM;
	block_steps_order(&w->tasks);
	return 0;
}

bool block_slice_lacks(const struct block_slice *s, unsigned int hook, bool whole_class)
{
	for (size_t i = 0; i < s->loss_cnt; i++)
		if (s->losses[i].hook == hook ||
		    (whole_class && s->losses[i].cls == wire_hook_class[hook]))
			return true;
	for (size_t i = 0; i < s->gap_cnt; i++)
		if (!strcmp(s->gaps[i].source, hook_name_find(hook)->source))
			return true;
	return false;
}
