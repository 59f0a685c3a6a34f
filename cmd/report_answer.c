/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The heading above a table names the trace, the window and whether it is complete. With csv and
 * json, stdout holds the rows alone, and stderr says what is missing. With --phases, each interval
 * between marks is asked for, and a row_prefix puts it before the rows.
 */
#include "cmd/report_answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/timeexpr.h"
#include "cmd/render/row_prefix.h"
#include "cmd/render/say.h"
#include "cmd/render/sparkline.h"

struct answer {
	struct report_options *o;
	const struct trace *trace;
	struct sparkline *drawing; /* NULL: none is made */
	char missing[400]; /* what the window lacks; empty: nothing */
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

static void print_table_heading(const struct answer *r)
{
	uint64_t start = trace_start_ns(r->trace);
	char wall[TIMEEXPR_TEXT_MAX];

	printf("%s: %s\n", r->o->view->name, r->o->view->question);
	if (!start) {	/* no block: no time either */
		printf("%s, empty\n\n", say_text(input_path(&r->o->in)));
		return;
	}
	printf("%s, %s .. %s s (%s), from %s, %s%s\n", say_text(input_path(&r->o->in)),
	       say_instant((int64_t)(r->o->q.from_ns - start)),
	       say_instant((int64_t)(r->o->q.to_ns - start)),
	       say_duration(r->o->q.to_ns - r->o->q.from_ns),
	       timeexpr_format_real(wall, trace_real_ns(r->trace, r->o->q.from_ns), 1),
	       r->missing[0] ? "INCOMPLETE: " : "complete", r->missing);
	if (r->o->view->notes && r->o->view->notes[0])
		render_wrap(stdout, r->o->view->notes, input_terminal_width());
	if (cut_note(r))
		printf("%s\n", cut_note(r));
	printf("\n");
}

/* With csv and json, the heading is a note. */
static void print_heading(void *ctx)
{
	const struct answer *r = ctx;

	if (r->o->in.format == RENDER_TABLE) {
		print_table_heading(r);
		return;
	}
	if (r->missing[0])
		say_note("%s: the window is incomplete: %s", input_path(&r->o->in), r->missing);
	if (cut_note(r))
		say_note("%s: %s", input_path(&r->o->in), cut_note(r));
}

static int write_db(struct report_options *o)
{
	struct export_request x = {
		.path = o->db, .from_ns = o->q.from_ns, .to_ns = o->q.to_ns, .force = o->force
	};
	uint64_t rows;

	return input_export_sqlite(&o->in, &x, isatty(STDERR_FILENO), &rows);
}

#define AROUND (INPUT_BEFORE | INPUT_AFTER)

/*
 * What a view needs, apart from class task; whether its rows are sums over whole blocks, which the
 * derived file holds; and the column that is drawn, if it has a picture.
 */
static const struct view_facts {
	const char *view;
	struct input_needs needs;
	bool sums;
	const char *drawn;
} view_facts[] = {
	{ "summary", { INPUT_ALL | INPUT_BEFORE, INPUT_SOURCES_SUMMARY }, true, NULL },
	{ "totals",
	  { INPUT_ALL | INPUT_BEFORE,
	    "sched.switch,sched.wakeup,alloc.rss,alloc.slab,alloc.page,block" },
	  true, NULL },
	{ "cpu", { INPUT_SCHED | INPUT_NO_WAKEUPS, "sched.switch" }, true, "util_pct" },
	{ "sched", { INPUT_SCHED | INPUT_NO_IRQS | INPUT_BEFORE, "sched.switch,sched.wakeup" },
	  true, "wait_ns" },
	{ "irq", { INPUT_SCHED | INPUT_NO_WAKEUPS | INPUT_BEFORE, "sched.irq" }, true, "util_pct" },
	{ "preempts",
	  { INPUT_SCHED | INPUT_NO_WAKEUPS | INPUT_NO_IRQS | INPUT_BEFORE, "sched.switch" },
	  false, "preempts" },
	{ "timeline", { INPUT_SCHED | INPUT_NO_IRQS | INPUT_BEFORE, "sched.switch,sched.wakeup" },
	  false, "busy_pct" },
	{ "alloc", { INPUT_ALLOC | INPUT_LEVELS | INPUT_BEFORE, "alloc" }, true, "alloc_bytes" },
	{ "memory", { INPUT_ALLOC | INPUT_LEVELS | INPUT_BEFORE, "alloc.rss" }, true, "rss_bytes" },
	{ "spikes", { INPUT_ALLOC | AROUND, "alloc" }, false, NULL },
	{ "leaks", { INPUT_ALLOC | INPUT_BEFORE, "alloc" }, false, NULL },
	{ "lifetimes", { INPUT_ALLOC | AROUND, "alloc" }, false, NULL },
	{ "sizes", { INPUT_ALLOC, "alloc" }, false, "bytes" },
	{ "stacks", { INPUT_ALLOC, "alloc" }, false, NULL },
	{ "io", { INPUT_BLOCK | INPUT_BEFORE, "block" }, true, "bytes_per_s" },
	{ "latency", { INPUT_BLOCK | INPUT_BEFORE, "block" }, true, NULL },
	{ "devices", { INPUT_BLOCK | INPUT_BEFORE, "block" }, false, "depth_avg" },
	{ "pattern", { INPUT_BLOCK | INPUT_BEFORE, "block" }, false, NULL },
};

static struct view_facts facts_of(const char *view)
{
	for (unsigned int i = 0; i < sizeof(view_facts) / sizeof(view_facts[0]); i++)
		if (!strcmp(view, view_facts[i].view))
			return view_facts[i];
	return (struct view_facts){ .needs.classes = INPUT_ALL };
}

/* Every view needs class task: names are lost with its events. */
struct input_needs report_needs(const char *view)
{
	struct input_needs needs = facts_of(view).needs;

