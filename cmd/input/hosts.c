/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * hosts: opens several traces, finds their common time axis, and queries one trace after the other.
 * A row_prefix prepends the host to each row and shifts the row's instants to the axis.
 */
#include "cmd/input/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/align.h"
#include "cmd/render/say.h"

/* align_row: gets the wall-clock time of a bin from align.c. */

void align_row(const struct trace *t, uint64_t every_ns, int64_t t_ns, struct value *row)
{
	uint64_t off_ns;

	row[0] = value_int(align_real_ns(t, every_ns, trace_start_ns(t) + (uint64_t)t_ns, &off_ns));
	row[1] = value_int(off_ns + align_clock_uncertainty(t));
}

void align_name_trace(struct row_prefix *p, const struct trace *t)
{
	static const char *const names[] = { "host", "trace_id", ALIGN_COLUMNS };
	const char *host = trace_get(t, "host"), *id = trace_uuid(t);

	p->cnt = sizeof(names) / sizeof(names[0]);
	memcpy(p->names, names, sizeof(names));
	p->before[0] = host ? value_text(host) : value_null();
	p->before[1] = *id ? value_text(id) : value_null();
}

/* ---- opening ---- */

/*
 * Sets the host's name to the manifest's "host", or to the file's name; "name#2" if it is not
 * unique.
 */
static void name_host(struct hosts *h, unsigned int i)
{
	const char *name = trace_get(h->v[i].in.trace, "host"), *path = h->v[i].in.path,
		   *slash = strrchr(path, '/');
	unsigned int same = 1;
	int n;

	if (!name || !*name)
		name = slash && slash[1] ? slash + 1 : path;
	for (unsigned int j = 0; j < i; j++) {
		const char *other = trace_get(h->v[j].in.trace, "host");

		if (other && !strcmp(other, name))
			same++;
		else
			h->differ = true;
	}
	n = snprintf(h->v[i].name, sizeof(h->v[i].name), "%.*s", HOSTS_NAME_BYTES - 12, name);
	if (same > 1)
		snprintf(h->v[i].name + n, sizeof(h->v[i].name) - (size_t)n, "#%u", same);
}

int hosts_open(struct hosts *h, const struct input *like, const char *const *paths,
	       unsigned int cnt)
{
	uint64_t one, most = 0, second = 0, real;
	int c = 0;

	*h = (struct hosts){ .v = calloc(cnt, sizeof(*h->v)), .origin_real_ns = UINT64_MAX };
	if (!h->v)
		return input_status(-ENOMEM, NULL);
	for (unsigned int i = 0; !c && i < cnt; i++) {
		h->v[i].in = *like;
		h->v[i].in.path = paths[i];
		c = input_open(&h->v[i].in, true);
		if (c)
			break;
		h->cnt++;
		name_host(h, i);
		if (!trace_start_ns(h->v[i].in.trace))
			continue;	/* the trace is empty */
		real = trace_real_ns(h->v[i].in.trace, trace_start_ns(h->v[i].in.trace));
		h->origin_real_ns = real < h->origin_real_ns ? real : h->origin_real_ns;
		one = align_clock_uncertainty(h->v[i].in.trace);
		second = one > most ? most : one > second ? one : second;
		most = one > most ? one : most;
	}
	h->uncertainty_ns = most + second;
	if (c)
		hosts_close(h);
	return c;
}

void hosts_close(struct hosts *h)
{
	for (unsigned int i = 0; i < h->cnt; i++)
		input_close(&h->v[i].in);
	free(h->v);
	*h = (struct hosts){ 0 };
}

/* ---- time ---- */

/* Sets *ret_ns to the wall-clock time of a mark in the first trace that has it. */
static int find_mark(void *ctx, const char *name, uint64_t nr, uint64_t *ret_ns)
{
	const struct hosts *h = ctx;

	for (unsigned int i = 0; i < h->cnt; i++) {
		const struct trace_mark *m = trace_mark_find(h->v[i].in.trace, name, nr);

		if (m) {
			*ret_ns = trace_real_ns(h->v[i].in.trace, m->ts_ns);
			return 0;
		}
	}
	return -ENOENT;
}

int hosts_window(struct hosts *h, const struct input *in, uint64_t every_ns, bool align,
		 struct loss_needs needs)
{
	struct timeexpr_base base = { .mark = find_mark, .ctx = h };
	uint64_t from_real, to_real = 0, end, start, real, into;
	bool given = in->from || in->to;
	int c;

