#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# One thread, slowed down by one cause: `report why` names it in its first sentences, with the thread or the file that
# is the cause. The waits and the time on CPUs add up to the time by the thread's own clock, to the ns; the kind of wait
# that the cause makes is most of it. Causes of other kinds are in kernel/wait_kinds.
#
# Causes of delay that can be switched off: `report whatif` on one recording against the time that the program then
# takes without the cause. Six kinds in four shapes: one thread, beside a shorter one, beside a longer one, and beside
# one that another cause delays as much.
. "$(dirname "$0")/../kernel/harness.bash"

head -c 16M /dev/urandom >"$tmp/cold"
head -c 64M /dev/urandom >"$tmp/other"
sync
causes="mutex condition idle loaded cpu mmap mapped read"
for cause in $causes; do
	# other threads that want the CPU shared by the two are not the cause
	[ "$cause" = cpu ] && alone=("${undisturbed[@]}") || alone=()
	recorded "$cause" -e sched,block,alloc.rss -- "${alone[@]}" "$WORK/causes" "$cause" "$tmp/cold" "$tmp/other"
done

checker <"$top/tests/full/why_causes.py"

# ---- causes that can be switched off ----

# The program has its CPUs with and without the cause: both runs are to differ in that only.
with_cpus=${undisturbed[*]@Q}
export with_cpus
for kind in lock timeout sleep peer cpu function; do
	for shape in serial parallel off masking; do
		sources="-e sched"
		[ "$kind" != function ] || sources="-e sched --profile=999"
		# shellcheck disable=SC2086	# two words or more
		recorded "$kind-$shape" $sources -- "${undisturbed[@]}" "$WORK/delayed" "$kind" "$shape"
	done
done

checker <"$top/tests/full/whatif.py"
