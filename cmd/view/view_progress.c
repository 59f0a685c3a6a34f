/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Charts are SVG without a style, so that the page needs no policy but that nothing is loaded. */
#include "cmd/view/view_progress.h"

#include <errno.h>
#include <stdio.h>

#include "base/units.h"

#define COLUMNS 240	/* of a chart, each a part of the trace */
#define HEIGHT	24
#define KIND_COLOR "#0072b2"
#define LOSS_COLOR "#be2828"

struct chart {
	const struct trace *t;
	uint64_t cnt;
	double columns[COLUMNS];
};

/* Adds events in [from_ns, to_ns), spread evenly. */
static void add(struct chart *c, uint64_t from_ns, uint64_t to_ns, uint64_t cnt)
{
	double start = (double)trace_start_ns(c->t), wide = (double)trace_end_ns(c->t) - start;
	double from = ((double)from_ns - start) * COLUMNS / wide;
	double to = ((double)to_ns - start) * COLUMNS / wide;

	c->cnt += cnt;
	for (int i = from > 0 ? (int)from : 0; cnt && i < COLUMNS && i < to; i++) {
		double begin = from > i ? from : i, end = to < i + 1 ? to : i + 1;

		c->columns[i] += (double)cnt * (end - begin) / (to - from);
	}
}

static void put(FILE *f, const char *name, const struct chart *c, const char *color)
{
	char text[UNITS_TEXT_MAX];
	double most = 0;

	for (int i = 0; i < COLUMNS; i++)
		most = c->columns[i] > most ? c->columns[i] : most;
	if (!c->cnt)
		return;
	fprintf(f, "<tr><td>%s</td><td align=\"right\">%s</td><td><svg width=\"%d\" height=\"%d\" "
		   "viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\"><path fill=\"%s\" d=\"",
		name, units_format_count(text, sizeof(text), c->cnt), 3 * COLUMNS, HEIGHT, COLUMNS,
		HEIGHT, color);
	for (int i = 0; i < COLUMNS && most > 0; i++)
		if (c->columns[i] > 0)
			fprintf(f, "M%d %dh1v-%.1fh-1z", i, HEIGHT, HEIGHT * c->columns[i] / most);
	fprintf(f, "\"/></svg></td></tr>\n");
}

static void put_trace(FILE *f, const struct trace *t)
{
	static const char *const names[EVENT_KIND_CNT] = {
#define X(number, kind, name, ...) [EVENT_##kind] = name,
		EVENT_KINDS(X)
#undef X
	};
	struct chart lost = { .t = t };
	size_t block_cnt, loss_cnt;
	const struct trace_block *b = trace_blocks(t, &block_cnt);
	const struct trace_loss *l = trace_losses(t, &loss_cnt);

	fprintf(f, "<table>\n");
	for (unsigned int kind = 0; kind < EVENT_KIND_CNT; kind++) {
		struct chart c = { .t = t };

		for (size_t i = 0; i < block_cnt; i++)
			add(&c, b[i].from_ns, b[i].to_ns, b[i].kind_cnt[kind]);
		put(f, names[kind], &c, KIND_COLOR);
	}
	for (size_t i = 0; i < loss_cnt; i++)
		add(&lost, l[i].from_ns, l[i].to_ns,
		    l[i].full_cnt + l[i].other_cnt + l[i].missed_cnt);
	put(f, "lost", &lost, LOSS_COLOR);
	fprintf(f, "</table>\n");
}

int view_progress_answer(const struct trace *const *traces, unsigned int cnt, uint64_t done,
			 uint64_t all, struct http_answer *ret)
{
	FILE *f = open_memstream(&ret->text, &ret->bytes);
	char text[UNITS_TEXT_MAX];
	uint64_t events = 0;
	size_t block_cnt;

	if (!f)
		return -ENOMEM;
	for (unsigned int i = 0; i < cnt; i++) {
		const struct trace_block *b = trace_blocks(traces[i], &block_cnt);

		for (size_t k = 0; k < block_cnt; k++)
			events += trace_block_events(&b[k], UINT32_MAX);
	}
	fprintf(f, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		   "<meta http-equiv=\"refresh\" content=\"1\"><title>ebpfrec</title></head>\n"
		   "<body><h1>The trace is read for the first time</h1>\n"
		   "<p>%s events, %u %%. The next look begins at once. What is there already: "
		   "events over time, by kind.</p>\n",
		units_format_count(text, sizeof(text), events),
		all ? (unsigned int)(100 * done / all) : 0);
	for (unsigned int i = 0; i < cnt; i++)
		put_trace(f, traces[i]);
	fprintf(f, "</body></html>\n");
	ret->type = "text/html; charset=utf-8";
	ret->policy = "default-src 'none'";
	return fclose(f) ? -ENOMEM : 0;
}
