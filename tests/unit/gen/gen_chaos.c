/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* gen_chaos: mixes events that gen_mix never makes into those of gen_mix. */
#include "tests/unit/gen/gen_chaos.h"

#include "analyze/analyze.h"
#include "tests/unit/unit_test.h"

static uint64_t dice = 7;

uint64_t chaos_below(uint64_t n)
{
	return (gen_random(&dice) >> 11) % n;
}

#define below chaos_below
#define T0 CHAOS_T0

/*
 * Interrupts in the middle of others. Now and then one has no entry or no exit, or names another
 * thread.
 */
static void interrupt(struct chaos *f)
{
	static const unsigned int entry[] = { WIRE_IRQ_ENTRY, WIRE_SOFTIRQ_ENTRY,
					      WIRE_VECTOR_ENTRY };
	unsigned int cpu = (unsigned int)below(3), kind, vector;
	struct chaos_irq *q = &f->irq[cpu];
	bool ends = q->depth && (q->depth == 3 || below(2));

	if (!q->depth)
		q->tid = 1000 + (uint32_t)below(90);
	if (!ends) {
		kind = q->depth ? 2 * (unsigned int)below(2) : (unsigned int)below(3);
		vector = kind == 1 ? (unsigned int)below(10)
				   : 4 * q->depth + 1 + (unsigned int)below(4);
		q->open[q->depth++] = entry[kind] << 8 | vector;
	}
	vector = q->open[q->depth - 1];
	if (below(12))
		gen_irq(f->g, f->m.now_ns, cpu, below(40) ? q->tid : 1000, (vector >> 8) + ends,
			vector & 0xff);
	q->depth -= ends;
}

/* Few kinds of stacks, so that they come again in other blocks. */
static void stack(struct chaos *f, unsigned int cpu, uint32_t tid, unsigned int of, uint64_t addr,
		  uint64_t bytes)
{
	uint64_t frames[8];
	unsigned int kernel = (unsigned int)below(4), user = (unsigned int)below(4), i;

	for (i = 0; i < kernel + user; i++)
		frames[i] = i < kernel ? 0xffffffff81000000ull + (i + below(2)) * 256
				       : 0x7f0000 + (i + below(2)) * 64;
	gen_stack(f->g, f->m.now_ns, cpu, tid, of, addr, bytes, frames, kernel, user);
}

/* A wait that ends by a thread, by an interrupt or not at all, with one of a few stacks. */
static void offcpu(struct chaos *f, unsigned int cpu, uint32_t tid)
{
	struct wire_offcpu r = { .hdr = { .ts_ns = f->m.now_ns, .hook = WIRE_OFFCPU,
					  .cpu = (wire_u16)cpu, .tid = tid },
				 .left_ns = f->m.now_ns - 2000 - below(9000),
				 .woken_ns = f->m.now_ns - below(4000),
				 .waker_tid = 1000 + (wire_u32)below(90),
				 .state = (wire_u16)below(3), .waker_kind = (wire_u16)below(3),
				 .user_cnt = (wire_u16)below(3),
				 .waker_kernel_cnt = (wire_u16)below(3),
				 .waker_user_cnt = (wire_u16)below(3),
				 .kernel_cnt = (wire_u16)below(3) };
	wire_u16 cnts[] = { r.user_cnt, r.waker_kernel_cnt, r.waker_user_cnt, r.kernel_cnt }, i, k;
	unsigned int n = 0;

	for (i = 0; i < 4; i++)
		for (k = 0; k < cnts[i]; k++)
			r.frames[n++] = (i % 2 ? 0xffffffff81000000ull : 0x7f0000) + k * 64;
	gen_raw(f->g, &r, offsetof(struct wire_offcpu, frames) + n * 8);
}

/* A sample of running code, of one of a few stacks. */
static void sample(struct chaos *f, unsigned int cpu, uint32_t tid)
{
	struct wire_sample r = { .hdr = { .ts_ns = f->m.now_ns, .hook = WIRE_SAMPLE,
					  .flags = f->m.now_ns % 5 ? 0 : WIRE_F_IRQ,
					  .cpu = (wire_u16)cpu, .tid = tid },
				 .kernel_cnt = (wire_u16)(f->m.now_ns % 3),
				 .user_cnt = (wire_u16)(f->m.now_ns % 4) };
	unsigned int i, n = r.kernel_cnt + r.user_cnt;

	for (i = 0; i < n; i++)
		r.frames[i] = (i < r.kernel_cnt ? 0xffffffff81000000ull : 0x7f0000) + i * 64;
	gen_raw(f->g, &r, offsetof(struct wire_sample, frames) + n * 8);
}

/*
 * An unknown thread leaves a CPU on which another one ran: only this switch reports its stay.
 * The thread may then sleep in D, and its requests begin and end during the stay.
 */
static void unseen_stay(struct chaos *f, unsigned int cpu)
{
	uint32_t preempt = below(3) ? 0 : WIRE_F_PREEMPT;
	struct wire_switch_more r = {
		.common = { .hdr = { .ts_ns = f->m.now_ns, .hook = WIRE_SWITCH_MORE,
				     .cpu = (wire_u16)cpu,
				     .flags = (wire_u8)(preempt | (below(2) ? WIRE_F_BREAK : 0)),
				     .tid = 70000 + cpu * 3 + (uint32_t)below(3) },
			    .next_tid = 1000 + (uint32_t)below(90),
			    .prev_state = preempt ? 0 : (wire_u16)(1 + below(2)),
			    .prev_prio = 120, .next_prio = 120 },
		.steal_ns = below(3) * 1000, .stay_ns = below(3) * 100000,
	};

	gen_raw(f->g, &r, sizeof(r));
}

