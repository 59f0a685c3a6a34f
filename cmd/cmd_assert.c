/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_assert: `ebpfrec assert` checks whether rules hold for one or several traces. For each trace
 * and rule, the code of `ebpfrec report` produces rows; cmd/assert judges their figures.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmd/assert/verdict.h"
#include "cmd/cmd.h"
#include "cmd/input/opts.h"
#include "cmd/render/say.h"
#include "cmd/report_answer.h"

#define RULES_MAX_BYTES (1 << 20)
#define COLUMN_CNT 12
#define EXIT_INDETERMINATE 3 /* no rule failed, but at least one is undecided */

enum assert_format { AS_ROWS, AS_JUNIT, AS_GITHUB };

struct assertion {
	struct input in; /* options of the output, such as its format */
	struct lists_strings paths, operands, given; /* given: the rules of --rule options */
	enum assert_format format;
	char *text; /* content of the rule file */
	const char *file;
	struct rule *rules;
	unsigned int rule_cnt;
	struct finding *findings; /* by rule, then by trace; each rule has traces_max entries */
	unsigned int traces_max; /* paths.cnt before find_in_trace() removes warm-up runs */
	double *room;
	bool keeps;
};

/* ---- rules ---- */

static int add_rule(struct assertion *a, const char *text, unsigned int line)
{
	struct rule *p = realloc(a->rules, (a->rule_cnt + 1) * sizeof(*p));
	struct err e = { "" };
	int c;

	if (!p)
		return say_error("out of memory");
	a->rules = p;
	c = rule_parse(&p[a->rule_cnt], text, line, &e);
	a->rule_cnt += !c;
	return c ? opts_usage_error("%s:%u: %s", a->file, line, err_text(&e, c)) : 0;
}

static int read_file(struct assertion *a)
{
	FILE *f = strcmp(a->file, "-") ? fopen(a->file, "re") : stdin;
	size_t n;

	a->text = f ? malloc(RULES_MAX_BYTES + 1) : NULL;
	if (!a->text)
		return opts_usage_error("%s: %s", a->file, strerror(errno));
	n = fread(a->text, 1, RULES_MAX_BYTES + 1, f);
	if (f != stdin)
		fclose(f);
	if (n > RULES_MAX_BYTES || memchr(a->text, '\0', n))
		return opts_usage_error("%s: no file of rules: it %s", a->file,
					n > RULES_MAX_BYTES ? "is longer than 1 MiB" :
							      "has a NUL byte");
	a->text[n] = '\0';
	return 0;
}

static int read_rules(struct assertion *a)
{
	unsigned int line = 0;
	int c = a->file ? read_file(a) : 0;
	char *at = a->text, *next;

	for (; !c && at; at = next) {
		size_t n = strcspn(at, "\n");

		next = at[n] ? at + n + 1 : NULL;
		at[n] = '\0';
		line++;
		at += strspn(at, " \t\r");
		for (n = strlen(at); n && strchr(" \t\r", at[n - 1]); n--)
			at[n - 1] = '\0';
		if (*at && *at != '#')
			c = add_rule(a, at, line);
	}
	if (!a->file)
		a->file = "--rule";
	for (unsigned int i = 0; !c && i < a->given.cnt; i++)
		c = add_rule(a, a->given.v[i], i + 1);
	if (!c && !a->rule_cnt)
		c = opts_usage_error("%s: there is no rule in it", a->file);
	return c;
}

/* ---- answers ---- */

/* First checks the whole trace for damage, since the SQL statement may read any part of it. */
static int find_sql(struct input *in, struct finding *f, struct report_window *w)
{
	struct row_sink sink = finding_sink(f);
	struct err e = { "" };
	int c;

	w->from_ns = trace_start_ns(in->trace);
	w->to_ns = trace_end_ns(in->trace);
	input_verify(in, false, w->from_ns, w->to_ns);
	input_is_complete(in->trace, LOSS_NEEDS_ALL, w->from_ns, w->to_ns, w->missing,
			  sizeof(w->missing));
	c = in->analysis ? 0 : input_analysis(in);
	c = c ?: analysis_sql(in->analysis, f->rule->sql, &sink, &e);
	if (c < 0)
		snprintf(f->error, sizeof(f->error), "%s", err_text(&e, c));
	return c;
}

/*
 * Sets f->window, such as "1.000 .. 2.000 s", and f->started, the wall-clock time of the trace's
 * start.
 */
static void name_window(const struct trace *t, const struct report_window *w, struct finding *f)
{
	uint64_t start_ns = trace_start_ns(t), end_ns = trace_end_ns(t),
		 to_ns = w->to_ns < end_ns ? w->to_ns : end_ns;

	snprintf(f->window, sizeof(f->window), "%s .. %s s",
		 say_instant(w->from_ns > start_ns ? (int64_t)(w->from_ns - start_ns) : 0),
		 say_instant((int64_t)(to_ns - start_ns)));
	snprintf(f->started, sizeof(f->started), "%s", say_wall(trace_real_ns(t, start_ns), false));
}

