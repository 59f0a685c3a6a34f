/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * emit.bpf.h: sends a record to a ring. A program counts the attempt, reads the clock, reserves
 * room, fills the record and submits it. The reader is woken only for a batch of records.
 *
 * Small records wait in an area of their CPU, and are sent to the ring together: when the area is
 * full, or when the recorder runs flush_stage at the end of a slice. A ring's records are therefore
 * not in order of time.
 *
 * The code between emit_reserve() and emit_submit() must be fast, because a reserved record hides
 * all later records in the ring. Every reserved record must be submitted; the verifier refuses a
 * program that may not submit a record of the ring.
 */
#pragma once

#include "conf.bpf.h"
#include "wire.h"
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

struct ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* One slot per CPU; several slots may hold the same ring. User space sets the number of slots. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring_map);
} rings __weak SEC(".maps");

/* One slot per CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_counters);
} counters __weak SEC(".maps");

/* One area per CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_stage);
} stages __weak SEC(".maps");

struct emit {
	struct wire_stage *stage;	/* the record is in this area; NULL: in the ring */
	struct wire_counters *cnt;
	struct wire_tally *tally;
	void *ring;
	__u64 ts_ns;
	__u32 cpu;
	__u32 hook;
};

static __always_inline void emit_count(__u32 hook, __u64 *counter)
{
	/* Programs of such hooks interrupt each other, so a plain increment is not exact. */
	if (conf_reentrant || hook == WIRE_STACK || hook == WIRE_SPAN)
		__sync_fetch_and_add(counter, 1);
	else
		(*counter)++;
}

/*
 * Finds this CPU's counters; a program needs no more to filter the event. second: the hook's second
 * program runs, which has its own counters. False: no counters.
 */
static __always_inline bool emit_find(struct emit *e, __u32 hook, bool second)
{
	__u32 cpu = bpf_get_smp_processor_id();

	e->cpu = cpu;
	e->hook = hook;
	e->cnt = bpf_map_lookup_elem(&counters, &cpu);
	if (!e->cnt)
		return false;
	e->tally = &e->cnt->tally[second];
	return true;
}

/*
 * Finds this CPU's ring and reads the clock. Reading the clock is the most expensive part of an
 * event. Call emit_find() first. False: no ring.
 */
static __always_inline bool emit_clock(struct emit *e)
{
	__u32 cpu = e->cpu;	/* the address of e->cpu would force all of e onto the stack */

	e->ts_ns = bpf_ktime_get_ns();
	e->ring = bpf_map_lookup_elem(&rings, &cpu);
	return e->ring != NULL;
}

/* Reads the clock and finds this CPU's ring and counters. False: one is missing. */
static __always_inline bool emit_open(struct emit *e, __u32 hook)
{
	return emit_find(e, hook, false) && emit_clock(e);
}

static __always_inline void emit_count_loss(struct emit *e, __u64 size)
{
	__u64 used = bpf_ringbuf_query(e->ring, BPF_RB_AVAIL_DATA);

	if (e->stage)	/* the area was full, and could not be sent */
		size = WIRE_STAGE_BYTES;
	if (used + size + 8 <= bpf_ringbuf_query(e->ring, BPF_RB_RING_SIZE))
		emit_count(e->hook, &e->tally->lost_other[e->hook]);
	else
		emit_count(e->hook, &e->tally->lost_full[e->hook]);
}

static __always_inline __u64 emit_wake_flags(void *ring)
{
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < conf_wake_bytes ? BPF_RB_NO_WAKEUP :
									     BPF_RB_FORCE_WAKEUP;
}

/* Sends the records of an area while no program uses it. Returns 0 or the ring's error. */
static __always_inline long emit_flush(struct wire_stage *s, void *ring)
{
	__u64 bytes = s->used_bytes;
	long err;

	if (!bytes || bytes > WIRE_STAGE_BYTES)
		return 0;
	err = bpf_ringbuf_output(ring, s->data, bytes, emit_wake_flags(ring));
	if (!err)
		s->used_bytes = 0;
	return err;
}

