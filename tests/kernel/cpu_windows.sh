#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# For every CPU, all tasks + idle = the window, to the nanosecond, for 120 random windows of a real recording;
# neighbouring windows add up exactly; --every bins add up to the whole; and the program's answers equal those of a few
# lines of Python that use only the switches table. No tolerance anywhere: these are sums of integers. Tasks that
# the kernel hides from BPF (trace_query.py) count as one, unknown: their activity at the end of a block follows from
# later events, which the block cannot know. For the same reason a stay that the kernel reported (stay_ns) counts only
# from the beginning of its block on.
#
# In the same recording a process pins itself to one CPU and to another by turns, 400 times, each time while it runs.
# Exactly these moves are in the trace (sched.migrate), in that order: as many as the kernel counted (se.nr_migrations
# of /proc/PID/sched, where the kernel has that file).
. "$(dirname "$0")/harness.bash"

moves=:
[ "$(nproc)" -lt 2 ] || moves="python3 '$here/migrate.py' '$tmp/facts'"
recorded mixed -e sched,sched.migrate -- sh -c "
	'$WORK/busy_threads' hop 1500 >/dev/null & '$WORK/pingpong' 10000 1 process >/dev/null & $moves &
	'$WORK/short_lived' storm 500 >/dev/null & sleep 0.3; ls -lR /usr/share/doc >/dev/null 2>&1; wait"
checker <"$here/cpu_windows.py"

[ "$moves" != : ] || { skip migrate "one CPU: nothing moves"; exit 0; }
recorded without -e sched -- sh -c "${moves/facts/unused}"
"$EBPFREC" cut -i "$tmp/mixed" --pid "$(sed 's/.*"pid": \([0-9]*\).*/\1/' "$tmp/facts")" -o "$tmp/cut" >/dev/null \
	2>"$tmp/cut.err"
checker <"$here/migrate.py"
