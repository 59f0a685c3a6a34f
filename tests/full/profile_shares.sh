#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record --profile: functions of known names use the CPU for known times, which the workload measures by the scheduler's
# clock. The samples' shares are those of the times, and their number is the time on the CPU divided by the period. What
# is expected is a share of samples, so a few may be missing. The same program, with more of one function, and processes
# that burn more than before are what diff finds.
. "$(dirname "$0")/../kernel/harness.bash"

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
