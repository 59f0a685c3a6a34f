/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * parquet: row groups are collected in memory, sorted and encoded column by column; the footer's
 * data is collected until the end.
 */
#include "analyze/parquet/parquet.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "format/columns.h"
#include "format/zpack.h"

/* ---- parquet encode ---- */

/* ---- bits ---- */

/*
 * Appends cnt numbers without gaps, lowest bit first, in groups of eight; the last group is padded
 * with zeros.
 */
static void put_bits(struct buf *b, const uint64_t *v, size_t cnt, unsigned int width)
{
	size_t room = (cnt + 7) / 8 * 8;
	uint8_t *at = buf_room(b, room / 8 * width + TOKEN_SLACK);
	struct token_writer w = { .bits = at };

	for (size_t i = 0; at && i < room; i++) {
		uint64_t x = i < cnt ? v[i] : 0;

		token_put_bits(&w, x & UINT32_MAX, width < 32 ? width : 32);
		if (width > 32)
			token_put_bits(&w, x >> 32, width - 32);
	}
	b->len += at ? room / 8 * width : 0;
}

unsigned int parquet_width(uint64_t max)
{
	return max ? 64 - (unsigned int)__builtin_clzll(max) : 0;
}

/* ---- runs and groups ---- */

/* Appends a run: the same number cnt times. */
static void parquet_put_run(struct buf *b, uint64_t v, size_t cnt, unsigned int width)
{
	buf_add_varint(b, (uint64_t)cnt << 1);
	buf_add(b, &v, (width + 7) / 8);
}

static size_t run_length(const uint64_t *v, size_t cnt)
{
	size_t n = 1;

	while (n < cnt && v[n] == v[0])
		n++;
	return n;
}

/*
 * Appends numbers in groups of eight until a run of at least `least` equal numbers begins. Returns
 * the count of appended numbers.
 */
static size_t put_groups(struct buf *b, const uint64_t *v, size_t cnt, unsigned int width,
			 size_t least)
{
	size_t n = 0;

	while (n < cnt && run_length(v + n, cnt - n < least ? cnt - n : least) < least)
		n += 8;
	buf_add_varint(b, n / 8 << 1 | 1);
	n = n < cnt ? n : cnt;
	put_bits(b, v, n, width);
	return n;
}

void parquet_put_hybrid(struct buf *b, const uint64_t *v, size_t cnt, unsigned int width)
{
	size_t least = width < 4 ? 32 / width : 8;	/* shorter runs do not save bytes */

	for (size_t i = 0; i < cnt;) {
		size_t n = run_length(v + i, cnt - i);

		if (n >= least)
			parquet_put_run(b, v[i], n, width);
		else
			n = put_groups(b, v + i, cnt - i, width, least);
		i += n;
	}
}

/* ---- differences ---- */

#define BLOCK	128	/* number of differences */
#define QUARTER (BLOCK / 4)

/* Appends up to BLOCK differences. Empty quarters take no bytes. */
static void put_block(struct buf *b, const int64_t *deltas, size_t cnt, unsigned int unit)
{
	uint8_t widths[4] = { 0 }, width;
	uint64_t v[BLOCK] = { 0 };
	int64_t min = deltas[0];
	size_t i, last = (cnt + QUARTER - 1) / QUARTER * QUARTER;

	for (i = 1; i < cnt; i++)
		min = deltas[i] < min ? deltas[i] : min;
	for (i = 0; i < cnt; i++) {
		v[i] = (uint64_t)deltas[i] - (uint64_t)min;
		width = (uint8_t)((parquet_width(v[i]) + unit - 1) / unit * unit);
		if (width > widths[i / QUARTER])
			widths[i / QUARTER] = width;
	}
	buf_add_varint(b, zigzag_encode((uint64_t)min));
	buf_add(b, widths, sizeof(widths));
	for (i = 0; i < last; i += QUARTER)
		put_bits(b, v + i, QUARTER, widths[i / QUARTER]);
}

