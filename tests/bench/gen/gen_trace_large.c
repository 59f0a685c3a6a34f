/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * gen_trace_large: writes a trace of any size, through the recorder's own block and store
 * writers.
 *
 *     gen_trace_large [-n EVENTS] [-c CPUS] [-r EVENTS_PER_S] [-s SEED] [-l LIVE_OBJECTS]
 *                     [-t TASKS] [-f FORKS_PER_MILLION] [-b BYTES_PER_FILE] DIR
 *
 * A simulated machine builds software with some I/O: tasks come and go, threads wake each other
 * and wait for CPUs. There is a slab allocator with free lists (most objects die young, some
 * live for minutes), and there are pages, resident memory, block requests in flight, and now and
 * then a burst of allocations. A block holds one simulated second. Generating and encoding have
 * a thread each.
 *
 * Prints what is in the trace as key=value lines, so that a test can compare reports with it:
 * events by kind, bytes allocated, requests and their bytes, tasks, length. The same arguments
 * give the same trace.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/wire.h"
#include "record/encode/block_writer.h"
#include "store/store_writer.h"

#define T0 1000000000000ull
#define SECOND 1000000000ull
#define CPUS_MAX 64
#define CACHES 32
#define SITES 512
#define RQS 256
#define YOUNG 64		/* objects of a CPU that die young */
#define FREE_LIST 1024
#define BURST_EVERY (7 * SECOND)
#define PREV_DEAD 0x80

enum task_state { TASK_SLEEPING, TASK_RUNNABLE, TASK_RUNNING };

struct task {
	uint32_t tid, pid;
	uint32_t process;	/* index of its leader */
	uint8_t state;
	int64_t rss_pages, vm_pages;	/* leaders */
};

struct object {
	uint64_t addr;
	uint32_t bytes;
	uint8_t cache;
};

struct page {
	uint64_t pfn;
	uint8_t order;
};

struct request {
	uint8_t stage;
	uint32_t bytes, flags, dev;
	uint64_t sector;
};

struct batch {			/* records of one block, handed from thread to thread */
	uint8_t *data;
	size_t len, cap;
	uint64_t from_ns, to_ns;
	bool full, last;
};

struct totals {
	uint64_t events, by_hook[WIRE_HOOK_MAX];
	uint64_t slab_bytes, page_bytes, ios, io_bytes, forks, exits, bursts;
};

static struct gen {
	uint64_t seed, now_ns, want, rate, live_max;
	unsigned int cpu_cnt, task_max, fork_rate;
	bool own_names;		/* each process has a name of its own */
	uint32_t running[CPUS_MAX];	/* index in tasks */
	struct task *tasks;		/* 0 is idle */
	unsigned int task_cnt;
	uint32_t *queue;		/* runnable: ring of task_max + 1 */
	unsigned int queue_at, queue_cnt;
	uint32_t next_tid;
	bool exit_is_due;		/* of the next one that can, where it leaves its CPU */
	struct object young[CPUS_MAX][YOUNG];
	unsigned int young_cnt[CPUS_MAX];
	struct object *old;
	uint64_t old_cnt;
	uint64_t (*free_list)[FREE_LIST];	/* by cache */
	unsigned int free_cnt[CACHES];
	struct page *pages;
	uint64_t page_cnt;
	uint64_t page_free[11][256];
	unsigned int page_free_cnt[11];
	uint64_t next_addr, next_pfn, next_sector, next_burst_ns;
	unsigned int burst_left;
	uint32_t burst_task;
	struct request rqs[RQS];
	uint8_t site_cache[SITES];
	uint16_t site_bytes[SITES];
	struct totals t;
	struct batch *b;
} G;

static struct batch batches[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "gen_trace_large: %s: %s\n", what, why);
	exit(9);
}

/* ---- dice ---- */

static inline uint64_t dice(void)
{
	uint64_t x = G.seed;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	G.seed = x;
	return x * 0x2545f4914f6cdd1dull >> 16;
}

static inline uint64_t below(uint64_t n)
{
	return (dice() & 0xffffffff) * n >> 32;
}

