/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * statement: runs SQL statements. The guard is SQLite's authorizer, which is called for every
 * action while a statement is compiled; it allows reads and function calls only.
 */
#include "analyze/engine/statement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "analyze/engine/table.h"
#include "analyze/fold/index.h"
#include "base/array.h"

#define STATEMENT_TRIES 4

struct kept_statement {
	char *text;
	sqlite3_stmt *stmt;
};

static bool pragma_reads(const char *name, const char *arg)
{
	static const char *const with_arg[] = { "table_info", "table_xinfo", "index_list",
						"index_info" };
	static const char *const without[] = {
		"table_list",	  "function_list",   "module_list",
		"collation_list", "compile_options", "database_list"
	};

	for (size_t i = 0; i < sizeof(with_arg) / sizeof(with_arg[0]); i++)
		if (!sqlite3_stricmp(name, with_arg[i]))
			return true;
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		if (!sqlite3_stricmp(name, without[i]))
			return !arg;
	return false;
}

/* Returns whether the rows of the table depend on which blocks are damaged. */
static bool table_needs_blocks(const char *name)
{
	const struct table_def *def = name ? table_find(name) : NULL;

	return def && (def->kinds || def->arg_cnt || !strcmp(def->name, "damages") ||
		       !strcmp(def->name, "blocks"));
}

