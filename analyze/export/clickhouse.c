/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Sends tables of a window as rows of the table landing (clickhouse.h) in ClickHouse's format
 * RowBinary: numbers little-endian, lengths as varints, a byte before a value that may be NULL.
 * Rows of the table loads come first, and again last, with the number of rows of each table: what
 * does not arrive up to there is not whole.
 */
#include "analyze/export/clickhouse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/align.h"
#include "analyze/export/export.h"
#include "base/buf.h"
#include "base/clock.h"

#define FLUSH_BYTES (256u << 10)
#define PROGRESS_EVERY 65536
#define CLOCK_SLACK_NS 500000 /* a later reading of the clocks moves a wall-clock time by less */

struct sender {
	struct export_to x;
	const struct clickhouse_request *r;
	FILE *out;
	struct buf buf;
	struct buf front; /* of each row: host, trace_id, load */
	struct clickhouse_table table; /* being sent */
	uint32_t layout;
	uint64_t uncertainty_ns;
	uint64_t row_cnt; /* of the table; the server knows a row that comes twice by it */
	uint64_t row_cnts[CLICKHOUSE_TABLES_MAX]; /* of each table */
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

/* Two little-endian numbers of 8 bytes each: the UUID's first and second half. */
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

/* A row_sink's row(). What began before the window, and lists, count from the window's start. */
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

/* Loads are identified by their start. */
static int64_t whole_ms(int64_t ns)
{
	return (ns + CLOCK_SLACK_NS) / (2 * CLOCK_SLACK_NS) * (2 * CLOCK_SLACK_NS);
}

/* The tables of a load: announced before their rows, and declared with their number at the end. */
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
