/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* session_state: what a recording is made of; for session_open.c and session.c alone. */
#ifndef SESSION_STATE_H
#define SESSION_STATE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/privilege.h"
#include "session/session.h"

enum { OWN_RECORDER, OWN_COMMAND, OWN_STATS, OWN_OPENER, OWN_CNT };

struct session {
	struct session_options o;
	struct probe *probe;
	struct ring_group *rings;
	struct names *names;
	struct user_sites *sites;	/* with alloc.heap or --stacks; NULL: not to be had */
	struct sampler *sampler;
	struct only_filter *only;	/* with --only */
	struct overhead *overhead;	/* with --max-overhead */
	struct block_writer *writer;
	struct store_writer *store;
	struct watch *watch;
	struct launch *launch;
	struct run_stats *run_stats;	/* NULL without CAP_SYS_ADMIN */
	struct privilege_user user;	/* who the recorder is once it is attached */
	struct buf lacks;		/* what this kernel or this user cannot record, a line each */
	uint32_t sources;
	bool other_ids;			/* in a pid namespace whose ids are not those that BPF sees */
	uint32_t own_pids[OWN_CNT];	/* in the initial namespace; 0: none, or not known */

	struct ring_slice *slices;	/* one per ring */
	struct buf snapshot;		/* wire_snap rows for the next slice */
	uint64_t start_ns, slice_ns, end_ns;
	bool no_command;		/* the command is not to be found: nothing was begun */
	bool made_output;		/* the directory is ours to remove again */

	int stop_fd;
	volatile sig_atomic_t stop_cnt;
	struct session_stats stats;
	uint64_t unseen_cnt;		/* losses of class block that the encoder found */
};

#endif /* SESSION_STATE_H */
