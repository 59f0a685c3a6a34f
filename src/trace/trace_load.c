/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_load: merges the small sections of all valid blocks into the lists of a trace.
 *
 * Blocks are loaded in order, and a later row of a task replaces an earlier row, because it has
 * more information. A block whose rows do not parse, or whose slice overlaps an earlier slice, is
 * damaged. Rows are added to the lists only after all rows of their block were checked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "store/chunk_scan.h"
#include "trace/trace_state.h"

/*
 * trace_block: reads a block of an open trace again: its small sections, its keyframe, or all its
 * bytes.
 */

int trace_reader_init(struct trace_reader *r)
{
	*r = (struct trace_reader){ .fd = -1 };
	return zunpack_new(&r->zunpack);
}

void trace_reader_done(const struct trace *t, struct trace_reader *r)
{
	if (r->fd >= 0)
		trace_file_close(t, r->fd);
	zunpack_free(r->zunpack);
	*r = (struct trace_reader){ .fd = -1 };
}

int trace_block_seek(const struct trace *t, struct trace_reader *r, size_t block,
		     struct chunk_io *ret, struct err *e)
{
	uint64_t number = trace_more_at(t, block)->file;
	char name[CHUNK_NAME_BYTES];
	int fd;

	if (r->fd < 0 || r->fd_number != number) {
		if (r->fd >= 0)
			trace_file_close(t, r->fd);
		fd = trace_file_open(t, number);
		r->fd = fd < 0 ? -1 : fd;
		r->fd_number = number;
		chunk_name_format(name, number);
		if (fd < 0)
			return err_set(e, fd, "cannot open '%s/%s': %s", t->path, name,
				       err_text(NULL, fd));
	}
	*ret = (struct chunk_io){ r->fd, trace_block_at(t, block)->offset };
	return 0;
}

int trace_block_head(const struct trace *t, size_t block, struct chunk_io *io, const char **ret_why)
{
	struct disk_block head = { 0 };
	uint8_t raw[sizeof(head)];
	int r = chunk_io_read(io, 0, raw, sizeof(raw));

	*ret_why = "block header";
	r = r ?: block_head_check(raw, &head, ret_why);
	/* The block was valid when the trace was opened; any later change is an error. */
	return r < 0 || memcmp(&head, &trace_more_at(t, block)->head, sizeof(head)) ? -EBADMSG : 0;
}

int trace_block_open(const struct trace *t, struct trace_reader *reader, size_t block,
		     struct trace_block_open *ret, struct err *e)
{
	const struct trace_block *b = trace_block_at(t, block);
	struct block_io io = { chunk_io_read, &ret->io };
	const char *why;
	int r = trace_block_seek(t, reader, block, &ret->io, e);

	if (r < 0)
		return r;
	r = trace_block_head(t, block, &ret->io, &why);
	r = r ?: block_meta_open(&ret->meta, &trace_more_at(t, block)->head, &io, &why);
	if (r == -ENOMEM)
		return err_set(e, r, "out of memory");
	return r < 0 ? err_set(e, -EBADMSG, "'%s/%s', block at %llu: %s", t->path, b->file,
			       (unsigned long long)b->offset, why) : 0;
}

int trace_block_drop(struct trace *t, size_t block, const char *reason)
{
	struct trace_block_more *m = trace_more_at(t, block);
	const struct trace_block *b = trace_block_at(t, block);

	int r = 0;

	pthread_mutex_lock(&t->drop_lock);
	if (!m->damaged) {
		m->damaged = true;
		r = trace_add_damage(t, b->file, b->offset, b->bytes, reason);
	}
	pthread_mutex_unlock(&t->drop_lock);
	return r;
}

int trace_block_verify(struct trace *t, size_t block, struct err *e)
{
	struct trace_block_open o = { 0 };
	const char *why = "block changed";
	struct block_io io;
	uint8_t buf[65536];
	int r;

	if (block >= t->blocks.cnt)
		return err_set(e, -EINVAL, "no block %zu", block);
	if (trace_more_at(t, block)->damaged)
		return err_set(e, -EBADMSG, "block is damaged");
	if (trace_more_at(t, block)->verified)
		return 0;
	r = trace_block_open(t, &t->reader, block, &o, NULL);
	if (r == 0) {
		io = (struct block_io){ chunk_io_read, &o.io };
		r = block_meta_verify(o.meta, &io, buf, sizeof(buf), &why);
		block_meta_free(o.meta);
	}
	if (r == -ENOMEM)
		return err_set(e, r, "out of memory");
	if (r < 0) {
		r = trace_block_drop(t, block, why);
		return err_set(e, r < 0 ? r : -EBADMSG, "%s", why);
	}
	trace_more_at(t, block)->verified = true;
	return 0;
}

