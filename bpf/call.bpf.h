/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * call.bpf.h: what a thread was doing when it left its CPU, as a wire_call: a system call, with the
 * type of what it waits for; user code; a kernel thread; or nothing, because the
 * quota of its group was used up. On the way into the kernel a task leaves the registers of user
 * space on its stack, with the number of the call, or -1 after an exception or interrupt.
 */
#pragma once

#include "fixes.bpf.h"

#define TASK_PF_IO_WORKER 0x00000010
#define TASK_PF_USER_WORKER 0x00004000
#define TASK_TS_COMPAT 0x0002
#define TASK_PSR_MODE32 0x10
#define CALL_FUTEX_PRIVATE 128
#define INODE_S_ANON (1u << 19)	/* an anonymous inode has the mode of a file since 6.16 */

/* Holds what a task does, and what it waits for. */
struct call {
	__u16 call;		/* WIRE_CALL_* */
	__u64 object;		/* address of a lock, or what WIRE_FILE_* says; 0: not known */
	struct file *socket;	/* NULL: it is none */
	bool is_current;	/* the memory of the task's process can be read */
};

/* Holds the registers that a call was made with. */
struct call_regs {
	__s64 number;
	__u64 arg, arg1, arg2;
	bool is_32_bit;
};

static __always_inline struct call_regs call_regs_of(struct task_struct *task)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	struct call_regs r = { .number = -1 };

#if defined(__TARGET_ARCH_x86)
	struct thread_info___x86 *ti = (void *)&task->thread_info;

	r.number = (__s64)regs->orig_ax;
	r.arg = regs->di;
	r.arg1 = regs->si;
	r.arg2 = regs->dx;
	r.is_32_bit = r.number >= 0 && ti->status & TASK_TS_COMPAT;
#elif defined(__TARGET_ARCH_arm64)
	r.number = regs->syscallno;
	r.arg = regs->orig_x0;
	r.arg1 = regs->user_regs.regs[1];
	r.arg2 = regs->user_regs.regs[2];
	r.is_32_bit = regs->user_regs.pstate & TASK_PSR_MODE32;
#endif
	return r;
}

/*
 * The calls whose first argument is a file of any type: read, write, their relatives, and ioctl;
 * or a socket: connect, accept, send, recv and theirs.
 */
static __always_inline bool call_is_of_file(__u64 number)
{
#if defined(__TARGET_ARCH_x86)
	return number <= 1 || (number >= 16 && number <= 20) || (number >= 42 && number <= 47) ||
	       number == 288 || number == 299 || number == 307;
#else
	return (number >= 63 && number <= 68) || number == 29 ||
	       (number >= 202 && number <= 207) || number == 211 || number == 212 ||
	       number == 242 || number == 243 || number == 269;
#endif
}

/* Returns WIRE_FILE_*: the type of a task's open file. Sets what a sleep for it is for. */
static __always_inline __u32 call_look_at_file(struct task_struct *task, __u64 fd,
					       struct call *c)
{
	struct files_struct *files = FIX_ARG(task)->files;
	struct fdtable *fdt;
	struct inode *inode;
	struct file *file;
	__u64 name;
	__u32 mode;

	if (!files)
		return WIRE_FILE_UNKNOWN;
	fdt = FIX_CAST(files)->fdt;
	if (fd >= FIX_CAST(fdt)->max_fds)
		return WIRE_FILE_UNKNOWN;
	file = (void *)fix_peek((__u64)FIX_CAST(fdt)->fd + fd * 8);
	inode = FIX_CAST(file)->f_inode;
	if (!file || !inode)
		return WIRE_FILE_UNKNOWN;
	mode = FIX_CAST(inode)->i_mode >> 12;
	if (!mode || (mode == WIRE_FILE_REGULAR && FIX_CAST(inode)->i_flags & INODE_S_ANON)) {
		name = fix_peek((__u64)BPF_CORE_READ(file, f_path.dentry, d_name.name));
		if ((name & 0xff) == '[')
			name >>= 8;
		c->object = WIRE_OBJECT_ANONYMOUS(fd, name & 0xff, name >> 40 & 0xff);
		return WIRE_FILE_ANONYMOUS;
	}
	if (mode == WIRE_FILE_SOCKET || mode == WIRE_FILE_PIPE)
		c->object = FIX_CAST(inode)->i_ino;
	else if (mode == WIRE_FILE_DEVICE || mode == WIRE_FILE_BLOCK_DEVICE)
		c->object = FIX_CAST(inode)->i_rdev;
	else
		c->object = WIRE_OBJECT_FILE(FIX_CAST(inode)->i_ino,
					     BPF_CORE_READ(inode, i_sb, s_dev),
					     FIX_CAST(inode)->i_generation);
	if (mode == WIRE_FILE_SOCKET)
		c->socket = file;
	return mode;
}

