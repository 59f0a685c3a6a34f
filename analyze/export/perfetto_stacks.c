/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Stacks of allocations and of waits off the CPU, as samples of a profiler.
 *
 * Each source is a session of its own, with its own sequence of packets, so that Perfetto has a
 * track of each per thread. A sample says what its CPU had counted until then: bytes, or ns off the
 * CPU. A stack and the names in it are written once per session, before the first sample that has
 * them.
 */
#include "analyze/export/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/code_text.h"
#include "base/hash_map.h"
#include "base/strpool.h"

enum {
	PACKET_INTERNED = 12, PACKET_DEFAULTS = 59, PACKET_SAMPLE = 66,
	DEFAULTS_SAMPLE = 12, SAMPLE_TIMEBASE = 1, TIMEBASE_PERIOD = 1, TIMEBASE_NAME = 10,
	INTERNED_NAME = 5, INTERNED_FRAME = 6, INTERNED_STACK = 7, INTERNED_MAPPING = 19,
	IID = 1, NAME_TEXT = 2, FRAME_NAME = 2, FRAME_MAPPING = 3, STACK_FRAME = 2,
	SAMPLE_CPU = 1, SAMPLE_PID = 2, SAMPLE_TID = 3, SAMPLE_STACK = 4, SAMPLE_COUNT = 6,
	ONLY_MAPPING = 1,
};

struct session {
	struct perfetto *x;
	uint64_t *counted;		/* by CPU */
	struct hash_map stacks;		/* (stack, 0): what was written, by number */
	struct hash_map names;		/* (text of texts, 0) */
	struct strpool *texts;
	struct buf text, frames;	/* of the stack that is being written */
};

static void put_iid(struct proto *p, unsigned int field, uint64_t iid)
{
	proto_begin(p, field);
	proto_uint(p, IID, iid);
}

/* *ret: the frame of that name, whose number is the name's, too. */
static int put_name(struct session *s, const char *name, uint32_t *ret)
{
	struct proto *p = &s->x->packet;
	const char *text = strpool_put(s->texts, name);
	int is_new = text ? hash_map_intern(&s->names, (uintptr_t)text, 0, ret) : -ENOMEM;

	++*ret;
	if (is_new <= 0)
		return is_new;
	put_iid(p, INTERNED_NAME, *ret);
	perfetto_text(p, NAME_TEXT, name);
	proto_end(p);
	put_iid(p, INTERNED_FRAME, *ret);
	proto_uint(p, FRAME_NAME, *ret);
	proto_uint(p, FRAME_MAPPING, ONLY_MAPPING);
	proto_end(p);
	return 0;
}

static int put_stack(struct session *s, uint64_t stack, uint64_t ts_ns, uint64_t iid)
{
	struct proto *p = &s->x->packet;
	char *name, *rest;
	uint32_t frame = 0;
	int ret = 0;

	s->text.len = s->frames.len = 0;
	stack_text_add(&s->text, s->x->t, stack, ts_ns, STACK_ALL,
		       s->x->a->has_raw_frames ? STACK_RAW : STACK_FOLDED, NULL);
	if (s->text.failed)
		return -ENOMEM;
	proto_begin(p, PACKET_INTERNED);
	for (name = strtok_r((char *)s->text.data, ";", &rest); name && !ret;
	     name = strtok_r(NULL, ";", &rest)) {
		ret = put_name(s, name, &frame);
		buf_add(&s->frames, &frame, sizeof(frame));
	}
	put_iid(p, INTERNED_STACK, iid);
	for (size_t i = 0; i < s->frames.len && !s->frames.failed; i += sizeof(frame)) {
		memcpy(&frame, s->frames.data + i, sizeof(frame));
		proto_uint(p, STACK_FRAME, frame);
	}
	proto_end(p);
	proto_end(p);
	return s->frames.failed ? -ENOMEM : ret;
}

enum { ROW_TS, ROW_CPU, ROW_UTID, ROW_STACK, ROW_COUNT };

