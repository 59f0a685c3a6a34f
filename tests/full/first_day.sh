#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The first day of a new user, who records three times under the default name, reads every view in
# terminals of two sizes, and pastes every command that the program names. first_day.py looks at the terminals.
source "$(dirname "$0")/../kernel/harness.bash"

mkdir "$tmp/day"
cd "$tmp/day" || exit 1
said=
for ((i = 0; i < 3; i++)); do
	"$EBPFREC" record -- sh -c \
		"'$WORK/touch_memory' 64 50 50 50; '$WORK/busy_threads' one 200; head -c 4M /dev/zero >file; sync file" >out 2>err \
		|| said="$said $(cat err)"
done
check "first day: three recordings under the default name" \
	"[ -z '$said' ] && [ '$(ls -d trace* | tr '\n' ' ')' = 'trace.ebpfrec trace.ebpfrec.old ' ]" "$said $(ls)"
"$EBPFREC" record --stacks -e +alloc.heap -- python3 -c 'import os
x = [bytearray(3000) for _ in range(20000)]
with open("file", "wb") as f:
	f.write(bytes(4000000))
	os.fsync(f.fileno())' >out 2>err
check "first day: --stacks alone takes allocations of the heap, too" \
	"'$EBPFREC' report stacks --format csv 2>/dev/null | grep -q ',python3,heap,'" \
	"$(cat err) $("$EBPFREC" report stacks --limit 5 2>&1)"
checker <"$here/first_day.py"
