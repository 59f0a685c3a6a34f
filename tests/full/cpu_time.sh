#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# CPU time and switches next to the kernel's own account.
. "$(dirname "$0")/../kernel/harness.bash"

# Busy threads against the scheduler's own clock (CLOCK_THREAD_CPUTIME_ID), read by the threads
# themselves: alone for 5 s, two on two CPUs, two on one CPU, one that moves every 20 ms.
#
# Allowed: 0.5 %, and 10 us for each switch: the kernel charges a preempted thread only up to the wake-up of the
# other one, the trace up to the switch itself. A waking thread is charged from its wake-up, though the CPU may first
# have to leave its idle state: 100 us for each move. The best priority keeps switches few. Never above 100 % in
# any 10 ms bin: no tolerance, except that util_pct is a rounded division. The kernel does not charge time that a
# hypervisor took; the trace reports it (steal_ns) if the kernel does.
for mode in 'one 5000' 'two 2000' 'share 2000' 'hop 2000'; do
	recorded "${mode% *}" -e sched -- "${undisturbed[@]}" "$WORK/busy_threads" ${mode}
done

checker <"$top/tests/full/cpu_busy.py"

# Spinning threads beside load, two pinned to a CPU each and two that share one with a crowd that switches, against the
# scheduler's own account: oncpu_ns - steal_ns is what CLOCK_THREAD_CPUTIME_ID says, which the kernel brings up to date
# when it is read, or the row says that it is incomplete.
#
# Allowed: 0.1 %, and for each switch away while runnable 10 us, since the kernel charges up to the wake-up that led to
# it, the trace up to the switch (trace_query.py). For each of the two ends of the time the thread measured what was
# stolen in the stay that the end cuts: where in the stay it was is not known. And what was stolen from a hidden task,
# or from the thread behind it, is in no thread's row.
recorded load -e sched -- sh -c "
	'$WORK/pingpong' 20000 1 process >/dev/null & '$WORK/busy_threads' share 2000 >'$tmp/account.share' &
	'$WORK/busy_threads' two 2000 >'$tmp/account.two'; wait"

checker <"$top/tests/full/cpu_account.py"

# A pipe ping-pong of 100,000 round trips on one CPU: every switch is in the trace.
#
# Truth 1: the kernel's own count per thread (getrusage: voluntary + involuntary). The trace must hold exactly as many
# departures of each thread; 2 are allowed for the moments between a clock reading and the reading of the count. Truth
# 2: two switches between the two tids per round trip. If another task gets that CPU in between, A -> B becomes A ->
# other -> B; so the number of missing direct switches is at most the number of departures to another task. A timer
# tick between two system calls can add a pair: 0.5 % more at most. Involuntary has the kernel's meaning: the thread
# was still runnable when it left. Truth 3: the machine's switch count (/proc/stat ctxt) around the workload. It was
# read at some instant between two readings of the clock, at either end; so the trace must have at least the switches
# between the inner two, at most those between the outer two. 4 more for CPUs that are just switching. If the kernel
# hides its init from BPF programs (see Trace.unknown_ns), the departures of init are counted and cannot be
# recorded: as many may be missing as the kernel counts for its threads, read further out.
for kind in thread process; do
	init="cat /proc/1/task/*/status >'$tmp/$kind.init"
	recorded "$kind" -e sched -- sh -c "${init}0'; '$WORK/stamp' before ctxt && '$WORK/pingpong' 100000 0 $kind &&
		'$WORK/stamp' after ctxt && ${init}1'"
done

checker <"$top/tests/full/sched_pingpong.py"
