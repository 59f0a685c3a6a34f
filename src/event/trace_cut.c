/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_cut: through the writer that recordings use. A block that loses nothing is copied byte for
 * byte; one that loses sources keeps the columns of the others as they are stored, and gets new GAPS
 * and SUMMARY sections; the first and the last get the tasks of all the window.
 */
#include "event/trace_cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk/block_copy.h"
#include "chunk/block_events.h"
#include "event/trace_carry.h"
#include "event/trace_copy.h"
#include "event/trace_state.h"

/* An allocation and its free refer to each other: they are one source, and go together. */
static const struct cut_source {
	const char *name;
	uint32_t kinds;
} cut_sources[] = {
	{ "sched.switch", 1u << EVENT_SWITCH },
	{ "sched.wakeup", 1u << EVENT_WAKEUP },
	{ "sched.irq", 1u << EVENT_IRQ },
	{ "alloc.slab", 1u << EVENT_SLAB_ALLOC | 1u << EVENT_SLAB_FREE },
	{ "alloc.page", 1u << EVENT_PAGE_ALLOC | 1u << EVENT_PAGE_FREE },
	{ "alloc.rss", 1u << EVENT_RSS },
	{ "alloc.vm", 1u << EVENT_VM },
	{ "alloc.heap", 1u << EVENT_HEAP_ALLOC | 1u << EVENT_HEAP_FREE },
	{ "block", 1u << EVENT_BLOCK },
	{ "block.dirty", 1u << EVENT_DIRTY },
};

#define CUT_SOURCE_CNT (sizeof(cut_sources) / sizeof(cut_sources[0]))

const char *trace_cut_source(unsigned int source)
{
	return source < CUT_SOURCE_CNT ? cut_sources[source].name : NULL;
}

struct cut {
	struct trace *t;
	const struct trace_cut_request *q;
	struct store_writer *w;
	struct block_out out;
	struct row_writer gaps, summary, processes, threads, names, sites;
	size_t first, end;	/* blocks */
	struct event *carried;	/* from before the first block, while it is written */
	size_t carried_cnt;
	uint32_t kinds_left;	/* bit 1 << kind, of events that stay */
	struct trace_cut_result res;
};

static bool is_left_out(const struct cut *c, const char *source)
{
	unsigned int i;

	for (i = 0; i < CUT_SOURCE_CNT; i++)
		if (c->q->left_out & 1u << i && !strcmp(cut_sources[i].name, source))
			return true;
	return false;
}

/* Gaps there were, but for those of sources that now have one all along. */
static int put_gaps(struct cut *c, struct block_front *f)
{
	struct trace_gap row;
	struct row_reader rows;
	unsigned int i;
	int r = block_front_rows(f, c->t->reader.zunpack, CHUNK_GAPS, &rows);

	buf_reset(&c->gaps.out);
	c->gaps.cnt = 0;
	c->gaps.base_ns = f->head.from_ns;
	while (r == 0 && (r = row_get_gap(&rows, &row)) > 0) {
		if (!is_left_out(c, row.source))
			row_put_gap(&c->gaps, &row);
		r = 0;
	}
	for (i = 0; r == 0 && i < CUT_SOURCE_CNT; i++) {
		row = (struct trace_gap){ .from_ns = f->head.from_ns, .to_ns = f->head.to_ns,
					  .source = cut_sources[i].name, .reason = c->q->reason };
		if (c->q->left_out & 1u << i)
			row_put_gap(&c->gaps, &row);
	}
	if (r == 0)
		block_out_add_rows(&c->out, CHUNK_GAPS, &c->gaps);
	return r;
}

/* What the events that stay add up to. Without switches, nobody is known to have run. */
static int put_summary(struct cut *c, struct block_front *f)
{
	bool switches = c->kinds_left & 1u << EVENT_SWITCH;
	struct trace_summary row, unknown = { .utid = EVENT_ID_UNKNOWN };
	struct row_reader rows;
	int r = block_front_rows(f, c->t->reader.zunpack, CHUNK_SUMMARY, &rows);

	buf_reset(&c->summary.out);
	c->summary.cnt = 0;
	c->summary.base_ns = f->head.from_ns;
	if (!switches)
		unknown.oncpu_ns = f->head.cpu_cnt * (f->head.to_ns - f->head.from_ns);
	while (r == 0 && (r = row_get_summary(&rows, &row)) > 0) {
		uint32_t utid = row.utid;

		r = 0;
		if (!switches)
			row.oncpu_ns = row.switches = row.preempted = 0;
		if (!(c->kinds_left & 1u << EVENT_WAKEUP))
			row.wakeups = 0;
		if (!(c->kinds_left & 1u << EVENT_SLAB_ALLOC))
			row.slab_allocs = row.slab_bytes = 0;
		if (!(c->kinds_left & 1u << EVENT_PAGE_ALLOC))
			row.page_allocs = row.page_bytes = 0;
		if (utid >= unknown.utid && unknown.oncpu_ns) {
			if (utid == unknown.utid)
				row.oncpu_ns = unknown.oncpu_ns;
			else
				row_put_summary(&c->summary, &unknown);
			unknown.oncpu_ns = 0;
		}
		if (!(row.oncpu_ns || row.switches || row.preempted || row.wakeups || row.slab_allocs ||
		      row.slab_bytes || row.page_allocs || row.page_bytes))
			continue;
		row_put_summary(&c->summary, &row);
	}
	if (unknown.oncpu_ns)
		row_put_summary(&c->summary, &unknown);
	if (r == 0)
		block_out_add_rows(&c->out, CHUNK_SUMMARY, &c->summary);
	return r;
}

/* ---- who there is ---- */

/* Ids of a block's own rows. */
static int own_ids(struct cut *c, struct block_front *f, struct idmap *processes,
		   struct idmap *threads)
{
	const struct trace_thread *of;
	size_t i;
	struct trace_process p;
	struct trace_thread h;
	struct row_reader rows;
	int r = block_front_rows(f, c->t->reader.zunpack, CHUNK_PROCESSES, &rows);

	while (r == 0 && (r = row_get_process(&rows, &p)) > 0)
		r = idmap_put(processes, p.upid, (void *)1);
	if (r == 0)
		r = block_front_rows(f, c->t->reader.zunpack, CHUNK_THREADS, &rows);
	while (r == 0 && (r = row_get_thread(&rows, &h)) > 0)
		r = idmap_put(threads, h.utid, (void *)1);
	for (i = 0; i < c->carried_cnt && r == 0; i++) {
		const struct event *ev = &c->carried[i];
		uint32_t other = ev->kind == EVENT_SWITCH || ev->kind == EVENT_WAKEUP ?
					 (uint32_t)ev->v[0] : ev->utid;

		r = idmap_put(threads, ev->utid, (void *)1);
		of = trace_thread_find(c->t, ev->utid);
		if (r == 0 && of)
			r = idmap_put(processes, of->upid, (void *)1);
		if (r == 0)
			r = idmap_put(threads, other, (void *)1);
		of = trace_thread_find(c->t, other);
		if (r == 0 && of)
			r = idmap_put(processes, of->upid, (void *)1);
	}
	return r;
}

static bool lives(const struct cut *c, uint64_t start_ns, uint64_t end_ns)
{
	return start_ns < c->res.to_ns && (!end_ns || end_ns >= c->res.from_ns);
}

static int put_process(struct cut *c, const struct trace_process *p, struct idmap *cgroups)
{
	const struct trace_name *n = trace_name_find(c->t, TRACE_NAME_CGROUP, p->cgroup_id);
	struct row_name name = { .type = TRACE_NAME_CGROUP };

	row_put_process(&c->processes, p);
	if (!n || idmap_get(cgroups, n->id))
		return 0;
	name.id = n->id;
	name.arg = n->arg;
	name.name = n->name;
	row_put_name(&c->names, &name);
	return idmap_put(cgroups, n->id, (void *)1);
}

static int put_name(struct cut *c, enum trace_name_type type, uint64_t id, struct idmap *seen)
{
	const struct trace_name *n = trace_name_find(c->t, type, id);
	struct row_name name = { .type = type, .id = id };

	if (!n || idmap_get(seen, id))
		return 0;
	name.arg = n->arg;
	name.name = n->name;
	row_put_name(&c->names, &name);
	return idmap_put(seen, id, (void *)1);
}

/* Of the ids that carried events have. */
static int put_carried_names(struct cut *c)
{
	struct idmap seen = { 0 };	/* addresses of caches, of code and device numbers differ */
	size_t i;
	int r = 0;

	for (i = 0; i < c->carried_cnt && r == 0; i++) {
		const struct event *ev = &c->carried[i];

		if (ev->kind == EVENT_SLAB_ALLOC) {
			r = put_name(c, TRACE_NAME_SYMBOL, ev->v[EV_SLAB_CALL_SITE], &seen);
			if (r == 0)
				r = put_name(c, TRACE_NAME_CACHE, ev->v[EV_SLAB_CACHE], &seen);
		} else if (ev->kind == EVENT_BLOCK) {
			r = put_name(c, TRACE_NAME_DEVICE, ev->v[EV_BLOCK_DEV], &seen);
			if (r == 0)
				r = put_name(c, TRACE_NAME_DEVICE, ev->v[EV_BLOCK_PART], &seen);
		}
	}
	idmap_done(&seen);
	return r;
}