/* Returns 0 even if this trace has no answer. EXIT_USAGE: the rule itself is invalid. */
static int find(struct assertion *a, struct input *in, struct finding *f)
{
	struct report_window w = { .missing = "" };
	struct row_sink sink = finding_sink(f);
	int c = !in->trace ? EXIT_FAILED :
		f->rule->sql ? find_sql(in, f, &w) :
			       report_collect((char **)f->rule->argv, in, &sink, &w);

	finding_end(f, w.missing);
	if (!c)
		name_window(in->trace, &w, f);
	if (*f->error || c == EXIT_USAGE) {
		say_error("%s:%u: %s", a->file, f->rule->line,
			  *f->error ? f->error : "report refuses this rule");
		return EXIT_USAGE;
	}
	if (!c)
		return 0;
	f->has = f->is_complete = false;
	snprintf(f->why, sizeof(f->why), "%s", in->trace ?
			 "there is no answer, for the reason on stderr" :
			 "the trace cannot be read");
	return 0;
}

/*
 * Applies all rules to the trace paths.v[*trace], and increments *trace. A warm-up run is removed
 * from paths instead.
 */
static int find_in_trace(struct assertion *a, unsigned int *trace)
{
	struct input in = { .path = a->paths.v[*trace], .quick = true };
	unsigned int nth = *trace;
	int c = input_open(&in, true);

	if (!c && input_is_warm_up(&in)) {
		a->paths.cnt--;
		memmove(&a->paths.v[nth], &a->paths.v[nth + 1],
			(a->paths.cnt - nth) * sizeof(*a->paths.v));
		input_close(&in);
		return 0;
	}
	(*trace)++;
	c = 0;
	for (unsigned int i = 0; i < a->rule_cnt && !c; i++) {
		struct finding *f = &a->findings[i * a->traces_max + nth];
		uint64_t begin_ns = clock_mono_ns();

		finding_init(f, &a->rules[i]);
		c = find(a, &in, f);
		a->rules[i].took_ns += clock_mono_ns() - begin_ns;
	}
	input_close(&in);
	return c;
}

/* ---- output ---- */

/*
 * Returns the command that shows the rule's rows: "ebpfrec report -i a.ebpfrec cpu --by comm".
 * malloc'ed; NULL: out of memory.
 */
static char *command_of(const struct rule *r, const char *path)
{
	char *argv[RULE_WORDS_MAX + 8] = { (char *)"ebpfrec", (char *)"report", (char *)"-i",
					   (char *)path, NULL };

	if (r->sql) {
		argv[1] = (char *)"sql";
		argv[4] = (char *)r->sql;
		return lists_join_argv(argv);
	}
	for (unsigned int i = 1; r->argv[i]; i++)
		argv[3 + i] = r->argv[i];
	return lists_join_argv(argv);
}

/* Returns the reason: "wait_ms is 7.200, and must be < 5, in a.ebpfrec (object=futex)". */
static char *say_result(const struct assertion *a, const struct rule *r,
			const struct verdict_result *v)
{
	char figure[40] = "", in[400] = "", *text;

	if (v->has)
		verdict_format(figure, sizeof(figure), r, v->figure);
	if (v->of_median)
		snprintf(in, sizeof(in), ", as the median of %u traces", a->paths.cnt);
	else
		snprintf(in, sizeof(in), " in %s%s%s%s", a->paths.v[v->trace],
			 *v->which ? " (" : "", v->which, *v->which ? ")" : "");
	if (asprintf(&text, "%s%s is %s%s, and must be %s%s%s%s%s", r->is_sum ? "sum:" : "",
		     r->sql ? "the number of rows" : r->column, v->has ? "" : "not known",
		     v->has ? figure : "", verdict_limit(r), in, *v->why ? "; " : "",
		     v->of_median && *v->why ? say_format("%s: ", a->paths.v[v->trace]) : "",
		     v->why) < 0)
		return NULL;
	return text;
}

