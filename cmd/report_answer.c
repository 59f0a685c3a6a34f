/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * report_answer: the heading above a table contains the trace, the window and its completeness.
 * With csv and json, stdout contains only the rows, and missing parts are printed to stderr. With
 * --phases, each interval between marks is queried, and a row_prefix prepends the interval to its
 * rows. Another row_prefix prepends time and host to bins in jsonl, and to aligned bins.
 */
#include "cmd/report_answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/engine/align.h"
#include "analyze/engine/column.h"
#include "base/units.h"
#include "base/words.h"
#include "cmd/input/hosts.h"
#include "cmd/input/who.h"
#include "cmd/render/render.h"
#include "cmd/render/say.h"
#include "cmd/render/sparkline.h"

struct answer {
	struct report_options *o;
	const struct trace *trace;
	struct sparkline *drawing; /* NULL: no picture is drawn */
	bool only_drawn; /* print only the picture: there are too many rows */
	bool has_rows;
	size_t name_cnt; /* number of columns made by --wide-by */
	char above[REPORT_BELOW_BYTES], below[REPORT_BELOW_BYTES]; /* texts around sections */
	char heading[1024];
	char *scope; /* see report_scope() */
	char hint_options[600]; /* a blank, and scope without options that select processes */
	struct export_meta meta; /* parquet: metadata for the footer */
	char open_note[160]; /* requests in flight at the window's end; "": none */
};

/*
 * Returns the view's note for a trace whose manifest lacks the view's keys or sources; NULL: no
 * note.
 */
static const char *without_note(const struct answer *r)
{
	const char *key = r->o->view->without_keys ? r->o->view->without_keys : "";
	char name[64];

	while (*key) {
		struct word w = word_next(&key);

		snprintf(name, sizeof(name), "%.*s", w.len, w.s);
		if (trace_get(r->trace, name) || trace_was_recorded(r->trace, name))
			return NULL;
	}
	return r->o->view->without_note;
}

#define NOTE_MAX 7

/*
 * Finds notes on data that the view leaves out, or that is unknown because the trace covers only
 * some processes or is a cut. Returns the number of notes.
 */
static unsigned int find_notes(const struct answer *r, const char *ret[NOTE_MAX])
{
	const struct report_view *v = r->o->view;
	const struct report_request *q = &r->o->q;
	bool of_all = !q->pid_cnt && !q->comm && !q->tid_cnt && !q->thread && !q->workload &&
		      !r->o->in.during && !q->requests && !q->request;
	bool is_part = trace_carried_ns(r->trace) || trace_is_cut_short(r->trace);
	const char *all[NOTE_MAX] = {
		input_part_note(r->trace),
		input_waits_note(r->trace, v->name),
		input_heap_note(r->trace, v->needs.sources),
		q->tids || q->thread ? v->threads_note : NULL,
		of_all ? v->nobody_note : NULL,
		is_part ? v->cut_note : NULL,
		r->open_note[0] ? r->open_note : NULL,
	};
	unsigned int cnt = 0;

	for (unsigned int i = 0; i < NOTE_MAX; i++)
		if (all[i])
			ret[cnt++] = all[i];
	return cnt;
}

/* Formats an instant with a resolution of a hundredth of the window's length: "1.5". */
static const char *short_instant(int64_t ns, uint64_t length_ns)
{
	uint64_t step_ns = UNITS_NS_PER_S;
	int decimals = 0;
	char text[40];
	size_t n;

	for (; decimals < 9 && step_ns > length_ns / 100; decimals++)
		step_ns /= 10;
	n = (size_t)snprintf(text, sizeof(text), "%.*f", decimals, (double)ns / 1e9);
	while (decimals && text[n - 1] == '0')
		n--;
	return say_format("%.*s", (int)(n - (decimals && text[n - 1] == '.')), text);
}

