/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* metric_options: reads the key of --by, and prints the table of metrics for --list. */
#include "cmd/metrics/metric_options.h"

#include <stdio.h>

#include "analyze/context/keys.h"
#include "cmd/render/terminal.h"
#include "cmd/metrics/metric_table.h"
#include "cmd/render/render.h"

int metric_options_by(void *by, const char *value, struct err *e)
{
	static const char *const names[] = { "comm", "unit", "container", "user" };
	unsigned int i;

	return opts_pick(&i, "key", "--by: ", value, names, sizeof(names) / sizeof(names[0]), "",
			 "; there are comm, unit, container and user: metrics are "
			 "of processes, not of threads") ?: !keys_parse(value, by);
}

int metric_options_list(void *field, const char *value, struct err *e)
{
	static const char *const types[] = { "counter", "gauge", "gauge", "histogram" };

	for (const struct metric *m = metric_table; m->name; m++) {
		if (!m->help)
			continue;
		printf("%-37s %-9s ", m->name, types[m->type]);
		render_wrap_beside(stdout, m->help, input_terminal_width(), 48);
	}
	return OPTS_LEAVE;
}