static void put_row(struct render *out, const struct assertion *a, const struct rule *r,
		    const struct verdict_result *v, const char *command)
{
	bool is_table = a->in.format == RENDER_TABLE;
	char figure[40] = "-";

	if (v->has)
		verdict_format(figure, sizeof(figure), r, v->figure);
	if (is_table)
		render_put(out, (struct value[]){ value_text(verdict_name(v->verdict)),
						  value_text(figure), value_text(verdict_limit(r)),
						  value_text(r->text) });
	else
		render_put(out, (struct value[]){
			value_text(verdict_name(v->verdict)), value_int(r->line),
			value_text(r->text), value_text(r->sql ? "rows" : r->column),
			v->has ? value_real(v->figure) : value_null(),
			value_text(rule_op_text(r->op)), value_real(r->limit),
			value_int(a->paths.cnt),
			v->of_median ? value_null() : value_text(a->paths.v[v->trace]),
			value_text(*v->which ? v->which : NULL),
			value_text(*v->why ? v->why : NULL), value_text(command) });
}

static int print_rows(struct assertion *a, const struct verdict_result *results,
		      const struct verdict_line *lines, const unsigned int cnts[3])
{
	static const char *const columns[] = { "verdict", "line", "rule", "column", "figure", "op",
					       "limit", "traces", "trace", "row", "why",
					       "command" };
	static const char *const table[] = { "verdict", "figure", "limit", "rule" };
	bool is_table = a->in.format == RENDER_TABLE;
	struct render *out = input_render(&a->in, 0, true, NULL);
	char text[4096];

	if (!out)
		return EXIT_FAILED;
	render_begin(out, is_table ? 4 : COLUMN_CNT, is_table ? table : columns);
	for (unsigned int i = 0; i < a->rule_cnt; i++)
		put_row(out, a, &a->rules[i], &results[i], lines[i].command);
	if (input_render_end(out, 0, NULL))
		return EXIT_FAILED;
	for (unsigned int i = 0; is_table && i < a->rule_cnt; i++) {
		if (lines[i].verdict == VERDICT_PASS)
			continue;
		snprintf(text, sizeof(text), "%s:%u: %s: %s: `%s`", say_text(a->file),
			 a->rules[i].line, verdict_name(lines[i].verdict), say_text(lines[i].text),
			 say_text(lines[i].command));
		printf(a->in.markdown ? "" : "\n");
		render_paragraph(stdout, text, input_terminal_width(), a->in.markdown);
	}
	if (is_table)
		printf("%s%u pass, %u fail, %u indeterminate\n", a->in.markdown ? "" : "\n",
		       cnts[VERDICT_PASS], cnts[VERDICT_FAIL], cnts[VERDICT_INDETERMINATE]);
	return 0;
}

static int keep(const struct assertion *a, const struct verdict_line *lines)
{
	int c = 0;

	for (unsigned int i = 0; i < a->paths.cnt; i++) {
		struct err e = { "" };
		int r = verdict_keep(i, lines, a->rule_cnt, &e);

		if (r)
			c = say_error("%s: the verdicts are not kept: %s", a->paths.v[i],
				      err_text(&e, r));
	}
	return c;
}

/* Judges all rules from their findings, and prints the verdicts. Returns the exit status. */
static int tell(struct assertion *a)
{
	struct verdict_result *results = calloc(a->rule_cnt, sizeof(*results));
	struct verdict_line *lines = calloc(a->rule_cnt, sizeof(*lines));
	unsigned int cnts[3] = { 0 };
	int c = 0;

	if (!results || !lines) {
		free(results);
		free(lines);
		return say_error("out of memory");
	}
	for (unsigned int i = 0; i < a->rule_cnt && !c; i++) {
		const struct rule *r = &a->rules[i];
		const struct finding *f = &a->findings[i * a->traces_max];
		char *text, *command;

		results[i] = verdict_of(f, a->paths.cnt, a->room);
		text = say_result(a, r, &results[i]);
		command = command_of(r, a->paths.v[results[i].trace]);
		lines[i] = (struct verdict_line){ a->file, r, results[i].verdict, text, command,
						  &results[i], f, a->paths.v, a->paths.cnt };
		cnts[results[i].verdict]++;
		if (!text || !command)
			c = say_error("out of memory");
	}
	if (!c && a->format == AS_JUNIT)
		verdict_write_junit(stdout, a->file, lines, a->rule_cnt);
	else if (!c && a->format == AS_GITHUB)
		verdict_write_github(stdout, lines, a->rule_cnt);
	else if (!c)
		c = print_rows(a, results, lines, cnts);
	if (!c && a->keeps)
		c = keep(a, lines);
	for (unsigned int i = 0; i < a->rule_cnt; i++) {
		free((char *)lines[i].text);
		free((char *)lines[i].command);
	}
	free(lines);
	free(results);
	return c			   ? c :
	       cnts[VERDICT_FAIL]	   ? EXIT_FAILED :
	       cnts[VERDICT_INDETERMINATE] ? EXIT_INDETERMINATE : 0;
}

/* ---- the command ---- */

static int take_operand(void *job, const char *value)
{
	struct assertion *a = job;

	return lists_add_string(&a->operands, value, NULL) ? say_error("out of memory") : 0;
}

