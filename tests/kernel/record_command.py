# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by record_command.sh."""
from trace_query import *
t = Trace(tmp + "/first")
w = truth(tmp + "/first.out")
rows = t.sql("SELECT ts_ns, utid, upid, exe FROM task_events WHERE type = 'exec' AND comm = 'first_thing'")
check("command: its exec is recorded", len(rows) == 1 and rows[0]["exe"] == tmp + "/first_thing", rows)
if rows:
    r = rows[0]
    check("command: exec comes before its first instruction", 0 < r["ts_ns"] < t.at(w["now"]), (r, t.at(w["now"])))
    # Everything from exec on: mapping its program and libraries, page faults, first run.
    n = t.sql("SELECT (SELECT count(*) FROM rss_points WHERE upid = %(upid)d AND ts_ns >= %(ts_ns)d AND ts_ns < "
              "%(now)d) AS rss, " "(SELECT count(*) FROM vm_points WHERE upid = %(upid)d AND ts_ns >= %(ts_ns)d AND "
              "ts_ns < %(now)d) AS vm" % dict(r, now=t.at(w["now"])))[0]
    check("command: what it did before main() is recorded", n["rss"] > 0 and n["vm"] > 3, n)
    flags = t.sql("SELECT * FROM processes WHERE upid = %d" % r["upid"])[0]
    check("command: it is marked as workload", flags["is_workload"] == 1, flags)
# (an interrupt may prevent recording, missed_cnt: that is not the recorder's fault, and is declared)
check("command: nothing lost", t.one("SELECT coalesce(sum(full_cnt + other_cnt), 0) FROM losses") == 0,
      t.report("loss"))
