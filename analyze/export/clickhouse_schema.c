/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Writes the statements that make a fleet's tables, from the declarations that the program itself
 * uses. They run on ClickHouse 18.16 and later.
 *
 * X_here has the rows of table X that arrived on this server, X_in fills it, and X shows the rows
 * of complete loads. With a cluster, X_whole shows those of this server, and X those of all.
 *
 * A server can be killed at any instant of an INSERT, and is then sent the same rows again. The
 * rows that an INSERT brings to a table are a piece, which has a random number. When they are in
 * X_here, a view of what is inserted there says so to arrived_here, and only then they count.
 */
#include "analyze/export/clickhouse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/context/keys.h"
#include "base/crc32c.h"

/* clang-format off */
static const struct table_column bin_cols[] = {
	{ "bin_ns", COLUMN_INT },		{ "name", COLUMN_TEXT },
	{ "device", COLUMN_TEXT },		{ "op", COLUMN_TEXT },
	{ "lat_low_ns", COLUMN_INT },		{ "running_ns", COLUMN_INT },
	{ "runnable_ns", COLUMN_INT },		{ "preempted_ns", COLUMN_INT },
	{ "throttled_ns", COLUMN_INT },		{ "disk_ns", COLUMN_INT },
	{ "uninterruptible_ns", COLUMN_INT },	{ "unknown_ns", COLUMN_INT },
	{ "rss_bytes", COLUMN_INT },
	{ "rss_peak_bytes", COLUMN_INT },	{ "rss_grown_bytes", COLUMN_INT },
	{ "slab_alloc_bytes", COLUMN_INT },	{ "page_alloc_bytes", COLUMN_INT },
	{ "heap_alloc_bytes", COLUMN_INT },	{ "spikes", COLUMN_INT },
	{ "spike_max_bytes", COLUMN_INT },	{ "ios", COLUMN_INT },
	{ "io_bytes", COLUMN_INT },		{ "lat_sum_ns", COLUMN_INT },
	{ "lat_max_ns", COLUMN_INT },		{ "lat_ios", COLUMN_INT },
	{ "cpus", COLUMN_INT },			{ "lost_events", COLUMN_INT },
	{ "complete", COLUMN_INT },
};

static const struct table_column load_cols[] = {
	{ "of", COLUMN_TEXT },			{ "role", COLUMN_TEXT },
	{ "from_ns", COLUMN_INT },		{ "to_ns", COLUMN_INT },
	{ "sent_rows", COLUMN_INT },
};
/* clang-format on */

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct clickhouse_table bins[] = {
	{ "comm_bins", NULL, bin_cols, CNT(bin_cols), KEY(COMM) },
	{ "container_bins", NULL, bin_cols, CNT(bin_cols), KEY(CONTAINER) },
	{ "unit_bins", NULL, bin_cols, CNT(bin_cols), KEY(UNIT) },
	{ "user_bins", NULL, bin_cols, CNT(bin_cols), KEY(USER) },
};

const struct clickhouse_table clickhouse_loads = { "loads", NULL, load_cols, CNT(load_cols), 0 };

const struct clickhouse_table *clickhouse_table_at(struct clickhouse_table *room, unsigned int n)
{
	const struct table_def *def;

	for (unsigned int i = 0; (def = table_at(i)); i++) {
		if (!def->is_exported || n--)
			continue;
		*room = (struct clickhouse_table){ def->name, def, def->cols, def->col_cnt, 0 };
		return room;
	}
	return n < CNT(bins) ? &bins[n] : NULL;
}

uint32_t clickhouse_layout(const struct clickhouse_table *t)
{
	uint32_t crc = 0;

	for (unsigned int i = 0; i < t->col_cnt; i++) {
		char type = (char)('0' + t->cols[i].type);

		crc = crc32c(crc, t->cols[i].name, strlen(t->cols[i].name));
		crc = crc32c(crc, &type, 1);
	}
	return crc;
}

/* ---- statements ---- */

#define FRONT "host, trace_id, load, unix_ns, wall_uncertainty_ns"
#define FRONT_TYPES                                                                                \
	"host String, trace_id UUID, load UInt64, unix_ns Int64, wall_uncertainty_ns UInt64"
