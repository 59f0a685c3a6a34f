/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_report: `ebpfrec report` shows a predefined view of a window: once, repeatedly while the
 * trace is recorded, or for the traces of several hosts on one time axis.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "analyze/engine/align.h"
#include "analyze/context/keys.h"
#include "base/units.h"
#include "base/words.h"
#include "cmd/cmd.h"
#include "cmd/input/hosts.h"
#include "cmd/input/who.h"
#include "cmd/render/render.h"
#include "cmd/render/say.h"
#include "cmd/report_answer.h"

#define FOLLOW_NS (2 * UNITS_NS_PER_S)
#define VIEWS_MAX 40
#define FOLLOW_OTHER_LINES 7 /* lines of an answer other than its rows */

/* ---- options ---- */

#define BY_HINT "; `ebpfrec report --list VIEW` shows those of VIEW"

static int take_by(void *options, const char *value, struct err *e)
{
	struct report_options *r = options;
	const char *names[REPORT_BY_CNT];
	unsigned int key;
	char word[32];

	for (unsigned int i = 0; i < REPORT_BY_CNT; i++)
		names[i] = report_key_name(i);
	do {
		struct word w = word_next(&value);

		snprintf(word, sizeof(word), "%.*s", w.len, w.s);
		if (!keys_parse(word, &key) || !key)
			return opts_unknown("key", "--by: ", word, names, REPORT_BY_CNT, BY_HINT,
					    BY_HINT);
		r->q.by |= key;
	} while (*value);
	return 0;
}

/* Parses --sort: a column's name, or its heading in a table, which is converted to the name. */
static int take_sort(void *options, const char *value, struct err *e)
{
	struct report_options *r = options;
	bool ascending = *value == '-';
	char *to = r->sort;

	value += ascending;
	if (strlen(value) + 8 >= sizeof(r->sort))
		return err_set(e, -EINVAL, "there is no such column");
	if (ascending)
		*to++ = '-';
	for (; *value && strcmp(value, " %") && strcmp(value, " (s)"); value++)
		*to++ = *value == ' ' ? '_' : *value;
	*to = '\0';
	if (to - r->sort > 2 && !strcasecmp(to - 2, "/s"))
		strcpy(to - 2, "_per_s");
	r->q.sort = r->sort;
	return 0;
}

static int take_follow(void *follow_ns, const char *value, struct err *e)
{
	uint64_t ns = FOLLOW_NS;
	int c = value ? units_parse_duration(value, &ns, e) : 0;

	if (!c && ns < UNITS_NS_PER_S / 10)
		c = err_set(e, -ERANGE, "%s is too often; at least 100ms", value);
	*(uint64_t *)follow_ns = ns;
	return c;
}

static int take_limit(void *options, const char *value, struct err *e)
{
	struct report_options *r = options;

	r->has_limit = true;
	if (*value == '-')
		return err_set(e, -ERANGE, "%s is no number of rows; 0 is for all", value);
	return units_parse_count(value, &r->q.limit, e);
}

static int take_all(void *options, const char *value, struct err *e)
{
	return take_limit(options, "0", e);
}

/* Parses --slow: "p99", "50ms" or ">50ms". */
static int take_slow(void *options, const char *value, struct err *e)
{
	struct report_options *r = options;
	uint64_t pct = 0;
	int err;

	if (*value == 'p') {
		err = units_parse_count(value + 1, &pct, e);
		if (!err && (!pct || pct > 99))
			return err_set(e, -ERANGE, "%s is no percentile from p1 to p99", value);
		r->q.slow_pct = (unsigned int)pct;
		return err;
	}
	return units_parse_duration(value + (*value == '>'), &r->q.slow_ns, e);
}

static int take_without(void *options, const char *value, struct err *e)
{
	struct report_options *r = options;
	size_t len = strlen(r->without);

	if (strchr(value, '\n') || strlen(value) + len + 2 > sizeof(r->without))
		return err_set(e, -EINVAL, "the causes are too long, or have a line break");
	snprintf(r->without + len, sizeof(r->without) - len, "%s%s", len ? "\n" : "", value);
	r->q.without = r->without;
	return 0;
}

static int take_path(void *options, const char *path, struct err *e)
{
	struct report_options *r = options;

	r->in.path = path;
	return lists_add_string(&r->paths, path, e);
}

static bool is_stack_format(enum render_format format)
{
	return format == RENDER_FOLDED || format == RENDER_FLAME || format == RENDER_PPROF;
}

