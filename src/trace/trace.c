/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace: opens a trace, a directory or a bundle, and hands out the lists that trace_load.c made of
 * it.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "trace/trace_state.h"
#include "store/chunk_name.h"
#include "store/control_socket.h"

void *trace_list_add(struct trace_list *l, size_t item_bytes)
{
	void *p;

	if (l->cnt == l->cap && array_grow(&l->v, &l->cap, l->cnt + 1, item_bytes) < 0)
		return NULL;
	p = (char *)l->v + l->cnt++ * item_bytes;
	/* the list may have been longer before */
	memset(p, 0, item_bytes);
	return p;
}

void trace_blocks_done(struct trace *t)
{
	struct trace_block_more *m = t->more.v;
	size_t i;

	for (i = 0; i < t->more.cnt; i++) {
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

/* More files than this are not held: a recorder removes the oldest ones first. */
#define HELD_MAX 256

static int load_manifest(struct trace *t, struct err *e)
{
	struct manifest m = { 0 };
	size_t i;
	int r;

	if (t->dir_fd >= 0)
		r = manifest_read(&m, t->dir_fd, e);
	else
		r = manifest_parse_text(&m, t->held.manifest, t->held.manifest_bytes, e);
	if (r < 0) {
		manifest_done(&m);
		return r;
	}
	manifest_done(&t->manifest);
	t->manifest = m;
	t->kv.cnt = 0;
	for (i = 0; i < t->manifest.cnt; i++) {
		struct trace_kv *kv = trace_list_add(&t->kv, sizeof(*kv));

		if (!kv)
			return err_set(e, -ENOMEM, "out of memory");
		kv->key = t->manifest.entries[i].key;
		kv->value = t->manifest.entries[i].value;
	}
	trace_span_read(t);
	return 0;
}

/* The descriptor of a file that stays open, or -1. */
static int held_fd(const struct trace *t, uint64_t number)
{
	size_t i;

	for (i = 0; i < t->held.cnt; i++)
		if (t->held.files[i].number == number)
			return t->held.files[i].fd;
	return -1;
}

int trace_file_list(const struct trace *t, uint64_t **ret, size_t *ret_cnt)
{
	size_t i;

	if (t->dir_fd >= 0)
		return chunk_name_list(t->dir_fd, ret, ret_cnt);
	*ret = malloc((t->held.cnt + 1) * sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (i = 0; i < t->held.cnt; i++)
		(*ret)[i] = t->held.files[i].number;
	*ret_cnt = t->held.cnt;
	return 0;
}

int trace_file_open(const struct trace *t, uint64_t number)
{
	char name[CHUNK_NAME_BYTES];
	int fd = held_fd(t, number);

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
	size_t i;

	for (i = 0; i < t->held.cnt; i++)
		if (t->held.files[i].fd == fd)
			return;
	close(fd);
}

/*
 * Opens the files of a trace whose recorder may remove them. It removes the oldest first: where one
 * is gone, so are those before it. *ret_first is the first that is still there.
 */
static int hold_files(struct trace *t, const uint64_t *numbers, size_t cnt, size_t *ret_first,
		      struct err *e)
{
	size_t i;
	int fd;

	*ret_first = 0;
	if (!t->is_live || (!trace_get(t, "keep.bytes") && !trace_get(t, "keep.ns")))
		return 0;
	if (!t->held.files)
		t->held.files = calloc(HELD_MAX, sizeof(*t->held.files));
	if (!t->held.files)
		return err_set(e, -ENOMEM, "out of memory");
	for (i = 0; i < cnt && t->held.cnt < HELD_MAX; i++) {
		if (held_fd(t, numbers[i]) >= 0)
			continue;
		fd = trace_file_open(t, numbers[i]);
		if (fd >= 0)
			t->held.files[t->held.cnt++] =
				(struct bundle_file){ .number = numbers[i], .fd = fd };
		else if (fd != -ENOENT)
			continue;	/* said when it is read */
		else if (t->scanned)
			return -ESTALE;
		else
			while (t->held.cnt)
				close(t->held.files[--t->held.cnt].fd);
		if (fd == -ENOENT)
			*ret_first = i + 1;
	}
	return 0;
}

/* What the headers say of the files before them. A trace that is finished does not need to ask. */
static uint64_t find_whole_below(const struct trace *t, const uint64_t *numbers, size_t cnt)
{
	struct disk_file h;
	uint64_t below = 0;
	size_t i;
	int fd;

	for (i = 0; i < cnt && !trace_is_finished(t); i++) {
		fd = trace_file_open(t, numbers[i]);
		if (fd < 0)
			continue;
		if (chunk_header_read(&h, fd) == 0 && h.whole_below > below)
			below = h.whole_below;
		trace_file_close(t, fd);
	}
	return below;
}

static int load_files(struct trace *t, struct err *e)
{
	uint64_t *numbers = NULL;
	size_t cnt = 0, i;
	int r;

	r = trace_file_list(t, &numbers, &cnt);
	if (r < 0)
		return err_set(e, r, "cannot list the chunk files: %s", err_text(NULL, r));
	if (t->scanned && (!cnt || numbers[0] != t->first_file))
		r = -ESTALE;
	if (r == 0)
		r = hold_files(t, numbers, cnt, &i, e);
	if (r == 0 && !t->scanned && i < cnt)
		t->first_file = numbers[i];
	if (r == 0 && t->quick && !t->scanned && trace_lists_load(t, numbers, cnt) > 0) {
		free(numbers);
		return 0;
	}
	if (r == 0)
		t->whole_below = find_whole_below(t, numbers, cnt);
	for (; r == 0 && i < cnt; i++)
		if (!t->scanned || numbers[i] >= t->scanned_file)
			r = trace_load_file(t, numbers[i], i + 1 == cnt, e);
	if (r == 0)
		r = trace_span_check(t, numbers, cnt);
	free(numbers);
	if (r == 0)
		r = trace_load_finish(t);
	return r < 0 ? err_set(e, r, "%s", err_text(NULL, r)) : 0;
}

/* The manifest first: a recorder that ends writes it last, and then no more blocks. */
static int load(struct trace *t, bool anyway, struct err *e)
{
	int r = load_manifest(t, anyway ? NULL : e);

	if (anyway && r < 0 && r != -EPROTONOSUPPORT && r != -ENOMEM) {
		t->no_manifest = true;
		r = load_files(t, e);
		return r < 0 || t->blocks.cnt ? r :
		       err_set(e, -EINVAL, "not a trace: it has neither a manifest nor a block");
	}
	if (r < 0)
		return err_set(e, r, "%s", err_text(NULL, r));
	t->is_live = !trace_is_finished(t) && t->dir_fd >= 0 && control_socket_has_owner(t->dir_fd);
	/* it may have ended in between */
	if (!t->is_live && !trace_is_finished(t))
		r = load_manifest(t, e);
	return r < 0 ? r : load_files(t, e);
}

int trace_refresh(struct trace *t, struct err *e)
{
	int r;

	t->kv.cnt = 0;
	r = load(t, false, e);
	return r < 0 && r != -ESTALE ? err_prefix(e, r, "'%s'", t->path) : r;
}

static int open_trace(struct trace **ret, const char *path, bool anyway, bool quick,
		      struct err *e)
{
	struct trace *t = calloc(1, sizeof(*t));
	const struct row_type *of;
	unsigned int i;
	int r = -ENOMEM;

	if (!t)
		return err_set(e, r, "out of memory");
	t->reader.fd = -1;
	t->dir_fd = -1;
	t->quick = quick;
	for (i = 0; i < TRACE_LIST_CNT; i++) {
		of = trace_list_type(i);
		t->rows[i].row_bytes = of ? of->bytes : 0;
	}
	pthread_mutex_init(&t->drop_lock, NULL);
	t->path = strdup(path);
	if (!t->path || strpool_new(&t->strings) < 0 || trace_reader_init(&t->reader) < 0) {
		err_set(e, r, "out of memory");
		goto fail;
	}
	t->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = t->dir_fd < 0 ? -errno : 0;
	if (r == -ENOTDIR)
		r = bundle_open(&t->held, path, e);
	else if (r < 0)
		err_set(e, r, "cannot open trace '%s': %s", path, err_text(NULL, r));
	if (r < 0)
		goto fail;
	r = load(t, anyway, e);
	if (r < 0) {
		err_prefix(e, r, "'%s'", path);
		goto fail;
	}
	*ret = t;
	return 0;
fail:
	trace_close(t);
	return r;
}

int trace_open(struct trace **ret, const char *path, struct err *e)
{
	return open_trace(ret, path, false, false, e);
}

int trace_open_quick(struct trace **ret, const char *path, struct err *e)
{
	return open_trace(ret, path, false, true, e);
}

int trace_open_anyway(struct trace **ret, const char *path, struct err *e)
{
	return open_trace(ret, path, true, false, e);
}

void trace_close(struct trace *t)
{
	size_t i;

	if (!t)
		return;
	trace_blocks_done(t);
	trace_lists_close(t);
	trace_reader_done(t, &t->reader);
	bundle_close(&t->held);
	pthread_mutex_destroy(&t->drop_lock);
	if (t->dir_fd >= 0)
		close(t->dir_fd);
	manifest_done(&t->manifest);
	strpool_free(t->strings);
	free(t->kv.v);
	free(t->blocks.v);
	free(t->more.v);
	free(t->damages.v);
	free(t->stacks.v);
	free(t->rss.v);
	for (i = 0; i < TRACE_LIST_CNT; i++) {
		free(t->rows[i].v);
		hash_map_done(&t->by_key[i]);
	}
	hash_map_done(&t->site_code);
	hash_map_done(&t->site_row);
	free(t->path);
	free(t);
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

const char *trace_uuid(const struct trace *t)
{
	return t->uuid;
}

uint32_t trace_page_bytes(const struct trace *t)
{
	const char *s = trace_get(t, "page_bytes");
	unsigned long v = s ? strtoul(s, NULL, 10) : 0;

	return v >= 512 && v <= 1u << 24 ? (uint32_t)v : 4096;
}

bool trace_was_recorded(const struct trace *t, const char *source)
{
	const char *at = trace_get(t, "sources");
	size_t n = strlen(source);

	if (!at || !strcmp(source, "task"))
		return true;
	for (; *at; at += strcspn(at, ","), at += *at == ',')
		if (!strncmp(at, source, n) && (!at[n] || strchr(",.", at[n])))
			return true;
	return false;
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
		trace_lists_row(t, list, i);
	return (const char *)t->rows[list].v + i * t->rows[list].row_bytes;
}

static uint64_t key_at(const struct trace *t, unsigned int list, size_t i)
{
	const void *row = trace_row_at(t, list, i);

	/* processes and threads begin with an id of 32 bits, the others with a number of 64 */
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

#define LIST(name, type, list)                                                   \
	const struct type *trace_##name(const struct trace *t, size_t *ret_cnt)  \
	{                                                                        \
		*ret_cnt = t->list.cnt;                                          \
		return t->list.v;                                                \
	}
LIST(manifest, trace_kv, kv)
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
ROWS(sites, trace_site, CHUNK_SITES)
ROWS(frames, trace_frame, CHUNK_FRAMES)
ROWS(clocks, trace_clock, CHUNK_CLOCKS)
ROWS(marks, trace_mark, CHUNK_MARKS)

const struct trace_name *trace_names(const struct trace *t, enum trace_name_type type,
				     size_t *ret_cnt)
{
	*ret_cnt = 0;
	return (unsigned int)type < TRACE_NAME_TYPE_CNT ?
		       trace_rows(t, TRACE_LIST_NAMES + type, ret_cnt) : NULL;
}

static size_t index_of(const struct trace *t, unsigned int list, uint64_t key)
{
	size_t i = trace_rows_from(t, list, key);

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

	/* those of the derived file are as old as it is */
	if (t->lists && cnt >= trace_thread_cnt(t))
		return trace_lists_thread_hash(t);
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
	size_t i;

	for (i = 0; i < cnt; i++) {
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

/* Names are in order of their ids; several files may have the same inode number. */
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
	size_t cnt, low = 0, high;
	const struct trace_clock *c = trace_clocks(t, &cnt);

	for (high = cnt; low < high;) { /* the first reading after mono_ns; they are in order */
		size_t middle = low + (high - low) / 2;

		if (c[middle].mono_ns <= mono_ns)
			low = middle + 1;
		else
			high = middle;
	}
	/* the reading before is the nearest one, unless the next one is nearer */
	if (low && (low == cnt || mono_ns - c[low - 1].mono_ns <= c[low].mono_ns - mono_ns))
		low--;
	return cnt ? c[low].real_ns + (mono_ns - c[low].mono_ns) : 0;
}

/* The instant that row at gives for real_ns; before the machine's start it is 0. */
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
		/* a row is for the time between its neighbours; of two such instants the first */
		lo = i ? c[i - 1].mono_ns : trace_start_ns(t);
		hi = i + 1 < cnt ? c[i + 1].mono_ns : trace_end_ns(t);
		mono_ns = by_clock(&c[i], real_ns);
		if (mono_ns >= lo && mono_ns <= hi)
			return mono_ns;
	}
	if (!cnt)
		return 0;
	/* before the trace, after it, or never: the clock was set past it, by then at the latest */
	mono_ns = by_clock(&c[at], real_ns);
	if (at && mono_ns < c[at - 1].mono_ns)
		return c[at].mono_ns;
	if (at + 1 < cnt && mono_ns > c[at + 1].mono_ns)
		return c[at + 1].mono_ns;
	return mono_ns;
}
