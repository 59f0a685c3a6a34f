#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# record --profile: samples are counted, have stacks of the program's functions, and each thread's rows add up to its
# time on the CPU in any window. How samples are spread over functions: full/profile_shares.
. "$(dirname "$0")/harness.bash"

HZ=997
recorded burn -e sched --profile=$HZ -- "$WORK/profile" 10
recorded default -e cpu.sample -- "$WORK/profile" 1
recorded none -e sched -- true
recorded only -e sched --only --profile=$HZ -- "$WORK/profile" 2
"$EBPFREC" redact -i "$tmp/burn" -o "$tmp/gone" 2>"$tmp/gone.err" &&
	"$EBPFREC" cut -i "$tmp/burn" -o "$tmp/part" --from 0s 2>"$tmp/part.err" &&
	"$EBPFREC" cut -i "$tmp/burn" -o "$tmp/one" --pid "$(kv "$tmp/burn.out" pid)" 2>>"$tmp/part.err"
check "profile: redact and cut take it" "[ $? -eq 0 ]" "$(cat "$tmp/gone.err" "$tmp/part.err")"
for bad in 0 10001 x; do
	"$EBPFREC" record -o "$tmp/bad" --profile=$bad -- true 2>"$tmp/bad.err"
	check "profile: $bad times a second is refused" "[ $? -eq 2 ] && [ ! -e '$tmp/bad' ]" "$(cat "$tmp/bad.err")"
done

"$EBPFREC" record -o "$tmp/bad" --unwind dwarf -- true 2>"$tmp/bad.err"
check "profile: --unwind without samples is refused" "[ $? -eq 2 ] && [ ! -e '$tmp/bad' ]" "$(cat "$tmp/bad.err")"

HZ=$HZ checker <"$here/profile_rows.py"

# ---- code that is made at run time ----

# Names of code that is made at run time, from the map file of its process: every sample has the name of the code that
# was there then, also where other code took its place. A jitdump has the instants itself. Redaction covers them. A map
# file behind a link is not read. A register that holds no frame pointer makes no caller.
fresh

# The recorder answers a mark before it looks at map files: after two, it has looked.
marks()
{
	echo "'$EBPFREC' mark -i '$tmp/$1' a && '$EBPFREC' mark -i '$tmp/$1' b"
}
recorded file -e sched --profile=997 -- "$WORK/jit_map" file "$(marks file) >'$tmp/marks' 2>&1"
recorded dump -e sched --profile=997 -- "$WORK/jit_map" dump true
recorded link -e sched --profile=997 --unwind fp -- "$WORK/jit_map" link "$(marks link) >'$tmp/marks' 2>&1"
cd "$tmp" || exit 1
"$EBPFREC" redact -i file -o gone 2>err && "$EBPFREC" cut -i file -o part --from 0s 2>>err &&
	"$EBPFREC" bundle -i file -o file.zip --show-strings >strings 2>>err
check "jit: redact, cut and bundle" "[ $? -eq 0 ]" "$(cat err)"
check "jit: a bundle lists the names" "grep -qx 'functions: jit_new' strings" "$(grep functions strings | head -n 5)"
checker <"$here/jit.py"
