#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# 200 requests of a server, of which each 50th is slowed down by one cause (tests/kernel/work/request_causes.c): `report
# why --requests` names the cause in its first three lines of 80 columns. The times depend on the machine: what else it
# does may slow down other requests. The parts of each request add up to its length, to the ns.
. "$(dirname "$0")/../kernel/harness.bash"

head -c 16M /dev/urandom >"$tmp/cold"
head -c 64M /dev/urandom >"$tmp/other"
sync
options=(-e sched,block,alloc.rss --spans --profile 997)
causes="lock disk cpu peer faults burst stop datagram function"
for cause in $causes; do
	[ "$cause" = cpu ] && alone=() || alone=("${undisturbed[@]}")
	recorded "$cause" "${options[@]}" -- "${alone[@]}" "$WORK/request_causes" "$cause" "$tmp"
done
quota=/sys/fs/cgroup/cpu/ebpfrec-requests-$$
if mkdir "$quota" 2>/dev/null; then
	undo+=("rmdir '$quota'")
	echo 100000 >"$quota/cpu.cfs_period_us" && echo 30000 >"$quota/cpu.cfs_quota_us"
elif mkdir "/sys/fs/cgroup/ebpfrec-requests-$$" 2>/dev/null && [ -e "/sys/fs/cgroup/ebpfrec-requests-$$/cpu.max" ]; then
	quota=/sys/fs/cgroup/ebpfrec-requests-$$
	undo+=("rmdir '$quota'")
	echo "30000 100000" >"$quota/cpu.max"
fi
if [ -d "$quota" ]; then
	# shellcheck disable=SC2016
	recorded quota "${options[@]}" -- sh -c 'echo $$ >"$1/cgroup.procs"; exec "$2" quota "$3"' sh "$quota" \
		"$WORK/request_causes" "$tmp"
	causes+=" quota"
else
	skip "requests: quota" "no control group with quotas can be made here"
fi

causes=$causes checker <"$top/tests/full/request_causes.py"
