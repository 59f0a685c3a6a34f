#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# A thread waits 150 ms each for a lock, a pipe, three sockets, an epoll, an eventfd, a terminal, a timer, a child, a
# thread's end, the lock of a file, and a poll of a pipe and of nothing. `report waits` has all of the time that the
# thread slept in a part as waits of that kind in that call: the times add up to the part's length, to the ns, and
# all time is of this kind, running, or a wait for a CPU. `report locks` names the lock by its variable,
# the thread that held it, and the sleep of that thread during the wait; so does `report why` in its first lines, which
# names pipes and sockets, too. SQL names the others: the eventfd and the epoll by their descriptors, the terminal by
# its path, the timer by its length, and child and thread by their ids. A condition variable and a semaphore are waits
# of kind condition, and locks whose calls resemble theirs are of kind lock: a PI mutex (value 0), a timed robust mutex
# and the readers of a lock that prefers writers (a value and CLOCK_REALTIME). Two waits are for locks of the kernel: a
# directory's, which a thread in getdents64 has, and a pipe's. Five waits end because their time is up:
# these and the sleeps are the timeouts.
. "$(dirname "$0")/harness.bash"

mkdir "$tmp/locked"
touch "$tmp/held" "$tmp/locked/file"
recorded kinds -- "$WORK/wait_kinds" "$tmp/held" "$tmp/locked"

"$EBPFREC" export -q -i "$tmp/kinds" --to html -o "$tmp/kinds.html" &&
	"$EBPFREC" export -q -i "$tmp/kinds" --to clickhouse --every 1s -o "$tmp/kinds.rows"
check "one answer: the page and rows for ClickHouse are written" "[ $? -eq 0 ]" "no"
if tp=$("$here/../perfetto/trace_processor.sh" 2>"$tmp/fetch.err"); then
	"$EBPFREC" export -q -i "$tmp/kinds" --to perfetto -o "$tmp/kinds.pftrace" &&
		node - "$here/../perfetto/trace_processor.mjs" "$tp" "$tmp/kinds.pftrace" >"$tmp/slices" <<'END'
const [module, dir, file] = process.argv.slice(2);
const start = "(SELECT min(ts) FROM slice WHERE name GLOB 'the window *')";
import(module).then((m) => m.openTrace(dir, file)).then((tp) => tp.query(`SELECT tid, s.ts - ${start} AS ts,
	s.ts + s.dur - ${start} AS until, state,
	blocked_function AS text FROM thread_state AS s JOIN thread USING (utid)`)).then((rows) => {
		console.log(JSON.stringify(rows, (k, v) => typeof v === "bigint" ? Number(v) : v));
		process.exit(0);
	});
END
	check "one answer: trace_processor reads the file for Perfetto" "[ $? -eq 0 ] && [ -s '$tmp/slices' ]" \
		"$(head -c 300 "$tmp/slices")"
else
	skip "kernel/wait_kinds: the file for Perfetto" "$(tail -n 1 "$tmp/fetch.err")"
fi

checker <"$here/wait_kinds.py"

# ---- frozen threads ----

# A thread that the freezer of a control group stops: its wait is `stopped`, at least as long as the group was frozen,
# and names the group that was frozen, an ancestor of the thread's own; in both versions of control groups.
fresh

cat >"$tmp/work.sh" <<'EOF_SH'
# freezes group $1 while a busy program is in group $1/inner, by writing $3 to the file $2, and $4 to end it; the file
# $5 tells when the program has stopped
mkdir "$1/inner"
sh -c "echo \$\$ >'$1/inner/cgroup.procs'; i=0; while [ \$i -lt 300000 ]; do i=\$((i + 1)); done" &
echo busy $!
while ! grep -q . "$1/inner/cgroup.procs"; do sleep 0.01; done
sleep 0.05
echo "$3" >"$1/$2"
until grep -q -e "^FROZEN$" -e "^frozen 1$" "$1/$5"; do sleep 0.01; done
sleep 0.3
echo "$4" >"$1/$2"
sleep 10 &
kill -STOP $!
sleep 0.1
kill -CONT $! && kill $!
wait
sleep 0.1
rmdir "$1/inner"
EOF_SH

# try NAME DIRECTORY FILE FREEZE THAW STATE: the arguments of work.sh
try()
{
	local name=$1 group=$2/ebpfrec-freezer pid answer

	mkdir "$group" 2>/dev/null || { skip "$name" "no such hierarchy that this user may change"; return; }
	undo+=("rmdir '$group'")
	recorded "$name" -e task,sched -- sh "$tmp/work.sh" "$group" "$3" "$4" "$5" "$6"
	"$EBPFREC" cut -i "$tmp/$name" --from 1ms -o "$tmp/$name.cut" 2>"$tmp/cut.err"
	pid=$(sed -n 's/^busy //p' "$tmp/$name.out")
	for trace in "$name" "$name.cut"; do
		answer=$(sql_value "$trace" "SELECT count(*) || ' ' || group_concat(DISTINCT object_name(s.call, s.object))
			FROM switches AS s JOIN threads AS t USING (utid) WHERE t.tid = $pid AND call_name(s.call) = 'frozen'")
		check "$trace: the thread was frozen once, and by that group" "[ '$answer' = '1 /ebpfrec-freezer' ]" "$answer"
		answer=$(sql_value "$trace" "SELECT group_concat(t.comm || ' ' || prev_state) FROM switches AS s
			JOIN threads AS t USING (utid) WHERE t.tid <> $pid AND call_name(s.call) = 'frozen'")
		check "$trace: no thread that a signal stopped or that waits after vfork was" "[ -z '$answer' ]" "$answer"
	done
	answer=$(sql_value "$name" "SELECT sum(wait_ns) FROM wait_kinds(0, NULL, 0, 'thread') AS w
		JOIN threads AS t USING (utid) WHERE t.tid = $pid AND kind = 'stopped'")
	check "$name: it was stopped for as long as the group was frozen" "[ '${answer:-0}' -ge 300000000 ]" "$answer"
}

try v2 "$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)" cgroup.freeze 1 0 \
	cgroup.events
# older kernels do not tell the freezer of version 1 from other uninterruptible sleeps
if printf '6.1\n%s\n' "$(uname -r)" | sort -CV; then
	try v1 "$(awk '$3 == "cgroup" && $4 ~ /freezer/ { print $2; exit }' /proc/self/mounts)" freezer.state FROZEN \
		THAWED freezer.state
else
	skip v1 "a kernel before 6.1"
fi
