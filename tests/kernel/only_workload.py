# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by record_command.sh."""
from trace_query import *
t = Trace(tmp + "/only")
w = truth(tmp + "/only.out")
outsider = int(os.environ["outsider"])
procs = t.sql("SELECT upid, pid, comm, is_workload, is_recorder FROM processes")
inside = {r["upid"] for r in procs if r["is_workload"]}
check("--only: the workload's tree is marked", {"sh", "busy_threads", "touch_memory",
                                                "direct_io"} <= {r["comm"] for r in procs if r["is_workload"]},
      sorted({str(r["comm"]) for r in procs if r["is_workload"]}))
check("--only: nothing else is", not [r for r in procs if r["pid"] == outsider and r["is_workload"]] and
      not [r for r in procs if r["is_recorder"] and r["is_workload"]], "outsider or recorder marked")
rows = t.report("cpu", "--by", "process")
strangers = [r for r in rows if isinstance(r["pid"], int) and r["pid"] > 0
             and r["pid"] not in {p["pid"] for p in procs if p["is_workload"]}]
check("--only: reports show the workload only", rows and not strangers, strangers[:3])
busy = [r for r in t.report("cpu", "--by", "thread") if r.get("tid") == w["tid_0"]]
slices = t.one("SELECT sum(dur_ns) FROM sched_slices WHERE utid = %d" % t.utid(w["tid_0"]))
check("--only: its CPU time is the sum of its slices", busy and 0 < slices == busy[0]["oncpu_ns"], (busy, slices))
n = t.one("SELECT count(*) FROM slab_allocs WHERE utid >= 16 AND irq = 0 AND utid NOT IN (SELECT utid FROM threads "
          "WHERE upid IN (%s))" % ",".join(map(str, inside)))
check("--only: no allocation of others", n == 0, n)
n = t.one("SELECT count(*) FROM switches WHERE utid NOT IN (SELECT utid FROM threads WHERE upid IN (%s)) AND "
          "next_utid NOT IN (SELECT utid FROM threads WHERE upid IN (%s))"
          % ((",".join(map(str, inside)),) * 2))
check("--only: every switch kept is from or to it", n == 0 and t.one("SELECT count(*) FROM switches") > 5, n)
# Wake-ups of other threads are kept if the workload made them; the later switches of these threads are not.
n = t.one("SELECT count(*) FROM wakeups WHERE target_utid NOT IN (SELECT utid FROM threads WHERE upid IN (%s))" %
          ",".join(map(str, inside)))
check("--only: it wakes others", n > 0, n)
known = {r["utid"]: r for r in t.sql("SELECT * FROM thread_states(0, 1 << 62, 0, 'thread')")}
others = t.sql("SELECT t.*, p.comm AS process, p.ppid FROM threads AS t LEFT JOIN processes AS p USING (upid) WHERE "
               "utid >= 16 AND utid IN (%s) AND NOT (coalesce(p.is_workload, 0) OR coalesce(p.is_recorder, 0))" %
               ",".join(map(str, known)))
check("--only: states of others are not made up", not others and len(known) >= 4,
      [(r, known[r["utid"]]) for r in others])
rows = [r for r in t.report("alloc", "--by", "process") if r["comm"] == "touch_memory" and r["source"] == "rss"]
check("--only: its memory is there", rows and rows[0]["peak_bytes"] >= 50 << 20, rows)
rows = [r for r in t.report("io", "--by", "process") if r["comm"] == "direct_io" and r["op"] == "write"]
check("--only: its I/O is there", rows and sum(r["ios"] for r in rows) >= 20
      and sum(r["bytes"] for r in rows) >= 20 * 65536, rows)
# the kernel ends the accounting of each that it began (since 6.5), after its completion; one may be merged
n = t.sql("SELECT coalesce(sum(action = 'start'), 0) AS started, coalesce(sum(action = 'done'), 0) AS done, "
          "coalesce(sum(action = 'merge'), 0) AS merged FROM block_events "
          "WHERE rq IN (SELECT rq FROM block_events WHERE action = 'start' AND utid IN (SELECT utid FROM threads JOIN "
          "processes USING (upid) WHERE processes.comm = 'direct_io'))")[0]
check("--only: the end of every request, too", n["started"] == 0 or n["started"] == n["done"] + n["merged"] >= 20, n)
for c, sums in t.balance(("sched", "alloc", "block", "task")).items():
    check("--only: read + lost = attempted, class %s" % c, sums and sums[0] == sums[1] + sums[2], sums)

t = Trace(tmp + "/all")
mine = {r["pid"] for r in t.sql("SELECT pid FROM processes WHERE is_workload")}
seen = [r for r in t.report("cpu", "--by", "process") if r["pid"] == outsider]
check("without --only the whole machine is recorded", seen and seen[0]["oncpu_ns"] > 0 and outsider not in mine, seen)
