# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by cpu_time.sh."""
from trace_query import *
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
    return {(r["type"], r["vector"]): r["n"] for r in t.sql("SELECT type, vector, count(*) AS n FROM irq_events "
                                                            "WHERE action = 'entry' AND ts_ns >= %d AND ts_ns < %d "
                                                            "GROUP BY 1, 2" % window)}

least, most = served(inner), served(outer)
lost = t.one("SELECT coalesce(sum(lost_cnt), 0) FROM losses WHERE source = 'sched.irq'")
hidden = t.unjoined(*outer) + t.unknown_ns(*outer) // 1_000_000
hidden_reads = t.unjoined(*outer) + t.unknown_ns(*outer) // 50_000
soft = "HI TIMER NET_TX NET_RX BLOCK IRQ_POLL TASKLET SCHED HRTIMER RCU".split()

def compare(name, key, grew, merged=0, most_too=True):
    may_hide = hidden_reads if name == "softirq BLOCK" or "req" in name else hidden
    lo, hi = least.get(key, 0) - cpus, most.get(key, 0) + cpus + merged + lost + may_hide
    check("irq: %s is the kernel's count" % name, lo <= grew and (grew <= hi or not most_too),
          "the kernel counted %d; recorded %d .. %d, %d may be hidden" %
          (grew, least.get(key, 0), most.get(key, 0), may_hide))

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
    # per-CPU devices and lines that only cascade to others (a controller below a controller) have no handler
    if grew and os.path.exists("/sys/kernel/irq/%s/actions" % name):
        actions = open("/sys/kernel/irq/%s/actions" % name).read().strip()
        one = actions and "," not in actions
        if not one:
            continue
        compare("line of " + actions, ("irq", int(name)), grew, merged=max(2, grew // 100))
        if ("irq", int(name)) in most:
            check("irq: the line of %s has its name" % actions, t.one("SELECT irq_name('irq', %s)" % name) == actions,
                  t.sql("SELECT * FROM names WHERE type = 'irq'"))
if "LOC" in b and any(k[0] == "local" for k in most):
    compare("local timer", ("local", 1), b["LOC"][0] - a["LOC"][0])

# Times.
rows = t.report("irq", "--by", "cpu", *t.window(*inner))
for cpu in {r["cpu"] for r in rows}:
    busy = sum(r["run_ns"] for r in rows if r["cpu"] == cpu)
    check("irq: time of CPU %s fits into the window" % cpu, 0 < busy <= inner[1] - inner[0], (busy, inner))
whole = t.report("irq")
# interrupts being served when the recording starts, and when it ends
broken = sum(r["broken"] for r in whole)
check("irq: entries and exits belong together", broken <= 4 * cpus + 2 * lost, "%s broken, %s lost" % (broken, lost))
of_process = t.report("irq", "--by", "process")
check("irq: what it took from processes is all there is", sum(r["run_ns"] for r in of_process) == sum(r["run_ns"]
    for r in whole) and sum(r["runs"] for r in of_process) == sum(r["runs"] for r in whole),
      (len(of_process), len(whole)))
for r in t.report("cpu", "--pid", c["pid"]):
    check("cpu: the workload's time in interrupts is part of its time",
          0 < r["irq_ns"] + r["softirq_ns"] <= r["oncpu_ns"] + t.unknown_ns(0, 1 << 62), r)
halves = [t.report("irq", *t.window(f, to)) for f, to in ((inner[0], sum(inner) // 2), (sum(inner) // 2, inner[1]))]
check("irq: two halves add up to the window", sum(r["run_ns"] for h in halves for r in h) == sum(r["run_ns"]
    for r in rows) and sum(r["runs"] for h in halves for r in h) == sum(r["runs"] for r in rows), inner)
for cls, sums in t.balance(["sched"]).items():
    check("irq: read + lost = attempted", sums and sums[0] == sums[1] + sums[2], sums)

# Results of other commands for such a trace.
cnt = t.one("SELECT count(*) FROM irq_events")
redacted = Trace(tmp + "/redacted")
check("redact: numbers of interrupts stay", [dict(r, name=0) for r in redacted.report("irq")] == [dict(r, name=0)
    for r in whole], "differ")
names = {r["name"] for r in t.sql("SELECT name FROM names WHERE type = 'irq'")}
check("redact: names of lines go", not names & {r["name"] for r in redacted.sql("SELECT name FROM names WHERE type = "
                                                                                "'irq'")}, names)
without = Trace(tmp + "/without")
check("cut: without sched.irq none is left, and reports know", without.one("SELECT count(*) FROM irq_events") == 0
      and all(r["irq_ns"] == "" for r in without.report("cpu")) and without.one("SELECT is_complete('sched.irq', 0, "
                                                                                "1000000)") == 0
      and without.report("cpu")[0]["oncpu_ns"] == t.report("cpu")[0]["oncpu_ns"], without.report("cpu")[:2])
check("repair: all interrupts are still there", Trace(tmp + "/repaired").one("SELECT count(*) FROM irq_events") == cnt,
      cnt)
check("export: one row per event", sum(1 for _ in open(tmp + "/exported/irq_events.csv")) == cnt + 1, cnt)
