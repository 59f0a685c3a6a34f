/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Tests of text output: textsafe, the three formats of render, opts and nearest. */
#include <math.h>

#include "cmd/render/say.h"
#include "cmd/input/opts.h"
#include "cmd/render/sparkline.h"
#include "cmd/render/render.h"
#include "base/textsafe.h"
#include "tests/unit/unit_test.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* ---- textsafe ---- */

UNIT_TEST(test_textsafe_lets_no_control_byte_through)
{
	char dst[TEXTSAFE_JSON_MAX(4) + 1], src[4];

	/* every byte, alone and between others, in all three forms */
	for (unsigned int b = 0; b < 256; b++) {
		size_t n;

		src[0] = 'a';
		src[1] = (char)b;
		src[2] = 'z';
		for (unsigned int form = 0; form < 3; form++) {
			if (form == 0)
				n = textsafe_escape(dst, sizeof(dst), src, 3, NULL);
			else if (form == 1)
				n = textsafe_csv(dst, src, 3);
			else
				n = textsafe_json(dst, src, 3);
			for (size_t i = 0; i < n; i++) {
				unsigned char c = (unsigned char)dst[i];

				if (c < 0x20 || c == 0x7f || (c >= 0x80 && form < 2))
					fail_msg("byte %02x came out as %02x in form %u", b, c,
						 form);
			}
		}
	}
}

UNIT_TEST(test_textsafe_escapes_for_terminals)
{
	static const struct {
		const char *src, *want;
		unsigned int cells;
	} cases[] = {
		{ "make", "make", 4 },
		{ "", "", 0 },
		{ "\x1b[31mred", "\\x1b[31mred", 11 },
		{ "a\nb", "a\\x0ab", 6 },
		{ "caf\xc3\xa9", "caf\xc3\xa9", 4 },
		{ "caf\xc3", "caf\\xc3", 7 },
		{ "\xc2\x9b"
		  "1m",
		  "\\xc2\\x9b1m", 10 }, /* C1 CSI in UTF-8 */
		{ "\xe2\x80\xae"
		  "x",
		  "\\xe2\\x80\\xaex", 13 }, /* right-to-left override */
		{ "\xe4\xb8\xad", "\xe4\xb8\xad", 2 },
		{ "back\\slash", "back\\slash", 10 },
	};
	char dst[64];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		unsigned int cells = 77;
		size_t n = textsafe_escape(dst, sizeof(dst), cases[i].src, strlen(cases[i].src),
					   &cells);

		assert_string_equal(dst, cases[i].want);
		assert_int_equal(n, strlen(dst));
		assert_int_equal(cells, cases[i].cells);
	}
}

UNIT_TEST(test_textsafe_stays_within_its_buffer)
{
	char dst[8];

	memset(dst, 'X', sizeof(dst));
	textsafe_escape(dst, 6, "ab\x01\x02", 4, NULL);
	assert_string_equal(dst, "ab"); /* a whole \x01 would not fit beside the NUL */
	assert_int_equal(dst[6], 'X');
	textsafe_escape(dst, 1, "ab", 2, NULL);
	assert_string_equal(dst, "");
}

#define ELLIPSIS "\xe2\x80\xa6"

UNIT_TEST(test_textsafe_cuts_at_cells)
{
	char a[9] = "abcdef", b[6] = "abc", c[12] = "\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad";

	textsafe_cut(a, 4);
	assert_string_equal(a, "abc" ELLIPSIS);
	textsafe_cut(b, 3);
	assert_string_equal(b, "abc");
	textsafe_cut(c, 4);
	assert_string_equal(c, "\xe4\xb8\xad" ELLIPSIS);
}

UNIT_TEST(test_textsafe_cuts_paths_in_the_middle)
{
	char a[] = "/usr/share/man/man1/ls.1.gz  ", b[] = "/abc";
	char c[] = "\xe4\xb8\xad\xe4\xb8\xadxy";

	a[strlen(a) - 2] = 0;
	textsafe_cut_middle(a, 13);
	assert_string_equal(a, "/usr" ELLIPSIS "/ls.1.gz");
	textsafe_cut_middle(b, 4);
	assert_string_equal(b, "/abc");
	textsafe_cut_middle(c, 5);
	assert_string_equal(c, ELLIPSIS "\xe4\xb8\xadxy");
	textsafe_cut_middle(c, 1);
	assert_string_equal(c, ELLIPSIS);
}

