/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* phases: the sink between the reports and the renderer puts the interval before each row. */
#include "cmd/input/phases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MORE_COLS 3

struct phases {
	const struct row_sink *next;
	struct value before[MORE_COLS];	/* of the interval */
	struct value *row;	/* these, then the view's; NULL: not begun */
	unsigned int col_cnt;	/* of the view */
	char name[TRACE_MARK_TEXT_MAX + 16];
};

static int phase_begin(void *ctx, unsigned int col_cnt, const char *const *names)
{
	struct phases *p = ctx;
	const char **all;
	int r;

	if (p->row)
		return 0;
	p->col_cnt = col_cnt;
	p->row = calloc(col_cnt + MORE_COLS, sizeof(*p->row));
	all = calloc(col_cnt + MORE_COLS, sizeof(*all));
	if (!p->row || !all) {
		free(all);
		return -ENOMEM;
	}
	all[0] = "phase";
	all[1] = "t_ns";
	all[2] = "dur_ns";
	memcpy(all + MORE_COLS, names, col_cnt * sizeof(*all));
	r = p->next->begin(p->next->ctx, col_cnt + MORE_COLS, all);
	free(all);
	return r;
}

static int phase_row(void *ctx, const struct value *values)
{
	struct phases *p = ctx;

	memcpy(p->row, p->before, sizeof(p->before));
	memcpy(p->row + MORE_COLS, values, p->col_cnt * sizeof(*values));
	return p->next->row(p->next->ctx, p->row);
}

static int phase_end(void *ctx)
{
	return 0;
}

static struct value int_value(int64_t i)
{
	return (struct value){ .type = VALUE_INT, .i = i };
}

/* [from, to) begins with mark m; NULL: with the window. */
static int run_interval(struct phases *p, struct analysis *a, const struct trace *t,
			const struct report_request *q, const struct trace_mark *m,
			uint64_t from_ns, uint64_t to_ns, struct err *e)
{
	const struct row_sink sink = { .ctx = p, .begin = phase_begin, .row = phase_row,
				       .end = phase_end };
	struct report_request mine = *q;

	if (to_ns <= from_ns)
		return 0;
	if (!m)
		strcpy(p->name, "[start]");
	else if (m->nr > 1)
		snprintf(p->name, sizeof(p->name), "%s#%u", m->text, m->nr);
	else
		snprintf(p->name, sizeof(p->name), "%s", m->text);
	p->before[0] = (struct value){ .type = VALUE_TEXT, .text = p->name,
				       .text_bytes = strlen(p->name) };
	p->before[1] = int_value((int64_t)(from_ns - trace_start_ns(t)));
	p->before[2] = int_value((int64_t)(to_ns - from_ns));
	mine.from_ns = from_ns;
	mine.to_ns = to_ns;
	return analysis_report(a, &mine, &sink, e);
}

int phases_report(struct analysis *a, const struct trace *t, const struct report_request *q,
		  const struct row_sink *sink, struct err *e)
{
	struct phases p = { .next = sink };
	uint64_t from_ns = q->from_ns;
	const struct trace_mark *of = NULL, *m;
	size_t cnt, i;
	int r = 0;

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
	if (r == 0 && p.row)
		r = sink->end(sink->ctx);
	free(p.row);
	return r;
}
