/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_diff: `ebpfrec diff A B` shows the changes between two traces, per role and figure. See
 * analyze/diff/diff.h for the definition of a change.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/diff/diff.h"
#include "analyze/engine/report_view.h"
#include "cmd/cmd.h"
#include "cmd/diff/diff_groups.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"

struct diff {
	struct input in[2];
	struct lists_strings paths[2]; /* traces of group A, and of group B (after --with) */
	bool with;
	const char *has_more;
	uint64_t every_ns;
	uint64_t limit;
	bool only_workload, exit_code, html;
	struct diff_rows rows;
	const char *from_b, *until_b; /* NULL: same as for A */
	struct diff_flame_options flame;
};

/*
 * Returns the sources that the figures of the rows need. diff.c takes the figures from three views.
 */
static struct loss_needs needs_of_rows(char room[LOSS_SOURCES_MAX])
{
	const struct loss_needs cpu = report_view_find("cpu")->needs,
				memory = report_view_find("memory")->needs,
				io = report_view_find("io")->needs;

	snprintf(room, LOSS_SOURCES_MAX, "%s,%s,%s,app.span?", cpu.sources, memory.sources,
		 io.sources);
	return (struct loss_needs){ room, cpu.reach | memory.reach | io.reach };
}

static void say_side(const struct diff *d, int side, uint64_t from_ns, uint64_t to_ns)
{
	char missing[256], room[LOSS_SOURCES_MAX];
	bool complete = input_is_complete(d->in[side].trace, needs_of_rows(room), from_ns, to_ns,
					  missing, sizeof(missing));
	const char *notes[] = { input_part_note(d->in[side].trace),
				input_heap_note(d->in[side].trace, "alloc") };

	if (d->in[0].format != RENDER_TABLE) {
		if (!complete)
			say_note("%s: the window is incomplete: %s", input_path(&d->in[side]),
				 missing);
		for (unsigned int i = 0; i < 2; i++)
			if (notes[i])
				say_note("%s: %s", input_path(&d->in[side]), notes[i]);
		return;
	}
	printf("%c: %s, %s, %s%s\n", "AB"[side], input_path(&d->in[side]),
	       say_duration(to_ns - from_ns), complete ? "complete" : "INCOMPLETE: ",
	       complete ? "" : missing);
	for (unsigned int i = 0; i < 2; i++)
		if (notes[i])
			printf("%c: %s\n", "AB"[side], notes[i]);
}

static int clip_window(struct input *in, struct diff_side *ret)
{
	uint64_t start, end;
	int c = input_window(in, &ret->from_ns, &ret->to_ns);

	if (c)
		return c;
	start = trace_start_ns(in->trace);
	end = trace_end_ns(in->trace);
	ret->from_ns = ret->from_ns < start ? start : ret->from_ns;
	ret->to_ns = ret->to_ns > end ? end : ret->to_ns;
	ret->a = in->analysis;
	if (ret->from_ns >= ret->to_ns)
		return say_error("%s: nothing of the window lies in this trace", input_path(in));
	input_verify(in, true, ret->from_ns, ret->to_ns);
	return 0;
}

static void print_legend(const struct diff *d, const struct diff_summary *sum)
{
	char text[640];

	snprintf(text, sizeof(text),
		 "%s changed by more than noise, which is how much a figure varies from one bin of "
		 "%s to the next inside a trace. How much it varies from run to run, two traces do "
		 "not tell. Of 100 comparisons in which nothing changed, about one calls a figure "
		 "changed.%s%s%s",
		 say_counted(sum->changed, "figure"), say_duration(sum->bin_ns),
		 d->rows.has_small ? " A difference called small is too small to matter." : "",
		 d->rows.has_few ? " Times of few I/Os or requests are not compared." : "",
		 d->rows.has_digits ? " A # in a role stands for digits that differ." : "");
	printf("\n");
	render_wrap(stdout, text, input_terminal_width());
}

static int write_flame(const struct diff *d, const struct diff_side sides[2])
{
	struct diff_flame *f = NULL;
	int c = d->flame.path ? diff_flame_new(&f, &d->flame) : 0;

	for (int side = 0; side < 2 && f && !c; side++)
		c = diff_flame_add(f, side, &d->in[side], &sides[side]);
	if (f && !c)
		c = diff_flame_write(f, (const char *const[]){ input_path(&d->in[0]),
							       input_path(&d->in[1]) });
	diff_flame_free(f);
	return c;
}

