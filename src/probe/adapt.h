/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * adapt: makes programs fit this kernel where constants are not enough, and libbpf fit this
 * program. The verifier removes code that cannot run, but it looks at some instructions before it
 * knows that they cannot run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;
struct kernel_info;

/*
 * To be called before a BPF object is opened. libbpf looks for the BTF ids of tracepoints and
 * iterators in the kernel's BTF at fixed places of the file system. From here on it takes these ids
 * from k, which may come from another file. k must stay until the object is loaded. One thread.
 * 0 or -errno.
 */
int adapt_register_targets(const struct kernel_info *k);

/*
 * Returns whether atomic additions can return the old value. They can from 5.12 on, but not on
 * every architecture; a small program is loaded to find out.
 */
bool adapt_can_fetch(void);

/*
 * Rewrites a program before it is loaded. cast_id is the BTF id of the kernel function
 * bpf_rdonly_cast, which replaces the calls of WIRE_CALL_RDONLY_CAST; 0: there is none, and the
 * calls cannot be reached. The ids of the types to cast to are k's. fetching: atomic additions that
 * return the old value may stay; otherwise they cannot be reached, and become plain ones. 0 or
 * -errno.
 */
int adapt_program(struct bpf_program *prog, const struct kernel_info *k, uint32_t cast_id,
		  bool fetching);

/*
 * Keeps what libbpf complains of, for the text of an error. libbpf prints through a callback of the
 * whole process; adapt_keep_text() takes its messages from here on, and nothing is printed any
 * more. Of each thread the first warning since libbpf_text_clear() is kept: one line without its
 * newline, "" if there was none.
 */
void adapt_keep_text(void);
void libbpf_text_clear(void);
const char *libbpf_text(void);
