# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by trace_survives.sh."""
from trace_query import *
late = []
for i in range(1, 4):
    t = Trace(tmp + "/late%d" % i)
    end = t.one("SELECT max(to_ns) FROM blocks")
    if end is not None:
        late.append((t.at(truth(tmp + "/late%d.killed" % i)["killed"]) - end) / 1e9)
check("kill late: what is there ends before the kill", all(s >= 0 for s in late), late)
