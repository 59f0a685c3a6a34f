#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The workload's life under `record`: its exit status, its first instruction, the end of a recording, an older trace,
# and the workload's identity. Then which events are recorded, and of whom.
. "$(dirname "$0")/harness.bash"

# ---- exit statuses ----

record st3 -e task -- sh -c 'exit 3'
check "status: the command's own" "[ $? -eq 3 ]" "not 3: $(tail -1 "$tmp/st3.err")"
record st9 -e task -- sh -c 'kill -9 $$'
check "status: 128 + signal of a killed command" "[ $? -eq 137 ]" "not 137: $(tail -1 "$tmp/st9.err")"
record st127 -e task -- no-such-command-here
check "status: 127 when the command is not found" "[ $? -eq 127 ]" "$(tail -1 "$tmp/st127.err")"
check "status: and nothing is left behind" "[ ! -e '$tmp/st127' ]" "$(ls -la "$tmp/st127" 2>&1)"
record keepold -e task -- true
before=$(cksum <"$tmp/keepold/manifest")
record keepold -e task -- no-such-command-here
check "status: and an older trace stays where it is" \
	"[ \"\$(cksum <'$tmp/keepold/manifest')\" = '$before' ] && [ ! -e '$tmp/keepold.old' ]" \
		"$(ls -d "$tmp"/keepold* 2>&1)"
check "status: and the message names it" "grep -q no-such-command-here '$tmp/st127.err'" "$(cat "$tmp/st127.err")"
echo text >"$tmp/no-exec"
record st126 -e task -- "$tmp/no-exec"
check "status: 126 when it cannot be run" "[ $? -eq 126 ]" "$(tail -1 "$tmp/st126.err")"
check "status: 126 leaves nothing either" "[ ! -e '$tmp/st126' ]" "$(ls -la "$tmp/st126" 2>&1)"
printf '#!/no/such/interpreter\n' >"$tmp/no-interpreter"
chmod +x "$tmp/no-interpreter"
record st127b -e task -- "$tmp/no-interpreter"
check "status: 126 or 127 when its interpreter is missing" "[ $? -ge 126 ] && [ ! -e '$tmp/st127b' ]" \
	"$(tail -1 "$tmp/st127b.err")"

# A command that outlives the recording has not ended: the manifest has no exit status.
hold longer
record longer -e task -d 300ms -- sh -c "$(until_released longer)"
rc=$?
check "status: 0 when -d is over before the command, and the manifest knows no end of it" \
	"[ $rc -eq 0 ] && grep -q '^command=' '$tmp/longer/manifest' && ! grep -q '^command.exit' '$tmp/longer/manifest'" \
		"$rc: $(cat "$tmp/longer/manifest")"
start_recorder stopped -e task -- sh -c "$(until_released longer)"
kill -INT $recorder
wait $recorder
rc=$?
check "status: 130 when a signal ends the recording before the command" \
	"[ $rc -eq 130 ] && ! grep -q '^command.exit' '$tmp/stopped/manifest'" "$rc: $(cat "$tmp/stopped/manifest")"
release longer

# ---- several runs ----

rm -f "$tmp/runs"
record many -e task --repeat 3 --warm-up 1 -- sh -c "echo >>'$tmp/runs'; [ \$(wc -l <'$tmp/runs') -ne 2 ] || exit 7"
rc=$?
check "repeat: each run has its trace, and a failure of the command ends none of them" \
	"[ \$(wc -l <'$tmp/runs') -eq 3 ] && [ -e '$tmp/many.1/manifest' ] && [ -e '$tmp/many.3/manifest' ] &&
		[ ! -e '$tmp/many' ]" "$(ls -d "$tmp"/many*; cat "$tmp/many.err")"
check "repeat: the status is that of the first run that failed" "[ $rc -eq 7 ]" "$rc"
check "repeat: the notes say which run it is, and which one warms up" \
	"grep -q '^note.warm_up=1' '$tmp/many.1/manifest' && grep -q '^note.run=1' '$tmp/many.1/manifest' &&
		grep -q '^note.run=2' '$tmp/many.2/manifest' && ! grep -q warm_up= '$tmp/many.2/manifest'" \
	"$(grep -h note "$tmp"/many.*/manifest)"
record none -e task --repeat 3 -- no-such-command-here
check "repeat: what cannot be run is tried once" "[ $? -eq 127 ] && [ \$(grep -c no-such '$tmp/none.err') -eq 1 ]" \
	"$(cat "$tmp/none.err")"