void parquet_put_delta(struct buf *b, const int64_t *v, size_t cnt, unsigned int unit)
{
	int64_t deltas[BLOCK];
	size_t n = 0;

	buf_add_varint(b, BLOCK);
	buf_add_varint(b, BLOCK / QUARTER);
	buf_add_varint(b, cnt);
	buf_add_varint(b, zigzag_encode(cnt ? (uint64_t)v[0] : 0));
	for (size_t i = 1; i < cnt; i++) {
		deltas[n++] = (int64_t)((uint64_t)v[i] - (uint64_t)v[i - 1]);
		if (n == BLOCK || i + 1 == cnt) {
			put_block(b, deltas, n, unit);
			n = 0;
		}
	}
}

#define MAGIC	  "PAR1"
#define ZSTD_LEVEL 3	/* level 7 takes a third more time, and saves only 1 to 4 % */
#define ORDER_MAX 1024	/* rows are sorted only by columns with at most this many values */
#define SAMPLE	  8192	/* number of values or rows tried to find the smallest encoding */

enum { TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTES = 6 };
/* by parquet_type */
static const int types[] = { TYPE_INT64, TYPE_INT64, TYPE_DOUBLE, TYPE_BYTES };
enum { ENCODING_PLAIN, ENCODING_RLE = 3, ENCODING_DELTA = 5, ENCODING_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2, CODEC_ZSTD = 6, OPTIONAL = 1 };

/* ---- structs in Thrift's compact protocol ---- */

/*
 * thrift_begin(t);  thrift_i64(t, 3, rows);  thrift_text(t, 6, "x");  thrift_ends(t, 1);
 *
 * Fields are appended to a buffer, in ascending order of their numbers.
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 */
enum { THRIFT_DEPTH = 8 };

enum thrift_type {
	THRIFT_TRUE = 1, THRIFT_FALSE = 2, THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BYTES = 8,
	THRIFT_LIST = 9, THRIFT_STRUCT = 12
};

struct thrift {
	struct buf *out;
	unsigned int depth;		/* number of open structs */
	int last[THRIFT_DEPTH];		/* the last field written in each open struct */
};

static void thrift_byte(struct thrift *t, unsigned int v)
{
	const uint8_t byte = (uint8_t)v;

	buf_add(t->out, &byte, 1);
}

static void thrift_element_int(struct thrift *t, int64_t v)
{
	buf_add_varint(t->out, zigzag_encode((uint64_t)v));
}

/* Appends the first byte of a field: distance from the previous field's number, and type. */
static void thrift_field(struct thrift *t, int id, enum thrift_type type)
{
	int *last = &t->last[t->depth - 1];

	/* field numbers in Parquet's structs are less than 16 apart */
	thrift_byte(t, (unsigned int)(id - *last) << 4 | type);
	*last = id;
}

/* Begins a struct that is not a field: the outermost one, or an element of a list. */
static void thrift_begin(struct thrift *t)
{
	t->last[t->depth++] = 0;
}

/* Ends the innermost cnt structs. */
static void thrift_ends(struct thrift *t, unsigned int cnt)
{
	for (; cnt; cnt--, t->depth--)
		thrift_byte(t, 0);
}

static void thrift_bool(struct thrift *t, int id, bool v)
{
	thrift_field(t, id, v ? THRIFT_TRUE : THRIFT_FALSE);
}

static void thrift_i32(struct thrift *t, int id, int v)
{
	thrift_field(t, id, THRIFT_I32);
	thrift_element_int(t, v);
}

static void thrift_i64(struct thrift *t, int id, int64_t v)
{
	thrift_field(t, id, THRIFT_I64);
	thrift_element_int(t, v);
}

static void thrift_bytes(struct thrift *t, int id, const void *data, size_t bytes)
{
	thrift_field(t, id, THRIFT_BYTES);
	buf_add_varint(t->out, bytes);
	buf_add(t->out, data, bytes);
}

