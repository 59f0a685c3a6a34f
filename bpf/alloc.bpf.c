/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * alloc: slab objects, pages, RSS counters and mapped size. Allocation hooks run often, and in
 * every context, including interrupts. Therefore they only send records; frees are paired with
 * allocations when the trace is read.
 *
 * Slab and page hooks are raw_tp programs, not tp_btf. A raw_tp program gets addresses as numbers.
 * A tp_btf program gets typed pointers, which allow no arithmetic, and before 6.13 no access to a
 * void * at all.
 *
 * The kernel skips a program that is already running on the CPU. This would lose the allocations
 * and frees of an interrupt that interrupts such a program. Each of these tracepoints therefore has
 * a second program after the first (NAME_2), which sends the events for which the first was
 * skipped.
 */
#include "emit.bpf.h"
#include "filter.bpf.h"
#include "fixes.bpf.h"
#include "stacks.bpf.h"

/* Parameters of an allocation hook. */
struct begin {
	__u64 key;	/* the allocated or freed address */
	__u32 hook;
	__u32 size;	/* bytes of the record */
	bool second;	/* the hook's second program runs */
	bool is_free;
	bool is_nothing; /* the allocation failed, or the free has no object */
};

/*
 * Returns whether this program has to send the event. The first program stores the address in the
 * entry of its level. The second program runs right after the first, and finds the same address if
 * the first has seen the event. Events between the two are at higher levels, which have their own
 * entries. A first program at task level clears the entries of higher levels: they may remain set,
 * because an event that interrupts a second program may itself have no second program.
 */
static __always_inline bool is_sender(struct wire_counters *c, const struct begin *b, __u32 level)
{
	__u64 *seen = c->seen[b->hook];
	__u64 note = b->key + 1;

	if (!b->second) {
		if (!level)
			seen[1] = seen[2] = seen[3] = 0;
		seen[level & (WIRE_LEVELS - 1)] = note;
		return true;
	}
	if (seen[level & (WIRE_LEVELS - 1)] != note)
		return true;
	seen[level & (WIRE_LEVELS - 1)] = 0;
	return false;
}

/*
 * Returns whether --only excludes the event. An allocation is kept if a target process made it, and
 * not an interrupt during that process; a free is kept if the object may be from such an
 * allocation.
 */
static __always_inline bool is_left_out(const struct begin *b, __u32 level, __u32 pid)
{
	__u32 shift = b->hook == WIRE_PAGE_ALLOC || b->hook == WIRE_PAGE_FREE ?
		      FILTER_PAGE_SHIFT : FILTER_SLAB_SHIFT;

	if (!conf_only)
		return false;
	if (b->is_free)
		return !filter_may_have_object(b->key, shift);
	if (level || !filter_is_target(pid))
		return true;
	filter_note_object(b->key, shift);
	return false;
}

/*
 * Reserves the record of an event. NULL: there is no event, --only excludes it, or (most often)
 * this is the second program and the first has seen the event.
 */
static __always_inline void *begin_alloc(struct emit *e, struct begin b)
{
	__u32 level;
	__u64 id;

	if (!emit_find(e, b.hook, b.second))
		return NULL;
	level = fix_level(e->cnt);
	if (conf_copies && !is_sender(e->cnt, &b, level))
		return NULL;
	id = fix_current_id(e->cnt);
	if (b.is_nothing || is_left_out(&b, level, id >> 32)) {
		if (b.second)
			e->tally->passed[b.hook]++;
		return NULL;
	}
	if (!emit_clock(e))
		return NULL;
	return emit_reserve(e, b.size, id, level ? WIRE_F_IRQ : 0);
}

