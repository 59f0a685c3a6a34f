/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_block: one block of an open trace again: its front, summary, keyframe, or every byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/cpu_timeline.h"
#include "event/trace_state.h"
#include "store/chunk_name.h"

static const struct trace_block *block_at(const struct trace *t, size_t block)
{
	return (const struct trace_block *)t->blocks.v + block;
}

static struct trace_block_more *more_at(const struct trace *t, size_t block)
{
	return (struct trace_block_more *)t->more.v + block;
}

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

static int open_file(const struct trace *t, struct trace_reader *r, uint64_t number, struct err *e)
{
	char name[CHUNK_NAME_BYTES];

	if (r->fd >= 0 && r->fd_number == number)
		return 0;
	if (r->fd >= 0)
		trace_file_close(t, r->fd);
	chunk_name_format(name, number);
	r->fd = trace_file_open(t, number);
	if (r->fd < 0) {
		int err = r->fd;

		return err_set(e, err, "cannot open '%s/%s': %s", t->path, name,
			       err_text(NULL, err));
	}
	r->fd_number = number;
	return 0;
}

int trace_block_open(const struct trace *t, struct trace_reader *reader, size_t block,
		     struct trace_block_open *ret, struct err *e)
{
	const struct trace_block *b = block_at(t, block);
	struct trace_block_more *m = more_at(t, block);
	struct disk_block head;
	const char *why = "block header";
	uint8_t raw[sizeof(head)];
	struct block_io io;
	int r;

	r = open_file(t, reader, m->file, e);
	if (r < 0)
		return r;
	ret->io = (struct chunk_io){ reader->fd, b->offset };
	io = (struct block_io){ chunk_io_read, &ret->io };
	r = chunk_io_read(&ret->io, 0, raw, sizeof(raw));
	if (r == 0)
		r = block_head_check(raw, &head, &why);
	/* It was good when the trace was opened: who changes it meanwhile gets no say. */
	if (r == 0 && (head.block_bytes != b->bytes || head.number != m->number ||
		       head.from_ns != b->from_ns))
		r = -EBADMSG;
	if (r == 0)
		r = block_front_open(&ret->front, &head, &io, &why);
	if (r == -ENOMEM)
		return err_set(e, r, "out of memory");
	return r < 0 ? err_set(e, -EBADMSG, "'%s/%s', block at %llu: %s", t->path, b->file,
			       (unsigned long long)b->offset, why) : 0;
}

int trace_block_drop(struct trace *t, size_t block, const char *reason)
{
	struct trace_block_more *m = more_at(t, block);
	const struct trace_block *b = block_at(t, block);

	int r = 0;

	pthread_mutex_lock(&t->drop_lock);
	if (!m->damaged) {
		m->damaged = true;
		r = trace_add_damage(t, b->file, b->offset, b->bytes, reason);
	}
	pthread_mutex_unlock(&t->drop_lock);
	return r;
}

bool trace_block_is_damaged(const struct trace *t, size_t block)
{
	return block < t->more.cnt && more_at(t, block)->damaged;
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
	if (more_at(t, block)->damaged)
		return err_set(e, -EBADMSG, "block is damaged");
	if (more_at(t, block)->verified)
		return 0;
	r = trace_block_open(t, &t->reader, block, &o, NULL);
	if (r == 0) {
		io = (struct block_io){ chunk_io_read, &o.io };
		r = block_front_verify(o.front, &io, buf, sizeof(buf), &why);
		block_front_free(o.front);
	}
	if (r == -ENOMEM)
		return err_set(e, r, "out of memory");
	if (r < 0) {
		r = trace_block_drop(t, block, why);
		return err_set(e, r < 0 ? r : -EBADMSG, "%s", why);
	}
	more_at(t, block)->verified = true;
	return 0;
}

uint32_t trace_block_running(const struct trace *t, size_t block, unsigned int cpu)
{
	if (block >= t->more.cnt || cpu >= more_at(t, block)->cpu_cnt)
		return EVENT_ID_UNKNOWN;
	return more_at(t, block)->running[cpu];
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
	r = block_front_rows(o.front, t->reader.zunpack, CHUNK_RSS_STATE, &rows);
	while (r == 0 && (r = row_get_rss(&rows, &row)) > 0) {
		p = trace_list_add(&t->rss, sizeof(*p));
		r = p ? 0 : -ENOMEM;
		if (p)
			*p = row;
	}
	block_front_free(o.front);
	if (r < 0)
		return err_set(e, r, "memory state of a block: %s", err_text(NULL, r));
	*ret = t->rss.v;
	*ret_cnt = t->rss.cnt;
	return 0;
}

/* ---- summaries ---- */

/* A later block has records that belong into this one's slice. */
static bool summary_is_stale(const struct trace *t, size_t block)
{
	return block + 1 < t->blocks.cnt &&
	       more_at(t, block + 1)->late_ns < block_at(t, block)->to_ns;
}

struct recount {
	struct trace *t;
	struct idmap by_utid;		/* index + 1 in t->summary */
	struct cpu_timeline *cpus;
	size_t block;
	uint64_t page_bytes;
};

static struct trace_summary *recount_row(struct recount *c, uint32_t utid)
{
	uintptr_t at = (uintptr_t)idmap_get(&c->by_utid, utid);
	struct trace_summary *s;

	if (at)
		return (struct trace_summary *)c->t->summary.v + at - 1;
	s = trace_list_add(&c->t->summary, sizeof(*s));
	if (!s || idmap_put(&c->by_utid, utid, (void *)(uintptr_t)c->t->summary.cnt) < 0)
		return NULL;
	s->utid = utid;
	return s;
}

