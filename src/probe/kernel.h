/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* kernel: features of the running kernel, detected and never derived from its version. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/wire.h"

struct btf;
struct kernel_info;

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/*
 * Reads the kernel's BTF. btf_file is used if KERNEL_BTF is not visible; NULL: KERNEL_BTF. -ENOENT:
 * there is none. Others: the file is not BTF.
 */
int kernel_info_open(struct kernel_info **ret, const char *btf_file, struct err *e);
void kernel_info_close(struct kernel_info *k);

/* Returns whether a tp_btf program can be attached to the tracepoint. */
bool kernel_has_tracepoint(const struct kernel_info *k, const char *name);
/* Number of arguments of a tracepoint, without the hidden first one. -1: no such tracepoint. */
int kernel_tracepoint_args(const struct kernel_info *k, const char *name);
/* The struct that argument i of a tracepoint points to; "": another type; NULL: not a pointer. */
const char *kernel_arg_points_to(const struct kernel_info *k, const char *name, int i);
/* Returns whether argument i of a tracepoint points to that struct. */
bool kernel_arg_is(const struct kernel_info *k, const char *tracepoint, int i, const char *type);
/* Returns whether the helper exists: enum bpf_func_id has a value of this name. */
bool kernel_has_helper(const struct kernel_info *k, const char *name);

/* Returns whether the struct has a direct member of this name. */
bool kernel_has_field(const struct kernel_info *k, const char *type, const char *field);

/* Returns whether a task can preempt programs at tracepoints: a PREEMPT_RT build. */
bool kernel_is_preempt_rt(void);

/* Returns whether the memory of maps counts as locked memory (RLIMIT_MEMLOCK), as before 5.11. */
bool kernel_locks_map_memory(const struct kernel_info *k);

/* BTF id of a tracepoint, to which a tp_btf program is attached; 0: no such tracepoint. */
uint32_t kernel_tracepoint_id(const struct kernel_info *k, const char *name);
/* BTF id of a function of the kernel whose name begins with bpf_; 0: no such function. */
uint32_t kernel_function_id(const struct kernel_info *k, const char *name);
/* BTF id of a structure of the kernel; 0: no such structure. */
uint32_t kernel_struct_id(const struct kernel_info *k, const char *name);

/* The BTF itself; the kernel_info keeps it. */
const struct btf *kernel_btf(const struct kernel_info *k);

/* Returns the offset of a per-CPU variable in a CPU's area; 0: no such variable. */
uint64_t kernel_percpu_at(const struct kernel_info *k, const char *variable);

/*
 * Finds where the kernel's array of struct page begins. It compares the struct pages that the
 * kernel allocates for this process with the frame numbers in /proc/self/pagemap, which needs no
 * kernel symbol and works on every architecture. It touches new pages, while a program fills calib
 * for this thread. -EPERM: frame numbers are hidden without CAP_SYS_ADMIN. -ENODATA: no base
 * explains the pages.
 */
int kernel_find_pages(volatile struct wire_calib *calib, unsigned long long *ret_base);