static int take_format(void *options, const char *value, struct err *e)
{
	struct report_options *r = options;

	r->in.markdown = !strcmp(value, "markdown");
	if (r->in.markdown)
		value = "table";
	if (!render_parse_format(value, RENDER_OF_ROWS | RENDER_OF_STACKS | RENDER_OF_VIEWS,
				 &r->in.format))
		return 0;
	return opts_usage_error("unknown format '%s'; there are table, markdown, csv, json, jsonl, "
				"parquet, folded, html and pprof", value);
}

static int take_operand(void *options, const char *value)
{
	struct report_options *r = options;
	const struct report_view *found = NULL;
	const char *names[VIEWS_MAX];
	unsigned int cnt = 0;

	for (; cnt < report_view_cnt && cnt < VIEWS_MAX; cnt++) {
		names[cnt] = report_view_list[cnt].name;
		if (!strcmp(value, names[cnt]))
			found = &report_view_list[cnt];
	}
	if (!found && !access(value, F_OK))
		return input_status(take_path(r, value, NULL), NULL);
	if (r->view)
		return opts_usage_error("unexpected argument '%s' after the view '%s'", value,
					r->view->name);
	if (!found && strpbrk(value, "./"))
		return opts_usage_error("'%s' is neither a trace nor a view", value);
	if (!found)
		return opts_unknown("view", "", value, names, cnt, "",
				    "; `ebpfrec report --list` shows what there is");
	r->view = found;
	return 0;
}

/* Returns the subordinate views of a view: "sizes, lifetimes, stacks"; "": none. */
static const char *views_of(const struct report_view *v)
{
	const char *text = "";

	for (unsigned int i = 0; i < report_view_cnt; i++)
		if (report_view_list[i].of && !strcmp(report_view_list[i].of, v->name))
			text = say_format("%s%s%s", text, *text ? ", " : "",
					  report_view_list[i].name);
	return text;
}

/* Replaces the view by its subordinate view that --show names. */
static int pick_shown(struct report_options *r)
{
	const struct report_view *v = r->show ? report_view_find(r->show) : NULL;
	const char *of = r->view ? r->view->name : "summary", *all;

	if (!r->show)
		return 0;
	all = r->view ? views_of(r->view) : "";
	if (!v || !v->of || strcmp(v->of, of))
		return opts_usage_error("view '%s' has no --show %s; %s%s", of, r->show,
					*all ? "it has " : "it has none", all);
	r->view = v;
	return 0;
}

/* Returns the views that accept the option: "'latency' and 'parallel'". */
static const char *views_with(enum report_takes option)
{
	const char *names[VIEWS_MAX], *text = "";
	unsigned int cnt = 0;

	for (unsigned int i = 0; i < report_view_cnt && cnt < VIEWS_MAX; i++)
		if (report_view_list[i].takes & option)
			names[cnt++] = report_view_list[i].name;
	for (unsigned int i = 0; i < cnt; i++)
		text = say_format("%s%s'%s'", text,
				  !i ? "" : i + 1 < cnt ? ", " : " and ", names[i]);
	return text;
}

/* Refuses options that exclude each other. */
static int check_together(struct report_options *r)
{
	const char *alone = r->phases	    ? "--phases"
			    : r->follow_ns  ? "--follow"
			    : r->db	    ? "--db"
			    : r->in.during  ? "--during"
			    : r->request    ? "--request"
			    : r->sparklines ? "--sparklines"
			    : r->wide_by    ? "--wide-by"
			    : r->in.lines   ? "--lines"
					    : NULL;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a report has a view */
	unsigned int takes = r->view->takes;

	if (r->paths.cnt > 1 && alone)
		return opts_usage_error("%s is for one trace, and there are %u", alone,
					r->paths.cnt);
	if (r->phases && r->q.every_ns)
		return opts_usage_error("--phases and --every are two ways to cut the window: "
					"choose one");
	if (r->align && !r->q.every_ns)
		return opts_usage_error("--align says where the bins of --every begin: give "
					"--every");
	if (r->wide_by && !r->q.every_ns)
		return opts_usage_error("--wide-by makes columns of what --every makes rows of: "
					"give --every");
	if (is_stack_format(r->in.format) &&
	    (!(takes & REPORT_TAKES_STACKS) || r->paths.cnt > 1))
		return opts_usage_error(
			"--format folded, html and pprof are for the views %s, of one trace; what "
			"made a spike is in the stacks of its time: `ebpfrec report stacks --from "
			"T --until T`",
			views_with(REPORT_TAKES_STACKS));
	if (r->in.format == RENDER_PPROF && input_terminal_width())
		return opts_usage_error("--format pprof is not for a terminal: write it to a file, "
					"`> stacks.pb.gz`");
	if (r->in.format == RENDER_PARQUET && input_terminal_width())
		return opts_usage_error("--format parquet is not for a terminal: write it to a "
					"file, `> %s.parquet`", r->view->name);
	if (r->in.format == RENDER_PARQUET && (r->follow_ns || r->paths.cnt > 1))
		return opts_usage_error("--format parquet holds one answer about one trace: leave "
					"out --follow and further traces");
	if ((r->in.format == RENDER_FLAME || r->in.format == RENDER_PPROF) &&
	    (r->follow_ns || r->phases))
		return opts_usage_error("--format html and pprof hold one answer: leave out "
					"--follow and --phases");
	r->in.folded_count =
		r->q.sort && (!strcmp(r->q.sort, "samples") || !strcmp(r->q.sort, "objects") ||
			      !strcmp(r->q.sort, "waits"));
	r->q.stacks_apart = is_stack_format(r->in.format);
	if (report_streams(r) && (!r->q.every_ns || r->in.during))
		return opts_usage_error("--follow with --format jsonl gives each bin once: %s",
					r->in.during ? "leave out --during" : "give --every");
	if (r->follow_ns && r->db)
		return opts_usage_error("--db is written once: leave out --follow");
	return 0;
}

