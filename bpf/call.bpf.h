/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * call.bpf.h: finds the activity of a thread when it leaves its CPU, as WIRE_CALL_*: a system call,
 * with the type of the object that the thread waits for; user code; a kernel thread; or throttled,
 * because the quota of its group was used up. On entry to the kernel a task saves its user
 * registers on the kernel stack, with the number of the system call, or -1 for an exception or
 * interrupt.
 */
#pragma once

#include "fixes.bpf.h"

#define TASK_PF_IO_WORKER 0x00000010
#define TASK_PF_USER_WORKER 0x00004000
#define TASK_PF_EXITING 0x00000004
#define TASK_TS_COMPAT 0x0002
#define TASK_PSR_MODE32 0x10
#define CALL_FUTEX_PRIVATE 128
#define CALL_FUTEX_CLOCK_REALTIME 256
#define CALL_FUTEX_COMMAND 127
#define CALL_FUTEX_WAIT 0
#define CALL_FUTEX_WAIT_BITSET 9
#define CALL_FUTEX_WAIT_REQUEUE_PI 11
#define CALL_FUTEX_WAITERS 0x80000000
#define CALL_POLLS_NS 20000000ULL
#define CALL_FDS_MIN 64	/* the kernel's smallest table of open files (NR_OPEN_DEFAULT) */
#define SUPER_I_KERNEL 6	/* SB_I_NOEXEC and SB_I_NODEV: proc, sysfs, control groups */
#define INODE_S_ANON (1u << 19)	/* since 6.16 anonymous inodes have the mode of a regular file */

/* A task's activity, and the object that it waits for. */
struct call {
	__u16 call;		/* WIRE_CALL_* */
	__u64 object;		/* address of a lock, or see WIRE_FILE_*; 0: unknown */
	struct file *socket;	/* NULL: not a socket */
	struct inode *inode;	/* the file or directory in `object`; NULL: other objects */
	bool is_current;	/* the task is the current one: its user memory can be read */
};

/* The registers in which a caller passes the number and arguments of a system call. */
#if defined(__TARGET_ARCH_x86)
#define CALL_NUMBER(regs) ((__s64)(regs)->orig_ax)
#define CALL_ARG(regs) ((regs)->di)
#define CALL_ARG1(regs) ((regs)->si)
#define CALL_ARG2(regs) ((regs)->dx)
#define CALL_ARG3(regs) ((regs)->r10)
#elif defined(__TARGET_ARCH_arm64)
#define CALL_NUMBER(regs) ((__s64)(regs)->syscallno)
#define CALL_ARG(regs) ((regs)->orig_x0)
#define CALL_ARG1(regs) ((regs)->user_regs.regs[1])
#define CALL_ARG2(regs) ((regs)->user_regs.regs[2])
#define CALL_ARG3(regs) ((regs)->user_regs.regs[3])
#endif

/*
 * Returns the user registers of a task. c: this CPU's counters, or NULL. If they have regs_offset,
 * no helper is called.
 */
static __always_inline struct pt_regs *call_regs(const struct wire_counters *c,
						 struct task_struct *task)
{
	struct pt_regs *regs;

	if (conf_peek && c && c->regs_offset) {
		regs = task->stack + c->regs_offset;
		return FIX_CAST(regs);
	}
	return (void *)bpf_task_pt_regs(task);
}

static __always_inline bool call_is_32_bit(struct task_struct *task, struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	struct thread_info___x86 *ti = (void *)&task->thread_info;

	return ti->status & TASK_TS_COMPAT;
#elif defined(__TARGET_ARCH_arm64)
	return regs->user_regs.pstate & TASK_PSR_MODE32;
#endif
}

/*
 * Returns whether the first argument of a system call is a descriptor. These calls are read, write,
 * connect, accept, send, recv and their relatives, and ioctl, fcntl, flock, fsync, fdatasync,
 * ftruncate, getdents64, sync_file_range and fallocate.
 */
