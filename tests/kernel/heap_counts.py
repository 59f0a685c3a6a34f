# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""heap_counts: the counts of tests/kernel/work/heap_calls.c beside those of its trace"""
from trace_query import *


def seen_and_counted(trace, name):
    """({(pid, bytes): (allocations, frees)} of the trace, the same as the programs counted)"""
    rows = trace.sql("""SELECT p.pid AS pid, h.bytes AS bytes, count(*) AS allocs, count(h.free_ns) AS frees
                          FROM allocations h JOIN threads USING (utid) JOIN processes p USING (upid)
                         WHERE source = 'heap' AND bytes BETWEEN 30027 AND 100003 GROUP BY 1, 2""")
    lines = truth("%s/%s.out" % (tmp, name))["size"]
    counted = {}
    for line in [lines] if isinstance(lines, str) else lines:
        bytes_, allocs, frees, pid = map(int, line.split(","))
        counted[pid, bytes_] = (allocs, frees)
    return {(r["pid"], r["bytes"]): (r["allocs"], r["frees"]) for r in rows}, counted