/* Makes the heading: "0 .. 29.3 s of trace.ebpfrec, started 08:19:53 UTC, complete". */
static void make_heading(struct answer *r)
{
	uint64_t start = trace_start_ns(r->trace), from = r->o->q.from_ns, to = r->o->q.to_ns;

	if (!start) /* a trace without a block has no time */
		snprintf(r->heading, sizeof(r->heading), "%s, empty",
			 say_text(input_path(&r->o->in)));
	else
		snprintf(r->heading, sizeof(r->heading), "%s .. %s s of %s, started %s, %s%s%s",
			 short_instant((int64_t)(from - start), to - from),
			 short_instant((int64_t)(to - start), to - from),
			 say_text(input_path(&r->o->in)),
			 say_clock(trace_real_ns(r->trace, start)),
			 r->o->align ? say_format("whole bins of UTC, as read within %s, ",
						  say_duration(align_clock_uncertainty(r->trace)))
				     : "",
			 r->o->missing[0] ? "INCOMPLETE: " : "complete", r->o->missing);
}

/* Prints each line of text as a paragraph. */
static void print_lines(const struct report_options *o, const char *text)
{
	size_t len;

	for (; *text; text += len + (text[len] == '\n')) {
		char line[REPORT_BELOW_BYTES];

		len = strcspn(text, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)len, text);
		render_paragraph(stdout, say_text(line), input_terminal_width(), o->in.markdown);
	}
}

void report_print_notes(const struct report_options *o, const char *below)
{
	const struct report_variant *variant = report_variant_find(o->view, &o->q);
	const char *notes = variant && variant->notes ? variant->notes : o->view->notes;
	const char *end = strstr(notes, ". ");
	char text[1600];

	if (o->notes)
		snprintf(text, sizeof(text), "%s %s", o->view->question, notes);
	else if (o->view->below)
		snprintf(text, sizeof(text), "%s", below && *below ? below : o->view->below);
	else if (end)
		snprintf(text, sizeof(text), "%.*s (More: --notes.)", (int)(end + 1 - notes),
			 notes);
	else
		snprintf(text, sizeof(text), "%s", notes);
	if (!text[0])
		return;
	printf(o->in.markdown ? "" : "\n");
	if (below && *below && !o->notes)
		print_lines(o, text);
	else
		render_paragraph(stdout, text, input_terminal_width(), o->in.markdown);
}

/* Explains the columns of --wide-by, whose headings are names of groups. */
static void print_columns_note(const struct answer *r)
{
	uint64_t limit = r->o->has_limit ? r->o->limit_wide : 0;
	bool is_cut = limit && limit < r->name_cnt;
	char figure[64];

	printf(r->o->in.markdown ? "" : "\n");
	render_paragraph(stdout,
			 say_format(is_cut ? "The columns are %s by %s, the first %s of %s "
					     "(--limit 0 shows all)." :
					     "The columns are %s by %s.",
				    column_heading(figure, sizeof(figure), r->o->view->figure),
				    r->o->wide_by, say_count(limit), say_count(r->name_cnt)),
			 input_terminal_width(), r->o->in.markdown);
}

static void print_table_notes(const struct answer *r)
{
	const char *found[NOTE_MAX];
	unsigned int found_cnt = find_notes(r, found);

	if (r->o->wide_by && r->has_rows)
		print_columns_note(r);
	for (unsigned int i = 0; i < found_cnt; i++) {
		printf(r->o->in.markdown ? "" : "\n");
		render_paragraph(stdout, found[i], input_terminal_width(), r->o->in.markdown);
	}
	/* print the explanation of the view only below rows */
	if (!r->has_rows && !r->o->notes)
		return;
	report_print_notes(r->o, *r->below ? r->below :
			   r->o->view->below ? say_format("%s%s", r->o->view->below,
							  r->hint_options) : NULL);
}

/*
 * Prints the heading of a table, with the missing parts of the window. With csv and json, prints
 * the missing parts as a note.
 */
static void print_heading(void *ctx)
{
	const struct answer *r = ctx;
	const char *found[NOTE_MAX], *without = r->o->q.continues ? NULL : without_note(r);
	unsigned int found_cnt = r->o->q.continues ? 0 : find_notes(r, found);

	if (r->o->in.format == RENDER_TABLE) {
		render_paragraph(stdout, r->heading, input_terminal_width(), r->o->in.markdown);
		if (without)
			render_paragraph(stdout, without, input_terminal_width(),
					 r->o->in.markdown);
		print_lines(r->o, r->above);
		printf(r->o->in.markdown ? "" : "\n");
		return;
	}
	if (without)
		say_note("%s: %s", input_path(&r->o->in), without);
	if (r->o->missing[0])
		say_note("%s: the window is incomplete: %s", input_path(&r->o->in), r->o->missing);
	for (unsigned int i = 0; i < found_cnt; i++)
		say_note("%s: %s", input_path(&r->o->in), found[i]);
}