static int compare(struct diff *d)
{
	struct diff_side sides[2];
	struct diff_summary sum = { 0 };
	struct render *render;
	struct err e = { "" };
	int c, side;

	for (side = 0; side < 2; side++) {
		c = clip_window(&d->in[side], &sides[side]);
		if (c)
			return c;
	}
	d->in[0].drops = "procs_b,procs_a,p_value,parent";
	render = input_render(&d->in[0], d->limit, true, NULL);
	if (!render)
		return EXIT_FAILED;
	d->rows.out = render_sink(render);
	d->rows.format = d->in[0].format;
	for (side = 0; side < 2; side++)
		say_side(d, side, sides[side].from_ns, sides[side].to_ns);
	if (d->in[0].format == RENDER_TABLE)
		printf("\n");
	diff_rows_begin(&d->rows);
	c = diff_run(sides, d->every_ns, d->only_workload, diff_rows_put, &d->rows, &sum, &e);
	c = input_render_end(render, c, &e);
	if (c)
		return c;
	if (d->in[0].format == RENDER_TABLE)
		print_legend(d, &sum);
	c = write_flame(d, sides);
	if (c)
		return c;
	return d->exit_code && sum.changed ? EXIT_FAILED : 0;
}

static int take_trace(void *job, const char *value)
{
	struct diff *d = job;

	if (!d->with && d->paths[0].cnt == 2)
		d->has_more = value;
	return lists_add_string(&d->paths[d->with], value, NULL) ? say_error("out of memory") : 0;
}

static int take_with(void *job, const char *value, struct err *e)
{
	struct diff *d = job;

	d->with = true;
	return lists_add_string(&d->paths[1], value, e);
}

static int compare_groups(struct diff *d)
{
	struct diff_groups groups = {
		.paths = d->paths, .like = &d->in[0], .limit = d->limit,
		.only_workload = d->only_workload, .only_changed = d->rows.only_changed,
		.exit_code = d->exit_code, .html = d->html,
	};
	int c;

	if (!d->paths[0].cnt)
		return opts_usage_error("no trace to compare with: ebpfrec diff A... --with B...");
	if (d->every_ns)
		return opts_usage_error("--every is for two traces; groups measure noise from run "
					"to run");
	if (d->from_b || d->until_b)
		return opts_usage_error("--from-b and --until-b are for two traces");
	d->flame.is_of_groups = true;
	c = d->flame.path ? diff_flame_new(&groups.flame, &d->flame) : 0;
	c = c ?: diff_groups(&groups);
	diff_flame_free(groups.flame);
	return c;
}

static int run(void *job)
{
	struct diff *d = job;
	int c = 0;

	if (!d->flame.path && (d->flame.view || d->flame.per || d->flame.force))
		return opts_usage_error("--of, --per and --force are for --flame FILE");
	if (d->flame.path && !d->flame.force && !access(d->flame.path, F_OK))
		return say_error("%s exists; -f replaces it", d->flame.path);
	d->flame.only_workload = d->only_workload;
	if (d->with)
		return compare_groups(d);
	if (d->has_more)
		return opts_usage_error("'%s': this would be a third trace; groups are compared by "
					"ebpfrec diff A... --with B...",
					d->has_more);
	if (d->html)
		return opts_usage_error("box plots show several runs: ebpfrec diff --format html "
					"A... --with B...");
	if (d->paths[0].cnt < 2)
		return opts_usage_error("two traces are needed: ebpfrec diff A B");
	d->in[0].path = d->paths[0].v[0];
	d->in[1].path = d->paths[0].v[1];
	d->in[1].from = d->from_b ?: d->in[0].from;
	d->in[1].to = d->until_b ?: d->in[0].to;
	d->in[1].during = d->in[0].during;
	d->in[1].symbols = d->in[0].symbols;
	d->in[1].raw_frames = d->in[0].raw_frames;
	for (int side = 0; side < 2 && !c; side++) {
		c = input_open(&d->in[side], true) ?: input_analysis(&d->in[side]);
	}
	return c ? c : compare(d);
}

static void done(void *job)
{
	struct diff *d = job;

	input_close(&d->in[0]);
	input_close(&d->in[1]);
	free(d->paths[0].v);
	free(d->paths[1].v);
}

static int take_format(void *job, const char *value, struct err *e)
{
	struct diff *d = job;

	d->in[0].markdown = !strcmp(value, "markdown");
	d->html = !strcmp(value, "html");
	if (!render_parse_format(d->in[0].markdown || d->html ? "table" : value, RENDER_OF_ROWS,
				 &d->in[0].format))
		return 0;
	return opts_usage_error("unknown format '%s'; there are table, markdown, html, csv, json "
				"and jsonl", value);
}

static int take_view(void *view, const char *value, struct err *e)
{
	static const char *const names[] = { "profile", "offcpu", "stacks" };
	unsigned int i;
	int c = opts_pick(&i, "view", "--of: ", value, names, 3, "",
			  "; there are profile, offcpu and stacks");

	if (!c)
		*(const char **)view = names[i];
	return c;
}

