#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Interrupts (sched.irq) under loopback traffic, direct reads and timers, next to the kernel's own counts.
#
# Truth: /proc/softirqs and /proc/interrupts, read before and after, each between two readings of the clock. The machine
# goes on while they are read, so a count lies between what the trace has from after the first reading to before the
# second (at least that) and from before the first to after the second (at most that). The kernel counts an interrupt an
# instant before or after it is announced: one more per CPU either way. It counts interrupts, the trace handlers: a line
# with several handlers is only held to the lower bound, and where an interrupt arrives while its handler still runs on
# another CPU, two can be served by one run: a hundredth, at least 2, may be missing on lines. While a task runs that
# the kernel hides from BPF, no program does: each of its stretches may lack one, and one more per ms (a tick is 1 to 10
# ms) of time that is nobody's, of block requests twenty (a direct read takes 50 us at least, and its interrupt comes to
# the CPU that the hidden task has). Times: those of a CPU never overlap, so they add up to the window at most; those of
# a process to its time on CPUs.
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
	local query="SELECT CAST(sum(oncpu_ns) FILTER (WHERE utid = 1) * 100 > sum(oncpu_ns) AS INT) FROM cpu_usage(0, 1 << 62, 0)"

	hides_tasks "$1" && [ "$("$EBPFREC" sql -i "$tmp/$1" --format csv "$query" | tail -n 1)" = 1 ] &&
		echo "a task that is hidden from BPF ran"
}

recorded_until 6 irq "hidden_ran irq" -e sched,sched.irq -- python3 "$tmp/load.py" "$tmp/data" "$tmp/counts"
"$EBPFREC" redact -i "$tmp/irq" -o "$tmp/redacted" >/dev/null 2>&1
"$EBPFREC" cut -i "$tmp/irq" -o "$tmp/without" -e sched.switch,sched.wakeup >/dev/null 2>&1
"$EBPFREC" repair -i "$tmp/irq" -o "$tmp/repaired" >/dev/null 2>&1
"$EBPFREC" export -i "$tmp/irq" --to csv -o "$tmp/exported" >/dev/null 2>&1

checker <<'EOF_PY'
import json
from trace_query import *
tmp = os.environ["tmp"]
t = Trace(tmp + "/irq")
c = json.load(open(tmp + "/counts"))
cpus = os.cpu_count()
before, after = c["before"], c["after"]
outer = t.at(before["from"]), t.at(after["to"])
inner = t.at(before["to"]), t.at(after["from"])

def table(text):
    """first word of a line -> (sum over CPUs, the rest)"""
    ret, columns = {}, len(text.splitlines()[0].split())
    for line in text.splitlines()[1:]:
        name, _, rest = line.strip().partition(":")
        words = rest.split()
        numbers = [int(w) for w in words[:columns] if w.isdigit()]
        ret[name] = sum(numbers), " ".join(words[len(numbers):])
    return ret

def served(window):
    return {(r["type"], r["vector"]): r["n"] for r in t.sql(
        "SELECT type, vector, count(*) AS n FROM irq_events WHERE action = 'entry' AND ts_ns >= %d AND ts_ns < %d GROUP BY 1, 2" % window)}

least, most = served(inner), served(outer)
lost = t.one("SELECT coalesce(sum(lost_cnt), 0) FROM losses WHERE source = 'sched.irq'")
hidden = t.unjoined(*outer) + t.unknown_ns(*outer) // 1_000_000
hidden_reads = t.unjoined(*outer) + t.unknown_ns(*outer) // 50_000
soft = "HI TIMER NET_TX NET_RX BLOCK IRQ_POLL TASKLET SCHED HRTIMER RCU".split()

def compare(name, key, grew, merged=0, most_too=True):
    may_hide = hidden_reads if name == "softirq BLOCK" or "req" in name else hidden
    lo, hi = least.get(key, 0) - cpus, most.get(key, 0) + cpus + merged + lost + may_hide
    check("irq: %s is the kernel's count" % name, lo <= grew and (grew <= hi or not most_too),
          "the kernel counted %d; recorded %d .. %d, %d may be hidden" % (grew, least.get(key, 0), most.get(key, 0), may_hide))

a, b = table(before["soft"]), table(after["soft"])
if os.path.exists("/sys/kernel/realtime"):
    check("irq: no soft interrupts where they may be preempted", not [k for k in most if k[0] == "softirq"], most)
