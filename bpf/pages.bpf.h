/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * pages.bpf.h: finds the file whose pages a block request or a bio transfers, from the first bio
 * through its first page to the inode. If a link is missing the result is EVENT_PAGES_KERNEL, never
 * a guess. Pages of direct I/O are not the file's, but the bio leads to the file.
 */
#pragma once

#include "emit.bpf.h"
#include "fixes.bpf.h"
#include <bpf/bpf_core_read.h>

#define PAGES_MAPPING_BITS 3	/* bits in page->mapping: 0 anonymous, 1 a driver's, both KSM */
#define PAGES_MAPPING_ANON 1
#define PAGES_S_IFMT 0170000
#define PAGES_S_IFBLK 0060000
#define PAGES_OP_MASK 0xff
#define PAGES_OP_WRITE 1

struct pages_inode {
	struct inode *inode;
	__u64 ino;
	__u32 dev;
	__u32 is_disk;		/* this is the inode of a block device, not of a file on it */
};

/* i_ino is an unsigned long, or a u64 in newer kernels; both have 8 bytes. */
static __always_inline void pages_read_inode(struct inode *inode, struct pages_inode *ret)
{
	ret->inode = inode;
	ret->ino = BPF_CORE_READ(inode, i_ino);
	ret->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	ret->is_disk = (BPF_CORE_READ(inode, i_mode) & PAGES_S_IFMT) == PAGES_S_IFBLK;
}

static __always_inline bool pages_of_mapping(struct address_space *mapping, struct pages_inode *ret)
{
	struct inode *inode = BPF_CORE_READ(mapping, host);

	/*
	 * An inode's mapping points back to the inode; other objects, such as slab pages, do not.
	 */
	if (!inode || (void *)inode + bpf_core_field_offset(inode->i_data) != (void *)mapping)
		return false;
	pages_read_inode(inode, ret);
	return true;
}

/*
 * Returns whether the owner of a bio is a direct I/O of iomap; finds the file. The exact test would
 * compare the bio's end function, but looking up addresses of functions takes 0.15 s. Instead this
 * follows the pointers as if the owner had that type: they have to lead to an open file whose pages
 * belong to its inode.
 */
static __always_inline bool pages_of_owner(const void *owner, struct pages_inode *ret)
{
	struct iomap_dio *dio = (void *)owner;
	struct address_space *mapping;
	struct inode *inode;
	struct file *file;

	if (!bpf_core_field_exists(dio->iocb))
		return false;
	file = BPF_CORE_READ(dio, iocb, ki_filp);
	inode = BPF_CORE_READ(file, f_inode);
	mapping = BPF_CORE_READ(file, f_mapping);
	if (!inode || BPF_CORE_READ(mapping, host) != inode)
		return false;
	pages_read_inode(inode, ret);
	return true;
}

/* Finds the file of direct I/O, if its file system uses iomap. */
static __always_inline bool pages_of_direct(struct bio *bio, struct pages_inode *ret)
{
	struct bio *owner = BPF_CORE_READ(bio, bi_private);

	if (!owner)
		return false;
	/*
	 * If a bio was too large for one request, the owner of the first part is the second part.
	 */
	return pages_of_owner(owner, ret) ||
	       pages_of_owner(BPF_CORE_READ(owner, bi_private), ret);
}

/*
 * Returns the head of a compound page, or the page itself. compound_head became compound_info,
 * which in some configurations is a mask for the tail's address instead of the head's address.
 */
static __always_inline struct page *pages_head(struct page *page)
{
	struct page___head *p_old = (void *)page;
	struct page___info *p_new = (void *)page;
	unsigned long head, low;

	if (bpf_core_field_exists(p_old->compound_head))
		head = BPF_CORE_READ(p_old, compound_head);
	else if (bpf_core_field_exists(p_new->compound_info))
		head = BPF_CORE_READ(p_new, compound_info);
	else
		return page;
	if (!(head & 1))
		return page;
	head -= 1;
	low = -head;
	if (!(low & (low - 1)))
		head &= (unsigned long)page;
	return (void *)head;
}

/* Returns the first page that a bio still has to transfer, or NULL. */
static __always_inline struct page *pages_of_bio(struct bio *bio)
{
	struct bio_vec *vec = BPF_CORE_READ(bio, bi_io_vec);
	__u32 at = BPF_CORE_READ(bio, bi_iter.bi_idx);
	struct page *page = NULL;

	if (!vec)
		return NULL;
	vec = (void *)vec + (__u64)at * bpf_core_type_size(struct bio_vec);
	page = BPF_CORE_READ(vec, bv_page);
	return page ? pages_head(page) : NULL;
}

static __always_inline bool pages_have(unsigned long flags, __u64 bit)
{
	return flags >> bit & 1;
}

