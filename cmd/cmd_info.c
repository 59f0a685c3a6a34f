/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_info: `ebpfrec info` shows the content of a trace without reading its events. All formats
 * print the same facts: section, name and value.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "trace/trace.h"

struct info {
	struct input in;
	bool columns, tree;
};

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE(struct info, in),
	{ 0, "columns", NULL, "bytes on disk of each column of events, and of all the rest",
	  OPTS_FLAG, offsetof(struct info, columns) },
	{ 0, "tree", NULL, "the processes, each below its parent", OPTS_FLAG,
	  offsetof(struct info, tree) },
	INPUT_OPTION_FORMAT(struct info, in),
	{ 0 },
};

#define NAME_WIDTH 20

/*
 * Prints a text, wrapped at the terminal's width; further lines begin at the given column. A line
 * ends after a space or a comma, if possible, and no character is dropped.
 */
static void print_beside(const char *text, size_t column)
{
	size_t width = input_terminal_width(), room = width > 2 * column ? width - column : 0;
	size_t len = strlen(text), end;

	for (; room && len > room; text += end, len -= end) {
		for (end = room; end && text[end - 1] != ' ' && text[end - 1] != ','; end--)
			;
		for (end = end ? end : room; end > 1 && (text[end] & 0xc0) == 0x80; end--)
			;
		printf("%.*s\n%*s", (int)end, text, (int)column, "");
	}
	printf("%s\n", text);
}

/* Writes facts: as rows of (section, name, value), or as lines under headings. */
struct facts {
	struct render *render; /* NULL: print text for people */
	const char *section; /* section of the last printed heading */
};

static void add_fact(struct facts *f, const char *section, const char *name, struct value v,
		     const char *shown)
{
	size_t n;

	if (f->render) {
		render_put(f->render, (struct value[]){ value_text(section), value_text(name), v });
		return;
	}
	if (!f->section || strcmp(f->section, section)) {
		printf("%s%s\n", f->section ? "\n" : "", section);
		f->section = section;
	}
	/* the text contains the unit, so the name is printed without it */
	n = strlen(name);
	if (n > 3 && !strcmp(name + n - 3, "_ns"))
		n -= 3;
	printf("  %-*.*s ", NAME_WIDTH, (int)n, say_text(name));
	print_beside(say_text(shown), n < NAME_WIDTH ? NAME_WIDTH + 3 : n + 3);
}

static void add_text(struct facts *f, const char *section, const char *name, const char *text)
{
	add_fact(f, section, name, value_text(text), text);
}

/* Adds a number: raw for programs, text (NULL: the number) for people. */
static void add_int(struct facts *f, const char *section, const char *name, uint64_t raw,
		    const char *text)
{
	add_fact(f, section, name, value_int(raw), text ? text : say_count(raw));
}

/* Adds the limits of --keep, and the amount of data that they dropped. */
static void add_dropped(struct facts *f, const struct trace *t)
{
	uint64_t bytes = trace_get_number(t, "dropped.bytes");
	uint64_t events = trace_get_number(t, "dropped.events");
	uint64_t keep_ns = trace_get_number(t, "keep.ns");
	uint64_t keep_bytes = trace_get_number(t, "keep.bytes");

	if (keep_ns)
		add_int(f, "trace", "keep_ns", keep_ns, say_duration(keep_ns));
	if (keep_bytes)
		add_int(f, "trace", "keep_bytes", keep_bytes, say_bytes(keep_bytes));
	if (bytes)
		add_int(f, "trace", "dropped_bytes", bytes,
			say_format("%s and %s events before its start, removed to keep a limit",
				   say_bytes(bytes), say_count(events)));
}

/* Returns the state of the trace as text, such as "finished", for people or for programs. */
static const char *state_of(const struct trace *t, bool for_people)
{
	if (trace_is_finished(t))
		return "finished";
	if (trace_get(t, "manifest.lost"))
		return for_people ? "not known, since the manifest is lost" : "not known";
	if (trace_is_live(t))
		return for_people ? "being recorded; this is what was there a moment ago"
				  : "recording";
	return for_people ? "not finished: its recorder was killed, or could not write"
			  : "not finished";
}