/* Refuses options that select tasks if the view does not support them. */
static int check_who(const struct report_options *r)
{
	unsigned int takes = r->view->takes;
	const char *given = r->tids.cnt ? "--tid" : r->q.thread ? "--thread" : NULL;

	if (!given)
		given = r->pids.cnt	     ? "--pid"
			: r->q.comm	     ? "--comm"
			: r->q.workload	     ? "--workload"
			: r->q.with_recorder ? "--with-recorder"
			: r->q.with_idle     ? "--with-idle"
					     : NULL;
	else if (takes & REPORT_TAKES_WHO && !(takes & REPORT_TAKES_THREADS))
		return opts_usage_error("view '%s' shows what whole processes have; it takes no %s",
					r->view->name, given);
	if (given && !(takes & REPORT_TAKES_WHO))
		return opts_usage_error("view '%s' shows the whole machine; it takes no %s",
					r->view->name, given);
	return 0;
}

/* Refuses options that the view would ignore. */
static int check_view(const struct report_options *r)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a report has a view */
	const char *view = r->view->name;
	unsigned int takes = r->view->takes;
	struct err e = { "" };

	if (r->in.lines && !(takes & REPORT_TAKES_LINES))
		return opts_usage_error("--lines is for the views %s, not for '%s'",
					views_with(REPORT_TAKES_LINES), view);
	if (r->fetch && (strcmp(view, "symbols") != 0 || r->paths.cnt > 1 ||
			 r->follow_ns))
		return opts_usage_error("--fetch is for the view symbols, of one trace, once");
	if (r->q.histogram && !(takes & REPORT_TAKES_HISTOGRAM))
		return opts_usage_error("--histogram is for the views %s, not for '%s'",
					views_with(REPORT_TAKES_HISTOGRAM), view);
	if ((r->q.spike_window_ns || r->q.spike_min_bytes) && !(takes & REPORT_TAKES_SPIKES))
		return opts_usage_error(
			"--spike-window and --spike-min are for the views %s, not for '%s'",
			views_with(REPORT_TAKES_SPIKES), view);
	if (r->q.requests && !(takes & REPORT_TAKES_REQUESTS))
		return opts_usage_error("--requests is for the views %s, not for '%s'",
					views_with(REPORT_TAKES_REQUESTS), view);
	if (r->request && !(takes & REPORT_TAKES_REQUEST))
		return opts_usage_error("--request is for the view %s, not for '%s'; --during "
					"request:ID is for all",
					views_with(REPORT_TAKES_REQUEST), view);
	if (r->request && r->q.requests)
		return opts_usage_error("--request explains one of the requests, and --requests "
					"compares those of a name: choose one");
	if ((r->q.slow_pct || r->q.slow_ns) && !r->q.requests)
		return opts_usage_error("--slow says which of --requests NAME are slow: give it");
	if (r->q.slowest && !(takes & REPORT_TAKES_SLOWEST))
		return opts_usage_error("--slowest is for the view %s, not for '%s'",
					views_with(REPORT_TAKES_SLOWEST), view);
	if (r->q.without && !(takes & REPORT_TAKES_WITHOUT))
		return opts_usage_error("--without is for the view %s, not for '%s'",
					views_with(REPORT_TAKES_WITHOUT), view);
	if (!(takes & REPORT_TAKES_SORT) && (r->q.every_ns || r->q.sort))
		return opts_usage_error(
			"the summary has many parts; --%s is for one view: `ebpfrec report --list` "
			"shows them, and 'totals' has a row for all",
			r->q.every_ns ? "every" : "sort");
	if (check_who(r))
		return EXIT_USAGE;
	if (r->sparklines && !r->q.every_ns)
		return opts_usage_error(
			"--sparklines draws the bins of --every: give --every, too");
	return report_check_keys(r->view, r->q.by, &e) ? opts_usage_error("%s", err_text(&e, 0)) :
							 0;
}