static void assert_csv(const char *src, const char *want)
{
	char dst[TEXTSAFE_CSV_MAX(64)];
	size_t n = textsafe_csv(dst, src, strlen(src));

	dst[n] = '\0';
	assert_string_equal(dst, want);
}

UNIT_TEST(test_textsafe_quotes_csv_and_stops_formulas)
{
	assert_csv("make", "make");
	assert_csv("", "\"\"");
	assert_csv("a,b", "\"a,b\"");
	assert_csv("say \"hi\"", "\"say \"\"hi\"\"\"");
	assert_csv(" lead", "\" lead\"");
	assert_csv("=1+1", "\"'=1+1\"");
	assert_csv("+a", "\"'+a\"");
	assert_csv("-a", "\"'-a\"");
	assert_csv("@SUM(A1)", "\"'@SUM(A1)\"");
	assert_csv("\t=1", "\\x09=1");
	assert_csv("\r=1", "\\x0d=1");
	/* two strings never become one */
	assert_csv("'=1+1", "\"''=1+1\"");
	assert_csv("'a' b", "\"''a' b\"");
	assert_csv("'", "\"''\"");
	assert_csv("it's", "it's");
	assert_csv("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\"");
	assert_csv("two\nlines", "two\\x0alines");
	assert_csv("a=b", "a=b");
}

UNIT_TEST(test_textsafe_leaves_no_markup_in_html)
{
	static const char src[] = "<a href=\"x\">&\x1b'</a>";
	char dst[TEXTSAFE_HTML_MAX(sizeof(src))];

	dst[textsafe_html(dst, src, strlen(src))] = '\0';
	assert_string_equal(dst, "&lt;a href=&quot;x&quot;&gt;&amp;\\x1b'&lt;/a&gt;");
}

UNIT_TEST(test_textsafe_leaves_no_markup_in_markdown)
{
	static const char src[] = "a|b*_`[x](www.x.y) @me <b> http://x #1 a.b\x1b";
	char dst[TEXTSAFE_MARKDOWN_MAX(sizeof(src))];

	dst[textsafe_markdown(dst, src, strlen(src))] = '\0';
	assert_string_equal(dst, "a\\|b\\*\\_\\`\\[x\\](www&#46;x.y) &#64;me &#60;b&#62; "
				 "http&#58;//x \\#1 a.b\\x1b");
}

static void assert_json(const char *src, size_t n, const char *want)
{
	char dst[TEXTSAFE_JSON_MAX(64)];
	size_t w = textsafe_json(dst, src, n);

	dst[w] = '\0';
	assert_string_equal(dst, want);
}

UNIT_TEST(test_textsafe_makes_valid_json_strings)
{
	assert_json("make", 4, "\"make\"");
	assert_json("a\"b\\c", 5, "\"a\\\"b\\\\c\"");
	assert_json("\x1b\n\0x", 4, "\"\\u001b\\u000a\\u0000x\"");
	assert_json("\xc3\xa9", 2, "\"\xc3\xa9\"");
	assert_json("a\xff"
		    "b",
		    3,
		    "\"a\xef\xbf\xbd"
		    "b\"");
	assert_json("\xe2\x80\xae", 3, "\"\\u202e\"");
	assert_json("\xf3\xa0\x81\x81", 4, "\"\\udb40\\udc41\"");
}

/* ---- render ---- */

static const char *const names[] = {
	"pid", "comm", "oncpu_ns", "util_pct", "net_bytes", "complete"
};

static struct value val_int(int64_t i)
{
	return (struct value){ .type = VALUE_INT, .i = i };
}

static struct value val_real(double r)
{
	return (struct value){ .type = VALUE_REAL, .r = r };
}

static struct value val_text(const char *s)
{
	return (struct value){ .type = VALUE_TEXT, .text = s, .text_bytes = strlen(s) };
}

