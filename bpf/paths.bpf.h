/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * paths.bpf.h: sends the path of a file when a request, a dirtied page or a sleep first names its
 * inode.
 *
 * One lookup in a small table shows whether the path was sent before. The table's word depends on
 * the inode, its directory entry, the entry's name and directory, and the time: a renamed file and
 * a new file with an old inode number are sent at once, a file in a renamed directory after a
 * while.
 *
 * The path begins at the root of the file system: the kernel does not provide the mount point here.
 */
#pragma once

#include "emit.bpf.h"
#include <bpf/bpf_core_read.h>

#define PATH_SLOTS 4096
#define PATH_DEPTH 20
/* log2 of a time in jiffies. A path is sent again after 4 s (HZ 1000) to 41 s (HZ 100). */
#define PATH_AGAIN_SHIFT 12

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PATH_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} path_seen __weak SEC(".maps");

/*
 * The record is too large for the BPF stack. Each PATH_OF_* has its own buffer, because its
 * programs may interrupt other programs that send paths.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, struct wire_path);
} path_scratch __weak SEC(".maps");

enum { PATH_OF_DIRTY = 0, PATH_OF_REQUEST = 1, PATH_OF_SWITCH = 2 };

static __always_inline __u64 path_hash(__u64 h, __u64 x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* Returns the inode's first directory entry, or NULL. */
static __always_inline struct dentry *path_entry(struct inode *inode)
{
	struct dentry___named_union *d_old = NULL;
	struct dentry___plain *d_new = NULL;
	void *alias = BPF_CORE_READ(inode, i_dentry.first);

	if (!alias)
		return NULL;
	if (bpf_core_field_exists(d_old->d_u.d_alias))
		return alias - bpf_core_field_offset(d_old->d_u.d_alias);
	return alias - bpf_core_field_offset(d_new->d_alias);
}

/* Reads the names from the file up to the root, each with its NUL. */
static __always_inline void path_read(struct dentry *d, struct wire_path *p)
{
	struct dentry *parent;
	__u32 at = 0;
	long n;
	int i;

	p->is_cut = 1;
	for (i = 0; i < PATH_DEPTH; i++) {
		parent = BPF_CORE_READ(d, d_parent);
		if (!parent || parent == d) {
			p->is_cut = 0;
			break;
		}
		if (at > sizeof(p->names) - WIRE_PATH_NAME)
			break;
		n = bpf_probe_read_kernel_str(p->names + at, WIRE_PATH_NAME,
					      BPF_CORE_READ(d, d_name.name));
		if (n <= 0 || n > WIRE_PATH_NAME)
			break;
		at += n;
		d = parent;
	}
	p->len = at;
}

/*
 * of: the record that names the inode, after emit_open(). The path has the record's timestamp, and
 * is sorted before the record.
 */
static __always_inline void path_send(const struct emit *of, struct inode *inode, __u64 ino,
				      __u32 dev, __u32 tid, __u8 flags)
{
	__u32 scratch = of->hook == WIRE_DIRTY	? PATH_OF_DIRTY :
			of->hook == WIRE_SWITCH ? PATH_OF_SWITCH :
						  PATH_OF_REQUEST;
	struct dentry *d = path_entry(inode);
	__u64 hash, word, bytes, *seen;
	struct wire_path *p;
	struct emit e;
	__u32 slot, len;

	if (!d)
		return;
	hash = path_hash(path_hash(ino, dev), (__u64)d);
	slot = hash & (PATH_SLOTS - 1);
	hash = path_hash(hash, (__u64)BPF_CORE_READ(d, d_parent));
	hash = path_hash(hash, BPF_CORE_READ(d, d_name.hash_len));
	word = path_hash(hash, bpf_jiffies64() >> PATH_AGAIN_SHIFT);
	seen = bpf_map_lookup_elem(&path_seen, &slot);
	if (!seen || *(volatile __u64 *)seen == word)
		return;
	p = bpf_map_lookup_elem(&path_scratch, &scratch);
	if (!p || !emit_open(&e, WIRE_PATH))
		return;
	e.ts_ns = of->ts_ns;
	p->ino = ino;
	p->ino_dev = dev;
	p->zero = 0;
	p->generation = BPF_CORE_READ(inode, i_generation);
	p->zero2 = 0;
	path_read(d, p);
	/*
	 * reading len back makes it unknown: the verifier checks the rest once, not once per number
	 * of names
	 */
	len = *(volatile typeof(p->len) *)&p->len;
	/* no name: a root directory, or the inode of a device, whose only entry is a root */
	if (!len)
		return;
	p->hdr.tid = tid;
	p->hdr.flags = flags;
	bytes = offsetof(struct wire_path, names) + ((len + 7) & ~7ULL);
	if (bytes <= sizeof(*p) && emit_output(&e, p, bytes))
		*(volatile __u64 *)seen = word;
}
