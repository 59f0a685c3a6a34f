# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by flight_recorder.sh."""
from trace_query import *
w, m = truth(tmp + "/kept.out"), truth(tmp + "/mark.stamp")
for name in "kept", "by-command", "by-signal":
    t = Trace(tmp + "/" + name)
    info = {r["key"]: r["value"] for r in t.sql("SELECT * FROM info")}
    span = t.one("SELECT max(to_ns) FROM blocks")
    check("%s: is finished, says what it dropped" % name, info["state"] == "finished"
          and int(info["dropped.blocks"]) > 0, info)
    check("%s: about two seconds are there" % name, 1.5e9 < span < 6e9, span)
    # each CPU's account is the window, also across the new beginning
    bad = [r for r in t.sql("SELECT cpu, sum(oncpu_ns) AS ns FROM cpu_usage(0, 1 << 62, 0) GROUP BY cpu")
           if r["ns"] != span]
    check("%s: tasks and idle are the window" % name, not bad, bad)
    # nothing happened to it since before the beginning
    who = t.sql("SELECT comm, is_workload, start_ns FROM processes WHERE pid = %d" % w["sleeper"])
    check("%s: a sleeping process is known" % name, who and who[0]["comm"] == "sleep" and who[0]["is_workload"] == 1
          and who[0]["start_ns"] < 0, who)
    rss = t.sql("SELECT b.anon_bytes FROM rss_baselines b JOIN processes p USING (upid) WHERE p.comm = "
                "'touch_memory' AND p.is_workload")
    check("%s: memory at the new beginning is what was allocated before it" % name, rss
          and 80 << 20 <= rss[0]["anon_bytes"] <= 82 << 20, rss)
t = Trace(tmp + "/kept")
marks = {(r["name"], r["nr"]): r for r in t.sql("SELECT * FROM marks")}
check("mark: what lies before the beginning is gone", ("gone by then", 1) not in marks, marks)
check("mark: at the instant it was made, twice", ("late", 2) in marks and
      t.at(m["before_late"]) <= marks["late", 1]["ts_ns"] < marks["late", 2]["ts_ns"] <= t.at(m["after_late"]), marks)
check("mark: lines of --mark-fd", marks.get(("a line", 1), {}).get("origin") == "fd" and
      marks["late", 2]["ts_ns"] <= marks["a line", 1]["ts_ns"] <= t.at(m["after_lines"]), marks)
check("mark: every line", ("and another", 1) in marks, marks)