/* Prints --list as rows: a row per view with its keys, or one view with its notes. */
static int list_rows(const struct report_options *o)
{
	static const char *const columns[] = { "group", "view",	      "question",
					       "by",	"by_default", "of",
					       "notes" };
	const struct render_options options = { .format = o->in.format, .out = stdout };
	const struct row_sink *rows;
	struct render *out;
	int r = render_new(&out, &options);

	if (r)
		return say_error("out of memory");
	rows = render_sink(out);
	r = rows->begin(rows->ctx, o->view ? 7 : 6, columns);
	for (unsigned int i = 0; i < report_view_cnt && r >= 0; i++) {
		const struct report_view *v = &report_view_list[i];
		char by[160] = "", own[32] = "";

		if (o->view && o->view != v)
			continue;
		if (v->by_mask) {
			keys_format(v->by_mask, by, sizeof(by));
			keys_format(v->by_default, own, sizeof(own));
		}
		r = rows->row(rows->ctx, (const struct value[]){
						 value_text(v->group), value_text(v->name),
						 value_text(v->question), value_text(by),
						 value_text(own), value_text(v->of),
						 value_text(v->notes) });
	}
	r = r < 0 || !rows->end ? r : rows->end(rows->ctx);
	render_free(out);
	return r < 0 ? say_error("out of memory") : OPTS_LEAVE;
}

/* Prints a view's question, notes, keys and subordinate views. */
static int list_view(const struct report_view *v)
{
	unsigned int width = input_terminal_width();
	char list[160], own[32], text[400];
	size_t n = 0;

	printf("%s: %s\n", v->name, v->question);
	if (*v->notes)
		render_wrap_beside(stdout, v->notes, width, 0);
	keys_format(v->by_mask, list, sizeof(list));
	keys_format(v->by_default, own, sizeof(own));
	/* append a space to each comma, since lines are wrapped at spaces */
	for (const char *c = list; *c; c++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%c%s", *c,
				      *c == ',' && width ? " " : "");
	if (v->by_mask)
		render_wrap_beside(stdout, say_format("--by %s; default %s", text, own), width, 0);
	for (unsigned int i = 0; i < report_view_cnt; i++)
		if (report_view_list[i].of && !strcmp(report_view_list[i].of, v->name))
			printf("--show %-9s %s\n", report_view_list[i].name,
			       report_view_list[i].question);
	if (v->of)
		printf("The same as report %s --show %s\n", v->of, v->name);
	return OPTS_LEAVE;
}

static int list_views(const struct report_options *r)
{
	const char *group = "", *of;

	if (r->in.format == RENDER_PARQUET)
		return opts_usage_error("--list has no --format parquet");
	if (r->in.format != RENDER_TABLE)
		return list_rows(r);
	if (r->view)
		return list_view(r->view);
	for (unsigned int i = 0; i < report_view_cnt; i++) {
		const struct report_view *v = &report_view_list[i];

		if (v->of)
			continue;
		of = views_of(v);
		printf("%-10s %-10s ", strcmp(group, v->group) ? v->group : "", v->name);
		render_wrap_beside(stdout,
				   *of ? say_format("%s (also: %s)", v->question, of) : v->question,
				   input_terminal_width() ?: 80, 22);
		group = v->group;
	}
	printf("also: report VIEW --show NAME. Keys: --list VIEW. Notes: "
	       "report VIEW --notes\n");
	return OPTS_LEAVE;
}

/*
 * Sets a default for --by: comm for --wide-by comm, threads for --tid and --thread, and processes
 * for formats of stacks.
 */
static void imply_by(struct report_options *r)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a report has a view */
	unsigned int by_mask = r->view->by_mask;

	if ((r->tids.cnt || r->q.thread) && r->view->by_default & (KEY(PROCESS) | KEY(FUNCTION)))
		r->q.by = by_mask & KEY(THREAD);
	else if (is_stack_format(r->in.format) && r->view->by_default == KEY(FUNCTION))
		r->q.by = KEY(PROCESS);
	for (unsigned int i = 0; i < REPORT_BY_CNT && r->wide_by; i++)
		if (!strcmp(r->wide_by, report_key_name((enum report_by)i)) && by_mask & 1u << i)
			r->q.by = 1u << i;
}

