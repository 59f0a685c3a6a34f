/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * filter.bpf.h: the target set, which holds the workload's processes by tgid. User space puts the
 * first processes in, the task hooks add their children, and the other hooks only look them up.
 */
#ifndef FILTER_BPF_H
#define FILTER_BPF_H

#include "conf.bpf.h"

/* Values of the map. */
#define TARGET_LIVES 1
#define TARGET_ENDS 2	/* the last thread is exiting; the process is a target until it is freed */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} targets __weak SEC(".maps");

static __always_inline bool filter_is_target(__u32 pid)
{
	return bpf_map_lookup_elem(&targets, &pid) != NULL;
}

/* Returns whether a record about the process is to be left out. */
static __always_inline bool filter_drops(__u32 pid)
{
	return conf_only && !filter_is_target(pid);
}

#endif /* FILTER_BPF_H */
