#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# A thread runs 200 ms, sleeps 300 ms, shares its CPU with a busy process, reads a throttled disk without the page
# cache, and is stopped by SIGSTOP for 250 ms. `report states` has each part in its column, within 1 % of the part's
# length or a clock tick (10 ms at most), and the columns add up to the part exactly.
#
# Truth: the thread's own clocks before and after each part, and what /proc/thread-self/schedstat says it waited. What
# ran elsewhere on the machine may preempt the thread in every part, so waiting for a CPU is taken from there. Where
# perf is installed, `perf sched timehist --state` records the same workload at the same time, and its sums must be
# ours.
#
# Then a quota of CPU time, and the stacks of waits (record --offcpu).
. "$(dirname "$0")/../kernel/harness.bash"

device=- limit=
if make_loop disk 16 && dd if=/dev/urandom of="$tmp/disk.img" bs=1M count=16 conv=notrunc,fsync 2>/dev/null; then
	device=$loop
	# The loop device's own requests stay fast; those of its file are throttled, for the reader of the device.
	backing=$(stat -c %Hd:%Ld "$tmp/disk.img")
	backing=$(cat "/sys/dev/block/$backing/../dev" 2>/dev/null || echo "$backing")
	group=/sys/fs/cgroup/blkio/ebpfrec-states-$$
	if mkdir "$group" 2>/dev/null; then
		undo+=("rmdir '$group'")
		echo "$backing 4194304" >"$group/blkio.throttle.read_bps_device" 2>/dev/null && limit=$group/cgroup.procs
	fi
fi
[ -n "$limit" ] || echo "# the disk is not throttled"
# Two processes do nothing during the recording. They are not jobs of this shell, which waits for its jobs.
asleep=$(sh -c 'sleep 1000 >/dev/null & echo $!')
stopped=$(sh -c 'sleep 1000 >/dev/null & echo $!')
export asleep stopped
undo+=("kill -KILL $asleep $stopped")
kill -STOP "$stopped"
# The recording's command joins the group; the recorder does not.
recorded states -- sh -c "[ -z '$limit' ] || echo \$\$ >'$limit'; exec '$WORK/states' '$device'"
if command -v perf >/dev/null; then
	recorded both -e sched -- sh -c "perf sched record -o '$tmp/perf.data' -- '$WORK/states' - 2>/dev/null || :"
	perf sched timehist -i "$tmp/perf.data" --state >"$tmp/timehist" 2>/dev/null
fi

checker <"$top/tests/full/thread_states.py"

# ---- a quota of CPU time ----

# A process with a quota of 20 ms in 100, and with more weight than all others, would burn 2 s of CPU time on one CPU.
# `report states` has the throttled time of cpu.stat, within 5 %: cpu.stat counts from the instant at which the quota
# was used up until it is refilled; the thread leaves its CPU a little later, on its way back to
# user space, and gets one a little later. No event reports the refill, so the time of other threads on its CPU after
# that may be in ours, but not in cpu.stat's. After 3 s the quota is doubled. `report throttle` names the group with the
# last quota, and has as many periods as cpu.stat's nr_throttled, within 2: the kernel counts a period at its end, the
# trace a wait at its own, and the recording has two ends. A timer that is late, for instance because a hypervisor took
# the CPU, counts all periods since the last one, so 10 % may be missing.
quota=/sys/fs/cgroup/cpu/ebpfrec-quota-$$
if mkdir "$quota" 2>/dev/null; then
	undo+=("rmdir '$quota'")
	file=cpu.cfs_quota_us period=
	echo 262144 >"$quota/cpu.shares" && echo 100000 >"$quota/cpu.cfs_period_us" && echo 20000 >"$quota/$file" ||
		rmdir "$quota"
elif mkdir "/sys/fs/cgroup/ebpfrec-quota-$$" 2>/dev/null && [ -e "/sys/fs/cgroup/ebpfrec-quota-$$/cpu.max" ]; then
	quota=/sys/fs/cgroup/ebpfrec-quota-$$
	undo+=("rmdir '$quota'")
	file=cpu.max period=' 100000'
	echo 10000 >"$quota/cpu.weight"
	echo "20000$period" >"$quota/$file"
