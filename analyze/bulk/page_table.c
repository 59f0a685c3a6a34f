/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Each row becomes a record in the table's b-tree. The key of an index goes to the index at once
 * where keys come in order (the time of an event), else through a sort.
 */
#include "analyze/bulk/page_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/bulk/key_sort.h"
#include "base/array.h"

struct page_index {
	const struct bulk_index *schema;
	struct btree_fill *tree;
	struct key_sort *sort; /* NULL: keys come in order */
};

struct page_table {
	const struct bulk_schema *schema;
	struct btree_fill *tree;
	struct page_index indexes[BULK_INDEXES_MAX];
	uint64_t row_cnt;
	uint8_t *record;
	size_t record_cap;
};

static bool comes_in_order(const struct bulk_schema *s, const struct bulk_index *x)
{
	return x->col_cnt == 1 && (int)x->cols[0] == s->ascending_col;
}

static int new_index(struct page_index *x, struct db_file *f, const struct bulk_schema *s,
		     const struct bulk_index *schema, const char *sort_dir)
{
	int ret = btree_fill_new(&x->tree, f, schema->root, true);

	x->schema = schema;
	if (!ret && !comes_in_order(s, schema))
		ret = key_sort_new(&x->sort, sort_dir, schema->col_cnt);
	return ret;
}

int page_table_new(struct page_table **ret, struct db_file *f, const struct bulk_schema *s,
		   const char *sort_dir)
{
	struct page_table *t = calloc(1, sizeof(*t));
	unsigned int i;
	int c = -ENOMEM;

	if (!t)
		return c;
	t->schema = s;
	c = btree_fill_new(&t->tree, f, s->root, false);
	for (i = 0; i < s->index_cnt && !c; i++)
		c = new_index(&t->indexes[i], f, s, &s->indexes[i], sort_dir);
	if (c < 0)
		page_table_free(t);
	else
		*ret = t;
	return c;
}

void page_table_free(struct page_table *t)
{
	unsigned int i;

	if (!t)
		return;
	for (i = 0; i < t->schema->index_cnt; i++) {
		btree_fill_free(t->indexes[i].tree);
		key_sort_free(t->indexes[i].sort);
	}
	btree_fill_free(t->tree);
	free(t->record);
	free(t);
}

/* ---- records ---- */

/* The serial type of a value; *ret_bytes is the space that is sure to hold it. -1: not written. */
static int64_t serial_type(const struct bulk_value *v, size_t *ret_bytes)
{
	*ret_bytes = 0;
	switch (v->type) {
	case BULK_NULL:
		return 0;
	case BULK_INT:
		*ret_bytes = 8;
		return db_int_type(v->i);
	case BULK_TEXT:
		*ret_bytes = v->text_bytes;
		return 13 + 2 * (int64_t)v->text_bytes;
	default:
		return -1;
	}
}

static size_t put_value(uint8_t *dst, const struct bulk_value *v)
{
	if (v->type == BULK_INT)
		return db_put_int(dst, v->i, db_int_type(v->i));
	if (v->type == BULK_NULL)
		return 0;
	memcpy(dst, v->text, v->text_bytes);
	return v->text_bytes;
}

/* Returns the bytes of the record in t->record, or -errno. */
static ssize_t make_record(struct page_table *t, const struct bulk_value *values)
{
	uint8_t types[BULK_COLUMNS_MAX * 9];
	size_t head = 0, body = 0, at, bytes;
	unsigned int i;

	for (i = 0; i < t->schema->col_cnt; i++) {
		int64_t type = serial_type(&values[i], &bytes);

		if (type < 0)
			return -EINVAL;
		head += db_put_varint(types + head, (uint64_t)type);
		body += bytes;
	}
	/* The head's length counts itself: one byte, or two when the head is very long. */
	at = head + 1 < 0x80 ? 1 : 2;
	if (array_reserve(&t->record, &t->record_cap, at + head + body) < 0)
		return -ENOMEM;
	db_put_varint(t->record, at + head);
	memcpy(t->record + at, types, head); /* cppcheck-suppress uninitvar ; head bytes are set */
	at += head;
	for (i = 0; i < t->schema->col_cnt; i++)
		at += put_value(t->record + at, &values[i]);
	return (ssize_t)at;
}

static int put_entry(const struct page_index *x, const struct sort_key *key, struct err *e)
{
	uint8_t record[BTREE_ENTRY_MAX], body[BTREE_ENTRY_MAX];
	size_t head = 1, bytes = 0;
	unsigned int i, type;

	for (i = 0; i < x->schema->col_cnt; i++) {
		type = !i && key->is_null ? 0 : db_int_type(key->value[i]);
		record[head++] = (uint8_t)type;
		if (type)
			bytes += db_put_int(body + bytes, key->value[i], type);
	}
	type = db_int_type((int64_t)key->rowid);
	record[head++] = (uint8_t)type;
	bytes += db_put_int(body + bytes, (int64_t)key->rowid, type);
	record[0] = (uint8_t)head;
	memcpy(record + head, body, bytes);
	return btree_fill_entry(x->tree, record, head + bytes, e);
}

/* ---- rows ---- */

static int index_row(struct page_table *t, const struct bulk_value *values, struct err *e)
{
	unsigned int i, k;
	int ret = 0;

	for (i = 0; i < t->schema->index_cnt && !ret; i++) {
		const struct page_index *x = &t->indexes[i];
		struct sort_key key = { .rowid = t->row_cnt };

		for (k = 0; k < x->schema->col_cnt; k++) {
			const struct bulk_value *v = &values[x->schema->cols[k]];

			if (v->type == BULK_INT)
				key.value[k] = v->i;
			else if (v->type == BULK_NULL && !k)
				key.is_null = true;
			else
				return err_set(e, -EINVAL, "table %s: a key that is no integer",
					       t->schema->name);
		}
		ret = x->sort ? key_sort_add(x->sort, &key, e) : put_entry(x, &key, e);
	}
	return ret;
}

int page_table_row(struct page_table *t, const struct bulk_value *values, struct err *e)
{
	ssize_t bytes = make_record(t, values);
	int ret;

	if (bytes < 0)
		return err_set(e, (int)bytes, "table %s: %s", t->schema->name,
			       err_text(NULL, (int)bytes));
	ret = btree_fill_row(t->tree, ++t->row_cnt, t->record, (size_t)bytes, e);
	return ret ? ret : index_row(t, values, e);
}

int page_table_finish(struct page_table *t, struct err *e)
{
	struct sort_key key;
	unsigned int i;
	int ret = btree_fill_finish(t->tree, e);

	for (i = 0; i < t->schema->index_cnt && !ret; i++) {
		const struct page_index *x = &t->indexes[i];

		while (x->sort && (ret = key_sort_next(x->sort, &key, e)) > 0) {
			ret = put_entry(x, &key, e);
			if (ret < 0)
				break;
		}
		if (!ret)
			ret = btree_fill_finish(x->tree, e);
	}
	return ret;
}
