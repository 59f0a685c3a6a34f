/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * pressure: threads that reclaim or compact memory, and victims of the OOM killer. None of these
 * programs runs while there is enough memory.
 */
#include "emit.bpf.h"
#include "filter.bpf.h"
#include "fixes.bpf.h"

static __always_inline int send_pressure(__u32 action, __u64 pages)
{
	struct wire_pressure *r;
	struct emit e;
	__u64 id;

	if (!emit_open(&e, WIRE_PRESSURE))
		return 0;
	id = fix_current_id(e.cnt);
	if (filter_drops(id >> 32))
		return 0;
	r = emit_reserve(&e, sizeof(*r), id, fix_irq_flag(e.cnt));
	if (!r)
		return 0;
	r->action = action;
	r->zero = 0;
	r->pages = pages;
	emit_submit(&e, r);
	return 0;
}

/* clang-format off */
#define PRESSURE(program, tracepoint, action, pages)                                          \
	SEC("tp_btf/" tracepoint)                                                             \
	int program(u64 *ctx)                                                                 \
	{                                                                                     \
		return send_pressure(EVENT_PRESSURE_##action, pages);                          \
	}
/* clang-format on */

PRESSURE(reclaim_begin, "mm_vmscan_direct_reclaim_begin", RECLAIM_BEGIN, 0)
PRESSURE(reclaim_end, "mm_vmscan_direct_reclaim_end", RECLAIM_END, ctx[0])
PRESSURE(group_begin, "mm_vmscan_memcg_reclaim_begin", GROUP_BEGIN, 0)
PRESSURE(group_end, "mm_vmscan_memcg_reclaim_end", GROUP_END, ctx[0])
PRESSURE(compact_begin, "mm_compaction_begin", COMPACT_BEGIN, 0)
PRESSURE(compact_end, "mm_compaction_end", COMPACT_END, 0)
PRESSURE(kswapd_wake, "mm_vmscan_kswapd_wake", KSWAPD_WAKE, 0)
PRESSURE(kswapd_sleep, "mm_vmscan_kswapd_sleep", KSWAPD_SLEEP, 0)

#define GROUP_DEPTH_MAX 16
#define GROUP_ROOM_PAGES 512	/* a group with less room than a huge page counts as full */
#define GROUP_ROOT 1

/*
 * Finds the memory cgroup that has no room: the first such group, from the victim's group upwards.
 * The tracepoint does not pass the group whose limit was reached.
 */
static __always_inline void find_limit(struct task_struct *victim, struct wire_oom_kill *r)
{
	struct css_set *set = BPF_CORE_READ(victim, cgroups);
	struct cgroup_subsys_state *css = NULL;

	r->limit_cgroup_id = 0;
	r->limit_pages = 0;
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id) ||
	    !bpf_core_field_exists(((struct mem_cgroup *)0)->memory))
		return;
	bpf_probe_read_kernel(&css, sizeof(css),
			      (void *)__builtin_preserve_access_index(&set->subsys[0]) +
				      bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) *
					      sizeof(css));
	for (int i = 0; i < GROUP_DEPTH_MAX && css; i++) {
		struct mem_cgroup *group = (void *)css;	/* css is the first member of mem_cgroup */
		__u64 max = BPF_CORE_READ(group, memory.max), usage = 0;

		bpf_probe_read_kernel(&usage, sizeof(long),
				      __builtin_preserve_access_index(&group->memory.usage));
		if (usage + GROUP_ROOM_PAGES >= max) {
			struct cgroup *cg = BPF_CORE_READ(css, cgroup);

			r->limit_pages = max;
			r->limit_cgroup_id = BPF_CORE_READ(cg, kn, id);
			if (BPF_CORE_READ(cg, root) != BPF_CORE_READ(set, dfl_cgrp, root))
				r->limit_cgroup_id |= WIRE_CGROUP_V1_MEMORY;
			return;
		}
		css = BPF_CORE_READ(css, parent);
		if (!css)
			r->limit_cgroup_id = GROUP_ROOT;
	}
}

/* mark_victim has the task instead of its number since 72ba14deb40a (6.8). */
SEC("tp_btf/mark_victim")
int oom_kill(u64 *ctx)
{
	struct task_struct *victim = NULL;
	struct wire_oom_kill *r;
	__u32 tid, pid;
	struct emit e;
	__u64 id;

	if (conf_oom_task) {
		victim = (void *)ctx[0];
		victim = FIX_ARG(victim);
		tid = PEEK(victim, pid);
		pid = PEEK(victim, tgid);
	} else {
		tid = pid = ctx[0];
	}
	if (!emit_open(&e, WIRE_OOM_KILL))
		return 0;
	id = fix_current_id(e.cnt);
	if (filter_drops(id >> 32) && !filter_is_target(pid))
		return 0;
	r = emit_reserve(&e, sizeof(*r), id, fix_irq_flag(e.cnt));
	if (!r)
		return 0;
	r->victim_tid = tid;
	r->victim_pid = pid;
	find_limit(victim, r);
	emit_submit(&e, r);
	return 0;
}
