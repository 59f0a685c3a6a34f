/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_load: merges the small sections of all valid blocks into the lists of a trace.
 *
 * Blocks come in order, and a later row of a task replaces the earlier one, because it knows more.
 * A block whose rows do not parse, or whose slice overlaps an earlier one, is damaged. Rows enter
 * the lists only after all rows of their block were found valid.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/trace_state.h"
#include "store/chunk_name.h"

struct load {
	struct trace *t;
	uint64_t file;
	char name[CHUNK_NAME_BYTES];
	struct trace_damage tail;	/* the last damage, not reported yet; reason NULL: none */
};

/* ---- a dry run, so that a block is taken whole or not at all ---- */

#define X(row, type)                                                               \
	static int check_##row(struct row_reader *r, uint32_t cnt)                 \
	{                                                                          \
		struct type x;                                                     \
		int k;                                                             \
		while ((k = row_get_##row(r, &x)) > 0 && cnt)                      \
			cnt--;                                                     \
		return k < 0 ? k : k > 0 || cnt ? -EBADMSG : 0;                    \
	}
X(process, trace_process)
X(thread, trace_thread)
X(task_event, trace_task_event)
X(cpu_state, row_cpu_state)
X(rss, trace_rss)
X(loss, trace_loss)
X(cost, trace_cost)
X(hook_stat, trace_hook_stat)
X(clock, trace_clock)
X(gap, trace_gap)
X(mark, trace_mark)
X(name, row_name)
X(site, trace_site)
X(frame, trace_frame)
#undef X

static int check_rows(struct load *l, struct block_meta *f)
{
	static const struct {
		enum chunk_section_type type;
		int (*check)(struct row_reader *r, uint32_t cnt);
	} sections[] = {
		{ CHUNK_PROCESSES, check_process },
		{ CHUNK_THREADS, check_thread },
		{ CHUNK_TASK_EVENTS, check_task_event },
		{ CHUNK_CPU_STATE, check_cpu_state },
		{ CHUNK_CPU_END, check_cpu_state },
		{ CHUNK_RSS_STATE, check_rss },
		{ CHUNK_RSS_SNAPS, check_rss },
		{ CHUNK_LOSS, check_loss },
		{ CHUNK_COST, check_cost },
		{ CHUNK_HOOK_STATS, check_hook_stat },
		{ CHUNK_CLOCKS, check_clock },
		{ CHUNK_MARKS, check_mark },
		{ CHUNK_NAMES, check_name },
		{ CHUNK_GAPS, check_gap },
		{ CHUNK_SITES, check_site },
		{ CHUNK_FRAMES, check_frame },
	};
	const struct disk_section *s;
	struct row_reader r;
	size_t i;
	int k;

	for (i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		s = block_meta_find(f, sections[i].type, 0, 0, 0);
		k = block_meta_rows(f, l->t->reader.zunpack, sections[i].type, &r);
		/* the table was checked to have no more rows */
		if (k == 0)
			k = sections[i].check(&r, s ? s->item_cnt : 0);
		if (k < 0)
			return k;
	}
	return 0;
}

/* ---- rows into lists ---- */

static int keep_string(struct trace *t, const char **s)
{
	*s = strpool_put(t->strings, *s);
	return *s ? 0 : -ENOMEM;
}

static void *find_or_add(struct hash_map *m, struct trace_list *l, uint64_t id, size_t item_bytes)
{
	uintptr_t at = (uintptr_t)hash_map_get(m, id);
	void *p;

	if (at)
		return (char *)l->v + (at - 1) * item_bytes;
	p = trace_list_add(l, item_bytes);
	if (!p || hash_map_put(m, id, (void *)(uintptr_t)l->cnt) < 0)
		return NULL;
	return p;
}

static int load_process(struct trace *t, struct trace_process *row)
{
	struct trace_process *p;

	if (row->upid < EVENT_ID_FIRST)
		return 0;
	p = find_or_add(&t->by_upid, &t->processes, row->upid, sizeof(*p));
	if (!p || keep_string(t, &row->comm) < 0 || keep_string(t, &row->exe) < 0 ||
	    keep_string(t, &row->cmdline) < 0)
		return -ENOMEM;
	*p = *row;
	return 0;
}

static int load_thread(struct trace *t, struct trace_thread *row)
{
	struct trace_thread *p;

	if (row->utid < EVENT_ID_FIRST)
		return 0;
	p = find_or_add(&t->by_utid, &t->threads, row->utid, sizeof(*p));
	if (!p || keep_string(t, &row->comm) < 0)
		return -ENOMEM;
	*p = *row;
	return 0;
}

static int load_task_event(struct trace *t, struct trace_task_event *row)
{
	struct trace_task_event *p = trace_list_add(&t->task_events, sizeof(*p));

	if (!p || keep_string(t, &row->comm) < 0 || keep_string(t, &row->exe) < 0 ||
	    keep_string(t, &row->cmdline) < 0)
		return -ENOMEM;
	*p = *row;
	return 0;
}

static int load_name(struct trace *t, struct row_name *row)
{
	struct trace_name *p;

	if (!row->type || row->type >= TRACE_NAME_TYPE_CNT)
		return 0;
	p = find_or_add(&t->by_name[row->type], &t->names[row->type],
			trace_name_key(row->type, row->id, row->arg), sizeof(*p));
	if (!p || keep_string(t, &row->name) < 0)
		return -ENOMEM;
	*p = (struct trace_name){ .id = row->id, .arg = row->arg, .name = row->name };
	return 0;
}

int trace_load_baseline(struct trace *t, const struct trace_rss *row)
{
	struct trace_rss *p;

	if (hash_map_get(&t->by_baseline, row->upid))
		return 0;
	p = trace_list_add(&t->baselines, sizeof(*p));
	if (!p || hash_map_put(&t->by_baseline, row->upid, (void *)(uintptr_t)1) < 0)
		return -ENOMEM;
	*p = *row;
	return 0;
}

static int load_rss_snap(struct trace *t, struct trace_rss *row)
{
	struct trace_rss *p = trace_list_add(&t->rss_snaps, sizeof(*p));

	if (!p)
		return -ENOMEM;
	*p = *row;
	return 0;
}

/* The first block's keyframe is the baseline, also when older blocks were dropped. */
static int load_rss_state(struct trace *t, struct trace_rss *row)
{
	return t->blocks.cnt == 1 ? trace_load_baseline(t, row) : 0;
}

#define PLAIN(row_name_, type, list)                                               \
	static int load_##row_name_(struct trace *t, struct type *row)             \
	{                                                                          \
		struct type *p = trace_list_add(&t->list, sizeof(*p));             \
		if (!p)                                                            \
			return -ENOMEM;                                            \
		*p = *row;                                                         \
		return 0;                                                          \
	}
PLAIN(loss, trace_loss, losses)
PLAIN(hook_stat, trace_hook_stat, hook_stats)
PLAIN(clock, trace_clock, clocks)

/*
 * What a slice cost on disk is its block's size, which its row could not know: the row has what was
 * written meanwhile, which is the block before.
 */
static int load_cost(struct trace *t, struct trace_cost *row)
{
	const struct trace_block *b = (struct trace_block *)t->blocks.v + t->blocks.cnt - 1;
	const struct trace_block_more *m = (struct trace_block_more *)t->more.v + t->more.cnt - 1;
	struct trace_cost *p = trace_list_add(&t->costs, sizeof(*p));

	if (!p)
		return -ENOMEM;
	*p = *row;
	if (p->from_ns == b->from_ns && p->to_ns == b->to_ns && !m->rewritten)
		p->bytes_written = b->bytes;
	return 0;
}

/* A gap that continues in the next block is one gap. */
static int load_gap(struct trace *t, struct trace_gap *row)
{
	struct trace_gap *p = t->gaps.v;
	size_t i;

	if (row->to_ns <= row->from_ns)
		return 0;
	for (i = t->gaps.cnt; i-- > 0;) {
		if (strcmp(p[i].source, row->source))
			continue;
		if (p[i].to_ns != row->from_ns)
			break;
		p[i].to_ns = row->to_ns;
		return 0;
	}
	p = trace_list_add(&t->gaps, sizeof(*p));
	if (!p || keep_string(t, &row->source) < 0 || keep_string(t, &row->reason) < 0)
		return -ENOMEM;
	*p = *row;
	return 0;
}

static int load_mark(struct trace *t, struct trace_mark *row)
{
	struct trace_mark *p = trace_list_add(&t->marks, sizeof(*p));

	if (!p || keep_string(t, &row->text) < 0)
		return -ENOMEM;
	*p = *row;
	return 0;
}

static int load_cpu_state(struct trace *t, struct row_cpu_state *row)
{
	struct trace_block_more *m = (struct trace_block_more *)t->more.v + t->more.cnt - 1;

	if (row->cpu < m->cpu_cnt)
		m->running[row->cpu] = row->utid;
	return 0;
}

static int load_frame(struct trace *t, struct trace_frame *row)
{
	return trace_frame_load(t, row);
}

static int load_site(struct trace *t, struct trace_site *row)
{
	return trace_site_load(t, row);
}

static int load_cpu_end(struct trace *t, struct row_cpu_state *row)
{
	struct trace_block_more *m = (struct trace_block_more *)t->more.v + t->more.cnt - 1;
	unsigned int cpu;

	if (!m->ends) {
		m->ends = malloc((m->cpu_cnt + 1) * sizeof(*m->ends));
		if (!m->ends)
			return -ENOMEM;
		for (cpu = 0; cpu < m->cpu_cnt; cpu++)
			m->ends[cpu] = EVENT_ID_UNKNOWN;
	}
	if (row->cpu < m->cpu_cnt)
		m->ends[row->cpu] = row->utid;
	return 0;
}

#define SECTION(name, type, section, to)                                           \
	static int section_##to(struct load *l, struct block_meta *f)              \
	{                                                                          \
		struct row_reader r;                                               \
		struct type row;                                                   \
		int k = block_meta_rows(f, l->t->reader.zunpack, section, &r);     \
		while (k == 0 && (k = row_get_##name(&r, &row)) > 0)               \
			k = load_##to(l->t, &row);                                 \
		return k;                                                          \
	}
SECTION(process, trace_process, CHUNK_PROCESSES, process)
SECTION(thread, trace_thread, CHUNK_THREADS, thread)
SECTION(task_event, trace_task_event, CHUNK_TASK_EVENTS, task_event)
SECTION(cpu_state, row_cpu_state, CHUNK_CPU_STATE, cpu_state)
SECTION(cpu_state, row_cpu_state, CHUNK_CPU_END, cpu_end)
SECTION(rss, trace_rss, CHUNK_RSS_STATE, rss_state)
SECTION(rss, trace_rss, CHUNK_RSS_SNAPS, rss_snap)
SECTION(loss, trace_loss, CHUNK_LOSS, loss)
SECTION(cost, trace_cost, CHUNK_COST, cost)
SECTION(hook_stat, trace_hook_stat, CHUNK_HOOK_STATS, hook_stat)
SECTION(clock, trace_clock, CHUNK_CLOCKS, clock)
SECTION(mark, trace_mark, CHUNK_MARKS, mark)
SECTION(name, row_name, CHUNK_NAMES, name)
SECTION(gap, trace_gap, CHUNK_GAPS, gap)
SECTION(site, trace_site, CHUNK_SITES, site)
SECTION(frame, trace_frame, CHUNK_FRAMES, frame)

static int load_sections(struct load *l, struct block_meta *f)
{
	int (*const all[])(struct load *, struct block_meta *) = {
		section_process,   section_thread,   section_task_event, section_cpu_state,
		section_rss_state, section_rss_snap, section_loss,	 section_cost,
		section_hook_stat, section_clock,    section_name,	 section_gap,
		section_mark,	   section_site,     section_cpu_end,
		section_frame,
	};
	size_t i;
	int r;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		r = all[i](l, f);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_block(struct load *l, uint64_t offset, const struct block_meta *f)
{
	struct trace *t = l->t;
	const struct disk_block *h = &f->head;
	struct trace_block_more *m;
	struct trace_block *b;
	uint64_t events = 0;
	unsigned int i;

	b = trace_list_add(&t->blocks, sizeof(*b));
	m = trace_list_add(&t->more, sizeof(*m));
	if (!b || !m)
		return -ENOMEM;
	b->file = strpool_put(t->strings, l->name);
	b->offset = offset;
	b->bytes = h->block_bytes;
	b->from_ns = h->from_ns;
	b->to_ns = h->to_ns;
	for (i = 0; i < EVENT_KIND_CNT; i++) {
		b->kind_cnt[i] = h->kind_cnt[i];
		events += h->kind_cnt[i];
	}
	b->first_ns = events ? h->first_ns : h->from_ns;
	b->last_ns = events ? h->last_ns : h->from_ns;
	m->file = l->file;
	m->number = h->number;
	m->front_bytes = h->front_bytes;
	m->head_crc = h->head_crc;
	m->carried = h->flags & CHUNK_BLOCK_CARRIED;
	m->rewritten = h->flags & CHUNK_BLOCK_REWRITTEN;
	m->cut = h->flags & CHUNK_BLOCK_CUT;
	m->cpu_cnt = h->cpu_cnt;
	m->running = malloc((h->cpu_cnt + 1) * sizeof(*m->running));
	if (!b->file || !m->running)
		return -ENOMEM;
	for (i = 0; i < h->cpu_cnt; i++)
		m->running[i] = EVENT_ID_UNKNOWN;
	if (h->cpu_cnt > t->cpu_cnt)
		t->cpu_cnt = h->cpu_cnt;
	return 0;
}

static int on_damage(void *ctx, uint64_t offset, uint64_t bytes, const char *reason)
{
	struct load *l = ctx;
	int r = 0;

	/* damage comes in order, so the earlier one was not the file's tail */
	if (l->tail.reason)
		r = trace_add_damage(l->t, l->name, l->tail.offset, l->tail.bytes, l->tail.reason);
	l->tail = (struct trace_damage){ .offset = offset, .bytes = bytes, .reason = reason };
	return r;
}

static uint64_t blocks_end_ns(const struct trace *t)
{
	return ((const struct trace_block *)t->blocks.v)[t->blocks.cnt - 1].to_ns;
}

static int on_block(void *ctx, uint64_t offset, struct block_meta *f)
{
	struct load *l = ctx;
	int r;

	r = check_rows(l, f);
	if (r < 0 && r != -ENOMEM)
		r = on_damage(l, offset, f->head.block_bytes, "rows of a small section");
	else if (r == 0 && l->t->blocks.cnt && f->head.from_ns < blocks_end_ns(l->t))
		r = on_damage(l, offset, f->head.block_bytes, "block overlaps the one before it");
	else if (r == 0)
		r = add_block(l, offset, f) < 0 || load_sections(l, f) < 0 ? -ENOMEM : 0;
	block_meta_free(f);
	return r;
}

/* An incomplete block at the end of a growing file will be completed: it is no damage. */
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
	 * the last file may end within a block; a machine that went down may have lost parts of
	 * others
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
		/* a flight recorder removed it since the directory was read */
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
	/* the scan has read every byte of these blocks */
	for (; verify && i < t->more.cnt; i++)
		((struct trace_block_more *)t->more.v)[i].verified = true;
	t->scanned = true;
	t->scanned_file = number;
	t->scanned_bytes = info.whole_bytes;
	return r < 0 ? err_set(e, r, "'%s': %s", l.name, err_text(NULL, r)) : 0;
}
