/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * floor: the pieces that recording an event is made of. Each piece runs a thousand times in a
 * program that user space runs by hand (BPF_PROG_TEST_RUN); there are also empty programs to
 * attach. A piece costs its time less the time of the empty loop; see floor.c.
 */
#include "conf.bpf.h"
#include "wire.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define RING_BYTES (1 << 20)
#define ROUNDS 1000
#define RECORD_BYTES 32	/* of a switch */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} ringbuf SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} numbers SEC(".maps");

#define STAGE_BYTES 4096

struct stage {
	__u32 used, busy;
	__u8 data[STAGE_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stage);
} stages SEC(".maps");

__u64 sink = 0, result_ns = 0;
static void *(*const cast)(const void *addr, __u32 btf_id) = (void *)WIRE_CALL_RDONLY_CAST;

#define PIECE(name, code)                                                    \
	SEC("raw_tp/sched_switch")                                           \
	int name(u64 *ctx)                                                   \
	{                                                                    \
		__u64 task = bpf_get_current_task(), from = bpf_ktime_get_ns(); \
		__u32 i, zero = 0;                                           \
                                                                             \
		for (i = 0; i < ROUNDS; i++) {                               \
			barrier();                                           \
			code;                                                \
		}                                                            \
		result_ns = bpf_ktime_get_ns() - from;                       \
		sink += task + zero;                                         \
		return 0;                                                    \
	}

static __always_inline void put_ringbuf(void)
{
	__u64 *record = bpf_ringbuf_reserve(&ringbuf, RECORD_BYTES, 0);

	if (!record)
		return;
	record[0] = record[1] = record[2] = record[3] = 1;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* Records are collected in an area, which goes into the ring as a whole when it is full. */
static __always_inline void put_staged(void)
{
	__u32 zero = 0, at;
	struct stage *s = bpf_map_lookup_elem(&stages, &zero);
	__u64 *record;

	if (!s || s->busy)
		return;
	s->busy = 1;
	barrier();
	at = s->used;
	if (at > STAGE_BYTES - RECORD_BYTES) {
		bpf_ringbuf_output(&ringbuf, s->data, STAGE_BYTES, BPF_RB_NO_WAKEUP);
		at = 0;
	}
	record = (void *)s->data + at;
	record[0] = record[1] = record[2] = record[3] = 1;
	barrier();
	s->used = at + RECORD_BYTES;
	s->busy = 0;
}

PIECE(empty_loop, barrier())
PIECE(clock_ktime, sink = bpf_ktime_get_ns())
PIECE(clock_boot, sink = bpf_ktime_get_boot_ns())
PIECE(clock_jiffies, sink = bpf_jiffies64())
PIECE(cpu_number, sink = bpf_get_smp_processor_id())
PIECE(task_ids, sink = bpf_get_current_pid_tgid())
PIECE(map_lookup, __u64 *n = bpf_map_lookup_elem(&numbers, &zero); if (n) (*n)++)
PIECE(map_atomic, __u64 *n = bpf_map_lookup_elem(&numbers, &zero);
      if (n) sink = __sync_fetch_and_add(n, 1))
PIECE(read_helper, __u64 v; bpf_probe_read_kernel(&v, sizeof(v), (void *)task); sink = v)
PIECE(read_typed,
      struct task_struct *t = cast((void *)task, bpf_core_type_id_kernel(struct task_struct));
      sink = t->pid)
PIECE(ring_bpf, put_ringbuf())
PIECE(ring_staged, put_staged())

/*
 * These are attached to a tracepoint that floor.c picks: empty programs, one after the other,
 * and one that reads the clock.
 */
#define ATTACHED(name, code)  \
	SEC("raw_tp")         \
	int name(u64 *ctx)    \
	{                     \
		code;         \
		return 0;     \
	}
ATTACHED(attached_1, )
ATTACHED(attached_2, )
ATTACHED(attached_3, )
ATTACHED(attached_clock, sink = bpf_ktime_get_ns())

char _license[] SEC("license") = "Dual BSD/GPL";
