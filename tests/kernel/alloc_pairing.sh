#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Kernel memory that one process allocates and another frees is the first one's, both ways; totals
# are those of the events; an allocation is never freed before it is made.
#
# 5,000 datagrams of 1,000 bytes need at least one slab buffer of 1,000 bytes or more each. At the end
# all were received, so at most 2 % of what the giver allocated may still be live (its own task
# structures, freed later by a worker of the kernel).
. "$(dirname "$0")/harness.bash"

recorded gift -e alloc.slab,alloc.page,task -- "$WORK/give_away" 5000 1000

checker <<'EOF_PY'
from trace_query import *
t = Trace(os.environ["tmp"] + "/gift")
w = truth(os.environ["tmp"] + "/gift.out")

def slab(pid):
    rows = [r for r in t.report("alloc", "--by", "process", "--pid", pid) if r["source"] == "slab"]
    return rows[0] if len(rows) == 1 else {"allocs": 0, "alloc_bytes": 0, "frees": 0, "free_bytes": 0, "net_bytes": 0}

giver, taker = slab(w["giver"]), slab(w["taker"])
payload = w["count"] * w["bytes"]
# An interrupt that allocates while our program runs on that CPU is skipped by the kernel, and counted; any other
# loss would spoil the counts below.
lost = t.sql("SELECT coalesce(sum(full_cnt + other_cnt), 0) AS n, coalesce(sum(missed_cnt), 0) AS missed FROM losses WHERE class = 'alloc'")[0]
check("pairing: next to nothing was lost, so that counts can be exact", lost["n"] == 0 and lost["missed"] < 0.01 * payload / w["bytes"], t.report("loss"))
check("pairing: the giver allocated the buffers", giver["alloc_bytes"] >= payload and giver["allocs"] >= w["count"], giver)
check("pairing: the giver is credited with what the taker freed", abs(giver["net_bytes"]) <= 0.02 * giver["alloc_bytes"], giver)
check("pairing: the taker is not credited with it", taker["free_bytes"] < 0.2 * payload, taker)

# Every free event is either paired or of something older than the trace.
n = t.sql("SELECT (SELECT count(*) FROM slab_allocs) AS a, (SELECT count(*) FROM slab_frees) AS f, "
          "(SELECT count(*) FROM allocations WHERE source = 'slab') AS rows_, "
          "(SELECT count(*) FROM allocations WHERE source = 'slab' AND free_ns IS NOT NULL AND free_lost = 0) AS paired")[0]
check("pairing: every allocation event is an allocation", n["a"] == n["rows_"], n)
check("pairing: no more paired than freed", 0 < n["paired"] <= n["f"], n)
check("pairing: never freed before it was made", t.one("SELECT count(*) FROM allocations WHERE free_ns < alloc_ns") == 0, "some are")
check("pairing: nobody's frees exceed their allocations",
      all(r["frees"] <= r["allocs"] and r["free_bytes"] <= r["alloc_bytes"] for r in t.report("alloc", "--with-recorder")
          if r["source"] in ("slab", "page") and r["pid"] and r["pid"] > 0), "see report alloc")

# The report's totals are the events' totals, whoever they are booked to.
rows = [r for r in t.report("alloc", "--with-recorder") if r["source"] == "slab"]
check("pairing: all rows together are all events", sum(r["allocs"] for r in rows) == n["a"] and
      sum(r["alloc_bytes"] for r in rows) == t.one("SELECT sum(bytes) FROM slab_allocs"), (sum(r["allocs"] for r in rows), n))
pages = [r for r in t.report("alloc", "--with-recorder") if r["source"] == "page"]
check("pairing: pages too", sum(r["alloc_bytes"] for r in pages) == t.one("SELECT sum(4096 << page_order) FROM page_allocs"),
      sum(r["alloc_bytes"] for r in pages))
for c, sums in t.balance(("alloc", "task")).items():
    check("pairing: read + lost = attempted, class %s" % c, sums and sums[0] == sums[1] + sums[2], sums)
EOF_PY
