#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The flight recorder: --keep bounds disk and leaves a complete trace; snapshots by signal, by command and
# by triggers; marks. Each trigger is shown something it must see, and something it must not.
. "$(dirname "$0")/../kernel/harness.bash"

snapshots()
{
	find "$tmp" -maxdepth 1 -name "$1.snapshot-*" | sort
}

# ---- --keep: a bound at every instant, and a complete trace at the end ----

mkfifo "$tmp/lines"
exec 7<>"$tmp/lines"
hold kept
start_recorder kept --keep 2s,4MiB --mark-fd 7 -- sh -c \
	"'$WORK/touch_memory' 80 0 100000 0 & p=\$!; sleep 100 & s=\$!; echo sleeper=\$s
	while [ -e '$tmp/hold.kept' ]; do '$WORK/give_away' 20000 300 >/dev/null; sleep 0.2; done; kill \$p \$s"
most=0 largest=0
(
	while kill -0 $recorder 2>/dev/null; do
		find "$tmp/kept" -name '*.ebr' -printf '%s\n' 2>/dev/null |
			awk '{ all += $1; if ($1 > top) top = $1 } END { print all + 0, top + 0 }'
		sleep 0.05
	done
) >"$tmp/sizes" &
"$WORK/stamp" before >"$tmp/mark.stamp"
"$EBPFREC" mark -i "$tmp/kept" 'gone by then'
"$WORK/stamp" after >>"$tmp/mark.stamp"
begins_ns()
{
	"$EBPFREC" info -i "$tmp/kept" --format csv | sed -n 's/^trace,start_mono_ns,\([0-9]*\).*/\1/p'
}
wait_for "the mark lies before the beginning" 60 "[ \$(begins_ns) -gt $(kv "$tmp/mark.stamp" after) ]"
"$WORK/stamp" before_late >>"$tmp/mark.stamp"
"$EBPFREC" mark -i "$tmp/kept" late
"$EBPFREC" mark -i "$tmp/kept" late
"$WORK/stamp" after_late >>"$tmp/mark.stamp"
printf 'a line\nand another\n' >&7
"$EBPFREC" snapshot -i "$tmp/kept" -o "$tmp/by-command" 2>"$tmp/by-command.err"
check "snapshot: by command, while recording" "[ $? -eq 0 ]" "$(cat "$tmp/by-command.err")"
kill -USR2 $recorder
wait_for "the snapshot" 60 "[ -n \"\$(snapshots kept)\" ]"
wait_for "the lines" 60 "'$EBPFREC' sql -i '$tmp/kept' --format csv 'SELECT name FROM marks' | grep -q 'and another'"
"$WORK/stamp" after_lines >>"$tmp/mark.stamp"
release kept
exec 7>&-
wait $recorder
rc=$?
check "keep: the recording ends well" "[ $rc -eq 0 ]" "status $rc: $(cat "$tmp/kept.err")"
read -r most largest < <(awk '{ if ($1 > m) m = $1; if ($2 > l) l = $2 } END { print m + 0, l + 0 }' "$tmp/sizes")
check "keep: disk is bounded by the limit and a chunk file at every instant" \
	"[ $most -gt 0 ] && [ $most -le $((4 * 1024 * 1024 + largest)) ]" "$most bytes, largest file $largest"
check "keep: closing line says what was kept" "grep -q 'kept: the last' '$tmp/kept.err'" "$(cat "$tmp/kept.err")"
check "snapshot: by signal, one" "[ $(snapshots kept | wc -l) -eq 1 ]" "$(ls "$tmp")"
check "snapshot: the recorder says its name and size" \
	"grep -Eq 'snapshot written to $(snapshots kept): [0-9.]+ [kM]?B\$' '$tmp/kept.err'" "$(cat "$tmp/kept.err")"
check "snapshot: for their owner only, as the trace" \
	"[ -z \"\$(find '$tmp/kept' '$tmp/by-command' \"$(snapshots kept)\" \\
		\\( -type d ! -perm 700 -o -type f ! -perm 600 \\) 2>&1)\" ]" \
	"$(ls -laR "$tmp/kept" "$tmp/by-command" "$(snapshots kept)")"
mv "$(snapshots kept)" "$tmp/by-signal" 2>/dev/null
for t in kept by-command by-signal; do
	"$EBPFREC" check -i "$tmp/$t" 2>"$tmp/check.err" >&2
	check "$t: whole" "[ $? -eq 0 ]" "$(cat "$tmp/check.err")"
done
"$EBPFREC" mark -i "$tmp/kept" 'too late' 2>"$tmp/mark.err"
check "mark: refused when nobody records" "[ $? -eq 1 ] && grep -q 'nobody is recording' '$tmp/mark.err'" \
	"$(cat "$tmp/mark.err")"

