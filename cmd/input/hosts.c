/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * hosts: opens several traces, finds their common axis of time, and asks each trace in turn. A sink
 * in between puts the host before each row and shifts the row's instants.
 */
#include "cmd/input/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/render/say.h"
#include "cmd/input/timeexpr.h"

/* ---- opening ---- */

/* The manifest's "host", or the file's name; a second one of that name becomes "name#2". */
static void name_host(struct hosts *h, unsigned int i)
{
	const char *name = trace_get(h->v[i].trace, "host"), *path = h->v[i].in.path,
		   *slash = strrchr(path, '/');
	unsigned int same = 1;

	if (!name || !*name)
		name = slash && slash[1] ? slash + 1 : path;
	for (unsigned int j = 0; j < i; j++) {
		const char *other = trace_get(h->v[j].trace, "host");

		if (other && !strcmp(other, name))
			same++;
		else
			h->differ = true;
	}
	if (same > 1)
		snprintf(h->v[i].name, sizeof(h->v[i].name), "%.*s#%u", HOSTS_NAME_BYTES - 12, name,
			 same);
	else
		snprintf(h->v[i].name, sizeof(h->v[i].name), "%.*s", HOSTS_NAME_BYTES - 12, name);
}

static uint64_t clock_uncertainty(const struct trace *t)
{
	size_t cnt;
	const struct trace_clock *c = trace_clocks(t, &cnt);
	uint64_t max = 0;

	for (size_t i = 0; i < cnt; i++)
		max = c[i].uncertainty_ns > max ? c[i].uncertainty_ns : max;
	return max;
}