	needs.classes |= INPUT_TASK;
	return needs;
}

static int begin_drawing(struct answer *r, uint64_t limit)
{
	uint64_t start = trace_start_ns(r->trace), end = trace_end_ns(r->trace);
	uint64_t from = r->o->q.from_ns > start ? r->o->q.from_ns : start,
		 to = r->o->q.to_ns < end ? r->o->q.to_ns : end;
	struct sparkline_options o = {
		.metric = facts_of(r->o->q.view).drawn, .every_ns = r->o->q.every_ns,
		.width = input_terminal_width() ?: 80, .utf8 = input_speaks_utf8(), .limit = limit,
	};

	if (r->o->in.format != RENDER_TABLE || !r->o->q.every_ns || !o.metric || from >= to ||
	    !(r->o->sparklines || isatty(STDOUT_FILENO)))
		return 0;
	o.from_ns = (int64_t)(from - start);
	o.to_ns = (int64_t)(to - start);
	r->drawing = sparkline_new(&o);
	return r->drawing ? 0 : -ENOMEM;
}

/* ---- --phases ---- */

/* [from, to) begins with mark m; NULL: with the window. */
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

/*
 * One result of a report over each interval between marks, whose rows begin with the interval. A
 * phase is called after the mark it begins with; the one before the first mark is [start]. Marks
 * that triggers made begin none.
 */
static int report_phases(const struct answer *o, const struct row_sink *sink, struct err *e)
{
	const struct report_request *q = &o->o->q;
	struct analysis *a = o->o->in.analysis;
	const struct trace *t = o->trace;
	struct row_prefix p = { .next = sink, .cnt = 3, .names = { "phase", "t_ns", "dur_ns" },
				.joins = true };
	uint64_t from_ns = q->from_ns;
	const struct trace_mark *of = NULL, *m;
	size_t cnt, i;
	int r = 0;

	row_prefix_init(&p);
	m = trace_marks(t, &cnt);
	for (i = 0; i < cnt && r == 0; i++) {
		if (m[i].origin == TRACE_MARK_TRIGGER || m[i].ts_ns < q->from_ns ||
		    m[i].ts_ns >= q->to_ns)
			continue;
		r = run_interval(&p, a, t, q, of, from_ns, m[i].ts_ns, e);
		of = &m[i];
		from_ns = m[i].ts_ns;
	}
	if (r == 0)
		r = run_interval(&p, a, t, q, of, from_ns, q->to_ns, e);
	return row_prefix_end(&p, r);
}

static int run(struct answer *r)
{
	struct render_options more = { .heading = print_heading, .ctx = r };
	struct report_options *o = r->o;
	uint64_t limit = o->has_limit ? o->q.limit : REPORT_TABLE_ROWS;
	struct err e = { "" };
	size_t damage_cnt, found_cnt;
	struct render *out;
	int c;

	c = input_window(&o->in, &o->q.from_ns, &o->q.to_ns);
	if (!c)
		input_verify(&o->in, facts_of(o->q.view).sums && !o->q.every_ns,
			     o->q.from_ns, o->q.to_ns);
	if (!c && o->db)
		c = write_db(o);
	if (!c)
		c = input_status(begin_drawing(r, limit), NULL);
	if (c)
		return c;
	/* A table counts the rows it leaves out, so it has to see all of them. */
	if (o->in.format == RENDER_TABLE)
		o->q.limit = 0;
	/* A section of the summary does not stop at ten rows before they are counted either. */
	if (o->has_limit)
		o->q.summary_rows = o->q.limit ? (int64_t)(o->q.limit & INT64_MAX) : -1;
	more.also = r->drawing ? sparkline_sink(r->drawing) : NULL;
	out = input_render(&o->in, limit, true, &more);
	if (!out)
		return EXIT_FAILED;
	input_is_complete(r->trace, report_needs(o->q.view), o->q.from_ns, o->q.to_ns, r->missing,
			  sizeof(r->missing));
	trace_damages(r->trace, &damage_cnt);
	c = o->phases ? report_phases(r, render_sink(out), &e) :
			analysis_report(o->in.analysis, &o->q, render_sink(out), &e);
	render_free(out);
	if (!c && r->drawing)
		sparkline_print(r->drawing, stdout);
	trace_damages(r->trace, &found_cnt);
	if (!c && found_cnt != damage_cnt) {
		say_error("%s: more damage was found while the answer was made, which may lack it; "
			  "ask again",
			  input_path(&o->in));
		return EXIT_FAILED;
	}
	return input_report_status(c, &e);
}

int report_answer(struct report_options *o)
{
	struct answer r = { .o = o, .trace = o->in.trace };
	int c = input_analysis(&o->in);

	if (!c)
		c = run(&r);
	sparkline_free(r.drawing);
	input_note_damage(&o->in);
	analysis_close(o->in.analysis);
	o->in.analysis = NULL;
	return c;
}
