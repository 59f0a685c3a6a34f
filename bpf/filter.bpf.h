/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * filter.bpf.h: the target set, which holds the workload's processes by tgid. User space inserts
 * the first processes, the task hooks add their children, and the other hooks only look them up.
 */
#pragma once

#include "conf.bpf.h"

/* Values in the map `targets`. */
#define TARGET_LIVES 1
/* its last thread is exiting; the process remains a target until it is freed */
#define TARGET_ENDS 2

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} targets __weak SEC(".maps");

/*
 * One byte per hash of a pid, set before a process with that hash is added to the map, and never
 * cleared. The byte is 0 for most other processes, which saves a lookup in the map.
 */
#define TARGET_PLACES (1u << 16)

__u8 target_places[TARGET_PLACES] __weak = {};

static __always_inline bool filter_is_target(__u32 pid)
{
	return target_places[pid & (TARGET_PLACES - 1)] &&
	       bpf_map_lookup_elem(&targets, &pid) != NULL;
}

static __always_inline void filter_add_target(__u32 pid)
{
	__u8 lives = TARGET_LIVES;

	target_places[pid & (TARGET_PLACES - 1)] = 1;
	bpf_map_update_elem(&targets, &pid, &lives, BPF_ANY);
}

/* Returns whether --only excludes records about the process. */
static __always_inline bool filter_drops(__u32 pid)
{
	return conf_only && !filter_is_target(pid);
}

/*
 * Under --only: a bit per hash of an address, set if the target set allocated an object with that
 * hash. Bits are never cleared, because other objects may have the same hash. A free whose bit is
 * not set is dropped: its object is not the target set's. All other frees are sent; user space
 * knows the target set's addresses, and drops frees of other objects. Objects of the same page, or
 * pages of the same 2 MB, share a cache line.
 */
#define FILTER_PLACES (1u << 20)
#define FILTER_SLAB_SHIFT 3
#define FILTER_PAGE_SHIFT 6	/* log2 of the size of struct page */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 8);	/* with --only: FILTER_PLACES bits */
} only_objects __weak SEC(".maps");

/* Returns the word with the bit of an address, and the bit; NULL: the map is missing. */
static __always_inline __u64 *filter_word(__u64 addr, __u32 shift, __u64 *ret_bit)
{
	__u32 place = (addr >> shift ^ addr >> (shift + 20)) & (FILTER_PLACES - 1), zero = 0;
	__u64 *words = bpf_map_lookup_elem(&only_objects, &zero);

	*ret_bit = 1ULL << (place & 63);
	return words ? words + (place >> 6) : NULL;
}

/* Sets the bit of an object. Kernels without conf_fetching lack atomic "or": bits are unused. */
static __always_inline void filter_note_object(__u64 addr, __u32 shift)
{
	__u64 bit, *word = filter_word(addr, shift, &bit);

	if (conf_fetching && word && !(*word & bit))
		__sync_fetch_and_or(word, bit);
}

static __always_inline bool filter_may_have_object(__u64 addr, __u32 shift)
{
	__u64 bit, *word = filter_word(addr, shift, &bit);

	return !conf_fetching || !word || *word & bit;
}
