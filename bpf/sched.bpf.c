/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * sched: switches of tasks on CPUs, wake-ups of tasks by others, and migrations to other CPUs. The
 * programs run in the scheduler with interrupts off. They read a few fields and send one record.
 */
#include "call.bpf.h"
#include "emit.bpf.h"
#include "filter.bpf.h"
#include "fixes.bpf.h"
#include "paths.bpf.h"
#include "sched_facts.bpf.h"

/*
 * sockets: sends the two addresses of a socket when a thread first sleeps on it.
 *
 * One lookup in a small table shows whether they were sent before. The table's word depends on the
 * inode and the time: a socket that gets another peer is sent again after a while.
 */

#define SOCKET_SLOTS 4096
/* log2 of a time in jiffies. A socket is sent again after 4 s (HZ 1000) to 41 s (HZ 100). */
#define SOCKET_AGAIN_SHIFT 12

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SOCKET_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} socket_seen SEC(".maps");

static __always_inline void socket_read_inet(struct wire_socket *r, struct sock *sk)
{
	r->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	r->remote_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (r->family == AF_INET) {
		BPF_CORE_READ_INTO((__u32 *)r->local, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((__u32 *)r->remote, sk, __sk_common.skc_daddr);
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO((struct in6_addr *)r->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO((struct in6_addr *)r->remote, sk, __sk_common.skc_v6_daddr);
	}
}

static __always_inline void socket_read_unix(struct wire_socket *r, struct unix_sock *sk)
{
	struct unix_address *a;
	__u32 len;

	if (!bpf_core_type_exists(struct unix_sock))
		return;
	a = BPF_CORE_READ(sk, addr);
	if (!a) {
		sk = (void *)BPF_CORE_READ(sk, peer);
		a = BPF_CORE_READ(sk, addr);
	}
	if (!a)
		return;
	len = BPF_CORE_READ(a, len) - 2;	/* bytes without the family */
	if (len > WIRE_SOCKET_PATH)
		return;
	if (!bpf_probe_read_kernel(r->path, len, a->name[0].sun_path))
		r->path_len = len;
}

/* of: the switch that names the socket's inode, after emit_open(). */
static __always_inline void socket_send(const struct emit *of, struct file *file, __u64 ino,
					__u32 tid)
{
	__u32 slot = ino & (SOCKET_SLOTS - 1);
	__u64 word = ino << 24 ^ bpf_jiffies64() >> SOCKET_AGAIN_SHIFT;
	__u64 *seen = bpf_map_lookup_elem(&socket_seen, &slot);
	struct emit e = *of;
	struct wire_socket *r;
	struct socket *socket;
	struct sock *sk;

	if (!seen || *(volatile __u64 *)seen == word)
		return;
	e.hook = WIRE_SOCKET;
	r = emit_reserve(&e, sizeof(*r), tid, 0);
	if (!r)
		return;
	__builtin_memset(&r->ino, 0, sizeof(*r) - offsetof(struct wire_socket, ino));
	socket = BPF_CORE_READ(file, private_data);
	sk = BPF_CORE_READ(socket, sk);
	r->ino = ino;
	r->type = BPF_CORE_READ(socket, type);
	r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (r->family == AF_UNIX)
		socket_read_unix(r, (void *)sk);
	else if (r->family == AF_INET || r->family == AF_INET6)
		socket_read_inet(r, sk);
	emit_submit(&e, r);
	*(volatile __u64 *)seen = word;
}

/* Facts that a WIRE_SWITCH_MORE has in addition to a WIRE_SWITCH. */
struct stay {
	__u64 steal_ns;		/* time stolen from the CPU since its last switch */
	__u64 known_ns;		/* how long the leaving thread has had the CPU; 0: not reported */
	bool is_break;		/* no program ran at the switch to the leaving thread */
};

#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_NOLOAD 0x0400
#define STACK_BYTES_MIN 16384	/* least size of a thread's kernel stack */
#define TASK_FILTERED (~0ULL)	/* next_task has this value for a thread that is not recorded */

/*
 * Checks the time since the CPU's last switch, and stores the CPU's next task. If no program saw
 * the leaving thread arrive, either it took the CPU from a task that the kernel hides from BPF, or
 * a record was lost: then reads from the kernel when the thread arrived. False: nothing to report.
 * Compares threads by address, because an exec by a thread other than the leader changes the tid.
 */
static __always_inline bool look_back(struct wire_counters *c, struct task_struct *prev,
				      __u64 next_task, struct stay *ret)
{
	__u64 came_task = c->next_task, prev_task = (__u64)prev;
	struct rq *rq = fix_rq(c, prev);

	*ret = (struct stay){};
	c->next_task = next_task;
	if (came_task == prev_task && !(rq && fix_steal_grew(c, rq)))
		return false;
	if (rq)
		ret->steal_ns = fix_stolen_ns(c, rq);
	if (came_task != prev_task && came_task != TASK_FILTERED) {
		ret->is_break = came_task != 0;
		ret->known_ns = rq ? fix_stay_ns(rq, prev) : 0;
	}
	return ret->steal_ns || ret->known_ns || ret->is_break;
}

/*
 * Sends the name of the object that a thread waits for. Call this before sending the switch of the
 * thread.
 */
static __always_inline void send_name(const struct emit *e, const struct call *call, __u32 tid)
{
	struct inode *inode = call->inode;

	if (call->socket)
		socket_send(e, call->socket, call->object, tid);
	if (inode)
		path_send(e, inode, BPF_CORE_READ(inode, i_ino),
			  BPF_CORE_READ(inode, i_sb, s_dev), tid, 0);
}

/*
 * Distinguishes waits for locks of the kernel from other sleeps in a system call. If the lock is
 * not an inode's, sends the kernel frames; the recorder looks up their names. Returns the flags of
 * the switch.
 */
static __always_inline __u8 look_for_lock(void *ctx, const struct emit *of,
					  struct task_struct *prev, __u32 state, struct call *call)
{
	struct wire_place place;
	struct inode *inode;
	struct emit e = *of;
	__u32 type = call->call >> WIRE_CALL_FILE_SHIFT & 15;

	if (!(state & TASK_UNINTERRUPTIBLE) || state & TASK_NOLOAD ||
	    !(call->call & WIRE_CALL_IS_NUMBER) || call->call & WIRE_CALL_IS_32_BIT ||
	    type == WIRE_FILE_MMAP_LOCK || BPF_CORE_READ_BITFIELD_PROBED(prev, in_iowait))
		return 0;
	if (!call_may_be_locked(prev, call, &inode))
		return 0;
	if (inode) {
		call->call &= ~(15 << WIRE_CALL_FILE_SHIFT);
		call->call |= WIRE_FILE_INODE_LOCK << WIRE_CALL_FILE_SHIFT;
		call->object = WIRE_OBJECT_FILE(BPF_CORE_READ(inode, i_ino),
						BPF_CORE_READ(inode, i_sb, s_dev),
						BPF_CORE_READ(inode, i_generation));
		call->inode = inode;
		return 0;
	}
	__builtin_memset(&place, 0, sizeof(place));
	if (bpf_get_stack(ctx, place.frames, sizeof(place.frames), 0) <= 0)
		return 0;
	place.hdr.tid = prev->pid;
	e.hook = WIRE_PLACE;
	return emit_output(&e, &place, sizeof(place)) ? WIRE_F_PLACE : 0;
}

#define TASK_INTERRUPTIBLE 0x1
#define TASK_FROZEN 0x8000	/* frozen by the freezer of cgroup v1; since Linux 6.1 */
#define FREEZER_SELF 2		/* CGROUP_FREEZING_SELF */
#define GROUPS_MAX 16

/* Finds the control group that froze a thread: its own group, or an ancestor. */
static __always_inline void look_for_freezer(struct task_struct *prev, __u32 state,
					     struct call *call)
{
	/*
	 * check the state, too: prev->frozen is also set while a signal or ptrace stops the thread,
	 * and while the thread waits after vfork, but these states are not interruptible
	 */
	bool is_v2 = state & TASK_INTERRUPTIBLE && bpf_core_field_exists(prev->frozen) &&
		     BPF_CORE_READ_BITFIELD(prev, frozen);
	struct cgroup_subsys_state *css = NULL;
	struct cgroup *group;
	struct css_set *set;

	if ((!is_v2 && !(state & TASK_FROZEN)) || prev->flags & TASK_PF_KTHREAD)
		return;
	call->call = WIRE_CALL_FROZEN;
	call->object = 0;
	call->socket = NULL;
	call->inode = NULL;
	set = BPF_CORE_READ(prev, cgroups);
	group = BPF_CORE_READ(set, dfl_cgrp);
	if (is_v2)
		css = __builtin_preserve_access_index(&group->self);
	else if (bpf_core_enum_value_exists(enum cgroup_subsys_id, freezer_cgrp_id))
		bpf_probe_read_kernel(&css, sizeof(css),
				      (void *)__builtin_preserve_access_index(&set->subsys[0]) +
					      bpf_core_enum_value(enum cgroup_subsys_id,
								  freezer_cgrp_id) *
						      sizeof(css));
	for (int i = 0; i < GROUPS_MAX && css; i++) {
		/* css is the first member of struct freezer */
		struct freezer *freezer = (void *)css;

		group = BPF_CORE_READ(css, cgroup);
		if (is_v2 ? BPF_CORE_READ(group, freezer.freeze) :
			    BPF_CORE_READ(freezer, state) & FREEZER_SELF) {
			call->object = BPF_CORE_READ(group, kn, id) & (WIRE_OBJECT_GROUP_V1 - 1);
			if (!is_v2)
				call->object |= WIRE_OBJECT_GROUP_V1;
			return;
		}
		css = BPF_CORE_READ(css, parent);
	}
}

static __always_inline void send_switch(struct emit *e, struct wire_switch *r,
					struct task_struct *prev, struct task_struct *next,
					__u32 state, const struct call *call)
{
	r->next_tid = next->pid;
	r->prev_state = state;
	r->prev_prio = prev->prio;
	r->next_prio = next->prio;
	r->call = call->call;
	r->object_high = call->object >> 32;
	r->object_low = call->object;
	emit_submit(e, r);
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	bool preempt = ctx[0];
	struct task_struct *prev = (void *)ctx[1];
	struct task_struct *next = (void *)ctx[2];
	__u64 next_task = (__u64)next;
	struct wire_switch_more *more;
	struct wire_switch *r;
	struct stay stay;
	struct call call;
	__u8 flags = 0;
	struct emit e;
	__u32 state;

	if (conf_only) {
		bool next_in = filter_is_target(next->tgid);

		if (!next_in && !filter_is_target(prev->tgid))
			return 0;
		if (!next_in) {
			flags |= WIRE_F_NEXT_OUT;
			next_task = TASK_FILTERED;
		}
	}
	if (!emit_open(&e, WIRE_SWITCH))
		return 0;
	/*
	 * prev_state is an argument since 9c2136be0878 (5.18). On older kernels a wake-up may
	 * already have changed the field.
	 */
	if (conf_switch_state_arg)
		state = CTX_ARG(ctx, 3);
	else
		state = fix_task_state(prev);
	/*
	 * The kernel counts a switch as involuntary (nivcsw) if prev is still runnable. `preempt`
	 * is not set if prev was switched out while returning to user space, or yielded. A switch
	 * from the idle task counts as neither.
	 */
	if (preempt || (!state && prev->pid))
		flags |= WIRE_F_PREEMPT;
	if (preempt)
		state = 0;
	call = call_of(e.cnt, prev, state != 0, true);
	call.call = fix_forget(e.cnt, call.call);
	call.object = fix_forget(e.cnt, call.object);
	call.socket = (void *)fix_forget(e.cnt, (__u64)call.socket);
	call.inode = (void *)fix_forget(e.cnt, (__u64)call.inode);
	if (state)
		look_for_freezer(prev, state, &call);
	flags |= look_for_lock(ctx, &e, prev, state, &call);
	send_name(&e, &call, prev->pid);
	sched_facts_check(&e, prev);
	if (!look_back(e.cnt, prev, next_task, &stay)) {
		r = emit_reserve(&e, sizeof(*r), prev->pid, flags);
		if (!r)
			goto lost;
		send_switch(&e, r, prev, next, state, &call);
		return 0;
	}
	e.hook = WIRE_SWITCH_MORE;
	more = emit_reserve(&e, sizeof(*more), prev->pid,
			    flags | (stay.is_break ? WIRE_F_BREAK : 0));
	if (!more)
		goto lost;
	more->steal_ns = stay.steal_ns;
	more->stay_ns = stay.known_ns;
	send_switch(&e, &more->common, prev, next, state, &call);
	return 0;
lost:
	e.cnt->next_task = 0;
	return 0;
}

/* Reserves a record about task p, which may differ from the current task. */
static __always_inline void *begin_about(struct emit *e, __u32 hook, __u64 size,
					 struct task_struct *p)
{
	__u64 id;

	if (!emit_find(e, hook, false))
		return NULL;
	id = fix_current_id(e->cnt);
	if (conf_only && !filter_is_target(p->tgid) && !filter_is_target(id >> 32))
		return NULL;
	if (!emit_clock(e))
		return NULL;
	return emit_reserve(e, size, id, fix_irq_flag(e->cnt));
}

/*
 * Stores the timer that expires on this CPU; its function may wake a thread. The timer of a sleep
 * with a timeout is on the stack of the sleeping thread.
 */
static __always_inline int note_timer(__u64 timer)
{
	struct emit e;

	if (emit_find(&e, WIRE_WAKING, false))
		e.cnt->timer_at = timer;
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int timer_high_res(u64 *ctx)
{
	return note_timer(ctx[0]);
}

SEC("tp_btf/timer_expire_entry")
int timer_wheel(u64 *ctx)
{
	return note_timer(ctx[0]);
}

/* Returns whether the timer that expired last ends a sleep of the task. */
static __always_inline bool is_timed_out(struct wire_counters *c, struct task_struct *p)
{
	__u64 size = c->regs_offset ? c->regs_offset : STACK_BYTES_MIN;

	if (c->timer_at - (__u64)p->stack >= size)
		return false;
	c->timer_at = 0;
	return true;
}

static __always_inline int send_waking(struct task_struct *p, __u32 hook, __u8 is_new)
{
	struct wire_waking *r;
	struct emit e;

	r = begin_about(&e, hook, sizeof(*r), p);
	if (!r)
		return 0;
	r->target_tid = p->pid;
	r->target_cpu = fix_task_cpu(p);
	r->prio = p->prio;
	r->is_new = is_new;
	r->call = r->hdr.flags & WIRE_F_IRQ && is_timed_out(e.cnt, p) ? WIRE_CALL_TIMEOUT :
									call_of_waker(e.cnt);
	r->zero = 0;
	r->zero_too = 0;
	emit_submit(&e, r);
	return 0;
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	return send_waking((void *)ctx[0], WIRE_WAKING, 0);
}

SEC("tp_btf/sched_wakeup_new")
int sched_wake_new(u64 *ctx)
{
	return send_waking((void *)ctx[0], WIRE_WAKEUP_NEW, 1);
}

/*
 * A thread moves from one CPU's run queue to another's: because the thread wakes up on the other
 * CPU, the balancer moves it, or its affinity changes. The kernel holds p->pi_lock or the lock of
 * the run queue, so the thread's fields are stable.
 */
SEC("tp_btf/sched_migrate_task")
int sched_migrate(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	__u32 from = fix_task_cpu(p), to = ctx[1];
	struct wire_migrate *r;
	struct emit e;

	/*
	 * The tracepoint also fires if a thread stays on its CPU, which the kernel does not count
	 * as a migration.
	 */
	if (from == to)
		return 0;
	r = begin_about(&e, WIRE_MIGRATE, sizeof(*r), p);
	if (!r)
		return 0;
	r->target_tid = p->pid;
	r->from_cpu = from;
	r->to_cpu = to;
	emit_submit(&e, r);
	return 0;
}