	for (unsigned int i = 0; i < h->cnt; i++) {
		end = trace_real_ns(h->v[i].in.trace, trace_end_ns(h->v[i].in.trace));
		to_real = end > to_real ? end : to_real;
	}
	/* the axis begins at the beginning of a bin */
	h->origin_real_ns -= align ? h->origin_real_ns % every_ns : 0;
	base.start_ns = base.start_real_ns = from_real = h->origin_real_ns;
	base.end_ns = to_real;
	c = input_resolve(in, &base, &from_real, &to_real);
	if (!c && given && from_real >= to_real)
		c = opts_usage_error("the window is empty: --from must be before --until");
	from_real -= align ? from_real % every_ns : 0;
	for (unsigned int i = 0; !c && i < h->cnt; i++) {
		struct host *one = &h->v[i];

		start = trace_start_ns(one->in.trace);
		if (given) {
			real = from_real;
			one->from_ns = trace_mono_from_real_ns(one->in.trace, from_real);
			one->to_ns = one->from_ns + (to_real - from_real);
		} else {
			real = start ? trace_real_ns(one->in.trace, start) : h->origin_real_ns;
			into = every_ns ? (real - h->origin_real_ns) % every_ns : 0;
			into = into > start ? start : into;
			real -= into;
			one->from_ns = start - into;
			one->to_ns = trace_end_ns(one->in.trace);
		}
		one->to_ns = align ? align_end(one->from_ns, one->to_ns, every_ns) : one->to_ns;
		one->shift_ns = (int64_t)(start - one->from_ns + (real - h->origin_real_ns));
		input_verify(&one->in, false, one->from_ns, one->to_ns);
		input_is_complete(one->in.trace, needs, one->from_ns, one->to_ns, one->missing,
				  sizeof(one->missing));
	}
	return c;
}

/* ---- rows ---- */

struct joined {
	const struct hosts *hosts;
	uint64_t align_ns;		/* length of aligned bins; 0: bins are not aligned */
	bool names_trace;		/* rows begin with host and trace (bins in jsonl) */
	const struct host *host;	/* the host of the current rows */
	const struct report_view *view;
	struct row_prefix prefix;	/* prepends the host to each row */
	uint64_t limit; /* rows of a table per host; further rows are counted */
	bool table, markdown;
};

#define HOST_NOTE_CNT 3

static void find_notes(const struct joined *j, const struct trace *t,
		       const char *ret[static HOST_NOTE_CNT])
{
	ret[0] = input_part_note(t);
	ret[1] = input_waits_note(t, j->view->name);
	ret[2] = input_heap_note(t, j->view->needs.sources);
}

static void say_what(void *ctx)
{
	const struct joined *j = ctx;
	const char *notes[HOST_NOTE_CNT];
	const struct hosts *h = j->hosts;
	char text[768];

	snprintf(text, sizeof(text), "%u traces, aligned by wall clock, as read within %s; %s",
		 h->cnt, say_duration(h->uncertainty_ns),
		 h->differ ? "how far the hosts' clocks were apart is not known"
			   : "all of one host");
	if (!j->table) {
		say_note("%s", text);
		for (const struct host *one = h->v; one < h->v + h->cnt; one++)
			if (one->missing[0])
				say_note("%s: the window is incomplete: %s", one->in.path,
					 one->missing);
		for (const struct host *one = h->v; one < h->v + h->cnt; one++) {
			find_notes(j, one->in.trace, notes);
			for (unsigned int i = 0; i < HOST_NOTE_CNT; i++)
				if (notes[i])
					say_note("%s: %s", one->in.path, notes[i]);
		}
		return;
	}
	render_paragraph(stdout, text, input_terminal_width(), j->markdown);
	for (const struct host *one = h->v; one < h->v + h->cnt; one++) {
		uint64_t start = trace_start_ns(one->in.trace);

		snprintf(text, sizeof(text), "%s: %s, %s .. %s s, from %s, %s%s",
			 say_text(one->name), say_text(one->in.path),
			 say_instant((int64_t)(one->from_ns - start) + one->shift_ns),
			 say_instant((int64_t)(one->to_ns - start) + one->shift_ns),
			 say_wall(trace_real_ns(one->in.trace, one->from_ns), true),
			 one->missing[0] ? "INCOMPLETE: " : "complete", one->missing);
		render_paragraph(stdout, text, input_terminal_width(), j->markdown);
		find_notes(j, one->in.trace, notes);
		for (unsigned int i = 0; i < HOST_NOTE_CNT; i++) {
			if (!notes[i])
				continue;
			snprintf(text, sizeof(text), "%s: %s", say_text(one->name), notes[i]);
			render_paragraph(stdout, text, input_terminal_width(), j->markdown);
		}
	}
	printf(j->markdown ? "" : "\n");
}

