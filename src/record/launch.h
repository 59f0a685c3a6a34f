/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * launch: forks a child that runs the command later. The child is forked before BPF programs, which
 * need its pid, are attached. It waits until the recording has begun, so that the command is
 * recorded from its first instruction.
 */
#pragma once

#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct launch;

/*
 * Finds the file of a command as execvp() does, and stores its path. Returns 0, or the errno of an
 * exec if the file is missing or not executable.
 */
int launch_find(const char *name, char path[PATH_MAX]);

/*
 * Forks the waiting child. user: name or number of a user for the command; NULL: no change.
 * ignored: signals that the command ignores, among the signals that the recorder handles; the
 * others have their default action. env: "NAME=VALUE" strings to add to the caller's environment,
 * NULL-terminated; may be NULL. -ENOENT: no such user.
 */
int launch_new(struct launch **ret, char *const *argv, const char *user, const sigset_t *ignored,
	       char *const *env, struct err *e);
/*
 * Returns the errno with which the command cannot be run. launch_new() has tried the exec and
 * stopped the process before its first instruction; if tracing is not allowed, it has only checked
 * that the file exists and is executable. 0: no error so far; launch_release() may still return
 * one.
 */
int launch_refusal(const struct launch *l);
pid_t launch_pid(const struct launch *l);
/* Returns a descriptor that becomes readable when the command has ended. */
int launch_fd(const struct launch *l);

/*
 * Releases the child, which execs the command. 0: the command runs. > 0: errno of the exec; the
 * child has ended.
 */
int launch_release(struct launch *l);

/*
 * Returns 1 if the command has ended, with its exit status in *ret_exit (128 + signal if it was
 * killed); 0 if it is still running. block: waits until the command ends.
 */
int launch_wait(struct launch *l, int block, int *ret_exit);

/*
 * Frees l, which may be NULL. A child that was not released exits without running the command; a
 * running command continues.
 */
void launch_free(struct launch *l);

/*
 * target: marks the processes of the workload (the command, -p, --cgroup) in the kernel's set of
 * targets and in the writer, and reads the command lines of running processes.
 */
struct block_writer;
struct buf;
struct probe;
struct session_options;
struct store_writer;

/* Finds the id of a cgroup v2. -ENOENT: no such cgroup; -ENOTSUP: cgroup v2 is not mounted. */
int target_cgroup_id(const char *path, uint64_t *ret_id, struct err *e);

/* Marks command_pid (0: none), and the processes of -p and --cgroup. */
int target_seed(struct probe *probe, struct block_writer *writer, pid_t command_pid,
		const struct session_options *o, struct err *e);

/*
 * Reads /proc/PID/cmdline of the workload's processes in the snapshot rows; with all_cmdlines, of
 * all processes.
 */
int target_read_cmdlines(struct block_writer *writer, const struct session_options *o,
			 const struct buf *snapshot);

/* Sets the manifest entry note.K from "K=V". */
int target_set_note(struct store_writer *w, const char *note, struct err *e);