static int write_db(struct report_options *o)
{
	struct export_request x = {
		.path = o->db, .from_ns = o->q.from_ns, .to_ns = o->q.to_ns, .force = o->force,
		.missing = o->missing,
	};
	uint64_t rows;
	int c = input_export_sqlite(&o->in, &x, isatty(STDERR_FILENO), &rows);

	if (!c)
		say_note("%s: %s rows, %s", o->db, say_count(rows), say_file_bytes(o->db));
	return c;
}

/*
 * Prepares the parts of the analysis that the view needs, so that damage is found before the first
 * line is printed.
 */
static int prepare(const struct report_options *o)
{
	const struct report_view *v = o->view;
	/* spikes need the whole trace: they are relative to all allocations of a process */
	bool needs_all = v->index & ANALYSIS_RATES || v->needs.reach & LOSS_AFTER;
	uint64_t from_ns = needs_all || v->needs.reach & LOSS_BEFORE ? 0 : o->q.from_ns;
	uint64_t to_ns = needs_all ? UINT64_MAX : o->q.to_ns;
	struct err e = { "" };

	return input_status(analysis_prepare_window(o->in.analysis, v->index, from_ns, to_ns,
						    &e), &e);
}

static int begin_drawing(struct answer *r, uint64_t limit)
{
	uint64_t start = trace_start_ns(r->trace), end = trace_end_ns(r->trace);
	uint64_t from = r->o->q.from_ns > start ? r->o->q.from_ns : start,
		 to = r->o->q.to_ns < end ? r->o->q.to_ns : end;
	struct sparkline_options o = {
		.metric = r->o->view->figure, .every_ns = r->o->q.every_ns,
		.width = input_terminal_width() ?: 80, .utf8 = input_speaks_utf8(), .limit = limit,
	};

	if (r->o->in.format != RENDER_TABLE || r->o->in.markdown || r->o->wide_by ||
	    !r->o->q.every_ns || !o.metric || from >= to ||
	    !(r->o->sparklines || input_terminal_width()))
		return 0;
	o.from_ns = (int64_t)(from - start);
	o.to_ns = (int64_t)(to - start);
	r->drawing = sparkline_new(&o);
	return r->drawing ? 0 : -ENOMEM;
}

/* ---- --phases ---- */

/* Queries the interval [from_ns, to_ns), which begins at mark m; NULL: at the window's start. */
static int run_interval(struct row_prefix *p, struct analysis *a, const struct trace *t,
			const struct report_request *q, const struct trace_mark *m,
			uint64_t from_ns, uint64_t to_ns, struct err *e)
{
	char name[INPUT_MARK_NAME_MAX] = "[start]";
	struct report_request mine = *q;

	if (to_ns <= from_ns)
		return 0;
	if (m)
		input_mark_name(name, m);
	p->before[0] = value_text(name);
	p->before[1] = value_int(from_ns - trace_start_ns(t));
	p->before[2] = value_int(to_ns - from_ns);
	mine.from_ns = from_ns;
	mine.to_ns = to_ns;
	return analysis_report(a, &mine, &p->sink, e);
}

struct phase_section {
	uint64_t left_out; /* rows left out in all intervals */
	char command[64]; /* command that shows the rows left out */
};

/* Prints a section's title before the rows of the first interval. */
static int begin_phase_section(void *ctx, const char *title)
{
	const struct row_prefix *p = ctx;

	return p->col_cnt ? 0 : p->next->section(p->next->ctx, title);
}

static void leave_out(void *ctx, uint64_t cnt, const char *command)
{
	const struct row_prefix *p = ctx;
	struct phase_section *s = p->ctx;

	s->left_out += cnt;
	snprintf(s->command, sizeof(s->command), "%s%s", command, *command ? " --phases" : "");
}

/*
 * Queries a report, or one of its sections, for each interval between marks, and prepends the
 * interval to each row. A phase is named after the mark at its beginning; the phase before the
 * first mark is [start]. Marks made by triggers do not begin a phase.
 */
