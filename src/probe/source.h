/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * source: the list of sources that can be recorded, and the programs of each hook, from the
 * declarations in schema/events/. CONTRIBUTING.md describes how to add a source.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "event_lists.h"

struct kernel_info;

enum source {
#define X(source, name, is_default, doc) SOURCE_##source,
	EVENT_SOURCES(X)
#undef X
	SOURCE_CNT,		/* number of sources that -e accepts */
	SOURCE_BEFORE_OPTIONS = SOURCE_CNT - 1,
#define X(source, name, doc) SOURCE_##source,
	EVENT_OPTION_SOURCES(X)
#undef X
	SOURCE_ALL_CNT,
};

#define SOURCE_BIT(s) (1u << (s))

struct source_info {
	const char *name;	/* "alloc.slab" */
	bool is_default;
	const char *doc;
};

extern const struct source_info source_infos[SOURCE_ALL_CNT];

/*
 * A hook's second program sends the events for which the kernel skips the first program, on kernels
 * that skip programs (bpf/alloc.bpf.c). For every event it costs as much as an empty program. It is
 * attached from the start only for hooks that are certain to nest, because interrupts free memory
 * in batches (RCU).
 */
enum source_copy {
	SOURCE_FIRST,
	SOURCE_SECOND,			/* always attached */
	SOURCE_SECOND_WHEN_SKIPPED, /* attached after the kernel has skipped the first program */
};

/* One BPF program. */
struct source_program {
	const char *program;	/* its name in the object */
	const char *tracepoint;	/* NULL: a uprobe, or a CPU's clock (cpu.sample) */
	enum source source;
	uint8_t hook;		/* enum wire_hook of its counters; 0: sends nothing itself */
	bool optional; /* may be missing: another program replaces it, or none is needed */
	const char *used_for;
	enum source_copy copy;
};

extern const struct source_program source_programs[];
extern const unsigned int source_program_cnt;

/*
 * Returns whether the kernel skips a program that is already running on the CPU (05b24ff9b2cf,
 * 6.1).
 */
bool source_skips_nested(const struct kernel_info *k);

/*
 * Returns whether hooks have second programs: the kernel skips programs, and cannot preempt a task
 * between the two programs.
 */
bool source_has_seconds(const struct kernel_info *k);

/* Returns whether tracing programs can store data with a task (a10787e6d58c, 5.12). */
bool source_has_task_storage(const struct kernel_info *k);

/*
 * Returns whether to run the program on this kernel: it is supported, and no better program
 * replaces it.
 */
bool source_program_usable(const struct source_program *p, const struct kernel_info *k);

/*
 * Parses "sched,alloc.slab,block" to a mask of SOURCE_BIT. A class name selects the default sources
 * of its class; "light": sched, block and alloc.rss; "all": all sources. NULL, or a first word with
 * a sign, selects the defaults: "+sched.irq" adds a source, "-alloc" removes a whole class. task is
 * always included. -EINVAL: e names the word.
 */
int source_parse(const char *list, uint32_t *ret_mask, struct err *e);
