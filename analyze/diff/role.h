/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * role: finds the processes of two traces that do the same work. PIDs are never compared.
 *
 * A process is described by what it runs (its executable's name, and its own name where that
 * differs), by the first argument that is neither an option nor the value of -o, and by what its
 * parent runs. All digits and all long hexadecimal words compare equal, so versions, ports and
 * temporary names do not matter. Processes are matched by all three; the rest by the first and the
 * third, and then by the first alone. A program run for more than ROLE_OPERAND_MAX different first
 * arguments by the same parent (a compiler) is one role.
 *
 * Ownership: the caller's; role_assign() allocates name and parent of each role.
 * Threads: any. Errors: -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#define ROLE_OPERAND_MAX 8
#define ROLE_NONE UINT32_MAX

struct role_process {
	uint32_t upid, parent_upid;
	bool is_kthread;
	char *comm, *exe, *cmdline;	/* never NULL */
	uint32_t role;			/* set by role_assign() */
};

/* By upid, in an array sorted by it; NULL: there is none. */
const struct role_process *role_process_find(const struct role_process *p, size_t cnt,
					     int64_t upid);

struct role {
	char *name;	/* "python3.12 train.py"; digits that differ are '#': "kworker/#:#" */
	char *parent; /* what the parent runs; "" when processes of several were matched */
};

/*
 * p[0] and p[1]: the processes of either trace, cnt[] of them, sorted by upid. *ret is an array
 * of *ret_cnt roles, freed with role_free().
 */
int role_assign(struct role_process *p[2], const size_t cnt[2], struct role **ret, size_t *ret_cnt);
void role_free(struct role *roles, size_t cnt);
