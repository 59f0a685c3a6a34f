#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# kill -9 of the recorder at many instants, from its first milliseconds on: no process is left stopped or
# waiting, a workload that had begun runs to its end, and the disk has a whole trace up to
# about a second before. A snapshot in progress is whole, or does not exist.
. "$(dirname "$0")/../kernel/harness.bash"

# The recorder starts, and is killed $2 ms later, or $2 ms after its command has begun. Its command is a sleep of a
# unique length.
kill_after()
{
	local name=$1 ms=$2 length=$3 from=$4

	"$EBPFREC" record -o "$tmp/$name" -- sh -c \
		"echo began >'$tmp/$name.began'; sleep $length; echo lived >'$tmp/$name.lived'" \
		>/dev/null 2>"$tmp/$name.err" </dev/null &
	recorder=$!
	[ "$from" = start ] || wait_for "the command begins" 60 "[ -e '$tmp/$name.began' ]"
	sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
	kill -9 $recorder
	wait $recorder 2>/dev/null
}

# Everything that has the length of this one in its command line: the workload, or a child that waits to become it.
family()
{
	pgrep -f -- "sleep $1" || true
}

# ---- while it starts: no process may be left behind ----

stuck='' stopped='' broken='' began=0
for i in $(seq 0 9); do
	name=early$i length=1.30$((i + 10))$$
	kill_after $name $((3 + i * 33)) $length start
	# either the command begins, or no process is left: waits for one of the two
	wait_for "one of them" 30 "[ -e '$tmp/$name.began' ] || [ -z \"\$(family $length)\" ]"
	if [ -e "$tmp/$name.began" ]; then
		began=$((began + 1))
		# the command begins only after everything is attached; then it is independent
		for pid in $(family $length); do
			grep -q '^State:[[:space:]]*[Tt]' /proc/"$pid"/status 2>/dev/null && stopped+=" $name"
		done
	elif [ -n "$(family $length)" ]; then
		stuck+=" $name:$(family $length | tr '\n' ,)"
	fi
	if [ -e "$tmp/$name/manifest" ]; then
		"$EBPFREC" check -i "$tmp/$name" >"$tmp/$name.check" 2>&1 ||
			broken+=" $name:$(grep -a damaged "$tmp/$name.check" | head -1)"
	fi
done
check "kill early: no waiting child is left" "[ -z '$stuck' ]" "$stuck"
check "kill early: nobody is left stopped" "[ -z '$stopped' ]" "$stopped"
check "kill early: no trace is damaged" "[ -z '$broken' ]" "$broken"
check "kill early: some were killed before their command began" "[ $began -lt 10 ]" "$began of 10 began"

# ---- while it records ----

lost='' damaged=''
for i in $(seq 1 3); do
	name=late$i length=2.70$((i + 10))$$ ms=$((1000 + RANDOM % 1500))
	kill_after $name $ms $length command
	"$WORK/stamp" killed >"$tmp/$name.killed"
	"$EBPFREC" check -i "$tmp/$name" >"$tmp/$name.check" 2>&1 ||
		damaged+=" $name:$(grep -a 'damaged' "$tmp/$name.check" | head -1)"
	[ -e "$tmp/$name.began" ] || lost+=" $name:began"
done
for i in $(seq 1 3); do
	wait_for "the workload lives" 60 "[ -e '$tmp/late$i.lived' ]" || lost+=" late$i"
done
for i in $(seq 0 9); do
	[ ! -e "$tmp/early$i.began" ] || wait_for "the workload lives" 60 "[ -e '$tmp/early$i.lived' ]" || lost+=" early$i"
done
check "kill late: every workload that began runs to its end" "[ -z '$lost' ]" "$lost"
check "kill late: no trace is damaged" "[ -z '$damaged' ]" "$damaged"
checker <<'EOF_PY'
from trace_query import *
tmp = os.environ["tmp"]
late = []
for i in range(1, 4):
    t = Trace(tmp + "/late%d" % i)
    end = t.one("SELECT max(to_ns) FROM blocks")
    if end is not None:
        late.append((t.at(truth(tmp + "/late%d.killed" % i)["killed"]) - end) / 1e9)
check("kill late: what is there ends before the kill", all(s >= 0 for s in late), late)
EOF_PY

# ---- while it makes a snapshot ----

# Killed as soon as a part of a snapshot exists, under a temporary or its final name: the claim holds at any instant.
half='' seen=0
for i in 1 2 3; do
	hold "snap$i"
	start_recorder "snap$i" -- sh -c "$(until_released "snap$i")"
	kill -USR2 $recorder
	wait_for "a snapshot begins" 60 \
		"[ -n \"\$(find '$tmp' -maxdepth 1 '(' -name '.ebpfrec-new.*' -o -name 'snap$i.snapshot-*' ')')\" ]" &&
		seen=$((seen + 1))
	kill -9 $recorder
	wait $recorder 2>/dev/null
	release "snap$i"
	for s in "$tmp/snap$i".snapshot-*; do
		[ ! -e "$s" ] || { grep -qx state=finished "$s/manifest" && "$EBPFREC" check -i "$s" >/dev/null 2>&1; } ||
			half+=" $(ls -R "$s")"
	done
done
check "kill in a snapshot: each was begun" "[ $seen -eq 3 ]" "$seen of 3"
check "kill in a snapshot: what has a snapshot's name is whole" "[ -z '$half' ]" "$half"
mkdir -p "$tmp/.ebpfrec-new.killed/trace"
hold again
start_recorder again -- sh -c "$(until_released again)"
kill -USR2 $recorder
wait_for "the snapshot" 60 "grep -q 'snapshot written' '$tmp/again.err'"
release again
wait $recorder
left=$(find "$tmp" -maxdepth 1 -name '.ebpfrec-new.*')
check "kill in a snapshot: the next one clears away what is left" "[ -z '$left' ]" "$left: $(cat "$tmp/again.err")"
