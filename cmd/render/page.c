/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* page: writes cmd/page/page.html with its marks (@NAME@) replaced. */
#include "cmd/render/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_output.h"
#include "base/buf.h"
#include "base/textsafe.h"
#include "cmd/render/render.h"
#include "cmd/render/render_format.h"
#include "cmd/render/say.h"

struct page {
	const struct page_request *r;
	FILE *f;
	struct buf data;	/* data of the charts, compressed */
	struct buf spikes;	/* table of spikes, as HTML */
	/* output of the current table */
	struct buf *table;
	struct buf tables;	/* tables of the summary */
	unsigned int col_cnt;
	enum column_kind *kinds;
	const char *const *names; /* column names, until the headings are written; then NULL */
};

const char page_lacks[] = "this program was built without the charts of the page: install "
			  "libjs-dygraphs (`make deps`), and build it again";

bool page_is_built(void)
{
	return page_script[0] != 0;
}

/* ---- HTML ---- */

static void put(struct buf *b, const char *html)
{
	buf_add(b, html, strlen(html));
}

/* Appends text of a trace: escapes markup, and makes invisible characters visible. */
static void put_text(struct buf *b, const char *text, size_t n)
{
	char *at = (char *)buf_room(b, TEXTSAFE_HTML_MAX(n));

	if (at)
		b->len += textsafe_html(at, text, n);
}

/* ---- tables ---- */

static int table_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct page *p = ctx;

	free(p->kinds);
	p->kinds = calloc(col_cnt, sizeof(*p->kinds));
	if (!p->kinds)
		return -ENOMEM;
	p->col_cnt = col_cnt;
	p->names = names;
	for (unsigned int i = 0; i < col_cnt; i++)
		p->kinds[i] = column_find(names[i])->kind;
	return 0;
}

/*
 * Writes the headings, aligned like the values of the first row; values NULL: the table has no
 * rows.
 */
static void put_headings(struct page *p, const struct value *values)
{
	char heading[80];

	if (!p->names)
		return;
	put(p->table, "<table><thead><tr>");
	for (unsigned int i = 0; i < p->col_cnt; i++) {
		column_heading(heading, sizeof(heading), p->names[i]);
		put(p->table, values && values[i].type == VALUE_TEXT ?
				      "<th scope=\"col\" class=\"text\">" :
				      "<th scope=\"col\">");
		put_text(p->table, heading, strlen(heading));
		put(p->table, "</th>");
	}
	put(p->table, "</tr></thead><tbody>\n");
	p->names = NULL;
}

static int table_row(void *ctx, const struct value *values)
{
	struct page *p = ctx;
	char text[80];

	put_headings(p, values);
	put(p->table, "<tr>");
	for (unsigned int i = 0; i < p->col_cnt; i++) {
		const struct value *v = &values[i];

		put(p->table, v->type == VALUE_TEXT ? "<td class=\"text\">" : "<td>");
		if (v->type == VALUE_TEXT) {
			put_text(p->table, v->text, v->text_bytes);
		} else if (v->type != VALUE_NULL) {
			render_format_value(text, sizeof(text), v, p->kinds[i]);
			put_text(p->table, text, strlen(text));
		}
		put(p->table, "</td>");
	}
	put(p->table, "</tr>\n");
	return 0;
}

static int table_end(void *ctx)
{
	struct page *p = ctx;

	put_headings(p, NULL);
	put(p->table, "</tbody></table>\n");
	return 0;
}

/* Begins a table of the summary. Rows before the first section are rows of `report spikes`. */
static int table_section(void *ctx, const char *title)
{
	struct page *p = ctx;

	p->table = &p->tables;
	put(p->table, "<h3>");
	put_text(p->table, title, strlen(title));
	put(p->table, "</h3>\n");
	/* the rows of this section are replaced by the table of `report spikes` */
	if (strcmp(title, "Spikes"))
		return 0;
	buf_add(p->table, p->spikes.data, p->spikes.len);
	return 1;
}

static int make_tables(struct page *p, struct err *e)
{
	const struct row_sink sink = { p, table_begin, table_row, table_end, table_section };
	int ret;

	p->table = &p->spikes;
	ret = analysis_page(p->r->analysis, p->r->from_ns, p->r->to_ns, PAGE_WHOLE, false, &sink,
			    &p->data, e);
	if (!ret && (p->tables.failed || p->spikes.failed))
		ret = err_set(e, -ENOMEM, "out of memory");
	return ret;
}

/* ---- marks ---- */

static const char *title_text(const struct page *p)
{
	const char *command = trace_get(p->r->trace, "command");

	return command && *command ? command : p->r->path;
}