/* What stands at the code addresses of heap objects that are carried, beside the block's own. */
static int put_sites(struct cut *c, struct block_front *f)
{
	struct trace_site row;
	struct row_reader rows;
	size_t i;
	int r = block_front_rows(f, c->t->reader.zunpack, CHUNK_SITES, &rows);

	buf_reset(&c->sites.out);
	c->sites.cnt = 0;
	c->sites.base_ns = f->head.from_ns;
	while (r == 0 && (r = row_get_site(&rows, &row)) > 0) {
		row_put_site(&c->sites, &row);
		r = 0;
	}
	for (i = 0; i < c->carried_cnt && r == 0; i++) {
		const struct event *ev = &c->carried[i];
		const struct trace_thread *of = trace_thread_find(c->t, ev->utid);
		const struct trace_site *s = NULL;

		if (ev->kind == EVENT_HEAP_ALLOC && of)
			s = trace_site_find(c->t, of->upid, ev->v[EV_HEAP_CALL_SITE], ev->ts_ns);
		if (s)
			row_put_site(&c->sites, s);
	}
	if (r == 0)
		block_out_add_rows(&c->out, CHUNK_SITES, &c->sites);
	return r;
}

/* Every task of the window as it came to be known, and the block's own, and names of their cgroups. */
static int put_tasks(struct cut *c, struct block_front *f)
{
	struct idmap processes = { 0 }, threads = { 0 }, cgroups = { 0 };
	const struct trace_process *p = c->t->processes.v;
	const struct trace_thread *h = c->t->threads.v;
	struct row_writer *const writers[] = { &c->processes, &c->threads, &c->names };
	struct row_reader rows;
	struct row_name name;
	size_t i;
	int r;

	for (i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
		buf_reset(&writers[i]->out);
		writers[i]->cnt = 0;
		writers[i]->base_ns = f->head.from_ns;
	}
	r = own_ids(c, f, &processes, &threads);
	if (r == 0)
		r = block_front_rows(f, c->t->reader.zunpack, CHUNK_NAMES, &rows);
	while (r == 0 && (r = row_get_name(&rows, &name)) > 0) {
		row_put_name(&c->names, &name);
		r = name.type == TRACE_NAME_CGROUP ? idmap_put(&cgroups, name.id, (void *)1) : 0;
	}
	for (i = 0; i < c->t->processes.cnt && r == 0; i++)
		if (lives(c, p[i].start_ns, p[i].end_ns) || idmap_get(&processes, p[i].upid))
			r = put_process(c, &p[i], &cgroups);
	for (i = 0; i < c->t->threads.cnt && r == 0; i++)
		if (lives(c, h[i].start_ns, h[i].end_ns) || idmap_get(&threads, h[i].utid))
			row_put_thread(&c->threads, &h[i]);
	if (r == 0)
		r = put_carried_names(c);
	idmap_done(&processes);
	idmap_done(&threads);
	idmap_done(&cgroups);
	if (r < 0)
		return r;
	block_out_add_rows(&c->out, CHUNK_PROCESSES, &c->processes);
	block_out_add_rows(&c->out, CHUNK_THREADS, &c->threads);
	block_out_add_rows(&c->out, CHUNK_NAMES, &c->names);
	return c->kinds_left & 1u << EVENT_HEAP_ALLOC ? put_sites(c, f) : 0;
}

/* ---- blocks ---- */

/* Sections that are made anew, others are copied. */
static bool is_made(const struct cut *c, unsigned int type, bool tasks)
{
	switch (type) {
	case CHUNK_GAPS:
	case CHUNK_SUMMARY:
		return c->q->left_out;
	case CHUNK_CPU_STATE:
		return !(c->kinds_left & 1u << EVENT_SWITCH);
	case CHUNK_PROCESSES:
	case CHUNK_THREADS:
	case CHUNK_NAMES:
		return tasks;
	case CHUNK_SITES:
		return tasks || !(c->kinds_left & 1u << EVENT_HEAP_ALLOC);
	default:
		return type >= CHUNK_SMALL_END;
	}
}