checker <"$top/tests/full/flight_recorder.py"

# ---- triggers ----

record spike -e alloc.rss,sched --trigger 'spike>500MiB/30s' -- sh -c \
	"'$WORK/touch_memory' 300 0 300 300; '$WORK/touch_memory' 600 0 1500 0"
check "trigger spike: exactly one snapshot" "[ $(snapshots spike | wc -l) -eq 1 ]" \
	"$(snapshots spike) $(cat "$tmp/spike.err")"
snap=$(snapshots spike | head -n 1)
check "trigger spike: the manifest says why" \
	"grep -q '^note.trigger=spike>500MiB/30s: .*touch_memory' '$snap/manifest'" "$(grep trigger "$snap/manifest")"
"$EBPFREC" report -i "$snap" spikes --spike-window 20s --spike-min 500MiB --format csv >"$tmp/spikes.csv" 2>&1
check "trigger spike: the snapshot shows it" "awk -F, 'NR > 1 && \$2 == \"touch_memory\" &&
	\$3 == \"rss\" { all += \$7 } END { exit all < 500 * 1048576 }' '$tmp/spikes.csv'" "$(cat "$tmp/spikes.csv")"
n=$(sql_value spike "SELECT count(*) FROM marks WHERE origin = 'trigger' AND name LIKE 'spike>500MiB/30s: %'")
check "trigger spike: one mark in the trace" "[ '$n' = 1 ]" "$n"

record fails -e sched --trigger 'exit!=0' -- sh -c 'exit 7'
rc=$?
check "trigger exit!=0: the status is passed on, and a snapshot made" \
	"[ $rc -eq 7 ] && [ $(snapshots fails | wc -l) -eq 1 ]" "status $rc, $(snapshots fails)"
check "trigger exit!=0: the manifest says why" \
	"grep -q '^note.trigger=exit!=0: .*status 7' $(snapshots fails)/manifest" "$(cat "$tmp/fails.err")"
record works -e sched --trigger 'exit!=0' -- true
check "trigger exit!=0: nothing for a command that works" "[ $? -eq 0 ] && [ $(snapshots works | wc -l) -eq 0 ]" \
	"$(cat "$tmp/works.err")"

# A real-time thread keeps another from its CPU for 300 ms.
cpu=$(($(nproc) - 1))
if chrt -f 50 true 2>/dev/null; then
	hog="taskset -c $cpu chrt -f 50 '$WORK/busy_threads' one 300"
	record waits -e sched --trigger 'runq>150ms' -- sh -c \
		"taskset -c $cpu '$WORK/busy_threads' one 800 >/dev/null & sleep 0.2; $hog >/dev/null; wait"
	check "trigger runq: fires" "[ $(snapshots waits | wc -l) -eq 1 ] &&
		grep -Eq 'runq>150ms: thread [0-9]+ \\(.+\\) waited .* for a CPU' '$tmp/waits.err'" "$(cat "$tmp/waits.err")"
else
	skip flight_recorder_runq "no right to real-time scheduling"
fi
if make_loop disk 8; then
	# (the first request may be one of the recorder's, or read a program: the message must have names)
	record slow --only -e block --trigger 'io-latency>100ns' --trigger 'io-latency>100s' --trigger-max 1 -- \
		"$WORK/direct_io" "$loop" read 50
	check "trigger io-latency: the one that has to fires, the other does not" \
		"[ $(snapshots slow | wc -l) -eq 1 ] &&
			grep -Eq 'trigger io-latency>100ns: a request took .* on [a-z]+[0-9]*, submitted by thread [0-9]+ \\(.+\\)' \
			'$tmp/slow.err' && ! grep -q '100s' '$tmp/slow.err'" "$(cat "$tmp/slow.err")"
else
	skip flight_recorder_io "no loop device"
fi
for expr in 'spike' 'spike>' 'spike>5parsecs' 'memory>5MiB' 'runq!=5ms' 'exit>256'; do
	"$EBPFREC" record -o "$tmp/bad" --trigger "$expr" -- touch "$tmp/ran" 2>"$tmp/bad.err"
	rc=$?
	check "trigger '$expr': refused before anything runs" \
		"[ $rc -eq 125 ] && [ ! -e '$tmp/bad' ] && [ ! -e '$tmp/ran' ] && grep -qF -- \"$expr\" '$tmp/bad.err'" \
		"status $rc: $(cat "$tmp/bad.err")"
done

# tests/soak.sh, scaled down: many rotations in a quarter of a minute. With --only, activities of other processes take
# no memory.
EBPFREC_TEST_DIR=$tmp "$top/tests/soak.sh" 16 2s,2MiB --only || test_status=1
