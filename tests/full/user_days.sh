#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The first day of a new user, who records three times under the default name, reads every view in
# terminals of two sizes, and pastes every command that the program names. first_day.py looks at the terminals.
#
# The second day: a user who looks closer. One recording, read in terminals of two sizes: figures and words
# that occur in several places, notes that apply, mistakes, files that commands write. second_day.py looks.
#
# Other tests have what is not seen in a terminal: exporters in full/metrics and metrics_bins,
# ClickHouse in full/fleet, fleet_killed and package, the page in page, gnuplot's line and all others of the README in
# full/readme.
. "$(dirname "$0")/../kernel/harness.bash"

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

# ---- the second day ----

mkdir "$tmp/second" "$tmp/small"
cd "$tmp/second" || exit 1
cat >locks.py <<'END'
import threading, time
lock = threading.Lock()
def work():
    for i in range(10):
        with lock:
            time.sleep(0.003)
threads = [threading.Thread(target=work) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
END
"$EBPFREC" record --offcpu 1ms -o day -- sh -c \
	"'$WORK/touch_memory' 64 50 50 50; '$WORK/busy_threads' one 200; python3 locks.py
		ln -s '$(type -P sleep)' Xorg; ./Xorg 0.05
	head -c 4M /dev/zero >file; sync file; rm file; sync ." >out 2>said
check "second day: a recording" "[ $? -eq 0 ]" "$(cat said)"
! mount_at "$tmp/small" -t tmpfs -o size=64k none || export small=$tmp/small
checker <"$here/second_day.py"