static __always_inline bool call_is_of_file(__u64 number)
{
#if defined(__TARGET_ARCH_x86)
	return number <= 1 || (number >= 16 && number <= 20) || (number >= 42 && number <= 47) ||
	       (number >= 72 && number <= 75) || number == 77 || number == 217 || number == 277 ||
	       number == 285 || number == 288 || number == 299 || number == 307;
#else
	return (number >= 63 && number <= 68) || number == 25 || number == 29 || number == 32 ||
	       number == 46 || number == 47 || number == 61 || (number >= 82 && number <= 84) ||
	       (number >= 202 && number <= 207) || number == 211 || number == 212 ||
	       number == 242 || number == 243 || number == 269;
#endif
}

/*
 * Returns the type of a task's open file as WIRE_FILE_*. Sets c->object and, for some types,
 * c->inode or c->socket.
 */
static __always_inline __u32 call_look_at_file(struct task_struct *task, __u64 fd,
					       struct call *c)
{
	struct files_struct *files = FIX_CAST(task)->files;
	struct fdtable *fdt = FIX_CAST(files)->fdt;
	struct thread_info___word *place;
	struct super_block *super;
	struct inode *inode;
	struct file *file;
	__u64 name;
	__u32 mode;

	/* FIX_CAST(NULL)->max_fds is 0, without a fault. */
	if (fd >= CALL_FDS_MIN && fd >= FIX_CAST(fdt)->max_fds)
		return WIRE_FILE_UNKNOWN;
	place = (void *)FIX_CAST(fdt)->fd + fd * 8;
	file = (void *)FIX_CAST(place)->flags;
	inode = FIX_CAST(file)->f_inode;
	if (!inode)
		return WIRE_FILE_UNKNOWN;
	inode = FIX_CAST(inode);
	mode = inode->i_mode >> 12;
	if (mode == WIRE_FILE_PIPE) {
		c->object = inode->i_ino;
		return mode;
	}
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
	else {
		super = FIX_CAST(inode)->i_sb;
		c->object = WIRE_OBJECT_FILE(FIX_CAST(inode)->i_ino, BPF_CORE_READ(super, s_dev),
					     FIX_CAST(inode)->i_generation);
		c->inode = inode;
		if (mode == WIRE_FILE_REGULAR &&
		    (BPF_CORE_READ(super, s_iflags) & SUPER_I_KERNEL) == SUPER_I_KERNEL)
			return WIRE_FILE_KERNEL;
	}
	if (mode == WIRE_FILE_SOCKET)
		c->socket = file;
	return mode;
}

static __always_inline bool call_is_throttled(struct task_struct *task)
{
	struct task_struct___throttled *t = (void *)task;
	struct cfs_rq___throttled *queue = NULL;

	/* SCHED_DEADLINE: has the task used up the runtime of this period? */
	if (task->prio < 0)
		return BPF_CORE_READ_BITFIELD_PROBED(&task->dl, dl_throttled);
	/*
	 * Since 6.18 a task is throttled when it returns to user space, and has a flag
	 * (7fc2d1439247).
	 */
	if (bpf_core_field_exists(t->throttled))
		return t->throttled;
	if (!bpf_core_field_exists(task->se.cfs_rq) ||
	    !bpf_core_field_exists(queue->throttle_count))
		return false;
	queue = (void *)task->se.cfs_rq;
	return queue->throttle_count > 0;
}

/* Returns whether the first argument is the address of a lock: futex, futex_wait. */
static __always_inline bool call_is_of_lock(__u64 number)
{
#if defined(__TARGET_ARCH_x86)
	return number == 202 || number == 455;
#else
	return number == 98 || number == 455;
#endif
}

/*
 * Returns whether the first argument is an epoll descriptor: epoll_wait, epoll_pwait, epoll_pwait2.
 */
static __always_inline bool call_is_of_epoll(__u64 number)
{
#if defined(__TARGET_ARCH_x86)
	return number == 232 || number == 281 || number == 441;
#else
	return number == 22 || number == 441;
#endif
}

/* Returns whether the arguments are an array of descriptors and its length: poll, ppoll. */
static __always_inline bool call_is_of_poll(__u64 number)
{
#if defined(__TARGET_ARCH_x86)
	return number == 7 || number == 271;
#else
	return number == 73;
#endif
}

