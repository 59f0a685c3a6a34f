/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_block: one block of an open trace again: its front, summary, keyframe, or every byte.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/summary_count.h"
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
		       head.from_ns != b->from_ns || head.head_crc != m->head_crc))
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

bool trace_block_ends(const struct trace *t, size_t block, unsigned int cpu, uint32_t *ret_utid)
{
	if (block >= t->more.cnt || cpu >= more_at(t, block)->cpu_cnt || !more_at(t, block)->ends)
		return false;
	*ret_utid = more_at(t, block)->ends[cpu];
	return true;
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

struct block_runner {
	const struct trace *t;
	size_t block;
};

static uint32_t block_runner(void *ctx, unsigned int cpu)
{
	const struct block_runner *r = ctx;

	return trace_block_running(r->t, r->block, cpu);
}

uint64_t trace_page_bytes(const struct trace *t)
{
	const char *page = trace_get(t, "page_bytes");

	return page ? strtoull(page, NULL, 10) : 4096;
}

static int recount_events(struct trace *t, struct summary_count *c, const struct trace_block *b,
			  struct err *e)
{
	struct event_cursor *cur;
	const struct event *ev;
	int r;

	r = event_cursor_open(&cur, t, SUMMARY_COUNT_KINDS, b->from_ns, b->to_ns, e);
	if (r < 0)
		return r;
	while ((r = event_cursor_next(cur, &ev, e)) > 0) {
		r = ev->cpu < t->cpu_cnt ? summary_count_event(c, ev) : 0;
		if (r < 0)
			break;
	}
	event_cursor_close(cur);
	return r;
}

/* The writer could not know: counts event by event. */
static int recount_block(struct trace *t, size_t block, struct err *e)
{
	const struct trace_block *b = block_at(t, block);
	struct block_runner at = { t, block };
	const struct trace_summary *rows;
	struct summary_count *c;
	struct trace_summary *to;
	size_t cnt, i;
	int r;

	/* the block may have been written with fewer CPUs than the trace has in all */
	r = summary_count_new(&c, more_at(t, block)->cpu_cnt, trace_page_bytes(t));
	if (r < 0)
		return err_set(e, r, "out of memory");
	r = summary_count_begin(c, b->from_ns, block_runner, &at);
	if (r == 0)
		r = recount_events(t, c, b, e);
	if (r == 0)
		r = summary_count_end(c, b->to_ns, more_at(t, block)->ends, &rows, &cnt);
	for (i = 0; r == 0 && i < cnt; i++) {
		to = trace_list_add(&t->summary, sizeof(*to));
		if (to)
			*to = rows[i];
		else
			r = -ENOMEM;
	}
	summary_count_free(c);
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
