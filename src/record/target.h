/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * target: the processes of the workload: the command, -p, --cgroup. Fills the kernel's target set
 * and the writer's workload marks, and reads command lines of running processes.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct block_writer;
struct buf;
struct probe;
struct session_options;
struct store_writer;

/*
 * The id of a cgroup v2 by its path. -ENOENT: no such cgroup; -ENOTSUP: cgroup v2 is not mounted.
 */
int target_cgroup_id(const char *path, uint64_t *ret_id, struct err *e);

/* Marks command_pid (0: none) and the processes of -p and --cgroup. */
int target_seed(struct probe *probe, struct block_writer *writer, pid_t command_pid,
		const struct session_options *o, struct err *e);

/*
 * Reads /proc/PID/cmdline of the workload's processes in the snapshot rows, or of all processes
 * with all_cmdlines.
 */
int target_read_cmdlines(struct block_writer *writer, const struct session_options *o,
			 const struct buf *snapshot);

/* Turns "K=V" into the manifest entry note.K. */
int target_set_note(struct store_writer *w, const char *note, struct err *e);