static const char *facts_text(const struct page *p)
{
	const struct trace *t = p->r->trace;
	const char *host = trace_get(t, "host"), *kernel = trace_get(t, "kernel.release");
	uint64_t start = trace_start_ns(t);

	return say_format("%s%s%s%s%s .. %s s (%s), from %s", host ? host : "",
			  host ? ", Linux " : "", host && kernel ? kernel : "", host ? ", " : "",
			  say_instant((int64_t)(p->r->from_ns - start)),
			  say_instant((int64_t)(p->r->to_ns - start)),
			  say_duration(p->r->to_ns - p->r->from_ns),
			  say_wall(trace_real_ns(t, p->r->from_ns), true));
}

static void write_data(struct page *p)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *d = p->data.data;
	size_t n = p->data.len;
	char line[77];

	for (size_t i = 0; i < n;) {
		unsigned int at = 0;

		for (; i < n && at < 76; i += 3, at += 4) {
			uint32_t v = (uint32_t)d[i] << 16;

			v |= i + 1 < n ? (uint32_t)d[i + 1] << 8 : 0;
			v |= i + 2 < n ? d[i + 2] : 0;
			line[at] = digits[v >> 18];
			line[at + 1] = digits[v >> 12 & 63];
			line[at + 2] = i + 1 < n ? digits[v >> 6 & 63] : '=';
			line[at + 3] = i + 2 < n ? digits[v & 63] : '=';
		}
		line[at++] = '\n';
		fwrite(line, 1, at, p->f);
	}
}

static void write_summary(struct page *p)
{
	/* the page of a viewer has no tables */
	if (p->tables.len)
		fwrite(p->tables.data, 1, p->tables.len, p->f);
}

static void write_mark(struct page *p, const char *name, size_t n)
{
	const struct {
		const char *name, *html, *text;
		void (*write)(struct page *p);
	} marks[] = {
		{ "SCRIPT", page_script }, { "SCRIPT_HASH", page_script_hash },
		{ "STYLE", page_style }, { "STYLE_HASH", page_style_hash },
		{ "CONNECT", p->r->is_served ? "connect-src 'self'; " : "" },
		{ "SERVED", p->r->is_served ? "yes" : "" },
		{ "LICENSE", page_license }, { "VERSION", EBPFREC_VERSION },
		{ "STATE_CLASS", p->r->missing[0] ? "incomplete" : "complete" },
		{ "TRACE", .text = p->r->path }, { "TITLE", .text = title_text(p) },
		{ "FACTS", .text = facts_text(p) },
		{ "STATE", .text = p->r->missing[0] ? say_format("INCOMPLETE: %s", p->r->missing) :
						      "complete" },
		{ "SUMMARY", .write = write_summary }, { "DATA", .write = write_data },
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (strlen(marks[i].name) != n || strncmp(marks[i].name, name, n) != 0)
			continue;
		if (marks[i].html)
			fputs(marks[i].html, p->f);
		else if (marks[i].text)
			render_html_text(p->f, marks[i].text);
		else
			marks[i].write(p);
	}
}

static void write_page(struct page *p)
{
	const char *at = page_page;

	for (;;) {
		size_t n = strcspn(at, "@");

		fwrite(at, 1, n, p->f);
		at += n;
		if (!*at)
			break;
		n = strcspn(++at, "@");
		write_mark(p, at, n);
		at += n + 1;
	}
}

int page_write(const struct page_request *r, FILE *f, struct err *e)
{
	struct page p = { .r = r, .f = f };
	int ret = r->is_served ? 0 : make_tables(&p, e);

	if (!ret) {
		write_page(&p);
		if (fflush(f) || ferror(f))
			ret = err_set(e, errno ? -errno : -EIO, "cannot write the page: %s",
				      strerror(errno));
	}
	free(p.kinds);
	buf_done(&p.data);
	buf_done(&p.spikes);
	buf_done(&p.tables);
	return ret;
}

int page_write_beside(const char *const *traces, size_t cnt, FILE *f)
{
	static const char mark[] = "@TRACES@";
	const char *at = strstr(page_beside, mark);
	struct buf b = { 0 };
	int ret;

	buf_add(&b, page_beside, (size_t)(at - page_beside));
	for (size_t i = 0; i < cnt; i++) {
		put(&b, "<option>");
		put_text(&b, traces[i], strlen(traces[i]));
		put(&b, "</option>");
	}
	put(&b, at + strlen(mark));
	ret = b.failed || fwrite(b.data, 1, b.len, f) != b.len ? -ENOMEM : 0;
	buf_done(&b);
	return ret;
}

static int fill(void *ctx, FILE *f, struct err *e)
{
	return page_write(ctx, f, e);
}

int page_make(const struct page_request *r, const char *path, bool force, struct err *e)
{
	struct page_request request = *r;

	atomic_output_catch_signals();
	return atomic_output_file(path, force, fill, &request, e);
}
