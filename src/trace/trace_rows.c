/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_rows: access to an open trace: chunk files, manifest, and lists. Rows of lists from the
 * derived file (trace.c) are unpacked on access.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/words.h"
#include "format/event.h"
#include "format/zpack.h"
#include "store/chunk_scan.h"
#include "trace/derived_file.h"
#include "trace/trace_read.h"
#include "trace/trace_state.h"

void *trace_list_add(struct trace_list *l, size_t item_bytes)
{
	void *p;

	if (l->cnt == l->cap && array_grow(&l->v, &l->cap, l->cnt + 1, item_bytes) < 0)
		return NULL;
	p = (char *)l->v + l->cnt++ * item_bytes;
	/* clear leftovers of a list that was longer */
	memset(p, 0, item_bytes);
	return p;
}

void trace_blocks_done(struct trace *t)
{
	struct trace_block_more *m = t->more.v;

	for (size_t i = 0; i < t->more.cnt; i++) {
		free(m[i].running);
		free(m[i].ends);
	}
	t->blocks.cnt = t->more.cnt = 0;
}

int trace_add_damage(struct trace *t, const char *file, uint64_t offset, uint64_t bytes,
		     const char *reason)
{
	struct trace_damage *d = trace_list_add(&t->damages, sizeof(*d));
	const char *f = strpool_put(t->strings, file);

	if (!d || !f)
		return -ENOMEM;
	*d = (struct trace_damage){ .file = f, .offset = offset, .bytes = bytes, .reason = reason };
	return 0;
}

/* ---- chunk files ---- */

int trace_file_held(const struct trace *t, uint64_t number)
{
	for (size_t i = 0; i < t->held.cnt; i++)
		if (t->held.files[i].number == number)
			return t->held.files[i].fd;
	return -1;
}

int trace_file_list(const struct trace *t, uint64_t **ret, size_t *ret_cnt)
{
	if (t->dir_fd >= 0)
		return chunk_name_list(t->dir_fd, ret, ret_cnt);
	*ret = malloc((t->held.cnt + 1) * sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < t->held.cnt; i++)
		(*ret)[i] = t->held.files[i].number;
	*ret_cnt = t->held.cnt;
	return 0;
}

