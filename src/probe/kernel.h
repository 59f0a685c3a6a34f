/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* kernel: features of the running kernel. They are detected, not derived from its version. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/wire.h"

struct btf;
struct kernel_info;

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/*
 * Reads the kernel's BTF from KERNEL_BTF, or from btf_file if KERNEL_BTF is not visible. btf_file
 * may be NULL. -ENOENT: no BTF. Other errors: the file is not BTF.
 */
int kernel_info_open(struct kernel_info **ret, const char *btf_file, struct err *e);
void kernel_info_close(struct kernel_info *k);

/* Returns whether a tp_btf program can be attached to the tracepoint. */
bool kernel_has_tracepoint(const struct kernel_info *k, const char *name);
/*
 * Returns the number of arguments of a tracepoint, without the hidden first one. -1: no such
 * tracepoint.
 */
int kernel_tracepoint_args(const struct kernel_info *k, const char *name);
/*
 * Returns the name of the struct to which argument i of a tracepoint points; "": another type;
 * NULL: not a pointer.
 */
const char *kernel_arg_points_to(const struct kernel_info *k, const char *name, int i);
/* Returns whether argument i of a tracepoint points to this struct. */
bool kernel_arg_is(const struct kernel_info *k, const char *tracepoint, int i, const char *type);
/* Returns whether the helper exists: enum bpf_func_id has a value of this name. */
bool kernel_has_helper(const struct kernel_info *k, const char *name);

/* Returns whether the struct has a direct member of this name. */
bool kernel_has_field(const struct kernel_info *k, const char *type, const char *field);

/* Returns whether a task can preempt programs at tracepoints: a PREEMPT_RT build. */
bool kernel_is_preempt_rt(void);

/* Returns whether the memory of maps counts as locked memory (RLIMIT_MEMLOCK), as before 5.11. */
bool kernel_locks_map_memory(const struct kernel_info *k);

/* Returns the BTF id of a tracepoint, for attaching a tp_btf program; 0: no such tracepoint. */
uint32_t kernel_tracepoint_id(const struct kernel_info *k, const char *name);
/* Returns the BTF id of a kernel function whose name begins with bpf_; 0: no such function. */
uint32_t kernel_function_id(const struct kernel_info *k, const char *name);
/* Returns the BTF id of a structure; 0: no such structure. */
uint32_t kernel_struct_id(const struct kernel_info *k, const char *name);

/* Returns the BTF, which belongs to k. */
const struct btf *kernel_btf(const struct kernel_info *k);

/* Returns the offset of a per-CPU variable in the per-CPU section; 0: no such variable. */
uint64_t kernel_percpu_at(const struct kernel_info *k, const char *variable);

/*
 * Finds the start of the kernel's array of struct page. Touches new pages while a program stores in
 * calib the struct pages that the kernel allocates for this thread; compares these with the frame
 * numbers in /proc/self/pagemap. This needs no kernel symbol and works on every architecture.
 * -EPERM: without CAP_SYS_ADMIN frame numbers are hidden. -ENODATA: no start fits the pages.
 */
int kernel_find_pages(volatile struct wire_calib *calib, unsigned long long *ret_base);

/*
 * core_types: makes a small BTF file of the kernel types that programs read.
 *
 * For each structure that a program reads, libbpf searches all types of the kernel, about 130,000,
 * which takes 40 ms. In a file with only the structures that the programs use, and their contents,
 * the search takes a negligible time.
 */
struct btf;

/*
 * Writes the BTF of the kernel types that programs (BTF of the BPF object) uses to fd, an empty
 * file. Type ids differ from the kernel's. Pointers have no target type, which libbpf accepts as
 * compatible. 0 or -errno.
 */
int core_types_write(const struct btf *kernel, const struct btf *programs, int fd);