static __always_inline bool call_is_throttled(struct task_struct *task)
{
	struct task_struct___throttled *t = (void *)task;
	struct cfs_rq___throttled *queue = NULL;

	/* Since 6.18 a task leaves at its way back to user space, and says so (7fc2d1439247). */
	if (bpf_core_field_exists(t->throttled))
		return t->throttled;
	if (!bpf_core_field_exists(task->se.cfs_rq) ||
	    !bpf_core_field_exists(queue->throttle_count))
		return false;
	queue = (void *)task->se.cfs_rq;
	return queue->throttle_count > 0;
}

/* The calls that wait for a lock, whose address is their first argument: futex, futex_wait. */
static __always_inline bool call_is_of_lock(__u64 number)
{
#if defined(__TARGET_ARCH_x86)
	return number == 202 || number == 455;
#else
	return number == 98 || number == 455;
#endif
}

/* epoll_wait, epoll_pwait, epoll_pwait2: the first argument is the epoll. */
static __always_inline bool call_is_of_epoll(__u64 number)
{
#if defined(__TARGET_ARCH_x86)
	return number == 232 || number == 281 || number == 441;
#else
	return number == 22 || number == 441;
#endif
}

/* The calls that change the mappings of the process, or copy them for a child. */
static __always_inline bool call_is_of_mappings(__u64 number)
{
#if defined(__TARGET_ARCH_x86)
	return (number >= 9 && number <= 12) || number == 25 || number == 28 ||
	       (number >= 56 && number <= 58) || number == 435;
#else
	return number == 214 || number == 215 || number == 216 || number == 220 || number == 222 ||
	       number == 226 || number == 233 || number == 435;
#endif
}

#define CALL_WAITERS_MAX 8	/* those that came last are looked at */

/* The task is in the queue for the lock of its process's mappings, a ring. */
static __always_inline bool call_waits_for_mmap_lock(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct rw_semaphore___first *lock_new = NULL;
	struct rw_semaphore *lock = NULL;
	struct rwsem_waiter *w = NULL;
	void *head;	/* the ring is over there */
	int i;

	if (!mm || !bpf_core_field_exists(w->task))
		return false;
	if (bpf_core_field_exists(lock->wait_list)) {
		head = &mm->mmap_lock.wait_list;
	} else if (bpf_core_field_exists(lock_new->first_waiter)) {
		/* in Linux 7.2 the lock itself is no part of the ring */
		lock_new = (void *)&mm->mmap_lock;
		head = BPF_CORE_READ(lock_new, first_waiter);
	} else {
		return false;
	}
	w = head;
	for (i = 0; i < CALL_WAITERS_MAX && w; i++) {
		w = (void *)BPF_CORE_READ(w, list.prev);
		if (w && BPF_CORE_READ(w, task) == task)
			return true;
		if ((void *)w == head)
			break;
	}
	return false;
}

/* Returns how long a sleep of the current task is to be; 0: not told, or until an instant. */
static __always_inline __u64 call_sleep_ns(const struct call_regs *r)
{
	const void *from = NULL;
	struct {
		__s64 sec, nsec;
	} length;

#if defined(__TARGET_ARCH_x86)
	if (r->number == 35)
		from = (void *)r->arg;
	else if (r->number == 230 && !r->arg1)
		from = (void *)r->arg2;
#else
	if (r->number == 101)
		from = (void *)r->arg;
	else if (r->number == 115 && !r->arg1)
		from = (void *)r->arg2;
#endif
	if (!from || bpf_probe_read_user(&length, sizeof(length), from) ||
	    (__u64)length.sec >= 1 << 17)
		return 0;
	return length.sec * 1000000000ULL + length.nsec;
}

