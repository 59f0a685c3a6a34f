/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The heading above a table names the trace, the window and whether it is complete. With csv and
 * json, stdout holds the rows alone, and stderr says what is missing.
 */
#include "cmd/report_answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/phases.h"
#include "cmd/input/timeexpr.h"
#include "cmd/render/progress.h"
#include "cmd/render/say.h"
#include "cmd/render/sparkline.h"

struct answer {
	struct report_options *o;
	struct trace *trace;
	const struct row_sink *next; /* the renderer */
	struct sparkline *drawing; /* NULL: none is made */
	char missing[400]; /* what the window lacks; empty: nothing */
	bool has_heading;
};

/*
 * What a view cannot know about a trace of some processes, without stacks, or cut out of a larger
 * one. NULL: nothing.
 */
static const char *cut_note(const struct answer *r)
{
	bool begins = trace_carried_ns(r->trace), ends = trace_is_cut_short(r->trace);

	if (input_part_note(r->trace))
		return input_part_note(r->trace);
	if (!strcmp(r->o->view->name, "stacks") && trace_get(r->trace, "sources") &&
	    !trace_get(r->trace, "stacks.min_bytes") && !trace_get(r->trace, "stacks.every"))
		return "No stacks were recorded: they are on request, record --stacks.";
	if (!strcmp(r->o->view->name, "lifetimes") && ends)
		return "Cut out of a larger trace: what was freed after its end counts as not "
		       "freed.";
	if (!strcmp(r->o->view->name, "spikes") && (begins || ends))
		return "Cut out of a larger trace: the median rate is that of what is left, and a "
		       "burst at its edge is told as far as it lies inside.";
	return NULL;
}

static void print_heading(const struct answer *r)
{
	uint64_t start = trace_start_ns(r->trace);
	char from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX], len[UNITS_TEXT_MAX];
	char wall[TIMEEXPR_TEXT_MAX];

	printf("%s: %s\n", r->o->view->name, r->o->view->question);
	if (!start) {	/* no block: no time either */
		printf("%s, empty\n\n", say_text(input_path(&r->o->in)));
		return;
	}
	printf("%s, %s .. %s s (%s), from %s, %s%s\n", say_text(input_path(&r->o->in)),
	       units_format_instant(from, sizeof(from), (int64_t)(r->o->q.from_ns - start)),
	       units_format_instant(to, sizeof(to), (int64_t)(r->o->q.to_ns - start)),
	       units_format_duration(len, sizeof(len), r->o->q.to_ns - r->o->q.from_ns),
	       timeexpr_format_real(wall, trace_real_ns(r->trace, r->o->q.from_ns), 1),
	       r->missing[0] ? "INCOMPLETE: " : "complete", r->missing);
	if (r->o->view->notes && r->o->view->notes[0])
		render_wrap(stdout, r->o->view->notes, input_wrap_width());
	if (cut_note(r))
		printf("%s\n", cut_note(r));
	printf("\n");
}

/*
 * The sink between analysis and renderer prints the heading before the first row, and not earlier:
 * a refused request prints its error alone.
 */
static void print_heading_once(struct answer *r)
{
	if (r->has_heading)
		return;
	r->has_heading = true;
	if (r->o->in.format == RENDER_TABLE)
		print_heading(r);
	else if (r->missing[0])
		say_note("%s: the window is incomplete: %s", input_path(&r->o->in), r->missing);
	if (r->o->in.format != RENDER_TABLE && cut_note(r))
		say_note("%s: %s", input_path(&r->o->in), cut_note(r));
}

static int heading_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct answer *r = ctx;

	print_heading_once(r);
	if (r->drawing && sparkline_begin(r->drawing, col_cnt, names) < 0)
		return -ENOMEM;
	return r->next->begin(r->next->ctx, col_cnt, names);
}

static int heading_row(void *ctx, const struct value *values)
{
	const struct answer *r = ctx;

	if (r->drawing && sparkline_row(r->drawing, values) < 0)
		return -ENOMEM;
	return r->next->row(r->next->ctx, values);
}

static int heading_end(void *ctx)
{
	const struct answer *r = ctx;

	return r->next->end(r->next->ctx);
}

