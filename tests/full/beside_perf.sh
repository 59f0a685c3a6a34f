#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Waits beside perf's, of the same run. `perf trace -s` has the time in each system call: what the thread slept there,
# and in between ran or waited for a CPU. `perf lock` has the time until a thread had got the lock of its process's
# mappings, which is a little more than until it was woken for that.
. "$(dirname "$0")/../kernel/harness.bash"

perf version >/dev/null 2>&1 || { skip beside_perf "perf is not installed"; exit 0; }
recorded trace -- perf trace -s -o "$tmp/perf_trace" -- "$WORK/wait_kinds"
# (The allocations of what maps memory all the time would fill the rings of a busy machine. With -B, perf reads no build
# ids, in which it aborts at times: "assertion failed at util/build-id.c:1010 / stack smashing detected".)
recorded lock -e sched -- sh -c 'perf lock record -B -o "$1/perf.data" -- "$2" mmap - - >"$1/victim" 2>"$1/perf.err"' \
	sh "$tmp" "$WORK/causes"
perf lock contention -i "$tmp/perf.data" -t >"$tmp/threads" 2>&1
grep -q victim "$tmp/threads" || skip "beside_perf: the lock of mappings" "$(tail -n 1 "$tmp/threads")"

checker <"$top/tests/full/beside_perf.py"
