/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Decides once for the whole database how its tables are filled, and hands rows on accordingly. */
#include "analyze/bulk/bulk_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/bulk/insert_table.h"
#include "analyze/bulk/page_table.h"

struct bulk_load {
	const char *path, *sort_dir;
	struct bulk_schema *tables;
	unsigned int table_cnt;
	bool writes_pages;
	struct db_file file; /* writes_pages */
	struct insert_db inserts; /* !writes_pages */
};

struct bulk_table {
	struct page_table *pages; /* NULL: SQLite inserts */
	struct insert_table insert;
};

static int read_schema(struct bulk_load *l, const struct bulk_table_spec *specs, struct err *e)
{
	sqlite3 *db = NULL;
	unsigned int i;
	int ret = 0;

	if (sqlite3_open_v2(l->path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		ret = err_set(e, -EIO, "%s: %s", l->path, sqlite3_errmsg(db));
	for (i = 0; i < l->table_cnt && !ret; i++) {
		l->tables[i].name = specs[i].name;
		l->tables[i].ascending_col = specs[i].ascending_col;
		ret = bulk_schema_read(&l->tables[i], db, e);
	}
	sqlite3_close(db);
	return ret;
}

static bool is_known(const struct bulk_load *l, const struct bulk_schema *s)
{
	unsigned int i;

	if (!s->is_known || !db_file_is_empty_leaf(&l->file, s->root, false))
		return false;
	for (i = 0; i < s->index_cnt; i++)
		if (!db_file_is_empty_leaf(&l->file, s->indexes[i].root, true))
			return false;
	return true;
}

/* 1: pages can be written, 0: they cannot, -errno. */
static int knows_all(struct bulk_load *l, struct err *e)
{
	unsigned int i;
	int ret = db_file_open(&l->file, l->path, e);

	for (i = 0; i < l->table_cnt && ret > 0; i++)
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
	pthread_mutex_init(&l->inserts.lock, NULL);
	l->file.fd = -1;
	l->path = path;
	l->sort_dir = sort_dir;
	l->table_cnt = table_cnt;
	l->tables = calloc(table_cnt + 1, sizeof(*l->tables));
	c = l->tables ? read_schema(l, tables, e) : err_set(e, c, "out of memory");
	if (!c)
		c = knows_all(l, e);
	l->writes_pages = c > 0;
	if (!c)
		c = insert_db_open(&l->inserts, path, e);
	if (c < 0)
		bulk_load_free(l);
	else
		*ret = l;
	return c < 0 ? c : 0;
}

int bulk_load_finish(struct bulk_load *l, struct err *e)
{
	return l->writes_pages ? db_file_finish(&l->file, e) : insert_db_finish(&l->inserts, e);
}

void bulk_load_free(struct bulk_load *l)
{
	if (!l)
		return;
	insert_db_close(&l->inserts);
	pthread_mutex_destroy(&l->inserts.lock);
	if (l->file.fd >= 0)
		close(l->file.fd);
	free(l->tables);
	free(l);
}

int bulk_table_open(struct bulk_table **ret, struct bulk_load *l, unsigned int number,
		    struct err *e)
{
	struct bulk_table *t = calloc(1, sizeof(*t));
	int c = -ENOMEM;

	if (t && l->writes_pages)
		c = page_table_new(&t->pages, &l->file, &l->tables[number], l->sort_dir);
	else if (t)
		c = insert_table_open(&t->insert, &l->inserts, &l->tables[number], e);
	if (c == -ENOMEM)
		err_set(e, c, "out of memory");
	if (c < 0)
		bulk_table_free(t);
	else
		*ret = t;
	return c;
}

int bulk_table_row(struct bulk_table *t, const struct bulk_value *values, struct err *e)
{
	return t->pages ? page_table_row(t->pages, values, e)
			: insert_table_row(&t->insert, values, e);
}

int bulk_table_finish(struct bulk_table *t, struct err *e)
{
	return t->pages ? page_table_finish(t->pages, e) : 0;
}

void bulk_table_free(struct bulk_table *t)
{
	if (!t)
		return;
	page_table_free(t->pages);
	insert_table_close(&t->insert);
	free(t);
}