static void thrift_text(struct thrift *t, int id, const char *text)
{
	thrift_bytes(t, id, text, strlen(text));
}

static void thrift_struct(struct thrift *t, int id)
{
	thrift_field(t, id, THRIFT_STRUCT);
	thrift_begin(t);
}

/* Begins a list; the caller then appends cnt elements. */
static void thrift_list(struct thrift *t, int id, enum thrift_type of, size_t cnt)
{
	thrift_field(t, id, THRIFT_LIST);
	thrift_byte(t, (unsigned int)(cnt < 15 ? cnt : 15) << 4 | of);
	if (cnt >= 15)
		buf_add_varint(t->out, cnt);
}

static void thrift_element_text(struct thrift *t, const char *text)
{
	buf_add_varint(t->out, strlen(text));
	buf_add(t->out, text, strlen(text));
}

/* ---- the file ---- */

/* Data of a column chunk for the footer, which is written after the chunk's pages. */
struct chunk {
	uint64_t at;		/* offset in the file */
	uint64_t data_at;	/* offset of its data page */
	uint64_t raw_bytes, bytes;
	int encoding;		/* encoding of the data page */
	size_t null_cnt;
	int64_t min, max;	/* bounds of numbers; min > max: no numbers */
};

struct column {
	const struct parquet_column *def;
	/* values of the row group: numbers, bits of a PARQUET_REAL, or indexes in the dictionary */
	int64_t values[PARQUET_GROUP_ROWS];
	uint8_t present[PARQUET_GROUP_ROWS];	/* 1; 0: NULL */
	/* index in the dictionary, by value, or by a text's address in the pool */
	struct hash_map numbers;
	struct strpool *pool;
	struct buf dictionary;
	struct chunk chunk;
};

struct parquet {
	FILE *out;
	const char *const *meta;
	uint64_t at;		/* bytes written: offset of the next data */
	unsigned int col_cnt;
	struct column *cols;
	size_t row_cnt, text_bytes; /* in the current row group */
	uint64_t all_rows;
	int order_col;		/* column by which rows are sorted; -1: not chosen yet */
	/*
	 * row numbers of the row group, in the order of writing; the first page has the first
	 * narrow_cnt rows
	 */
	uint32_t order[PARQUET_GROUP_ROWS];
	size_t narrow_cnt;
	/* the page being written: values that are not NULL, in the order of `order` */
	int64_t values[PARQUET_GROUP_ROWS];
	size_t value_cnt;
	uint64_t bits;		/* bits that are set in any of these values */
	uint64_t numbers[PARQUET_GROUP_ROWS];	/* by row of the page: 1 if it has a value */
	struct zpack *zpack;
	struct buf page, packed, header, data;
	struct buf groups;	/* the footer's data about row groups */
	size_t group_cnt;
};

static int no_memory(struct err *e)
{
	return err_set(e, -ENOMEM, "out of memory");
}

static int write_data(struct parquet *p, struct err *e)
{
	if (p->data.failed || p->groups.failed)
		return no_memory(e);
	if (fwrite(p->data.data, 1, p->data.len, p->out) != p->data.len)
		return err_set(e, errno ? -errno : -EIO, "cannot write: %s", strerror(errno));
	p->at += p->data.len;
	buf_reset(&p->data);
	return 0;
}

/* ---- a column's values ---- */

static int add_text(struct parquet *p, struct column *c, const char *text)
{
	const char *kept = c->pool || !strpool_new(&c->pool) ? strpool_put(c->pool, text) : NULL;
	uint32_t number, bytes;
	int is_new = kept ? hash_map_intern(&c->numbers, (uintptr_t)kept, 0, &number) : -ENOMEM;

	if (is_new > 0) {
		bytes = (uint32_t)strlen(kept);
		buf_add(&c->dictionary, &bytes, sizeof(bytes));
		buf_add(&c->dictionary, kept, bytes);
		p->text_bytes += bytes;
	}
	if (is_new >= 0)
		c->values[p->row_cnt] = number;
	return is_new;
}

