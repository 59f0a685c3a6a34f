#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# More than the rings can take: lost events are counted, per class, declared in every affected report,
# and placed in time; read + lost = attempted to the event. A quiet second of the same trace stays
# complete. The smallest rings, all sources, and a recorder that competes with the workload
# for its CPUs at the lowest priority make loss certain on any machine.
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
