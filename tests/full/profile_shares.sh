#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record --profile: functions of known names use the CPU for known times, which the workload measures by the scheduler's
# clock. The samples' shares are those of the times, and their number is the time on the CPU divided by the period. What
# is expected is a share of samples, so a few may be missing.
. "$(dirname "$0")/../kernel/harness.bash"

HZ=997
recorded burn -e sched --profile=$HZ -- "$WORK/profile" 10
recorded short -e sched --profile=$HZ -- "$WORK/profile" 1
recorded bare -e sched --profile=$HZ -- "$WORK/profile_bare" 4
recorded pointers -e sched --profile=$HZ --unwind fp -- "$WORK/profile_bare" 2
recorded deep -e sched --profile=$HZ -- "$WORK/profile_bare" 2 40000

HZ=$HZ checker <"$top/tests/full/profile_shares.py"
