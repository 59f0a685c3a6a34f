#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record --offcpu: threads sleep, wait for a mutex and read from a slow pipe in functions of known names, and measure
# how long they had no CPU. The recorded waits have that length, these functions, and the thread that ended them. With
# --unwind dwarf a program without frame pointers has the whole chain of functions, from the thread's first one on,
# through the C library.
. "$(dirname "$0")/../kernel/harness.bash"

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
