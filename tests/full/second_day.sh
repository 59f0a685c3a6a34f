#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# The second day: a user who looks closer. One recording, read in terminals of two sizes: figures and words
# that occur in several places, notes that apply, mistakes, files that commands write. second_day.py looks.
#
# Other tests have what is not seen in a terminal: exporters in full/metrics, metrics_restart and metrics_bins,
# ClickHouse in full/fleet, fleet_killed and package, the page in page, gnuplot's line and all others of the README in
# full/readme.
source "$(dirname "$0")/../kernel/harness.bash"

mkdir "$tmp/day" "$tmp/small"
cd "$tmp/day" || exit 1
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
