#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Containers and limits: processes in a pid namespace of their own have both ids, with children and threads; a recorder
# inside of namespaces; no tracefs and no debugfs; cgroups of both versions; tens of thousands of tasks.
. "$(dirname "$0")/../kernel/harness.bash"

# ---- pid namespaces ----

# Inside, the shell is 1, and the sleep 2.
recorded ns -e task -- unshare --pid --fork --mount-proc sh -c \
	'cp "$WORK/stamp" "$tmp/in_a_namespace"; "$tmp/in_a_namespace" x; readlink /proc/self; sleep 0.1'
unshare --pid --fork --kill-child sh -c 'echo >"$tmp/is_there"; sleep 600; :' &
wait_for "the shell in a namespace" 60 "[ -e '$tmp/is_there' ]"
recorded before -e task -- true
checker <"$top/tests/full/pid_namespaces.py"
# unshare ignores SIGTERM while it waits for its child
kill -9 $!
# The recorder itself in one: ids of the trace are the initial namespace's, the workload is its own.
unshare --pid --fork --mount-proc "$EBPFREC" record -o "$tmp/inside" -e sched,task -- sh -c 'echo $$; sleep 0.2' \
	>"$tmp/inside.out" 2>"$tmp/inside.err"
check "pid namespace: a recorder in one records" "[ $? -eq 0 ]" "$(cat "$tmp/inside.err")"
check "pid namespace: it warns that others have no names" "grep -q 'warning: names: .*--pid=host' '$tmp/inside.err'" \
	"$(cat "$tmp/inside.err")"
checker <"$top/tests/full/recorder_in_namespace.py"
unshare --pid --fork --mount-proc "$EBPFREC" record -o "$tmp/only" --only -e sched,task -- sh -c 'exec sleep 0.2' \
	>"$tmp/only.out" 2>"$tmp/only.err"
n=$(sql_value only "SELECT count(*) FROM switches JOIN threads USING (utid)
	JOIN processes AS p USING (upid) WHERE p.is_workload AND p.comm = 'sleep'")
check "pid namespace: --only does not warn of others" "! grep -q 'names: ' '$tmp/only.err'" "$(cat "$tmp/only.err")"
check "pid namespace: --only keeps the command's events" "[ '$n' -gt 0 ]" "'$n' switches: $(cat "$tmp/only.err")"
for who in '-p 1' '--cgroup /'; do
	# shellcheck disable=SC2086
	unshare --pid --fork --mount-proc "$EBPFREC" record -o "$tmp/others" $who -d 1s 2>"$tmp/others.err"
	check "pid namespace: $who is refused in one, with the reason" \
		"[ $? -eq 125 ] && [ ! -e '$tmp/others' ] && grep -q 'pid namespace.*record outside of it' '$tmp/others.err'" \
		"$(cat "$tmp/others.err")"
done

# ---- no tracefs, no debugfs ----

unshare -m sh -c \
	'for d in /sys/kernel/tracing /sys/kernel/debug/tracing /sys/kernel/debug; do while umount -l $d 2>/dev/null
		do :; done; done
	[ ! -e /sys/kernel/tracing/events ] && [ ! -e /sys/kernel/debug/tracing ] || exit 99
	exec "$EBPFREC" record -o "$tmp/notrace" -e sched,alloc,block -- true' >"$tmp/notrace.out" 2>"$tmp/notrace.err"
rc=$?
check "no tracefs, no debugfs: everything is recorded all the same" \
	"[ $rc -eq 0 ] &&
		[ \"\$(sql_value notrace 'SELECT count(DISTINCT source) FROM hook_stats
			WHERE read_cnt > 0')\" -ge 6 ]" \
	"status $rc: $(cat "$tmp/notrace.err")"

# ---- cgroups ----

v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
v1=$(awk '$3 == "cgroup" && $4 ~ /pids|freezer/ { print $2; exit }' /proc/self/mounts)
if [ -n "$v2" ] && mkdir -p "$v2/ebpfrec-test/sub" 2>/dev/null; then
	undo+=("rmdir '$v2/ebpfrec-test/sub' '$v2/ebpfrec-test'")
	export group=$v2/ebpfrec-test/sub
	recorded v2 -e task,sched -- sh -c 'echo $$ >"$group/cgroup.procs"; sleep 0.1; exec sh -c "exit 0"'
	got=$("$EBPFREC" sql -i "$tmp/v2" --format csv \
		"SELECT DISTINCT cgroup FROM processes WHERE cgroup LIKE '%ebpfrec-test%'" | tr -d '\r' | tail -n +2)
	check "cgroup v2: named, without privilege to look it up" "[ '$got' = /ebpfrec-test/sub ]" "'$got'"
else
	skip "containers_cgroup_v2" "cgroup v2 is not mounted"
fi
if [ -n "$v1" ] && mkdir "$v1/ebpfrec-test" 2>/dev/null; then
	undo+=("rmdir '$v1/ebpfrec-test'")
	export group=$v1/ebpfrec-test
	recorded v1 -e task,sched -- sh -c 'echo $$ >"$group/cgroup.procs"; sleep 0.1; :'
	got=$(sql_value v1 "SELECT count(*) FROM task_events JOIN processes USING (upid)
		WHERE type = 'cgroup' AND is_workload")
	check "cgroup v1: a move there is no move between v2 groups" "[ '$got' = 0 ]" "$got events"
else
	skip "containers_cgroup_v1" "no cgroup v1 hierarchy is mounted"
fi

# ---- many tasks ----

# More than 25,000 exist when the recording starts: threads of one process, and processes with their own rows. All
# sleep, so the trace can only get them from the kernel's list of tasks.
# One suite at a time: pid_max is 32,768 on many machines. (The lock is on the scarce resource, and disturbs nothing.)
exec 8</proc/sys/kernel/pid_max
flock -w 300 8 || echo "# another suite has kept its many tasks for 300 s"
mkfifo "$tmp/hold"
"$WORK/many_threads" 20000 5000 <"$tmp/hold" >"$tmp/threads.out" 2>&1 8>&- &
many=$!
exec 9>"$tmp/hold"
wait_for "threads" 300 "grep -q started '$tmp/threads.out' || ! kill -0 $many"
threads=$(($(kv "$tmp/threads.out" started) + 1)) processes=$(kv "$tmp/threads.out" processes)
if [ $((threads + processes)) -gt 20001 ]; then
	# The peak of the recorder's memory, with a time limit: it takes a second.
	python3 -c 'import resource, subprocess, sys
r = subprocess.run(sys.argv[1:], timeout=120).returncode
print("max_rss_kib=%d" % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(r)' "$EBPFREC" record -o "$tmp/many" -e sched,task -- true \
	>"$tmp/many.out" 2>"$tmp/many.err" </dev/null 8>&- 9>&-
	check "tasks: recording starts and ends among $((threads + processes)) tasks" "[ $? -eq 0 ]" \
		"$(tail -n 3 "$tmp/many.err")"
	kill -9 $many
	pid=$(kv "$tmp/threads.out" pid) threads=$threads processes=$processes checker <"$top/tests/full/containers.py"
	got=$("$EBPFREC" check -i "$tmp/many" 2>&1)
	check "tasks: the trace is whole" "[ $? -eq 0 ]" "$got"
else
	skip "containers_tasks" \
		"this machine allows $((threads + processes)) more tasks: see kernel.pid_max, kernel.threads-max, pids.max"
	kill -9 $many
fi
exec 9>&-
# the next test does not start on a machine that is busy with the end of these tasks
wait $many 2>/dev/null
wait_for "tasks end" 300 "! pgrep -x many_threads >/dev/null"
exec 8>&-