static __always_inline bool call_is_wait4(__u64 number)
{
#if defined(__TARGET_ARCH_x86)
	return number == 61;
#else
	return number == 260;
#endif
}

#define CALL_THREADS_MAX 16	/* of the process, the oldest ones are looked at */

/*
 * A futex call waits for the end of another thread, as pthread_join() does: on the word that the
 * kernel clears at that thread's exit. It holds the thread's id until then.
 */
static __always_inline bool call_is_join(struct task_struct *task, const struct call_regs *r)
{
	struct signal_struct *signal;
	struct task_struct *t = NULL;
	struct list_head *head, *at;
	int i;

	/* the kernel's wake-up is no private one */
	if (r->number == 455 || r->arg1 & CALL_FUTEX_PRIVATE || (__s32)r->arg2 <= 0)
		return false;
	signal = BPF_CORE_READ(task, signal);
	head = at = &signal->thread_head;
	for (i = 0; i < CALL_THREADS_MAX; i++) {
		at = BPF_CORE_READ(at, next);
		if (!at || at == head)
			return false;
		t = (void *)at - bpf_core_field_offset(t->thread_node);
		if ((__u64)BPF_CORE_READ(t, clear_child_tid) == r->arg)
			return true;
	}
	return false;
}

/* WIRE_FILE_* of what a task waits for in a call whose arguments say it. Sets what that is. */
static __always_inline __u32 call_look(struct task_struct *task, const struct call_regs *r,
				       struct call *c)
{
	if (conf_peek && call_is_of_file(r->number))
		return call_look_at_file(task, r->arg, c);
	if (call_is_of_epoll(r->number)) {
		c->object = WIRE_OBJECT_ANONYMOUS(r->arg, 'e', 'p');
		return WIRE_FILE_ANONYMOUS;
	}
	if (call_is_of_lock(r->number)) {
		if (call_is_join(task, r)) {
			c->object = (__u32)r->arg2;
			return WIRE_FILE_THREAD;
		}
		c->object = r->arg;
		return WIRE_FILE_UNKNOWN;
	}
	if (call_is_wait4(r->number) && (__s32)r->arg > 0) {
		c->object = (__u32)r->arg;
		return WIRE_FILE_PROCESS;
	}
	if (call_is_of_mappings(r->number) && call_waits_for_mmap_lock(task)) {
		c->object = task->tgid;
		return WIRE_FILE_MMAP_LOCK;
	}
	c->object = c->is_current ? call_sleep_ns(r) : 0;
	return c->object ? WIRE_FILE_TIMER : WIRE_FILE_UNKNOWN;
}

/* WIRE_CALL_* of what the task does, or would do if it had a CPU; with c, what it waits for. */
static __always_inline __u16 call_number(struct task_struct *task, struct call *c)
{
	struct call_regs r;
	__u32 type = 0;

	if (!task->pid)
		return WIRE_CALL_UNKNOWN;
	if (task->flags & (TASK_PF_KTHREAD | TASK_PF_IO_WORKER | TASK_PF_USER_WORKER))
		return WIRE_CALL_KERNEL;
	if (!c && call_is_throttled(task))
		return WIRE_CALL_THROTTLED;
	if (!conf_call)
		return WIRE_CALL_UNKNOWN;
	r = call_regs_of(task);
	if (r.number < 0 && c && call_waits_for_mmap_lock(task)) {
		c->object = task->tgid;
		return WIRE_CALL_FAULT;
	}
	if (r.number < 0)
		return WIRE_CALL_USER;
	if (r.number > WIRE_CALL_NUMBER_MASK)
		return WIRE_CALL_OTHER;
	if (c && !r.is_32_bit)
		type = call_look(task, &r, c);
	return WIRE_CALL_IS_NUMBER | (r.is_32_bit ? WIRE_CALL_IS_32_BIT : 0) |
	       type << WIRE_CALL_FILE_SHIFT | r.number;
}

/* is_asleep: the task waits in what it does. */
static __always_inline struct call call_of(struct task_struct *task, bool is_asleep,
					   bool is_current)
{
	struct call c = { .is_current = is_current };

	c.call = is_asleep ? call_number(task, &c) : call_number(task, NULL);
	return c;
}
