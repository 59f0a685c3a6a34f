/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * perfetto_sched: writes the threads of each CPU, wake-ups and resident memory as ftrace events,
 * and stacks as samples.
 *
 * Switches are written from the pieces that `report cpu` adds up, so Perfetto shows the same times
 * as the report: after lost switches, the thread [unknown] has the CPU. Switches and wake-ups are
 * written in columns (compact_sched). trace_processor ignores the first compact switch of a CPU, so
 * each CPU begins with a separate event, at the window's start.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/context/code_text.h"
#include "analyze/export/perfetto.h"
#include "analyze/fold/fold_reader.h"
#include "analyze/fold/folds.h"
#include "base/hash_map.h"
#include "base/strpool.h"
#include "model/call.h"
#include "model/thread_states.h"

/*
 * Stacks of allocations and of waits off the CPU, as samples of a profiler.
 *
 * Each source is a session with its own sequence of packets, so that Perfetto shows one track per
 * source and thread. A sample contains the total that its CPU has counted so far: bytes, or ns off
 * the CPU. A stack and its names are written once per session, before the first sample with that
 * stack.
 */

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
	uint64_t *counted;		/* totals, by CPU */
	struct hash_map stacks;		/* (stack, 0) -> number of a written stack */
	struct hash_map names;		/* (address in texts, 0) -> number of a written name */
	struct strpool *texts;
	struct buf text, frames;	/* of the stack being written */
};

static void put_iid(struct proto *p, unsigned int field, uint64_t iid)
{
	proto_begin(p, field);
	proto_uint(p, IID, iid);
}

/* Writes the name and its frame, if new. *ret: the number of both. */
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

