#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# For every CPU, all tasks + idle = the window, to the nanosecond, for 120 random windows of a real recording;
# neighbouring windows add up exactly; --every bins add up to the whole; and the program's answers equal those of a few
# lines of Python that use only the switches table. No tolerance anywhere: these are sums of integers. Tasks that
# the kernel hides from BPF (trace_query.py) count as one, unknown: their activity at the end of a block follows from
# later events, which the block cannot know. For the same reason a stay that the kernel reported (stay_ns) counts only
# from the beginning of its block on.
. "$(dirname "$0")/harness.bash"

recorded mixed -e sched -- sh -c "
	'$WORK/busy_threads' hop 1500 >/dev/null & '$WORK/pingpong' 10000 1 process >/dev/null &
	'$WORK/short_lived' storm 500 >/dev/null & sleep 0.3; ls -lR /usr/share/doc >/dev/null 2>&1; wait"

checker <"$here/cpu_windows.py"
