#!/bin/bash
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# alloc.heap, opt-in: 2,000 malloc(5000) and 1,900 free of a program, through the C library's allocator.
# Counts are exact for this size: the C library itself never asks for 5,000 bytes here.
. "$(dirname "$0")/harness.bash"

# the shell is part of the workload, too: with -p, uprobes record all of it
recorded heap -e alloc.heap,task -p $$ -- "$WORK/heap_user" 2000 5000 100
check "heap: uprobes recorded it, and a line says so" 'grep -qx heap=uprobes "$tmp/heap/manifest" && grep -q "uprobes record the heap" "$tmp/heap.err"' "$(cat "$tmp/heap.err")"
recorded default -e alloc.rss,task -- "$WORK/heap_user" 10 5000 1

checker <<'EOF_PY'
from trace_query import *
t = Trace(os.environ["tmp"] + "/heap")
w = truth(os.environ["tmp"] + "/heap.out")
mine = "utid IN (SELECT utid FROM threads JOIN processes USING (upid) WHERE pid = %d)" % w["pid"]
near("heap: mallocs of that size", t.one("SELECT count(*) FROM heap_allocs WHERE bytes = 5000 AND " + mine), w["allocs"])
near("heap: of these, freed", t.one("SELECT count(*) FROM allocations WHERE source = 'heap' AND bytes = 5000 AND free_ns IS NOT NULL AND " + mine), w["frees"])
def heap(*window):
    return [r for r in t.report("alloc", "--pid", w["pid"], *window) if r["source"] == "heap"]
rows = heap(*t.window(t.at(w["start"]), t.at(w["end"])))
check("heap: the report's net is what it kept", len(rows) == 1 and 100 * 5000 <= rows[0]["net_bytes"] <= 100 * 5000 + 65536, rows)
check("heap: its peak is what it had", len(rows) == 1 and 2000 * 5000 <= rows[0]["peak_bytes"] <= 2000 * 5000 + 65536, rows)
whole = heap()
check("heap: nothing is left of a process that ended", len(whole) == 1 and whole[0]["net_bytes"] == 0, whole)
check("heap: what it kept was given back by its exit, and freed by nobody", len(whole) == 1 and
      100 * 5000 <= whole[0]["exit_bytes"] == whole[0]["alloc_bytes"] - whole[0]["free_bytes"] <= 100 * 5000 + 65536, whole)
leaked = [r for r in t.report("leaks", "--pid", w["pid"]) if r["source"] == "heap"]
check("heap: leaks says the same", {r["held"] for r in leaked} == {"at exit"} and
      sum(r["bytes"] for r in leaked) == whole[0]["exit_bytes"], (leaked, whole))
sums = t.balance(["alloc"])["alloc"]
check("heap: read + lost = attempted", sums and sums[0] == sums[1] + sums[2], sums)
check("heap: only when asked for", Trace(os.environ["tmp"] + "/default").one("SELECT count(*) FROM heap_allocs") == 0, "heap events in a recording without it")
EOF_PY
