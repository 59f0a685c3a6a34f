/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * block: the life of a block I/O request. Each step is one record of the same layout. Steps are not
 * matched here: a request's address identifies it while it is in flight, and the analysis follows
 * the address from insert to completion. If a device has no requests (dm, md, zram), its bios count
 * as requests. Merged bios are recorded too, because a request may hold the data of several
 * processes.
 */
#include "emit.bpf.h"
#include "filter.bpf.h"
#include "fixes.bpf.h"
#include "paths.bpf.h"

/*
 * pages: finds the file whose pages a block request or a bio transfers, from the first bio
 * through its first page to the inode. If a link is missing the result is EVENT_PAGES_KERNEL, never
 * a guess. Pages of direct I/O are not the file's, but the bio leads to the file.
 */

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
 * Returns whether the owner of a bio is a direct I/O of iomap; if so, finds the file. An exact test
 * would compare the bio's end function, but looking up addresses of functions takes 0.15 s. Instead
 * this follows the pointers as if the owner had that type: they have to lead to an open file whose
 * pages belong to its inode.
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
	 * If a bio was too large for one request, the first part's bi_private is the bio of the
	 * rest.
	 */
	return pages_of_owner(owner, ret) ||
	       pages_of_owner(BPF_CORE_READ(owner, bi_private), ret);
}

/*
 * Returns the head of a compound page, or the page itself. compound_head became compound_info. In
 * some configurations this field does not have the head's address, but a mask to apply to the
 * tail's address.
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

/* owner: a bio's bi_private. Returns the tgid of the process that waits for the I/O; 0: unknown. */
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
 * Returns the tgid of the process that waits for a bio, if a kernel thread submits the bio. This
 * happens if an I/O limit delayed the bio before its first event. 0: unknown, or the current thread
 * is not a kernel thread.
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
	 * If a bio was too large for one request, the first part's bi_private is the bio of the
	 * rest.
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

/*
 * Under --only: addresses of the requests that a target queued. The later steps of these requests
 * are kept, too.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u8);
} only_requests SEC(".maps");

struct step {
	__u32 hook;
	__u32 done_bytes;
	__u32 status;
	bool first;	/* may begin a request, and decides whether the request is kept */
	bool last;	/* may end a request */
};

/* Values in the map only_requests. */
#define REQUEST_QUEUED 1
/* with WIRE_BLOCK_START: the request remains after its completion, until its accounting ends */
#define REQUEST_STARTED 2

/*
 * Returns whether --only excludes the step. pid: the current process; waiter: the process for which
 * it submits the request, 0: unknown.
 */
static __always_inline bool drops_request(void *rq, const struct step *s, __u32 pid, __u32 waiter,
					  __u8 flags)
{
	bool is_start = s->hook == WIRE_BLOCK_START, is_mine;
	__u64 key = (__u64)rq;
	__u8 *kept, value = is_start ? REQUEST_STARTED : REQUEST_QUEUED;

	if (!conf_only)
		return false;
	kept = bpf_map_lookup_elem(&only_requests, &key);
	/* A start always begins a new request, even if an older request had the same address. */
	if (kept && !is_start) {
		if (s->last && (s->hook != WIRE_BLOCK_COMPLETE || *kept != REQUEST_STARTED))
			bpf_map_delete_elem(&only_requests, &key);
		return false;
	}
	is_mine = s->first && !(flags & WIRE_F_IRQ) &&
		  (filter_is_target(pid) || (waiter && filter_is_target(waiter)));
	if (is_mine)
		bpf_map_update_elem(&only_requests, &key, &value, BPF_ANY);
	else if (kept)
		bpf_map_delete_elem(&only_requests, &key);
	return !is_mine;
}

static __always_inline int send_step(struct request *request, struct step s)
{
	struct request *rq = FIX_ARG(request);
	bool is_issue = s.hook == WIRE_BLOCK_ISSUE;
	struct wire_request_issue pages;
	struct wire_request *r;
	__u32 waiter = 0;
	struct inode *file;
	struct emit e;
	__u8 flags;
	__u64 id;

	if (!emit_find(&e, s.hook, false))
		return 0;
	id = fix_current_id(e.cnt);
	flags = fix_irq_flag(e.cnt);
	if (is_issue)
		waiter = pages_waiter(rq->bio);
	if (drops_request(rq, &s, id >> 32, waiter, flags) || !emit_clock(&e))
		return 0;
	/*
	 * A request with an end function may be part of a flush sequence, of which only the data is
	 * complete now. The rest completes separately; before 6.5 that completion looks like the
	 * request's own.
	 */
	if (s.hook == WIRE_BLOCK_COMPLETE && rq->end_io)
		flags |= WIRE_F_FLUSH_SEQ;
	if (is_issue) {
		file = pages_fill(&pages, rq->cmd_flags, rq->__data_len, rq->bio, rq->biotail);
		if (file)
			path_send(&e, file, pages.ino, pages.ino_dev, id, flags);
	}
	r = emit_reserve(&e, is_issue ? sizeof(struct wire_request_issue) : sizeof(*r), id, flags);
	if (!r)
		return 0;
	if (is_issue) {
		struct wire_request_issue *x = (void *)r;

		x->ino = pages.ino;
		x->last_ino = pages.last_ino;
		x->ino_dev = pages.ino_dev;
		x->pages = pages.pages;
		x->waiter = waiter;
		x->zero = 0;
	}
	r->rq = (__u64)rq;
	r->sector = rq->__sector;
	r->dev = fix_rq_dev(rq);
	r->bytes = rq->__data_len;
	r->cmd_flags = rq->cmd_flags;
	r->done_bytes = s.done_bytes;
	r->status = s.status;
	r->part = fix_rq_part(rq);
	emit_submit(&e, r);
	return 0;
}