/* Renders rows of cnt values each, which follow one another. The caller frees the text. */
static char *rendered(struct render_options o, unsigned int cnt, const char *const *cols,
		      const struct value *values, unsigned int row_cnt)
{
	const struct row_sink *sink;
	struct render *r;
	char *text = NULL;
	size_t size;

	o.out = open_memstream(&text, &size);
	assert_int_equal(render_new(&r, &o), 0);
	sink = render_sink(r);
	assert_int_equal(sink->begin(sink->ctx, cnt, cols), 0);
	for (unsigned int i = 0; i < row_cnt; i++)
		assert_int_equal(sink->row(sink->ctx, values + i * cnt), 0);
	assert_int_equal(sink->end(sink->ctx), 0);
	render_free(r);
	fclose(o.out);
	return text;
}

static void assert_rendered(struct render_options o, unsigned int cnt, const char *const *cols,
			    const struct value *values, unsigned int row_cnt, const char *want)
{
	char *text = rendered(o, cnt, cols, values, row_cnt);

	assert_string_equal(text, want);
	free(text);
}

/* Renders row_cnt rows that differ in the pid; the caller frees the text. */
static char *render(const struct render_options *o, unsigned int row_cnt)
{
	struct value *values = calloc(row_cnt + 1, 6 * sizeof(*values));
	char *text;

	for (unsigned int i = 0; i < row_cnt; i++)
		memcpy(values + 6 * i, (const struct value[]){
				val_int(1000 + i), val_text(i ? "=x\x1b" : "make"),
				val_int(12345678), val_real(100.0 / 3.0),
				val_int(-2097152), value_null() }, 6 * sizeof(*values));
	text = rendered(*o, 6, names, values, row_cnt);
	free(values);
	return text;
}

UNIT_TEST(test_render_writes_raw_csv)
{
	char *text = render(&(struct render_options){ .format = RENDER_CSV }, 2);

	assert_string_equal(text, "pid,comm,oncpu_ns,util_pct,net_bytes,complete\n"
				  "1000,make,12345678,33.333333333333336,-2097152,\n"
				  "1001,\"'=x\\x1b\",12345678,33.333333333333336,-2097152,\n");
	free(text);
}

UNIT_TEST(test_render_writes_json)
{
	char *text = render(&(struct render_options){ .format = RENDER_JSON }, 2);

	assert_string_equal(
		text, "[\n"
		      "{\"pid\":1000,\"comm\":\"make\",\"oncpu_ns\":12345678,\"util_pct\":33."
		      "333333333333336,"
		      "\"net_bytes\":-2097152,\"complete\":null},\n"
		      "{\"pid\":1001,\"comm\":\"=x\\u001b\",\"oncpu_ns\":12345678,"
		      "\"util_pct\":33.333333333333336,\"net_bytes\":-2097152,\"complete\":null}\n"
		      "]\n");
	free(text);
	text = render(&(struct render_options){ .format = RENDER_JSON }, 0);
	assert_string_equal(text, "[]\n");
	free(text);
}

UNIT_TEST(test_render_writes_tables_for_people)
{
	char *text = render(&(struct render_options){ .format = RENDER_TABLE, .human = true,
						      .limit = 2 }, 1302);

	assert_string_equal(text, " PID  COMM      ONCPU  %CPU  NET BYTES  COMPLETE\n"
				  "1000  make    12.3 ms  33.3  -2.00 MiB         -\n"
				  "1001  =x\\x1b  12.3 ms  33.3  -2.00 MiB         -\n"
				  "(1,300 more: --limit 0)\n");
	free(text);
}

UNIT_TEST(test_render_takes_names_of_things_for_no_columns)
{
	static const char *const things[] = { "t_ns", "load_ns", "Xorg", "xorg", "complete",
					      "stack" };
	const struct value row[] = { val_int(0), val_real(52.04), val_real(1), val_real(2),
				     val_real(1), val_real(0) };

	assert_rendered((struct render_options){ .format = RENDER_TABLE, .human = true,
						 .figure = "util_pct" }, 6, things, row, 1,
			"T (s)  load_ns  Xorg  xorg  complete  stack\n"
			"0.000     52.0   1.0   2.0       1.0    0.0\n");
}

