/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * trace_layout: adds up the bytes of file headers, blocks, damaged parts and the rest of every
 * file.
 */
#include "trace/trace_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "trace/trace_state.h"

struct layout {
	struct trace *t;
	struct trace_list list;
	uint64_t block_bytes, damaged_bytes;
};

static struct trace_layout *find(struct layout *l, uint32_t part, uint8_t kind, uint8_t column)
{
	struct trace_layout *p = l->list.v;

	for (size_t i = 0; i < l->list.cnt; i++)
		if (p[i].part == part && p[i].kind == kind && p[i].column == column)
			return &p[i];
	p = trace_list_add(&l->list, sizeof(*p));
	if (p)
		*p = (struct trace_layout){ .part = part, .kind = kind, .column = column };
	return p;
}

static int add(struct layout *l, uint32_t part, uint64_t row_cnt, uint64_t bytes)
{
	struct trace_layout *p;

	if (!bytes)
		return 0;
	p = find(l, part, 0, 0);
	if (!p)
		return -ENOMEM;
	p->row_cnt += row_cnt;
	p->raw_bytes += bytes;
	p->stored_bytes += bytes;
	return 0;
}

static int add_section(struct layout *l, const struct disk_section *s)
{
	bool is_event = s->type == CHUNK_COLUMN || s->type == CHUNK_TUPLES;
	struct trace_layout *p = find(l, is_event ? CHUNK_COLUMN : s->type,
				      is_event ? s->kind : 0, is_event ? s->column : 0);

	if (!p)
		return -ENOMEM;
	p->is_event = is_event;
	if (!is_event)
		p->row_cnt += s->item_cnt;
	p->raw_bytes += s->raw_bytes;
	p->stored_bytes += s->stored_bytes;
	return 0;
}

static int add_blocks(struct layout *l, struct err *e)
{
	size_t cnt, i;
	const struct trace_block *b = trace_blocks(l->t, &cnt);
	struct trace_block_open o;
	uint64_t sections;
	int r = 0;

	for (i = 0; i < cnt && r == 0; i++) {
		r = trace_block_open(l->t, &l->t->reader, i, &o, e);
		if (r < 0)
			return r;
		sections = 0;
		for (uint32_t j = 0; j < o.meta->head.section_cnt && r == 0; j++) {
			r = add_section(l, &o.meta->sections[j]);
			sections += o.meta->sections[j].stored_bytes;
		}
		block_meta_free(o.meta);
		r = r ?: add(l, TRACE_LAYOUT_BLOCK_HEADERS, 1, b[i].bytes - sections);
		l->block_bytes += b[i].bytes;
	}
	return r < 0 ? err_set(e, r, "out of memory") : 0;
}

