/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The documented tables, from the descriptions the virtual tables are made of. */
#include "analyze/engine/schema_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/engine/schema_sql.h"

const char *schema_text(const char *name)
{
	const struct schema_sql *s;

	for (s = schema_sql; s->name; s++)
		if (!strcmp(s->name, name))
			return s->text;
	return NULL;
}

unsigned int schema_tables(const struct schema_table **ret)
{
	static struct schema_table tables[64];
	static unsigned int cnt;
	const struct table_def *d;
	unsigned int i, n = 0;

	for (i = 0; !cnt && (d = table_at(i)) && n < 64; i++)
		if (d->is_exported)
			tables[n++] = (struct schema_table){ d->name, d->doc, d->kinds != 0 };
	if (!cnt)
		cnt = n;
	*ret = tables;
	return cnt;
}

static const char *order_of(const struct table_def *def)
{
	return def->time_col >= 0 ? def->cols[def->time_col].name : NULL;
}

/* The rows of a table that belong to the window; NULL: all. Uses :from and :to. */
static const char *window_condition(const struct table_def *def)
{
	if (!sqlite3_stricmp(def->name, "sched_slices"))
		return NULL;		/* its arguments are the window */
	if (!sqlite3_stricmp(def->name, "block_requests"))
		return "coalesce(queued_ns, complete_ns) < :to AND (end_ns >= :from OR end_ns IS "
		       "NULL)";
	if (!sqlite3_stricmp(def->name, "losses") || !sqlite3_stricmp(def->name, "cost") ||
	    !sqlite3_stricmp(def->name, "hook_stats") || !sqlite3_stricmp(def->name, "blocks"))
		return "from_ns < :to AND to_ns > :from";
	if (!sqlite3_stricmp(def->name, "allocations"))
		return "alloc_ns >= :from AND alloc_ns < :to";
	if (def->time_col >= 0 && strcmp(def->name, "clocks"))
		return "ts_ns >= :from AND ts_ns < :to";
	return NULL;
}

int schema_select(const struct table_def *def, bool whole, char *buf, size_t size)
{
	const char *where = whole ? NULL : window_condition(def);
	bool slices = !whole && !sqlite3_stricmp(def->name, "sched_slices");
	const char *order = def->is_ordered ? NULL : order_of(def);
	int len;

	if (slices)
		order = "start_ns";
	len = snprintf(buf, size, "SELECT * FROM main.\"%s\"%s%s%s%s%s", def->name,
		       slices ? "(:from, :to)" : "", where ? " WHERE " : "", where ? where : "",
		       order ? " ORDER BY " : "", order ? order : "");
	return len < 0 || (size_t)len >= size ? -ENOBUFS : 0;
}

void schema_window_params(const struct analysis *a, uint64_t from_ns, uint64_t to_ns,
			  struct statement_param *ret)
{
	ret[0] = (struct statement_param){ ":from", VALUE_INT, context_rel_clamped(a, from_ns),
					   NULL };
	ret[1] = (struct statement_param){ ":to", VALUE_INT, context_rel_clamped(a, to_ns), NULL };
	ret[2] = (struct statement_param){ NULL, VALUE_NULL, 0, NULL };
}
