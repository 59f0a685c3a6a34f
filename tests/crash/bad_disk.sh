#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The file system under a recording fills up, becomes read-only, or loses the trace: the recorder says
# what happened and ends with 125, the trace is whole up to there, and the workload runs to its end.
. "$(dirname "$0")/../kernel/harness.bash"

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