/*
 * block_rq_insert, _issue, _merge and _requeue had the queue before the request until a54895fa057c
 * (5.11, which was back-ported).
 */
static __always_inline struct request *rq_arg(u64 *ctx)
{
	return (void *)(conf_rq_arg ? CTX_ARG(ctx, 1) : CTX_ARG(ctx, 0));
}

SEC("tp_btf/block_rq_insert")
int rq_insert(u64 *ctx)
{
	return send_step(rq_arg(ctx), (struct step){ .hook = WIRE_BLOCK_INSERT, .first = true });
}

SEC("tp_btf/block_rq_issue")
int rq_issue(u64 *ctx)
{
	return send_step(rq_arg(ctx), (struct step){ .hook = WIRE_BLOCK_ISSUE, .first = true });
}

SEC("tp_btf/block_rq_requeue")
int rq_requeue(u64 *ctx)
{
	return send_step(rq_arg(ctx), (struct step){ .hook = WIRE_BLOCK_REQUEUE });
}

SEC("tp_btf/block_rq_merge")
int rq_merge(u64 *ctx)
{
	return send_step(rq_arg(ctx), (struct step){ .hook = WIRE_BLOCK_MERGE, .last = true });
}

/*
 * Converts an error of the kernel, a negative errno or (since 5.16) a blk_status_t, to a positive
 * errno. Statuses up to 13 are the same in all kernels; blk_status_to_errno() maps most others to
 * EIO.
 */
static __always_inline __u32 errno_of(__s32 error)
{
	const __u64 from_0 = 0ull | 95ull << 8 | 110ull << 16 | 28ull << 24 | 67ull << 32 |
			     121ull << 40 | 52ull << 48 | 61ull << 56;
	const __u64 from_8 = 84ull | 12ull << 8 | 5ull << 16 | 78ull << 24 | 11ull << 32 |
			     16ull << 40;
	__u32 status = error;

	if (error < 0)
		return -error;
	if (status < 8)
		return from_0 >> status * 8 & 0xff;
	return status < 14 ? from_8 >> (status - 8) * 8 & 0xff : 5;
}

SEC("tp_btf/block_rq_complete")
int rq_complete(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	__s32 error = ctx[1];
	__u32 bytes = ctx[2];

	return send_step(rq, (struct step){ .hook = WIRE_BLOCK_COMPLETE, .done_bytes = bytes,
					    .status = errno_of(error),
					    .last = bytes >= rq->__data_len });
}

SEC("tp_btf/block_rq_error")
int rq_error(u64 *ctx)
{
	__s32 error = ctx[1];

	return send_step((void *)ctx[0], (struct step){ .hook = WIRE_BLOCK_ERROR,
							.done_bytes = ctx[2],
							.status = errno_of(error) });
}

SEC("tp_btf/block_io_start")
int io_start(u64 *ctx)
{
	return send_step((void *)ctx[0], (struct step){ .hook = WIRE_BLOCK_START, .first = true });
}

SEC("tp_btf/block_io_done")
int io_done(u64 *ctx)
{
	return send_step((void *)ctx[0], (struct step){ .hook = WIRE_BLOCK_DONE, .last = true });
}

/* ---- bios ---- */

#define PARTS_MAX 16	/* minors of a SCSI disk; used only until 5.11 */

/* Returns the disk. bio->bi_disk became bio->bi_bdev->bd_disk: 309dca309fc3 (5.12). */
static __always_inline struct gendisk *disk_of(struct bio *bio)
{
	struct bio___disk *bio_old = (void *)bio;

	if (bpf_core_field_exists(bio_old->bi_disk))
		return bio_old->bi_disk;
	return bio->bi_bdev ? bio->bi_bdev->bd_disk : NULL;
}

/* Returns the partition's device number; 0: unknown. */
static __always_inline __u32 part_of(struct bio *bio)
{
	struct bio___disk *bio_old = (void *)bio;

	if (bpf_core_field_exists(bio_old->bi_disk))
		return 0;
	return bio->bi_bdev ? bio->bi_bdev->bd_dev : 0;
}

/* Returns whether a device handles bios directly, without requests. */
static __always_inline bool is_bio_based(struct gendisk *disk)
{
	return disk && disk->queue && !disk->queue->mq_ops;
}

/* Position of a volume's bio before it was remapped to the device below. */
struct volume_place {
	__u64 sector;
	__u32 dev;
};