/* Sets the default view, and refuses conflicting options. Runs after all options are parsed. */
static int check_options(struct report_options *r)
{
	int c = pick_shown(r);

	if (r->list)
		return c ?: list_views(r);
	if (!c && !r->view)
		c = take_operand(r, r->phases ? "totals" : "summary");
	if (!c && !r->q.by)
		imply_by(r);
	c = c ?: check_together(r) ?: check_view(r);
	/* sections in json have the default number of rows, and need not fit on a screen */
	if (r->in.format == RENDER_JSON)
		r->q.summary_rows = REPORT_SECTION_ROWS;
	r->in.of_threads = r->view && r->view->takes & REPORT_TAKES_THREADS;
	r->q.view = r->view ? r->view->name : NULL;
	r->q.pids = r->pids.v;
	r->q.pid_cnt = r->pids.cnt;
	r->q.tids = r->tids.v;
	r->q.tid_cnt = r->tids.cnt;
	return c;
}

/* ---- following ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = 1;
}

static uint64_t lost_before(const struct trace *t, uint64_t ts_ns)
{
	uint64_t sum = 0;
	size_t cnt;
	const struct trace_loss *l = trace_losses(t, &cnt);

	for (size_t i = 0; i < cnt; i++)
		if (l[i].from_ns < ts_ns)
			sum += l[i].full_cnt + l[i].other_cnt + l[i].missed_cnt;
	return sum;
}

/*
 * Prints notes about bins that were not read in time, and about events and losses that arrived too
 * late.
 */
static void note_lost_bins(struct report_options *o)
{
	uint64_t start_ns = trace_start_ns(o->in.trace), skipped, late_ns, lost_cnt;

	if (start_ns >= o->q.from_ns + o->q.every_ns) {
		skipped = (start_ns - o->q.from_ns) / o->q.every_ns;
		if (o->q.continues)
			say_note("%s: %s bins were removed before they could be read",
				 input_path(&o->in), say_count(skipped));
		o->q.from_ns += skipped * o->q.every_ns;
	}
	late_ns = o->q.continues ? input_late_ns(&o->in, o->known_ns) : 0;
	if (late_ns)
		say_note("%s: events came late: bins of the %s before %s s may lack some",
			 input_path(&o->in), say_duration(late_ns),
			 say_instant((int64_t)(o->known_ns - start_ns)));
	lost_cnt = lost_before(o->in.trace, o->known_ns);
	if (o->q.continues && lost_cnt > o->lost_cnt)
		say_note("%s: %s events were lost in bins that had already been given",
			 input_path(&o->in), say_count(lost_cnt - o->lost_cnt));
}

/*
 * Prints the bins that became complete since the last call, and at the end of the trace the
 * remaining bins. The first call sets the beginning of the first bin.
 */
static int answer_bins(struct report_options *o)
{
	const struct trace *t = o->in.trace;
	uint64_t every_ns = o->q.every_ns, to_ns = input_known_ns(&o->in);
	int c = o->has_window ? 0 : report_window(o);

	if (c)
		return c;
	if (!o->has_window) {
		o->until_ns = o->in.to ? o->q.to_ns : UINT64_MAX;
		o->q.to_ns = o->q.from_ns;
		o->has_window = true;
	}
	o->q.from_ns = o->q.to_ns;
	note_lost_bins(o);
	o->known_ns = to_ns;
	o->lost_cnt = lost_before(t, to_ns);
	if (to_ns >= o->until_ns || (!trace_is_live(t) && o->until_ns != UINT64_MAX))
		to_ns = o->until_ns;
	else if (trace_is_live(t))
		to_ns -= to_ns > o->q.from_ns ? (to_ns - o->q.from_ns) % every_ns : 0;
	else if (o->align && to_ns > o->q.from_ns)
		to_ns = align_end(o->q.from_ns, to_ns, every_ns);
	o->q.to_ns = o->q.from_ns;
	if (to_ns <= o->q.from_ns)
		return 0;
	o->q.to_ns = to_ns;
	c = report_answer(o);
	o->q.continues = true;
	return c;
}

