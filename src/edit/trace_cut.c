/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_cut: selects the blocks of a cut, and writes its manifest, with the writer that recordings
 * use.
 */
#include "edit/trace_cut.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edit/cut_state.h"
#include "format/hook.h"

/*
 * Sources that can be left out. Allocations and frees refer to each other, so they are one source.
 */
static const struct cut_source {
	const char *name;
	uint32_t kinds;
} cut_sources[] = {
#define X(name, kinds) { name, kinds },
	EVENT_SOURCE_KINDS(X)
#undef X
};

#define CUT_SOURCE_CNT (sizeof(cut_sources) / sizeof(cut_sources[0]))
_Static_assert(CUT_SOURCE_CNT <= TRACE_CUT_SOURCE_MAX, "a source is a bit of left_out");

const char *trace_cut_source(unsigned int source)
{
	return source < CUT_SOURCE_CNT ? cut_sources[source].name : NULL;
}

/* Clips the window to its blocks. */
static void clip(struct cut *c)
{
	const struct trace_block *b = trace_block_at(c->t, 0);

	c->from_ns = c->q->from_ns > b[c->first].from_ns ? c->q->from_ns : b[c->first].from_ns;
	c->to_ns = c->q->to_ns < b[c->end - 1].to_ns ? c->q->to_ns : b[c->end - 1].to_ns;
	c->res.from_ns = c->from_ns;
	c->res.to_ns = c->to_ns;
}

/* Drops carried-over events that do not concern the remaining processes. */
static int filter_before(struct cut *c)
{
	struct event *ev = c->before.events;
	size_t i, cnt = 0;
	int r = 0;

	for (i = 0; i < c->before.event_cnt && r >= 0; i++) {
		r = cut_filter_event(c->filter, &ev[i]);
		if (r > 0)
			ev[cnt++] = ev[i];
	}
	c->before.event_cnt = cnt;
	return r < 0 ? r : 0;
}

/* Finds the state before the first event of the window, and the processes that stay. */
static int prepare(struct cut *c, struct err *e)
{
	int r = 0;

	if (c->is_part)
		r = c->q->before(c->q->before_ctx, c->from_ns, c->kinds_left, &c->before, e);
	if (r == 0 && c->q->upids)
		r = cut_filter_new(&c->filter, c->t, c->q->upids, c->q->upid_cnt, &c->before,
				   c->from_ns, c->to_ns, e);
	if (r == 0 && c->filter)
		r = filter_before(c);
	r = r ?: cut_find_broken(c, e);
	for (size_t i = 0; i < c->before.event_cnt && r == 0; i++)
		cut_mark_broken(c, &c->before.events[i]);
	return r == 0 ? cut_events_new(c, e) : r;
}

static int write_blocks(struct cut *c, struct err *e)
{
	int r = prepare(c, e);

	for (size_t i = c->first; r == 0 && i < c->end; i++) {
		r = cut_events_until(c, i, e);
		if (r == 0 && i == c->first && c->is_part)
			r = cut_put_before(c, e);
		/* the events in a lost slice are late ones: they go to the next block */
		if (r == 0 && !trace_block_is_damaged(c->t, i))
			r = cut_put_block(c, i, e);
	}
	return r;
}

/*
 * Nothing is left out: copies the blocks unchanged, with the block that an earlier cut put first.
 */
static int copy_blocks(struct cut *c, struct err *e)
{
	const struct trace_block *b = trace_block_at(c->t, 0);
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->end; i++) {
		if (trace_block_is_damaged(c->t, i))
			continue;
		r = trace_copy_block(c->t, i, c->w, e);
		c->res.block_cnt += i >= c->first;
		c->res.bytes += b[i].bytes;
	}
	return r;
}

static int put_blocks(struct cut *c, struct err *e)
{
	/* drop damaged blocks at the ends */
	for (size_t i = c->first; i < c->end; i++)
		(void)trace_block_verify(c->t, i, NULL);
	while (c->first < c->end && trace_block_is_damaged(c->t, c->first))
		c->first++;
	while (c->first < c->end && trace_block_is_damaged(c->t, c->end - 1))
		c->end--;
	if (c->first == c->end)
		return err_set(e, -ENODATA,
			       "'%s' has no valid block in that window: there is nothing to "
			       "cut out",
			       trace_path(c->t));
	clip(c);
	/* a trace that was itself cut has state before its window */
	c->is_part = c->q->upids || c->from_ns > trace_start_ns(c->t) ||
		     c->to_ns < trace_end_ns(c->t) || (c->first && c->left_out_cnt);
	return c->is_part || c->left_out_cnt ? write_blocks(c, e) : copy_blocks(c, e);
}