static int add_value(struct parquet *p, struct column *c, const struct value *v)
{
	enum parquet_type type = c->def->type;
	struct chunk *k = &c->chunk;

	c->present[p->row_cnt] = v->type != VALUE_NULL;
	c->values[p->row_cnt] = 0;
	k->null_cnt += v->type == VALUE_NULL;
	if (v->type == VALUE_TEXT && type == PARQUET_TEXT)
		return add_text(p, c, v->text);
	if (v->type == VALUE_REAL && type == PARQUET_REAL) {
		memcpy(&c->values[p->row_cnt], &v->r, sizeof(v->r));
	} else if (v->type == VALUE_INT && type <= PARQUET_TIME) {
		c->values[p->row_cnt] = v->i;
		k->min = v->i < k->min ? v->i : k->min;
		k->max = v->i > k->max ? v->i : k->max;
	} else if (v->type != VALUE_NULL) {
		return -EPROTO;
	}
	return 0;
}

static void begin_column(struct column *c)
{
	c->chunk = (struct chunk){ .min = INT64_MAX, .max = INT64_MIN };
	hash_map_clear(&c->numbers);
	buf_reset(&c->dictionary);
	strpool_free(c->pool);
	c->pool = NULL;
}

/* ---- pages ---- */

/* Compresses raw into p->packed. */
static int pack(struct parquet *p, const uint8_t *raw, size_t len)
{
	buf_reset(&p->packed);
	if (!buf_room(&p->packed, zpack_bound(len)))
		return -ENOMEM;
	return zpack_frame(p->zpack, p->packed.data, p->packed.cap, raw, len, &p->packed.len);
}

/* Appends a page: a header in Thrift, followed by the compressed bytes. */
static int write_page(struct parquet *p, struct chunk *k, const struct buf *raw, int type,
		      size_t value_cnt, int encoding, struct err *e)
{
	struct thrift t = { .out = &p->header };

	buf_reset(&p->header);
	if (raw->len > INT_MAX)
		return err_set(e, -EFBIG, "a page has more than 2 GiB");
	if (raw->failed || pack(p, raw->data, raw->len))
		return no_memory(e);
	thrift_begin(&t);
	thrift_i32(&t, 1, type);
	thrift_i32(&t, 2, (int)raw->len);
	thrift_i32(&t, 3, (int)p->packed.len);
	thrift_struct(&t, type == PAGE_DATA ? 5 : 7);
	thrift_i32(&t, 1, (int)value_cnt);
	thrift_i32(&t, 2, encoding);
	if (type == PAGE_DATA) {
		thrift_i32(&t, 3, ENCODING_RLE);
		thrift_i32(&t, 4, ENCODING_RLE);
	}
	thrift_ends(&t, 2);
	k->raw_bytes += p->header.len + raw->len;
	k->bytes += p->header.len + p->packed.len;
	buf_add(&p->data, p->header.data, p->header.len);
	buf_add(&p->data, p->packed.data, p->packed.len);
	return p->header.failed || p->data.failed ? no_memory(e) : 0;
}

/*
 * Appends which rows have a value, as a list preceded by its length in bytes. Collects the values;
 * the caller appends them.
 */
static void put_present(struct parquet *p, const struct column *c, size_t from, size_t to)
{
	size_t at = p->page.len;
	uint32_t bytes = 0;

	p->value_cnt = p->bits = 0;
	for (size_t i = from; i < to; i++) {
		uint32_t row = p->order[i];

		p->numbers[i - from] = c->present[row];
		p->values[p->value_cnt] = c->values[row];
		p->value_cnt += c->present[row];
		p->bits |= (uint64_t)c->values[row];
	}
	buf_add(&p->page, &bytes, sizeof(bytes));
	parquet_put_hybrid(&p->page, p->numbers, to - from, 1);
	bytes = (uint32_t)(p->page.len - at - sizeof(bytes));
	if (!p->page.failed)
		memcpy(p->page.data + at, &bytes, sizeof(bytes));
}

