#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Block requests: count and bytes equal those of /sys/block/LOOP/stat. Each byte belongs to the process that dirtied,
# read or wrote it directly, and to the file with its path; other bytes are unknown with a reason. One recording of
# direct I/O to five loop devices, of buffered, direct and mapped I/O to files on ext4, of a device's own pages, and of
# swap. Another one of devices without requests, and of requests with parts: I/O to zram equals its stat; three
# processes whose direct writes the kernel merges into one request each have their bytes; small files of four processes
# that are written back together belong to their writers.
. "$(dirname "$0")/harness.bash"

for device in write read both discard flush raw; do
	make_loop $device 128 || { skip block "no loop device here"; exit 0; }
	declare $device="$loop" dev_$device="$loop_name"
done
swap='' dev_swap=''
make_loop swap 64 && mkswap -q "$loop" >/dev/null && swapon "$loop" 2>/dev/null && undo+=("swapoff $loop") &&
	swap=$loop dev_swap=$loop_name
[ -n "$swap" ] || skip "block: swap" "no swap on a loop device here"
make_loop fs 256 && quiet_ext4 "$tmp/mnt" || { not_ok "file system on $loop" "cannot make or mount it"; exit 1; }
dev_fs=$loop_name
# two partitions, without a partition table
truncate -s 16M "$tmp/parts.img" && loop=$(losetup -P --show -f "$tmp/parts.img") && loop_name=${loop#/dev/} &&
	undo+=("losetup -d $loop") && addpart "$loop" 1 2048 4096 && addpart "$loop" 2 8192 4096 &&
	for nr in 1 2; do mknod "$tmp/part$nr" b $(tr : ' ' <"/sys/block/$loop_name/${loop_name}p$nr/dev"); done
parts=$loop dev_parts=$loop_name
[ -b "$tmp/part2" ] || skip "block: partitions" "no partitions on a loop device here"
export WORK write read both discard flush raw swap parts dev_write dev_read dev_both dev_discard dev_flush dev_raw \
	dev_swap dev_fs dev_parts

# ---- files that exist before ----

mkdir "$tmp/mnt/sub dir" "$tmp/mnt/inner" "$tmp/bound"
mount_at "$tmp/bound" --bind "$tmp/mnt/inner" || skip "block: bind mount" "cannot bind here"
deep="$tmp/mnt$(printf '/d%.0s' $(seq 24))"
mkdir -p "$deep"
export deep
for f in mnt/a "mnt/sub dir/b" mnt/c mnt/old_name mnt/inner/bound; do
	dd if=/dev/zero of="$tmp/$f" bs=64k count=64 2>/dev/null
done
dd if=/dev/zero of="$deep/deep" bs=64k count=4 2>/dev/null
dd if=/dev/zero of="$tmp/mnt/cold" bs=64k count=80 2>/dev/null
sync -f "$tmp/mnt"
echo 3 >/proc/sys/vm/drop_caches

# ---- the workload ----

cat >"$tmp/work.sh" <<-'END'
	exec 3>&1
	# as KEY COMMAND...: prints its pid and becomes the command
	as() { key=$1; shift; sh -c "echo ${key}_pid=\$\$ >&3; exec \"\$@\"" sh "$@"; }
	direct() { "$WORK/direct_io" "${@:2}" | sed "s/^/$1_/"; }
	zero() { dd if=/dev/zero "$@" 2>/dev/null; }

	direct write "$write" write 1000 65536
	direct read "$read" read 500 65536 4
	direct both_w "$both" write 200 16384 2 & direct both_r "$both" read 300 8192 3
	wait
	blkdiscard -o 1048576 -l 8388608 "$discard"
	direct discard "$discard" write 4 4096
	direct flush "$flush" write 10 4096 1 1
	if [ -b "$tmp/part2" ]; then
		direct part_1 "$tmp/part1" write 7 16384
		direct part_2 "$tmp/part2" write 5 8192
		direct part_2_read "$tmp/part2" read 3 65536
		direct part_none "$parts" read 2 32768
	fi

	cd "$tmp/mnt"
	as one dd if=/dev/zero of=one bs=64k count=320 2>/dev/null &
	as two dd if=/dev/zero of=two bs=64k count=160 2>/dev/null &
	"$WORK/map_write" three 4194304 &
	wait
	as sync sync -f .
	as a dd if=/dev/zero of=shared bs=64k count=16 2>/dev/null
	as b dd if=/dev/zero of=shared bs=64k count=16 seek=16 conv=notrunc 2>/dev/null
	as sync2 sync -f .
	as fsync dd if=/dev/zero of=four bs=64k count=32 conv=fsync 2>/dev/null
	direct direct direct write 100 65536
	for f in a 'sub dir/b' c old_name inner/bound "$deep/deep" cold; do "$WORK/drop_pages" "$f"; done
	as cold dd if=cold of=/dev/null bs=64k 2>/dev/null
	as raw dd if=/dev/zero of="$raw" bs=64k count=64 2>/dev/null
	as sync3 sync "$raw"
	[ -z "$swap" ] || "$WORK/page_out" 8388608

	as cat_a cat a >/dev/null & as cat_b cat 'sub dir/b' >/dev/null &
	wait
	"$WORK/drop_pages" 'sub dir/b'
	as dio dd 'if=sub dir/b' of=/dev/null bs=64k iflag=direct 2>/dev/null
	as mapped python3 -c '
	import mmap, os
	f = os.open("c", os.O_RDONLY)
	sum(mmap.mmap(f, 0, prot=mmap.PROT_READ)[::4096])'
	as new dd if=/dev/zero of=new bs=64k count=64 oflag=direct 2>/dev/null
	as back dd if=/dev/zero of=buffered bs=64k count=64 conv=fsync 2>/dev/null
	as big dd if=/dev/zero of=big bs=4M count=2 oflag=direct 2>/dev/null
	cat old_name >/dev/null
	mv old_name 'sub dir/new_name' && "$WORK/drop_pages" 'sub dir/new_name' && cat 'sub dir/new_name' >/dev/null
	zero of=first bs=64k count=16 conv=fsync; echo first_ino=$(stat -c %i first); rm first
	zero of=second bs=64k count=32 conv=fsync; echo second_ino=$(stat -c %i second)
	cat "$tmp/bound/bound" >/dev/null
	cat "$deep/deep" >/dev/null
END
# counted WHEN [LABEL:]DEVICE...: their counts go to LABEL.WHEN. A request is counted after its waiters are woken.
# membarrier() waits for an RCU grace period, and so for that.
counted()
{
	local when=$1 device

	shift
	python3 -c 'import ctypes, os; ctypes.CDLL(None).syscall({"x86_64": 324, "aarch64": 283}[os.uname().machine], 1, 0, 0)'
	for device; do
		cat "/sys/block/${device#*:}/stat" >"$tmp/${device%:*}.$when"
	done
	cat "/sys/block/$dev_parts/$dev_parts"p?/stat >"$tmp/parts.$when" 2>/dev/null
}
devices="write:$dev_write read:$dev_read both:$dev_both discard:$dev_discard flush:$dev_flush raw:$dev_raw fs:$dev_fs"
# shellcheck disable=SC2086
counted before $devices
recorded t -e sched,block -- bash "$tmp/work.sh"
# shellcheck disable=SC2086
counted after $devices
checker <"$here/block.py"

# ---- devices without requests, requests with parts ----

zram_dev='' held_dev='' files_dev=''
if number=$(cat /sys/class/zram-control/hot_add 2>/dev/null); then
	undo+=("echo $number >/sys/class/zram-control/hot_remove")
	zram_dev=zram$number
	echo 64M >/sys/block/$zram_dev/disksize || zram_dev=''
fi
[ -n "$zram_dev" ] || skip "block parts: zram" "no zram here"

# A loop device whose file cannot be written while its file system is frozen: requests stay in the device.
make_loop outer 64 && quiet_ext4 "$tmp/outer" || exit 1
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


before_merged()
{
	sync -f "$tmp/files"
	rm -f "$tmp"/files/parts-*
	sync -f "$tmp/files"
	# shellcheck disable=SC2086
	counted before $zram_dev $held_dev $files_dev
}
recorded_seen merged -e block -- python3 "$here/block_parts.py" work
# shellcheck disable=SC2086
counted after $zram_dev $held_dev $files_dev
checker check <"$here/block_parts.py"