uint32_t trace_block_running(const struct trace *t, size_t block, unsigned int cpu)
{
	if (block >= t->more.cnt || cpu >= trace_more_at(t, block)->head.cpu_cnt)
		return EVENT_ID_UNKNOWN;
	return trace_more_at(t, block)->running[cpu];
}

const struct row_cpu_end *trace_block_end(const struct trace *t, size_t block, unsigned int cpu)
{
	if (block >= t->more.cnt || cpu >= trace_more_at(t, block)->head.cpu_cnt ||
	    !trace_more_at(t, block)->ends)
		return NULL;
	return &trace_more_at(t, block)->ends[cpu];
}

int trace_block_rss(struct trace *t, size_t block, const struct trace_rss **ret, size_t *ret_cnt,
		    struct err *e)
{
	struct trace_block_open o;
	struct trace_rss row, *p;
	struct row_reader rows;
	int r;

	if (block >= t->blocks.cnt)
		return err_set(e, -EINVAL, "no block %zu", block);
	r = trace_block_open(t, &t->reader, block, &o, e);
	if (r < 0)
		return r;
	t->rss.cnt = 0;
	r = block_meta_rows(o.meta, t->reader.zunpack, CHUNK_RSS_STATE, &rows);
	while (r == 0 && (r = row_get_rss(&rows, &row)) > 0) {
		p = trace_list_add(&t->rss, sizeof(*p));
		r = p ? 0 : -ENOMEM;
		if (p)
			*p = row;
	}
	block_meta_free(o.meta);
	if (r < 0)
		return err_set(e, r, "memory state of a block: %s", err_text(NULL, r));
	*ret = t->rss.v;
	*ret_cnt = t->rss.cnt;
	return 0;
}

bool trace_hole_next(const struct trace *t, struct trace_hole *h)
{
	const struct trace_block *b = t->blocks.v;

	if (!h->block)
		h->covered_ns = trace_start_ns(t);
	while (t->blocks.cnt && h->block <= t->blocks.cnt) {
		size_t i = h->block++;

		if (i < t->blocks.cnt && trace_block_is_damaged(t, i))
			continue;
		h->from_ns = h->covered_ns;
		h->to_ns = i < t->blocks.cnt ? b[i].from_ns : trace_end_ns(t);
		if (i < t->blocks.cnt && b[i].to_ns > h->covered_ns)
			h->covered_ns = b[i].to_ns;
		if (h->to_ns > h->from_ns)
			return true;
	}
	return false;
}

struct load {
	struct trace *t;
	uint64_t file;
	char name[CHUNK_NAME_BYTES];
	struct trace_damage tail;	/* last damage, not yet reported; reason NULL: none */
};

/* Decodes all rows without loading them, so that a block is loaded completely or not at all. */
static int check_rows(struct load *l, struct block_meta *f)
{
	const struct disk_section *s;
	const struct row_type *of;
	struct row_reader rows;
	union any_row row;
	uint32_t left;
	int r = 0;

	for (unsigned int type = 0; r == 0 && type < CHUNK_SMALL_END; type++) {
		of = row_type_of(type);
		if (!of)
			continue;
		s = block_meta_find(f, type, 0, 0, 0);
		r = block_meta_rows(f, l->t->reader.zunpack, type, &rows);
		/* the check of the section table has bounded the number of rows */
		left = s ? s->item_cnt : 0;
		while (r == 0 && left && (r = row_get(&rows, of, &row)) > 0) {
			left--;
			r = 0;
		}
		if (r == 0 && (left || rows.p != rows.end))
			r = -EBADMSG;
	}
	return r;
}

/* ---- rows into lists ---- */

static int append_row(struct trace *t, unsigned int list, const void *row)
{
	struct trace_list *l = &t->rows[list];
	void *p = trace_list_add(l, l->row_bytes);

	if (!p)
		return -ENOMEM;
	memcpy(p, row, l->row_bytes);
	return 0;
}

