/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* event: tables made from the declarations in schema/events/. */
#include "format/event.h"

#include <stddef.h>

/* unused: some lists of names belong to no column */
#define X(name) \
	static const char *const shown_##name[] __attribute__((unused)) = EVENT_SHOWN_##name;
EVENT_ENUMS(X)
#undef X
#define shown_NUMBER ((const char *const *)NULL)
#define shown_cnt_NUMBER 0

enum {
#define X(name) shown_cnt_##name = sizeof(shown_##name) / sizeof(shown_##name[0]),
	EVENT_ENUMS(X)
#undef X
};

static const struct event_column columns[EVENT_KIND_CNT][EVENT_VALUES] = {
#define X(of, at, sql_name, coding, xref, numbers, type, later, null, refers)                      \
	[EVENT_##of][at] = { EVENT_##of, at, EVENT_CODEC_##coding, EVENT_##xref, later,            \
			     EVENT_REFERS_##refers, null, shown_cnt_##numbers, shown_##numbers,    \
			     sql_name },
	EVENT_COLUMNS(X)
#undef X
};

static const char *const kind_names[EVENT_KIND_CNT] = {
#define X(id, kind, name, table, flag, bit, about) [id] = name,
	EVENT_KINDS(X)
#undef X
};

const struct event_column *event_column(unsigned int kind, unsigned int index)
{
	return column_codec(kind, index) ? &columns[kind][index] : NULL;
}

unsigned int column_codec(unsigned int kind, unsigned int index)
{
	return kind < EVENT_KIND_CNT && index < EVENT_VALUES ? columns[kind][index].codec : 0;
}

unsigned int column_tuple_cnt(unsigned int kind)
{
	unsigned int i, n = 0;

	for (i = 0; i < EVENT_VALUES; i++)
		n += column_codec(kind, i) == EVENT_CODEC_TUPLE;
	return n;
}

unsigned int column_xref_kind(unsigned int kind)
{
	return kind < EVENT_KIND_CNT ? columns[kind][0].xref_kind : 0;
}

const char *event_shown(const struct event_column *c, uint64_t value)
{
	if (value < c->shown_cnt && c->shown[value])
		return c->shown[value];
	return c->is_null && !value ? NULL : "?";
}

unsigned int event_kind_values(unsigned int kind)
{
	unsigned int i = 0;

	while (i < EVENT_VALUES && column_codec(kind, i))
		i++;
	return i;
}

const char *event_kind_name(unsigned int kind)
{
	return kind < EVENT_KIND_CNT && kind_names[kind] ? kind_names[kind] : "?";
}

const struct event_column *event_owner_column(unsigned int kind)
{
	/* column + 1; 0: none */
	static const uint8_t after[EVENT_KIND_CNT] = {
#define X(of, index) [EVENT_##of] = (index) + 1,
		EVENT_OWNED(X)
#undef X
	};

	return kind < EVENT_KIND_CNT && after[kind] ? event_column(kind, after[kind] - 1u) : NULL;
}

/*
 * hook: a table of the declared hooks, and a ratio estimate of a hook's cost. The estimate adds
 * MEAN_WEIGHT events of mean cost, so that a few slow runs do not dominate an interval.
 */

#define MEAN_WEIGHT 16

const struct hook_name *hook_name_find(unsigned int hook)
{
	static const struct hook_name names[] = {
#define X(id, name_, class_, source_) [id] = { #name_, source_, EVENT_CLASS_##class_ },
		EVENT_HOOKS(X)
#undef X
	};

	return hook < sizeof(names) / sizeof(names[0]) && names[hook].name ? &names[hook] : NULL;
}

/* Converts with limits: a damaged trace may have any value, and overflow is undefined in C. */
static uint64_t whole_ns(double ns)
{
	return ns >= 0x1p63 ? INT64_MAX : (uint64_t)ns;
}

uint64_t hook_cost_ns(const struct trace_hook_stat *row, const struct hook_mean *mean)
{
	double ns = (double)row->run_time_ns, cnt = (double)row->sampled_cnt;
	double length_ns = (double)(row->to_ns - row->from_ns);

	if (!row->sampled_cnt && row->run_time_ns && row->sampled_ns)
		return whole_ns(ns * length_ns / (double)row->sampled_ns);
	if (!row->sampled_ns && hook_mean_filters(mean) && mean->sampled_ns)
		return whole_ns((double)mean->run_time_ns * length_ns / (double)mean->sampled_ns);
	if (mean->sampled_cnt) {
		ns += MEAN_WEIGHT * (double)mean->run_time_ns / (double)mean->sampled_cnt;
		cnt += MEAN_WEIGHT;
	}
	return cnt > 0 ? whole_ns(ns / cnt * (double)row->attempted_cnt) : 0;
}
