/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Block requests in an index: the part INDEX_REQUESTS, by submitter, device, operation and owner. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/block_scan.h"
#include "analyze/index_job.h"
#include "analyze/io_sums.h"
#include "event/keymap.h"

struct block_row {
	struct block_request key;
	struct io_sum sum;
};

struct block_job {
	struct index_job *j;
	struct block_scan *scan;
	struct keymap map;		/* (a key's hash, number among those of that hash) -> rows of this cell */
	struct block_row *rows;
	size_t cap, used;		/* used: rows with memory in them */
	struct buf out;
	bool before;
};

/* The row of a key, which may be new. Keys of one hash are numbered. */
static struct block_row *row_of(struct block_job *s, const struct block_request *key)
{
	uint64_t hash = io_key_hash(key), n;
	uint32_t i;
	int ret;

	for (n = 0;; n++) {
		ret = keymap_intern(&s->map, hash, n, &i);
		if (ret < 0)
			return NULL;
		if (ret)
			break;
		if (io_key_equal(&s->rows[i].key, key))
			return &s->rows[i];
	}
	if (i >= s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 64;
		struct block_row *rows = realloc(s->rows, cap * sizeof(*rows));

		if (!rows)
			return NULL;
		s->rows = rows;
		s->cap = cap;
	}
	if (i >= s->used) {
		memset(&s->rows[i], 0, sizeof(s->rows[i]));
		s->used = i + 1;
	}
	s->rows[i].key = *key;
	io_sum_reset(&s->rows[i].sum);
	return &s->rows[i];
}

static int on_request(void *ctx, const struct block_request *r)
{
	struct block_job *s = ctx;
	struct block_request key;
	struct block_row *row;

	if (s->before)
		return 0;
	io_key_of(s->j->a, r, &key);
	row = row_of(s, &key);
	return row ? io_sum_add(&row->sum, r) : -ENOMEM;
}

static int run_to(struct block_job *s, uint64_t to_ns)
{
	int ret;

	while ((ret = block_scan_run(s->scan, to_ns, SIZE_MAX, &s->j->e)) > 0)
		;
	return ret;
}

static int make_cell(struct block_job *s, size_t cell)
{
	struct index_job *j = s->j;
	struct block_track *track = block_scan_track(s->scan);
	size_t i;
	int ret;

	if (cell == j->last) {
		buf_reset(&s->out);
		block_track_save(track, index_cell_from(j->x, cell), &s->out);
		ret = index_add_tail(j->x, j->z, INDEX_TAIL_REQUESTS, &s->out);
		if (ret < 0)
			return ret;
	}
	keymap_clear(&s->map);
	block_track_begin_cell(track, index_cell_from(j->x, cell));
	ret = run_to(s, index_cell_to(j->x, cell));
	if (ret < 0)
		return ret;
	buf_reset(&s->out);
	for (i = 0; i < s->map.cnt; i++) {
		io_key_put(&s->rows[i].key, &s->out);
		io_sum_put(&s->rows[i].sum, &s->out);
	}
	ret = index_add(j->x, j->z, cell, INDEX_REQUESTS, &s->out);
	if (!ret)
		ret = index_add(j->x, j->z, cell, INDEX_REQUEST_STATE,
				block_track_take_cell(track));
	return ret < 0 ? ret : index_job_done_cell(j, cell);
}

static int begin_state(struct block_job *s)
{
	struct index_job *j = s->j;
	struct buf mem = { 0 };
	struct index_in in;
	int ret;

	if (j->from) {
		ret = index_read_tail(j->x, INDEX_TAIL_REQUESTS, &mem, &in);
		if (!ret)
			ret = block_scan_open_cell(&s->scan, j->a, index_job_from_ns(j), &in,
						   on_request, s, &j->e);
		buf_done(&mem);
		return ret;
	}
	ret = block_scan_open(&s->scan, j->a, on_request, s, &j->e);
	s->before = true;
	if (!ret && j->end)
		ret = run_to(s, index_job_from_ns(j));
	s->before = false;
	return ret;
}

int index_block_job(struct index_job *j)
{
	struct block_job s = { .j = j };
	size_t i;
	int ret = begin_state(&s);

	for (i = j->from; i < j->end && !ret; i++)
		ret = make_cell(&s, i);
	for (i = 0; i < s.used; i++)
		io_sum_done(&s.rows[i].sum);
	free(s.rows);
	keymap_done(&s.map);
	block_scan_close(s.scan);
	buf_done(&s.out);
	return ret;
}
