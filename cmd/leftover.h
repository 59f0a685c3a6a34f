/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * leftover: what a command is making and has not put in place yet. Ctrl-C, SIGTERM and SIGHUP remove it, and then end
 * the program as they would have.
 *
 *     leftover_begin()  mkdir  leftover_watch()  making...  leftover_hold()  rename  leftover_release()  leftover_forget()
 *
 * A thread takes the signals, hence everything may be used to remove it, and the command need not ask. Signals that are
 * ignored (nohup) stay ignored. What ends the program otherwise, kill -9, leaves it for the next command to clear away.
 *
 * Threads: one calls, and has not started others before the first leftover_begin(). One leftover at a time.
 */
#ifndef LEFTOVER_H
#define LEFTOVER_H

/* Something is about to be made: until leftover_watch() or leftover_forget(), both near, signals wait. 0 or -errno. */
int leftover_begin(void);

/* It is there, and ours: a file, or a directory with what is in it. 0 or -errno; signals no longer wait. */
int leftover_watch(const char *path);

/* Between these signals wait: what is renamed or removed is not what is being removed. Near each other. */
void leftover_hold(void);
void leftover_release(void);

/* It is in place, or gone, or was not made. */
void leftover_forget(void);

/* The same for struct export_request. */
void leftover_of_export(void *ctx, const char *part);
void leftover_of_export_done(void *ctx);

#endif /* LEFTOVER_H */
