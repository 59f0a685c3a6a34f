/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* source: the tables for `-e` and `doctor`, and the rules that select programs for a kernel. */
#include "probe/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/wire.h"
#include "probe/kernel.h"
#include "base/words.h"

const struct source_info source_infos[SOURCE_ALL_CNT] = {
#define X(source, name, is_default, doc) [SOURCE_##source] = { name, is_default, doc },
	EVENT_SOURCES(X)
#undef X
#define X(source, name, doc) [SOURCE_##source] = { name, false, doc },
	EVENT_OPTION_SOURCES(X)
#undef X
};

const struct source_program source_programs[] = {
#define X(program, tracepoint, source, hook, optional, used_for, copy) \
	{ program, tracepoint, SOURCE_##source, hook, optional, used_for, SOURCE_##copy },
	EVENT_PROGRAMS(X)
#undef X
};

const unsigned int source_program_cnt = sizeof(source_programs) / sizeof(source_programs[0]);

bool source_skips_nested(const struct kernel_info *k)
{
	/* Kernels that skip programs have this function, which counts the skipped runs. */
	return kernel_function_id(k, "bpf_prog_inc_misses_counter") != 0;
}

static bool is_realtime(void)
{
	return !access("/sys/kernel/realtime", F_OK);
}

bool source_has_seconds(const struct kernel_info *k)
{
	return source_skips_nested(k) && !is_realtime();
}

bool source_has_task_storage(const struct kernel_info *k)
{
	/* Without this field (Linux 5.11), only LSM programs may call bpf_task_storage_get(). */
	return kernel_has_field(k, "task_struct", "bpf_storage");
}

bool source_program_usable(const struct source_program *p, const struct kernel_info *k)
{
	bool cheap_vm;

	if (!p->tracepoint)
		return true;
	if (!kernel_has_tracepoint(k, p->tracepoint))
		return false;
	if (p->copy)
		return source_has_seconds(k);
	/*
	 * on real-time kernels a soft interrupt runs in a task, which other tasks can preempt: it
	 * does not interrupt a task
	 */
	if (p->hook == WIRE_SOFTIRQ_ENTRY || p->hook == WIRE_SOFTIRQ_EXIT)
		return !is_realtime();
	if (p->source == SOURCE_OFFCPU)
		return source_has_task_storage(k);
	if (p->source != SOURCE_VM)
		return true;
	/* two programs find the mapped size; the cheap one reads the registers of the caller */
	cheap_vm = kernel_has_tracepoint(k, "mmap_lock_released") &&
		   kernel_has_helper(k, "BPF_FUNC_task_pt_regs");
	return !strcmp(p->program, "vm_sys_exit") ? !cheap_vm : cheap_vm;
}

/*
 * Returns the sources with this name or class (the part before the dot). For a class: the default
 * sources, or with `any` all of them.
 */
static uint32_t match(struct word w, bool any)
{
	uint32_t mask = 0;

	if (word_is(w, "all"))
		return SOURCE_BIT(SOURCE_CNT) - 1;
	if (word_is(w, "light"))
		return match((struct word){ "sched", 5 }, any) |
		       match((struct word){ "block", 5 }, any) | SOURCE_BIT(SOURCE_RSS);
	for (unsigned int i = 0; i < SOURCE_CNT; i++) {
		const char *name = source_infos[i].name;
		const char *dot = strchr(name, '.');

		if (word_is(w, name) || (dot && dot - name == w.len && !memcmp(name, w.s, w.len) &&
					 (any || source_infos[i].is_default)))
			mask |= SOURCE_BIT(i);
	}
	return mask;
}

int source_parse(const char *list, uint32_t *ret_mask, struct err *e)
{
	uint32_t mask = SOURCE_BIT(SOURCE_TASK), hit;

	for (unsigned int i = 0; i < SOURCE_CNT && (!list || *list == '+' || *list == '-'); i++)
		mask |= source_infos[i].is_default ? SOURCE_BIT(i) : 0;
	for (bool more = list; more; more = *list) {
		char sign = *list == '+' || *list == '-' ? *list++ : '+';
		struct word w = word_next(&list);

		hit = match(w, sign == '-');
		if (!hit)
			return err_set(e, -EINVAL, "unknown event '%.*s': pick from " EVENT_CHOICES,
				       w.len, w.s);
		if (sign == '-' && hit == SOURCE_BIT(SOURCE_TASK))
			return err_set(e, -EINVAL, "task is always recorded");
		mask = sign == '-' ? mask & ~hit : mask | hit;
	}
	*ret_mask = mask | SOURCE_BIT(SOURCE_TASK);
	return 0;
}
