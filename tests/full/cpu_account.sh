#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Spinning threads beside load, two pinned to a CPU each and two that share one with a crowd that switches, against the
# scheduler's own account: oncpu_ns - steal_ns is what CLOCK_THREAD_CPUTIME_ID says, which the kernel brings up to date
# when it is read, or the row says that it is incomplete.
#
# Allowed: 0.1 %, and for each switch away while runnable 10 us, since the kernel charges up to the wake-up that led to
# it, the trace up to the switch (trace_query.py). For each of the two ends of the time the thread measured what was
# stolen in the stay that the end cuts: where in the stay it was is not known. And what was stolen from a hidden task,
# or from the thread behind it, is in no thread's row.
. "$(dirname "$0")/../kernel/harness.bash"

recorded load -e sched -- sh -c "
	'$WORK/pingpong' 20000 1 process >/dev/null & '$WORK/busy_threads' share 2000 >'$tmp/share' &
	'$WORK/busy_threads' two 2000 >'$tmp/two'; wait"

checker <"$top/tests/full/cpu_account.py"