static int write_sample(void *ctx, const struct value *v)
{
	struct session *s = ctx;
	struct perfetto *x = s->x;
	const struct dense_ids *ids = &x->a->ids;
	uint32_t thread = dense_thread(ids, (uint32_t)v[ROW_UTID].i), number;
	uint64_t ts_ns = context_abs(x->a, v[ROW_TS].i), stack = (uint64_t)v[ROW_STACK].i;
	int ret;

	if (thread < EVENT_ID_FIRST)
		return 0;
	ret = hash_map_intern(&s->stacks, stack, 0, &number);
	if (ret < 0)
		return ret;
	perfetto_packet(x, ts_ns);
	ret = ret ? put_stack(s, stack, ts_ns, number + 1) : 0;
	s->counted[v[ROW_CPU].i] += (uint64_t)v[ROW_COUNT].i;
	proto_begin(&x->packet, PACKET_SAMPLE);
	proto_uint(&x->packet, SAMPLE_CPU, (uint64_t)v[ROW_CPU].i);
	proto_uint(&x->packet, SAMPLE_PID, perfetto_pid(x, dense_process_of(ids, thread)));
	proto_uint(&x->packet, SAMPLE_TID, perfetto_tid(x, thread));
	proto_uint(&x->packet, SAMPLE_STACK, number + 1);
	proto_uint(&x->packet, SAMPLE_COUNT, s->counted[v[ROW_CPU].i]);
	x->row_cnt++;
	return ret ? ret : perfetto_packet_end(x);
}

/* The first packet of a sequence: what is counted, and a file for frames to be in. */
static int begin_session(struct session *s, const char *name)
{
	struct proto *p = &s->x->packet;

	perfetto_packet(s->x, s->x->from_ns);
	proto_uint(p, PACKET_SEQUENCE_FLAGS, 1);	/* nothing came before */
	proto_begin(p, PACKET_DEFAULTS);
	proto_begin(p, DEFAULTS_SAMPLE);
	proto_begin(p, SAMPLE_TIMEBASE);
	proto_uint(p, TIMEBASE_PERIOD, 1);
	proto_text(p, TIMEBASE_NAME, name);
	proto_end(p);
	proto_end(p);
	proto_end(p);
	proto_begin(p, PACKET_INTERNED);
	put_iid(p, INTERNED_MAPPING, ONLY_MAPPING);
	return perfetto_packet_end(s->x);
}

static int write_session(struct perfetto *x, const char *name, const char *rows, struct err *e)
{
	struct session s = { .x = x, .counted = calloc(trace_cpu_cnt(x->t) + 1, sizeof(uint64_t)) };
	const struct row_sink sink = { .ctx = &s, .row = write_sample };
	char sql[512];
	int ret = s.counted ? strpool_new(&s.texts) : -ENOMEM;

	x->sequence++;
	ret = ret ?: begin_session(&s, name);
	snprintf(sql, sizeof(sql), "%s AND ts_ns >= %lld AND ts_ns < %lld", rows,
		 (long long)context_rel(x->a, x->from_ns), (long long)context_rel(x->a, x->to_ns));
	ret = ret ?: analysis_sql(x->a, sql, &sink, e);
	hash_map_done(&s.stacks);
	hash_map_done(&s.names);
	strpool_free(s.texts);
	buf_done(&s.text);
	buf_done(&s.frames);
	free(s.counted);
	return ret;
}

int perfetto_stacks(struct perfetto *x, struct err *e)
{
	static const struct {
		const char *name, *rows;
	} sessions[] = {
#define ALLOCATIONS(source)                                                                        \
	{ source " bytes", "SELECT ts_ns, cpu, utid, stack, bytes FROM stack_samples "             \
			   "WHERE NOT irq AND source = '" source "'" }
		ALLOCATIONS("slab"), ALLOCATIONS("page"), ALLOCATIONS("heap"),
		{ "off-CPU ns", "SELECT ts_ns, cpu, utid, stack, dur_ns FROM offcpu "
				"WHERE stack IS NOT NULL" },
	};
	int ret = 0;

	for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]) && !ret; i++)
		ret = write_session(x, sessions[i].name, sessions[i].rows, e);
	return ret;
}
