#!/bin/busybox sh
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# checks.sh: known-answer recordings on one kernel. Each section stands alone: what the workload or the
# kernel itself counted, against what the trace says. The same claims are made with more depth on the
# real machine by tests/kernel/; here they show that the programs read the right fields on this
# kernel, so each hook whose arguments ever changed has a number that depends on it.
#
# The machine is emulated and slow, with two CPUs that stall each other; so nothing here depends on
# how long a thing took, only on counts, bytes, sums, and on clocks of the machine itself.
. /tests/verdicts.sh
. /tests/on_request.sh

# ---- what this kernel offers ----

check_doctor()
{
	local rc

	ebpfrec doctor --format csv >"$tmp/doctor" 2>"$tmp/doctor.err"
	rc=$?
	# Hooks that are not there, or not needed because a better one is.
	awk -F, '$5 == "no"' "$tmp/doctor" | for_people 'doctor: not here'
	for_people doctor <"$tmp/doctor.err"
	check "doctor: finds every default source" "[ $rc -eq 0 ]" "status $rc"
	# Before 5.15 BPF does not see the call of a wait, before 6.2 not the file.
	case $(uname -r) in 5.10.* | 6.1.*) rc=1 ;; *) rc=0 ;; esac
	near "doctor: states what this kernel cannot tell of waits" "$(grep -c 'Missing: wh' "$tmp/doctor.err")" $rc 0
	# To a user without privilege: rings are locked memory before 5.11 only.
	mkdir -p /etc && echo 'nobody:x:65534:65534:nobody:/:/bin/sh' >/etc/passwd
	recorded doctor_user -e sched -u nobody -- sh -c 'ulimit -l 64; ebpfrec doctor; true' || return
	case $(uname -r) in 5.10.*) rc=1 ;; *) rc=0 ;; esac
	near "doctor: speaks of CAP_SYS_RESOURCE where rings are locked memory" \
		"$(grep -c CAP_SYS_RESOURCE "$tmp/doctor_user.out")" $rc 0
	check "doctor: tells a user what is lacking" "grep -q 'Missing: CAP_BPF' $tmp/doctor_user.out" \
		"$(cat "$tmp/doctor_user.out")"
	forget doctor_user
}

# Every default source at once: all programs pass this kernel's verifier, attach, and see something.
check_default()
{
	local source cnt

	recorded default -- sh -c 'ls -lR /sys/class >/dev/null
		dd if=/dev/nvme0n1 of=/dev/null bs=64k count=4 2>/dev/null
		dd if=/dev/zero of=/dev/nvme0n1 bs=64k count=4 2>/dev/null; true' || return
	balanced default sched task alloc block
	# (nothing is short of memory here)
	for source in $(ebpfrec record -e list | awk '$2 == "yes" && $3 == "yes" && $1 != "mem.pressure" { print $1 }'); do
		cnt=$(sql default "SELECT sum(read_cnt) FROM hook_stats WHERE source = '$source'")
		check "default: source $source has events" "[ '${cnt:-0}' -gt 0 ]" "'$cnt'"
	done
	sql default "SELECT hook || ' attempted ' || sum(attempted_cnt) || ' read ' || sum(read_cnt)
		FROM hook_stats GROUP BY hook" |
		for_people default
	sql default "SELECT class || ' lost ' || sum(lost_cnt) || ' skipped ' || sum(missed_cnt)
		FROM losses GROUP BY class" |
		for_people default
	forget default
}

# ---- privilege ----

# While it records, as its workload sees it. Before 5.19 bpf() takes CAP_BPF (bit 39) for anything.
check_privilege()
{
	local keeps=0000000000000000 cnt kept

	recorded privilege -e sched -- sh -c 'sleep 0.3; cat /proc/$PPID/task/*/status' || return
	case $(uname -r) in 5.*) keeps=0000008000000000 ;; esac
	cnt=$(awk '/^Name:/ { name = $2 } /^CapPrm:/ && name ~ /^ebpfrec-r/ && $2 ~ /^0*$/' $tmp/privilege.out | wc -l)
	check "privilege: readers keep no capability" "[ $cnt -ge 2 ]" "$(grep -E '^(Name|CapPrm)' $tmp/privilege.out)"
	kept=$(awk '/^Name:/ { name = $2 } /^CapPrm:/ && name == "ebpfrec" { print $2 }' $tmp/privilege.out)
	check "privilege: the recorder keeps what this kernel makes it keep" "[ '$kept' = $keeps ]" \
		"$(grep -E '^(Name|CapPrm)' $tmp/privilege.out)"
	check "privilege: and its run times are measured" \
		"[ \"\$(sql privilege 'SELECT sum(run_cnt) > 0 FROM hook_stats')\" = 1 ]" "none"
	forget privilege
}

# ---- sched ----