UNIT_TEST(test_pivot_has_no_two_columns_of_one_name)
{
	static const char *const columns[] = { "t_ns", "comm", "ios" };
	struct pivot p = { .groups.o = { .by = "comm", .figure = "ios", .every_ns = 10,
					 .bin_cnt = 1 } };
	struct render_options o = { .format = RENDER_JSON };
	const struct row_sink sink = pivot_sink(&p);
	char *text = NULL;
	struct render *r;
	size_t size;

	o.out = open_memstream(&text, &size);
	assert_int_equal(render_new(&r, &o), 0);
	p.next = render_sink(r);
	assert_int_equal(sink.begin(sink.ctx, 3, columns), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(sink.row(sink.ctx, (const struct value[]){
						val_int(0), value_text(i ? "t_ns" : "cat"),
						val_int(2 - i) }), 0);
	assert_int_equal(sink.end(sink.ctx), 0);
	bin_groups_done(&p.groups);
	render_free(r);
	fclose(o.out);
	assert_string_equal(text, "[\n{\"t_ns\":0,\"cat\":2,\"[t_ns]\":1}\n]\n");
	free(text);
}

UNIT_TEST(test_render_makes_an_object_of_sections)
{
	struct render_options o = { .format = RENDER_JSON };
	static const char *const columns[] = { "pid" };
	const struct value row = val_int(7);
	const struct row_sink *sink;
	char *text = NULL;
	struct render *r;
	size_t size;

	o.out = open_memstream(&text, &size);
	assert_int_equal(render_new(&r, &o), 0);
	sink = render_sink(r);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(sink->section(sink->ctx, i ? "of \"b\"" : "a"), 0);
		assert_int_equal(sink->begin(sink->ctx, 1, columns), 0);
		assert_int_equal(i ? 0 : sink->row(sink->ctx, &row), 0);
		assert_int_equal(sink->end(sink->ctx), 0);
	}
	render_free(r);
	fclose(o.out);
	assert_string_equal(text, "{\n\"a\":[\n{\"pid\":7}\n]\n,\"of \\\"b\\\"\":[]\n}\n");
	free(text);
}

UNIT_TEST(test_render_leaves_sql_tables_as_they_are)
{
	char *text = render(&(struct render_options){ .format = RENDER_TABLE }, 1);

	assert_string_equal(text, " pid  comm  oncpu_ns          util_pct  net_bytes  complete\n"
				  "1000  make  12345678  33.3333333333333   -2097152      NULL\n");
	free(text);
}

UNIT_TEST(test_render_streams_long_tables_whole)
{
	unsigned int rows = 3 * RENDER_TABLE_HELD + 7, lines = 0;
	char *text =
		render(&(struct render_options){ .format = RENDER_TABLE, .human = true }, rows);
	char want[16];

	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, rows + 1);
	snprintf(want, sizeof(want), "\n%u  ", 1000 + rows - 1);
	assert_non_null(strstr(text, want));
	free(text);
}

UNIT_TEST(test_render_fits_tables_to_the_terminal)
{
	static const char *const cols[] = { "pid", "cmdline" };
	const struct value row[] = { val_int(1),
				     val_text("0123456789012345678901234567890123456789") };

	assert_rendered((struct render_options){ .format = RENDER_TABLE, .human = true,
						 .width = 25 }, 2, cols, row, 1,
			"PID  CMDLINE\n  1  0123456789012345678" ELLIPSIS "\n");
}

/* A table of one row is this text. */
static void assert_table(unsigned int cnt, const char *const *cols, const struct value *row,
			 unsigned int width, bool human, const char *want)
{
	assert_rendered((struct render_options){ .format = RENDER_TABLE, .human = human,
						 .width = width }, cnt, cols, row, 1, want);
}