/* Small numbers far more often than large ones, as call sites and tasks are used. */
static inline uint64_t skewed(uint64_t n)
{
	uint64_t x = dice(), a = (x & 0xffff) * n >> 16, b = (x >> 16 & 0xffff) * n >> 16,
		 c = (x >> 32 & 0xffff) * n >> 16;

	a = a < b ? a : b;
	return a < c ? a : c;
}

/* ---- records ---- */

static void *put(size_t bytes, unsigned int hook, unsigned int flags, unsigned int cpu,
		 uint32_t task)
{
	struct batch *b = G.b;
	size_t n = (bytes + 7) & ~(size_t)7;
	struct wire_hdr *h;

	if (b->len + n > b->cap) {
		b->cap = b->cap ? b->cap * 2 : 1 << 20;
		b->data = realloc(b->data, b->cap);
		if (!b->data)
			die("records", "out of memory");
	}
	h = (struct wire_hdr *)(b->data + b->len);
	memset(h, 0, n);
	b->len += n;
	*h = (struct wire_hdr){ .ts_ns = G.now_ns, .hook = (wire_u8)hook, .flags = (wire_u8)flags,
				.cpu = (wire_u16)cpu, .tid = G.tasks[task].tid };
	if (hook != WIRE_TASK_SNAP) {
		G.t.events++;
		G.t.by_hook[hook]++;
	}
	return h;
}

#define PUT(type, hook, flags, cpu, task) \
	((struct type *)put(sizeof(struct type), hook, flags, cpu, task))

/* ---- tasks ---- */

static void set_comm(char *dst, const char *stem, unsigned int n)
{
	snprintf(dst, WIRE_COMM_LEN, "%s%u", stem, n);
}

static uint32_t add_task(uint32_t leader)
{
	uint32_t i = G.task_cnt++;
	struct task *t = &G.tasks[i];

	*t = (struct task){ .tid = G.next_tid++, .process = leader ? leader : i };
	t->pid = G.tasks[t->process].tid;
	t->rss_pages = 500 + (int64_t)below(2000);
	t->vm_pages = 5000 + (int64_t)below(20000);
	return i;
}

static void start_tasks(void)
{
	unsigned int i;

	G.task_cnt = 1;
	for (i = 1; i < G.task_max / 2; i++) {
		uint32_t k = add_task(i % 4 == 1 ? 0 : i - (i - 1) % 4);
		struct wire_snap *r = PUT(wire_snap, WIRE_TASK_SNAP, 0, 0, k);
		struct task *t = &G.tasks[k];

		r->task.tid = r->task.ns_tid = t->tid;
		r->task.pid = r->task.ns_pid = t->pid;
		r->task.ppid = 1;
		r->task.start_ns = t->tid;
		r->task.cgroup_id = 1 + t->process % 8;
		set_comm(r->task.comm, "daemon-", t->process % 40);
		r->rss_pages[1] = t->rss_pages;
		r->total_vm_pages = (wire_u64)t->vm_pages;
		r->sum_exec_ns = 5000;
	}
}

static void wake(unsigned int cpu, uint32_t waker, uint32_t i, bool is_new)
{
	struct wire_waking *r;

	if (G.tasks[i].state != TASK_SLEEPING)
		return;
	r = PUT(wire_waking, is_new ? WIRE_WAKEUP_NEW : WIRE_WAKING, waker ? 0 : WIRE_F_IRQ, cpu,
		waker);
	r->target_tid = G.tasks[i].tid;
	r->target_cpu = (wire_u16)cpu;
	r->prio = 120;
	r->is_new = is_new;
	G.tasks[i].state = TASK_RUNNABLE;
	G.queue[(G.queue_at + G.queue_cnt++) % (G.task_max + 1)] = i;
}

/*
 * Only a task of the younger half can exit. The last task takes its place, so that the last one
 * must be asleep: queued and running tasks are identified by their place.
 */
static bool can_exit(uint32_t i)
{
	uint32_t first = G.task_max / 2, last = G.task_cnt - 1;

	return i >= first && G.task_cnt > first + 8 &&
	       (i == last || G.tasks[last].state == TASK_SLEEPING);
}