static int follow(struct report_options *o)
{
	const struct timespec wait = { .tv_sec = (time_t)(o->follow_ns / UNITS_NS_PER_S),
				       .tv_nsec = (long)(o->follow_ns % UNITS_NS_PER_S) };
	struct sigaction stop = { .sa_handler = on_interrupt };
	const char *begin = isatty(STDOUT_FILENO) ? "\033[H\033[2J" : "";
	int c;

	sigaction(SIGINT, &stop, NULL);
	/* leave room on the screen for the title, the headings and the note on dropped columns */
	if (o->in.format == RENDER_TABLE && !o->has_limit && o->view->by_mask &&
	    input_terminal_height() > FOLLOW_OTHER_LINES) {
		o->has_limit = true;
		o->q.limit = input_terminal_height() - FOLLOW_OTHER_LINES;
	}
	for (;;) {
		/*
		 * The recorder writes the first block after a second; until then there is no data.
		 */
		if (trace_end_ns(o->in.trace) || !trace_is_live(o->in.trace)) {
			/* between answers, clear the terminal, or print an empty line to a file */
			if (!report_streams(o))
				fputs(begin, stdout);
			begin = *begin == '\033' ? begin : "\n";
			c = report_streams(o) ? answer_bins(o) : report_answer(o);
			fflush(stdout);
			if (c || ferror(stdout))
				return c;
		}
		if (!trace_is_live(o->in.trace) || interrupted ||
		    (o->has_window && o->q.to_ns >= o->until_ns))
			return 0;
		nanosleep(&wait, NULL);
		if (interrupted)
			return 0;
		c = input_refresh(&o->in);
		if (c)
			return c;
	}
}

static int report_hosts(struct report_options *o)
{
	uint64_t limit =
		o->has_limit || o->in.format != RENDER_TABLE ? o->q.limit : INPUT_TABLE_ROWS;
	unsigned int found = 0;
	struct hosts h;
	char *scope;
	int c = hosts_open(&h, &o->in, o->paths.v, o->paths.cnt);

	if (c)
		return c;
	for (unsigned int i = 0; i < h.cnt; i++)
		found |= who_find(h.v[i].in.trace, &o->q);
	c = who_check(&h.v[0].in, &o->q, found);
	c = c ?: hosts_window(&h, &o->in, o->q.every_ns, o->align, o->view->needs);
	scope = report_scope(o, true);
	c = c ?: hosts_report(&h, &o->in, o->view, &o->q, limit, o->align, scope);
	free(scope);
	if (!c && o->in.format == RENDER_TABLE)
		report_print_notes(o, NULL);
	hosts_close(&h);
	return c;
}

/* Restricts some views to the recorded command, unless options select tasks. */
static void imply_workload(struct report_options *o)
{
	struct report_request q = o->q;

	if (o->machine || !trace_get(o->in.trace, "command") ||
	    (strcmp(o->view->name, "summary") && strcmp(o->view->name, "processes") &&
	     strcmp(o->view->name, "why") && strcmp(o->view->name, "whatif")) ||
	    q.pid_cnt || q.tid_cnt || q.comm || q.thread || q.workload || o->in.during ||
	    o->request || q.requests)
		return;
	q.workload = true;
	q.requests = NULL;
	if (who_find(o->in.trace, &q) == WHO_ALL)
		o->q.workload = o->q.of_command = true;
}

/*
 * Checks that the selected tasks exist. While the trace is recorded, a missing task may still
 * appear, so it is only reported in a note.
 */
static int check_named(struct report_options *o)
{
	unsigned int found;

	imply_workload(o);
	found = who_find(o->in.trace, &o->q);

	if (!o->follow_ns || !trace_is_live(o->in.trace))
		return who_check(&o->in, &o->q, found);
	if (found != WHO_ALL)
		say_note("%s: nothing that matches --pid, --comm, --workload, --tid, "
			 "--thread and --requests has been recorded yet", input_path(&o->in));
	return 0;
}

static int run(void *job)
{
	struct report_options *o = job;
	int c = check_options(o);
	size_t block_cnt = 0;

	if (!c && o->paths.cnt > 1)
		return report_hosts(o);
	c = c ?: input_open(&o->in, !o->follow_ns);
	if (c)
		return c;
	c = check_named(o);
	if (c)
		return c;
	if (o->follow_ns)
		return follow(o);
	trace_blocks(o->in.trace, &block_cnt);
	if (o->in.format == RENDER_TABLE && input_terminal_width())
		pager_begin();
	c = report_answer(o);
	pager_end();
	/* a trace without a block has no answer, which a note has explained */
	return c || block_cnt || trace_is_live(o->in.trace) ? c : EXIT_FAILED;
}

static void free_lists(struct report_options *r)
{
	free(r->paths.v);
	free(r->pids.v);
	free(r->tids.v);
}

static void done(void *options)
{
	struct report_options *r = options;

	input_close(&r->in);
	free_lists(r);
}

int report_collect(char **argv, struct input *in, const struct row_sink *rows,
		   struct report_window *ret)
{
	struct report_options o = { .rows = rows };
	int c = opts_parse(&report_opts, &o, argv);

