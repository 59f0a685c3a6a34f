/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * cmd_info: `ebpfrec info`: what is in a trace, without reading its events. Everything is first put
 * into one list of (section, name, value) facts, which the formats then write out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/input/input.h"
#include "cmd/render/say.h"
#include "cmd/input/timeexpr.h"
#include "trace/trace_layout.h"

enum { OPT_COLUMNS = 256 };

static const struct opts_option options[] = {
	INPUT_OPTION_TRACE,
	{ OPT_COLUMNS, 0, "columns", NULL,
	  "bytes on disk of each column of events, and of all the rest" },
	INPUT_OPTION_FORMAT,
	{ 0 },
};

const struct opts_command info_opts = {
	.name = "info",
	.about = "Show what is in a trace.",
	.synopsis = "[-i TRACE] [--columns] [--format FORMAT]",
	.text = "Shows span, wall-clock time, events by kind, losses, chunk files, damage and the\n"
		"manifest. csv and json have the columns section, name and value, with raw "
		"values.\n",
	.options = options,
	.examples = "  ebpfrec info\n  ebpfrec info -i night.ebpfrec --format json\n  ebpfrec info "
		    "--columns\n",
};

/* Writes facts: as rows of (section, name, value), or as lines under headings. */
struct facts {
	const struct row_sink *sink; /* NULL: for people */
	const char *section; /* last heading printed */
	int error;
};

static void add_fact(struct facts *f, const char *section, const char *name, const struct value *v,
		     const char *shown)
{
	size_t n;

	if (f->error)
		return;
	if (f->sink) {
		const struct value row[] = {
			{ .type = VALUE_TEXT, .text = section, .text_bytes = strlen(section) },
			{ .type = VALUE_TEXT, .text = name, .text_bytes = strlen(name) },
			*v,
		};

		f->error = f->sink->row(f->sink->ctx, row);
		return;
	}
	if (!f->section || strcmp(f->section, section)) {
		printf("%s%s\n", f->section ? "\n" : "", section);
		f->section = section;
	}
	/* the unit is in the text shown */
	n = strlen(name);
	if (n > 3 && !strcmp(name + n - 3, "_ns"))
		n -= 3;
	printf("  %-20.*s %s\n", (int)n, say_text(name), say_text(shown));
}

static void add_text(struct facts *f, const char *section, const char *name, const char *text)
{
	add_fact(f, section, name,
		 &(struct value){ .type = VALUE_TEXT, .text = text, .text_bytes = strlen(text) },
		 text);
}

/* raw for programs, text for people */
static void add_int(struct facts *f, const char *section, const char *name, uint64_t raw,
		    const char *text)
{
	char n[UNITS_TEXT_MAX];

	add_fact(f, section, name, &(struct value){ .type = VALUE_INT, .i = (int64_t)raw },
		 text ? text : units_format_count(n, sizeof(n), raw));
}

static uint64_t number_of(const struct trace *t, const char *key)
{
	const char *v = trace_get(t, key);

	return v ? strtoull(v, NULL, 10) : 0;
}

/* What --keep let go of. */
static void add_dropped(struct facts *f, const struct trace *t)
{
	uint64_t bytes = number_of(t, "dropped.bytes"), events = number_of(t, "dropped.events");
	char n[UNITS_TEXT_MAX], m[UNITS_TEXT_MAX], limit[UNITS_TEXT_MAX], text[160];

	if (number_of(t, "keep.ns"))
		add_int(f, "trace", "keep_ns", number_of(t, "keep.ns"),
			units_format_duration(limit, sizeof(limit), number_of(t, "keep.ns")));
	if (number_of(t, "keep.bytes"))
		add_int(f, "trace", "keep_bytes", number_of(t, "keep.bytes"),
			units_format_bytes(limit, sizeof(limit), number_of(t, "keep.bytes")));
	if (!bytes)
		return;
	snprintf(text, sizeof(text), "%s and %s events before its start, removed to keep a limit",
		 units_format_bytes(n, sizeof(n), bytes), units_format_count(m, sizeof(m), events));
	add_int(f, "trace", "dropped_bytes", bytes, text);
}

/* Still being recorded, or never properly ended? */
static const char *state_of(const struct trace *t, bool for_people)
{
	if (trace_is_finished(t))
		return "finished";
	if (trace_is_live(t))
		return for_people ? "being recorded; this is what was there a moment ago"
				  : "recording";
	return for_people ? "not finished: its recorder was killed, or could not write"
			  : "not finished";
}

