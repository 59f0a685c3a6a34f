/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Writes what Perfetto shows on tracks of its own: block requests, requests of programs, rates,
 * losses and marks.
 *
 * Slices of one track must lie inside each other, but requests overlap as they like. So each
 * device, and each name of programs' requests, has lanes, and a request takes the lowest lane that
 * is free. A block request counts where its accounting ends, as in `report io`; its slice is as
 * long as its latency.
 */
#include "analyze/export/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/statement.h"
#include "base/array.h"
#include "format/event.h"

enum {
	TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PARENT = 5, TRACK_COUNTER = 8, TRACK_MERGING = 15,
	MERGING_NONE = 2,
	COUNTER_UNIT_NAME = 6,
	EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_NAME = 23, EVENT_COUNT = 30,
	TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4,
	ANNOTATION_INT = 4, ANNOTATION_STRING = 6, ANNOTATION_NAME = 10,
	CPU_UNKNOWN = 0xffff,
	RATE_BINS = 1000,
};

#define RATE_BIN_MIN_NS 10000000u
#define NS_PER_S 1000000000u

/* ---- tracks and their events ---- */

/* unit NULL: no counter. */
static int write_track(struct perfetto *x, uint64_t parent, const char *name, const char *unit,
		       uint64_t *ret_uuid)
{
	struct proto *p = &x->packet;

	*ret_uuid = ++x->last_uuid;
	perfetto_packet(x, 0);
	proto_begin(p, PACKET_TRACK);
	proto_uint(p, TRACK_UUID, *ret_uuid);
	if (parent)
		proto_uint(p, TRACK_PARENT, parent);
	perfetto_text(p, TRACK_NAME, name);
	proto_uint(p, TRACK_MERGING, MERGING_NONE);
	if (unit) {
		proto_begin(p, TRACK_COUNTER);
		proto_text(p, COUNTER_UNIT_NAME, unit);
		proto_end(p);
	}
	return perfetto_packet_end(x);
}

/* name NULL: it has none. */
static void begin_event(struct perfetto *x, uint64_t ts_ns, uint64_t track, unsigned int type,
			const char *name)
{
	perfetto_packet(x, ts_ns);
	proto_begin(&x->packet, PACKET_TRACK_EVENT);
	proto_uint(&x->packet, EVENT_TYPE, type);
	proto_uint(&x->packet, EVENT_TRACK, track);
	if (name)
		perfetto_text(&x->packet, EVENT_NAME, name);
}

static int write_event(struct perfetto *x, uint64_t ts_ns, uint64_t track, unsigned int type,
		       const char *name)
{
	begin_event(x, ts_ns, track, type, name);
	return perfetto_event_end(x);
}

static int write_count(struct perfetto *x, uint64_t ts_ns, uint64_t track, int64_t count)
{
	begin_event(x, ts_ns, track, TYPE_COUNTER, NULL);
	proto_uint(&x->packet, EVENT_COUNT, (uint64_t)count);
	return perfetto_event_end(x);
}

static void annotate_int(struct perfetto *x, const char *name, int64_t value)
{
	proto_begin(&x->packet, EVENT_ANNOTATION);
	proto_text(&x->packet, ANNOTATION_NAME, name);
	proto_uint(&x->packet, ANNOTATION_INT, (uint64_t)value);
	proto_end(&x->packet);
}

static void annotate_text(struct perfetto *x, const char *name, const char *text)
{
	proto_begin(&x->packet, EVENT_ANNOTATION);
	proto_text(&x->packet, ANNOTATION_NAME, name);
	perfetto_text(&x->packet, ANNOTATION_STRING, text);
	proto_end(&x->packet);
}

/* ---- lanes ---- */

struct lane {
	uint64_t uuid, end_ns;
};

/* Tracks below one parent. Slices are put on them by their beginning. */
struct lanes {
	uint64_t parent;
	struct lane *items;
	size_t cnt, cap;
};

