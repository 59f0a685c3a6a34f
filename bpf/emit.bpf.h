/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * emit.bpf.h: the way of a record into a ring: count the attempt, read the clock,
 * reserve, fill the header; later submit, waking the consumer only when a batch waits.
 * The ring is a mapped one (struct wire_ring) where the kernel offers what that needs,
 * else a BPF ring buffer; conf_mapped is a constant when the programs are loaded, so that
 * only one of the two ways is in the kernel.
 *
 * Between emit_reserve() and emit_submit() nothing slow may happen: a reserved record
 * hides everything behind it in the ring. And nothing may return without submitting.
 */
#ifndef EMIT_BPF_H
#define EMIT_BPF_H

#include "conf.bpf.h"
#include "wire.h"
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#define WAKE_CHECK_MASK 63	/* look at a ring buffer's fill at every 64th record of a hook */

struct ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/*
 * One slot per CPU; several slots may hold the same ring buffer. Sized by user space. With mapped
 * rings they carry no records, only wake-ups.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring_map);
} rings __weak SEC(".maps");

/* One value per mapped ring; number and size are user space's. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, WIRE_RING_DATA);
} mapped __weak SEC(".maps");

/* One slot per CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_counters);
} counters __weak SEC(".maps");

struct emit {
	struct wire_counters *cnt;
	struct wire_tally *tally;
	void *ring;
	__u64 ts_ns;
	__u64 stamp;	/* mapped: what commits the record */
	bool wake;	/* mapped: enough waits */
	__u32 cpu;
	__u32 hook;
};

static __always_inline void emit_count(__u32 hook, __u64 *counter)
{
	/* stacks are sent by many programs, which interrupt each other */
	if (conf_reentrant || hook == WIRE_STACK)
		__sync_fetch_and_add(counter, 1);
	else
		(*counter)++;
}

/* The same as emit_open() for the second copy of a hook's program: it has counters of its own. */
static __always_inline bool emit_open_copy(struct emit *e, __u32 hook, bool second)
{
	__u32 cpu = bpf_get_smp_processor_id();

	e->cpu = cpu;
	e->hook = hook;
	e->wake = false;
	e->ts_ns = bpf_ktime_get_ns();
	e->cnt = bpf_map_lookup_elem(&counters, &cpu);
	if (!e->cnt)
		return false;
	e->tally = &e->cnt->tally[second];
	if (conf_mapped) {
		__u32 ring = e->cnt->ring;

		e->ring = bpf_map_lookup_elem(&mapped, &ring);
	} else {
		e->ring = bpf_map_lookup_elem(&rings, &cpu);
	}
	return e->ring != NULL;
}

/* Takes the clock and finds this CPU's ring and counters. False: there are none, nothing can be sent. */
static __always_inline bool emit_open(struct emit *e, __u32 hook)
{
	return emit_open_copy(e, hook, false);
}

static __always_inline void emit_count_loss(struct emit *e, __u64 size)
{
	__u64 used;

	if (!conf_mapped) {
		used = bpf_ringbuf_query(e->ring, BPF_RB_AVAIL_DATA);
		if (used + size + 8 <= bpf_ringbuf_query(e->ring, BPF_RB_RING_SIZE)) {
			emit_count(e->hook, &e->tally->lost_other[e->hook]);
			return;
		}
	}
	emit_count(e->hook, &e->tally->lost_full[e->hook]);
}

/* Claims room for a record of size bytes in a mapped ring, or returns NULL: it is full. */
static __always_inline void *emit_claim(struct emit *e, __u64 size)
{
	volatile struct wire_ring *ring = e->ring;
	__u64 need = (size + WIRE_RING_STAMP + 7) & ~7ULL;
	__u64 consumed = ring->consumed, at;

	if (ring->claimed + need - consumed > conf_ring_room)
		return NULL;
	at = __sync_fetch_and_add((__u64 *)&ring->claimed, need);
	e->stamp = WIRE_RING_STAMP_OF(at, size, conf_ring_key);
	/* once for each conf_wake_bytes (a power of two) that pass, if that much waits */
	e->wake = ((at ^ (at + need)) & -(__u64)conf_wake_bytes) &&
		  at + need - consumed >= conf_wake_bytes;
	return e->ring + WIRE_RING_DATA + (at & conf_ring_mask) + WIRE_RING_STAMP;
}

static __always_inline void emit_commit(struct emit *e, void *record)
{
	barrier();	/* the record is whole before its stamp is there */
	*(volatile __u64 *)(record - WIRE_RING_STAMP) = e->stamp;
	if (e->wake) {
		void *bell = bpf_map_lookup_elem(&rings, &e->cpu);
		__u64 zero = 0;

		if (bell)
			bpf_ringbuf_output(bell, &zero, sizeof(zero), BPF_RB_FORCE_WAKEUP);
	}
}

/* Reserves a record of size bytes and fills its header, or counts the loss and returns NULL. */
static __always_inline void *emit_reserve(struct emit *e, __u64 size, __u32 tid, __u8 flags)
{
	struct wire_hdr *h;

	emit_count(e->hook, &e->tally->attempted[e->hook]);
	if (conf_mapped)
		h = emit_claim(e, size);
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

static __always_inline __u64 emit_wake_flags(struct emit *e)
{
	if (e->tally->attempted[e->hook] & WAKE_CHECK_MASK)
		return BPF_RB_NO_WAKEUP;
	if (bpf_ringbuf_query(e->ring, BPF_RB_AVAIL_DATA) < conf_wake_bytes)
		return BPF_RB_NO_WAKEUP;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline void emit_submit(struct emit *e, void *record)
{
	if (conf_mapped)
		emit_commit(e, record);
	else
		bpf_ringbuf_submit(record, emit_wake_flags(e));
}

/* For records with a tail: copies size bytes whose header lacks only the clock, hook and CPU. */
static __always_inline void emit_output(struct emit *e, void *record, __u64 size)
{
	struct wire_hdr *h = record;

	h->ts_ns = e->ts_ns;
	h->hook = e->hook;
	h->cpu = e->cpu;
	emit_count(e->hook, &e->tally->attempted[e->hook]);
	if (conf_mapped) {
		void *to = emit_claim(e, size);

		if (to) {
			bpf_probe_read_kernel(to, size, record);
			emit_commit(e, to);
			return;
		}
	} else if (!bpf_ringbuf_output(e->ring, record, size, emit_wake_flags(e))) {
		return;
	}
	emit_count_loss(e, size);
}

#endif /* EMIT_BPF_H */