static bool function_needs_blocks(const char *name)
{
	static const char *const names[] = { "is_complete", "lost_events", "view_complete",
					     "view_lost", "source_off_ns", "unowned_ios",
					     "unowned_bytes", "view_unowned_ios",
					     "view_unowned_bytes" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (name && !sqlite3_stricmp(name, names[i]))
			return true;
	return false;
}

struct guard {
	const struct analysis *a;
	bool needs_blocks;	/* verify all blocks before the first row */
};

static int authorize(void *ctx, int action, const char *p1, const char *p2, const char *db,
		     const char *trigger)
{
	struct guard *g = ctx;

	/* sqlite3_declare_vtab() compiles a CREATE TABLE but creates no table */
	if (g->a->declaring)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_READ:
		g->needs_blocks = g->needs_blocks || table_needs_blocks(p1);
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		g->needs_blocks = g->needs_blocks || function_needs_blocks(p2);
		return p2 && !sqlite3_stricmp(p2, "load_extension") ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA:
		return p1 && pragma_reads(p1, p2) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static int fail(struct analysis *a, struct err *e)
{
	const char *msg = sqlite3_errmsg(a->db);
	int rc = sqlite3_errcode(a->db), err = TABLE_ERROR_ERRNO(sqlite3_extended_errcode(a->db));

	if (err)
		return err_set(e, -err, "%s", msg);
	if (rc == SQLITE_NOMEM)
		return err_set(e, -ENOMEM, "out of memory");
	if (rc == SQLITE_AUTH || strstr(msg, "not authorized"))
		return err_set(e, -EPERM,
			       "this statement is refused (%s): a trace is only read; SELECT is "
			       "what works",
			       msg);
	return err_set(e, rc == SQLITE_IOERR || rc == SQLITE_FULL ? -EIO : -EINVAL, "%s", msg);
}

/* Returns whether s has only blanks, comments and semicolons. */
static bool is_blank(const char *s)
{
	for (;;) {
		s += strspn(s, " \t\r\n\f;");
		if (!strncmp(s, "--", 2)) {
			s += strcspn(s, "\n");
		} else if (!strncmp(s, "/*", 2)) {
			const char *end = strstr(s + 2, "*/");

			if (!end)
				return true;
			s = end + 2;
		} else {
			return !*s;
		}
	}
}

static int prepare(struct analysis *a, const char *text, sqlite3_stmt **ret, struct err *e)
{
	const char *tail;

	if (is_blank(text))
		return err_set(e, -EINVAL, "there is no statement");
	if (sqlite3_prepare_v2(a->db, text, -1, ret, &tail) != SQLITE_OK)
		return fail(a, e);
	if (!is_blank(tail)) {
		sqlite3_finalize(*ret);
		return err_set(e, -EINVAL,
			       "one statement at a time: there is more after the first \";\"");
	}
	return 0;
}

/* As prepare(), but a kept statement is reused. Call end_use() instead of sqlite3_finalize(). */
static int begin_use(struct analysis *a, const char *text, sqlite3_stmt **ret, struct err *e)
{
	struct kept_statement *s;
	size_t i = 0;
	int r;

	while (i < a->statement_cnt && strcmp(a->statements[i].text, text))
		i++;
	if (i < a->statement_cnt) {
		*ret = a->statements[i].stmt;
		return 0;
	}
	r = prepare(a, text, ret, e);
	if (r < 0 || !a->index_use.follow ||
	    array_reserve(&a->statements, &a->statement_cap, a->statement_cnt + 1) < 0)
		return r;
	s = &a->statements[a->statement_cnt];
	s->text = strdup(text);
	s->stmt = *ret;
	a->statement_cnt += s->text != NULL;
	return 0;
}

static void end_use(struct analysis *a, sqlite3_stmt *stmt)
{
	size_t i = 0;

	while (i < a->statement_cnt && a->statements[i].stmt != stmt)
		i++;
	if (i == a->statement_cnt)
		sqlite3_finalize(stmt);
	else
		sqlite3_reset(stmt);
}

void statement_forget_all(struct analysis *a)
{
	while (a->statement_cnt) {
		const struct kept_statement *s = &a->statements[--a->statement_cnt];

		sqlite3_finalize(s->stmt);
		free(s->text);
	}
	free(a->statements);
}

int statement_bind(sqlite3_stmt *stmt, int n, const struct value *v)
{
	switch (v->type) {
	case VALUE_INT:
		return sqlite3_bind_int64(stmt, n, v->i);
	case VALUE_REAL:
		return sqlite3_bind_double(stmt, n, v->r);
	case VALUE_TEXT:
		return sqlite3_bind_text64(stmt, n, v->text, v->text_bytes, SQLITE_TRANSIENT,
					   SQLITE_UTF8);
	default:
		return sqlite3_bind_null(stmt, n);
	}
}

/* Returns 0 or -ENOMEM. */
static int bind(sqlite3_stmt *stmt, const struct statement_param *p)
{
	int n, rc = SQLITE_OK;

	for (; p && p->name && rc == SQLITE_OK; p++) {
		n = sqlite3_bind_parameter_index(stmt, p->name);
		if (n)
			rc = statement_bind(stmt, n, &p->value);
	}
	return rc == SQLITE_OK ? 0 : -ENOMEM;
}

static struct value read_value(sqlite3_stmt *stmt, int i)
{
	const char *text;

	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		return value_int((uint64_t)sqlite3_column_int64(stmt, i));
	case SQLITE_FLOAT:
		return value_real(sqlite3_column_double(stmt, i));
	case SQLITE_NULL:
		return value_null();
	default:
		text = (const char *)sqlite3_column_text(stmt, i);
		return (struct value){ .type = VALUE_TEXT,
				       .text = text ? text : "",
				       .text_bytes = (size_t)sqlite3_column_bytes(stmt, i) };
	}
}

/*
 * Verifies the checksums of all blocks of the trace, so that damage is known before the first row.
 * A block that verifies but cannot be decoded is found later: see first_step().
 */
static int verify_blocks(struct analysis *a, struct err *e)
{
	size_t cnt, i;

	trace_blocks(a->trace, &cnt);
	for (i = 0; i < cnt; i++) {
		if (*a->stop)
			return err_set(e, -EINTR, "given up");
		if (trace_block_verify(a->trace, i, NULL) == -ENOMEM)
			return err_set(e, -ENOMEM, "out of memory");
	}
	return 0;
}

/*
 * Steps to the first row. Starts again if damage is found, because all rows must exclude damaged
 * blocks.
 */
static int first_step(struct analysis *a, sqlite3_stmt *stmt)
{
	size_t before, after;
	int rc, tries = 0;

	do {
		if (tries)
			sqlite3_reset(stmt);
		trace_damages(a->trace, &before);
		rc = sqlite3_step(stmt);
		trace_damages(a->trace, &after);
	} while ((rc == SQLITE_ROW || rc == SQLITE_DONE) && after > before &&
		 ++tries < STATEMENT_TRIES);
	return rc;
}

/* Passes all rows to the sink. *ret_begun: the sink has received data. */
static int pump(struct analysis *a, sqlite3_stmt *stmt, const struct row_sink *sink,
		bool *ret_begun, struct err *e)
{
	unsigned int cnt = (unsigned int)sqlite3_column_count(stmt), i;
	const char **names = calloc(cnt + 1, sizeof(*names));
	struct value *values = calloc(cnt + 1, sizeof(*values));
	int ret = -ENOMEM, rc;

	if (!names || !values)
		goto out;
	rc = first_step(a, stmt);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
		ret = fail(a, e);
		goto out;
	}
	*ret_begun = true;
	for (i = 0; i < cnt; i++)
		names[i] = sqlite3_column_name(stmt, (int)i);
	ret = sink->begin ? sink->begin(sink->ctx, cnt, names) : 0;
	for (; ret >= 0 && rc == SQLITE_ROW; rc = ret < 0 ? rc : sqlite3_step(stmt)) {
		for (i = 0; i < cnt; i++)
			values[i] = read_value(stmt, (int)i);
		ret = sink->row(sink->ctx, values);
	}
	if (ret >= 0 && rc != SQLITE_DONE)
		ret = fail(a, e);
	else if (ret >= 0)
		ret = sink->end ? sink->end(sink->ctx) : 0;
out:
	free(names);
	free(values);
	return ret < 0 ? ret : 0;
}