static int lane_take(struct perfetto *x, struct lanes *l, uint64_t from_ns, uint64_t to_ns,
		     uint64_t *ret_track)
{
	char name[32];
	size_t i = 0;
	int ret = 0;

	while (i < l->cnt && l->items[i].end_ns > from_ns)
		i++;
	if (i == l->cnt) {
		if (array_reserve(&l->items, &l->cap, l->cnt + 1) < 0)
			return -ENOMEM;
		snprintf(name, sizeof(name), "lane %zu", i + 1);
		ret = write_track(x, l->parent, name, NULL, &l->items[i].uuid);
		l->cnt++;
	}
	l->items[i].end_ns = to_ns > from_ns ? to_ns : from_ns + 1;
	*ret_track = l->items[i].uuid;
	return ret;
}

/* ---- queries ---- */

struct counter {
	const char *suffix, *unit;	/* of the track's name */
};

struct query {
	struct perfetto *x;
	int (*row)(struct query *q, const struct value *v);
	char key[64];		/* of the row before: the device or source, in the first column */
	struct lanes lanes;
	uint64_t group, tracks[2];
	const struct counter *counters;	/* of the columns after the key and the bin */
	unsigned int counter_cnt;
	int64_t every_ns, next_ns;	/* of counters; next_ns -1: before the first bin */
};

static int query_row(void *ctx, const struct value *v)
{
	struct query *q = ctx;

	return q->row(q, v);
}

static int query_run(struct query *q, const char *sql, struct err *e)
{
	const struct row_sink sink = { .ctx = q, .row = query_row };
	const struct statement_param params[] = {
		{ ":from", value_int((uint64_t)context_rel(q->x->a, q->x->from_ns)) },
		{ ":to", value_int((uint64_t)context_rel(q->x->a, q->x->to_ns)) },
		{ ":every", value_int((uint64_t)q->every_ns) },
		{ .name = NULL },
	};

	return statement_run(q->x->a, sql, params, &sink, e);
}

/* Returns whether the row has another key than the row before; q takes it. */
static bool has_new_key(struct query *q, const struct value *v)
{
	if (!strncmp(q->key, v[0].text, sizeof(q->key) - 1))
		return false;
	snprintf(q->key, sizeof(q->key), "%s", v[0].text);
	return true;
}

/* ---- block requests ---- */

enum { REQUEST_DEVICE, REQUEST_QUEUED, REQUEST_ISSUE, REQUEST_COMPLETE, REQUEST_END, REQUEST_OP,
       REQUEST_BYTES, REQUEST_SECTOR, REQUEST_STATUS, REQUEST_OWNER, REQUEST_OWNER_HOW,
       REQUEST_SUBMITTER, REQUEST_FILE };

static void annotate_request(struct perfetto *x, const struct value *v)
{
	const struct dense_ids *ids = &x->a->ids;
	uint32_t owner = dense_process(ids, (uint32_t)v[REQUEST_OWNER].i);
	uint32_t submitter = dense_thread(ids, (uint32_t)v[REQUEST_SUBMITTER].i);

	annotate_int(x, "bytes", v[REQUEST_BYTES].i);
	annotate_int(x, "sector", v[REQUEST_SECTOR].i);
	annotate_int(x, "error", v[REQUEST_STATUS].i);
	annotate_text(x, "owner", dense_process_comm(ids, owner));
	if (owner >= EVENT_ID_FIRST)
		annotate_int(x, "owner_pid", perfetto_pid(x, owner));
	annotate_text(x, "owner_how", v[REQUEST_OWNER_HOW].text);
	annotate_text(x, "submitter", dense_thread_comm(ids, submitter));
	if (submitter >= EVENT_ID_FIRST)
		annotate_int(x, "submitter_tid", perfetto_tid(x, submitter));
	if (v[REQUEST_FILE].type == VALUE_TEXT)
		annotate_text(x, "file", v[REQUEST_FILE].text);
}