int hosts_open(struct hosts *h, const struct input *like, const char *const *paths,
	       unsigned int cnt)
{
	uint64_t one, most = 0, second = 0, real;
	int c = 0;

	*h = (struct hosts){ .v = calloc(cnt, sizeof(*h->v)), .origin_real_ns = UINT64_MAX };
	if (!h->v)
		return input_failed(-ENOMEM, NULL);
	for (unsigned int i = 0; !c && i < cnt; i++) {
		h->v[i].in = *like;
		h->v[i].in.path = paths[i];
		c = input_open(&h->v[i].in, true, &h->v[i].trace);
		if (c)
			break;
		h->cnt++;
		name_host(h, i);
		if (!trace_start_ns(h->v[i].trace))
			continue;	/* an empty trace */
		real = trace_real_ns(h->v[i].trace, trace_start_ns(h->v[i].trace));
		h->origin_real_ns = real < h->origin_real_ns ? real : h->origin_real_ns;
		one = clock_uncertainty(h->v[i].trace);
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
		trace_close(h->v[i].trace);
	free(h->v);
	*h = (struct hosts){ 0 };
}

/* ---- time ---- */

static uint64_t same_clock(void *ctx, uint64_t real_ns)
{
	return real_ns;
}

/* Finds a mark in any trace; if several have it, the trace named first decides. */
static int find_mark(void *ctx, const char *name, uint64_t nr, uint64_t *ret_ns)
{
	const struct hosts *h = ctx;

	for (unsigned int i = 0; i < h->cnt; i++) {
		const struct trace_mark *m = trace_mark_find(h->v[i].trace, name, nr);

		if (m) {
			*ret_ns = trace_real_ns(h->v[i].trace, m->ts_ns);
			return 0;
		}
	}
	return -ENOENT;
}

/* Resolves --from and --to to wall-clock time; what is not given stays. */
static int resolve(struct hosts *h, const struct input *in, const struct opts_command *command,
		   uint64_t *from_real, uint64_t *to_real)
{
	const struct timeexpr_base base = {
		.start_ns = *from_real, .end_ns = *to_real, .start_real_ns = *from_real,
		.mono_from_real = same_clock, .mark = find_mark, .ctx = h,
	};
	struct err e = { "" };
	int r = 0;

	if (in->from)
		r = timeexpr_resolve(in->from, &base, from_real, &e);
	if (r)
		return opts_usage_error(command, "--from: %s", err_text(&e, r));
	if (in->to)
		r = timeexpr_resolve(in->to, &base, to_real, &e);
	if (r)
		return opts_usage_error(command, "--to: %s", err_text(&e, r));
	if (*from_real >= *to_real && (in->from || in->to))
		return opts_usage_error(command, "the window is empty: --from must be before --to");
	return 0;
}

int hosts_window(struct hosts *h, const struct input *in, const struct opts_command *command,
		 uint64_t every_ns, struct input_needs needs)
{
	uint64_t from_real = h->origin_real_ns, to_real = 0, end, start, real, into;
	bool given = in->from || in->to;
	int c;

	for (unsigned int i = 0; i < h->cnt; i++) {
		end = trace_real_ns(h->v[i].trace, trace_end_ns(h->v[i].trace));
		to_real = end > to_real ? end : to_real;
	}
	c = resolve(h, in, command, &from_real, &to_real);
	for (unsigned int i = 0; !c && i < h->cnt; i++) {
		struct host *one = &h->v[i];

		start = trace_start_ns(one->trace);
		if (given) {
			real = from_real;
			one->from_ns = trace_mono_from_real_ns(one->trace, from_real);
			one->to_ns = one->from_ns + (to_real - from_real);
		} else {
			real = start ? trace_real_ns(one->trace, start) : h->origin_real_ns;
			into = every_ns ? (real - h->origin_real_ns) % every_ns : 0;
			into = into > start ? start : into;
			real -= into;
			one->from_ns = start - into;
			one->to_ns = trace_end_ns(one->trace);
		}
		one->shift_ns = (int64_t)(start - one->from_ns + (real - h->origin_real_ns));
		input_verify(one->trace, NULL, one->from_ns, one->to_ns);
		input_note_damage(&one->in, one->trace);
		input_is_complete(one->trace, needs, one->from_ns, one->to_ns, one->missing,
				  sizeof(one->missing));
	}
	return c;
}

/* ---- rows ---- */

struct joined {
	const struct hosts *hosts;
	const struct host *host;	/* the host whose rows come now */
	const struct report_view *view;
	const struct row_sink *next;
	struct value *row;	/* col_cnt */
	bool *is_instant;
	unsigned int col_cnt;	/* with the host's column */
	uint64_t limit;
	bool table, sections, has_heading, begun;
};

static void say_what(struct joined *j)
{
	const struct hosts *h = j->hosts;
	char from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX], text[160];
	char wall[TIMEEXPR_TEXT_MAX];

	if (j->has_heading)
		return;
	j->has_heading = true;
	snprintf(text, sizeof(text), "%u traces, aligned by wall clock, as read within %s; %s",
		 h->cnt, units_format_duration(from, sizeof(from), h->uncertainty_ns),
		 h->differ ? "how far the hosts' clocks were apart is not known"
			   : "all of one host");
	if (!j->table) {
		say_note("%s", text);
		for (unsigned int i = 0; i < h->cnt; i++)
			if (h->v[i].missing[0])
				say_note("%s: the window is incomplete: %s", h->v[i].in.path,
					 h->v[i].missing);
		for (unsigned int i = 0; i < h->cnt; i++)
			if (input_part_note(h->v[i].trace))
				say_note("%s: %s", h->v[i].in.path, input_part_note(h->v[i].trace));
		return;
	}
	printf("%s: %s\n%s\n", j->view->name, j->view->question, text);
	for (unsigned int i = 0; i < h->cnt; i++) {
		const struct host *one = &h->v[i];
		uint64_t start = trace_start_ns(one->trace);

		printf("%s: %s, %s .. %s s, from %s, %s%s\n", say_text(one->name),
		       say_text(one->in.path),
		       units_format_instant(from, sizeof(from),
					    (int64_t)(one->from_ns - start) + one->shift_ns),
		       units_format_instant(to, sizeof(to),
					    (int64_t)(one->to_ns - start) + one->shift_ns),
		       timeexpr_format_real(wall, trace_real_ns(one->trace, one->from_ns), 1),
		       one->missing[0] ? "INCOMPLETE: " : "complete", one->missing);
		if (input_part_note(one->trace))
			printf("%s: %s\n", say_text(one->name), input_part_note(one->trace));
	}
	if (j->view->notes && j->view->notes[0])
		render_wrap(stdout, j->view->notes, input_wrap_width());
	if (j->limit)
		printf("At most %llu row%s of each host; --limit 0 shows all.\n",
		       (unsigned long long)j->limit, j->limit == 1 ? "" : "s");
	printf("\n");
}

