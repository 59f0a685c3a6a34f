/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * clickhouse: sends tables of a window as rows of the table landing, in ClickHouse's format
 * RowBinary: numbers little-endian, lengths as varints, a byte before a value that may be NULL.
 *
 * A load, the output of one export, begins and ends with rows of the table loads. The rows at its
 * end contain the number of rows of each table. A table with fewer rows is incomplete.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/keys.h"
#include "analyze/engine/align.h"
#include "analyze/engine/table.h"
#include "analyze/export/export.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/crc32c.h"

#define CLICKHOUSE_TABLES_MAX 80

/* A table that can be exported. */
struct clickhouse_table {
	const char *name;
	const struct table_def *def; /* NULL: bins or loads */
	const struct table_column *cols;
	unsigned int col_cnt;
	unsigned int by; /* for bins: 1u << REPORT_BY_x; else 0 */
};

/* The table with one row per table of a load. */
extern const struct clickhouse_table clickhouse_loads;

/* Real numbers are sent as text. */
static inline bool clickhouse_is_text(const struct table_column *c)
{
	return c->type != COLUMN_INT;
}

/*
 * Writes the statements that create the tables of a fleet, from the program's own declarations, for
 * ClickHouse 18.16 and later.
 *
 * X_here stores the rows of table X that arrived on this server, X_in fills X_here, and X shows the
 * rows of complete loads. With a cluster, X_whole shows the rows of this server, and X the rows of
 * all servers.
 *
 * A server can be killed at any instant of an INSERT; the same rows are then sent again. The rows
 * of a table in one INSERT are a piece, identified by a random number. After the piece is in
 * X_here, a view on the inserted rows adds the piece to arrived_here. Only pieces in arrived_here
 * count.
 */

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

/* Returns the n-th table of a load: tables of events and lists, then bins. NULL after the last. */
static const struct clickhouse_table *clickhouse_table_at(struct clickhouse_table *room,
							  unsigned int n)
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

/* Returns a checksum of the columns: the server accepts only rows with the layout that it knows. */
static uint32_t clickhouse_layout(const struct clickhouse_table *t)
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
/* A row's number in landing, stored in two parts, which compress to almost nothing. */
#define ROW "(intDiv(nr, 256), toUInt8(nr % 256)) AS row"
#define NR_TYPES "row Tuple(UInt64, UInt8)"
/* The server evaluates rand64() once per INSERT, or once per block of an INSERT. */
#define PIECE "bitXor(load, assumeNotNull((SELECT rand64()))) AS piece"
#define DAY(ns) "toDate(toDateTime(intDiv(" ns ", 1000000000)), 'UTC')"

