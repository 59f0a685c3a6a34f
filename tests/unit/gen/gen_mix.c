/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * gen_mix: a small machine, simulated: threads on CPUs, a slab with free lists per cache and CPU,
 * pages, requests in flight. Distributions are like those of a build with some I/O: a quarter
 * switches and wake-ups, half slab, the rest pages, memory counters and block requests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/gen/gen_trace.h"

#define MIX_THREADS 96
#define MIX_CACHES 24
#define MIX_SITES 300
#define MIX_FREE 512	/* length of a free list */
#define MIX_LIVE 4096	/* objects alive, per CPU */
#define MIX_CPUS 16

struct mix_object {
	uint64_t addr;
	uint8_t cache;
};

struct gen_mix_state {
	unsigned int cpu_cnt;
	uint32_t running[MIX_CPUS];	/* tid */
	uint32_t tids[MIX_THREADS];
	uint32_t pids[MIX_THREADS];
	uint32_t next_tid;
	uint64_t free[MIX_CPUS][MIX_CACHES][MIX_FREE];
	unsigned int free_cnt[MIX_CPUS][MIX_CACHES];
	struct mix_object live[MIX_CPUS][MIX_LIVE];
	unsigned int live_cnt[MIX_CPUS];
	uint64_t pages[MIX_CPUS][MIX_LIVE];
	unsigned int page_cnt[MIX_CPUS];
	uint64_t next_addr, next_pfn, next_sector;
	uint64_t rss[MIX_THREADS];
	uint64_t rq[8];
	unsigned int rq_stage[8];
	uint64_t rq_sector[8];
	uint8_t served[MIX_CPUS][2];	/* hook + 1 of the entry, the inner one second; 0: none */
	uint8_t site_cache[MIX_SITES];
	uint16_t site_bytes[MIX_SITES];
};