/* Writes the first packet of a sequence: the unit of samples, and a mapping for all frames. */
static int begin_session(struct session *s, const char *name)
{
	struct proto *p = &s->x->packet;

	perfetto_packet(s->x, s->x->from_ns);
	proto_uint(p, PACKET_SEQUENCE_FLAGS, 1);	/* first packet of the sequence */
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

enum {
	COMPACT_NAMES = 5,
	FTRACE_SWITCH = 4,
	SWITCH_PREV_COMM = 1, SWITCH_PREV_PID = 2, SWITCH_PREV_PRIO = 3, SWITCH_PREV_STATE = 4,
	SWITCH_NEXT_COMM = 5, SWITCH_NEXT_PID = 6, SWITCH_NEXT_PRIO = 7,
	FTRACE_BLOCKED = 18, BLOCKED_PID = 1, BLOCKED_CALLER = 2,
	INTERNED_SYMBOL = 26, SYMBOL_NAME = 2,
	FTRACE_RSS = 313, RSS_MEMBER = 1, RSS_SIZE = 2,
	FLAG_HARDIRQ = 0x08,
	BATCH_ROWS = 1024,
};

/* prev_state of sched_switch, as trace_processor decodes it. */
enum { REPORT_PREEMPTED = 0x100, REPORT_UNKNOWN = 0x4000 };
static const uint16_t reports[] = {
	[TASK_STATE_RUNNABLE] = 0, [TASK_STATE_SLEEPING] = 0x01,
	[TASK_STATE_UNINTERRUPTIBLE] = 0x02, [TASK_STATE_STOPPED] = 0x04,
	[TASK_STATE_TRACED] = 0x08, [TASK_STATE_DEAD] = 0x10, [TASK_STATE_IDLE] = 0x80,
};

/* A switch to, or a wake-up of, `thread`. */
struct row {
	uint64_t ts_ns;
	uint32_t thread;	/* dense */
	uint16_t state;		/* switch: state of the leaving thread; wake-up: target CPU */
	uint8_t prio;
	uint8_t flags;		/* of a wake-up */
};

struct cpu {
	bool exists, begun;
	uint32_t thread;	/* dense: the thread on the CPU */
	/* has_end: a switch ended the last piece; end_state: state in which its thread left */
	bool has_end;
	uint16_t end_state;
	uint8_t next_prio;
	uint32_t row_cnt;
	struct row *rows;
};

struct sched {
	struct perfetto *x;
	struct cpu *cpus;
	unsigned int cpu_cnt;
	const uint8_t *fields;	/* numbers of the columns, in the order of column_value() */
	/* By dense thread: index of its name, valid if name_bundle is the present bundle. */
	uint32_t *name_bundle;
	uint16_t *name_place;
	uint32_t bundle;
	struct buf column;
	enum call_machine machine;
	struct hash_map wait_numbers;	/* (address in wait_texts, 0) -> number of a written text */
	struct strpool *wait_texts;
};

/* ---- columns ---- */

/* Columns: instant, thread, state or CPU, priority, name; wake-ups: flags. */
static const uint8_t switch_fields[] = { 1, 3, 2, 4, 6 };
static const uint8_t waking_fields[] = { 7, 8, 9, 10, 11, 12 };

static void put_names(struct sched *s, const struct cpu *c)
{
	uint16_t cnt = 0;

	s->bundle++;
	for (unsigned int i = 0; i < c->row_cnt; i++) {
		uint32_t thread = c->rows[i].thread;

		if (s->name_bundle[thread] == s->bundle)
			continue;
		s->name_bundle[thread] = s->bundle;
		s->name_place[thread] = cnt++;
		perfetto_text(&s->x->packet, COMPACT_NAMES,
			      dense_thread_comm(&s->x->a->ids, thread));
	}
}

static uint64_t column_value(struct sched *s, const struct row *rows, unsigned int i,
			     unsigned int column)
{
	const struct row *r = &rows[i];
	uint64_t ts_ns = perfetto_boot_ns(s->x, r->ts_ns);

	switch (column) {
	case 0:
		return i ? ts_ns - perfetto_boot_ns(s->x, rows[i - 1].ts_ns) : ts_ns;
	case 1:
		return perfetto_tid(s->x, r->thread);
	case 2:
		return r->state;
	case 3:
		return r->prio;
	case 4:
		return s->name_place[r->thread];
	default:
		return r->flags;
	}
}

static int write_batch(struct sched *s, unsigned int cpu)
{
	struct cpu *c = &s->cpus[cpu];
	struct proto *p = &s->x->packet;
	unsigned int i, k, columns = s->fields == switch_fields ? 5 : 6;

	if (!c->row_cnt)
		return 0;
	perfetto_packet(s->x, 0);
	proto_begin(p, PACKET_FTRACE);
	proto_uint(p, BUNDLE_CPU, cpu);
	proto_begin(p, BUNDLE_COMPACT);
	put_names(s, c);
	for (k = 0; k < columns; k++) {
		s->column.len = 0;
		for (i = 0; i < c->row_cnt; i++)
			buf_add_varint(&s->column, column_value(s, c->rows, i, k));
		proto_bytes(p, s->fields[k], s->column.data, s->column.len);
		p->buf.failed |= s->column.failed;
	}
	s->x->row_cnt += c->row_cnt;
	c->row_cnt = 0;
	return perfetto_packet_end(s->x);
}

static int write_batches(struct sched *s)
{
	int ret = 0;

	for (unsigned int cpu = 0; cpu < s->cpu_cnt && !ret; cpu++)
		ret = write_batch(s, cpu);
	return ret;
}

static int add_row(struct sched *s, unsigned int cpu, const struct row *row)
{
	struct cpu *c = &s->cpus[cpu];

	if (!c->rows) {
		c->rows = malloc(BATCH_ROWS * sizeof(*c->rows));
		if (!c->rows)
			return -ENOMEM;
	}
	c->rows[c->row_cnt++] = *row;
	return c->row_cnt == BATCH_ROWS ? write_batch(s, cpu) : 0;
}

/* ---- switches ---- */

static uint16_t reported_state(const struct event *ev)
{
	return ev->flags & EVENT_F_PREEMPT ?
		       REPORT_PREEMPTED :
		       reports[task_state_of_bits(ev->v[EV_SWITCH_PREV_STATE])];
}

/* ---- waits ---- */

/* Formats a wait: "futex 7f33a0012018", "read pipe:[4711]"; "": not a sleep, or unknown. */
static void wait_text(const struct sched *s, const struct event *ev, char *text, size_t size)
{
	uint32_t call = (uint32_t)ev->v[EV_SWITCH_CALL];
	enum task_state state = task_state_of_bits(ev->v[EV_SWITCH_PREV_STATE]);
	const char *name = call_name(s->machine, call);
	char object[OBJECT_TEXT_BYTES];

	*text = 0;
	if (ev->flags & EVENT_F_PREEMPT || state == TASK_STATE_RUNNABLE ||
	    state == TASK_STATE_DEAD || !name)
		return;
	object_text(s->x->t, ev->utid, ev->ts_ns, call, ev->v[EV_SWITCH_OBJECT], object);
	snprintf(text, size, "%s%s%s", name, *object ? " " : "", object);
}

/* Returns the text's number in *ret; appends a new text to the packet, which must have begun. */
static int put_symbol(struct sched *s, const char *name, uint32_t *ret)
{
	struct proto *p = &s->x->packet;
	const char *text = strpool_put(s->wait_texts, name);
	int is_new = text ? hash_map_intern(&s->wait_numbers, (uintptr_t)text, 0, ret) : -ENOMEM;

	++*ret;
	if (is_new <= 0)
		return is_new;
	proto_begin(p, PACKET_INTERNED);
	proto_begin(p, INTERNED_SYMBOL);
	proto_uint(p, IID, *ret);
	perfetto_text(p, SYMBOL_NAME, name);
	proto_end(p);
	proto_end(p);
	return 0;
}

/* Writes the wait one ns after the switch, when the thread is off the CPU. */
static int write_wait(struct sched *s, const struct cpu_piece *p, uint32_t thread)
{
	struct perfetto *x = s->x;
	char text[OBJECT_TEXT_BYTES + 64];
	uint32_t number;
	int ret;

	wait_text(s, p->end, text, sizeof(text));
	if (!*text)
		return 0;
	perfetto_packet(x, 0);
	ret = put_symbol(s, text, &number);
	perfetto_event_in(x, p->to_ns + 1, p->cpu, perfetto_tid(x, thread), FTRACE_BLOCKED);
	proto_uint(&x->packet, BLOCKED_PID, perfetto_tid(x, thread));
	proto_uint(&x->packet, BLOCKED_CALLER, number);
	return ret < 0 ? ret : perfetto_event_end(x);
}

/* ---- pieces ---- */

/* Writes the switch from idle to the thread on the CPU at the window's start. */
static int write_first(struct sched *s, unsigned int cpu, uint64_t ts_ns, uint32_t thread)
{
	struct perfetto *x = s->x;

	perfetto_event(x, ts_ns, cpu, 0, FTRACE_SWITCH);
	proto_text(&x->packet, SWITCH_PREV_COMM, "swapper");
	proto_uint(&x->packet, SWITCH_PREV_PID, 0);
	proto_uint(&x->packet, SWITCH_PREV_PRIO, 0);
	proto_uint(&x->packet, SWITCH_PREV_STATE, 0);
	perfetto_text(&x->packet, SWITCH_NEXT_COMM, dense_thread_comm(&x->a->ids, thread));
	proto_uint(&x->packet, SWITCH_NEXT_PID, perfetto_tid(x, thread));
	proto_uint(&x->packet, SWITCH_NEXT_PRIO, 0);
	return perfetto_event_end(x);
}

/*
 * Handles a switch from a thread that was not known to be on the CPU: writes a switch to the thread
 * at the same instant, so that the next switch shows the state in which the thread left.
 */
static int write_unseen(struct sched *s, const struct cpu_piece *p, uint32_t thread)
{
	const struct row row = { .ts_ns = p->to_ns, .thread = thread };

	s->cpus[p->cpu].thread = thread;
	if (s->x->left_cpu_ns[thread] < p->to_ns)
		s->x->left_cpu_ns[thread] = p->to_ns;
	return p->to_ns < s->x->to_ns ? add_row(s, p->cpu, &row) : 0;
}

static int on_piece(void *ctx, const void *found)
{
	struct sched *s = ctx;
	const struct cpu_piece *p = found;
	struct cpu *c = &s->cpus[p->cpu];
	uint32_t thread = dense_thread(&s->x->a->ids, p->utid);
	uint64_t from = p->from_ns > s->x->from_ns ? p->from_ns : s->x->from_ns;
	int ret = 0;

	if (!c->exists || p->to_ns < s->x->from_ns || p->from_ns >= s->x->to_ns)
		return 0;
	if (!c->begun) {
		ret = write_first(s, p->cpu, from, thread);
	} else if (c->has_end || thread != c->thread) {
		const struct row row = { .ts_ns = from, .thread = thread,
					 .state = c->has_end ? c->end_state : REPORT_UNKNOWN,
					 .prio = c->has_end ? c->next_prio : 0 };

		ret = add_row(s, p->cpu, &row);
	}
	c->begun = true;
	c->thread = thread;
	c->has_end = p->end != NULL;
	if (s->x->left_cpu_ns[thread] < p->to_ns)
		s->x->left_cpu_ns[thread] = p->to_ns;
	if (!p->end)
		return ret;
	c->end_state = reported_state(p->end);
	c->next_prio = (uint8_t)p->end->v[EV_SWITCH_NEXT_PRIO];
	if (p->end->utid != p->utid) {
		thread = dense_thread(&s->x->a->ids, p->end->utid);
		ret = ret ? ret : write_unseen(s, p, thread);
	}
	return ret || p->to_ns + 1 >= s->x->to_ns ? ret : write_wait(s, p, thread);
}

static int write_switches(struct sched *s, struct err *e)
{
	static const uint32_t columns[EVENT_KIND_CNT] = {
		[EVENT_SWITCH] = EVENT_COL_UTID | EVENT_COL_FLAGS | 1u << EV_SWITCH_NEXT_UTID |
				 1u << EV_SWITCH_PREV_STATE | 1u << EV_SWITCH_NEXT_PRIO |
				 1u << EV_SWITCH_STAY_NS | 1u << EV_SWITCH_CALL |
				 1u << EV_SWITCH_OBJECT,
	};
	struct fold_def cpu = fold_cpu;
	const struct fold_use use = { &cpu, { s, on_piece } };
	const struct fold_range range = { .from_ns = s->x->from_ns, .to_ns = s->x->to_ns,
					  .start = FOLD_READER_AT };
	struct fold_reader *r;
	int ret;

	cpu.columns = columns;
	s->fields = switch_fields;
	ret = fold_reader_open(&r, s->x->a, &range, &use, 1, e);
	if (ret)
		return ret;
	do
		ret = fold_reader_run(r, s->x->to_ns, SIZE_MAX, NULL, e);
	while (ret > 0);
	fold_reader_close(r);
	return ret ? ret : write_batches(s);
}

/* ---- resident memory ---- */

struct levels {
	struct perfetto *x;
	bool is_inside;			/* events are in the window */
	struct mem_process *written;	/* by dense process: last written values */
};

static int write_rss(struct perfetto *x, uint64_t ts_ns, uint32_t process, unsigned int member,
		     uint64_t bytes)
{
	perfetto_event(x, ts_ns, 0, perfetto_pid(x, process), FTRACE_RSS);
	proto_uint(&x->packet, RSS_MEMBER, member);
	proto_uint(&x->packet, RSS_SIZE, bytes);
	return perfetto_event_end(x);
}

static int on_level(void *ctx, const void *found)
{
	struct levels *l = ctx;
	const struct level_found *f = found;
	struct mem_process *written = &l->written[f->process];
	int ret = 0;

	for (unsigned int k = 0; l->is_inside && k < MEM_MEMBER_CNT && !ret; k++)
		if (f->mem->bytes[k] != written->bytes[k])
			ret = write_rss(l->x, f->ts_ns, f->process, k, f->mem->bytes[k]);
	*written = *f->mem;
	return ret;
}

/* Writes all counters at the window's start. */
static int write_begin(struct levels *l)
{
	int ret = 0;

	l->is_inside = true;
	for (uint32_t i = EVENT_ID_FIRST; i < l->x->a->ids.process_cnt; i++)
		for (unsigned int k = 0; k < MEM_MEMBER_CNT && !ret; k++)
			if (l->written[i].known >> k & 1)
				ret = write_rss(l->x, l->x->from_ns, i, k, l->written[i].bytes[k]);
	return ret;
}

static int write_levels(struct perfetto *x, struct err *e)
{
	struct levels l = { .x = x,
			    .written = calloc(x->a->ids.process_cnt, sizeof(*l.written)) };
	struct fold_def rss = fold_levels;
	const struct fold_use use = { &rss, { &l, on_level } };
	const struct fold_range range = { .from_ns = x->from_ns, .to_ns = x->to_ns,
					  .start = FOLD_READER_AT };
	struct fold_reader *r = NULL;
	int ret = -ENOMEM;

	rss.kinds = 1u << EVENT_RSS;
	if (l.written)
		ret = fold_reader_open(&r, x->a, &range, &use, 1, e);
	ret = ret ?: fold_reader_run(r, x->from_ns, SIZE_MAX, NULL, e) ?: write_begin(&l);
	ret = ret ?: fold_reader_run(r, x->to_ns, SIZE_MAX, NULL, e);
	fold_reader_close(r);
	free(l.written);
	return ret;
}

/* ---- wake-ups ---- */

static int write_wakeup(struct sched *s, const struct event *ev)
{
	uint32_t target = dense_thread(&s->x->a->ids, (uint32_t)ev->v[EV_WAKEUP_TARGET_UTID]);

	/* the first wake-up of a new thread is part of its creation: store only the creator */
	if (ev->v[EV_WAKEUP_IS_NEW] && !(ev->flags & EVENT_F_IRQ))
		s->x->maker[target] = dense_thread(&s->x->a->ids, ev->utid);
	if (ev->v[EV_WAKEUP_IS_NEW] || ev->cpu >= s->cpu_cnt)
		return 0;
	return add_row(s, ev->cpu,
		       &(struct row){ .ts_ns = ev->ts_ns,
				      .thread = target,
				      .state = (uint16_t)ev->v[EV_WAKEUP_TARGET_CPU],
				      .prio = (uint8_t)ev->v[EV_WAKEUP_PRIO],
				      .flags = ev->flags & EVENT_F_IRQ ? FLAG_HARDIRQ : 0 });
}

static int write_wakeups(struct sched *s, struct err *e)
{
	const struct event *ev;
	struct event_cursor *c;
	int ret = event_cursor_open(&c, s->x->t, 1u << EVENT_WAKEUP, s->x->from_ns, s->x->to_ns, e);

	if (ret)
		return ret;
	s->fields = waking_fields;
	while ((ret = event_cursor_next(c, &ev, e)) > 0) {
		ret = write_wakeup(s, ev);
		if (ret)
			break;
	}
	event_cursor_close(c);
	return ret ? ret : write_batches(s);
}

int perfetto_sched(struct perfetto *x, struct err *e)
{
	struct sched s = { .x = x, .cpu_cnt = trace_cpu_cnt(x->t),
			   .machine = call_machine_of(trace_get(x->t, "machine")) };
	int ret = -ENOMEM;

	s.cpus = calloc(s.cpu_cnt + 1, sizeof(*s.cpus));
	s.name_bundle = calloc(x->a->ids.thread_cnt, sizeof(*s.name_bundle));
	s.name_place = calloc(x->a->ids.thread_cnt, sizeof(*s.name_place));
	if (s.cpus && s.name_bundle && s.name_place && !strpool_new(&s.wait_texts)) {
		for (unsigned int i = 0; i < x->a->cpu_cnt; i++)
			s.cpus[x->a->cpus[i]].exists = true;
		ret = write_switches(&s, e);
	}
	ret = ret ?: write_levels(x, e) ?: write_wakeups(&s, e);
	for (unsigned int i = 0; i < s.cpu_cnt && s.cpus; i++)
		free(s.cpus[i].rows);
	free(s.cpus);
	free(s.name_bundle);
	free(s.name_place);
	strpool_free(s.wait_texts);
	hash_map_done(&s.wait_numbers);
	buf_done(&s.column);
	return ret;
}
