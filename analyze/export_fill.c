/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Each row becomes a record, which goes into the table's b-tree; its indexed columns go to an index at once
 * where they come in order (the time of an event), else through a sort. What indexes there are is asked of the
 * file: schema/indexes.sql is the only place that says.
 */
#include "analyze/export_fill.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/btree_fill.h"
#include "analyze/key_sort.h"

#define THREADS_MAX 4
#define INDEXES_MAX 4
#define COLUMNS_MAX 64
#define PROGRESS_MS 200
#define COUNT_EVERY 1024

struct fill_index {
	struct btree_fill *tree;
	struct key_sort *sort; /* NULL: comes in order */
	unsigned int col_cnt;
	int cols[2];
};

struct fill_table {
	const struct table_def *def;
	struct export_rows *rows;
	struct btree_fill *tree;
	struct fill_index indexes[INDEXES_MAX];
	unsigned int index_cnt;
	double row_cnt; /* estimated */
};

struct fill {
	const struct export_fill_job *job;
	struct db_file file;
	struct fill_table *tables;
	unsigned int table_cnt;
	_Atomic unsigned int next; /* table that nobody has taken */
	_Atomic uint64_t row_cnt;
	_Atomic bool stop;
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t changed;
	unsigned int running;
	int failed;
	struct err err;
};

/* A row while it is written. */
struct record {
	uint8_t *data;
	size_t cap;
	struct export_text room[COLUMNS_MAX];
};

bool export_fill_has(const struct table_def *def)
{
	return def->is_exported && def->is_event_table;
}

/* ---- records ---- */

struct column_out {
	const char *text;
	uint64_t type;
	size_t bytes;
};

static int prepare_column(struct record *rec, unsigned int i, const struct cell *c,
			  struct column_out *out)
{
	out->type = out->bytes = 0;
	out->text = NULL;
	if (c->type == VALUE_INT) {
		out->type = db_int_type(c->i);
		out->bytes = 8;
	} else if (c->type == VALUE_TEXT) {
		out->text = export_text_safe(&rec->room[i], c->s, &out->bytes);
		out->type = 13 + 2 * (uint64_t)out->bytes;
		return out->text ? 0 : -ENOMEM;
	}
	return c->type == VALUE_REAL ? -EINVAL : 0; /* no event table has any */
}

/* Returns the bytes of the record in rec->data, or -errno. */
static ssize_t make_record(struct record *rec, const struct cell *cells, unsigned int cnt)
{
	struct column_out out[COLUMNS_MAX];
	size_t head = 0, body = 0, at, n;
	uint8_t types[COLUMNS_MAX * 9], *p;
	unsigned int i;

	for (i = 0; i < cnt; i++) {
		if (prepare_column(rec, i, &cells[i], &out[i]) < 0)
			return -ENOMEM;
		head += db_put_varint(types + head, out[i].type);
		body += out[i].bytes;
	}
	/* the head's length counts itself: one byte for all that is not very wide */
	n = head + 1 < 0x80 ? 1 : 2;
	if (n + head + body > rec->cap) {
		p = realloc(rec->data, (n + head + body) * 2);
		if (!p)
			return -ENOMEM;
		rec->data = p;
		rec->cap = (n + head + body) * 2;
	}
	at = db_put_varint(rec->data, n + head);
	memcpy(rec->data + at, types, head); /* cppcheck-suppress uninitvar ; head bytes of it are */
	at += head;
	for (i = 0; i < cnt; i++) {
		if (out[i].text) {
			memcpy(rec->data + at, out[i].text, out[i].bytes);
			at += out[i].bytes;
		} else if (out[i].type) {
			at += db_put_int(rec->data + at, cells[i].i, (unsigned int)out[i].type);
		}
	}
	return (ssize_t)at;
}