/* A row's number in landing. Its table stores the parts, which compress to almost nothing. */
#define ROW "(intDiv(nr, 256), toUInt8(nr % 256)) AS row"
#define ROW_TYPES "row Tuple(UInt64, UInt8)"
/* A server finds the random number once for each INSERT, or for each block of it. */
#define PIECE "bitXor(load, assumeNotNull((SELECT rand64()))) AS piece"
#define DAY(ns) "toDate(toDateTime(intDiv(" ns ", 1000000000)), 'UTC')"

static void put_table(FILE *f, const struct clickhouse_table *t)
{
	static const char *const types[] = { [COLUMN_INT] = "Nullable(Int64)",
					     [COLUMN_REAL] = "Nullable(Float64)",
					     [COLUMN_TEXT] = "String" };

	fprintf(f,
		"CREATE TABLE IF NOT EXISTS %s_here (" FRONT_TYPES ", " ROW_TYPES ", piece UInt64",
		t->name);
	for (unsigned int i = 0; i < t->col_cnt; i++)
		fprintf(f, ", `%s` %s", t->cols[i].name, types[t->cols[i].type]);
	fprintf(f,
		") ENGINE = MergeTree PARTITION BY " DAY(
			"%s") " ORDER BY (host, trace_id, load, unix_ns);\n",
		t->def || t->by ? "unix_ns" : "load");
}

static void put_filler(FILE *f, const struct clickhouse_table *t, const char *landing)
{
	unsigned int numbers = 0, texts = 0;

	fprintf(f,
		"CREATE MATERIALIZED VIEW IF NOT EXISTS %s_in TO %s_here AS SELECT %s, %s, %s",
		t->name, t->name, FRONT, ROW, PIECE);
	for (unsigned int i = 0; i < t->col_cnt; i++) {
		const struct table_column *c = &t->cols[i];

		if (!clickhouse_is_text(c))
			fprintf(f, ", numbers[%u]", ++numbers);
		else if (c->type == COLUMN_REAL)
			fprintf(f, ", toFloat64OrNull(texts[%u])", ++texts);
		else
			fprintf(f, ", texts[%u]", ++texts);
		fprintf(f, " AS `%s`", c->name);
	}
	fprintf(f, " FROM %s WHERE tbl = '%s' AND layout = %u;\n", landing, t->name,
		clickhouse_layout(t));
}

/* A view on this server, and with a cluster the table of all servers. */
static void put_view(FILE *f, const char *name, const char *cluster, const char *select)
{
	fprintf(f, "CREATE VIEW IF NOT EXISTS %s%s AS %s;\n", name, cluster ? "_whole" : "",
		select);
	if (cluster)
		fprintf(f,
			"CREATE TABLE IF NOT EXISTS %s AS %s_whole ENGINE = Distributed(%s, "
			"currentDatabase(), %s_whole);\n",
			name, name, cluster, name);
}

/* clang-format off */
static const char arrived_sql[] =
	"CREATE TABLE IF NOT EXISTS arrived_here (host String, trace_id UUID, load UInt64, "
	"of String, piece UInt64, first_row UInt64, last_row UInt64, rows UInt64, copies UInt64) "
	"ENGINE = MergeTree PARTITION BY " DAY("load") " ORDER BY (host, trace_id, load, of);\n";
static const char piece_sql[] =
	"CREATE MATERIALIZED VIEW IF NOT EXISTS %s%s_arrived TO arrived_here AS "
	"SELECT host, trace_id, load, '%s' AS of, piece, min(row.1 * 256 + row.2) AS first_row, "
	"max(row.1 * 256 + row.2) AS last_row, uniqExact(row) AS rows, count() AS copies "
	"FROM %s%s WHERE load != 0 GROUP BY host, trace_id, load, piece;\n";