/* Appends the values as differences, or as dictionary indexes preceded by their width in bits. */
static void put_values(struct parquet *p, const struct column *c, size_t cnt, unsigned int unit)
{
	uint8_t width;

	if (c->chunk.encoding == ENCODING_DELTA) {
		parquet_put_delta(&p->page, p->values, cnt, unit);
		return;
	}
	/* at least one bit, because readers disagree on width 0 */
	width = (uint8_t)((parquet_width(p->bits | 1) + unit - 1) / unit * unit);
	buf_add(&p->page, &width, 1);
	parquet_put_hybrid(&p->page, (const uint64_t *)p->values, cnt, width);
}

/*
 * Returns the unit of widths in bits, 1 or 8: the unit with which a sample is smaller. Whole bytes
 * may compress better than fewer bits if values repeat.
 */
static unsigned int choose_unit(struct parquet *p, const struct column *c)
{
	size_t at = p->page.len, bytes[2] = { 0 };

	for (int i = 0; i < 2; i++) {
		put_values(p, c, p->value_cnt < SAMPLE ? p->value_cnt : SAMPLE, i ? 8 : 1);
		if (p->page.failed || pack(p, p->page.data + at, p->page.len - at))
			return 8;
		bytes[i] = p->packed.len;
		p->page.len = at;
	}
	return bytes[0] < bytes[1] ? 1 : 8;
}

/* Writes a page with the rows [from, to) of p->order. */
static int write_rows(struct parquet *p, struct column *c, size_t from, size_t to, struct err *e)
{
	int encoding = c->chunk.encoding;

	buf_reset(&p->page);
	put_present(p, c, from, to);
	if (!p->value_cnt)
		encoding = ENCODING_PLAIN;
	else if (encoding == ENCODING_PLAIN)
		buf_add(&p->page, p->values, p->value_cnt * sizeof(*p->values));
	else
		put_values(p, c, p->value_cnt, choose_unit(p, c));
	return write_page(p, &c->chunk, &p->page, PAGE_DATA, to - from, encoding, e);
}

static int write_column(struct parquet *p, struct column *c, struct err *e)
{
	struct chunk *k = &c->chunk;
	int ret = 0;

	k->raw_bytes = k->bytes = 0; /* a trial may have written the column already */
	k->at = p->at + p->data.len;
	if (k->encoding == ENCODING_DICTIONARY)
		ret = write_page(p, k, &c->dictionary, PAGE_DICTIONARY, c->numbers.cnt,
				 ENCODING_PLAIN, e);
	k->data_at = p->at + p->data.len;
	for (size_t from = 0, to = p->narrow_cnt; !ret && from < p->row_cnt; to = p->row_cnt) {
		ret = write_rows(p, c, from, to, e);
		from = to;
	}
	return ret;
}

/*
 * Replaces the values of an INT column by dictionary indexes. Returns false, with unchanged values,
 * if there are too many different values.
 */
static bool number_values(struct parquet *p, struct column *c)
{
	size_t most = (p->row_cnt - c->chunk.null_cnt) / 2 + 1;
	/* cache, by a hash of a value: number of a row with the value, plus 1; 0: empty */
	uint32_t last[256] = { 0 }, number;
	int is_new;

	for (size_t i = 0; i < p->row_cnt; i++) {
		uint64_t v = (uint64_t)c->values[i];
		uint32_t *row = &last[(uint8_t)(v ^ v >> 6)];

		p->numbers[i] = 0;
		if (!c->present[i])
			continue;
		if (*row && c->values[*row - 1] == c->values[i]) {
			p->numbers[i] = p->numbers[*row - 1];
			continue;
		}
		is_new = hash_map_intern(&c->numbers, v, 0, &number);
		/* if most of the first values are new, expect the same of the others */
		if (is_new < 0 || c->numbers.cnt > most || c->numbers.cnt > SAMPLE / 4 + i / 4 * 3)
			return false;
		if (is_new)
			buf_add(&c->dictionary, &v, sizeof(v));
		p->numbers[i] = number;
		*row = (uint32_t)i + 1;
	}
	memcpy(c->values, p->numbers, p->row_cnt * sizeof(*c->values));
	return true;
}

