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
 * role_assign() allocates name and parent of each role.
 * Threads: any. Errors: -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "analyze/context/analysis.h"

#define ROLE_OPERAND_MAX 8
#define ROLE_NONE UINT32_MAX

struct role_process {
	uint32_t upid, parent_upid;
	bool is_kthread;
	char *comm, *exe, *cmdline;	/* never NULL */
	uint32_t role;			/* set by role_assign() */
};

/* The processes of a side, which role_process_add() reads, sorted by upid. All zeros: empty. */
struct role_processes {
	struct role_process *v;
	size_t cnt, cap;
};

/* Requests of programs that ended in the window (:only_workload), and the number of each name. */
#define ROLE_SPANS                                                                                \
	"r AS MATERIALIZED (SELECT r.name, r.id, r.start_ns, r.end_ns, r.dur_ns, r.upid FROM "    \
	"requests(:from, :to) AS r JOIN processes AS p ON p.upid = r.upid "                       \
	"WHERE r.end_ns NOTNULL AND (p.is_workload OR NOT :only_workload)), "                     \
	"n AS MATERIALIZED (SELECT name, count(*) AS cnt, count(DISTINCT upid) AS processes "     \
	"FROM r GROUP BY name)"

/* The processes of the window :from to :to, or of them the workload's (:only_workload). */
extern const char role_process_sql[];
/* Adds a row of that. first_upid is added to the trace's own ids. 0 or -ENOMEM. */
int role_process_add(struct role_processes *side, const struct value *row, uint32_t first_upid);
void role_processes_done(struct role_processes *side);

/* By upid, in an array sorted by it; NULL: there is none. */
const struct role_process *role_process_find(const struct role_processes *side, int64_t upid);

struct role {
	char *name;	/* "python3.12 train.py"; digits that differ are '#': "kworker/#:#" */
	char *parent; /* the program of the parent; "" if processes of several parents match */
};

/* *ret is an array of *ret_cnt roles of both sides, freed with role_free(). */
int role_assign(const struct role_processes *const sides[2], struct role **ret, size_t *ret_cnt);
void role_free(struct role *roles, size_t cnt);