static int recount_piece(void *ctx, const struct cpu_piece *p)
{
	struct recount *c = ctx;
	struct trace_summary *s;

	/* the block may have been written with fewer CPUs than the trace has in all */
	if (p->cpu >= more_at(c->t, c->block)->cpu_cnt)
		return 0;
	s = recount_row(c, p->utid);
	if (!s)
		return -ENOMEM;
	s->oncpu_ns += p->to_ns - p->from_ns;
	if (!p->end)
		return 0;
	s = recount_row(c, p->end->utid);
	if (!s)
		return -ENOMEM;
	s->switches++;
	s->preempted += (p->end->flags & EVENT_F_PREEMPT) != 0;
	return 0;
}

static uint32_t recount_runner(void *ctx, unsigned int cpu)
{
	struct recount *c = ctx;

	return trace_block_running(c->t, c->block, cpu);
}

static int recount_event(struct recount *c, const struct event *ev)
{
	uint32_t who = ev->flags & EVENT_F_IRQ ? EVENT_ID_IRQ : ev->utid;
	struct trace_summary *s;

	switch (ev->kind) {
	case EVENT_SWITCH:
		return cpu_timeline_switch(c->cpus, ev);
	case EVENT_WAKEUP:
		s = recount_row(c, (uint32_t)ev->v[EV_WAKEUP_TARGET]);
		if (s)
			s->wakeups++;
		return s ? 0 : -ENOMEM;
	case EVENT_SLAB_ALLOC:
		s = recount_row(c, who);
		if (s) {
			s->slab_allocs++;
			s->slab_bytes += ev->v[EV_SLAB_BYTES];
		}
		return s ? 0 : -ENOMEM;
	default:
		s = recount_row(c, who);
		if (s) {
			s->page_allocs++;
			s->page_bytes += c->page_bytes << (ev->v[EV_PAGE_ORDER] & 31);
		}
		return s ? 0 : -ENOMEM;
	}
}

static int recount_events(struct recount *c, const struct trace_block *b, struct err *e)
{
	struct event_cursor *cur;
	const struct event *ev;
	int r;

	r = event_cursor_open(&cur, c->t,
			      1u << EVENT_SWITCH | 1u << EVENT_WAKEUP | 1u << EVENT_SLAB_ALLOC |
				      1u << EVENT_PAGE_ALLOC,
			      b->from_ns, b->to_ns, e);
	if (r < 0)
		return r;
	while ((r = event_cursor_next(cur, &ev, e)) > 0) {
		r = ev->cpu < c->t->cpu_cnt ? recount_event(c, ev) : 0;
		if (r < 0)
			break;
	}
	event_cursor_close(cur);
	return r;
}

static int summary_cmp(const void *a, const void *b)
{
	const struct trace_summary *x = a, *y = b;

	return x->utid < y->utid ? -1 : x->utid > y->utid;
}

/* The writer could not know: counts event by event. */
static int recount_block(struct trace *t, size_t block, struct err *e)
{
	const struct trace_block *b = block_at(t, block);
	const char *page = trace_get(t, "page_bytes");
	struct recount c = { .t = t, .block = block, .page_bytes = page ? strtoull(page, NULL, 10) : 4096 };
	int r;

	r = cpu_timeline_new(&c.cpus, t->cpu_cnt, recount_piece, &c);
	if (r < 0)
		return err_set(e, r, "out of memory");
	r = cpu_timeline_boundary(c.cpus, b->from_ns, recount_runner, &c);
	if (r == 0)
		r = recount_events(&c, b, e);
	if (r == 0)
		r = cpu_timeline_boundary(c.cpus, b->to_ns, NULL, NULL);
	cpu_timeline_free(c.cpus);
	idmap_done(&c.by_utid);
	if (r == 0 && t->summary.cnt)
		qsort(t->summary.v, t->summary.cnt, sizeof(struct trace_summary), summary_cmp);
	return r;
}

static int stored_summary(struct trace *t, size_t block, struct err *e)
{
	struct trace_block_open o;
	struct trace_summary row, *p;
	struct row_reader rows;
	int r;

	r = trace_block_open(t, &t->reader, block, &o, e);
	if (r < 0)
		return r;
	r = block_front_rows(o.front, t->reader.zunpack, CHUNK_SUMMARY, &rows);
	while (r == 0 && (r = row_get_summary(&rows, &row)) > 0) {
		p = trace_list_add(&t->summary, sizeof(*p));
		r = p ? 0 : -ENOMEM;
		if (p)
			*p = row;
	}
	block_front_free(o.front);
	return r < 0 ? err_set(e, r, "summary of a block: %s", err_text(NULL, r)) : 0;
}

int trace_block_summary(struct trace *t, size_t block, const struct trace_summary **ret,
			size_t *ret_cnt, struct err *e)
{
	int r;

	if (block >= t->blocks.cnt)
		return err_set(e, -EINVAL, "no block %zu", block);
	t->summary.cnt = 0;
	r = summary_is_stale(t, block) ? recount_block(t, block, e) : stored_summary(t, block, e);
	if (r < 0)
		return r;
	*ret = t->summary.v;
	*ret_cnt = t->summary.cnt;
	return 0;
}

int trace_block_stored_summary(struct trace *t, size_t block, const struct trace_summary **ret,
			       size_t *ret_cnt, struct err *e)
{
	int r;

	t->summary.cnt = 0;
	r = stored_summary(t, block, e);
	if (r < 0)
		return r;
	*ret = t->summary.v;
	*ret_cnt = t->summary.cnt;
	return 0;
}

int trace_block_recount(struct trace *t, size_t block, const struct trace_summary **ret,
			size_t *ret_cnt, struct err *e)
{
	int r;

	t->summary.cnt = 0;
	r = recount_block(t, block, e);
	if (r < 0)
		return r;
	*ret = t->summary.v;
	*ret_cnt = t->summary.cnt;
	return 0;
}