"$EBPFREC" record -o "$tmp/few" -e task --repeat 50 -- sh -c "echo >>'$tmp/few.runs'; exec sleep 0.5" >"$tmp/few.out" \
	2>"$tmp/few.err" </dev/null &
recorder=$!
wait_for "the first run of few" 100 "[ -e '$tmp/few.runs' ]"
kill -INT $recorder
wait $recorder
rc=$?
check "repeat: a signal ends the run, and no other follows" "[ $rc -eq 130 ] && [ ! -e '$tmp/few.9' ]" \
	"$rc: $(ls -d "$tmp"/few*)"

# ---- the whole workload is there ----

# Its standard streams are the caller's.
echo hello | "$EBPFREC" record -q -o "$tmp/cat" -e task -- cat >"$tmp/cat.out" 2>"$tmp/cat.err"
check "command: reads and writes the caller's streams" "[ \"\$(cat '$tmp/cat.out')\" = hello ]" \
	"$(cat "$tmp/cat.out" "$tmp/cat.err")"
check "command: -q prints nothing" "[ ! -s '$tmp/cat.err' ]" "$(cat "$tmp/cat.err")"
# A descriptor of the recorder in the workload would keep BPF programs and the trace open.
record fds -e task -- readlink /proc/self/fd/0 /proc/self/fd/3 /proc/self/fd/4 /proc/self/fd/5 /proc/self/fd/6 \
	/proc/self/fd/7
check "command: inherits no descriptor of the recorder" "[ \"\$(cat '$tmp/fds.out')\" = /dev/null ]" \
	"$(cat "$tmp/fds.out")"
# Blocked or ignored signals would change how it behaves.
record sigs -e task -- sh -c "grep -E 'SigBlk|SigIgn' /proc/self/status"
grep -E 'SigBlk|SigIgn' /proc/self/status >"$tmp/sigs.want"
check "command: has the caller's signal mask and dispositions" "cmp -s '$tmp/sigs.out' '$tmp/sigs.want'" \
	"$(cat "$tmp/sigs.out") instead of $(cat "$tmp/sigs.want")"
# Like a caller that ignores the signals that the recorder handles (nohup, a script's background job), and blocks one.
(
	trap '' HUP INT PIPE TERM USR2 XFSZ
	env --block-signal=USR1 grep -E 'SigBlk|SigIgn' /proc/self/status >"$tmp/ignored.want"
	exec env --block-signal=USR1 "$EBPFREC" record -q -o "$tmp/ignored" -e task -- grep -E 'SigBlk|SigIgn' \
		/proc/self/status >"$tmp/ignored.out"
)
check "command: and those of a caller who ignores signals" "cmp -s '$tmp/ignored.out' '$tmp/ignored.want'" \
	"$(cat "$tmp/ignored.out") instead of $(cat "$tmp/ignored.want")"

# One count of events, also where paths of files and tasks are recorded.
recorded counted -- sh -c \
	"for i in 1 2 3; do dd if=/dev/zero of='$tmp/written' bs=64k count=64 conv=fsync 2>/dev/null; done; sh -c : & wait"
"$EBPFREC" check -i "$tmp/counted" >/dev/null 2>"$tmp/checked.err"
checker <"$here/counted_events.py"

cp "$WORK/stamp" "$tmp/first_thing"
record first -e sched,alloc.rss,alloc.vm -- "$tmp/first_thing" now
check "command: closing line names the events" "grep -Eq '[0-9,]+ events' '$tmp/first.err'" "$(cat "$tmp/first.err")"
check "command: three closing lines, each figure with its name" \
	"[ \$(wc -l <'$tmp/first.err') = 3 ] && grep -Eq '^ebpfrec: recorded: [0-9.]+ s; written: ' '$tmp/first.err' &&
	grep -Eq '^ebpfrec: cost: recorder .*, kernel programs (about .*|not measured), memory ' \
		'$tmp/first.err'" "$(cat "$tmp/first.err")"
checker <"$here/record_command.py"

# ---- how it ends ----