static void add_span(struct facts *f, const struct trace *t)
{
	uint64_t start = trace_start_ns(t), end = trace_end_ns(t), at_ns = 0;
	struct trace_clock_step step;

	add_text(f, "trace", "path", trace_path(t));
	add_fact(f, "trace", "state", value_text(state_of(t, false)), state_of(t, true));
	add_int(f, "trace", "duration_ns", end - start,
		say_format("%s s", say_instant((int64_t)(end - start))));
	add_int(f, "trace", "start_mono_ns", start,
		say_format("%s s of CLOCK_MONOTONIC", say_instant((int64_t)start)));
	if (end > start) {
		add_text(f, "trace", "start", say_wall(trace_real_ns(t, start), true));
		add_text(f, "trace", "start_utc", say_wall(trace_real_ns(t, start), false));
		add_text(f, "trace", "end", say_wall(trace_real_ns(t, end), true));
	}
	while (trace_clock_step_find(t, at_ns, UINT64_MAX, &step)) {
		add_text(f, "trace", "clock_step", input_clock_step(t, &step));
		at_ns = step.to_ns;
	}
	add_int(f, "trace", "cpus", trace_cpu_cnt(t), NULL);
	add_dropped(f, t);
}

static void add_tasks(struct facts *f, const struct trace *t)
{
	size_t process_cnt, thread_cnt, at_start = 0;
	const struct trace_process *p = trace_processes(t, &process_cnt);

	trace_threads(t, &thread_cnt);
	for (size_t i = 0; i < process_cnt; i++)
		at_start += !!(p[i].flags & TRACE_TASK_AT_START);
	add_int(f, "tasks", "processes", process_cnt, NULL);
	add_int(f, "tasks", "processes_at_start", at_start, NULL);
	add_int(f, "tasks", "threads", thread_cnt, NULL);
}

static void add_events(struct facts *f, const struct trace *t)
{
	uint64_t cnt[EVENT_KIND_CNT] = { 0 }, bytes = 0, total = 0;
	uint64_t task_cnt = trace_task_event_cnt(t, 0, UINT64_MAX);
	size_t block_cnt;
	const struct trace_block *b = trace_blocks(t, &block_cnt);

	for (size_t i = 0; i < block_cnt; i++) {
		bytes += b[i].bytes;
		/* skip a block without duration: it holds only the state at a cut's beginning */
		for (unsigned int k = 0; k < EVENT_KIND_CNT && b[i].from_ns < b[i].to_ns; k++)
			cnt[k] += b[i].kind_cnt[k];
	}
	for (unsigned int k = 0; k < EVENT_KIND_CNT; k++) {
		total += cnt[k];
		if (cnt[k])
			add_int(f, "events", event_kind_name(k), cnt[k], NULL);
	}
	if (task_cnt)
		add_int(f, "events", "task", task_cnt, NULL);
	total += task_cnt;
	add_int(f, "events", "all", total, NULL);
	if (total)
		add_fact(f, "events", "bytes_per_event", value_real((double)bytes / (double)total),
			 say_format("%.2f", (double)bytes / (double)total));
}

/*
 * Adds the losses that end within the trace. As in reports, a loss counts at its end: if the trace
 * is one of several cuts, a loss that ends after it counts in the next cut.
 */
static void add_losses(struct facts *f, const struct trace *t)
{
	uint64_t full = 0, other = 0, missed = 0, inferred = 0, end_ns = trace_end_ns(t);
	size_t cnt;
	const struct trace_loss *l = trace_losses(t, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		if (l[i].to_ns > end_ns)
			continue;
		full += l[i].full_cnt;
		other += l[i].other_cnt;
		missed += l[i].missed_cnt - l[i].inferred_cnt;
		inferred += l[i].inferred_cnt;
	}
	add_int(f, "lost", "ring_full", full, NULL);
	add_int(f, "lost", "reservation_failed", other, NULL);
	add_int(f, "lost", "program_skipped", missed, NULL);
	add_int(f, "lost", "inferred", inferred, NULL);
	if (trace_get(t, "heap.own_malloc"))
		add_int(f, "lost", "heaps", trace_get_number(t, "heap.own_malloc"),
			say_format("of %s processes, which had a malloc built in",
				   trace_get(t, "heap.own_malloc")));
	if (trace_get(t, "heap.without"))
		add_int(f, "lost", "heaps_unseen", trace_get_number(t, "heap.without"),
			say_format("of %s programs: static, setuid, or without LD_PRELOAD",
				   trace_get(t, "heap.without")));
}

