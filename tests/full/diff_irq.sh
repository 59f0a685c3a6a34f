#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# diff and interrupts: the CPU times that diff compares are the scheduler's own, which include interrupts. So a trace
# with sched.irq and the same one without it do not differ, and no row is incomplete because of it.
. "$(dirname "$0")/../kernel/harness.bash"

cd "$tmp" || exit 1
recorded with -e sched,sched.irq,block -- sh -c \
	"for i in 1 2 3; do dd if=/dev/zero of='$tmp/f' bs=64k count=30 conv=fsync 2>/dev/null; done
	'$WORK/busy_threads' one 200"
"$EBPFREC" cut -i with -e sched.switch,sched.wakeup,block -o without >out 2>&1
check "diff irq: the same trace without interrupts" "[ $? -eq 0 ]" "$(cat out)"
"$EBPFREC" diff with without --format csv >rows.csv 2>out
check "diff irq: diff" "[ $? -eq 0 ]" "$(cat out)"
"$EBPFREC" diff with without --exit-code >/dev/null 2>out
check "diff irq: finds no change" "[ $? -eq 0 ]" "$(cat out)"
"$EBPFREC" bundle -i with -o with.zip >out 2>&1 && "$EBPFREC" diff with with.zip --format csv >zip.csv 2>>out
check "diff irq: nor in a bundle of it" "[ \$(wc -l <zip.csv) -gt 2 ] && ! tail -n +2 zip.csv | grep -qv ',same,'" \
	"$(cat out; grep -v ',same,' zip.csv | head -n 3)"

checker <"$top/tests/full/diff_irq.py"
