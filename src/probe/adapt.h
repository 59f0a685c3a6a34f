/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * adapt: rewrites programs for this kernel where constants do not suffice, and makes libbpf use
 * this program's data. The verifier removes unreachable code, but checks some instructions before
 * that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;
struct kernel_info;

/*
 * Call this before opening a BPF object. libbpf looks up the BTF ids of tracepoints and iterators
 * in the kernel's BTF, at fixed paths. After this call it uses the ids of k, which may be from
 * another file. The caller keeps k until the object is loaded. Threads: one. 0 or -errno.
 */
int adapt_register_targets(const struct kernel_info *k);

/*
 * Returns whether atomic additions can return the old value: since 5.12, but not on every
 * architecture. Loads a small program to find out.
 */
bool adapt_can_fetch(void);

/*
 * Rewrites a program before it is loaded. cast_id: BTF id of the kernel function bpf_rdonly_cast,
 * to which calls of WIRE_CALL_RDONLY_CAST are redirected; 0: the kernel lacks it, and the calls are
 * unreachable. k has the ids of the types to cast to. fetching: keeps atomic additions that return
 * the old value; otherwise these are unreachable, and become plain additions. 0 or -errno.
 */
int adapt_program(struct bpf_program *prog, const struct kernel_info *k, uint32_t cast_id,
		  bool fetching);

/*
 * Stores libbpf's warnings for error messages. libbpf prints through a callback of the whole
 * process; after adapt_keep_text() it prints nothing. libbpf_text() returns the calling thread's
 * first warning since libbpf_text_clear(), one line without newline; "": none.
 */
void adapt_keep_text(void);
void libbpf_text_clear(void);
const char *libbpf_text(void);
