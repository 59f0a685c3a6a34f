#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# A process with a quota of 20 ms in 100, and with more weight than all others, would burn 2 s of CPU time on one CPU.
# `report states` has the throttled time of cpu.stat, within 5 %: cpu.stat counts from the instant at which the quota
# was used up until it is refilled; the thread leaves its CPU a little later, on its way back to
# user space, and gets one a little later. No event reports the refill, so the time of other threads on its CPU after
# that may be in ours, but not in cpu.stat's. After 3 s the quota is doubled. `report throttle` names the group with the
# last quota, and has as many periods as cpu.stat's nr_throttled, within 2: the kernel counts a period at its end, the
# trace a wait at its own, and the recording has two ends. A timer that is late, for instance because a hypervisor took
# the CPU, counts all periods since the last one, so 10 % may be missing.
. "$(dirname "$0")/../kernel/harness.bash"

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
else
	skip quota "no control group with quotas can be made here"
	exit 0
fi

checker <"$top/tests/full/quota.py"
