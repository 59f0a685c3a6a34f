/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A cursor and a tracker. */
#include "analyze/block_scan.h"

#include <errno.h>
#include <stdlib.h>

struct block_scan {
	struct analysis *a;
	struct block_track *track;
	struct event_cursor *cursor;
	const struct event *next;
	bool at_end;
};

static int open_at(struct block_scan **ret, struct analysis *a, uint64_t from_ns,
		   struct index_in *in, block_track_sink sink, void *ctx, struct err *e)
{
	struct block_scan *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->a = a;
	r = block_track_new(&s->track, sink, ctx);
	if (r == 0 && in)
		r = block_track_load(s->track, in, from_ns);
	if (r < 0)
		err_set(e, r, "%s", err_text(NULL, r));
	else
		r = event_cursor_open(&s->cursor, a->trace, 1u << EVENT_BLOCK, from_ns, UINT64_MAX,
				      e);
	if (r < 0) {
		block_scan_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

int block_scan_open(struct block_scan **ret, struct analysis *a, block_track_sink sink, void *ctx,
		    struct err *e)
{
	return open_at(ret, a, 0, NULL, sink, ctx, e);
}

int block_scan_open_cell(struct block_scan **ret, struct analysis *a, uint64_t from_ns,
			 struct index_in *in, block_track_sink sink, void *ctx, struct err *e)
{
	return open_at(ret, a, from_ns, in, sink, ctx, e);
}

void block_scan_close(struct block_scan *s)
{
	if (!s)
		return;
	event_cursor_close(s->cursor);
	block_track_free(s->track);
	free(s);
}

struct block_track *block_scan_track(struct block_scan *s)
{
	return s->track;
}

int block_scan_run(struct block_scan *s, uint64_t to_ns, size_t max, struct err *e)
{
	int ret;

	for (; max; max--) {
		if (!s->next && !s->at_end) {
			ret = event_cursor_next(s->cursor, &s->next, e);
			if (ret < 0)
				return ret;
			s->at_end = !ret;
			if (!ret)
				s->next = NULL;
		}
		if (s->at_end || s->next->ts_ns >= to_ns)
			return 0;
		ret = block_track_event(s->track, s->next);
		s->next = NULL;
		if (ret < 0)
			return err_set(e, ret, "out of memory");
	}
	return 1;
}
