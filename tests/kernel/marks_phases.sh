#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Marks as times of reports: --from and --to, one row per interval (--phases), a process's life (--during),
# and a report that follows a recording.
. "$(dirname "$0")/harness.bash"

# unique names: other tests may run the same programs at the same time
export busy=busy_$$ touch=touch_$$
cp "$WORK/busy_threads" "$tmp/$busy"
cp "$WORK/touch_memory" "$tmp/$touch"
hold follow
start_recorder marked -- sh -c "sleep 1.2; '$EBPFREC' mark -i '$tmp/marked' build; '$tmp/$busy' one 500 >'$tmp/busy.out'
	'$EBPFREC' mark -i '$tmp/marked' test; '$tmp/$touch' 60 0 200 0 >/dev/null
	'$EBPFREC' mark -i '$tmp/marked' build; sleep 0.5; '$EBPFREC' mark -i '$tmp/marked' 'all done'; sleep 1; \
		$(until_released follow)"
# (the first block is written: later events have a known beginning)
timeout 100 "$EBPFREC" report -i "$tmp/marked" cpu --from -500ms --follow=300ms --format csv --by cpu --with-idle \
	>"$tmp/follow.csv" 2>"$tmp/follow.err" &
follower=$!
wait_for "three answers" 60 "[ \$(grep -c '^cpu,' '$tmp/follow.csv') -ge 3 ]"
release follow
wait $follower
rc=$?
wait $recorder
check "follow: ends with the recording" "[ $rc -eq 0 ]" "status $rc: $(tail -n 3 "$tmp/follow.err")"
check "follow: several answers, each with its heading" "[ $(grep -c '^cpu,' "$tmp/follow.csv") -ge 3 ]" \
	"$(head -c 600 "$tmp/follow.csv")"

checker <"$here/marks_phases.py"
