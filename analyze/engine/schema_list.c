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

int schema_select(const struct table_def *def, bool whole, char *buf, size_t size)
{
	const char *where = whole ? NULL : def->window;
	bool has_args = !whole && def->arg_cnt;	/* they are the window */
	bool ordered = !def->is_ordered && def->time_col >= 0;
	int len;

	len = snprintf(buf, size, "SELECT * FROM main.\"%s\"%s%s%s%s%s", def->name,
		       has_args ? "(:from, :to)" : "", where ? " WHERE " : "", where ? where : "",
		       ordered ? " ORDER BY " : "",
		       ordered ? def->cols[def->time_col].name : "");
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
