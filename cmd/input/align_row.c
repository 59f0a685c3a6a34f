/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* align_row: fills the columns in front with what align.c finds for the bin's beginning. */
#include "cmd/input/align_row.h"

#include <string.h>

#include "analyze/engine/align.h"

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
