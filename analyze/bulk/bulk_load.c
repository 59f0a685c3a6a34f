/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Decides once for the whole database whether its tables can be written as pages. Each row then
 * becomes a record in the table's b-tree. The key of an index goes to the index at once where keys
 * come in order (the time of an event), else through a sort.
 */
#include "analyze/bulk/bulk_load.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/bulk/btree_fill.h"
#include "analyze/bulk/key_sort.h"
#include "base/array.h"

#define BULK_INDEXES_MAX 4
#define BULK_COLUMNS_MAX 64

struct bulk_index {
	uint32_t root; /* page number of its b-tree */
	unsigned int col_cnt; /* 1 or 2 */
	unsigned int cols[2];
};

struct bulk_schema {
	const char *name; /* the caller's */
	int ascending_col;
	uint32_t root;
	unsigned int col_cnt;
	struct bulk_index indexes[BULK_INDEXES_MAX];
	unsigned int index_cnt;
	bool is_known; /* it has no more columns and indexes than fit here */
};

struct bulk_load {
	const char *path, *sort_dir;
	struct bulk_schema *tables;
	unsigned int table_cnt;
	struct db_file file;
};

struct table_index {
	const struct bulk_index *schema;
	struct btree_fill *tree;
	struct key_sort *sort; /* NULL: keys come in order */
};

struct bulk_table {
	const struct bulk_schema *schema;
	struct btree_fill *tree;
	struct table_index indexes[BULK_INDEXES_MAX];
	uint64_t row_cnt;
	uint8_t *record;
	size_t record_cap;
};

/* ---- what SQLite says about the tables ---- */

/* The row of the table itself, then one for each column of an index: what pages are made from. */
static const char roots_sql[] =
	"SELECT m.rootpage, x.cid, x.seqno, (SELECT count(*) FROM pragma_table_info(?1)) "
	"FROM sqlite_schema AS m LEFT JOIN pragma_index_xinfo(m.name) AS x "
	"ON m.type = 'index' AND x.key WHERE m.type IN ('table', 'index') AND m.tbl_name = ?1 "
	"ORDER BY m.type = 'index', m.rootpage, x.seqno";

static void take_row(struct bulk_schema *s, sqlite3_stmt *row)
{
	uint32_t root = (uint32_t)sqlite3_column_int64(row, 0);
	struct bulk_index *x;

	if (!s->root) {
		s->root = root;
		s->col_cnt = (unsigned int)sqlite3_column_int(row, 3);
		s->is_known = s->col_cnt <= BULK_COLUMNS_MAX;
		return;
	}
	if (!sqlite3_column_int(row, 2) && s->index_cnt < BULK_INDEXES_MAX)
		s->indexes[s->index_cnt++] = (struct bulk_index){ .root = root };
	x = s->index_cnt ? &s->indexes[s->index_cnt - 1] : NULL;
	if (!x || x->root != root || x->col_cnt == 2)
		s->is_known = false;
	else
		x->cols[x->col_cnt++] = (unsigned int)sqlite3_column_int(row, 1);
}

/* ---- the database ---- */