static void exit_task(unsigned int cpu, uint32_t i)
{
	struct wire_exit *r = PUT(wire_exit, WIRE_TASK_EXIT, 0, cpu, i);

	r->tid = G.tasks[i].tid;
	r->pid = G.tasks[i].pid;
	r->group_dead = 1;
	r->sum_exec_ns = 1000000;
	G.t.exits++;
	G.exit_is_due = false;
	G.now_ns += 100;
}

static void remove_task(uint32_t i)
{
	G.tasks[i] = G.tasks[--G.task_cnt];
	G.tasks[i].process = i;
}

static void switch_task(unsigned int cpu)
{
	uint32_t prev = G.running[cpu], next = 0;
	bool ends = G.exit_is_due && can_exit(prev), preempt = prev && below(5) == 0 && !ends;
	struct wire_switch *r;

	if (G.queue_cnt) {
		next = G.queue[G.queue_at];
		G.queue_at = (G.queue_at + 1) % (G.task_max + 1);
		G.queue_cnt--;
	}
	if (next == prev)
		return;
	if (ends)
		exit_task(cpu, prev);
	r = PUT(wire_switch, WIRE_SWITCH, preempt ? WIRE_F_PREEMPT : 0, cpu, prev);
	r->next_tid = G.tasks[next].tid;
	r->prev_state = ends ? PREV_DEAD : preempt || !prev ? 0 : 1;
	r->prev_prio = r->next_prio = 120;
	if (prev)
		G.tasks[prev].state = TASK_SLEEPING;
	if (preempt) {
		G.tasks[prev].state = TASK_RUNNABLE;
		G.queue[(G.queue_at + G.queue_cnt++) % (G.task_max + 1)] = prev;
	}
	if (next)
		G.tasks[next].state = TASK_RUNNING;
	G.running[cpu] = next;
	if (ends)
		remove_task(prev);
}

static void fork_task(unsigned int cpu)
{
	static const char file[] = "/usr/libexec/cc1", args[] = "cc1\0-O2\0file.c";
	uint32_t parent = G.running[cpu], i;
	struct wire_task *r;
	struct wire_exec *x;
	unsigned int n;

	if (G.task_cnt >= G.task_max)
		return;
	i = add_task(0);
	n = (unsigned int)below(24);
	G.tasks[i].rss_pages = G.tasks[i].vm_pages = 0;
	r = PUT(wire_task, WIRE_TASK_NEW, 0, cpu, parent);
	r->tid = r->ns_tid = r->pid = r->ns_pid = G.tasks[i].tid;
	r->ppid = G.tasks[parent].pid;
	r->uid = 1000;
	r->start_ns = G.now_ns - 10;
	r->cgroup_id = 1 + n % 8;
	set_comm(r->comm, "make", 0);
	G.now_ns += 100;
	wake(cpu, parent, i, true);
	G.now_ns += 100;
	x = put(offsetof(struct wire_exec, strings) + sizeof(file) + sizeof(args), WIRE_TASK_EXEC,
		0, cpu, i);
	x->tid = x->pid = x->old_tid = G.tasks[i].tid;
	x->uid = 1000;
	x->cgroup_id = 1 + n % 8;
	x->file_len = sizeof(file);
	x->args_len = sizeof(args);
	set_comm(x->comm, "cc", G.own_names ? (unsigned int)G.t.forks : n);
	memcpy(x->strings, file, sizeof(file));
	memcpy(x->strings + sizeof(file), args, sizeof(args));
	G.t.forks++;
}

/* ---- memory ---- */

static void slab_free(unsigned int cpu, uint32_t task);