static void prepare_column(struct parquet *p, struct column *c)
{
	enum parquet_type type = c->def->type;
	struct chunk *k = &c->chunk;

	k->encoding = ENCODING_DICTIONARY;
	if (type == PARQUET_REAL || k->null_cnt == p->row_cnt)
		k->encoding = ENCODING_PLAIN;
	else if (type == PARQUET_TIME || (type == PARQUET_INT && !number_values(p, c)))
		k->encoding = ENCODING_DELTA;
}

/* ---- the footer's contents ---- */

static void put_chunk(struct thrift *t, const struct column *c, size_t row_cnt)
{
	const struct chunk *k = &c->chunk;

	thrift_begin(t);
	thrift_i64(t, 2, (int64_t)k->at);
	thrift_struct(t, 3);
	thrift_i32(t, 1, types[c->def->type]);
	thrift_list(t, 2, THRIFT_I32, k->encoding == ENCODING_PLAIN ? 2 : 3);
	thrift_element_int(t, ENCODING_RLE);
	thrift_element_int(t, ENCODING_PLAIN);	/* for dictionaries, and for pages without values */
	if (k->encoding != ENCODING_PLAIN)
		thrift_element_int(t, k->encoding);
	thrift_list(t, 3, THRIFT_BYTES, 1);
	thrift_element_text(t, c->def->name);
	thrift_i32(t, 4, CODEC_ZSTD);
	thrift_i64(t, 5, (int64_t)row_cnt);
	thrift_i64(t, 6, (int64_t)k->raw_bytes);
	thrift_i64(t, 7, (int64_t)k->bytes);
	thrift_i64(t, 9, (int64_t)k->data_at);
	if (k->data_at > k->at)
		thrift_i64(t, 11, (int64_t)k->at);
	thrift_struct(t, 12);
	thrift_i64(t, 3, (int64_t)k->null_cnt);
	if (k->min <= k->max) {
		thrift_bytes(t, 5, &k->max, sizeof(k->max));
		thrift_bytes(t, 6, &k->min, sizeof(k->min));
	}
	thrift_ends(t, 3);
}

static void put_group(struct parquet *p)
{
	struct thrift t = { .out = &p->groups };
	uint64_t raw_bytes = 0;

	thrift_begin(&t);
	thrift_list(&t, 1, THRIFT_STRUCT, p->col_cnt);
	for (unsigned int i = 0; i < p->col_cnt; i++) {
		put_chunk(&t, &p->cols[i], p->row_cnt);
		raw_bytes += p->cols[i].chunk.raw_bytes;
	}
	thrift_i64(&t, 2, (int64_t)raw_bytes);
	thrift_i64(&t, 3, (int64_t)p->row_cnt);
	thrift_i64(&t, 5, (int64_t)p->at);
	thrift_i64(&t, 6, (int64_t)p->data.len);
	thrift_ends(&t, 1);
	p->group_cnt++;
}

/*
 * Moves rows to the end if their dictionary number in column c needs more than one byte. Does
 * nothing if there are many such rows.
 */
static void move_wide(struct parquet *p, const struct column *c)
{
	size_t wide = 0;

	for (size_t i = 0; i < p->row_cnt; i++)
		wide += c->values[i] > UINT8_MAX;
	for (size_t i = 0; wide && wide <= p->row_cnt / 64 && i < p->row_cnt; i++)
		p->numbers[i] |= c->values[i] > UINT8_MAX ? ORDER_MAX : 0;
}

