#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# A thread that the freezer of a control group stops: its wait is `stopped`, at least as long as the group was frozen,
# and names the group that was frozen, an ancestor of the thread's own; in both versions of control groups.
. "$(dirname "$0")/harness.bash"

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
