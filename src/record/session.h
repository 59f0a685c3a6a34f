/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * session: one recording, from the first capability check to the closed trace.
 *
 *     options --> [session] --> probe (load) + ring (consume) + encode + store (write)
 *
 * The library never prints: what a person should see comes back in struct err, in session_stats, or
 * through the callbacks. All functions are for one thread (the command's main thread), except
 * session_stop() and session_snapshot(), which are async-signal-safe.
 */
#ifndef SESSION_H
#define SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "probe/rings.h"

struct session;

struct session_options {
	const char *output;		/* trace directory */
	const char *events;		/* "-e" list, NULL = default */
	char *const *command;		/* NULL-terminated argv, or NULL */
	const uint32_t *pids;		/* -p */
	unsigned int pid_cnt;
	const char *cgroup;		/* --cgroup PATH, NULL = none */
	uint64_t stacks_min_bytes;	/* --stacks SIZE; 0 = none */
	uint32_t stacks_every;		/* --stacks 1/N; 0 = none */
	uint64_t offcpu_ns;		/* --offcpu DUR; 0 = none, unless -e has sched.offcpu */
	bool only;			/* keep only the workload's events */
	bool force;			/* -f */
	bool all_cmdlines; /* keep command lines of all processes, not just the workload's */
	uint64_t start_real_ns;		/* --start-at, wall clock; 0 = at once */
	uint64_t duration_ns;		/* 0 = until the command ends or session_stop() */
	const char *btf_file;	/* --btf: used instead of /sys/kernel/btf/vmlinux; may be NULL */
	const char *user; /* -u: name or number to run the command as; NULL = as the caller */
	sigset_t ignored;	/* signals that the command ignores, because the caller does */
	/* --keep: how much of the trace stays, as in store_writer.h; 0 = all */
	uint64_t keep_bytes, keep_ns;
	struct rings_config rings;
	int zstd_level;			/* 1..19; 0 = default, -1 = no compression */
	uint64_t budget_ppm; /* --max-overhead: millionths of the machine's CPU time; 0 = none */
	const char *const *triggers;	/* --trigger, as in trigger.h */
	unsigned int trigger_cnt;
	uint64_t trigger_max;		/* snapshots that triggers make at most; 0 = 10 */
	bool has_mark_fd;
	int mark_fd;			/* each line read from it is a mark; the caller keeps it */
	const char *const *notes;	/* "K=V" strings */
	unsigned int note_cnt;
	const char *command_line; /* how the recorder was called, for the manifest; may be NULL */
	/* Called about every 250 ms from session_run(); may be NULL. */
	void (*tick)(void *ctx, const struct session *s);
	void *tick_ctx;
	/*
	 * A warning that does not end the recording ("alloc.vm: this kernel has no ..."); may be
	 * NULL.
	 */
	void (*warn)(void *ctx, const char *text);
	/* Good news ("snapshot written to ..."), with the same ctx; may be NULL. */
	void (*notice)(void *ctx, const char *text);
	void *warn_ctx;
};

/* Warns through o->warn, if that is set. */
void session_warn(const struct session_options *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

enum { SESSION_CLASS_CNT = 4 };		/* task, sched, alloc, block: enum event_class */

struct session_stats {
	bool has_trace;	/* false: the session ended before the trace began, and nothing was kept */
	uint64_t event_cnt[SESSION_CLASS_CNT];	/* records kept */
	/* no room, failed reservation, skipped program, or inferred */
	uint64_t lost_cnt[SESSION_CLASS_CNT];
	uint64_t full_cnt;			/* of all lost: the ring had no room */
	uint64_t inferred_cnt;			/* of all lost: no counter saw them */
	/*
	 * Of the recording: records outside its span count in none. lost is without skipped
	 * programs, which attempted nothing. Once everything is drained, attempted = read + lost.
	 */
	uint64_t attempted, read, lost;
	uint64_t bytes;				/* written to disk */
	uint64_t dropped_bytes;			/* of these, removed again by --keep */
	uint64_t kept_ns;			/* the part of the duration that is still there */
	uint64_t duration_ns;
	uint64_t user_ns, sys_ns;		/* recorder CPU, without the workload */
	uint64_t rss_max_bytes;
	uint64_t bpf_ns;	/* run time of the BPF programs, extrapolated from samples */
	unsigned int off_cnt;	/* how often a source was turned off to keep the budget */
	const char *off; /* sources that are off now, joined by blanks; valid until the next step */
};

/*
 * Checks privileges and kernel, makes the trace directory and loads the programs. Nothing is left
 * behind on failure. Errors: -EPERM (names the capability), -ENOENT no BTF, -EINVAL bad option,
 * -EEXIST the output exists, -ENOSYS kernel too old.
 */
int session_open(struct session **ret, const struct session_options *o, struct err *e);

/*
 * Waits for start_real_ns, attaches, starts the command and records until the command ends, the
 * duration is over or session_stop() is called. *ret_exit is the exit status for the program: the
 * command's (128 + signal if killed, 126 or 127 if it could not run; then the trace directory is
 * removed again), 0 without a command. < 0: recording itself failed, or was stopped before it began
 * (-EINTR). What was recorded so far is valid and the command, if it runs, goes on
 * undisturbed; if it was not started yet, it is not started, and there is no trace.
 */
int session_run(struct session *s, int *ret_exit, struct err *e);

/* The first call ends, drains and closes; the second ends at once. Safe in a signal handler. */
void session_stop(struct session *s);

/* Soon makes a snapshot of the trace, TRACE.snapshot-<time>. Safe in a signal handler. */
void session_snapshot(struct session *s);

void session_get_stats(const struct session *s, struct session_stats *ret);
/* Ends everything; frees s. NULL is fine. */
void session_close(struct session *s);

/*
 * A capability, what it is for, and whether the caller has it. Returns the length of the static
 * list.
 */
struct session_privilege {
	int cap;			/* of linux/capability.h */
	const char *name;		/* "CAP_BPF" */
	const char *used_for;
	bool is_there, is_needed;	/* is_needed: no recording without it */
};
unsigned int session_privileges(const struct session_privilege **ret);

/* One line of what this kernel offers per program: for `doctor`, `record -e help` and tests. */
struct session_hook {
	const char *source;		/* "alloc.slab" */
	const char *name;		/* "kmalloc" */
	const char *hook;		/* "tp_btf/kmalloc" */
	bool is_default;
	bool is_there;		/* the kernel has it, and it is used when its source is recorded */
	bool is_spare;		/* the kernel has it, but another program gives the same */
	const char *used_for;
};
/* Returns the length of the static list. */
unsigned int session_hooks(const struct session_hook **ret);

#endif /* SESSION_H */
