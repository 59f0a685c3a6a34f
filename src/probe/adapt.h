/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * adapt: makes programs fit this kernel if constants are not enough, and libbpf fit this program.
 * The verifier removes unreachable code, but it checks some instructions before it knows that they
 * are unreachable.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;
struct kernel_info;

/*
 * Call before a BPF object is opened. libbpf looks for the BTF ids of tracepoints and iterators in
 * the kernel's BTF, at fixed places of the file system. After this call it uses the ids of k, which
 * may come from another file. k must stay until the object is loaded. One thread. 0 or -errno.
 */
int adapt_register_targets(const struct kernel_info *k);

/*
 * Returns whether atomic additions can return the old value. Kernels support this from 5.12 on, but
 * not on every architecture; a small program is loaded to find out.
 */
bool adapt_can_fetch(void);

/*
 * Rewrites a program before it is loaded. cast_id is the BTF id of the kernel function
 * bpf_rdonly_cast, which replaces the calls of WIRE_CALL_RDONLY_CAST; 0: the kernel lacks it, and
 * the calls are unreachable. k has the ids of the types to cast to. fetching: atomic additions that
 * return the old value may stay; otherwise they are unreachable, and become plain ones. 0 or
 * -errno.
 */
int adapt_program(struct bpf_program *prog, const struct kernel_info *k, uint32_t cast_id,
		  bool fetching);

/*
 * Keeps libbpf's warnings for the text of an error. libbpf prints through a callback of the whole
 * process; after adapt_keep_text() nothing is printed any longer. The first warning of each thread
 * since libbpf_text_clear() is kept: one line without its newline, "" if there was none.
 */
void adapt_keep_text(void);
void libbpf_text_clear(void);
const char *libbpf_text(void);