static uint64_t instant(const struct perfetto *x, const struct value *v, uint64_t otherwise)
{
	return v->type == VALUE_INT ? context_abs(x->a, v->i) : otherwise;
}

static int write_phase(struct perfetto *x, uint64_t track, const char *name, uint64_t from_ns,
		       uint64_t to_ns)
{
	int ret = write_event(x, from_ns, track, TYPE_BEGIN, name);

	return ret ? ret : write_event(x, to_ns, track, TYPE_END, NULL);
}

static int write_request(struct query *q, const struct value *v)
{
	struct perfetto *x = q->x;
	uint64_t complete = instant(x, &v[REQUEST_COMPLETE], context_abs(x->a, v[REQUEST_END].i));
	uint64_t issue = instant(x, &v[REQUEST_ISSUE], complete);
	uint64_t queued = instant(x, &v[REQUEST_QUEUED], issue), track;
	int ret = 0;

	if (has_new_key(q, v)) {
		q->lanes.cnt = 0;
		ret = write_track(x, q->group, q->key, NULL, &q->lanes.parent);
	}
	ret = ret ?: lane_take(x, &q->lanes, queued, complete, &track);
	if (ret)
		return ret;
	begin_event(x, queued, track, TYPE_BEGIN, v[REQUEST_OP].text);
	annotate_request(x, v);
	ret = perfetto_event_end(x);
	if (!ret && issue > queued)
		ret = write_phase(x, track, "queued", queued, issue);
	if (!ret && complete > issue)
		ret = write_phase(x, track, "device", issue, complete);
	return ret ? ret : write_event(x, complete, track, TYPE_END, NULL);
}

static int write_requests(struct perfetto *x, struct err *e)
{
	struct query q = { .x = x, .row = write_request };
	int ret = write_track(x, 0, "Block requests", NULL, &q.group);

	if (!ret)
		ret = query_run(&q,
				"SELECT device_name(dev), queued_ns, issue_ns, complete_ns, "
				"end_ns, op, bytes, sector, status, owner_upid, owner_how, "
				"submitter_utid, file FROM block_requests "
				"WHERE end_ns >= :from AND end_ns < :to "
				"ORDER BY dev, coalesce(queued_ns, issue_ns, complete_ns, end_ns)",
				e);
	free(q.lanes.items);
	return ret;
}

/* ---- requests of programs ---- */

enum { SPAN_NAME, SPAN_ID, SPAN_START, SPAN_END, SPAN_FAILED, SPAN_THREAD };

static int write_span(struct query *q, const struct value *v)
{
	uint64_t from_ns = context_abs(q->x->a, v[SPAN_START].i), track;
	uint64_t to_ns = context_abs(q->x->a, v[SPAN_END].i);
	int ret = 0;

	if (!q->group)
		ret = write_track(q->x, 0, "Requests", NULL, &q->group);
	if (has_new_key(q, v)) {
		q->lanes.cnt = 0;
		ret = ret ?: write_track(q->x, q->group, q->key, NULL, &q->lanes.parent);
	}
	ret = ret ?: lane_take(q->x, &q->lanes, from_ns, to_ns, &track);
	if (ret)
		return ret;
	begin_event(q->x, from_ns, track, TYPE_BEGIN, v[SPAN_NAME].text);
	annotate_int(q->x, "id", v[SPAN_ID].i);
	annotate_int(q->x, "failed", v[SPAN_FAILED].i);
	annotate_text(q->x, "thread", v[SPAN_THREAD].text);
	ret = perfetto_event_end(q->x);
	return ret ? ret : write_event(q->x, to_ns, track, TYPE_END, NULL);
}

/* Writes the requests that ended in the window, as `report requests` counts them. */
static int write_spans(struct perfetto *x, struct err *e)
{
	struct query q = { .x = x, .row = write_span };
	int ret = query_run(&q,
			    "SELECT r.name, r.id, r.start_ns, r.end_ns, r.failed, t.comm "
			    "FROM requests(:from, :to) AS r JOIN threads AS t USING (utid) "
			    "WHERE r.end_ns NOTNULL ORDER BY r.name, r.start_ns", e);

	free(q.lanes.items);
	return ret;
}