/* Returns whether a call changes the mappings of the process, or copies them for a child. */
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

#define CALL_WAITERS_MAX 8	/* waiters to check, from the end of a queue */

/* Returns whether the task is among the lock's last waiters. Their queue is a ring. */
static __always_inline bool call_waits_in_queue(struct task_struct *task, void *lock)
{
	struct rw_semaphore___first *lock_new = lock;
	struct rw_semaphore *lock_old = lock;
	struct rwsem_waiter *w = NULL;
	void *head;	/* the ring ends here */
	int i;

	if (!bpf_core_field_exists(w->task))
		return false;
	if (bpf_core_field_exists(lock_old->wait_list)) {
		head = &lock_old->wait_list;
	} else if (bpf_core_field_exists(lock_new->first_waiter)) {
		/* in Linux 7.2 the ring has no element in the lock itself */
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

static __always_inline bool call_waits_for_mmap_lock(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	return mm && call_waits_in_queue(task, &mm->mmap_lock);
}

#define BLOCKER_TYPE 3	/* bits of task->blocker: 0 mutex, 1 semaphore, 2 and 3 rwsem */
#define BLOCKER_RWSEM 2

/*
 * Returns whether an uninterruptible sleep may be a wait for a lock of the kernel. Sets *ret to the
 * inode that contains the lock, which is the call's file or is found by task->blocker; NULL: no
 * inode.
 */
static __always_inline bool call_may_be_locked(struct task_struct *task, const struct call *c,
					       struct inode **ret)
{
	struct task_struct___blocker *t = (void *)task;
	struct inode *inode = c->inode;
	__u64 lock;

	*ret = inode && call_waits_in_queue(task, &inode->i_rwsem) ? inode : NULL;
	if (*ret || !bpf_core_field_exists(t->blocker))
		return true;
	lock = BPF_CORE_READ(t, blocker);
	inode = (void *)(lock & ~(__u64)BLOCKER_TYPE) - bpf_core_field_offset(inode->i_rwsem);
	if ((lock & BLOCKER_TYPE) >= BLOCKER_RWSEM && BPF_CORE_READ(inode, i_data.host) == inode)
		*ret = inode;
	return lock != 0;
}

/*
 * Returns the length of the current task's sleep, by the arguments of its call (nanosleep, or poll
 * without descriptors). 0: unknown, or the sleep ends at an absolute time.
 */
static __always_inline __u64 call_sleep_ns(struct pt_regs *regs, __u64 number)
{
	const void *from = NULL;
	struct {
		__s64 sec, nsec;
	} length;

#if defined(__TARGET_ARCH_x86)
	if (number == 35)
		from = (void *)CALL_ARG(regs);
	else if ((number == 230 || number == 271) && !CALL_ARG1(regs))
		from = (void *)CALL_ARG2(regs);
	else if (number == 7 && !CALL_ARG1(regs) && (__s32)CALL_ARG2(regs) > 0)
		return (__u32)CALL_ARG2(regs) * 1000000ULL;
#else
	if (number == 101)
		from = (void *)CALL_ARG(regs);
	else if ((number == 115 || number == 73) && !CALL_ARG1(regs))
		from = (void *)CALL_ARG2(regs);
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

#define CALL_THREADS_MAX 16	/* threads of a process to check, oldest first */

/*
 * Returns whether a futex call waits for the end of another thread, as pthread_join() does. Its
 * futex is the word that the kernel clears when that thread exits, and that holds the thread's id
 * until then.
 */
static __always_inline bool call_is_join(struct task_struct *task, struct pt_regs *regs,
					 __u64 number)
{
	struct signal_struct *signal;
	struct task_struct *t = NULL;
	struct list_head *head, *at;
	int i;

	/* a join's futex is not private: the kernel's wake-up at a thread's exit is not private */
	if (number == 455 || CALL_ARG1(regs) & CALL_FUTEX_PRIVATE || (__s32)CALL_ARG2(regs) <= 0)
		return false;
	signal = BPF_CORE_READ(task, signal);
	head = at = &signal->thread_head;
	for (i = 0; i < CALL_THREADS_MAX; i++) {
		at = BPF_CORE_READ(at, next);
		if (!at || at == head)
			return false;
		t = (void *)at - bpf_core_field_offset(t->thread_node);
		if ((__u64)BPF_CORE_READ(t, clear_child_tid) == CALL_ARG(regs))
			return true;
	}
	return false;
}

/*
 * Returns whether a futex call has a timeout of less than 20 ms (relative, or by the monotonic
 * clock), or a timeout that cannot be read.
 */
static __always_inline bool call_polls(struct pt_regs *regs, bool is_current)
{
	const void *from = (void *)CALL_ARG3(regs);
	__u64 now_ns = 0;
	struct {
		__s64 sec, nsec;
	} until;

	if (!from)
		return false;
	if (!is_current || bpf_probe_read_user(&until, sizeof(until), from))
		return true;
	if ((CALL_ARG1(regs) & CALL_FUTEX_COMMAND) == CALL_FUTEX_WAIT_BITSET)
		now_ns = bpf_ktime_get_ns();
	return until.sec * 1000000000ULL + until.nsec < now_ns + CALL_POLLS_NS;
}

/*
 * Returns whether a futex call waits for a condition variable or a semaphore rather than for a
 * lock, judging by its arguments.
 *
 * Value 0 means a condition variable of glibc before 2.41 or a semaphore: a lock of value 0 is
 * free, so no thread waits for it.
 *
 * A condition variable of glibc 2.41 may have any value, but its calls have CLOCK_REALTIME. Calls
 * for semaphores and locks also have CLOCK_REALTIME. Those for locks are excluded by their values:
 * 2 or 3, FUTEX_WAITERS with the owner of a robust mutex, or the lowest bits 6 for readers of a
 * lock that prefers writers.
 *
 * A wait with a short timeout may be one of many waits for a lock that is built from a condition
 * variable, such as Python's.
 */
static __always_inline bool call_is_condition(struct pt_regs *regs, __u64 number, bool is_current)
{
	__u64 op = CALL_ARG1(regs);
	__u32 command = op & CALL_FUTEX_COMMAND, value = CALL_ARG2(regs);

	if (number == 455)
		return !CALL_ARG1(regs);
	if (command == CALL_FUTEX_WAIT_REQUEUE_PI)
		return true;
	if (command != CALL_FUTEX_WAIT && command != CALL_FUTEX_WAIT_BITSET)
		return false;
	if (value && (!(op & CALL_FUTEX_CLOCK_REALTIME) || value == 2 || value == 3 ||
		      (value & 7) == 6 || value & CALL_FUTEX_WAITERS))
		return false;
	return !call_polls(regs, is_current);
}

/* Returns the WIRE_FILE_* that a task waits for, from the arguments of its call. Sets c->object. */
static __always_inline __u32 call_look(struct task_struct *task, struct pt_regs *regs,
				       __u64 number, struct call *c)
{
	__u64 arg = CALL_ARG(regs);
	bool is_of_file = call_is_of_file(number);
	__u32 fd = arg;

	/* with several descriptors, it is unknown which one will end the wait */
	if (call_is_of_poll(number) && CALL_ARG1(regs) == 1 && c->is_current)
		is_of_file = !bpf_probe_read_user(&fd, sizeof(fd), (void *)arg);
	if (conf_peek && is_of_file)
		return call_look_at_file(task, fd, c);
	if (call_is_of_epoll(number)) {
		c->object = WIRE_OBJECT_ANONYMOUS(arg, 'e', 'p');
		return WIRE_FILE_ANONYMOUS;
	}
	if (call_is_of_lock(number)) {
		if (call_is_join(task, regs, number)) {
			c->object = (__u32)CALL_ARG2(regs);
			return WIRE_FILE_THREAD;
		}
		c->object = arg;
		return call_is_condition(regs, number, c->is_current) ? WIRE_FILE_CONDITION :
									WIRE_FILE_UNKNOWN;
	}
	if (call_is_wait4(number) && (__s32)arg > 0) {
		c->object = (__u32)arg;
		return WIRE_FILE_PROCESS;
	}
	if (call_is_of_mappings(number) && call_waits_for_mmap_lock(task)) {
		c->object = task->tgid;
		return WIRE_FILE_MMAP_LOCK;
	}
	c->object = c->is_current ? call_sleep_ns(regs, number) : 0;
	return c->object ? WIRE_FILE_TIMER : WIRE_FILE_UNKNOWN;
}

/*
 * Returns the task's current or last activity as WIRE_CALL_*. c: receives the object of the wait;
 * NULL if the task does not wait in its call.
 */
static __always_inline __u16 call_number(const struct wire_counters *cnt,
					 struct task_struct *task, struct call *c)
{
	struct pt_regs *regs;
	__s64 number;
	__u32 type = 0;

	if (!task->pid)
		return WIRE_CALL_UNKNOWN;
	if (task->flags & (TASK_PF_KTHREAD | TASK_PF_IO_WORKER | TASK_PF_USER_WORKER))
		return WIRE_CALL_KERNEL;
	if (!c && call_is_throttled(task))
		return WIRE_CALL_THROTTLED;
	if (!conf_call)
		return WIRE_CALL_UNKNOWN;
	regs = call_regs(cnt, task);
	number = CALL_NUMBER(regs);
	if (number < 0) {
		if (!c || !call_waits_for_mmap_lock(task))
			return WIRE_CALL_USER;
		c->object = task->tgid;
		return WIRE_CALL_FAULT;
	}
	if (number > WIRE_CALL_NUMBER_MASK)
		return WIRE_CALL_OTHER;
	number |= WIRE_CALL_IS_NUMBER;
	if (call_is_32_bit(task, regs))
		return number | WIRE_CALL_IS_32_BIT;
	if (c)
		type = call_look(task, regs, number & WIRE_CALL_NUMBER_MASK, c);
	return number | type << WIRE_CALL_FILE_SHIFT;
}

/* is_asleep: the task waits in its call. cnt: this CPU's counters, or NULL. */
static __always_inline struct call call_of(const struct wire_counters *cnt,
					   struct task_struct *task, bool is_asleep,
					   bool is_current)
{
	struct call c = { .is_current = is_current };

	c.call = is_asleep ? call_number(cnt, task, &c) : call_number(cnt, task, NULL);
	return c;
}

/* task: the current task; with conf_peek, the verifier takes it for an untyped address. */
static __always_inline __u16 call_of_current(const struct wire_counters *cnt,
					     struct task_struct *task)
{
	struct pt_regs *regs;
	__s64 number;

	if (!task->pid)
		return WIRE_CALL_UNKNOWN;
	if (task->flags & (TASK_PF_KTHREAD | TASK_PF_IO_WORKER | TASK_PF_USER_WORKER))
		return WIRE_CALL_KERNEL;
	if (task->flags & TASK_PF_EXITING)
		return WIRE_CALL_EXIT;
	if (conf_peek) {
		regs = task->stack + cnt->regs_offset;
		regs = FIX_CAST(regs);
	} else {
		regs = (void *)bpf_task_pt_regs(task);
	}
	number = CALL_NUMBER(regs);
	if (number < 0)
		return WIRE_CALL_USER;
	if (number > WIRE_CALL_NUMBER_MASK)
		return WIRE_CALL_OTHER;
	number |= WIRE_CALL_IS_NUMBER;
	return call_is_32_bit(task, regs) ? number | WIRE_CALL_IS_32_BIT : number;
}

/*
 * Returns the current task's activity, without an object. In an interrupt this is the activity of
 * the interrupted task.
 */
static __always_inline __u16 call_of_waker(const struct wire_counters *cnt)
{
	struct task_struct *task;

	if (!conf_call)
		return WIRE_CALL_UNKNOWN;
	if (!conf_peek)
		return call_of_current(cnt, bpf_get_current_task_btf());
	if (!cnt->regs_offset)
		return WIRE_CALL_UNKNOWN;
	task = fix_current(cnt);
	return call_of_current(cnt, FIX_CAST(task));
}