static __always_inline int send_bio(struct bio *bio, struct step s, const struct volume_place *from)
{
	bool has_pages = s.hook != WIRE_BIO_COMPLETE;
	struct gendisk *disk = disk_of(bio);
	struct wire_request_issue pages = {};
	struct inode *file = NULL;
	struct wire_request *r;
	__u32 waiter = 0;
	struct emit e;
	__u8 flags;
	__u64 id;

	if (!disk || !emit_find(&e, s.hook, false))
		return 0;
	id = fix_current_id(e.cnt);
	flags = fix_irq_flag(e.cnt);
	if (has_pages && !from)
		waiter = pages_waiter(bio);
	if (s.hook == WIRE_BIO_QUEUE || s.hook == WIRE_BIO_COMPLETE) {
		if (drops_request(bio, &s, id >> 32, waiter, flags))
			return 0;
	} else if (filter_drops(id >> 32)) {
		return 0;
	}
	if (!emit_clock(&e))
		return 0;
	if (from) {
		pages.ino = from->sector;
		pages.ino_dev = from->dev;
	} else if (has_pages) {
		file = pages_fill(&pages, bio->bi_opf, bio->bi_iter.bi_size, bio, bio);
	}
	if (file)
		path_send(&e, file, pages.ino, pages.ino_dev, id, flags);
	r = emit_reserve(&e, has_pages ? sizeof(struct wire_request_issue) : sizeof(*r), id, flags);
	if (!r)
		return 0;
	if (has_pages) {
		struct wire_request_issue *x = (void *)r;

		x->ino = pages.ino;
		x->last_ino = pages.last_ino;
		x->ino_dev = pages.ino_dev;
		x->pages = pages.pages;
		x->waiter = waiter;
		x->zero = 0;
	}
	r->rq = (__u64)bio;
	r->sector = bio->bi_iter.bi_sector;
	r->dev = (__u32)disk->major << 20 | (__u32)disk->first_minor;
	r->bytes = bio->bi_iter.bi_size;
	r->cmd_flags = bio->bi_opf;
	r->done_bytes = 0;
	r->status = s.status;
	r->part = part_of(bio);
	emit_submit(&e, r);
	return 0;
}

static __always_inline struct bio *bio_arg(u64 *ctx)
{
	struct bio *bio = (void *)(conf_bio_arg ? CTX_ARG(ctx, 1) : CTX_ARG(ctx, 0));

	return FIX_ARG(bio);
}

SEC("tp_btf/block_bio_queue")
int bio_queue(u64 *ctx)
{
	struct bio *bio = bio_arg(ctx);

	if (!is_bio_based(disk_of(bio)))
		return 0;
	return send_bio(bio, (struct step){ .hook = WIRE_BIO_QUEUE, .first = true }, NULL);
}

/* Argument 0 is the queue on all kernels since 5.8 (d24de76af836). */
SEC("tp_btf/block_bio_complete")
int bio_complete(u64 *ctx)
{
	struct bio *arg = (void *)ctx[1], *bio = FIX_ARG(arg);

	if (!is_bio_based(disk_of(bio)))
		return 0;
	return send_bio(bio, (struct step){ .hook = WIRE_BIO_COMPLETE,
					    .status = errno_of(bio->bi_status),
					    .last = true }, NULL);
}

/* block_bio_backmerge and _frontmerge had the queue and the request before the bio until 5.11. */
static __always_inline struct bio *merged_bio(u64 *ctx)
{
	struct bio *bio = (void *)(conf_merge_arg ? CTX_ARG(ctx, 2) : CTX_ARG(ctx, 0));

	return FIX_ARG(bio);
}

SEC("tp_btf/block_bio_backmerge")
int bio_backmerge(u64 *ctx)
{
	return send_bio(merged_bio(ctx), (struct step){ .hook = WIRE_BIO_BACKMERGE }, NULL);
}

SEC("tp_btf/block_bio_frontmerge")
int bio_frontmerge(u64 *ctx)
{
	return send_bio(merged_bio(ctx), (struct step){ .hook = WIRE_BIO_FRONTMERGE }, NULL);
}

/*
 * Returns whether dev is a partition of the disk: its bios are remapped, too, but it is not a
 * volume.
 */
static __always_inline bool is_part_of(__u32 dev, struct bio *bio, struct gendisk *disk)
{
	struct bio___disk *bio_old = (void *)bio;

	if (!bpf_core_field_exists(bio_old->bi_disk))
		return dev == part_of(bio);
	return dev >> 20 == (__u32)disk->major &&
	       (dev & 0xfffff) - (__u32)disk->first_minor < PARTS_MAX;
}

SEC("tp_btf/block_bio_remap")
int bio_remap(u64 *ctx)
{
	struct bio *bio = bio_arg(ctx);
	struct volume_place from = { conf_bio_arg ? CTX_ARG(ctx, 3) : CTX_ARG(ctx, 2),
				     conf_bio_arg ? CTX_ARG(ctx, 2) : CTX_ARG(ctx, 1) };
	struct gendisk *disk = disk_of(bio);

	if (!disk || is_part_of(from.dev, bio, disk))
		return 0;
	return send_bio(bio, (struct step){ .hook = WIRE_BIO_REMAP }, &from);
}
