#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# A recorder that is stopped (SIGSTOP) during many events, and continued later: events that its rings could not hold
# are lost, counted and placed around the stop; the time before and after is complete; read + lost =
# attempted per class, in total and at every sample. And with rings of the default size a storm loses
# nothing at all.
. "$(dirname "$0")/../kernel/harness.bash"

# Only the recorder is undisturbed: it has to get its CPU before its workload does, where there is only one.
"${undisturbed[@]}" "$EBPFREC" record -o "$tmp/stopped" --ring-size 4MiB -- sh -c "
	renice -n 0 -p \$\$ >/dev/null; '$WORK/stamp' begin; sleep 1; '$WORK/stamp' stop; kill -STOP \$PPID
	'$WORK/pingpong' 100000 0 thread >/dev/null & '$WORK/give_away' 30000 500 >/dev/null; wait
	kill -CONT \$PPID; '$WORK/stamp' cont; sleep 1.2; '$WORK/stamp' end" \
	>"$tmp/stopped.out" 2>"$tmp/stopped.err" </dev/null
check "the recording itself succeeds" "[ $? -eq 0 ]" "$(cat "$tmp/stopped.err")"
"${undisturbed[@]}" "$EBPFREC" record -o "$tmp/storm" -- sh -c "
	renice -n 0 -p \$\$ >/dev/null; '$WORK/pingpong' 50000 0 thread & '$WORK/give_away' 30000 500 >/dev/null; wait" \
	>"$tmp/storm.out" 2>"$tmp/storm.err" </dev/null
check "a storm is recorded" "[ $? -eq 0 ]" "$(cat "$tmp/storm.err")"

checker <"$top/tests/full/stopped_reader.py"