static int add_damages(struct layout *l)
{
	size_t cnt, i;
	const struct trace_damage *d = trace_damages(l->t, &cnt);

	/*
	 * Skip damage that is counted elsewhere: a block with damaged events is counted as a block,
	 * and the manifest as its own part.
	 */
	for (i = 0; i < cnt; i++) {
		size_t blocks, j;
		const struct trace_block *b = trace_blocks(l->t, &blocks);

		for (j = 0; j < blocks; j++)
			if (b[j].offset == d[i].offset && !strcmp(b[j].file, d[i].file))
				break;
		if (j < blocks || !strcmp(d[i].file, MANIFEST_NAME))
			continue;
		l->damaged_bytes += d[i].bytes;
		if (add(l, TRACE_LAYOUT_DAMAGED, 1, d[i].bytes) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Adds the headers of the files, the unfinished rest and the manifest. */
static int add_files(struct layout *l)
{
	uint64_t *numbers = NULL, bytes = 0, headers = 0, known;
	size_t cnt = 0, i;
	struct stat st;
	int r = trace_file_list(l->t, &numbers, &cnt), fd;

	for (i = 0; r == 0 && i < cnt; i++) {
		bool good;

		fd = trace_file_open(l->t, numbers[i]);
		if (fd < 0)
			continue;
		good = !fstat(fd, &st) && S_ISREG(st.st_mode);
		trace_file_close(l->t, fd);
		if (!good)
			continue;
		bytes += (uint64_t)st.st_size;
		headers += (uint64_t)st.st_size < sizeof(struct disk_file)
				   ? (uint64_t)st.st_size
				   : sizeof(struct disk_file);
	}
	free(numbers);
	r = r ?: add(l, TRACE_LAYOUT_FILE_HEADERS, cnt, headers);
	known = headers + l->block_bytes + l->damaged_bytes;
	/* bytes < known if a header lies in a damaged part and was counted twice */
	if (r == 0 && bytes > known)
		r = add(l, TRACE_LAYOUT_REST, cnt, bytes - known);
	if (r == 0 && l->t->dir_fd < 0)
		r = add(l, TRACE_LAYOUT_MANIFEST, 1, l->t->held.manifest_bytes);
	else if (r == 0 && !fstatat(l->t->dir_fd, "manifest", &st, AT_SYMLINK_NOFOLLOW))
		r = add(l, TRACE_LAYOUT_MANIFEST, 1, (uint64_t)st.st_size);
	return r;
}

/* ---- names ---- */

static const char *part_name(uint32_t part)
{
	switch (part) {
	case TRACE_LAYOUT_FILE_HEADERS:
		return "file headers";
	case TRACE_LAYOUT_BLOCK_HEADERS:
		return "block headers";
	case TRACE_LAYOUT_DAMAGED:
		return "damaged parts";
	case TRACE_LAYOUT_REST:
		return "unfinished blocks";
	case TRACE_LAYOUT_MANIFEST:
		return "manifest";
	case CHUNK_UTIDS:
		return "utids";
#define X(name, number, text, row) case CHUNK_##name: return #text;
		CHUNK_SECTIONS(X)
#undef X
	default:
		return "?";
	}
}

static void name_event_column(struct trace_layout *p)
{
	static const char *const codecs[] = { "?",     "UTID",	 "PREV",    "TUPLE", "PLAIN",
					      "DELTA", "TDELTA", "BACKREF", "XREF" };
	static const struct {
		uint8_t column;
		const char *name, *codec;
	} shared[] = {
		{ CHUNK_COL_CPU, "cpu", "runs" },     { CHUNK_COL_TS, "ts_ns", "DELTA" },
		{ CHUNK_COL_UTID, "utid", "UTID" },   { CHUNK_COL_FLAGS, "flags", "TUPLE" },
		{ CHUNK_COL_TUPLE, "tuple", "INDEX" },
	};
	const struct event_column *c;

	p->kind_name = event_kind_name(p->kind);
	p->name = p->codec = "?";
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++) {
		if (shared[i].column != p->column)
			continue;
		p->name = shared[i].name;
		p->codec = p->column == CHUNK_COL_UTID && p->kind == EVENT_SWITCH ?
				   "PREV" : shared[i].codec;
	}
	c = event_column(p->kind, p->column);
	if (c) {
		p->name = c->name;
		p->codec = c->codec < sizeof(codecs) / sizeof(*codecs) ? codecs[c->codec] : "?";
	}
}

static void name_all(struct layout *l)
{
	struct trace_layout *p = l->list.v;
	size_t i, j, cnt;
	const struct trace_block *b = trace_blocks(l->t, &cnt);

	for (i = 0; i < l->list.cnt; i++) {
		if (p[i].is_event) {
			name_event_column(&p[i]);
			for (j = 0; j < cnt; j++)
				p[i].row_cnt +=
					p[i].kind < EVENT_KIND_CNT ? b[j].kind_cnt[p[i].kind] : 0;
			continue;
		}
		p[i].kind_name = "";
		p[i].name = part_name(p[i].part);
		p[i].codec = p[i].part == CHUNK_UTIDS		? "DELTA"
			     : p[i].part < CHUNK_SMALL_END	? "rows"
								: "";
	}
}

static int layout_cmp(const void *pa, const void *pb)
{
	const struct trace_layout *a = pa, *b = pb;

	return compare_numbers(b->is_event, a->is_event) ?: compare_numbers(a->part, b->part) ?:
	       compare_numbers(a->kind, b->kind) ?: compare_numbers(a->column, b->column);
}

int trace_layout_read(struct trace *t, struct trace_layout **ret, size_t *ret_cnt, struct err *e)
{
	struct layout l = { .t = t };
	int r = add_blocks(&l, e);

	r = r ?: add_damages(&l) ?: add_files(&l);
	if (r < 0) {
		free(l.list.v);
		return err_set(e, r, "the trace's layout: %s", err_text(e, r));
	}
	name_all(&l);
	if (l.list.cnt)
		qsort(l.list.v, l.list.cnt, sizeof(struct trace_layout), layout_cmp);
	*ret = l.list.v;
	*ret_cnt = l.list.cnt;
	return 0;
}
