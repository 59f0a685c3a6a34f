/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * kallsyms: names of code addresses of the running kernel. Addresses are valid only until reboot,
 * so they are resolved while recording.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct kallsyms;

/* Reads /proc/kallsyms. -EPERM: the kernel hides addresses (kptr_restrict). */
int kallsyms_open(struct kallsyms **ret);
void kallsyms_close(struct kallsyms *k);

/*
 * Formats "function+0x1a", followed by " [module]" for a module. -ENOENT: the address is in no
 * known function.
 */
int kallsyms_find(const struct kallsyms *k, uint64_t addr, char *name, size_t size);
