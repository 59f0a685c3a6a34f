# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by thread_states.sh."""
from trace_query import *
t, w = Trace(tmp + "/states"), truth(tmp + "/states.out")
TICK = 10_000_000
OFF = ["disk_ns", "uninterruptible_ns", "sleeping_ns", "stopped_ns"]
PARTS = ["running_ns", "runnable_ns", "preempted_ns", "throttled_ns", *OFF, "unknown_ns"]


def states(lo, hi):
    rows = [r for r in t.report("states", "--by", "thread", *t.window(lo, hi)) if r["tid"] == w["tid"]]
    check("states: one row for the thread", len(rows) == 1, rows)
    return rows[0]


for part, column in (("run", None), ("sleep", "sleeping_ns"), ("preempt", None), ("disk", "disk_ns"),
                     ("stop", "stopped_ns")):
    if part + "_from" not in w:
        continue
    lo, hi = t.at(w[part + "_from"]), t.at(w[part + "_to"])
    r = states(lo, hi)
    check("states %s: the parts are the time, exactly" % part, r["life_ns"] == hi - lo == sum(r[c] or 0 for c in PARTS),
          (r, hi - lo))
    unknown = t.unknown_ns(lo, hi)
    allowed = max((hi - lo) / 100, TICK)
    cpu, wait = w[part + "_cpu"], w[part + "_wait"]
    check("states %s: it ran for its CPU time" % part, abs(r["running_ns"] - cpu) <= allowed + unknown, (r, cpu))
    waited = r["runnable_ns"] + r["preempted_ns"]
    check("states %s: it waited for a CPU as long as the scheduler says" % part,
          abs(waited - wait) <= allowed + unknown, (r, wait))
    rest = hi - lo - cpu - wait
    for c in OFF:
        want = rest if c == column else 0
        # it waits for its child, and the first pages of a child or a file are made or read
        check("states %s: %s" % (part, c), abs(r[c] - want) <= allowed + unknown, (r, want))
check("states: preempted while it shared its CPU", states(t.at(w["preempt_from"]),
                                                          t.at(w["preempt_to"]))["preempted_ns"] > 100_000_000, w)

# The two processes keep their state from the start and have no event. The machine's threads are known from the start,
# except for the time until the snapshot reads the threads that are busy.
rows = t.report("states", "--by", "thread")
for who, column in (("asleep", "sleeping_ns"), ("stopped", "stopped_ns")):
    r = [r for r in rows if r["tid"] == int(os.environ[who])][0]
    check("states: %s all the time" % who, r[column] == r["life_ns"] > 1_000_000_000, r)
life, unknown = (sum(r[c] for r in rows) for c in ("life_ns", "unknown_ns"))
check("states: little is unknown of all threads", unknown <= life / 10 + t.unknown_ns(0, t.at(w["stop_to"])),
      (unknown, life))

# The last second ends when the thread is stopped: the path goes from the thread to the process that continued it and
# had slept.
why = t.report("why", "--limit", "1000", "--pid", str(w["tid"]), *t.window(0, t.at(w["stop_to"])))
path = {}
for r in why:
    if r["section"] == "Path":
        path.setdefault(r["row"], {})[r["name"]] = r["value"]
others = [r for r in path.values() if number(r["pid"]) not in (0, w["tid"]) and r["kind"] == "timer"]
check("why: another process, woken by its timer, ended the thread's stop",
      any(abs(int(r["path_ns"]) - 250_000_000) <= TICK for r in others), path)
bar = {r["value"]: i for i, r in enumerate(why) if r["section"] == "States" and r["name"] == "state"}
ours = [r for r in t.report("states", "--pid", str(w["tid"]), *t.window(0, t.at(w["stop_to"])))][0]
check("why: its states are those of report states", all(int(why[i + 1]["value"]) == ours[s + "_ns"] for s,
                                                        i in bar.items()) and len(bar) > 4, (bar, ours))
instead = sum(int(r["value"]) for r in why if r["section"] == "Ran instead" and r["name"] == "oncpu_ns")
longest = sum(int(r["value"]) for r in why if r["section"] == "Waited longest" and r["name"] == "wait_ns")
check("why: what ran instead fills the longest waits", 0.9 * longest <= instead <= 1.01 * longest, (instead, longest))

# A row of timehist: the time before this stay on a CPU (wait, then delay from the wake-up), the stay, the state after
# it. perf sees the thread only after its first stay began, and not its last stay: from the first part to the last one.
if os.path.exists(tmp + "/timehist"):
    w = truth(tmp + "/both.out")
    lo, hi = w.get("run_from", 0), w.get("stop_from", 0)
    rows = re.findall(r"^ *([0-9.]+) +\[\d+\] +\S*\[%s\] +([0-9.]+) +([0-9.]+) +([0-9.]+) +([A-Z])" % w.get("tid"),
                      open(tmp + "/timehist").read(), re.M)
    perf, before = collections.Counter(), None
    for at, wait, delay, ran, state in rows:
        to = float(at) * 1e9
        for column, ms in (("running_ns", ran), ("preempted_ns" if before == "R" else "runnable_ns", delay),
                           ({"R": "preempted_ns", "S": "sleeping_ns"}.get(before), wait)):
            since = to - float(ms) * 1e6
            perf[column] += max(0, min(to, hi) - max(since, lo))
            to = since
        before = state
    if rows:
        t = Trace(tmp + "/both")
        ours, unknown = states(t.at(lo), t.at(hi)), t.unknown_ns(t.at(lo), t.at(hi))
        for c in ("running_ns", "runnable_ns", "preempted_ns", "sleeping_ns"):
            near("states: %s is that of perf sched timehist" % c, ours[c], perf[c], rel=0.01, absolute=TICK + unknown)
