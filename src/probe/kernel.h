/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * kernel: what the running kernel offers, read from its BTF. Never from its version.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct kernel_info;

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/*
 * Reads the kernel's BTF, from btf_file if that is not NULL (for where KERNEL_BTF is not to be
 * seen). -ENOENT: there is none; others: the file is not BTF.
 */
int kernel_info_open(struct kernel_info **ret, const char *btf_file, struct err *e);
/* From here on libbpf, too, takes the kernel's BTF from btf_file (static string; NULL: from KERNEL_BTF). */
void kernel_use_btf(const char *btf_file);
void kernel_info_close(struct kernel_info *k);

/* Whether the tracepoint name can carry a tp_btf program. */
bool kernel_has_tracepoint(const struct kernel_info *k, const char *name);
/* Number of arguments of a tracepoint, without the hidden first one; -1 if it is not there. */
int kernel_tracepoint_args(const struct kernel_info *k, const char *name);
/* Whether argument i of a tracepoint is a pointer to struct type. */
bool kernel_arg_is_struct(const struct kernel_info *k, const char *name, int i, const char *type);
/* Whether argument i of a tracepoint is a pointer at all. */
bool kernel_arg_is_pointer(const struct kernel_info *k, const char *name, int i);
/* Whether enum bpf_func_id has this value name: the helper exists. */
bool kernel_has_helper(const struct kernel_info *k, const char *name);

/* Whether the memory of maps counts as locked memory of its user (RLIMIT_MEMLOCK): kernels before 5.11. */
bool kernel_locks_map_memory(const struct kernel_info *k);

/* BTF id of a function of the kernel, or 0 if it has none of that name. */
uint32_t kernel_function_id(const struct kernel_info *k, const char *name);

/* Where a per-CPU variable is in a CPU's area, or 0 if the kernel has none of that name. */
uint64_t kernel_percpu_at(const struct kernel_info *k, const char *variable);

#endif /* KERNEL_H */