static int heading_section(void *ctx, const char *title)
{
	struct answer *r = ctx;

	print_heading_once(r);
	return r->next->section(r->next->ctx, title);
}

static void db_progress(void *ctx, uint64_t rows, uint64_t all_rows)
{
	progress_show(ctx, "sqlite", rows, all_rows, "rows");
}

static int write_db(const struct answer *r, struct analysis *a)
{
	struct progress progress = { 0 };
	const struct export_request x = {
		.path = r->o->db,
		.from_ns = r->o->q.from_ns,
		.to_ns = r->o->q.to_ns,
		.force = r->o->force,
		.progress = isatty(STDERR_FILENO) ? db_progress : NULL,
		.ctx = &progress,
	};
	struct err e = { "" };
	uint64_t rows;
	int c;

	atomic_output_catch_signals();
	c = analysis_export_sqlite(a, &x, &rows, &e);
	progress_erase(&progress);
	return c ? input_failed(c, &e) : 0;
}

/* Every view needs class task: names are lost with its events. */
struct input_needs report_needs(const char *view)
{
	static const struct {
		const char *view;
		struct input_needs needs;
	} table[] = {
		{ "summary", { INPUT_ALL, INPUT_SOURCES_SUMMARY } },
		{ "totals",
		  { INPUT_ALL,
		    "sched.switch,sched.wakeup,alloc.rss,alloc.slab,alloc.page,block" } },
		{ "cpu", { INPUT_SCHED | INPUT_NO_WAKEUPS, "sched.switch" } },
		{ "sched", { INPUT_SCHED | INPUT_NO_IRQS, "sched.switch,sched.wakeup" } },
		{ "irq", { INPUT_SCHED | INPUT_NO_WAKEUPS, "sched.irq" } },
		{ "preempts", { INPUT_SCHED | INPUT_NO_WAKEUPS | INPUT_NO_IRQS, "sched.switch" } },
		{ "timeline", { INPUT_SCHED | INPUT_NO_IRQS, "sched.switch,sched.wakeup" } },
		{ "alloc", { INPUT_ALLOC | INPUT_LEVELS, "alloc" } },
		{ "memory", { INPUT_ALLOC | INPUT_LEVELS, "alloc.rss" } },
		{ "spikes", { INPUT_ALLOC, "alloc" } },
		{ "leaks", { INPUT_ALLOC, "alloc" } },
		{ "lifetimes", { INPUT_ALLOC, "alloc" } },
		{ "sizes", { INPUT_ALLOC, "alloc" } },
		{ "stacks", { INPUT_ALLOC, "alloc" } },
		{ "io", { INPUT_BLOCK, "block" } },
		{ "latency", { INPUT_BLOCK, "block" } },
		{ "devices", { INPUT_BLOCK, "block" } },
		{ "pattern", { INPUT_BLOCK, "block" } },
	};
	unsigned int more = INPUT_TASK | INPUT_BEFORE;

	/* All but these follow what began before the window. */
	if (!strcmp(view, "cpu") || !strcmp(view, "sizes") || !strcmp(view, "stacks") ||
	    !strcmp(view, "loss") || !strcmp(view, "cost"))
		more = INPUT_TASK;
	if (!strcmp(view, "spikes") || !strcmp(view, "lifetimes"))
		more |= INPUT_AFTER;
	for (unsigned int i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!strcmp(view, table[i].view))
			return (struct input_needs){ table[i].needs.classes | more,
						     table[i].needs.sources };
	}
	return (struct input_needs){ .classes = INPUT_ALL | more };
}

/*
 * Views whose rows are sums over whole blocks, which the derived file holds. The blocks inside a
 * window were read when it was made; only those at the edges are read again.
 */