static int report_section_phases(const struct answer *o, const struct report_request *q,
				 const struct row_sink *sink, struct err *e)
{
	struct analysis *a = o->o->in.analysis;
	const struct trace *t = o->trace;
	struct phase_section section = { 0 };
	struct row_prefix p = { .next = sink, .cnt = 3, .names = { "phase", "t_ns", "dur_ns" },
				.joins = true, .ctx = &section };
	uint64_t from_ns = q->from_ns;
	const struct trace_mark *of = NULL, *m;
	size_t cnt, i;
	int r = 0;

	row_prefix_init(&p);
	if (q->section)
		p.sink.section = begin_phase_section;
	if (q->section && sink->more)
		p.sink.more = leave_out;
	m = trace_marks(t, &cnt);
	for (i = 0; i < cnt && r == 0; i++) {
		if (m[i].origin == TRACE_MARK_TRIGGER || m[i].ts_ns < q->from_ns ||
		    m[i].ts_ns >= q->to_ns)
			continue;
		r = run_interval(&p, a, t, q, of, from_ns, m[i].ts_ns, e);
		of = &m[i];
		from_ns = m[i].ts_ns;
	}
	r = r ?: run_interval(&p, a, t, q, of, from_ns, q->to_ns, e);
	if (section.left_out)
		sink->more(sink->ctx, section.left_out, section.command);
	return row_prefix_end(&p, r);
}

/* Prints one section after the other, each with the rows of all intervals. */
static int report_phases(const struct answer *o, const struct row_sink *sink, struct err *e)
{
	struct report_request q = o->o->q;
	bool any;
	int r = 0;

	q.ret_has_section = &any;
	do {
		q.section += sink->section ? 1 : 0;
		any = false;
		r = report_section_phases(o, &q, sink, e);
	} while (!r && any);
	return r;
}

/* ---- --wide-by ---- */

/*
 * Returns whether figures of several rows may be added. Percentiles, and figures of stacked
 * devices, may not.
 */
static bool has_sums(const struct report_view *v)
{
	return v->rows & (REPORT_ROWS_SUMS | REPORT_ROWS_ZEROS) && !(v->rows & REPORT_ROWS_FEW);
}

static int report_wide(struct answer *r, const struct row_sink *sink, struct err *e)
{
	const struct report_request *q = &r->o->q;
	uint64_t start = trace_start_ns(r->trace), end = trace_end_ns(r->trace);
	uint64_t to = q->to_ns < end ? q->to_ns : end, before, first;
	struct pivot p = { .groups.o = { .by = r->o->wide_by, .figure = r->o->view->figure,
					 .every_ns = q->every_ns },
			   .next = sink, .limit = r->o->has_limit ? r->o->limit_wide : 0,
			   .has_rest = has_sums(r->o->view) };
	struct bin_groups *g = &p.groups;
	struct err mine = { "" };
	struct row_sink rows;
	int c;

	if (!g->o.figure)
		return err_set(e, -EINVAL, "--wide-by: the view '%s' has no figure over time",
			       q->view);
	/* bins count from the window's start; skip bins that end before the trace begins */
	before = q->from_ns < start ? (start - q->from_ns) / q->every_ns : 0;
	first = q->from_ns + before * q->every_ns;
	g->o.from_ns = (int64_t)(first - start);
	g->o.bin_cnt = to > first ? (to - first + q->every_ns - 1) / q->every_ns : 0;
	rows = pivot_sink(&p);
	c = analysis_report(r->o->in.analysis, q, &rows, &mine);
	if (c && *g->error)
		err_set(e, c, "--wide-by: %s", g->error);
	else if (c)
		err_set(e, c, "%s", err_text(&mine, c));
	r->name_cnt = g->cnt;
	bin_groups_done(g);
	return c;
}

/*
 * Returns whether rows are groups of tasks. Such a report has many rows per bin, but only one line
 * per group in the picture.
 */
static bool is_of_tasks(const struct report_options *o)
{
	unsigned int by = o->q.by ? o->q.by : o->view->by_default;

	return by != 1u << REPORT_BY_CPU && by != 1u << REPORT_BY_DEVICE &&
	       by != 1u << REPORT_BY_PARTITION &&
	       !(o->view->rows & REPORT_ROWS_FEW);
}

