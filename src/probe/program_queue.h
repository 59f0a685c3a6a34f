/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * program_queue: loads the programs of a BPF object in several threads, except uprobes.
 *
 * The verifier takes most of the time of a start, and libbpf loads one program after the other.
 * Therefore libbpf only prepares programs of tracepoints and iterators, and loads a stub for each;
 * the programs wait in the queue. program_queue_load() loads them and puts each in the place of its
 * stub.
 *
 * libbpf looks up the BTF ids of tracepoints and iterators in the kernel's BTF, at fixed paths. The
 * queue sets ids from its kernel_info instead, which may have been read from another file.
 *
 * Threads: one; one queue per process, because libbpf's callback has no context.
 */
#pragma once

#include "base/err.h"

struct kernel_info;

/*
 * Call this before opening the object. It empties the queue. The caller keeps k until
 * program_queue_load() returns. 0 or -errno.
 */
int program_queue_register(const struct kernel_info *k);

/*
 * Call this after loading the object. If the kernel refuses a program, e names it, and the object
 * is unusable. 0 or -errno.
 */
int program_queue_load(struct err *e);
