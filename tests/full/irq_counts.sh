#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Interrupts (sched.irq) under loopback traffic, direct reads and timers, next to the kernel's own counts.
#
# Truth: /proc/softirqs and /proc/interrupts, read before and after, each between two readings of the clock. Counting
# continues during the reading. So a count is at least that of the trace from after the first reading to before the
# second, and at most that from before the first to after the second. The kernel counts an interrupt an
# instant before or after it is announced: one more per CPU either way. It counts interrupts, the trace handlers: a line
# with several handlers is only compared with the lower bound. If an interrupt arrives while its handler still runs on
# another CPU, one run can serve two: a hundredth, at least 2, may be missing on lines. While a task that
# the kernel hides from BPF runs, no program runs: each of its stays may lack one interrupt, and one more per ms (a tick
# is 1 to 10 ms) of time without a known owner, for block requests twenty (a direct read takes 50 us at least, and its
# interrupt comes to the CPU of the hidden task). Times: those of a CPU never overlap, so they add up to the window at
# most; those of a process to its time on CPUs.
#
# The CPU times that diff compares are the scheduler's own, which include interrupts. So this trace and the same one
# without them do not differ, and no row is incomplete because of it.
. "$(dirname "$0")/../kernel/harness.bash"

cat >"$tmp/load.py" <<'EOF_LOAD'
import json, os, socket, sys, time

def counts():
    at = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    soft, hard = open("/proc/softirqs").read(), open("/proc/interrupts").read()
    return {"from": at, "soft": soft, "hard": hard, "to": time.clock_gettime_ns(time.CLOCK_MONOTONIC)}

before = counts()
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(("127.0.0.1", 0))
b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3000):
    b.sendto(b"x" * 200, a.getsockname())
    a.recv(300)
f = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
import mmap
m = mmap.mmap(-1, 65536)
for i in range(64):
    os.preadv(f, [m], i * 65536)
for i in range(100):
    time.sleep(0.001)
after = counts()
json.dump({"before": before, "after": after, "pid": os.getpid()}, open(sys.argv[2], "w"))
EOF_LOAD

dd if=/dev/urandom of="$tmp/data" bs=64K count=64 conv=fsync status=none
# hidden_ran NAME: a task that is hidden from BPF ran for more than a hundredth of the recording
hidden_ran()
{
	local query="SELECT CAST(sum(oncpu_ns) FILTER (WHERE utid = 1) * 100 > sum(oncpu_ns) AS INT)
		FROM cpu_usage(0, 1 << 62, 0)"

	hides_tasks "$1" && [ "$(sql_value "$1" "$query")" = 1 ] &&
		echo "a task that is hidden from BPF ran"
}

recorded_until 6 irq "hidden_ran irq" -e sched,sched.irq,block -- sh -c "
	python3 '$tmp/load.py' '$tmp/data' '$tmp/counts'
	for i in 1 2 3; do dd if=/dev/zero of='$tmp/f' bs=64k count=30 conv=fsync 2>/dev/null; done
	'$WORK/busy_threads' one 200"
"$EBPFREC" redact -i "$tmp/irq" -o "$tmp/redacted" >/dev/null 2>&1
"$EBPFREC" cut -i "$tmp/irq" -o "$tmp/without" -e sched.switch,sched.wakeup,block >"$tmp/out" 2>&1
check "diff irq: the same trace without interrupts" "[ $? -eq 0 ]" "$(cat "$tmp/out")"
"$EBPFREC" repair -i "$tmp/irq" -o "$tmp/repaired" >/dev/null 2>&1
"$EBPFREC" export -i "$tmp/irq" --to csv -o "$tmp/exported" >/dev/null 2>&1

checker <"$top/tests/full/irq_counts.py"

# ---- diff ----

cd "$tmp" || exit 1
"$EBPFREC" diff irq without --format csv >rows.csv 2>out
check "diff irq: diff" "[ $? -eq 0 ]" "$(cat out)"
"$EBPFREC" diff irq without --exit-code >/dev/null 2>out
check "diff irq: finds no change" "[ $? -eq 0 ]" "$(cat out)"
"$EBPFREC" bundle -i irq -o with.zip >out 2>&1 && "$EBPFREC" diff irq with.zip --format csv >zip.csv 2>>out
check "diff irq: nor in a bundle of it" "[ \$(wc -l <zip.csv) -gt 2 ] && ! tail -n +2 zip.csv | grep -qv ',same,'" \
	"$(cat out; grep -v ',same,' zip.csv | head -n 3)"

checker <"$top/tests/full/diff_irq.py"