fi
if [ -d "$quota" ]; then
	(sleep 3 && echo "40000$period" >"$quota/$file") &
	recorded quota -- sh -c "echo \$\$ >'$quota/cgroup.procs'; exec taskset -c 0 '$WORK/duty' quota 100 2 >/dev/null"
	wait
	# v1 counts in ns, v2 in us
	awk '/^throttled_time/ { print $2 } /^throttled_usec/ { print $2 * 1000 }' "$quota/cpu.stat" >"$tmp/throttled"
	awk '/^nr_throttled/ { print $2 }' "$quota/cpu.stat" >"$tmp/periods"
	basename "$quota" >"$tmp/group"
	checker <"$top/tests/full/quota.py"
else
	skip quota "no control group with quotas can be made here"
fi

# ---- stacks of waits ----

# record --offcpu: threads sleep, wait for a mutex and read from a slow pipe in functions of known names, and measure
# how long they had no CPU. The recorded waits have that length, these functions, and the thread that ended them. With
# --unwind dwarf a program without frame pointers has the whole chain of functions, from the thread's first one on,
# through the C library.
fresh

if ! "$EBPFREC" doctor --format csv 2>/dev/null | grep -q '^sched.offcpu,offcpu_switch,[^,]*,no,yes'; then
	record refused --offcpu 10ms -- true
	check "offcpu: a kernel without task storage is named" \
		"[ $? -eq 125 ] && grep -q 'offcpu: .*task storage' '$tmp/refused.err'" "$(cat "$tmp/refused.err")"
	exit
fi
# recorded_waits NAME ARGS...: repeats until the programs saw every switch of these threads (schema/LIMITS.md)
recorded_waits()
{
	recorded_until 6 "$1" "unseen_switches '$1'" "${@:2}"
}

recorded_waits waits -e sched --offcpu 10ms -- "$WORK/waits"
recorded default -e sched.offcpu -- "$WORK/waits"
recorded none -e sched -- true
record bare -e sched --offcpu 10ms --unwind dwarf -- "$WORK/waits_bare"
check "offcpu: it records with --unwind dwarf, or was built without libdw" \
	"[ $? -eq 0 ] || grep -q 'built without libdw' '$tmp/bare.err'" "$(cat "$tmp/bare.err")"
[ -e "$tmp/bare" ] && recorded pointers -e sched --offcpu 10ms -- "$WORK/waits_bare"
before_inside()
{
	"$WORK/waits" >"$tmp/outsider.out" &
}
recorded_waits inside -e sched --offcpu 10ms -- sleep 0.3
wait
start_recorder everybody -e sched -a --offcpu 10ms
"$WORK/waits" >"$tmp/other.out"
kill -INT "$recorder"
wait "$recorder"
"$EBPFREC" report -i "$tmp/waits" offcpu --format folded >"$tmp/folded"
"$EBPFREC" report -i "$tmp/waits" offcpu --format folded --sort waits >"$tmp/folded_waits"
"$EBPFREC" redact -i "$tmp/waits" -o "$tmp/gone" 2>"$tmp/gone.err" &&
	"$EBPFREC" cut -i "$tmp/waits" -o "$tmp/part" --from 0s 2>"$tmp/part.err" &&
	"$EBPFREC" cut -i "$tmp/waits" -o "$tmp/one" --pid "$(kv "$tmp/waits.out" pid)" 2>>"$tmp/part.err"
check "offcpu: redact and cut take it" "[ $? -eq 0 ]" "$(cat "$tmp/gone.err" "$tmp/part.err")"
"$EBPFREC" record -o "$tmp/zero" --offcpu 0 -- true 2>"$tmp/zero.err"
check "offcpu: of no time is refused" "[ $? -eq 2 ] && grep -q 'at least 1ns' '$tmp/zero.err'" "$(cat "$tmp/zero.err")"

checker <"$top/tests/full/offcpu.py"
