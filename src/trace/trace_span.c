/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_span: what belongs to a trace, by its manifest, and what of that is missing: chunk files
 * that are gone, and time that no valid block stands for.
 */
#include <stdlib.h>
#include <string.h>

#include "store/chunk_name.h"
#include "trace/trace_state.h"

#define NAMED_MAX 64	/* missing files that are named one by one */

static uint64_t number_of(const struct trace *t, const char *key)
{
	const char *text = trace_get(t, key);

	return text ? strtoull(text, NULL, 10) : 0;
}

void trace_span_read(struct trace *t)
{
	const char *id = trace_get(t, "trace.id");
	bool known = trace_is_finished(t) && trace_get(t, "span.to_ns");

	t->id = id ? strtoull(id, NULL, 16) : 0;
	if (t->id)
		manifest_format_uuid(t->uuid, t->id);
	t->span_from_ns = known ? number_of(t, "span.from_ns") : 0;
	t->span_to_ns = known ? number_of(t, "span.to_ns") : 0;
	if (t->span_to_ns < t->span_from_ns)
		t->span_from_ns = t->span_to_ns = 0;
}

static int add_missing(struct trace *t, uint64_t from, uint64_t to)
{
	uint64_t end = to - from > NAMED_MAX ? from + NAMED_MAX : to;
	char name[CHUNK_NAME_BYTES];
	int r = 0;

	for (; !r && from < end; from++) {
		chunk_name_format(name, from);
		r = trace_add_damage(t, name, 0, 0, TRACE_FILE_MISSING);
	}
	return r;
}

int trace_span_check(struct trace *t, const uint64_t *numbers, size_t cnt)
{
	bool keeps = trace_get(t, "keep.bytes") || trace_get(t, "keep.ns");
	const struct trace_block *b = t->blocks.v;
	uint64_t next = cnt && keeps ? numbers[0] : 0;
	int r = 0;

	if (t->is_live || t->no_manifest)
		return 0;
	if (t->span_to_ns)
		next = number_of(t, "span.first_file");
	for (size_t i = 0; !r && i < cnt; i++) {
		if (numbers[i] > next)
			r = add_missing(t, next, numbers[i]);
		if (numbers[i] >= next)
			next = numbers[i] + 1;
	}
	if (r || !t->span_to_ns)
		return r;
	if (number_of(t, "span.last_file") >= next)
		return add_missing(t, next, number_of(t, "span.last_file") + 1);
	if (t->damages.cnt || !t->blocks.cnt || b[t->blocks.cnt - 1].to_ns >= t->span_to_ns)
		return 0;
	return trace_add_damage(t, b[t->blocks.cnt - 1].file, 0, 0,
				"blocks at its end are missing");
}

uint64_t trace_start_ns(const struct trace *t)
{
	const struct trace_block *b = t->blocks.v;

	if (!t->blocks.cnt)
		return 0;
	return t->span_to_ns && t->span_from_ns < b[0].from_ns ? t->span_from_ns : b[0].from_ns;
}

uint64_t trace_blocks_end_ns(const struct trace *t)
{
	const struct trace_block *b = t->blocks.v;

	return t->blocks.cnt ? b[t->blocks.cnt - 1].to_ns : 0;
}

uint64_t trace_end_ns(const struct trace *t)
{
	uint64_t end_ns = trace_blocks_end_ns(t);

	return t->blocks.cnt && t->span_to_ns > end_ns ? t->span_to_ns : end_ns;
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