/*
 * Reserves a small record in this CPU's area, or in the ring if this program interrupted a program
 * that is using the area. NULL: no room.
 */
static __always_inline void *emit_stage(struct emit *e, __u64 size)
{
	__u32 cpu = e->cpu;
	struct wire_stage *s = bpf_map_lookup_elem(&stages, &cpu);
	__u64 at;

	if (!s || s->busy)
		return bpf_ringbuf_reserve(e->ring, size, 0);
	s->busy = 1;
	e->stage = s;
	barrier();
	at = s->used_bytes;
	if (at > WIRE_STAGE_BYTES - WIRE_STAGED_MAX) {
		if (emit_flush(s, e->ring)) {
			s->busy = 0;
			return NULL;
		}
		at = 0;
	}
	s->used_bytes = at + ((size + 7) & ~7ULL);
	return s->data + at;
}

/* Reserves a record of size bytes and fills its header, or counts the loss and returns NULL. */
static __always_inline void *emit_reserve(struct emit *e, __u64 size, __u32 tid, __u8 flags)
{
	struct wire_hdr *h;

	emit_count(e->hook, &e->tally->attempted[e->hook]);
	e->stage = NULL;
	/*
	 * Programs of the heap can be preempted while they fill a record, so they must not fill it
	 * in this CPU's area: see emit_stage().
	 */
	if (conf_stage && size <= WIRE_STAGED_MAX && e->hook != WIRE_HEAP_ALLOC &&
	    e->hook != WIRE_HEAP_FREE)
		h = emit_stage(e, size);
	else
		h = bpf_ringbuf_reserve(e->ring, size, 0);
	if (!h) {
		emit_count_loss(e, size);
		return NULL;
	}
	h->ts_ns = e->ts_ns;
	h->hook = e->hook;
	h->flags = flags;
	h->cpu = e->cpu;
	h->tid = tid;
	return h;
}

/* Calls emit_open() and emit_reserve(), for programs without a step between the two. */
static __always_inline void *emit_begin(struct emit *e, __u32 hook, __u64 size, __u32 tid,
					__u8 flags)
{
	return emit_open(e, hook) ? emit_reserve(e, size, tid, flags) : NULL;
}

static __always_inline void emit_submit(struct emit *e, void *record)
{
	if (e->stage) {
		barrier();
		e->stage->busy = 0;
	} else {
		bpf_ringbuf_submit(record, emit_wake_flags(e->ring));
	}
}

/*
 * Copies a record of variable size into the ring. The caller has filled the record, except for
 * ts_ns, hook and cpu of the header. False: the record was lost, and is counted.
 */
static __always_inline bool emit_output(struct emit *e, void *record, __u64 size)
{
	struct wire_hdr *h = record;

	h->ts_ns = e->ts_ns;
	h->hook = e->hook;
	h->cpu = e->cpu;
	emit_count(e->hook, &e->tally->attempted[e->hook]);
	if (!bpf_ringbuf_output(e->ring, record, size, emit_wake_flags(e->ring)))
		return true;
	emit_count_loss(e, size);
	return false;
}

/* ---- records that programs of more than one file send ---- */

/* Call emit_open() for WIRE_RSS first. */
static __always_inline void send_rss(struct emit *e, __u32 tid, __u32 pid, __u32 member,
				     __s64 pages)
{
	struct wire_rss *r = emit_reserve(e, sizeof(*r), tid, 0);

	if (!r)
		return;
	r->pid = pid;
	r->member = member;
	r->pages = pages;
	emit_submit(e, r);
}

static __always_inline void send_vm(__u32 tid, __u32 pid, __u32 op, __u64 addr, __u64 len,
				    __u64 total)
{
	struct wire_vm *r;
	struct emit e;

	r = emit_begin(&e, WIRE_VM, sizeof(*r), tid, 0);
	if (!r)
		return;
	r->pid = pid;
	r->op = op;
	r->addr = addr;
	r->len_bytes = len;
	r->total_vm_pages = total;
	emit_submit(&e, r);
}
