/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * perf_map: reads a file of lines, or of jitdump records; the first bytes distinguish the two (the
 * format is in Linux, tools/perf/Documentation/jitdump-specification.txt).
 *
 * Symbols are in an array, sorted by start and order in the file. Symbols may overlap: `reach` of a
 * symbol is the highest end of all symbols up to this one, so that a search goes back only while an
 * earlier symbol may contain the address. A search goes back at most WALK_MAX symbols, because in a
 * hostile file a million symbols may overlap.
 */
#include "symbol/perf_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hash_map.h"

#define READ_BYTES 65536
#define WALK_MAX 256
#define SIZE_MAX_BYTES (256u << 20)	/* no function is larger */

/* A jitdump has a header and records, in the machine's byte order. */
#define DUMP_MAGIC 0x4a695444u
#define DUMP_HEADER_MIN 40
#define DUMP_OTHER_CLOCK 1u	/* flag: times are not from CLOCK_MONOTONIC */
enum { DUMP_LOAD = 0, DUMP_MOVE = 1 };

struct dump_header {
	uint32_t magic, version, bytes, machine, pad, pid;
	uint64_t ts_ns, flags;
};

struct dump_record {
	uint32_t id, bytes;
	uint64_t ts_ns;
	uint32_t pid, tid;
	/* LOAD: vma, address, size, index, name; MOVE: vma, old address, address, size, index. */
	uint64_t v[5];
};
#define DUMP_NAME_AT offsetof(struct dump_record, v[4])

struct symbol {
	uint64_t start, end;		/* end == start: the line has no size */
	uint64_t reach;
	uint64_t after_ns, by_ns;	/* the line was first seen by a read in (after_ns, by_ns] */
	uint32_t order;			/* index of the line; later lines replace earlier ones */
	uint32_t name;			/* offset in names */
};

struct perf_map {
	struct symbol *v;
	size_t cnt, cap, sorted_cnt;
	struct buf names;
	uint64_t pos;			/* read position in the file */
	uint64_t read_ns;		/* time of the last read */
	uint32_t order;
	bool in_long_line;
	bool is_dump, has_other_clock;
	struct hash_map moved;		/* jitdump: start -> 1 + offset of the name */
	char *block;
};

