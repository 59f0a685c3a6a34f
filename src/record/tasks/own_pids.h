/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * own_pids: translates process ids from the recorder's pid namespace to the initial namespace,
 * whose ids BPF programs see. The same number is another process there. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct probe;

/* Returns true if the caller's pid namespace is not the initial one. */
bool own_pids_are_other(void);

/*
 * Translates ids in place. pids[0] is the caller's process id, the other ids are those of its
 * children (0: none); cnt is at most OWN_PIDS_MAX. An id that cannot be translated becomes 0.
 */
#define OWN_PIDS_MAX 8
int own_pids_translate(struct probe *probe, uint32_t *pids, size_t cnt, struct err *e);