/* ---- rates ---- */

static int64_t per_second(const struct query *q, int64_t sum)
{
	return (int64_t)((double)sum * NS_PER_S / (double)q->every_ns);
}

/*
 * Counters keep their value until the next one, so a bin that is missing needs its 0. A bin that
 * ends after the window would make the trace longer, and each thread's last state with it.
 */
static int write_rates(struct query *q, int64_t t_ns, const struct value *sums)
{
	bool missing = q->next_ns >= 0 && t_ns > q->next_ns;
	uint64_t next = missing ? context_abs(q->x->a, q->next_ns) : 0;
	int ret = 0;

	next = next < q->x->to_ns ? next : q->x->to_ns;
	for (unsigned int i = 0; i < q->counter_cnt && !ret; i++) {
		if (missing)
			ret = write_count(q->x, next, q->tracks[i], 0);
		if (!ret && sums)
			ret = write_count(q->x, context_abs(q->x->a, t_ns), q->tracks[i],
					  per_second(q, sums[i].i));
	}
	q->next_ns = t_ns + q->every_ns;
	return ret;
}

/* The last bin's value ends where the bin does. */
static int end_rates(struct query *q)
{
	return write_rates(q, INT64_MAX - q->every_ns, NULL);
}

static int write_rate_row(struct query *q, const struct value *v)
{
	char name[96];
	int ret = 0;

	if (has_new_key(q, v)) {
		ret = end_rates(q);
		for (unsigned int i = 0; i < q->counter_cnt && !ret; i++) {
			snprintf(name, sizeof(name), "%s%s", q->key, q->counters[i].suffix);
			ret = write_track(q->x, q->group, name, q->counters[i].unit, &q->tracks[i]);
		}
		q->next_ns = -1;
	}
	return ret ? ret : write_rates(q, v[1].i, v + 2);
}

static int write_all_rates(struct perfetto *x, struct err *e)
{
	static const struct {
		const char *group, *sql;
		unsigned int counter_cnt;
		struct counter counters[2];
	} groups[] = {
		{ "Devices",
		  "SELECT device_name(dev), t_ns, read_ios + write_ios + other_ios, "
		  "read_bytes + write_bytes "
		  "FROM device_usage(:from, :to, :every) ORDER BY dev, t_ns",
		  2, { { " requests", "requests/s" }, { " bytes", "bytes/s" } } },
		{ "Allocated",
		  "SELECT source, t_ns, sum(alloc_bytes) "
		  "FROM alloc_usage(:from, :to, :every, 'none') "
		  "WHERE source IN ('slab', 'page', 'heap') "
		  "GROUP BY source, t_ns ORDER BY source, t_ns",
		  1, { { "", "bytes/s" } } },
	};
	int64_t every = (int64_t)(x->to_ns - x->from_ns) / RATE_BINS;
	int ret = 0;

	every = every < RATE_BIN_MIN_NS ? RATE_BIN_MIN_NS : every;
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]) && !ret; i++) {
		struct query q = { .x = x, .row = write_rate_row, .counters = groups[i].counters,
				   .counter_cnt = groups[i].counter_cnt, .every_ns = every,
				   .next_ns = -1 };

		ret = write_track(x, 0, groups[i].group, NULL, &q.group);
		ret = ret ?: query_run(&q, groups[i].sql, e) ?: end_rates(&q);
	}
	return ret;
}

/* ---- what is missing, and marks ---- */

