#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Bad days: no privilege, bad arguments, unwritable output, a full disk, kill -9. Every message names the
# thing, nothing already recorded is lost, the workload is left alone.
. "$(dirname "$0")/harness.bash"

# says NAME STATUS WORD...: the last `try` ended with STATUS and its stderr contains every WORD
try()
{
	"$@" >"$tmp/try.out" 2>"$tmp/try.err" </dev/null
	try_status=$?
}
says()
{
	local name=$1 want=$2 word missing=''

	shift 2
	for word in "$@"; do
		grep -qi -- "$word" "$tmp/try.err" || missing+=" $word"
	done
	if [ $try_status -ne "$want" ] || [ -n "$missing" ]; then
		not_ok "$name" "status $try_status, not $want; message lacks:${missing:- nothing}; it says: $(cat "$tmp/try.err")"
	else
		ok "$name"
	fi
}

# ---- before anything is recorded ----

chmod 755 "$tmp"
cp "$EBPFREC" "$tmp/ebpfrec" && mkdir -m 777 "$tmp/open"
unprivileged=(setpriv --reuid=nobody --regid=nogroup --clear-groups --inh-caps=-all)
"${unprivileged[@]}" true 2>/dev/null ||
	unprivileged=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
try "${unprivileged[@]}" "$tmp/ebpfrec" record -o "$tmp/open/t" -e sched -- true
says "not root: status 125, names what is missing and the way out" 125 'root\|CAP_' 'sudo\|CAP_'
check "not root: nothing left behind" "[ -z \"\$(ls '$tmp/open')\" ]" "$(ls "$tmp/open")"
try "$EBPFREC" record -o "$tmp/x" -e sched.swich -- true
says "unknown event: named, with a next step" 2 'sched.swich'
check "unknown event: lists or suggests what there is" "grep -q 'sched.switch\|-e list\|-e help' '$tmp/try.err'" \
	"$(cat "$tmp/try.err")"
check "unknown event: nothing left behind" "[ ! -e '$tmp/x' ]" "$(ls -la "$tmp/x" 2>&1)"
try "$EBPFREC" record -o "$tmp/no/such/dir/t" -e sched -- true
says "unwritable output: named" 125 "no/such/dir"
try "$EBPFREC" record -o /proc/t -e sched -- true
says "output on a file system that cannot hold it: named" 125 /proc/t
echo data >"$tmp/a-file"
try "$EBPFREC" record -o "$tmp/a-file" -e sched -- true
says "output is a file: named, and left alone" 125 a-file
check "output is a file: its content is there" "[ \"\$(cat '$tmp/a-file')\" = data ]" "$(ls -la "$tmp"/a-file*)"

for n in 20 60; do
	try sh -c "ulimit -n $n; exec \"\$0\" record -o '$tmp/few' -- touch '$tmp/few.ran'" "$EBPFREC"
	says "ulimit -n $n: said as such, with the way out" 125 'open files' "$n are allowed" 'ulimit -n'
	check "ulimit -n $n: nothing left behind, nothing run" "[ ! -e '$tmp/few' ] && [ ! -e '$tmp/few.ran' ]" \
		"$(ls -la "$tmp")"
done

recorded small -e sched,task -- sh -c 'sleep 0.3; ls / >/dev/null'
try "$EBPFREC" report -i "$tmp/small" --from 'half past'
says "bad time expression: quoted, with the forms there are" 2 'half past'
try "$EBPFREC" report -i "$tmp/small" --from 2s --to 1s
check "from after to: an error" "[ $try_status -ne 0 ] && [ -s '$tmp/try.err' ]" "status $try_status"
try "$EBPFREC" report -i "$tmp/nothing-here"
says "no such trace: named, with the next step" 1 nothing-here 'record'
try "$EBPFREC" report -i "$tmp/a-file"
says "not a trace: a file" 1 a-file
mkdir "$tmp/empty"
try "$EBPFREC" report -i "$tmp/empty"
says "not a trace: a directory" 1 empty
try "$EBPFREC" sql -i "$tmp/small" 'SELECT * FROM no_such_table'
says "sql: unknown table is named" 1 no_such_table
for statement in "ATTACH '$tmp/evil.db' AS e" "CREATE TABLE t(x)" "PRAGMA journal_mode=WAL" \
	"SELECT load_extension('x')" "DELETE FROM processes"; do
	try "$EBPFREC" sql -i "$tmp/small" "$statement"
	check "sql: refuses ${statement%% *}" "[ $try_status -ne 0 ] && [ ! -e '$tmp/evil.db' ]" "status $try_status"
done
try "$EBPFREC" report -i "$tmp/small" cpu --from 100s --to 101s --format csv
check "window outside the trace: an answer without rows of tasks" \
	"[ $try_status -eq 0 ] && head -1 '$tmp/try.out' | grep -q oncpu_ns" "status $try_status: $(cat "$tmp/try.err")"
