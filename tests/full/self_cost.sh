#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# What recording cost, for any window: run time and runs of the programs, extrapolated from samples, against the
# kernel's own full count; recorder CPU and bytes add up over neighbouring windows and to what is on disk; the
# summary says the same. Then memory: in an overload whose events wait in the recorder, its resident memory stays below
# the bound that the manual states, and what did not fit is declared lost.
#
# The recorder among what it records: left out by default, there with --with-recorder, its CPU time is what
# the kernel says; it does not feed itself; its cost is in the trace.
#
# It does not feed itself: in a recording without workload the events that the recorder's own threads cause in a second
# stay below 2,000 (two CPUs writing a block a second cause some hundred), or below a quarter of what all others cause,
# since what it reads and writes for these takes memory; and below 30,000 at any rate. A recorder that records its own
# writes causes an event for each that it reads, in every second; so one of three may have more, such as the first on a
# busy machine, where the recorder still reads the kernel's symbols.
. "$(dirname "$0")/../kernel/harness.bash"
export -f programs_of bpftool_run

# The kernel's full count is on from before the programs are loaded, and off when the recorder ends, however that is.
# shellcheck disable=SC2016
"$WORK/with_stats" "$EBPFREC" record -o "$tmp/steady" -e sched.switch,alloc.slab -- bash -c \
	'"$WORK/alloc_storm" 4000 0; "$WORK/stamp" before
	for id in $(programs_of $PPID | sed "s/ .*//"); do bpftool_run -j prog show id $id; echo; done; "$WORK/stamp" \
		after' sh \
	>"$tmp/steady.out" 2>"$tmp/steady.err" </dev/null || { not_ok "recording steady" \
		"status $?: $(tail -n 5 "$tmp/steady.err")"; exit 1; }
recorded busy -- sh -c "'$WORK/give_away' 40000 500 >/dev/null; '$WORK/alloc_storm' 1500 500
	'$WORK/short_lived' storm 800 >/dev/null"
recorded idle -a -d 4s
checker <"$top/tests/full/recorder_self.py"

checker any <"$top/tests/full/self_cost.py"

# The slowest compression and two storms: records arrive faster than they can be encoded, on any machine. The readers,
# which need little time, keep their share of the CPUs, so that the queue fills. The storms last until it is full: the
# recorder's memory then has grown by more than the rest of it ever takes, and has not grown for 2 s, during which the
# rings fill. (That is checked below.)
touch "$tmp/storm"
# shellcheck disable=SC2016
"$EBPFREC" record -o "$tmp/flood" --level 19 -- bash -c \
	'for i in 1 2; do "$WORK/alloc_storm" 5000 0 "$tmp/storm" none >/dev/null & done
	of_recorder() { sed -n "s/^$1:[[:space:]]*\([0-9]*\) kB/\1/p" /proc/$PPID/status; }
	last=0 same=0
	for i in {1..600}; do
		now=$(of_recorder VmRSS)
		[ "$now" -gt $((last + 500)) ] && last=$now same=0 || same=$((same + 1))
		[ "$last" -gt 225000 ] && [ $same -ge 20 ] && break
		sleep 0.1
	done
	rm "$tmp/storm"; wait; echo "hwm_kib=$(of_recorder VmHWM)"' sh >"$tmp/flood.out" 2>"$tmp/flood.err" </dev/null
check "self_cost: a flood is recorded" "[ $? -eq 0 ]" "$(cat "$tmp/flood.err")"

checker flood <"$top/tests/full/self_cost.py"
