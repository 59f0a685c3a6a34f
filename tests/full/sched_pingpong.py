# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by cpu_time.sh."""
from trace_query import *


def departures(path):
    return sum(int(line.split()[1]) for line in open(path) if "voluntary_ctxt_switches:" in line)


for kind in ("thread", "process"):
    t = Trace(tmp + "/" + kind)
    w = truth(tmp + "/" + kind + ".out")
    a, b = t.utid(w["tid_a"]), t.utid(w["tid_b"])
    between = 0
    others = 0
    for name, me, other in (("a", a, b), ("b", b, a)):
        rows = t.sql("SELECT next_utid = %d AS direct, prev_state = 0 AS preempted, count(*) AS n FROM switches "
                     "WHERE utid = %d AND ts_ns >= %d AND ts_ns < %d GROUP BY 1, 2"
                     % (other, me, t.at(w["start_" + name]), t.at(w["end_" + name])))
        left = sum(r["n"] for r in rows)
        preempted = sum(r["n"] for r in rows if r["preempted"])
        between += sum(r["n"] for r in rows if r["direct"])
        others += sum(r["n"] for r in rows if not r["direct"])
        near("pingpong %s: departures of thread %s are the kernel's count" % (kind, name),
             left, w["voluntary_" + name] + w["involuntary_" + name], absolute=2)
        near("pingpong %s: preemptions of thread %s are the kernel's count" % (kind, name),
             preempted, w["involuntary_" + name], absolute=2)
        cpu = [r for r in t.report("cpu", "--by", "thread", *t.window(t.at(w["start_" + name]), t.at(w["end_" + name])))
               if r["tid"] == w["tid_" + name]]
        check("pingpong %s: report cpu has these switches and preemptions of thread %s" % (kind, name),
              len(cpu) == 1 and (cpu[0]["switches"], cpu[0]["preempted"]) == (left, preempted), (cpu, left, preempted))
    check("pingpong %s: 200,000 switches between the two tids" % kind,
          2 * w["rounds"] - others - 4 <= between <= 2.01 * w["rounds"],
          "%d switches between them, %d from them to others" % (between, others))

    least, most = (t.one("SELECT count(*) FROM switches WHERE ts_ns >= %d AND ts_ns < %d" % (t.at(lo), t.at(hi)))
                   for lo, hi in ((w["before_after"], w["after"]), (w["before"], w["after_after"])))
    counted = w["after_ctxt"] - w["before_ctxt"]
    hidden = 0
    if not t.one("SELECT count(*) FROM processes WHERE pid = 1"):
        hidden = departures(tmp + "/%s.init1" % kind) - departures(tmp + "/%s.init0" % kind)
    check("pingpong %s: all switches of the machine are there" % kind, least - 4 <= counted <= most + hidden + 4,
          "the kernel counted %d, the trace has %d to %d and %d of hidden tasks" % (counted, least, most, hidden))
    for c, sums in t.balance(("sched", "task")).items():
        check("pingpong %s: read + lost = attempted, class %s" % (kind, c),
              sums and sums[0] == sums[1] + sums[2] and sums[0] > 0, "attempted, read, lost = %s" % (sums,))
    kept = t.one("SELECT (SELECT count(*) FROM switches) + (SELECT count(*) FROM wakeups)")
    check("pingpong %s: every record read is a row" % kind, t.balance(["sched"])["sched"][1] == kept,
          "%s rows, %s records read" % (kept, t.balance(["sched"])))