static void add_span(struct facts *f, const struct trace *t)
{
	uint64_t start = trace_start_ns(t), end = trace_end_ns(t);
	char wall[TIMEEXPR_TEXT_MAX], text[128], n[UNITS_TEXT_MAX];
	const char *state = state_of(t, false);

	add_text(f, "trace", "path", trace_path(t));
	add_fact(f, "trace", "state",
		 &(struct value){ .type = VALUE_TEXT, .text = state, .text_bytes = strlen(state) },
		 state_of(t, true));
	snprintf(text, sizeof(text), "%s s",
		 units_format_instant(n, sizeof(n), (int64_t)(end - start)));
	add_int(f, "trace", "duration_ns", end - start, text);
	snprintf(text, sizeof(text), "%s s of CLOCK_MONOTONIC",
		 units_format_instant(n, sizeof(n), (int64_t)start));
	add_int(f, "trace", "start_mono_ns", start, text);
	if (end > start) {
		add_text(f, "trace", "start",
			 timeexpr_format_real(wall, trace_real_ns(t, start), 1));
		add_text(f, "trace", "start_utc",
			 timeexpr_format_real(wall, trace_real_ns(t, start), 0));
		add_text(f, "trace", "end", timeexpr_format_real(wall, trace_real_ns(t, end), 1));
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
	char per_event[64];
	size_t block_cnt;
	const struct trace_block *b = trace_blocks(t, &block_cnt);

	for (size_t i = 0; i < block_cnt; i++) {
		bytes += b[i].bytes;
		/* a block without time: what a cut carried over */
		for (unsigned int k = 0; k < EVENT_KIND_CNT && b[i].from_ns < b[i].to_ns; k++)
			cnt[k] += b[i].kind_cnt[k];
	}
	for (unsigned int k = 0; k < EVENT_KIND_CNT; k++) {
		total += cnt[k];
		if (cnt[k])
			add_int(f, "events", event_kind_name(k), cnt[k], NULL);
	}
	add_int(f, "events", "all", total, NULL);
	if (total) {
		double per = (double)bytes / (double)total;

		snprintf(per_event, sizeof(per_event), "%.2f", per);
		add_fact(f, "events", "bytes_per_event",
			 &(struct value){ .type = VALUE_REAL, .r = per }, per_event);
	}
}

static void add_losses(struct facts *f, const struct trace *t)
{
	uint64_t full = 0, other = 0, missed = 0;
	size_t cnt;
	const struct trace_loss *l = trace_losses(t, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		full += l[i].full_cnt;
		other += l[i].other_cnt;
		missed += l[i].missed_cnt;
	}
	add_int(f, "lost", "ring_full", full, NULL);
	add_int(f, "lost", "reservation_failed", other, NULL);
	add_int(f, "lost", "program_skipped", missed, NULL);
}

static void add_gaps(struct facts *f, const struct trace *t)
{
	char text[256], a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX], len[UNITS_TEXT_MAX];
	uint64_t start = trace_start_ns(t);
	size_t cnt;
	const struct trace_gap *g = trace_gaps(t, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		units_format_instant(a, sizeof(a), (int64_t)(g[i].from_ns - start));
		units_format_instant(b, sizeof(b), (int64_t)(g[i].to_ns - start));
		snprintf(text, sizeof(text),
			 "%s .. %s s (%s): %s; cost %.2f %% of the CPU time, allowed %.2f %%", a, b,
			 units_format_duration(len, sizeof(len), g[i].to_ns - g[i].from_ns),
			 g[i].reason, (double)g[i].cost_ppm / 1e4, (double)g[i].budget_ppm / 1e4);
		add_text(f, "sources that were off", g[i].source, text);
	}
}

/* Blocks of a file follow each other in the list. */
static void add_files(struct facts *f, const struct trace *t)
{
	char text[96], n[UNITS_TEXT_MAX], m[UNITS_TEXT_MAX];
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
		snprintf(text, sizeof(text), "%s in %s block%s",
			 units_format_bytes(n, sizeof(n), bytes),
			 units_format_count(m, sizeof(m), cnt), cnt == 1 ? "" : "s");
		add_int(f, "files", file, bytes, text);
	}
	snprintf(text, sizeof(text), "%s in %s block%s",
		 units_format_bytes(n, sizeof(n), all_bytes),
		 units_format_count(m, sizeof(m), block_cnt), block_cnt == 1 ? "" : "s");
	add_int(f, "files", "all", all_bytes, text);
	for (size_t i = 0; i < damage_cnt; i++) {
		char name[128], what[256];

		snprintf(name, sizeof(name), "%s@%" PRIu64, d[i].file, d[i].offset);
		snprintf(what, sizeof(what), "%s bytes skipped: %s",
			 units_format_count(n, sizeof(n), d[i].bytes), d[i].reason);
		add_text(f, "damage", name, what);
	}
}

static void add_marks(struct facts *f, const struct trace *t)
{
	char name[TRACE_MARK_TEXT_MAX + 32], text[UNITS_TEXT_MAX + 2];
	size_t cnt;
	const struct trace_mark *m = trace_marks(t, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		int64_t at = (int64_t)(m[i].ts_ns - trace_start_ns(t));

		if (m[i].nr > 1)
			snprintf(name, sizeof(name), "%s#%u", m[i].text, m[i].nr);
		else
			snprintf(name, sizeof(name), "%s", m[i].text);
		units_format_instant(text, UNITS_TEXT_MAX, at);
		strcat(text, " s");
		add_int(f, "marks", name, (uint64_t)at, text);
	}
}

