# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by record_trouble.sh."""
from trace_query import *
t = Trace(tmp + "/killed")
w = truth(tmp + "/killed.out")
end = t.one("SELECT max(to_ns) FROM blocks")
killed = t.at(truth(tmp + "/kill.stamp")["killed"])
check("kill -9: what was written is there, of the time before", t.one("SELECT count(*) FROM blocks") > 1
      and end <= killed, (end, killed))
used = t.sql("SELECT cpu, sum(oncpu_ns) AS ns FROM cpu_usage(0, %d, 0) GROUP BY cpu" % end)
check("kill -9: all tasks and idle are the time of every CPU", len(used) == os.cpu_count()
      and all(r["ns"] == end for r in used), (used, end))
rows = [r for r in t.report("cpu", "--by", "thread") if r["tid"] == w["tid_0"]]
check("kill -9: the busy thread is there", len(rows) == 1 and 0 < rows[0]["oncpu_ns"] <= end, (rows, end))
check("kill -9: the trace knows that it was not finished", "finished" not in str(t.sql("SELECT * FROM info WHERE key "
                                                                                       "= 'state'")),
      t.sql("SELECT * FROM info"))