static void slab_alloc(unsigned int cpu, uint32_t task, uint32_t bytes)
{
	uint64_t site = skewed(SITES);
	unsigned int cache = G.site_cache[site], *n = &G.young_cnt[cpu];
	struct object o = { .cache = (uint8_t)cache };

	o.bytes = bytes ? bytes : cache < CACHES / 2 ? (uint32_t)G.site_bytes[site]
						     : 64u + cache * 16u;
	if (G.free_cnt[cache])
		o.addr = G.free_list[cache][--G.free_cnt[cache]];
	else
		o.addr = G.next_addr += 64 * (1 + below(16));
	site = 0xffffffff81000000ull + site * 0x1234;
	if (cache < CACHES / 2) {
		struct wire_kmalloc *r = PUT(wire_kmalloc, WIRE_KMALLOC,
					     below(20) ? 0 : WIRE_F_IRQ, cpu, task);

		r->addr = o.addr;
		r->call_site = site;
		r->bytes_req = o.bytes;
		r->bytes_alloc = o.bytes = (o.bytes + 31) & ~31u;
	} else {
		struct wire_cache_alloc *r = PUT(wire_cache_alloc, WIRE_CACHE_ALLOC, 0, cpu, task);

		r->addr = o.addr;
		r->call_site = site;
		r->cache = 0xffff888100040000ull + cache * 0x100;
		r->bytes_req = r->bytes_alloc = o.bytes;
	}
	G.t.slab_bytes += o.bytes;
	if (*n == YOUNG) {
		uint64_t k = below(YOUNG);

		if (G.old_cnt == G.live_max)
			slab_free(cpu, task);
		G.old[G.old_cnt++] = G.young[cpu][k];
		G.young[cpu][k] = G.young[cpu][--*n];
	}
	G.young[cpu][(*n)++] = o;
}

static void slab_free(unsigned int cpu, uint32_t task)
{
	unsigned int *n = &G.young_cnt[cpu];
	bool is_old = G.old_cnt && (!*n || G.old_cnt == G.live_max || below(6) == 0);
	struct object o;

	if (is_old) {
		uint64_t k = below(G.old_cnt);

		o = G.old[k];
		G.old[k] = G.old[--G.old_cnt];
	} else if (*n) {
		o = G.young[cpu][--*n];
	} else {
		return;
	}
	if (o.cache < CACHES / 2) {
		PUT(wire_kfree, WIRE_KFREE, 0, cpu, task)->addr = o.addr;
	} else {
		struct wire_cache_free *r = PUT(wire_cache_free, WIRE_CACHE_FREE, 0, cpu, task);

		r->addr = o.addr;
		r->cache = 0xffff888100040000ull + o.cache * 0x100ull;
	}
	if (G.free_cnt[o.cache] < FREE_LIST)
		G.free_list[o.cache][G.free_cnt[o.cache]++] = o.addr;
}

static void pages(unsigned int cpu, uint32_t task)
{
	struct page p = { 0 };

	if (G.page_cnt > 1000 && (below(2) || G.page_cnt == G.live_max)) {
		uint64_t k = below(4) ? G.page_cnt - 1 - below(64) : below(G.page_cnt);
		struct wire_page_free *r = PUT(wire_page_free, WIRE_PAGE_FREE, 0, cpu, task);

		p = G.pages[k];
		G.pages[k] = G.pages[--G.page_cnt];
		r->pfn = p.pfn;
		r->order = p.order;
		if (G.page_free_cnt[p.order] < 256)
			G.page_free[p.order][G.page_free_cnt[p.order]++] = p.pfn;
	} else {
		struct wire_page_alloc *r = PUT(wire_page_alloc, WIRE_PAGE_ALLOC, 0, cpu, task);

		p.order = below(8) ? 0 : (uint8_t)below(4);
		if (G.page_free_cnt[p.order])
			p.pfn = G.page_free[p.order][--G.page_free_cnt[p.order]];
		else
			p.pfn = G.next_pfn = ((G.next_pfn >> p.order) + 1) << p.order;
		if (p.pfn == G.next_pfn)
			G.next_pfn += (1ull << p.order) - 1;
		r->pfn = p.pfn;
		r->order = p.order;
		r->gfp = 0x400dc0;
		r->migratetype = 1;
		G.t.page_bytes += 4096ull << p.order;
		G.pages[G.page_cnt++] = p;
	}
}

static void memory(unsigned int cpu, uint32_t task, int64_t grow)
{
	struct task *t = &G.tasks[G.tasks[task].process];

	if (!task)
		return;
	t->rss_pages += grow ? grow : (int64_t)below(64) - 30;
	if (t->rss_pages < 0 || (!grow && t->rss_pages > 100000))
		t->rss_pages = 500;
	if (grow || below(6)) {
		struct wire_rss *r = PUT(wire_rss, WIRE_RSS, 0, cpu, task);

		r->pid = t->pid;
		r->member = 1;
		r->pages = t->rss_pages;
	} else {
		struct wire_vm *r = PUT(wire_vm, WIRE_VM, 0, cpu, task);

		t->vm_pages += (int64_t)below(64) - 30;
		if (t->vm_pages < 0)
			t->vm_pages = 5000;
		r->pid = t->pid;
		r->op = EVENT_VM_MMAP;
		r->addr = 0x7f0000000000ull;
		r->len_bytes = 4096 * 16;
		r->total_vm_pages = (wire_u64)t->vm_pages;
	}
}

