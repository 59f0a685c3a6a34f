#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# diff and interrupts: CPU times it compares are the scheduler's own, which interrupts are part of, so that a trace with
# sched.irq and the same one without differ in nothing, and it is no reason to call a row incomplete.
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

checker <<'EOF_PY'
from trace_query import *
with_, without = Trace("with"), Trace("without")
check("diff irq: there are interrupts in the one alone", with_.one("SELECT count(*) FROM irq_events") > 50 and without.one("SELECT count(*) FROM irq_events") == 0,
      (with_.one("SELECT count(*) FROM irq_events"), without.one("SELECT count(*) FROM irq_events")))
rows = rows_of(open("rows.csv", newline="").read())
cpu = [r for r in rows if r["metric"] == "oncpu_ns"]
check("diff irq: CPU times are equal to the nanosecond", len(cpu) > 2 and all(r["a"] == r["b"] and r["verdict"] == "same" for r in cpu), [r for r in cpu if r["a"] != r["b"]][:3])
check("diff irq: so is all else", all(r["verdict"] == "same" and r["a"] == r["b"] for r in rows), [r for r in rows if r["verdict"] != "same" or r["a"] != r["b"]][:3])
own = [r for r in cpu if r["role"].startswith("busy_threads")]
taken = with_.report("cpu", "--comm", "busy_threads")
check("diff irq: a process's time has its interrupts in it", own and taken and sum(r["a"] for r in own) == sum(r["oncpu_ns"] for r in taken) and
      0 < sum(r["irq_ns"] + r["softirq_ns"] for r in taken) < sum(r["a"] for r in own), (own, taken))
EOF_PY