UNIT_TEST(test_render_table_puts_stacks_under_their_row)
{
	static const char *const cols[] = { "pid", "user_stack", "bytes", "kernel_stack", "stack" };
	struct value row[] = { val_int(1), val_text("main;outer\x1b;inner"), val_int(2048),
			       { .type = VALUE_NULL }, val_text("one") };

	assert_table(5, cols, row, 0, true,
		     "PID     BYTES\n  1  2.00 KiB\n      user: inner < outer\\x1b < main\n"
		     "      stack: one\n");
	/* at most two lines, cut at the end */
	assert_table(5, cols, row, 28, true,
		     "PID     BYTES\n  1  2.00 KiB\n      user: inner\n"
		     "            < outer\\x1b < m" ELLIPSIS "\n      stack: one\n");
	row[1] = val_text("");
	row[4] = val_text(";;");
	assert_table(5, cols, row, 28, true,
		     "PID     BYTES\n  1  2.00 KiB\n      user: \n      stack:  <  < \n");
	/* of the path of a line its name; other text in brackets stays */
	row[1] = val_text("(:1);a (/b/c:99999999999);f<int (*)(int)> (d.c:3);prog+0x1 (stripped)");
	row[4] = val_text("(anonymous namespace)::g (/src/tree.c:31)");
	assert_table(5, cols, row, 0, true,
		     "PID     BYTES\n  1  2.00 KiB\n      user: prog+0x1 (stripped) < "
		     "f<int (*)(int)> (d.c:3) < a (/b/c:99999999999) < (:1)\n"
		     "      stack: (anonymous namespace)::g (tree.c:31)\n");
	row[1] = val_text("a;b");	/* of a query, not of a report: columns like any other */
	assert_table(3, cols, row, 0, false,
		     "pid  user_stack  bytes\n  1  a;b          2048\n");
}

/* Which lock it is counts more than the rest of the names beside it. */
UNIT_TEST(test_render_gives_objects_the_most_room)
{
	static const char *const cols[] = { "comm", "object", "holder" };
	const struct value row[] = { val_text("worker-thread-1"), val_text("audit_log_lock"),
				     val_text("worker-thread-2") };

	assert_table(3, cols, row, 34, true, "COMM      OBJECT          HOLDER\n"
		     "worker-" ELLIPSIS "  audit_log_lock  worker-" ELLIPSIS "\n");
}

UNIT_TEST(test_render_leaves_out_columns_there_is_no_room_for)
{
	static const char *const cols[] = { "pid",   "comm",   "ios",	  "threshold_bytes",
					    "bytes", "errors", "wait_ns", "complete", "p_value" };
	const struct value row[] = { val_int(1),    val_text("a-name-of-20-letters"),
				     val_int(7),    val_int(1024),
				     val_int(2048), val_int(0),
				     val_int(1000), val_int(1), value_null() };
	struct render_options o = { .format = RENDER_TABLE, .human = true, .width = 37,
				    .drops = "nothing,threshold_bytes" };
	struct value rows[18];
	char *text;

	memcpy(rows, row, sizeof(row));
	memcpy(rows + 9, row, sizeof(row));
	/*
	 * Columns are dropped in this order: zeros, columns that the options name, and, when texts
	 * cannot be cut any more, columns from the right. Columns that identify a row are never
	 * dropped. A column is not shown if all rows are complete, and a value that no row has is
	 * not 0.
	 */
	assert_rendered(o, 9, cols, rows, 2, "PID  COMM      IOS     BYTES     WAIT\n"
			"  1  a-name-" ELLIPSIS "    7  2.00 KiB  1.00 us\n"
			"  1  a-name-" ELLIPSIS "    7  2.00 KiB  1.00 us\n"
			"(0 in all rows: ERRORS)\n(no room for: THRESHOLD BYTES; --wide\n"
			"shows all)\n");
	o.width = 35;
	assert_rendered(o, 9, cols, rows, 2, "PID  COMM             IOS     BYTES\n"
			"  1  a-name-of-20-l" ELLIPSIS "    7  2.00 KiB\n"
			"  1  a-name-of-20-l" ELLIPSIS "    7  2.00 KiB\n"
			"(0 in all rows: ERRORS)\n"
			"(no room for: THRESHOLD BYTES,\nWAIT; --wide shows all)\n");
	assert_table(9, cols, row, 37, true,	/* a single row is upright */
		     "PID              1\nCOMM             a-name-of-20-letters\n"
		     "IOS              7\nTHRESHOLD BYTES  1.00 KiB\nBYTES            2.00 KiB\n"
		     "ERRORS           0\nWAIT             1.00 us\n");
	for (int human = 0; human < 2; human++) {
		/* a query: all requested columns are there, as they are without a width */
		o = (struct render_options){ .format = RENDER_TABLE, .human = human,
					     .width = human ? 0 : 37 };
		text = rendered(o, 9, cols, row, 1);
		assert_non_null(strstr(text, human ? "THRESHOLD BYTES" : "threshold_bytes"));
		assert_null(strstr(text, "in all rows"));
		assert_null(strstr(text, "no room"));
		free(text);
	}
}