static int take_format(void *job, const char *value, struct err *e)
{
	struct assertion *a = job;

	a->in.markdown = !strcmp(value, "markdown");
	a->format = !strcmp(value, "junit")  ? AS_JUNIT :
		    !strcmp(value, "github") ? AS_GITHUB : AS_ROWS;
	if (a->format != AS_ROWS || a->in.markdown)
		value = "table";
	if (!render_parse_format(value, RENDER_OF_ROWS, &a->in.format))
		return 0;
	return opts_usage_error("unknown format '%s'; there are table, markdown, csv, json, jsonl, "
				"junit and github", value);
}

/* Operands are traces, followed by the rule file unless --rule is used. */
static int take_operands(struct assertion *a)
{
	unsigned int traces = a->operands.cnt - (a->operands.cnt && !a->given.cnt);

	if (!a->operands.cnt && !a->given.cnt)
		return opts_usage_error("which rules? Name their file, or give one with --rule");
	if (!a->given.cnt)
		a->file = a->operands.v[traces];
	for (unsigned int i = 0; i < traces; i++)
		if (lists_add_string(&a->paths, a->operands.v[i], NULL))
			return say_error("out of memory");
	if (!a->paths.cnt && lists_add_string(&a->paths, INPUT_TRACE_DEFAULT, NULL))
		return say_error("out of memory");
	return 0;
}

static int run(void *job)
{
	struct assertion *a = job;
	int c = take_operands(a);

	c = c ?: read_rules(a);
	if (c)
		return c;
	a->traces_max = a->paths.cnt;
	a->findings = calloc((size_t)a->rule_cnt * a->paths.cnt, sizeof(*a->findings));
	a->room = calloc(a->paths.cnt, sizeof(*a->room));
	if (!a->findings || !a->room)
		return say_error("out of memory");
	for (unsigned int i = 0; i < a->paths.cnt && !c;)
		c = find_in_trace(a, &i);
	if (!c && !a->paths.cnt)
		c = opts_usage_error("all traces are warm-up runs, which are left out");
	return c ? c : tell(a);
}

static void done(void *job)
{
	struct assertion *a = job;

	for (unsigned int i = 0; i < a->rule_cnt; i++)
		rule_free(&a->rules[i]);
	free(a->rules);
	free(a->paths.v);
	free(a->operands.v);
	free(a->given.v);
	free(a->text);
	free(a->findings);
	free(a->room);
}

static const struct opts_option options[] = {
	{ 'i', "input", "TRACE",
	  "trace or bundle to judge (default: " INPUT_TRACE_DEFAULT "); with several,\n"
	  "a rule is about the median of their figures, or with 'every:' about each",
	  OPTS_CALL, offsetof(struct assertion, paths), lists_add_string },
	{ 0, "rule", "RULE", "a rule, in place of a file; may be repeated", OPTS_CALL,
	  offsetof(struct assertion, given), lists_add_string },
	{ 0, "keep", NULL, "keep the verdicts as notes of each trace, which reports and pages show",
	  OPTS_FLAG, offsetof(struct assertion, keeps) },
	{ 0, "format", "FORMAT",
	  "table (default), markdown, csv, json, jsonl, junit (XML) or github\n"
	  "(annotations of a job)",
	  OPTS_CALL, .take = take_format },
	{ 0 },
};

const struct opts_command assert_opts = {
	.name = "assert",
	.about = "Check traces against rules.",
	.synopsis = "[-i TRACE]... [OPTIONS] RULES\n"
		    "       ebpfrec assert [-i TRACE]... [OPTIONS] --rule RULE",
	.text = "RULES is a file with a rule per line, or - for stdin. A rule asks a view of\n"
		"report, with its options, picks rows, and limits a column:\n"
		"  sched --by comm comm=server wait_max_ms < 20\n"
		"  locks --from mark:build --until mark:test wait_ms < 5\n"
		"  every: io sum:bytes <= 1GiB\n"
		"  if-any: spikes bytes < 200MiB\n"
		"  sql: SELECT pid FROM processes WHERE uid = 0\n"
		"The limit holds for each row that is picked; sql must find no row. A figure\n"
		"that is not complete never passes: it is INDETERMINATE, unless it is too large\n"
		"already. Exit status: 0 pass, 1 fail, 2 wrong rules, 3 indeterminate.\n",
	.options = options,
	.examples = "  ebpfrec assert rules.txt\n"
		    "  ebpfrec assert a.ebpfrec b.ebpfrec --format junit rules.txt > assert.xml\n"
		    "  ebpfrec assert --rule 'sched --by comm comm=server wait_max_ns < 20ms'\n",
	.bytes = sizeof(struct assertion),
	.done = done,
	.operand = take_operand,
	.run = run,
};