# check_departures SIDE UTID OTHER_UTID: of one side of the ping-pong, in its own window
check_departures()
{
	local side=$1 me=$2 other=$3 from to left direct woken

	from=$(($(kv pingpong "start_$side") - start)) to=$(($(kv pingpong "end_$side") - start))
	left=$(sql pingpong "SELECT count(*) FROM switches WHERE utid = $me AND ts_ns >= $from AND ts_ns < $to")
	direct=$(sql pingpong "SELECT count(*) FROM switches WHERE utid = $me AND next_utid = $other
		AND ts_ns >= $from AND ts_ns < $to")
	woken=$(sql pingpong "SELECT count(*) FROM wakeups WHERE target_utid = $me AND ts_ns >= $from AND ts_ns < $to")
	# 2: between a reading of the clock and the reading of the count
	near "pingpong: departures of $side are the kernel's count" "$left" \
		$(($(kv pingpong "voluntary_$side") + $(kv pingpong "involuntary_$side"))) 2
	near "pingpong: preemptions of $side are the kernel's count" \
		"$(report pingpong cpu --by thread --from ${from}ns --to ${to}ns |
			column_sum preempted "tid=$(kv pingpong "tid_$side")")" \
		"$(kv pingpong "involuntary_$side")" 2
	# It sleeps once for every wake-up.
	near "pingpong: wake-ups of $side are its sleeps" "$woken" "$(kv pingpong "voluntary_$side")" 2
	others=$((others + left - direct))
	between=$((between + direct))
}

check_pingpong()
{
	local rounds=2000 start a b others=0 between=0 ticks

	recorded pingpong -e sched -- pingpong $rounds 0 thread || return
	start=$(start_of pingpong)
	a=$(sql pingpong "SELECT utid FROM threads WHERE tid = $(kv pingpong tid_a)")
	b=$(sql pingpong "SELECT utid FROM threads WHERE tid = $(kv pingpong tid_b)")
	if [ -z "$start" ] || [ -z "$a" ] || [ -z "$b" ]; then
		not_ok "pingpong: both threads are in the trace" "start '$start', utids '$a' '$b'"
		return
	fi
	check_departures a "$a" "$b"
	check_departures b "$b" "$a"
	# Whoever else gets the CPU takes the place of a direct switch; a tick, every 4 ms, may add a pair.
	ticks=$((($(kv pingpong end_a) - $(kv pingpong start_a)) / 4000000 + 1))
	check "pingpong: two switches between the two threads per round" \
		"[ $between -ge $((2 * rounds - others - 4)) ] && [ $between -le $((2 * rounds + 2 * ticks)) ]" \
		"$between direct, $others to others"
	balanced pingpong sched task
	forget pingpong
}

# One busy thread against its own CPU clock; and on each CPU, all tasks and idle are the whole time.
# Where the guest has no stable clock, the scheduler's may stand still with the emulator until the next tick, and a
# thread is charged too little: then once more, with the same bound. Three times is a fault.
check_busy()
{
	local start from to got used span cpu sum switches allowed try

	for try in 1 2 3; do
		recorded busy -e sched -- busy_threads one 1000 || return
		start=$(start_of busy)
		from=$(($(kv busy start_0) - start)) to=$(($(kv busy end_0) - start))
		got=$(report busy cpu --by thread --from ${from}ns --to ${to}ns | column_sum oncpu_ns "tid=$(kv busy tid_0)")
		used=$(kv busy used_0)
		# 0.5 %, and for each switch what the kernel does not charge: it charges a thread that is preempted up
		# to the wake-up of the other one, the trace up to the switch. 10 us on a real machine
		# (tests/kernel/trace_query.py), ten times that here.
		switches=$(report busy cpu --by thread --from ${from}ns --to ${to}ns | column_sum switches "tid=$(kv busy tid_0)")
		allowed=$((used / 200 + ${switches:-0} * 100000))
		[ $((${got:-0} - used)) -gt $allowed ] || break
		echo "# busy, recording $try: $got ns, by the scheduler's clock $used"
	done
	near "busy: a thread's CPU time is its own clock's" "$got" "$used" $allowed
	check "busy: never above 100 %" "[ '${got:-0}' -le $((to - from)) ]" "$got ns of $((to - from))"
	span=$(sql busy "SELECT max(to_ns) FROM blocks")
	for cpu in 0 1; do
		sum=$(sql busy "SELECT sum(oncpu_ns) FROM cpu_usage(0, $span, 0) WHERE cpu = $cpu")
		near "busy: all tasks and idle of CPU $cpu are the whole time" "$sum" "$span" 0
	done
	forget busy
}

# ---- task ----

