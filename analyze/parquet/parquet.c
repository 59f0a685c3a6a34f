/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "analyze/parquet/parquet.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/parquet/parquet_encode.h"
#include "analyze/parquet/thrift.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "format/zpack.h"

#define MAGIC	  "PAR1"
#define ZSTD_LEVEL 3	/* level 7 takes a third more time, and makes 1 to 4 % less */
#define ORDER_MAX 1024	/* rows are put in order of smaller numbers only */
#define SAMPLE	  8192	/* values that tell how wide numbers best are */

enum { TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 };
enum { REQUIRED, OPTIONAL };
enum { ENCODING_PLAIN, ENCODING_RLE = 3, ENCODING_DELTA = 5, ENCODING_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { CODEC_ZSTD = 6 };

/* The footer says this of each column chunk, whose pages are written first. */
struct chunk {
	uint64_t at;		/* in the file */
	uint64_t data_at;	/* its data page */
	uint64_t raw_bytes, bytes;
	int encoding;		/* of the data page */
	size_t null_cnt;
	int64_t min, max;	/* of numbers; min is above max when there is none */
};

struct column {
	const struct parquet_column *def;
	/* of the row group's rows; of PARQUET_REAL their bits, of texts their numbers */
	int64_t values[PARQUET_GROUP_ROWS];
	uint8_t present[PARQUET_GROUP_ROWS];	/* 1, or 0 of a NULL */
	struct hash_map numbers; /* by value, or by a text's address in the pool */
	struct strpool *pool;
	struct buf dictionary;
	struct chunk chunk;
};

struct parquet {
	FILE *out;
	const char *const *meta;
	uint64_t at;		/* bytes written */
	unsigned int col_cnt;
	struct column *cols;
	size_t row_cnt, text_bytes; /* of the row group */
	uint64_t all_rows;
	int order_col;		/* -1: rows stay as they come */
	/* the row group's rows, in the order in which they are written */
	uint32_t order[PARQUET_GROUP_ROWS];
	/* the column that is being written, in that order: what is there, without NULLs; and */
	int64_t values[PARQUET_GROUP_ROWS];
	size_t value_cnt;
	/* which rows have a value, then where values are in a dictionary */
	uint64_t numbers[PARQUET_GROUP_ROWS];
	struct zpack *zpack;
	struct buf page, packed, header;
	struct buf groups;	/* what the footer says of each row group */
	size_t group_cnt;
};

static int no_memory(struct err *e)
{
	return err_set(e, -ENOMEM, "out of memory");
}

static int put(struct parquet *p, const struct buf *b, struct err *e)
{
	if (b->failed)
		return no_memory(e);
	if (fwrite(b->data, 1, b->len, p->out) != b->len)
		return err_set(e, errno ? -errno : -EIO, "cannot write: %s", strerror(errno));
	p->at += b->len;
	return 0;
}

/* ---- a column's values ---- */

static int begin_texts(struct column *c)
{
	strpool_free(c->pool);
	c->pool = NULL;
	return strpool_new(&c->pool);
}

static void put_dictionary_text(struct column *c, const char *text, uint32_t bytes)
{
	buf_add(&c->dictionary, &bytes, sizeof(bytes));
	buf_add(&c->dictionary, text, bytes);
}

static int add_text(struct parquet *p, struct column *c, const char *text)
{
	const char *kept = strpool_put(c->pool, text);
	uint32_t number;
	int is_new;

	if (!kept)
		return -ENOMEM;
	is_new = hash_map_intern(&c->numbers, (uintptr_t)kept, 0, &number);
	if (is_new > 0) {
		uint32_t bytes = (uint32_t)strlen(kept);

		put_dictionary_text(c, kept, bytes);
		p->text_bytes += bytes;
	}
	c->values[p->row_cnt] = number;
	return is_new;
}

static int add_value(struct parquet *p, struct column *c, const struct value *v)
{
	enum parquet_type type = c->def->type;

	c->present[p->row_cnt] = v->type != VALUE_NULL;
	c->values[p->row_cnt] = 0;
	if (v->type == VALUE_TEXT && type == PARQUET_TEXT)
		return add_text(p, c, v->text);
	if (v->type == VALUE_REAL && type == PARQUET_REAL)
		memcpy(&c->values[p->row_cnt], &v->r, sizeof(v->r));
	else if (v->type == VALUE_INT && type <= PARQUET_TIME)
		c->values[p->row_cnt] = v->i;
	else if (v->type != VALUE_NULL)
		return -EPROTO;
	return 0;
}

/* ---- pages ---- */

/* Into packed. */
static int pack(struct parquet *p, const uint8_t *raw, size_t len)
{
	buf_reset(&p->packed);
	if (!buf_room(&p->packed, zpack_bound(len)))
		return -ENOMEM;
	return zpack_frame(p->zpack, p->packed.data, p->packed.cap, raw, len, &p->packed.len);
}

/* A page is a header in Thrift, then its bytes, packed. */
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
	return put(p, &p->header, e) ?: put(p, &p->packed, e);
}

