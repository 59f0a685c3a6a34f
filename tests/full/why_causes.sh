#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# One thread, slowed down by one cause: `report why` names it in its first sentences, with the thread or the file that
# is to blame. The waits and the time on CPUs are all of the time that the thread's own clock saw, to the ns; what it is
# told to have waited for is most of that. Causes of other kinds are in kernel/wait_kinds.
. "$(dirname "$0")/../kernel/harness.bash"

head -c 16M /dev/urandom >"$tmp/cold"
head -c 64M /dev/urandom >"$tmp/other"
sync
causes="mutex condition idle loaded cpu mmap mapped read"
for cause in $causes; do
	# whoever else wants the CPU of the two that share one is no culprit
	[ "$cause" = cpu ] && alone=("${undisturbed[@]}") || alone=()
	recorded "$cause" -e sched,block,alloc.rss -- "${alone[@]}" "$WORK/causes" "$cause" "$tmp/cold" "$tmp/other"
done

checker <"$top/tests/full/why_causes.py"