	if (!c && (o.paths.cnt || o.follow_ns || o.db || o.list || o.sparklines || o.wide_by))
		c = opts_usage_error("a rule takes no -i, --follow, --db, --list, --sparklines "
				     "or --wide-by");
	o.in.format = RENDER_JSON;
	o.in.path = in->path;
	o.in.trace = in->trace;
	o.in.damage_noted = in->damage_noted;
	c = c ?: check_options(&o) ?: check_named(&o);
	c = c ?: report_answer(&o);
	in->damage_noted = o.in.damage_noted;
	*ret = (struct report_window){ .from_ns = o.q.from_ns, .to_ns = o.q.to_ns };
	memcpy(ret->missing, o.missing, sizeof(o.missing));
	free_lists(&o);
	return c == OPTS_LEAVE ? EXIT_USAGE : c;
}

#define AT(field) offsetof(struct report_options, field)

static const struct opts_option options[] = {
	{ 'i', "input", "TRACE", "trace or bundle to read (default: " INPUT_TRACE_DEFAULT ")",
	  OPTS_CALL, .take = take_path },
	INPUT_OPTIONS_WINDOW(struct report_options, in),
	{ 0, "every", "DUR", "one answer per DUR of the window: 100ms, 1s", OPTS_STEP,
	  AT(q.every_ns), .min = 1, .refuse = "the step must be longer than 0" },
	{ 0, "align", NULL,
	  "with --every: bins begin at whole multiples of DUR of UTC, on every host;\nrows for "
	  "programs begin with unix_ns and wall_uncertainty_ns",
	  OPTS_FLAG, AT(align) },
	{ 0, "phases", NULL, "one answer per interval between marks; without VIEW a row each",
	  OPTS_FLAG, AT(phases) },
	{ 0, "wide-by", "COLUMN,...",
	  "with --every: a row per bin and a column per value of COLUMN, with the\n"
	  "view's figure, 0 where there was nothing",
	  OPTS_TEXT, AT(wide_by), .refuse = "the name must not be empty" },
	{ 0, "follow", "[=DUR]",
	  "during a recording: a new answer every DUR (2s) until it ends; with\n"
	  "--every and jsonl each bin once, when it is complete",
	  OPTS_CALL, AT(follow_ns), take_follow },
	{ 0, "by", "KEY,...",
	  "one row per process, thread, thread_name, comm, cgroup, container, unit,\n"
	  "user, tree, cpu, device, partition, op, size, file, vector, site, waker,\n"
	  "function, module, or name and step of requests; several\nkeys: one per combination",
	  OPTS_CALL, .take = take_by },
	{ 0, "pid", "PID,...", "these processes only", OPTS_CALL, AT(pids), lists_take_ids },
	{ 0, "comm", "NAME", "processes of this name only; may be a pattern: 'cc*'", OPTS_TEXT,
	  AT(q.comm) },
	{ 0, "tid", "TID,...", "these threads only", OPTS_CALL, AT(tids), lists_take_ids },
	{ 0, "thread", "NAME", "threads of this name only; may be a pattern: 'req-*'", OPTS_TEXT,
	  AT(q.thread) },
	{ 0, "machine", NULL,
	  "summary, processes, why, whatif: the whole machine also where a command was\nrecorded",
	  OPTS_FLAG, AT(machine) },
	{ 0, "workload", NULL,
	  "the workload only: the recorded command, -p, --cgroup, and descendants", OPTS_FLAG,
	  AT(q.workload) },
	{ 0, "sort", "COLUMN", "largest first by this column; -COLUMN smallest first", OPTS_CALL,
	  .take = take_sort },
	{ 0, "limit", "N",
	  "at most N rows, with --every N of each bin; 0 for all (default: 20 in\n"
	  "tables, 5 of each bin; all in histograms, csv and json)",
	  OPTS_CALL, .take = take_limit },
	{ 0, "all", NULL,
	  "all rows, as --limit 0; why: also the verdict of every rule", OPTS_CALL,
	  .take = take_all },
	{ 0, "format", "FORMAT", "table (default), markdown, csv, json, jsonl or parquet",
	  OPTS_CALL, .take = take_format },
	INPUT_OPTION_LINES(struct report_options, in),
	INPUT_OPTION_SYMBOLS(struct report_options, in.symbols),
	{ 0, "fetch", NULL,
	  "symbols: run debuginfod-find for files that lack names, if DEBUGINFOD_URLS\n"
	  "names a server, and show what is still missing",
	  OPTS_FLAG, AT(fetch) },
	INPUT_OPTION_RAW_FRAMES(struct report_options, in.raw_frames),
	{ 0, "wide", NULL, "tables with every column, however long the lines get", OPTS_FLAG,
	  AT(in.wide) },
	{ 0, "notes", NULL, "all there is to know about a table's figures", OPTS_FLAG, AT(notes) },
	INPUT_OPTION_NO_INDEX(struct report_options, in),
	{ 0, "with-recorder", NULL, "also show what ebpfrec itself did", OPTS_FLAG,
	  AT(q.with_recorder) },
	{ 0, "with-idle", NULL, "also show idle time, so that each CPU adds up to the window",
	  OPTS_FLAG, AT(q.with_idle) },
	{ 0, "sparklines", NULL, "with --every, draw a line per row's group, as on a terminal",
	  OPTS_FLAG, AT(sparklines) },
	{ 0, "requests", "NAME",
	  "why: what the slow requests of this name did that the others did not;\n"
	  "may be a pattern: 'GET*'",
	  OPTS_TEXT, AT(q.requests) },
	{ 0, "request", "ID", "why: what the request with this id did, and what held it up",
	  OPTS_TEXT, AT(request) },
	{ 0, "slow", "pN|DUR",
	  "with --requests: which ones are slow: from a percentile on (p99), or of\n"
	  "at least DUR",
	  OPTS_CALL, .take = take_slow },
	{ 0, "slowest", "N", "requests: the N longest, a row each", OPTS_COUNT, AT(q.slowest) },
	{ 0, "without", "CAUSE",
	  "whatif: a cause to leave out: lock:NAME, file:PATH, process:NAME,\n"
	  "function:NAME, disk, quota, sleep, timeout, stop, cpu; several are left\n"
	  "out together",
	  OPTS_CALL, .take = take_without },
	{ 0, "spike-window", "DUR", "spikes: length of the sliding window (100ms)", OPTS_STEP,
	  AT(q.spike_window_ns) },
	{ 0, "spike-min", "SIZE",
	  "spikes: bytes in that window that make a spike (default: 16MiB;\n"
	  "of old processes ten times their median rate, if more)",
	  OPTS_SIZE, AT(q.spike_min_bytes) },
	{ 0, "db", "FILE", "also write the window as a SQLite file", OPTS_TEXT, AT(db) },
	{ 'f', "force", NULL, "replace FILE of --db when it exists", OPTS_FLAG, AT(force) },
	{ 0, "histogram", NULL, "latency: how many requests took how long; parallel: how many "
	  "CPUs were busy",
	  OPTS_FLAG, AT(q.histogram) },
	{ 0, "show", "NAME",
	  "a further answer of VIEW, which --list names after \"also\": alloc --show sizes",
	  OPTS_TEXT, AT(show) },
	{ 0, "list", NULL, "list the views and their questions; with VIEW its keys and notes",
	  OPTS_FLAG, AT(list) },
	{ 0 },
};