static void add_gaps(struct facts *f, const struct trace *t)
{
	uint64_t start = trace_start_ns(t);
	size_t cnt;
	const struct trace_gap *g = trace_gaps(t, &cnt);

	for (size_t i = 0; i < cnt; i++)
		add_text(f, "sources that were off", g[i].source,
			 say_format("%s .. %s s (%s): %s; cost %.2f %% of the CPU time, allowed "
				    "%.2f %%",
				    say_instant((int64_t)(g[i].from_ns - start)),
				    say_instant((int64_t)(g[i].to_ns - start)),
				    say_duration(g[i].to_ns - g[i].from_ns), g[i].reason,
				    (double)g[i].cost_ppm / 1e4, (double)g[i].budget_ppm / 1e4));
}

static void add_file(struct facts *f, const char *name, uint64_t bytes, size_t block_cnt)
{
	add_int(f, "files", name, bytes,
		say_format("%s in %s", say_bytes(bytes), say_counted(block_cnt, "block")));
}

/* Adds the files of the trace. The list of blocks is ordered by file. */
static void add_files(struct facts *f, const struct trace *t)
{
	size_t block_cnt, damage_cnt;
	const struct trace_block *b = trace_blocks(t, &block_cnt);
	const struct trace_damage *d = trace_damages(t, &damage_cnt);
	uint64_t all_bytes = 0;

	for (size_t i = 0; i < block_cnt;) {
		const char *file = b[i].file;
		uint64_t bytes = 0;
		size_t cnt = 0;

		for (; i < block_cnt && !strcmp(b[i].file, file); i++, cnt++)
			bytes += b[i].bytes;
		all_bytes += bytes;
		add_file(f, file, bytes, cnt);
	}
	add_file(f, "all", all_bytes, block_cnt);
	for (size_t i = 0; i < damage_cnt; i++)
		add_text(f, "damage", say_format("%s@%" PRIu64, d[i].file, d[i].offset),
			 say_format("%s bytes skipped: %s", say_count(d[i].bytes), d[i].reason));
}

static void add_marks(struct facts *f, const struct trace *t)
{
	char name[INPUT_MARK_NAME_MAX];
	size_t cnt;
	const struct trace_mark *m = trace_marks(t, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		int64_t at = (int64_t)(m[i].ts_ns - trace_start_ns(t));

		input_mark_name(name, &m[i]);
		add_int(f, "marks", name, (uint64_t)at, say_format("%s s", say_instant(at)));
	}
}

static void add_manifest(struct facts *f, const struct trace *t)
{
	size_t cnt;
	const struct manifest_entry *m = trace_manifest(t, &cnt);

	for (size_t i = 0; i < cnt; i++)
		add_text(f, "manifest", m[i].key, m[i].value);
}

static int facts(const struct input *in)
{
	static const char *const names[] = { "section", "name", "value" };
	const struct trace *t = in->trace;
	struct facts f = { 0 };

	if (in->format != RENDER_TABLE) {
		f.render = input_render(in, 0, false, NULL);
		if (!f.render)
			return EXIT_FAILED;
		render_begin(f.render, 3, names);
	}
	add_span(&f, t);
	add_events(&f, t);
	add_losses(&f, t);
	add_gaps(&f, t);
	add_tasks(&f, t);
	add_files(&f, t);
	add_marks(&f, t);
	add_manifest(&f, t);
	return f.render ? input_render_end(f.render, 0, NULL) : 0;
}

/* ---- --columns ---- */

static struct value ratio(double a, double b)
{
	return b > 0 ? value_real(a / b) : value_null();
}

static void put_column(struct render *r, const char *part, const struct trace_layout *l,
		       uint64_t event_cnt, uint64_t all_bytes)
{
	render_put(r, (struct value[]){
			      value_text(part),
			      value_text(l->kind_name),
			      value_text(l->name),
			      value_text(l->codec),
			      value_int(l->row_cnt),
			      value_int(l->raw_bytes),
			      value_int(l->stored_bytes),
			      ratio((double)l->stored_bytes, (double)event_cnt),
			      ratio(100.0 * (double)l->stored_bytes, (double)all_bytes),
		      });
}