/* A table of two rows of three numbers is this text. */
static void assert_two(const char *const *cols, const int64_t *n, bool wide, const char *want)
{
	struct value values[6];

	for (int i = 0; i < 6; i++)
		values[i] = val_int(n[i]);
	assert_rendered((struct render_options){ .format = RENDER_TABLE, .human = true,
						 .wide = wide }, 3, cols, values, 2, want);
}

UNIT_TEST(test_render_says_once_what_all_rows_say_of_completeness)
{
	static const char *const cols[] = { "pid", "complete", "lost_events" };
	static const char *const loss[] = { "pid", "lost_events", "complete" };

	assert_two(cols, (const int64_t[]){ 1, 1, 0, 2, 1, 0 }, false, "PID\n  1\n  2\n");
	assert_two(cols, (const int64_t[]){ 1, 0, 7, 2, 1, 0 }, false,
		   "PID  COMPLETE  LOST EVENTS\n  1        NO            7\n"
		   "  2       yes            0\n");
	assert_two(cols, (const int64_t[]){ 1, 0, 7, 2, 0, 7 }, false,
		   "PID\n  1\n  2\n(in all rows, COMPLETE: NO, LOST EVENTS: 7)\n");
	assert_two(cols, (const int64_t[]){ 1, 1, 0, 2, 1, 0 }, true,
		   "PID  COMPLETE  LOST EVENTS\n  1       yes            0\n"
		   "  2       yes            0\n");
	/* in the view of losses, these columns are the subject and stay */
	assert_two(loss, (const int64_t[]){ 1, 0, 1, 2, 0, 1 }, false,
		   "PID  LOST EVENTS\n  1            0\n  2            0\n");
}

UNIT_TEST(test_render_leaves_bookkeeping_to_wide_tables)
{
	static const char *const cols[] = { "pid", "merges", "ios" };

	assert_two(cols, (const int64_t[]){ 1, 5, 6, 2, 7, 8 }, false,
		   "PID  IOS\n  1    6\n  2    8\n");
	assert_two(cols, (const int64_t[]){ 1, 5, 6, 2, 7, 8 }, true,
		   "PID  MERGES  IOS\n  1       5    6\n  2       7    8\n");
}

UNIT_TEST(test_render_shows_instants_as_far_as_they_tell_rows_apart)
{
	static const char *const cols[] = { "t_ns", "peak_ns", "cpu" };

	assert_two(cols, (const int64_t[]){ 0, 5, 1, 1500000000, 6, 1 }, false,
		   "T (s)  PEAK (s)  CPU\n0.000     0.000    1\n1.500     0.000    1\n");
	assert_two(cols, (const int64_t[]){ 1000, 5, 1, 2000, 6, 1 }, false,
		   "   T (s)  PEAK (s)  CPU\n0.000001     0.000    1\n0.000002     0.000    1\n");
	assert_two(cols, (const int64_t[]){ -1, 5, 1, 1, 6, 1 }, true,
		   "       T (s)     PEAK (s)  CPU\n-0.000000001  0.000000005    1\n"
		   " 0.000000001  0.000000006    1\n");
}

UNIT_TEST(test_render_wraps_between_words)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	render_wrap(f, "one two three", 8);
	render_wrap(f, "a-long-word b", 4);
	render_wrap(f, "", 4);
	render_wrap(f, "as it is", 0);
	render_wrap(f, "try `ls -l -a` (now)", 12);
	render_wrap(f, "by one,two,three", 8);
	fclose(f);
	assert_string_equal(text, "one two\nthree\na-long-word\nb\n\nas it is\n"
				  "try\n`ls -l -a`\n(now)\nby\none,two,\nthree\n");
	free(text);
}

