#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# A pipe ping-pong of 100,000 round trips on one CPU: every switch is in the trace.
#
# Truth 1: the kernel's own count per thread (getrusage: voluntary + involuntary). The trace must hold exactly as many
# departures of each thread; 2 are allowed for the moments between a clock reading and the reading of the count. Truth
# 2: two switches between the two tids per round trip. When another task gets that CPU in between, A -> B becomes A ->
# other -> B; so as many direct switches may be missing as there were departures to someone else, and no more. A timer
# tick between two system calls can add a pair: 0.5 % more at most. Involuntary is what the kernel counts so: the thread
# was still runnable when it left. Truth 3: the machine's switch count (/proc/stat ctxt) around the workload. It was
# read at some instant between two readings of the clock, at either end; so the trace must have at least the switches
# between the inner two, at most those between the outer two. 4 more for CPUs that are just switching. Where the kernel
# hides its init from BPF programs (see Trace.unknown_ns), that one's leaving of a CPU is counted and cannot be
# recorded: as many may be missing as the kernel counts for its threads, read further out.
. "$(dirname "$0")/../kernel/harness.bash"

for kind in thread process; do
	init="cat /proc/1/task/*/status >'$tmp/$kind.init"
	recorded "$kind" -e sched -- sh -c "${init}0'; '$WORK/stamp' before ctxt && '$WORK/pingpong' 100000 0 $kind &&
		'$WORK/stamp' after ctxt && ${init}1'"
done

checker <<'EOF_PY'
from trace_query import *
tmp = os.environ["tmp"]


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
EOF_PY
