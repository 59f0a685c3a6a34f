/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* record_value: see record_value.h. */
#include "cmd/record_value.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cmd/input/opts.h"
#include "probe/rings.h"

int record_value_overhead(void *budget_ppm, const char *value, struct err *e)
{
	char *end;
	double pct;

	errno = 0;
	pct = strtod(value, &end);
	end += *end == '%';
	if (end == value || *end || errno || !(pct >= 0.0001) || pct > 100)
		return err_set(e, -EINVAL,
			       "'%s' is not a percentage of the machine's CPU time, such as 2 or "
			       "0.5",
			       value);
	*(uint64_t *)budget_ppm = (uint64_t)(pct * 10000 + 0.5);
	return 0;
}

int record_value_rings(void *config, const char *value, struct err *e)
{
	struct rings_config *rings = config;
	uint64_t v = 0;
	int c = 0;

	rings->sharing = RINGS_COUNT;
	if (!strcmp(value, "cpu"))
		rings->sharing = RINGS_PER_CPU;
	else if (!strcmp(value, "cache"))
		rings->sharing = RINGS_PER_CACHE;
	else
		c = units_parse_count(value, &v, e);
	if (!c && rings->sharing == RINGS_COUNT && (v < 1 || v > 4096))
		c = err_set(e, -ERANGE, "%s is out of range; 1 to 4096, cpu or cache", value);
	rings->cnt = (unsigned int)v;
	return c;
}

int record_value_note(void *notes, const char *value, struct err *e)
{
	size_t key =
		strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	if (!key || key > 64 || value[key] != '=')
		return err_set(e, -EINVAL,
			       "'%s' is not KEY=VALUE with a key of up to 64 letters, digits, '.', "
			       "'_' and '-'",
			       value);
	return lists_add_string(notes, value, e);
}