/* Heaps, pages in parts, lost frees and switches, all steps of requests. */
static void one(struct chaos *f)
{
	struct gen *g = f->g;
	uint32_t tid = 1000 + (uint32_t)below(90), cpu = (uint32_t)below(2);
	uint64_t addr = 0xffff8880f0000000ull + below(40) * 256, pfn = below(64) << 4;
	uint64_t heap = 0x5000 + below(64) * 32, rq = 0xffff8881f0000000ull + below(6) * 64;
	unsigned int order = (unsigned int)below(5);

	f->m.now_ns += 1 + below(3000);
	switch (below(17)) {
	case 0:
	case 1:
		gen_kmalloc(g, f->m.now_ns, cpu, tid, addr, 32 + (uint32_t)below(4000), 0x81000,
			    below(4) ? 0 : WIRE_F_IRQ);
		break;
	case 2:
		gen_kfree(g, f->m.now_ns, cpu, tid, addr);
		sample(f, cpu, tid);
		break;
	case 3:
	case 4:
		pfn += below(16) >> order << order;
		gen_page_alloc(g, f->m.now_ns, cpu, tid, pfn, order, 0);
		if (!below(3))
			stack(f, cpu, tid, WIRE_PAGE_ALLOC, pfn, 4096ull << order);
		break;
	case 5:
		pfn += below(16) >> order << order;
		gen_page_free(g, f->m.now_ns, cpu, tid, pfn, order);
		break;
	case 6:
	case 7:
		gen_heap(g, f->m.now_ns, cpu, tid, heap, 16 + below(100000));
		if (!below(3))
			stack(f, cpu, tid, WIRE_HEAP_ALLOC, heap, 5000);
		break;
	case 8:
		gen_heap(g, f->m.now_ns, cpu, tid, heap, 0);
		if (!below(2))
			offcpu(f, cpu, tid);
		break;
	case 9:
		tid = below(2) ? tid : 70000 + cpu * 3 + (uint32_t)below(3);
		gen_block(g, f->m.now_ns, cpu, tid, WIRE_BLOCK_START + (unsigned int)below(2), rq,
			  8 << 20, 64, 4096, (uint32_t)below(2));
		break;
	case 10:
		gen_block(g, f->m.now_ns, cpu, tid, WIRE_BLOCK_INSERT + (unsigned int)below(6), rq,
			  8 << 20, 64, 4096, (uint32_t)below(2));
		break;
	case 11:
		unseen_stay(f, cpu);
		break;
	case 12:
		gen_wakeup(g, f->m.now_ns, cpu, tid, 1000 + (uint32_t)below(96), 0);
		break;
	case 13:
	case 14:
	case 15:
		interrupt(f);
		break;
	default:
		gen_rss(g, f->m.now_ns, cpu, tid, tid, (unsigned int)below(4),
			(int64_t)below(100000));
	}
}

void chaos_add_blocks(struct chaos *f, unsigned int cnt)
{
	while (cnt--) {
		uint64_t n = below(4) ? below(60) : below(3000), from = f->m.now_ns;

		while (n--) {
			gen_mix_run(f->g, &f->m, 1 + below(4));
			one(f);
		}
		if (!below(5)) {
			struct trace_loss l = { .from_ns = from, .to_ns = f->m.now_ns, .cpu = 1,
						.hook = WIRE_SWITCH, .cls = EVENT_CLASS_SCHED,
						.full_cnt = 3 };

			gen_loss(f->g, &l);
		}
		f->m.now_ns++;
		if (f->m.now_ns < f->edge_ns)
			f->m.now_ns = f->edge_ns;
		gen_slice(f->g, f->m.now_ns);
		f->edge_ns = f->m.now_ns;
		if (!below(3))		/* the next records are too late for this block */
			f->m.now_ns -= below(2000);
	}
}

void chaos_begin(struct chaos *f, uint64_t seed)
{
	memset(f, 0, sizeof(*f));
	dice = seed * 77 + 1;
	f->m = (struct gen_mix){ .seed = seed, .now_ns = T0 };
	f->edge_ns = T0;
	gen_temp_dir(f->dir);
	snprintf(f->path, sizeof(f->path), "%s/trace", f->dir);
	snprintf(f->index, sizeof(f->index), "%s/derived.idx", f->path);
	f->g = gen_open(f->path,
			&(struct gen_config){ .cpu_cnt = 3,
					      .from_ns = T0,
					      .recorder_pid = 1004,
					      .sources = "sched.switch,sched.wakeup,sched.irq,"
							 "alloc.slab,alloc.page,alloc.rss,alloc.vm,"
							 "alloc.heap,block,block.dirty,"
							 "cpu.sample",
					      .quotas = true,
					      .file_bytes = 200000 });
	gen_mix_start(f->g, &f->m);
}

void chaos_end(struct chaos *f, bool finished)
{
	gen_mix_done(&f->m);
	if (finished)
		gen_finish(f->g);
	else
		gen_abort(f->g);
}

void chaos_make_index(struct trace *t, uint64_t checkpoint_events)
{
	const struct analysis_index_use use = { .use = true, .always = true, .save = true,
						.checkpoint_events = checkpoint_events };
	struct analysis *a;

	assert_int_equal(analysis_open(&a, t, NULL), 0);
	analysis_use_index(a, &use);
	assert_int_equal(analysis_prepare_window(a, UINT32_MAX, 0, UINT64_MAX, NULL), 0);
	analysis_close(a);
}