start=$(date +%s%N)
record dur -e sched -a -d 700ms
dur_rc=$?
took=$(( ($(date +%s%N) - start) / 1000000 ))
span=$(sql_value dur 'SELECT max(to_ns) - min(from_ns) FROM blocks')
check "end: -d without a command ends with status 0, not before its time, and the trace is as long" \
	"[ $dur_rc -eq 0 ] && [ $took -ge 700 ] && [ ${span:-0} -ge 700000000 ]" \
		"status $dur_rc, $took ms, a trace of ${span:-0} ns"

start_recorder int -e sched -- sleep 30
kill -INT $recorder
wait $recorder
rc=$?
check "end: Ctrl-C ends the recording, before its command does" \
	"kill -0 \$(sed -n 's/^command.pid=//p' '$tmp/int/manifest')" "status $rc: $(cat "$tmp/int.err")"
kill "$(sed -n 's/^command.pid=//p' "$tmp/int/manifest")" 2>/dev/null
check "end: Ctrl-C leaves a finished trace" "'$EBPFREC' info -i '$tmp/int' | grep -Eq 'state +finished'" \
	"status $rc: $(cat "$tmp/int.err")"
check "end: Ctrl-C says that the command goes on, and its PID" \
	"grep -q \"the command goes on: process \$(sed -n 's/^command.pid=//p' '$tmp/int/manifest') (sleep)\" '$tmp/int.err'" \
	"$(cat "$tmp/int.err")"
cost() { sql_value int "SELECT printf('%d', sum(user_ns + sys_ns) / 1e6) FROM cost"; }
said=$(sed -nE 's/^ebpfrec: cost: recorder ([0-9.]+) ms .*/\1/p' "$tmp/int.err")
check "end: the closing line's cost is that of report cost" \
	"awk 'BEGIN { d = $(cost) - \"$said\"; exit !(\"$said\" != \"\" && d > -1.5 && d < 1.5) }'" \
		"$(cost) ms, said '$said'"
check "end: Ctrl-C still prints the closing line" "grep -Eq '[0-9,]+ events' '$tmp/int.err'" "$(cat "$tmp/int.err")"

start_recorder int2 -a -e sched
kill -INT $recorder
kill -INT $recorder 2>/dev/null
wait $recorder
"$EBPFREC" check -i "$tmp/int2" >"$tmp/int2.check" 2>&1
check "end: after a second Ctrl-C the trace is valid" "[ $? -eq 0 ]" "$(cat "$tmp/int2.check")"
start_recorder term -a -e sched
kill -TERM $recorder
wait $recorder
check "end: SIGTERM drains too" "[ $? -eq 0 ] && '$EBPFREC' info -i '$tmp/term' | grep -Eq 'state +finished'" \
	"$(cat "$tmp/term.err")"

# ---- an older trace ----

record again -e task -- true
touch "$tmp/again/mine"
first=$(stat -c %i "$tmp/again")
record again -e task -- true
check "older: is renamed to .old" "[ \"\$(stat -c %i '$tmp/again.old')\" = $first ]" "$(ls -d "$tmp"/again*)"
record again -e task -- true
rc=$?
check "older: a second time is refused" "[ $rc -eq 125 ]" "status $rc: $(cat "$tmp/again.err")"
check "older: and nothing was destroyed" "[ \"\$(stat -c %i '$tmp/again.old')\" = $first ] &&
	'$EBPFREC' info -i '$tmp/again' >/dev/null" "$(ls -d "$tmp"/again*)"
rm -f "$tmp/again.old/mine"
record again -f -e task -- true
check "older: -f replaces it" "[ $? -eq 0 ] && [ \"\$(stat -c %i '$tmp/again.old')\" != $first ]" \
	"$(cat "$tmp/again.err")"
mkdir "$tmp/day"
replaced=
for ((i = 0; i < 4; i++)); do
	before=$(stat -c %i "$tmp/day/trace.ebpfrec" 2>/dev/null)
	(cd "$tmp/day" && "$EBPFREC" record -e task -- true) 2>"$tmp/day.err" || break
	replaced=$replaced$(grep -c ' is now trace.ebpfrec.old; an older trace of that name was removed$' "$tmp/day.err")
