/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* mem_levels: the levels of one process. The caller finds the process and reports its end. */
#include "model/mem_levels.h"

#include <string.h>

#define KNOWN_VM (1u << 4)
#define KNOWN_ALL 0x1f

void mem_process_init(struct mem_process *p, bool born_inside)
{
	memset(p, 0, sizeof(*p));
	p->born_inside = born_inside;
}

bool mem_process_same(const struct mem_process *a, const struct mem_process *b)
{
	return !memcmp(a->bytes, b->bytes, sizeof(a->bytes)) && a->vm_bytes == b->vm_bytes &&
	       !memcmp(a->inherited, b->inherited, sizeof(a->inherited)) &&
	       a->known == b->known && a->ended == b->ended;
}

void mem_process_baseline(struct mem_process *p, const struct trace_rss *row)
{
	memcpy(p->bytes, row->bytes, sizeof(p->bytes));
	p->vm_bytes = row->total_vm_bytes;
	p->known = KNOWN_ALL & ~row->unknown;
	p->born_inside = false;	/* first values after this are not inherited */
}

struct trace_rss mem_process_row(const struct mem_process *p)
{
	struct trace_rss row = { .total_vm_bytes = p->vm_bytes, .unknown = KNOWN_ALL & ~p->known };

	memcpy(row.bytes, p->bytes, sizeof(row.bytes));
	return row;
}

uint64_t mem_process_rss(const struct mem_process *p)
{
	return p->bytes[MEM_FILE] + p->bytes[MEM_ANON] + p->bytes[MEM_SHMEM];
}

/* A per-CPU counter that is read without its lock may be negative for a moment. */
static uint64_t not_negative(uint64_t v)
{
	return (int64_t)v < 0 ? 0 : v;
}

/* Sets the inherited part of a step, after its level has changed. */
static void inherit(struct mem_process *p, unsigned int level, struct mem_step *s)
{
	uint64_t *inherited = &p->inherited[level], had = *inherited;

	if (s->is_baseline && p->born_inside)
		*inherited += s->after - s->before;
	else if (s->after < *inherited)
		*inherited = s->after;
	s->inherited = (int64_t)(*inherited - had);
}

static bool vm_event(struct mem_process *p, const struct event *ev, struct mem_step *s)
{
	s->before = p->vm_bytes;
	s->is_baseline = !(p->known & KNOWN_VM);
	p->known |= KNOWN_VM;
	s->after = p->vm_bytes = not_negative(ev->v[EV_VM_TOTAL_VM_BYTES]);
	inherit(p, MEM_VM, s);
	return s->before != s->after;
}

bool mem_process_event(struct mem_process *p, const struct event *ev, struct mem_step *ret_step)
{
	uint64_t member = ev->v[EV_RSS_MEMBER];

	if (p->ended)
		return false;
	if (ev->kind == EVENT_VM)
		return vm_event(p, ev, ret_step);
	if (ev->kind != EVENT_RSS || member >= MEM_MEMBER_CNT)
		return false;
	ret_step->before = mem_process_rss(p);
	ret_step->is_baseline = !(p->known & (1u << member));
	p->known |= (uint8_t)(1u << member);
	p->bytes[member] = not_negative(ev->v[EV_RSS_BYTES]);
	ret_step->after = mem_process_rss(p);
	inherit(p, MEM_RSS, ret_step);
	return ret_step->before != ret_step->after;
}

void mem_process_exit(struct mem_process *p, struct mem_step *ret_rss, struct mem_step *ret_vm)
{
	*ret_rss = (struct mem_step){ .before = mem_process_rss(p),
				      .inherited = -(int64_t)p->inherited[MEM_RSS] };
	*ret_vm = (struct mem_step){ .before = p->vm_bytes,
				     .inherited = -(int64_t)p->inherited[MEM_VM] };
	memset(p->bytes, 0, sizeof(p->bytes));
	memset(p->inherited, 0, sizeof(p->inherited));
	p->vm_bytes = 0;
	p->ended = true;
}

void mem_process_exec(struct mem_process *p, struct mem_step *ret_rss, uint64_t *ret_own)
{
	memcpy(ret_own, p->inherited, sizeof(p->inherited));
	memset(p->inherited, 0, sizeof(p->inherited));
	p->known = KNOWN_ALL;
	*ret_rss = (struct mem_step){ .before = mem_process_rss(p) };
	p->bytes[MEM_SWAP] = 0;
	p->bytes[MEM_SHMEM] = 0;
	ret_rss->after = mem_process_rss(p);
}