int trace_file_open(const struct trace *t, uint64_t number)
{
	char name[CHUNK_NAME_BYTES];
	int fd = trace_file_held(t, number);

	if (fd >= 0)
		return fd;
	if (t->dir_fd < 0)
		return -ENOENT;
	chunk_name_format(name, number);
	fd = openat(t->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

void trace_file_close(const struct trace *t, int fd)
{
	for (size_t i = 0; i < t->held.cnt; i++)
		if (t->held.files[i].fd == fd)
			return;
	close(fd);
}

/* ---- the span ---- */

uint64_t trace_start_ns(const struct trace *t)
{
	const struct trace_block *b = t->blocks.v;

	if (!t->blocks.cnt)
		return 0;
	return t->span_to_ns && t->span_from_ns < b[0].from_ns ? t->span_from_ns : b[0].from_ns;
}

uint64_t trace_blocks_end_ns(const struct trace *t)
{
	const struct trace_block *b = t->blocks.v;

	return t->blocks.cnt ? b[t->blocks.cnt - 1].to_ns : 0;
}

uint64_t trace_end_ns(const struct trace *t)
{
	uint64_t end_ns = trace_blocks_end_ns(t);

	return t->blocks.cnt && t->span_to_ns > end_ns ? t->span_to_ns : end_ns;
}

/* ---- values derived from all rows of a list ---- */

void trace_estimate_costs(struct trace *t)
{
	struct trace_hook_stat *h = t->rows[CHUNK_HOOK_STATS].v;
	size_t i = t->hook_mean_cnt, cnt = t->rows[CHUNK_HOOK_STATS].cnt;

	for (; t->hook_mean_cnt < cnt; t->hook_mean_cnt++)
		hook_mean_add(&t->hook_means[h[t->hook_mean_cnt].hook], &h[t->hook_mean_cnt]);
	/*
	 * a refresh adds few rows, so costs of older rows are estimated again only after growth by
	 * 1/64
	 */
	if (cnt - t->hook_cost_cnt > t->hook_cost_cnt / 64) {
		t->hook_cost_cnt = cnt;
		i = 0;
	}
	for (; i < cnt; i++)
		h[i].cost_ns = hook_cost_ns(&h[i], &t->hook_means[h[i].hook]);
}

void trace_stacks_index(struct trace *t)
{
	const struct trace_frame *frames = t->rows[CHUNK_FRAMES].v;
	struct trace_stack *v = t->stacks.v;
	size_t i, n = 0;

	for (i = 0; i < t->rows[CHUNK_FRAMES].cnt; i++)
		if (frames[i].nth == 0)
			v[n++] = (struct trace_stack){ frames[i].stack, i };
	qsort(v, n, sizeof(*v), compare_u64);
	t->stacks.cnt = n;
}

/* ---- rows in the derived file ---- */

/*
 * Unpacks a part. Only a checksum has verified the bytes: rows that do not decode become empty
 * rows. The caller holds drop_lock.
 */
static void unpack_part(struct trace *t, unsigned int list, size_t at)
{
	static const uint8_t nothing[1];	/* encoding of a row whose fields are all 0 or "" */
	struct trace_list_part *p = &t->lists->lists[list].parts[at];
	const struct row_type *of = trace_list_type(list);
	char *row = (char *)t->rows[list].v + at * TRACE_LISTS_ROWS * of->bytes;
	struct row_reader rows = { p->raw, p->raw + p->part->raw_bytes, trace_start_ns(t) }, none;

	if (atomic_load(&p->is_ready))
		return;
	if (zunpack_run(t->lists->zunpack, p->part->pack, p->raw, p->part->raw_bytes, p->stored,
			p->part->stored_bytes) < 0)
		rows.p = rows.end;
	for (uint32_t i = 0; i < p->part->row_cnt; i++, row += of->bytes) {
		none = (struct row_reader){ nothing, nothing + 1, 0 };
		if (row_get(&rows, of, row) <= 0) {
			(void)row_get(&none, of, row);
			rows.p = rows.end;
		}
	}
	atomic_store_explicit(&p->is_ready, true, memory_order_release);
}

/*
 * Unpacks the part that contains a row. Call this before reading a row if t->lists. Threads: any.
 */
static void need_row(const struct trace *of, unsigned int list, size_t row)
{
	struct trace *t = (struct trace *)of;
	size_t at = row / TRACE_LISTS_ROWS;

	if (atomic_load_explicit(&t->lists->lists[list].parts[at].is_ready, memory_order_acquire))
		return;
	pthread_mutex_lock(&t->drop_lock);
	unpack_part(t, list, at);
	pthread_mutex_unlock(&t->drop_lock);
}

void trace_lists_rows(const struct trace *of, unsigned int list)
{
	struct trace *t = (struct trace *)of;
	struct trace_stored_list *l = &t->lists->lists[list];

	if (atomic_load_explicit(&l->is_ready, memory_order_acquire))
		return;
	pthread_mutex_lock(&t->drop_lock);
	if (!atomic_load(&l->is_ready)) {
		for (size_t i = 0; i < l->part_cnt; i++)
			unpack_part(t, list, i);
		/* derive the values that depend on all rows */
		if (list == CHUNK_HOOK_STATS)
			trace_estimate_costs(t);
		if (list == CHUNK_FRAMES)
			trace_stacks_index(t);
		atomic_store_explicit(&l->is_ready, true, memory_order_release);
	}
	pthread_mutex_unlock(&t->drop_lock);
}

/* ---- reading an open trace ---- */

int trace_dir_fd(const struct trace *t)
{
	return t->dir_fd;
}

uint64_t trace_id(const struct trace *t)
{
	return t->id;
}

bool trace_lacks_manifest(const struct trace *t)
{
	return t->no_manifest;
}

const struct manifest *trace_stored_manifest(const struct trace *t)
{
	return &t->manifest;
}

struct trace_reader *trace_own_reader(struct trace *t)
{
	return &t->reader;
}

struct trace_block_more *trace_more_at(const struct trace *t, size_t i)
{
	return (struct trace_block_more *)t->more.v + i;
}

const char *trace_path(const struct trace *t)
{
	return t->path;
}

uint64_t trace_carried_ns(const struct trace *t)
{
	const struct trace_block_more *m = t->more.v;

	return t->blocks.cnt && m[0].head.flags & CHUNK_BLOCK_CARRIED ? trace_start_ns(t) : 0;
}

bool trace_is_cut_short(const struct trace *t)
{
	const struct trace_block_more *m = t->more.v;

	return t->blocks.cnt && m[t->more.cnt - 1].head.flags & CHUNK_BLOCK_CUT;
}

const char *trace_get(const struct trace *t, const char *key)
{
	return manifest_get(&t->manifest, key);
}

uint64_t trace_get_number(const struct trace *t, const char *key)
{
	const char *text = trace_get(t, key);

	return text ? strtoull(text, NULL, 10) : 0;
}

const char *trace_uuid(const struct trace *t)
{
	return t->uuid;
}

uint32_t trace_page_bytes(const struct trace *t)
{
	uint64_t v = trace_get_number(t, "page_bytes");

	return v >= 512 && v <= 1u << 24 ? (uint32_t)v : 4096;
}

bool trace_was_recorded(const struct trace *t, const char *source)
{
	const char *list = trace_get(t, "sources");
	int n = (int)strlen(source);

	if (!list || !strcmp(source, "task"))
		return true;
	while (*list) {
		struct word w = word_next(&list);

		if (w.len >= n && !memcmp(w.s, source, n) && (w.len == n || w.s[n] == '.'))
			return true;
	}
	return false;
}

bool trace_block_is_damaged(const struct trace *t, size_t block)
{
	return block < t->more.cnt && trace_more_at(t, block)->damaged;
}

bool trace_is_finished(const struct trace *t)
{
	const char *state = trace_get(t, "state");

	return state && !strcmp(state, "finished");
}

const struct trace_mark *trace_mark_find(const struct trace *t, const char *text, uint64_t nr)
{
	size_t cnt, i;
	const struct trace_mark *m = trace_marks(t, &cnt);

	for (i = 0; i < cnt; i++)
		if (m[i].nr == nr && !strcmp(m[i].text, text))
			return &m[i];
	return NULL;
}

bool trace_is_live(const struct trace *t)
{
	return t->is_live;
}

unsigned int trace_cpu_cnt(const struct trace *t)
{
	return t->cpu_cnt;
}

const struct row_type *trace_list_type(unsigned int list)
{
	if (list < CHUNK_SMALL_END)
		return row_type_of(list);
	return row_type(list == TRACE_LIST_MM_RESETS ? ROW_TYPE_mm_reset : ROW_TYPE_name);
}

const void *trace_rows(const struct trace *t, unsigned int list, size_t *ret_cnt)
{
	if (t->lists)
		trace_lists_rows(t, list);
	*ret_cnt = t->rows[list].cnt;
	return t->rows[list].v;
}

const void *trace_row_at(const struct trace *t, unsigned int list, size_t i)
{
	if (i >= t->rows[list].cnt)
		return NULL;
	if (t->lists)
		need_row(t, list, i);
	return (const char *)t->rows[list].v + i * t->rows[list].row_bytes;
}

static uint64_t key_at(const struct trace *t, unsigned int list, size_t i)
{
	const void *row = trace_row_at(t, list, i);

	/* processes and threads begin with a 32-bit id, other rows with a 64-bit number */
	return list == CHUNK_PROCESSES || list == CHUNK_THREADS ? *(const uint32_t *)row :
								  *(const uint64_t *)row;
}

size_t trace_rows_from(const struct trace *t, unsigned int list, uint64_t key)
{
	size_t lo = 0, hi = t->rows[list].cnt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (key_at(t, list, mid) < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static size_t rows_ending(const struct trace *t, unsigned int list, uint64_t ts_ns)
{
	const struct trace_list *l = &t->rows[list];

	/* offset of to_ns, the second field */
	return t->lists || t->unordered & 1u << list ? 0 :
	       lower_bound_field((const char *)l->v, l->cnt, l->row_bytes, sizeof(uint64_t),
				 sizeof(uint64_t), ts_ns);
}

size_t trace_costs_ending(const struct trace *t, uint64_t ts_ns)
{
	return rows_ending(t, CHUNK_COST, ts_ns);
}

size_t trace_hook_stats_ending(const struct trace *t, uint64_t ts_ns)
{
	return rows_ending(t, CHUNK_HOOK_STATS, ts_ns);
}

size_t trace_blocks_ending(const struct trace *t, uint64_t ts_ns)
{
	const struct trace_block *b = t->blocks.v;

	return lower_bound(b, t->blocks.cnt, to_ns, ts_ns);
}

const struct manifest_entry *trace_manifest(const struct trace *t, size_t *ret_cnt)
{
	*ret_cnt = t->manifest.cnt;
	return t->manifest.entries;
}

#define LIST(name, type, list)                                                   \
	const struct type *trace_##name(const struct trace *t, size_t *ret_cnt)  \
	{                                                                        \
		*ret_cnt = t->list.cnt;                                          \
		return t->list.v;                                                \
	}
LIST(blocks, trace_block, blocks)
LIST(damages, trace_damage, damages)

#define ROWS(name, type, list)                                                   \
	const struct type *trace_##name(const struct trace *t, size_t *ret_cnt)  \
	{                                                                        \
		return trace_rows(t, list, ret_cnt);                             \
	}
ROWS(processes, trace_process, CHUNK_PROCESSES)
ROWS(threads, trace_thread, CHUNK_THREADS)
ROWS(task_events, trace_task_event, CHUNK_TASK_EVENTS)
ROWS(rss_baselines, trace_rss, CHUNK_RSS_STATE)
ROWS(rss_snaps, trace_rss, CHUNK_RSS_SNAPS)
ROWS(losses, trace_loss, CHUNK_LOSS)
ROWS(costs, trace_cost, CHUNK_COST)
ROWS(hook_stats, trace_hook_stat, CHUNK_HOOK_STATS)
ROWS(gaps, trace_gap, CHUNK_GAPS)
ROWS(quotas, trace_quota, CHUNK_QUOTAS)
ROWS(sites, trace_site, CHUNK_SITES)
ROWS(frames, trace_frame, CHUNK_FRAMES)
ROWS(clocks, trace_clock, CHUNK_CLOCKS)
ROWS(marks, trace_mark, CHUNK_MARKS)

uint64_t trace_task_event_cnt(const struct trace *t, uint64_t from_ns, uint64_t to_ns)
{
	size_t cnt, i;
	const struct trace_task_event *v = trace_task_events(t, &cnt);
	uint64_t events = 0;

	for (i = trace_rows_from(t, CHUNK_TASK_EVENTS, from_ns); i < cnt && v[i].ts_ns < to_ns; i++)
		events += v[i].type != TRACE_TASK_SNAP && v[i].type != TRACE_TASK_SCHED;
	return events;
}

const struct trace_name *trace_names(const struct trace *t, enum trace_name_type type,
				     size_t *ret_cnt)
{
	*ret_cnt = 0;
	return (unsigned int)type < TRACE_NAME_TYPE_CNT ?
		       trace_rows(t, TRACE_LIST_NAMES + type, ret_cnt) : NULL;
}

static size_t index_of(const struct trace *t, unsigned int list, uint64_t key)
{
	size_t i, cnt = t->rows[list].cnt;

	/* ids usually ascend without gaps: try the id minus the first id as index */
	if (!t->lists && cnt && key - key_at(t, list, 0) < cnt) {
		i = key - key_at(t, list, 0);
		if (key_at(t, list, i) == key)
			return i;
	}
	i = trace_rows_from(t, list, key);
	return i < t->rows[list].cnt && key_at(t, list, i) == key ? i : SIZE_MAX;
}

const void *trace_row_find(const struct trace *t, unsigned int list, uint64_t key)
{
	return trace_row_at(t, list, index_of(t, list, key));
}

#define TASKS(name, type, list)                                                             \
	size_t trace_##name##_cnt(const struct trace *t)                                    \
	{                                                                                   \
		return t->rows[list].cnt;                                                   \
	}                                                                                   \
	size_t trace_##name##_index(const struct trace *t, uint32_t id)                     \
	{                                                                                   \
		return index_of(t, list, id);                                               \
	}                                                                                   \
	const struct type *trace_##name##_at(const struct trace *t, size_t i)               \
	{                                                                                   \
		return trace_row_at(t, list, i);                                                  \
	}                                                                                   \
	const struct type *trace_##name##_find(const struct trace *t, uint32_t id)          \
	{                                                                                   \
		return trace_row_find(t, list, id);                                         \
	}
TASKS(process, trace_process, CHUNK_PROCESSES)
TASKS(thread, trace_thread, CHUNK_THREADS)

static uint64_t hash_more(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x9e3779b97f4a7c15ull + (h >> 29);
}

uint64_t trace_thread_hash(const struct trace *t, size_t cnt)
{
	const struct trace_thread *v;
	uint64_t h = 0;
	size_t all, i;

	/* with lists from the derived file, use its hash instead of unpacking threads */
	if (t->lists && cnt >= trace_thread_cnt(t))
		return t->lists->thread_hash;
	v = trace_threads(t, &all);
	for (i = 0; i < all && i < cnt; i++)
		h = hash_more(h, (uint64_t)v[i].utid << 32 | v[i].upid);
	return h;
}

uint64_t trace_blocks_hash(const struct trace *t, size_t cnt)
{
	const struct trace_block *b = t->blocks.v;
	const struct trace_block_more *m = t->more.v;
	uint64_t h = 0, to_ns;

	for (size_t i = 0; i < cnt; i++) {
		to_ns = i + 1 < t->blocks.cnt ? b[i + 1].from_ns : trace_end_ns(t);
		h = hash_more(h, m[i].file);
		h = hash_more(h, b[i].offset);
		h = hash_more(h, b[i].bytes);
		h = hash_more(h, b[i].from_ns);
		h = hash_more(h, to_ns);
		h = hash_more(h, (uint64_t)m[i].head.head_crc << 1 | m[i].damaged);
	}
	return h;
}

/* Finds a name by id and, for files, file system: several files may have the same inode number. */
static const struct trace_name *find_name(const struct trace *t, enum trace_name_type type,
					  uint64_t id, const uint64_t *arg)
{
	size_t i = trace_rows_from(t, TRACE_LIST_NAMES + type, id);
	const struct trace_name *n;

	while ((n = trace_row_at(t, TRACE_LIST_NAMES + type, i++)) && n->id == id)
		if (!arg || n->arg == *arg)
			return n;
	return NULL;
}

const struct trace_name *trace_name_find(const struct trace *t, enum trace_name_type type,
					 uint64_t id)
{
	return (unsigned int)type >= TRACE_NAME_TYPE_CNT ? NULL : find_name(t, type, id, NULL);
}

const struct trace_name *trace_file_find(const struct trace *t, uint32_t dev, uint64_t ino)
{
	const uint64_t arg = dev;

	return find_name(t, TRACE_NAME_FILE, ino, &arg);
}

/* ---- clocks ---- */

uint64_t trace_real_ns(const struct trace *t, uint64_t mono_ns)
{
	size_t cnt, low;
	const struct trace_clock *c = trace_clocks(t, &cnt);

	/* index of the first reading after mono_ns */
	low = lower_bound(c, cnt, mono_ns, mono_ns + 1);
	/* use the previous reading unless the next is nearer */
	if (low && (low == cnt || mono_ns - c[low - 1].mono_ns <= c[low].mono_ns - mono_ns))
		low--;
	return cnt ? c[low].real_ns + (mono_ns - c[low].mono_ns) : 0;
}

bool trace_clock_step_find(const struct trace *t, uint64_t from_ns, uint64_t to_ns,
			   struct trace_clock_step *ret)
{
	size_t cnt;
	const struct trace_clock *c = trace_clocks(t, &cnt);

	for (size_t i = lower_bound(c, cnt, mono_ns, from_ns + 1) ?: 1; i < cnt; i++) {
		const struct trace_clock *a = &c[i - 1], *b = &c[i];
		/* allow for slewing by NTP, up to 500 ppm */
		int64_t slack_ns = (int64_t)(a->uncertainty_ns + b->uncertainty_ns +
					     (b->mono_ns - a->mono_ns) / 2000);
		int64_t set_ns = (int64_t)(b->real_ns - a->real_ns - (b->boot_ns - a->boot_ns));
		int64_t suspended_ns =
			(int64_t)(b->boot_ns - a->boot_ns - (b->mono_ns - a->mono_ns));

		if (a->mono_ns >= to_ns)
			return false;
		if (llabs(set_ns) <= slack_ns && suspended_ns <= slack_ns)
			continue;
		*ret = (struct trace_clock_step){
			.from_ns = a->mono_ns, .to_ns = b->mono_ns,
			.set_ns = llabs(set_ns) > slack_ns ? set_ns : 0,
			.suspended_ns = suspended_ns > slack_ns ? (uint64_t)suspended_ns : 0,
		};
		return true;
	}
	return false;
}

/* Converts real_ns by one clock reading. Times before the machine's start become 0. */
static uint64_t by_clock(const struct trace_clock *c, uint64_t real_ns)
{
	if (real_ns >= c->real_ns)
		return c->mono_ns + (real_ns - c->real_ns);
	return c->real_ns - real_ns < c->mono_ns ? c->mono_ns - (c->real_ns - real_ns) : 0;
}

uint64_t trace_mono_from_real_ns(const struct trace *t, uint64_t real_ns)
{
	size_t cnt, i, at = 0;
	const struct trace_clock *c = trace_clocks(t, &cnt);
	uint64_t best = UINT64_MAX, mono_ns, lo, hi;

	for (i = 0; i < cnt; i++) {
		uint64_t d =
			c[i].real_ns > real_ns ? c[i].real_ns - real_ns : real_ns - c[i].real_ns;

		if (d < best) {
			best = d;
			at = i;
		}
		/* a reading applies between its neighbours; return the first match */
		lo = i ? c[i - 1].mono_ns : trace_start_ns(t);
		hi = i + 1 < cnt ? c[i + 1].mono_ns : trace_end_ns(t);
		mono_ns = by_clock(&c[i], real_ns);
		if (mono_ns >= lo && mono_ns <= hi)
			return mono_ns;
	}
	if (!cnt)
		return 0;
	/* no match: the time is outside the trace, or was skipped when the clock was set */
	mono_ns = by_clock(&c[at], real_ns);
	if (at && mono_ns < c[at - 1].mono_ns)
		return c[at].mono_ns;
	if (at + 1 < cnt && mono_ns > c[at + 1].mono_ns)
		return c[at + 1].mono_ns;
	return mono_ns;
}

/*
 * trace_sites: user-space code addresses, and frames of stacks. Blocks repeat the rows of earlier
 * blocks, so rows are merged while they are loaded: sites by (process, address, start of the
 * mapping), frames by stack. The frames of a stack are adjacent, innermost first.
 */

/*
 * Sets *ret to the number of the row's site (process, address, start of the mapping). Numbers are
 * in order of first use. 1: a new site; 0: a known site; -ENOMEM.
 */
static int number_site(struct trace *t, const struct trace_site *row, uint32_t *ret)
{
	uint32_t code;

	if (hash_map_intern(&t->site_code, row->upid, row->addr, &code) < 0)
		return -ENOMEM;
	return hash_map_intern(&t->site_row, code, row->from_ns, ret);
}

int trace_site_load(struct trace *t, const struct trace_site *row)
{
	struct trace_list *l = &t->rows[CHUNK_SITES];
	struct trace_site *p;
	uint32_t i;
	int r = number_site(t, row, &i);

	if (r < 0 || (r > 0 && !trace_list_add(l, sizeof(*p))))
		return -ENOMEM;
	p = (struct trace_site *)l->v + i;
	/* replace the earlier row, unless only the earlier row has a name */
	if (r > 0 || !row->why || p->why)
		*p = *row;
	return 0;
}

static int site_cmp(const void *a, const void *b)
{
	const struct trace_site *x = a, *y = b;

	return compare_numbers(x->upid, y->upid) ?: compare_numbers(x->addr, y->addr) ?:
	       compare_numbers(x->from_ns, y->from_ns);
}

int trace_sites_link(struct trace *t)
{
	struct trace_list *l = &t->rows[CHUNK_SITES];
	const struct trace_site *v = l->v;
	uint32_t ignored;

	if (l->cnt)
		qsort(l->v, l->cnt, sizeof(*v), site_cmp);
	/* sorting has moved the rows: number them again, for rows that a refresh adds */
	hash_map_clear(&t->site_row);
	for (size_t i = 0; i < l->cnt; i++)
		if (number_site(t, &v[i], &ignored) < 0)
			return -ENOMEM;
	return 0;
}

const struct trace_site *trace_site_find(const struct trace *t, uint32_t upid, uint64_t addr,
					 uint64_t ts_ns)
{
	struct trace_site want = { .upid = upid, .addr = addr, .from_ns = ts_ns };
	size_t lo = 0, hi;
	const struct trace_site *v = trace_sites(t, &hi);

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (site_cmp(&v[mid], &want) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || v[lo - 1].upid != upid || v[lo - 1].addr != addr)
		return NULL;
	return &v[lo - 1];
}

int trace_site_name(struct trace *t, size_t nr, const char *symbol, uint64_t symbol_offset)
{
	struct trace_site *s = (struct trace_site *)t->rows[CHUNK_SITES].v + nr;
	const char *kept = strpool_put(t->strings, symbol);

	if (!kept)
		return -ENOMEM;
	s->symbol = kept;
	s->symbol_offset = symbol_offset;
	s->why = TRACE_SITE_NAMED;
	s->range_from = s->range_to = 0;
	return 0;
}

/* ---- stacks ---- */

int trace_frame_load(struct trace *t, const struct trace_frame *row)
{
	uintptr_t at = (uintptr_t)hash_map_get(&t->by_key[CHUNK_FRAMES], row->stack);
	struct trace_list *l = &t->rows[CHUNK_FRAMES];
	struct trace_frame *p = l->v;

	/*
	 * add the frames of a new stack, which are adjacent and begin with frame 0; skip repeated
	 * stacks
	 */
	if (at ? row->nth == 0 || p[l->cnt - 1].stack != row->stack ||
			 p[l->cnt - 1].nth + 1 != row->nth
	       : row->nth != 0)
		return 0;
	p = trace_list_add(l, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = *row;
	return at ? 0 : hash_map_put(&t->by_key[CHUNK_FRAMES], row->stack, (void *)l->cnt);
}

int trace_stacks_reserve(struct trace *t, size_t frame_cnt)
{
	free(t->stacks.v);
	t->stacks.v = malloc((frame_cnt + 1) * sizeof(struct trace_stack));
	return t->stacks.v ? 0 : -ENOMEM;
}

const struct trace_frame *trace_stack_find(const struct trace *t, uint64_t stack, size_t *ret_cnt)
{
	size_t cnt, i, at;
	const struct trace_frame *v = trace_frames(t, &cnt);
	const struct trace_stack *s = t->stacks.v;

	*ret_cnt = 0;
	at = lower_bound(s, t->stacks.cnt, stack, stack);
	if (at == t->stacks.cnt || s[at].stack != stack)
		return NULL;
	for (i = s[at].first; i < cnt && v[i].stack == stack; i++)
		++*ret_cnt;
	return &v[s[at].first];
}

/*
 * irq_holes: collects and sorts the starts of gaps of sched.irq, and the ends of blocks before
 * missing data.
 */

int irq_holes_find(struct irq_holes *h, const struct trace *t)
{
	size_t block_cnt, gap_cnt, i;
	const struct trace_block *b = trace_blocks(t, &block_cnt);
	const struct trace_gap *g = trace_gaps(t, &gap_cnt);

	*h = (struct irq_holes){ .at_ns = calloc(block_cnt + gap_cnt + 1, sizeof(*h->at_ns)) };
	if (!h->at_ns)
		return -ENOMEM;
	for (i = 0; i < gap_cnt; i++)
		if (!strcmp(g[i].source, "sched.irq"))
			h->at_ns[h->cnt++] = g[i].from_ns;
	for (i = 0; i < block_cnt; i++)
		if (trace_block_is_damaged(t, i) || (i && b[i].from_ns > b[i - 1].to_ns))
			h->at_ns[h->cnt++] = i ? b[i - 1].to_ns : b[i].from_ns;
	qsort(h->at_ns, h->cnt, sizeof(*h->at_ns), compare_u64);
	return 0;
}

void irq_holes_done(struct irq_holes *h)
{
	free(h->at_ns);
}

bool irq_holes_pass(struct irq_holes *h, uint64_t below_ns)
{
	bool passed = false;

	for (; h->next < h->cnt && h->at_ns[h->next] < below_ns; h->next++)
		passed = true;
	return passed;
}