/* The rows that have arrived are the length of the union of ranges: where more began than ended. */
static const char loads_sql[] =
	"SELECT host, trace_id, load, of, max(a_role) AS role, max(a_from) AS from_ns, "
	"max(a_to) AS to_ns, max(a_uncertainty) AS wall_uncertainty_ns, max(a_sent) AS sent_rows, "
	"arraySum((depth, begin, end) -> if(depth > 0, end - begin, 0), arrayCumSum((arraySort("
	"e -> e.1, arrayConcat(groupArray((a_first, 1)), groupArray((a_end, -1)))) AS edges).2), "
	"edges.1, arrayPushBack(arrayPopFront(edges.1), 0)) AS arrived_rows, "
	"sum(a_copies) > arrived_rows AS doubled, "
	"ifNull(sent_rows = arrived_rows, 0) AS whole FROM ("
	"SELECT host, trace_id, load, of, role AS a_role, assumeNotNull(from_ns) AS a_from, "
	"assumeNotNull(to_ns) AS a_to, wall_uncertainty_ns AS a_uncertainty, "
	"sent_rows AS a_sent, toUInt64(0) AS a_first, toUInt64(0) AS a_end, "
	"toUInt64(0) AS a_copies "
	"FROM loads_here UNION ALL "
	"SELECT host, trace_id, load, of, '' AS a_role, toInt64(0) AS a_from, toInt64(0) AS a_to, "
	"toUInt64(0) AS a_uncertainty, CAST(NULL AS Nullable(Int64)) AS a_sent, "
	"first_row AS a_first, "
	"if(rows = last_row + 1 - first_row, last_row + 1, first_row) AS a_end, "
	"copies AS a_copies FROM arrived_here"
	") GROUP BY host, trace_id, load, of";
/* clang-format on */

/*
 * The server keeps ranges of the row numbers that arrived. A load's first rows announce its tables,
 * and its last rows declare how many rows each of them has. A table of a load is whole when the
 * ranges cover all of them, however often they came; of several whole loads with the same trace and
 * start, the one sent last counts.
 */
static void put_loads(FILE *f, const char *cluster, const char *landing)
{
	put_table(f, &clickhouse_loads);
	put_filler(f, &clickhouse_loads, landing);
	fputs(arrived_sql, f);
	put_view(f, "loads", cluster, loads_sql);
	fprintf(f,
		"CREATE VIEW IF NOT EXISTS counted_here AS SELECT trace_id, of, from_ns, "
		"max(load) AS counted, argMax(doubled, load) AS twice FROM loads%s "
		"WHERE whole GROUP BY trace_id, of, from_ns;\n",
		cluster ? "_whole" : "");
}

static void put_data(FILE *f, const struct clickhouse_table *t, const char *cluster,
		     const char *landing)
{
	const char *n = t->name;
	char select[768];

	put_table(f, t);
	put_filler(f, t, landing);
	/* 18.16 gives what X_in inserts to views of X_in, later versions to views of X_here. */
	fprintf(f, piece_sql, n, "_in", n, n, "_in");
	fprintf(f, piece_sql, n, "_here", n, n, "_here");
	snprintf(select, sizeof(select),
		 "SELECT * FROM %s_here WHERE piece IN (SELECT piece FROM arrived_here "
		 "WHERE of = '%s' AND (trace_id, load) IN (SELECT trace_id, counted "
		 "FROM counted_here WHERE of = '%s' AND NOT twice)) UNION ALL "
		 "SELECT * FROM %s_here WHERE (trace_id, load) IN (SELECT trace_id, counted "
		 "FROM counted_here WHERE of = '%s' AND twice) LIMIT 1 BY trace_id, load, row",
		 n, n, n, n, n);
	put_view(f, n, cluster, select);
}

int analysis_clickhouse_schema(FILE *f, const char *cluster)
{
	const char *landing = cluster ? "landing_here" : "landing";
	const struct clickhouse_table *t;
	struct clickhouse_table room;

	fprintf(f,
		"CREATE TABLE IF NOT EXISTS %s (" FRONT_TYPES ", nr UInt64, tbl String, "
		"layout UInt32, numbers Array(Nullable(Int64)), texts Array(String)) "
		"ENGINE = Null;\n",
		landing);
	put_loads(f, cluster, landing);
	for (unsigned int i = 0; (t = clickhouse_table_at(&room, i)); i++)
		put_data(f, t, cluster, landing);
	if (cluster)
		fprintf(f,
			"CREATE TABLE IF NOT EXISTS landing AS landing_here ENGINE = "
			"Distributed(%s, currentDatabase(), landing_here, halfMD5(host));\n",
			cluster);
	return fflush(f) || ferror(f) ? -EIO : 0;
}