/* Which rows have a value: the length of what says so, then that. The values come after it. */
static void put_present(struct parquet *p, const struct column *c)
{
	size_t at = p->page.len;
	uint32_t bytes = 0;

	p->value_cnt = 0;
	for (size_t i = 0; i < p->row_cnt; i++) {
		p->numbers[i] = c->present[p->order[i]];
		if (p->numbers[i])
			p->values[p->value_cnt++] = c->values[p->order[i]];
	}
	buf_add(&p->page, &bytes, sizeof(bytes));
	parquet_put_hybrid(&p->page, p->numbers, p->row_cnt, 1);
	bytes = (uint32_t)(p->page.len - at - sizeof(bytes));
	if (!p->page.failed)
		memcpy(p->page.data + at, &bytes, sizeof(bytes));
}

/* Fills the dictionary with an INT column's values. False: too many are new; or out of memory. */
static bool number_values(struct parquet *p, struct column *c)
{
	const int64_t *v = p->values;
	size_t most = p->value_cnt / 4 + 1;
	uint32_t number;
	int is_new;

	for (size_t i = 0; i < p->value_cnt; i++) {
		if (i && v[i] == v[i - 1]) {
			p->numbers[i] = p->numbers[i - 1];
			continue;
		}
		is_new = hash_map_intern(&c->numbers, (uint64_t)v[i], 0, &number);
		if (is_new < 0 || c->numbers.cnt > most)
			return false;
		if (is_new)
			buf_add(&c->dictionary, &v[i], sizeof(v[i]));
		p->numbers[i] = number;
	}
	return true;
}

/* Differences, or numbers into the dictionary: how many bits each has, then these. */
static void put_values(struct parquet *p, const struct column *c, size_t cnt, unsigned int unit)
{
	uint8_t width;

	if (c->chunk.encoding == ENCODING_DELTA) {
		parquet_put_delta(&p->page, p->values, cnt, unit);
		return;
	}
	/* at least one: readers differ in what they make of no bits */
	width = (uint8_t)((parquet_width((c->numbers.cnt - 1) | 1) + unit - 1) / unit * unit);
	buf_add(&p->page, &width, 1);
	parquet_put_hybrid(&p->page, p->numbers, cnt, width);
}

/* Whole bytes pack better than fewer bits where values repeat. The first ones tell. */
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

static int write_dictionary(struct parquet *p, struct column *c, size_t cnt, struct err *e)
{
	c->chunk.encoding = ENCODING_DICTIONARY;
	return write_page(p, &c->chunk, &c->dictionary, PAGE_DICTIONARY, cnt, ENCODING_PLAIN, e);
}

static int write_constant(struct parquet *p, struct column *c, struct err *e)
{
	const uint8_t width = 1;

	put_dictionary_text(c, c->def->constant, (uint32_t)strlen(c->def->constant));
	buf_add(&p->page, &width, 1);
	parquet_put_run(&p->page, 0, p->row_cnt, width);
	return write_dictionary(p, c, 1, e);
}

