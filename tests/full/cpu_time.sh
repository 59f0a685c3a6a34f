#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# CPU time, switches and interrupts next to the kernel's own account.
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

# ---- interrupts ----

# Interrupts (sched.irq) under loopback traffic, direct reads and timers, next to the kernel's own counts.
#
# Truth: /proc/softirqs and /proc/interrupts, read before and after, each between two readings of the clock. Counting
# continues during the reading. So a count is at least that of the trace from after the first reading to before the
# second, and at most that from before the first to after the second. The kernel counts an interrupt an
# instant before or after it is announced: one more per CPU either way. It counts interrupts, the trace handlers: a line
# with several handlers is only compared with the lower bound. If an interrupt arrives while its handler still runs on
# another CPU, one run can serve two: a hundredth, at least 2, may be missing on lines. While a task that
# the kernel hides from BPF runs, no program runs: each of its stays may lack one interrupt, and one more per ms (a tick
# is 1 to 10 ms) of time without a known owner, for block requests twenty (a direct read takes 50 us at least, and its
# interrupt comes to the CPU of the hidden task). Times: those of a CPU never overlap, so they add up to the window at
# most; those of a process to its time on CPUs.
#
# The CPU times that diff compares are the scheduler's own, which include interrupts. So this trace and the same one
# without them do not differ, and no row is incomplete because of it.
fresh

dd if=/dev/urandom of="$tmp/data" bs=64K count=64 conv=fsync status=none
# hidden_ran NAME: a task that is hidden from BPF ran for more than a hundredth of the recording
hidden_ran()
{
	local query="SELECT CAST(sum(oncpu_ns) FILTER (WHERE utid = 1) * 100 > sum(oncpu_ns) AS INT)
		FROM cpu_usage(0, 1 << 62, 0)"

	hides_tasks "$1" && [ "$(sql_value "$1" "$query")" = 1 ] &&
		echo "a task that is hidden from BPF ran"
}

recorded_until 6 irq "hidden_ran irq" -e sched,sched.irq,block -- sh -c "
	python3 '$top/tests/full/irq_load.py' '$tmp/data' '$tmp/counts'
	for i in 1 2 3; do dd if=/dev/zero of='$tmp/f' bs=64k count=30 conv=fsync 2>/dev/null; done
	'$WORK/busy_threads' one 200"
"$EBPFREC" redact -i "$tmp/irq" -o "$tmp/redacted" >/dev/null 2>&1
"$EBPFREC" cut -i "$tmp/irq" -o "$tmp/without" -e sched.switch,sched.wakeup,block >"$tmp/out" 2>&1
check "diff irq: the same trace without interrupts" "[ $? -eq 0 ]" "$(cat "$tmp/out")"
"$EBPFREC" repair -i "$tmp/irq" -o "$tmp/repaired" >/dev/null 2>&1
"$EBPFREC" export -i "$tmp/irq" --to csv -o "$tmp/exported" >/dev/null 2>&1

checker <"$top/tests/full/irq_counts.py"

# ---- diff ----

cd "$tmp" || exit 1
"$EBPFREC" diff irq without --format csv >rows.csv 2>out
check "diff irq: diff" "[ $? -eq 0 ]" "$(cat out)"
"$EBPFREC" diff irq without --exit-code >/dev/null 2>out
check "diff irq: finds no change" "[ $? -eq 0 ]" "$(cat out)"
"$EBPFREC" bundle -i irq -o with.zip >out 2>&1 && "$EBPFREC" diff irq with.zip --format csv >zip.csv 2>>out
check "diff irq: nor in a bundle of it" "[ \$(wc -l <zip.csv) -gt 2 ] && ! tail -n +2 zip.csv | grep -qv ',same,'" \
	"$(cat out; grep -v ',same,' zip.csv | head -n 3)"

checker <"$top/tests/full/diff_irq.py"

# ---- shares of samples ----

# record --profile: functions of known names use the CPU for known times, which the workload measures by the scheduler's
# clock. The samples' shares are those of the times, and their number is the time on the CPU divided by the period. What
# is expected is a share of samples, so a few may be missing. The same program, with more of one function, and processes
# that burn more than before are what diff finds.
fresh

HZ=997
recorded burn -e sched --profile=$HZ -- "$WORK/profile" 10
recorded short -e sched --profile=$HZ -- "$WORK/profile" 1
recorded bare -e sched --profile=$HZ -- "$WORK/profile_bare" 4
recorded pointers -e sched --profile=$HZ --unwind fp -- "$WORK/profile_bare" 2
recorded deep -e sched --profile=$HZ -- "$WORK/profile_bare" 2 40000

HZ=$HZ checker <"$top/tests/full/profile_shares.py"

# ---- differences ----

# Two recordings of one workload, the second with 10 % of a CPU burnt in one process more: diff points at
# that process and at nothing else of the workload. Two of the same: at nothing. In the flame graph of ten runs against
# ten, a function with 20 % more is the only coloured frame: of coloured frames, at most 5 % are wrong.
fresh

workload()
{
	"${undisturbed[@]}" sh -c "
		'$WORK/duty' steady 20 3 & '$WORK/duty' worker $1 3 >'$tmp/duty' & '$WORK/pingpong' 20000 0 process >/dev/null &
		for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of='$tmp/f' bs=64k count=32 conv=fsync 2>/dev/null; sleep 0.2; done
		for i in \$(seq 40); do /bin/true; done; wait"
}
export -f workload
export tmp
# Files that are read from disk only once, as after a build, are read before the recordings: otherwise the first of
# three would differ.
workload 5 >"$tmp/out" 2>&1 </dev/null
for run in before:5 again:5 after:15; do
	args=${run#*:}
	# shellcheck disable=SC2016
	"$EBPFREC" record -q -o "$tmp/${run%:*}" -- bash -c "$(declare -p undisturbed); workload $args" >"$tmp/out" 2>&1 \
		</dev/null
	check "diff: recording ${run%:*}" "[ $? -eq 0 ]" "$(tail -n 3 "$tmp/out")"
	mv "$tmp/duty" "$tmp/${run%:*}.duty"
done

# ten runs against ten, of which the second ten have 20 % more of one function
for i in {1..10}; do
	for side in a:30 b:36; do
		recorded "${side%:*}.$i" -e sched --profile=997 --only -- "$WORK/profile" 10 0 "${side#*:}"
	done
done
for file in flame.html flame.folded; do
	"$EBPFREC" diff --workload --flame "$tmp/$file" "$tmp"/a.? "$tmp"/a.10 --with "$tmp"/b.? "$tmp"/b.10 \
		>"$tmp/out" 2>&1
	check "diff: $file" "[ $? -eq 0 ]" "$(tail -n 3 "$tmp/out")"
done

checker <"$top/tests/full/diff_burn.py"
