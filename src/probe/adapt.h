/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * adapt: makes programs fit a kernel where the verifier's removal of dead code comes too late,
 * because instructions are looked at before it is known whether they can run.
 */
#ifndef ADAPT_H
#define ADAPT_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;

/* Whether BPF atomics can return the old value (5.12 and later; not on every architecture): tried out. */
bool adapt_can_fetch(void);

/*
 * cast_id: BTF id of the kernel function bpf_rdonly_cast, which replaces calls of WIRE_CALL_RDONLY_CAST;
 * 0: none, these calls cannot be reached. fetching: atomics that return the old value may stay; else they
 * cannot be reached, and lose that. Call before loading. 0 or -errno.
 */
int adapt_program(struct bpf_program *prog, uint32_t cast_id, bool fetching);

#endif /* ADAPT_H */