/* Adds a row, or replaces the row with the same key. */
static int put_row(struct trace *t, unsigned int list, uint64_t key, const void *row)
{
	uintptr_t at = (uintptr_t)hash_map_get(&t->by_key[list], key);
	struct trace_list *l = &t->rows[list];

	if (at) {
		memcpy((char *)l->v + (at - 1) * l->row_bytes, row, l->row_bytes);
		return 0;
	}
	if (append_row(t, list, row) < 0)
		return -ENOMEM;
	return hash_map_put(&t->by_key[list], key, (void *)l->cnt);
}

/* Adds a baseline unless its process has one already. */
static int trace_load_baseline(struct trace *t, const struct trace_rss *row)
{
	if (hash_map_get(&t->by_key[CHUNK_RSS_STATE], row->upid))
		return 0;
	return put_row(t, CHUNK_RSS_STATE, row->upid, row);
}

/*
 * Adds a cost. The recorder does not know the size of the current block when it writes this row,
 * and stores the bytes written during the slice, which belong to the previous block. This function
 * replaces them by the block's size.
 */
static int load_cost(struct trace *t, struct trace_cost *row)
{
	const struct trace_block *b = trace_block_at(t, t->blocks.cnt - 1);
	const struct trace_block_more *m = trace_more_at(t, t->more.cnt - 1);

	if (row->from_ns == b->from_ns && row->to_ns == b->to_ns &&
	    !(m->head.flags & CHUNK_BLOCK_REWRITTEN))
		row->bytes_written = b->bytes;
	return append_row(t, CHUNK_COST, row);
}

/* Adds a gap. If the gap continues an earlier gap of its source, extends that row instead. */
static int load_gap(struct trace *t, const struct trace_gap *row)
{
	struct trace_gap *p = t->rows[CHUNK_GAPS].v;

	if (row->to_ns <= row->from_ns)
		return 0;
	for (size_t i = t->rows[CHUNK_GAPS].cnt; i-- > 0;) {
		if (strcmp(p[i].source, row->source))
			continue;
		if (p[i].to_ns != row->from_ns)
			break;
		p[i].to_ns = row->to_ns;
		return 0;
	}
	return append_row(t, CHUNK_GAPS, row);
}

static bool same_quota(const struct trace_quota *a, const struct trace_quota *b)
{
	return a->limit_id == b->limit_id && a->quota_ns == b->quota_ns &&
	       a->period_ns == b->period_ns;
}

/* Adds a quota. If the group's quota has not changed, extends the group's last row instead. */
static int load_quota(struct trace *t, const struct trace_quota *row)
{
	struct trace_quota *p = t->rows[CHUNK_QUOTAS].v;
	size_t i = t->rows[CHUNK_QUOTAS].cnt;

	if (row->to_ns <= row->from_ns)
		return 0;
	while (i-- > 0 && p[i].cgroup_id != row->cgroup_id)
		;
	if (i == SIZE_MAX || p[i].to_ns != row->from_ns || !same_quota(&p[i], row))
		return append_row(t, CHUNK_QUOTAS, row);
	p[i].to_ns = row->to_ns;
	return 0;
}

/* Returns an array of unknown utids, one per CPU of a block, malloc'ed; NULL: out of memory. */
static uint32_t *new_cpus(const struct trace_block_more *m)
{
	uint32_t *utids = malloc((m->head.cpu_cnt + 1) * sizeof(*utids));

	for (unsigned int cpu = 0; utids && cpu < m->head.cpu_cnt; cpu++)
		utids[cpu] = EVENT_ID_UNKNOWN;
	return utids;
}

static void load_cpu(struct trace *t, const struct row_cpu_state *row)
{
	struct trace_block_more *m = trace_more_at(t, t->more.cnt - 1);

	if (row->cpu < m->head.cpu_cnt)
		m->running[row->cpu] = row->utid;
}

static int load_cpu_end(struct trace *t, const struct row_cpu_end *row)
{
	struct trace_block_more *m = trace_more_at(t, t->more.cnt - 1);

	if (!m->ends) {
		m->ends = calloc(m->head.cpu_cnt + 1, sizeof(*m->ends));
		if (!m->ends)
			return -ENOMEM;
		for (unsigned int cpu = 0; cpu < m->head.cpu_cnt; cpu++)
			m->ends[cpu].utid = EVENT_ID_UNKNOWN;
	}
	if (row->cpu < m->head.cpu_cnt)
		m->ends[row->cpu] = *row;
	return 0;
}