/* guard: the guard that is called while the statement is compiled; NULL: none. */
static int run(struct analysis *a, const char *text, const struct statement_param *params,
	       const struct row_sink *sink, const struct guard *guard, struct err *e)
{
	sqlite3_stmt *stmt;
	unsigned int tries = 0;
	bool begun = false;
	int ret;

	do {
		for (const struct question *q = a->question; tries && q; q = q->outer)
			scan_memo_clear(q->memo);
		ret = begin_use(a, text, &stmt, e);
		if (ret < 0)
			return ret;
		ret = bind(stmt, params) < 0 ? err_set(e, -ENOMEM, "out of memory") :
		      guard && guard->needs_blocks ? verify_blocks(a, e) : 0;
		ret = ret ?: pump(a, stmt, sink, &begun, e);
		end_use(a, stmt);
		/* the index was damaged, and has been removed: run the statement again */
	} while (ret == -EBADMSG && !begun && analysis_index_failed(a) &&
		 ++tries < STATEMENT_TRIES);
	return ret;
}

int statement_run(struct analysis *a, const char *text, const struct statement_param *params,
		  const struct row_sink *sink, struct err *e)
{
	return run(a, text, params, sink, NULL, e);
}

int analysis_sql(struct analysis *a, const char *sql, const struct row_sink *sink, struct err *e)
{
	/*
	 * a kept statement is not compiled again, so the guard is not called: assume that it needs
	 * the blocks
	 */
	struct guard guard = { .a = a, .needs_blocks = a->index_use.follow != NULL };
	int ret;

	sqlite3_set_authorizer(a->db, authorize, &guard);
	ret = run(a, sql, NULL, sink, &guard, e);
	sqlite3_set_authorizer(a->db, NULL, NULL);
	return ret;
}

int statement_columns(struct analysis *a, const char *text, char *buf, size_t size)
{
	sqlite3_stmt *stmt;
	size_t len = 0;
	int i, ret = prepare(a, text, &stmt, NULL);

	if (ret < 0)
		return ret;
	buf[0] = 0;
	for (i = 0; i < sqlite3_column_count(stmt) && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s", i ? ", " : "",
					sqlite3_column_name(stmt, i));
	sqlite3_finalize(stmt);
	return 0;
}

/* ---- SQL of schema/ ---- */

const char *schema_text(const char *name)
{
	const struct schema_sql *s;

	for (s = schema_sql; s->name; s++)
		if (!strcmp(s->name, name))
			return s->text;
	return NULL;
}
