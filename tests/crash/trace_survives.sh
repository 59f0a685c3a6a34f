#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Whatever happens to a recorder or to its disk, the trace is whole up to then, and the workload runs to its end.
#
# kill -9 of the recorder at many instants, from its first milliseconds on: no process is left stopped or waiting, and
# the disk has a whole trace up to about a second before. A snapshot in progress is whole, or does not exist.
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
checker <"$top/tests/crash/killed_late.py"

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

# ---- a disk that is full, gone or read-only ----

# The file system under a recording fills up, becomes read-only, or loses the trace: the recorder says
# what happened and ends with 125, the trace is whole up to there, and the workload runs to its end.
fresh

# begin NAME DIR: records into DIR/t a workload that switches and allocates for 3 s and then creates a file
begin()
{
	local name=$1 dir=$2

	rm -f "$tmp/$name.lived"
	"$EBPFREC" record -o "$dir/t" -- sh -c \
		"for i in 1 2 3 4 5 6; do '$WORK/short_lived' storm 100 >/dev/null; sleep 0.4; done; echo lived >'$tmp/$name.lived'" \
		>/dev/null 2>"$tmp/$name.err" </dev/null &
	recorder=$!
	wait_for "$name: a block" 15 "[ -n \"\$(find '$dir/t' -name '*.ebr' -size +1k 2>/dev/null)\" ]"
}

# verdict NAME WORD TRACE: status 125, a message with WORD; TRACE (if any) is whole, with events
verdict()
{
	local name=$1 word=$2 trace=$3 rc

	wait $recorder
	rc=$?
	check "$name: status 125" "[ $rc -eq 125 ]" "status $rc: $(cat "$tmp/$name.err")"
	# (the message that the command continues is printed if it had not ended by then)
	check "$name: says what happened" "grep -qi '$word' '$tmp/$name.err'" "$(cat "$tmp/$name.err")"
	check "$name: the workload runs to its end" "[ -e '$tmp/$name.lived' ]" "it did not"
	[ -n "$trace" ] || return
	"$EBPFREC" check -i "$trace" >"$tmp/$name.check" 2>&1
	rc=$?
	check "$name: the trace is whole up to there" "[ $rc -eq 0 ] && grep -q 'chunk.*valid' '$tmp/$name.check'" \
		"status $rc: $(cat "$tmp/$name.check")"
	"$EBPFREC" report -i "$trace" cpu --format csv >"$tmp/$name.csv" 2>>"$tmp/$name.check"
	check "$name: reports work" "[ \$(wc -l <'$tmp/$name.csv') -gt 3 ]" "$(cat "$tmp/$name.check")"
}

disk=$tmp/disk
if ! make_loop disk 24 || ! mkfs.ext4 -q "$loop" 2>/dev/null || ! mount_at "$disk" "$loop"; then
	skip bad_disk "no ext4 on a loop device"
	exit 0
fi

# ---- full ----

begin full "$disk"
dd if=/dev/zero of="$disk/ballast" bs=64k 2>/dev/null
verdict full 'space' "$disk/t"
check "full: says that what was recorded is kept" "grep -q 'what was recorded before is kept' '$tmp/full.err'" \
	"$(cat "$tmp/full.err")"
rm -rf "$disk/ballast" "$disk/t"

# ---- the trace is removed, or moved, under the recorder ----

begin removed "$disk"
rm -rf "$disk/t"
verdict removed 'removed' ''
begin moved "$disk"
mv "$disk/t" "$disk/elsewhere"
wait $recorder
rc=$?
"$EBPFREC" check -i "$disk/elsewhere" >"$tmp/moved.check" 2>&1
check "moved: recording goes on under the new name" \
	"[ $rc -eq 0 ] && grep -q 'whole' '$tmp/moved.check' && ! grep -q 'not finished' '$tmp/moved.check'" \
	"status $rc: $(cat "$tmp/moved.err" "$tmp/moved.check")"
rm -rf "$disk/elsewhere"

# ---- read-only: the reaction of ext4 to an error of the disk ----

begin readonly "$disk"
mount -o remount,abort "$disk" 2>/dev/null
verdict readonly 'read-only\|input/output' ''
# synced data exists after the disk is mounted again
umount "$disk" && e2fsck -fy "$loop" >/dev/null 2>&1
mount "$loop" "$disk" 2>"$tmp/again.err"
"$EBPFREC" check -i "$disk/t" >"$tmp/again.check" 2>&1
check "readonly: after a repair of the file system the trace is whole" \
	"[ $? -eq 0 ] && grep -q 'chunk.*valid' '$tmp/again.check'" "$(cat "$tmp/again.err" "$tmp/again.check")"