static int put_block(struct cut *c, struct trace_block_open *o, bool tasks, struct err *e)
{
	struct block_io io = { chunk_io_read, &o->io };
	struct disk_block head = o->front->head;
	const void *bytes;
	size_t cnt;
	uint32_t i;
	int r;

	block_out_begin(&c->out);
	for (i = 0; i < head.section_cnt; i++) {
		unsigned int type = o->front->sections[i].type;

		if (!is_made(c, type, tasks))
			block_copy_small(&c->out, o->front, type);
	}
	r = c->q->left_out ? put_gaps(c, o->front) : 0;
	if (r == 0 && c->q->left_out)
		r = put_summary(c, o->front);
	if (r == 0 && tasks)
		r = put_tasks(c, o->front);
	if (r == 0)
		r = block_copy_events(&c->out, o->front, &io, c->kinds_left, &head);
	if (r == 0)
		r = block_out_seal(&c->out, &head, &bytes, &cnt);
	if (r < 0)
		return err_set(e, r, "'%s': a block cannot be copied: %s", c->t->path,
			       err_text(NULL, r));
	c->res.bytes += cnt;
	return store_writer_append(c->w, bytes, cnt, 0, e);
}

static int copy_block(struct cut *c, size_t i, struct err *e)
{
	const struct trace_block *b = (const struct trace_block *)c->t->blocks.v + i;
	struct trace_block_open o = { 0 };
	/* the window's own ends; where the trace begins and ends, all is there */
	bool tasks = (i == c->first && i) || (i + 1 == c->end && c->end < c->t->blocks.cnt);
	int r;

	c->res.block_cnt++;
	if (!c->q->left_out && !tasks) {	/* nothing changes */
		c->res.bytes += b->bytes;
		return trace_copy_block(c->t, i, c->w, e);
	}
	r = trace_block_open(c->t, &c->t->reader, i, &o, e);
	if (r < 0)
		return r;
	r = put_block(c, &o, tasks, e);
	block_front_free(o.front);
	return r;
}

/* A block without a slice, before the first: its keyframe, and what is carried over. */
static int put_carried(struct cut *c, struct err *e)
{
	struct trace_block_open o = { 0 };
	struct disk_block head;
	const void *bytes;
	size_t cnt;
	int r;

	r = trace_carry(c->t, c->first, c->kinds_left, &c->carried, &c->carried_cnt, e);
	if (r == 0)
		r = trace_block_open(c->t, &c->t->reader, c->first, &o, e);
	if (r < 0)
		return r;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): an opened block has its front */
	head = o.front->head;
	head.number--;
	head.to_ns = head.from_ns;
	head.flags = CHUNK_BLOCK_CARRIED;
	block_out_begin(&c->out);
	block_copy_small(&c->out, o.front, CHUNK_CPU_STATE);
	block_copy_small(&c->out, o.front, CHUNK_RSS_STATE);
	r = put_tasks(c, o.front);
	if (r == 0)
		r = block_events_add(&c->out, c->carried, c->carried_cnt, &head);
	if (r == 0)
		r = block_out_seal(&c->out, &head, &bytes, &cnt);
	block_front_free(o.front);
	free(c->carried);
	c->carried = NULL;
	c->carried_cnt = 0;
	if (r < 0)
		return err_set(e, r, "'%s': what began before the window cannot be carried over: %s",
			       c->t->path, err_text(NULL, r));
	c->res.bytes += cnt;
	return store_writer_append(c->w, bytes, cnt, 0, e);
}

static int copy_blocks(struct cut *c, struct err *e)
{
	size_t i;
	int r = c->first && c->first < c->end ? put_carried(c, e) : 0;

	for (i = c->first; r == 0 && i < c->end; i++)
		if (!trace_block_verify(c->t, i, NULL))
			r = copy_block(c, i, e);
	if (r == 0 && !c->res.block_cnt)
		r = err_set(e, -ENODATA, "'%s' has no valid block in that window: there is nothing to cut out",
			    c->t->path);
	return r;
}