/* Adds a reset of memory, unsorted; trace_mm_resets_prepare() sorts the list. */
static int add_reset(struct trace *t, uint64_t ts_ns, uint32_t upid, enum trace_mm_reset_kind kind)
{
	return append_row(t, TRACE_LIST_MM_RESETS, &(struct trace_mm_reset){ ts_ns, upid, kind });
}

/* Drops a process's exit, which a later row contradicts. */
static void drop_exit(struct trace *t, uint32_t upid)
{
	struct trace_list *l = &t->rows[TRACE_LIST_MM_RESETS];
	struct trace_mm_reset *v = l->v;
	size_t i, n = 0;

	for (i = 0; i < l->cnt; i++)
		if (v[i].upid != upid || v[i].kind != TRACE_MM_RESET_EXIT)
			v[n++] = v[i];
	l->cnt = n;
	t->sorted_reset_cnt = 0;
}

static int load_process(struct trace *t, const struct trace_process *row)
{
	const struct trace_process *v = t->rows[CHUNK_PROCESSES].v;
	uintptr_t at = (uintptr_t)hash_map_get(&t->by_key[CHUNK_PROCESSES], row->upid);
	uint64_t end_ns = at ? v[at - 1].end_ns : 0;

	if (row->upid < EVENT_ID_FIRST)
		return 0;
	/* threads that are already loaded need the process's new flags */
	if (at ? (v[at - 1].flags ^ row->flags) & TASK_FLAGS_OF_PROCESS : t->has_orphans)
		t->must_link = true;
	if (end_ns && end_ns != row->end_ns)
		drop_exit(t, row->upid);
	if (row->end_ns && end_ns != row->end_ns &&
	    add_reset(t, row->end_ns, row->upid, TRACE_MM_RESET_EXIT) < 0)
		return -ENOMEM;
	return put_row(t, CHUNK_PROCESSES, row->upid, row);
}

static int load_task_event(struct trace *t, const struct trace_task_event *row)
{
	if (row->type == TRACE_TASK_EXEC &&
	    add_reset(t, row->ts_ns, row->upid, TRACE_MM_RESET_EXEC) < 0)
		return -ENOMEM;
	return append_row(t, CHUNK_TASK_EVENTS, row);
}

/*
 * Loads a thread. Only a row that was written before the thread's first events contains its state
 * at the trace's start; this function copies the state to later rows of the thread.
 */
static int load_thread(struct trace *t, struct trace_thread *row)
{
	const struct trace_thread *v = t->rows[CHUNK_THREADS].v;
	uintptr_t at = (uintptr_t)hash_map_get(&t->by_key[CHUNK_THREADS], row->utid);
	const struct trace_process *p = t->rows[CHUNK_PROCESSES].v;
	uintptr_t of = (uintptr_t)hash_map_get(&t->by_key[CHUNK_PROCESSES], row->upid);

	if (of)
		row->flags |= p[of - 1].flags & TASK_FLAGS_OF_PROCESS;
	else if (row->upid >= EVENT_ID_FIRST)
		t->must_link = true;
	if (at && !row->start_state)
		row->start_state = v[at - 1].start_state, row->start_call = v[at - 1].start_call;
	return row->utid < EVENT_ID_FIRST ? 0 : put_row(t, CHUNK_THREADS, row->utid, row);
}

static int load_row(struct trace *t, unsigned int type, union any_row *row)
{
	const struct trace_name *n = &row->name;

	switch (type) {
	case CHUNK_PROCESSES:
		return load_process(t, &row->process);
	case CHUNK_TASK_EVENTS:
		return load_task_event(t, &row->task_event);
	case CHUNK_THREADS:
		return load_thread(t, &row->thread);
	case CHUNK_NAMES:
		return !n->type || n->type >= TRACE_NAME_TYPE_CNT ?
			       0 : put_row(t, TRACE_LIST_NAMES + n->type,
					   trace_name_key(n->type, n->id, n->arg), row);
	case CHUNK_RSS_STATE:
		/* baselines are in the first remaining block, even if earlier blocks are missing */
		return t->blocks.cnt == 1 ? trace_load_baseline(t, &row->rss) : 0;
	case CHUNK_COST:
		return load_cost(t, &row->cost);
	case CHUNK_GAPS:
		return load_gap(t, &row->gap);
	case CHUNK_QUOTAS:
		return load_quota(t, &row->quota);
	case CHUNK_CPU_STATE:
		load_cpu(t, &row->cpu_state);
		return 0;
	case CHUNK_CPU_END:
		return load_cpu_end(t, &row->cpu_end);
	case CHUNK_SITES:
		return trace_site_load(t, &row->site);
	case CHUNK_FRAMES:
		return trace_frame_load(t, &row->frame);
	default:
		return append_row(t, type, row);
	}
}