const struct opts_command report_opts = {
	.name = "report",
	.about = "Answer a question about a window of a trace.",
	.synopsis = "[-i TRACE] [VIEW] [OPTIONS]",
	.text = "`ebpfrec report --list` shows the values of VIEW; the default is summary.\n"
		"Tables are for reading. csv, json and jsonl (an object per line) hold all rows as "
		"raw\n"
		"numbers, with the unit in the column's name. For the views stacks, leaks,\n"
		"offcpu and profile there are a flame graph for a browser (html), lines for "
		"flame\n"
		"graph tools (folded) and a profile for `go tool pprof` (pprof).\n"
		"Several traces (-i again, or names after the options) share one axis of "
		"wall-clock\n"
		"time; rows then begin with the host.\n",
	.options = options,
	.examples = "  ebpfrec report\n"
		    "  ebpfrec report cpu --from 1.5s --until 3s\n"
		    "  ebpfrec report cpu --every 100ms --format csv > cpu.csv\n"
		    "  ebpfrec report alloc --by process --from 2s --until 2.1s\n"
		    "  ebpfrec report io --every 1s --by device --format csv\n"
		    "  ebpfrec report cpu --from -10s --follow\n"
		    "  ebpfrec report --phases --during make\n"
		    "  ebpfrec report stacks --format html > stacks.html\n"
		    "  ebpfrec report waits --format parquet > waits.parquet\n"
		    "  ebpfrec report cpu --every 1s --format csv -i *.ebpfrec\n"
		    "  ebpfrec report bins --every 1s --align --follow --format jsonl\n",
	.bytes = sizeof(struct report_options),
	.initial = &(const struct report_options){ .in.quick = true },
	.done = done,
	.operand = take_operand,
	.run = run,
};
