/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * attach: attaches loaded programs to their hooks. The programs of a source are attached and
 * detached together.
 *
 * Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/wire.h"

struct bpf_link;
struct bpf_object;
struct span_probes;

#define ATTACH_LINKS_MAX (256 + 8192)	/* programs, and one clock per CPU */

/* Before use, the caller sets the members up to has_cookies, and all others to 0. */
struct attached {
	struct bpf_object *obj;		/* loaded; owned by the caller */
	unsigned int cpu_cnt;		/* possible CPUs */
	uint64_t profile_ns;		/* cpu.sample: the period of the clocks */
	const char *heap_program;	/* alloc.heap; owned by the caller; NULL: none */
	const struct span_probes *span_probes;	/* app.span; NULL: none */
	bool has_cookies;		/* the kernel supports cookies of uprobes (5.15) */
	uint32_t heap_used; /* alloc.heap: mask of the probed libraries; 0: not determined yet */
	struct bpf_link *links[ATTACH_LINKS_MAX];	/* in the order of attaching */
	uint8_t link_source[ATTACH_LINKS_MAX];		/* enum source */
	unsigned int link_cnt;
	bool takes_skipped[WIRE_HOOK_MAX];	/* by hook: attach_second() was called */
};

/* Attaches a program to the hook in its section's name. NULL: sets errno. */
struct bpf_program;
struct bpf_link *attach_program(struct bpf_program *prog);

/*
 * Attaches all loaded programs of a mask of sources (SOURCE_BIT). After an error, some are
 * attached.
 */
int attach_sources(struct attached *a, uint32_t sources, struct err *e);

/* Detaches the programs of one source. */
void attach_drop_source(struct attached *a, unsigned int source);

/*
 * Attaches the second program of a hook, if there is one and the first is attached. From now on
 * attach_sources() attaches both.
 */
int attach_second(struct attached *a, unsigned int hook, struct err *e);

/* Detaches everything. */
void attach_drop_all(struct attached *a);

/*
 * adapt: rewrites programs for this kernel if constants do not suffice, and stores libbpf's
 * warnings. The verifier removes unreachable code, but checks some instructions before that.
 */
struct kernel_info;

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