/* The page's values, after the dictionary page if there is one. */
static int encode_column(struct parquet *p, struct column *c, struct err *e)
{
	enum parquet_type type = c->def->type;

	if (c->def->constant)
		return write_constant(p, c, e);
	put_present(p, c);
	if (type == PARQUET_REAL || !p->value_cnt) {
		c->chunk.encoding = ENCODING_PLAIN;
		buf_add(&p->page, p->values, p->value_cnt * sizeof(*p->values));
		return 0;
	}
	if (type == PARQUET_TEXT) {
		for (size_t i = 0; i < p->value_cnt; i++)
			p->numbers[i] = (uint64_t)p->values[i];
	} else if (type == PARQUET_TIME || !number_values(p, c)) {
		c->chunk.encoding = ENCODING_DELTA;
	}
	put_values(p, c, p->value_cnt, choose_unit(p, c));
	return c->chunk.encoding == ENCODING_DELTA ? 0 : write_dictionary(p, c, c->numbers.cnt, e);
}

/* Texts and real numbers have none. */
static void set_bounds(const struct parquet *p, struct column *c)
{
	struct chunk *k = &c->chunk;

	k->null_cnt = c->def->constant ? 0 : p->row_cnt - p->value_cnt;
	k->min = INT64_MAX;
	k->max = INT64_MIN;
	for (size_t i = 0; c->def->type <= PARQUET_TIME && i < p->value_cnt; i++) {
		k->min = p->values[i] < k->min ? p->values[i] : k->min;
		k->max = p->values[i] > k->max ? p->values[i] : k->max;
	}
}

static int write_column(struct parquet *p, struct column *c, struct err *e)
{
	int ret;

	buf_reset(&p->page);
	p->value_cnt = 0;
	c->chunk = (struct chunk){ .at = p->at };
	ret = encode_column(p, c, e);
	c->chunk.data_at = p->at;
	set_bounds(p, c);
	return ret ?: write_page(p, &c->chunk, &p->page, PAGE_DATA, p->row_cnt, c->chunk.encoding,
				 e);
}

/* ---- what the footer says ---- */

static int type_of(const struct parquet_column *def)
{
	return def->type == PARQUET_TEXT ? TYPE_BYTE_ARRAY :
	       def->type == PARQUET_REAL ? TYPE_DOUBLE : TYPE_INT64;
}

