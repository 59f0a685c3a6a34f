/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * role: matches the processes of two traces that do the same work. PIDs are never compared.
 *
 * A process is described by its program (name of the executable, and the process's own name if it
 * differs), by the first argument that is neither an option nor the value of -o, and by its
 * parent's program. Digits and long hexadecimal words compare equal, so versions, ports and
 * temporary names do not matter. Processes are matched by program, argument and parent, then the
 * rest by program and parent, then by program alone. If a parent runs a program with more than
 * ROLE_OPERAND_MAX different first arguments (a compiler), all of these processes are one role.
 *
 * role_assign() allocates name and parent of each role. Threads: any. Errors: -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "analyze/context/row_sink.h"

#define ROLE_OPERAND_MAX 8
#define ROLE_NONE UINT32_MAX

struct role_process {
	uint32_t upid, parent_upid;
	bool is_kthread;
	char *comm, *exe, *cmdline;	/* never NULL */
	uint32_t role;			/* set by role_assign() */
};

/* Processes of a side, added by role_process_add() and sorted by upid. All zeros: empty. */
struct role_processes {
	struct role_process *v;
	size_t cnt, cap;
};

/*
 * SQL of two tables: r, the program requests that ended in the window (:only_workload: only
 * requests of the workload), and n, the number of requests per name.
 */
#define ROLE_SPANS                                                                                \
	"r AS MATERIALIZED (SELECT r.name, r.id, r.start_ns, r.end_ns, r.dur_ns, r.upid FROM "    \
	"requests(:from, :to) AS r JOIN processes AS p ON p.upid = r.upid "                       \
	"WHERE r.end_ns NOTNULL AND (p.is_workload OR NOT :only_workload)), "                     \
	"n AS MATERIALIZED (SELECT name, count(*) AS cnt, count(DISTINCT upid) AS processes "     \
	"FROM r GROUP BY name)"

/*
 * SQL for the processes in the window :from to :to; with :only_workload, only processes of the
 * workload.
 */
extern const char role_process_sql[];
/* Adds a row of role_process_sql. first_upid is added to the trace's own ids. 0 or -ENOMEM. */
int role_process_add(struct role_processes *side, const struct value *row, uint32_t first_upid);
void role_processes_done(struct role_processes *side);

/* Finds a process; NULL: not found. */
const struct role_process *role_process_find(const struct role_processes *side, int64_t upid);

struct role {
	char *name;	/* "python3.12 train.py"; digits that differ are replaced: "kworker/#:#" */
	char *parent; /* program of the parent; "": processes of several parents match */
};

/*
 * Sets *ret to an array of the *ret_cnt roles of both sides; free it with role_free(). 0 or
 * -ENOMEM.
 */
int role_assign(const struct role_processes *const sides[2], struct role **ret, size_t *ret_cnt);
void role_free(struct role *roles, size_t cnt);