else:
    for i, name in enumerate(soft):
        compare("softirq " + name, ("softirq", i), b[name][0] - a[name][0])
    check("irq: loopback traffic was served", least.get(("softirq", 3), 0) > 0, least)
a, b = table(before["hard"]), table(after["hard"])
for name in sorted(k for k in b if k.isdigit() and k in a):
    grew = b[name][0] - a[name][0]
    # per-CPU devices and lines that only lead on to others (a controller behind a controller) have no handler
    if grew and os.path.exists("/sys/kernel/irq/%s/actions" % name):
        actions = open("/sys/kernel/irq/%s/actions" % name).read().strip()
        one = actions and "," not in actions
        if not one:
            continue
        compare("line of " + actions, ("irq", int(name)), grew, merged=max(2, grew // 100))
        if ("irq", int(name)) in most:
            check("irq: the line of %s has its name" % actions,
                  t.one("SELECT irq_name('irq', %s)" % name) == actions, t.sql("SELECT * FROM names WHERE type = 'irq'"))
if "LOC" in b and any(k[0] == "local" for k in most):
    compare("local timer", ("local", 1), b["LOC"][0] - a["LOC"][0])

# Times.
rows = t.report("irq", "--by", "cpu", *t.window(*inner))
for cpu in {r["cpu"] for r in rows}:
    busy = sum(r["run_ns"] for r in rows if r["cpu"] == cpu)
    check("irq: time of CPU %s fits into the window" % cpu, 0 < busy <= inner[1] - inner[0], (busy, inner))
whole = t.report("irq")
# what is being served when recording starts, and when it ends
broken = sum(r["broken"] for r in whole)
check("irq: entries and exits belong together", broken <= 4 * cpus + 2 * lost, "%s broken, %s lost" % (broken, lost))
of_process = t.report("irq", "--by", "process")
check("irq: what it took from processes is all there is", sum(r["run_ns"] for r in of_process) == sum(r["run_ns"] for r in whole) and
      sum(r["runs"] for r in of_process) == sum(r["runs"] for r in whole), (len(of_process), len(whole)))
for r in t.report("cpu", "--pid", c["pid"]):
    check("cpu: the workload's time in interrupts is part of its time",
          0 < r["irq_ns"] + r["softirq_ns"] <= r["oncpu_ns"] + t.unknown_ns(0, 1 << 62), r)
halves = [t.report("irq", *t.window(f, to)) for f, to in ((inner[0], sum(inner) // 2), (sum(inner) // 2, inner[1]))]
check("irq: two halves add up to the window", sum(r["run_ns"] for h in halves for r in h) == sum(r["run_ns"] for r in rows) and
      sum(r["runs"] for h in halves for r in h) == sum(r["runs"] for r in rows), inner)
for cls, sums in t.balance(["sched"]).items():
    check("irq: read + lost = attempted", sums and sums[0] == sums[1] + sums[2], sums)

# What other commands make of such a trace.
cnt = t.one("SELECT count(*) FROM irq_events")
redacted = Trace(tmp + "/redacted")
check("redact: numbers of interrupts stay", [dict(r, name=0) for r in redacted.report("irq")] == [dict(r, name=0) for r in whole], "differ")
names = {r["name"] for r in t.sql("SELECT name FROM names WHERE type = 'irq'")}
check("redact: names of lines go", not names & {r["name"] for r in redacted.sql("SELECT name FROM names WHERE type = 'irq'")}, names)
without = Trace(tmp + "/without")
check("cut: without sched.irq none is left, and reports know", without.one("SELECT count(*) FROM irq_events") == 0 and
      all(r["irq_ns"] == "" for r in without.report("cpu")) and without.one("SELECT is_complete('sched.irq', 0, 1000000)") == 0 and
      without.report("cpu")[0]["oncpu_ns"] == t.report("cpu")[0]["oncpu_ns"], without.report("cpu")[:2])
check("repair: all interrupts are still there", Trace(tmp + "/repaired").one("SELECT count(*) FROM irq_events") == cnt, cnt)
check("export: one row per event", sum(1 for _ in open(tmp + "/exported/irq_events.csv")) == cnt + 1, cnt)
EOF_PY