int perf_map_new(struct perf_map **ret)
{
	struct perf_map *m = calloc(1, sizeof(*m));

	if (m)
		m->block = malloc(READ_BYTES);
	if (!m || !m->block) {
		free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

void perf_map_free(struct perf_map *m)
{
	if (!m)
		return;
	free(m->v);
	free(m->block);
	buf_done(&m->names);
	hash_map_done(&m->moved);
	free(m);
}

size_t perf_map_bytes(const struct perf_map *m)
{
	return sizeof(*m) + READ_BYTES + m->cap * sizeof(*m->v) + m->names.len +
	       2 * m->moved.cnt * sizeof(struct hash_slot);
}

void perf_map_restart(struct perf_map *m)
{
	m->pos = 0;
	m->in_long_line = m->is_dump = false;
}

/* ---- reading ---- */

/* Adds a symbol. by_ns 0: the time of the read. *ret_name: 1 + offset of the name; 0: not added. */
static int add_symbol(struct perf_map *m, uint64_t start, uint64_t size, const char *name,
		      size_t len, uint64_t after_ns, uint64_t by_ns, size_t *ret_name)
{
	struct symbol s = { .start = start, .end = start + size, .after_ns = after_ns,
			    .by_ns = by_ns, .order = m->order };

	*ret_name = 0;
	len = strnlen(name, len);
	if (!len || size > SIZE_MAX_BYTES || s.end < start || m->cnt == PERF_MAP_MAX_SYMBOLS ||
	    m->names.len >= PERF_MAP_MAX_BYTES)
		return 0;
	s.name = (uint32_t)m->names.len;
	*ret_name = m->names.len + 1;
	buf_add(&m->names, name, len < PERF_MAP_NAME_MAX ? len : PERF_MAP_NAME_MAX);
	buf_add(&m->names, "", 1);
	m->order++;
	return m->names.failed || array_add(&m->v, &m->cap, &m->cnt, s) ? -ENOMEM : 0;
}

/* Adds a record whose first len bytes are at p. */
static int add_record(struct perf_map *m, const char *p, size_t len)
{
	char old[PERF_MAP_NAME_MAX + 1];
	struct dump_record r = { 0 };
	size_t name = 0;
	uint64_t start, size;
	uintptr_t known;
	int ret;

	memcpy(&r, p, len < sizeof(r) ? len : sizeof(r));
	start = r.id == DUMP_LOAD ? r.v[1] : r.v[2];
	size = r.id == DUMP_LOAD ? r.v[2] : r.v[3];
	if (len <= DUMP_NAME_AT + (r.id == DUMP_MOVE ? 7 : 0) || !size)
		return 0;
	known = r.id == DUMP_MOVE ? (uintptr_t)hash_map_get(&m->moved, r.v[1]) : 0;
	if (r.id == DUMP_MOVE && !known)
		return 0;
	if (known)
		snprintf(old, sizeof(old), "%s", (const char *)m->names.data + known - 1);
	ret = add_symbol(m, start, size, known ? old : p + DUMP_NAME_AT,
			 known ? sizeof(old) : len - DUMP_NAME_AT,
			 m->has_other_clock || !r.ts_ns ? m->read_ns : r.ts_ns - 1,
			 m->has_other_clock ? 0 : r.ts_ns, &name);
	return ret || !name ? ret : hash_map_put(&m->moved, start, (void *)(uintptr_t)name);
}

/*
 * Adds the complete records of a part of the file; the file has `left` bytes from data on. Returns
 * the number of bytes to advance in the file, which may exceed len because a record's code need not
 * be read; or -ENOMEM.
 */
static ssize_t add_records(struct perf_map *m, const char *data, size_t len, uint64_t left)
{
	const size_t head = offsetof(struct dump_record, pid);
	uint64_t pos = 0;

	while (pos + head <= len) {
		struct dump_record r;
		size_t need;

		memcpy(&r, data + pos, head);
		if (r.bytes < head)
			return (ssize_t)left;	/* the rest is not a jitdump */
		if (r.bytes > left - pos)
			break;			/* still being written */
		need = DUMP_NAME_AT + PERF_MAP_NAME_MAX + 1;
		need = r.bytes < need ? r.bytes : need;
		if (r.id <= DUMP_MOVE && need > len - pos)
			break;
		if (r.id <= DUMP_MOVE && add_record(m, data + pos, need))
			return -ENOMEM;
		pos += r.bytes;
	}
	return (ssize_t)pos;
}

/* Returns the length of a jitdump's header; 0: the file has lines. */
static uint32_t begin_dump(struct perf_map *m, const char *data, size_t len)
{
	struct dump_header h;

	if (len < DUMP_HEADER_MIN)
		return 0;
	memcpy(&h, data, sizeof(h));
	m->is_dump = h.magic == DUMP_MAGIC && h.bytes >= DUMP_HEADER_MIN;
	m->has_other_clock = h.flags & DUMP_OTHER_CLOCK;
	return m->is_dump ? h.bytes : 0;
}

/* Parses a hexadecimal number and the blanks after it. NULL: no number. */
static const char *parse_hex(const char *p, const char *end, uint64_t *ret)
{
	unsigned int digits = 0;
	uint64_t v = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (; p < end && digits <= 16; p++, digits++) {
		unsigned char c = (unsigned char)*p, low = c | 0x20;

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if (low >= 'a' && low <= 'f')
			v = v << 4 | (low - 'a' + 10u);
		else
			break;
	}
	if (!digits || digits > 16 || p == end || *p != ' ')
		return NULL;
	while (p < end && *p == ' ')
		p++;
	*ret = v;
	return p;
}

static int add_line(struct perf_map *m, const char *p, const char *end)
{
	uint64_t start, size;
	size_t name;

	p = parse_hex(p, end, &start);
	p = p ? parse_hex(p, end, &size) : NULL;
	return p ? add_symbol(m, start, size, p, (size_t)(end - p), m->read_ns, 0, &name) : 0;
}

/* Adds the complete lines of a part of the file. Returns the number of bytes used, or -ENOMEM. */
static ssize_t add_lines(struct perf_map *m, const char *data, size_t len)
{
	const char *p = data, *end = data + len, *line_end;

	while (p < end && (line_end = memchr(p, '\n', (size_t)(end - p)))) {
		if (!m->in_long_line && add_line(m, p, line_end))
			return -ENOMEM;
		m->in_long_line = false;
		p = line_end + 1;
	}
	if (p > data || len < READ_BYTES)
		return p - data;
	m->in_long_line = true;
	return (ssize_t)len;
}

int perf_map_read(struct perf_map *m, int fd, bool *ret_grown)
{
	size_t cnt = m->cnt;
	struct stat st;
	ssize_t n, used = 0;
	int r = 0;

	*ret_grown = false;
	if (fstat(fd, &st))
		return -errno;
	if ((uint64_t)st.st_size < m->pos)
		perf_map_restart(m);
	while (m->pos < PERF_MAP_MAX_BYTES && m->pos < (uint64_t)st.st_size) {
		n = pread(fd, m->block, READ_BYTES, (off_t)m->pos);
		if (n <= 0) {
			r = n < 0 ? -errno : 0;
			break;
		}
		used = m->pos ? 0 : (ssize_t)begin_dump(m, m->block, (size_t)n);
		if (!used)
			used = m->is_dump ? add_records(m, m->block, (size_t)n,
							(uint64_t)st.st_size - m->pos) :
					    add_lines(m, m->block, (size_t)n);
		if (used < 0)
			r = (int)used;
		if (used <= 0)
			break;
		m->pos += (uint64_t)used;
	}
	m->read_ns = clock_mono_ns();
	for (size_t i = cnt; i < m->cnt; i++)
		m->v[i].by_ns = m->v[i].by_ns ?: m->read_ns;
	*ret_grown = m->cnt > cnt;
	return r;
}

/* ---- lookups ---- */

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return compare_numbers(x->start, y->start) ?: compare_numbers(x->order, y->order);
}

static bool is_again(const struct perf_map *m, const struct symbol *a, const struct symbol *b)
{
	const char *names = (const char *)m->names.data;

	return a->start == b->start && a->end == b->end &&
	       !strcmp(names + a->name, names + b->name);
}

/* Sorts new symbols, and drops duplicates: a file that is written again repeats its symbols. */
static void sort_symbols(struct perf_map *m)
{
	size_t i, kept = 0;
	uint64_t reach = 0;

	if (m->sorted_cnt == m->cnt)
		return;
	qsort(m->v, m->cnt, sizeof(*m->v), compare_symbols);
	for (i = 0; i < m->cnt; i++)
		if (!kept || !is_again(m, &m->v[kept - 1], &m->v[i]))
			m->v[kept++] = m->v[i];
	m->cnt = m->sorted_cnt = kept;
	for (i = 0; i < kept; i++) {
		if (m->v[i].end > reach)
			reach = m->v[i].end;
		m->v[i].reach = reach;
	}
}

/*
 * Returns when symbol s, which replaces the first one, becomes valid: when the mapping changed
 * between the previous read and the read that found s, or else at the time of the read that found
 * s. If the same read found both symbols, the beginning of the mapping may belong to the first one.
 */
static uint64_t begin_of(const struct symbol *s, const struct symbol *first,
			 const struct perf_map_mapping *in)
{
	bool from = in->from_ns > s->after_ns && in->from_ns <= s->by_ns;

	if (from && first->by_ns != s->by_ns)
		return in->from_ns;
	if (in->until_ns > s->after_ns && in->until_ns <= s->by_ns)
		return in->until_ns;
	return from ? in->from_ns : s->by_ns;
}

static void set_hit(const struct perf_map *m, const struct symbol *s, uint64_t addr,
		    struct perf_map_hit *ret)
{
	ret->name = (const char *)m->names.data + s->name;
	ret->offset = addr - s->start;
}

/* Finds a symbol without a size: the last one before an address, in the same mapping. */
static bool find_sizeless(const struct perf_map *m, size_t after, uint64_t addr,
			  const struct perf_map_mapping *in, struct perf_map_hit *ret)
{
	const struct symbol *s = after ? &m->v[after - 1] : NULL;

	if (!s || s->end != s->start || s->start < in->start)
		return false;
	ret->from_ns = in->from_ns;
	ret->until_ns = in->until_ns;
	set_hit(m, s, addr, ret);
	return true;
}

bool perf_map_find(struct perf_map *m, uint64_t addr, uint64_t ts_ns,
		   const struct perf_map_mapping *in, struct perf_map_hit *ret)
{
	const struct symbol *holds[WALK_MAX], *first = NULL, *best = NULL;
	size_t cnt = 0, lo = 0, hi, i;
	uint64_t begin_ns, until_ns = in->until_ns, from_ns = in->from_ns;

	sort_symbols(m);
	for (hi = m->cnt; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (i = lo; i && lo - i < WALK_MAX && m->v[i - 1].reach > addr; i--)
		if (m->v[i - 1].end > addr)
			holds[cnt++] = &m->v[i - 1];
	if (!cnt)
		return find_sizeless(m, lo, addr, in, ret);
	for (i = 0; i < cnt; i++)
		if (!first || holds[i]->order < first->order)
			first = holds[i];
	best = first;
	for (i = 0; i < cnt; i++) {
		begin_ns = begin_of(holds[i], first, in);
		if (holds[i] != first && begin_ns <= ts_ns && holds[i]->order > best->order) {
			best = holds[i];
			from_ns = begin_ns > in->from_ns ? begin_ns : in->from_ns;
		}
	}
	for (i = 0; i < cnt; i++) {
		begin_ns = begin_of(holds[i], first, in);
		if (holds[i]->order > best->order && begin_ns > ts_ns && begin_ns < until_ns)
			until_ns = begin_ns;
	}
	ret->from_ns = from_ns;
	ret->until_ns = until_ns;
	set_hit(m, best, addr, ret);
	return true;
}