/* trace_processor then counts data loss for the CPU; CPU_UNKNOWN: for each CPU. */
static int write_lost_flag(struct perfetto *x, unsigned int cpu)
{
	int ret = 0;

	for (size_t i = 0; cpu == CPU_UNKNOWN && i < x->a->cpu_cnt && !ret; i++)
		ret = write_lost_flag(x, x->a->cpus[i]);
	if (cpu == CPU_UNKNOWN)
		return ret;
	perfetto_packet(x, 0);
	proto_begin(&x->packet, PACKET_FTRACE);
	proto_uint(&x->packet, BUNDLE_CPU, cpu);
	proto_uint(&x->packet, BUNDLE_LOST_EVENTS, 1);
	return perfetto_packet_end(x);
}

static int write_missing(struct perfetto *x, struct lanes *l, uint64_t from_ns, uint64_t to_ns,
			 const char *name)
{
	uint64_t track;
	int ret;

	from_ns = from_ns > x->from_ns ? from_ns : x->from_ns;
	to_ns = to_ns < x->to_ns ? to_ns : x->to_ns;
	if (from_ns > to_ns)
		return 0;
	ret = l->parent ? 0 : write_track(x, 0, "Missing", NULL, &l->parent);
	ret = ret ?: lane_take(x, l, from_ns, to_ns, &track);
	return ret ? ret : write_phase(x, track, name, from_ns, to_ns);
}

static int write_losses(struct perfetto *x, struct lanes *l)
{
	size_t cnt, i;
	const struct trace_loss *r = trace_losses(x->t, &cnt);
	char name[96];
	int ret = 0;

	for (i = 0; i < cnt && !ret; i++) {
		const struct hook_name *hook = hook_name_find(r[i].hook);
		unsigned long long lost = r[i].full_cnt + r[i].other_cnt + r[i].missed_cnt;

		if (r[i].to_ns <= x->from_ns || r[i].from_ns >= x->to_ns)
			continue;
		snprintf(name, sizeof(name), "%llu lost: %s", lost, hook ? hook->name : "?");
		ret = write_missing(x, l, r[i].from_ns, r[i].to_ns, name);
		ret = ret ?: write_lost_flag(x, r[i].cpu);
	}
	return ret;
}

static int write_gaps(struct perfetto *x, struct lanes *l)
{
	size_t cnt, i;
	const struct trace_gap *r = trace_gaps(x->t, &cnt);
	struct trace_hole hole = { 0 };
	char name[96];
	int ret = 0;

	for (i = 0; i < cnt && !ret; i++) {
		snprintf(name, sizeof(name), "%s was off: %s", r[i].source, r[i].reason);
		ret = write_missing(x, l, r[i].from_ns, r[i].to_ns, name);
	}
	while (!ret && trace_hole_next(x->t, &hole)) {
		ret = write_missing(x, l, hole.from_ns, hole.to_ns, "damaged or missing");
		if (!ret && hole.to_ns > x->from_ns && hole.from_ns < x->to_ns)
			ret = write_lost_flag(x, CPU_UNKNOWN);
	}
	return ret;
}

static int write_marks(struct perfetto *x)
{
	size_t cnt, i;
	const struct trace_mark *r = trace_marks(x->t, &cnt);
	uint64_t track;
	int ret = write_track(x, 0, "Marks", NULL, &track);

	ret = ret ?: write_event(x, x->from_ns, track, TYPE_INSTANT, "the window begins");
	for (i = 0; i < cnt && !ret; i++)
		if (r[i].ts_ns >= x->from_ns && r[i].ts_ns < x->to_ns)
			ret = write_event(x, r[i].ts_ns, track, TYPE_INSTANT, r[i].text);
	return ret ? ret : write_event(x, x->to_ns, track, TYPE_INSTANT, "the window ends");
}

int perfetto_tracks(struct perfetto *x, struct err *e)
{
	struct lanes missing = { 0 };
	int ret = write_requests(x, e) ?: write_spans(x, e);

	ret = ret ?: write_all_rates(x, e) ?: write_losses(x, &missing);
	ret = ret ?: write_gaps(x, &missing);
	free(missing.items);
	return ret ? ret : write_marks(x);
}
