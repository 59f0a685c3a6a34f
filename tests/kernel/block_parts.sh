#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Devices without requests, and requests with parts, in one recording: I/O to zram equals its stat; three
# processes whose direct writes the kernel merges into one request each have their bytes; small files of four
# processes that are written back together belong to their writers. The kernel's counts are in /sys/block/*/stat.
. "$(dirname "$0")/harness.bash"

zram_dev='' held_dev='' files_dev=''
if number=$(cat /sys/class/zram-control/hot_add 2>/dev/null); then
	undo+=("echo $number >/sys/class/zram-control/hot_remove")
	zram_dev=zram$number
	echo 64M >/sys/block/$zram_dev/disksize || zram_dev=''
fi
[ -n "$zram_dev" ] || skip "block parts: zram" "no zram here"

# A loop device whose file cannot be written while its file system is frozen: requests stay in the device.
make_loop outer 64 && quiet_ext4 "$tmp/outer" || { skip "block parts" "no loop device here"; exit 0; }
undo+=("fsfreeze -u '$tmp/outer'")
mkdir "$tmp/inner" && truncate -s 32M "$tmp/outer/held.img" && held=$(losetup --show -f "$tmp/outer/held.img") || exit 1
undo+=("losetup -d $held")
held_dev=${held#/dev/}
if ! echo mq-deadline >"/sys/block/$held_dev/queue/scheduler" 2>/dev/null; then
	skip "block parts: merges" "no mq-deadline here"
	held_dev=''
fi
make_loop files 128 && quiet_ext4 "$tmp/files" || exit 1
files_dev=$loop_name
export zram_dev held_dev files_dev

# A request is counted after its waiters are woken. membarrier() waits for an RCU grace period, and so for that.
counted()
{
	local device

	python3 -c 'import ctypes, os; ctypes.CDLL(None).syscall({"x86_64": 324, "aarch64": 283}[os.uname().machine], 1, 0, 0)'
	for device in $zram_dev $held_dev $files_dev; do
		cat "/sys/block/$device/stat" >"$tmp/$device.$1"
	done
}
before_t()
{
	sync -f "$tmp/files"
	rm -f "$tmp"/files/parts-*
	sync -f "$tmp/files"
	counted before
}
recorded_seen t -e block -- python3 "$here/block_parts.py" work
counted after
python3 "$here/block_parts.py" check || test_status=1