static void put_chunk(struct thrift *t, const struct column *c, size_t row_cnt)
{
	const struct chunk *k = &c->chunk;

	thrift_begin(t);
	thrift_i64(t, 2, (int64_t)k->at);
	thrift_struct(t, 3);
	thrift_i32(t, 1, type_of(c->def));
	thrift_list(t, 2, THRIFT_I32, k->data_at > k->at ? 3 : 2);
	thrift_element_int(t, ENCODING_RLE);
	thrift_element_int(t, k->encoding);
	if (k->data_at > k->at)
		thrift_element_int(t, ENCODING_PLAIN);
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

static void put_group(struct parquet *p, uint64_t at)
{
	struct thrift t = { .out = &p->groups };
	uint64_t raw_bytes = 0, bytes = 0;

	thrift_begin(&t);
	thrift_list(&t, 1, THRIFT_STRUCT, p->col_cnt);
	for (unsigned int i = 0; i < p->col_cnt; i++) {
		put_chunk(&t, &p->cols[i], p->row_cnt);
		raw_bytes += p->cols[i].chunk.raw_bytes;
		bytes += p->cols[i].chunk.bytes;
	}
	thrift_i64(&t, 2, (int64_t)raw_bytes);
	thrift_i64(&t, 3, (int64_t)p->row_cnt);
	thrift_i64(&t, 5, (int64_t)at);
	thrift_i64(&t, 6, (int64_t)bytes);
	thrift_ends(&t, 1);
	p->group_cnt++;
}

/* By the column's number, below ORDER_MAX; rows with the same one stay in order. */
static void order_rows(struct parquet *p)
{
	const int64_t *v = p->order_col < 0 ? NULL : p->cols[p->order_col].values;
	uint32_t place[ORDER_MAX + 1] = { 0 };

	for (size_t i = 0; v && i < p->row_cnt; i++) {
		if ((uint64_t)v[i] >= ORDER_MAX)
			v = NULL;
		else
			place[v[i] + 1]++;
	}
	for (size_t i = 1; i <= ORDER_MAX; i++)
		place[i] += place[i - 1];
	for (size_t i = 0; i < p->row_cnt; i++)
		p->order[v ? place[v[i]]++ : i] = (uint32_t)i;
}

static int write_group(struct parquet *p, struct err *e)
{
	uint64_t at = p->at;
	int ret = 0;

	order_rows(p);
	for (unsigned int i = 0; !ret && i < p->col_cnt; i++)
		ret = write_column(p, &p->cols[i], e);
	if (ret)
		return ret;
	put_group(p, at);
	for (unsigned int i = 0; i < p->col_cnt; i++) {
		struct column *c = &p->cols[i];

		hash_map_clear(&c->numbers);
		buf_reset(&c->dictionary);
		if (c->pool && begin_texts(c))
			return no_memory(e);
	}
	p->all_rows += p->row_cnt;
	p->row_cnt = p->text_bytes = 0;
	return 0;
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
		thrift_i32(t, 1, type_of(def));
		thrift_i32(t, 3, def->constant ? REQUIRED : OPTIONAL);
		thrift_text(t, 4, def->name);
		if (def->type == PARQUET_TEXT) {
			thrift_i32(t, 6, 0);	/* UTF8, for old readers */
			thrift_struct(t, 10);
			thrift_struct(t, 1);	/* STRING */
			thrift_ends(t, 2);
		} else if (def->type == PARQUET_TIME) {
			thrift_struct(t, 10);
			thrift_struct(t, 8);	/* TIMESTAMP */
			/* it is; but DuckDB keeps ns only of times without a zone */
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
		thrift_begin(&t);	/* bounds are in the order of the type */
		thrift_struct(&t, 1);
		thrift_ends(&t, 2);
	}
	thrift_ends(&t, 1);
	bytes = (uint32_t)out->len;
	buf_add(out, &bytes, sizeof(bytes));
	buf_add(out, MAGIC, 4);
}

/* ---- the file ---- */

int parquet_new(struct parquet **ret, FILE *out, const struct parquet_column *cols,
		unsigned int col_cnt, int order_col, const char *const *meta, struct err *e)
{
	struct parquet *p = calloc(1, sizeof(*p));
	int c = -ENOMEM;

	if (!p)
		return no_memory(e);
	p->out = out;
	p->meta = meta;
	p->col_cnt = col_cnt;
	p->order_col = order_col;
	p->cols = calloc(col_cnt, sizeof(*p->cols));
	if (p->cols)
		c = zpack_new(&p->zpack, ZSTD_LEVEL);
	for (unsigned int i = 0; !c && i < col_cnt; i++) {
		p->cols[i].def = &cols[i];
		c = cols[i].type == PARQUET_TEXT ? begin_texts(&p->cols[i]) : 0;
	}
	buf_add(&p->page, MAGIC, 4);
	c = c ? no_memory(e) : put(p, &p->page, e);
	if (c)
		parquet_free(p);
	else
		*ret = p;
	return c;
}

int parquet_row(struct parquet *p, const struct value *values, struct err *e)
{
	for (unsigned int i = 0; i < p->col_cnt; i++) {
		int c = p->cols[i].def->constant ? 0 : add_value(p, &p->cols[i], values++);

		if (c == -EPROTO)
			return err_set(e, c, "column %s: a value of another type",
				       p->cols[i].def->name);
		if (c < 0)
			return no_memory(e);
	}
	if (++p->row_cnt < PARQUET_GROUP_ROWS && p->text_bytes < PARQUET_GROUP_TEXT)
		return 0;
	return write_group(p, e);
}

int parquet_finish(struct parquet *p, struct err *e)
{
	int ret = p->row_cnt ? write_group(p, e) : 0;

	buf_reset(&p->page);
	put_footer(p, &p->page);
	p->page.failed |= p->groups.failed;
	ret = ret ?: put(p, &p->page, e);
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
	free(p);
}
