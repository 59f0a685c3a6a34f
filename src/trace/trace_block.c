/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_block: reads one block of an open trace again: its small sections, its keyframe, or all
 * bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace_state.h"
#include "store/chunk_scan.h"

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
	/* The block was valid when the trace was opened; a later change is not accepted. */
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

bool trace_block_is_damaged(const struct trace *t, size_t block)
{
	return block < t->more.cnt && trace_more_at(t, block)->damaged;
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