/* Sorts rows by a column with at most ORDER_MAX different values; the sort is stable. */
static void order_rows(struct parquet *p, const struct column *c)
{
	bool has = c && c->chunk.encoding == ENCODING_DICTIONARY && c->numbers.cnt <= ORDER_MAX;
	uint32_t place[2 * ORDER_MAX + 1] = { 0 };

	for (size_t i = 0; i < p->row_cnt; i++)
		p->numbers[i] = has ? (uint64_t)c->values[i] : 0;
	for (unsigned int i = 0; i < p->col_cnt; i++)
		if (p->cols[i].chunk.encoding == ENCODING_DICTIONARY)
			move_wide(p, &p->cols[i]);
	for (size_t i = 0; i < p->row_cnt; i++)
		place[p->numbers[i] + 1]++;
	for (size_t i = 1; i <= (size_t)2 * ORDER_MAX; i++)
		place[i] += place[i - 1];
	p->narrow_cnt = place[ORDER_MAX] ? place[ORDER_MAX] : p->row_cnt;
	for (size_t i = 0; i < p->row_cnt; i++)
		p->order[place[p->numbers[i]]++] = (uint32_t)i;
}

static int write_columns(struct parquet *p, int order_col, struct err *e)
{
	int ret = 0;

	order_rows(p, order_col < 0 ? NULL : &p->cols[order_col]);
	for (unsigned int i = 0; !ret && i < p->col_cnt; i++)
		ret = write_column(p, &p->cols[i], e);
	return ret;
}

/* Chooses the column to sort by: the one with which a sample is smallest. */
static int choose_order(struct parquet *p, struct err *e)
{
	size_t row_cnt = p->row_cnt, best = SIZE_MAX;
	int ret = 0;

	p->row_cnt = row_cnt < SAMPLE ? row_cnt : SAMPLE;
	for (unsigned int i = 0; !ret && i < p->col_cnt; i++) {
		if (!p->cols[i].def->orders)
			continue;
		ret = write_columns(p, (int)i, e);
		if (p->data.len < best)
			p->order_col = (int)i;
		best = p->data.len < best ? p->data.len : best;
		buf_reset(&p->data);
	}
	p->row_cnt = row_cnt;
	return ret;
}

static int write_group(struct parquet *p, struct err *e)
{
	int ret;

	for (unsigned int i = 0; i < p->col_cnt; i++)
		prepare_column(p, &p->cols[i]);
	ret = p->order_col < 0 ? choose_order(p, e) : 0;
	ret = ret ?: write_columns(p, p->order_col, e);
	put_group(p);
	ret = ret ?: write_data(p, e);
	for (unsigned int i = 0; i < p->col_cnt; i++)
		begin_column(&p->cols[i]);
	p->all_rows += p->row_cnt;
	p->row_cnt = p->text_bytes = 0;
	return ret;
}

static void put_schema(const struct parquet *p, struct thrift *t)
{
	thrift_list(t, 2, THRIFT_STRUCT, p->col_cnt + 1);
	thrift_begin(t);
	thrift_text(t, 4, "schema");
	thrift_i32(t, 5, (int)p->col_cnt);
	thrift_ends(t, 1);
	for (unsigned int i = 0; i < p->col_cnt; i++) {
		const struct parquet_column *def = p->cols[i].def;

		thrift_begin(t);
		thrift_i32(t, 1, types[def->type]);
		thrift_i32(t, 3, OPTIONAL);
		thrift_text(t, 4, def->name);
		if (def->type == PARQUET_TEXT) {
			thrift_i32(t, 6, 0);	/* UTF8, for old readers */
			thrift_struct(t, 10);
			thrift_struct(t, 1);	/* STRING */
			thrift_ends(t, 2);
		} else if (def->type == PARQUET_TIME) {
			thrift_struct(t, 10);
			thrift_struct(t, 8);	/* TIMESTAMP */
			/*
			 * isAdjustedToUTC: false although times are UTC, because DuckDB keeps ns
			 * only without a zone
			 */
			thrift_bool(t, 1, false);
			thrift_struct(t, 2);
			thrift_struct(t, 3);	/* ns */
			thrift_ends(t, 4);
		}
		thrift_ends(t, 1);
	}
}