/* ---- block requests ---- */

static void request(unsigned int cpu, uint32_t task)
{
	static const uint8_t hooks[] = { WIRE_BLOCK_START, WIRE_BLOCK_INSERT, WIRE_BLOCK_ISSUE,
					 WIRE_BLOCK_COMPLETE, WIRE_BLOCK_DONE };
	unsigned int i = (unsigned int)skewed(RQS);
	struct request *q = &G.rqs[i];
	bool is_issue = hooks[q->stage] == WIRE_BLOCK_ISSUE;
	struct wire_request *r = put(is_issue ? sizeof(struct wire_request_issue) : sizeof(*r),
				   hooks[q->stage], q->stage > 2 ? WIRE_F_IRQ : 0, cpu, task);

	if (!q->stage) {
		q->bytes = 4096u << below(6);
		q->flags = below(3) ? 1 : 0;
		q->dev = (8u << 20) | (i & 16 ? 16 : 0);
		q->sector = G.next_sector = below(4) ? G.next_sector + 128 : below(1 << 24) * 8;
	}
	r->rq = 0xffff88810a000000ull + i * 0x180;
	r->sector = q->sector;
	r->dev = r->part = q->dev;
	r->bytes = q->stage == 4 ? 0 : q->bytes;
	r->cmd_flags = q->flags;
	r->done_bytes = q->stage == 3 ? q->bytes : 0;
	if (is_issue)
		((struct wire_request_issue *)r)->pages = EVENT_PAGES_ANON;
	/* one that has completed at the trace's end is over, done or not */
	if (q->stage == 3) {
		G.t.ios++;
		G.t.io_bytes += q->bytes;
	}
	q->stage = (uint8_t)((q->stage + 1) % 5);
}

/* ---- the machine ---- */

/* 64 MiB within some milliseconds: now of resident memory, now of the slab. */
static void burst(unsigned int cpu)
{
	if (!G.burst_left) {
		G.burst_left = 512;
		G.burst_task = 1 + (uint32_t)below(G.task_max / 2 - 1);
		G.next_burst_ns += BURST_EVERY;
		G.t.bursts++;
	}
	G.burst_left--;
	if (G.t.bursts & 1)
		memory(cpu, G.burst_task, 32);
	else
		slab_alloc(cpu, G.burst_task, 128 << 10);
}

static void step(uint64_t gap)
{
	unsigned int cpu = (unsigned int)below(G.cpu_cnt), x = (unsigned int)below(1024);
	uint32_t task = G.running[cpu];

	/* most gaps are short, some are long */
	G.now_ns += 20 + (below(5) ? below(gap) : below(gap * 4));
	if (G.burst_left || G.now_ns >= G.next_burst_ns)
		burst(cpu);
	else if (x < 130)
		switch_task(cpu);
	else if (x < 245)
		wake(cpu, task, 1 + (uint32_t)skewed(G.task_cnt - 1), false);
	else if (x < 545)
		slab_alloc(cpu, task, 0);
	else if (x < 838)
		slab_free(cpu, task);
	else if (x < 935)
		pages(cpu, task);
	else if (x < 975)
		memory(cpu, task, 0);
	else if (x < 1020)
		request(cpu, task);
	else if (below(1000000) < G.fork_rate * 512ull && task)	/* 4 of 1024 come here */
		G.t.forks > G.t.exits + 50 ? (void)(G.exit_is_due = true) : fork_task(cpu);
	else
		memory(cpu, task, 0);
}

