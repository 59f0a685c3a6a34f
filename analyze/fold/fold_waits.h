/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * fold_waits: how long threads waited for a CPU. Found: struct run_queue_wait (model/run_queue.h),
 * whose threads are dense. Sums: struct wait_sum per key (thread, 0).
 *
 * A wait belongs to the instant it ends (the switch-in), with its whole length.
 */
#ifndef FOLD_WAITS_H
#define FOLD_WAITS_H

#include "analyze/fold/fold.h"
#include "analyze/fold/quantile.h"
#include "model/run_queue.h"

struct wait_sum {
	struct quantile waits;		/* of those whose beginning is known */
	uint64_t by_reason[RUN_QUEUE_REASON_CNT];
	uint64_t migrations;
};

#endif /* FOLD_WAITS_H */
