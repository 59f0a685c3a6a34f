/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * align: converts instants to the wall clock with the trace's clock readings. Because the clocks
 * drift, an edge of a window that is close to a bin's edge is moved to the bin's edge.
 */
#include "analyze/engine/align.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

uint64_t align_clock_uncertainty(const struct trace *t)
{
	size_t cnt;
	const struct trace_clock *c = trace_clocks(t, &cnt);
	uint64_t max = 0;

	for (size_t i = 0; i < cnt; i++)
		max = c[i].uncertainty_ns > max ? c[i].uncertainty_ns : max;
	return max;
}

uint64_t align_end(uint64_t from_ns, uint64_t to_ns, uint64_t every_ns)
{
	uint64_t rest = (to_ns - from_ns) % every_ns;

	return rest ? to_ns + (every_ns - rest) : to_ns;
}

int align_window(const struct trace *t, uint64_t every_ns, uint64_t *from_ns, uint64_t *to_ns,
		 struct err *e)
{
	uint64_t slack = every_ns / 8 < ALIGN_SLACK_NS ? every_ns / 8 : ALIGN_SLACK_NS;
	uint64_t into = trace_real_ns(t, *from_ns) % every_ns, rest;

	if (*from_ns > trace_start_ns(t) && every_ns - into <= slack) {
		*from_ns += every_ns - into;
		into = 0;
	}
	if (into > *from_ns)
		return err_set(e, -ERANGE,
			       "the first bin of UTC would begin before the machine was up; "
			       "choose a shorter --every");
	*from_ns -= into;
	rest = *to_ns > *from_ns ? (*to_ns - *from_ns) % every_ns : 0;
	if (*to_ns < trace_end_ns(t) && rest <= slack && *to_ns - rest > *from_ns)
		*to_ns -= rest;
	*to_ns = align_end(*from_ns, *to_ns, every_ns);
	return 0;
}

uint64_t align_real_ns(const struct trace *t, uint64_t every_ns, uint64_t mono_ns,
		       uint64_t *ret_off_ns)
{
	uint64_t real_ns = trace_real_ns(t, mono_ns);
	uint64_t into = every_ns ? real_ns % every_ns : 0;
	uint64_t off_ns = into > every_ns / 2 ? every_ns - into : into;
	struct trace_clock_step step;

	*ret_off_ns = off_ns;
	if (trace_clock_step_find(t, mono_ns, mono_ns + 1, &step))
		*ret_off_ns += (uint64_t)llabs((int64_t)step.suspended_ns + step.set_ns);
	return into > every_ns / 2 ? real_ns + off_ns : real_ns - into;
}
