/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * source: the list of sources that can be recorded, and the programs for each hook, as declared in
 * schema/events/. CONTRIBUTING.md describes how to add a source.
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
	SOURCE_CNT,		/* sources that -e names */
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
 * A hook's second program sends events for which the kernel skips the first one (bpf/alloc.bpf.c),
 * on kernels that skip. It costs every event as much as an empty program, so it is attached from
 * the start only if interrupts are sure to nest: memory is freed in them, a batch at a time (RCU).
 */
enum source_copy {
	SOURCE_FIRST,
	SOURCE_SECOND,			/* always attached */
	SOURCE_SECOND_WHEN_SKIPPED,	/* after the kernel has first skipped the first program */
};

/* One BPF program. */
struct source_program {
	const char *program;	/* its name in the object */
	const char *tracepoint;	/* NULL: a uprobe, or the clock of a CPU (cpu.sample) */
	enum source source;
	uint8_t hook;		/* enum wire_hook under which it counts; 0: sends nothing itself */
	bool optional; /* the kernel may lack it: another program is used, or none is needed */
	const char *used_for;
	enum source_copy copy;
};

extern const struct source_program source_programs[];
extern const unsigned int source_program_cnt;

/*
 * Returns whether this kernel skips a program that is already running on the CPU (05b24ff9b2cf,
 * 6.1).
 */
bool source_skips_nested(const struct kernel_info *k);

/*
 * Returns whether hooks have second programs: if the kernel skips, unless it may preempt between
 * the two programs.
 */
bool source_has_seconds(const struct kernel_info *k);

/* Returns whether tracing programs can store data with a task (a10787e6d58c, 5.12). */
bool source_has_task_storage(const struct kernel_info *k);

/*
 * Returns whether this kernel should run the program (supported, and not superseded by a better
 * one).
 */
bool source_program_usable(const struct source_program *p, const struct kernel_info *k);

/*
 * Parses "sched,alloc.slab,block" to a mask of SOURCE_BIT; a class name selects its default
 * sources, "light" sched, block and alloc.rss, "all" everything. NULL selects the default, and so
 * does a first word with a sign: "+sched.irq" adds to it, "-alloc" removes a whole class. task is
 * always included. -EINVAL names the word.
 */
int source_parse(const char *list, uint32_t *ret_mask, struct err *e);
