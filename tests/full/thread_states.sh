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
