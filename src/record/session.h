/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * session: a recording, from the check of capabilities to the finished trace.
 *
 *     options --> [session] --> probe (load) + ring (consume) + encode + store (write)
 *
 * The library never prints: it returns messages in struct err and session_stats, or passes them to
 * callbacks. Threads: one (the main thread of ebpfrec); session_stop() and session_snapshot() are
 * async-signal-safe.
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
#define SESSION_PROFILE_HZ 99 /* not a round rate, which might coincide with timers */

struct session_options {
	const char *output;		/* trace directory */
	const char *events;		/* -e: list of sources; NULL = default */
	char *const *command;		/* NULL-terminated argv, or NULL */
	const uint32_t *pids;		/* -p */
	unsigned int pid_cnt;
	const char *cgroup;		/* --cgroup PATH, NULL = none */
	uint64_t stacks_min_bytes;	/* --stacks SIZE; 0 = none */
	uint32_t stacks_every;		/* --stacks 1/N; 0 = none */
	bool heap;			/* --heap: also record alloc.heap */
	uint64_t heap_sample_bytes;	/* --heap=SIZE; 0 = all allocations */
	bool heap_wait;			/* --heap-wait: the workload waits if the ring is full */
	uint64_t offcpu_ns;		/* --offcpu DUR; 0 = none, unless -e has sched.offcpu */
	uint64_t profile_hz;		/* --profile HZ; 0 = none, unless -e has cpu.sample */
	/* mask of SOURCE_BIT: unwind stacks of cpu.sample, sched.offcpu with unwind_table.h */
	uint32_t unwound;
	bool only;			/* --only: keep only the workload's events */
	bool force;			/* -f */
	bool all_cmdlines; /* keep all command lines, not only those of the workload */
	uint64_t start_real_ns;		/* --start-at: wall clock; 0 = immediately */
	uint64_t duration_ns;		/* 0 = until the command ends or session_stop() */
	const char *btf_file;	/* --btf: replaces /sys/kernel/btf/vmlinux; may be NULL */
	/* -u: name or number of the user of the command; NULL = the caller */
	const char *user;
	sigset_t ignored;	/* signals that the caller, and therefore the command, ignores */
	/* --keep: how much of the trace is kept, see store_writer.h; 0 = all */
	uint64_t keep_bytes, keep_ns;
	struct rings_config rings;
	int zstd_level;			/* 1..19; 0 = default, -1 = no compression */
	uint64_t budget_ppm; /* --max-overhead: millionths of the machine's CPU time; 0 = none */
	struct flight_options flight;
	bool spans;		/* --spans: requests of programs with cmd/ebpfrec.h */
	int span_fd;		/* --span-fd: from session_span_socket(); 0: none */
	const char *const *requests;	/* --request */
	unsigned int request_cnt;
	const char *const *notes;	/* "K=V" strings */
	unsigned int note_cnt;
	const char *command_line; /* the recorder's command line, for the manifest; may be NULL */
	/* Called by session_run() about every 250 ms; may be NULL. */
	void (*tick)(void *ctx, const struct session *s);
	void *tick_ctx;
	struct notices notices;	/* called during session_open() and session_run() */
	/*
	 * Called after an existing trace was renamed to OUTPUT.old. real_ns: start of its recording
	 * (0: unknown). replaces: an older OUTPUT.old was removed. ctx: ctx of notices. May be
	 * NULL.
	 */
	void (*renamed)(void *ctx, uint64_t real_ns, bool replaces);
};

struct session_stats {
	bool has_trace;	/* false: the session ended before the trace began, and nothing was kept */
	/* kept events, without records that only name objects */
	uint64_t event_cnt[SAMPLER_CLASS_CNT];
	struct sampler_totals totals;	/* includes inferred losses */
	uint64_t inferred_cnt; /* lost events that no counter showed; part of totals */
	uint64_t bytes;				/* written to disk */
	uint64_t dropped_bytes;			/* removed by --keep; part of `bytes` */
	/* length of the kept part of the recording */
	uint64_t kept_ns;
	uint64_t duration_ns;
	/* how often a source was turned off because of the budget */
	unsigned int off_cnt;
	pid_t running_pid; /* pid if the command is still running at the end; 0: ended */
	/* sources that are off now, separated by blanks; valid until the next slice is written */
	const char *off;
};

/*
 * Creates a pair of connected sockets. The command inherits one end as descriptor fd. Returns the
 * recorder's end, or -errno. -EEXIST: fd is in use.
 */
int session_span_socket(int fd);

/*
 * Checks privileges and kernel, creates the trace directory and loads the programs. Frees
 * everything on failure. -EPERM: e names the missing capability; -ENOENT: no BTF; -EINVAL: invalid
 * option; -EEXIST: the output exists; -ENOSYS: the kernel is too old.
 */
int session_open(struct session **ret, const struct session_options *o, struct err *e);

/*
 * Waits for start_real_ns, attaches the programs, starts the command and records until the command
 * ends, the duration is over or session_stop() is called. *ret_exit: exit status for this program:
 * that of the command (128 + signal if killed; 126 or 127 if it could not be run, in which case the
 * trace directory is removed), or 0 without a command. -EINTR: stopped before the recording began;
 * other errors < 0: the recording failed. After an error, the part recorded so far is valid, and a
 * running command continues. If the command was not started yet, it does not run, and no trace
 * remains.
 */
int session_run(struct session *s, int *ret_exit, struct err *e);

/*
 * The first call ends the recording, which is then drained and closed; a second call ends it
 * immediately. Async-signal-safe.
 */
void session_stop(struct session *s);

/* Requests a snapshot of the trace, TRACE.snapshot-<time>. Async-signal-safe. */
void session_snapshot(struct session *s);

void session_get_stats(const struct session *s, struct session_stats *ret);
/* Ends the session and frees s, which may be NULL. */
void session_close(struct session *s);

/*
 * A capability, its purpose, and whether the caller has it. session_privileges() returns the length
 * of the static list.
 */
struct session_privilege {
	int cap;			/* number in linux/capability.h */
	const char *name;		/* "CAP_BPF" */
	const char *used_for;
	bool is_there, is_needed;	/* is_needed: recording requires this capability */
};
unsigned int session_privileges(const struct session_privilege **ret);

/* A limitation of reports on this kernel, even if all sources are recorded. */
struct session_lack {
	const char *what, *why;	/* texts without a final period */
};
/* Returns the length of the list, which is valid until the next call. */
unsigned int session_lacks(const struct session_lack **ret);

/* A program and its support by this kernel, for `doctor`, `record -e help` and tests. */
struct session_hook {
	const char *source;		/* "alloc.slab" */
	const char *name;		/* "kmalloc" */
	const char *hook;		/* "tp_btf/kmalloc" */
	bool is_default;
	bool is_there; /* supported by the kernel, and used if the source is recorded */
	bool is_spare; /* supported by the kernel, but another program records these events */
	const char *used_for;
};
/* Returns the length of the static list. */
unsigned int session_hooks(const struct session_hook **ret);
