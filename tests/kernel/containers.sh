#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Containers and limits: processes in a pid namespace of their own have both ids, with children and threads; a recorder
# inside of namespaces; no tracefs and no debugfs; cgroups of both versions; tens of thousands of tasks.
. "$(dirname "$0")/harness.bash"

# ---- pid namespaces ----

# Inside, the shell is 1, and the sleep 2.
recorded ns -e task -- unshare --pid --fork --mount-proc sh -c 'cp "$WORK/stamp" "$tmp/in_a_namespace"; "$tmp/in_a_namespace" x; readlink /proc/self; sleep 0.1'
unshare --pid --fork --kill-child sh -c 'echo >"$tmp/is_there"; sleep 600; :' &
wait_for "the shell in a namespace" 60 "[ -e '$tmp/is_there' ]"
recorded before -e task -- true
checker <<'EOF_PY'
from trace_query import *
tmp = os.environ["tmp"]
t = Trace(tmp + "/ns")
rows = t.sql("SELECT pid, ns_pid FROM processes WHERE comm = 'in_a_namespace'")
check("pid namespace: a process in it has both ids", len(rows) == 1 and 1 < rows[0]["ns_pid"] < 10 and rows[0]["pid"] > rows[0]["ns_pid"], rows)
shells = t.sql("SELECT pid, ns_pid FROM processes WHERE comm = 'sh' AND ns_pid = 1")
check("pid namespace: its init is 1 there, and something else here", len(shells) == 1 and shells[0]["pid"] != 1, shells)
sleeper = t.sql("SELECT p.ns_pid FROM processes p WHERE comm = 'sleep' AND is_workload")
check("pid namespace: children too", len(sleeper) == 1 and sleeper[0]["ns_pid"] < 20, sleeper)
threads = t.sql("SELECT tid, ns_tid FROM threads JOIN processes USING (upid) WHERE processes.comm = 'in_a_namespace'")
check("pid namespace: threads too", threads and all(r["ns_tid"] != r["tid"] for r in threads), threads)
here = t.one("SELECT count(*) FROM processes WHERE comm = 'unshare' AND pid <> ns_pid")
check("pid namespace: outside of it both are the same", here == 0, here)
t = Trace(tmp + "/before")
rows = t.sql("SELECT pid, ns_pid FROM processes WHERE at_start AND ns_pid = 1 AND pid <> 1 AND comm = 'sh'")
check("pid namespace: known from the snapshot, too", len(rows) >= 1, rows)
EOF_PY
# unshare ignores SIGTERM while it waits for its child
kill -9 $!
# The recorder itself in one: ids of the trace are the initial namespace's, the workload is its own.
unshare --pid --fork --mount-proc "$EBPFREC" record -o "$tmp/inside" -e sched,task -- sh -c 'echo $$; sleep 0.2' >"$tmp/inside.out" 2>"$tmp/inside.err"
check "pid namespace: a recorder in one records" "[ $? -eq 0 ]" "$(cat "$tmp/inside.err")"

# ---- no tracefs, no debugfs ----

unshare -m sh -c 'for d in /sys/kernel/tracing /sys/kernel/debug/tracing /sys/kernel/debug; do while umount -l $d 2>/dev/null; do :; done; done
	[ ! -e /sys/kernel/tracing/events ] && [ ! -e /sys/kernel/debug/tracing ] || exit 99
	exec "$EBPFREC" record -o "$tmp/notrace" -e sched,alloc,block -- true' >"$tmp/notrace.out" 2>"$tmp/notrace.err"
rc=$?
check "no tracefs, no debugfs: everything is recorded all the same" \
	"[ $rc -eq 0 ] && [ \"\$('$EBPFREC' sql -i '$tmp/notrace' --format csv 'SELECT count(DISTINCT source) FROM hook_stats WHERE read_cnt > 0' | tail -1)\" -ge 6 ]" \
	"status $rc: $(cat "$tmp/notrace.err")"

# ---- cgroups ----

v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
v1=$(awk '$3 == "cgroup" && $4 ~ /pids|freezer/ { print $2; exit }' /proc/self/mounts)
if [ -n "$v2" ] && mkdir -p "$v2/ebpfrec-test/sub" 2>/dev/null; then
	undo+=("rmdir '$v2/ebpfrec-test/sub' '$v2/ebpfrec-test'")
	export group=$v2/ebpfrec-test/sub
	recorded v2 -e task,sched -- sh -c 'echo $$ >"$group/cgroup.procs"; sleep 0.1; exec sh -c "exit 0"'
	got=$("$EBPFREC" sql -i "$tmp/v2" --format csv "SELECT DISTINCT cgroup FROM processes WHERE cgroup LIKE '%ebpfrec-test%'" | tr -d '\r' | tail -n +2)
	check "cgroup v2: named, without privilege to look it up" "[ '$got' = /ebpfrec-test/sub ]" "'$got'"
else
	skip "containers_cgroup_v2" "cgroup v2 is not mounted"
fi
if [ -n "$v1" ] && mkdir "$v1/ebpfrec-test" 2>/dev/null; then
	undo+=("rmdir '$v1/ebpfrec-test'")
	export group=$v1/ebpfrec-test
	recorded v1 -e task,sched -- sh -c 'echo $$ >"$group/cgroup.procs"; sleep 0.1; :'
	got=$("$EBPFREC" sql -i "$tmp/v1" --format csv "SELECT count(*) FROM task_events JOIN processes USING (upid) WHERE type = 'cgroup' AND is_workload" | tail -1 | tr -d '\r')
	check "cgroup v1: a move there is no move between v2 groups" "[ '$got' = 0 ]" "$got events"
else
	skip "containers_cgroup_v1" "no cgroup v1 hierarchy is mounted"
fi

# ---- many tasks ----

cnt=20000
mkfifo "$tmp/hold"
"$WORK/many_threads" $cnt <"$tmp/hold" >"$tmp/threads.out" 2>&1 &
many=$!
exec 9>"$tmp/hold"
wait_for "threads" 60 "grep -q started '$tmp/threads.out'"
if [ "$(kv "$tmp/threads.out" started)" = $cnt ]; then
	recorded many -e sched,task -- true
	got=$("$EBPFREC" sql -i "$tmp/many" --format csv "SELECT count(*) FROM threads JOIN processes USING (upid) WHERE processes.pid = $(kv "$tmp/threads.out" pid)" | tail -1 | tr -d '\r')
	check "tasks: each of $((cnt + 1)) threads is in the snapshot, once" "[ '$got' = $((cnt + 1)) ]" "$got"
	got=$("$EBPFREC" check -i "$tmp/many" 2>&1)
	check "tasks: the trace is whole" "[ $? -eq 0 ]" "$got"
else
	skip "containers_tasks" "this machine allows $(kv "$tmp/threads.out" started) threads"
fi
exec 9>&-
kill -9 $many