/* Returns an enum event_pages. Fills *ret for FILE, DISK and MAPPED. */
static __always_inline __u32 pages_look(struct page *page, bool is_write, struct pages_inode *ret)
{
	unsigned long mapping = (unsigned long)BPF_CORE_READ(page, mapping);
	unsigned long flags = 0;

	bpf_probe_read_kernel(&flags, sizeof(flags), page);
	if (pages_have(flags, bpf_core_enum_value(enum pageflags, PG_swapcache)) &&
	    pages_have(flags, bpf_core_enum_value(enum pageflags, PG_swapbacked)))
		return EVENT_PAGES_SWAP;
	if (mapping & PAGES_MAPPING_BITS)
		return mapping & PAGES_MAPPING_ANON ? EVENT_PAGES_ANON : EVENT_PAGES_KERNEL;
	if (!mapping || !pages_of_mapping((void *)mapping, ret))
		return EVENT_PAGES_KERNEL;
	if (ret->is_disk)
		return EVENT_PAGES_DISK;
	if (is_write && !pages_have(flags, bpf_core_enum_value(enum pageflags, PG_writeback)))
		return EVENT_PAGES_MAPPED;
	return EVENT_PAGES_FILE;
}

/* ---- the process that waits for a bio ---- */

/* Returns the tgid of the thread at this address; 0: not a thread (its pid does not point back). */
static __always_inline __u32 pages_waiter_at(const void *at)
{
	struct task_struct *task = (void *)at;
	struct pid *pid = BPF_CORE_READ(task, thread_pid);

	if (!pid || (void *)BPF_CORE_READ(pid, tasks[0].first) !=
			    at + bpf_core_field_offset(task->pid_links))
		return 0;
	return BPF_CORE_READ(task, tgid);
}

/* Returns the tgid of the process that waits for the I/O counted in a bio's owner; 0: unknown. */
static __always_inline __u32 pages_waiter_of(const void *owner)
{
	struct completion *done = (void *)owner;
	struct iomap_dio *dio = (void *)owner;
	struct swait_queue *queue = NULL;
	void *first = NULL;
	__u32 pid;

	if (!owner)
		return 0;
	/*
	 * owner is the thread itself (block devices, before 5.18), or a structure whose first
	 * member points to it (larger I/O to block devices)
	 */
	pid = pages_waiter_at(owner);
	if (!pid && !bpf_probe_read_kernel(&first, sizeof(first), owner))
		pid = pages_waiter_at(first);
	if (!pid && bpf_core_field_exists(dio->submit.waiter))
		pid = pages_waiter_at(BPF_CORE_READ(dio, submit.waiter));
	if (pid || !bpf_core_field_exists(queue->task))
		return pid;
	queue = (void *)BPF_CORE_READ(done, wait.task_list.next) -
		bpf_core_field_offset(queue->task_list);
	return pages_waiter_at(BPF_CORE_READ(queue, task));
}

/*
 * Returns the tgid of the process that waits for a bio that a kernel thread submits, because an I/O
 * limit delayed the bio before its first event. 0: unknown, or the current thread is not a kernel
 * thread.
 */
static __always_inline __u32 pages_waiter(struct bio *bio)
{
	struct task_struct *current = (void *)bpf_get_current_task();
	struct bio *owner;
	__u32 pid;

	if (!bio || !(BPF_CORE_READ(current, flags) & TASK_PF_KTHREAD))
		return 0;
	owner = BPF_CORE_READ(bio, bi_private);
	pid = pages_waiter_of(owner);
	/*
	 * If a bio was too large for one request, the owner of the first part is the second part.
	 */
	return pid ? pid : pages_waiter_of(BPF_CORE_READ(owner, bi_private));
}

/* Fills the fields of r that describe pages. Returns the file's inode, or NULL. */
static __always_inline struct inode *pages_fill(struct wire_request_issue *r, __u32 op, __u32 bytes,
						struct bio *bio, struct bio *biotail)
{
	struct pages_inode first = {}, last = {};
	struct page *page;

	r->ino = 0;
	r->last_ino = 0;
	r->ino_dev = 0;
	r->pages = EVENT_PAGES_NONE;
	op &= PAGES_OP_MASK;
	if (op > PAGES_OP_WRITE || !bytes || !bio)
		return NULL;
	page = pages_of_bio(bio);
	if (!page)
		return NULL;
	r->pages = pages_look(page, op == PAGES_OP_WRITE, &first);
	if (pages_of_direct(bio, &first) && r->pages == EVENT_PAGES_FILE)
		r->pages = EVENT_PAGES_MAPPED;
	if (!first.ino)
		return NULL;
	r->ino = first.ino;
	r->last_ino = first.ino;
	r->ino_dev = first.dev;
	if (biotail != bio) {
		page = pages_of_bio(biotail);
		if (page && pages_look(page, op == PAGES_OP_WRITE, &last) != EVENT_PAGES_NONE)
			r->last_ino = last.dev == first.dev ? last.ino : 0;
	}
	return first.is_disk ? NULL : first.inode;
}
