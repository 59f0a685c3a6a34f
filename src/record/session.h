/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * session: one recording, from the first capability check to the closed trace.
 *
 *     options --> [session] --> probe (load) + ring (consume) + encode + store (write)
 *
 * The library never prints: messages for a person come back in struct err, in session_stats, or
 * through the callbacks. All functions are for one thread (the command's main thread), except
 * session_stop() and session_snapshot(), which are async-signal-safe.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "probe/rings.h"
#include "record/flight/flight_recorder.h"
#include "record/guard/sampler.h"

struct session;

#define SESSION_HEAP_SAMPLE_MAX (1ULL << 30)
#define SESSION_PROFILE_HZ 99 /* out of step with timers, which go off at round rates */

struct session_options {
	const char *output;		/* trace directory */
	const char *events;		/* "-e" list, NULL = default */
	char *const *command;		/* NULL-terminated argv, or NULL */
	const uint32_t *pids;		/* -p */
	unsigned int pid_cnt;
	const char *cgroup;		/* --cgroup PATH, NULL = none */
	uint64_t stacks_min_bytes;	/* --stacks SIZE; 0 = none */
	uint32_t stacks_every;		/* --stacks 1/N; 0 = none */
	bool heap;			/* --heap: alloc.heap, too */
	uint64_t heap_sample_bytes;	/* --heap=SIZE; 0 = all allocations */
	bool heap_wait;			/* --heap-wait: the workload waits if the ring is full */
	uint64_t offcpu_ns;		/* --offcpu DUR; 0 = none, unless -e has sched.offcpu */
	uint64_t profile_hz;		/* --profile HZ; 0 = none, unless -e has cpu.sample */
	/* mask of cpu.sample and sched.offcpu: find callers by unwind_table.h, if possible */
	uint32_t unwound;
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
	struct flight_options flight;
	bool spans;		/* --spans: programs with cmd/ebpfrec.h */
	int span_fd;		/* --span-fd: of session_span_socket(); 0: none */
	const char *const *requests;	/* --request */
	unsigned int request_cnt;
	const char *const *notes;	/* "K=V" strings */
	unsigned int note_cnt;
	const char *command_line; /* how the recorder was called, for the manifest; may be NULL */
	/* Called about every 250 ms from session_run(); may be NULL. */
	void (*tick)(void *ctx, const struct session *s);
	void *tick_ctx;
	struct notices notices;	/* from session_open() and session_run() */
	/*
	 * A trace that had the output's name, and whose recording began at real_ns (0: unknown),
	 * was renamed to OUTPUT.old. replaces: this removed a trace of that name. ctx is that of
	 * notices; may be NULL.
	 */
	void (*renamed)(void *ctx, uint64_t real_ns, bool replaces);
};

struct session_stats {
	bool has_trace;	/* false: the session ended before the trace began, and nothing was kept */
	uint64_t event_cnt[SAMPLER_CLASS_CNT];	/* kept events; names of files do not count */
	struct sampler_totals totals;	/* includes inferred losses */
	uint64_t inferred_cnt;			/* part of the lost events that no counter saw */
	uint64_t bytes;				/* written to disk */
	uint64_t dropped_bytes;			/* part of bytes that --keep removed again */
	/* the part of the duration that is still in the trace */
	uint64_t kept_ns;
	uint64_t duration_ns;
	unsigned int off_cnt;	/* how often a source was turned off to keep the budget */
	pid_t running_pid;	/* the command, if it still runs after the recording; 0: it ended */
	const char *off; /* sources that are off now, joined by blanks; valid until the next step */
};

/*
 * Makes the socket that the command inherits as descriptor fd, and returns the recorder's end, or
 * -errno. -EEXIST: fd is open.
 */
int session_span_socket(int fd);

/*
 * Checks privileges and kernel, makes the trace directory and loads the programs. Cleans up on
 * failure. Errors: -EPERM (names the capability), -ENOENT no BTF, -EINVAL bad option, -EEXIST the
 * output exists, -ENOSYS kernel too old.
 */
int session_open(struct session **ret, const struct session_options *o, struct err *e);

/*
 * Waits for start_real_ns, attaches, starts the command and records until the command ends, the
 * duration is over or session_stop() is called. *ret_exit is the exit status for the program: the
 * command's (128 + signal if killed, 126 or 127 if it could not run; then the trace directory is
 * removed again), 0 without a command. < 0: recording itself failed, or was stopped before it began
 * (-EINTR). Then the part recorded so far is valid. A command that runs already goes on
 * undisturbed; otherwise it never runs, and no trace is left.
 */
int session_run(struct session *s, int *ret_exit, struct err *e);

/* The first call ends, drains and closes; the second ends at once. Safe in a signal handler. */
void session_stop(struct session *s);

/* Requests a snapshot of the trace, TRACE.snapshot-<time>. Safe in a signal handler. */
void session_snapshot(struct session *s);

void session_get_stats(const struct session *s, struct session_stats *ret);
/* Ends everything; frees s. NULL is fine. */
void session_close(struct session *s);

/*
 * Describes a capability, its purpose, and whether the caller has it. Returns the length of the
 * static list.
 */
struct session_privilege {
	int cap;			/* of linux/capability.h */
	const char *name;		/* "CAP_BPF" */
	const char *used_for;
	bool is_there, is_needed;	/* is_needed: no recording without it */
};
unsigned int session_privileges(const struct session_privilege **ret);

/* What reports of a recording on this kernel cannot say, although every source is there. */
struct session_lack {
	const char *what, *why;	/* texts without a full stop */
};
/* Returns the length of the list, which holds until the next call. */
unsigned int session_lacks(const struct session_lack **ret);

/* Describes what this kernel offers for a program: for `doctor`, `record -e help` and tests. */
struct session_hook {
	const char *source;		/* "alloc.slab" */
	const char *name;		/* "kmalloc" */
	const char *hook;		/* "tp_btf/kmalloc" */
	bool is_default;
	bool is_there;		/* the kernel has it, and it is used if its source is recorded */
	bool is_spare;		/* the kernel has it, but another program records the same events */
	const char *used_for;
};
/* Returns the length of the static list. */
unsigned int session_hooks(const struct session_hook **ret);
