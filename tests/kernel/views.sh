#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Memory in reports, of one recording: views (preempts, timeline, memory, leaks, lifetimes, sizes, causes of spikes)
# against plain SQL over the event tables; workloads with known answers: pipes that are kept, names that are looked up
# and forgotten, bursts of anonymous memory; buffers that one process allocates and another frees; resident memory as
# the kernel counts it.
. "$(dirname "$0")/harness.bash"

# rings that no load fills: counts are exact
recorded views --ring-size 64MiB -- sh -c 'python3 "$1/views_work.py" & "$2/give_away" 5000 1000 >"$3/gift.out"; wait' \
	sh "$here" "$WORK" "$tmp"
recorded touch -e alloc.rss,alloc.vm,task -- "$WORK/touch_memory" 300 600 1000 600
# a memory cgroup without room for 200 MiB
group=/sys/fs/cgroup/memory/ebpfrec-oom.$$ limit=memory.limit_in_bytes swap=memory.memsw.limit_in_bytes
if [ ! -d "${group%/*}" ]; then
	group=/sys/fs/cgroup/ebpfrec-oom.$$ limit=memory.max swap=memory.swap.max
fi
mkdir "$group" 2>/dev/null && undo+=("rmdir $group")
export oom_group=$group oom_limit=62914560
if echo 62914560 2>/dev/null >"$group/$limit"; then
	[ ! -e "$group/$swap" ] || echo "$([ "$limit" = memory.max ] && echo 0 || echo 62914560)" >"$group/$swap"
	# shellcheck disable=SC2016
	recorded oom -e sched,alloc.rss,mem.pressure,task -- \
		sh -c 'echo $$ >"$1/cgroup.procs"; python3 -c "b = bytearray(200 << 20)"; true' sh "$group"
else
	skip "pressure: a killed process" "no memory cgroup can be made here"
fi
checker <"$here/views_tables.py"
checker <"$here/views_memory.py"
