/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "cmd/render/progress.h"

#include <stdio.h>

#include "base/units.h"

#define BAR_CELLS 20

void progress_show(struct progress *p, const char *what, uint64_t done, uint64_t all,
		   const char *unit)
{
	char n[UNITS_TEXT_MAX], m[UNITS_TEXT_MAX], line[160], bar[BAR_CELLS + 1] = "";
	unsigned int i;
	int len;

	if (all && done > all)
		all = done; /* it was an estimate */
	for (i = 0; i < BAR_CELLS; i++)
		bar[i] = all && i < (unsigned int)((double)done / (double)all * BAR_CELLS) ? '#'
											   : '.';
	units_format_count(n, sizeof(n), done);
	if (all)
		len = snprintf(line, sizeof(line), "%s: [%s] %s of %s %s", what, bar, n,
			       units_format_count(m, sizeof(m), all), unit);
	else
		len = snprintf(line, sizeof(line), "%s: %s %s", what, n, unit);
	if (len >= (int)sizeof(line))
		len = (int)sizeof(line) - 1;
	fprintf(stderr, "\r%s%*s", line, p->cells > (size_t)len ? (int)p->cells - len : 0, "");
	fflush(stderr);
	p->cells = (size_t)len;
}

void progress_erase(struct progress *p)
{
	if (p->cells)
		fprintf(stderr, "\r%*s\r", (int)p->cells, "");
	p->cells = 0;
}