static void put_footer(struct parquet *p, struct buf *out)
{
	struct thrift t = { .out = out };
	uint32_t bytes, cnt = 0;

	while (p->meta[2 * cnt])
		cnt++;
	thrift_begin(&t);
	thrift_i32(&t, 1, 1);
	put_schema(p, &t);
	thrift_i64(&t, 3, (int64_t)p->all_rows);
	thrift_list(&t, 4, THRIFT_STRUCT, p->group_cnt);
	buf_add(out, p->groups.data, p->groups.len);
	thrift_list(&t, 5, THRIFT_STRUCT, cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		thrift_begin(&t);
		thrift_text(&t, 1, p->meta[2 * i]);
		thrift_text(&t, 2, p->meta[2 * i + 1]);
		thrift_ends(&t, 1);
	}
	thrift_text(&t, 6, "ebpfrec");
	thrift_list(&t, 7, THRIFT_STRUCT, p->col_cnt);
	for (unsigned int i = 0; i < p->col_cnt; i++) {
		thrift_begin(&t);	/* order of a column's bounds: the order of its type */
		thrift_struct(&t, 1);
		thrift_ends(&t, 2);
	}
	thrift_ends(&t, 1);
	bytes = (uint32_t)out->len;
	buf_add(out, &bytes, sizeof(bytes));
	buf_add(out, MAGIC, 4);
}

/* ---- interface ---- */

int parquet_new(struct parquet **ret, FILE *out, const struct parquet_column *cols,
		unsigned int col_cnt, const char *const *meta, struct err *e)
{
	struct parquet *p = calloc(1, sizeof(*p));
	int c = -ENOMEM;

	if (!p)
		return no_memory(e);
	p->out = out;
	p->meta = meta;
	p->col_cnt = col_cnt;
	p->order_col = -1;
	p->cols = calloc(col_cnt, sizeof(*p->cols));
	if (p->cols)
		c = zpack_new(&p->zpack, ZSTD_LEVEL);
	for (unsigned int i = 0; !c && i < col_cnt; i++) {
		p->cols[i].def = &cols[i];
		/* for a constant, the first row's value stands for all rows */
		memset(p->cols[i].present, 1, sizeof(p->cols[i].present));
		begin_column(&p->cols[i]);
	}
	buf_add(&p->data, MAGIC, 4);
	c = c ? no_memory(e) : write_data(p, e);
	if (c)
		parquet_free(p);
	else
		*ret = p;
	return c;
}

int parquet_row(struct parquet *p, const struct value *values, struct err *e)
{
	for (unsigned int i = 0; i < p->col_cnt; i++) {
		struct column *col = &p->cols[i];
		int c = !col->def->constant ? add_value(p, col, values++) :
			!p->row_cnt ? add_text(p, col, col->def->constant) : 0;

		if (c < 0)
			return err_set(e, c, "column %s: %s", col->def->name, strerror(-c));
	}
	if (++p->row_cnt < PARQUET_GROUP_ROWS && p->text_bytes < PARQUET_GROUP_TEXT)
		return 0;
	return write_group(p, e);
}

int parquet_finish(struct parquet *p, struct err *e)
{
	int ret = p->row_cnt ? write_group(p, e) : 0;

	put_footer(p, &p->data);
	ret = ret ?: write_data(p, e);
	if (!ret && fflush(p->out))
		ret = err_set(e, -errno, "cannot write: %s", strerror(errno));
	return ret;
}

void parquet_free(struct parquet *p)
{
	if (!p)
		return;
	for (unsigned int i = 0; p->cols && i < p->col_cnt; i++) {
		hash_map_done(&p->cols[i].numbers);
		strpool_free(p->cols[i].pool);
		buf_done(&p->cols[i].dictionary);
	}
	free(p->cols);
	zpack_free(p->zpack);
	buf_done(&p->page);
	buf_done(&p->packed);
	buf_done(&p->header);
	buf_done(&p->groups);
	buf_done(&p->data);
	free(p);
}