static bool reads_sums(const struct report_request *q)
{
	static const char *const views[] = { "summary", "totals", "cpu",     "sched", "irq",
					     "alloc",	"memory", "latency", "io" };

	for (unsigned int i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (!strcmp(q->view, views[i]))
			return !q->every_ns;
	return false;
}

/* The column that is drawn. NULL: the view has no picture. */
static const char *drawn_column(const char *view)
{
	static const char *const table[][2] = {
		{ "cpu", "util_pct" },	    { "irq", "util_pct" },	  { "sched", "wait_ns" },
		{ "alloc", "alloc_bytes" }, { "io", "bytes_per_s" },	  { "memory", "rss_bytes" },
		{ "timeline", "busy_pct" }, { "devices", "depth_avg" }, { "sizes", "bytes" },
		{ "preempts", "preempts" },
	};

	for (unsigned int i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(view, table[i][0]))
			return table[i][1];
	return NULL;
}

static int begin_drawing(struct answer *r, uint64_t limit)
{
	uint64_t start = trace_start_ns(r->trace), end = trace_end_ns(r->trace);
	uint64_t from = r->o->q.from_ns > start ? r->o->q.from_ns : start,
		 to = r->o->q.to_ns < end ? r->o->q.to_ns : end;
	struct sparkline_options o = {
		.metric = drawn_column(r->o->q.view), .every_ns = r->o->q.every_ns, .limit = limit,
		.width = input_terminal_width(), .utf8 = input_speaks_utf8(),
	};

	if (r->o->in.format != RENDER_TABLE || !r->o->q.every_ns || !o.metric || from >= to ||
	    !(r->o->sparklines || isatty(STDOUT_FILENO)))
		return 0;
	o.from_ns = (int64_t)(from - start);
	o.to_ns = (int64_t)(to - start);
	r->drawing = sparkline_new(&o);
	return r->drawing ? 0 : -ENOMEM;
}

static int run(struct answer *r, struct analysis *a)
{
	struct row_sink sink = {
		.ctx = r, .begin = heading_begin, .row = heading_row, .end = heading_end
	};
	uint64_t limit = r->o->has_limit ? r->o->q.limit : REPORT_TABLE_ROWS;
	struct err e = { "" };
	size_t damage_cnt, found_cnt;
	struct render *out;
	int c;

	c = input_window(&r->o->in, &report_opts, r->trace, &r->o->q.from_ns, &r->o->q.to_ns);
	if (!c) {
		input_verify(r->trace, reads_sums(&r->o->q) ? a : NULL, r->o->q.from_ns,
			     r->o->q.to_ns);
		input_note_damage(&r->o->in, r->trace);
	}
	if (!c && r->o->db)
		c = write_db(r, a);
	if (c)
		return c;
	/* A table counts the rows it leaves out, so it has to see all of them. */
	if (r->o->in.format == RENDER_TABLE)
		r->o->q.limit = 0;
	/* A section of the summary does not stop at ten rows before they are counted either. */
	if (r->o->has_limit)
		r->o->q.summary_rows = r->o->q.limit ? (int64_t)(r->o->q.limit & INT64_MAX) : -1;
	out = input_render(&r->o->in, limit, true);
	if (!out)
		return EXIT_FAILED;
	input_is_complete(r->trace, report_needs(r->o->q.view), r->o->q.from_ns, r->o->q.to_ns,
			  r->missing, sizeof(r->missing));
	trace_damages(r->trace, &damage_cnt);
	r->next = render_sink(out);
	if (r->next->section)
		sink.section = heading_section;
	c = begin_drawing(r, limit);
	if (!c)
		c = r->o->phases ? phases_report(a, r->trace, &r->o->q, &sink, &e)
			      : analysis_report(a, &r->o->q, &sink, &e);
	render_free(out);
	if (!c && r->drawing)
		sparkline_print(r->drawing, stdout);
	sparkline_free(r->drawing);
	r->drawing = NULL;
	/* Only the view knows the names of its columns. */
	if (c == -EINVAL && !strncmp(e.text, "--", 2))
		return opts_usage_error(&report_opts, "%s", e.text);
	trace_damages(r->trace, &found_cnt);
	if (!c && found_cnt != damage_cnt) {
		say_error("%s: more damage was found while the answer was made, which may lack it; "
			  "ask again",
			  input_path(&r->o->in));
		return EXIT_FAILED;
	}
	return c ? input_failed(c, &e) : 0;
}

int report_answer(struct report_options *o, struct trace *t)
{
	struct answer r = { .o = o, .trace = t };
	struct analysis *a = NULL;
	int c = input_analysis(&o->in, t, &a);

	if (!c)
		c = run(&r, a);
	input_note_damage(&o->in, t);
	analysis_close(a);
	return c;
}
