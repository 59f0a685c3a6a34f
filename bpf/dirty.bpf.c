/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * dirty: the process that dirtied pages of a file, so that the write-back of these pages has an
 * owner.
 *
 * Only the last process that dirtied an inode matters, not each page. A record is sent when this
 * process changes, and again after a while; otherwise one lookup in a small table shows that
 * nothing changed. All CPUs share the table, because processes move between CPUs.
 */
#include "emit.bpf.h"
#include "filter.bpf.h"
#include "fixes.bpf.h"
#include "paths.bpf.h"

#define DIRTY_SLOTS 4096
/*
 * log2 of a time in jiffies. A record is sent again after 64 to 128 ms (HZ 1000), or up to 1.3 s
 * (HZ 100).
 */
#define DIRTY_AGAIN_SHIFT 6

/*
 * The last process that dirtied an inode. One word per slot, read and written as a whole: 32 bits
 * of a hash of the inode, 22 bits of the pid (PID_MAX_LIMIT) and 10 bits of the time. A slot
 * belongs to the inode that used it last; if two inodes share a slot, their records are sent more
 * often.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DIRTY_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} dirty_seen SEC(".maps");

static __always_inline __u64 hash_inode(__u64 ino, __u32 dev)
{
	__u64 x = ino * 0x9e3779b97f4a7c15ull + dev * 0xc2b2ae3d27d4eb4full;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 32;
}

static __always_inline int note_dirty(struct address_space *mapping)
{
	__u64 id = bpf_get_current_pid_tgid(), ino, hash, word, *seen;
	__u32 pid = id >> 32, slot, dev;
	struct wire_dirty *r;
	struct inode *inode;
	struct emit e;

	if (!mapping || filter_drops(pid))
		return 0;
	inode = FIX_ARG(mapping)->host;
	if (!inode)
		return 0;
	ino = inode->i_ino;
	dev = inode->i_sb->s_dev;
	hash = hash_inode(ino, dev);
	slot = hash & (DIRTY_SLOTS - 1);
	word = hash >> 32 << 32 | (pid & 0x3fffff) << 10 |
	       (bpf_jiffies64() >> DIRTY_AGAIN_SHIFT & 0x3ff);
	seen = bpf_map_lookup_elem(&dirty_seen, &slot);
	if (!seen || *(volatile __u64 *)seen == word)
		return 0;
	if (!emit_open(&e, WIRE_DIRTY))
		return 0;
	path_send(&e, inode, ino, dev, id, 0);
	r = emit_reserve(&e, sizeof(*r), id, fix_irq_flag(e.cnt));
	if (!r)
		return 0;
	r->ino = ino;
	r->ino_dev = dev;
	r->pid = pid;
	emit_submit(&e, r);
	*(volatile __u64 *)seen = word;
	return 0;
}

/* writeback_dirty_page became writeback_dirty_folio in 203a31516616 (5.18). */
SEC("tp_btf/writeback_dirty_folio")
int dirty_folio(u64 *ctx)
{
	return note_dirty((void *)ctx[1]);
}

SEC("tp_btf/writeback_dirty_page")
int dirty_page(u64 *ctx)
{
	return note_dirty((void *)ctx[1]);
}