check_tasks()
{
	local cnt=100 name pid index comm wrong

	mkdir -p "$tmp/names"
	for index in $(seq -w 0 $((cnt - 1))); do
		ln -s /work/shell "$tmp/names/sl_0$index"
	done
	recorded exec -e task -- short_lived exec "$tmp/names" $cnt 500 || return
	recorded rename -e task -- short_lived rename $cnt 200 || return
	for name in exec rename; do
		sql $name "SELECT pid || ' ' || ppid || ' ' || comm || ' ' || exit_code FROM processes" >"$tmp/processes"
		sed -n 's/^child=\(.*\):\(.*\)/\1 \2/p' "$tmp/$name.out" >"$tmp/children"
		[ $name = exec ] && comm=sl_ || comm=rn_
		wrong=$(awk -v parent="$(kv $name pid)" -v prefix=$comm '
			NR == FNR { seen[$0]++; next }
			seen[$2 " " parent " " sprintf("%s%03d", prefix, $1) " " ($1 % 100) * 256] != 1' \
			"$tmp/processes" "$tmp/children")
		check "$name: $cnt short-lived processes, each with name, parent and status" \
			"[ $(wc -l <"$tmp/children") -eq $cnt ] && [ -z '$wrong' ]" \
			"$(echo "$wrong" | grep -c .) wrong, the first (index, pid): $(echo "$wrong" | head -n 1)"
		balanced $name task
	done
	# Those that were there before: the kernel's threads and init.
	pid=$(sql exec "SELECT group_concat(pid || ' ' || comm, '/') FROM
		(SELECT pid, comm FROM processes WHERE pid IN (1, 2) ORDER BY pid)")
	check "snapshot: init and kthreadd are known" "[ '$pid' = '1 init/2 kthreadd' ]" "$pid"
	forget exec
	forget rename
}

# ---- alloc ----

# What touch_memory maps, touches and frees, by three independent hooks.
check_memory()
{
	local mib=96 bytes start from to freed pid got hwm

	bytes=$((mib << 20))
	recorded memory -e alloc.rss,alloc.vm,alloc.page -- touch_memory $mib 200 200 200 || return
	start=$(start_of memory)
	pid=$(kv memory pid)
	from=$(($(kv memory start) - start)) to=$(($(kv memory touched) - start))
	hwm=$(($(kv memory hwm_kib) * 1024))
	got=$(report memory alloc --by process --pid "$pid" | column_sum peak_bytes source=rss)
	# 1 %: RSS counters are batched per task (before 6.2) or per CPU
	near "memory: peak of resident memory is VmHWM" "$got" $hwm $((hwm / 100))
	got=$(report memory alloc --by process --pid "$pid" --from ${from}ns --to ${to}ns | column_sum net_bytes source=vm)
	near "memory: the mapping" "$got" $bytes $((1 << 20))
	got=$(report memory alloc --by process --pid "$pid" --from ${from}ns --to ${to}ns |
		column_sum alloc_bytes source=page)
	# and its page tables, 2 MiB per GiB or less
	near "memory: the pages" "$got" $bytes $((1 << 20))
	freed=$(($(kv memory freed) - start + 1000000))
	got=$(report memory alloc --by process --pid "$pid" --from ${from}ns --to ${freed}ns |
		column_sum net_bytes source=rss)
	near "memory: resident memory after it was freed" "$got" 0 $((1 << 20))
	got=$(report memory alloc --by process --pid "$pid" --from ${from}ns | column_sum net_bytes source=page)
	near "memory: pages after it was freed" "$got" 0 $((1 << 20))
	balanced memory alloc
	forget memory
}

# Datagrams: the giver allocates, the taker frees. Needs the address and the sizes of every slab hook.
check_slab()
{
	local cnt=500 bytes=1000 giver got

	recorded slab -e alloc.slab -- give_away $cnt $bytes || return
	giver=$(kv slab giver)
	report slab alloc --by process >"$tmp/slab.csv"
	got=$(column_sum alloc_bytes "pid=$giver" source=slab <"$tmp/slab.csv")
	check "slab: the giver allocated the buffers" \
		"[ '${got:-0}' -ge $((cnt * bytes)) ] && [ '${got:-0}' -le $((cnt * bytes * 8)) ]" "'$got' bytes for $cnt of $bytes"
	near "slab: and is credited with what the taker freed" \
		"$(column_sum net_bytes "pid=$giver" source=slab <"$tmp/slab.csv")" 0 $((${got:-0} / 20))
	got=$(column_sum free_bytes "pid=$(kv slab taker)" source=slab <"$tmp/slab.csv")
	check "slab: and the taker is not" "[ '${got:-0}' -lt $((cnt * bytes / 2)) ]" "'$got' bytes"
	got=$(sql slab "SELECT count(*) FROM slab_allocs
		WHERE bytes < bytes_req OR bytes <= 0 OR bytes > 1 << 26 OR addr = 0")
	check "slab: sizes are possible" "[ '$got' = 0 ]" "$got rows are not"
	got=$(sql slab "SELECT count(*) FROM allocations WHERE source = 'slab' AND free_ns < alloc_ns")
	check "slab: nothing is freed before it is made" "[ '$got' = 0 ]" "$got rows are"
	got=$(sql slab "SELECT count(*) FROM allocations WHERE source = 'slab' AND
		cache IN ('task_struct', 'sighand_cache', 'filp', 'vm_area_struct')")
	# The hooks do not say which cache before 6.1.
	case $(uname -r) in
	5.*) near "slab: no cache is named where the kernel does not name it" "$got" 0 0 ;;
	*) check "slab: caches have their names" "[ '${got:-0}' -gt 0 ]" "none of those that every process needs" ;;
	esac
	balanced slab alloc
	forget slab
}

# check_heap_by HOW: of uprobes or the library, which is found only beside the recorder
check_heap_by()
{
	local cnt=300 keep=50 pid got

	recorded heap -e alloc.heap -- heap_user_dynamic $cnt 5000 $keep || return
	check "heap: $1 recorded it" "grep -qx heap=$1 $tmp/heap/manifest" "$(cat "$tmp/heap.err")"
	pid=$(kv heap pid)
	got=$(sql heap "SELECT count(*) FROM heap_allocs WHERE bytes = 5000 AND utid IN
		(SELECT utid FROM threads JOIN processes USING (upid) WHERE pid = $pid)")
	near "heap, $1: mallocs" "$got" $cnt 0
	got=$(sql heap "SELECT count(*) FROM allocations WHERE source = 'heap' AND bytes = 5000 AND free_ns IS NOT NULL")
	near "heap, $1: frees" "$got" $((cnt - keep)) 0
	forget heap
}

check_heap()
{
	cp /work/ebpfrec_heap.so /bin/
	check_heap_by library
	# Without the library the program fits under this limit, with it only because the limit is raised.
	(ulimit -l 8192; recorded locked -e alloc.heap -u nobody -- heap_user_dynamic 10 5000 0 1)
	near "heap: a program may lock its memory under a limit" "$(kv locked locked)" 1 0
	forget locked
	rm /bin/ebpfrec_heap.so
	if [ -e /sys/bus/event_source/devices/uprobe ]; then
		check_heap_by uprobes
	else
		skip "heap, uprobes: mallocs and frees" "this kernel has no uprobes"
	fi
}

# ---- block ----

# stat_grew NAME DEVICE FIELD: by how much a field of the device's stat grew over recording NAME
stat_grew()
{
	awk -v field="$3" 'NR == 1 { old = $field } NR == 2 { print $field - old }' "$tmp/$1.$2.stat"
}

# stat_of DEVICE: its counters, when they stand still: a request is counted a little after those that wait for it are
# woken.
stat_of()
{
	local now='' before=none

	while [ "$now" != "$before" ]; do
		before=$now
		sleep 0.2
		now=$(cat "/sys/block/$1/stat")
	done
	echo "$now"
}

# recorded_on NAME 'DEVICE...' ARGS...: records block events; each device's stat before and after is kept
recorded_on()
{
	local name=$1 devices=$2 device rc

	shift 2
	for device in $devices; do stat_of "$device" >"$tmp/$name.$device.stat"; done
	recorded "$name" -e block -- "$@"
	rc=$?
	for device in $devices; do stat_of "$device" >>"$tmp/$name.$device.stat"; done
	return $rc
}

# as_the_kernel NAME DEVICE [bytes]: requests and bytes of each operation are what stat counted; or bytes only
as_the_kernel()
{
	local name=$1 device=$2 op ios_field sectors_field got

	report "$name" io --by device --with-recorder >"$tmp/$name.csv"
	# fields of /sys/block/*/stat, counted from 1
	for op in read:1:3 write:5:7 discard:12:14; do
		ios_field=${op#*:} ios_field=${ios_field%:*} sectors_field=${op##*:} op=${op%%:*}
		got=$(column_sum ios device="$device" op=$op <"$tmp/$name.csv")
		[ "${3:-}" = bytes ] ||
			near "$name: ${op}s of $device are the kernel's" "${got:-0}" "$(stat_grew "$name" "$device" "$ios_field")" 0
		got=$(column_sum bytes device="$device" op=$op <"$tmp/$name.csv")
		near "$name: bytes of ${op}s of $device are the kernel's" "${got:-0}" \
			$(($(stat_grew "$name" "$device" "$sectors_field") * 512)) 0
	done
	got=$(column_sum ios device="$device" op=flush <"$tmp/$name.csv")
	near "$name: flushes of $device are the kernel's" "${got:-0}" "$(stat_grew "$name" "$device" 16)" 0
}

check_disk()
{
	local kind=$1 device=$2 got late

	if [ ! -b "/dev/$device" ]; then
		skip "$kind: block requests" "this kernel has no /dev/$device"
		return
	fi
	recorded_on "$kind" "$device" sh -c "direct_io /dev/$device write 200 65536 | sed 's/^/write_/'
		direct_io /dev/$device dsync 5 4096 >/dev/null
		# empty flushes after writes at sector 0: the one must not be taken for the end of the other
		for i in 1 2 3 4 5 6 7 8; do direct_io /dev/$device write 1 4096 1 1 >/dev/null; done
		direct_io /dev/$device read 100 16384 4 | sed 's/^/read_/'
		blkdiscard -o 1048576 -l 4194304 /dev/$device" || return
	as_the_kernel "$kind" "$device"
	balanced "$kind" block
	# The test would prove nothing if the device had not seen what it was given.
	check "$kind: the device saw writes" "[ '$(stat_grew "$kind" "$device" 5)' -ge 213 ]" \
		"$(stat_grew "$kind" "$device" 5)"
	check "$kind: the device saw reads" "[ '$(stat_grew "$kind" "$device" 1)' -ge 100 ]" \
		"$(stat_grew "$kind" "$device" 1)"
	check "$kind: the device saw a discard" "[ '$(stat_grew "$kind" "$device" 14)' -eq 8192 ]" \
		"$(stat_grew "$kind" "$device" 14)"
	report "$kind" io --by process >"$tmp/$kind.csv"
	got=$(column_sum bytes "pid=$(kv "$kind" write_pid)" device="$device" op=write <"$tmp/$kind.csv")
	near "$kind: writes are the process's own" "$got" $((200 * 65536)) 0
	got=$(column_sum ios "pid=$(kv "$kind" read_pid)" device="$device" op=read <"$tmp/$kind.csv")
	near "$kind: reads of four threads are the process's own" "$got" 100 0
	late=$(sql "$kind" "SELECT count(*) FROM block_requests WHERE op IN ('read', 'write') AND bytes > 0 AND
		(latency_ns IS NULL OR latency_ns <= 0 OR latency_ns > 10000000000 OR latency_ns < device_ns OR status <> 0)")
	near "$kind: requests with impossible latency or status" "$late" 0 0
	forget "$kind"
}

# A file system: merges, flushes, write-back by kernel workers.
check_files()
{
	local device=$1

	# Since 5.13 ext4 goes on reading bitmaps after the mount unless told not to.
	if ! mke2fs -F "/dev/$device" >/dev/null 2>&1 ||
		! { mount -t ext4 -o no_prefetch_block_bitmaps "/dev/$device" /mnt ||
			mount -t ext4 "/dev/$device" /mnt; } 2>/dev/null; then
		skip "files: buffered writes" "no ext4 on /dev/$device"
		return
	fi
	recorded_on files "$device" sh -c 'dd if=/dev/zero of=/mnt/buffered bs=64k count=100 conv=fsync 2>/dev/null
		direct_io /mnt/direct write 20 65536 >/dev/null; cp /bin/ebpfrec /mnt/; sync'
	as_the_kernel files "$device"
	balanced files block
	forget files
	recorded owner -e block -- sh -c '
		sh -c "echo one_pid=\$\$; exec dd if=/dev/zero of=/mnt/one bs=64k count=80" 2>/dev/null &
		sh -c "echo two_pid=\$\$; exec dd if=/dev/zero of=/mnt/two bs=64k count=40" 2>/dev/null &
		map_write /mnt/three 1048576; wait; sync
		dd if=/dev/zero of=/mnt/direct bs=64k count=16 oflag=direct 2>/dev/null'
	# a page that is written back while it is still being filled is written twice
	for got in one:5242880 two:2621440 map:1048576; do
		near "owner: pages that ${got%:*} dirtied are its own" "$(sql owner "SELECT coalesce(sum(bytes), 0)
			FROM block_requests r JOIN processes p ON p.upid = r.owner_upid WHERE op = 'write' AND owner_how LIKE 'dirtied%' AND
			p.pid = $(kv owner "${got%:*}_pid") AND device_name(dev) = '$device'")" "${got#*:}" 65536
	done
	got=$(sql owner "SELECT DISTINCT file FROM block_requests WHERE owner_how LIKE 'dirtied%' AND
		file IN ('/mnt/one', '/mnt/two', '/mnt/three')" | sort | tr '\n' ' ')
	check "owner: files have names" "[ '$got' = '/mnt/one /mnt/three /mnt/two ' ]" "'$got'"
	near "owner: direct I/O is its file's" "$(sql owner "SELECT coalesce(sum(bytes), 0) FROM block_requests
		WHERE op = 'write' AND pages = 'anon' AND file = '/mnt/direct'")" 1048576 0
	forget owner
	umount /mnt
}

# made NODE: a node for a device that this machine has just got
made()
{
	[ -b "/dev/$1" ] || mknod "/dev/$1" b $(tr : ' ' <"/sys/block/$1/dev")
}

# written_by PID DEVICE [FILE]: bytes of the process's writes in recording volumes, of files like FILE
written_by()
{
	sql volumes "SELECT sum(bytes) FROM request_parts JOIN processes p ON p.upid = owner_upid
		WHERE op = 'write' AND device_name(dev) = '$2' AND pid = $1 ${3:+AND file LIKE '$3'}"
}

# File systems on LVM on LUKS on a disk and on a RAID 1 of two, direct I/O to zram and null_blk, and what io.max held
# back, in one recording. Each device counts as the kernel does, except that dm-crypt and md count the pieces of a bio;
# every level has the bytes of whoever wrote them.
check_volumes()
{
	local module luks lv device who want

	for module in dm-crypt raid1 null_blk lzo-rle zram ecb xts; do modprobe $module; done 2>/dev/null
	[ -e /dev/mapper/control ] || { mkdir -p /dev/mapper && mknod /dev/mapper/control c 10 236; }
	luks=$(volumes dm luks 200000 crypt aes-xts-plain64 "$(printf '00%.0s' $(seq 64))" 0 /dev/vda 0 | sed 's/.*=//')
	made "$luks"
	lv=$(volumes dm lv 180000 linear "/dev/$luks" 2048 | sed 's/.*=//')
	made "$lv"
	mkdir -p "$tmp/lv" "$tmp/raid" /sys/fs/cgroup/slow
	truncate -s 64M "$tmp/raid.img"
	if [ -z "$lv" ] || ! losetup /dev/loop1 "$tmp/raid.img" || ! volumes md /dev/md0 /dev/loop1 /dev/nvme0n1 ||
		! echo 32M >/sys/block/zram0/disksize || ! echo +io >/sys/fs/cgroup/cgroup.subtree_control ||
		! echo "$(cat /sys/block/nullb0/dev) wbps=1048576 rbps=1048576" >/sys/fs/cgroup/slow/io.max; then
		skip "volumes: as the kernel counts" "no dm-crypt, raid1, zram or io.max here"
		return
	fi
	for device in "$lv:lv" md0:raid; do
		mke2fs -F "/dev/${device%:*}" && mount -t ext4 -o no_prefetch_block_bitmaps "/dev/${device%:*}" "$tmp/${device#*:}" ||
			mount -t ext4 "/dev/${device%:*}" "$tmp/${device#*:}"
	done >/dev/null 2>&1
	sync
	# one write() each: no page is dirtied again while it is written back
	recorded_on volumes "vda $luks $lv loop1 nvme0n1 md0 zram0 nullb0" sh -c 'for at in lv raid; do
			sh -c "echo ${at}_pid=\$\$; exec dd if=/dev/zero of=$tmp/$at/one bs=4M count=1 conv=fsync" 2>/dev/null
			direct_io $tmp/$at/direct write 20 16384 | sed "s/^/${at}_direct_/"
			direct_io $tmp/$at/direct read 20 16384 >/dev/null
		done
		direct_io /dev/zram0 write 50 16384 >/dev/null
		direct_io /dev/zram0 read 50 16384 >/dev/null
		echo $$ >/sys/fs/cgroup/slow/cgroup.procs
		direct_io /dev/nullb0 write 10 65536 | sed "s/^/held_/"
		direct_io /dev/nullb0 read 10 65536 | sed "s/^/held_read_/"' || return
	for device in vda "$lv" loop1 nvme0n1 zram0 nullb0; do
		# 6.1 counts an empty write below dm-crypt that nobody announces (schema/LIMITS.md)
		case $device:$(uname -r) in
		vda:6.1.*) as_the_kernel volumes vda bytes ;;
		*) as_the_kernel volumes "$device" ;;
		esac
	done
	as_the_kernel volumes "$luks" bytes
	as_the_kernel volumes md0 bytes
	for device in lv:vda "lv:$luks" "lv:$lv" raid:loop1 raid:nvme0n1 raid:md0 held:nullb0; do
		# dm-crypt there announces no remap (schema/LIMITS.md)
		case $device:$(uname -r) in lv:vda:5.10.*) continue ;; esac
		for who in "${device%:*}_pid:4194304" "${device%:*}_direct_pid:327680"; do
			want=${who#*:} who=$(kv volumes "${who%:*}")
			[ "$device" != held:nullb0 ] || want=655360
			[ -n "$who" ] || continue
			# dd owns blocks of the file system, too: as many bytes on each level
			case $device in
			lv:*) [ "$want" != 4194304 ] || want=$(written_by "$who" "$lv") ;;
			raid:*) [ "$want" != 4194304 ] || want=$(written_by "$who" md0) ;;
			esac
			near "volumes: $device: writes of $want bytes are the process's own" \
				"$(written_by "$who" "${device#*:}")" "$want" 0
		done
	done
	for device in "lv:$lv" raid:md0; do
		near "volumes: ${device#*:}: the file has its bytes" \
			"$(written_by "$(kv volumes "${device%:*}_pid")" "${device#*:}" "%/one")" 4194304 0
	done
	want=$(sed -n "s/^$(cat /sys/block/nullb0/dev) .*wbytes=\([0-9]*\).*/\1/p" /sys/fs/cgroup/slow/io.stat)
	near "volumes: what io.max held back is the group's" \
		"$(report volumes io --by cgroup,device,op | column_sum bytes cgroup=/slow device=nullb0 op=write)" "$want" 0
	balanced volumes block
	umount "$tmp/lv" "$tmp/raid"
	forget volumes
}

# ---- the workload alone ----

check_only()
{
	local got

	busy_threads one 6000 >/dev/null &
	recorded only --only -- sh -c 'touch_memory 8 20 20 20; short_lived rename 5 20 >/dev/null; true'
	kill $! 2>/dev/null
	wait
	[ -s "$tmp/only.out" ] || return
	got=$(sql only "SELECT count(*) FROM processes WHERE is_workload AND
		comm IN ('sh', 'touch_memory', 'short_lived', 'rn_000', 'rn_004')")
	near "only: the workload's processes" "$got" 5 0
	got=$(sql only "SELECT count(*) FROM slab_allocs JOIN threads USING (utid) WHERE irq = 0 AND NOT is_workload")
	near "only: allocations of others" "$got" 0 0
	got=$(sql only "SELECT count(*) FROM slab_allocs JOIN threads USING (utid) WHERE is_workload")
	check "only: allocations of the workload" "[ '${got:-0}' -gt 100 ]" "'$got'"
	got=$(report only cpu --by process | column_sum oncpu_ns comm=rn_004)
	check "only: a process that ended uses no CPU any more" \
		"[ '${got:-0}' -gt 0 ] && [ '${got:-0}' -lt 50000000 ]" "'$got' ns of rn_004"
	got=$(report only alloc --by process --pid "$(kv only pid)" | column_sum peak_bytes source=rss)
	near "only: its resident memory" "$got" $(($(kv only hwm_kib) * 1024)) $((1 << 20))
	balanced only sched task alloc
	forget only
}

check_cgroup()
{
	local got used total

	if ! mkdir -p /sys/fs/cgroup/work/part; then
		skip "cgroup: its processes" "no cgroup2 here"
		return
	fi
	recorded cgroup --cgroup /sys/fs/cgroup/work --only -e sched,task -d 2s &
	# it records when its first block is there
	until find "$tmp/cgroup" -name '*.ebr' -size +3k | grep -q .; do
		kill -0 $! || break
		sleep 0.1
	done 2>/dev/null
	# It is followed from the first time it leaves a CPU after it entered: a short sleep.
	sh -c 'echo $$ >/sys/fs/cgroup/work/part/cgroup.procs; sleep 0.05; exec busy_threads one 300' >"$tmp/inside"
	wait
	got=$(sql cgroup "SELECT count(*) FROM processes WHERE comm = 'busy_threads' AND is_workload")
	near "cgroup: a process that enters it is of the workload" "$got" 1 0
	got=$(report cgroup cpu --by process | column_sum oncpu_ns "pid=$(sed -n 's/^pid=//p' "$tmp/inside")")
	used=$(sed -n 's/^used_0=//p' "$tmp/inside") total=$(sed -n 's/^own_total=//p' "$tmp/inside")
	# At least what the thread measured, at most what the process had at the end and a little for exiting.
	check "cgroup: and its CPU time is kept" \
		"[ '${got:-0}' -ge $((used - 1000000)) ] && [ '${got:-0}' -le $((total + 20000000)) ]" \
		"'$got' ns, its own clocks $used to $total"
	forget cgroup
}

# A process in a group without a limit of its own, below one with 24 MiB; the kernel counts its kills there.
check_oom()
{
	local group=/sys/fs/cgroup/oom at="comm=touch_memory kind=killed" got

	if ! mkdir -p $group/inner || ! echo +memory >/sys/fs/cgroup/cgroup.subtree_control ||
		! echo +memory >$group/cgroup.subtree_control || ! echo 24M >$group/memory.max; then
		skip "oom: a limit of a group" "this kernel has no memory controller of cgroup v2"
		return
	fi
	recorded oom -e sched,alloc.rss,mem.pressure,task -- sh -c 'echo $$ >/sys/fs/cgroup/oom/inner/cgroup.procs
		touch_memory 64 0 0 0; echo $$ >/sys/fs/cgroup/cgroup.procs' || return
	got=$(sed -n 's/^oom_kill //p' $group/memory.events)
	near "oom: as many kills as the group counts" "$(sql oom 'SELECT count(*) FROM oom_kills')" "${got:-none}" 0
	got=$(report oom pressure --by comm)
	near "oom: the killed process is named" "$(echo "$got" | column_sum stalls $at)" 1 0
	case $(uname -r) in
	5.*)
		near "oom: this kernel does not tell the limit" "$(echo "$got" | column_sum limit_bytes $at)" 0 0
		;;
	*)
		near "oom: the limit is that of the group above" \
			"$(echo "$got" | column_sum limit_bytes $at limit_of=/oom)" 25165824 0
		ebpfrec report -i "$tmp/oom" why >"$tmp/oom.why"
		check "oom: why names them" \
			"grep -q 'Killed by the OOM killer: touch_memory.*limit of /oom 24' $tmp/oom.why" "$(cat "$tmp/oom.why")"
		;;
	esac
	rm -f "$tmp/oom.why"
	forget oom
	rmdir $group/inner $group
}

# ---- limits ----

# The wall clock is set a day ahead and then back behind where it began: a window named by it is the right one.
check_clock()
{
	local mark seen

	cp /work/stamp "$tmp/mark_one" && cp /work/stamp "$tmp/mark_two" && cp /work/stamp "$tmp/mark_three"
	# A slow guest may need more than a second to start the mark: its window ends after it did.
	recorded clock -e sched -- sh -c 'mark() { sleep 2; date +$1=%s; $tmp/mark_$1 x >/dev/null; date +$1_end=%s; sleep 2; }
		mark one; date -s @$(($(date +%s) + 86400)) >/dev/null; mark two
		date -s @$(($(date +%s) - 2 * 86400)) >/dev/null; mark three' || return
	date -s @$(($(date +%s) + 86400)) >/dev/null
	for mark in one two three; do
		seen=$(report clock cpu --by process --from @$(($(kv clock $mark) - 1)) --to @$(($(kv clock ${mark}_end) + 1)) |
			grep -o 'mark_[a-z]*' | sort -u | tr '\n' ' ')
		check "clock: a window around $mark, by wall clock, has that mark alone" "[ '$seen' = 'mark_$mark ' ]" "'$seen'"
	done
	forget clock
}

# A CPU goes away and comes back while it is recorded.
check_hotplug()
{
	local cpu span sum

	[ -e /sys/devices/system/cpu/cpu1/online ] || { skip "hotplug: a CPU that goes" "this kernel cannot"; return; }
	recorded hotplug -e sched,task -- sh -c 'busy_threads one 300 >/dev/null
		echo 0 >/sys/devices/system/cpu/cpu1/online; cat /sys/devices/system/cpu/online
		busy_threads one 300 >/dev/null; sleep 1
		echo 1 >/sys/devices/system/cpu/cpu1/online; pingpong 200 1 thread >/dev/null; sleep 0.5' || return
	check "hotplug: the CPU was off" "grep -q '^0$' $tmp/hotplug.out" "$(cat $tmp/hotplug.out)"
	span=$(sql hotplug "SELECT max(to_ns) FROM blocks")
	for cpu in 0 1; do
		sum=$(sql hotplug "SELECT sum(oncpu_ns) FROM cpu_usage(0, $span, 0) WHERE cpu = $cpu")
		near "hotplug: all tasks and idle of CPU $cpu are the whole time" "$sum" "$span" 0
	done
	check "hotplug: the CPU that came back is recorded" \
		"[ '$(sql hotplug "SELECT count(*) > 0 FROM switches WHERE cpu = 1 AND ts_ns > $span - 1000000000")' = 1 ]" \
		"no switch in the last second"
	ebpfrec check -i "$tmp/hotplug" >/dev/null 2>&1
	near "hotplug: the trace is whole" $? 0 0
	balanced hotplug sched
	forget hotplug
}

# Rings count as locked memory before 5.11; root raises the limit by itself.
check_memlock()
{
	(ulimit -l 64 && ebpfrec record -q -o "$tmp/memlock" -e sched -- true) 2>"$tmp/memlock.err"
	near "memlock: records with a limit of 64 KiB" $? 0 0
	rm -rf "$tmp/memlock"
}

# A quota of 20 ms in 100 for a group that has none of its own, and one thread in it: cpu.stat counts the periods.
check_quota()
{
	local group=/sys/fs/cgroup/quota at got want

	if ! mkdir -p $group || ! echo +cpu >/sys/fs/cgroup/cgroup.subtree_control ||
		! echo '20000 100000' >$group/cpu.max; then
		skip "quota: periods" "this kernel has no quotas of version 2"
		return
	fi
	mkdir $group/inner
	recorded quota -e sched,task -- \
		sh -c 'echo $$ >/sys/fs/cgroup/quota/inner/cgroup.procs; exec busy_threads one 3000' || return
	at="cgroup=/quota/inner"
	near "quota: is that of the group above" "$(report quota throttle | column_sum quota_ns $at)" 20000000 0
	near "quota: its period" "$(report quota throttle | column_sum period_ns $at)" 100000000 0
	# The kernel counts a period at its end, the trace a wait at its own, and the recording has two ends. A timer
	# that comes late, as where the emulator stands still, counts all periods since the last one as throttled.
	got=$(report quota throttle | column_sum periods $at) want=$(awk '/^nr_throttled/ { print $2 }' $group/cpu.stat)
	check "quota: used up in as many periods as cpu.stat counts" \
		"[ '${got:-0}' -le $((want + 2)) ] && [ '${got:-0}' -ge $((want / 2)) ]" \
		"$got, cpu.stat has $want"
	check "quota: the thread was throttled" "[ '$(report quota throttle | column_sum throttled_ns $at)' -gt 1000000000 ]" \
		"$(report quota throttle)"
	forget quota
}

# Both kinds of cgroups at once: the id that is kept is the v2 group's.
check_cgroup1()
{
	mkdir -p "$tmp/v1"
	if ! mount -t cgroup -o freezer freezer "$tmp/v1" 2>/dev/null; then
		skip "cgroup1: beside cgroup2" "this kernel has no cgroup v1"
		return
	fi
	mkdir "$tmp/v1/old" /sys/fs/cgroup/new
	recorded cgroup1 -e sched,task -- sh -c 'echo $$ >$tmp/v1/old/cgroup.procs; sleep 0.1
		echo $$ >/sys/fs/cgroup/new/cgroup.procs; sleep 0.1; :'
	near "cgroup1: only the move between v2 groups counts" \
		"$(sql cgroup1 "SELECT count(*) FROM task_events WHERE type = 'cgroup'")" 1 0
	check "cgroup1: the v2 group has its name" \
		"[ '$(sql cgroup1 "SELECT count(*) FROM processes WHERE cgroup = '/new'")' -ge 1 ]" \
		"$(sql cgroup1 'SELECT DISTINCT cgroup FROM processes')"
	umount "$tmp/v1"
	forget cgroup1
}

clock=$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)
echo "# $(uname -r), $(nproc) CPUs, $(awk '/MemTotal/ { print $2 }' /proc/meminfo) KiB, clock $clock"
check_doctor
check_default
check_privilege
check_pingpong
check_memory
check_slab
check_heap
check_stacks
check_offcpu
check_profile
check_irq
check_optional
check_btf_file
check_disk nvme nvme0n1
# "checks=short" on the kernel's command line: one of each kind, and none that compares clocks, which differ where the
# emulator itself stands still
[ "${checks:-}" != short ] || exit 0
check_busy
check_tasks
check_disk virtio vda
truncate -s 64M "$tmp/loop.img"
if losetup /dev/loop0 "$tmp/loop.img"; then
	check_disk loop loop0
else
	skip "loop: block requests" "no loop device here"
fi
check_files vda
check_volumes
check_only
check_cgroup
check_oom
check_quota
check_clock
check_hotplug
check_memlock
check_cgroup1
exit 0
