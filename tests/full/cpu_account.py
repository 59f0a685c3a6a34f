# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by cpu_time.sh."""
from trace_query import *
t = Trace(tmp + "/load")

for name in ("two", "share"):
    w = truth(tmp + "/account." + name)
    for i in (0, 1):
        lo, hi = t.at(w["start_%d" % i]), t.at(w["end_%d" % i])
        rows = t.report("cpu", "--by", "thread", *t.window(lo, hi))
        mine = [r for r in rows if r["tid"] == w["tid_%d" % i]]
        title = "account %s: thread %d is what the scheduler charged it" % (name, i)
        if len(mine) != 1:
            not_ok(title, mine)
            continue
        r = mine[0]
        if not r["complete"]:
            ok(title + ", or its row says that it is incomplete")
            continue
        ends = t.one("SELECT sum(steal_ns) FROM (SELECT (SELECT steal_ns FROM switches WHERE utid = %d AND ts_ns >= "
                     "t ORDER BY ts_ns LIMIT 1) AS steal_ns" " FROM (SELECT %d AS t UNION ALL SELECT %d))" %
                     (t.utid(w["tid_%d" % i]), lo, hi)) or 0
        nobodys = t.one("SELECT sum(steal_ns) FROM cpu_usage(%d, %d, 0) WHERE utid = 1" % (lo, hi)) or 0
        charged = r["oncpu_ns"] - (r["steal_ns"] or 0)
        more = ends + nobodys + SWITCH_NS * r["preempted"] + (stolen(w) if r["steal_ns"] == "" else 0)
        within(title, charged, w["used_%d" % i], 0.001, ends + SWITCH_NS * r["preempted"], more)