static void machine_init(void)
{
	unsigned int i;

	G.tasks = calloc(G.task_max + 1, sizeof(*G.tasks));
	G.queue = calloc(G.task_max + 1, sizeof(*G.queue));
	G.old = calloc(G.live_max + 1, sizeof(*G.old));
	G.pages = calloc(G.live_max + 1, sizeof(*G.pages));
	G.free_list = calloc(CACHES, sizeof(*G.free_list));
	if (!G.tasks || !G.queue || !G.old || !G.pages || !G.free_list)
		die("start", "out of memory");
	for (i = 0; i < SITES; i++) {
		G.site_cache[i] = (uint8_t)below(CACHES);
		G.site_bytes[i] = (uint16_t)(16 + below(200) * 8);
	}
	G.next_tid = 1000;
	G.next_addr = 0xffff888100000000ull;
	G.next_pfn = 0x100000;
	G.now_ns = T0;
	G.next_burst_ns = T0 + SECOND * 3 / 2;
}

/* ---- encoding, in a thread of its own ---- */

struct encoder {
	struct block_writer *bw;
	struct store_writer *sw;
	uint64_t blocks;
};

static void encode(struct encoder *x, const struct batch *b)
{
	struct block_segment segment = { b->data, b->len };
	struct trace_clock clock = { .mono_ns = b->to_ns, .boot_ns = b->to_ns,
				     .real_ns = b->to_ns + 1700000000000000000ull,
				     .tai_ns = b->to_ns + 1700000037000000000ull,
				     .uncertainty_ns = 20 };
	struct block_slice s = { .from_ns = b->from_ns, .to_ns = b->to_ns, .segments = &segment,
				 .segment_cnt = 1, .clocks = &clock, .clock_cnt = 1 };
	struct block_stats stats;
	struct err e = { "" };
	const void *block;
	size_t bytes;

	if (store_writer_begins_file(x->sw))
		block_writer_force_keyframe(x->bw);
	if (block_writer_encode(x->bw, &s, &block, &bytes, &stats) < 0 || stats.bad_cnt)
		die("block", "cannot be encoded");
	if (store_writer_append(x->sw, block, bytes, 0, &e) < 0)
		die("block", e.text);
	x->blocks++;
}

static void *encode_all(void *arg)
{
	struct encoder *x = arg;
	unsigned int i = 0;
	bool last;

	do {
		struct batch *b = &batches[i];

		pthread_mutex_lock(&lock);
		while (!b->full)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		encode(x, b);
		last = b->last;
		pthread_mutex_lock(&lock);
		b->full = false;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		i ^= 1;
	} while (!last);
	return NULL;
}

