#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Several traces at once: recordings with --start-at begin at that instant of the wall clock, their aligned bins are the
# same, a snapshot --at has everything up to then, they lie on one axis where the wall clock says they do, and their
# rows are those of each alone.
. "$(dirname "$0")/../kernel/harness.bash"

"$EBPFREC" record -a --start-at 1h -o "$tmp/never" 2>"$tmp/never.err" &
waiting=$!
wait_for "it waits" 30 "grep -q 'recording begins at' '$tmp/never.err'"
kill -INT $waiting
wait $waiting
check "start-at: a signal before ends it, and leaves no trace" \
	"[ $? -eq 125 ] && [ ! -e '$tmp/never' ] && grep -q 'nothing was kept' '$tmp/never.err'" \
	"$(cat "$tmp/never.err"; ls "$tmp")"

at=$(($(date +%s) + 5))
snap_at=$((at + 1))
# (b begins a second later)
for host in a b; do
	"$EBPFREC" record --start-at @$at -e sched -o "$tmp/$host" -- \
		sh -c "date +%s%N; '$WORK/busy_threads' one 300 >/dev/null; sleep 4" \
		>"$tmp/$host.out" 2>"$tmp/$host.err" </dev/null &
	at=$((at + 1))
done
at=$((at - 2))
wait_for "the trace" 10 "[ -e '$tmp/a' ]"
"$EBPFREC" snapshot -i "$tmp/a" --at @$snap_at -o "$tmp/snap" 2>"$tmp/snap.err"
check "snapshot --at: is made" "[ $? -eq 0 ]" "$(cat "$tmp/snap.err")"
wait
sed -i '/^crc32c=/d;s/^host=.*/host=other/' "$tmp/b/manifest"
export at snap_at

checker <"$top/tests/full/start_at.py"
checker <"$top/tests/full/many_hosts.py"