static int report_rows(struct answer *r, const struct row_sink *sink, struct err *e)
{
	struct report_request q = r->o->q;
	bool is_sparse = false;
	int c;

	q.fill = (r->drawing && r->only_drawn) || r->o->in.format == RENDER_JSONL ?
			 REPORT_FILL_NONE :
		 r->o->in.format == RENDER_TABLE ? REPORT_FILL_BINS : REPORT_FILL_GROUPS;
	q.ret_sparse = &is_sparse;
	q.ret_below = r->o->in.format == RENDER_TABLE ? r->below : NULL;
	q.ret_above = r->o->in.format == RENDER_TABLE ? r->above : NULL;
	q.hint_options = r->hint_options;
	if (r->drawing && r->only_drawn) {
		print_heading(r);
		sink = sparkline_sink(r->drawing);
	}
	c = analysis_report(r->o->in.analysis, &q, sink, e);
	if (!c && is_sparse)
		say_note("%s: bins in which a row's group did nothing are left out: there are too "
			 "many; a longer --every has them, and --wide-by fewer groups",
			 input_path(&r->o->in));
	return c;
}

static void put_wall(const struct row_prefix *p, struct value *row)
{
	const struct answer *r = p->ctx;

	align_row(r->trace, r->o->align ? r->o->q.every_ns : 0, row[p->cnt].i,
		  row + p->cnt - ALIGN_COLUMN_CNT);
}

/*
 * Writes the rows to a sink. With --align, and for bins in jsonl, rows for programs begin with the
 * wall-clock time. In jsonl, host and trace precede the time, so that bins of many hosts can be
 * combined.
 */
static int report_to(struct answer *r, const struct row_sink *sink, struct err *e)
{
	bool of_host = r->o->q.every_ns && r->o->in.format == RENDER_JSONL;
	struct row_prefix wall = { .next = sink, .cnt = ALIGN_COLUMN_CNT,
				   .names = { ALIGN_COLUMNS }, .change = put_wall, .ctx = r };
	int c;

	if (of_host)
		align_name_trace(&wall, r->trace);
	row_prefix_init(&wall);
	if (of_host || (r->o->align && r->o->in.format != RENDER_TABLE))
		sink = &wall.sink;
	c = r->o->phases  ? report_phases(r, sink, e) :
	    r->o->wide_by ? report_wide(r, sink, e) :
			    report_rows(r, sink, e);
	return row_prefix_end(&wall, c);
}

int report_window(struct report_options *o)
{
	struct err e = { "" };
	int c = input_window(&o->in, &o->q.from_ns, &o->q.to_ns);
	uint64_t from_ns = o->q.from_ns, to_ns = o->q.to_ns;

	if (!c && o->request)
		c = who_request(&o->in, "--request", o->request, &from_ns, &to_ns, &o->q.request);
	if (!c && o->align)
		c = input_report_status(align_window(o->in.trace, o->q.every_ns, &o->q.from_ns,
						     &o->q.to_ns, &e), &e);
	return c;
}

/* Opens and checks everything that the rows need. limit: maximum number of lines drawn. */
static int begin(struct answer *r, uint64_t limit)
{
	struct report_options *o = r->o;
	int c = o->has_window ? 0 : report_window(o);

	c = c ?: prepare(o);
	if (!c)
		input_verify(&o->in, o->view->rows & REPORT_ROWS_SUMS && !o->q.every_ns,
			     o->q.from_ns, o->q.to_ns);
	if (!c && o->db)
		c = write_db(o);
	if (!c && o->fetch)
		c = input_fetch(&o->in, o->q.from_ns, o->q.to_ns);
	if (!c) /* after write_db(), since databases contain no lines of code */
		c = input_use_lines(&o->in);
	c = c ?: input_status(begin_drawing(r, limit), NULL);
	r->only_drawn = r->drawing && !o->has_limit && is_of_tasks(o);
	return c;
}

