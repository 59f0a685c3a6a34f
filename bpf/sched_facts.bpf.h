/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sched_facts.bpf.h: policy, priority and CPUs of threads. At a switch, a program compares these
 * facts of the leaving thread with the facts in the thread's last record, which a map stores. It
 * sends a record if they differ.
 */
#pragma once

#include "emit.bpf.h"
#include "filter.bpf.h"

struct sched_seen {
	__u64 facts;	/* 0: no record yet */
	__u64 cpus;
};

/*
 * The default limit of tids. With a higher limit, several threads may share an element of the map,
 * and send more records, because each replaces the other's facts.
 */
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

/* Clears the element of a new thread t: an earlier thread may have had its tid. */
static __always_inline void sched_facts_forget(const struct task_struct *t)
{
	struct sched_seen *seen = sched_seen_of(t->pid);

	if (seen)
		seen->facts = 0;
}

/*
 * Sends a record if the facts of t have changed. t must be an argument of the program, so that its
 * fields are read by plain loads. of: after emit_open(); has the timestamp for the record.
 */
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