static int put_entry(const struct fill_index *x, const struct sort_key *key, struct err *e)
{
	uint8_t record[BTREE_ENTRY_MAX], body[BTREE_ENTRY_MAX];
	size_t head = 1, bytes = 0;
	unsigned int i, type;

	for (i = 0; i < x->col_cnt; i++) {
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

/* ---- one table ---- */

static int index_row(const struct fill_table *t, const struct cell *row, uint64_t rowid,
		     struct err *e)
{
	unsigned int i, k;
	int ret = 0;

	for (i = 0; i < t->index_cnt && !ret; i++) {
		const struct fill_index *x = &t->indexes[i];
		struct sort_key key = { .rowid = rowid };

		for (k = 0; k < x->col_cnt; k++) {
			const struct cell *c = &row[x->cols[k]];

			if (c->type == VALUE_INT)
				key.value[k] = c->i;
			else if (c->type == VALUE_NULL && !k)
				key.is_null = true;
			else
				return err_set(e, -EINVAL,
					       "table %s: an index of a kind that is not known",
					       t->def->name);
		}
		ret = x->sort ? key_sort_add(x->sort, &key, e) : put_entry(x, &key, e);
	}
	return ret;
}

static int fill_rows(struct fill *f, struct fill_table *t, struct record *rec, struct err *e)
{
	const struct cell *row;
	uint64_t rowid = 0;
	ssize_t bytes;
	int ret;

	while ((ret = export_rows_next(t->rows, &row, e)) > 0) {
		bytes = make_record(rec, row, t->def->col_cnt);
		if (bytes < 0)
			return err_set(e, (int)bytes, "table %s: %s", t->def->name,
				       err_text(NULL, (int)bytes));
		ret = btree_fill_row(t->tree, ++rowid, rec->data, (size_t)bytes, e);
		if (!ret)
			ret = index_row(t, row, rowid, e);
		if (ret < 0)
			return ret;
		if (rowid % COUNT_EVERY)
			continue;
		f->row_cnt += COUNT_EVERY;
		if (f->stop)
			return 0;
	}
	f->row_cnt += rowid % COUNT_EVERY;
	return ret;
}

static int fill_table(struct fill *f, struct fill_table *t, struct record *rec, struct err *e)
{
	struct sort_key key;
	unsigned int i;
	int ret = fill_rows(f, t, rec, e);

	if (!ret && !f->stop)
		ret = btree_fill_finish(t->tree, e);
	for (i = 0; i < t->index_cnt && !ret && !f->stop; i++) {
		const struct fill_index *x = &t->indexes[i];

		while (x->sort && !f->stop && (ret = key_sort_next(x->sort, &key, e)) > 0) {
			ret = put_entry(x, &key, e);
			if (ret < 0)
				break;
		}
		if (!ret)
			ret = btree_fill_finish(x->tree, e);
	}
	return ret;
}

static void close_indexes(struct fill_table *t)
{
	unsigned int i;

	for (i = 0; i < t->index_cnt; i++) {
		btree_fill_free(t->indexes[i].tree);
		key_sort_free(t->indexes[i].sort);
	}
	btree_fill_free(t->tree);
	t->index_cnt = 0;
	t->tree = NULL;
}

/* ---- threads ---- */

/* Sorts are made when the table's turn has come: memory is for those that run. */
static int open_sorts(struct fill *f, struct fill_table *t)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < t->index_cnt && !ret; i++) {
		struct fill_index *x = &t->indexes[i];

		if (!t->def->is_ordered || x->col_cnt > 1 || x->cols[0] != t->def->time_col)
			ret = key_sort_new(&x->sort, f->job->dir, x->col_cnt);
	}
	return ret;
}

static void *run(void *ctx)
{
	struct fill *f = ctx;
	struct record rec = { 0 };
	struct err e = { "" };
	unsigned int i;
	int ret = 0;

	while (!ret && !f->stop && (i = f->next++) < f->table_cnt) {
		ret = open_sorts(f, &f->tables[i]);
		if (!ret)
			ret = fill_table(f, &f->tables[i], &rec, &e);
		close_indexes(&f->tables[i]);
	}
	for (i = 0; i < COLUMNS_MAX; i++)
		free(rec.room[i].data);
	free(rec.data);
	pthread_mutex_lock(&f->lock);
	if (ret < 0 && !f->failed) {
		f->failed = ret;
		f->err = e;
	}
	if (ret < 0)
		f->stop = true;
	f->running--;
	pthread_cond_signal(&f->changed);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

static unsigned int thread_cnt(const struct fill *f)
{
	cpu_set_t cpus;
	int n = sched_getaffinity(0, sizeof(cpus), &cpus) < 0 ? 1 : CPU_COUNT(&cpus);

	if (n > THREADS_MAX)
		n = THREADS_MAX;
	return f->table_cnt < (unsigned int)n ? f->table_cnt : (unsigned int)n;
}

static void wait_for_all(struct fill *f)
{
	struct timespec until;

	pthread_mutex_lock(&f->lock);
	while (f->running) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += PROGRESS_MS * 1000000l;
		if (until.tv_nsec >= 1000000000l) {
			until.tv_nsec -= 1000000000l;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&f->changed, &f->lock, &until);
		if (f->job->progress) {
			pthread_mutex_unlock(&f->lock);
			f->job->progress(f->job->ctx, f->row_cnt);
			pthread_mutex_lock(&f->lock);
		}
	}
	pthread_mutex_unlock(&f->lock);
}

static int run_all(struct fill *f, struct err *e)
{
	unsigned int want = thread_cnt(f), started = 0, i;
	pthread_t threads[THREADS_MAX];
	pthread_condattr_t attr;

	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->changed, &attr);
	pthread_condattr_destroy(&attr);
	f->running = want;
	while (started < want && !pthread_create(&threads[started], NULL, run, f))
		started++;
	pthread_mutex_lock(&f->lock);
	f->running -= want - started;
	pthread_mutex_unlock(&f->lock);
	if (!started && want) {
		f->running = 1; /* none to be had: here, then */
		run(f);
	}
	wait_for_all(f);
	for (i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	return f->failed ? err_set(e, f->failed, "%s", err_text(&f->err, f->failed)) : 0;
}

