#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# What .github/SECURITY.md claims about privilege: recording with file capabilities alone, as an ordinary user; what is
# missing is named; nothing is kept once recording runs; the workload gets neither descriptors nor
# capabilities; secrets stay out of the trace.
. "$(dirname "$0")/harness.bash"

chmod 755 "$tmp"
mkdir -m 777 "$tmp/open"
cp "$EBPFREC" "$tmp/ebpfrec" && chmod 755 "$tmp/ebpfrec"
PATH=$PATH:/usr/sbin:/sbin
# as_user COMMAND...: an ordinary user's shell has an empty inheritable set and a full bounding set
as_user()
{
	(cd "$tmp/open" && setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --ambient-caps=-all "$@")
}
# fields FILE NAME: the values of a /proc/PID/status field, each once
fields()
{
	sed -n "s/^$2:[[:space:]]*//p" "$1" | sort -u | tr '\n' ' '
}
# The recorder's own threads, as the workload sees them first thing.
# shellcheck disable=SC2016
look='cat /proc/$PPID/task/*/status; true'

# ---- file capabilities ----

if setcap cap_bpf,cap_perfmon+ep "$tmp/ebpfrec" 2>"$tmp/setcap.err"; then
	as_user "$tmp/ebpfrec" record -o "$tmp/open/caps" -- sh -c "$look" >"$tmp/caps.threads" 2>"$tmp/caps.err" </dev/null
	check "file capabilities: an ordinary user records all default sources" \
		"[ $? -eq 0 ] && grep -Eq '[1-9][0-9,]* events' '$tmp/caps.err'" "$(cat "$tmp/caps.err")"
	check "file capabilities: the trace is the user's alone" \
		"[ \"\$(stat -c '%u %a' '$tmp/open/caps')\" = '65534 700' ] &&
			[ -z \"\$(find '$tmp/open/caps' -type f ! -perm 600)\" ]" \
		"$(ls -laR "$tmp/open/caps")"
	check "file capabilities: what cannot be had is in the manifest" \
		"grep -q '^lacks=.*CAP_SYS_ADMIN' '$tmp/open/caps/manifest'" \
		"$(grep lacks "$tmp/open/caps/manifest")"
	# Whether the kernel hides its symbols depends on its settings: checks that for this user.
	# Since 5.13 a program asks the kernel for the names, which no setting hides.
	hidden=$(as_user awk '$1 !~ /^0*$/ { n++ } END { print n ? 0 : 1 }' /proc/kallsyms)
	[ "$(printf '%s\n5.13\n' "$(uname -r)" | sort -V | head -n 1)" = 5.13 ] && hidden=0
	check "file capabilities: names of kernel functions, too, where they are hidden" \
		"[ \$(grep -c '^lacks=.*CAP_SYSLOG' '$tmp/open/caps/manifest') = $hidden ]" \
			"hidden: $hidden; $(grep lacks "$tmp/open/caps/manifest")"
	check "file capabilities: recording keeps none" \
		"[ \$(grep -c ^Pid: '$tmp/caps.threads') -ge 2 ] &&
			[ \"\$(fields '$tmp/caps.threads' CapPrm)\" = '0000000000000000 ' ] &&
			[ \"\$(fields '$tmp/caps.threads' NoNewPrivs)\" = '1 ' ]" "$(cat "$tmp/caps.threads")"
	as_user "$tmp/ebpfrec" report -i "$tmp/open/caps" cpu --format csv >"$tmp/caps.csv" 2>"$tmp/caps.err2"
	check "file capabilities: and the user reports on it" "[ $? -eq 0 ] && [ \$(wc -l <'$tmp/caps.csv') -gt 3 ]" \
		"$(cat "$tmp/caps.err2")"
	# A command that only reads, or writes what it has read, drops its capabilities before it parses its options: it
	# hangs while it prints an error about an option, and is checked from outside.
	mkfifo "$tmp/full"
	exec 7<>"$tmp/full"
	dd if=/dev/zero of="$tmp/full" bs=4096 count=1024 oflag=nonblock 2>/dev/null
	mapfile -t commands < <("$EBPFREC" --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\)  .*/\1/p' |
		grep -vx 'record\|doctor\|help\|version')
	for command in "${commands[@]}"; do
		(cd "$tmp/open" &&
			exec setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/ebpfrec" "$command" \
				--no-such-option >/dev/null 2>&7) &
		wait_for "$command has read its options" 30 "grep -q '^Name:[[:space:]]*ebpfrec' /proc/$!/status &&
			grep -q '^NoNewPrivs:[[:space:]]*1' /proc/$!/status"
		cat /proc/$!/status >"$tmp/reader" 2>/dev/null
		kill -9 $! && wait $! 2>/dev/null
		check "file capabilities: $command has given them up" \
			"[ \"\$(fields '$tmp/reader' CapPrm)\" = '0000000000000000 ' ]" \
			"$(grep -E '^(Name|Cap|NoNew)' "$tmp/reader")"
	done
	exec 7>&-
	check "file capabilities: these were all commands that read" "[ ${#commands[@]} -ge 12 ]" "${commands[*]}"
	# Reading a trace, which may be anybody's, happens without them, too: in a query without end.
	(cd "$tmp/open" && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/ebpfrec" sql -i caps \
		'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n' >/dev/null 2>&1) &
	# (its first instructions are setpriv's)
	wait_for "the reader reads" 30 "grep -q '^Name:[[:space:]]*ebpfrec' /proc/$!/status &&
		grep -q '^NoNewPrivs:[[:space:]]*1' /proc/$!/status"
	cat /proc/$!/status >"$tmp/reader" 2>/dev/null
	kill -9 $! && wait $! 2>/dev/null
	check "file capabilities: reading a trace has given them up" \
		"[ \"\$(fields '$tmp/reader' CapPrm)\" = '0000000000000000 ' ] &&
			[ \"\$(fields '$tmp/reader' NoNewPrivs)\" = '1 ' ]" \
		"$(grep -E '^(Name|Cap|NoNew)' "$tmp/reader")"
	as_user "$tmp/ebpfrec" record -o "$tmp/open/heap" -e alloc.heap -- true 2>"$tmp/heap.err"
	check "file capabilities: alloc.heap works, or names CAP_SYS_ADMIN" \
		"[ $? -eq 0 ] || grep -q 'alloc.heap.*CAP_SYS_ADMIN' '$tmp/heap.err'" \
		"$(cat "$tmp/heap.err")"
	as_user "$tmp/ebpfrec" record -o "$tmp/open/asroot" -u root -e sched -- id >"$tmp/asroot" 2>&1
	check "file capabilities: -u another user names what it takes" \
		"[ $? -eq 125 ] && grep -q CAP_SETUID '$tmp/asroot'" \
		"$(cat "$tmp/asroot")"
	as_user "$tmp/ebpfrec" record -o "$tmp/open/self" -u 65534 -e sched -- id -u >"$tmp/self" 2>"$tmp/self.err"
	check "file capabilities: -u oneself is fine" "[ \"\$(cat '$tmp/self')\" = 65534 ]" "$(cat "$tmp/self.err")"
	for cap in cap_bpf cap_perfmon; do
		setcap $cap+ep "$tmp/ebpfrec"
		[ $cap = cap_bpf ] && missing=CAP_PERFMON || missing=CAP_BPF
		as_user "$tmp/ebpfrec" record -o "$tmp/open/x" -e sched -- true 2>"$tmp/x.err"
		check "file capabilities: $missing is named when it is missing" \
			"[ $? -eq 125 ] && grep -q '$missing missing' '$tmp/x.err'" "$(cat "$tmp/x.err")"
	done
	setcap -r "$tmp/ebpfrec"
else
	skip "file capabilities" "$(cat "$tmp/setcap.err")"
fi
as_user "$tmp/ebpfrec" doctor >"$tmp/doctor.out" 2>"$tmp/doctor.err"
check "doctor: the verdict comes first, and says what to do" \
	"head -n 1 '$tmp/doctor.out' | grep -q '^Not ready: .*this user may not record' &&
	grep -q 'setcap cap_bpf,cap_perfmon+ep /' '$tmp/doctor.out'" "$(cat "$tmp/doctor.out")"
for cap in CAP_BPF CAP_PERFMON CAP_SYS_ADMIN CAP_SYSLOG CAP_SETUID CAP_SETGID; do
	check "doctor: names $cap to who lacks it" "grep -q 'Missing: $cap' '$tmp/doctor.out'" "$(cat "$tmp/doctor.out")"
done
# Rings are locked memory before 5.11 only, and where that is limited.
[ "$(printf '%s\n5.11\n' "$(uname -r)" | sort -V | head -n 1)" = 5.11 ] && wanted=0 || wanted=1
got=$(ulimit -l 64 && as_user "$tmp/ebpfrec" doctor | grep -c CAP_SYS_RESOURCE)
check "doctor: names CAP_SYS_RESOURCE where the rings are locked memory, and only there" "[ '$got' = $wanted ]" \
	"$got times on $(uname -r)"
chmod u+s "$tmp/ebpfrec"
as_user "$tmp/ebpfrec" record -o "$tmp/open/suid" -e sched -- true 2>"$tmp/suid.err"
check "setuid: refused, with what to do instead" "[ $? -ne 0 ] &&
	grep -q 'must not be installed setuid.*setcap' '$tmp/suid.err'" "$(cat "$tmp/suid.err")"
chmod u-s,g+s "$tmp/ebpfrec"
as_user "$tmp/ebpfrec" info 2>"$tmp/sgid.err"
check "setuid: and setgid, whatever the command" "[ $? -ne 0 ] &&
	grep -q 'must not be installed.*setgid.*setcap' '$tmp/sgid.err'" "$(cat "$tmp/sgid.err")"
chmod g-s "$tmp/ebpfrec"

# ---- root ----

recorded root -- sh -c "$look" # record() sends stdout to root.out
check "root: recording keeps no capability, in any thread" \
	"[ \$(grep -c ^Pid: '$tmp/root.out') -ge 2 ] && [ \"\$(fields '$tmp/root.out' CapPrm)\" = '0000000000000000 ' ] &&
		[ \"\$(fields '$tmp/root.out' CapBnd)\" = '0000000000000000 ' ] &&
			[ \"\$(fields '$tmp/root.out' NoNewPrivs)\" = '1 ' ]" \
	"$(grep -E '^(Name|Cap|NoNew)' "$tmp/root.out")"
SUDO_UID=65534 SUDO_GID=65534 setpriv --groups 0,4242 "$EBPFREC" record -o "$tmp/sudo" -- sh -c \
	"$look; id -u >'$tmp/sudo.id'" >"$tmp/sudo.out" 2>"$tmp/sudo.err" </dev/null
check "sudo: the recorder has become the user who called it" \
	"[ \"\$(fields '$tmp/sudo.out' Uid | tr '\t' ' ')\" = '65534 65534 65534 65534 ' ] &&
		[ \"\$(fields '$tmp/sudo.out' CapPrm)\" = '0000000000000000 ' ]" \
	"$(grep -E '^(Name|Uid|Cap)' "$tmp/sudo.out")"
check "sudo: with that user's groups, and no other" \
	"[ \"\$(fields '$tmp/sudo.out' Gid | tr '\t' ' ')\" = '65534 65534 65534 65534 ' ] &&
		[ \"\$(fields '$tmp/sudo.out' Groups | tr -s ' ')\" = '$(id -G 65534) ' ]" \
	"$(grep -E '^(Name|Gid|Groups)' "$tmp/sudo.out")"
check "sudo: the workload is root's" "[ \"\$(cat '$tmp/sudo.id')\" = 0 ]" "$(cat "$tmp/sudo.id")"
start_recorder all -a -e sched
cat /proc/$recorder/task/*/status >"$tmp/all.threads"
kill -INT $recorder
wait $recorder
check "root: nor without a workload" "[ \$(grep -c ^Pid: '$tmp/all.threads') -ge 2 ] &&
	[ \"\$(fields '$tmp/all.threads' CapPrm)\" = '0000000000000000 ' ]" \
	"$(grep -E '^(Name|Cap)' "$tmp/all.threads")"
timeout 60 python3 "$here/without_call.py" bpf 1 "$EBPFREC" record -o "$tmp/filtered" -e task -- true \
	>"$tmp/filtered.out" 2>"$tmp/filtered.err"
check "root: a container's filter of system calls that forbids bpf() is named" \
	"[ $? -eq 125 ] && grep -q 'seccomp' '$tmp/filtered.err' && [ ! -e '$tmp/filtered' ]" \
	"$(cat "$tmp/filtered.err")"
# A kernel that falsely reports that it dropped the capabilities: the recorder checks, and the workload never begins.
timeout 60 python3 "$here/without_call.py" capset 0 "$EBPFREC" record -o "$tmp/kept" -e task -- touch "$tmp/began" \
	>"$tmp/kept.out" 2>"$tmp/kept.err"
check "root: capabilities that did not go are found: no recording" \
	"[ $? -eq 125 ] && grep -q 'still has capabilities' '$tmp/kept.err'" "$(cat "$tmp/kept.err")"
# (the workload of a recorder that released it and then looked would be on its way)
sleep 0.3
check "root: and no workload, and no trace" "[ ! -e '$tmp/began' ] && [ ! -e '$tmp/kept' ]" "$(ls -la "$tmp")"
# While it opens a file of a process that began, it has that one, too.
# shellcheck disable=SC2016
recorded opener -e alloc.heap,task -- sh -c 'sleep 0.2; p=$(pgrep -x ebpfrec-open -P $PPID); cat /proc/$p/status
	for i in 1 2 3 4 5 6 7 8 9 10; do n=$(ls /proc/$p/fd | wc -l); [ $n -gt 1 ] || break; sleep 0.05; done; echo $n'
check "opener: keeps CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH, and no descriptor but its socket" \
	"[ \"\$(fields '$tmp/opener.out' CapPrm)\" = '0000010000080004 ' ] && [ \"\$(tail -1 '$tmp/opener.out')\" = 1 ]" \
	"$(grep -E '^(Name|Cap)' "$tmp/opener.out"; tail -1 "$tmp/opener.out")"
recorded stats -- sh -c \
	'sleep 0.2; cat /proc/$(pgrep -n -f "^[^ ]*ebpfrec record -o '"$tmp/stats"'" -P $PPID)/status;
		ls /proc/$(pgrep -n -f "^[^ ]*ebpfrec record -o '"$tmp/stats"'" -P $PPID)/fd | wc -l'
check "helper: keeps CAP_SYS_ADMIN alone, and no descriptor but its socket" \
	"[ \"\$(fields '$tmp/stats.out' CapPrm)\" = '0000000000200000 ' ] && [ \"\$(tail -1 '$tmp/stats.out')\" = 1 ] &&
		[ \"\$(fields '$tmp/stats.out' Name)\" = 'ebpfrec-stats ' ]" \
	"$(grep -E '^(Name|Cap)' "$tmp/stats.out")"
# If the helper is killed, the others see the end of their socket.
helpers_run()
{
	local pid

	for pid in $helpers; do
		grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" && return 0
	done
	return 1
}
hold helpers
start_recorder helpers -e alloc.heap,task -- sh -c "$(until_released helpers)"
helpers=$(pgrep -P $recorder 'ebpfrec-(stats|open)')
check "helper, opener: are there while it records" "[ $(wc -w <<<"$helpers") -eq 2 ] && helpers_run" "$helpers"
kill -9 $recorder
wait $recorder 2>/dev/null
wait_for "they have ended" 60 "! helpers_run"
check "helper, opener: end with the recorder" "! helpers_run" "$helpers"
release helpers
checker <<'EOF_PY'
from trace_query import *
t = Trace(os.environ["tmp"] + "/root")
check("helper: run times of programs are in the trace", t.one("SELECT sum(run_cnt) FROM hook_stats") > 0,
      t.sql("SELECT * FROM hook_stats LIMIT 3"))
# (other recorders may run on this machine, with helpers of theirs)
rows = t.sql("SELECT upid, pid, ppid, parent_upid, is_recorder FROM processes WHERE comm IN ('ebpfrec', "
             "'ebpfrec-stats')")
mine = {r["upid"] for r in rows if r["is_recorder"]}
check("helper: is told from others as the recorder's", len(mine) == 2
      and all(r["is_recorder"] == (r["parent_upid"] in mine or r["upid"] in mine) for r in rows), rows)
EOF_PY

as_user unshare -Ur true 2>/dev/null && {
	as_user unshare -Ur "$tmp/ebpfrec" record -o "$tmp/open/userns" -e sched -- true 2>"$tmp/userns.err"
	check "user namespace: its root is told that it is not enough" \
		"[ $? -eq 125 ] && grep -q 'user namespace' '$tmp/userns.err'" "$(cat "$tmp/userns.err")"
}

# ---- the workload ----

# The same descriptors as without a recorder.
sh -c 'cd /proc/self/fd; echo *' >"$tmp/fds.want" 2>/dev/null </dev/null 8</dev/null
"$EBPFREC" record -q -o "$tmp/fds" -e sched,alloc.heap,block -- sh -c 'cd /proc/self/fd; echo *' >"$tmp/fds.got" \
	2>/dev/null </dev/null 8</dev/null
check "workload: has the caller's descriptors and no other" "cmp -s '$tmp/fds.got' '$tmp/fds.want'" \
	"$(cat "$tmp/fds.got") instead of $(cat "$tmp/fds.want")"
chmod u-s "$tmp/ebpfrec"
(cd "$tmp/open" &&
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+bpf,+perfmon --ambient-caps=-all,+bpf,+perfmon \
	"$tmp/ebpfrec" record -o ambient -e sched -- cat /proc/self/status) >"$tmp/ambient.out" 2>"$tmp/ambient.err"
check "workload: ambient capabilities of the recorder end with it" \
	"[ \"\$(fields '$tmp/ambient.out' CapEff)\" = '0000000000000000 ' ] &&
		[ \"\$(fields '$tmp/ambient.out' CapInh)\" = '0000000000000000 ' ]" \
	"$(cat "$tmp/ambient.err"; grep Cap "$tmp/ambient.out")"
"$EBPFREC" report -i "$tmp/open/ambient" cost --format json >"$tmp/ambient.json" 2>&1
check "cost: what run times nobody measured for want of CAP_SYS_ADMIN is not 0" \
	"grep -q 'kernel programs not measured' '$tmp/ambient.err' &&
		grep -q '\"part\":\"all\",\"name\":\"\",\"cpu_ns\":null' '$tmp/ambient.json' &&
		grep -q '\"part\":\"kernel\",\"name\":\"switch\",\"cpu_ns\":null' \
			'$tmp/ambient.json'" "$(cat "$tmp/ambient.err" "$tmp/ambient.json")"
check "workload: may gain privileges as ever (sudo inside it works)" \
	"[ \"\$(fields '$tmp/ambient.out' NoNewPrivs)\" = '0 ' ]" "$(grep NoNew "$tmp/ambient.out")"
KEPT=1a2b setpriv --groups 0,4242 "$EBPFREC" record -o "$tmp/user" -u nobody -e sched -- \
	sh -c 'cat /proc/self/status; echo "HOME: $HOME"; echo "USER: $USER $LOGNAME"
		echo "SHELL: $SHELL"; echo "KEPT: $KEPT"' \
	>"$tmp/user.out" 2>"$tmp/user.err" </dev/null
check "workload: -u gives uid, gid and groups" \
	"[ \"\$(fields '$tmp/user.out' Uid |
		tr '\t' ' ')\" = '$(id -u nobody) $(id -u nobody) $(id -u nobody) $(id -u nobody) ' ] &&
		[ \"\$(fields '$tmp/user.out' Gid | tr '\t' ' ')\" = \
			'$(id -g nobody) $(id -g nobody) $(id -g nobody) $(id -g nobody) ' ] &&
		[ \"\$(fields '$tmp/user.out' Groups | tr -d ' ')\" = '$(id -G nobody | tr -d ' ')' \
			]" "$(grep -E '^(Uid|Gid|Groups)' "$tmp/user.out")"
check "workload: -u leaves no capability" \
	"[ \"\$(grep -c '^Cap\(Inh\|Prm\|Eff\|Amb\):.0000000000000000' '$tmp/user.out')\" = 4 ]" \
		"$(grep Cap "$tmp/user.out")"
check "workload: -u sets HOME, USER, LOGNAME and SHELL as sudo does" \
	"grep -q '^HOME: $(getent passwd nobody | cut -d: -f6)$' '$tmp/user.out' &&
		grep -q '^USER: nobody nobody$' '$tmp/user.out' &&
		grep -q '^SHELL: $(getent passwd nobody | cut -d: -f7)$' '$tmp/user.out'" "$(tail -4 "$tmp/user.out")"
check "workload: -u leaves the rest of the environment" "grep -q '^KEPT: 1a2b$' '$tmp/user.out'" \
	"$(tail -4 "$tmp/user.out")"

# ---- a trace that another user is recording ----

# Its directory is closed to a stranger; where its owner opened that, the files are.
hold theirs
start_recorder theirs -e sched -- sh -c "$(until_released theirs)"
for mode in 700 755; do
	chmod $mode "$tmp/theirs"
	as_user "$tmp/ebpfrec" mark -i "$tmp/theirs" hello 2>"$tmp/theirs.mark"
	check "another user's recording, mode $mode: no mark, and why" \
		"[ $? -eq 1 ] && grep -q \"$tmp/theirs: .*owner\" '$tmp/theirs.mark'" "$(cat "$tmp/theirs.mark")"
	as_user "$tmp/ebpfrec" snapshot -i "$tmp/theirs" -o "$tmp/open/copy" 2>"$tmp/theirs.copy"
	check "another user's recording, mode $mode: no snapshot, and why" \
		"[ $? -eq 1 ] && grep -q \"$tmp/theirs.*ermission denied.*sudo\" '$tmp/theirs.copy' &&
			[ -z \"\$(find '$tmp/open' -name 'copy' -o -name '.ebpfrec-new.*')\" ]" \
		"$(cat "$tmp/theirs.copy"; ls -A "$tmp/open")"
done
release theirs
wait $recorder
n=$(sql_value theirs "SELECT count(*) FROM marks")
check "another user's recording: no mark is in it" "[ '$n' = 0 ]" "$n"

# ---- secrets ----

# (another run's search for it would be a command line with it)
secret=quiet-$$-$RANDOM
# A stranger's command line, there before the recording (snapshot) and begun during it (exec).
stranger()
{
	SECRET_IN_ENVIRONMENT=$secret exec sh -c 'sleep "$1"; : ' "$@"
}
stranger before-7be21 100 &
snapshot_pid=$!
for kind in plain cmdlines; do
	option=()
	[ $kind = cmdlines ] && option=(--cmdlines)
	hold stranger
	SECRET_IN_ENVIRONMENT=$secret start_recorder $kind "${option[@]}" -e task -- sh -c \
		"$(until_released stranger); : workload-9ac45"
	(stranger during-51ffe 0.1) # not of the workload: a child of this shell
	release stranger
	wait $recorder
	"$EBPFREC" sql -i "$tmp/$kind" --format csv "SELECT * FROM processes" >"$tmp/$kind.rows"
	"$EBPFREC" sql -i "$tmp/$kind" --format csv "SELECT * FROM task_events" >>"$tmp/$kind.rows"
	"$EBPFREC" info -i "$tmp/$kind" >>"$tmp/$kind.rows"
	check "secrets: $kind: the workload's command line is kept" "grep -q workload-9ac45 '$tmp/$kind.rows'" \
		"$(cat "$tmp/$kind.rows")"
	check "secrets: $kind: no environment" "! grep -q '$secret' '$tmp/$kind.rows' '$tmp/$kind/manifest'" \
		"$(grep "$secret" "$tmp/$kind.rows")"
done
kill $snapshot_pid 2>/dev/null
for which in before-7be21 during-51ffe; do
	check "secrets: a stranger's command line ($which) is not kept" "! grep -q $which '$tmp/plain.rows'" \
		"$(grep $which "$tmp/plain.rows")"
	check "secrets: with --cmdlines it is ($which)" "grep -q $which '$tmp/cmdlines.rows'" \
		"$(head -c 600 "$tmp/cmdlines.rows")"
done
