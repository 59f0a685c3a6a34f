#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Busy threads against the scheduler's own clock (CLOCK_THREAD_CPUTIME_ID), read by the threads
# themselves: alone for 5 s, two on two CPUs, two on one CPU, one that moves every 20 ms.
#
# Allowed: 0.5 %, and 10 us for each switch: the kernel charges a preempted thread only up to the wake-up of the
# other one, the trace up to the switch itself. A waking thread is charged from its wake-up, though the CPU may first
# have to leave its idle state: 100 us for each move. The best priority keeps switches few. Never above 100 % in
# any 10 ms bin: no tolerance, except that util_pct is a rounded division. The kernel does not charge time that a
# hypervisor took; the trace reports it (steal_ns) if the kernel does.
. "$(dirname "$0")/../kernel/harness.bash"

for mode in 'one 5000' 'two 2000' 'share 2000' 'hop 2000'; do
	recorded "${mode% *}" -e sched -- "${undisturbed[@]}" "$WORK/busy_threads" ${mode}
done

checker <"$top/tests/full/cpu_busy.py"
