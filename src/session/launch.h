/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * launch: starts the command early and lets it run late. The child exists, with its pid,
 * before anything is attached, and waits; it is released when recording has begun, so its
 * first instruction is in the trace.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct launch;

/*
 * Whether a command of that name can be found, as execvp() looks for it. Only a look: whether it can be run,
 * by whom, shows when it is.
 */
bool launch_finds(const char *command);

/*
 * Forks the waiting child. user: name or number to become, NULL = stay. ignored: of the signals that the recorder
 * handles, those that the command ignores; the others do what they do by default. -ENOENT: no such user.
 */
int launch_new(struct launch **ret, char *const *argv, const char *user, const sigset_t *ignored,
	       struct err *e);
pid_t launch_pid(const struct launch *l);
/* Descriptor that becomes readable when the command has ended. */
int launch_fd(const struct launch *l);

/* Lets it go. 0: it runs. > 0: the errno of its exec (the child is gone). */
int launch_release(struct launch *l);

/* 1: ended, *ret_exit is its status as a shell gives it; 0: still runs. block: wait for the end. */
int launch_wait(struct launch *l, int block, int *ret_exit);

/* A child not yet released ends without having run anything; a running one is left alone. NULL is fine. */
void launch_free(struct launch *l);

#endif /* LAUNCH_H */