/* Copies the strings of a row, which point into its block, to the trace's pool. */
static int keep_strings(struct trace *t, const struct row_type *of, void *row)
{
	const char **s;

	for (unsigned int i = 0; (s = row_string(of, row, i)); i++) {
		*s = strpool_put(t->strings, *s);
		if (!*s)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Records whether the ends of the rows are in order. Costs and hook_stats begin with from_ns and
 * to_ns.
 */
static void note_order(struct trace *t, unsigned int list)
{
	const struct trace_list *l = &t->rows[list];
	const uint64_t *last = trace_row_at(t, list, l->cnt - 1), *before;

	before = l->cnt > 1 ? trace_row_at(t, list, l->cnt - 2) : last;
	if (last[1] < before[1])
		t->unordered |= 1u << list;
}

static int load_sections(struct load *l, struct block_meta *f)
{
	const struct row_type *of;
	struct row_reader rows;
	union any_row row;
	int r = 0;

	for (unsigned int type = 0; r == 0 && type < CHUNK_SMALL_END; type++) {
		of = row_type_of(type);
		if (of)
			r = block_meta_rows(f, l->t->reader.zunpack, type, &rows);
		while (of && r == 0 && (r = row_get(&rows, of, &row)) > 0) {
			r = keep_strings(l->t, of, &row) ?: load_row(l->t, type, &row);
			if (!r && (type == CHUNK_COST || type == CHUNK_HOOK_STATS))
				note_order(l->t, type);
		}
	}
	return r;
}

int trace_load_block(struct trace *t, const char *file, uint64_t file_number, uint64_t offset,
		     const struct disk_block *h)
{
	struct trace_block *b = trace_list_add(&t->blocks, sizeof(*b));
	struct trace_block_more *m = trace_list_add(&t->more, sizeof(*m));
	uint64_t events = 0;

	if (!b || !m)
		return -ENOMEM;
	*b = (struct trace_block){ .file = file, .offset = offset, .bytes = h->block_bytes,
				   .from_ns = h->from_ns, .to_ns = h->to_ns };
	for (unsigned int i = 0; i < EVENT_KIND_CNT; i++) {
		b->kind_cnt[i] = h->kind_cnt[i];
		events += h->kind_cnt[i];
	}
	b->first_ns = events ? h->first_ns : h->from_ns;
	b->last_ns = events ? h->last_ns : h->from_ns;
	m->file = file_number;
	m->head = *h;
	m->running = new_cpus(m);
	if (h->cpu_cnt > t->cpu_cnt)
		t->cpu_cnt = h->cpu_cnt;
	return m->running ? 0 : -ENOMEM;
}

static int add_block(struct load *l, uint64_t offset, struct block_meta *f)
{
	const char *file = strpool_put(l->t->strings, l->name);
	int r = file ? trace_load_block(l->t, file, l->file, offset, &f->head) : -ENOMEM;

	return r < 0 ? r : load_sections(l, f);
}

static int on_damage(void *ctx, uint64_t offset, uint64_t bytes, const char *reason)
{
	struct load *l = ctx;
	int r = 0;

	/* damage is found in order of offset, so the previous damage was not at the file's end */
	if (l->tail.reason)
		r = trace_add_damage(l->t, l->name, l->tail.offset, l->tail.bytes, l->tail.reason);
	l->tail = (struct trace_damage){ .offset = offset, .bytes = bytes, .reason = reason };
	return r;
}

static int on_block(void *ctx, uint64_t offset, struct block_meta *f)
{
	struct load *l = ctx;
	int r;

	r = check_rows(l, f);
	if (r < 0 && r != -ENOMEM)
		r = on_damage(l, offset, f->head.block_bytes, "rows of a small section");
	else if (r == 0 && l->t->blocks.cnt && f->head.from_ns < trace_blocks_end_ns(l->t))
		r = on_damage(l, offset, f->head.block_bytes, "block overlaps the one before it");
	else if (r == 0)
		r = add_block(l, offset, f) < 0 ? -ENOMEM : 0;
	block_meta_free(f);
	return r;
}

/*
 * Finishes a file. An incomplete block at the end of a growing file is not damage, since the
 * recorder will complete it.
 */
static int finalize_tail(struct load *l, const struct chunk_scan_info *info, bool is_growing)
{
	const struct trace_damage *d = &l->tail;

	if (!d->reason || (is_growing && !strncmp(d->reason, "incomplete", 10) &&
			   d->offset + d->bytes == info->bytes))
		return 0;
	return trace_add_damage(l->t, l->name, d->offset, d->bytes, d->reason);
}

int trace_load_file(struct trace *t, uint64_t number, bool is_last, struct err *e)
{
	struct load l = { .t = t, .file = number };
	struct chunk_sink sink = { .ctx = &l, .block = on_block, .damage = on_damage };
	uint64_t from = t->scanned && t->scanned_file == number ? t->scanned_bytes : 0;
	struct chunk_scan_info info = { 0 };
	/*
	 * Verify the last file, which may end within a block, and all files that may lack parts
	 * after a crash of the machine.
	 */
	bool verify = !trace_is_finished(t) &&
		      (is_last || (!t->is_live && number >= t->whole_below));
	size_t i = t->more.cnt;
	struct disk_file h;
	int fd, r;

	chunk_name_format(l.name, number);
	fd = trace_file_open(t, number);
	if (fd < 0) {
		r = fd;
		/* a flight recorder has removed the file since the directory was read */
		if (r == -ENOENT)
			return 0;
		if (r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -EACCES)
			return err_set(e, r, "cannot open '%s': %s", l.name, err_text(NULL, r));
		return trace_add_damage(t, l.name, 0, 0, "file cannot be opened");
	}
	if (t->id && chunk_header_read(&h, fd) == 0 && h.trace_id && h.trace_id != t->id) {
		trace_file_close(t, fd);
		return trace_add_damage(t, l.name, 0, 0, "file of another trace");
	}
	r = chunk_scan_from(fd, from, verify, &sink, &info);
	trace_file_close(t, fd);
	if (r == -EPROTONOSUPPORT)
		return err_set(e, r,
			       "'%s' was written by a big-endian machine, most significant byte "
			       "first; traces are little-endian, and nothing here reads others",
			       l.name);
	if (r == 0)
		r = finalize_tail(&l, &info, t->is_live && is_last);
	else if (r != -ENOMEM)
		r = trace_add_damage(t, l.name, 0, 0, "file cannot be read");
	/* the scan has verified every byte of these blocks */
	for (; verify && i < t->more.cnt; i++)
		((struct trace_block_more *)t->more.v)[i].verified = true;
	t->scanned = true;
	t->scanned_file = number;
	t->scanned_bytes = info.whole_bytes;
	return r < 0 ? err_set(e, r, "'%s': %s", l.name, err_text(NULL, r)) : 0;
}

/*
 * trace_finalize: completes the lists after the rows of all blocks are loaded: sorts and links the
 * lists, and derives data that depends on all rows. Few callers need resets of memory, so these are
 * sorted on request unless they come from the derived file.
 */

static uint64_t key_of(unsigned int list, const void *row)
{
	const struct trace_name *n = row;

	return list < TRACE_LIST_NAMES ? *(const uint32_t *)row
				       : trace_name_key(list - TRACE_LIST_NAMES, n->id, n->arg);
}

/* Returns whether a list is in order; if not, the caller sorts it. Marks it as sorted anyway. */
static bool is_sorted(struct trace_list *l, int (*cmp)(const void *, const void *))
{
	const char *v = l->v;
	size_t i = l->sorted_cnt ?: 1;

	l->sorted_cnt = l->cnt;
	for (; i < l->cnt; i++)
		if (cmp(v + (i - 1) * l->row_bytes, v + i * l->row_bytes) > 0)
			return false;
	return true;
}

/* Sorts a list by id. If the order changed, updates the map of keys, which a refresh uses. */
static int sort_by_id(struct trace *t, unsigned int list, int (*cmp)(const void *, const void *))
{
	struct trace_list *l = &t->rows[list];
	const char *v = l->v;

	/* usually true: ids are ascending, and a refresh adds few rows */
	if (is_sorted(l, cmp))
		return 0;
	qsort(l->v, l->cnt, l->row_bytes, cmp);
	/* all keys are already in the map, so this does not allocate */
	for (size_t i = 0; i < l->cnt; i++)
		if (hash_map_put(&t->by_key[list], key_of(list, v + i * l->row_bytes),
				 (void *)(i + 1)) < 0)
			return -ENOMEM;
	return 0;
}

/* Sorts a list by the uint64_t at the start of each row. The sort is stable. */
static int sort_by_time(struct trace *t, unsigned int list)
{
	struct trace_list *l = &t->rows[list];
	size_t bytes = l->row_bytes, i;
	char *v = l->v, *out;
	size_t *order;

	if (is_sorted(l, compare_u64))
		return 0;
	order = array_order(v, l->cnt, bytes);
	out = malloc(l->cnt * bytes);
	if (!order || !out) {
		free(order);
		free(out);
		return -ENOMEM;
	}
	for (i = 0; i < l->cnt; i++)
		memcpy(out + i * bytes, v + order[i] * bytes, bytes);
	free(order);
	free(v);
	l->v = out;
	l->cap = l->cnt;
	return 0;
}

_Static_assert(offsetof(struct trace_task_event, ts_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_rss, ts_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_clock, mono_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_loss, from_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_gap, from_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_quota, from_ns) == 0, "sort_by_time");
_Static_assert(offsetof(struct trace_mark, ts_ns) == 0, "sort_by_time");

/*
 * Sets the flags of threads that were loaded before their process, or whose process has changed.
 * The process of a thread is usually that of the previous thread, or the next process.
 */
static void link_tasks(struct trace *t)
{
	struct trace_thread *h = t->rows[CHUNK_THREADS].v;
	const struct trace_process *p = t->rows[CHUNK_PROCESSES].v;
	size_t cnt = trace_process_cnt(t), at = 0, i;

	if (!t->must_link)
		return;
	t->must_link = t->has_orphans = false;
	for (i = 0; i < trace_thread_cnt(t); i++) {
		at += at + 1 < cnt && p[at].upid < h[i].upid;
		if (at >= cnt || p[at].upid != h[i].upid)
			at = trace_process_index(t, h[i].upid);
		if (at < cnt)
			h[i].flags |= p[at].flags & TASK_FLAGS_OF_PROCESS;
		else
			at = 0, t->has_orphans |= h[i].upid >= EVENT_ID_FIRST;
	}
}

/*
 * Numbers marks with equal text. The pool has one copy of a text, so equal texts have equal
 * pointers.
 */
int trace_number_marks(struct trace *t)
{
	struct trace_mark *m = t->rows[CHUNK_MARKS].v;
	struct hash_map seen = { 0 };
	int r = 0;

	for (size_t i = 0; i < t->rows[CHUNK_MARKS].cnt && r == 0; i++) {
		const char *text = strpool_put(t->strings, m[i].text);

		if (!text) {
			r = -ENOMEM;
			break;
		}
		m[i].nr = (uint32_t)(uintptr_t)hash_map_get(&seen, (uintptr_t)text) + 1;
		r = hash_map_put(&seen, (uintptr_t)text, (void *)(uintptr_t)m[i].nr);
	}
	hash_map_done(&seen);
	return r;
}

/*
 * Moves losses that the recorder found after the last slice, when it read its counters, to the
 * trace's end, so that the losses of all windows add up to those of the trace. Growing traces are
 * not changed, because they may later cover the time of the loss; nor are cuts, because a loss that
 * ends after the cut belongs to the following part.
 */
static void end_losses(struct trace *t)
{
	struct trace_loss *l = t->rows[CHUNK_LOSS].v;
	uint64_t end_ns = trace_end_ns(t);
	size_t i;

	/* this may change the order of the list */
	if (!t->is_live)
		t->rows[CHUNK_LOSS].sorted_cnt = 0;
	for (i = 0; i < t->rows[CHUNK_LOSS].cnt && !t->is_live && !trace_get(t, "cut.to_ns"); i++) {
		if (l[i].from_ns >= end_ns)
			l[i].from_ns = end_ns - 1;
		if (l[i].to_ns > end_ns)
			l[i].to_ns = end_ns;
	}
}

static int make_baselines(struct trace *t)
{
	const struct trace_rss *row = t->rows[CHUNK_RSS_SNAPS].v;

	for (size_t i = 0; i < t->rows[CHUNK_RSS_SNAPS].cnt; i++) {
		const struct trace_process *p = trace_process_find(t, row[i].upid);

		/*
		 * The memory of a process forked during the recording starts at 0, and events
		 * report all changes.
		 */
		if (p && p->flags & TRACE_TASK_AT_START && trace_load_baseline(t, &row[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

void trace_finalize_blocks(struct trace *t)
{
	struct trace_block_more *m = t->more.v;
	const struct trace_block *b = t->blocks.v;
	uint64_t late = UINT64_MAX;

	for (size_t i = t->blocks.cnt; i-- > 0;) {
		if (b[i].first_ns < late)
			late = b[i].first_ns;
		/* new blocks do not change this value, nor those of earlier blocks */
		if (m[i].late_ns == late)
			break;
		m[i].late_ns = late;
	}
}

int trace_load_finish(struct trace *t)
{
	static const uint8_t by_time[] = { CHUNK_TASK_EVENTS, CHUNK_RSS_SNAPS, CHUNK_CLOCKS,
					   CHUNK_LOSS, CHUNK_MARKS, CHUNK_GAPS,
					   CHUNK_QUOTAS };

	trace_finalize_blocks(t);
	end_losses(t);
	if (sort_by_id(t, CHUNK_PROCESSES, compare_u32) < 0 ||
	    sort_by_id(t, CHUNK_THREADS, compare_u32) < 0)
		return -ENOMEM;
	link_tasks(t);
	for (unsigned int type = 1; type < TRACE_NAME_TYPE_CNT; type++)
		if (sort_by_id(t, TRACE_LIST_NAMES + type, compare_u64_pair) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < sizeof(by_time); i++)
		if (sort_by_time(t, by_time[i]) < 0)
			return -ENOMEM;
	if (trace_number_marks(t) < 0 || trace_sites_link(t) < 0 ||
	    trace_stacks_reserve(t, t->rows[CHUNK_FRAMES].cnt) < 0)
		return -ENOMEM;
	trace_stacks_index(t);
	trace_estimate_costs(t);
	return make_baselines(t);
}

/* ---- resets of memory, in order of time ---- */

static int mm_reset_cmp(const void *a, const void *b)
{
	const struct trace_mm_reset *x = a, *y = b;

	return compare_numbers(x->ts_ns, y->ts_ns) ?: compare_numbers(x->kind, y->kind) ?:
	       compare_numbers(x->upid, y->upid);
}

/* Merges two sorted ranges of rows: [0, cnt) and [cnt, all). */
static int merge_resets(struct trace_mm_reset *v, size_t cnt, size_t all)
{
	size_t left = all - cnt, at = all;
	struct trace_mm_reset *added;

	if (!cnt || mm_reset_cmp(&v[cnt - 1], &v[cnt]) <= 0)
		return 0;
	added = malloc(left * sizeof(*added));
	if (!added)
		return -ENOMEM;
	memcpy(added, &v[cnt], left * sizeof(*added));
	while (left)
		v[--at] = cnt && mm_reset_cmp(&v[cnt - 1], &added[left - 1]) > 0 ? v[--cnt] :
										  added[--left];
	free(added);
	return 0;
}

int trace_mm_resets_prepare(struct trace *t)
{
	struct trace_list *l = &t->rows[TRACE_LIST_MM_RESETS];
	size_t cnt = t->sorted_reset_cnt, i;
	struct trace_mm_reset *v = l->v;

	if (t->lists || cnt == l->cnt)
		return 0;
	for (i = cnt; i < l->cnt; i++)
		if (!trace_process_find(t, v[i].upid))
			v[i].upid = EVENT_ID_UNKNOWN;
	qsort(&v[cnt], l->cnt - cnt, sizeof(*v), mm_reset_cmp);
	if (merge_resets(v, cnt, l->cnt) < 0)
		return -ENOMEM;
	t->sorted_reset_cnt = l->cnt;
	return 0;
}

size_t trace_mm_reset_cnt(const struct trace *t)
{
	return t->rows[TRACE_LIST_MM_RESETS].cnt;
}

const struct trace_mm_reset *trace_mm_reset_at(const struct trace *t, size_t i)
{
	return trace_row_at(t, TRACE_LIST_MM_RESETS, i);
}

size_t trace_mm_reset_from(const struct trace *t, uint64_t ts_ns)
{
	return trace_rows_from(t, TRACE_LIST_MM_RESETS, ts_ns);
}
