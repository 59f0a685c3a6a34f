/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* phases: a row_prefix puts the interval before each row. */
#include "cmd/input/phases.h"

#include <stdio.h>

#include "cmd/render/render.h"
#include "cmd/render/row_prefix.h"

void phases_mark_name(char *buf, const struct trace_mark *m)
{
	if (m->nr > 1)
		snprintf(buf, PHASES_NAME_MAX, "%s#%u", m->text, m->nr);
	else
		snprintf(buf, PHASES_NAME_MAX, "%s", m->text);
}

/* [from, to) begins with mark m; NULL: with the window. */
static int run_interval(struct row_prefix *p, struct analysis *a, const struct trace *t,
			const struct report_request *q, const struct trace_mark *m,
			uint64_t from_ns, uint64_t to_ns, struct err *e)
{
	char name[PHASES_NAME_MAX] = "[start]";
	struct report_request mine = *q;

	if (to_ns <= from_ns)
		return 0;
	if (m)
		phases_mark_name(name, m);
	p->before[0] = value_text(name);
	p->before[1] = value_int(from_ns - trace_start_ns(t));
	p->before[2] = value_int(to_ns - from_ns);
	mine.from_ns = from_ns;
	mine.to_ns = to_ns;
	return analysis_report(a, &mine, &p->sink, e);
}

int phases_report(struct analysis *a, const struct trace *t, const struct report_request *q,
		  const struct row_sink *sink, struct err *e)
{
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