"$EBPFREC" report -i "$tmp/small" cpu --format csv >/dev/full 2>"$tmp/full.err"
check "output error: reported, not swallowed" "[ $? -ne 0 ] && [ -s '$tmp/full.err' ]" "silent"

# ---- one trace, two recorders ----

start_recorder live -e sched -a
inode=$(stat -c %i "$tmp/live")
try "$EBPFREC" record -o "$tmp/live" -e sched -- touch "$tmp/live.ran"
says "a trace that is being recorded: not moved aside" 125 'live' 'still being recorded' '-o'
mv "$tmp/live" "$tmp/idle.old"
recorded idle -e task -- true
try "$EBPFREC" record -f -o "$tmp/idle" -e sched -- touch "$tmp/live.ran"
says "an old one that is: not removed by -f" 125 'idle.old' 'still being recorded'
check "being recorded: it stays as it is, and nothing is run" \
	"[ $inode = \"\$(stat -c %i '$tmp/idle.old')\" ] && [ ! -e '$tmp/live.ran' ] && kill -0 $recorder" \
		"$(ls -lai "$tmp")"
kill -INT $recorder
wait $recorder
check "being recorded: and ends well" "[ $? -eq 0 ] && '$EBPFREC' check -i '$tmp/idle.old' >/dev/null 2>&1" \
	"$(cat "$tmp/live.err")"

# ---- full disk ----

mount_at "$tmp/tiny" -t tmpfs -o size=900k tmpfs || skip record_trouble_full_disk "cannot mount a tmpfs"
if mountpoint -q "$tmp/tiny"; then
	# It begins quietly: the first block is small and has room, a later one has not.
	"$EBPFREC" record --only -o "$tmp/tiny/t" -- sh -c \
		"sleep 1.3; '$WORK/short_lived' storm 1200 >/dev/null; '$WORK/give_away' 300000 500 >/dev/null; sleep 0.2
			echo done >'$tmp/survived'" >"$tmp/try.out" 2>"$tmp/try.err"
	try_status=$?
	says "full disk: status 125, says so" 125 'space'
	try "$EBPFREC" report -i "$tmp/tiny/t" cpu --format csv
	check "full disk: the trace is readable up to there" \
		"[ $try_status -eq 0 ] && [ \$(wc -l <'$tmp/try.out') -gt 2 ]" \
		"status $try_status, $(wc -l <"$tmp/try.out") lines: $(cat "$tmp/try.err"); $(ls -la "$tmp/tiny/t" 2>&1)"
	wait_for "workload survives" 100 "[ -e '$tmp/survived' ]"
	check "full disk: the workload runs to its end" "[ -e '$tmp/survived' ]" "it was killed"
fi

# A file that may not grow is an error like any other. The recorder's limit is the workload's, too.
(
	ulimit -f 200
	"$EBPFREC" record -o "$tmp/limited" -- sh -c \
		"'$WORK/short_lived' storm 1200 >/dev/null; '$WORK/give_away' 300000 500 >/dev/null
			echo done >'$tmp/limited.survived'" >"$tmp/try.out" 2>"$tmp/try.err"
)
try_status=$?
says "ulimit -f: status 125, says so" 125 'chunk-000000.ebr' 'too large'
check "ulimit -f: the workload runs to its end" "[ -e '$tmp/limited.survived' ]" "it was killed"
"$EBPFREC" check -i "$tmp/limited" >"$tmp/check.out" 2>&1
check "ulimit -f: the trace is whole up to there" "[ $? -eq 0 ]" "$(cat "$tmp/check.out")"

# ---- kill -9 ----

hold killed
start_recorder killed -- sh -c "'$WORK/busy_threads' until '$tmp/hold.killed'; echo lived"
programs_of $recorder >"$tmp/programs"
wait_for "two blocks" 100 "[ \"\$(sql_value killed 'SELECT count(*) > 1 FROM blocks')\" = 1 ]"
"$WORK/stamp" killed >"$tmp/kill.stamp"
kill -9 $recorder
wait $recorder 2>/dev/null
release killed
wait_for "workload goes on" 100 "grep -q lived '$tmp/killed.out'"
try "$EBPFREC" report -i "$tmp/killed" cpu
check "kill -9: the trace opens" "[ $try_status -eq 0 ]" "status $try_status: $(cat "$tmp/try.err")"
check "kill -9: the workload goes on" "grep -q lived '$tmp/killed.out'" "$(cat "$tmp/killed.out")"
wait_for "programs are gone" 30 '! programs_are_loaded "$tmp/programs"'
check "kill -9: no program stays in the kernel" "[ -s '$tmp/programs' ] && ! programs_are_loaded '$tmp/programs'" \
	"$(cat "$tmp/programs")"
checker <"$here/record_trouble.py"
