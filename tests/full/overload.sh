#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# More than the rings can take: lost events are counted, per class, declared in every affected report,
# and placed in time; read + lost = attempted to the event. A quiet second of the same trace stays
# complete. The smallest rings, all sources, and a recorder that competes with the workload
# for its CPUs at the lowest priority make loss certain on any machine.
#
# A recorder that is stopped (SIGSTOP) during many events, and continued later: events that its rings could not hold
# are lost, counted and placed around the stop; the time before and after is complete; read + lost =
# attempted per class, in total and at every sample. And with rings of the default size a storm loses
# nothing at all.
. "$(dirname "$0")/../kernel/harness.bash"

nice -n 19 "$EBPFREC" record -o "$tmp/over" --ring-size 4096 -- sh -c "
	sleep 1; '$WORK/stamp' quiet_end
	nice -n -19 '$WORK/pingpong' 60000 0 thread >/dev/null & nice -n -19 '$WORK/give_away' 20000 500 >/dev/null &
	nice -n -19 '$WORK/short_lived' storm 800 >/dev/null & '$WORK/direct_io' '$tmp/file' write 500 4096 4 >/dev/null
	wait; '$WORK/stamp' storm_end; sleep 0.3" >"$tmp/over.out" 2>"$tmp/over.err" </dev/null
check "overload: the recording itself succeeds" "[ $? -eq 0 ]" "$(cat "$tmp/over.err")"
check "overload: the closing line says what was lost" "grep -Eq '[1-9][0-9,]* lost|lost [1-9]' '$tmp/over.err'" \
	"$(cat "$tmp/over.err")"

checker <"$top/tests/full/overload.py"

# ---- a recorder that is stopped ----

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
