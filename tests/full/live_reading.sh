#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# A trace is queried repeatedly while it is recorded: every answer is one of a consistent prefix, answers about the past
# never change, and the recorder is not affected. Then the same with a recorder that keeps only the last second, and
# removes files while they are being read.
#
# Several traces at once: recordings that begin at one instant, see the last section.
. "$(dirname "$0")/../kernel/harness.bash"

# It lasts as long as it is read: the time of five rounds depends on this machine.
load=(sh -c "$(until_released start); '$WORK/pingpong' 20000 0 process >/dev/null &
	'$WORK/short_lived' storm 300 >/dev/null; wait; $(until_released reading)")

for kind in growing kept; do
	limit=()
	hold reading
	hold start
	[ $kind = growing ] || limit=(--keep 1s)
	start_recorder $kind "${limit[@]}" -- "${load[@]}"
	# on a machine with one CPU the recorder must get it: this test is about delays caused by readers
	for task in /proc/$recorder/task/*; do
		renice -n -20 -p "${task##*/}" >/dev/null
	done
	release start
	kind=$kind checker <"$top/tests/full/live_reading.py"
	kill -INT $recorder
	wait $recorder
	rc=$?
	release reading
	check "live, $kind: the recorder ends as if nobody had read" "[ $rc -eq 0 -o $rc -eq 130 ]" \
		"status $rc: $(cat "$tmp/$kind.err")"
	full=$(sql_value "$kind" 'SELECT coalesce(sum(full_cnt), 0) FROM losses')
	check "live, $kind: no ring was ever full" "[ '$full' = 0 ]" "$full"
	"$EBPFREC" check -i "$tmp/$kind" 2>"$tmp/check.err" >&2
	check "live, $kind: the trace is whole" "[ $? -eq 0 ]" "$(cat "$tmp/check.err")"
	check "live, $kind: the socket is gone" "[ ! -e '$tmp/$kind/control' ]" "$(ls "$tmp/$kind")"
	if [ $kind = growing ]; then
		n=$(sql_value "$kind" 'SELECT count(*), sum(ts_ns) FROM switches WHERE ts_ns < 1000000000')
		check "live, growing: what was said of the first second is what it holds in the end" \
			"[ '$n' = '$(cat "$tmp/first")' ]" "$n, while recording $(cat "$tmp/first")"
		rm -rf "${tmp:?}/$kind"
	fi
done

# ---- several traces at once ----

# Several traces at once: recordings with --start-at begin at that instant of the wall clock, their aligned bins are the
# same, a snapshot --at has everything up to then, they lie on one axis where the wall clock says they do, and their
# rows are those of each alone.
fresh

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