static int take_per(void *per, const char *value, struct err *e)
{
	static const char *const names[] = { "run", "second", "request" };
	unsigned int i;
	int c = opts_pick(&i, "unit", "--per: ", value, names, 3, "",
			  "; there are run, second and request");

	if (!c)
		*(enum diff_flame_per *)per = DIFF_FLAME_PER_RUN + i;
	return c;
}

static const struct opts_option options[] = {
	{ 0, "with", "B",
	  "compare all traces before this with B and those that follow: several\n"
	  "runs with several",
	  OPTS_CALL, .take = take_with },
	INPUT_OPTIONS_WINDOW(struct diff, in[0]),
	{ 0, "from-b", "TIME",
	  "the window of B starts here, where it is another one than that of A:\n"
	  "two windows of a trace, say",
	  OPTS_TEXT, offsetof(struct diff, from_b) },
	{ 0, "until-b", "TIME", "and ends before this instant",
	  OPTS_TEXT, offsetof(struct diff, until_b) },
	{ 0, "every", "DUR",
	  "length of the bins between which noise is measured (default:\n"
	  "a fiftieth of the shorter window, at least 10ms)",
	  OPTS_STEP, offsetof(struct diff, every_ns), .min = 1,
	  .refuse = "must be more than 0" },
	{ 0, "flame", "FILE",
	  "also write a flame graph of B, coloured by what changed: a page (.html),\n"
	  "or lines of stacks with the figures of A and B (any other name)",
	  OPTS_TEXT, offsetof(struct diff, flame.path), .refuse = "the name must not be empty" },
	{ 0, "of", "VIEW", "--flame: profile (default), offcpu or stacks", OPTS_CALL,
	  offsetof(struct diff, flame.view), take_view },
	{ 0, "per", "UNIT",
	  "--flame: what it compares: run (default of groups), second (of two\n"
	  "traces), or request of a program",
	  OPTS_CALL, offsetof(struct diff, flame.per), take_per },
	{ 'f', "force", NULL, "replace FILE of --flame when it exists", OPTS_FLAG,
	  offsetof(struct diff, flame.force) },
	INPUT_OPTION_SYMBOLS(struct diff, in[0].symbols),
	INPUT_OPTION_RAW_FRAMES(struct diff, in[0].raw_frames),
	{ 0, "workload", NULL, "only the recorded workload's own processes",
	  OPTS_FLAG, offsetof(struct diff, only_workload) },
	{ 0, "changed", NULL, "only what has changed",
	  OPTS_FLAG, offsetof(struct diff, rows.only_changed) },
	{ 0, "limit", "N", "rows of a table at most, 0 for all (default: 20)",
	  OPTS_COUNT, offsetof(struct diff, limit),
	  .refuse = " is no number of rows; 0 is for all" },
	{ 0, "exit-code", NULL,
	  "end with 1 when something has changed; of groups: when it is worse",
	  OPTS_FLAG, offsetof(struct diff, exit_code) },
	{ 0, "format", "FORMAT",
	  "table (default), markdown, csv, json, jsonl, or of groups html, a page\n"
	  "with a box plot of each figure", OPTS_CALL, .take = take_format },
	{ 0 },
};

const struct opts_command diff_opts = {
	.name = "diff",
	.about = "Compare two traces, or two groups of traces.",
	.synopsis = "[OPTIONS] A B\n"
		    "       ebpfrec diff [OPTIONS] A... --with B...",
	.text = "Processes are matched by what they run and who started them, never by PID.\n"
		"A figure has changed when it differs by 5 % or more, by more than it varies\n"
		"from bin to bin inside a trace, and by enough to matter. --from and --until\n"
		"count from the start of each trace.\n"
		"Groups tell what two traces cannot: how much runs differ. Of each role and\n"
		"figure they give the medians and the change with its 90 % interval; eight runs\n"
		"of each side are enough for most.\n",
	.options = options,
	.examples = "  ebpfrec diff before.ebpfrec after.ebpfrec\n"
		    "  ebpfrec diff --workload --exit-code before.ebpfrec after.ebpfrec\n"
		    "  ebpfrec diff --until 1s --from-b 1s --until-b 2s before.ebpfrec "
		    "before.ebpfrec\n"
		    "  ebpfrec diff --workload before.[0-9]* --with after.[0-9]*\n"
		    "  ebpfrec diff --workload --format html a.[0-9]* --with b.[0-9]* > d.html\n"
		    "  ebpfrec diff --workload --flame d.html a.[0-9]* --with b.[0-9]*\n"
		    "  ebpfrec diff --changed --format csv before.ebpfrec after.ebpfrec\n",
	.bytes = sizeof(struct diff),
	.initial = &(const struct diff){ .limit = INPUT_TABLE_ROWS },
	.done = done,
	.operand = take_trace,
	.run = run,
};
