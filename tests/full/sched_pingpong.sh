#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
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
. "$(dirname "$0")/../kernel/harness.bash"

for kind in thread process; do
	init="cat /proc/1/task/*/status >'$tmp/$kind.init"
	recorded "$kind" -e sched -- sh -c "${init}0'; '$WORK/stamp' before ctxt && '$WORK/pingpong' 100000 0 $kind &&
		'$WORK/stamp' after ctxt && ${init}1'"
done

checker <"$top/tests/full/sched_pingpong.py"
