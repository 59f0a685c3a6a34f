/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * attach: the loaded programs at their hooks. A source is attached and detached as a whole.
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

#define ATTACH_LINKS_MAX (256 + 8192)	/* programs, and a clock for each CPU */

/* Zeroed, with the first three members set: nothing is attached. */
struct attached {
	struct bpf_object *obj;		/* loaded; the caller keeps it */
	unsigned int cpu_cnt;		/* possible CPUs */
	uint64_t profile_ns;		/* cpu.sample: the period of the clocks */
	const char *heap_program;	/* alloc.heap: the caller keeps it; NULL: none */
	const struct span_probes *span_probes;	/* app.span; NULL: none */
	bool has_cookies;		/* probes may have cookies (5.15) */
	uint32_t heap_used;		/* alloc.heap: mask of probed libraries; 0: unknown */
	struct bpf_link *links[ATTACH_LINKS_MAX];	/* in the order of attaching */
	uint8_t link_source[ATTACH_LINKS_MAX];		/* enum source */
	unsigned int link_cnt;
	bool takes_skipped[WIRE_HOOK_MAX];	/* by hook: attach_second() was called */
};

/* Attaches all loaded programs of sources, a mask of SOURCE_BIT. An error leaves some attached. */
int attach_sources(struct attached *a, uint32_t sources, struct err *e);

/* Detaches the programs of one source. */
void attach_drop_source(struct attached *a, unsigned int source);

/*
 * Attaches the second program of a hook, if it has one and the first is attached. From now on
 * attach_sources() attaches both.
 */
int attach_second(struct attached *a, unsigned int hook, struct err *e);

/* Detaches everything. */
void attach_drop_all(struct attached *a);