static const char *ids_text(char *buf, size_t size, const uint32_t *ids, unsigned int cnt)
{
	size_t n = 0;

	for (unsigned int i = 0; i < cnt && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%u", i ? "," : "", ids[i]);
	return cnt ? buf : NULL;
}

char *report_scope(const struct report_options *o, bool with_who)
{
	const struct report_request *q = &o->q;
	char pids[200], tids[200];
	const char *const given[][2] = {
		{ "--pid", ids_text(pids, sizeof(pids), q->pids, q->pid_cnt) },
		{ "--tid", ids_text(tids, sizeof(tids), q->tids, q->tid_cnt) },
		{ "--comm", q->comm },	    { "--thread", q->thread },
		{ "--during", o->in.during }, { "--from", o->in.from }, { "--until", o->in.to },
	};
	enum { OF_PROCESSES = 4 }; /* options that select processes precede this index */
	unsigned int n = 0;
	char **argv = calloc(2 * (sizeof(given) / sizeof(given[0]) + o->paths.cnt) + 2,
			     sizeof(*argv));
	char *ret;

	if (argv && q->workload && with_who)
		argv[n++] = (char *)"--workload";
	for (size_t i = with_who ? 0 : OF_PROCESSES; argv && i < sizeof(given) / sizeof(given[0]);
	     i++) {
		if (!given[i][1])
			continue;
		argv[n++] = (char *)given[i][0];
		argv[n++] = (char *)given[i][1];
	}
	for (unsigned int i = 0; argv && i < o->paths.cnt; i++) {
		argv[n++] = (char *)"-i";
		argv[n++] = (char *)o->paths.v[i];
	}
	ret = argv ? lists_join_argv(argv) : NULL;
	free(argv);
	return ret;
}

static int take_open(void *ctx, const struct value *v)
{
	struct answer *r = ctx;

	if (v[0].i)
		snprintf(r->open_note, sizeof(r->open_note),
			 "Still open at the end: %s, the oldest for %s, on %s.",
			 say_counted((uint64_t)v[0].i, "block request"),
			 say_duration((uint64_t)v[1].i), say_text(v[2].text));
	return 0;
}

/*
 * Calls take() with the row of a SQL statement about [from, to). Ignores errors: damage is reported
 * elsewhere.
 */
static void find_requests(struct answer *r, const char *sql, int64_t from, int64_t to,
			  int (*take)(void *ctx, const struct value *v))
{
	const struct row_sink sink = { .ctx = r, .row = take };
	char text[300];
	struct err e = { "" };

	snprintf(text, sizeof(text), sql, (long long)from, (long long)to);
	(void)!analysis_sql(r->o->in.analysis, text, &sink, &e);
}

/*
 * Sets open_note for a view of block requests: the number of requests in flight at the window's
 * end.
 */
static void find_open(struct answer *r)
{
	const struct report_request *q = &r->o->q;
	const char *needs = r->o->view->needs.sources;
	uint64_t start = trace_start_ns(r->trace), end = trace_end_ns(r->trace),
		 to = q->to_ns < end ? q->to_ns : end;

	r->open_note[0] = '\0';
	if (!needs || !strstr(needs, "block") || !trace_was_recorded(r->trace, "block") ||
	    to <= start || to <= q->from_ns)
		return;
	find_requests(r, "SELECT count(*), max(open_ns), device_name(dev)"
		      " FROM open_requests(%lld, %lld)", (int64_t)(to - start - 1),
		      (int64_t)(to - start), take_open);
}

static int64_t wall_ns(void *ctx, int64_t ns)
{
	const struct answer *r = ctx;

	return (int64_t)trace_real_ns(r->trace, trace_start_ns(r->trace) + (uint64_t)ns);
}

/* Sets the metadata for the footer of a Parquet file, as in exported tables. */
static int describe(struct answer *r, struct render_options *more)
{
	const struct export_request x = { .from_ns = r->o->q.from_ns, .to_ns = r->o->q.to_ns,
					  .missing = r->o->missing };

	if (r->o->in.format != RENDER_PARQUET || r->o->rows)
		return 0;
	more->meta = (const char *const *)r->meta.v;
	more->wall_ns = trace_start_ns(r->trace) ? wall_ns : NULL;
	return input_status(analysis_export_meta(r->o->in.analysis, &x, &r->meta), NULL);
}

static int run(struct answer *r)
{
	struct render_options more = { .heading = print_heading, .ctx = r };
	struct report_options *o = r->o;
	bool of_bins = o->q.every_ns && !o->wide_by;
	uint64_t limit = o->has_limit ? o->q.limit :
			 o->q.histogram ? 0 :
			 !of_bins ? INPUT_TABLE_ROWS :
			 o->in.format == RENDER_TABLE ? REPORT_BIN_ROWS : 0;
	struct err e = { "" };
	size_t damage_cnt, found_cnt;
	const char *period;
	struct render *out;
	char *hints;
	int c = begin(r, o->has_limit ? limit : INPUT_TABLE_ROWS);

	if (c)
		return c;
	/*
	 * q.limit becomes 0 below, since a table counts the rows that it leaves out, and --wide-by
	 * needs all rows
	 */
	o->limit_wide = o->q.limit;
	/* with --wide-by, --limit is the number of columns, not of bins */
	if (o->wide_by && o->has_limit)
		limit = limit && o->in.format == RENDER_TABLE ? INPUT_TABLE_ROWS : 0;
	if (o->in.format == RENDER_TABLE || o->q.every_ns)
		o->q.limit = 0;
	o->in.of_bins = of_bins;
	/* a table without submitter and reason would repeat equal rows */
	o->q.merge_unknown = o->in.format == RENDER_TABLE && !o->in.wide;
	o->q.merge_alike = o->q.merge_unknown && !o->has_limit && !o->q.every_ns;
	if (o->has_limit)
		o->q.summary_rows = limit ? (int64_t)(limit & INT64_MAX) : -1;
	more.also = r->drawing ? sparkline_sink(r->drawing) : NULL;
	o->in.drops = o->view->drops;
	input_is_complete(r->trace, o->view->needs, o->q.from_ns, o->q.to_ns, o->missing,
			  sizeof(o->missing));
	input_add_unowned(&o->in, &o->q, o->missing, sizeof(o->missing));
	make_heading(r);
	r->scope = report_scope(o, true);
	hints = report_scope(o, false);
	if (hints && *hints)
		snprintf(r->hint_options, sizeof(r->hint_options), " %s", hints);
	free(hints);
	more.scope = r->scope;
	period = trace_get(r->trace, "profile.period_ns");
	more.title = r->heading;
	more.time_ns = trace_start_ns(r->trace) ? trace_real_ns(r->trace, o->q.from_ns) : 0;
	more.duration_ns = o->q.to_ns - o->q.from_ns;
	if (period && !strcmp(o->view->name, "profile"))
		more.period_ns = strtoull(period, NULL, 10);
	more.figure = o->wide_by ? o->view->figure : NULL;
	c = describe(r, &more);
	if (c)
		return c;
	out = o->rows ? NULL : input_render(&o->in, limit, true, &more);
	if (!out && !o->rows)
		return EXIT_FAILED;
	trace_damages(r->trace, &damage_cnt);
	find_open(r);
	c = report_to(r, out ? render_sink(out) : o->rows, &e);
	r->has_rows = r->only_drawn || (out && render_row_cnt(out));
	render_free(out);
	if (!c && r->drawing && !r->only_drawn)
		printf("\n");
	if (!c && r->drawing)
		sparkline_print(r->drawing, stdout);
	if (!c && r->only_drawn)
		render_wrap(stdout, "(--limit N shows the N largest of each bin in numbers)",
			    input_terminal_width());
	if (!c && o->in.format == RENDER_TABLE && (!o->follow_ns || !input_terminal_width()))
		print_table_notes(r);
	trace_damages(r->trace, &found_cnt);
	if (!c && found_cnt != damage_cnt) {
		say_error("%s: more damage was found while the answer was made, and the answer may "
			  "not tell of it; ask again",
			  input_path(&o->in));
		return EXIT_FAILED;
	}
	return input_report_status(c, &e);
}

int report_answer(struct report_options *o)
{
	struct answer r = { .o = o, .trace = o->in.trace };
	uint64_t limit = o->q.limit;
	int c = input_open_analysis(&o->in);

	c = c ?: run(&r);
	if (!c)
		input_note_lines(&o->in);
	o->q.limit = limit; /* restored for the next answer of --follow */
	sparkline_free(r.drawing);
	free(r.scope);
	export_meta_done(&r.meta);
	input_note_damage(&o->in);
	analysis_close(o->in.analysis);
	o->in.analysis = NULL;
	return c;
}