static int copy_manifest(struct cut *c)
{
	const struct manifest *m = &c->t->manifest;
	const char *before = trace_get(c->t, "cut.offset_ns");	/* of a trace that was cut before */
	char left_out[256] = "";
	unsigned int s;
	size_t i;
	int r = 0;

	for (i = 0; i < m->cnt && r == 0; i++)
		if (strcmp(m->entries[i].key, "state"))
			r = store_writer_set(c->w, m->entries[i].key, m->entries[i].value);
	for (s = 0; s < CUT_SOURCE_CNT; s++) {
		if (!(c->q->left_out & 1u << s))
			continue;
		if (*left_out)
			strcat(left_out, ",");
		strcat(left_out, cut_sources[s].name);
	}
	if (r == 0)
		r = store_writer_set(c->w, "cut", "1");
	if (r == 0 && (c->first || c->end < c->t->blocks.cnt)) {
		r = store_writer_set_number(c->w, "cut.from_ns", c->q->from_ns);
		if (r == 0)
			r = store_writer_set_number(c->w, "cut.to_ns", c->q->to_ns);
		if (r == 0)
			r = store_writer_set_number(c->w, "cut.offset_ns",
						    c->res.from_ns - trace_start_ns(c->t) +
							    (before ? strtoull(before, NULL, 10) : 0));
	}
	if (r == 0 && *left_out)
		r = store_writer_set(c->w, "cut.left_out", left_out);
	return r;
}

void trace_cut_blocks(const struct trace *t, uint64_t from_ns, uint64_t to_ns, size_t *ret_first,
		      size_t *ret_end, uint64_t *ret_bytes)
{
	const struct trace_block *b = t->blocks.v;
	size_t i, first = 0, end, cnt = t->blocks.cnt;

	*ret_bytes = 0;
	while (first < cnt && b[first].to_ns <= from_ns)
		first++;
	for (end = first; end < cnt && b[end].from_ns < to_ns; end++)
		;
	/* late records of the last block's slice */
	while (end > first && end < cnt && b[end].first_ns < b[end - 1].to_ns)
		end++;
	for (i = first; i < end; i++)
		*ret_bytes += b[i].bytes;
	*ret_first = first;
	*ret_end = end;
}

int trace_cut(struct trace *t, const struct trace_cut_request *q, const char *path,
	      struct trace_cut_result *ret, struct err *e)
{
	const struct store_config config = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	struct cut c = { .t = t, .q = q, .kinds_left = UINT32_MAX };
	unsigned int s;
	int r;

	for (s = 0; s < CUT_SOURCE_CNT; s++)
		if (q->left_out & 1u << s)
			c.kinds_left &= ~cut_sources[s].kinds;
	trace_cut_blocks(t, q->from_ns, q->to_ns, &c.first, &c.end, &c.res.bytes);
	c.res.bytes = 0;
	if (c.first < c.end) {
		c.res.from_ns = ((struct trace_block *)t->blocks.v)[c.first].from_ns;
		c.res.to_ns = ((struct trace_block *)t->blocks.v)[c.end - 1].to_ns;
	}
	r = trace_copy_refuse(t, path, e);
	if (r == 0)
		r = store_writer_create(&c.w, path, &config, e);
	if (r < 0)
		return r;
	r = block_out_init(&c.out, 0);
	if (r == 0)
		r = copy_manifest(&c);
	if (r < 0)
		err_set(e, r, "out of memory");
	else
		r = copy_blocks(&c, e);
	block_out_done(&c.out);
	buf_done(&c.gaps.out);
	buf_done(&c.summary.out);
	buf_done(&c.processes.out);
	buf_done(&c.threads.out);
	buf_done(&c.names.out);
	buf_done(&c.sites.out);
	if (r < 0)
		store_writer_abort(c.w);
	else
		r = store_writer_finish(c.w, e);
	if (r < 0) {
		store_remove(path, NULL);
		return r;
	}
	*ret = c.res;
	return 0;
}

int trace_cut_source_bytes(struct trace *t, const struct trace_cut_request *q, unsigned int source,
			   uint64_t *ret, struct err *e)
{
	struct trace_block_open o;
	uint64_t sum = 0, bytes;
	size_t i, end;
	uint32_t j;
	int r;

	trace_cut_blocks(t, q->from_ns, q->to_ns, &i, &end, &bytes);
	for (; i < end; i++) {
		if (trace_block_is_damaged(t, i))
			continue;
		r = trace_block_open(t, &t->reader, i, &o, e);
		if (r < 0)
			return r;
		for (j = 0; j < o.front->head.section_cnt; j++) {
			const struct disk_section *s = &o.front->sections[j];

			if (s->type >= CHUNK_SMALL_END && s->kind < 32 &&
			    cut_sources[source].kinds & 1u << s->kind)
				sum += s->stored_bytes;
		}
		block_front_free(o.front);
	}
	*ret = sum;
	return 0;
}