/*
 * Writes the numbers of events that were lost before the cut, by source, and the length of the
 * parts that are missing before it: a window of the cut begins with a state that they may have made
 * wrong. An earlier cut's numbers are in the entries that were copied.
 */
static int put_lost_before(struct cut *c)
{
	uint64_t sums[UINT8_MAX + 1] = { 0 };	/* by hook; those of a source at its first hook */
	uint64_t missing_ns = trace_get_number(c->t, "cut.missing_before_ns");
	size_t cnt;
	const struct trace_loss *l = trace_losses(c->t, &cnt);
	struct trace_hole h = { 0 };
	int r = 0;

	for (size_t i = 0; i < cnt; i++)
		if (l[i].from_ns < c->from_ns && l[i].to_ns <= c->from_ns)
			sums[l[i].hook] += l[i].full_cnt + l[i].other_cnt + l[i].missed_cnt;
	for (unsigned int i = 0; i <= UINT8_MAX && r == 0; i++) {
		const struct hook_name *hook = sums[i] ? hook_name_find(i) : NULL, *other;
		uint64_t lost = 0;
		char key[64];

		if (!hook)
			continue;
		for (unsigned int k = i; k <= UINT8_MAX; k++) {
			other = sums[k] ? hook_name_find(k) : NULL;
			if (other && !strcmp(other->source, hook->source)) {
				lost += sums[k];
				sums[k] = 0;
			}
		}
		snprintf(key, sizeof(key), "cut.lost_before.%s", hook->source);
		r = store_writer_set_number(c->w, key, lost + trace_get_number(c->t, key));
	}
	while (trace_hole_next(c->t, &h))
		if (h.from_ns < c->from_ns)
			missing_ns += (h.to_ns < c->from_ns ? h.to_ns : c->from_ns) - h.from_ns;
	return r == 0 && missing_ns ?
		       store_writer_set_number(c->w, "cut.missing_before_ns", missing_ns) : r;
}

static int copy_manifest(struct cut *c)
{
	const struct manifest *m = trace_stored_manifest(c->t);
	/* not 0: the trace was cut before */
	uint64_t offset_ns = trace_get_number(c->t, "cut.offset_ns");
	bool is_new = c->is_part || c->left_out_cnt || trace_is_damaged(c->t);
	char left_out[256] = "";
	int r = 0;

	for (size_t i = 0; i < m->cnt && r == 0; i++)
		if (strcmp(m->entries[i].key, "state") &&
		    (!is_new || !trace_copy_key_is_of_whole(m->entries[i].key)))
			r = store_writer_set(c->w, m->entries[i].key, m->entries[i].value);
	for (unsigned int s = 0; s < c->left_out_cnt; s++) {
		if (s)
			strcat(left_out, ",");
		strcat(left_out, c->left_out[s]);
	}
	if (r == 0 && !c->is_same)
		r = store_writer_set(c->w, "trace.origin", trace_uuid(c->t));
	r = r ?: store_writer_set(c->w, "cut", "1");
	if (r == 0 && c->is_part) {
		r = store_writer_set_number(c->w, "cut.from_ns", c->from_ns);
		r = r ?: store_writer_set_number(c->w, "cut.to_ns", c->to_ns);
		offset_ns += c->from_ns - trace_start_ns(c->t);
		r = r ?: store_writer_set_number(c->w, "cut.offset_ns", offset_ns);
		r = r ?: put_lost_before(c);
	}
	if (r == 0 && c->q->processes)
		r = store_writer_set(c->w, "cut.processes", c->q->processes);
	if (r == 0 && c->q->unowned_ios) {
		r = store_writer_set_number(c->w, "cut.unowned_ios", c->q->unowned_ios);
		r = r ?: store_writer_set_number(c->w, "cut.unowned_bytes", c->q->unowned_bytes);
	}
	if (r == 0 && *left_out)
		r = store_writer_set(c->w, "cut.left_out", left_out);
	return r == 0 && is_new ? trace_copy_declare_gaps(c->t, c->q->from_ns, c->q->to_ns, c->w,
							  &c->res.gaps)
				: r;
}

