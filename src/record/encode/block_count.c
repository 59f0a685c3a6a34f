/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block_count: first pass over the records of a slice. Counts records by hook and CPU: block_fill
 * places rows according to these counts, and the caller reports them as statistics. Also collects
 * the task records in order of time, and maps the hooks of wire.h to kinds and classes. The loop
 * runs for every record, so everything that can be computed from the sums is left to sum_tally().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/chunk.h"
#include "format/event.h"
#include "record/encode/block_state.h"

/*
 * BPF programs read the clock before they reserve room in the ring. An interrupt between the two
 * steps may store its record first, so records may be out of order by a place or two, which
 * insertion sorts at almost no cost. Rows that are far out of order (of the heap, which arrive in
 * chunks) are sorted by radix.
 */

#define ORDER_INSERT_MAX 256	/* maximum distance by which insertion moves a row */
#define DIGIT_BITS 11u
#define DIGITS (1u << DIGIT_BITS)

/* Moves an element of `bytes` bytes from index `from` to the lower index `to`. */
static inline void move(void *v, size_t bytes, uint32_t from, uint32_t to)
{
	char *at;
	uint64_t x;

	if (!v)
		return;
	at = (char *)v + to * bytes;
	memcpy(&x, (char *)v + from * bytes, bytes);
	memmove(at + bytes, at, (from - to) * bytes);
	memcpy(at, &x, bytes);
}

/* Reorders n elements from index `start` on: element i is replaced by element order[i]. */
static void apply(void *v, size_t bytes, uint32_t start, const uint64_t *order, uint32_t n,
		  char *scratch)
{
	char *first;

	if (!v)
		return;
	first = (char *)v + start * bytes;
	for (uint32_t i = 0; i < n; i++)
		memcpy(scratch + i * bytes, first + (uint32_t)order[i] * bytes, bytes);
	memcpy(first, scratch, n * bytes);
}

/* Sorts by one digit, stably. */
static void sort_digit(uint64_t *to, const uint64_t *from, uint32_t n, unsigned int shift)
{
	uint32_t end[DIGITS + 1] = { 0 }, i;

	for (i = 0; i < n; i++)
		end[(from[i] >> shift) % DIGITS + 1]++;
	for (i = 1; i < DIGITS; i++)
		end[i] += end[i - 1];
	for (i = 0; i < n; i++)
		to[end[(from[i] >> shift) % DIGITS]++] = from[i];
}

/*
 * Sorts the indexes 0 .. n - 1 of ts by time. The lower half of each value in *ret is an index, the
 * upper half the sort key: the time since the first row. *ret and *ret_other are the halves of v,
 * which has 2 * n elements.
 */
static int order_places(const uint64_t *ts, uint32_t n, uint64_t *v, uint64_t **ret,
			uint64_t **ret_other)
{
	uint64_t first = UINT64_MAX, last = 0, *from = v, *to = v + n, *swap;
	size_t *order;
	uint32_t i;

	for (i = 0; i < n; i++) {
		first = ts[i] < first ? ts[i] : first;
		last = ts[i] > last ? ts[i] : last;
	}
	*ret = from;
	*ret_other = to;
	if (last - first > UINT32_MAX) {	/* longer than any slice */
		order = array_order(ts, n, sizeof(*ts));
		for (i = 0; order && i < n; i++)
			from[i] = order[i];
		free(order);
		return order ? 0 : -ENOMEM;
	}
	for (i = 0; i < n; i++)
		from[i] = (ts[i] - first) << 32 | i;
	for (unsigned int shift = 32; shift < 64; shift += DIGIT_BITS) {
		sort_digit(to, from, n, shift);
		swap = from;
		from = to;
		to = swap;
	}
	*ret = from;
	*ret_other = to;
	return 0;
}

static int sort_rows(struct kind_rows *k, uint32_t start, uint32_t n)
{
	uint64_t *places = malloc(2 * (size_t)n * sizeof(*places)), *sorted, *other;
	char *scratch;
	int r = places ? order_places(k->ts_ns + start, n, places, &sorted, &other) : -ENOMEM;

	if (r < 0)
		goto out;
	scratch = (char *)other;
#define APPLY(array) apply(array, sizeof(*(array)), start, sorted, n, scratch)
	APPLY(k->utid);
	APPLY(k->ref);
	APPLY(k->tuple);
	for (unsigned int c = 0; c < EVENT_VALUES; c++)
		APPLY(k->val[c]);
	APPLY(k->ts_ns);
#undef APPLY
out:
	free(places);
	return r;
}

int block_order_rows(struct kind_rows *k, uint32_t start, uint32_t end)
{
	const uint64_t *ts = k->ts_ns;
	uint32_t i, lo;

	for (i = start + 1; i < end; i++) {
		if (ts[i - 1] <= ts[i])
			continue;
		lo = start + (uint32_t)lower_bound_plain(ts + start, i - start, ts[i] + 1);
		if (i - lo > ORDER_INSERT_MAX)
			return sort_rows(k, start, end - start);
#define MOVE(array) move(array, sizeof(*(array)), i, lo)
		MOVE(k->utid);
		MOVE(k->ref);
		MOVE(k->tuple);
		for (unsigned int c = 0; c < EVENT_VALUES; c++)
			MOVE(k->val[c]);
		MOVE(k->ts_ns);
#undef MOVE
	}
	return 0;
}

int block_steps_add(struct block_steps *s, const struct wire_hdr *h, uint32_t row)
{
	struct task_step step = { h->ts_ns, h, row, (uint32_t)s->cnt };

	return array_add(&s->v, &s->cap, &s->cnt, step);
}

/*
 * Returns the rank of a hook among steps of the same instant: paths, then dirtyings, then others.
 */
static int step_rank(unsigned int hook)
{
	return hook == WIRE_PATH ? 0 : hook == WIRE_DIRTY ? 1 : 2;
}

static int step_cmp(const void *a, const void *b)
{
	const struct task_step *x = a, *y = b;

	return compare_numbers(x->ts_ns, y->ts_ns) ?:
	       step_rank(x->h->hook) - step_rank(y->h->hook) ?:
	       compare_numbers(x->number, y->number);
}

void block_steps_order(struct block_steps *s)
{
	/* v may be NULL if there are no steps */
	if (s->cnt > 1)
		qsort(s->v, s->cnt, sizeof(*s->v), step_cmp);
}

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

/*
 * Counts a record without columns: a name, a task or a snapshot row. Snapshot rows are not events
 * of a CPU.
 */
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

/* Adds up the counts by hook to counts by kind and by class. */
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
 * Adds the last switches of dead threads for execs by threads other than the leader. Such an exec
 * exchanges the tids of two threads, and the last switch of the dead thread shows when.
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