static int read_schema(struct bulk_load *l, const struct bulk_table_spec *specs, struct err *e)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int ret = 0;

	if (sqlite3_open_v2(l->path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
		    SQLITE_OK ||
	    sqlite3_prepare_v2(db, roots_sql, -1, &stmt, NULL) != SQLITE_OK)
		ret = err_set(e, -EIO, "%s: %s", l->path, sqlite3_errmsg(db));
	for (unsigned int i = 0; i < l->table_cnt && !ret; i++) {
		struct bulk_schema *s = &l->tables[i];

		s->name = specs[i].name;
		s->ascending_col = specs[i].ascending_col;
		sqlite3_bind_text(stmt, 1, s->name, -1, SQLITE_STATIC);
		while (sqlite3_step(stmt) == SQLITE_ROW)
			take_row(s, stmt);
		if (sqlite3_reset(stmt) != SQLITE_OK)
			ret = err_set(e, -EIO, "table %s: %s", s->name, sqlite3_errmsg(db));
		else if (!s->root)
			ret = err_set(e, -ENOENT, "there is no table %s", s->name);
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return ret;
}

static bool is_known(const struct bulk_load *l, const struct bulk_schema *s)
{
	if (!s->is_known || !db_file_is_empty_leaf(&l->file, s->root, false))
		return false;
	for (unsigned int i = 0; i < s->index_cnt; i++)
		if (!db_file_is_empty_leaf(&l->file, s->indexes[i].root, true))
			return false;
	return true;
}

/* 1: pages can be written, 0: they cannot, -errno. */
static int knows_all(struct bulk_load *l, struct err *e)
{
	int ret = db_file_open(&l->file, l->path, e);

	for (unsigned int i = 0; i < l->table_cnt && ret > 0; i++)
		ret = is_known(l, &l->tables[i]);
	return ret;
}

int bulk_load_open(struct bulk_load **ret, const char *path, const char *sort_dir,
		   const struct bulk_table_spec *tables, unsigned int table_cnt, struct err *e)
{
	struct bulk_load *l = calloc(1, sizeof(*l));
	int c = -ENOMEM;

	if (!l)
		return err_set(e, c, "out of memory");
	l->file.fd = -1;
	l->path = path;
	l->sort_dir = sort_dir;
	l->table_cnt = table_cnt;
	l->tables = calloc(table_cnt + 1, sizeof(*l->tables));
	c = l->tables ? read_schema(l, tables, e) : err_set(e, c, "out of memory");
	c = c ?: knows_all(l, e);
	if (c > 0)
		*ret = l;
	else
		bulk_load_free(l);
	return c;
}

int bulk_load_finish(struct bulk_load *l, struct err *e)
{
	return db_file_finish(&l->file, e);
}

void bulk_load_free(struct bulk_load *l)
{
	if (!l)
		return;
	if (l->file.fd >= 0)
		close(l->file.fd);
	free(l->tables);
	free(l);
}

/* ---- one table ---- */

static int new_index(struct table_index *x, struct bulk_load *l, const struct bulk_schema *s,
		     const struct bulk_index *schema)
{
	bool in_order = schema->col_cnt == 1 && (int)schema->cols[0] == s->ascending_col;
	int ret = btree_fill_new(&x->tree, &l->file, schema->root, true);

	x->schema = schema;
	if (!ret && !in_order)
		ret = key_sort_new(&x->sort, l->sort_dir, schema->col_cnt);
	return ret;
}

int bulk_table_open(struct bulk_table **ret, struct bulk_load *l, unsigned int number,
		    struct err *e)
{
	const struct bulk_schema *s = &l->tables[number];
	struct bulk_table *t = calloc(1, sizeof(*t));
	int c = -ENOMEM;

	if (t) {
		t->schema = s;
		c = btree_fill_new(&t->tree, &l->file, s->root, false);
	}
	for (unsigned int i = 0; !c && i < s->index_cnt; i++)
		c = new_index(&t->indexes[i], l, s, &s->indexes[i]);
	if (c < 0) {
		bulk_table_free(t);
		return err_set(e, c, "out of memory");
	}
	*ret = t;
	return 0;
}

void bulk_table_free(struct bulk_table *t)
{
	if (!t)
		return;
	for (unsigned int i = 0; i < t->schema->index_cnt; i++) {
		btree_fill_free(t->indexes[i].tree);
		key_sort_free(t->indexes[i].sort);
	}
	btree_fill_free(t->tree);
	free(t->record);
	free(t);
}

/* ---- records ---- */

/* The serial type of a value; *ret_bytes is the space that is sure to hold it. -1: not written. */
static int64_t serial_type(const struct value *v, size_t *ret_bytes)
{
	*ret_bytes = 0;
	switch (v->type) {
	case VALUE_NULL:
		return 0;
	case VALUE_INT:
		*ret_bytes = 8;
		return db_int_type(v->i);
	case VALUE_TEXT:
		*ret_bytes = v->text_bytes;
		return 13 + 2 * (int64_t)v->text_bytes;
	default:
		return -1;
	}
}

static size_t put_value(uint8_t *dst, const struct value *v)
{
	if (v->type == VALUE_INT)
		return db_put_int(dst, v->i, db_int_type(v->i));
	if (v->type == VALUE_NULL)
		return 0;
	memcpy(dst, v->text, v->text_bytes);
	return v->text_bytes;
}

/* Returns the bytes of the record in t->record, or -errno. */
static ssize_t make_record(struct bulk_table *t, const struct value *values)
{
	uint8_t types[BULK_COLUMNS_MAX * 9];
	size_t head = 0, body = 0, at, bytes;

	for (unsigned int i = 0; i < t->schema->col_cnt; i++) {
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
	for (unsigned int i = 0; i < t->schema->col_cnt; i++)
		at += put_value(t->record + at, &values[i]);
	return (ssize_t)at;
}

static int put_entry(const struct table_index *x, const struct sort_key *key, struct err *e)
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

static int index_row(struct bulk_table *t, const struct value *values, struct err *e)
{
	int ret = 0;

	for (unsigned int i = 0; i < t->schema->index_cnt && !ret; i++) {
		const struct table_index *x = &t->indexes[i];
		struct sort_key key = { .rowid = t->row_cnt };

		for (unsigned int k = 0; k < x->schema->col_cnt; k++) {
			const struct value *v = &values[x->schema->cols[k]];

			if (v->type == VALUE_INT)
				key.value[k] = v->i;
			else if (v->type == VALUE_NULL && !k)
				key.is_null = true;
			else
				return err_set(e, -EINVAL, "table %s: a key that is no integer",
					       t->schema->name);
		}
		ret = x->sort ? key_sort_add(x->sort, &key, e) : put_entry(x, &key, e);
	}
	return ret;
}

int bulk_table_row(struct bulk_table *t, const struct value *values, struct err *e)
{
	ssize_t bytes = make_record(t, values);
	int ret;

	if (bytes < 0)
		return err_set(e, (int)bytes, "table %s: %s", t->schema->name,
			       err_text(NULL, (int)bytes));
	ret = btree_fill_row(t->tree, ++t->row_cnt, t->record, (size_t)bytes, e);
	return ret ? ret : index_row(t, values, e);
}

int bulk_table_finish(struct bulk_table *t, struct err *e)
{
	struct sort_key key;
	int ret = btree_fill_finish(t->tree, e);

	for (unsigned int i = 0; i < t->schema->index_cnt && !ret; i++) {
		const struct table_index *x = &t->indexes[i];

		while (x->sort && (ret = key_sort_next(x->sort, &key, e)) > 0) {
			ret = put_entry(x, &key, e);
			if (ret < 0)
				break;
		}
		ret = ret ?: btree_fill_finish(x->tree, e);
	}
	return ret;
}
