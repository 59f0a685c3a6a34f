/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sched_facts.bpf.h: policy, priority and CPUs of threads. A switch compares those of the thread
 * that leaves with those in the last record about the thread, which are in a map, and sends a
 * record if they differ.
 */
#pragma once

#include "emit.bpf.h"
#include "filter.bpf.h"

struct sched_seen {
	__u64 facts;	/* 0: no record yet */
	__u64 cpus;
};

/* The usual limit of tids: threads of larger systems share places, and then send more records. */
#define SCHED_PLACES 32768

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SCHED_PLACES);
	__type(key, __u32);
	__type(value, struct sched_seen);
} sched_seen __weak SEC(".maps");

static __always_inline struct sched_seen *sched_seen_of(__u32 tid)
{
	__u32 place = tid & (SCHED_PLACES - 1);

	return bpf_map_lookup_elem(&sched_seen, &place);
}

/* t is a new thread, whose tid another thread may have had. */
static __always_inline void sched_facts_forget(const struct task_struct *t)
{
	struct sched_seen *seen = sched_seen_of(t->pid);

	if (seen)
		seen->facts = 0;
}

/* t is an argument of the program, so that these are plain loads; of has the time of the record. */
static __always_inline void sched_facts_check(const struct emit *of, const struct task_struct *t)
{
	__u32 tid = t->pid, policy = t->policy, prio = t->static_prio, rt = t->rt_priority;
	__u64 allowed = t->nr_cpus_allowed, cpus = t->cpus_mask.bits[0], facts;
	struct sched_seen *seen = sched_seen_of(tid);
	struct wire_sched_facts *r;
	struct emit e;

	facts = (__u64)(tid / SCHED_PLACES) << 48 | allowed << 32 | policy << 16 | prio << 8 | rt;
	if (!seen || (seen->facts == facts && seen->cpus == cpus) || !tid || filter_drops(t->tgid))
		return;
	e = *of;
	e.hook = WIRE_SCHED_FACTS;
	r = emit_reserve(&e, sizeof(*r), tid, 0);
	if (!r)
		return;
	r->pid = t->tgid;
	r->policy = policy;
	r->static_prio = prio;
	r->rt_priority = rt;
	r->zero = 0;
	r->allowed_cnt = allowed;
	r->zero_too = 0;
	r->cpu_mask = cpus;
	emit_submit(&e, r);
	seen->facts = facts;
	seen->cpus = cpus;
}