/* clang-format off */
/* Defines the programs NAME and NAME_2 of a tracepoint. They call send(ctx, ..., is_second). */
#define BOTH_PROGRAMS(tracepoint, name, send, ...)                                            \
	SEC("raw_tp/" tracepoint)                                                             \
	int name(u64 *ctx)                                                                    \
	{                                                                                     \
		return send(ctx, ##__VA_ARGS__, false);                                        \
	}                                                                                     \
	SEC("raw_tp/" tracepoint)                                                             \
	int name##_2(u64 *ctx)                                                                \
	{                                                                                     \
		return send(ctx, ##__VA_ARGS__, true);                                         \
	}
/* clang-format on */

static __always_inline int send_kmalloc(u64 *ctx, __u32 hook, bool second)
{
	struct wire_kmalloc *r;
	struct emit e;
	__u64 bytes;

	r = begin_alloc(&e, (struct begin){ .key = ctx[1], .hook = hook, .size = sizeof(*r),
					    .second = second, .is_nothing = !ctx[1] });
	if (!r)
		return 0;
	r->addr = ctx[1];
	r->call_site = ctx[0];
	if (conf_kmalloc_cache_arg) {
		r->bytes_req = CTX_ARG(ctx, 3);
		r->bytes_alloc = CTX_ARG(ctx, 4);
	} else {
		r->bytes_req = CTX_ARG(ctx, 2);
		r->bytes_alloc = CTX_ARG(ctx, 3);
	}
	bytes = r->bytes_alloc;
	emit_submit(&e, r);
	stack_send(ctx, &e, ctx[1], bytes, ctx[0], false);
	return 0;
}

BOTH_PROGRAMS("kmalloc", kmalloc, send_kmalloc, WIRE_KMALLOC)

/* This tracepoint exists until 6.0: 11e9734bcb6a merged it into kmalloc. */
SEC("raw_tp/kmalloc_node")
int kmalloc_node(u64 *ctx)
{
	return send_kmalloc(ctx, WIRE_KMALLOC_NODE, false);
}

static __always_inline int send_cache_alloc(u64 *ctx, __u32 hook, bool second)
{
	struct wire_cache_alloc *r;
	struct emit e;
	__u64 bytes;

	r = begin_alloc(&e, (struct begin){ .key = ctx[1], .hook = hook, .size = sizeof(*r),
					    .second = second, .is_nothing = !ctx[1] });
	if (!r)
		return 0;
	r->addr = ctx[1];
	r->call_site = ctx[0];
	if (conf_cache_alloc_sizes == 1) {	/* until 5.18: the tracepoint has no cache */
		r->cache = 0;
		r->bytes_req = CTX_ARG(ctx, 2);
		r->bytes_alloc = CTX_ARG(ctx, 3);
	} else if (conf_cache_alloc_sizes == 2) { /* 5.19 and 6.0 */
		r->cache = CTX_ARG(ctx, 2);
		r->bytes_req = CTX_ARG(ctx, 3);
		r->bytes_alloc = CTX_ARG(ctx, 4);
	} else {				/* since 6.1: the sizes are read from the cache */
		struct kmem_cache *cache = (void *)CTX_ARG(ctx, 2);

		r->cache = (__u64)cache;
		r->bytes_req = PEEK(cache, object_size);
		r->bytes_alloc = PEEK(cache, size);
	}
	bytes = r->bytes_alloc;
	emit_submit(&e, r);
	stack_send(ctx, &e, ctx[1], bytes, ctx[0], false);
	return 0;
}

BOTH_PROGRAMS("kmem_cache_alloc", cache_alloc, send_cache_alloc, WIRE_CACHE_ALLOC)

/* This tracepoint exists until 6.0. */
SEC("raw_tp/kmem_cache_alloc_node")
int cache_alloc_nod(u64 *ctx)
{
	return send_cache_alloc(ctx, WIRE_CACHE_ALLOC_NODE, false);
}

static __always_inline int send_kfree(u64 *ctx, bool second)
{
	struct wire_kfree *r;
	struct emit e;

	/* The pointer may be NULL or ZERO_SIZE_PTR, too. */
	r = begin_alloc(&e, (struct begin){ .key = ctx[1], .hook = WIRE_KFREE, .size = sizeof(*r),
					    .second = second, .is_free = true,
					    .is_nothing = ctx[1] <= 16 });
	if (!r)
		return 0;
	r->addr = ctx[1];
	emit_submit(&e, r);
	return 0;
}

BOTH_PROGRAMS("kfree", kfree, send_kfree)

static __always_inline int send_cache_free(u64 *ctx, bool second)
{
	struct wire_cache_free *r;
	struct emit e;

	r = begin_alloc(&e, (struct begin){ .key = ctx[1], .hook = WIRE_CACHE_FREE,
					    .size = sizeof(*r), .second = second,
					    .is_free = true });
	if (!r)
		return 0;
	r->addr = ctx[1];
	r->cache = conf_cache_free_cache ? CTX_ARG(ctx, 2) : 0;
	emit_submit(&e, r);
	return 0;
}

BOTH_PROGRAMS("kmem_cache_free", cache_free, send_cache_free)

static __always_inline __u64 page_pfn(__u64 page)
{
	return (page - kernel_vmemmap) / bpf_core_type_size(struct page);
}

static __always_inline int send_page_alloc(u64 *ctx, bool second)
{
	struct wire_page_alloc *r;
	struct emit e;

	r = begin_alloc(&e, (struct begin){ .key = ctx[0], .hook = WIRE_PAGE_ALLOC,
					    .size = sizeof(*r), .second = second,
					    .is_nothing = !ctx[0] });
	if (!r)
		return 0;
	r->pfn = page_pfn(ctx[0]);
	r->order = ctx[1];
	r->gfp = ctx[2];
	r->migratetype = ctx[3];
	emit_submit(&e, r);
	stack_send(ctx, &e, page_pfn(ctx[0]), (__u64)conf_page_bytes << (ctx[1] & 31), 0, false);
	return 0;
}

BOTH_PROGRAMS("mm_page_alloc", page_alloc, send_page_alloc)

/*
 * mm_page_free, in free_pages_prepare(), also fires for every page of mm_page_free_batched: with
 * programs at both tracepoints, such pages would count twice.
 */
static __always_inline int send_page_free(u64 *ctx, bool second)
{
	struct wire_page_free *r;
	struct emit e;

	r = begin_alloc(&e, (struct begin){ .key = ctx[0], .hook = WIRE_PAGE_FREE,
					    .size = sizeof(*r), .second = second,
					    .is_free = true });
	if (!r)
		return 0;
	r->pfn = page_pfn(ctx[0]);
	r->order = ctx[1];
	r->zero = 0;
	emit_submit(&e, r);
	return 0;
}

BOTH_PROGRAMS("mm_page_free", page_free, send_page_free)

SEC("tp_btf/rss_stat")
int rss_stat(u64 *ctx)
{
	struct mm_struct *mm = (void *)ctx[0];
	__u32 member = ctx[1], pid;
	struct emit e;
	__s64 pages;

	if (!emit_find(&e, WIRE_RSS, false))
		return 0;
	pid = fix_mm_pid(fix_current(e.cnt), mm);
	if (!pid || filter_drops(pid))
		return 0;
	pages = conf_rss_count_arg ? (__s64)CTX_ARG(ctx, 2) : fix_rss_pages(mm, member);
	if (emit_clock(&e))
		send_rss(&e, fix_current_id(e.cnt), pid, member, pages);
	return 0;
}

/* ---- mapped size ---- */

#if defined(__TARGET_ARCH_x86)
#define NR_MMAP 9
#define NR_MPROTECT 10
#define NR_MUNMAP 11
#define NR_BRK 12
#define NR_MREMAP 25
#define NR_MADVISE 28
#define NR_CLONE 56
#define NR_FORK 57
#define NR_VFORK 58
#define NR_CLONE3 435
#define REGS_NR(regs) ((regs)->cs == 0x33 ? (long)(regs)->orig_ax : -1)	/* -1 for 32-bit callers */
#define REGS_ARG0(regs) ((regs)->di)
#define REGS_ARG1(regs) ((regs)->si)
#elif defined(__TARGET_ARCH_arm64)
#define NR_MMAP 222
#define NR_MPROTECT 226
#define NR_MUNMAP 215
#define NR_BRK 214
#define NR_MREMAP 216
#define NR_MADVISE 233
#define NR_CLONE 220
#define NR_FORK -2
#define NR_VFORK -3
#define NR_CLONE3 435
#define REGS_NR(regs) ((long)(regs)->syscallno)
#define REGS_ARG0(regs) ((regs)->orig_x0)
#define REGS_ARG1(regs) ((regs)->user_regs.regs[1])
#endif

/* Result and thread of the last search for free address space on this CPU. */
struct vm_area_found {
	__u64 addr;
	__u32 tid;
	__u32 zero;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vm_area_found);
} vm_found SEC(".maps");

SEC("tp_btf/vm_unmapped_area")
int vm_area(u64 *ctx)
{
	__u32 zero = 0;
	struct vm_area_found *f = bpf_map_lookup_elem(&vm_found, &zero);

	if (f) {
		f->addr = ctx[0];
		f->tid = bpf_get_current_pid_tgid();
	}
	return 0;
}

/* Returns the kind of change that a system call may make to the size of its caller's map. */
static __always_inline __u32 vm_op(long nr)
{
	return nr == NR_MMAP ? EVENT_VM_MMAP : nr == NR_MUNMAP ? EVENT_VM_MUNMAP :
	       nr == NR_BRK ? EVENT_VM_BRK : nr == NR_MREMAP ? EVENT_VM_MREMAP : EVENT_VM_OTHER;
}

/*
 * A task that changes a memory map releases the map's lock afterwards, when total_vm is final. This
 * tracepoint is far cheaper than those of system calls, which slow down every system call of every
 * task. munmap, brk and mremap may have downgraded the write lock to a read lock before.
 */
SEC("tp_btf/mmap_lock_released")
int vm_released(u64 *ctx)
{
	struct mm_struct *mm = (void *)ctx[0];
	bool write = conf_lock_write_arg == 1 ? CTX_ARG(ctx, 1) : CTX_ARG(ctx, 2);
	struct task_struct *cur = bpf_get_current_task_btf();
	__u32 zero = 0, op, pid;
	__u64 addr = 0, len = 0;
	struct vm_area_found *f;
	struct pt_regs *regs;
	long nr;

	if (FIX_ARG(cur)->mm != mm || (conf_only && filter_drops(fix_mm_pid(cur, mm))))
		return 0;
	regs = (void *)bpf_task_pt_regs(cur);
	nr = REGS_NR(regs);
	op = vm_op(nr);
	switch (nr) {
	case NR_MPROTECT:
	case NR_MADVISE:
	case NR_CLONE:
	case NR_CLONE3:
	case NR_FORK:
	case NR_VFORK:
		return 0;	/* these calls do not change the size of this map */
	}
	if (!write && op != EVENT_VM_MUNMAP && op != EVENT_VM_BRK && op != EVENT_VM_MREMAP)
		return 0;
	pid = fix_mm_pid(cur, mm);
	if (!pid)
		return 0;
	if (op != EVENT_VM_OTHER) {
		addr = REGS_ARG0(regs);
		len = op == EVENT_VM_BRK ? 0 : REGS_ARG1(regs);
	}
	if (op == EVENT_VM_MMAP) {
		f = bpf_map_lookup_elem(&vm_found, &zero);
		if (f && f->tid == (__u32)cur->pid) {
			addr = f->addr;
			f->tid = 0;
		}
	}
	send_vm(cur->pid, pid, op, addr, len, PEEK(mm, total_vm));
	return 0;
}

/*
 * Handles mmap, munmap, mremap and brk, if they succeed, on kernels without mmap_lock_released
 * (5.10).
 */
SEC("tp_btf/sys_exit")
int vm_sys_exit(u64 *ctx)
{
	struct pt_regs *regs = (void *)ctx[0];
	long ret = ctx[1];
	long nr = REGS_NR(regs);
	struct task_struct *cur;
	struct mm_struct *mm;
	__u32 op = vm_op(nr), pid;
	__u64 addr, len;

	if (op == EVENT_VM_OTHER || (ret < 0 && ret > -4096))
		return 0;
	cur = (void *)bpf_get_current_task();
	mm = BPF_CORE_READ(cur, mm);
	pid = bpf_get_current_pid_tgid() >> 32;
	if (!mm || filter_drops(pid))
		return 0;
	addr = op == EVENT_VM_MUNMAP ? REGS_ARG0(regs) : (__u64)ret;
	len = op == EVENT_VM_BRK ? 0 : REGS_ARG1(regs);
	send_vm(bpf_get_current_pid_tgid(), pid, op, addr, len, BPF_CORE_READ(mm, total_vm));
	return 0;
}