UNIT_TEST(test_render_csv_reals_read_back_exactly)
{
	static const double cases[] = { 0.1, 1.0 / 3, 1e300, 5e-324, 123456789.125, -0.0, 100 };
	static const char *const one[] = { "x" };

	for (size_t i = 0; i < ARRAY_LEN(cases) + 2; i++) {
		struct value v = val_real(i < ARRAY_LEN(cases)	  ? cases[i]
					  : i == ARRAY_LEN(cases) ? NAN
								  : INFINITY);
		char *text = rendered((struct render_options){ .format = RENDER_CSV }, 1, one, &v,
				      1);

		if (i < ARRAY_LEN(cases))
			assert_true(strtod(text + 2, NULL) == cases[i]);
		else
			assert_string_equal(text, "x\n\n");
		free(text);
	}
}

UNIT_TEST(test_render_reports_a_full_disk)
{
	FILE *full = fopen("/dev/full", "w");
	struct render_options o = { .format = RENDER_CSV, .out = full };
	const struct value row[] = { val_int(1), val_text("x"), val_int(1),
				     val_int(1), val_int(1),	val_int(1) };
	const struct row_sink *sink;
	struct render *r;
	int c;

	if (!full)
		skip();
	assert_int_equal(render_new(&r, &o), 0);
	sink = render_sink(r);
	c = sink->begin(sink->ctx, 6, names);
	for (unsigned int i = 0; !c && i < 100000; i++)
		c = sink->row(sink->ctx, row);
	assert_int_equal(c, -ENOSPC);
	render_free(r);
	fclose(full);
}

/* ---- opts, nearest, lists ---- */

struct job {
	char got[256];
	bool flag;
	const char *text;
	uint64_t count, size, duration;
};

static int got(struct job *j, const char *what, const char *value)
{
	snprintf(j->got + strlen(j->got), sizeof(j->got) - strlen(j->got), "%s=%s ", what,
		 value ? value : "");
	return 0;
}

static int take_all(void *job, const char *value, struct err *e)
{
	return got(job, "a", value);
}

static int take_output(void *job, const char *value, struct err *e)
{
	return got(job, "o", value);
}

static int take_to(void *job, const char *value, struct err *e)
{
	return got(job, "to", value);
}

static int take_operand(void *job, const char *value)
{
	return got(job, "operand", value);
}

static int take_rest(void *job, char **argv, char **rest)
{
	struct job *j = job;

	for (; *rest; rest++)
		snprintf(j->got + strlen(j->got), sizeof(j->got) - strlen(j->got), "[%s]", *rest);
	return 0;
}

static const struct opts_option options[] = {
	{ 'a', "all", NULL, "a flag", OPTS_CALL, .take = take_all },
	{ 'o', "output", "FILE", "a value", OPTS_CALL, .take = take_output },
	{ 0, "to", "TIME", "a value that may start with a dash", OPTS_CALL, .take = take_to },
	{ 0, "follow", "[=DUR]", "a value it may have", OPTS_CALL, .take = take_to },
	{ 0, "flag", NULL, "kinds of values", OPTS_FLAG, offsetof(struct job, flag) },
	{ 0, "text", "T", "", OPTS_TEXT, offsetof(struct job, text), .refuse = "empty" },
	{ 0, "count", "N", "", OPTS_COUNT, offsetof(struct job, count), .min = 2, .max = 4,
	  .refuse = " is out of range" },
	{ 0, "size", "N", "", OPTS_SIZE, offsetof(struct job, size) },
	{ 0, "duration", "N", "", OPTS_DURATION, offsetof(struct job, duration) },
	{ 0 },
};

static int parse(struct job *j, char **argv, bool operand_ends)
{
	const struct opts_command c = {
		.name = "x", .synopsis = "", .about = "", .options = options,
		.operand = take_operand, .rest = operand_ends ? take_rest : NULL,
	};

	*j = (struct job){ .count = 77 };
	return opts_parse(&c, j, argv);
}

static void assert_parses(char **argv, int operand_ends, const char *want)
{
	struct job j;
	int r = parse(&j, argv, operand_ends);

	if (r)
		got(&j, "refused", NULL);
	assert_int_equal(r, r ? EXIT_USAGE : 0);
	assert_string_equal(j.got, want);
}

#define ARGS(...) ((char *[]){ (char *)"x", __VA_ARGS__, NULL })

UNIT_TEST(test_opts_understands_the_usual_forms)
{
	assert_parses(ARGS("-a", "-o", "f", "--output", "g", "--output=h", "-oi"), 0,
		      "a= o=f o=g o=h o=i ");
	assert_parses(ARGS("-aof"), 0, "a= o=f ");
	assert_parses(ARGS("--to", "-2s", "--to=-3s"), 0, "to=-2s to=-3s ");
	assert_parses(ARGS("view", "-a", "-"), 0, "operand=view a= operand=- ");
	assert_parses(ARGS("--", "-a"), 0, "operand=-a ");
	assert_parses(ARGS("-a", "make", "-a", "--", "-o"), 1, "a= [make][-a][--][-o]");
	assert_parses(ARGS("-a", "--", "-a", "--"), 1, "a= [-a][--]");
	assert_parses(ARGS("--output="), 0, "o= ");
	assert_parses(ARGS("--follow", "x", "--follow=2s"), 0, "to= operand=x to=2s ");
}

UNIT_TEST(test_opts_refuses_what_it_does_not_know)
{
	assert_parses(ARGS("-z"), 0, "refused= ");
	assert_parses(ARGS("--outptu"), 0, "refused= ");
	assert_parses(ARGS("--all=1"), 0, "refused= ");
	assert_parses(ARGS("-o"), 0, "refused= ");
	assert_parses(ARGS("--to"), 0, "refused= ");
	assert_parses(ARGS("-az"), 0, "a= refused= ");
}

UNIT_TEST(test_opts_puts_values_into_fields)
{
	struct job j;

	assert_int_equal(parse(&j, ARGS("--flag", "--text", "t", "--count=4", "--size", "2k",
					"--duration", "3ms"), false), 0);
	assert_true(j.flag);
	assert_string_equal(j.text, "t");
	assert_int_equal(j.count, 4);
	assert_int_equal(j.size, 2000);
	assert_int_equal(j.duration, 3000000);
	assert_int_equal(parse(&j, ARGS("--text="), false), EXIT_USAGE);
	assert_int_equal(parse(&j, ARGS("--size", "2x"), false), EXIT_USAGE);
	assert_int_equal(parse(&j, ARGS("--count", "1"), false), EXIT_USAGE);
	assert_int_equal(parse(&j, ARGS("--count", "5"), false), EXIT_USAGE);
	assert_int_equal(j.count, 77);	/* a refused value changes nothing */
}

UNIT_TEST(test_nearest_suggests_only_what_is_near)
{
	static const char *const words[] = { "record", "report", "sql", "export", NULL, "info" };
	static const char *const views[] = { "cpu", "io" };

	assert_int_equal(nearest_find("top", views, 2), -1);
	assert_int_equal(nearest_find("cup", views, 2), 0);
	assert_int_equal(nearest_find("recrod", words, 6), 0);
	assert_int_equal(nearest_find("reprot", words, 6), 1);
	assert_int_equal(nearest_find("rep", words, 6), 1);
	assert_int_equal(nearest_find("exprot", words, 6), 3);
	assert_int_equal(nearest_find("sq", words, 6), 2);
	assert_int_equal(nearest_find("banana", words, 6), -1);
	assert_int_equal(nearest_find("", words, 6), -1);
	assert_int_equal(nearest_find("x", words, 6), -1);
}

UNIT_TEST(test_lists_take_ids_and_refuse_the_rest)
{
	static const char *const bad[] = { "",	 ",",	"1,", ",1",	    "0",
					   "-1", "1 2", "1x", "2147483648", "99999999999999" };
	struct lists_ids pids = { NULL, 0 };

	assert_int_equal(lists_take_ids(&pids, "1,22", NULL), 0);
	assert_int_equal(lists_take_ids(&pids, "333", NULL), 0);
	assert_int_equal(pids.cnt, 3);
	assert_int_equal(pids.v[0], 1);
	assert_int_equal(pids.v[1], 22);
	assert_int_equal(pids.v[2], 333);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(lists_take_ids(&pids, bad[i], NULL), -EINVAL);
	free(pids.v);
}

UNIT_TEST(test_lists_quote_a_command_line)
{
	char *line =
		lists_join_argv(ARGS((char *)"-j2", (char *)"a b", (char *)"it's", (char *)""));

	assert_string_equal(line, "x -j2 'a b' 'it'\\''s' ''");
	free(line);
}

UNIT_TESTS