static void add_manifest(struct facts *f, const struct trace *t)
{
	size_t cnt;
	const struct trace_kv *kv = trace_manifest(t, &cnt);

	for (size_t i = 0; i < cnt; i++)
		add_text(f, "manifest", kv[i].key, kv[i].value);
}

static int info(const struct input *in, const struct trace *t)
{
	static const char *const names[] = { "section", "name", "value" };
	struct facts f = { 0 };
	struct render *r = NULL;

	if (in->format != RENDER_TABLE) {
		r = input_render(in, 0, false);
		if (!r)
			return EXIT_FAILED;
		f.sink = render_sink(r);
		f.error = f.sink->begin(f.sink->ctx, 3, names);
	}
	add_span(&f, t);
	add_events(&f, t);
	add_losses(&f, t);
	add_gaps(&f, t);
	add_tasks(&f, t);
	add_files(&f, t);
	add_marks(&f, t);
	add_manifest(&f, t);
	if (f.sink && !f.error)
		f.error = f.sink->end(f.sink->ctx);
	render_free(r);
	return f.error ? input_failed(f.error, NULL) : 0;
}

/* ---- --columns ---- */

static struct value text_value(const char *text)
{
	return (struct value){ .type = VALUE_TEXT, .text = text, .text_bytes = strlen(text) };
}

static struct value int_value(uint64_t i)
{
	return (struct value){ .type = VALUE_INT, .i = (int64_t)i };
}

static struct value ratio_value(double a, double b)
{
	return b > 0 ? (struct value){ .type = VALUE_REAL, .r = a / b }
		     : (struct value){ .type = VALUE_NULL };
}

static int column_row(const struct row_sink *sink, const char *part, const struct trace_layout *l,
		      uint64_t event_cnt, uint64_t all_bytes)
{
	const struct value row[] = {
		text_value(part),
		text_value(l->kind_name),
		text_value(l->name),
		text_value(l->codec),
		int_value(l->row_cnt),
		int_value(l->raw_bytes),
		int_value(l->stored_bytes),
		ratio_value((double)l->stored_bytes, (double)event_cnt),
		ratio_value(100.0 * (double)l->stored_bytes, (double)all_bytes),
	};

	return sink->row(sink->ctx, row);
}

/* An event column's bytes per event are those of its kind; of anything else, of all events. */
static int columns(const struct input *in, struct trace *t)
{
	static const char *const names[] = { "part",	  "kind",	  "column",
					     "codec",	  "rows",	  "raw_bytes",
					     "stored_bytes", "bytes_per_event", "share_pct" };
	struct trace_layout *l, all = { .kind_name = "", .name = "", .codec = "" };
	struct render *r = input_render(in, 0, true);
	const struct trace_block *b;
	const struct row_sink *sink;
	struct err e = { "" };
	size_t cnt, blocks, i;
	int c;

	if (!r)
		return EXIT_FAILED;
	c = trace_layout_read(t, &l, &cnt, &e);
	if (c) {
		render_free(r);
		return input_failed(c, &e);
	}
	b = trace_blocks(t, &blocks);
	for (i = 0; i < blocks; i++)
		for (unsigned int k = 0; k < EVENT_KIND_CNT; k++)
			all.row_cnt += b[i].kind_cnt[k];
	for (i = 0; i < cnt; i++) {
		all.raw_bytes += l[i].raw_bytes;
		all.stored_bytes += l[i].stored_bytes;
	}
	sink = render_sink(r);
	c = sink->begin(sink->ctx, sizeof(names) / sizeof(names[0]), names);
	for (i = 0; i < cnt && !c; i++)
		c = column_row(sink,
			       l[i].is_event			       ? "events"
			       : l[i].part < TRACE_LAYOUT_FILE_HEADERS ? "state"
								       : "files",
			       &l[i], l[i].is_event ? l[i].row_cnt : all.row_cnt, all.stored_bytes);
	/* the sum is for people; programs add up themselves */
	if (!c && in->format == RENDER_TABLE)
		c = column_row(sink, "all", &all, all.row_cnt, all.stored_bytes);
	if (!c)
		c = sink->end(sink->ctx);
	free(l);
	render_free(r);
	return c ? input_failed(c, NULL) : 0;
}

int cmd_info(int argc, char **argv)
{
	bool by_column = false;
	struct input in = { .format = RENDER_TABLE };
	struct trace *t = NULL;
	const char *value;
	struct opts o;
	int id, c;

	opts_init(&o, &info_opts, argc, argv);
	while ((id = opts_next(&o, &value)) != OPTS_END) {
		if (id == OPTS_HELP)
			return 0;
		if (id == OPTS_BAD)
			return EXIT_USAGE;
		if (id == OPTS_OPERAND)
			return opts_usage_error(
				&info_opts, "unexpected argument '%s'; -i names the trace", value);
		if (id == OPT_COLUMNS) {
			by_column = true;
			continue;
		}
		c = input_take(&in, &info_opts, id, value);
		if (c)
			return c;
	}
	c = input_open(&in, true, &t);
	if (c)
		return c;
	c = by_column ? columns(&in, t) : info(&in, t);
	trace_close(t);
	return c;
}