/* Shifts the instants of a row to the common time axis, and fills its wall-clock columns. */
static void shift_instants(const struct row_prefix *p, struct value *row)
{
	const struct joined *j = p->ctx;

	if (p->cnt > 1)
		align_row(j->host->in.trace, j->align_ns, row[p->cnt].i,
			  row + p->cnt - ALIGN_COLUMN_CNT);
	for (unsigned int i = p->cnt; i < p->col_cnt; i++)
		if (p->picked[i] && row[i].type == VALUE_INT)
			row[i].i += j->host->shift_ns;
}

static int joined_section(void *ctx, const char *title)
{
	struct row_prefix *p = ctx;
	const struct joined *j = p->ctx;
	char text[256];

	snprintf(text, sizeof(text), "%s: %s", j->host->name, title);
	p->joins = false;
	return p->next->section(p->next->ctx, text);
}

/* Opens the analysis of a host, and sets *ret_mine to the request with the host's window. */
static int begin_host(struct host *one, const struct report_request *q,
		      struct report_request *ret_mine)
{
	*ret_mine = *q;
	ret_mine->from_ns = one->from_ns;
	ret_mine->to_ns = one->to_ns;
	return input_analysis(&one->in);	/* prints errors itself */
}

static void end_host(struct host *one)
{
	analysis_close(one->in.analysis);
	one->in.analysis = NULL;
}

/*
 * Appends to the missing parts of the host's window the number of requests that its answer may
 * lack.
 */
static int add_unowned(struct host *one, const struct report_request *q)
{
	struct report_request mine;
	int r = begin_host(one, q, &mine);

	if (r)
		return r;
	input_add_unowned(&one->in, &mine, one->missing, sizeof(one->missing));
	end_host(one);
	return 0;
}

static int ask_one(struct joined *j, struct host *one, const struct report_request *q,
		   struct err *e)
{
	struct report_request mine;
	int r = begin_host(one, q, &mine);

	if (r)
		return r;
	mine.limit = j->limit;
	j->host = one;
	if (j->names_trace)
		align_name_trace(&j->prefix, one->in.trace);
	j->prefix.before[0] = value_text(one->name);
	r = analysis_report(one->in.analysis, &mine, &j->prefix.sink, e);
	end_host(one);
	return r;
}

int hosts_report(struct hosts *h, const struct input *in, const struct report_view *view,
		 const struct report_request *q, uint64_t limit, bool align, const char *scope)
{
	bool table = in->format == RENDER_TABLE;
	struct joined j = {
		.hosts = h, .view = view, .limit = table ? 0 : limit, .table = table,
		.markdown = in->markdown,
		.align_ns = align ? q->every_ns : 0,
		.names_trace = in->format == RENDER_JSONL && q->every_ns,
		.prefix = { .cnt = align && !table ? 1 + ALIGN_COLUMN_CNT : 1,
			    .names = { "host", ALIGN_COLUMNS }, .joins = true,
			    .picks = column_is_instant,
			    .change = shift_instants, .ctx = &j },
	};
	const struct render_options more = { .heading = say_what, .ctx = &j, .per_first = true,
					     .scope = scope };
	struct render *out = input_render(in, limit, true, &more);
	struct err e = { "" };
	int c = 0;

	if (!out)
		return EXIT_FAILED;
	for (unsigned int i = 0; !c && i < h->cnt; i++)
		c = add_unowned(&h->v[i], q);
	j.prefix.next = render_sink(out);
	row_prefix_init(&j.prefix);
	if (j.prefix.next->section)
		j.prefix.sink.section = joined_section;
	for (unsigned int i = 0; !c && i < h->cnt; i++)
		c = ask_one(&j, &h->v[i], q, &e);
	c = row_prefix_end(&j.prefix, c);
	render_free(out);
	for (unsigned int i = 0; i < h->cnt; i++)
		input_note_damage(&h->v[i].in);
	return input_report_status(c, &e);
}
