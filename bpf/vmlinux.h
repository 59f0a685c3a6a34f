/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * vmlinux.h: the kernel types that the programs read, written by hand, with only the fields that
 * they read. Offsets differ from the kernel's: CO-RE relocates every access by the running kernel's
 * BTF. A field that exists only in some kernels is in a flavour (name___suffix), and guarded by
 * bpf_core_field_exists().
 */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
typedef int pid_t;
typedef unsigned long size_t;

enum { false = 0, true = 1 };
#define NULL ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_ANY = 0,
	BPF_EXIST = 2,
	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_F_MMAPABLE = 1024,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
	BPF_RB_RING_SIZE = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

struct kernfs_node {
	u64 id;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup_freezer_state {
	bool freeze;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
	struct cgroup_freezer_state freezer;
};

/* with CONFIG_CGROUP_FREEZER, of cgroup version 1 */
struct freezer {
	struct cgroup_subsys_state css;
	unsigned int state;
};

struct page_counter {
	atomic_long_t usage;
	unsigned long max;
};

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
};

struct css_set {
	struct cgroup *dfl_cgrp;
	/* the kernel's array is longer; index: enum cgroup_subsys_id */
	struct cgroup_subsys_state *subsys[1];
};

struct upid {
	int nr;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct pid {
	unsigned int level;
	struct hlist_head tasks[1];	/* the kernel's array is longer */
	struct upid numbers[1];
};

typedef struct {
	u32 val;
} kuid_t;

struct cred {
	kuid_t uid;
};

struct list_head {
	struct list_head *next, *prev;
};

struct signal_struct {
	atomic_t live;
	struct list_head thread_head;
	int group_exit_code;
	unsigned int flags;
};

struct rq {
	int cpu;
	u64 clock;
	u64 clock_task;
};

/* with CONFIG_PARAVIRT_TIME_ACCOUNTING */
struct rq___steal {
	u64 prev_steal_time_rq;
};

/* with CONFIG_IRQ_TIME_ACCOUNTING */
struct rq___irq {
	u64 prev_irq_time;
};

/* rq exists with CONFIG_FAIR_GROUP_SCHED */
struct cfs_rq {
	struct rq *rq;
};

/* with CONFIG_CFS_BANDWIDTH */
struct cfs_rq___throttled {
	int throttle_count;
};

struct sched_entity {
	u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

/* since 6.12 (152e11f6df29): a sleeping task may remain in its run queue for a while */
struct sched_entity___delayed {
	unsigned char sched_delayed;
};

/* last_arrival exists with CONFIG_SCHED_INFO */
struct sched_info {
	unsigned long long last_arrival;
};

struct percpu_counter {
	s64 count;
	s32 *counters;
};

struct rwsem_waiter {
	struct list_head list;
	struct task_struct *task;
};

struct rw_semaphore {
	struct list_head wait_list;
};

struct rw_semaphore___first {
	struct rwsem_waiter *first_waiter;
};

struct mm_struct {
	struct rw_semaphore mmap_lock;
	struct task_struct *owner;
	unsigned long total_vm;
	unsigned long arg_start, arg_end;
};

/* since 6.2 (kernel f1a7941243c1) the RSS counters are per-CPU counters */
struct mm_struct___percpu_rss {
	struct percpu_counter rss_stat[4];
};

struct mm_rss_stat {
	atomic_long_t count[4];
};

/* before 6.2 */
struct mm_struct___atomic_rss {
	struct mm_rss_stat rss_stat;
};

struct thread_info {
	u32 cpu;
};

struct thread_info___x86 {
	u32 status;
};

struct sched_dl_entity {
	unsigned int dl_throttled : 1;
};

/* the first word of thread_info, used as a type to read any 8 bytes */
struct thread_info___word {
	unsigned long flags;
};

struct cpumask {
	unsigned long bits[1];	/* more */
};
typedef struct cpumask cpumask_t;

struct task_struct {
	struct thread_info thread_info;
	void *stack;
	unsigned int flags;
	int on_cpu;
	int on_rq;
	int prio;
	int static_prio;
	unsigned int rt_priority;
	unsigned int policy;
	int nr_cpus_allowed;
	cpumask_t cpus_mask;
	struct sched_entity se;
	struct sched_dl_entity dl;
	struct sched_info sched_info;
	struct mm_struct *mm;
	struct files_struct *files;
	pid_t pid;
	pid_t tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct hlist_node pid_links[1];	/* the kernel's array is longer */
	u64 start_time;
	const struct cred *real_cred;
	char comm[16];
	struct css_set *cgroups;
	struct signal_struct *signal;
	struct list_head thread_node;
	int *clear_child_tid;
	int exit_code;
	unsigned int in_iowait : 1;
	unsigned int frozen : 1;
};

/* since 6.16: mutexes and semaphores; later also rwsems: CONFIG_DETECT_HUNG_TASK_BLOCKER */
struct task_struct___blocker {
	unsigned long blocker;	/* address of a lock; the lowest two bits are its type */
};

/* since 5.14 (kernel 2f064a59a11f) */
struct task_struct___new_state {
	unsigned int __state;
};

struct task_struct___old_state {
	long state;
};

/* before 5.16, in configurations with thread_info outside of task_struct */
struct task_struct___cpu {
	unsigned int cpu;
};

/* since 6.18 (kernel 7fc2d1439247) */
struct task_struct___throttled {
	bool throttled;
};

struct linux_binprm {
	const char *filename;
};

struct kmem_cache {
	unsigned int size;
	unsigned int object_size;
	const char *name;
};

struct qstr {
	u64 hash_len;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

/* until 7.0 the alias is in a named union; later the union is anonymous */
struct dentry___named_union {
	union {
		struct hlist_node d_alias;
	} d_u;
};

struct dentry___plain {
	struct hlist_node d_alias;
};

struct super_block {
	u32 s_dev;
	unsigned long s_iflags;
};

struct address_space {
	struct inode *host;
};

struct inode {
	struct rw_semaphore i_rwsem;
	unsigned short i_mode;
	u32 i_rdev;
	u32 i_generation;
	unsigned int i_flags;
	struct super_block *i_sb;
	unsigned long i_ino;
	struct hlist_head i_dentry;
	struct address_space i_data;
};

/* The first word, flags, is a structure in newer kernels; the code reads it by its offset. */
struct page {
	struct address_space *mapping;
};

struct page___head {
	unsigned long compound_head;
};

/* newer kernels: the head's address, or a mask */
struct page___info {
	unsigned long compound_info;
};

enum cgroup_subsys_id {
	cpu_cgrp_id,
	memory_cgrp_id,
	freezer_cgrp_id,
};

enum pageflags {
	PG_writeback,
	PG_swapcache,
	PG_swapbacked,
};

struct bvec_iter {
	unsigned long long bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
};

struct bio_vec {
	struct page *bv_page;
};

struct bio {
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	u8 bi_status;
	void *bi_private;
	struct bvec_iter bi_iter;
	struct bio_vec *bi_io_vec;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	struct address_space *f_mapping;
	void *private_data;
};

struct in6_addr {
	u8 in6_u[16];
};

struct sock_common {
	unsigned short skc_family;
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
};

struct socket {
	short type;
	struct sock *sk;
};

struct sockaddr_un {
	unsigned short sun_family;
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[0];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct kiocb {
	struct file *ki_filp;
};

/* direct I/O of file systems that use iomap: ext4, xfs and others */
struct iomap_dio {
	struct kiocb *iocb;
	union {
		struct {
			struct task_struct *waiter;
		} submit;
	};
};

struct swait_queue_head {
	struct list_head task_list;
};

struct swait_queue {
	struct task_struct *task;
	struct list_head task_list;
};

struct completion {
	struct swait_queue_head wait;
};

struct request_queue {
	void *mq_ops;
};

struct gendisk {
	int major;
	int first_minor;
	struct request_queue *queue;
};

/* until 5.11 (309dca309fc3) */
struct bio___disk {
	struct gendisk *bi_disk;
};

/* since 5.15 */
struct request_queue___disk {
	struct gendisk *disk;
};

struct block_device {
	u32 bd_dev;
	struct gendisk *bd_disk;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64 __sector;
	struct bio *bio;
	struct bio *biotail;
	void *end_io;
};

/* before 5.17 (kernel f3fa33acca9f) */
struct request___rq_disk {
	struct gendisk *rq_disk;
};

/* since 5.11 a partition is a block_device */
struct request___part_bdev {
	struct block_device *part;
};

/* x86, 6.2 to 6.14: contains variables that are separate before and after */
struct pcpu_hot {
	struct task_struct *current_task;
	int preempt_count;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r14;
	unsigned long r10;
	unsigned long ip;
	unsigned long si;
	unsigned long di;
	unsigned long dx;
	unsigned long orig_ax;
	unsigned long ax;
	unsigned long cs;
	unsigned long sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	u64 regs[31];
	u64 sp;
	u64 pc;
	u64 pstate;
};
struct pt_regs {
	struct user_pt_regs user_regs;
	u64 orig_x0;
	s32 syscallno;
};
#endif

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop
