/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * launch: starts the command early and lets it run late. The child exists, with its pid, before
 * anything is attached, and waits. It is released when recording has begun, so its first
 * instruction is in the trace.
 */
#pragma once

#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct launch;

/*
 * Looks for a command as execvp() does, and returns the path of the file. Returns 0, or the errno
 * of an exec of a file that is missing or cannot be executed.
 */
int launch_find(const char *name, char path[PATH_MAX]);

/*
 * Forks the waiting child. user: name or number of the user to become, NULL = no change. ignored:
 * the signals that the command ignores, among those that the recorder handles; the others get their
 * default action. env: "NAME=VALUE" strings added to the caller's environment, NULL-terminated; may
 * be NULL. -ENOENT: no such user.
 */
int launch_new(struct launch **ret, char *const *argv, const char *user, const sigset_t *ignored,
	       char *const *env, struct err *e);
/*
 * Why the command cannot be run: the errno of an exec that launch_new() tried and stopped before
 * its first instruction. If processes may not be traced, only a missing or non-executable command
 * is detected. 0: no reason is known; launch_release() may still find one.
 */
int launch_refusal(const struct launch *l);
pid_t launch_pid(const struct launch *l);
/* A descriptor that becomes readable when the command has ended. */
int launch_fd(const struct launch *l);

/* Lets the child exec. 0: it runs. > 0: the errno of its exec (the child is gone). */
int launch_release(struct launch *l);

/*
 * 1: the command has ended, and *ret_exit is its status as a shell gives it; 0: it still runs.
 * block: wait for the end.
 */
int launch_wait(struct launch *l, int block, int *ret_exit);

/*
 * Frees l; NULL is fine. A child that was never released ends without running the command; a
 * running command is left alone.
 */
void launch_free(struct launch *l);

/*
 * target: the processes of the workload: the command, -p, --cgroup. Fills the kernel's target set
 * and the writer's workload marks, and reads command lines of running processes.
 */
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
