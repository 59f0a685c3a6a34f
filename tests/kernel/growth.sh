#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# A program that keeps every third of its blocks: `report growth` names the function, says that a third is kept, how fast
# that grows, and that it does so evenly. Bytes are exact. The clock decides where in a bin a block lies, so the rate is
# good to 5 %, and half of the window, the median age, to a tenth; a busy machine stretches single sleeps, so linear is 95 % and more.
. "$(dirname "$0")/harness.bash"

recorded growth --heap -- "$WORK/growth" 600

checker <<'EOF_PY'
from trace_query import *
t, w = Trace(os.environ["tmp"] + "/growth"), truth(os.environ["tmp"] + "/growth.out")
lo, hi = t.at(w["start"]), t.at(w["end"])


def heap(*window):
    rows = [r for r in t.report("growth", "--comm", "growth", *t.window(*window)) if r["source"] == "heap"]
    return rows[0] if len(rows) == 1 else {}


r = heap(lo, hi)
check("growth: every third block of parse_header is kept", "parse_header" in r.get("call_site", "") and
      (r["grown_bytes"], r["kept_bytes"], round(r["kept_pct"], 1)) == (2_000_000, 2_000_000, 33.3), r)
near("growth: as fast as it was", r["grown_bytes_per_s"], 2e6 / ((hi - lo) / 1e9), rel=0.05)
check("growth: evenly", r["linear_pct"] >= 95, r)
near("growth: half of the window is the median age", r["age_p50_ns"], (hi - lo) / 2, rel=0.1)
# With the 1 MiB before it, the growth is a step and a line.
r = heap(0, hi)
check("growth: what was kept from the start on counts, too", r["grown_bytes"] >= 2_000_000 + (1 << 20) and r["linear_pct"] < 100, r)
alloc = [x for x in t.report("alloc", "--comm", "growth", *t.window(lo, hi)) if x["source"] == "heap"]
check("growth: it is what alloc says", [x["net_bytes"] for x in alloc] == [2_000_000], alloc)
EOF_PY
