#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Policy, nice value, priority and allowed CPUs of threads, as the kernel has them in /proc and sched_getaffinity(2),
# and each change of one that leaves its CPU afterwards; also in a cut, in a redacted copy and after both. Exact.
. "$(dirname "$0")/harness.bash"

cat >"$tmp/threads.py" <<'EOF_PY'
"""Threads that change how they are scheduled, and print what the kernel has of each after each change."""
import os, threading, time

cpus = sorted(os.sched_getaffinity(0))
steps = {  # by thread: changes, one after the other
    "plain": [],
    "nice": [lambda: os.setpriority(os.PRIO_PROCESS, 0, 10), lambda: os.setpriority(os.PRIO_PROCESS, 0, 3)],
    "batch": [lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))],
    "idle": [lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))],
    "fifo": [lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(7)),
             lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(3))],
    "pinned": [lambda: os.sched_setaffinity(0, cpus[:1]), lambda: os.sched_setaffinity(0, cpus[-1:]),
               lambda: os.sched_setaffinity(0, cpus)],
}

def show(name):
    tid = threading.get_native_id()
    with open("/proc/self/task/%d/stat" % tid) as f:
        stat = f.read().rpartition(")")[2].split()
    mask = sum(1 << cpu for cpu in os.sched_getaffinity(0))
    os.write(1, ("%s %d %s %s %s %d\n" % (name, tid, stat[38], stat[16], stat[37], mask)).encode())

def run(name):
    show(name)
    for step in steps[name]:
        time.sleep(0.02)
        step()
        time.sleep(0.02)
        show(name)

threads = [threading.Thread(target=run, args=(name,)) for name in steps]
for t in threads:
    t.start()
for t in threads:
    t.join()
EOF_PY
recorded t -e task,sched -- /usr/bin/python3 "$tmp/threads.py"
"$EBPFREC" cut -i "$tmp/t" -o "$tmp/whole" >"$tmp/cut.out" 2>&1
"$EBPFREC" redact -i "$tmp/t" -o "$tmp/redacted" >"$tmp/redact.out" 2>&1

checker <<'EOF_PY'
from trace_query import *
tmp = os.environ["tmp"]
policies = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle"}
truth, tids = {}, {}
for line in open(tmp + "/t.out"):
    name, tid, policy, nice, priority, mask = line.split()
    tids[name] = int(tid)
    row = policies[int(policy)], int(nice), int(priority) or "", bin(int(mask)).count("1"), int(mask)
    if truth.setdefault(name, [None])[-1] != row:
        truth[name].append(row)
truth = {name: rows[1:] for name, rows in truth.items()}
check("workload: six threads changed at least six times", len(truth) == 6 and sum(map(len, truth.values())) >= 12,
      truth)


def facts(trace, table, tid, more=""):
    columns = ", ".join("x.%s AS %s" % (c, c) for c in ("policy", "nice", "rt_priority", "allowed_cpus", "cpu_mask"))
    return [tuple(r.values()) for r in Trace(tmp + "/" + trace).sql(
        "SELECT %s FROM %s AS x JOIN threads AS t USING (utid) WHERE t.tid = %d %s" % (columns, table, tid, more))]


def steps(trace, tid):
    return facts(trace, "task_events", tid, "AND type IN ('new', 'snap', 'sched') ORDER BY ts_ns")


for trace in "t", "whole", "redacted":
    wrong = {who: (steps(trace, tid), truth[who]) for who, tid in tids.items() if steps(trace, tid) != truth[who]}
    check("%s: the states of each thread are the kernel's, in order" % trace, not wrong, wrong)
    wrong = {who: facts(trace, "threads", tid) for who, tid in tids.items()
             if facts(trace, "threads", tid) != truth[who][-1:]}
    check("%s: the last state of each thread is in `threads`" % trace, not wrong, wrong)

t = Trace(tmp + "/t")
first = t.one("SELECT min(ts_ns) FROM task_events JOIN threads AS t USING (utid) WHERE t.tid = %d AND type = 'sched'" %
              tids["nice"])
run("cut", "-i", tmp + "/t", "--from", "%dns" % (first + 1), "-o", tmp + "/part")
check("cut between two changes: begins with the state that holds there",
      steps("part", tids["nice"]) == truth["nice"][1:], (steps("part", tids["nice"]), truth["nice"]))
row = {r["tid"]: r for r in t.report("cpu", "--by", "thread", "--limit", "0")}
check("report cpu --by thread: policy and nice value",
      (row[tids["nice"]]["nice"], row[tids["fifo"]]["policy"]) == (3, "rr"), [row[tid] for tid in tids.values()])
EOF_PY