/*
 * Prints the columns. bytes_per_event divides by the number of events of the column's kind; for
 * parts that are not event columns, by the number of all events.
 */
static int columns(const struct input *in)
{
	static const char *const names[] = {
		"part",	     "kind",	     "column",		"codec",    "rows",
		"raw_bytes", "stored_bytes", "bytes_per_event", "share_pct"
	};
	struct trace_layout *l, all = { .kind_name = "", .name = "", .codec = "" };
	struct render *r = input_render(in, 0, true, NULL);
	const struct trace_block *b;
	struct err e = { "" };
	size_t cnt, blocks, i;
	int c;

	if (!r)
		return EXIT_FAILED;
	c = trace_layout_read(in->trace, &l, &cnt, &e);
	if (c)
		return input_render_end(r, c, &e);
	b = trace_blocks(in->trace, &blocks);
	for (i = 0; i < blocks; i++)
		all.row_cnt += trace_block_events(&b[i], UINT32_MAX);
	for (i = 0; i < cnt; i++) {
		all.raw_bytes += l[i].raw_bytes;
		all.stored_bytes += l[i].stored_bytes;
	}
	render_begin(r, sizeof(names) / sizeof(names[0]), names);
	for (i = 0; i < cnt; i++)
		put_column(r,
			   l[i].is_event			   ? "events"
			   : l[i].part < TRACE_LAYOUT_FILE_HEADERS ? "state"
								   : "files",
			   &l[i], l[i].is_event ? l[i].row_cnt : all.row_cnt, all.stored_bytes);
	/* only a table, which is for people, has a row with the sum */
	if (in->format == RENDER_TABLE)
		put_column(r, "all", &all, all.row_cnt, all.stored_bytes);
	free(l);
	return input_render_end(r, 0, NULL);
}

/* ---- --tree ---- */

/*
 * Children follow their parent, in order of upid. Processes whose parents form a cycle, which a
 * damaged trace may contain, have no root and are omitted.
 */
#define TREE_SQL                                                                                   \
	"WITH RECURSIVE p AS MATERIALIZED (SELECT * FROM processes WHERE pid IS NOT NULL), "       \
	"tree (upid, depth) AS (SELECT upid, 0 FROM p "                                            \
	"WHERE parent_upid NOT IN (SELECT upid FROM p) "                                           \
	"UNION ALL SELECT p.upid, depth + 1 FROM tree JOIN p ON p.parent_upid = tree.upid "        \
	"ORDER BY 2 DESC, 1) "
/* row_number() keeps the order of the recursion, which is the order of the tree. */
#define TREE_REST                                                                                  \
	"user, container, start_ns, end_ns, cmdline FROM (SELECT upid, depth, row_number() "       \
	"OVER () AS nth FROM tree) JOIN p USING (upid) ORDER BY nth"

static int tree(struct input *in)
{
	const char *sql = in->format == RENDER_TABLE ?
				  TREE_SQL "SELECT pid, printf('%*s%s', depth, '', comm) AS "
					   "comm, " TREE_REST :
				  TREE_SQL "SELECT upid, pid, ppid, depth, comm, " TREE_REST;
	struct render *r;
	struct err e = { "" };
	int c = input_open_analysis(in);

	r = c ? NULL : input_render(in, 0, true, NULL);
	if (!r)
		return c ?: EXIT_FAILED;
	c = analysis_sql(in->analysis, sql, render_sink(r), &e);
	render_free(r);
	return input_status(c, &e);
}

static int run(void *job)
{
	struct info *i = job;
	int c = input_open(&i->in, true);

	if (c)
		return c;
	if (i->tree)
		return tree(&i->in);
	return i->columns ? columns(&i->in) : facts(&i->in);
}

const struct opts_command info_opts = {
	.name = "info",
	.about = "Show the properties of a trace.",
	.synopsis = "[-i TRACE] [--columns | --tree] [--format FORMAT]",
	.text = "Shows span, wall-clock time, events by kind, losses, chunk files, damage and the\n"
		"manifest. csv and json have the columns section, name and value, with raw "
		"values.\n",
	.options = options,
	.examples = "  ebpfrec info\n  ebpfrec info -i night.ebpfrec --format json\n  ebpfrec info "
		    "--columns\n",
	.bytes = sizeof(struct info),
	.done = input_close,
	.operand_hint = "-i names the trace",
	.run = run,
};