void trace_cut_blocks(const struct trace *t, uint64_t from_ns, uint64_t to_ns, size_t *ret_first,
		      size_t *ret_end, uint64_t *ret_bytes)
{
	const struct trace_block *b = trace_block_at(t, 0);
	size_t i, first = 0, end, cnt = trace_block_cnt(t);

	*ret_bytes = 0;
	while (first < cnt && b[first].to_ns <= from_ns)
		first++;
	for (end = first; end < cnt && b[end].from_ns < to_ns; end++)
		;
	for (i = first; i < end; i++)
		*ret_bytes += b[i].bytes;
	*ret_first = first;
	*ret_end = end;
}

static void cut_done(struct cut *c)
{
	block_out_done(&c->out);
	buf_done(&c->rows.out);
	checkpoint_done(&c->before);
	cut_filter_free(c->filter);
	cut_events_free(c->source);
	free(c->events);
	free(c->cpu_first);
	free(c->cpu_since);
	free(c->cpu_last);
	free(c->broken);
}

static int write_cut(void *ctx, struct store_writer *w, struct err *e)
{
	struct cut *c = ctx;
	int r = 0;

	c->w = w;
	c->cpu_first = calloc(trace_cpu_cnt(c->t) + 1, sizeof(*c->cpu_first));
	c->cpu_since = calloc(trace_cpu_cnt(c->t) + 1, sizeof(*c->cpu_since));
	c->cpu_last = calloc(trace_cpu_cnt(c->t) + 1, sizeof(*c->cpu_last));
	if (!c->cpu_first || !c->cpu_since || !c->cpu_last || block_out_init(&c->out, 0) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	r = put_blocks(c, e);
	if (r == 0 && copy_manifest(c) < 0)
		r = err_set(e, -ENOMEM, "out of memory");
	return r;
}

/* A source that was not recorded is not left out: the manifest has another reason for it. */
static void leave_out(struct cut *c)
{
	for (unsigned int s = 0; s < CUT_SOURCE_CNT; s++) {
		if (!(c->q->left_out & 1u << s) || !trace_was_recorded(c->t, cut_sources[s].name))
			continue;
		c->left_out[c->left_out_cnt++] = cut_sources[s].name;
		c->kinds_left &= ~cut_sources[s].kinds;
	}
}

int trace_cut(struct trace *t, const struct trace_cut_request *q, const char *path,
	      struct trace_cut_result *ret, struct err *e)
{
	struct store_config config = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	struct cut c = { .t = t, .q = q, .kinds_left = UINT32_MAX };
	uint64_t bytes;
	int r;

	leave_out(&c);
	trace_cut_blocks(t, q->from_ns, q->to_ns, &c.first, &c.end, &bytes);
	/* a copy of the whole trace is still the same trace */
	if (!q->upids && !c.left_out_cnt && !trace_is_damaged(t) &&
	    q->from_ns <= trace_start_ns(t) && q->to_ns >= trace_end_ns(t))
		config.trace_id = trace_id(t);
	c.is_same = config.trace_id != 0;
	r = trace_copy_make(t, path, &config, write_cut, &c, e);
	cut_done(&c);
	if (r == 0)
		*ret = c.res;
	return r;
}

int trace_cut_saved(struct trace *t, size_t block, uint64_t *saved, struct err *e)
{
	struct trace_block_open o;
	int r;

	if (trace_block_is_damaged(t, block))
		return 0;
	r = trace_block_open(t, trace_own_reader(t), block, &o, e);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < o.meta->head.section_cnt; i++) {
		const struct disk_section *s = &o.meta->sections[i];

		for (unsigned int source = 0; source < CUT_SOURCE_CNT; source++)
			if (s->type >= CHUNK_SMALL_END && s->kind < 32 &&
			    cut_sources[source].kinds & 1u << s->kind)
				saved[source] += s->stored_bytes;
	}
	block_meta_free(o.meta);
	return 0;
}
