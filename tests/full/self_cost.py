# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Called by self_cost.sh."""
from trace_query import *
tmp = os.environ["tmp"]
t = Trace(tmp + "/flood")
hwm = truth(tmp + "/flood.out")["hwm_kib"] << 10
info = {r["key"]: r["value"] for r in t.sql("SELECT key, value FROM info")}
high = t.sql("SELECT max(queue_max_bytes) AS q, max(queue_size_bytes) AS size, max(rss_bytes) AS rss FROM cost")[0]
tasks = t.one("SELECT count(*) FROM threads")
# as ebpfrec-record(1) states it
bound = 6 * int(info["ring.cnt"]) * int(info["ring.bytes"]) + 3 * high["size"] + (32 << 20) + 2048 * tasks
check("self_cost: in a flood the recorder stays below the bound of the manual", 0 < hwm <= bound, (hwm, bound))
# (the rest of the queue is encoded after the high-water mark was read)
check("self_cost: and so do its samples", 0 < high["rss"] <= bound, (high, bound))
# beyond the limit only by the content of the rings when a block ends, in slabs
rings = int(info["ring.cnt"]) * (int(info["ring.bytes"]) + (2 << 20))
check("self_cost: the queue was used and kept its limit", 0.3 * high["size"] < high["q"] <= high["size"] + rings, high)
lost = t.one("SELECT sum(full_cnt) FROM losses")
check("self_cost: what did not fit is declared", lost and lost > 0, lost)
for c, s in t.balance(("sched", "alloc")).items():
    check("self_cost: in a flood read + lost = attempted, class %s" % c, s and s[0] == s[1] + s[2], s)
