#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# A trace is queried repeatedly while it is recorded: every answer is one of a consistent prefix, answers about the past
# never change, and the recorder is not affected. Then the same with a recorder that keeps only the last second, and
# removes files while they are being read.
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