uint64_t gen_random(uint64_t *state)
{
	uint64_t x = *state ? *state : 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

static uint64_t below(struct gen_mix *m, uint64_t n)
{
	return (gen_random(&m->seed) >> 11) % n;
}

/* Small numbers far more often than large ones, as call sites and threads are used. */
static uint64_t skewed(struct gen_mix *m, uint64_t n)
{
	uint64_t a = below(m, n), b = below(m, n), c = below(m, n);

	a = a < b ? a : b;
	return a < c ? a : c;
}

void gen_mix_start(struct gen *g, struct gen_mix *m)
{
	struct gen_mix_state *s = calloc(1, sizeof(*s));
	char comm[16];

	if (!s)
		abort();
	m->state = s;
	if (!m->per_second)
		m->per_second = 300000;
	s->cpu_cnt = 2;
	s->next_tid = 1000;
	s->next_addr = 0xffff888100000000ull;
	s->next_pfn = 0x100000;
	for (unsigned int i = 0; i < MIX_SITES; i++) {
		s->site_cache[i] = (uint8_t)below(m, MIX_CACHES);
		s->site_bytes[i] = (uint16_t)(16 + below(m, 200) * 8);
	}
	for (unsigned int i = 0; i < MIX_THREADS; i++) {
		s->tids[i] = s->next_tid++;
		s->pids[i] = s->tids[i & ~3u];
		snprintf(comm, sizeof(comm), "thread-%u", i);
		gen_snap(g, m->now_ns, 0, s->tids[i], s->pids[i], 1, comm);
		s->rss[i] = 1000;
	}
	for (unsigned int i = 0; i < 8; i++)
		s->rq[i] = 0xffff88810a000000ull + i * 0x180;
}

void gen_mix_done(struct gen_mix *m)
{
	free(m->state);
	m->state = NULL;
}

static void mix_switch(struct gen *g, struct gen_mix *m, unsigned int cpu)
{
	struct gen_mix_state *s = m->state;
	uint32_t prev = s->running[cpu], next;

	next = below(m, 3) ? s->tids[skewed(m, MIX_THREADS)] : 0;
	/* a thread runs on one CPU at a time */
	for (unsigned int i = 0; i < s->cpu_cnt; i++)
		if (next && s->running[i] == next)
			next = 0;
	if (next == prev)
		return;
	if (next)
		gen_wakeup(g, m->now_ns, cpu, prev, next, prev ? 0 : WIRE_F_IRQ);
	m->now_ns += 300 + below(m, 700);
	gen_switch(g, m->now_ns, cpu, prev, next, prev && !below(m, 6) ? WIRE_F_PREEMPT : 0);
	s->running[cpu] = next;
}

static uint64_t slab_take(struct gen_mix *m, unsigned int cpu, unsigned int cache)
{
	struct gen_mix_state *s = m->state;

	if (s->free_cnt[cpu][cache])
		return s->free[cpu][cache][--s->free_cnt[cpu][cache]];
	s->next_addr += 64 * (1 + below(m, 16));
	return s->next_addr;
}

static void mix_slab(struct gen *g, struct gen_mix *m, unsigned int cpu)
{
	struct gen_mix_state *s = m->state;
	unsigned int *live = &s->live_cnt[cpu];
	struct mix_object o;
	uint64_t site;
	size_t i;

	if (*live > 64 && (below(m, 100) < 49 || *live == MIX_LIVE)) {
		/* mostly the youngest dies first */
		i = *live - 1 - (below(m, 4) ? below(m, 8) : below(m, *live));
		o = s->live[cpu][i];
		s->live[cpu][i] = s->live[cpu][--*live];
		if (o.cache < MIX_CACHES / 2)
			gen_kfree(g, m->now_ns, cpu, s->running[cpu], o.addr);
		else
			gen_cache_free(g, m->now_ns, cpu, s->running[cpu], o.addr,
				       0xffff888100040000ull + o.cache * 0x100);
		if (s->free_cnt[cpu][o.cache] < MIX_FREE)
			s->free[cpu][o.cache][s->free_cnt[cpu][o.cache]++] = o.addr;
		return;
	}
	site = skewed(m, MIX_SITES);
	o.cache = s->site_cache[site];
	o.addr = slab_take(m, cpu, o.cache);
	if (*live < MIX_LIVE)
		s->live[cpu][(*live)++] = o;
	site = 0xffffffff81000000ull + site * 0x1234;
	if (o.cache < MIX_CACHES / 2)
		gen_kmalloc(g, m->now_ns, cpu, s->running[cpu], o.addr,
			    s->site_bytes[(site >> 2) % MIX_SITES], site,
			    below(m, 20) ? 0 : WIRE_F_IRQ);
	else
		gen_cache_alloc(g, m->now_ns, cpu, s->running[cpu], o.addr, 64u + o.cache * 8u,
				site, 0xffff888100040000ull + o.cache * 0x100);
}

static void mix_page(struct gen *g, struct gen_mix *m, unsigned int cpu)
{
	struct gen_mix_state *s = m->state;
	unsigned int *cnt = &s->page_cnt[cpu];
	uint64_t pfn;

	if (*cnt > 16 && (below(m, 2) || *cnt == MIX_LIVE)) {
		pfn = s->pages[cpu][--*cnt];
		gen_page_free(g, m->now_ns, cpu, s->running[cpu], pfn, 0);
		return;
	}
	pfn = s->next_pfn += below(m, 8) ? 1 : below(m, 100000);
	gen_page_alloc(g, m->now_ns, cpu, s->running[cpu], pfn, 0, 0);
	s->pages[cpu][(*cnt)++] = pfn;
}

static void mix_memory(struct gen *g, struct gen_mix *m, unsigned int cpu)
{
	struct gen_mix_state *s = m->state;
	unsigned int i = (unsigned int)skewed(m, MIX_THREADS);

	s->rss[i] += below(m, 64) - 31;
	if (s->rss[i] > 1000000)
		s->rss[i] = 1000;
	if (below(m, 8))
		gen_rss(g, m->now_ns, cpu, s->running[cpu], s->pids[i], 1, (int64_t)s->rss[i]);
	else
		gen_vm(g, m->now_ns, cpu, s->running[cpu], s->pids[i], EVENT_VM_MMAP,
		       0x7f0000000000ull + (s->rss[i] << 12), below(m, 64) << 12, s->rss[i] * 4);
}

static void mix_block(struct gen *g, struct gen_mix *m, unsigned int cpu)
{
	static const uint8_t hooks[3] = { WIRE_BLOCK_INSERT, WIRE_BLOCK_ISSUE,
					  WIRE_BLOCK_COMPLETE };
	struct gen_mix_state *s = m->state;
	unsigned int i = (unsigned int)below(m, 8);

	if (!s->rq_stage[i])
		s->rq_sector[i] = s->next_sector += below(m, 4) ? 128 : below(m, 1000000) * 8;
	if (!below(m, 4)) /* the running thread dirties a file that is written back later */
		gen_dirty(g, m->now_ns - 10, cpu, s->running[cpu], s->pids[below(m, MIX_THREADS)],
			  1000 + i / 2, 9 << 20, i / 2 == 3 ? "" : "file");
	if (hooks[s->rq_stage[i]] == WIRE_BLOCK_ISSUE)
		gen_block_pages(g, m->now_ns, cpu, s->running[cpu], s->rq[i], 8 << 20,
				s->rq_sector[i], 65536, EVENT_PAGES_FILE, 1000 + i / 2,
				1000 + i / 2 + below(m, 8) / 7, 9 << 20);
	else
		gen_block(g, m->now_ns, cpu, s->running[cpu], hooks[s->rq_stage[i]], s->rq[i],
			  8 << 20, s->rq_sector[i], 65536, 1);
	s->rq_stage[i] = (s->rq_stage[i] + 1) % 3;
}

static void mix_fork(struct gen *g, struct gen_mix *m, unsigned int cpu)
{
	static const char args[] = "cc1\0-O2\0file.c";
	struct gen_mix_state *s = m->state;
	unsigned int i = (unsigned int)below(m, MIX_THREADS), k;
	uint32_t tid = s->next_tid++;

	for (k = 0; k < s->cpu_cnt; k++)
		if (s->running[k] == s->tids[i])
			return;
	if (s->tids[i] == s->pids[i])	/* leaders stay: others are their threads */
		return;
	gen_exit(g, m->now_ns, cpu, s->tids[i], s->pids[i], 0, s->pids[i] == s->tids[i], 1000000);
	m->now_ns += 500;
	gen_new(g, m->now_ns, cpu, s->running[cpu], tid, tid, s->pids[0], "make");
	m->now_ns += 500;
	gen_exec(g, m->now_ns, cpu, tid, tid, 0, "cc1", "/usr/lib/gcc/cc1", args, sizeof(args));
	s->tids[i] = tid;
	s->pids[i] = tid;
}

/*
 * Interrupts nest at most once. A switch in the middle, which no kernel makes, says that an exit
 * was lost.
 */
static void mix_irq(struct gen *g, struct gen_mix *m, unsigned int cpu)
{
	static const uint8_t hooks[] = { WIRE_SOFTIRQ_ENTRY, WIRE_IRQ_ENTRY, WIRE_VECTOR_ENTRY };
	struct gen_mix_state *s = m->state;
	uint8_t *served = s->served[cpu];
	unsigned int inner = served[0] && !served[1] && below(m, 2) ? 1 : served[1] ? 2 : 0;

	if (!served[0] || inner == 1) {
		served[inner] = (uint8_t)(hooks[inner ? 1 + below(m, 2) : below(m, 3)] + 1);
		gen_irq(g, m->now_ns, cpu, s->running[cpu], served[inner] - 1u, 3 + inner);
	} else {
		inner = inner == 2;
		gen_irq(g, m->now_ns, cpu, s->running[cpu], served[inner], 3 + inner);
		served[inner] = 0;
	}
}

void gen_mix_run(struct gen *g, struct gen_mix *m, uint64_t cnt)
{
	uint64_t gap = 1000000000ull / m->per_second;

	while (cnt--) {
		unsigned int cpu = (unsigned int)below(m, m->state->cpu_cnt);
		uint64_t dice = below(m, 1000);

		/* bursts: most gaps are a quarter of the mean, some are four times as long */
		m->now_ns += 20 + (below(m, 5) ? below(m, gap / 2 + 1) : below(m, gap * 6 + 1));
		if (m->irqs && below(m, 1000) < m->irqs)
			mix_irq(g, m, cpu);
		else if (dice < 130)
			mix_switch(g, m, cpu);
		else if (dice < 750)
			mix_slab(g, m, cpu);
		else if (dice < 900)
			mix_page(g, m, cpu);
		else if (dice < 980)
			mix_memory(g, m, cpu);
		else if (dice < 999)
			mix_block(g, m, cpu);
		else
			mix_fork(g, m, cpu);
	}
}
