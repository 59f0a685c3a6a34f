# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by other_tools.sh."""
from trace_query import *
t, tid = Trace(tmp + "/trace"), truth(tmp + "/trace.out")["tid"]
section = re.search(r"wait_kinds \(%d\).*?\n\n\n" % tid, open(tmp + "/perf_trace").read() + "\n\n", re.S)[0]
perf = {m[1]: (int(m[2]), float(m[3]) * 1e6) for m in re.finditer(r"^ +(\w+) +(\d+) +\d+ +([\d.]+) ", section, re.M)}
of = ["--by", "thread", "--tid", str(tid)]
ours, kinds = {}, t.report("waits", *of)
for r in kinds:
    ours[r["call"]] = ours.get(r["call"], 0) + r["wait_ns"]
between = ours.pop("", 0) + sum(r["running_ns"] for r in t.report("states", *of))
calls = [c for c in ("futex", "read", "epoll_wait", "epoll_pwait", "wait4", "clock_nanosleep") if c in perf
         and c in ours]
# before the program began its thread waited for the recorder, in a read
first = t.one("SELECT min(ts_ns) FROM task_events JOIN threads USING (utid) WHERE tid = %d AND type = 'exec'" % tid)
began = sum(r["wait_ns"] for r in t.report("waits", *of, *t.window(0, first)) if r["call"] == "read")
ours["read"] -= began
check("beside perf trace: the calls are there", len(calls) == 5, (perf, ours))
for c in calls:
    # perf prints whole microseconds
    check("beside perf trace: time in %s" % c, ours[c] - 1000 * perf[c][0] <= perf[c][1] <= ours[c] + between,
          (ours[c], perf[c], between))
print("# in all: %.3f ms, perf trace %.3f ms" % (sum(ours[c] for c in calls) / 1e6,
                                                 sum(perf[c][1] for c in calls) / 1e6))

UNITS = {"us": 1e3, "ms": 1e6, "s": 1e9}
line = re.search(r"^ +(\d+) +([\d.]+) (\w+) .* (\d+) +victim", open(tmp + "/threads").read(), re.M)
if line:
    t = Trace(tmp + "/lock")
    locks = t.report("locks", "--thread", "victim")
    ours, theirs = sum(r["wait_ns"] for r in locks
                       if r["object"].startswith("mmap lock")), float(line[2]) * UNITS[line[3]]
    between = sum(r["wait_ns"] for r in t.report("waits", "--by", "thread", "--thread", "victim")
                  if r["kind"] == "cpu") + sum(r["running_ns"]
                                               for r in t.report("states", "--by", "thread", "--thread", "victim"))
    check("beside perf lock: the lock of mappings", ours and 0.99 * ours <= theirs <= 1.01 * ours + between,
          (ours, theirs, between))
    print("# the lock of mappings: %.3f ms, perf lock %.3f ms" % (ours / 1e6, theirs / 1e6))