/* ---- what there is to fill ---- */

static int fail_sql(sqlite3 *db, const struct fill *f, struct err *e)
{
	return err_set(e, -EIO, "%s: %s", f->job->path, sqlite3_errmsg(db));
}

static int find_columns(sqlite3 *db, const struct fill *f, const char *name, struct fill_index *x,
			struct err *e)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(db, "SELECT cid FROM pragma_index_info(?1) ORDER BY seqno", -1,
			       &stmt, NULL) != SQLITE_OK)
		return fail_sql(db, f, e);
	sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		if (x->col_cnt == 2)
			x->col_cnt = 0; /* three columns: refused below */
		else
			x->cols[x->col_cnt++] = sqlite3_column_int(stmt, 0);
	}
	if (sqlite3_finalize(stmt) != SQLITE_OK)
		return fail_sql(db, f, e);
	return x->col_cnt ? 0 : err_set(e, -EINVAL, "index %s: of a kind that is not known", name);
}

static int find_trees(sqlite3 *db, struct fill *f, struct fill_table *t, struct err *e)
{
	sqlite3_stmt *stmt;
	int ret = 0;

	if (sqlite3_prepare_v2(db,
			       "SELECT type, name, rootpage FROM sqlite_schema WHERE tbl_name = ?1",
			       -1, &stmt, NULL) != SQLITE_OK)
		return fail_sql(db, f, e);
	sqlite3_bind_text(stmt, 1, t->def->name, -1, SQLITE_STATIC);
	while (!ret && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *type = (const char *)sqlite3_column_text(stmt, 0);
		const char *name = (const char *)sqlite3_column_text(stmt, 1);
		uint32_t root = (uint32_t)sqlite3_column_int64(stmt, 2);

		if (!strcmp(type, "table")) {
			ret = btree_fill_new(&t->tree, &f->file, root, false);
		} else if (!strcmp(type, "index") && t->index_cnt < INDEXES_MAX) {
			struct fill_index *x = &t->indexes[t->index_cnt++];

			ret = find_columns(db, f, name, x, e);
			if (!ret)
				ret = btree_fill_new(&x->tree, &f->file, root, true);
		} else {
			ret = -EINVAL;
		}
	}
	if (sqlite3_finalize(stmt) != SQLITE_OK && !ret)
		ret = fail_sql(db, f, e);
	if (!ret && !t->tree)
		ret = -EINVAL;
	return ret < 0 ? err_set(e, ret, "table %s: %s", t->def->name, err_text(NULL, ret)) : 0;
}

/* The largest first: they are to end together. */
static int by_row_cnt(const void *a, const void *b)
{
	const struct fill_table *x = a, *y = b;

	return x->row_cnt > y->row_cnt ? -1 : x->row_cnt < y->row_cnt;
}

static int find_tables(struct fill *f, struct err *e)
{
	const struct table_def *def;
	struct fill_table *t;
	sqlite3 *db = NULL;
	unsigned int i;
	int ret = 0;

	for (i = 0; table_at(i); i++)
		;
	f->tables = calloc(i + 1, sizeof(*f->tables));
	if (!f->tables)
		return err_set(e, -ENOMEM, "out of memory");
	if (sqlite3_open_v2(f->job->path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		ret = fail_sql(db, f, e);
	for (i = 0; !ret && (def = table_at(i)); i++) {
		if (!export_fill_has(def))
			continue;
		t = &f->tables[f->table_cnt++];
		t->def = def;
		t->row_cnt = def->row_cnt ? def->row_cnt(f->job->a, def) : 0;
		ret = find_trees(db, f, t, e);
		if (!ret)
			ret = export_rows_open(&t->rows, f->job->a, def, &f->job->part, e);
	}
	sqlite3_close(db);
	qsort(f->tables, f->table_cnt, sizeof(*f->tables), by_row_cnt);
	return ret;
}

int export_fill(const struct export_fill_job *job, uint64_t *ret_rows, struct err *e)
{
	struct fill f = { .job = job };
	int fd = open(job->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW), ret;
	unsigned int i;

	if (fd < 0)
		return err_set(e, -errno, "%s: %s", job->path, strerror(errno));
	ret = db_file_open(&f.file, fd, job->path, e);
	if (!ret)
		ret = find_tables(&f, e);
	if (!ret)
		ret = run_all(&f, e);
	if (!ret)
		ret = db_file_finish(&f.file, e);
	for (i = 0; i < f.table_cnt; i++) {
		close_indexes(&f.tables[i]);
		export_rows_close(f.tables[i].rows);
	}
	free(f.tables);
	close(fd);
	*ret_rows = f.row_cnt;
	return ret;
}