static void run(void)
{
	uint64_t gap = SECOND / G.rate, to = T0 + SECOND;
	unsigned int i = 0;

	/* mean of the dice in step() is 0.8 * gap / 2 + 0.2 * 2 * gap + 20 */
	gap = gap > 25 ? (gap - 20) * 10 / 8 : 6;
	G.b = &batches[0];
	G.b->from_ns = T0;
	start_tasks();
	while (G.t.events < G.want) {
		uint64_t next = G.now_ns;

		if (next < to - 1000) {
			step(gap);
			continue;
		}
		/* a step may have gone past the second: its events are of this slice */
		if (to <= G.now_ns)
			to = G.now_ns + 1;
		G.b->to_ns = to;
		pthread_mutex_lock(&lock);
		G.b->full = true;
		pthread_cond_broadcast(&changed);
		i ^= 1;
		while (batches[i].full)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		G.b = &batches[i];
		G.b->len = 0;
		G.b->from_ns = to;
		if (G.now_ns < to)
			G.now_ns = to;
		to += SECOND;
		while (to <= G.now_ns + 1000)
			to += SECOND;
	}
	pthread_mutex_lock(&lock);
	G.b->to_ns = G.now_ns + 1000;
	G.b->last = G.b->full = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* ---- names, arguments, totals ---- */

static int name_of(void *ctx, enum trace_name_type type, uint64_t id, char *name, size_t size,
		   uint64_t *ret_arg)
{
	switch (type) {
	case TRACE_NAME_CACHE:
		snprintf(name, size, "cache-%" PRIx64, id >> 8 & 0xff);
		*ret_arg = 192;
		return 0;
	case TRACE_NAME_DEVICE:
		snprintf(name, size, "sd%c", (char)('a' + (id >> 4 & 15)));
		*ret_arg = 1 << 27;
		return 0;
	case TRACE_NAME_CGROUP:
		snprintf(name, size, "/group-%" PRIu64, id);
		return 0;
	case TRACE_NAME_SYMBOL:
		snprintf(name, size, "function_%" PRIx64 "+0x%" PRIx64, id >> 8, id & 0xff);
		return 0;
	default:
		return -1;
	}
}

static void print_totals(const struct encoder *x, double seconds)
{
#define X(id, name, class, source)                                             \
	if (G.t.by_hook[id])                                                   \
		printf("hook." #name "=%" PRIu64 "\n", G.t.by_hook[id]);
	EVENT_HOOKS(X)
#undef X
	printf("events=%" PRIu64 "\nslab_bytes=%" PRIu64 "\npage_bytes=%" PRIu64 "\nios=%" PRIu64
	       "\nio_bytes=%" PRIu64 "\nforks=%" PRIu64 "\nexits=%" PRIu64 "\nbursts=%" PRIu64
	       "\ncpus=%u\nspan_ns=%" PRIu64 "\nblocks=%" PRIu64 "\nevents_per_s=%.0f\n",
	       G.t.events, G.t.slab_bytes, G.t.page_bytes, G.t.ios, G.t.io_bytes, G.t.forks,
	       G.t.exits, G.t.bursts, G.cpu_cnt, (uint64_t)(G.now_ns + 1000 - T0), x->blocks,
	       (double)G.t.events / seconds);
}

static uint64_t number(const char *s, uint64_t max)
{
	char *end;
	unsigned long long v = strtoull(s, &end, 10);

	if (*end == 'k')
		v *= 1000, end++;
	else if (*end == 'M')
		v *= 1000000, end++;
	else if (*end == 'G')
		v *= 1000000000, end++;
	if (end == s || *end || !v || v > max)
		die(s, "is no number that makes sense here");
	return v;
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	struct block_writer_config bc = {
		.names = { .name = name_of },
	};
	struct store_config sc = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	struct encoder x = { 0 };
	struct err e = { "" };
	double begin = now_s();
	pthread_t thread;
	int c;

	G.want = 1000000;
	G.cpu_cnt = 4;
	G.rate = 300000;
	G.seed = 42;
	G.live_max = 200000;
	G.task_max = 400;
	G.fork_rate = 75;
	while ((c = getopt(argc, argv, "n:c:r:s:l:t:f:b:u")) >= 0) {
		switch (c) {
		case 'n': G.want = number(optarg, 100000000000); break;
		case 'c': G.cpu_cnt = (unsigned int)number(optarg, CPUS_MAX); break;
		case 'r': G.rate = number(optarg, 8000000); break;
		case 's': G.seed = number(optarg, UINT32_MAX); break;
		case 'l': G.live_max = number(optarg, 100000000); break;
		case 't': G.task_max = (unsigned int)number(optarg, 30000); break;
		case 'f': G.fork_rate = (unsigned int)number(optarg, 1900); break;
		case 'u': G.own_names = true; break;
		case 'b': sc.file_bytes = number(optarg, 1ull << 40); break;
		default: return 2;
		}
	}
	if (optind + 1 != argc || G.task_max < 64)
		die("usage",
		    "gen_trace_large [-n EVENTS] [-c CPUS] [-r EVENTS_PER_S] [-s SEED] "
		    "[-l LIVE_OBJECTS] [-t TASKS, 64 at least] [-f FORKS_PER_MILLION] "
		    "[-b BYTES_PER_FILE] [-u: each process a name of its own] DIR");
	bc.cpu_cnt = G.cpu_cnt;
	if (block_writer_new(&x.bw, &bc) < 0)
		die("block writer", "out of memory");
	if (store_writer_create(&x.sw, argv[optind], &sc, &e) < 0 ||
	    store_writer_set(x.sw, "page_bytes", "4096") < 0)
		die(argv[optind], e.text);
	machine_init();
	if (pthread_create(&thread, NULL, encode_all, &x))
		die("thread", "cannot be started");
	run();
	pthread_join(thread, NULL);
	if (store_writer_finish(x.sw, &e) < 0)
		die(argv[optind], e.text);
	block_writer_free(x.bw);
	print_totals(&x, now_s() - begin);
	return fflush(stdout) ? 9 : 0;
}