static int joined_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct joined *j = ctx;
	const char **all;
	int r = 0;

	say_what(j);
	if (j->begun && !j->sections)
		return col_cnt + 1 == j->col_cnt ? 0 : -EPROTO;
	free(j->row);
	free(j->is_instant);
	j->col_cnt = col_cnt + 1;
	j->row = calloc(j->col_cnt, sizeof(*j->row));
	j->is_instant = calloc(j->col_cnt, sizeof(*j->is_instant));
	all = calloc(j->col_cnt, sizeof(*all));
	if (!j->row || !j->is_instant || !all) {
		free(all);
		return -ENOMEM;
	}
	all[0] = "host";
	for (unsigned int i = 0; i < col_cnt; i++) {
		all[i + 1] = names[i];
		j->is_instant[i + 1] = render_column_kind(names[i]) == RENDER_INSTANT;
	}
	j->begun = true;
	r = j->next->begin(j->next->ctx, j->col_cnt, all);
	free(all);
	return r;
}

static int joined_row(void *ctx, const struct value *values)
{
	struct joined *j = ctx;

	j->row[0] = (struct value){ .type = VALUE_TEXT, .text = j->host->name,
				    .text_bytes = strlen(j->host->name) };
	for (unsigned int i = 1; i < j->col_cnt; i++) {
		j->row[i] = values[i - 1];
		if (j->is_instant[i] && j->row[i].type == VALUE_INT)
			j->row[i].i += j->host->shift_ns;
	}
	return j->next->row(j->next->ctx, j->row);
}

/* Several hosts make one result, which ends with the last host. */
static int joined_end(void *ctx)
{
	const struct joined *j = ctx;

	return j->sections ? j->next->end(j->next->ctx) : 0;
}

static int joined_section(void *ctx, const char *title)
{
	struct joined *j = ctx;
	char text[256];

	say_what(j);
	snprintf(text, sizeof(text), "%s: %s", j->host->name, title);
	j->sections = true;
	return j->next->section(j->next->ctx, text);
}

static int ask_one(struct joined *j, struct host *one, const struct report_request *q,
		   const struct row_sink *sink, struct err *e)
{
	struct report_request mine = *q;
	struct analysis *a = NULL;
	int r;

	r = input_analysis(&one->in, one->trace, &a);
	if (r)
		return r;	/* the error is printed */
	mine.from_ns = one->from_ns;
	mine.to_ns = one->to_ns;
	mine.limit = j->limit;
	j->host = one;
	r = analysis_report(a, &mine, sink, e);
	analysis_close(a);
	return r;
}

int hosts_report(struct hosts *h, const struct input *in, const struct opts_command *command,
		 const struct report_view *view, const struct report_request *q, uint64_t limit)
{
	struct joined j = {
		.hosts = h, .view = view, .limit = limit, .table = in->format == RENDER_TABLE
	};
	struct row_sink sink = {
		.ctx = &j, .begin = joined_begin, .row = joined_row, .end = joined_end
	};
	struct render *out = input_render(in, 0, true);
	struct err e = { "" };
	int c = 0;

	if (!out)
		return EXIT_FAILED;
	j.next = render_sink(out);
	if (j.next->section)
		sink.section = joined_section;
	for (unsigned int i = 0; !c && i < h->cnt; i++)
		c = ask_one(&j, &h->v[i], q, &sink, &e);
	if (!c && j.begun && !j.sections)
		c = j.next->end(j.next->ctx);
	render_free(out);
	free(j.row);
	free(j.is_instant);
	for (unsigned int i = 0; i < h->cnt; i++)
		input_note_damage(&h->v[i].in, h->v[i].trace);
	if (c > 0)
		return c;
	if (c == -EINVAL && !strncmp(e.text, "--", 2))
		return opts_usage_error(command, "%s", e.text);
	return c ? input_failed(c, &e) : 0;
}