static void put_table(FILE *f, const struct clickhouse_table *t)
{
	static const char *const types[] = { [COLUMN_INT] = "Nullable(Int64)",
					     [COLUMN_REAL] = "Nullable(Float64)",
					     [COLUMN_TEXT] = "String" };

	fprintf(f,
		"CREATE TABLE IF NOT EXISTS %s_here (" FRONT_TYPES ", " NR_TYPES ", piece UInt64",
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

/* Creates a view on this server, and with a cluster also a table over all servers. */
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

/*
 * arrived_rows is the number of rows in the union of all row ranges. depth: number of ranges that
 * contain the rows between two edges.
 */
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
 * The server stores ranges of the row numbers that arrived. A load's first rows announce its
 * tables, and its last rows declare the number of rows of each table. A table of a load is whole
 * when the ranges cover all of its rows, even if some arrived twice. Of several whole loads with
 * the same trace and start, the last one sent counts.
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
	/*
	 * 18.16 passes rows that X_in inserts to views on X_in, later versions to views on X_here.
	 */
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

#define FLUSH_BYTES (256u << 10)
#define PROGRESS_EVERY 65536
#define CLOCK_SLACK_NS 500000 /* a later clock reading changes a wall-clock time by less */

struct sender {
	struct export_to x;
	const struct clickhouse_request *r;
	FILE *out;
	struct buf buf;
	struct buf front; /* prefix of each row: host, trace_id, load */
	struct clickhouse_table table; /* the table being sent */
	uint32_t layout;
	uint64_t uncertainty_ns;
	uint64_t row_cnt; /* rows of the table so far: the number of the last row */
	uint64_t row_cnts[CLICKHOUSE_TABLES_MAX]; /* rows per table */
	int64_t from_real_ns, to_real_ns;
	struct export_text room;
	struct err *e;
};

/* ---- bytes ---- */

static void put_number(struct buf *b, uint64_t v, unsigned int bytes)
{
	uint8_t *p = buf_room(b, bytes);

	for (unsigned int i = 0; p && i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * i);
	if (p)
		b->len += bytes;
}

static void put_bytes(struct buf *b, const char *text, size_t bytes)
{
	buf_add_varint(b, bytes);
	buf_add(b, text, bytes);
}

/* Appends a UUID as two little-endian numbers of 8 bytes each, the first half first. */
static void put_uuid(struct buf *b, const char *text)
{
	uint64_t half[2] = { 0 };
	unsigned int digits = 0;

	for (; *text && digits < 32; text++) {
		const char digit[2] = { *text };

		if (*text == '-')
			continue;
		half[digits / 16] = half[digits / 16] << 4 | strtoul(digit, NULL, 16);
		digits++;
	}
	put_number(b, half[0], 8);
	put_number(b, half[1], 8);
}

static int flush(struct sender *s)
{
	size_t len = s->buf.len;

	if (s->buf.failed)
		return err_set(s->e, -ENOMEM, "out of memory");
	if (fwrite(s->buf.data, 1, len, s->out) != len)
		return err_set(s->e, -errno, "cannot write: %s", strerror(errno));
	buf_reset(&s->buf);
	return 0;
}

/* ---- rows ---- */

static int put_text(struct sender *s, const struct table_column *c, struct value v)
{
	char text[32];

	if (c->type == COLUMN_REAL && v.type == VALUE_REAL) {
		snprintf(text, sizeof(text), "%.17g", v.r);
		v = value_text(text);
	}
	if (v.type != VALUE_TEXT) {
		put_bytes(&s->buf, "", 0);
		return 0;
	}
	if (export_text_safe(&s->room, &v) < 0)
		return -ENOMEM;
	put_bytes(&s->buf, v.text, v.text_bytes);
	return 0;
}

static void put_int(struct buf *b, const struct value *v)
{
	put_number(b, v->type != VALUE_INT, 1);
	if (v->type == VALUE_INT)
		put_number(b, (uint64_t)v->i, 8);
}

static int put_row(struct sender *s, int64_t unix_ns, uint64_t off_ns, const struct value *row)
{
	const struct clickhouse_table *t = &s->table;
	unsigned int i, texts = 0;
	int ret = 0;

	buf_add(&s->buf, s->front.data, s->front.len);
	put_number(&s->buf, (uint64_t)unix_ns, 8);
	put_number(&s->buf, s->uncertainty_ns + off_ns, 8);
	put_number(&s->buf, ++s->row_cnt, 8);
	put_bytes(&s->buf, t->name, strlen(t->name));
	put_number(&s->buf, s->layout, 4);
	for (i = 0; i < t->col_cnt; i++)
		texts += clickhouse_is_text(&t->cols[i]);
	buf_add_varint(&s->buf, t->col_cnt - texts);
	for (i = 0; i < t->col_cnt; i++)
		if (!clickhouse_is_text(&t->cols[i]))
			put_int(&s->buf, &row[i]);
	buf_add_varint(&s->buf, texts);
	for (i = 0; !ret && i < t->col_cnt; i++)
		if (clickhouse_is_text(&t->cols[i]))
			ret = put_text(s, &t->cols[i], row[i]);
	s->x.row_cnt++;
	if (s->r->progress && s->x.row_cnt % PROGRESS_EVERY == 0)
		s->r->progress(s->r->ctx, s->x.row_cnt);
	if (!ret && s->buf.len >= FLUSH_BYTES)
		ret = flush(s);
	return ret < 0 ? err_set(s->e, ret, "out of memory") : 0;
}

static int64_t real_of(const struct sender *s, int64_t rel_ns)
{
	return (int64_t)trace_real_ns(s->x.a->trace, context_abs(s->x.a, rel_ns));
}

/*
 * Implements row_sink.row(). The time of a row is its instant. Rows of lists, and rows that begin
 * before the window, have the time of the window's start.
 */
static int table_row(void *ctx, const struct value *row)
{
	struct sender *s = ctx;
	int at = s->table.def->time_col;
	int64_t ns = s->x.from_ns;

	if (at >= 0 && row[at].type == VALUE_INT && row[at].i > ns)
		ns = row[at].i;
	return put_row(s, ns > s->x.from_ns ? real_of(s, ns) : s->from_real_ns, 0, row);
}

static int bins_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	const struct sender *s = ctx;
	const struct clickhouse_table *t = &s->table;
	bool same = col_cnt == t->col_cnt + 1;

	for (unsigned int i = 0; same && i < t->col_cnt; i++)
		same = !strcmp(names[i + 1], t->cols[i].name);
	return same ? 0 : err_set(s->e, -EPROTO, "the columns of %s differ", t->name);
}

static int bins_row(void *ctx, const struct value *row)
{
	struct sender *s = ctx;
	uint64_t off_ns, at_ns = context_abs(s->x.a, row[0].i);
	uint64_t unix_ns = align_real_ns(s->x.a->trace, s->r->every_ns, at_ns, &off_ns);

	return put_row(s, (int64_t)unix_ns, off_ns, row + 1);
}

static int send_bins(struct sender *s)
{
	const struct row_sink sink = { .ctx = s, .begin = bins_begin, .row = bins_row };
	const struct report_request r = { .view = "bins", .from_ns = s->r->from_ns,
					  .to_ns = s->r->to_ns, .every_ns = s->r->every_ns,
					  .by = s->r->by };

	return analysis_report(s->x.a, &r, &sink, s->e);
}

/* ---- a load ---- */

static bool is_wanted(const struct sender *s, const struct clickhouse_table *t)
{
	if (s->r->every_ns)
		return t->by == s->r->by;
	return t->def && export_has(&s->x, t->def);
}

static void begin_table(struct sender *s, const struct clickhouse_table *t)
{
	s->table = *t;
	s->layout = clickhouse_layout(t);
	s->row_cnt = 0;
}

static int send_tables(struct sender *s)
{
	const struct row_sink sink = { .ctx = s, .row = table_row };
	const struct clickhouse_table *t;
	struct clickhouse_table room;
	int ret = 0;

	for (unsigned int i = 0; !ret && (t = clickhouse_table_at(&room, i)); i++) {
		if (!is_wanted(s, t))
			continue;
		begin_table(s, t);
		ret = t->by ? send_bins(s) : export_rows_all(&s->x, t->def, &sink, s->e);
		s->row_cnts[i] = s->row_cnt;
	}
	return ret;
}

/* Rounds to ms, so that clock errors do not change a load's start, which identifies the load. */
static int64_t whole_ms(int64_t ns)
{
	return (ns + CLOCK_SLACK_NS) / (2 * CLOCK_SLACK_NS) * (2 * CLOCK_SLACK_NS);
}

/* Sends the list of the load's tables; is_end: with each table's number of rows. */
static int send_loads(struct sender *s, bool is_end)
{
	const struct clickhouse_table *t;
	struct clickhouse_table room;
	int ret = 0;

	begin_table(s, &clickhouse_loads);
	for (unsigned int i = 0; !ret && (t = clickhouse_table_at(&room, i)); i++) {
		const struct value row[] = {
			value_text(t->name),
			value_text(trace_get(s->x.a->trace, "note.role")),
			value_int((uint64_t)whole_ms(s->from_real_ns)),
			value_int((uint64_t)whole_ms(s->to_real_ns)),
			is_end ? value_int(s->row_cnts[i]) : (struct value){ VALUE_NULL },
		};

		if (is_wanted(s, t))
			ret = put_row(s, s->from_real_ns, 0, row);
	}
	return ret;
}

static int begin_load(struct sender *s)
{
	const struct trace *t = s->x.a->trace;
	const char *host = trace_get(t, "host");

	if (!*trace_uuid(t))
		return err_set(s->e, -EINVAL,
			       "%s has no trace_id; 'ebpfrec repair' makes a copy that "
			       "has one",
			       trace_path(t));
	s->uncertainty_ns = align_clock_uncertainty(t);
	s->from_real_ns = s->r->every_ns ? (int64_t)trace_real_ns(t, s->r->from_ns) :
					   real_of(s, s->x.from_ns);
	s->to_real_ns = real_of(s, s->x.to_ns);
	host = host ? host : "";
	put_bytes(&s->front, host, strlen(host));
	put_uuid(&s->front, trace_uuid(t));
	put_number(&s->front, clock_real_ns(), 8);
	return s->front.failed ? err_set(s->e, -ENOMEM, "out of memory") : 0;
}

int analysis_export_clickhouse(struct analysis *a, const struct clickhouse_request *r, FILE *out,
			       uint64_t *ret_rows, struct err *e)
{
	struct clickhouse_request mine = *r;
	struct export_request window;
	struct sender s = { .r = &mine, .out = out, .e = e };
	int ret = 0;

	if (r->every_ns)
		ret = align_window(a->trace, r->every_ns, &mine.from_ns, &mine.to_ns, e);
	window = (struct export_request){
		.from_ns = mine.from_ns > a->start_ns ? mine.from_ns : a->start_ns,
		.to_ns = mine.to_ns < a->end_ns ? mine.to_ns : a->end_ns
	};
	s.x = (struct export_to){ .a = a, .request = &window,
				  .tables = r->tables, .table_cnt = r->table_cnt,
				  .whole = mine.from_ns <= a->start_ns && mine.to_ns >= a->end_ns,
				  .from_ns = context_rel_clamped(a, window.from_ns),
				  .to_ns = context_rel_clamped(a, window.to_ns) };
	ret = ret ?: begin_load(&s) ?: send_loads(&s, false);
	ret = ret ?: send_tables(&s) ?: send_loads(&s, true);
	ret = ret ?: flush(&s);
	if (!ret && fflush(out))
		ret = err_set(e, -errno, "cannot write: %s", strerror(errno));
	*ret_rows = s.x.row_cnt;
	free(s.room.data);
	buf_done(&s.front);
	buf_done(&s.buf);
	return ret;
}
