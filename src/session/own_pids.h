/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * own_pids: process ids as a recorder in a pid namespace of its own knows them, and as BPF programs do. These
 * see the ids of the initial namespace, where the recorder's numbers are other processes'. Threads: one.
 */
#ifndef OWN_PIDS_H
#define OWN_PIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct probe;

/* Whether the caller's pid namespace is another than the initial one. */
bool own_pids_are_other(void);

/*
 * pids[0] is the caller's process id, the others those of children of its (0: none), in its own namespace; cnt is
 * OWN_PIDS_MAX at most. They become those of the initial one, and 0 where that cannot be told.
 */
#define OWN_PIDS_MAX 8
int own_pids_translate(struct probe *probe, uint32_t *pids, size_t cnt, struct err *e);

#endif /* OWN_PIDS_H */