done
check "older: what was removed is said, and nothing else" "[ '$replaced' = 0011 ]" "$replaced: $(cat "$tmp/day.err")"
check "older: the default name rotates" "[ $i -eq 4 ] && [ '$(ls "$tmp/day" |
	tr '\n' ' ')' = 'trace.ebpfrec trace.ebpfrec.old ' ] &&
	[ \"\$(stat -c %i '$tmp/day/trace.ebpfrec.old')\" = $before ]" "$(ls -i "$tmp/day") $(cat "$tmp/day.err")"
(cd "$tmp/day" && "$EBPFREC" record -p 2147483647) 2>"$tmp/day.err"
check "older: a wrong pid moves nothing" "[ $? -eq 125 ] &&
	[ \"\$(stat -c %i '$tmp/day/trace.ebpfrec.old')\" = $before ] &&
	grep -q 'no such process' '$tmp/day.err'" "$(ls -i "$tmp/day") $(cat "$tmp/day.err")"
touch "$tmp/day/trace.ebpfrec.old/mine"
files=$(ls "$tmp/day"/*)
(cd "$tmp/day" && "$EBPFREC" record -q -e task -- true) 2>"$tmp/day.err"
check "older: a file of somebody else in .old keeps all of it" \
	"[ $? -eq 125 ] && [ '$files' = \"\$(ls '$tmp/day'/*)\" ]" "$(ls "$tmp/day"/*) $(cat "$tmp/day.err")"
rm -f "$tmp/day/trace.ebpfrec.old/mine"
# For every reason that keeps a recording from beginning: both older traces stay unchanged, and no other file is
# created.
printf '#!/no/such/interpreter\n' >"$tmp/day/no-interpreter"
echo text >"$tmp/day/not-executable"
chmod +x "$tmp/day/no-interpreter"
both() { (cd "$tmp/day" && ls -A . && stat -c '%i %n' trace* && cksum trace*/manifest trace*/*.ebr); }
before=$(both)
keeps()
{
	local name=$1 want=$2 rc

	shift 2
	(cd "$tmp/day" && "$@") >"$tmp/day.out" 2>"$tmp/day.err" </dev/null
	rc=$?
	check "older: $name: status $want, both stay" "[ $rc -eq $want ] && [ \"\$before\" = \"\$(both)\" ]" \
		"status $rc: $(cat "$tmp/day.err"); $(both)"
}
cp "$EBPFREC" "$tmp/ebpfrec"
chmod 755 "$tmp" && chmod 777 "$tmp/day"
keeps "not executable" 126 "$EBPFREC" record ./not-executable
keeps "a directory" 126 "$EBPFREC" record /etc
keeps "no such command" 127 "$EBPFREC" record no-such-command-here
for what in 126:./not-executable 126:/etc 127:no-such-command-here; do
	keeps "${what#*:}, where no process may be traced" "${what%:*}" "$WORK/no_ptrace" "$EBPFREC" record "${what#*:}"
done
keeps "no interpreter" 127 "$EBPFREC" record ./no-interpreter
keeps "-u who may not run it" 126 "$EBPFREC" record -u nobody "$tmp/day/trace.ebpfrec/manifest"
keeps "no BTF" 125 "$EBPFREC" record --btf "$tmp/day/not-executable" true
keeps "no privileges" 125 setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$tmp/ebpfrec" record true
keeps "a bad option" 2 "$EBPFREC" record -e no.such true
keeps "a wrong cgroup" 125 "$EBPFREC" record --cgroup "$tmp/day" -d 1s
keeps "few descriptors" 125 sh -c 'ulimit -n 30; exec "$0" record true' "$EBPFREC"
keeps "no space" 125 sh -c 'ulimit -f 0; exec "$0" record true' "$EBPFREC"
keeps "interrupted before --start-at" 125 sh -c '"$0" record --start-at 1h -a & sleep 0.5; kill -INT $!; wait $!' \
	"$EBPFREC"
(cd "$tmp/day" && exec "$EBPFREC" record --start-at 1h -a 2>/dev/null) &
waiting=$!
wait_for "the new trace is being made" 30 "ls -d '$tmp'/day/.ebpfrec-new.*/trace.ebpfrec"
kill -9 $waiting
wait $waiting 2>/dev/null
was=$(date -d "@$(stat -c %Y "$tmp/day/trace.ebpfrec/chunk-000000.ebr")" +%H:%M)
first=$(stat -c %i "$tmp/day/trace.ebpfrec")
(cd "$tmp/day" && "$EBPFREC" record -e task -- test -e trace.ebpfrec/control) 2>"$tmp/day.err"
check "older: is renamed before the command runs, and that is said" \
	"[ $? -eq 0 ] && [ \"\$(stat -c %i '$tmp/day/trace.ebpfrec.old')\" = $first ] &&
	grep -Eq 'the recording of $was:[0-9]{2} UTC is now trace.ebpfrec.old' '$tmp/day.err'" "$(cat "$tmp/day.err")"
check "older: what a killed start left is gone" "[ -z \"\$(ls -d '$tmp'/day/.ebpfrec-new.* 2>/dev/null)\" ]" \
	"$(ls -A "$tmp/day")"
mkdir "$tmp/precious" && echo data >"$tmp/precious/file"
record precious -f -e task -- true
check "older: what is no trace is never touched, even with -f" \
	"[ $? -eq 125 ] && [ \"\$(cat '$tmp/precious/file')\" = data ]" "$(ls -la "$tmp/precious" "$tmp"/precious.* 2>&1)"

# ---- identity ----

chmod 755 "$tmp"
record user -u nobody -e task -- sh -c 'id -un; id -gn; id -G; grep -E "^Cap(Eff|Prm)" /proc/self/status; echo "$HOME"'
check "user: -u runs the command as that user" "[ \"\$(head -1 '$tmp/user.out')\" = nobody ]" \
	"$(cat "$tmp/user.out" "$tmp/user.err")"
check "user: with its groups only, and no capabilities" \
	"[ \"\$(sed -n 3p '$tmp/user.out')\" = \"\$(id -G nobody)\" ] && grep -q 'CapEff:.0000000000000000' '$tmp/user.out'" \
	"$(cat "$tmp/user.out")"
record nouser -u no-such-user-x -e task -- true
check "user: an unknown one is named, status 125" "[ $? -eq 125 ] && grep -q no-such-user-x '$tmp/nouser.err' &&
	[ ! -e '$tmp/nouser' ]" "$(cat "$tmp/nouser.err")"
if id -u nobody >/dev/null 2>&1; then
	SUDO_UID=$(id -u nobody) SUDO_GID=$(id -g nobody) record sudo -e task -- true
	check "user: under sudo the trace belongs to the invoking user" \
		"[ -d '$tmp/sudo' ] && [ -z \"\$(find '$tmp/sudo' ! \( -user nobody -group $(id -g nobody) \))\" ]" \
		"$(ls -laR "$tmp/sudo")"
fi
check "user: a trace is readable by its owner only" \
	"[ -z \"\$(find '$tmp/first' -type f ! -perm 600)\" ] && [ \"\$(stat -c %a '$tmp/first')\" = 700 ]" \
	"$(ls -laR "$tmp/first")"

record note -e task --note build=1234 --note 'why=a b=c' -- true
check "note: kept in the trace" "'$EBPFREC' info -i '$tmp/note' | grep -q 1234 && '$EBPFREC' info -i '$tmp/note' |
	grep -q 'a b=c'" "$("$EBPFREC" info -i "$tmp/note" 2>&1)"
SECRET_TOKEN=hunter2xyz record env -e task -- true
check "manifest: quotes no environment" "! grep -rq hunter2xyz '$tmp/env'" "found it"

# ---- --view ----

"$EBPFREC" record --view -e task -o "$tmp/viewed" -- true >"$tmp/viewed.out" 2>"$tmp/viewed.err" </dev/null &
viewer=$!
wait_for "the viewer's address" 60 "grep -q ^http: '$tmp/viewed.out'"
check "view: the recording is served when the command has ended" \
	"python3 -c 'import sys, urllib.request as u; sys.exit(u.urlopen(sys.argv[1]).status != 200)' \
		\"\$(head -n 1 '$tmp/viewed.out')\"" "$(cat "$tmp/viewed.out" "$tmp/viewed.err")"
kill $viewer
wait $viewer

# ---- what is recorded ----

# The trace has exactly the selected events: -e loads only the selected programs (checked with bpftool);
# --only, -p, --cgroup keep only those processes and mark the workload.
fresh

loaded_with()
{
	rm -rf "$tmp"/sel*
	start_recorder "sel" -a -e "$1"
	programs_of $recorder >"$tmp/programs"
	kill -INT $recorder
	wait $recorder
	wait_for "programs are gone" 30 '! programs_are_loaded "$tmp/programs"'
	programs_are_loaded "$tmp/programs" && echo "STILL LOADED"
	cut -d' ' -f2 "$tmp/programs" | sort -u | tr '\n' ' '
}

sched=$(loaded_with sched)
check "-e sched: loads scheduler and identity programs" "[[ '$sched' == *sched_switch* && '$sched' == *exec* ]]" \
	"$sched"
check "-e sched: loads no allocation or block program" "! [[ '$sched' =~ kmalloc|kfree|cache|page|rss|rq_|io_ ]]" \
	"$sched"
switch=$(loaded_with sched.switch)
check "-e sched.switch: no wake-up program" "[[ '$switch' == *switch* ]] && ! [[ '$switch' =~ waking|wakeup ]]" \
	"$switch"
rss=$(loaded_with alloc.rss,block)
check "-e alloc.rss,block: loads these" "[[ '$rss' == *rss* && '$rss' == *rq_issue* ]]" "$rss"
check "-e alloc.rss,block: and not others" "! [[ '$rss' =~ kmalloc|kfree|cache_|page_|sched_switch ]]" "$rss"
check "-e: no program stays after the recorder" "! [[ '$sched$switch$rss' == *STILL* ]]" "$sched$switch$rss"

"$EBPFREC" record -e list >"$tmp/list" 2>&1
for source in sched.switch sched.wakeup sched.irq alloc.slab alloc.page alloc.rss alloc.vm alloc.heap block; do
	grep -q "$source" "$tmp/list" || missing="${missing:-} $source"
done
check "-e list: names every source" "[ -z '${missing:-}' ]" "without${missing:-}: $(cat "$tmp/list")"

# ---- sources that were not recorded are unknown ----

recorded rss -e alloc.rss -- sh -c "'$WORK/busy_threads' one 300"
recorded sched -e sched -- sleep 0.1
"$EBPFREC" cut -i "$tmp/sched" -e sched.wakeup -o "$tmp/left" 2>"$tmp/left.err" ||
	not_ok "-e: cut" "$(cat "$tmp/left.err")"
checker <"$here/unknown_sources.py"

# ---- --only ----

"$WORK/busy_threads" one 200000 >/dev/null &
outsider=$!
recorded only --only -- sh -c \
	"'$WORK/busy_threads' one 700; '$WORK/touch_memory' 50 50 100 50 >/dev/null
		'$WORK/direct_io' '$tmp/file' write 20 65536"
recorded all -- sh -c "'$WORK/busy_threads' one 300"
kill $outsider
wait $outsider 2>/dev/null

outsider=$outsider checker <"$here/only_workload.py"

# ---- -p and --cgroup ----

"$WORK/busy_threads" two 200000 >/dev/null &
victim=$!
"$WORK/busy_threads" one 200000 >/dev/null &
other=$!
recorded pid -p $victim -e sched -d 600ms
thread=$(ls "/proc/$victim/task" | grep -vx "$victim" | head -n 1)
recorded tid -p "$thread" -e sched -d 100ms
check "-p TID: the process of the thread is the workload, and record says so" \
	"grep -q -- '-p $thread is a thread: recording its process, $victim;' '$tmp/tid.err' && [ \"\$('$EBPFREC' sql \
	-i '$tmp/tid' --format csv 'SELECT DISTINCT pid FROM processes WHERE is_workload' | tail -n 1)\" = $victim ]" \
	"$(cat "$tmp/tid.err")"
record nopid -p 4999999 -e sched -d 100ms
check "-p: an unknown pid is named" "[ $? -ne 0 ] && grep -q 4999999 '$tmp/nopid.err' && [ ! -e '$tmp/nopid' ]" \
	"$(cat "$tmp/nopid.err")"
cgroot=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
have_cgroup=0
if [ -n "$cgroot" ] && mkdir "$cgroot/ebpfrec-test-$$" 2>/dev/null; then
	undo+=("rmdir '$cgroot/ebpfrec-test-$$'")
	have_cgroup=1
	sh -c "echo \$\$ >'$cgroot/ebpfrec-test-$$/cgroup.procs'; exec '$WORK/busy_threads' one 200000" >/dev/null &
	grouped=$!
	wait_for "it is in the group" 30 "grep -q busy_threads /proc/$grouped/comm"
	recorded cgroup --cgroup "$cgroot/ebpfrec-test-$$" --only -e sched -d 600ms
	kill $grouped
	wait $grouped 2>/dev/null
else
	skip record_select_cgroup "no cgroup v2 tree to make a group in"
fi
kill $victim $other
wait
victim=$victim other=$other have_cgroup=$have_cgroup grouped=${grouped:-0} checker <"$here/record_select.py"
