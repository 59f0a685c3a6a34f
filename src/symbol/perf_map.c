/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * perf_map: keeps all symbols in an array, sorted by (start, order in the file). Symbols may
 * overlap: `reach` is the highest end of the elements up to this one, so a search walks back only
 * while an earlier symbol can hold the address, and at most WALK_MAX elements, since a hostile file
 * could have a million of them overlap.
 */
#include "symbol/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"

#define READ_BYTES 65536
#define WALK_MAX 256
#define SIZE_MAX_BYTES (256u << 20)	/* no function is larger */

struct symbol {
	uint64_t start, end;		/* end == start: the line had no size */
	uint64_t reach;
	uint64_t after_ns, by_ns;	/* the line first appeared in a read in (after, by] */
	uint32_t order;			/* index of the line; a later one replaces an earlier one */
	uint32_t name;			/* offset in names */
};

struct perf_map {
	struct symbol *v;
	size_t cnt, cap, sorted_cnt;
	struct buf names;
	uint64_t pos;			/* position in the file */
	uint64_t read_ns;		/* time of the last read */
	uint32_t order;
	bool in_long_line;
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
	free(m);
}

size_t perf_map_bytes(const struct perf_map *m)
{
	return sizeof(*m) + READ_BYTES + m->cap * sizeof(*m->v) + m->names.len;
}

void perf_map_restart(struct perf_map *m)
{
	m->pos = 0;
	m->in_long_line = false;
}

/* ---- reading ---- */

/* Parses a hexadecimal number and the blanks after it. NULL: there is none. */
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
	struct symbol s = { .after_ns = m->read_ns, .order = m->order };
	uint64_t size;
	size_t len;

	p = parse_hex(p, end, &s.start);
	p = p ? parse_hex(p, end, &size) : NULL;
	if (!p || size > SIZE_MAX_BYTES || s.start + size < s.start)
		return 0;
	len = strnlen(p, (size_t)(end - p));
	if (!len || m->cnt == PERF_MAP_MAX_SYMBOLS || m->names.len >= PERF_MAP_MAX_BYTES)
		return 0;
	if (len > PERF_MAP_NAME_MAX)
		len = PERF_MAP_NAME_MAX;
	s.end = s.start + size;
	s.name = (uint32_t)m->names.len;
	buf_add(&m->names, p, len);
	buf_add(&m->names, "", 1);
	m->order++;
	return m->names.failed || array_add(&m->v, &m->cap, &m->cnt, s) ? -ENOMEM : 0;
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
		used = add_lines(m, m->block, (size_t)n);
		if (used < 0)
			r = (int)used;
		if (used <= 0)
			break;
		m->pos += (uint64_t)used;
	}
	m->read_ns = clock_mono_ns();
	for (size_t i = cnt; i < m->cnt; i++)
		m->v[i].by_ns = m->read_ns;
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

/* Sorts the added symbols. A file that is written again repeats known symbols. */
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
 * Returns when a symbol that replaces the first one becomes valid. If both appeared in the same
 * read, the mapping's change that belongs to the first one may be from the same time.
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

/* Finds the symbol without a size that is just before an address, in the same mapping. */
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
